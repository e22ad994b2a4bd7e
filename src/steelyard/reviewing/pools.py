"""Pooled documents that people grade, or quote the gold from: which are asked about, and in what order."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from steelyard.base.choices import PoolTask
from steelyard.base.errors import InputError, quoted
from steelyard.base.result import Result
from steelyard.data.chunk_table import Place
from steelyard.data.question_files import read_lines
from steelyard.data.questions import Questions
from steelyard.experiment.pooling import Pool
from steelyard.io.source import Source
from steelyard.io.write import write_text
from steelyard.judges.grading.grades import PEOPLE, GradedPair, Grades, Scale
from steelyard.judges.lexical.readings import best_sentence
from steelyard.judges.people.review import ADJUDICATION
from steelyard.judges.verdict import text_digest
from steelyard.reviewing.sampling import in_random_order

RATERS = "raters"
"""The column of a truth that says which person gave a pair which grade."""


@dataclass(frozen=True, eq=False)
class PooledItem:
    """Pooled item that a person is asked about: a document to grade, or a question with texts to quote.

    texts   (id, text);   pair   what is known of the grade already
    places  of each text where it is from, None where only its id is known
    """

    item_id: str
    query_id: str
    query: str
    texts: Sequence[tuple[str, str]]
    pair: GradedPair | None = None
    places: Sequence[Place | None] = ()

    @property
    def likely(self) -> list[tuple[int, int, int]]:
        """Of each text the sentence that has most words of the question: number of the text, start and end."""
        spans = [(n, best_sentence(self.query, text)) for n, (_, text) in enumerate(self.texts)]
        return [(n, *span) for n, span in spans if span is not None]


@dataclass(frozen=True, eq=False, repr=False)
class PooledReview(Result):
    """A form for pooled documents, and where it is.

    n_pool   pairs, or questions, that there are;   n_before   of these, that people decided before
    form     the file that people open;   items   the list of what it asks;   into   where the decisions will go
    """

    VIEW = "views.review"

    kind: PoolTask
    asked: Sequence[PooledItem]
    n_pool: int
    n_before: int
    form: Path
    items: Path
    into: Path

    @property
    def frame(self) -> pl.DataFrame:
        """One row of counts: asked now, in the pool, and decided before."""
        return pl.DataFrame({"n_asked": [len(self.asked)], "n_pool": [self.n_pool], "n_before": [self.n_before]})


def pairs_to_grade(
    asked: Questions, pool: Pool, into: Path, scale: Scale, *, adjudicate: bool
) -> tuple[list[PooledItem], int, int]:
    """Pairs of a pool that people did not grade, or those that they differ on.

    into      the truth, as far as it is there
    Returns   what may be asked, how many pairs there are, and how many of them people graded
    Raises    InputError where there is nothing to ask.
    """
    queries = {question.query_id: question.query or "" for question in asked}
    pairs = {pair.key: pair for pair in Grades.read(into).pairs} if into.exists() else {}
    keys = [(q, d) for q, docs in pool.doc_ids.items() for d in docs if d in pool.texts]
    decided = [key for key in keys if key in pairs and pairs[key].by == PEOPLE]
    conflicts = [key for key in decided if _differ(pairs[key])]
    wanted = conflicts if adjudicate else [key for key in keys if key not in decided]
    items = {
        key: PooledItem(
            text_digest(json.dumps(["grades", scale.gains, *key, queries[key[0]], pool.texts[key[1]]])),
            key[0],
            queries[key[0]],
            [(key[1], pool.texts[key[1]])],
            pairs.get(key),
            [pool.places.get(key[1])],
        )
        for key in wanted
    }
    if not items:
        what = "raters do not differ on any" if adjudicate else "people graded all"
        raise InputError(f"{into}: {what} of {len(keys)} pooled pairs; pool more: --depth, further sources")
    return list(items.values()), len(keys), len(decided)


def questions_to_quote(asked: Questions, pool: Pool, into: Path) -> tuple[list[PooledItem], int, int]:
    """Questions without evidence, each with the texts that are pooled for it; otherwise as `pairs_to_grade`.

    into   questions with the evidence so far, as far as they are there
    Raises   InputError where all have some.
    """
    extended = Questions.read(into) if into.exists() else asked
    decided = {question.query_id for question in extended if question.evidence}
    items = []
    for question in asked:
        texts = [(d, pool.texts[d]) for d in pool.doc_ids.get(question.query_id, ()) if d in pool.texts]
        if texts and question.query_id not in decided:
            places = [pool.places.get(doc_id) for doc_id, _ in texts]
            item_id = text_digest(json.dumps(["quotes", question.query_id, question.query, texts]))
            items.append(PooledItem(item_id, question.query_id, question.query or "", texts, places=places))
    if not items:
        raise InputError(f"{asked.name}: all questions with pooled texts have evidence already, so nothing is to quote")
    return items, len(asked), len(decided)


def copy_questions(questions: Path, into: Path) -> None:
    """Write questions of any form in JSONL, where quotes can be added to them; a file that is there stays.

    Raises   OutputError.
    """
    if not into.exists():
        lines = (json.dumps(line, ensure_ascii=False) + "\n" for _, line in read_lines(Source(questions)))
        write_text(into, "".join(lines))


def raters_of(pair: GradedPair) -> dict[str, float]:
    """Grades of a pair by the person who gave them; one whom a truth does not name is called people."""
    raters = pair.others.get(RATERS)
    if isinstance(raters, Mapping) and all(isinstance(gain, int | float) for gain in raters.values()):
        return {str(rater): float(gain) for rater, gain in raters.items()}
    return {} if pair.by != PEOPLE or pair.gain is None else {PEOPLE: pair.gain}


def _differ(pair: GradedPair) -> bool:
    raters = raters_of(pair)
    return ADJUDICATION not in raters and len(set(raters.values())) > 1


def drawn(items: Sequence[PooledItem], n: int, seed: int) -> list[PooledItem]:
    """So many items at random, those of one question together."""
    if n < 1:
        raise InputError(f"n is {quoted(n)}, not 1 or more")
    drawn_ids = in_random_order([item.item_id for item in items], seed)[:n]
    by_id = {item.item_id: item for item in items}
    by_question: dict[str, list[PooledItem]] = {}
    for item_id in drawn_ids:
        by_question.setdefault(by_id[item_id].query_id, []).append(by_id[item_id])
    return [item for listed in by_question.values() for item in listed]
