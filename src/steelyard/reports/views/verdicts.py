"""The cells of a comparison in words: verdicts, differences, intervals, p, counts, letters of groups."""

from __future__ import annotations

import numpy as np

from steelyard.comparison.power import LEAST_QUESTIONS, fewest_to_show
from steelyard.comparison.result import Comparison, ComparisonRow
from steelyard.reports.views.numbers import percent, signed
from steelyard.reports.words import Words

_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def column_head(name: str, comparison: Comparison, words: Words) -> str:
    """The head of a column in the reader's language."""
    return words(f"compare.head.{name}", level=f"{100 * (1 - comparison.alpha):g}")


def difference_text(row: ComparisonRow) -> str:
    """The difference with its sign; a dash for the reference."""
    return "–" if row.is_reference else signed(row.difference, 4)


def interval_text(row: ComparisonRow, comparison: Comparison, words: Words) -> str:
    """The interval that the verdict is by; a dash where there is none.

    Both ends of the interval of the difference; of a verdict by the margin the limit against a loss, and for
    equivalent systems the one against a gain, too.
    """
    low, high = verdict_ends(row)
    if not by_margin(row) or row.equivalent:
        return signed_ends(low, high, words)
    measure = next(measure for measure in comparison.measures if str(measure) == row.measure)
    side = "least" if measure.definition.direction == "higher" else "most"
    return words(f"compare.limit.{side}", limit=signed(low if side == "least" else high, 3))


def verdict_ends(row: ComparisonRow) -> tuple[float, float]:
    """Both ends of the interval that the verdict is by: those of the tests against the margin, or of the difference."""
    return (row.limit_low, row.limit_high) if by_margin(row) else (row.low, row.high)


def by_margin(row: ComparisonRow) -> bool:
    """True if the tests against the margin decide: no difference is shown, and they have limits."""
    return row.verdict in ("not worse", "no difference shown") and not np.isnan(row.limit_low)


def signed_ends(low: float, high: float, words: Words) -> str:
    """Both ends of an interval of differences, with a word between them, as a dash beside a minus misleads."""
    return "–" if np.isnan(low) else words("compare.interval", low=signed(low, 3), high=signed(high, 3))


def counts_text(row: ComparisonRow) -> str:
    """Questions won, tied and lost; a dash for the reference."""
    return "–" if row.is_reference or row.n_wins is None else f"{row.n_wins:,}/{row.n_ties:,}/{row.n_losses:,}"


def relative_text(row: ComparisonRow) -> str:
    """The relative change in per cent; a dash where there is none."""
    return percent(row.relative, 1, sign=True)


def effect_text(row: ComparisonRow) -> str:
    """The standardised difference with its sign; a dash for the reference."""
    return "–" if row.is_reference else signed(row.effect, 2)


def verdict_text(row: ComparisonRow, comparison: Comparison, words: Words, *, in_table: bool = False) -> str:
    """The verdict in words, with what the questions could have shown where they show nothing.

    in_table   without what all rows of a table share: how many questions there are
    """
    margin = "" if comparison.margin is None else f"{comparison.margin:g}"
    if row.verdict == "no test":
        return words("compare.verdict.no_test", reason=no_test_text(row, words))
    key = _verdict_key(row)
    least = fewest_to_show(
        comparison.test,
        correction=comparison.correction,
        n_comparisons=comparison.family_of(row.measure).n_comparisons,
        alpha=comparison.alpha,
    )
    if key in ("too_few", "no_difference") and (row.n_clusters or row.n) < least:
        return words(f"compare.verdict.cannot{'_clusters' if row.n_clusters else ''}", least=least)
    if key == "no_difference" and (row.n_clusters or row.n) < LEAST_QUESTIONS:
        return words("compare.verdict.unknown", n=row.n)
    key = "in_table" if in_table and key == "none_shown" else key
    return words(f"compare.verdict.{key}", n=row.n, margin=margin, detectable=f"{row.detectable:.3f}")


def no_test_text(row: ComparisonRow, words: Words) -> str:
    """Why there is no test, as half a sentence."""
    key = "few" if row.reason == "few questions" else (row.reason or "no spread").replace(" ", "_")
    return words(f"compare.reason.{key}")


def _verdict_key(row: ComparisonRow) -> str:
    key = row.verdict.replace(" ", "_")
    if row.verdict == "no difference shown":
        if row.n_ties == row.n:
            return "equal"
        if np.isnan(row.detectable):
            return "no_difference"
        return "none_shown" if np.isfinite(row.detectable) else "too_few"
    if row.verdict == "not worse" and row.equivalent:
        return "equivalent"
    within = (row.verdict == "worse" and row.not_worse) or (row.verdict == "better" and row.equivalent)
    return f"{key}_within" if within else key


def group_letters(groups: list[list[str]]) -> dict[str, str]:
    """The letters of each system's groups; systems that share one are not shown to differ.

    From the 27th group on there are letters of two characters, and blanks between the letters of a system.

    >>> group_letters([["c"], ["b", "a"]])
    {'c': 'a', 'b': 'b', 'a': 'b'}
    """
    letters: dict[str, list[str]] = {}
    for position, group in enumerate(groups):
        for system in group:
            letters.setdefault(system, []).append(_letter(position))
    between = "" if len(groups) <= len(_LETTERS) else " "
    return {system: between.join(own) for system, own in letters.items()}


def _letter(position: int) -> str:
    """a to z, aa, ab, ..., as the columns of a spreadsheet."""
    more, last = divmod(position, len(_LETTERS))
    return (_letter(more - 1) if more else "") + _LETTERS[last]
