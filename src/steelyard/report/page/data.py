"""Questions as compact columns, for the script of the page: ids once, numbers packed, texts by budget."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from steelyard.base.arrays import Floats, Ints
from steelyard.data.questions import Piece, Question, Questions
from steelyard.data.truth import Truth
from steelyard.experiment.weighing import Weighed, Weighing
from steelyard.report.contents import Contents
from steelyard.report.page.highlighting import Highlights
from steelyard.report.visible import on_one_line, visible

NOTHING = 65_535
"""Stands for a value that is not there, among packed ones."""

_MOST_DECIMALS = 4
_LONGEST_QUERY = 2_000
_LONGEST_REASON = 500


@dataclass(frozen=True)
class Limits:
    """What a page may hold at most; what is left out is told on the page.

    entries      places of all lists together, and depth of any of them
    id_bytes     of the ids of what the lists show
    chunk_bytes, answer_bytes, gold_bytes   of texts of chunks, of answers, of gold and expected answers
    gold_pieces  of all questions together
    """

    entries: int = 700_000
    depth: int = 20
    id_bytes: int = 4_000_000
    chunk_bytes: int = 4_500_000
    answer_bytes: int = 1_500_000
    gold_bytes: int = 1_000_000
    gold_pieces: int = 100_000


@dataclass
class _Budget:
    """Texts as long as there is room; the rest is counted."""

    room: int
    left_out: int = 0

    def __call__(self, text: str) -> str | None:
        size = len(text.encode("utf-8", "replace"))
        if size > self.room:
            self.left_out += 1
            return None
        self.room -= size
        return visible(text)


def embedded(data: object) -> str:
    """Data as JSON that can stand in a script element: no character of it can end the element.

    >>> embedded({"a": "</script>"})
    '{"a":"\\\\u003c/script\\\\u003e"}'
    """
    made = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        made = made.replace(character, f"\\u{ord(character):04x}")
    return made


def packed(numbers: npt.NDArray[np.integer[Any]]) -> dict[str, Any]:
    """Whole numbers from 0 as base64 of the smallest type that holds them: bits 8, 16 or 32, little endian."""
    most = int(numbers.max(initial=0))
    bits = 8 if most < 1 << 8 else 16 if most < 1 << 16 else 32
    raw = numbers.astype(f"<u{bits // 8}").tobytes()
    return {"bits": bits, "data": base64.b64encode(raw).decode()}


def packed_values(values: Floats) -> dict[str, Any]:
    """Values as whole numbers of steps above `low`, NOTHING where there is none.

    decimals   of the step, 10 ** -decimals: 4, or as many as two bytes have room for
    """
    known = ~np.isnan(values)
    low, high = (float(values[known].min()), float(values[known].max())) if known.any() else (0.0, 0.0)
    low = min(0.0, math.floor(low))
    fits = (d for d in range(_MOST_DECIMALS, -300, -1) if (high - low) * 10.0**d < NOTHING - 1)
    decimals = next(fits)
    steps = np.full(values.shape, NOTHING)
    steps[known] = np.rint((values[known] - low) * 10.0**decimals).astype(np.int64)
    raw = steps.astype("<u2").tobytes()
    return {"low": low, "decimals": decimals, "data": base64.b64encode(raw).decode()}


def payload(report: Contents, *, limits: Limits | None = None) -> dict[str, Any]:
    """Everything that the page's script shows of single questions.

    Texts are those of the inputs with control characters made visible; nothing is escaped here, see `embedded`.
    """
    limits = limits or Limits()
    scores, weighing = report.scores, report.weighing
    lists = _Lists.of(weighing, limits)
    return {
        "systems": [on_one_line(name) for name in scores.systems],
        "measures": [str(measure) for measure in scores.measures],
        "means": [[_finite(mean) for mean in row] for row in scores.means.tolist()],
        "values": [packed_values(scores.values[:, j].ravel()) for j in range(len(scores.measures))],
        "status": packed(scores.statuses()[:, 0].ravel()),
        "stage": packed(np.array([funnel.stage for funnel in report.diagnosis.funnels]).ravel()),
        "k": report.diagnosis.k,
        **_questions(weighing, limits),
        **lists.payload(weighing, limits),
        "of": [_of(each, weighing, limits) for each in weighing.weighed],
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _questions(weighing: Weighing, limits: Limits) -> dict[str, Any]:
    """Ids, queries, tags, expected answers and gold of every question."""
    budget = _Budget(limits.gold_bytes)
    asked = [weighing.questions.get(query_id) for query_id in weighing.query_ids]
    tags = sorted({tag for question in asked if question for tag in question.tags})
    number = {tag: i for i, tag in enumerate(tags)}
    expected = [None if q is None or q.answer is None else budget(q.answer) for q in asked]
    gold, more = _gold(weighing, limits, budget)
    return {
        "ids": [visible(query_id) for query_id in weighing.query_ids],
        "queries": [None if q is None or q.query is None else visible(_cut(q.query, _LONGEST_QUERY)) for q in asked],
        "tag_names": [visible(tag) for tag in tags],
        "tags": [sorted({number[tag] for tag in q.tags}) if q else [] for q in asked],
        "expected": expected if any(text is not None for text in expected) else None,
        "gold": gold,
        "gold_more": more,
        "gold_left_out": budget.left_out,
    }


def _cut(text: str, size: int) -> str:
    return text if len(text) <= size else text[: size - 1] + "…"


_Gold = list[list[list[Any]]]


def _gold(weighing: Weighing, limits: Limits, budget: _Budget) -> tuple[_Gold, dict[int, int]]:
    """Of every question its pieces [kind, gain, group, document or id, text], and how many more it has than shown."""
    shown = max(3, min(50, limits.gold_pieces // max(len(weighing.query_ids), 1)))
    if isinstance(weighing.gold, Truth):
        return _gold_of_truth(weighing.gold, weighing.query_ids, shown)
    documents = _documents(weighing)
    made: _Gold = []
    more: dict[int, int] = {}
    by_id = {question.query_id: question for question in weighing.gold}
    for i, query_id in enumerate(weighing.query_ids):
        pieces = gold_pieces(by_id[query_id])
        made.append([_piece(piece, documents, budget) for piece in pieces[:shown]])
        if len(pieces) > shown:
            more[i] = len(pieces) - shown
    return made, more


def gold_pieces(question: Question) -> Sequence[Piece]:
    """The gold of a question: its evidence, or its labels by id where it has none."""
    return question.evidence or question.id_pieces


def _documents(weighing: Weighing) -> Mapping[str, str]:
    """Texts of the documents that the systems bring along; of one name the first one's."""
    texts: dict[str, str] = {}
    for each in weighing.weighed:
        if each.outputs is not None and each.outputs.chunks is not None:
            for document in each.outputs.chunks.documents:
                texts.setdefault(document.doc_id, document.text)
    return texts


def _piece(piece: Piece, documents: Mapping[str, str], budget: _Budget) -> list[Any]:
    text = piece.text or (documents.get(piece.doc, "")[piece.start : piece.end] if piece.kind == "span" else "")
    where = {"span": f"{piece.start}–{piece.end}", "pages": ", ".join(map(str, piece.pages))}.get(piece.kind, "")
    name = visible(piece.chunk_id or piece.doc)
    return [piece.kind, piece.gain, visible(piece.group) if piece.group else None, name, where,
            budget(text) if text else None]  # fmt: skip


def _gold_of_truth(truth: Truth, query_ids: Sequence[str], shown: int) -> tuple[_Gold, dict[int, int]]:
    number = {query_id: i for i, query_id in enumerate(query_ids)}
    made: _Gold = [[] for _ in query_ids]
    more: dict[int, int] = {}
    good = truth.frame.drop_nulls("doc_id").filter(pl.col("gain") > 0)
    for query_id, doc_id, gain in good.sort("query_id", "gain", "doc_id", descending=[False, True, False]).iter_rows():
        i = number[query_id]
        if len(made[i]) < shown:
            made[i].append(["chunk", gain, None, visible(doc_id), "", None])
        else:
            more[i] = more.get(i, 0) + 1
    return made, more


def _of(each: Weighed, weighing: Weighing, limits: Limits) -> dict[str, Any]:
    """What one system says of single questions: answers, failures, and the gold that its corpus does not hold."""
    number = {query_id: i for i, query_id in enumerate(weighing.query_ids)}
    answers: dict[int, str | None] = {}
    failures: dict[int, str] = {}
    budget = _Budget(limits.answer_bytes // max(len(weighing.weighed), 1))
    if each.outputs is not None:
        known = [(number[id], text) for id, text in each.outputs.answers.items() if id in number]
        answers = {i: budget(text) for i, text in sorted(known)}
        told = [(number[id], text) for id, text in each.outputs.failures.items() if id in number]
        failures = {i: visible(_cut(text, _LONGEST_REASON)) for i, text in sorted(told)}
    lost: dict[int, list[int]] = {}
    if each.mapping is not None and isinstance(weighing.gold, Questions):
        names = (
            {q.query_id: [str(piece) for piece in gold_pieces(q)] for q in weighing.gold} if each.mapping.lost else {}
        )
        for query_id, piece, _ in each.mapping.lost:
            lost.setdefault(number[query_id], []).append(names[query_id].index(piece))
    return {
        "evidence": each.evidence is not None,
        "answers": answers,
        "answers_left_out": budget.left_out,
        "failures": failures,
        "lost": lost,
    }


@dataclass(frozen=True, eq=False)
class _Lists:
    """The first `depth` of every list, in the order of systems, questions and ranks.

    n       (s * q,) how many places each list has
    entry   (e,) the chunk in each place;   gain   (e,) the place of its gain in gains, 0 for none
    ids, texts, docs   of each chunk: two systems may call different texts by one id
    query, system      (e,) whose list it is
    """

    depth: int
    n: Ints
    entry: Ints
    gain: Ints
    gains: Sequence[float | None]
    query: Ints
    system: Ints
    rank: Ints
    ids: Sequence[str]
    texts: Sequence[str | None]
    docs: Sequence[str | None]

    @classmethod
    def of(cls, weighing: Weighing, limits: Limits) -> _Lists:
        n_lists = max(len(weighing.systems) * len(weighing.query_ids), 1)
        depth = max(0, min(limits.depth, limits.entries // n_lists))
        frames = weighing.lists(depth) if depth else [_EMPTY for _ in weighing.systems]
        while depth and _id_bytes(frames) > limits.id_bytes:
            depth //= 2
            frames = [frame.filter(pl.col("rank") <= depth) for frame in frames]
        return cls._made(weighing, frames, depth)

    @classmethod
    def _made(cls, weighing: Weighing, frames: Sequence[pl.DataFrame], depth: int) -> _Lists:
        chunks = _Chunks()
        asked = pl.DataFrame(
            {"query_id": pl.Series(weighing.query_ids, dtype=pl.String),
             "query": pl.Series(range(len(weighing.query_ids)), dtype=pl.Int64)}
        )  # fmt: skip
        parts = []
        for i, (each, frame) in enumerate(zip(weighing.weighed, frames, strict=True)):
            numbered = frame.join(asked, on="query_id", how="inner").join(chunks.add(each, frame), on="doc_id")
            parts.append(numbered.select("query", "entry", "rank", "gain", system=pl.lit(i, pl.Int64)))
        rows = pl.concat(parts).sort("system", "query", "rank")
        distinct = sorted(rows["gain"].drop_nulls().unique().to_list())
        gains = np.searchsorted(np.array(distinct), rows["gain"].fill_null(0.0).to_numpy()) + 1
        system, query = rows["system"].to_numpy(), rows["query"].to_numpy()
        n_queries = len(weighing.query_ids)
        n = np.bincount(system * n_queries + query, minlength=len(weighing.systems) * n_queries)
        gain = np.where(rows["gain"].is_null().to_numpy(), 0, gains)
        return cls(
            depth, n, rows["entry"].to_numpy(), gain, [None, *distinct], query, system, rows["rank"].to_numpy(),
            chunks.ids, chunks.texts, chunks.docs,
        )  # fmt: skip

    def payload(self, weighing: Weighing, limits: Limits) -> dict[str, Any]:
        budget = _Budget(limits.chunk_bytes)
        texts = self._shown_texts(budget)
        marks = self._marks(weighing, texts)
        has_texts = any(text is not None for text in self.texts)
        docs = sorted({doc for doc in self.docs if doc is not None})
        doc_number = {doc: i for i, doc in enumerate(docs)}
        return {
            "depth": self.depth,
            "list_n": packed(self.n),
            "list_entry": packed(self.entry),
            "list_gain": packed(self.gain),
            "gains": self.gains,
            "chunk_ids": [visible(id) for id in self.ids],
            "chunk_texts": texts if has_texts else None,
            "chunk_docs": [-1 if doc is None else doc_number[doc] for doc in self.docs] if docs else None,
            "doc_names": [visible(doc) for doc in docs],
            "chunk_texts_left_out": budget.left_out,
            "marks": marks,
        }

    def _shown_texts(self, budget: _Budget) -> list[str | None]:
        """Texts within the budget, those that stand first in some list first."""
        best = np.full(len(self.ids), np.iinfo(np.int64).max)
        np.minimum.at(best, self.entry, self.rank)
        made: list[str | None] = [None] * len(self.ids)
        for i in np.argsort(best, kind="stable").tolist():
            text = self.texts[i]
            if text is not None:
                made[i] = budget(text)
        return made

    def _marks(self, weighing: Weighing, texts: Sequence[str | None]) -> dict[int, dict[int, list[int]]]:
        """question -> chunk -> first character and the one behind the last of every stretch of gold, in a row."""
        told = [each.evidence is not None for each in weighing.weighed]
        has_text = np.array([text is not None for text in texts], bool)
        rows = np.flatnonzero(np.array(told)[self.system] & has_text[self.entry])
        # What is one chunk to the reader is marked once, whichever systems show it.
        _, first = np.unique(self.query[rows] * len(texts) + self.entry[rows], return_index=True)
        rows = rows[first]
        highlights = [each.evidence and Highlights.of(each.evidence) for each in weighing.weighed]
        made: dict[int, dict[int, list[int]]] = {}
        columns = (self.system[rows].tolist(), self.query[rows].tolist(), self.entry[rows].tolist())
        for system, query, entry in zip(*columns, strict=True):
            found = highlights[system]
            spans = found.spans(weighing.query_ids[query], self.ids[entry]) if found is not None else []
            if spans:
                made.setdefault(query, {})[entry] = [end for span in spans for end in span]
        return made


_EMPTY = pl.DataFrame(schema={"query_id": pl.String, "doc_id": pl.String, "rank": pl.Int64, "gain": pl.Float64})


def _id_bytes(frames: Sequence[pl.DataFrame]) -> int:
    """Bytes of all distinct ids of the frames, with quotes and comma."""
    ids = pl.concat([frame["doc_id"] for frame in frames]).unique()
    return int(ids.str.len_bytes().sum()) + 3 * len(ids)


@dataclass
class _Chunks:
    """Chunks as they are met, each once; alike in two systems only where id and text are."""

    ids: list[str] = field(default_factory=list)
    texts: list[str | None] = field(default_factory=list)
    docs: list[str | None] = field(default_factory=list)
    number: dict[tuple[str, str | None], int] = field(default_factory=dict)

    def add(self, each: Weighed, frame: pl.DataFrame) -> pl.DataFrame:
        """doc_id -> entry, for all that a system's lists show."""
        ids = frame["doc_id"].unique(maintain_order=True)
        entries = [self._entry(id, *facts) for id, facts in zip(ids, _facts(each, ids), strict=True)]
        return pl.DataFrame({"doc_id": ids, "entry": pl.Series(entries, dtype=pl.Int64)})

    def _entry(self, id: str, text: str | None, doc: str | None) -> int:
        number = self.number.setdefault((id, text), len(self.ids))
        if number == len(self.ids):
            self.ids.append(id)
            self.texts.append(text)
            self.docs.append(doc)
        return number


def _facts(each: Weighed, ids: pl.Series) -> Iterator[tuple[str | None, str | None]]:
    """Text and document of chunks, where the system or its corpus tells them."""
    table = each.evidence.table if each.evidence is not None else each.outputs.table if each.outputs else None
    for id in ids:
        row = None if table is None else table.row_of.get(id)
        yield (None, None) if table is None or row is None else (table.texts[row], table.docs[row])
