"""An A/B test in words: what to do and why, what its checks say, and what to be careful with."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any
from zoneinfo import ZoneInfo

from steelyard.abtests.experiment import Check, Decision, Effect, Experiment
from steelyard.base.notes import Note
from steelyard.reports.views.alerts import moment
from steelyard.reports.views.logs import trouble_text
from steelyard.reports.views.notes import note_text
from steelyard.reports.views.numbers import amount, by_width, count, decimals_of, multiple, p_text, percent, rounded
from steelyard.reports.visible import single_line
from steelyard.reports.words import Words

_LOWER, _MOST_NAMED, _DIGITS = " ↓", 3, 3
_EARLY = ("horizon_not_reached", "few_days")
_SHARES, _PROBABILITIES = ("share", "alpha", "level"), ("p", "rest", "apart")
"""Values of reasons and checks that are shares, or p."""


def metric_text(effect: Effect) -> str:
    """A metric, with an arrow where lower is better."""
    return single_line(effect.metric) + _LOWER * (effect.better == "lower")


def is_relative(effect: Effect) -> bool:
    """Whether an effect is written in per cent of the baseline, rather than in the unit of its metric."""
    return math.isfinite(effect.relative) and effect.baseline != 0


def change_texts(effect: Effect) -> tuple[str, str, str]:
    """A difference and both ends of its interval, with signs, in as many decimals as the interval allows."""
    if is_relative(effect):
        decimals = decimals_of(effect.relative_low, effect.relative_high)
        difference, low, high = (
            multiple(value, decimals) for value in (effect.relative, effect.relative_low, effect.relative_high)
        )
        return difference, low, high
    text = by_width(effect.low, effect.high)
    difference, low, high = (
        f"{'+' if value > 0 else ''}{text(value)}" for value in (effect.difference, effect.low, effect.high)
    )
    return difference, low, high


def change_text(effect: Effect, words: Words) -> str:
    """A difference with its interval in brackets, where there is one."""
    change, low, high = change_texts(effect)
    return change if low == "–" else words("ab.change", change=change, low=low, high=high)


def values_text(effect: Effect) -> tuple[str, str]:
    """The values of both arms in three digits, with the same decimals."""
    most = max((abs(value) for value in (effect.baseline, effect.value) if math.isfinite(value)), default=0.0)
    decimals = max(_DIGITS - 1 - math.floor(math.log10(most)), 0) if most > 0 else 0
    return rounded(effect.baseline, decimals), rounded(effect.value, decimals)


def size_text(effect: Effect, value: float) -> str:
    """A difference without a sign, such as a margin: in per cent of the baseline where the effect is."""
    if is_relative(effect) and math.isfinite(value):
        return percent(value / abs(effect.baseline), 1)
    return amount(value)


def signed_text(effect: Effect, value: float) -> str:
    """A difference with its sign, as `size_text`."""
    return f"{'+' if value > 0 else ''}{size_text(effect, value)}"


def effect_of(experiment: Experiment, metric: object, arm: object) -> Effect | None:
    """What an arm did to a metric, by its gravest role; None where that was not asked."""
    return next((own for own in experiment.effects if (own.metric, own.arm) == (metric, arm)), None)


def units_text(experiment: Experiment, n: int, words: Words) -> str:
    """A number of units by their name: users, sessions or requests."""
    return words(f"ab.unit.{experiment.unit}", n=n)


# The decision --------------------------------------------------------------------------------------------------------


def outcome_text(decision: Decision, words: Words) -> str:
    """What to do with an arm, in a few words."""
    return words(f"ab.outcome.{decision.outcome}", arm=single_line(decision.arm))


def reason_texts(decision: Decision, experiment: Experiment, words: Words) -> list[str]:
    """Why, a sentence each, the gravest first; and how many days are still needed."""
    texts = [text for note in decision.reasons for text in _reason_texts(note, decision.arm, experiment, words)]
    if decision.days_needed:
        is_early = decision.reasons[0].code in _EARLY
        texts.append(words("ab.days_left" if is_early else "ab.days_needed", n=decision.days_needed))
    return texts


def _reason_texts(note: Note, arm: str, experiment: Experiment, words: Words) -> Iterator[str]:
    """A reason; sizes of effects are written as those of the table are."""
    values, own = _values(note.values, words), effect_of(experiment, note.values.get("metric"), arm)
    if own is not None:
        sizes = {name: size_text(own, size) for name, size in note.values.items() if isinstance(size, float)}
        values |= sizes | {"change": change_text(own, words)}
    if isinstance(n := note.values.get("n"), int):
        values["units"] = units_text(experiment, n, words)
    if (check := _check_of(experiment, note.values.get("check"))) is not None:
        values |= {"title": check_title(check, words), "text": check_text(check, experiment, words)}
    if note.code == "no_test":
        values["why"] = values.get("why") or words("ab.why.unknown")
    yield _filled(f"ab.reason.{note.code}", note.code, values, words)
    if note.code == "not_shown" and math.isfinite(note.values.get("detectable", math.nan)):
        yield words("ab.can_show", detectable=values["detectable"], power=percent(experiment.power, 0))


def _check_of(experiment: Experiment, code: object) -> Check | None:
    return next((check for check in experiment.checks if check.code == code), None)


def facts_text(experiment: Experiment, words: Words) -> str:
    """Name, units of the arms, days, and how often it may be looked at."""
    arms = [
        words("ab.arm_units", arm=single_line(arm), number=count(n))
        for arm, n in zip(experiment.arms, experiment.units, strict=True)
    ]
    return words(
        "ab.facts", name=single_line(experiment.name), units=units_text(experiment, sum(experiment.units), words),
        arms=words.listed(arms), days=experiment.n_days, horizon=experiment.horizon,
        analysis=words(f"ab.analysis.{experiment.analysis}"),
    )  # fmt: skip


# Checks and cautions -------------------------------------------------------------------------------------------------


def check_title(check: Check, words: Words) -> str:
    """What a check is called."""
    key = f"ab.check.{check.code}.title"
    return words(key) if key in words else single_line(check.code)


def check_text(check: Check, experiment: Experiment, words: Words) -> str:
    """What a check says; of shares of units, where a mismatch comes from, too."""
    values = {"p": p_text(check.p, sign=True), **_values(check.values, words)}
    if check.code == "declaration":
        values["text"] = declaration_text(experiment, words)
    if (own := effect_of(experiment, check.values.get("metric"), check.values.get("arm"))) is not None:
        values |= {name: signed_text(own, size) for name, size in check.values.items() if isinstance(size, float)}
    text = _filled(f"ab.check.{check.code}.{check.state}", check.code, values, words)
    if "segment" not in check.values or check.state not in ("blocks", "careful"):
        return text
    segment = check.values["segment"]
    origin = words(
        f"ab.check_from.{check.state if segment else 'somewhere'}", segment=segment_text(segment, experiment, words)
    )
    return words("scores.between").join([text, origin])


def segment_text(segment: str, experiment: Experiment, words: Words) -> str:
    """A segment such as "browser=firefox", or the date of a day."""
    name, _, value = single_line(segment).partition("=")
    if name == "day" and value.isdecimal():
        return words("ab.check_from.day", day=day_text(experiment, int(value)))
    return f"{name}={value or words('ab.check_from.none')}" if name else ""


def day_text(experiment: Experiment, day: int) -> str:
    """The month and day of a day since the start."""
    first = experiment.start.astimezone(ZoneInfo(experiment.timezone))
    return f"{first + timedelta(days=day):%m-%d}"


def cautions(experiment: Experiment, words: Words) -> Iterator[str]:
    """What endangers the decision, the gravest first."""
    for check in experiment.checks:
        if check.state == "careful":
            text = check_text(check, experiment, words)
            title = "" if check.code == "declaration" else check_title(check, words)
            yield words("ab.check.plain", title=title, text=text) if title else text
    yield from (note_text(note, words) for note in experiment.notes)
    if lost := [trouble for trouble in experiment.troubles if trouble.is_fatal]:
        listed = words.listed([f"{own.n:,} {trouble_text(own, words)}" for own in lost], _MOST_NAMED)
        yield words("ab.note.left_out", n=sum(own.n for own in lost), listed=listed)


def declaration_text(experiment: Experiment, words: Words) -> str:
    """When the declaration was registered, its fingerprint, and what was changed since."""
    at, fingerprint = experiment.registered, experiment.fingerprint[:12]
    key = "unregistered" if at is None else "late" if at >= experiment.start else "registered"
    time = "" if at is None else moment(at, experiment.timezone)
    texts = [words(f"ab.note.{key}", time=time, fingerprint=fingerprint)]
    if experiment.changed:
        names = words.listed([single_line(name) for name in experiment.changed], _MOST_NAMED)
        texts.append(words("ab.note.changed", n=len(experiment.changed), names=names))
    return words("scores.between").join(texts)


# Texts of codes ------------------------------------------------------------------------------------------------------


def _values(values: Mapping[str, Any], words: Words) -> dict[str, Any]:
    return {name: value_text(name, value, words) for name, value in values.items()}


def value_text(name: str, value: Any, words: Words) -> Any:
    """A value of a reason, a check or a method as it is written; whole numbers as they are, for plurals."""
    if isinstance(value, str):
        key = f"ab.{name}.{value}"
        return words(key) if key in words else single_line(value)
    if isinstance(value, Mapping):
        return words.listed([f"{single_line(own)} {count_text(n)}" for own, n in value.items()])
    if isinstance(value, list | tuple):
        return words.listed([str(value_text(name, own, words)) for own in value]) or "–"
    if isinstance(value, float):
        return p_text(value) if name in _PROBABILITIES else percent(value, 1) if name in _SHARES else amount(value)
    return value


def count_text(n: float) -> str:
    """A number of units, whole or expected."""
    return count(round(n))


def _filled(key: str, code: str, values: Mapping[str, Any], words: Words) -> str:
    """The text of a code; one of another version, or without a value that its text names, as data."""
    try:
        return words(key, **values)
    except KeyError:
        return f"{single_line(code)} {json.dumps(dict(values), ensure_ascii=False, default=str)}"
