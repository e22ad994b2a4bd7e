"""A comparison in words: its cells, from verdicts to letters of groups; and its headline, then the numbers of that."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np

from steelyard.comparison.power import LEAST_QUESTIONS, fewest_to_show
from steelyard.comparison.result import Comparison, ComparisonRow
from steelyard.reports.views.numbers import number, p_text, signed
from steelyard.reports.visible import single_line
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
    n, fewest = _n_asked(row, comparison)
    if key in ("too_few", "no_difference") and fewest < least:
        return words(f"compare.verdict.cannot{'_clusters' if row.n_clusters else ''}", least=least)
    if key == "no_difference" and fewest < LEAST_QUESTIONS:
        return words("compare.verdict.unknown", n=n)
    key = "in_table" if in_table and key == "none_shown" else key
    return words(f"compare.verdict.{key}", n=n, margin=margin, detectable=f"{row.detectable:.3f}")


def _n_asked(row: ComparisonRow, comparison: Comparison) -> tuple[int, int]:
    """Questions of a row, without pairs those of both systems together; and the fewest, or clusters, of one."""
    if comparison.common is None or row.is_reference:
        return row.n, row.n_clusters or row.n
    reference = next(other for other in comparison.rows[row.measure] if other.is_reference)
    return row.n + reference.n, min(own.n_clusters or own.n for own in (row, reference))


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


_NAMED, _CLAUSES = 4, 2


def headline(comparison: Comparison, words: Words) -> str:
    """The verdict by the primary measure; where secondary ones show the opposite, that by each of these too."""
    text, opposed = (
        _assuming(_primary_headline(comparison, words), comparison, words),
        dict[tuple[tuple[str, str], ...], list[str]](),
    )
    for measure, turned in comparison.opposed.items():
        opposed.setdefault(tuple(turned), []).append(measure)
    if comparison.common is not None:
        text = words("compare.headline.unpaired", text=text)
    measure = _by_whom(comparison.primary, comparison, words)
    if _apart(comparison) or (not opposed and measure == comparison.primary):
        return text
    text = words("compare.headline.by", measures=measure, text=text)
    for pairs, measures in opposed.items():
        by, opposite = words.together(measures, _NAMED), _pairs_text(pairs, words)
        text = words("compare.headline.and_by", before=text, measures=by, text=opposite)
    return text


def _assuming(text: str, comparison: Comparison, words: Words) -> str:
    """The verdict with what it supposes where its systems were judged by two judges, and whether it holds without."""
    drift, row = comparison.drift, _beside(comparison)
    if drift is None or row.verdict == "no test":
        return text
    of_row = next(drift.frame.filter(system=row.system, measure=comparison.primary).iter_rows(named=True), None)
    if of_row is None or not of_row["elsewhere"]:
        return text
    bound = ""
    if row.verdict in ("better", "worse"):
        holds = "unseen" if of_row["shift_low"] <= 0 <= of_row["shift_high"] else "holds"
        bound = words(f"compare.headline.{holds if of_row['bound_verdict'] == row.verdict else 'no_longer'}")
    return words("compare.headline.assuming", text=text, bound=bound).rstrip()


def _pairs_text(pairs: Sequence[tuple[str, str]], words: Words) -> str:
    """Who beats whom, of pairs with the better system first."""
    beaten, winners = dict[str, list[str]](), dict[tuple[str, ...], list[str]]()
    for winner, loser in pairs:
        beaten.setdefault(single_line(winner), []).append(single_line(loser))
    for winner, losers in beaten.items():
        winners.setdefault(tuple(losers), []).append(winner)
    clauses = [
        words("compare.headline.pair", winner=words.together(ahead, _NAMED), loser=words.together([*losers], _NAMED),
              n=len(ahead))
        for losers, ahead in winners.items()
    ]  # fmt: skip
    text = words("compare.headline.between").join(clauses[:_CLAUSES])
    if len(clauses) > _CLAUSES:
        text = words("compare.headline.more_pairs", text=text)
    return words("compare.headline.sentence", text=text)


def _primary_headline(comparison: Comparison, words: Words) -> str:
    """The verdict by the primary measure.

    Systems are not told apart where no difference between them is shown: a system and the reference by the test of
    these two, two others by that of all pairs, where there is one.
    """
    rows, beside = _rows(comparison), _beside(comparison)
    if apart := _apart(comparison):
        systems = [single_line(row.system) for row in rows if row.is_reference or row in apart]
        how = words(f"compare.headline.judged_by.{_how_apart(comparison)}")
        return words("compare.headline.not_comparable", systems=words.together(systems, _NAMED), how=how)
    if beside.verdict == "no test" or len(rows) == 2:
        text = _untested_or_equal(beside, comparison, words)
        if text:
            return text
    best, others = rows[0], _alike(comparison)
    rest = [row for row in rows[1:] if row not in others]
    if not others:
        if len(rows) > 2 and (comparison.groups or best.is_reference):
            return words("compare.headline.all", winner=single_line(best.system), n=len(rows) - 1)
        return words("compare.headline.beats", winner=single_line(best.system), loser=single_line(_loser(comparison)))
    text = _first_clause(comparison, others, words)
    shown_worse = rest and beside.verdict not in ("better", "worse") and (comparison.groups or best.is_reference)
    if not shown_worse:
        return words("compare.headline.sentence", text=text)
    worse = single_line(rest[0].system) if len(rest) == 1 else words("list.n_others", n=len(rest))
    return words("compare.headline.worse", text=text, worse=worse, n=len(rest))


def headline_numbers(comparison: Comparison, words: Words) -> Iterator[str]:
    """Means, difference, interval and p behind the headline; what the questions could show, where they show none.

    One text by the primary measure, then one by each that shows the opposite beside the reference.
    """
    row = _beside(comparison)
    yield _numbers(row, comparison, words)
    if comparison.labels is not None and comparison.primary in comparison.labels.measures:
        yield _by_judge(row, comparison, words)
    for measure, pairs in comparison.opposed.items():
        beside = {system for pair in pairs if comparison.reference in pair for system in pair}
        rows = [row for row in comparison.rows[measure] if row.system in beside and not row.is_reference]
        yield from (_numbers(row, comparison, words) for row in rows[:1])


def _by_judge(row: ComparisonRow, comparison: Comparison, words: Words) -> str:
    """Means and difference that labels of people correct, as the judge alone has them."""
    assert comparison.labels is not None
    of_judge = comparison.labels.frame.filter(measure=row.measure).rows_by_key("system", named=True, unique=True)
    mean, reference_mean = (of_judge[system]["judge"] for system in (row.system, comparison.reference))
    return words(
        "compare.headline.by_judge",
        system=single_line(row.system),
        mean=number(mean),
        reference=single_line(comparison.reference),
        reference_mean=number(reference_mean),
        difference=signed(mean - reference_mean, 4),
    )


def _by_whom(measure: str, comparison: Comparison, words: Words) -> str:
    """The measure; where labels of people correct means of it, and the judge alone compares the systems, with that."""
    left = comparison.labels is not None and comparison.labels.left_to_the_judge(measure)
    return words("compare.headline.judge_alone", measure=measure) if left else measure


def _measured(row: ComparisonRow, comparison: Comparison, words: Words) -> str:
    """The measure of some numbers: whether people correct them, and over which questions, where systems lack some."""
    several = "all" if len(comparison.rows[row.measure]) > 2 else "both"
    measure = _by_whom(row.measure, comparison, words)
    if comparison.labels is not None and row.measure in comparison.labels.measures:
        measure = words("compare.headline.corrected", measure=measure)
    return words(f"compare.headline.over_{several}", measure=measure, n=row.n) if row.n_left_out else measure


def _numbers(row: ComparisonRow, comparison: Comparison, words: Words) -> str:
    """Both means, their difference, its interval and p."""
    reference = next(other for other in comparison.rows[row.measure] if other.is_reference)
    key = "bare_numbers" if row.verdict == "no test" else "margin_numbers" if by_margin(row) else "numbers"
    numbers = words(
        f"compare.headline.{key}", measure=_measured(row, comparison, words),
        system=single_line(row.system), mean=number(row.mean), reference=single_line(reference.system),
        role=words(f"compare.verdict.{reference.verdict}"), reference_mean=number(reference.mean),
        difference=signed(row.difference, 4), ends=interval_text(row, comparison, words),
        level=f"{100 * (1 - comparison.alpha):g}", p=p_text(row.adjusted, sign=True),
        test=words(f"page.test.{comparison.test}"),
    )  # fmt: skip
    if row.verdict in ("better", "worse", "no test"):
        return numbers
    verdict = verdict_text(row, comparison, words)
    return words("compare.headline.sentences", first=numbers, second=verdict[0].upper() + verdict[1:])


def _first_clause(comparison: Comparison, others: Sequence[ComparisonRow], words: Words) -> str:
    """That the best system is not told apart from some others, and beats the baseline or leads the rest."""
    best, names = _rows(comparison)[0], [single_line(row.system) for row in others]
    winner = single_line(best.system)
    if best.verdict == "better":
        listed = words.together(names, _NAMED - 1) if len(names) < _NAMED else words("list.n_others", n=len(names))
        return words("compare.headline.but", winner=winner, loser=single_line(_loser(comparison)), others=listed)
    shown = _can_show(others if best.is_reference else [best, *others], comparison, words)
    if not _share_a_group(comparison, [best, *others]):
        return words("compare.headline.apart", winner=winner, others=words.together(names, _NAMED - 1), shown=shown)
    leads = comparison.baseline is None and len(others) < len(_rows(comparison)) - 1
    systems = words.together([winner, *names], _NAMED)
    return words(f"compare.headline.{'lead' if leads else 'alike'}", systems=systems, shown=shown)


def _can_show(rows: Sequence[ComparisonRow], comparison: Comparison, words: Words) -> str:
    """Differences that the questions can show in each of these rows, in brackets; nothing where that is not known."""
    rows = [row for row in rows if not row.is_reference and row.verdict != "no test" and row.n_ties != row.n]
    if not rows:
        return ""
    n, fewest = _n_asked(rows[0], comparison)
    detectable = max(row.detectable for row in rows)
    if math.isfinite(detectable):
        return words("compare.headline.can_show", n=n, detectable=f"{detectable:.3f}")
    few = math.isinf(detectable) or fewest < LEAST_QUESTIONS
    return words("compare.headline.few", n=n) if few else ""


def _apart(comparison: Comparison) -> list[ComparisonRow]:
    """The systems that were judged otherwise than the reference."""
    return [row for row in _rows(comparison) if row.reason == "other judge"]


def _how_apart(comparison: Comparison) -> str:
    """The difference of the judges of systems that are not comparable: name, model, threshold, or another way."""
    notes = (note for notes in comparison.notes.values() for note in notes if note.code == "judges_differ")
    key = str(next(notes).values["key"]).removeprefix("judge.")
    return key if key in ("name", "model", "threshold") else "way"


def _rows(comparison: Comparison) -> list[ComparisonRow]:
    return comparison.rows[comparison.primary]


def _beside(comparison: Comparison) -> ComparisonRow:
    """The row that the headline is about: the best system beside the reference, or the next one where that is best."""
    best, second, *_ = _rows(comparison)
    return second if best.is_reference else best


def _loser(comparison: Comparison) -> str:
    return _beside(comparison).system if _rows(comparison)[0].is_reference else comparison.reference


def _alike(comparison: Comparison) -> list[ComparisonRow]:
    """The rows of systems that are not shown to differ from the best one."""
    best, *others = _rows(comparison)
    if best.is_reference:
        return [row for row in others if row.verdict not in ("better", "worse")]
    groups = comparison.groups.get(comparison.primary, [])
    alike = {system for group in groups if best.system in group for system in group} - {comparison.reference}
    if best.verdict not in ("better", "worse"):
        alike |= {comparison.reference}
    return [row for row in others if row.system in alike]


def _share_a_group(comparison: Comparison, rows: Sequence[ComparisonRow]) -> bool:
    """True if no two of the systems are told apart."""
    if len(rows) == 2:
        return True
    beside_reference = not any(row.is_reference for row in rows) or not any(
        row.verdict in ("better", "worse") for row in rows
    )
    groups = comparison.groups.get(comparison.primary, [])
    pairs = combinations([row.system for row in rows if not row.is_reference], 2)
    return beside_reference and all(any({*pair} <= {*group} for group in groups) for pair in pairs)


def _untested_or_equal(row: ComparisonRow, comparison: Comparison, words: Words) -> str:
    """Without a test; of two systems also equal on all questions, or what the margin shows.  Else nothing."""
    names = {"system": single_line(row.system), "baseline": single_line(comparison.reference)}
    margin = "" if comparison.margin is None else f"{comparison.margin:g}"
    if row.verdict == "no test":
        return words("compare.headline.untested", reason=no_test_text(row, words))
    if row.n_ties == row.n:
        return words("compare.headline.equal", **names, n=row.n)
    if row.verdict == "not worse":
        return words(f"compare.headline.{'equivalent' if row.equivalent else 'not_worse'}", **names, margin=margin)
    if (row.verdict == "better" and row.equivalent) or (row.verdict == "worse" and row.not_worse):
        winner, loser = names.values() if row.verdict == "better" else reversed(names.values())
        return words("compare.headline.within", winner=winner, loser=loser, margin=margin)
    return ""
