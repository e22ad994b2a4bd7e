"""Gold: the unit that it is weighed by, what makes labels of it, and notes on it, whichever system is weighed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from steelyard.align.document_lists import DocumentResolver, names_documents
from steelyard.align.resolver import Resolver
from steelyard.base import defaults
from steelyard.base.choices import Unit
from steelyard.base.errors import InputError, MeasureError
from steelyard.base.notes import Note
from steelyard.data.chunk_table import Corpus
from steelyard.data.questions import Questions
from steelyard.data.truth import Truth
from steelyard.experiment.table.arrays import NO_GOLD, ScoreArrays
from steelyard.measures import Measure
from steelyard.text.folding import DEFAULT_STEPS

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


def unit_of(questions: Questions, unit: Unit | None = None) -> Unit:
    """The unit that is named, else documents where the gold names whole ones, else chunks.

    >>> unit_of(Questions([{"qid": "q", "query": "?", "evidence": [{"doc": "a", "quote": "one"}]}]))
    'chunk'
    """
    return unit or ("document" if names_documents(questions) else "chunk")


def resolver_of(
    gold: Truth | Questions, *, corpus: Corpus | None = None, rule: str = defaults.RULE,
    steps: Sequence[str] = DEFAULT_STEPS, unit: Unit | None = None,
) -> Resolver | DocumentResolver:  # fmt: skip
    """Resolver that makes labels of gold: of chunks, or of documents, as `unit_of` has it; of documents for a truth.

    Raises   InputError for a rule that does not exist, and for gold that has no documents.
    """
    if isinstance(gold, Truth) or unit_of(gold, unit) == "document":
        return DocumentResolver(gold, corpus=corpus)
    return Resolver(gold, corpus=corpus, rule=rule, steps=steps)


def check_gold(gold: Truth | Questions, specs: Sequence[Measure]) -> None:
    """Raise   InputError for measures of what is retrieved, where only answers are expected."""
    if not specs or isinstance(gold, Truth) or any(question.evidence or question.labels for question in gold):
        return
    if any(question.answer is not None for question in gold):
        raise InputError(
            f"{gold.name}: has expected answers, but no gold for what is retrieved, which {specs[0]} is of; add "
            "`evidence` (reference_contexts or reference_context_ids for ragas, context for deepeval), or evaluate the "
            "answers: -m faithfulness"
        )


def check_document_measures(specs: Iterable[Measure]) -> None:
    """Raise   MeasureError for a measure of characters: they are what chunks show."""
    for spec in specs:
        if "characters" in spec.definition.inputs:
            raise MeasureError(
                f"{spec} is of the characters that chunks show, and here documents are evaluated; name measures of "
                'documents, such as ndcg@10, or evaluate chunks: --unit chunk (unit="chunk")'
            )
