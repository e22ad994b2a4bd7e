"""The report in a few sentences: who is ahead, by how much and how surely, and what to be careful with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from steelyard.base.arrays import Bools
from steelyard.comparison.comparison import Compared
from steelyard.comparison.sensitivity import moved_by_ties, overlapping
from steelyard.diagnosis.funnel import NOT_LOST, Funnel
from steelyard.report.comparing import verdict_text
from steelyard.report.contents import Report
from steelyard.report.diagnosing import advice_text, stage_name
from steelyard.report.rating import rating_text
from steelyard.report.sheet import number
from steelyard.report.visible import visible
from steelyard.report.words import Words

_NAMED = 4
_MOST_JUDGED = 0.995


@dataclass(frozen=True)
class Fact:
    """A short answer of the summary, and the section of the page that tells more."""

    title: str
    text: str
    target: str
    link: str


def by_mean(report: Report, measure: int = 0) -> list[int]:
    """Places of the systems, best mean first; of equal ones the one that was named first."""
    means = report.scores.means[:, measure]
    return sorted(range(len(means)), key=lambda i: (-np.nan_to_num(means[i], nan=-np.inf), i))


def verdict(report: Report, lang: Words) -> str:
    """The best system by the first measure, its difference to the baseline or to the next one, interval and test."""
    scores, best = report.scores, by_mean(report)[0]
    values = {"measure": str(scores.measures[0]), "system": visible(scores.systems[best]),
              "mean": number(scores.means[best, 0]), "questions": _questions(report, lang),
              "low": number(scores.intervals.low[best, 0]), "high": number(scores.intervals.high[best, 0])}  # fmt: skip
    comparison = report.comparison
    if comparison is None:
        known = not np.isnan(scores.intervals.low[best, 0])
        return lang("page.verdict.one" if known else "page.verdict.one_bare", **values)
    rows = comparison.rows[values["measure"]]
    leads = rows[0].system != comparison.baseline
    other = rows[0] if leads else rows[1]
    told = {
        "system": visible(rows[0].system), "mean": number(rows[0].mean), "baseline": visible(comparison.baseline),
        "other": visible(other.system), "difference": signed(other.difference, 4), "ends": difference_ends(other),
        "level": f"{100 * (1 - comparison.alpha):g}", "p": _p(other.adjusted),
        "test": lang(f"page.test.{comparison.test}"), "verdict": verdict_text(other, comparison, lang),
    }  # fmt: skip
    return lang("page.verdict.several" if leads else "page.verdict.baseline", **values | told)


def difference_ends(row: Compared) -> str:
    """Both ends of the interval of a difference, signed."""
    return "–" if np.isnan(row.low) else f"{signed(row.low, 3)} … {signed(row.high, 3)}"


def signed(value: float, decimals: int) -> str:
    """A number with its sign, a true minus among them.

    >>> signed(-0.25, 2), signed(0.0, 1)
    ('−0.25', '+0.0')
    """
    return f"{value:+.{decimals}f}".replace("-", "−")


def _p(p: float) -> str:
    """p with the sign before it: "= 0.034", "< 0.001"; a dash where there is none."""
    return "–" if np.isnan(p) else "< 0.001" if p < 0.001 else f"= {p:.3f}"


def _questions(report: Report, lang: Words) -> str:
    return lang("count.questions", n=len(report.scores.query_ids))


def facts(report: Report, lang: Words) -> Iterator[Fact]:
    """Short answers: how good is the best system, where does it lose questions, what should be tried first."""
    best = report.scores.systems[by_mean(report)[0]]
    for name, text, target in (
        ("rating", _best_rating(report, best, lang), "ratings"),
        ("lost", _most_lost(report, best, lang), "funnel"),
        ("advice", _first_advice(report, lang), "advice"),
    ):
        if text:
            yield Fact(lang(f"page.summary.{name}"), visible(text), target, lang(f"page.summary.{name}_link"))


def _best_rating(report: Report, best: str, lang: Words) -> str:
    """The rating of the first measure, or of the first one that the profile knows; nothing where it knows none."""
    own = [rating for rating in report.ratings if rating.system == best and rating.level is not None]
    if not own:
        return ""
    first = next((rating for rating in own if rating.measure == str(report.scores.measures[0])), own[0])
    return lang("page.summary.rating_of", system=best, measure=first.measure, rating=rating_text(first, lang))


def worst_stage(one: Funnel) -> tuple[str, int] | None:
    """Where a system loses most questions, the earliest of equal stages; None where it loses none."""
    lost = [(stage, n) for stage, n in one.counts().items() if n and stage not in NOT_LOST]
    return max(lost, key=lambda each: each[1], default=None)


def _most_lost(report: Report, best: str, lang: Words) -> str:
    one = next(each for each in report.diagnosis.funnels if each.system == best)
    worst = worst_stage(one)
    if worst is None:
        return lang("page.summary.nothing_lost", system=best)
    name, n = stage_name(worst[0], lang), worst[1]
    return lang("page.summary.lost_of", system=best, stage=name, n=n, total=one.n_queries)


def _first_advice(report: Report, lang: Words) -> str:
    """What stands first among the advice."""
    first = next(iter(report.diagnosis.advice), None)
    if first is None:
        return lang("page.summary.no_advice")
    text = advice_text(first, lang)
    return lang("page.summary.first", systems=lang.listed(list(first.systems)), title=text.title, gain=text.gain)


def care(report: Report, lang: Words) -> list[str]:
    """What could mislead: questions without a value, lost gold, unjudged documents, ties."""
    scores = report.scores
    made = []
    for name, rows in (("failed", scores.failed), ("missing", scores.missing), ("unwinnable", scores.unwinnable)):
        made += list(_counted(report, name, rows, lang))
    for gold, system in zip(scores.gold, scores.systems, strict=True):
        if gold is not None and gold.lost and not gold.unwinnable:
            made.append(lang("page.care.lost", n=len(gold.lost), total=gold.n_pieces, system=visible(system)))
    without = int((scores.no_relevant[:, 0] & ~scores.unwinnable).all(axis=0).sum())
    if without:
        made.append(lang("page.care.no_relevant", n=without))
    if any(gold is not None and not gold.complete for gold in scores.gold):
        made.append(lang("page.care.corpus"))
    return [*made, *_unsure(report, lang)]


def _counted(report: Report, name: str, rows: Bools, lang: Words) -> Iterator[str]:
    """One sentence for what befell questions of some systems, those with most of them first."""
    counts = rows.sum(axis=1)
    places = [i for i in np.argsort(-counts, kind="stable").tolist() if counts[i]]
    if places:
        listed = [f"{visible(report.scores.systems[i])} ({int(counts[i])})" for i in places]
        yield lang(f"page.care.{name}", listed=lang.listed(listed, _NAMED), n=int(counts.max()))


def _unsure(report: Report, lang: Words) -> Iterator[str]:
    """What labels that nobody gave, and the order of ties, could change by the first measure."""
    found, measure = report.sensitivity, str(report.scores.measures[0])
    judged = [(found.judged[i, 0], visible(system)) for i, system in enumerate(found.systems)
              if report.scores.gold[i] is None and found.judged[i, 0] < _MOST_JUDGED]  # fmt: skip
    if judged:
        share, system = min(judged)
        yield lang("page.care.unjudged", share=f"{share:.0%}", system=system, n=len(judged))
        pairs = [
            lang("page.care.pair", first=visible(a), second=visible(b)) for a, b in overlapping(found, 0)
            if {a, b} & {system for system, gold in zip(found.systems, report.scores.gold, strict=True) if gold is None}
        ]  # fmt: skip
        if pairs:
            yield lang("page.care.overlap", listed=lang.listed(pairs, _NAMED), measure=measure, n=len(pairs))
    moved = [visible(system) for system in moved_by_ties(found, 0)]
    if moved:
        yield lang("page.care.ties", listed=lang.listed(moved, _NAMED), measure=measure, n=len(moved))
