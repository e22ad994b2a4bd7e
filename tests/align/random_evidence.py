"""Small random corpora, chunkings, questions with gold and rankings, for Hypothesis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from steelyard.data.corpus import Chunks, Document
from tests.align.naive import Chunk, World, occurrences

RULES = ("any", "share>=0.5", "contains")
NAMES = ("d", "a b", "文档")
LETTERS = "abA 天地\n"
QUERIES = ("q1", "q10", "问题", "Q2")
GAINS = (0.0, 0.5, 1.0, 2.0, 3.0)


@dataclass(frozen=True)
class Case:
    """Documents, their chunks, questions and the outputs of one system."""

    chunks: Chunks
    questions: list[dict[str, Any]]
    rankings: dict[str, list[tuple[str, float | None]] | None]
    rule: str

    @property
    def facts(self) -> dict[str, Chunk]:
        """Every chunk of the corpus."""
        c = self.chunks
        found = {}
        for i, id in enumerate(c.ids):
            document = c.documents[c.owner[i]]
            start, end = int(c.start[i]), int(c.end[i])
            pages = pages_of(document, start, end)
            found[id] = Chunk(id, document.doc_id, start, end, document.text[start:end], pages)
        return found

    def outputs(self, *, whole: bool) -> list[dict[str, Any]]:
        """One line a question; items as ids, or with all that is known of them."""
        facts = self.facts
        lines = []
        for qid, ranked in self.rankings.items():
            if ranked is None:
                lines.append({"qid": qid, "error": "timeout", "retrieved": []})
                continue
            items: list[Any] = []
            for id, score in ranked:
                chunk = facts[id]
                place = {"doc": chunk.doc, "start": chunk.start, "end": chunk.end, "text": chunk.text,
                         "pages": list(chunk.pages)}  # fmt: skip
                items.append({"id": id, **({} if score is None else {"score": score}), **(place if whole else {})})
            lines.append({"qid": qid, "retrieved": items})
        return lines

    def world(self, *, complete: bool) -> World:
        documents = {d.doc_id: (d.text, d.pages) for d in self.chunks.documents}
        if complete:
            return World(self.facts, documents, True, self.rule)
        retrieved = [id for ranked in self.rankings.values() for id, _ in ranked or []]
        return World({id: self.facts[id] for id in dict.fromkeys(retrieved)}, None, False, self.rule)


def pages_of(document: Document, start: int, end: int) -> tuple[int, ...]:
    if document.pages is None:
        return ()
    ends = [*document.pages[1:], len(document.text)]
    return tuple(
        number for number, (a, b) in enumerate(zip(document.pages, ends, strict=True), 1) if max(a, start) < min(b, end)
    )


@st.composite
def documents(draw: st.DrawFn) -> list[Document]:
    names = NAMES[: draw(st.integers(1, 3))]
    texts = [draw(st.text(LETTERS, min_size=1, max_size=30)) for _ in names]
    made = []
    for name, text in zip(names, texts, strict=True):
        cuts = draw(st.lists(st.integers(1, max(len(text) - 1, 1)), max_size=3, unique=True)) if len(text) > 1 else []
        made.append(Document(name, text, (0, *sorted(cuts)) if name == NAMES[0] else None))
    return made


@st.composite
def spans(draw: st.DrawFn, n: int) -> tuple[int, int]:
    start = draw(st.integers(0, n - 1))
    return start, draw(st.integers(start + 1, n))


@st.composite
def pieces(draw: st.DrawFn, docs: list[Document], ids: list[str], *, corpus: bool) -> dict[str, Any]:
    document = draw(st.sampled_from(docs))
    n = len(document.text)
    a, b = draw(spans(n))
    kind = draw(st.sampled_from(["span", "span", "quote", "quote", "text", "pages", "document", "id", "elsewhere"]))
    words = document.text[a:b].upper() if draw(st.booleans()) else document.text[a:b].replace(" ", "\n ")
    if kind in ("quote", "text") and not any(c.isalnum() for c in words):
        kind = "span"
    if kind == "pages" and document.pages is None:
        kind = "document"
    forms: dict[str, dict[str, Any]] = {
        "span": {"doc": document.doc_id, "start": a, "end": b},
        "quote": {"doc": document.doc_id, "quote": words},
        "text": {"text": draw(st.sampled_from([words, words, words + "b 地"]))},
        "document": {"doc": document.doc_id},
        "id": {"id": draw(st.sampled_from([*ids, "gone"]))},
        "elsewhere": {"doc": "nowhere", "start": a, "end": b},
    }
    made = forms.get(kind, {})
    if kind == "pages":
        numbers = st.integers(1, len(document.pages or ()))
        made = {"doc": document.doc_id, "pages": sorted(draw(st.sets(numbers, min_size=1)))}
    if kind == "quote" and corpus and draw(st.booleans()):
        made["occurrence"] = draw(st.integers(1, len(occurrences(document.text, words))))
    gain = draw(st.sampled_from(GAINS) if draw(st.booleans()) else st.just(1.0))
    return made | ({} if gain == 1.0 else {"gain": gain})


@st.composite
def cases(draw: st.DrawFn, *, corpus: bool) -> Case:
    docs = draw(documents())
    of_doc = {d.text: sorted(draw(st.lists(spans(len(d.text)), max_size=6))) for d in docs}
    chunks = Chunks.of(docs, lambda text: of_doc[text])
    queries = draw(st.lists(st.sampled_from(QUERIES), min_size=1, max_size=3, unique=True))
    questions: list[dict[str, Any]] = []
    for qid in queries:
        gain_of_h = draw(st.sampled_from(GAINS))
        gold = draw(st.lists(pieces(docs, chunks.ids, corpus=corpus), max_size=4))
        for piece in gold:
            # A chunk named by id is itself the chunk that is sought, so it is no alternative to a passage here.
            if "id" not in piece and draw(st.integers(0, 2)) == 0:
                # Alternatives are worth the same.
                piece["group"] = draw(st.sampled_from(["g", "h"]))
                piece["gain"] = {"g": 1.0, "h": gain_of_h}[piece["group"]]
        questions.append({"qid": qid, "query": "?", "evidence": gold})
    rankings: dict[str, list[tuple[str, float | None]] | None] = {}
    for qid in queries:
        if qid != queries[0] and draw(st.integers(0, 3)) == 0:
            if draw(st.booleans()):
                rankings[qid] = None
            continue
        ids = draw(st.permutations(chunks.ids))[: draw(st.integers(0, len(chunks)))]
        scores = [draw(st.integers(-2, 2)) / 2 for _ in ids] if draw(st.booleans()) else [None] * len(ids)
        rankings[qid] = list(zip(ids, scores, strict=True))
    return Case(chunks, questions, rankings, draw(st.sampled_from(RULES)))
