"""`steelyard bench load`, as a user runs it."""

from __future__ import annotations

from pathlib import Path

import pytest

from steelyard.bench.bench import Bench
from steelyard.bench.run.loads import BenchInterrupted
from tests.bench.load.sleepy import SleepySettings, sleepy_server
from tests.cli.command import complaint, printed, steelyard

QUICK = ("--duration", "0.2", "--warm-up", "0")


@pytest.fixture
def queries(tmp_path: Path) -> Path:
    path = tmp_path / "asked.tsv"
    path.write_text("q1\twhat weighs?\nq2\twhat swims?\n")
    return path


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_url_is_all_it_takes(tmp_path: Path, queries: Path, lang: str) -> None:
    with sleepy_server(SleepySettings(service_s=0.005)) as server:
        done = steelyard(
            "bench", "load", f"{server.url}ask", "--questions", queries, "--rate", "50,100", "--users", "2", *QUICK,
            "--slo", "p95=500ms", "-o", tmp_path / "bench", "--lang", lang,
        )  # fmt: skip
    text, notice = done.stdout.decode(), done.stderr.decode()
    assert done.returncode == 0, notice
    assert notice.count("\n") == 1
    assert "50/s, 100/s" in notice.replace("、", ", ")
    assert ("20 requests at most cannot show a P95, which takes 72" in notice) == (lang == "en")
    assert ("open\n" in text) == (lang == "en")
    whole = printed("report", tmp_path / "bench", "-v", "--lang", lang)
    assert ("open: too few independent requests to say" in whole) == (lang == "en")
    assert "ask" in text
    assert ("answered/s" in text) == (lang == "en")
    assert Bench.read(tmp_path / "bench").requests["rate"].unique().drop_nulls().sort().to_list() == [50, 100]


def test_a_missed_objective_is_an_exit_status(tmp_path: Path, queries: Path) -> None:
    """Every second request fails: no rate that is named holds, and no test is needed to say so."""
    with sleepy_server(SleepySettings(service_s=0.002, fail_every=2)) as server:
        done = steelyard("bench", "load", server.url, "--questions", queries, "--rate", "100", "--duration", "1",
                         "--warm-up", "0", "-o", tmp_path / "bench")  # fmt: skip
    assert (done.returncode, b"too many errors" in done.stdout) == (1, True)
    gated = steelyard("gate", tmp_path / "bench")
    assert (gated.returncode, b"too many requests had no answer" in gated.stdout) == (1, True)


def test_an_interruption_says_what_is_kept(queries: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*arguments: object, **options: object) -> None:
        raise BenchInterrupted(1, 4)

    monkeypatch.setattr("steelyard.bench.run.load_tests.load_test", interrupted)
    done = steelyard("bench", "load", "http://127.0.0.1:9/", "--rate", "1")
    assert done.returncode == 130
    assert b"interrupted; 1 of 4 levels of load are measured and kept" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nosuch.toml", "--rate", "1"), "there is no such file"),
        (("http://127.0.0.1:9/",), "none of the first 2 requests was answered"),
        (("http://127.0.0.1:9/", "--rate", "1", "--body", "{"), "body: is not JSON"),
        (("http://127.0.0.1:9/", "--rate", "1", "--header-env", "Authorization"), "--header-env"),
        (("http://127.0.0.1:9/", "--rate", "x"), "--rate"),
        (("http://127.0.0.1:9/", "--rate", "0"), "rates"),
        (("http://127.0.0.1:9/", "--rate", "1", "--slo", "p95"), "no objective"),
        (("ftp://127.0.0.1/", "--rate", "1"), "no address"),
    ],
)
def test_mistakes_are_one_line(tmp_path: Path, queries: Path, arguments: tuple[str, ...], message: str) -> None:
    assert message in complaint("bench", "load", *arguments, "--questions", queries, "-o", tmp_path / "bench")


def test_a_server_that_is_down_is_one_line(tmp_path: Path, queries: Path) -> None:
    line = complaint(
        "bench", "load", "http://127.0.0.1:9/ask", "--rate", "1", "--questions", queries, "-o", tmp_path / "b"
    )
    assert "none of the first 2 requests was answered" in line
