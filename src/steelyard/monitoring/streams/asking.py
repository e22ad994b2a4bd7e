"""What a gold replay is set to, and asking the live system its questions, so that nothing but their scores is left."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, model_validator

from steelyard.base.errors import InputError, StageError
from steelyard.base.limits import Limits, at_least
from steelyard.base.progress import no_progress
from steelyard.base.settings import SettingError
from steelyard.data.folders.run_folder import RunFolder
from steelyard.data.outputs import Outputs
from steelyard.data.questions import Questions
from steelyard.experiment.door.evaluation import open_scores
from steelyard.experiment.table.scores import Scores
from steelyard.measures import parse
from steelyard.rag.config import Config, Count, File, Measures, Text, existing_path
from steelyard.rag.runs.running import GIVE_UP_AFTER, run
from steelyard.rag.weighed_run import read_system
from steelyard.traffic.windows import parse_duration

_FEWEST = 2
_OUTAGE = 0.5
"""Where more of the questions fail, the service is down, and its quality is not known."""


def _check_time(text: str) -> str:
    """The text, where it is a length of time."""
    try:
        parse_duration(text)
    except InputError as error:
        raise SettingError(str(error)) from None
    return text


class LookBudget(BaseModel):
    """What one look may spend at most; None: no limit.

    requests   questions that are asked, or answers that are judged;   usd   dollars
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    requests: Count | None = None
    usd: Annotated[float, Limits(above=0)] | None = None


class ReplayTable(BaseModel):
    """The table [replay] of monitor.toml; relative paths count from its folder.

    questions   with their gold, or with `truth` apart;   system   a pipeline's TOML, module:object or a URL
    documents   that a system of the user's own searches, by which gold is placed and a changed corpus is noticed
    measures    means, by default those of `evaluate`;   margin   the smallest loss that may alarm
    every       from one replay to the next;   baseline   accepted, tag=NAME or the id of an entry
    usd_per_request   what a question costs, for a budget in dollars
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    questions: File
    system: Text
    truth: File | None = None
    documents: File | None = None
    measures: Measures | None = None
    margin: Annotated[float, Limits(above=0)] = 0.02
    k: Count | None = None
    every: Annotated[Text, AfterValidator(_check_time)] = "1d"
    baseline: Text = "accepted"
    budget: LookBudget = LookBudget()
    usd_per_request: Annotated[float, at_least(0)] | None = None

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.budget.usd is not None and not self.usd_per_request:
            raise SettingError("replay: a budget in usd needs usd_per_request, what a question costs", "budget")
        if self.most < _FEWEST:
            raise SettingError("replay: the budget has no room for two questions; raise it", "budget")
        if self.baseline in ("latest", "store:latest"):
            raise SettingError("replay: the latest entry is the replay itself; name accepted or tag=NAME", "baseline")
        for measure in map(parse, [self.measures] if isinstance(self.measures, str) else self.measures or ()):
            if not measure.aggregation.arithmetic:
                raise SettingError(f"replay: {measure} is {measure.aggregation.noun}; name means", "measures")
        return self

    @property
    def period(self) -> timedelta:
        """Time from one replay to the next."""
        return parse_duration(self.every)

    @property
    def most(self) -> float:
        """Questions that may be asked at one look."""
        of_money = math.inf if self.budget.usd is None else self.budget.usd // (self.usd_per_request or math.inf)
        return min(self.budget.requests or math.inf, of_money)

    def config(self, base: Path, folder: Path) -> Config:
        """The configuration of a run that keeps nothing and reads no cache;   base   from which paths count"""
        named = {"questions": self.questions, "documents": self.documents}
        paths = {key: str(path) for key, own in named.items() if (path := existing_path(key, own, base)) is not None}
        changes: dict[str, Any] = {"questions": paths.pop("questions"), "folder": str(folder), "cache": False}
        changes |= {} if self.k is None else {"k": self.k}
        if self.system.endswith(".toml"):
            changes |= {} if self.documents is None else {"documents": paths["documents"]}
            return Config.read(base / self.system).with_changes(changes)
        kind = "url" if "://" in self.system else "callable"
        return Config.of({**changes, "target": {kind: self.system, **paths}}, base=base)


@dataclass(frozen=True, eq=False)
class Answers:
    """What the live system gave.

    scores    None where the service is down;   failed   question -> error, of those that it failed on
    n_asked   questions;   left_out   questions that the budget had no room for
    """

    scores: Scores | None
    failed: Mapping[str, str]
    n_asked: int
    left_out: int
    texts: Mapping[str, str]

    @property
    def share_failed(self) -> float:
        """Share of the questions that the system failed on."""
        return len(self.failed) / self.n_asked


def ask(settings: ReplayTable, *, monitor: str, base: Path, keep: Callable[[Scores], object]) -> Answers:
    """Ask the live system the questions, in a temporary folder and without any cache, and evaluate what it gives.

    keep     called with the scores while the folder is there
    Raises   InputError for settings, questions or a truth that do not fit
    """
    with TemporaryDirectory(prefix="steelyard-") as nowhere:
        config = settings.config(base, Path(nowhere) / "run")
        assert config.questions is not None
        questions = Questions.read(config.questions)
        asked = _drawn(questions, settings.most, monitor)
        texts = {question.query_id: question.query or "" for question in asked}
        left_out, system = len(questions) - len(asked), read_system(config.with_unit_of(questions))
        try:
            folder = run(system, asked, config.folder, progress=no_progress)
        except StageError as error:
            first = dict.fromkeys(list(texts)[:GIVE_UP_AFTER], str(error))
            return Answers(None, first, len(first), left_out, texts)
        failed = _errors(folder)
        if len(failed) > _OUTAGE * len(asked):
            return Answers(None, failed, len(asked), left_out, texts)
        truth = asked if settings.truth is None else existing_path("truth", settings.truth, base)
        measures = [settings.measures] if isinstance(settings.measures, str) else settings.measures or ()
        scores = open_scores(folder.path, measures=measures, truth=truth).scores
        scores = scores.filter(query_ids=[query_id for query_id in scores.query_ids if query_id in texts])
        keep(scores)
        return Answers(scores, failed, len(asked), left_out, texts)


def _drawn(questions: Questions, most: float, monitor: str) -> Questions:
    """The same questions at every look, drawn by chance where a budget has room for some alone."""
    if len(questions) <= most:
        return questions
    ids = sorted(question.query_id for question in questions)
    return questions.restricted({*random.Random(f"replay {monitor}").sample(ids, int(most))})


def _errors(folder: RunFolder) -> dict[str, str]:
    """Question -> why the system failed on it, or gave no answer."""
    if not folder.n_failed:
        return {}
    outputs = Outputs.read(folder)
    return {**outputs.failures, **outputs.unanswered}
