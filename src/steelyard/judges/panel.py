"""Several judges of the same answers: what most of them say, and where they differ."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from steelyard.base.choices import ItemTable
from steelyard.base.errors import InputError
from steelyard.base.machine import timestamp
from steelyard.judges.criteria import Grade
from steelyard.judges.people.calibration import Calibration
from steelyard.judges.tables.items import items, judged
from steelyard.judges.tables.verdicts import Verdicts
from steelyard.judges.verdict import JudgedAnswer, Label, Nugget, Verdict

NAME = "panel"
_TIE = "the judges disagree"
_OF_ITEM: Mapping[str, ItemTable] = {
    "support": "grounded", "grounded": "grounded", "reach": "grounded", "joint": "joint", "without": "joint",
    "correctness": "correctness", "said": "said", "nuggets": "said",
}  # fmt: skip
"""Table of verdicts -> of which items it is, and the calibration that weighs it."""


@dataclass(frozen=True)
class Weight:
    """Weight of a judge's word: added where it says supported, and taken off where it does not."""

    supported: float = 1.0
    unsupported: float = 1.0


def weight_of(calibration: Calibration) -> Weight:
    """The log-odds of a word, by how often people and the judge said it together; never against the word.

    Counts are raised by a half, so that a judge that was never wrong has a finite one.

    >>> from steelyard.judges.people.calibration import UNDEFINED, Confusion
    >>> facts = dict.fromkeys(("kappa", "sensitivity", "specificity", "balanced_accuracy"), UNDEFINED)
    >>> yes = Calibration({"name": "yes"}, "grounded", 20, 20, "", "", Confusion(10, 0, 10, 0), **facts)
    >>> weight_of(yes).supported
    0.0
    """
    counts = calibration.confusion
    hit_rate = (counts.hits + 0.5) / (counts.hits + counts.misses + 1)
    alarm_rate = (counts.false_alarms + 0.5) / (counts.false_alarms + counts.rejections + 1)
    return Weight(max(0.0, math.log(hit_rate / alarm_rate)), max(0.0, math.log((1 - alarm_rate) / (1 - hit_rate))))


def vote(said: Sequence[Label], weights: Sequence[Weight]) -> tuple[bool | None, float]:
    """Vote of a panel on support, and its certainty: from 0 to 1, from no to yes.

    None where neither side is ahead, or where judges that did not judge could change it.

    >>> two = [Weight(), Weight()]
    >>> vote(["supported", "supported"], two)[0], vote(["supported", "not_found"], two)[0]
    (True, None)
    >>> vote(["supported", "supported", "not_judged"], [*two, Weight()])[0]
    True
    """
    balance, low, high = 0.0, 0.0, 0.0
    for label, weight in zip(said, weights, strict=True):
        if label == "not_judged":
            low, high = low - weight.unsupported, high + weight.supported
        else:
            balance += weight.supported if label == "supported" else -weight.unsupported
    yes = True if balance + low > 0 else False if balance + high < 0 else None
    return yes, 1 / (1 + math.exp(-balance))


def panel(
    verdicts: Sequence[Verdicts | str | Path], *, calibrations: Sequence[Calibration | str | Path] = ()
) -> Verdicts:
    """Verdicts of most of several judges on the same answers.

    verdicts   of each judge, on the same outputs, or the paths of their files
    calibrations   of these judges, or the paths of these: each word then counts by its log-odds; without any, all
               count alike.  Of a table that no calibration of a judge is of, its first one counts
    A tie, and a verdict that judges who did not judge could change, is not judged.  Whether a unit is supported by its
    whole context is asked of each judge before they vote: judges that see support in different chunks agree.
    Raises     InputError for verdicts of fewer than two judges, or on other answers or units than the first; and for a
               judge without a calibration where others have one

    >>> from steelyard.judges.verdict import Unit
    >>> def by(name, label):
    ...     record = JudgedAnswer("q", "answered", context=("c",), units=(Unit(0, 5, "Nine."),), joint=(None,),
    ...                           support=((Verdict(label),),), correctness=((),))
    ...     return Verdicts([record], {"judge": {"name": name}})
    >>> panel([by("a", "supported"), by("b", "supported"), by("c", "not_found")]).units["verdict"].to_list()
    ['supported']
    >>> panel([by("a", "supported"), by("b", "not_found")]).not_judged
    {'the judges disagree (a: supported, b: not_found)': 2}
    """
    if len(verdicts) < 2:
        raise InputError(
            f"a panel has two judges or more, and these are {len(verdicts)}; name two or more: --panel lexical,llm"
        )
    members = [own if isinstance(own, Verdicts) else Verdicts.read(own) for own in verdicts]
    own_weights = [own if isinstance(own, Calibration) else Calibration.read(own) for own in calibrations]
    for other in members[1:]:
        _check_alike(members[0], other)
    names = _names(members)
    by_table = {table: _weights(members, own_weights, table) for table in dict.fromkeys(_OF_ITEM.values())}
    seats = {table: _Seats(names, by_table[item_table]) for table, item_table in _OF_ITEM.items()}
    records = [_together([by_judge.records[id] for by_judge in members], seats) for id in members[0].records]
    return Verdicts(records, _recipe(members, own_weights))


def disagreements(verdicts: Sequence[Verdicts], table: ItemTable) -> list[str]:
    """The ids of items that some of these judges call supported and others do not, each once, in their order.

    Items that a judge did not judge, or has no verdict on, are none of its disagreements.
    """
    votes: dict[str, set[bool]] = {}
    for by_judge in verdicts:
        for record in by_judge.records.values():
            for item in items(record, table):
                verdict = judged(record, table, item.unit)
                if verdict is not None and verdict.label != "not_judged":
                    votes.setdefault(item.item_id, set()).add(verdict.label == "supported")
    return [item_id for item_id, answers in votes.items() if len(answers) > 1]


@dataclass(frozen=True)
class _Seats:
    """Voters of a table, with their weights."""

    names: Sequence[str]
    weights: Sequence[Weight]

    def verdict(self, said: Sequence[Verdict | None]) -> Verdict | None:
        """Verdict of the panel on one hypothesis; None where no member was asked.

        A judge that was not asked of what others judged has not judged.
        """
        if all(verdict is None for verdict in said):
            return None
        labels: list[Label] = ["not_judged" if verdict is None else verdict.label for verdict in said]
        yes, score = vote(labels, self.weights)
        words = ", ".join(f"{name}: {label}" for name, label in zip(self.names, labels, strict=True))
        if yes is None:
            return Verdict("not_judged", None, f"{_TIE} ({words})")
        if yes:
            return Verdict("supported", score, words)
        against = labels.count("contradicted") > labels.count("not_found")
        return Verdict("contradicted" if against else "not_found", score, words)

    def credit(self, said: Sequence[float | None]) -> float | None:
        """Credit that the panel gives a nugget: none, a half or full."""
        partly, fully = (vote([_label(credit, least) for credit in said], self.weights)[0] for least in (0.5, 1.0))
        if partly is None or (partly and fully is None):
            return None
        return 0.0 if not partly else 1.0 if fully else 0.5


def _label(credit: float | None, least: float) -> Label:
    return "not_judged" if credit is None else "supported" if credit >= least else "not_found"


def _together(records: Sequence[JudgedAnswer], seats: Mapping[str, _Seats]) -> JudgedAnswer:
    """The record of one answer with what the panel says in every table."""
    first = records[0]

    def cells(name: str) -> tuple[tuple[Verdict, ...], ...]:
        return tuple(
            tuple(own for said in zip(*rows, strict=True) if (own := seats[name].verdict(said)) is not None)
            for rows in zip(*(getattr(record, name) for record in records), strict=True)
        )

    def column(name: str) -> tuple[Verdict | None, ...]:
        return tuple(map(seats[name].verdict, zip(*(getattr(record, name) for record in records), strict=True)))

    grounded = tuple(
        seats["grounded"].verdict([judged(record, "grounded", unit) for record in records])
        for unit in range(len(first.units))
    )
    # Verdicts by each chunk do not settle what the panel disagrees on as a whole.
    support = tuple(
        (whole,) * len(row) if whole is not None and whole.label == "not_judged" else row
        for row, whole in zip(cells("support"), grounded, strict=True)
    )
    return replace(
        first, support=support, grounded=grounded, joint=column("joint"), without=column("without"),
        correctness=cells("correctness"), said=column("said"), reach=cells("reach"),
        nuggets=_nuggets(records, seats["nuggets"]), grade=_grade([record.grade for record in records]),
        criteria=_criteria(records),
    )  # fmt: skip


def _nuggets(records: Sequence[JudgedAnswer], seats: _Seats) -> tuple[Nugget, ...]:
    return tuple(
        replace(same[0], credit=seats.credit([nugget.credit for nugget in same]), reason="")
        for same in zip(*(record.nuggets for record in records), strict=True)
    )


def _grade(grades: Sequence[Verdict | None]) -> Verdict | None:
    """The mean of the grades of judges that give one; not judged where one of these failed."""
    present = [grade for grade in grades if grade is not None]
    failed = next((grade for grade in present if grade.score is None or grade.label == "not_judged"), None)
    if not present or failed is not None:
        return failed
    mean = math.fsum(grade.score or 0.0 for grade in present) / len(present)
    return Verdict("supported" if mean >= 0.5 else "not_found", mean)


def _criteria(records: Sequence[JudgedAnswer]) -> tuple[Grade, ...]:
    """The mean of the grades by each criterion, of judges that have it; not judged where one of these failed."""
    by_name: dict[str, list[Grade]] = {}
    for grade in (grade for record in records for grade in record.criteria):
        by_name.setdefault(grade.name, []).append(grade)
    return tuple(_mean_grade(grades) for grades in by_name.values())


def _mean_grade(grades: Sequence[Grade]) -> Grade:
    failed = next((grade for grade in grades if grade.value is None), None)
    mean = math.fsum(grade.value or 0.0 for grade in grades) / len(grades)
    return failed or replace(grades[0], value=mean, reason="")


def _check_alike(first: Verdicts, other: Verdicts) -> None:
    """Raise   InputError where two judges judged other outputs, other questions or other units."""
    whose = f"verdicts by {first.judge} and by {other.judge}"
    for key, what in (("outputs", "other outputs"), ("units", "other units")):
        a, b = first.recipe.get(key), other.recipe.get(key)
        if None not in (a, b) and a != b:
            raise InputError(f"{whose}: are of {what}; judge the same outputs in the same units by both")
    if list(first.records) != list(other.records):
        raise InputError(f"{whose}: are of other questions; judge the same questions by both")
    shapes: Sequence[Callable[[JudgedAnswer], object]] = (
        lambda r: (r.state, r.answer, r.units, r.gold_units, r.citations, r.context),
        lambda r: [(nugget.text, nugget.vital) for nugget in r.nuggets],
    )
    for query_id, record in first.records.items():
        if any(shape(record) != shape(other.records[query_id]) for shape in shapes):
            raise InputError(f"{whose}: differ in what of question {query_id!r} they judge; judge it again by both")


def _weights(verdicts: Sequence[Verdicts], weights: Sequence[Calibration], table: ItemTable) -> list[Weight]:
    """Weights of the judges in a table."""
    if not weights:
        return [Weight() for _ in verdicts]
    return [weight_of(_calibration_of(by_judge, weights, table)) for by_judge in verdicts]


def _calibration_of(verdicts: Verdicts, weights: Sequence[Calibration], table: ItemTable) -> Calibration:
    own = [calibration for calibration in weights if calibration.name == verdicts.judge]
    if not own:
        names = ", ".join(dict.fromkeys(calibration.name for calibration in weights))
        raise InputError(
            f"there is no calibration of {verdicts.judge} among the weights (of {names}); calibrate it too, or leave "
            "out all weights"
        )
    calibration = next((calibration for calibration in own if calibration.table == table), own[0])
    calibration.check_judge(verdicts.recipe["judge"], f"weights: the calibration of {verdicts.judge}")
    calibration.check_threshold(verdicts.recipe["judge"], "weights")
    return calibration


def _names(verdicts: Sequence[Verdicts]) -> list[str]:
    """The judges by name, and by number where several have the same."""
    names = [by_judge.judge for by_judge in verdicts]
    return [name if names.count(name) == 1 else f"{name} {n}" for n, name in enumerate(names, 1)]


def _recipe(verdicts: Sequence[Verdicts], weights: Sequence[Calibration]) -> dict[str, Any]:
    """Recipe of a panel's verdicts: all that those of its members depend on."""
    members = [{**v.recipe["judge"], "calibration": v.recipe.get("calibration")} for v in verdicts]
    judge = {
        "name": NAME,
        "rule": "weights" if weights else "majority",
        "members": members,
        "weights": [calibration.summary | {"judge": calibration.name} for calibration in weights],
    }
    recipe = {key: value for key, value in verdicts[0].recipe.items() if key not in ("calls", "libraries")}
    return {**recipe, "judge": judge, "calibration": None, "date": timestamp()}
