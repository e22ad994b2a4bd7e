"""Logs of the bundled service under test: an interleaving, three A/B tests of four weeks, and four weeks before them.

python examples/ab/simulate.py FOLDER [--seed N] [--sessions N]
"""

from __future__ import annotations

import argparse
import math
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np

import steelyard as sy
from steelyard.demo import DATA
from steelyard.rag.config import Config

sys.path.append(str(Path(__file__).resolve().parents[1]))
from people import (
    N_SHOWN,
    WEEK,
    ZONE,
    Audience,
    Record,
    Shown,
    Shows,
    User,
    answers,
    inside,
    language,
    starts,
    write_log,
)

HERE = Path(__file__).resolve().parent

START = datetime(2026, 8, 31, tzinfo=ZONE)
"""The first day of the tests, a Monday."""
N_BEFORE, N_DAYS, N_INTERLEAVED, SESSIONS = 28, 28, 3, 600
POPULAR = 7
"""Seed of which questions are asked often: whatever the seed of the rest, the effects of the tests are the same."""
BROWSERS = {"chrome": 0.6, "safari": 0.2, "firefox": 0.2}
LIVE = "bm25"
USUAL_MS = {"bm25": 240, "bm25-spaces": 230, "hybrid-rerank": 265}
"""The bundled pipelines that answer, the one in service first, and their median times."""


INTERLEAVED = (LIVE, "hybrid-rerank")


@dataclass(frozen=True)
class Test:
    """An A/B test: who is in which arm by its salt, and what the arms show.

    arms    arm -> pipeline, the baseline first; half of the users each
    loses   arm and browser -> share of these users of whom nothing is logged
    """

    salt: str
    arms: Mapping[str, str]
    loses: Mapping[tuple[str, str], float] = field(default_factory=dict)

    def arm(self, person: int) -> str:
        """Of a user."""
        return sy.assign(self.salt, f"u{person}", list(self.arms))


TESTS = {
    "hybrid": Test("hybrid-1", {"control": LIVE, "hybrid": "hybrid-rerank"}),
    "spaces": Test("spaces-1", {"control": LIVE, "spaces": "bm25-spaces"}),
    "page": Test("page-1", {"control": LIVE, "page": "hybrid-rerank"}, {("page", "firefox"): 0.8}),
}
"""A winner; a cheaper index that knows no Chinese; and the winner on a new page, whose script fails in a browser."""


class Service:
    """The service under test, and the people who use it; each test has the same people, as if it were the only one.

    folder    of its logs and of the declarations;   seed   of all that is drawn;   sessions   a day
    """

    def __init__(self, folder: Path, *, seed: int = 7, sessions: int = SESSIONS) -> None:
        self.folder, self.seed, self.sessions = folder.resolve(), seed, sessions
        self.folder.mkdir(parents=True, exist_ok=True)
        for path in (HERE / "experiments").glob("*.toml"):
            shutil.copy(path, self.folder)
        self.shown = {name: self._answers(name) for name in USUAL_MS}
        self.audience = Audience(np.random.default_rng(POPULAR))
        rng = np.random.default_rng(seed)
        n_people = 6 * sessions
        self.moods = np.exp(rng.normal(0, 0.5, n_people))
        self.browsers = rng.choice(list(BROWSERS), n_people, p=list(BROWSERS.values()))
        self.luck = rng.random(n_people)

    def _answers(self, name: str) -> dict[str, Shown]:
        stages = Config.read(DATA / f"{name}.toml").values
        settings = {key: stages[key] for key in ("index", "fuse", "rerank") if key in stages}
        return answers(self.folder / "build", name, settings, {"config": name, "corpus": "summer"})

    def live(self) -> None:
        """Write all logs: of the weeks before the tests, of each of them, and of the interleaving."""
        for day in range(-N_BEFORE, 0):
            self._day("before", day)
        for name in TESTS:
            for day in range(N_DAYS):
                self._day(name, day)
        for day in range(N_INTERLEAVED):
            self._day("interleaving", day)

    def _day(self, name: str, day: int) -> None:
        """Let a day pass, and write its log."""
        rng = np.random.default_rng([self.seed, day + N_BEFORE, *name.encode()])
        n = rng.poisson(self.sessions * WEEK[day % 7] * math.exp(rng.normal(0, 0.03)))
        people = (len(self.moods) * rng.random(n) ** 1.5).astype(int)
        records = list[Record]()
        for i, (second, person) in enumerate(zip(starts(rng, n), people.tolist(), strict=True)):
            about, shows, usual_ms = self._served(name, person)
            if shows is not None:
                user = User(person, float(self.moods[person]), inside(about))
                session = f"{name}-{day}-{i}"
                records += self.audience.session(rng, session, float(second), user, shows, usual_ms=usual_ms)
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        date = START + timedelta(days=day)
        write_log(folder / f"{date:%Y-%m-%d}.jsonl", date, records)

    def _served(self, name: str, person: int) -> tuple[dict[str, str], Shows | None, float]:
        """What is logged of a user, what the user is shown, None where nothing is logged, and how soon."""
        about = {"browser": str(self.browsers[person])}
        if name == "interleaving":
            return about, self._interleaved, max(USUAL_MS[pipeline] for pipeline in INTERLEAVED)
        pipeline, loses = LIVE, 0.0
        if name in TESTS:
            test = TESTS[name]
            about["arm"] = test.arm(person)
            pipeline = test.arms[about["arm"]]
            loses = test.loses.get((about["arm"], about["browser"]), 0.0)
        own = self.shown[pipeline]
        return about, None if self.luck[person] < loses else lambda text, _: own.get(text), USUAL_MS[pipeline]

    def _interleaved(self, text: str, request: str) -> Shown | None:
        """Results of both pipelines on one page; the answer is that of the pipeline in service."""
        if any(text not in self.shown[pipeline] for pipeline in INTERLEAVED):
            return None
        shown = {pipeline: self.shown[pipeline][text] for pipeline in INTERLEAVED}
        results = {name: [own["id"] for own in page.record["retrieved"]] for name, page in shown.items()}
        page = sy.interleave(results, request, k=N_SHOWN)
        gains = {doc: gain for name, own in shown.items() for doc, gain in zip(results[name], own.gains, strict=True)}
        about = {"query": text, "language": language(text), **page.record()}
        live = shown[LIVE]
        return Shown(live.record, [gains[doc] for doc in page.doc_ids], inside(about), live.answer, live.tokens)


def main() -> None:
    """Write all logs, and the declarations of the tests."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=7, help="Of all that is drawn.")
    parser.add_argument("--sessions", type=int, default=SESSIONS, help="Of a day.")
    options = parser.parse_args()
    Service(options.folder, seed=options.seed, sessions=options.sessions).live()


if __name__ == "__main__":
    main()
