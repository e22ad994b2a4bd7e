"""Units that are weighed, chunks or documents: the default by the gold, and what makes labels of gold accordingly."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from steelyard.align.document_lists import DocumentResolver, names_documents
from steelyard.align.resolver import Resolver
from steelyard.base import defaults
from steelyard.base.choices import Unit
from steelyard.base.errors import InputError, MeasureError
from steelyard.data.chunk_table import Corpus
from steelyard.data.questions import Questions
from steelyard.data.truth import Truth
from steelyard.measures import Measure
from steelyard.text.folding import DEFAULT_STEPS


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
            "`evidence` (reference_contexts or reference_context_ids for ragas, context for deepeval), or weigh the "
            "answers: -m faithfulness"
        )


def check_document_measures(specs: Iterable[Measure]) -> None:
    """Raise   MeasureError for a measure of characters: they are what chunks show."""
    for spec in specs:
        if "characters" in spec.definition.inputs:
            raise MeasureError(
                f"{spec} is of the characters that chunks show, and here documents are weighed; name measures of "
                'documents, such as ndcg@10, or weigh chunks: --unit chunk (unit="chunk")'
            )
