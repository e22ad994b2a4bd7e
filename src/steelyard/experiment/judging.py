"""Answers judged, by one judge or a panel: questions and outputs in, Verdicts out, which are kept beside the run."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Protocol, TypeVar

import polars as pl

from steelyard.base import defaults
from steelyard.base.choices import AnswerUnits
from steelyard.base.errors import InputError, OutputError
from steelyard.base.notes import Note
from steelyard.base.own_code import own_code
from steelyard.base.own_paths import own_file
from steelyard.base.progress import Progress, no_progress, usual_progress
from steelyard.base.registry import Registry
from steelyard.base.result import Result
from steelyard.data.folders.run_lock import run_lock
from steelyard.data.hold_out import parted
from steelyard.data.outputs import Outputs
from steelyard.data.questions import Questions
from steelyard.experiment.door.choices import DEFAULT_JUDGE
from steelyard.experiment.door.opening import System, open_answers
from steelyard.judges.answers.cases import TABLES
from steelyard.judges.criteria import Criterion
from steelyard.judges.judging import DEFAULTS, JudgeOptions, asked_of, judge_answers, judge_recipe
from steelyard.judges.panel import NAME, panel
from steelyard.judges.people.calibration import Calibration
from steelyard.judges.registry import JUDGES, file_name, judging_command, last_name, make_judge
from steelyard.judges.tables.verdicts import FOLDER, Verdicts
from steelyard.judges.verdict import VerdictTable
from steelyard.services.cache import CACHE_NAME


class _Named(Protocol):
    name: str


T = TypeVar("T", bound=_Named)


def model_files(file: Path) -> Mapping[str, Path]:
    """Files of a model's answers and of the log of its calls, by setting: beside a file that is written."""
    return {"cache": own_file(file.parent, CACHE_NAME), "log": own_file(file.parent, f"{file.stem}.calls.jsonl")}


def kept(files: Mapping[str, Path]) -> Mapping[str, Path]:
    """Files that are there, for a look alone: a cache that is opened is made where it is absent."""
    return {name: file for name, file in files.items() if file.exists()}


@contextmanager
def lent(
    judge: object,
    settings: Mapping[str, Any],
    files: Mapping[str, Path],
    progress: Progress,
    make: Callable[[object, Mapping[str, Any]], T],
    registry: Registry[Callable[..., Any]],
) -> Iterator[T]:
    """The judge of a name, or of the user's own, closed afterwards where it was made here.

    files      of a judge that asks a model, by setting, unless the settings name others
    make       makes it with settings;   registry   of the names
    """
    values = dict(settings)
    if isinstance(judge, str) and ":" not in judge:
        parameters = inspect.signature(registry.get(judge)).parameters
        if "progress" in parameters:
            values.setdefault("progress", progress)
        for name, file in files.items():
            if name in parameters:
                values.setdefault(name, str(file))
    own_judge = make(judge, values)
    try:
        yield own_judge
    finally:
        close = getattr(own_judge, "close", None)
        if own_judge is not judge and callable(close):
            with own_code(f"judge {own_judge.name}, closed"):
                close()


def open_calibration(calibration: Calibration | str | Path) -> Calibration:
    """A calibration, or that in a file.

    Raises   InputError for a file that holds none.
    """
    return calibration if isinstance(calibration, Calibration) else Calibration.read(calibration)


def calibrated_settings(
    judge: object, settings: Mapping[str, Any], calibration: Calibration | str | Path | None
) -> tuple[Calibration | None, Mapping[str, Any]]:
    """The calibration, and the settings of the judge with its threshold.

    Raises   InputError for the calibration of a judge of another name, and for another threshold among the settings.
    """
    if calibration is None:
        return None, settings
    opened = open_calibration(calibration)
    if isinstance(judge, str) and last_name(judge) != opened.name:
        raise InputError(
            f"the calibration is of the judge {opened.name}, and {judge} is to judge; name --judge {opened.name} with "
            "its model, or a calibration of the other"
        )
    if opened.threshold is None:
        return opened, settings
    own, wanted = settings.get("threshold"), opened.threshold.value
    if own is not None and own != wanted:
        raise InputError(
            f"the threshold {own:g} contradicts the calibration, whose threshold is {wanted:g}; leave out one of them"
        )
    return opened, {**settings, "threshold": wanted}


def judge(
    questions: object,
    outputs: object,
    judge: object = defaults.JUDGE,
    *,
    tables: Collection[VerdictTable] = TABLES,
    answer_units: AnswerUnits = defaults.UNITS,
    new_nuggets: bool = False,
    criteria: Sequence[Criterion | str] = (),
    criteria_file: str | Path | None = None,
    calibration: Calibration | str | Path | None = None,
    save: bool | str | Path = True,
    progress: Progress = usual_progress,
    **settings: Any,
) -> Verdicts:
    """Judge the answers of a system, sentence by sentence.

    questions   Questions, a path to them, or dicts with `qid` and `query`; gold answers and evidence may be missing
    outputs     those of one system: a run folder, Outputs, a path, or dicts with `retrieved` and `answer`
    judge       "lexical", "embedding", "nli" or "llm"; or one of your own: a function on pairs (premise, hypothesis), a
                class or an object with such a method `judge`, or "module:object"
    tables      which verdicts are wanted: "support" of units by each chunk, "joint" by all that they cite,
                "correctness" by the gold answers, "said" of gold units by the answer, "reach" of gold units by each
                chunk, "nuggets" of the question by the answer, "relevance" of the answer, by a model alone; and
                where they are named "grounded", of units by the whole context at once, and "context_relevance", whether
                each chunk is of use for the answer, by a model, in the same call as "support"
    answer_units   what is judged: sentences, or claims, into which a language model splits them first
    new_nuggets   whether a language model draws up nuggets for questions that have none, from their gold answer
    criteria    what a language model judges whole answers by: sentences, answered by yes or no ("NAME=sentence" names
                one); "answer_grade", from 1 to 5; or `sy.Criterion`.  All of one answer are one call
    criteria_file   TOML with tables [criteria.NAME]: text, scale ("yes/no", "1-5", "0-10"), of ("answer", "pair",
                "context")
    calibration   of the judge, or a file of one: its threshold counts, and is named beside the verdicts
    save        where verdicts are kept: True in the folder of the run, where there is one; a path; False nowhere
    progress    called as progress("answers", done, total), or with the calls of a judge that asks a model
    settings    of the judge, such as threshold, model, base_url, concurrency, budget, epochs
    Raises      InputError and its children, also for a calibration of another judge; StageError where a model cannot
                be asked; OutputError where verdicts cannot be kept, or another process judges into the same folder

    >>> chunks = [{"id": "h#1", "text": "Opening hours: 9 to 17."}]
    >>> outputs = [{"qid": "q1", "retrieved": chunks, "answer": "It is open from 9 to 17 [h#1]. It has a café."}]
    >>> verdicts = judge([{"qid": "q1", "query": "When is it open?"}], outputs)
    >>> verdicts.units.select("text", "verdict").rows()
    [('It is open from 9 to 17.', 'supported'), ('It has a café.', 'not_found')]
    """
    options = JudgeOptions(
        tables=tables, answer_units=answer_units, new_nuggets=new_nuggets, criteria=criteria,
        criteria_file=criteria_file, calibration=calibration, save=save, progress=progress, settings=settings,
    )  # fmt: skip
    return judge_run(questions, outputs, judge, options).verdicts


@dataclass(frozen=True, eq=False, repr=False)
class JudgedRun(Result):
    """Result of `judge_run`.

    questions  that were judged;   file   where the verdicts are kept, or None
    notes      what the traces that the answers were read from lack
    """

    VIEW = "views.judging"

    verdicts: Verdicts
    questions: Questions
    file: Path | None
    notes: Sequence[Note] = ()

    def __repr__(self) -> str:
        return f"JudgedRun({self.verdicts!r})"

    @property
    def frame(self) -> pl.DataFrame:
        """One row an answer that was judged."""
        return self.verdicts.answers

    def without_held_out(self, share: float) -> JudgedRun:
        """The same of the open questions alone, as `evaluate` has them with `hold_out`; the file keeps all verdicts.

        Raises   InputError where too few questions are open or held out
        """
        named = {question.query_id: question for question in self.questions}
        opened, held_out = parted(self.questions, share, cluster=None, questions=named)
        left_out = {question.query_id for question in held_out}
        query_ids = [query_id for query_id in self.verdicts.records if query_id not in left_out]
        note = Note("questions_held_out", {"n": len(left_out), "total": len(self.questions)})
        return replace(self, questions=opened, verdicts=self.verdicts.restricted(query_ids), notes=[*self.notes, note])


def judge_run(
    questions: object, outputs: object, judge: object = defaults.JUDGE, options: JudgeOptions = DEFAULTS
) -> JudgedRun:
    """Judge the answers of a system as `judge` does, and name the file that keeps the verdicts."""
    calibration, settings = calibrated_settings(judge, options.settings, options.calibration)
    asked, system = open_answers(questions, outputs)
    answered, save = _answers(system), options.save
    _check_place(system, save, must_keep=options.must_keep)
    files = _run_files(system, save)
    with lent(judge, settings, files, options.progress, make_judge, JUDGES) as own_judge:
        file = verdict_file(system, save, own_judge.name)
        with nullcontext() if file is None else writing(file, alone=save is True):
            own_options = replace(options, calibration=calibration)
            verdicts = judge_answers(asked, answered, own_judge, own_options, system=system.name)
            if system.folder is not None:
                system.folder.refuse_replaced()
            if file is not None:
                verdicts.write(file)
    return JudgedRun(verdicts, asked, file, system.notes)


@dataclass(frozen=True, repr=False)
class JudgingPlan(Result):
    """Estimate of the calls that judging would take.

    n_answers   that would be judged;   n_cases   premises, each with all that is judged by it;   n_verdicts   of these
    n_calls     of a model that would be asked, and n_cached of which the answers are there; None without a model
    tokens_in, tokens_out   an estimate;   cost_usd   None where the price is not known
    """

    VIEW = "views.judging"

    judge: str
    n_answers: int
    n_cases: int
    n_verdicts: int
    n_calls: int | None = None
    n_cached: int | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost_usd: float | None = None

    @property
    def frame(self) -> pl.DataFrame:
        """One row with what judging would take."""
        return pl.DataFrame([asdict(self)])


def plan_judging(
    questions: object, outputs: object, judge: object = defaults.JUDGE, options: JudgeOptions = DEFAULTS
) -> JudgingPlan:
    """Estimate what `judge` would take with these options; nobody is asked, and nothing is written.

    Claims and new nuggets nobody knows before they are asked for: the cases are those without them.
    Raises   as `judge` does
    """
    calibration, settings = calibrated_settings(judge, options.settings, options.calibration)
    asked, system = open_answers(questions, outputs)
    answered = _answers(system)
    files = kept(_run_files(system, options.save))
    with lent(judge, settings, files, no_progress, make_judge, JUDGES) as own_judge:
        judge_recipe(own_judge, calibration)
        cases, *refined = asked_of(asked, answered, own_judge, options)
        plan = getattr(own_judge, "plan", None)
        calls = asdict(plan(cases, *refined)) if callable(plan) else {}
    return JudgingPlan(
        own_judge.name, len(answered.answers), len(cases), sum(len(case.hypotheses) for case in cases), **calls
    )


def _answers(system: System) -> Outputs:
    """The outputs of a system.

    Raises   InputError where it answers nothing.
    """
    if system.outputs is None or not system.outputs.answers:
        raise InputError(
            f"{system.name}: has no answers to judge; give outputs with `answer`, or a pipeline that generates them"
        )
    return system.outputs


def verdict_file(system: System, save: bool | str | Path, judge: str) -> Path | None:
    """File that the verdicts of a judge go into; None for nowhere."""
    if not isinstance(save, bool):
        return Path(save)
    return system.folder.path / FOLDER / f"{file_name(judge)}.parquet" if save and system.folder is not None else None


def _run_files(system: System, save: bool | str | Path) -> Mapping[str, Path]:
    """Files of a model's answers and of the log of its calls: in the folders of the runs and of the verdicts, or beside
    the file; nowhere without one."""
    if not isinstance(save, bool):
        return model_files(Path(save))
    if not save or system.folder is None:
        return {}
    path = system.folder.path
    return {"cache": own_file(path.parent, CACHE_NAME), "log": path / FOLDER / "calls.jsonl"}


@contextmanager
def writing(file: Path, *, alone: bool) -> Iterator[None]:
    """Hold a file of verdicts ready while they are made, which may take long.

    alone    no other process judges into its folder, which is made where it is absent
    Raises   OutputError where one does, or where nothing can be written there.
    """
    if str(file) == "-" or file.is_dir():
        raise OutputError(f"{file}: is no file; name one for the verdicts (--into FILE, save=FILE)")
    with run_lock(file.parent) if alone else nullcontext():
        is_folder = file.parent.is_dir()
        if not is_folder or not os.access(file.parent, os.W_OK):
            reason = "cannot be written" if is_folder else "is no folder"
            raise OutputError(f"{file.parent}: {reason}; keep the verdicts elsewhere (--into FILE, save=FILE)")
        yield


def _check_place(system: System, save: bool | str | Path, *, must_keep: bool) -> None:
    """Raise   InputError where verdicts must be kept, and there is no place for them."""
    if must_keep and save is True and system.folder is None:
        raise InputError(
            f"{system.name}: is no run folder, in which verdicts could be kept; name a file for them: --into FILE"
        )


def judge_panel(
    questions: object,
    outputs: object,
    members: Sequence[str | Path | Verdicts],
    *,
    calibrations: Sequence[Calibration | str | Path] = (),
    save: bool | str | Path = True,
    must_keep: bool = False,
) -> JudgedRun:
    """Let several judges vote on the answers of a system, and keep what most of them say.

    members   names of judges, whose verdicts are in the folder of the run (the lexical judge needs none), files of
              verdicts, or Verdicts
    calibrations   of all members, or files of these: words then count by their log-odds
    save, must_keep   as of `judge_run`
    Raises    InputError for a member without verdicts, naming what to run, and as `panel` does
    """
    names = [str(member) for member in members if not isinstance(member, Verdicts)]
    if twice := next((name for n, name in enumerate(names) if name in names[:n]), None):
        raise InputError(f"the panel names {twice} twice, and a judge has one vote; name others")
    asked, system = open_answers(questions, outputs)
    answered = _answers(system)
    _check_place(system, save, must_keep=must_keep)
    own = []
    for member in members:
        verdicts = _of_member(member, system) or judge_answers(
            asked, answered, make_judge(DEFAULT_JUDGE), system=system.name
        )
        verdicts.check_outputs(answered.digest(), system.name)
        own.append(verdicts)
    together = panel(own, calibrations=calibrations)
    file = verdict_file(system, save, NAME)
    with nullcontext() if file is None else writing(file, alone=save is True):
        if file is not None:
            together.write(file)
    return JudgedRun(together, asked, file)


def _of_member(member: str | Path | Verdicts, system: System) -> Verdicts | None:
    """The verdicts of a member; None for those of the lexical judge, which left none.

    Raises   InputError for a judge who left none, naming what to run.
    """
    if isinstance(member, Verdicts):
        return member
    if isinstance(member, Path) or os.path.isfile(member):
        return Verdicts.read(Path(member))
    folder = None if system.folder is None else system.folder.path
    file = None if folder is None else folder / FOLDER / f"{file_name(last_name(member))}.parquet"
    if file is not None and file.is_file():
        return Verdicts.read(file)
    if member == DEFAULT_JUDGE:
        return None
    where = f"{folder}: has no verdicts by {member!r}" if folder is not None else f"{member}: there is no such file"
    raise InputError(
        f"{where}; judge by it first ({judging_command(str(member))}), or name a file of verdicts that it left"
    )
