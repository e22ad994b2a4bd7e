"""`steelyard label`: what it prints, writes, refuses, and asks a model."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from steelyard.rag.labelling import label
from tests.cli.command import steelyard
from tests.judges.llm_server import PATH, judging
from tests.rag.server import Fault, Seen, Server

QUESTIONS = [{"qid": "q1", "query": "When is it open?"}, {"qid": "q2", "query": "几点开门？"}]
LINES = [
    {"qid": "q1", "retrieved": [{"id": "h#1", "text": "It is open from 9 to 17."}, {"id": "h#2", "text": "A café."}]},
    {"qid": "q2", "retrieved": [{"id": "h#3", "text": "九点开门，周一休息。"}]},
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, lines in (("q.jsonl", QUESTIONS), ("o.jsonl", LINES)):
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def server() -> Iterator[Server]:
    pytest.importorskip("httpx2", reason="the extra 'endpoints' is not installed")
    with judging(Slow) as server:
        yield server


class Slow(Server):
    """Takes 10 ms a call."""

    def take(self, request: Seen) -> Fault:
        time.sleep(0.01)
        return super().take(request)


def labelled(*options: str) -> tuple[int, str, str]:
    done = steelyard("label", "q.jsonl", "o.jsonl", *options, environment={"LC_ALL": "C.UTF-8"})
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def test_says_how_often_each_grade_was_given_and_how_to_weigh_with_them(folder: Path) -> None:
    status, text, errors = labelled("-o", "g.jsonl", "--scale", "0-3")
    assert (status, errors) == (0, "")
    assert [line.split() for line in text.splitlines()[4:8]] == [
        ["3", "1", "0", "33%"],
        ["2", "0", "0", "0%"],
        ["1", "1", "0", "33%"],
        ["0", "1", "0", "33%"],
    ]
    assert "no truth to rely on" in text
    assert text.startswith("lexical graded 3 pairs of a question and a document on the scale 0-3.\n")
    command = text.splitlines()[-1].removeprefix("Next: ").split()
    assert command == ["steelyard", "evaluate", "g.jsonl", "o.jsonl", "--min-gain", "2"]
    assert steelyard(*command[1:]).returncode == 0


def test_agreement_with_people_is_shown_in_both_languages(folder: Path) -> None:
    people = {"query_id": "q1", "doc_id": "h#1", "gain": 2}, {"query_id": "q2", "doc_id": "h#3", "gain": 9}
    (folder / "p.jsonl").write_text("".join(json.dumps(line) + "\n" for line in people))
    options = ("--scale", "0-3", "--keep", "p.jsonl")
    _, text, _ = labelled("-o", "g.jsonl", *options)
    assert "On the 1 pair that people graded too, 0 has the same grade (0%)." in " ".join(text.split())
    assert "Fewer than 10 pairs" in " ".join(text.split())
    assert "People graded 1 pair off the scale" in " ".join(text.split())
    _, chinese, _ = labelled("-o", "g.jsonl", *options, "--lang", "zh")
    assert "另有 2 对由人评定。" in chinese
    assert "不足 10 对" in chinese


def test_documents_are_no_run_to_weigh(folder: Path) -> None:
    (folder / "docs").mkdir()
    (folder / "docs" / "a.md").write_text("It is open from 9 to 17.")
    done = steelyard("label", "q.jsonl", "docs", "-o", "g.jsonl")
    assert done.stdout.decode().splitlines()[-1] == "Next: steelyard evaluate g.jsonl RUN --min-gain 5"


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("-o", "q.jsonl"), "is an input of this command"),
        (("-o", "g.jsonl", "-f", "csv"), "invalid choice: 'csv'"),
        (("-o", "g.jsonl", "--judge", "llm"), "model"),
        (("-o", "g.jsonl", "--budget", "1usd"), "no setting 'budget'"),
        (("-o", "g.jsonl", "--scale", "none.toml"), "none.toml: there is no such file"),
        ((), "output"),
    ],
)
def test_mistakes(folder: Path, options: tuple[str, ...], problem: str) -> None:
    status, text, errors = labelled(*options)
    assert (status, text) == (2, "")
    assert problem in errors
    assert errors.count("\n") == 1
    assert not (folder / "g.jsonl").exists()


def test_a_dry_run_counts_calls_tokens_and_cost(folder: Path, server: Server) -> None:
    model = ("--judge", "llm", "--model", "m", "--base-url", server.base_url, "--price", "1,2")
    status, text, _ = labelled("-o", "g.jsonl", *model, "--dry-run", "-f", "json")
    plan = json.loads(text)
    assert (status, plan["n_pairs"], plan["n_calls"], plan["n_cached"]) == (0, 3, 3, 0)
    assert plan["cost_usd"] == pytest.approx((plan["tokens_in"] + 2 * plan["tokens_out"]) / 1e6)
    assert server.seen(PATH) == []
    assert not (folder / "g.jsonl").exists()
    assert "calls to the model" in labelled("-o", "g.jsonl", *model, "--dry-run")[1]


def test_a_model_is_named_in_the_truth_and_asked_once(folder: Path, server: Server) -> None:
    model = ("--judge", "llm", "--model", "m-1", "--base-url", server.base_url, "--scale", "0-3")
    status, text, _ = labelled("-o", "g.jsonl", *model)
    assert status == 0
    assert "3 calls, 0 answers from the cache" in text
    rows = [json.loads(line) for line in (folder / "g.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [(row["gain"], row["judge"], row["model"]) for row in rows] == [
        (1, "llm", "m-1"),
        (0, "llm", "m-1"),
        (0, "llm", "m-1"),
    ]
    assert rows[0]["prompt"].startswith("sha256:")
    assert rows[0]["prompt"] != rows[2]["prompt"]
    before = (folder / "g.jsonl").read_bytes()
    _, again, _ = labelled("-o", "g.jsonl", *model)
    assert "0 calls, 3 answers from the cache" in again
    assert (folder / "g.jsonl").read_bytes() == before
    assert len(server.seen(PATH)) == 3


def test_what_was_interrupted_goes_on_from_the_cache(folder: Path, server: Server) -> None:
    lines = [{"qid": "q1", "retrieved": [{"id": f"d{n}", "text": f"It is open at {n}."} for n in range(30)]}]
    (folder / "o.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))

    class StopError(Exception):
        """Ends it in the middle, as Ctrl-C does."""

    def interrupting(stage: str, done: int, total: int) -> None:
        if done >= 5:
            raise StopError

    settings = {"model": "m", "base_url": server.base_url, "concurrency": 2}
    what = ("q.jsonl", "o.jsonl", "llm")
    with pytest.raises(StopError):
        label(*what, depth=30, save="g.jsonl", progress=interrupting, **settings)
    n_asked = len(server.seen(PATH))
    assert 5 <= n_asked < 30
    assert not (folder / "g.jsonl").exists()
    grades = label(*what, depth=30, save="g.jsonl", **settings)
    assert len(grades.by("judge")) == 30
    assert len(server.seen(PATH)) <= 30 + 2  # What was under way is asked again.
