"""A truth drawn up by a judge: documents pooled from runs or found by words, each graded for its question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import polars as pl

from steelyard._version import __version__
from steelyard.base import defaults
from steelyard.base.choices import Unit
from steelyard.base.errors import InputError
from steelyard.base.limits import at_least
from steelyard.base.machine import timestamp
from steelyard.base.progress import Progress, no_progress, usual_progress
from steelyard.base.result import Result
from steelyard.base.settings import check_arguments
from steelyard.data.chunk_table import ChunkTable, Corpus, Place
from steelyard.data.corpus import Chunks
from steelyard.data.questions import Questions
from steelyard.experiment.door.opening import open_corpus, open_pool
from steelyard.experiment.judging import lent, model_files
from steelyard.experiment.pooling import Pool, graded_before, merged, run_pool, with_new
from steelyard.judges.grading.graders import GRADERS, Grader, Grading, QueryDocument, make_grader
from steelyard.judges.grading.grades import (
    JUDGE,
    PEOPLE,
    GradeAgreement,
    GradedPair,
    Grades,
    Key,
    Scale,
    agreement,
    scale_of,
)
from steelyard.rag.stages.searching import BM25
from steelyard.text.recursive import Recursive

_BLOCK = 256
"""Pairs that are graded at once, unless a judge wants all."""
_NO_TEXT = "no text"


def label(
    questions: object,
    sources: object,
    judge: object = defaults.JUDGE,
    *,
    scale: str | Path | Scale = defaults.SCALE,
    depth: Annotated[int, at_least(1)] = defaults.POOL_DEPTH,
    keep: object = None,
    documents: object = None,
    unit: Unit = "chunk",
    save: str | Path | None = None,
    progress: Progress = usual_progress,
    **settings: Any,
) -> Grades:
    """Draw up a truth: how relevant is each pooled document to its question, on a scale?

    questions   Questions, a path to them, or dicts with `qid` and `query`
    sources     what is pooled, one or a list of: runs (as `evaluate` takes them), of which the first `depth` of each
                list are taken; and documents or chunks (as `documents` of `evaluate`), of which the `depth` nearest to
                the question by BM25 are taken, or all where they are no more
    judge       "lexical", by words alone, for trying how it goes; "llm"; or a function of your own that takes a list of
                pairs (query, text) and gives a grade for each, by itself or as "module:object"
    scale       "0-10", "0-3", or a file of your own in TOML
    keep        a truth by people, or a path: their grades are kept, and never replaced
    documents   where the texts are that runs name by id alone
    unit        whether documents are cut into chunks as a pipeline does by default, or graded as a whole
    save        where the truth is written: JSONL, which knows who graded and why, or labels alone in any other format.
                What a JSONL file there holds is kept too: what people graded, and pairs that are not in the pool
    progress    called as progress("grades", done, total)
    settings    of the judge, such as model, base_url, concurrency, budget, price, language
    Raises      InputError and its children; StageError where a model cannot be asked; OutputError where nothing can be
                written

    >>> chunks = [{"id": "h#1", "text": "Opening hours: 9 to 17."}, {"id": "h#2", "text": "There is a café."}]
    >>> runs = [{"qid": "q1", "retrieved": chunks}]
    >>> grades = label([{"qid": "q1", "query": "What are the opening hours?"}], runs, scale="0-3")
    >>> grades.frame.select("doc_id", "gain", "reason").rows()
    [('h#1', 3.0, ''), ('h#2', 0.0, 'missing: opening, hours')]
    """
    options = LabelOptions(
        scale=scale, depth=depth, keep=keep, documents=documents, unit=unit, save=save, settings=settings
    )
    return options.run(questions, sources, judge, progress)


@dataclass(frozen=True, repr=False)
class LabellingPlan(Result):
    """What labelling would take.

    n_pairs    that would be graded;   n_people   of these, that people graded, on which agreement is measured
    n_calls    of a model that would be asked, and n_cached of which the answers are there; None without a model
    tokens_in, tokens_out   an estimate;   cost_usd   None where the price is not known
    """

    VIEW = "views.labelling"

    judge: str
    n_questions: int
    n_pairs: int
    n_people: int
    n_calls: int | None = None
    n_cached: int | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost_usd: float | None = None

    @property
    def frame(self) -> pl.DataFrame:
        """One row with what labelling would take."""
        return pl.DataFrame([asdict(self)])


@dataclass(frozen=True, kw_only=True)
class LabelOptions:
    """Options of `label`, under the names that they have there."""

    scale: str | Path | Scale = defaults.SCALE
    depth: int = defaults.POOL_DEPTH
    keep: object = None
    documents: object = None
    unit: Unit = "chunk"
    save: str | Path | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)

    def run(
        self, questions: object, sources: object, judge: object = defaults.JUDGE, progress: Progress = usual_progress
    ) -> Grades:
        """Draw up a truth as `label` does."""
        work = self._work(questions, sources)
        with self._lent(judge, progress) as grader:
            grades = _graded(work, grader, progress)
            counts = getattr(grader, "counts", None)
            calls = {"calls": counts()} if callable(counts) else {}
        recipe = {
            "judge": {"name": grader.name, **grader.recipe()},
            "scale": work.scale.name,
            "grades": [asdict(grade) for grade in work.scale.grades],
            "depth": self.depth,
            "n_questions": len(work.questions),
            "pool": work.sources,
            "n_pairs": work.pool.n_pairs,
            "questions": work.questions.digest(),
            "steelyard": __version__,
            "date": timestamp(),
            **calls,
        }
        result = Grades(with_new(work.existing, _new(work, grades, grader)), recipe, _agreement(work, grades))
        if self.save is not None:
            result.write(self.save)
        return result

    def plan(self, questions: object, sources: object, judge: object = defaults.JUDGE) -> LabellingPlan:
        """Estimate what `run` would take; no judge is asked, and nothing is written."""
        work = self._work(questions, sources)
        with self._lent(judge, no_progress) as grader:
            plan = getattr(grader, "plan", None)
            calls = asdict(plan(list(work.pairs.values()), work.scale)) if callable(plan) else {}
        n_people = sum(key in work.by_people for key in work.pairs)
        return LabellingPlan(grader.name, len(work.questions), work.pool.n_pairs, n_people, **calls)

    def _lent(self, judge: object, progress: Progress) -> AbstractContextManager[Grader]:
        files = {} if self.save is None or str(self.save) == "-" else model_files(Path(self.save))
        return lent(judge, self.settings, files, progress, make_grader, GRADERS)

    def _work(self, questions: object, sources: object) -> _Work:
        scale = scale_of(self.scale)
        asked, pool, pooled = open_pooled(
            questions, sources, depth=self.depth, documents=self.documents, unit=self.unit
        )
        queries = _queries(asked)
        keys = [(query_id, doc_id) for query_id, docs in pool.doc_ids.items() for doc_id in docs]
        pairs = {key: QueryDocument(queries[key[0]], pool.texts[key[1]]) for key in keys if key[1] in pool.texts}
        if not pairs:
            raise InputError(
                f"none of {len(keys)} pooled documents has a text, the first of them {keys[0][1]!r}; name where they "
                "are: --documents PATH"
            )
        existing = graded_before(self.keep, self.save, scale)
        return _Work(asked, scale, pool, pairs=pairs, existing=existing, sources=pooled)


@dataclass(frozen=True)
class _Work:
    """What is to be graded.

    pairs      of the pool, those with a text
    existing   pairs of the file that is written, and of people
    sources    what is pooled, for the recipe
    """

    questions: Questions
    scale: Scale
    pool: Pool
    pairs: Mapping[Key, QueryDocument]
    existing: Mapping[Key, GradedPair]
    sources: Mapping[str, Any]

    @property
    def by_people(self) -> Mapping[Key, float]:
        """The grades of people."""
        return {key: pair.gain for key, pair in self.existing.items() if pair.by == PEOPLE and pair.gain is not None}


def open_pooled(
    questions: object, sources: object, *, depth: int, documents: object = None, unit: Unit = "chunk"
) -> tuple[Questions, Pool, Mapping[str, Any]]:
    """Questions, what is pooled for them as `label` has it, and the names of what that is from.

    Raises   InputError and its children.
    """
    check_arguments(label, depth=depth, unit=unit)
    asked, systems, corpora = open_pool(questions, sources)
    texts, queries = open_corpus(documents), _queries(asked)
    pools = [run_pool(system, depth, texts) for system in systems]
    of_runs = {id: pool.texts.get(id) for pool in pools for ids in pool.doc_ids.values() for id in ids}
    pools += [word_pool(queries, own, depth, unit=unit, of_runs=of_runs) for own in corpora]
    pool = merged(pools, asked)
    if not pool.n_pairs:
        raise InputError(
            f"{asked.name}: nothing is retrieved for any of its questions; do questions and runs share ids?"
        )
    pooled = {"runs": [system.name for system in systems], "documents": [own.digest() for own in corpora]}
    return asked, pool, pooled


def _queries(questions: Questions) -> dict[str, str]:
    """The text of each question.

    Raises   InputError for one without.
    """
    queries = {question.query_id: question.query or "" for question in questions}
    if unasked := next((query_id for query_id, query in queries.items() if not query.strip()), None):
        raise InputError(f"{questions.name}: question {unasked!r} has no text to grade by; give it a `query`")
    return queries


def _graded(work: _Work, grader: Grader, progress: Progress) -> Mapping[Key, Grading]:
    """The judge's grade of each pair; pairs that people graded are graded too, so that agreement is known."""
    remaining, results = iter(work.pairs.items()), dict[Key, Grading]()
    size = len(work.pairs) if getattr(grader, "wants_all_at_once", False) else _BLOCK
    while block := dict(islice(remaining, size)):
        results |= zip(block, grader.grade(list(block.values()), work.scale), strict=True)
        progress("grades", len(results), len(work.pairs))
    if callable(refuse_failure := getattr(grader, "refuse_failure", None)):
        refuse_failure()
    return results


def _new(work: _Work, grades: Mapping[Key, Grading], grader: Grader) -> list[GradedPair]:
    """The judge's grades of the whole pool."""
    model, day = str(grader.recipe().get("model", "")), timestamp()[:10]
    listed = [(query_id, doc_id) for query_id, doc_ids in work.pool.doc_ids.items() for doc_id in doc_ids]
    return [
        GradedPair(
            *key, grading.gain, grading.reason, by=JUDGE, judge=grader.name, model=model, prompt=grading.prompt,
            scale=work.scale.name, date=day,
        )
        for key in listed
        for grading in [grades.get(key, Grading(None, _NO_TEXT))]
    ]  # fmt: skip


def _agreement(work: _Work, grades: Mapping[Key, Grading]) -> GradeAgreement:
    """Agreement of judge and people, on the pairs of the pool that both graded."""
    shared = [
        (gain, by_judge)
        for key, gain in work.by_people.items()
        if key in grades and (by_judge := grades[key].gain) is not None
    ]
    return agreement([gain for gain, _ in shared], [by_judge for _, by_judge in shared], work.scale)


def word_pool(
    queries: Mapping[str, str], corpus: Corpus, depth: int, unit: Unit, of_runs: Mapping[str, str | None] | None = None
) -> Pool:
    """The chunks or documents that are nearest to each question by words; all where they are no more than that.

    of_runs   texts of what runs retrieved, by id, as far as they have them: documents that runs name are not cut
    """
    table = _texts_of(corpus, unit, of_runs or {})
    doc_ids, texts = list(table), list(table.values())
    places = {} if corpus.chunks is None else _places_of(corpus.chunks, doc_ids)
    if len(texts) <= depth:
        return Pool(dict.fromkeys(queries, doc_ids), table, places)
    index = BM25()
    index.build(texts, None)
    hits = {query_id: index.search(query, None, depth)[0] for query_id, query in queries.items()}
    return Pool({query_id: [doc_ids[place] for place in hit.tolist()] for query_id, hit in hits.items()}, table, places)


def _places_of(chunks: ChunkTable, ids: Sequence[str]) -> dict[str, Place]:
    return {id: place for id in ids if (place := chunks.place(id)) is not None}


def _texts_of(corpus: Corpus, unit: Unit, of_runs: Mapping[str, str | None]) -> dict[str, str]:
    """The texts to search, by id: of documents, or of chunks, those of the corpus where it has any."""
    documents = corpus.documents or ()
    whole = {document.doc_id: document.text for document in documents if document.text.strip()}
    shared = {
        doc_id: text or whole[doc_id]
        for doc_id, text in of_runs.items()
        if doc_id in whole and (text or "") in whole[doc_id]
    }
    if whole and (unit == "document" or shared):
        return whole | shared  # A document may have its title before the text that a run has.
    if corpus.chunks is not None:
        pairs = zip(corpus.chunks.ids, corpus.chunks.texts, strict=True)
        return {id: text for id, text in pairs if text is not None}
    chunks = Chunks.of(documents, Recursive().spans)
    return dict(zip(chunks.ids, chunks.texts, strict=True))
