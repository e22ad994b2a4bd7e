"""Logs of four weeks of the bundled service under test: three A/B tests, and the two weeks before them.

python examples/ab/simulate.py FOLDER [--seed N] [--sessions N]
"""

from __future__ import annotations

import argparse
import hashlib
import math
import shutil
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np

from steelyard.demo import DATA
from steelyard.rag.config import Config

sys.path.append(str(Path(__file__).resolve().parents[1]))
from people import WEEK, ZONE, Audience, Record, Shown, User, answers, starts, write_log

HERE = Path(__file__).resolve().parent

START = datetime(2026, 11, 2, tzinfo=ZONE)
"""The first day of the tests, a Monday."""
N_BEFORE, N_DAYS, SESSIONS = 14, 28, 600
BROWSERS = {"chrome": 0.6, "safari": 0.2, "firefox": 0.2}
LIVE = "bm25"
USUAL_MS = {"bm25": 240, "bm25-spaces": 230, "hybrid-rerank": 265}
"""The bundled pipelines that answer, the one in service first, and their median times."""


@dataclass(frozen=True)
class Test:
    """An A/B test: who is in which arm by its salt, and what the arms show.

    arms     arm -> pipeline, the baseline first; half of the users each
    loses    browser -> share of its users for whom the page of the second arm logs nothing
    """

    salt: str
    arms: tuple[tuple[str, str], tuple[str, str]]
    loses: tuple[str, float] = ("", 0.0)

    def arm(self, person: int) -> int:
        """Of a user, by the first 64 bits of SHA-256."""
        digest = hashlib.sha256(f"{self.salt}u{person}".encode()).digest()
        return 2 * int.from_bytes(digest[:8], "big") >> 64


TESTS = {
    "hybrid": Test("hybrid-1", (("control", LIVE), ("hybrid", "hybrid-rerank"))),
    "spaces": Test("spaces-1", (("control", LIVE), ("spaces", "bm25-spaces"))),
    "page": Test("page-1", (("control", LIVE), ("page", "hybrid-rerank")), ("firefox", 0.7)),
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
        rng = np.random.default_rng(seed)
        self.audience = Audience(rng)
        n_people = 10 * sessions
        self.moods = np.exp(rng.normal(0, 0.4, n_people))
        self.browsers = rng.choice(list(BROWSERS), n_people, p=list(BROWSERS.values()))
        self.luck = rng.random(n_people)

    def _answers(self, name: str) -> dict[str, Shown]:
        stages = Config.read(DATA / f"{name}.toml").values
        settings = {key: stages[key] for key in ("index", "fuse", "rerank") if key in stages}
        return answers(self.folder / "build", name, settings, {"config": name, "corpus": "autumn"})

    def before(self) -> None:
        """Write the logs of the two weeks before the tests."""
        for day in range(-N_BEFORE, 0):
            self._day("before", day, None)

    def test(self, name: str) -> None:
        """Write the logs of a test."""
        for day in range(N_DAYS):
            self._day(name, day, TESTS[name])

    def _day(self, name: str, day: int, test: Test | None) -> None:
        """Let a day pass, and write its log."""
        rng = np.random.default_rng([self.seed, day + N_BEFORE, *name.encode()])
        n = rng.poisson(self.sessions * WEEK[day % 7] * math.exp(rng.normal(0, 0.03)))
        people = (len(self.moods) * rng.random(n) ** 1.5).astype(int)
        records = list[Record]()
        for i, (second, person) in enumerate(zip(starts(rng, n), people.tolist(), strict=True)):
            records += self._session(rng, f"{day:+}-{i}", float(second), person, test)
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        date = START + timedelta(days=day)
        write_log(folder / f"{date:%Y-%m-%d}.jsonl", date, records)

    def _session(
        self, rng: np.random.Generator, name: str, second: float, person: int, test: Test | None
    ) -> Iterable[Record]:
        browser = str(self.browsers[person])
        about, pipeline = f'"browser": "{browser}"', LIVE
        if test is not None:
            place = test.arm(person)
            if place and browser == test.loses[0] and self.luck[person] < test.loses[1]:
                return []
            arm, pipeline = test.arms[place]
            about += f', "arm": "{arm}"'
        user = User(person, float(self.moods[person]), about)
        shown = self.shown[pipeline]
        return self.audience.session(
            rng, name, second, user, lambda text, _: shown.get(text), usual_ms=USUAL_MS[pipeline]
        )


def main() -> None:
    """Write all logs, and the declarations of the tests."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=7, help="Of all that is drawn.")
    parser.add_argument("--sessions", type=int, default=SESSIONS, help="Of a day.")
    options = parser.parse_args()
    service = Service(options.folder, seed=options.seed, sessions=options.sessions)
    service.before()
    for name in TESTS:
        service.test(name)


if __name__ == "__main__":
    main()
