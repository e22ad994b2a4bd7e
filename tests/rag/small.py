"""A tiny corpus in two languages, and small stages that count, fail or stop on request."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np

from steelyard.base.errors import StageError

TEXTS = {
    "scales.txt": "A steelyard weighs goods with one weight. The weight slides along the beam. Goods hang from a hook.",
    "sea.txt": "A whale swims in the sea. Sailors fear the whale. The sea is deep and cold.",
    "茶.txt": "秤是一种称重的工具。茶叶产于福建。龙井茶来自杭州。",
}
QUESTIONS = [
    {"qid": "q1", "query": "What slides along the beam?", "evidence": [{"doc": "scales.txt", "start": 42, "end": 76}]},
    {"qid": "q2", "query": "Who fears the whale?", "evidence": [{"doc": "sea.txt", "start": 26, "end": 49}]},
    {"qid": "q3", "query": "龙井茶来自哪里？", "evidence": [{"doc": "茶.txt", "start": 17, "end": 25}]},
]


def write(folder: Path, texts: dict[str, str] | None = None) -> Path:
    """A folder `documents`, `questions.jsonl` beside it; returns where they are."""
    (folder / "documents").mkdir(parents=True)
    for name, text in (TEXTS if texts is None else texts).items():
        (folder / "documents" / name).write_text(text, encoding="utf-8")
    lines = [json.dumps(question, ensure_ascii=False) + "\n" for question in QUESTIONS]
    (folder / "questions.jsonl").write_text("".join(lines), encoding="utf-8")
    return folder


@dataclass
class Stops:
    """Chunks end behind a full stop."""

    marks: str = ".。"

    def spans(self, text: str) -> list[tuple[int, int]]:
        ends = [i + 1 for i, letter in enumerate(text) if letter in self.marks]
        cuts = [0, *ends, *([len(text)] if not ends or ends[-1] < len(text) else [])]
        return [(a, b) for a, b in pairwise(cuts) if b > a]


class Halves:
    """Of another library: cuts a text into two strings."""

    def split_text(self, text: str) -> list[str]:
        return [text[: len(text) // 2], text[len(text) // 2 :]]


@dataclass
class Letters:
    """Vectors of how often each of some letters occurs; counts what it is asked, and stops or fails on request."""

    size: int = 32
    _texts: list[str] = field(default_factory=list)
    _queries: list[str] = field(default_factory=list)
    _stop_after: int | None = None

    def fit(self, texts: Sequence[str]) -> None:
        pass

    def documents(self, texts: Sequence[str]) -> np.ndarray:
        if self._stop_after is not None and len(self._texts) >= self._stop_after:
            raise KeyboardInterrupt
        self._texts.extend(texts)
        return np.stack([self._vector(text) for text in texts])

    def query(self, text: str) -> np.ndarray:
        self._queries.append(text)
        return self._vector(text)

    def identity(self) -> str:
        return f"letters of {self.size}"

    def _vector(self, text: str) -> np.ndarray:
        counts = np.bincount([ord(letter) % self.size for letter in text], minlength=self.size).astype(np.float32)
        return counts / np.linalg.norm(counts)


@dataclass
class Learner(Letters):
    """One that learns from the corpus: the mean vector, which it takes off."""

    _mean: np.ndarray | None = None
    _fits: int = 0

    def fit(self, texts: Sequence[str]) -> None:
        self._fits += 1
        self._mean = np.stack([super(Learner, self)._vector(text) for text in texts]).mean(axis=0).astype(np.float32)

    def state(self) -> bytes:
        return self._mean.tobytes()

    def restore(self, state: bytes) -> None:
        if len(state) != 4 * self.size:
            raise ValueError("of another size")
        self._mean = np.frombuffer(state, np.float32)

    def _vector(self, text: str) -> np.ndarray:
        apart = super()._vector(text) - self._mean
        return (apart / np.linalg.norm(apart)).astype(np.float32)


@dataclass
class Common:
    """An index: how many different characters a chunk has in common with the question."""

    needs_vectors: bool = field(default=False, init=False)

    def build(self, texts: Sequence[str], vectors: np.ndarray | None) -> None:
        self._sets = [set(text) for text in texts]

    def search(self, query: str, vector: np.ndarray | None, k: int) -> tuple[np.ndarray, np.ndarray]:
        scores = np.array([float(len(letters & set(query))) for letters in self._sets])
        order = np.lexsort((np.arange(len(scores)), -scores))[:k]
        return order, scores[order]


@dataclass
class Nearest:
    """An index of vectors."""

    needs_vectors: bool = field(default=True, init=False)

    def build(self, texts: Sequence[str], vectors: np.ndarray) -> None:
        self._vectors = vectors

    def search(self, query: str, vector: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        scores = (self._vectors @ vector).astype(np.float64)
        order = np.lexsort((np.arange(len(scores)), -scores))[:k]
        return order, scores[order]


@dataclass
class Shortest:
    """A reranker that likes short texts, and fails, stops or gives NaN where a question says so."""

    _fail_on: str = "\0"
    _stop_on: str = "\0"
    _nan_on: str = "\0"

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        if self._fail_on in query:
            raise StageError("the reranker is tired")
        if self._stop_on in query:
            raise KeyboardInterrupt
        return [float("nan") if self._nan_on in query else -float(len(text)) for text in texts]


def shortest_first() -> Shortest:
    return Shortest()
