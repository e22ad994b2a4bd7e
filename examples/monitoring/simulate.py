"""Eight weeks of the bundled service, with what goes wrong in them, as logs of one file a day.

python examples/monitoring/simulate.py FOLDER [--seed N] [--days N] [--sessions N]
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.demo import DATA
from steelyard.rag.stages.reranking import Lexical

sys.path.append(str(Path(__file__).resolve().parents[1]))
from people import WEEK, ZONE, Audience, Record, Shown, User, answers, language, starts, write_log

HERE = Path(__file__).parent
START = datetime(2026, 8, 31, tzinfo=ZONE)
"""A Monday."""
N_DAYS, SESSIONS = 56, 1_800

# What happens, by the day on which it does ----------------------------------------------------------------------------

BROKEN = range(25, 29)
"""The new reranker sorts the best results last, and is taken back after four days."""
HOLIDAY = range(31, 38)
"""National Day: half of the sessions, and less patience."""
DOCUMENTS = 41
"""The documents of the winter season come."""
JUDGE = 45
"""The team sets another threshold of the judge."""
CHINESE_LOST = 50
"""From here on the index is built with a tokeniser that knows no Chinese.  Logs have no word of it."""


def version(day: int) -> str:
    """Which of the versions of the service answers on a day."""
    if day in BROKEN:
        return "broken"
    return "usual" if day < DOCUMENTS else "winter" if day < CHINESE_LOST else "lost"


CONFIG = {"broken": "reranker=v2; index=hybrid"}
USUAL_CONFIG = "reranker=v1; index=hybrid"

# What the service shows -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class WorstFirst:
    """A reranker that was given a sign too many: the best chunk comes last."""

    _own: Lexical = field(default_factory=Lexical, init=False, repr=False, compare=False)

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """(n,) one score a text."""
        return [-score for score in self._own.scores(query, texts)]


def winter_documents(folder: Path) -> None:
    """The documents of the season: one is gone, one is new, and one has other words."""
    (folder / "zh-toy-cleaning.md").unlink()
    hours = folder / "en-opening-hours.md"
    hours.write_text(hours.read_text("utf-8").replace("\n## ", "\n## Winter season: "), "utf-8")
    text = "# Sledges\n\nSledges are lent from December to March, for a week at most. The deposit is 50 yuan.\n"
    (folder / "en-sledges.md").write_text(text, "utf-8")


def versions(folder: Path) -> dict[str, dict[str, Shown]]:
    """Version -> text -> what it shows, by pipelines over the bundled documents; of questions, also reworded."""
    winter = folder / "winter"
    shutil.copytree(DATA / "documents", winter, dirs_exist_ok=True)
    winter_documents(winter)
    hybrid: dict[str, Any] = {"index": ["bm25", "dense"], "rerank": {"kind": "lexical", "top_n": 30}}
    settings: dict[str, tuple[Path, dict[str, Any]]] = {
        "usual": (DATA / "documents", hybrid),
        "broken": (DATA / "documents", hybrid | {"rerank": {"kind": "simulate:WorstFirst", "top_n": 8}}),
        "winter": (winter, hybrid),
        "lost": (winter, {"index": {"kind": "bm25", "chinese": "none"}}),
    }
    shown = dict[str, dict[str, Shown]]()
    for name, (documents, own) in settings.items():
        season = "winter" if documents == winter else "summer"
        prints = {"config": CONFIG.get(name, USUAL_CONFIG), "corpus": season}
        shown[name] = answers(folder, name, own, prints, documents=documents, base=HERE)
    english = {text: own for text, own in shown["winter"].items() if language(text) == "en"}
    return shown | {"lost": shown["lost"] | english}


# The service ----------------------------------------------------------------------------------------------------------

_GROWTH = 0.003


class Service:
    """The service, and the people who use it.

    folder    of its logs, and of what the monitor reads;   seed   of all that is drawn
    sessions  a day, at first
    """

    def __init__(self, folder: Path, *, seed: int = 7, sessions: int = SESSIONS) -> None:
        folder = folder.resolve()
        self.folder, self.seed, self.sessions = folder, seed, sessions
        (folder / "logs").mkdir(parents=True, exist_ok=True)
        shutil.copytree(HERE / "service", folder, dirs_exist_ok=True)
        shutil.copy(DATA / "questions.jsonl", folder / "questions.jsonl")
        self.versions = versions(folder / "build")
        self.audience = Audience(np.random.default_rng(seed))

    def live(self, day: int) -> None:
        """Put the version and the documents of a day into service."""
        own = version(day)
        documents = self.folder / "documents"
        shutil.rmtree(documents, ignore_errors=True)
        winter = self.folder / "build" / "winter"
        shutil.copytree(DATA / "documents" if own in ("usual", "broken") else winter, documents)
        given = {text: shown.record for text, shown in self.versions[own].items()}
        (self.folder / "live.json").write_text(json.dumps(given, ensure_ascii=False), "utf-8")

    def log(self, day: int) -> Path:
        """The log of a day."""
        return self.folder / "logs" / f"{START + timedelta(days=day):%Y-%m-%d}.jsonl"

    def day(self, day: int) -> None:
        """Let a day pass, and write its log."""
        rng = np.random.default_rng([self.seed, day])
        date = START + timedelta(days=day)
        holiday = day in HOLIDAY
        mean = self.sessions * (1 + _GROWTH) ** day * WEEK[day % 7] * math.exp(rng.normal(0, 0.03))
        n = rng.poisson(mean * (0.55 if holiday else 1))
        mood = math.exp(rng.normal(0, 0.015)) * (0.9 if holiday else 1)
        seconds = starts(rng, n)
        people = (self.sessions * 4 * (1 + _GROWTH) ** day * rng.random(n) ** 1.5).astype(int)
        shown = self.versions[version(day)]
        records = list[Record]()
        for i in range(n):
            user = User(int(people[i]), mood)
            records += self.audience.session(
                rng, f"{day:02}-{i}", float(seconds[i]), user, lambda text, _: shown.get(text)
            )
        write_log(self.log(day), date, records)


def main() -> None:
    """Write the logs of the days that have none yet, and leave the service as it is on the last one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=7, help="Of all that is drawn.")
    parser.add_argument("--days", type=int, default=N_DAYS, help="Days that pass.")
    parser.add_argument("--sessions", type=int, default=SESSIONS, help="Of a day, at first.")
    options = parser.parse_args()
    service = Service(options.folder, seed=options.seed, sessions=options.sessions)
    for day in range(options.days):
        if not service.log(day).exists():
            service.day(day)
    service.live(options.days - 1)


if __name__ == "__main__":
    main()
