"""The gold of each question as a page shows it, whatever names it: evidence, labels by id, or a truth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter

import polars as pl

from steelyard.data.document_names import texts_of
from steelyard.data.pieces import Piece
from steelyard.data.question import Question
from steelyard.data.questions import Questions
from steelyard.data.truth import Truth
from steelyard.experiment.weighing import Weighing
from steelyard.report.details.limits import Budget, Limits, cut
from steelyard.report.visible import visible

_FEWEST, _MOST = 3, 50
_WHOLE = ("chunk", "document")


@dataclass(frozen=True)
class GoldPiece:
    """One piece of gold.

    kind    chunk, span, quote, text, pages or document;   group   that it is an alternative in
    name    of the chunk or document;   where   characters or pages in it
    text    None where it has none, or where there is no room for it
    """

    kind: str
    gain: float
    group: str | None
    name: str
    where: str
    text: str | None

    def within(self, budget: Budget, texts: Mapping[str, str], limits: Limits) -> GoldPiece:
        """The piece fit to be shown, its text as long as there is room; of a document by its id, the beginning."""
        text = self.text
        if text is None and self.kind in _WHOLE and self.name in texts:
            text = cut(" ".join(texts[self.name].split()), limits.gold_document)
        return GoldPiece(
            self.kind, self.gain, None if self.group is None else visible(self.group), visible(self.name),
            self.where, budget(text) if text else None,
        )  # fmt: skip


def gold_pieces(
    weighing: Weighing, query_ids: Sequence[str], limits: Limits
) -> tuple[list[list[GoldPiece]], dict[int, int]]:
    """Pieces of some questions, the first ones of many; and question -> how many more there are."""
    most = max(_FEWEST, min(_MOST, limits.gold_pieces // max(len(query_ids), 1)))
    if isinstance(weighing.gold, Truth):
        of_query = dict(_of_truth(weighing.gold, query_ids))
    else:
        wanted = set(query_ids)
        questions = [question for question in weighing.gold if question.query_id in wanted]
        spans = {piece.doc for question in questions for piece in question.evidence if piece.kind == "span"}
        documents = searched_texts(weighing, spans)
        of_query = {q.query_id: [_of_piece(piece, documents) for piece in pieces_of(q)] for q in questions}
    pieces, more = list[list[GoldPiece]](), dict[int, int]()
    for i, query_id in enumerate(query_ids):
        own = of_query.get(query_id, [])
        pieces.append(own[:most])
        if len(own) > most:
            more[i] = len(own) - most
    return pieces, more


def unread_gold(gold: Sequence[Sequence[GoldPiece]]) -> set[str]:
    """Ids of documents that are gold without a text."""
    return {piece.name for pieces in gold for piece in pieces if piece.kind in _WHOLE and piece.text is None}


def pieces_of(question: Question) -> Sequence[Piece]:
    """The gold of a question: its evidence, or its labels by id where it has none."""
    return question.evidence or question.id_pieces


def lost_pieces(weighing: Weighing, query_ids: Sequence[str], system: int) -> dict[int, list[int]]:
    """Question -> places of its pieces that no chunk of a system holds; empty where gold is no evidence."""
    mapping = weighing.weighed[system].mapping
    if mapping is None or not mapping.lost or not isinstance(weighing.gold, Questions):
        return {}
    number = {query_id: i for i, query_id in enumerate(query_ids)}
    names = {q.query_id: [str(piece) for piece in pieces_of(q)] for q in weighing.gold if q.query_id in number}
    lost: dict[int, list[int]] = {}
    for query_id, piece, _ in mapping.lost:
        if query_id in number:
            lost.setdefault(number[query_id], []).append(names[query_id].index(piece))
    return lost


def _of_truth(truth: Truth, query_ids: Sequence[str]) -> Iterator[tuple[str, list[GoldPiece]]]:
    """Relevant documents of some questions, highest gain first."""
    rows = truth.frame.drop_nulls("doc_id").filter(pl.col("gain") > 0, pl.col("query_id").is_in(list(query_ids)))
    ordered = rows.sort("query_id", "gain", "doc_id", descending=[False, True, False])
    for query_id, of_query in groupby(ordered.select("query_id", "doc_id", "gain").iter_rows(), itemgetter(0)):
        yield query_id, [GoldPiece("chunk", gain, None, doc_id, "", None) for _, doc_id, gain in of_query]


def searched_texts(weighing: Weighing, names: set[str]) -> Mapping[str, str]:
    """Texts of documents that the systems bring along, or the corpus has, by their names; the first one's."""
    searched = [weighed.outputs.documents for weighed in weighing.weighed if weighed.outputs is not None]
    texts: dict[str, str] = {}
    for documents in (*searched, None if weighing.corpus is None else weighing.corpus.documents):
        if documents is not None and (unread := names - texts.keys()):
            texts |= texts_of(documents, unread)
    return texts


def _of_piece(piece: Piece, documents: Mapping[str, str]) -> GoldPiece:
    span = documents.get(piece.doc, "")[piece.start : piece.end] if piece.kind == "span" else ""
    where = {"span": f"{piece.start}–{piece.end}", "pages": ", ".join(map(str, piece.pages))}.get(piece.kind, "")
    return GoldPiece(piece.kind, piece.gain, piece.group or None, piece.chunk_id or piece.doc, where,
                     piece.text or span or None)  # fmt: skip
