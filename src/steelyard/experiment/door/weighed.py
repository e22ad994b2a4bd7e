"""One system on the scale: its run, aligned with the gold, and what else is known of it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
import polars as pl

from steelyard.align.document_lists import DocumentGold, DocumentResolver, naming_notes
from steelyard.align.evidence import align_evidence, labels_of_parts
from steelyard.align.hits import Aligned
from steelyard.align.rankings import align
from steelyard.align.resolver import GoldMapping, ResolvedGold, Resolver
from steelyard.base.arrays import Floats
from steelyard.base.choices import OnDuplicate
from steelyard.base.errors import InputError
from steelyard.base.notes import Note
from steelyard.data.chunk_table import ChunkTable
from steelyard.data.folders.run_folder import RunFolder
from steelyard.data.outputs import Outputs
from steelyard.data.run import Run, StreamedRun
from steelyard.data.truth import Truth
from steelyard.experiment.door.opening import System
from steelyard.experiment.table.arrays import ANSWERS_FAILED
from steelyard.measures import Alignment, Measure
from steelyard.measures.perfect import perfect_values

_NAMED = 5
"""Ids that a note names."""


@dataclass(frozen=True, eq=False)
class Weighed:
    """One system against the gold.

    aligned     ranks and gains of what is judged, and what else the run holds
    run         its rankings;   digest   a fingerprint of them
    outputs     texts, places and answers, where the gold is evidence
    evidence    the gold among its chunks; None where the gold names documents by id
    candidates  the alignment of what its reranker was given, in the order before it; None without candidates
    folder      its run folder, if it has one
    notes       what a reader should know of how it was weighed
    answered    reads the outputs as they are, where answers are weighed
    documents   the gold as documents, where the lists of chunks are weighed as such: then run and outputs are of these
    fewer       the code of a note, and mean numbers of chunks and of their documents, where its lists hold no more
                documents because chunks share them; None elsewhere
    repeats     its further runs over the same questions, where there are several: values are then means over all of
                them, and everything else here is of the first one
    """

    name: str
    aligned: Aligned
    run: Run | StreamedRun
    digest: Callable[[], str]
    answered: Callable[[], Outputs]
    outputs: Outputs | None = None
    evidence: ResolvedGold | None = None
    candidates: Alignment | None = None
    folder: RunFolder | None = None
    notes: Sequence[Note] = ()
    documents: DocumentGold | None = None
    fewer: tuple[str, float, float] | None = None
    repeats: Sequence[Weighed] = ()

    @property
    def runs(self) -> Sequence[Weighed]:
        """Each of its runs."""
        return (self, *self.repeats)

    @classmethod
    def of_ids(cls, system: System, truth: Truth, on_duplicate: OnDuplicate, aligned: Aligned) -> Weighed:
        """A system against judged documents, or against labels of chunks by id, with which its run is aligned."""
        candidates = None
        if system.outputs is not None and (before := system.outputs.before_reranking()) is not None:
            candidates = align(truth, before.run, on_duplicate=on_duplicate).alignment
        digest = system.run.digest if system.outputs is None else system.outputs.digest
        return cls(
            system.name, aligned, system.run,
            digest=digest, answered=system.answered, outputs=system.outputs, candidates=candidates,
            folder=system.folder,
        )  # fmt: skip

    @property
    def alignment(self) -> Alignment:
        """Ranks and gains of what is judged."""
        return self.aligned.alignment

    @cached_property
    def labels(self) -> Truth | None:
        """The gain of every gold document, or of every chunk that holds gold; None where the truth names them.

        Chunks that the run holds a piece together with have its gain where no chunk holds it by itself.
        """
        if self.evidence is not None and self.outputs is not None:
            return labels_of_parts(self.evidence, self.outputs)
        return None if self.documents is None else self.documents.labels

    def notes_at(self, k: int | None) -> Sequence[Note]:
        """Notes for a reader who looks at the first k results."""
        notes = [*self.notes, *self._answer_notes()]
        if k is None or self.fewer is None or self.fewer[2] >= k:
            return notes
        code, chunks, documents = self.fewer
        return [*notes, Note(code, {"chunks": round(chunks, 1), "documents": round(documents, 1), "k": k})]

    def notes_of_depth(self, specs: Iterable[Measure]) -> Iterator[Note]:
        """Measures that look deeper than the run was asked for: they see no more than its k results."""
        longest = int(self.alignment.n_retrieved.max(initial=0))
        deeper = [str(spec) for spec in specs if spec.depth and spec.depth > longest]
        if deeper and self.folder is not None and self.folder.config.get("k") == longest:
            yield Note("lists_end", {"k": longest, "measures": deeper})

    def _answer_notes(self) -> Iterator[Note]:
        """Notes on answers that failed to questions that are weighed."""
        query_ids = self.alignment.query_id
        names = [query_id for query_id in query_ids if query_id in self.unanswered]
        if names:
            yield Note(ANSWERS_FAILED, {"n": len(names), "total": len(query_ids), "names": names[:_NAMED]})

    @property
    def corpus(self) -> ChunkTable | None:
        """All that could have been retrieved; None where that is not known."""
        gold = self.evidence or self.documents
        return gold.table if gold is not None and gold.table.complete else None

    @property
    def corpus_known(self) -> bool:
        """True if it is known which gold the corpus lacks."""
        return self.corpus is not None or (self.mapping is not None and self.mapping.placed)

    def perfect_values(self, spec: Measure) -> Floats:
        """(q,) values of a perfect ranking; NaN where the truth does not bound the measure.

        Gold evidence bounds nothing where only the retrieved chunks are at hand: others may hold it too.
        """
        gold, by_pieces = self.evidence, None
        if gold is not None:
            if not gold.table.complete:
                return np.full(self.alignment.n_queries, np.nan)
            pieces, by_pieces = gold.resolution.gold, np.zeros(self.alignment.n_queries, bool)
            by_pieces[gold.labels.places(pl.Series(pieces.query_ids))] = pieces.has_texts
        return perfect_values(spec, self.alignment, by_pieces=by_pieces)

    @property
    def mapping(self) -> GoldMapping | None:
        """Mapping of gold evidence to the chunks, or to documents."""
        gold = self.evidence or self.documents
        return None if gold is None else gold.mapping

    @property
    def failures(self) -> Collection[str]:
        """Ids of the questions on which the system failed to retrieve, as it says itself."""
        return self.outputs.failures if self.outputs else ()

    @property
    def unanswered(self) -> Collection[str]:
        """Ids of the questions whose answer alone failed."""
        return self.outputs.unanswered if self.outputs else ()

    @property
    def reranks(self) -> bool | None:
        """True if the system has a reranker, by the configuration of its run folder; None where there is none."""
        return None if self.folder is None else self.folder.reranks

    @property
    def latency_ms(self) -> Mapping[str, float]:
        """query_id -> milliseconds in all, of the questions that the outputs report them for."""
        if self.outputs is not None:
            return self.outputs.latency_ms
        return {} if self.folder is None else self.folder.latency_ms


def weigh_system(
    system: System, resolver: Resolver | DocumentResolver, on_duplicate: OnDuplicate, *, has_chunks: bool
) -> Weighed:
    """One run against the gold of a resolver;   has_chunks   whether a corpus says what chunks with bare ids are

    Documents are at the best of their chunks; gold evidence is looked up among the chunks that have more than ids.
    """
    outputs, weighed = system.outputs, partial(Weighed, system.name, answered=system.answered, folder=system.folder)
    if outputs is not None and isinstance(resolver, DocumentResolver):
        documents = resolver.resolve(outputs)
        listed = documents.listed(outputs, on_duplicate)
        candidates = None if listed.candidates is None else align(documents.labels, listed.candidates).alignment
        return weighed(
            align(documents.labels, listed.run), listed.run, digest=outputs.digest, outputs=listed,
            candidates=candidates, documents=documents, fewer=_fewer_documents(outputs, listed), notes=documents.notes,
        )  # fmt: skip
    says_where = has_chunks or (outputs is not None and (not len(outputs.table) or outputs.table.says_where))
    if outputs is not None and says_where and isinstance(resolver, Resolver):
        gold, candidates = resolver.resolve(outputs), None
        if (before := outputs.before_reranking()) is not None:
            candidates = align_evidence(resolver.resolve(before), before, on_duplicate=on_duplicate).alignment
        aligned = align_evidence(gold, outputs, on_duplicate=on_duplicate)
        return weighed(
            aligned, system.run, digest=outputs.digest, outputs=outputs, evidence=gold, candidates=candidates,
            notes=list(naming_notes(gold, outputs)),
        )  # fmt: skip
    truth = resolver.gold if isinstance(resolver.gold, Truth) else resolver.gold.truth()
    return Weighed.of_ids(system, truth, on_duplicate, align(truth, system.run, on_duplicate=on_duplicate))


def _fewer_documents(outputs: Outputs, listed: Outputs) -> tuple[str, float, float] | None:
    """See `Weighed.fewer`: of the lists themselves, or of candidates whose documents are all that was listed."""
    if chunks_share := _mean_lengths(outputs.run, listed.run):
        return ("few_documents_listed", *chunks_share)
    if outputs.candidates is None or listed.candidates is None or _n_listed(listed.candidates) > _n_listed(listed.run):
        return None
    chunks_share = _mean_lengths(outputs.candidates, listed.candidates)
    return ("few_documents_among_candidates", *chunks_share) if chunks_share else None


def _mean_lengths(chunks: Run, documents: Run) -> tuple[float, float] | None:
    """Results of a list on average, those that are empty left aside, before and after; None where none is shorter."""
    before, after = _n_listed(chunks), _n_listed(documents)
    n = documents.frame.drop_nulls("doc_id")["query_id"].n_unique()
    return None if before == after else (before / n, after / n)


def _n_listed(run: Run) -> int:
    return run.frame["doc_id"].count()


def runs_together(systems: Sequence[System], weighed: Sequence[Weighed]) -> list[Weighed]:
    """Every system with its further runs, from all runs in order.

    Raises   InputError for runs of one system that cover different questions
    """
    together, rest = list[Weighed](), iter(weighed)
    for system in systems:
        first, *others = (next(rest) for _ in system.runs)
        for number, other in enumerate(others, 2):
            _check_covers(system, first, other, number)
        together.append(replace(first, name=system.name, repeats=tuple(others)) if others else first)
    return together


def _check_covers(system: System, first: Weighed, other: Weighed, number: int) -> None:
    differs = np.flatnonzero(first.alignment.missing != other.alignment.missing)
    if len(differs):
        query_id = first.alignment.query_id[int(differs[0])]
        lacks = other if other.alignment.missing[differs[0]] else first
        raise InputError(
            f"{system.name}: its runs cover different questions: run {1 if lacks is first else number}"
            f" ({lacks.run.name}) lacks {query_id!r}, which run {number if lacks is first else 1} has, and "
            f"{len(differs)} differ in all; give runs over the same questions, or name them as systems of their own"
        )
