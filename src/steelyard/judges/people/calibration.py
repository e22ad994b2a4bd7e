"""Calibration of a judge by labels of people: the score from which to believe it, and how often it is right then."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, astuple, dataclass, field, replace
from pathlib import Path
from statistics import NormalDist
from typing import Any, Literal, cast, get_args

import polars as pl

from steelyard.base.choices import ItemTable
from steelyard.base.differences import differences
from steelyard.base.errors import InputError, quoted
from steelyard.base.json_text import plain
from steelyard.base.notes import Note
from steelyard.base.result import Result
from steelyard.base.shapes import Each, Object, Shape, check_shape
from steelyard.io.own_json import OwnJson
from steelyard.judges.people.review import IN_TWO
from steelyard.judges.self_tests import SelfTest

Rule = Literal["youden", "precision"]
"""How a threshold is chosen: by the greatest sensitivity + specificity, or as the lowest with a wished precision."""

MEASURE_OF: Mapping[ItemTable, str] = {
    "grounded": "faithfulness",
    "joint": "citation_support",
    "correctness": "answer_precision",
    "said": "answer_recall",
}
"""The measure that is a mean over the items of a table."""

_DIGITS = 16


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with the ends of its interval; NaN where it is undefined."""

    value: float
    low: float = math.nan
    high: float = math.nan


UNDEFINED = Estimate(math.nan)


@dataclass(frozen=True, slots=True)
class Confusion:
    """Counts of items that people and the judge called supported, or not.

    hits            both;   misses   people alone
    false_alarms    the judge alone;   rejections   neither
    """

    hits: int
    misses: int
    false_alarms: int
    rejections: int

    @property
    def n(self) -> int:
        """All items."""
        return self.hits + self.misses + self.false_alarms + self.rejections


@dataclass(frozen=True, slots=True)
class HumanAgreement:
    """Agreement of people with each other, on the items that two of them decided.

    n            of these items
    kappa        of the two
    judge_kappa  of the judge with either of them, the mean, on the same items
    difference   judge_kappa - kappa
    """

    n: int
    kappa: Estimate
    judge_kappa: Estimate
    difference: Estimate


@dataclass(frozen=True, repr=False)
class Calibration(Result):
    """A judge held against labels of people.

    judge        `recipe["judge"]` of the verdicts, without its threshold where the labels give one
    table        what the items ask
    n            items that people and the judge decided;   n_questions   that these are of
    date         when it was calibrated, in ISO 8601;   digest   of the labels, with the items that they are about
    confusion    counts of these items, at the threshold
    kappa, sensitivity, specificity, balanced_accuracy   of the judge at the threshold, by the weights of the sample,
                 less what is foreseen that labels flatter the threshold that was chosen by them
    threshold    from what score on a unit is supported, and where resampled questions put it; None for a judge without
                 one, and where none can be chosen
    rule         how it was chosen;   target   the wished precision, by the rule "precision"
    human        None with one rater
    left_out     labels that did not count, by cause: "no_verdict" of items that these verdicts have none of,
                 "not_judged", "in_prompt" of items that the judge's prompt shows as examples
    notes        codes of what a reader should know, such as "few_labels" and "equal_labels"
    self_tests   how the judge did in tests without people
    labels       that all of these kappas tell apart
    """

    VIEW = "views.review_report"

    judge: Mapping[str, Any]
    table: ItemTable
    n: int
    n_questions: int
    date: str
    digest: str
    confusion: Confusion
    kappa: Estimate
    sensitivity: Estimate
    specificity: Estimate
    balanced_accuracy: Estimate
    threshold: Estimate | None = None
    rule: Rule | None = None
    target: float | None = None
    human: HumanAgreement | None = None
    left_out: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    self_tests: tuple[SelfTest, ...] = ()
    labels: tuple[str, ...] = field(default=IN_TWO, init=False)

    @property
    def frame(self) -> pl.DataFrame:
        """One row a statistic of the judge against labels: value, low, high."""
        rows = [(name, *astuple(getattr(self, name))) for name in _RATES]
        return pl.DataFrame(rows, ["statistic", "value", "low", "high"], orient="row")

    @property
    def name(self) -> str:
        """Name of the judge."""
        return str(self.judge["name"])

    @property
    def measure(self) -> str:
        """The name of the measure that is the mean of what the calibration is of."""
        return MEASURE_OF[self.table]

    @property
    def right(self) -> tuple[float, float]:
        """Sensitivity + specificity - 1, and its error by their intervals; NaN where either is undefined."""
        rates = (self.sensitivity, self.specificity)
        errors = [(rate.high - rate.low) / 2 / NormalDist().inv_cdf(0.975) for rate in rates]
        return sum(rate.value for rate in rates) - 1, math.hypot(*errors)

    @property
    def failed_self_tests(self) -> tuple[str, ...]:
        """The names of those that the judge failed."""
        return tuple(test.name for test in self.self_tests if test.result == "failed")

    @property
    def summary(self) -> dict[str, Any]:
        """The calibration as the recipe of verdicts keeps it."""
        numbers = {name: getattr(self, name) for name in ("kappa", "sensitivity", "specificity")}
        return {
            "table": self.table, "n": self.n, "date": self.date, "digest": self.digest, "rule": self.rule,
            "threshold": None if self.threshold is None else plain(asdict(self.threshold)),
            **{name: plain(estimate.value) for name, estimate in numbers.items()},
            "failed_self_tests": list(self.failed_self_tests),
        }  # fmt: skip

    def check_judge(self, judge: Mapping[str, Any], where: str = "") -> None:
        """Hold the judge of some verdicts against the one that was calibrated; its threshold may be another.

        judge    `recipe["judge"]` of the verdicts;   where   for the message
        Raises   InputError naming the first difference.
        """
        own = {key: value for key, value in judge.items() if self.threshold is None or key != "threshold"}
        difference = next(differences(self.judge, own), None)
        if difference is not None:
            key, a, b = difference
            raise InputError(
                f"{where or 'the calibration'}: is of another judge: {key} is {a} there, and {b} here; calibrate this "
                "judge, or take the one that was calibrated"
            )

    def check_threshold(self, judge: Mapping[str, Any], what: str) -> None:
        """Raise   InputError where a judge judged with another threshold than the calibrated one.

        judge   `recipe["judge"]` of the verdicts;   what   was judged, for the message
        """
        used = judge.get("threshold")
        if self.threshold is not None and used is not None and used != self.threshold.value:
            raise InputError(
                f"{what}: {self.name} judged with the threshold {used:g}, and its calibration is of "
                f"{self.threshold.value:g}; judge with --calibration FILE (calibration=...)"
            )

    def with_self_tests(self, self_tests: tuple[SelfTest, ...]) -> Calibration:
        """A calibration with these self-tests in place of its own."""
        return replace(self, self_tests=self_tests)

    def with_self_tests_in(self, path: str | Path) -> Calibration:
        """A calibration without self-tests of its own, with those that a file holds of the same judge.

        They were made by the threshold that is in the file: where it is another now, a note says so.
        """
        if self.self_tests or not Path(path).is_file():
            return self
        try:
            earlier = Calibration.read(path)
        except InputError:
            return self  # Of another kind, or damaged: nothing to keep.
        if not earlier.self_tests or next(differences(earlier.judge, self.judge), None) is not None:
            return self
        moved = (earlier.threshold and earlier.threshold.value) != (self.threshold and self.threshold.value)
        notes = (*self.notes, "self_tests_by_another_threshold") if moved else self.notes
        return replace(self, self_tests=earlier.self_tests, notes=notes)

    @property
    def content(self) -> dict[str, Any]:
        """Content of its file."""
        return _FILE.content(asdict(self))

    def write(self, path: str | Path, *, format: str | None = None, lang: str | None = None, **options: Any) -> None:
        """Write it as JSON that `read` reads, or in the format that is named; whole or not at all.

        Self-tests of the same judge that such a file holds are kept.
        Raises   OutputError where nothing can be written.
        """
        if format is None:
            _FILE.write(path, asdict(self.with_self_tests_in(path)))
        else:
            super().write(path, format=format, lang=lang, **options)

    @classmethod
    def read(cls, path: str | Path) -> Calibration:
        """The calibration in a file.

        Raises   InputError for a file that is none, was damaged, or is of a later Steelyard.
        """
        return _FILE.read(path, _calibration)


def calibration_notes(recipe: Mapping[str, Any]) -> Iterator[Note]:
    """Notes on the calibration of the judge of some verdicts, and on self-tests that it failed.

    recipe   of the verdicts
    """
    threshold, calibration = recipe["judge"].get("threshold"), recipe.get("calibration")
    if calibration is None:
        if threshold is not None:
            yield Note("judge_uncalibrated", {"threshold": threshold})
        return
    if not isinstance(calibration, Mapping) or "n" not in calibration:
        return  # Of a judge of the user's own, in its own words.
    values = {"n": calibration["n"], "date": str(calibration["date"])[:10]}
    interval = calibration["threshold"]
    if interval is not None:
        values |= {"threshold": round(interval["value"], 3)}
    if interval is not None and interval["low"] is not None:
        yield Note("judge_calibrated", values | {key: round(interval[key], 3) for key in ("low", "high")})
    elif interval is not None:
        yield Note("judge_calibrated_without_interval", values)
    else:
        yield Note("judge_checked", values)
    rates = {key: calibration[key] for key in ("kappa", "sensitivity", "specificity")}
    if None not in rates.values():
        shown = {key: round(value, 3) for key, value in rates.items()}
        yield Note("judge_agreement", {**shown, "labels": list(IN_TWO)})
    if failed := calibration["failed_self_tests"]:
        yield Note("judge_fails_self_tests", {"n": len(failed), "names": list(failed)})


_FEWEST, _SIDE = 30, 0.9


def one_sided_notes(recipe: Mapping[str, Any], counts: Mapping[str, int]) -> Iterator[Note]:
    """A note where nearly all of at least 30 sentences are on one side of a threshold that no labels gave.

    recipe, counts   of the verdicts
    """
    threshold = recipe["judge"].get("threshold")
    n = sum(counts[label] for label in ("supported", "contradicted", "not_found"))
    if recipe.get("calibration") is not None or threshold is None or n < _FEWEST:
        return
    share = counts["supported"] / n
    values = {"n": n, "percent": round(100 * max(share, 1 - share)), "threshold": threshold}
    if share >= _SIDE and threshold < (copied := _copied_threshold(recipe["judge"]["name"])):
        yield Note("judge_one_sided_copied", values | {"copied": copied})
    elif share >= _SIDE:
        yield Note("judge_one_sided_supported", values)
    elif share <= 1 - _SIDE:
        yield Note("judge_one_sided_unsupported", values)


def _copied_threshold(judge: str) -> float:
    """The threshold that suits text which is mostly copied from its context; 0 for a judge that has none."""
    if judge != "lexical":
        return 0.0
    from steelyard.judges.lexical.judge import COPIED  # Other judges need not import it.

    return COPIED


def labels_digest(labels: Mapping[str, str]) -> str:
    """A fingerprint of what people decided, item by item, of 16 hexadecimal digits, whatever their order.

    >>> labels_digest({"a": "supported", "b": "not_found"}) == labels_digest({"b": "not_found", "a": "supported"})
    True
    """
    text = json.dumps(sorted(labels.items()), ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]


_RATES = ("kappa", "sensitivity", "specificity", "balanced_accuracy")
_RANGES = {"kappa": (-1, 1), "judge_kappa": (-1, 1), "difference": (-2, 2)}
"""What can be; anything else is from 0 to 1."""
_NUMBER: Shape = (int, float, type(None))
_ESTIMATE = Object(dict.fromkeys(("value", "low", "high"), _NUMBER))
_SELF_TEST = Object(
    {
        "name": str,
        **dict.fromkeys(("n", "n_failed", "n_not_judged"), int),
        **dict.fromkeys(("low", "high", "limit"), (int, float)),
    }
)
_HUMAN = Object({"n": int, **dict.fromkeys(("kappa", "judge_kappa", "difference"), _ESTIMATE)})
_SHAPE = Object(
    {
        "judge": Object({"name": str}),
        **dict.fromkeys(("table", "date", "digest"), str),
        **dict.fromkeys(("n", "n_questions"), int),
        "confusion": Object(dict.fromkeys(("hits", "misses", "false_alarms", "rejections"), int)),
        **dict.fromkeys(_RATES, _ESTIMATE),
        "threshold": (dict, type(None)),
        "rule": (str, type(None)),
        "target": _NUMBER,
        "human": (dict, type(None)),
        "left_out": Each(dict, int),
        "notes": Each(list, str),
        "self_tests": Each(list, _SELF_TEST),
    }
)
_FILE = OwnJson(
    "steelyard-calibration", 1, _SHAPE, "a calibration of a judge; write it with `steelyard review calibrate`",
    again="write it with `steelyard review calibrate`", indent=2,
)  # fmt: skip


def _calibration(data: Mapping[str, Any]) -> Calibration:
    """The calibration in JSON of the right shape.

    Raises   ValueError for what cannot be.
    """
    for key, shape in (("threshold", _ESTIMATE), ("human", _HUMAN)):
        if data[key] is not None:
            check_shape(data[key], shape, key)
    for key, names in (("table", get_args(ItemTable)), ("rule", (None, *get_args(Rule)))):
        if data[key] not in names:
            raise ValueError(f"`{key}` is {quoted(data[key])}, expected {' or '.join(filter(None, names))}")
    confusion, threshold, human = Confusion(**_named(Confusion, data["confusion"])), data["threshold"], data["human"]
    if min(asdict(confusion).values()) < 0 or confusion.n != data["n"]:
        raise ValueError(f"`confusion` holds {confusion.n} items, and `n` is {data['n']}")
    return Calibration(
        judge=data["judge"], table=cast("ItemTable", data["table"]), n=data["n"], n_questions=data["n_questions"],
        date=data["date"], digest=data["digest"], confusion=confusion,
        **{name: _estimate(data[name], name) for name in _RATES},
        threshold=None if threshold is None else _estimate(threshold, "threshold", defined=True), rule=data["rule"],
        target=data["target"],
        human=None if human is None else HumanAgreement(
            human["n"], *(_estimate(human[name], name) for name in ("kappa", "judge_kappa", "difference"))
        ),
        left_out=data["left_out"], notes=tuple(data["notes"]),
        self_tests=tuple(map(_self_test, data["self_tests"])),
    )  # fmt: skip


def _estimate(data: Mapping[str, float | None], name: str, *, defined: bool = False) -> Estimate:
    """An estimate in its range.

    Raises   ValueError for a number out of it, and for none where there must be one.
    """
    least, most = _RANGES.get(name, (0, 1))
    for part in ("value", "low", "high"):
        number = data[part]
        if (number is None and defined and part == "value") or (number is not None and not least <= number <= most):
            raise ValueError(f"`{name}.{part}` is {quoted(number)}, expected a number from {least} to {most}")
    return Estimate(*(_number(data[part]) for part in ("value", "low", "high")))


def _self_test(data: Mapping[str, Any]) -> SelfTest:
    test = SelfTest(**_named(SelfTest, data))
    if not (0 <= test.n_failed <= test.n and 0 <= test.low <= test.high <= 1):
        raise ValueError(f"the self-test {quoted(test.name)} went wrong {test.n_failed} times of {test.n}")
    return test


def _named(record: type, data: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of a record, out of an object of JSON."""
    return {name: data[name] for name in record.__dataclass_fields__}  # type: ignore[attr-defined]


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)
