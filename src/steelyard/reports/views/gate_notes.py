"""What a gate says of alarms, of what was lost since an accepted entry, and of what would decide."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from steelyard.gates.checks import Check
from steelyard.gates.gating import Gate
from steelyard.reports.views.numbers import number
from steelyard.reports.words import Words

DIFFERENCES = ("baseline", "best")
"""Kinds of checks of a difference against a margin."""
_WHOLE = 1e-9


def alarm_rule(gate: Gate, words: Words) -> Iterator[str]:
    """How alarms decide, in one sentence; nothing without them."""
    if gate.alarms is not None:
        yield words("gate.alarms", odds=odds_text(gate.alarms, words))


def odds_text(share: float, words: Words) -> str:
    """A share of false alarms as one in so many, where that is a whole number; else the share."""
    n = round(1 / share)
    return words("gate.odds", n=n) if abs(1 / share - n) < _WHOLE / share else f"{share:.2g}"


def spent_lines(gate: Gate, words: Words) -> Iterator[str]:
    """How much of the margin was lost since the accepted entry, by measure, a line a system."""
    if gate.entry is None or not gate.entry.is_accepted:
        return
    for system in gate.systems:
        own = [check for check in gate.checks if (check.system, check.kind) == (system, "baseline")]
        if listed := [_spent(check, words) for check in own if not math.isnan(check.value)]:
            entry = gate.entry.name if len(gate.systems) == 1 else f"{gate.entry.name}, {system}"
            yield words("gate.spent", entry=entry, listed=words("list.semicolon").join(listed))


def _spent(check: Check, words: Words) -> str:
    lost = (-check.value, -check.high, -check.low) if check.better == "higher" else (check.value, check.low, check.high)
    spent, low, high = (number(amount, 3) for amount in (max(lost[0], 0.0), *lost[1:]))
    return words("gate.spent_of", name=check.name, spent=spent, margin=f"{check.limit:g}", low=low, high=high)


def corpus_note(gate: Gate, words: Words) -> Iterator[str]:
    """That other documents were searched than those of the baseline, so that a loss may be theirs."""
    if gate.entry is not None and gate.entry.other_corpus:
        yield words("gate.other_corpus", entry=gate.entry.name)


def entry_notes(gate: Gate, words: Words) -> Iterator[str]:
    """How the luck of the run that was accepted is reckoned with, and what to do where that cannot be said."""
    entry = gate.entry
    if entry is None:
        return
    if entry.n_again:
        yield words("gate.again", n=entry.n_again)
    for check in gate.checks:
        if check.luck:
            yield words("gate.luck", name=check.name, luck=number(abs(check.luck), 3))
    if not entry.n_again and not entry.runs_vary:
        yield words("gate.one_run")


def undecided_note(gate: Gate, words: Words) -> Iterator[str]:
    """That too few data are no pass, and how many questions or runs would decide; nothing for other outcomes."""
    if gate.outcome != "insufficient":
        return
    open_ = [check for check in gate.checks if check.outcome == "insufficient"]
    staying = [check.deciding for check in open_]
    if needed := list(_needed(open_, words)):
        yield words("gate.not_passed_needed", needed=_capital(words("gate.or").join(needed)))
    elif counts := [n for n in staying if n is not None and None not in staying]:
        yield words("gate.not_passed_staying", n=max(counts))
    else:
        yield words("gate.not_passed")


def _needed(checks: Sequence[Check], words: Words) -> Iterator[str]:
    """Questions, and runs, that decide all of some checks."""
    for name in ("needed", "needed_runs"):
        counts = [getattr(check, name) for check in checks]
        if None not in counts:
            yield words("gate.needed_questions" if name == "needed" else "gate.needed_runs", n=max(counts))


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def interval_text(gate: Gate, words: Words) -> str:
    """What the intervals of differences are."""
    alarm = next((check.alarm for check in gate.checks if check.kind == "baseline" and check.says("alarm")), None)
    if alarm is None:
        return words("gate.intervals", level=f"{100 * (1 - 2 * gate.alpha):g}", alpha=f"{gate.alpha:g}")
    return words("gate.alarm_intervals", alpha=f"{gate.alpha:g}", alarm=f"{alarm:.2g}")
