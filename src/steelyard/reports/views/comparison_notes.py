"""The notes below a comparison: what is left out, how it was tested, and what could move its means."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from steelyard.base.arrays import Bools
from steelyard.comparison.families import MOST_GROUPED, margin_correction
from steelyard.comparison.plan import Family
from steelyard.comparison.result import Comparison, ComparisonRow
from steelyard.comparison.sensitivity import (
    Sensitivity,
    count_overlapping,
    highest_overlapping,
    moved_by_ties,
    overlapping,
)
from steelyard.measures import make
from steelyard.reports.views.cautions import MOST_JUDGED, NAMED
from steelyard.reports.views.notes import cluster_notes, component_notes, notes_of_systems
from steelyard.reports.views.numbers import ends, number, percent
from steelyard.reports.views.wear import luck_text
from steelyard.reports.visible import visible
from steelyard.reports.words import Words

_MANY_SYSTEMS = 10
"""From so many on, fewer than twice as many questions are few."""


def left_out_notes(comparison: Comparison, measure: str, words: Words) -> Iterator[str]:
    """Notes on how many questions are left out of a measure, and which systems have no value for them."""
    if left_out := comparison.left_out[measure]:
        lacking = [words("compare.lacking", system=s, n=n) for s, n in comparison.lacking[measure].items()]
        yield words("compare.left_out", n=left_out, compared=comparison.n[measure], listed=words.listed(lacking))


def unpaired_notes(comparison: Comparison, words: Words) -> Iterator[str]:
    """That systems were asked different questions, how many in common, and that pairs of these would show more."""
    if comparison.common is None:
        return
    n = {row.system: row.n for row in comparison.rows[comparison.primary]}
    reference = comparison.reference
    listed = [
        words(
            "compare.unpaired_of", system=system, n=n[system], reference=reference, others=n[reference], common=common
        )
        for system, common in comparison.common.items()
    ]
    yield words("compare.unpaired", listed=words.listed(listed, NAMED))
    if common := max(comparison.common.values()):
        yield words("compare.unpaired_common", n=common)


def luck_notes(comparison: Comparison, words: Words) -> Iterator[str]:
    """How far the best leads, and would by luck after so many configurations, where their number is known."""
    if comparison.luck is not None:
        yield luck_text(comparison.luck, comparison.primary, words)


def weighing_notes(comparison: Comparison, words: Words) -> Iterator[str]:
    """Notes on how the systems were weighed."""
    n_systems = len(comparison.rows[str(comparison.measures[0])])
    yield from notes_of_systems(comparison.notes, words, n_systems=n_systems)


def missing_notes(comparison: Comparison, words: Words) -> Iterator[str]:
    """From which runs questions are missing that count 0."""
    if comparison.missing:
        listed = [words("compare.missing_of", system=system, n=n) for system, n in comparison.missing.items()]
        yield words("compare.missing", listed=words.listed(listed))


def needed_notes(rows: Sequence[ComparisonRow], words: Words) -> Iterator[str]:
    """Notes on how many questions would show the effects observed."""
    listed = [
        words("compare.needed_of", system=row.system, number=f"{row.needed:,}")
        for row in rows
        if row.needed is not None
    ]
    if listed:
        yield words("compare.needed", listed=words.listed(listed))


def letter_notes(comparison: Comparison, measure: str, words: Words) -> Iterator[str]:
    """Which systems are better or worse than the baseline, and share a letter with it all the same; and why."""
    if comparison.baseline is None:
        return
    beside = {
        system for group in comparison.groups.get(measure, []) if comparison.baseline in group for system in group
    }
    rows = comparison.rows[measure]
    if shared := [row.system for row in rows if row.verdict in ("better", "worse") and row.system in beside]:
        family = comparison.family_of(measure)
        pairs = len(rows) * (len(rows) - 1) // 2 * len(family.measures)
        yield words(
            "compare.letters.shared", systems=words.listed(shared), baseline=comparison.baseline, pairs=pairs,
            comparisons=family.n_comparisons, n=len(shared),
        )  # fmt: skip


def method_notes(comparison: Comparison, words: Words) -> Iterator[str]:
    """Baseline or leader, test, correction and margin, if anything is tested, and the agreement of leaderboards."""
    rows = [row for of_measure in comparison.rows.values() for row in of_measure]
    if all(row.is_reference or row.verdict == "no test" for row in rows):
        yield words(f"compare.{_role(comparison)}_alone", reference=comparison.reference)
        yield from cluster_notes(comparison.recipe, words, n=rows[0].n, n_clusters=rows[0].n_clusters)
        yield from component_notes(comparison.components, words)
    else:
        yield from _test_notes(comparison, words)
    for agreement in comparison.agreement:
        figures = {name: number(getattr(agreement, name), 2) for name in ("kendall", "tau_ap", "rbo", "rbo_p")}
        key = "no_agreement" if np.isnan([agreement.kendall, agreement.tau_ap]).any() else "agreement"
        yield words(f"compare.{key}", first=agreement.first, other=agreement.other, **figures)


def _test_notes(comparison: Comparison, words: Words) -> Iterator[str]:
    yield words(
        f"compare.{_role(comparison)}", reference=comparison.reference, alpha=f"{comparison.alpha:g}",
        family=family_text(comparison, comparison.families[0], words), test=words(f"compare.test.{comparison.test}"),
        correction=_correction(comparison, words), seed=comparison.seed,
    )  # fmt: skip
    yield from unpaired_notes(comparison, words)
    yield from secondary_notes(comparison, comparison.families, words)
    if comparison.test != "ranks":
        yield words("compare.effect" if comparison.common is None else "compare.effect_unpaired")
    yield _interval_note(comparison, words)
    yield from _can_show_note(comparison, words)
    percentiles = [str(measure) for measure in comparison.measures if measure.share is not None]
    if percentiles and comparison.test != "ranks":
        yield words("compare.percentiles", measures=words.listed(percentiles))
    first = comparison.rows[str(comparison.measures[0])][0]
    yield from cluster_notes(comparison.recipe, words, n=first.n, n_clusters=first.n_clusters)
    yield from component_notes(comparison.components, words)
    yield from _letter_notes(comparison, words)
    if comparison.margin is not None:
        method, by = margin_correction(comparison.correction), "_ranks" if comparison.test == "ranks" else ""
        yield words(
            f"compare.margin{by}",
            margin=f"{comparison.margin:g}",
            alpha=f"{comparison.alpha:g}",
            correction=words(f"compare.method.{method}"),
            family=family_text(comparison, comparison.families[0], words, all_pairs=False),
        )


def _can_show_note(comparison: Comparison, words: Words) -> Iterator[str]:
    """A note on how often what questions "can show" is shown, and at which level; of tests that are about means."""
    n, alpha = comparison.families[0].n_comparisons, comparison.alpha
    if comparison.test in ("t", "welch", "randomization") and n > 1:
        yield words("compare.can_show_shared", share=f"{alpha / n:.2g}", alpha=f"{alpha:g}", n=n)
    elif comparison.test not in ("wilcoxon", "sign", "ranks"):
        yield words("compare.can_show")


def _interval_note(comparison: Comparison, words: Words) -> str:
    """Which test the intervals belong to, and how they are corrected."""
    if comparison.test == "tukey":
        return words("compare.intervals.tukey")
    if comparison.test not in ("t", "welch", "randomization", "ranks"):
        return words("compare.intervals.no_means")
    n = comparison.families[0].n_comparisons
    method = "none" if n == 1 else comparison.correction
    level = f"{100 * (1 - comparison.alpha / n):.5g}"
    return words(
        f"compare.intervals.{method}",
        kind=words(f"compare.kind.{comparison.test}"),
        n=n,
        level=level,
        alpha=f"{comparison.alpha:g}",
    )


def _letter_notes(comparison: Comparison, words: Words) -> Iterator[str]:
    """Notes on letters of groups; why there are none; and that many systems are too much for few questions."""
    s, n = len(comparison.rows[comparison.primary]), min(comparison.n.values())
    if comparison.groups and comparison.test == "tukey":
        yield words("compare.letters.tukey")
    elif comparison.groups:
        family = family_text(comparison, comparison.families[0], words, all_pairs=True)
        method = words(f"compare.method.{comparison.correction}")
        yield words("compare.letters.corrected", correction=method, family=family)
    elif s > MOST_GROUPED and (comparison.test == "t" or comparison.baseline is None):
        yield words("compare.letters.none", systems=s, most=MOST_GROUPED)
    if s >= _MANY_SYSTEMS and n < 2 * s:
        yield words("compare.letters.many", systems=s, questions=n)


def _correction(comparison: Comparison, words: Words) -> str:
    if comparison.correction == "tukey":
        return words("compare.correction.family_wise")
    return words("compare.correction.corrected", name=words(f"compare.method.{comparison.correction}"))


def secondary_notes(
    comparison: Comparison, families: Sequence[Family], words: Words, *, segments: int | None = None
) -> Iterator[str]:
    """Which measure is tested alone, and what the correction of all others covers; nothing of one measure."""
    for family in families[1:]:
        yield words(
            "compare.secondary",
            primary=comparison.primary,
            measures=words.listed([*family.measures]),
            n=len(family.measures),
            family=family_text(comparison, family, words, segments=segments),
        )


def family_text(
    comparison: Comparison, family: Family, words: Words, *, segments: int | None = None, all_pairs: bool | None = None
) -> str:
    """The family of a correction: comparisons with the baseline, or of all pairs, by each measure, in each segment.

    all_pairs   by default where there is no baseline
    """
    m, s = len(family.measures), len(comparison.rows[comparison.primary])
    tukey = comparison.test == "tukey" and segments is None
    all_pairs = (tukey or comparison.baseline is None) if all_pairs is None else all_pairs
    each = s * (s - 1) // 2 if all_pairs else s - 1
    by_itself = tukey and all_pairs
    parts = [*(["pairs"] if all_pairs else []), *(["segments"] if segments else [])]
    parts += ["measures"] if m > 1 and not by_itself else []
    n = each * (1 if by_itself else m) * (segments or 1)
    text = words(
        f"compare.family.{'_'.join(parts) or 'baseline'}", n=n, each=each, measures=m, segments=segments, systems=s
    )
    return words("compare.family.each", pairs=text) if by_itself and m > 1 else text


def _role(comparison: Comparison) -> str:
    return "leader" if comparison.baseline is None else "baseline"


def label_notes(bounds: Sensitivity, j: int, words: Words) -> list[str]:
    """Warnings where a system has no labelled document, and where labels could change the order of systems."""
    return [*unlabelled_notes(bounds, j, words), *_order_notes(bounds, j, words)] if bounds.labelled else []


def unlabelled_notes(bounds: Sensitivity, j: int, words: Words) -> Iterator[str]:
    """Which systems have no labelled document, although documents are what labels are of."""
    for system, share in zip(bounds.systems, bounds.judged[:, j].tolist(), strict=True):
        if bounds.labelled and share == 0:
            yield words("scores.nothing.judged", system=system)


def _order_notes(bounds: Sensitivity, j: int, words: Words) -> list[str]:
    highest = highest_overlapping(bounds, j)
    if highest is None:
        return []
    better, worse = highest
    n_pairs = count_overlapping(bounds, j)
    place = {system: i for i, system in enumerate(bounds.systems)}
    low, high = (column[:, j].tolist() for column in (bounds.low, bounds.high))
    named = {"one": better, "one_bounds": ends(low[place[better]], high[place[better]]),
             "other": worse, "other_bounds": ends(low[place[worse]], high[place[worse]])}  # fmt: skip
    judged = _judged(bounds, j, words)
    if n_pairs == 1:
        return [words("compare.bounds.one_pair", judged=judged, **named)]
    s = len(bounds.systems)
    return [words("compare.bounds.pairs", judged=judged, pairs=n_pairs, all=s * (s - 1) // 2, **named)]


def _judged(bounds: Sensitivity, j: int, words: Words) -> str:
    spec, shares = bounds.measures[j], bounds.judged[:, j]
    name = str(make("judged", spec.depth))
    low, high = percent(float(np.nanmin(shares))), percent(float(np.nanmax(shares)))
    if low == high:
        return words("compare.bounds.judged", name=name, share=low)
    return words("compare.bounds.judged_range", name=name, low=low, high=high)


def unsure_orders(bounds: Sensitivity, by_id: Bools, words: Words) -> Iterator[str]:
    """How missing labels, and the order of ties, could change which system is better by the first measure.

    by_id   (s,) which systems are judged by ids of documents, so that labels may be missing
    """
    measure, labelled = str(bounds.measures[0]), np.flatnonzero(by_id).tolist()
    concerned = {bounds.systems[i] for i in labelled}
    pairs = [
        words("page.care.pair", first=visible(first), second=visible(second))
        for first, second in overlapping(bounds, 0)
        if {first, second} & concerned
    ]
    if pairs:
        yield words("page.care.overlap", listed=words.listed(pairs, NAMED), measure=measure, n=len(pairs))
    if tied := [visible(system) for system in moved_by_ties(bounds, 0)]:
        yield words("page.care.ties", listed=words.listed(tied, NAMED), measure=measure, n=len(tied))
    judged = [(bounds.judged[i, 0], visible(bounds.systems[i])) for i in labelled if bounds.judged[i, 0] < MOST_JUDGED]
    if judged:
        share, system = min(judged)
        yield words("page.care.unjudged", share=percent(share), system=system, n=len(judged))


def tie_notes(bounds: Sensitivity, j: int, words: Words) -> list[str]:
    """A warning where the order of tied documents moves a mean: the system that it moves most, and how many more."""
    spec, moved = bounds.measures[j], moved_by_ties(bounds, j)
    takes_ties = "ties" in spec.definition.parameters
    if not moved or (takes_ties and spec.param("ties") == "average"):
        return []
    place = {system: i for i, system in enumerate(bounds.systems)}
    rows = [place[system] for system in moved]
    i = max(rows, key=lambda row: float(bounds.tie_high[row, j] - bounds.tie_low[row, j]))
    low, high = float(bounds.tie_low[i, j]), float(bounds.tie_high[i, j])
    # The measure with the expected value under ties: ndcg@10 is ndcg(ties=average)@10.
    expected = replace(make(spec.name, spec.k, {**dict(spec.params), "ties": "average"}), share=spec.share)
    note = words(
        f"compare.bounds.{'ties_average' if takes_ties else 'ties'}", measure=spec, system=bounds.systems[i],
        moved=number(high - low, 3), ends=ends(low, high), mass=percent(float(bounds.tie_mass[i, j])),
        **({"spec": expected} if takes_ties else {}),
    )  # fmt: skip
    if len(moved) == 1:
        return [note]
    return [note + (" " if words.code == "en" else "") + words("compare.bounds.ties_more", n=len(moved) - 1)]
