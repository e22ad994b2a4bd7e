"""Choice of verdicts on the answers of weighed runs, and of reviews: handed in, in a run folder, or new verdicts."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from steelyard.base.choices import IdForm
from steelyard.base.errors import InputError
from steelyard.base.nearest import nearest
from steelyard.base.notes import Note
from steelyard.base.progress import Progress, usual_progress
from steelyard.data.folders.run_folder import RunFolder, find_run_folder
from steelyard.data.questions import Questions
from steelyard.experiment.door.id_forms import verdicts_in_form
from steelyard.io.named import named_paths
from steelyard.measures.judged_answers import JudgedAnswers

if TYPE_CHECKING:
    from steelyard.experiment.door.opening import System
    from steelyard.experiment.door.weighed import Weighed
    from steelyard.judges.people.review import Review
    from steelyard.judges.tables.verdicts import Verdicts


DEFAULT_JUDGE = "lexical"
"""Judges where there are no verdicts, and none were asked for."""


@dataclass(frozen=True, eq=False)
class VerdictChoice:
    """Choice of the verdicts that measures of answers are computed from.

    verdicts   those handed in: Verdicts or a path to them, of one system, or system -> these, a list of them for
               several runs; None: those in each run folder, else those of the default judge
    judge      of the verdicts in run folders that count; by default those that were written last
    progress   called as progress("answers", done, total) while the default judge judges a run
    form       the Unicode form that ids are brought into; None: as they are
    """

    verdicts: object = None
    judge: str | None = None
    progress: Progress = usual_progress
    form: IdForm | None = None

    def checked(self, systems: Sequence[str]) -> VerdictChoice:
        """A choice that is fit for these systems.

        Raises   InputError.
        """
        if isinstance(self.verdicts, Mapping):
            for name in self.verdicts:
                if name not in systems:
                    raise InputError(f"verdicts: no system is called {name!r}; {nearest(str(name), systems)}")
        elif self.verdicts is not None and len(systems) > 1:
            raise InputError(
                f"verdicts: there are {len(systems)} systems; name the one that they are of: --verdicts NAME=FILE "
                "({system: Verdicts})"
            )
        return self

    def of(self, system: Weighed | System) -> Sequence[Verdicts | None]:
        """Verdicts handed in for each run of a system.

        Raises   InputError for something else than verdicts, and for other numbers of them than of runs.
        """
        named = self.verdicts.get(system.name) if isinstance(self.verdicts, Mapping) else self.verdicts
        if named is None:
            return [None] * len(system.runs)
        listed = list(named) if isinstance(named, list | tuple) else [named]
        if len(listed) != len(system.runs):
            raise InputError(
                f"verdicts: {system.name} has {len(system.runs)} runs, and there are verdicts of {len(listed)}; "
                "give a list with those of each run"
            )
        return [opened_verdicts(item, system.name, self.form) for item in listed]


def named_verdicts(texts: Sequence[str]) -> object:
    """Verdicts as they are named on the command line: FILE, or NAME=FILE for each system (NAME=FILE,FILE of its runs).

    Raises   InputError for files without a name where there are several, and for a name that comes twice.

    >>> named_verdicts([]), named_verdicts(["v.parquet"]), named_verdicts(["a=v.parquet"])
    (None, 'v.parquet', {'a': ['v.parquet']})
    """
    if len(texts) == 1 and named_paths(texts[0])[0] is None:
        return texts[0]
    verdicts = dict[str, list[str]]()
    for text in texts:
        name, paths = named_paths(text)
        if name is None or name in verdicts:
            raise InputError(f"--verdicts {text}: name the system that they are of, each once: NAME=FILE")
        verdicts[name] = paths
    return verdicts or None


def opened_verdicts(item: Any, system: str, form: IdForm | None = None) -> Verdicts:
    """Verdicts as they are handed in: these, or the path of a file; with ids in one form where that is asked for.

    Raises   InputError.
    """
    from steelyard.judges.tables.verdicts import Verdicts

    if isinstance(item, Verdicts):
        return verdicts_in_form(item, form)
    if isinstance(item, str | os.PathLike):
        return verdicts_in_form(Verdicts.read(Path(item)), form)
    raise InputError(
        f"verdicts: those of {system} cannot be read from {type(item).__name__}; pass what `sy.judge` returns, or the "
        "path of a file of `steelyard judge`"
    )


@dataclass(frozen=True, eq=False)
class RunVerdicts:
    """Verdicts on the answers of one run.

    origin   where they are from: handed in, a file of the run folder, or the default judge, as there were none
    file     its name; "" elsewhere
    """

    verdicts: Verdicts
    query_ids: Sequence[str]
    origin: Literal["handed_in", "file", "default"] = "handed_in"
    file: str = ""

    @cached_property
    def arrays(self) -> JudgedAnswers:
        """Arrays that measures are computed from, in the order of the questions."""
        return self.verdicts.arrays(self.query_ids)

    def restricted(self) -> RunVerdicts:
        """Verdicts without those on other questions.

        Raises   InputError for questions without verdicts.
        """
        return replace(self, verdicts=self.verdicts.restricted(self.query_ids))

    def notes(self) -> Iterator[Note]:
        """Notes of the judge, and of the labels that it was calibrated by."""
        from steelyard.judges.people.calibration import calibration_notes

        judge = self.verdicts.recipe["judge"]
        values = {"judge": _called(judge), "file": self.file, "threshold": judge.get("threshold")}
        yield Note(f"judged_by_{self.origin}", values)
        yield from calibration_notes(self.verdicts.recipe)


def _called(judge: Mapping[str, Any]) -> str:
    """A judge by name and model."""
    model = judge.get("model")
    return str(judge["name"]) + (f" ({model})" if isinstance(model, str) else "")


def judged_run(
    run: Weighed | System, questions: Questions, handed_in: Verdicts | None, choice: VerdictChoice
) -> RunVerdicts:
    """The verdicts on a run: those handed in, else those in its folder, else those of the default judge.

    Verdicts of the default judge on an earlier run are given again, as its settings are known.

    Raises   InputError for verdicts of another run by other judges, and for a judge that left none there.
    """
    query_ids, judge = [question.query_id for question in questions], choice.judge
    if handed_in is not None:
        _check_judge(handed_in, judge, run.name)
        return RunVerdicts(_checked(handed_in, run, questions), query_ids)
    path = None if run.folder is None else _kept(run.folder.path, judge, run.name)
    from steelyard.judges.judging import JudgeOptions, judge_answers
    from steelyard.judges.registry import judging_command, make_judge

    if path is not None:
        verdicts = opened_verdicts(path, run.name, choice.form)
        by_default = verdicts.recipe["judge"] == {"name": DEFAULT_JUDGE, **make_judge(DEFAULT_JUDGE).recipe()}
        if not (by_default and verdicts.are_of_others(run.answered().digest())):
            return RunVerdicts(_checked(verdicts, run, questions), query_ids, "file", path.name)
    if judge is not None and judge != DEFAULT_JUDGE:
        raise InputError(
            f"{run.name}: has no verdicts by {judge!r}; judge it first ({judging_command(judge)}), or leave out --judge"
        )
    options = JudgeOptions(progress=choice.progress)
    verdicts = judge_answers(questions, run.answered(), make_judge(DEFAULT_JUDGE), options, system=run.name)
    return RunVerdicts(verdicts, query_ids, "default")


def _check_judge(verdicts: Verdicts, judge: str | None, name: str) -> None:
    """Raise   InputError where verdicts that were handed in are by another judge than the one asked for."""
    from steelyard.judges.registry import last_name

    if judge is not None and verdicts.judge not in (judge, last_name(judge)):
        raise InputError(f"{name}: its verdicts are by {verdicts.judge!r}, not {judge!r}; leave out --judge")


def _checked(verdicts: Verdicts, run: Weighed | System, questions: Questions) -> Verdicts:
    """Verdicts that are of these outputs.

    Raises   InputError for those on other outputs than the run's, or by other gold answers than the questions have.
    """
    from steelyard.judges.asking import whole_characters

    verdicts.check_outputs(run.answered().digest(), run.name)
    for question in questions:
        judged_by = verdicts.gold_answers.get(question.query_id)
        answers = list(map(whole_characters, question.answers))
        if judged_by and answers and answers != judged_by:
            raise InputError(
                f"{run.name}: its verdicts by {verdicts.judge} are by another gold answer to {question.query_id!r} "
                "than the questions have now; judge it again (`steelyard judge`)"
            )
    return verdicts


def completed(verdicts: RunVerdicts, run: Weighed, questions: Questions) -> RunVerdicts:
    """The verdicts on a run, with the answers to questions that they lack as they are without a judge."""
    records = verdicts.verdicts.records
    if all(question.query_id in records for question in questions):
        return verdicts
    from steelyard.judges.tables.verdicts import Verdicts

    unjudged = unjudged_run(run, questions).verdicts.records
    together = [records.get(question.query_id, unjudged[question.query_id]) for question in questions]
    return replace(verdicts, verdicts=Verdicts(together, verdicts.verdicts.recipe, errors=verdicts.verdicts.errors))


def unjudged_run(run: Weighed, questions: Questions) -> RunVerdicts:
    """Facts of the answers of a run without a judge: their units, citations and states."""
    from steelyard.judges.judging import judge_answers

    query_ids = [question.query_id for question in questions]
    return RunVerdicts(judge_answers(questions, run.answered(), None, system=run.name), query_ids)


def _kept(folder: Path, judge: str | None, name: str) -> Path | None:
    """The file of verdicts of a run folder, by a judge or the one written last; None where there is none.

    Raises   InputError for a judge who left none beside those of others.
    """
    from steelyard.judges.registry import file_name, judging_command, last_name
    from steelyard.judges.tables.verdicts import FOLDER

    files = sorted((folder / FOLDER).glob("*.parquet"), key=lambda path: (path.stat().st_mtime_ns, path.name))
    if judge is None:
        return files[-1] if files else None
    named = [path for path in files if path.stem == file_name(last_name(judge))]
    if not named and files and judge != DEFAULT_JUDGE:
        there = ", ".join(sorted(path.stem for path in files))
        raise InputError(
            f"{name}: has verdicts by {there}, and none by {judge!r}; name one that is there, or judge it "
            f"({judging_command(judge)})"
        )
    return named[-1] if named else None


def named_labels(texts: Sequence[str], *, without: bool = False) -> str | dict[str, str] | Literal[False] | None:
    """Labels as they are named on the command line: FILE, of all systems, or NAME=FILE for each; False: none count.

    A run folder has a name of its own, and stands for the file in it.
    Raises   InputError for files without a name where there are several, for a name that comes twice, and for labels
             where none shall count.

    >>> named_labels([]), named_labels(["l.json"]), named_labels(["a=l.json"]), named_labels([], without=True)
    (None, 'l.json', {'a': 'l.json'}, False)
    """
    if without and texts:
        raise InputError(f"--labels {texts[0]}: --no-labels says that none counts; leave one out")
    if without:
        return False
    if len(texts) == 1 and named_paths(texts[0])[0] is None:
        return texts[0]
    labels = dict[str, str]()
    for text in texts:
        name, paths = named_paths(text)
        if name is None and (folder := find_run_folder(text)) is not None:
            name = folder.name
        if name is None or name in labels or len(paths) > 1:
            raise InputError(f"--labels {text}: name the system that they are of, each once, with one file: NAME=FILE")
        labels[name] = paths[0]
    return labels or None


def check_labels(labels: object, systems: Sequence[str]) -> None:
    """Raise   InputError for labels of a system that there is not."""
    for name in labels if isinstance(labels, Mapping) else ():
        if name not in systems:
            raise InputError(f"labels: no system is called {name!r}; {nearest(str(name), systems)}")


def review_file(labels: object, system: str, folder: RunFolder | None) -> Path | None:
    """The file that the review of a system is kept in, whether it is there or not; None where there is no place.

    labels   a path of that file or of a run folder, or system -> path; None: in the folder of the run
    """
    from steelyard.judges.people.review import FILE
    from steelyard.judges.tables.verdicts import FOLDER

    named = labels.get(system) if isinstance(labels, Mapping) else labels
    if isinstance(named, str | os.PathLike):
        path = Path(named)
        folder = find_run_folder(path)
        return path if folder is None else folder.path / FOLDER / FILE
    return None if folder is None or named is not None else folder.path / FOLDER / FILE


def review_of(labels: object, system: str, folder: RunFolder | None) -> Review | None:
    """The review of a system: what was handed in, or is kept; None where nothing is decided yet.

    labels   a Review or a path, of all systems, or system -> these; None: those in the folder of the run; False: none
    Raises   InputError for a file that is named and is not there, or is no review.
    """
    from steelyard.judges.people.review import Review

    if labels is False:
        return None
    named = labels.get(system) if isinstance(labels, Mapping) else labels
    if isinstance(named, Review):
        return named
    if named is not None and not isinstance(named, str | os.PathLike):
        raise InputError(
            f"labels: those of {system} cannot be read from {type(named).__name__}; pass a sy.Review, or the path of "
            "the file that `steelyard review` keeps"
        )
    file = review_file(labels, system, folder)
    if file is None or (named is None and not file.exists()):
        return None
    return Review.read(file)


def are_handed_in(labels: object, system: str) -> bool:
    """True where labels were named for a system, or for all, so that others than its own are an error."""
    return (labels.get(system) if isinstance(labels, Mapping) else labels) not in (None, False)
