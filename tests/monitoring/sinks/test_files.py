"""Files of a monitor: lines that are there whole or not at all, and files that are written whole."""

import json
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from steelyard.base.errors import OutputError, SteelyardError
from steelyard.monitoring.sinks.declared import parse_sink, write_files
from tests.monitoring.delivering import append, run_all, started
from tests.monitoring.messages import TIME, detection, look, message


@contextmanager
def room_for(n_bytes: int) -> Iterator[None]:
    """Files grow up to a size and no further, as on a disk that is full."""
    before, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, most))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (before, most))


def test_messages_are_lines(tmp_path: Path) -> None:
    sink = parse_sink({"type": "json", "path": "alerts.jsonl"}).beside(tmp_path)
    sink.send(message("k1"), 1)
    sink.send(message("k2", title="检索\n慢"), 1)
    lines = (tmp_path / "alerts.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line) for line in lines] == [message("k1").record, message("k2", title="检索\n慢").record]


def test_a_message_on_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    parse_sink({"type": "json", "path": "-"}).beside(Path("/nowhere")).send(message(), 1)
    assert json.loads(capsys.readouterr().out) == message().record


def test_a_torn_line_spoils_no_other(tmp_path: Path) -> None:
    path = tmp_path / "alerts.jsonl"
    path.write_bytes(b'{"torn')
    parse_sink({"type": "json", "path": str(path)}).send(message(), 1)
    torn, line = path.read_text().splitlines()
    assert (torn, json.loads(line)) == ('{"torn', message().record)


@pytest.mark.parametrize("before", [b"", b'{"key":"k0"}\n', b'{"torn'])
def test_a_full_disk_leaves_the_file_as_it_was(before: bytes, tmp_path: Path) -> None:
    path = tmp_path / "alerts.jsonl"
    path.write_bytes(before)
    sink = parse_sink({"type": "json", "path": str(path)})
    with room_for(len(before) + 40), pytest.raises(OutputError, match=r"alerts\.jsonl: cannot be written .* make room"):
        sink.send(message(), 1)
    assert path.read_bytes() == before
    with pytest.raises(OutputError, match="No space left on device"):
        parse_sink({"type": "json", "path": "/dev/full"}).send(message(), 1)


def test_files_of_a_look_are_written_whole_each_by_itself(tmp_path: Path) -> None:
    tables = [
        {"type": "markdown", "path": "look.md"}, {"type": "prometheus", "path": "gone/x.prom"},
        {"type": "prometheus", "name": "metrics", "path": "x.prom"}, {"type": "json", "path": "alerts.jsonl"},
    ]  # fmt: skip
    sinks = [parse_sink(table).beside(tmp_path) for table in tables]
    outcomes = write_files(sinks, look(detection()), report="# well\n", now=TIME)
    assert [(outcome.sink, bool(outcome.error)) for outcome in outcomes] == [
        ("markdown", False), ("prometheus", True), ("metrics", False)
    ]  # fmt: skip
    assert sorted(path.name for path in tmp_path.iterdir()) == ["look.md", "x.prom"]
    before = (tmp_path / "x.prom").read_bytes()
    with room_for(30):
        (*_, outcome) = write_files(sinks, look(detection("other")), report="# alert\n", now=TIME)
    assert "cannot be written" in outcome.error
    assert (tmp_path / "x.prom").read_bytes() == before
    assert (tmp_path / "look.md").read_text() == "# alert\n"


def test_a_folder_that_is_not_there_is_noticed_before_anything_is_written(tmp_path: Path) -> None:
    for kind in ("json", "markdown", "prometheus"):
        with pytest.raises(SteelyardError, match="cannot be written"):
            parse_sink({"type": kind, "path": "gone/x"}).beside(tmp_path).check()
        parse_sink({"type": kind, "path": "x"}).beside(tmp_path).check()
    assert list(tmp_path.iterdir()) == []


def test_processes_append_at_once(tmp_path: Path) -> None:
    path = tmp_path / "alerts.jsonl"
    assert run_all([started(append, path, n) for n in range(3)]) == [0] * 3
    keys = [json.loads(line)["key"] for line in path.read_text().splitlines()]
    assert sorted(keys) == sorted(f"{writer}-{n}" for writer in range(3) for n in range(20))
