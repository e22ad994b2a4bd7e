"""A configuration run and weighed: what `steelyard run` does."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import polars as pl

from steelyard.align.document_lists import DocumentResolver
from steelyard.align.resolver import Resolver
from steelyard.base import defaults
from steelyard.base.errors import InputError, MeasureError, StageError
from steelyard.base.options import WeighOptions
from steelyard.base.progress import Progress, usual_progress
from steelyard.base.result import Result
from steelyard.data.clusters import question_clusters
from steelyard.data.corpus import Passage
from steelyard.data.folders.manifests import read_manifest
from steelyard.data.folders.run_folder import RunFolder
from steelyard.data.hold_out import parted
from steelyard.data.questions import Questions
from steelyard.experiment.door.gold import check_document_measures, check_gold
from steelyard.experiment.door.opening import open_inputs
from steelyard.experiment.door.weighing import Weighing
from steelyard.experiment.table.scores import Scores
from steelyard.measures import Measure, parse_all
from steelyard.rag.config import Config
from steelyard.rag.fingerprint import describe
from steelyard.rag.own.system import TargetSystem
from steelyard.rag.pipeline.pipeline import Pipeline
from steelyard.rag.protocols import Embedder, Generator, Reranker, RunnableSystem, raise_all
from steelyard.rag.runs.running import run
from steelyard.services.http.client import ServiceError
from steelyard.services.models.chat import ChatModel


@dataclass(frozen=True, eq=False, repr=False)
class WeighedRun(Result):
    """A finished run, its scores, and how many of its questions had been answered by an earlier start."""

    VIEW = "views.runs"

    folder: RunFolder
    scores: Scores
    n_before: int

    @property
    def frame(self) -> pl.DataFrame:
        """The scores, one row for each system, question and measure."""
        return self.scores.frame


def run_and_weigh(
    config: Config,
    *,
    measures: Iterable[str | Measure] = (),
    cluster: str | None = None,
    hold_out: float | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> WeighedRun:
    """Run a pipeline or a target over the questions of its configuration, and weigh what it found.

    measures    those of the configuration by default, else those of `evaluate`
    cluster     which questions count as one, as of `evaluate`; as the configuration has it by default
    hold_out    the share of the questions that is held out, likewise
    overwrite   replace a run; see `steelyard.rag.runs.running.run`

    Before anything is asked, measures are parsed, clusters are formed and quotes are looked up in their documents.
    Raises      InputError, MeasureError; StageError where the system fails from the start; OutputError
    """
    if config.questions is None:
        raise InputError("which questions? Give --questions FILE, or `questions` in the configuration")
    named = list(measures) or config.weigh.measures
    specs = parse_all(named) if named else ()
    questions = Questions.read(config.questions)
    config = config.with_unit_of(questions)
    system = read_system(config)
    options = config.weigh.options(cluster, hold_out)
    check_measures(specs, config, questions)
    check_cluster(options, questions)
    resolvers = resolvers_of(config, questions, options)
    if isinstance(system, Pipeline):
        refuse_silent_endpoints([config], questions, overwrite=overwrite)
    show, first = progress or usual_progress, dict[str, int]()

    def show_progress(stage: str, done: int, total: int) -> None:
        first.setdefault(stage, done)
        show(stage, done, total)

    def check_quotes() -> None:
        for resolver in resolvers:
            resolver.check(system.corpus, system.documents)

    folder = run(
        system, questions, config.folder, overwrite=overwrite, progress=show_progress,
        check=check_quotes,
    )  # fmt: skip
    weighing = weigh_folder(folder, resolvers, options)
    scores = weighing.scores(weighing.measures_or(specs, defaults.MEASURES)).of_weighing(weighing)
    return WeighedRun(folder, scores, first.get("questions", 0))


def check_measures(specs: Iterable[Measure], config: Config, questions: Questions) -> None:
    """Raise   MeasureError, InputError for measures that a run of the configuration cannot be weighed by."""
    of_answers = [spec for spec in specs if spec.definition.of_answers]
    of_rankings = [spec for spec in specs if not spec.definition.of_answers]
    if config.unit == "document":
        check_document_measures(of_rankings)
    check_gold(questions, of_rankings)
    if of_answers and config.target is None and config.generate is None:
        raise MeasureError(
            f"{config.name}: {of_answers[0]} is of answers, and the pipeline gives none; name what generates some, "
            'such as generate = "extractive"'
        )


def check_cluster(options: WeighOptions, questions: Questions) -> None:
    """Raise   InputError for a cluster by a field that no question has."""
    if options.cluster is not None:
        named = {question.query_id: question for question in questions}
        question_clusters(options.cluster, gold=questions, questions=named, query_ids=list(named))


def resolvers_of(config: Config, questions: Questions, options: WeighOptions) -> Sequence[Resolver | DocumentResolver]:
    """Resolvers of the gold of all questions; or of the open ones and of those that are held out.

    Raises   InputError for gold that does not fit the unit, and where too few questions would be held out.
    """
    named = {question.query_id: question for question in questions}
    parts = parted(questions, options.hold_out, cluster=options.cluster, questions=named)
    return [config.weigh.resolver(part, config.unit) for part in parts]


def weigh_folder(
    folder: RunFolder, resolvers: Sequence[Resolver | DocumentResolver], options: WeighOptions
) -> Weighing:
    """A run against the questions of resolvers, which resolve their gold once for all runs of one corpus.

    Raises   InputError and its children.
    """
    return Weighing.of_parts([
        Weighing.of_resolver(open_inputs(resolver.gold, [folder], options), resolver, options) for resolver in resolvers
    ])  # fmt: skip


def read_system(config: Config) -> RunnableSystem:
    """The pipeline, or the target of the user's own, that a configuration describes.

    Raises   InputError with the file and line of what is wrong.
    """
    return TargetSystem.read(config) if config.target else Pipeline.read(config)


_MAY_PASS = {408, 409, 413, 425, 429}


def refuse_silent_endpoints(configs: Sequence[Config], questions: Questions, *, overwrite: bool) -> None:
    """Ask each endpoint once that runs of some pipelines will ask, with texts that are at hand.

    overwrite   whether finished runs are run again, too
    Raises      StageError naming all that fail for good, as with a wrong address, key, model or shape; what a server
                may answer another time, or a model another text, is left to the run.
    """
    asked, errors = set[str](), list[str]()
    query = next((question.query for question in questions if question.query and question.query.strip()), "")
    due = [config for config in configs if overwrite or not (read_manifest(config.folder) or {}).get("finished")]
    for config in due if query else ():
        for stage in Pipeline.read(config).endpoints.values():
            if (key := describe(stage).digest) in asked:
                continue
            asked.add(key)
            try:
                if isinstance(stage, Embedder):
                    stage.query(query)
                elif isinstance(stage, Reranker):
                    stage.scores(query, [query, f"{query} {query}"])
                elif isinstance(stage, Generator):
                    stage.answer(query, [Passage("d#1", "d", text=query)])
            except ServiceError as error:
                if _is_final(error, is_chat=isinstance(stage, ChatModel)):
                    errors.append(f"{config.name}: {error}" if len(configs) > 1 else str(error))
            except StageError:
                continue
    raise_all(errors, f"{len(errors)} of {len(asked)} endpoints do not answer, and nothing was run")


def _is_final(error: ServiceError, *, is_chat: bool) -> bool:
    if isinstance(error.reason, int):
        return 300 <= error.reason < 500 and error.reason not in _MAY_PASS
    return error.reason == "no answer" or (error.reason is None and not is_chat)
