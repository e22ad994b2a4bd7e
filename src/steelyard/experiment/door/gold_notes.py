"""Notes on the gold itself, whichever system is weighed by it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from steelyard.base.notes import Note
from steelyard.data.chunk_table import Corpus
from steelyard.data.questions import Questions
from steelyard.data.truth import Truth
from steelyard.experiment.table.arrays import NO_GOLD, ScoreArrays
from steelyard.measures import Measure

_NAMED = 5
"""Ids that a note names."""


@dataclass(frozen=True, eq=False)
class AbsentGold:
    """Relevant documents, named by their ids, that a corpus lacks.

    labels      query_id, doc_id and gain of each, by query;   n_relevant   how many relevant documents there are in all
    """

    labels: pl.DataFrame
    n_relevant: int

    @classmethod
    def of(cls, truth: Truth, corpus: Corpus) -> AbsentGold:
        """Gold notes of a truth: of every query its own."""
        labels = truth.frame.drop_nulls("doc_id").filter(pl.col("gain") > 0)
        lacking = corpus.lacking(labels["doc_id"].unique().to_list())
        return cls(labels.filter(pl.col("doc_id").is_in(list(lacking))), int(np.count_nonzero(truth.gain > 0)))

    @property
    def is_foreign(self) -> bool:
        """True if the corpus has none of them: then it names other things."""
        return self.labels.height == self.n_relevant

    def notes(self) -> Iterator[Note]:
        """Notes on their number, with the first one; nothing where there is none."""
        if not self.labels.is_empty():
            query_id, name = self.labels.select("query_id", "doc_id").row(0)
            yield Note(
                "gold_ids_foreign" if self.is_foreign else "gold_ids_absent",
                {"n": self.labels.height, "total": self.n_relevant, "query_id": query_id, "name": name},
            )


def unjudged_notes(unjudged: Sequence[str], n_judged: int) -> Iterator[Note]:
    """Notes on the queries of a BEIR folder that are neither asked nor weighed; nothing where there is none."""
    if unjudged:
        n = len(unjudged)
        yield Note("queries_unjudged", {"n": n, "total": n + n_judged, "names": list(unjudged[:_NAMED])})


def judged_notes(truth: Truth) -> Iterator[Note]:
    """Notes on the number of labels that a judge gave, and who; nothing where people gave all, as far as is known."""
    if truth.judged_by:
        yield Note(
            "gold_judged_by",
            {"n": sum(truth.judged_by.values()), "total": len(truth.gain), "judge": ", ".join(sorted(truth.judged_by))},
        )


def with_gold_advice(scores: ScoreArrays, gold: Truth | Questions) -> Mapping[str, Sequence[Note]]:
    """The notes of scores; first, of systems without a value of some measures for want of gold, how to give some."""
    advice = {
        system: list(gold_advice(gold, [measure for measure, bare in zip(scores.measures, row, strict=True) if bare]))
        for system, row in zip(scores.systems, scores.lacks_gold.tolist(), strict=True)
        if any(row)
    }
    return {
        system: [*advice.get(system, ()), *scores.notes.get(system, ())]
        for system in scores.systems
        if system in advice or system in scores.notes
    }


def gold_advice(gold: Truth | Questions, measures: Sequence[Measure]) -> Iterator[Note]:
    """Advice on measures whose gold no question has; nothing where there are none."""
    if any(not measure.definition.of_answers for measure in measures):
        yield _lists_advice(gold)
    if any(measure.definition.of_answers for measure in measures):
        yield Note(f"{NO_GOLD}_answers", {"name": gold.name})


def _lists_advice(gold: Truth | Questions) -> Note:
    """Advice where nothing is relevant: by the labels, if there are any."""
    if gains := label_gains(gold):
        most = max(gains)
        kind = "gains" if most > 0 else "zeros"
        return Note(f"{NO_GOLD}_{kind}", {"name": gold.name, "n": len(gains), "most": f"{most:g}"})
    expects = isinstance(gold, Questions) and any(question.answer is not None for question in gold)
    return Note(f"{NO_GOLD}_{'answers_alone' if expects else 'unlabelled'}", {"name": gold.name})


def label_gains(gold: Truth | Questions) -> list[float]:
    """The gain of every label and piece of evidence; what is above 0 is relevant."""
    if isinstance(gold, Truth):
        return gold.frame.drop_nulls("doc_id")["gain"].to_list()
    return [piece.gain for question in gold for piece in (*question.evidence, *question.id_pieces)]
