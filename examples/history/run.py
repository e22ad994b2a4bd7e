"""A year of 60 commits of one pipeline, and what its history says of it.

python examples/history/run.py [--output FOLDER] [--seed N] [--lang en|zh]
"""

from __future__ import annotations

import argparse
import hashlib
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from replay import Commit, commits

import steelyard as sy
from steelyard.demo import copy_data
from steelyard.history.difference import difference
from steelyard.rag.config import Config
from steelyard.rag.weighed_run import run_and_weigh

MEASURE = "evidence_recall@5"
MARGIN, ALARMS = 0.05, "1 in 200"
NOTHING = "–"


@dataclass(frozen=True)
class Step:
    """A commit as it was measured: its entry, and the outcome of its gate."""

    commit: Commit
    entry: str
    outcome: str


def new_documents(folder: Path) -> None:
    """The documents of the season: one is gone, one is new, and one has other words."""
    (folder / "zh-toy-cleaning.md").unlink()
    hours = folder / "en-opening-hours.md"
    hours.write_text(hours.read_text("utf-8").replace("\n## ", "\n## Summer season: "), "utf-8")
    text = "# Summer school\n\nThe summer school is open to children from 8 to 14 years. A week costs 40 yuan.\n"
    (folder / "en-summer-school.md").write_text(text, "utf-8")


def configuration(number: int, settings: dict[str, Any]) -> dict[str, Any]:
    """The configuration of the pipeline at a commit."""
    chunk = {"kind": "recursive", "size": settings["size"], "overlap": min(settings["overlap"], settings["size"] // 4)}
    config = {
        "name": "assistant", "documents": "documents", "questions": "questions.jsonl", "chunk": chunk,
        "index": settings["index"], "rerank": {"kind": "lexical", "top_n": settings["top_n"]},
        "folder": f"runs/{number:02}",
    }  # fmt: skip
    embed = {"embed": {"kind": "lsa", "dimensions": settings["dimensions"]}}
    return config | (embed if "dense" in settings["index"] else {})


def replay(folder: Path, store: sy.Store, seed: int) -> Iterator[Step]:
    """Run every commit, gate it against the accepted entry, and keep the gate with its scores.

    The first run is accepted, and the first one on other documents: the team knows of these.
    """
    settings: dict[str, Any] = {"size": 300, "overlap": 50, "top_n": 30, "dimensions": 64, "index": ["bm25", "dense"]}
    for commit in commits(seed):
        settings |= commit.settings
        if commit.corpus:
            new_documents(folder / "documents")
        run = run_and_weigh(Config.of(configuration(commit.number, settings), base=folder), measures=[MEASURE])
        result, outcome = run, ""
        if commit.number > 1:
            result = sy.gate(run.scores, baseline="store:accepted", store=store.name, margin=MARGIN, alarms=ALARMS)
            outcome = result.outcome
        digest = hashlib.sha256(f"{commit.number} {commit.subject}".encode()).hexdigest()[:40]
        entry = store.add(result, commit=digest, dirty=False, time=commit.time, note=commit.subject)
        if commit.number == 1 or commit.corpus:
            store.accept(entry.id, who="team", why=commit.subject, time=commit.time)
        yield Step(commit, entry.id, outcome)


def failures(steps: Sequence[Step]) -> Iterator[tuple[Step, Step]]:
    """First and last step of each row of gates that failed."""
    for fails, row in groupby(steps, key=lambda step: step.outcome == "fail"):
        if fails:
            first, *others = row
            yield first, others[-1] if others else first


def changes(store: sy.Store, steps: Sequence[Step]) -> Iterator[tuple[Step, list[str]]]:
    """Each step at which the level of the measure changed, with what else differs from the step before."""
    by_entry = {step.entry: step for step in steps}
    [line] = store.trend(MEASURE).lines
    for level in line.changes:
        step = by_entry[line.frame["entry"][level.place]]
        before = steps[step.commit.number - 2]
        diff = difference(store, before.entry, step.entry)
        settings = diff.settings.settings.items()
        found = [f"{name}: {old or NOTHING} → {new or NOTHING}" for name, (old, new) in settings]
        if (corpus := diff.corpus) is not None and (corpus.added or corpus.removed or corpus.changed):
            found.append(
                f"documents: {len(corpus.added)} added, {len(corpus.removed)} removed, {len(corpus.changed)} changed; "
                f"the gold of {len(corpus.questions)} questions"
            )
        yield step, found


def main() -> None:
    """Replay the year, and print what trend, gates and differences say."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, help="A folder for the store and the runs; a temporary one by default.")
    parser.add_argument("--seed", type=int, default=7, help="Of the changes that hardly matter.")
    parser.add_argument("--lang", choices=("en", "zh"), default="en", help="Of the trend.")
    options = parser.parse_args()
    with ExitStack() as stack:
        folder = options.output or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        copy_data(folder)
        store = stack.enter_context(sy.Store(folder / "history.db"))
        steps = list(replay(folder, store, options.seed))
        print(store.trend(MEASURE).text(lang=options.lang, width=79))
        print("Gates that failed, against the accepted entry:")
        for first, last in failures(steps):
            print(f"  commits {first.commit.number} to {last.commit.number}, since: {first.commit.subject}")
        print("What changed where the level did:")
        for step, found in changes(store, steps):
            print(f"  {step.commit.number} {step.commit.subject}")
            for text in found:
                print(f"     {text}")


if __name__ == "__main__":
    main()
