"""The verdict of a comparison in ten words: who beats whom, or that there is no clear winner; then its numbers."""

from __future__ import annotations

from steelyard.comparison.result import Comparison, ComparisonRow
from steelyard.report.sheets.sheet import number, p_text, signed
from steelyard.report.sheets.verdicts import interval_text, no_test_text, verdict_text
from steelyard.report.visible import single_line
from steelyard.report.words import Words

_NAMED = 4


def headline(comparison: Comparison, words: Words) -> str:
    """The verdict by the primary measure.

    Systems tie where no difference between them is shown: the baseline and another one by the test of these two, two
    others by that of all pairs, where there is one.
    """
    rows, beside = _rows(comparison), _beside(comparison)
    if beside.verdict == "no test" or len(rows) == 2:
        text = _untested_or_equal(beside, comparison, words)
        if text:
            return text
    best, named = rows[0], _tied(comparison)
    tied = [single_line(row.system) for row in rows[1:] if row.system in named]
    names = {"winner": single_line(best.system), "loser": single_line(_loser(comparison))}
    if beside.verdict not in ("better", "worse"):
        systems = words.together([names["winner"], *tied], _NAMED)
        worse = [single_line(row.system) for row in rows[1:] if row.system not in named]
        if worse and (comparison.groups or best.verdict == "baseline"):
            others = worse[0] if len(worse) == 1 else words("list.n_others", n=len(worse))
            return words("compare.headline.tie_worse", systems=systems, worse=others, n=len(worse))
        return words("compare.headline.tie", systems=systems)
    if tied:
        others = words.together(tied, _NAMED - 1) if len(tied) < _NAMED else words("list.n_others", n=len(tied))
        return words("compare.headline.but", **names, others=others)
    if len(rows) > 2 and (comparison.groups or best.verdict == "baseline"):
        return words("compare.headline.all", **names, n=len(rows) - 1)
    return words("compare.headline.beats", **names)


def headline_numbers(comparison: Comparison, words: Words) -> str:
    """Means, difference, interval and p behind the headline; what the questions could show, where they show none."""
    row, measure = _beside(comparison), str(comparison.measures[0])
    baseline = next(other for other in _rows(comparison) if other.verdict == "baseline")
    numbers = words(
        f"compare.headline.{'bare_numbers' if row.verdict == 'no test' else 'numbers'}", measure=measure,
        system=single_line(row.system), mean=number(row.mean), baseline=single_line(baseline.system),
        baseline_mean=number(baseline.mean), difference=signed(row.difference, 4), ends=interval_text(row, words),
        level=f"{100 * (1 - comparison.alpha):g}", p=p_text(row.adjusted, sign=True),
        test=words(f"page.test.{comparison.test}"),
    )  # fmt: skip
    if row.verdict in ("better", "worse", "no test"):
        return numbers
    verdict = verdict_text(row, comparison, words)
    return words("compare.headline.sentences", first=numbers, second=verdict[0].upper() + verdict[1:])


def _rows(comparison: Comparison) -> list[ComparisonRow]:
    return comparison.rows[str(comparison.measures[0])]


def _beside(comparison: Comparison) -> ComparisonRow:
    """The row that the headline is about: the best system beside the baseline, or the next one where that is best."""
    best, second, *_ = _rows(comparison)
    return second if best.verdict == "baseline" else best


def _loser(comparison: Comparison) -> str:
    return _beside(comparison).system if _rows(comparison)[0].verdict == "baseline" else comparison.baseline


def _tied(comparison: Comparison) -> set[str]:
    """Systems that are not shown to differ from the best one."""
    best, *others = _rows(comparison)
    if best.verdict == "baseline":
        return {row.system for row in others if row.verdict != "worse"}
    groups = comparison.groups.get(str(comparison.measures[0]), [])
    tied = {system for group in groups if best.system in group for system in group} - {comparison.baseline}
    return tied if best.verdict == "better" else tied | {comparison.baseline}


def _untested_or_equal(row: ComparisonRow, comparison: Comparison, words: Words) -> str:
    """Without a test; of two systems also equal on all questions, or what the margin shows.  Else nothing."""
    names = {"system": single_line(row.system), "baseline": single_line(comparison.baseline)}
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
