"""A panel of judges of the answers of a system, from the verdicts that its members left."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from types import MappingProxyType

from steelyard.base.errors import InputError
from steelyard.experiment.door.opening import System, open_answers
from steelyard.experiment.door.verdict_choice import DEFAULT_JUDGE
from steelyard.experiment.judging import JudgedRun, verdict_file, writing
from steelyard.judges.calibration import Calibration
from steelyard.judges.judging import judge_answers
from steelyard.judges.own import file_name, last_name
from steelyard.judges.panel import NAME, panel
from steelyard.judges.registry import judging_command, make_judge
from steelyard.judges.verdicts import FOLDER, Verdicts


def judge_panel(
    questions: object,
    outputs: object,
    members: Sequence[str | Path | Verdicts],
    *,
    weights: Sequence[Calibration | str | Path] = (),
    save: bool | str | Path = True,
    must_keep: bool = False,
    of_one_judge: Mapping[str, object] = MappingProxyType({}),
) -> JudgedRun:
    """Let several judges vote on the answers of a system, and keep what most of them say.

    members   names of judges, whose verdicts are in the folder of the run (the lexical judge needs none), files of
              verdicts, or Verdicts
    weights   calibrations of all members, or files of these: words then count by their log-odds
    save, must_keep   as of `judge_run`
    of_one_judge   settings that a panel has no use for, by name; a true one is refused
    Raises    InputError for a member without verdicts, naming what to run, and as `panel` does
    """
    if named := [name for name, value in of_one_judge.items() if value]:
        raise InputError(f"{named[0]} is of one judge, and a panel is of verdicts that its members left; leave it out")
    names = [str(member) for member in members if not isinstance(member, Verdicts)]
    if twice := next((name for n, name in enumerate(names) if name in names[:n]), None):
        raise InputError(f"the panel names {twice} twice, and a judge has one vote; name others")
    asked, system = open_answers(questions, outputs)
    if system.outputs is None or not system.outputs.answers:
        raise InputError(f"{system.name}: has no answers to judge; give outputs with `answer`")
    if must_keep and save is True and system.folder is None:
        raise InputError(
            f"{system.name}: is no run folder, in which verdicts could be kept; name a file for them: --verdicts FILE"
        )
    own = []
    for member in members:
        verdicts = _of_member(member, system) or judge_answers(
            asked, system.outputs, make_judge(DEFAULT_JUDGE), system=system.name
        )
        verdicts.check_outputs(system.outputs.digest(), system.name)
        own.append(verdicts)
    together = panel(own, weights=weights)
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
