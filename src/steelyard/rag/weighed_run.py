"""A configuration run and weighed: what `steelyard run` does."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from steelyard.align.document_lists import DocumentResolver
from steelyard.align.resolver import Resolver
from steelyard.base import defaults
from steelyard.base.errors import InputError, MeasureError
from steelyard.base.progress import Progress, no_progress
from steelyard.data.clusters import question_clusters
from steelyard.data.questions import Questions
from steelyard.data.run_folder import RunFolder
from steelyard.experiment.opening import open_inputs
from steelyard.experiment.scores import Scores
from steelyard.experiment.units import check_document_measures, check_gold
from steelyard.experiment.weighing import Weighing
from steelyard.measures import Measure, parse_all
from steelyard.rag.config import Config
from steelyard.rag.first_questions import refuse_silent_endpoints
from steelyard.rag.pipeline import Pipeline
from steelyard.rag.running import run
from steelyard.rag.system import System, TargetSystem


@dataclass(frozen=True, eq=False)
class WeighedRun:
    """A finished run, its scores, and how many of its questions had been answered by an earlier start."""

    folder: RunFolder
    scores: Scores
    n_before: int


def run_and_weigh(
    config: Config,
    *,
    measures: Iterable[str | Measure] = (),
    cluster: str | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> WeighedRun:
    """Run a pipeline or a target over the questions of its configuration, and weigh what it found.

    measures    those of the configuration by default, else those of `evaluate`
    cluster     which questions count as one, as of `evaluate`; as the configuration has it by default
    overwrite   replace a run; see `steelyard.rag.running.run`

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
    resolver, cluster = config.weigh.resolver(questions, config.unit), cluster or config.weigh.cluster
    check_measures(specs, config, questions)
    check_cluster(cluster, questions)
    if isinstance(system, Pipeline):
        refuse_silent_endpoints([config], questions, overwrite=overwrite)
    show, first = progress or no_progress, dict[str, int]()

    def show_progress(stage: str, done: int, total: int) -> None:
        first.setdefault(stage, done)
        show(stage, done, total)

    folder = run(
        system, questions, config.folder, overwrite=overwrite, progress=show_progress,
        check=lambda: resolver.check(system.corpus, system.documents),
    )  # fmt: skip
    weighing = weigh_folder(folder, resolver, cluster)
    scores = weighing.scores(weighing.measures_or(specs, defaults.MEASURES), min_gain=config.weigh.min_gain)
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


def check_cluster(cluster: str | None, questions: Questions) -> None:
    """Raise   InputError for a field that no question has."""
    if cluster is not None:
        named = {question.query_id: question for question in questions}
        question_clusters(cluster, gold=questions, questions=named, query_ids=list(named))


def weigh_folder(folder: RunFolder, resolver: Resolver | DocumentResolver, cluster: str | None = None) -> Weighing:
    """A run against the questions of a resolver, which resolves their gold once for all runs of one corpus.

    Raises   InputError and its children.
    """
    inputs = open_inputs(resolver.gold, [folder], on_duplicate=defaults.ON_DUPLICATE)
    return Weighing.of_resolver(inputs, resolver, on_duplicate=defaults.ON_DUPLICATE, cluster=cluster)


def read_system(config: Config) -> System:
    """The pipeline, or the target of the user's own, that a configuration describes.

    Raises   InputError with the file and line of what is wrong.
    """
    return TargetSystem.read(config) if config.target else Pipeline.read(config)
