"""Real gold: 790 passages of 472 questions over five corpora, as quotes and as spans."""

import csv
import json
import re
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

import steelyard as sy
from steelyard.align.gold import Gold
from steelyard.align.resolution import resolve
from steelyard.data.chunk_table import ChunkTable
from steelyard.data.corpus import Chunks, Document, Span
from steelyard.data.outputs import Outputs
from steelyard.data.questions import Questions
from steelyard.text.spans import SpanRule
from tests.shared_data import shared


@cache
def corpora() -> list[Document]:
    folder = shared("chunking_evaluation", "corpora")
    return [Document(path.stem, path.read_bytes().decode("utf-8")) for path in sorted(folder.iterdir())]


@cache
def references() -> list[list[tuple[str, int, int, str]]]:
    """(document, start, end, content) of every passage of every question."""
    with shared("chunking_evaluation", "questions_df.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return [[(row["corpus_id"], int(ref["start_index"]), int(ref["end_index"]), ref["content"])
             for ref in json.loads(row["references"])] for row in rows]  # fmt: skip


def questions(kind: str) -> Questions:
    forms: dict[str, Callable[[str, int, int, str], dict[str, object]]] = {
        "spans": lambda doc, start, end, content: {"doc": doc, "start": start, "end": end},
        "quotes": lambda doc, start, end, content: {"doc": doc, "quote": content},
    }
    return Questions(
        [{"qid": str(i), "evidence": [forms[kind](*ref) for ref in refs]} for i, refs in enumerate(references())]
    )


def windows(size: int, overlap: int) -> Callable[[str], list[Span]]:
    """Windows of so many words: from the first word's first character to the last word's last."""

    def spans(text: str) -> list[Span]:
        words = [match.span() for match in re.finditer(r"\S+", text)]
        step = size - overlap
        firsts = range(0, max(len(words) - overlap, 1), step)
        return [(words[i][0], words[min(i + size, len(words)) - 1][1]) for i in firsts]

    return spans


def test_the_data_is_what_it_says() -> None:
    texts = {document.doc_id: document.text for document in corpora()}
    assert (len(texts), len(references()), sum(map(len, references()))) == (5, 472, 790)
    assert all(texts[doc][start:end] == content for refs in references() for doc, start, end, content in refs)


def test_every_quote_is_found_exactly_where_it_was_marked() -> None:
    documents = corpora()
    gold = Gold.of(list(questions("quotes")))
    table = ChunkTable.of(Chunks.of(documents, lambda text: [(0, len(text))]))
    found = resolve(gold, table, documents, rule=SpanRule.parse("contains"))
    assert found.lost == {}
    assert (found.n_unplaced == 0).all()
    places: dict[int, set[tuple[str, int, int]]] = {}
    rows = zip(
        found.placed.tolist(),
        found.spans.doc.tolist(),
        found.spans.start.tolist(),
        found.spans.end.tolist(),
        strict=True,
    )
    for row, doc, start, end in rows:
        places.setdefault(row, set()).add((documents[doc].doc_id, start, end))
    flat = [ref for refs in references() for ref in refs]
    folded = {document.doc_id: " ".join(document.text.lower().split()) for document in documents}
    for row, (doc, start, end, content) in enumerate(flat):
        # White space at the margins of a quote does not count; a quote that occurs twice has both places.
        left, right = len(content) - len(content.lstrip()), len(content) - len(content.rstrip())
        assert (doc, start + left, end - right) in places[row]
        assert len(places[row]) == folded[doc].count(" ".join(content.lower().split()))
    assert sum(len(each) > 1 for each in places.values()) == 97


@pytest.mark.parametrize(
    ("size", "overlap", "parted"),
    [(150, 0, {"any": 0, "share>=0.5": 0, "contains": 54}), (150, 75, {"any": 0, "share>=0.5": 0, "contains": 2})],
)
def test_questions_that_no_chunk_alone_answers(size: int, overlap: int, parted: dict[str, int]) -> None:
    """Windows share all words out, so together they hold every passage, whatever the rule."""
    corpus, gold = Chunks.of(corpora(), windows(size, overlap)), Gold.of(list(questions("spans")))
    for rule, n_parted in parted.items():
        resolution = resolve(gold, ChunkTable.of(corpus), corpora(), rule=SpanRule.parse(rule))
        assert len(set(range(472)) - set(gold.query[resolution.whole[gold.group]].tolist())) == n_parted, rule
        assert resolution.is_held.all()
        assert not resolution.lost


def test_a_perfect_system_is_perfect() -> None:
    """Every question gets the windows that its passages lie in, found here by a plain loop."""
    documents = corpora()
    corpus = Chunks.of(documents, windows(150, 0))
    names = [document.doc_id for document in documents]
    rows = list(zip(corpus.ids, corpus.owner.tolist(), corpus.start.tolist(), corpus.end.tolist(), strict=True))
    lines, shares = [], []
    for i, refs in enumerate(references()):
        best = [
            id
            for id, owner, a, b in rows
            if any(names[owner] == doc and a < end and start < b for doc, start, end, _ in refs)
        ]
        lines.append({"qid": str(i), "retrieved": best})
        gold = {(doc, c) for doc, start, end, _ in refs for c in range(start, end)}
        shown = {(names[o], c) for id, o, a, b in rows if id in best for c in range(a, b)}
        shares.append(
            (len(gold & shown) / len(gold), len(gold & shown) / len(shown), len(gold & shown) / len(gold | shown))
        )
    scores = sy.evaluate(questions("spans"), {"s": Outputs(lines)},
                         ["recall", "ndcg", "map", "r_precision", "evidence_recall", "span_recall", "span_precision",
                          "span_iou"], documents=corpus, rule="any")  # fmt: skip
    assert scores.values[0, :5] == pytest.approx(np.ones((5, 472)))
    order = [int(query_id) for query_id in scores.query_ids]
    assert scores.values[0, 5:].T.tolist() == np.array(shares)[order].tolist()
    assert scores.values[0, 5].min() > 0.9  # only the white space between two windows is in no chunk
    quoted = sy.evaluate(questions("quotes"), {"s": Outputs(lines)}, "evidence_recall", documents=corpus)
    assert quoted.values.min() == 1
