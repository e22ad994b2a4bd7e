"""What a run folder keeps: across other configurations, replacements, damage, and disks that refuse."""

import errno
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import steelyard as sy
from steelyard.base.errors import InputError, OutputError, StageError
from steelyard.data import outputs
from steelyard.data.folders.run_folder import RunFolder, find_run_folder, read_run_folder
from steelyard.data.folders.run_lock import run_lock
from steelyard.rag.pipeline.pipeline import Pipeline
from steelyard.rag.runs import writer as run_writer
from steelyard.rag.runs.earlier import _changed_settings
from steelyard.rag.runs.running import run
from steelyard.rag.runs.writer import RunInterrupted, RunWriter
from tests.rag.small import TEXTS, Common, Shortest, Stops


class Stopping(Shortest):
    """Stops before a question of its choice, as Ctrl-C does, or fails on all, and notes what it is asked."""

    asked: list[str]
    stop_on: str | None
    down: bool

    def scores(self, query: str, texts: list[str]) -> list[float]:
        if query == type(self).stop_on:
            raise KeyboardInterrupt
        type(self).asked.append(query)
        if type(self).down:
            raise StageError("the server is down")
        return super().scores(query, texts)


def pipeline(stop_on: str | None = None, *, down: bool = False, **options: object) -> Pipeline:
    Stopping.asked, Stopping.stop_on, Stopping.down = [], stop_on, down
    settings = {"chunk": Stops(), "index": Common(), "rerank": Stopping(), "k": 3, "name": "mine"}
    return Pipeline(options.pop("documents", TEXTS), **{**settings, **options})


def questions(n: int, **odd: str) -> list[dict[str, Any]]:
    return [{"qid": f"q{i}", "query": odd.get(f"q{i}", f"the whale {i}"), "gold_evidence": []} for i in range(n)]


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def ids(folder: RunFolder) -> list[str]:
    return [query_id for query_id, _ in folder.responses()]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "mine"


# A finished run stays until its successor is whole


def test_overwriting_with_the_server_down_loses_nothing(folder: Path) -> None:
    pipeline().run(questions(9), folder)
    before = contents(folder)
    for change in ({}, {"k": 2}, {"documents": {"a": "A whale. Another."}}):
        with pytest.raises(StageError, match="the server is down"):
            pipeline(down=True, **change).run(questions(9), folder, overwrite=True)
        assert contents(folder) == before
        assert ids(read_run_folder(folder)) == [f"q{i}" for i in range(9)]
    pipeline(k=1).run(questions(9), folder, overwrite=True)
    assert {len(response.passages) for _, response in read_run_folder(folder).responses()} == {1}
    assert sorted(os.listdir(folder)) == sorted(before)


def test_an_interrupted_overwrite_goes_on_beside_the_old_run(folder: Path) -> None:
    pipeline().run(questions(6), folder)
    before = contents(folder)
    with pytest.raises(RunInterrupted) as interrupted:
        pipeline("the whale 4", k=2).run(questions(6), folder, overwrite=True)
    assert interrupted.value.n_answered == 4
    assert contents(folder) == before
    assert ids(read_run_folder(folder)) == [f"q{i}" for i in range(6)]
    result = pipeline(k=2).run(questions(6), folder, overwrite=True)
    assert Stopping.asked == ["the whale 4", "the whale 5"]
    assert result.config["k"] == 2
    assert {len(response.passages) for _, response in result.responses()} == {2}
    assert sorted(os.listdir(folder)) == sorted(before)


def test_failed_questions_of_a_finished_run_are_asked_again_beside_it(folder: Path) -> None:
    system = pipeline(rerank=Shortest(_fail_on="odd"))
    asked = questions(4, q1="odd one", q3="odd three")
    system.run(asked, folder)
    before = contents(folder)
    with pytest.raises(KeyboardInterrupt):
        pipeline(rerank=Shortest(_stop_on="three")).run(asked, folder)
    assert contents(folder) == before
    result = pipeline(rerank=Shortest(_fail_on="one")).run(asked, folder)
    assert ids(result) == ["q0", "q1", "q2", "q3"]
    assert result.manifest["counts"]["failed"] == 0
    assert not (folder / ".new").exists()


def test_a_replacement_of_another_configuration_is_not_lost_either(folder: Path) -> None:
    asked = questions(3, q1="odd")
    pipeline(rerank=Shortest(_fail_on="odd")).run(asked, folder)
    with pytest.raises(KeyboardInterrupt):
        pipeline("the whale 2", k=1).run(asked, folder, overwrite=True)
    beside = contents(folder / ".new")
    with pytest.raises(
        InputError, match=r"\.new: holds 2 answers of another configuration, which was to take the place"
    ):
        pipeline(rerank=Shortest()).run(asked, folder)
    assert contents(folder / ".new") == beside
    pipeline(k=1).run(asked, folder, overwrite=True)
    assert Stopping.asked == ["the whale 2"]


def whole_states(folder: Path) -> list[Path]:
    """Copies of a folder as it was before each move, when the run beside it is whole."""
    states = []
    real = os.replace

    def snapshot(source: Any, target: Any) -> None:
        if ".new" in str(source):
            states.append(shutil.copytree(folder, folder.with_name(f"state{len(states)}")))
        real(source, target)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("os.replace", snapshot)
        pipeline(k=2).run(questions(3), folder, overwrite=True)
    manifests = [(state, state / ".new" / "manifest.json") for state in states]
    return [state for state, path in manifests if path.exists() and json.loads(path.read_bytes())["finished"]]


@pytest.mark.parametrize("how", ["reader", "same run", "another run"])
def test_a_crash_between_the_moves_is_repaired_by_whoever_comes_next(how: str, folder: Path) -> None:
    pipeline().run(questions(3), folder)
    states = whole_states(folder)
    expected = {name: data for name, data in contents(folder).items() if name != "manifest.json"}
    assert len(states) == 5  # before each of the five files
    for state in states:
        if how == "reader":
            find_run_folder(state)
        elif how == "same run":
            assert pipeline(k=2).run(questions(3), state).config["k"] == 2
            assert Stopping.asked == []
        else:
            with pytest.raises(InputError, match="k 2 → 1"):
                pipeline(k=1).run(questions(3), state)
        assert not (state / ".new").exists()
        assert {name: data for name, data in contents(state).items() if name != "manifest.json"} == expected
        assert read_run_folder(state).manifest["finished"]


def test_chunks_of_the_run_before_go_with_it(folder: Path) -> None:
    pipeline().run(questions(3), folder)

    class NoChunks:
        """A system that names no chunks."""

        name, corpus, documents, notes, concurrency, fingerprint = "other", None, None, (), 1, {"all": "1"}

        def __init__(self) -> None:
            self._pipeline = pipeline()
            self.resolved, self.prepare, self.session = lambda: {}, self._pipeline.prepare, self._pipeline.session

    system: Any = NoChunks()
    assert run(system, questions(3), folder, overwrite=True).chunks is None
    assert sorted(os.listdir(folder)) == ["config.json", "manifest.json", "outputs.jsonl"]


def test_a_reader_of_a_folder_that_cannot_be_written_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pipeline().run(questions(3), folder)
    state = whole_states(folder)[0]

    def refuse(*_: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr("os.replace", refuse)
    monkeypatch.setattr("steelyard.data.folders.run_lock._PATIENCE_S", 0)
    with pytest.raises(
        OutputError, match=r"cannot take the place of the old one \(Read-only file system\); it is whole in"
    ):
        read_run_folder(state)


def test_a_reader_waits_for_the_moves_of_another_process(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pipeline().run(questions(3), folder)
    state = whole_states(folder)[0]
    monkeypatch.setattr("steelyard.data.folders.run_lock._PATIENCE_S", 0.05)
    with run_lock(state), pytest.raises(OutputError, match="is being written by process"):
        read_run_folder(state)
    assert read_run_folder(state).config["k"] == 2


@pytest.mark.parametrize("when", ["before", "amid"])
def test_a_reader_notices_that_the_run_was_replaced(when: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks of one run and lines of another give values of none."""
    result = pipeline().run(questions(3), folder)

    def overwrite() -> None:
        pipeline(k=2, documents={"sea.txt": "A whale."}).run(questions(3), folder, overwrite=True)

    with monkeypatch.context() as patched:
        if when == "before":
            overwrite()
        else:
            read = outputs.numbered_lines
            patched.setattr(outputs, "numbered_lines", lambda source: (overwrite(), read(source))[1])
        with pytest.raises(InputError, match="mine: was replaced by another run while it was read; read it again"):
            sy.evaluate(questions(3), [result], ["mrr"])
    assert len(sy.evaluate(questions(3), [folder], ["mrr"]).systems) == 1


# Another configuration


def test_how_many_questions_are_asked_at_once_is_no_change(tmp_path: Path) -> None:
    earlier = {"k": 10, "concurrency": 2, "generate": {"kind": "chat", "concurrency": 4}}
    (tmp_path / "config.json").write_text(json.dumps(earlier))
    changes = _changed_settings(tmp_path, {"k": 3, "concurrency": 8, "generate": {"kind": "chat", "concurrency": 1}})
    assert changes == {"k": ("10", "3")}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"k": 2}, "k 3 → 2"),
        ({"chunk": Stops(marks=".")}, "chunk.marks .。 → ."),
        ({"rerank": None}, r"rerank.kind tests.rag.test_run_writer:Stopping → none"),
        ({"top_n": 2}, "top_n 50 → 2"),
        ({"documents": {**TEXTS, "sea.txt": "Dry."}}, r"1 of 3 documents is edited \(sea.txt\)"),
        ({"documents": {**TEXTS, **{f"d{i}": "x" for i in range(5)}}}, r"5 are new \(d0, d1, d2, ...\)"),
        ({"documents": dict(list(TEXTS.items())[:1])}, r"2 are gone \(sea.txt, 茶.txt\)"),
        ({"documents": dict(reversed(TEXTS.items()))}, "documents in another order"),
        (
            {"documents": {"sea.txt": "Dry."}, "k": 1},
            r"k 3 → 1; 1 of 3 documents is edited \(sea.txt\); 2 are gone \(scales.txt, 茶.txt\)",
        ),
    ],
)
@pytest.mark.parametrize("finished", [True, False])
def test_what_has_changed_is_named_and_nothing_is_deleted(
    finished: bool, change: dict[str, Any], words: str, folder: Path
) -> None:
    if finished:
        pipeline().run(questions(4), folder)
    else:
        with pytest.raises(KeyboardInterrupt):
            pipeline("the whale 3").run(questions(4), folder)
    before = contents(folder)
    state = "the finished run 'mine'" if finished else "3 answers of the unfinished run 'mine'"
    with pytest.raises(InputError, match=f"holds {state} of another configuration: {words}; .*--overwrite"):
        pipeline(**change).run(questions(4), folder)
    assert contents(folder) == before
    assert not (folder / ".new").exists()
    with pytest.raises(KeyboardInterrupt):
        pipeline("the whale 1", rerank=Stopping(), k=1).run(questions(4), folder, overwrite=True)
    assert contents(folder) == before
    pipeline().run(questions(4), folder)
    assert Stopping.asked == ([] if finished else ["the whale 3"])


def test_code_behind_a_stage_that_has_changed(folder: Path) -> None:
    first = pipeline().run(questions(2), folder)
    manifest = dict(first.manifest)
    manifest["fingerprint"] = {**manifest["fingerprint"], "rerank": "0" * 16}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(InputError, match="another configuration: another version of what is behind rerank; choose"):
        pipeline().run(questions(2), folder)


def test_where_nothing_was_answered_nothing_is_asked_for(folder: Path) -> None:
    with pytest.raises(StageError):
        pipeline(down=True).run(questions(9), folder)
    result = pipeline(k=2, documents={"a": "A whale. Another."}).run(questions(9), folder)
    assert result.manifest["counts"] == {"documents": 1, "chunks": 2, "questions": 9, "failed": 0}
    assert result.chunks is not None
    assert len(result.chunks) == 2


def test_an_edited_question_of_an_unfinished_run(folder: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        pipeline("the whale 3").run(questions(5), folder)
    before = contents(folder)
    edited = questions(5, q1="the whale of another question")
    with pytest.raises(InputError, match=r"3 answers of the unfinished run 'mine' of other questions \(1 of its 3 are"):
        pipeline().run(edited, folder)
    assert contents(folder) == before
    result = pipeline().run(edited, folder, overwrite=True)
    assert Stopping.asked == ["the whale of another question", "the whale 3", "the whale 4"]
    assert [response.query for _, response in result.responses()] == [question["query"] for question in edited]


# Damage


def damaged(folder: Path, how: str) -> list[str]:
    """Damage a finished run of five; returns the questions that have no whole line any more."""
    outputs = folder / "outputs.jsonl"
    lines = outputs.read_bytes().splitlines(keepends=True)
    outcomes: dict[str, tuple[list[bytes], list[str]]] = {
        "twice": ([*lines[:3], lines[1], *lines[3:]], []),
        "of two runs": ([*lines, *lines[::-1]], []),
        "torn": ([*lines[:4], lines[4][:50]], ["the whale 4"]),
        "torn and written behind": ([*lines[:2], lines[2][:50], *lines[3:]], ["the whale 2", "the whale 3"]),
        "zeros": ([*lines[:2], b"\0" * 100, *lines[3:]], ["the whale 2", "the whale 3"]),
        "lines missing": (lines[:3], ["the whale 3", "the whale 4"]),
        "empty": ([], [f"the whale {i}" for i in range(5)]),
    }
    written, lost = outcomes[how]
    outputs.write_bytes(b"".join(written))
    return lost


DAMAGES = {
    "twice": "line 4: question 'q1' is in line 2 already", "of two runs": "line 6: question 'q4'",
    "torn": "line 5: is no line", "torn and written behind": "line 3: is no line", "zeros": "line 3: is no line",
    "lines missing": "has lines of 3 questions; its manifest.json says 5", "empty": "has lines of 0 questions",
}  # fmt: skip


@pytest.mark.parametrize("how", DAMAGES)
def test_a_damaged_run_is_named_by_readers_and_repaired_from_its_whole_lines(how: str, folder: Path) -> None:
    pipeline().run(questions(5), folder)
    lost = damaged(folder, how)
    with pytest.raises(InputError) as caught:
        ids(read_run_folder(folder))
    assert str(caught.value).startswith(f"{folder / 'outputs.jsonl'}")
    assert DAMAGES[how] in str(caught.value)
    assert "start the same run again (`steelyard run`), which repairs it from its whole lines" in str(caught.value)
    for truth in ({"q0": {"sea.txt#1": 1}}, questions(5)):
        with pytest.raises(
            InputError, match=r"mine.*; start the same run again \(`steelyard run`\)|lines 2 and 4 \(start the same"
        ):
            sy.evaluate(truth, [folder], ["mrr"])
    result = pipeline().run(questions(5), folder)
    assert Stopping.asked == lost
    assert ids(result) == [f"q{i}" for i in range(5)]


def test_an_answer_counts_before_a_later_error_and_a_later_answer_before_an_earlier(folder: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        pipeline("the whale 2").run(questions(3), folder)
    partial = folder / "outputs.partial.jsonl"
    first, second = map(json.loads, partial.read_bytes().splitlines())
    failed = {"qid": "q0", "query": first["query"], "retrieved": [], "error": "x"}
    later = {**second, "answer": "later"}
    partial.write_bytes(b"".join(json.dumps(line).encode() + b"\n" for line in (first, second, failed, later)))
    result = dict(pipeline().run(questions(3), folder).responses())
    assert Stopping.asked == ["the whale 2"]
    assert result["q0"].error is None
    assert result["q1"].answer == "later"


# Kills


KILLED = """
import sys, time
from tests.rag.small import Shortest
from tests.rag.test_run_writer import pipeline, questions

class Slow(Shortest):
    def scores(self, query, texts):
        time.sleep(0.01)
        return super().scores(query, texts)

pipeline(rerank=Slow()).run(questions(90), sys.argv[1], overwrite=sys.argv[2] == "overwrite")
"""


def n_lines(folder: Path) -> int:
    path = folder / "outputs.partial.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0


@pytest.mark.parametrize(
    ("n_kills", "overwrite"), [(2, False), *(pytest.param(5, o, marks=pytest.mark.slow) for o in (False, True))]
)
def test_kills_lose_nothing_and_repeat_nothing(n_kills: int, overwrite: bool, folder: Path) -> None:
    script = folder.with_name("slow_pipeline.py")
    script.write_text(KILLED)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    command = [sys.executable, str(script), str(folder), "overwrite" if overwrite else "go on"]
    before: dict[str, bytes] = {}
    if overwrite:
        subprocess.run([*command[:-1], "go on"], env=environment, check=True)
        before = contents(folder)
    at = folder / ".new" if overwrite else folder
    for kill in range(n_kills):
        with subprocess.Popen(command, env=environment) as process:
            while process.poll() is None and n_lines(at) < 15 * (kill + 1):
                time.sleep(0.002)
            process.kill()
        assert 15 * (kill + 1) <= n_lines(at) < 90
        assert not overwrite or contents(folder).items() >= before.items()
    written = (at / "outputs.partial.jsonl").read_bytes().splitlines()
    subprocess.run(command, env=environment, check=True)
    result = read_run_folder(folder)
    assert ids(result) == [f"q{i}" for i in range(90)]
    assert {*written} <= {*result.outputs.read_bytes().splitlines()}
    assert [note.code for note in result.notes] == ["lock_taken_over"]
    assert sorted(os.listdir(folder)) == ["chunks.parquet", "config.json", "documents.parquet", "manifest.json",
                                          "outputs.jsonl"]  # fmt: skip


# Disks that refuse


class Refusing:
    """A file that takes so many bytes and no more, a part of a line at last, as a full disk does."""

    def __init__(self, file: Any, room: int) -> None:
        self._file, self.room = file, room

    def write(self, data: bytes) -> int:
        if not self.room:
            raise OSError(errno.ENOSPC, "No space left on device")
        n: int = self._file.write(data[: self.room])
        self.room -= n
        return n

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


@pytest.mark.parametrize("room", [0, 1, 700, 1500])
def test_a_disk_that_is_full_amid_a_line(room: int, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = RunWriter.append

    def append(self: Any, *arguments: Any) -> None:
        if not isinstance(self._file, Refusing):
            self._file = Refusing(self._file, room)
        real(self, *arguments)

    with monkeypatch.context() as patched:
        patched.setattr(RunWriter, "append", append)
        with pytest.raises(OutputError) as caught:
            pipeline().run(questions(6), folder)
    partial = (folder / "outputs.partial.jsonl").read_bytes()
    assert len(partial) == room
    n = partial.count(b"\n")
    kept = {0: "nothing was answered yet", 1: "1 answer is kept"}.get(n, f"{n} answers are kept")
    assert str(caught.value) == (
        f"{folder / 'outputs.partial.jsonl'}: cannot be written (No space left on device); {kept}. Make room, "
        "and start the same run again, which goes on from there, or choose another folder"
    )
    pipeline().run(questions(6), folder)
    assert Stopping.asked == [f"the whale {i}" for i in range(n, 6)]
    assert ids(read_run_folder(folder)) == [f"q{i}" for i in range(6)]


@pytest.mark.parametrize(
    "name", ["manifest.json", "config.json", "documents.parquet", "chunks.parquet", "outputs.jsonl"]
)
@pytest.mark.parametrize("overwrite", [False, True])
def test_a_disk_that_is_full_at_any_file(
    name: str, overwrite: bool, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if overwrite:
        pipeline().run(questions(3), folder)
    before = contents(folder) if overwrite else {}
    real = os.replace

    def replace(source: Any, target: Any) -> None:
        if Path(target).name == name:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(source, target)

    with monkeypatch.context() as patched:
        patched.setattr("os.replace", replace)
        with pytest.raises(OutputError, match="No space left on device"):
            pipeline(k=2).run(questions(3), folder, overwrite=overwrite)
    if overwrite:
        assert contents(folder) == before
        assert ids(read_run_folder(folder)) == ["q0", "q1", "q2"]
    result = pipeline(k=2).run(questions(3), folder, overwrite=overwrite)
    assert Stopping.asked == ([] if name == "outputs.jsonl" else ["the whale 0", "the whale 1", "the whale 2"])
    assert ids(result) == ["q0", "q1", "q2"]


def test_lines_are_not_written_twice_where_the_last_one_was_torn(folder: Path) -> None:
    """A disk that was full has hardly room for a copy."""
    with pytest.raises(KeyboardInterrupt):
        pipeline("the whale 3").run(questions(5), folder)
    partial = folder / "outputs.partial.jsonl"
    partial.write_bytes(partial.read_bytes()[:-20])
    file = partial.stat().st_ino
    result = pipeline().run(questions(5), folder)
    assert result.outputs.stat().st_ino == file
    assert ids(result) == [f"q{i}" for i in range(5)]


LIMITED = """
import resource, sys
from tests.rag.test_run_writer import pipeline, questions
from steelyard.base.errors import OutputError
resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))
try:
    pipeline().run(questions(40), sys.argv[1])
except OutputError as error:
    print(error)
"""


@pytest.mark.skipif(os.name != "posix", reason="limits the size of files")
def test_a_limit_of_the_operating_system(folder: Path) -> None:
    done = subprocess.run([sys.executable, "-c", LIMITED, folder], capture_output=True, check=True, text=True)
    assert "cannot be written (File too large)" in done.stdout
    assert "Raise the limit on the size of files" in done.stdout
    n = (folder / "outputs.partial.jsonl").read_bytes().count(b"\n")
    assert f"; {n} answers are kept." in done.stdout
    pipeline().run(questions(40), folder)
    assert len(Stopping.asked) == 40 - n


def test_a_folder_that_is_read_only(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(KeyboardInterrupt):
        pipeline("the whale 2").run(questions(3), folder)

    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    with monkeypatch.context() as patched:
        patched.setattr("tempfile.mkstemp", refuse)
        patched.setattr("steelyard.data.folders.run_lock._acquire", refuse)
        with pytest.raises(OutputError, match=r"2 answers are kept\. Make the folder writable, and start the same run"):
            pipeline().run(questions(3), folder)
    pipeline().run(questions(3), folder)
    with monkeypatch.context() as patched:
        patched.setattr("tempfile.mkstemp", refuse)
        patched.setattr("steelyard.data.folders.run_lock._acquire", refuse)
        assert ids(pipeline().run(questions(3), folder)) == ["q0", "q1", "q2"]


# Files that vanish, and a clock that goes back


def test_a_folder_that_is_removed_while_the_run_goes_on(folder: Path) -> None:
    system, inner = pipeline(), Stopping.scores

    class Removing(Stopping):
        def scores(self, query: str, texts: list[str]) -> list[float]:
            if query == "the whale 2":
                shutil.rmtree(folder)
            return inner(self, query, texts)

    system = pipeline(rerank=Removing())
    Removing.asked, Removing.stop_on, Removing.down = [], None, False
    with pytest.raises(OutputError, match=r"outputs.partial.jsonl: was removed while the run went on, with all its"):
        system.run(questions(9), folder)
    assert Removing.asked == ["the whale 0", "the whale 1", "the whale 2"]


def test_outputs_that_vanish_are_named(folder: Path) -> None:
    result = pipeline().run(questions(3), folder)
    (folder / "outputs.jsonl").unlink()
    with pytest.raises(InputError, match=r"outputs.jsonl: cannot be read \(No such file or directory\)"):
        ids(result)


@pytest.mark.parametrize("names", [["chunks.parquet"], ["documents.parquet"], ["chunks.parquet", "documents.parquet"]])
def test_tables_that_vanish_are_named_and_written_anew(names: list[str], folder: Path) -> None:
    pipeline().run(questions(3), folder)
    before = contents(folder)
    for name in names:
        (folder / name).unlink()
    with pytest.raises(
        InputError, match=r"parquet: .*start the same run again \(`steelyard run`\), which writes it again"
    ):
        sy.evaluate(questions(3), [folder], ["mrr"])
    pipeline().run(questions(3), folder)
    assert Stopping.asked == []
    after = contents(folder)
    assert {name: after[name] for name in names} == {name: before[name] for name in names}
    assert after["outputs.jsonl"] == before["outputs.jsonl"]


def test_a_configuration_that_vanishes_is_written_anew(folder: Path) -> None:
    pipeline().run(questions(3), folder)
    (folder / "config.json").unlink()
    assert pipeline().run(questions(3), folder).config["k"] == 3
    assert Stopping.asked == []


def test_a_run_without_its_manifest_is_no_other_thing(folder: Path) -> None:
    pipeline().run(questions(3), folder)
    (folder / "manifest.json").unlink()
    with pytest.raises(InputError, match=r"holds a run without its manifest.json, so that nothing says which; choose"):
        pipeline().run(questions(3), folder, overwrite=True)
    assert (folder / "outputs.jsonl").exists()


def test_a_clock_that_is_put_back(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_writer, "timestamp", lambda: "2026-06-01T12:00:00+00:00")
    with pytest.raises(KeyboardInterrupt):
        pipeline("the whale 2").run(questions(3), folder)
    monkeypatch.setattr(run_writer, "timestamp", lambda: "2026-05-01T12:00:00+00:00")
    manifest = pipeline().run(questions(3), folder).manifest
    assert (manifest["started"], manifest["finished"]) == ("2026-06-01T12:00:00+00:00",) * 2
    assert manifest["latency_ms"]["total"]["p50"] > 0
