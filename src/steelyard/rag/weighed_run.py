"""A configuration run and weighed: what `steelyard run` does."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from steelyard.align.resolver import check_gold
from steelyard.base.errors import InputError
from steelyard.data.questions import Questions
from steelyard.data.run_folder import RunFolder
from steelyard.experiment import defaults
from steelyard.experiment.evaluation import evaluate
from steelyard.experiment.scores import Scores
from steelyard.measures import Measure, parse_all
from steelyard.rag.config import Config
from steelyard.rag.pipeline import Pipeline
from steelyard.rag.running import run
from steelyard.rag.system import Progress, System, TargetSystem, no_progress


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
    overwrite: bool = False,
    progress: Progress | None = None,
) -> WeighedRun:
    """Run a pipeline or a target over the questions of its configuration, and weigh what it found.

    measures    those of the configuration by default, else those of `evaluate`
    overwrite   replace a finished run; see `steelyard.rag.running.run`

    Before anything is asked, measures are parsed and quotes are looked up in their documents.
    Raises      InputError, MeasureError; StageError where the system fails from the start; OutputError
    """
    if config.questions is None:
        raise InputError("which questions? Give --questions FILE, or `questions` in the configuration")
    specs = parse_all(list(measures) or config.weigh.measures or defaults.MEASURES)
    system = read_system(config)
    questions, options = Questions.read(config.questions), config.weigh.options()
    show, first = progress or no_progress, dict[str, int]()

    def report(stage: str, done: int, total: int) -> None:
        first.setdefault(stage, done)
        show(stage, done, total)

    system.prepare(report)
    if system.corpus is not None:
        check_gold(questions, system.corpus, rule=options["rule"], steps=options["steps"])
    folder = run(system, questions, config.folder, overwrite=overwrite, progress=report)
    return WeighedRun(folder, evaluate(questions, [folder.path], specs, **options), first.get("questions", 0))


def read_system(config: Config) -> System:
    """The pipeline, or the target of the user's own, that a configuration describes.

    Raises   InputError with the file and line of what is wrong.
    """
    return TargetSystem.read(config) if config.target else Pipeline.read(config)
