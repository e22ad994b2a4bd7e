"""Eight weeks of the bundled service, with what goes wrong in them, as logs of one file a day.

python examples/monitoring/simulate.py FOLDER [--seed N] [--days N] [--sessions N]
"""

from __future__ import annotations

import argparse
import json
import math
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np

import steelyard as sy
from steelyard.demo import DATA
from steelyard.rag.config import Config
from steelyard.rag.pipeline.pipeline import Pipeline
from steelyard.rag.stages.generation import DONT_KNOW
from steelyard.rag.stages.reranking import Lexical
from steelyard.text.folding import fold

HERE = Path(__file__).parent
ZONE = ZoneInfo("Asia/Shanghai")
START = datetime(2026, 8, 31, tzinfo=ZONE)
"""A Monday."""
N_DAYS, SESSIONS, N_SHOWN = 56, 1_800, 6

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


@dataclass(frozen=True, eq=False)
class Shown:
    """What a version of the service gives for a text.

    record   as the pipeline wrote it: query, retrieved and answer
    gains    (r,) gain of each result, 0 for one that says nothing of it
    shared   what all impressions of it have, as JSON without the braces;   answer   the same of its answers
    tokens   of its answer
    """

    record: Mapping[str, Any]
    gains: Sequence[float]
    shared: str
    answer: str
    tokens: int


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


def versions(folder: Path, questions: sy.Questions) -> dict[str, dict[str, Shown]]:
    """Version -> text -> what it shows, by pipelines over the bundled documents; of questions, also reworded."""
    texts = [{"qid": q.query_id, "query": q.query} for q in questions]
    texts += [{"qid": f"{text['qid']}-again", "query": reworded(text["query"])} for text in texts]
    folder.mkdir(exist_ok=True)
    asked = folder / "asked.jsonl"
    asked.write_text("".join(json.dumps(text, ensure_ascii=False) + "\n" for text in texts), "utf-8")
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
    rows = {name: _rows(folder, name, *own, asked) for name, own in settings.items()}
    by_text = {text["query"]: question for text, question in zip(texts, [*questions] * 2, strict=True)}
    shown = {
        name: {row["query"]: _shown(row, by_text[row["query"]], name) for row in own} for name, own in rows.items()
    }
    english = {text: own for text, own in shown["winter"].items() if language(text) == "en"}
    return shown | {"lost": shown["lost"] | english}


def _rows(folder: Path, name: str, documents: Path, settings: Mapping[str, Any], asked: Path) -> list[dict[str, Any]]:
    chunk = {"kind": "recursive", "size": 300, "overlap": 50}
    config = {"documents": str(documents), "questions": str(asked), "chunk": chunk, "k": N_SHOWN,
              "generate": "extractive", "cache": False, **settings}  # fmt: skip
    run = Pipeline.read(Config.of(config, base=HERE)).run(asked, folder / "runs" / name, overwrite=True)
    return [json.loads(line) for line in (run.path / "outputs.jsonl").read_text("utf-8").splitlines()]


def _shown(row: dict[str, Any], question: sy.Question, name: str) -> Shown:
    """The results of a text; the first 40 questions are answered by hand, some of them badly."""
    quotes = [(fold(piece.text), piece.gain) for piece in question.evidence]
    row["answer"] = _WRITTEN.get(row["query"]) or row.get("answer") or DONT_KNOW[language(row["query"])]
    results = row["retrieved"]
    gains = [max((gain for quote, gain in quotes if quote in fold(own["text"])), default=0.0) for own in results]
    n_in, n_out = (len(text) // 3 for text in ("".join(own["text"] for own in results), row["answer"]))
    shared = {
        "query": row["query"], "language": language(row["query"]), "doc_ids": [own["id"] for own in results],
        "scores": [round(own["score"], 4) for own in results], "tokens_in": n_in, "tokens_out": n_out,
        "cost_usd": round(1.5e-7 * n_in + 6e-7 * n_out, 8), "config": CONFIG.get(name, USUAL_CONFIG),
        "corpus": "summer" if name in ("usual", "broken") else "winter",
    }  # fmt: skip
    answer = {
        "answer": row["answer"], "citations": re.findall(r"\[([\w-]+#\d+)\]", row["answer"]),
        "contexts": [own["text"] for own in results], "abstained": row["answer"] in DONT_KNOW.values(),
    }  # fmt: skip
    return Shown(row, gains, _inside(shared), _inside(answer), n_out)


_WRITTEN = {
    row["query"]: row["answer"] for row in map(json.loads, (DATA / "assistant.jsonl").read_text("utf-8").splitlines())
}


def _inside(values: Mapping[str, Any]) -> str:
    return json.dumps(values, ensure_ascii=False)[1:-1]


def language(text: str) -> str:
    """Of a text of the example."""
    return "zh" if re.search("[\u4e00-\u9fff]", text) else "en"


def reworded(text: str) -> str:
    """A question asked again in fewer words."""
    if language(text) == "zh":
        return text[: max(len(text) * 3 // 4, 2)]
    words = text.split()
    return " ".join(words[len(words) // 4 :])


# What users do --------------------------------------------------------------------------------------------------------

_WEEK = (0.93, 0.9, 0.9, 0.95, 1.02, 1.25, 1.1)
_HOURS = np.array([1, 0.6, 0.4, 0.3, 0.3, 0.6, 1.5, 3, 5, 7, 8, 7.5, 6, 6.5, 7, 7, 6.5, 6, 6.5, 8, 9, 8, 5, 2.5])
"""Sessions by weekday and by hour."""
_CLICKS = {0: 0.06, 1: 0.25, 2: 0.45, 3: 0.65}
_SATISFIES = {0: 0.1, 1: 0.3, 2: 0.6, 3: 0.85}
_LOOKS_ON = 0.8
"""Cascade: results are looked at from the first on, clicked by their gain, and left once one satisfies."""
_GROWTH, _ANSWERS_LOGGED = 0.003, 0.06


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
        questions = sy.Questions.read(DATA / "questions.jsonl")
        self.versions = versions(folder / "build", questions)
        texts = [str(question.query) for question in questions]
        rng = np.random.default_rng(seed)
        self.texts = {own: rng.permutation([t for t in texts if language(t) == own]).tolist() for own in ("en", "zh")}
        popular = 1 / np.arange(1, 61) ** 0.7
        self.popular = popular / popular.sum()

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
        mean = self.sessions * (1 + _GROWTH) ** day * _WEEK[day % 7] * math.exp(rng.normal(0, 0.03))
        n = rng.poisson(mean * (0.55 if holiday else 1))
        mood = math.exp(rng.normal(0, 0.015)) * (0.9 if holiday else 1)
        hours = rng.choice(24, n, p=_HOURS / _HOURS.sum())
        seconds = np.sort(hours * 3600 + rng.uniform(0, 3600, n))
        people = (self.sessions * 4 * (1 + _GROWTH) ** day * rng.random(n) ** 1.5).astype(int)
        load = _HOURS / _HOURS.max()
        lines = list[tuple[float, str]]()
        for i in range(n):
            lines += self._session(rng, f"{day:02}-{i}", float(seconds[i]), int(people[i]), mood, load, day)
        texts = [f'{{"time": "{_text(date, second)}", {line}}}\n' for second, line in sorted(lines)]
        self.log(day).write_text("".join(texts), "utf-8")

    def _session(
        self, rng: np.random.Generator, session: str, second: float, person: int, mood: float, load: Any, day: int
    ) -> Iterator[tuple[float, str]]:
        """Requests of a session, with what is done with each: second of the day, and the record without its time."""
        spoken = "zh" if person * 7919 % 100 < 40 else "en"
        shown = self.versions[version(day)]
        text = self.texts[spoken][rng.choice(60, p=self.popular)]
        for turn in range(4):
            own = shown[text]
            request = f'"request": "r{session}-{turn}"'
            busy = 1 + 0.25 * load[int(second // 3600) % 24]
            latency = rng.lognormal(math.log(240), 0.3) * busy + 4 * own.tokens
            failed = rng.random() < 0.004
            user = f'"user": "u{person}", "session": "s{session}", "latency_ms": {latency:.0f}'
            error = ', "error": "timeout"' if failed else ""
            yield second, f'"type": "impression", {request}, {user}, {own.shared}{error}'
            is_satisfied = False
            if not failed:
                if rng.random() < _ANSWERS_LOGGED:
                    yield second + latency / 1000, f'"type": "answer", {request}, {own.answer}'
                done, is_satisfied = _clicks(rng, own.gains, second + latency / 1000, request, mood)
                yield from done
            draw = rng.random()
            if not is_satisfied and draw < 0.35:
                second, text = second + rng.uniform(15, 90), reworded(text) if turn == 0 else text
            elif draw > 0.8:
                second, text = second + rng.uniform(60, 400), self.texts[spoken][rng.choice(60, p=self.popular)]
            else:
                return
            if text not in shown:
                return


def _clicks(
    rng: np.random.Generator, gains: Sequence[float], second: float, request: str, mood: float
) -> tuple[list[tuple[float, str]], bool]:
    """Clicks, dwell and thumbs of a request, by a cascade; and whether its user is satisfied."""
    lines, is_satisfied = list[tuple[float, str]](), False
    for place, gain in enumerate(gains, 1):
        second += rng.uniform(1, 4)
        if rng.random() < min(_CLICKS[int(gain)] * mood, 1):
            is_satisfied = rng.random() < _SATISFIES[int(gain)]
            seconds = rng.lognormal(math.log(70 if is_satisfied else 12), 0.6)
            lines.append((second, f'"type": "event", {request}, "kind": "click", "position": {place}'))
            dwell = f'"type": "event", {request}, "kind": "dwell", "position": {place}, "value": {seconds:.1f}'
            lines.append((second + seconds, dwell))
            second += seconds
        if is_satisfied or rng.random() > _LOOKS_ON:
            break
    if rng.random() < 0.06:
        up = 1 if rng.random() < (0.9 if is_satisfied else 0.4) else -1
        lines.append((second + 2, f'"type": "event", {request}, "kind": "thumb", "value": {up}'))
    return lines, is_satisfied


def _text(date: datetime, second: float) -> str:
    moment = (date + timedelta(seconds=second)).astimezone(UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


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
