"""What the simulated services of the examples have in common: pipelines over the bundled documents, and their users."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
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
from steelyard.text.folding import fold

ZONE = ZoneInfo("Asia/Shanghai")
QUESTIONS = sy.Questions.read(DATA / "questions.jsonl")
N_SHOWN = 6

# What a service shows -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Shown:
    """What a service gives for a text.

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


def answers(
    folder: Path, name: str, settings: Mapping[str, Any], prints: Mapping[str, str], *,
    documents: Path = DATA / "documents", base: Path = DATA,
) -> dict[str, Shown]:  # fmt: skip
    """Text -> what a pipeline shows for it: for each bundled question, and for it asked again in other words.

    folder   of its run;   settings   of the pipeline, beside documents, chunks and k
    prints   what its impressions say of configuration and documents: `config`, `corpus`
    base     of stages that `settings` names by a path
    """
    texts = [{"qid": q.query_id, "query": q.query} for q in QUESTIONS]
    texts += [{"qid": f"{text['qid']}-again", "query": reworded(str(text["query"]))} for text in texts]
    folder.mkdir(parents=True, exist_ok=True)
    asked = folder / "asked.jsonl"
    asked.write_text("".join(_line(text) for text in texts), "utf-8")
    chunk = {"kind": "recursive", "size": 300, "overlap": 50}
    config = {"documents": str(documents), "questions": str(asked), "chunk": chunk, "k": N_SHOWN,
              "generate": "extractive", "cache": False, **settings}  # fmt: skip
    run = Pipeline.read(Config.of(config, base=base)).run(asked, folder / "runs" / name, overwrite=True)
    rows = map(json.loads, (run.path / "outputs.jsonl").read_text("utf-8").splitlines())
    return {row["query"]: _shown(row, question, prints) for row, question in zip(rows, [*QUESTIONS] * 2, strict=True)}


def _shown(row: dict[str, Any], question: sy.Question, prints: Mapping[str, str]) -> Shown:
    """The results of a text; the first 40 questions are answered by hand, some of them badly."""
    quotes = [(fold(piece.text), piece.gain) for piece in question.evidence]
    row["answer"] = _WRITTEN.get(row["query"]) or row.get("answer") or DONT_KNOW[language(row["query"])]
    results = row["retrieved"]
    gains = [max((gain for quote, gain in quotes if quote in fold(own["text"])), default=0.0) for own in results]
    n_in, n_out = (len(text) // 3 for text in ("".join(own["text"] for own in results), row["answer"]))
    shared = {
        "query": row["query"], "language": language(row["query"]), "doc_ids": [own["id"] for own in results],
        "scores": [round(own["score"], 4) for own in results], "tokens_in": n_in, "tokens_out": n_out,
        "cost_usd": round(1.5e-7 * n_in + 6e-7 * n_out, 8), **prints,
    }  # fmt: skip
    answer = {
        "answer": row["answer"], "citations": re.findall(r"\[([\w-]+#\d+)\]", row["answer"]),
        "contexts": [own["text"] for own in results], "abstained": row["answer"] in DONT_KNOW.values(),
    }  # fmt: skip
    return Shown(row, gains, inside(shared), inside(answer), n_out)


_WRITTEN = {
    row["query"]: row["answer"] for row in map(json.loads, (DATA / "assistant.jsonl").read_text("utf-8").splitlines())
}


def _line(values: Mapping[str, Any]) -> str:
    return json.dumps(values, ensure_ascii=False) + "\n"


def inside(values: Mapping[str, Any]) -> str:
    """JSON without the braces, a part of a record."""
    return json.dumps(values, ensure_ascii=False)[1:-1]


def language(text: str) -> str:
    """Of a text of the examples."""
    return "zh" if re.search("[\u4e00-\u9fff]", text) else "en"


def reworded(text: str) -> str:
    """A question asked again in fewer words."""
    if language(text) == "zh":
        return text[: max(len(text) * 3 // 4, 2)]
    words = text.split()
    return " ".join(words[len(words) // 4 :])


# What users do --------------------------------------------------------------------------------------------------------

WEEK = (0.93, 0.9, 0.9, 0.95, 1.02, 1.25, 1.1)
HOURS = np.array([1, 0.6, 0.4, 0.3, 0.3, 0.6, 1.5, 3, 5, 7, 8, 7.5, 6, 6.5, 7, 7, 6.5, 6, 6.5, 8, 9, 8, 5, 2.5])
"""Sessions by weekday and by hour."""
_LOAD = HOURS / HOURS.max()
_CLICKS = {0: 0.06, 1: 0.25, 2: 0.45, 3: 0.65}
_SATISFIES = {0: 0.1, 1: 0.3, 2: 0.6, 3: 0.85}
_LOOKS_ON = 0.8
"""Cascade: results are looked at from the first on, clicked by their gain, and left once one satisfies."""
_ANSWERS_LOGGED = 0.06

Record = tuple[float, str]
"""Second of the day, and a record of the log without its time and its braces."""
Shows = Callable[[str, str], Shown | None]
"""Text and id of a request -> what is shown; None for a text that the service does not know."""


@dataclass(frozen=True)
class User:
    """Who asks.

    person   number;   mood   factor of the probability of a click;   about   further fields of impressions, as JSON
    without the braces
    """

    person: int
    mood: float = 1.0
    about: str = ""

    @property
    def language(self) -> str:
        """Of what the user asks: Chinese for 2 of 5."""
        return "zh" if self.person * 7919 % 100 < 40 else "en"


class Audience:
    """The questions that people have, some of them often."""

    def __init__(self, rng: np.random.Generator) -> None:
        texts = [str(question.query) for question in QUESTIONS]
        self._texts = {own: rng.permutation([t for t in texts if language(t) == own]).tolist() for own in ("en", "zh")}
        popular = 1 / np.arange(1, 61) ** 0.7
        self._popular = popular / popular.sum()

    def _text(self, rng: np.random.Generator, spoken: str) -> str:
        return str(self._texts[spoken][rng.choice(60, p=self._popular)])

    def session(
        self, rng: np.random.Generator, name: str, second: float, user: User, shows: Shows, *, usual_ms: float = 240
    ) -> Iterator[Record]:
        """Requests of a session, with what is done with each.

        usual_ms   median time to a result, without load and without the answer
        """
        text = self._text(rng, user.language)
        for turn in range(4):
            own = shows(text, f"r{name}-{turn}")
            if own is None:
                return
            request = f'"request": "r{name}-{turn}"'
            busy = 1 + 0.25 * _LOAD[int(second // 3600) % 24]
            latency = rng.lognormal(math.log(usual_ms), 0.3) * busy + 4 * own.tokens
            failed = rng.random() < 0.004
            about = f'"user": "u{user.person}", "session": "s{name}", "latency_ms": {latency:.0f}'
            more = "".join(f", {part}" for part in (user.about, '"error": "timeout"' if failed else "") if part)
            yield second, f'"type": "impression", {request}, {about}, {own.shared}{more}'
            is_satisfied = False
            if not failed:
                if rng.random() < _ANSWERS_LOGGED:
                    yield second + latency / 1000, f'"type": "answer", {request}, {own.answer}'
                done, is_satisfied = _clicks(rng, own.gains, second + latency / 1000, request, user.mood)
                yield from done
            draw = rng.random()
            if not is_satisfied and draw < 0.35:
                second, text = second + rng.uniform(15, 90), reworded(text) if turn == 0 else text
            elif draw > 0.8:
                second, text = second + rng.uniform(60, 400), self._text(rng, user.language)
            else:
                return


def _clicks(
    rng: np.random.Generator, gains: Sequence[float], second: float, request: str, mood: float
) -> tuple[list[Record], bool]:
    """Clicks, dwell and thumbs of a request, by a cascade; and whether its user is satisfied."""
    lines, is_satisfied = list[Record](), False
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


def starts(rng: np.random.Generator, n: int) -> Any:
    """(n,) seconds of a day at which sessions begin, ascending."""
    hours = rng.choice(24, n, p=HOURS / HOURS.sum())
    return np.sort(hours * 3600 + rng.uniform(0, 3600, n))


def write_log(path: Path, date: datetime, records: Sequence[Record]) -> None:
    """Write the records of a day, in the order of time."""
    lines = [f'{{"time": "{_moment(date, second)}", {record}}}\n' for second, record in sorted(records)]
    path.write_text("".join(lines), "utf-8")


def _moment(date: datetime, second: float) -> str:
    moment = (date + timedelta(seconds=second)).astimezone(UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
