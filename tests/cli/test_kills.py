"""SIGKILL at any moment: the command given again ends as if nothing had been, and nothing that was written is lost."""

from __future__ import annotations

import json
import os
import random
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing
from pathlib import Path

import polars as pl
import pytest

import steelyard as sy
from tests.cli.kills import Killed, lines_of, times_of

pytest.importorskip("bm25s", reason="pipelines need the extra rag")
pytest.importorskip("httpx2", reason="the extra 'endpoints' is not installed")
pytestmark = pytest.mark.skipif(os.name != "posix", reason="kills processes")

N_QUESTIONS = 40
SLOW = """
import time

def order(query, texts):
    time.sleep(0.004)
    return [float(len(text)) for text in texts]
"""


def pipeline(folder: Path) -> None:
    """Documents, questions, and a pipeline whose reranker takes its time."""
    (folder / "docs").mkdir(parents=True)
    for n in range(8):
        text = "".join(f"Hall {n} shows {word} {n * i}. " for i, word in enumerate(WORDS))
        (folder / "docs" / f"d{n}.txt").write_text(text)
    lines = [
        {"qid": f"q{n}", "query": f"{WORDS[n % len(WORDS)]} in hall {n % 8}", "rel_map": {f"d{n % 8}": 1}}
        for n in range(N_QUESTIONS)
    ]
    (folder / "q.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (folder / "slow.py").write_text(SLOW)
    config = 'documents = "docs"\nquestions = "q.jsonl"\nrerank = "slow:order"\n'
    (folder / "run.toml").write_text(config + 'chunk = { kind = "recursive", size = 60, overlap = 0 }\n')
    (folder / "sweep.toml").write_text(
        config + 'chunk = { kind = "recursive", overlap = 0 }\n[sweep]\n"chunk.size" = [60, 120]\n'
    )


WORDS = ["whales", "maps", "clocks", "coins", "glass", "masks"]


def answers(folder: Path) -> None:
    folder.mkdir(parents=True)
    questions = [{"qid": f"q{n}", "query": f"when {n}?", "answer": f"at {n}"} for n in range(N_QUESTIONS)]
    outputs = [
        {"qid": f"q{n}", "answer": f"It is {n}. It is not {n}.", "retrieved": [{"id": f"c{n}", "text": f"It is {n}."}]}
        for n in range(N_QUESTIONS)
    ]
    for name, lines in (("q", questions), ("o", outputs)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def bench(folder: Path) -> None:
    from tests.bench.run.test_rerankers import bench_config

    folder.mkdir(parents=True)
    config = bench_config(folder)
    (folder / "slow.py").write_text(SLOW)
    keys = ("name", "truth", "candidates", "documents", "depths", "repetitions", "warm_up")
    text = "".join(f"{key} = {json.dumps(config.values[key])}\n" for key in keys)
    (folder / "bench.toml").write_text(text + 'systems.a.rerank = "slow:order"\nsystems.b.rerank = "lexical"\n')


def reviewed(folder: Path) -> None:
    """A form, and what three people decided in it."""
    from steelyard.judges.people.review import Review
    from steelyard.reviewing.rounds import next_round
    from steelyard.reviewing.systems import open_reviewed
    from tests.reviewing.small import QUESTIONS, outputs, saved, written_items

    folder.mkdir(parents=True)
    systems = open_reviewed(QUESTIONS, {"good": outputs(), "bad": outputs(wrong=range(0, 12, 3))})[1]
    round = next_round(systems, "grounded", n=20)
    Review([sample for own in round.systems for sample in own.review.samples]).write(folder / "labels.json")
    form = written_items(round, folder / "form", folder / "labels.json")
    for rater in ("ann", "bob", "cleo"):
        saved(folder / "form", form, rater, ["supported", "not_found"] * 10, name=rater)


def ranked(folder: Path) -> object:
    runs = sorted(path.parent for path in folder.rglob("outputs.jsonl"))
    return {
        run.name: [[item["id"] for item in json.loads(line)["retrieved"]] for line in lines_in(run)] for run in runs
    }


def lines_in(run: Path) -> list[bytes]:
    return (run / "outputs.jsonl").read_bytes().splitlines()


def swept(folder: Path) -> object:
    return (folder / "sweep.csv").read_text().replace(str(folder), ""), ranked(folder)


def verdicts(folder: Path) -> object:
    return [pl.read_parquet(path).to_dicts() for path in sorted(folder.glob("v*.parquet"))]


def cached(folder: Path) -> Mapping[object, object]:
    """The keys of what is in the cache of answers."""
    kept: dict[object, object] = {}
    for path in folder.glob("*.sqlite"):
        with closing(sqlite3.connect(path)) as file:
            if file.execute("SELECT name FROM sqlite_master WHERE name = 'entries'").fetchall():
                kept |= {row[0]: True for row in file.execute("SELECT * FROM entries")}
    return kept


def decided(folder: Path) -> object:
    return [repr(decision) for decision in sy.Review.read(folder / "labels.json").labels.decisions]


def measured(folder: Path) -> object:
    bench = sy.Bench.read(next(folder.glob("benches/*")))
    return bench.quality.to_dicts(), len(bench.requests)


def asked(url: str, output: str) -> list[str]:
    return ["judge", "q.jsonl", "o.jsonl", "--judge", "llm", "--model", "m", "--base-url", url, "--into", output,
            "--tables", "grounded", "--concurrency", "4"]  # fmt: skip


def scenarios(url: str) -> dict[str, Killed]:
    return {
        "run": Killed(pipeline, [["run", "run.toml", "-m", "mrr"]], ranked, lines_of),
        "sweep": Killed(pipeline, [["sweep", "sweep.toml", "-m", "mrr", "-o", "sweep.csv"]], swept, lines_of),
        "judge": Killed(answers, [asked(url, "v.parquet")], verdicts, cached),
        "bench": Killed(bench, [["bench", "rerank", "bench.toml"]], measured, BLOCKS),
        "review": Killed(
            reviewed, [["review", "import", "form/items.json", "form/ann.json", "form/bob.json", "form/cleo.json",
                        "--into", "labels.json"]], decided,
        ),
        "two in one cache": Killed(answers, [asked(url, "v1.parquet"), asked(url, "v2.parquet")], verdicts, cached),
    }  # fmt: skip


BLOCKS = times_of("benches/*/blocks/*.requests.parquet")


@pytest.fixture
def attacked(tmp_path: Path) -> Iterator[Callable[[str, int], int]]:
    from tests.judges.llm_server import PATH, judging
    from tests.rag.server import stall

    with ExitStack() as stack:
        server = stack.enter_context(judging())
        server.always(PATH, stall(0.01))

        def attack(name: str, n: int) -> int:
            scenario = scenarios(server.base_url)[name]
            want = scenario.undisturbed(tmp_path / "undisturbed")
            return scenario.attack(tmp_path, want, n, random.Random(f"{name} {n}"))

        yield attack


KILLS = {"run": 50, "sweep": 40, "judge": 40, "bench": 20, "review": 20, "two in one cache": 30}
"""200 in all."""


@pytest.mark.slow
@pytest.mark.parametrize("name", KILLS)
def test_200_kills_lose_nothing_and_damage_nothing(name: str, attacked: Callable[[str, int], int]) -> None:
    assert attacked(name, KILLS[name]) >= KILLS[name]
