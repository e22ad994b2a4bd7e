"""Systems on the scale: aligned with one gold, once; scores, diagnoses and reports are computed from it."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import polars as pl

from steelyard._version import __version__
from steelyard.align.document_lists import DocumentResolver
from steelyard.align.rankings import align_all
from steelyard.align.resolver import Resolver
from steelyard.base import defaults
from steelyard.base.arrays import Bools, Floats, Ints
from steelyard.base.choices import Policy
from steelyard.base.defaults import DefaultMeasures
from steelyard.base.errors import MeasureError
from steelyard.base.notes import Note
from steelyard.base.options import WeighOptions
from steelyard.base.result import Shown
from steelyard.base.short_repr import plural
from steelyard.data.chunk_table import Corpus
from steelyard.data.clusters import DOC, NONE, Clustering, conversation_clusters, question_clusters, shared_gold
from steelyard.data.folders.run_folder import RunFolder
from steelyard.data.hold_out import parted
from steelyard.data.question import Question
from steelyard.data.questions import Questions
from steelyard.data.truth import Truth
from steelyard.experiment.corrections import SystemCorrections
from steelyard.experiment.door.answers import Answers
from steelyard.experiment.door.choices import VerdictChoice, are_handed_in, check_labels, review_of
from steelyard.experiment.door.gold import (
    AbsentGold,
    check_document_measures,
    judged_notes,
    resolver_of,
    unjudged_notes,
    with_gold_advice,
)
from steelyard.experiment.door.id_forms import clusters_in_form, review_in_form
from steelyard.experiment.door.opening import Inputs, Texts, no_texts
from steelyard.experiment.door.weighed import Weighed, runs_together, weigh_system
from steelyard.experiment.table.arrays import SHARED_GOLD, without_relevant
from steelyard.experiment.table.recipes import reads_verdicts
from steelyard.experiment.table.scores import Scores
from steelyard.io.source import ahead
from steelyard.measures import Alignment, Measure, make, parse, parse_all
from steelyard.measures.alignment import stacked, stacks
from steelyard.stats.spread import means_of_runs
from steelyard.text.folding import DEFAULT_STEPS


@dataclass(frozen=True, eq=False)
class Weighing(Shown):
    """The result of `weigh`: one or several systems, aligned with one gold.

    gold       the truth, or the questions with their evidence
    questions  query_id -> query, tags and answer, as far as they are given
    recipe     rule, steps and policy by which the gold is looked up
    corpus     apart from the systems, in which gold evidence is looked up too; None without one, and for ids
    named_corpus  the one that was named, whether gold is looked up in it or not
    texts      those of documents that are named by id
    options    by which they were weighed, and scores are counted;   inputs   what was weighed
    held_out   the same systems by the questions that are held out, where some are; `of_held_out` marks these
    """

    VIEW = "views.weighing"

    gold: Truth | Questions
    weighed: Sequence[Weighed]
    questions: Mapping[str, Question] = field(repr=False)
    recipe: Mapping[str, Any] = field(repr=False)
    corpus: Corpus | None = field(repr=False, default=None)
    texts: Texts = field(repr=False, default=no_texts)
    named_corpus: Corpus | None = field(repr=False, default=None)
    options: WeighOptions = field(repr=False, default_factory=WeighOptions)
    inputs: Inputs | None = field(repr=False, default=None)
    held_out: Weighing | None = field(repr=False, default=None)
    of_held_out: bool = field(repr=False, default=False)

    @classmethod
    def of(cls, inputs: Inputs, options: WeighOptions) -> Weighing:
        """Align every system with the gold, or with its open part where some questions are held out.

        Gold evidence is looked up in chunks that have more than ids, and the labels of ids are taken for the others.
        Raises   InputError and its children.
        """
        cluster = None if options.cluster is None else clusters_in_form(options.cluster, options.normalise_ids)
        parts = parted(inputs.gold, options.hold_out, cluster=cluster, questions=inputs.questions)
        return cls.of_parts([cls._of(replace(inputs, gold=part), options) for part in parts])

    @classmethod
    def of_parts(cls, parts: Sequence[Weighing]) -> Weighing:
        """The open questions, with what is held out of them, where some are: one or two parts."""
        weighing, *held_out = parts
        return replace(weighing, held_out=replace(*held_out, of_held_out=True)) if held_out else weighing

    @classmethod
    def _of(cls, inputs: Inputs, options: WeighOptions) -> Weighing:
        """Align every system with all of the gold."""
        gold, on_duplicate, progress = inputs.gold, options.on_duplicate, options.progress
        if isinstance(gold, Questions) or options.unit == "document":
            steps = DEFAULT_STEPS if options.steps is None else tuple(options.steps)
            resolver = resolver_of(gold, corpus=inputs.corpus, rule=options.rule, steps=steps, unit=options.unit)
            return cls.of_resolver(inputs, resolver, options)
        weighed = list[Weighed]()
        systems = [run for system in inputs.systems for run in system.runs]
        progress("runs", 0, len(systems))
        runs = [system.run for system in systems]
        for system, aligned in zip(systems, align_all(gold, runs, on_duplicate=on_duplicate), strict=True):
            weighed.append(Weighed.of_ids(system, gold, on_duplicate, aligned))
            progress("runs", len(weighed), len(runs))
        return cls(
            gold,
            runs_together(inputs.systems, weighed),
            inputs.questions,
            _recipe(options),
            texts=inputs.texts,
            named_corpus=inputs.corpus,
            options=options,
            inputs=inputs,
        )._checked()

    @classmethod
    def of_resolver(cls, inputs: Inputs, resolver: Resolver | DocumentResolver, options: WeighOptions) -> Weighing:
        """Align every system with the gold of a resolver, which keeps what it resolves for the systems of later calls.

        Raises   InputError and its children.
        """
        weighed = list[Weighed]()
        # Documents say nothing of chunks that a run names by their ids alone.
        has_chunks = inputs.corpus is not None and inputs.corpus.chunks is not None
        systems = [run for system in inputs.systems for run in system.runs]
        options.progress("runs", 0, len(systems))
        for system in systems:
            weighed.append(weigh_system(system, resolver, options.on_duplicate, has_chunks=has_chunks))
            options.progress("runs", len(weighed), len(systems))
        weighed = runs_together(inputs.systems, weighed)
        return cls(
            resolver.gold, weighed, inputs.questions, _recipe(options) | resolver.recipe, inputs.corpus, inputs.texts,
            named_corpus=inputs.corpus, options=options, inputs=inputs,
        )._checked()  # fmt: skip

    def __repr__(self) -> str:
        return f"Weighing({plural(len(self.weighed), 'system')} × {plural(len(self.query_ids), 'question')})"

    def _checked(self) -> Weighing:
        """The same, where fields, verdicts and labels that are named are those of its questions and systems.

        Raises   InputError.
        """
        _ = self.clustering
        check_labels(self.options.labels, self.systems)
        self._choice.checked(self.systems)
        return self

    @property
    def _choice(self) -> VerdictChoice:
        """Choice of the verdicts that measures of answers are computed from."""
        options = self.options
        return VerdictChoice(options.verdicts, options.judge, options.progress, options.normalise_ids)

    @cached_property
    def clustering(self) -> Clustering | None:
        """Which questions belong together, and count as one for intervals and tests; None: each by itself.

        Turns of one conversation do unless other clusters are named.
        """
        if self.options.cluster == NONE:
            return None
        if self.options.cluster is None:
            return conversation_clusters(self.questions, self.query_ids)
        cluster = clusters_in_form(self.options.cluster, self.options.normalise_ids)
        return question_clusters(cluster, gold=self.gold, questions=self.questions, query_ids=self.query_ids)

    @cached_property
    def _shared_gold(self) -> dict[str, Any] | None:
        """Fields of SharedGold."""
        shared = shared_gold(self.gold, self.query_ids)
        return None if shared is None else vars(shared)

    @property
    def systems(self) -> list[str]:
        """Names of the systems."""
        return [system.name for system in self.weighed]

    @property
    def folders(self) -> dict[str, RunFolder]:
        """System -> its run folder, of those that have one."""
        return {system.name: system.folder for system in self.weighed if system.folder is not None}

    @property
    def reranks(self) -> dict[str, bool]:
        """System -> whether it has a reranker, of those whose configuration is known."""
        return {system.name: system.reranks for system in self.weighed if system.reranks is not None}

    @property
    def latency_ms(self) -> dict[str, list[list[float]]]:
        """System -> run -> milliseconds of each question, of those that report any; infinite where the system failed.

        How long an answer to a failed question would have taken nobody knows: longer than any limit.  Questions are in
        one order in all runs of a system, NaN where a run does not report one.
        """
        return {system.name: _latencies(system.runs) for system in self.weighed if system.latency_ms}

    @property
    def query_ids(self) -> Sequence[str]:
        """Every question of the gold, ascending by UTF-8 bytes."""
        return self.weighed[0].alignment.query_id

    @property
    def by_evidence(self) -> bool:
        """True if the gold is evidence that is looked up in chunks, rather than documents named by id."""
        return any(system.evidence is not None for system in self.weighed)

    @property
    def alignments(self) -> list[Alignment]:
        """One a system: of its first run."""
        return [system.alignment for system in self.weighed]

    @property
    def run_alignments(self) -> list[Alignment]:
        """One a run, system after system."""
        return [run.alignment for system in self.weighed for run in system.runs]

    @property
    def n_runs(self) -> list[int]:
        """Number of runs that each system has."""
        return [len(system.runs) for system in self.weighed]

    def of_questions(self, query_ids: Collection[str]) -> Weighing:
        """The same of some questions, weighed again as if there were no others."""
        assert self.inputs is not None
        return Weighing._of(replace(self.inputs, gold=self.gold.restricted(query_ids)), self.options)

    def first_runs(self) -> Weighing:
        """The same of the first run of each system alone."""
        return replace(
            self, weighed=[replace(system, repeats=()) if system.repeats else system for system in self.weighed]
        )

    def measures_or(
        self, measures: Iterable[str | Measure] | str | Measure, default: DefaultMeasures
    ) -> Sequence[str | Measure]:
        """The measures, or where there are none those that are the default for this kind of gold."""
        specs = [measures] if isinstance(measures, str | Measure) else list(measures)
        if specs:
            return specs
        if self.of_answers_alone:
            candidates = dict.fromkeys((*default.of_answers, *defaults.MEASURES.of_answers))
            defined = [name for name in candidates if self.answers.are_defined(parse(name))] or list(candidates)
            return [name for name in defined if name in default.of_answers] or defined[:1]
        of_lists = default.by_evidence if self.by_evidence else default.by_id
        have_answers = all(run.answered().answers for own in self.weighed for run in own.runs)
        beside = [name for name in default.beside if have_answers and self.answers.are_defined(parse(name))]
        return [*of_lists[: len(of_lists) - len(beside)], *beside]

    @cached_property
    def of_answers_alone(self) -> bool:
        """True if there are answers, and nothing is gold for what is retrieved."""
        if isinstance(self.gold, Truth) or any(question.evidence or question.labels for question in self.gold):
            return False
        return any(run.answered().answers for system in self.weighed for run in system.runs)

    def scores(
        self,
        measures: Iterable[str | Measure] | str | Measure,
        *,
        min_gain: float | None = None,
        missing: Policy | None = None,
        no_relevant: Policy | None = None,
    ) -> Scores:
        """Values of measures; options as of `evaluate`, by default those by which it was weighed.

        Raises   MeasureError, InputError.
        """
        options = self.options
        options = WeighOptions(
            min_gain=options.min_gain if min_gain is None else min_gain,
            missing=missing or options.missing,
            no_relevant=no_relevant or options.no_relevant,
        )
        min_gain, missing, no_relevant = options.min_gain, options.missing, options.no_relevant
        specs = parse_all(measures, **({} if min_gain is None else {"min_gain": min_gain}))
        of_answers = [j for j, spec in enumerate(specs) if spec.definition.of_answers]
        self._check_inputs(specs)
        shares = [make("judged", k) for k in dict.fromkeys(spec.depth for spec in specs)]
        of_runs = self._measured([*specs, *shares])
        n_runs = self.n_runs
        columns = means_of_runs(of_runs, n_runs)
        values, irrelevant = columns[:, : len(specs)], self._irrelevant(specs)
        judged = columns[:, [len(specs) + [share.depth for share in shares].index(spec.depth) for spec in specs]]
        judged[:, of_answers] = np.nan
        absent = np.array([a.missing for a in self.alignments])
        if missing == "skip":
            values[np.broadcast_to(absent[:, None], values.shape)] = np.nan
        if no_relevant == "skip":
            values[irrelevant] = np.nan
        unwinnable = np.array([self._mask(_unwinnable(system)) for system in self.weighed])
        values[without_relevant(irrelevant, unwinnable)] = np.nan
        firsts = np.cumsum([0, *n_runs])
        repeats = {
            system: np.where(np.isnan(values[i]), np.nan, of_runs[firsts[i] : firsts[i + 1], : len(specs)])
            for i, system in enumerate(self.systems)
            if n_runs[i] > 1
        }
        notes = {system.name: own for system in self.weighed if (own := self._notes(system, specs, values))}
        left_out = absent & (missing == "skip")
        corrections = self._corrections(specs, left_out) if of_answers else {}
        for name, correction in corrections.items():
            if correction.notes:
                notes[name] = [*notes.get(name, ()), *correction.notes]
        scores = Scores(
            systems=self.systems,
            query_ids=self.query_ids,
            measures=specs,
            values=values,
            missing=absent,
            no_relevant=irrelevant,
            failed=np.array([self._mask(_union(run.failures for run in system.runs)) for system in self.weighed]),
            unwinnable=unwinnable,
            judged=judged,
            unjudged_queries=self._n_unjudged,
            gold=[system.mapping for system in self.weighed],
            recipe_parts=self._recipe_parts(missing, no_relevant)
            | ({"verdicts": recipes} if of_answers and (recipes := self.answers.recipes(specs)) else {}),
            perfect={str(spec): partial(self.perfect_values, spec) for spec in specs if not spec.definition.of_answers},
            clustering=self.clustering,
            repeats=repeats,
            notes=notes,
            corrections={name: correction.of for name, correction in corrections.items() if correction.of},
            causes=self.answers.causes(specs, of_runs[:, : len(specs)]) if of_answers else None,
        )
        return replace(scores, notes=with_gold_advice(scores, self.gold)).from_source(self)

    @property
    def _n_unjudged(self) -> Ints:
        """(s,) questions of each run without judgments, those that are held out left aside."""
        n_unjudged = np.array([system.aligned.n_unjudged_queries for system in self.weighed])
        if self.held_out is None:
            return n_unjudged
        return np.asarray(n_unjudged - [int((~a.missing).sum()) for a in self.held_out.alignments])

    def _corrections(self, specs: Sequence[Measure], left_out: Bools) -> dict[str, SystemCorrections]:
        """System -> the corrections of its means by labels, of systems that have any.

        left_out   (s, q) questions that are in no mean
        """
        judged = [spec for spec in specs if reads_verdicts(spec)]
        clusters = None if self.clustering is None else self.clustering.codes
        corrections = dict[str, SystemCorrections]()
        for place, system in enumerate(self.weighed if judged else ()):
            if (review := review_of(self.options.labels, system.name, system.folder)) is not None:
                review = review_in_form(review, self.options.normalise_ids)
                corrections[system.name] = self.answers.corrections(
                    place, judged, review, left_out=left_out[place], clusters=clusters,
                    handed_in=are_handed_in(self.options.labels, system.name),
                )  # fmt: skip
        return corrections

    def _notes(self, system: Weighed, specs: Sequence[Measure], values: Floats) -> list[Note]:
        """Notes on the gold, and on how one system was weighed: by the first run that has notes.

        values   (s, m, q)
        """
        of_lists = [spec for spec in specs if not spec.definition.of_answers]
        depth = of_lists[0].depth if of_lists else None
        own = next((notes for run in system.runs if (notes := run.notes_at(depth))), ())
        opened = () if self.inputs is None else self.inputs.systems
        read = next((given.notes for given in opened if given.name == system.name), ())
        notes = [*read, *self._gold_notes, *own, *system.notes_of_depth(specs)]
        if len(of_lists) == len(specs):
            return notes
        place = self.systems.index(system.name)
        return [*notes, *self.answers.notes(place, specs, values[place])]

    @cached_property
    def _gold_notes(self) -> list[Note]:
        unjudged = self.gold.unjudged if isinstance(self.gold, Questions) else ()
        absent = () if self._absent is None else self._absent.notes()
        by_judge = judged_notes(self.gold) if isinstance(self.gold, Truth) else ()
        return [*unjudged_notes(unjudged, len(self.query_ids)), *absent, *by_judge, *self._held_out_notes()]

    def _held_out_notes(self) -> Iterator[Note]:
        if self.held_out is not None:
            n = len(self.held_out.query_ids)
            yield Note("questions_held_out", {"n": n, "total": n + len(self.query_ids)})

    @cached_property
    def _absent(self) -> AbsentGold | None:
        """Gold that the named corpus lacks, where documents are named by ids; None elsewhere."""
        if self.named_corpus is None or any(system.labels is not None for system in self.weighed):
            return None
        return AbsentGold.of(self.truth, self.named_corpus)

    @property
    def absent(self) -> pl.DataFrame | None:
        """Labels of relevant documents that the corpus lacks: query_id, doc_id, gain, by question; of ids alone.

        None where no corpus is named, and where it has none of them at all.
        """
        return None if self._absent is None or self._absent.is_foreign else self._absent.labels

    def perfect_values(self, spec: Measure) -> Floats:
        """(s, q) values of a perfect ranking, which systems of one truth share; NaN where the truth bounds nothing."""
        shared: dict[int, Floats] = {}
        for weighed in self.weighed:
            truth = id(weighed.alignment.ideal_gain)
            if truth not in shared:
                shared[truth] = weighed.perfect_values(spec)
        return np.stack([shared[id(weighed.alignment.ideal_gain)] for weighed in self.weighed])

    def _measured(self, specs: Sequence[Measure]) -> Floats:
        """(r, m, q) values of every run, computed in one pass for many small ones."""

        def measured(group: Sequence[Alignment]) -> Floats:
            a = stacked(group)
            values = [
                np.full((len(group), group[0].n_queries), np.nan)
                if spec.definition.of_answers
                else np.reshape(spec(a), (len(group), -1))
                for spec in specs
            ]
            return np.stack(values, axis=1).astype(float, copy=False)

        groups = list(stacks(self.run_alignments))
        values = measured(groups[0]) if len(groups) == 1 else np.concatenate(list(ahead(measured, groups, workers=2)))
        for j, spec in enumerate(specs):
            if spec.definition.of_answers:
                values[:, j] = self.answers.values(spec)
        return values

    @cached_property
    def answers(self) -> Answers:
        """The answers of all runs to every question of the gold."""
        unknown = Question("", None, where=self.gold.name)
        own = {} if isinstance(self.gold, Truth) else {question.query_id: question for question in self.gold}

        def asked(query_id: str) -> Question:
            """With gold answers, where the queries that are named or the gold have some."""
            known = [question for of in (self.questions, own) if (question := of.get(query_id)) is not None]
            return next((q for q in known if q.answers), known[0] if known else replace(unknown, query_id=query_id))

        return Answers(self.weighed, Questions.of(map(asked, self.query_ids), name=self.gold.name), self._choice)

    def _irrelevant(self, specs: Sequence[Measure]) -> Bools:
        """(s, m, q) queries without anything relevant, as the truth decides: once for all that share it."""
        parts = [
            np.repeat(np.array([spec.undefined(group[0]) for spec in specs])[None], len(group), axis=0)
            for group in stacks(self.alignments)
        ]
        return np.concatenate(parts)

    def _recipe_parts(self, missing: Policy, no_relevant: Policy) -> dict[str, object]:
        """Parts of the recipe, on which the values depend; the digests are computed when they are asked for."""
        return {
            "steelyard": __version__,
            "truth": lambda: self.digests["truth"],
            "runs": lambda: self.digests["runs"],
            **({} if self.corpus is None else {"corpus": lambda: self.digests["corpus"]}),
            "missing": missing,
            "no_relevant": no_relevant,
            **self.recipe,
            **({} if self.clustering is None else {"cluster": self.clustering.by}),
            **({SHARED_GOLD: lambda: self._shared_gold} if self.options.cluster in (None, DOC) else {}),
        }

    def _check_inputs(self, specs: Sequence[Measure]) -> None:
        """Refuse measures of what a system does not have, by its name."""
        if any(system.documents is not None for system in self.weighed):
            check_document_measures(specs)
        of_answers = [spec for spec in specs if spec.definition.of_answers]
        of_lists = [spec for spec in specs if not spec.definition.of_answers]
        for weighed in (run for system in self.weighed for run in system.runs):
            for spec in of_lists:
                if lack := spec.lack(weighed.alignment):
                    raise MeasureError(f"{weighed.name}: {spec} {lack}")
                if weighed.outputs is not None and not weighed.outputs.has_lists:
                    raise MeasureError(
                        f"{weighed.name}: {spec} is of what was retrieved, and the run has answers alone; give "
                        "`retrieved` too"
                    )
        if of_answers:
            self.answers.prepare(of_answers)

    def _mask(self, selected: Collection[str]) -> Bools:
        """(q,) which queries are among the selected ids."""
        if not selected:
            return np.zeros(len(self.query_ids), bool)
        return np.array([query_id in selected for query_id in self.query_ids], bool)

    @cached_property
    def digests(self) -> dict[str, dict[str, str]]:
        """Fingerprints of truth, runs and, if there is one, corpus; taken once, when asked, as those of data in memory
        take a while.
        """
        truth = {"name": self.gold.name, "digest": self._truth_digest()}
        corpus = {} if self.corpus is None else {"corpus": {"digest": self.corpus.digest()}}
        return {"truth": truth, "runs": dict(zip(self.systems, ahead(_digest, self.weighed), strict=True)), **corpus}

    def _truth_digest(self) -> str:
        """Fingerprint of the gold, and of which questions of it count."""
        digest, share = self.gold.digest(), self.options.hold_out
        if share is None:
            return digest
        part = f"{digest} {'held out' if self.of_held_out else 'open'} {share!r}"
        return f"sha256:{hashlib.sha256(part.encode()).hexdigest()}"

    @cached_property
    def labels(self) -> list[pl.DataFrame]:
        """One frame a system: query_id, doc_id, gain of every judged document, or of every chunk that holds gold."""
        return [
            (self.truth if system.labels is None else system.labels).frame.drop_nulls("doc_id")
            for system in self.weighed
        ]

    @cached_property
    def truth(self) -> Truth:
        """The gold by ids: of questions, their labels."""
        return self.gold if isinstance(self.gold, Truth) else self.gold.truth()

    def lists(self, k: int = 10) -> list[pl.DataFrame]:
        """The first k of every list as columns query_id, doc_id, rank, gain; one frame a system.

        gain is null for a document without a label.  Ordered by query_id and rank; questions of the gold alone.
        """
        wanted = pl.DataFrame({"query_id": pl.Series(self.query_ids, dtype=pl.String)})
        return [
            system.run.top(k)
            .join(wanted, on="query_id", how="semi")
            .join(labels, on=["query_id", "doc_id"], how="left")
            .sort("query_id", "rank")
            for system, labels in zip(self.weighed, self.labels, strict=True)
        ]


def _digest(system: Weighed) -> str:
    """Digest of all its runs."""
    return ", ".join(run.digest() for run in system.runs)


def _unwinnable(system: Weighed) -> Collection[str]:
    """Questions with gold that is in no chunk."""
    return _union(run.mapping.unwinnable for run in system.runs if run.mapping)


def _union(parts: Iterable[Collection[str]]) -> Collection[str]:
    listed = list(parts)
    return listed[0] if len(listed) == 1 else {item for part in listed for item in part}


def _recipe(options: WeighOptions) -> dict[str, Any]:
    """Recipe of the values besides rule, steps and unit."""
    form = {} if options.normalise_ids is None else {"normalise_ids": options.normalise_ids}
    share = {} if options.hold_out is None else {"hold_out": options.hold_out}
    return {"on_duplicate": options.on_duplicate, **form, **share}


def _latencies(runs: Sequence[Weighed]) -> list[list[float]]:
    """(r, n) milliseconds of the runs of one system."""
    of_runs = [{**run.latency_ms, **dict.fromkeys([*run.failures, *run.unanswered], math.inf)} for run in runs]
    query_ids = dict.fromkeys(query_id for of_run in of_runs for query_id in of_run)
    return [[of_run.get(query_id, math.nan) for query_id in query_ids] for of_run in of_runs]
