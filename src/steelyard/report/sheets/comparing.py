"""A comparison as sheets, as CSV and as JSON: one sheet for each measure and each segmentation, verdicts in words."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from typing import Any

import numpy as np

from steelyard.comparison.changes import Changes
from steelyard.comparison.comparison import Compared, Comparison, margin_correction
from steelyard.comparison.sensitivity import Sensitivity, moved_by_ties, overlapping
from steelyard.comparison.settings_diff import SettingsDiff
from steelyard.data.segments import LENGTHS, UNTAGGED
from steelyard.measures import Measure, make
from steelyard.report.sheets.changing import changes_json, settings_json, settings_notes, settings_sheet
from steelyard.report.sheets.sheet import Sheet, number
from steelyard.report.words import Words, read_words

_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_MARKS = {"better": "†", "worse": "‡"}


@dataclass(frozen=True)
class Beside:
    """What is told beside a comparison; nothing of it is needed.

    sensitivity   to labels and ties;   labelled   whether documents without a label may be relevant: not where the
                  gold is evidence, which every chunk is held against
    changes       from the baseline to some of the systems
    settings      of the run folders
    by            what segments part the questions by;   bounds   of lengths, as `segments.length_bounds` gives them
    """

    sensitivity: Sensitivity | None = None
    labelled: bool = True
    changes: Sequence[Changes] = ()
    settings: SettingsDiff | None = None
    by: str | None = None
    bounds: Mapping[str, Mapping[str, tuple[int, int]]] | None = None


def sheets(
    comparison: Comparison,
    words: Words | None = None,
    *,
    beside: Beside | None = None,
    relative: bool = False,
    marks: bool = False,
) -> Iterator[Sheet]:
    """One sheet a measure, the first one with what holds for all; then those of segments and of settings.

    words       English by default
    relative   with a column for the difference as a share of the baseline's mean
    marks      † and ‡ at the means of better and worse systems, for a paper; explained in the notes
    """
    words, beside = words or read_words("en"), beside or Beside()
    for position, measure in enumerate(map(str, comparison.measures)):
        made = _sheet(comparison, measure, words, relative=relative, marks=marks)
        if beside.sensitivity is not None:
            made.notes += _bounds(beside.sensitivity, position, words) if beside.labelled else []
            made.notes += _ties(beside.sensitivity, position, words)
        if position == 0:
            made.notes += [*_missing(comparison, words), *_how(comparison, words)]
            made.notes += [words("compare.marks")] if marks else []
            made.notes += settings_notes(beside.settings, words) if beside.settings is not None else []
        yield made
    if comparison.segments and beside.by is not None:
        yield from _segment_sheets(comparison, beside, words)
    if beside.settings is not None and (differing := settings_sheet(beside.settings, words)) is not None:
        yield differing


def _sheet(comparison: Comparison, measure: str, words: Words, *, relative: bool, marks: bool) -> Sheet:
    rows = comparison.rows[measure]
    letters = _group_letters(comparison.groups.get(measure, []))
    columns = {
        "mean": [number(row.mean) + (_MARKS.get(row.verdict, "") if marks else "") for row in rows],
        "difference": [_difference(row) for row in rows],
        **({"relative": [_relative(row) for row in rows]} if relative else {}),
        "interval": [_interval(row, words) for row in rows],
        "p": [_p(row.adjusted) for row in rows],
        "effect": [_effect(row) for row in rows],
        "counts": [_counts(row) for row in rows],
        **({"group": [letters.get(row.system, "") for row in rows]} if letters else {}),
        "verdict": [verdict_text(row, comparison, words) for row in rows],
    }
    best = {(r, 1) for r, row in enumerate(rows) if row.mean == rows[0].mean}
    header = [measure, *(_head(name, comparison, words) for name in columns)]
    cells = [[row.system, *(column[r] for column in columns.values())] for r, row in enumerate(rows)]
    return Sheet(header, cells, best, [*_left_out(comparison, measure, words), *_needed(rows, words)])


def _head(name: str, comparison: Comparison, words: Words) -> str:
    return words(f"compare.head.{name}", level=f"{100 * (1 - comparison.alpha):g}")


def _difference(row: Compared) -> str:
    return "–" if row.verdict == "baseline" or np.isnan(row.difference) else f"{row.difference:+.4f}"


def _relative(row: Compared) -> str:
    change = row.relative.change if row.relative else np.nan
    return "–" if np.isnan(change) else f"{100 * change:+.1f}%"


def _interval(row: Compared, words: Words) -> str:
    return "–" if np.isnan(row.low) else words("compare.interval", low=f"{row.low:+.3f}", high=f"{row.high:+.3f}")


def _p(p: float) -> str:
    return "–" if np.isnan(p) else "<0.001" if p < 0.001 else f"{p:.3f}"


def _effect(row: Compared) -> str:
    return "–" if row.verdict == "baseline" or np.isnan(row.effect) else f"{row.effect:+.2f}"


def _counts(row: Compared) -> str:
    counts = row.counts
    return "–" if row.verdict == "baseline" else f"{counts.n_wins}/{counts.n_ties}/{counts.n_losses}"


def verdict_text(row: Compared, comparison: Comparison, words: Words) -> str:
    """The verdict in words, with what the questions could have shown where they show nothing."""
    n = row.counts.n_wins + row.counts.n_ties + row.counts.n_losses
    margin = "" if comparison.margin is None else f"{comparison.margin:g}"
    key = row.verdict.replace(" ", "_")
    if row.verdict == "no test":
        reason = words(f"compare.reason.{'few' if row.reason == 'few questions' else 'no_spread'}", n=n)
        return words("compare.verdict.no_test", reason=reason)
    if row.verdict == "no difference shown":
        key = "none_shown" if np.isfinite(row.detectable) else "too_few"
        if np.isnan(row.detectable):
            key = "no_difference"
        if row.counts.n_ties == n:
            key = "equal"
    elif row.verdict == "not worse" and row.equivalent:
        key = "equivalent"
    elif (row.verdict == "worse" and row.not_worse) or (row.verdict == "better" and row.equivalent):
        key += "_within"
    return words(f"compare.verdict.{key}", n=n, margin=margin, detectable=f"{row.detectable:.3f}")


def _group_letters(groups: list[list[str]]) -> dict[str, str]:
    """The letters of each system's groups; systems that share one cannot be told apart.

    From the 27th group on there are letters of two characters, and blanks between the letters of a system.
    """
    letters: dict[str, list[str]] = {}
    for position, group in enumerate(groups):
        for system in group:
            letters.setdefault(system, []).append(_letter(position))
    between = "" if len(groups) <= len(_LETTERS) else " "
    return {system: between.join(of_one) for system, of_one in letters.items()}


def _letter(position: int) -> str:
    """a to z, aa, ab, ..., as the columns of a spreadsheet."""
    more, last = divmod(position, len(_LETTERS))
    return (_letter(more - 1) if more else "") + _LETTERS[last]


def _left_out(comparison: Comparison, measure: str, words: Words) -> Iterator[str]:
    if left_out := comparison.left_out[measure]:
        lacking = [words("compare.lacking", system=s, n=n) for s, n in comparison.lacking.get(measure, {}).items()]
        yield words("compare.left_out", n=left_out, compared=comparison.n[measure], listed=words.listed(lacking))


def _missing(comparison: Comparison, words: Words) -> Iterator[str]:
    if comparison.missing:
        listed = [words("compare.missing_of", system=system, n=n) for system, n in comparison.missing.items()]
        yield words("compare.missing", listed=words.listed(listed))


def _needed(rows: Sequence[Compared], words: Words) -> Iterator[str]:
    listed = [
        words("compare.needed_of", system=row.system, number=f"{row.needed:,}")
        for row in rows
        if row.needed is not None
    ]
    if listed:
        yield words("compare.needed", listed=words.listed(listed))


def _how(comparison: Comparison, words: Words) -> Iterator[str]:
    family = _family(comparison, words)
    yield words(
        "compare.baseline", baseline=comparison.baseline, alpha=f"{comparison.alpha:g}", family=family,
        test=words(f"compare.test.{comparison.test}"), correction=_correction(comparison, words), seed=comparison.seed,
    )  # fmt: skip
    yield words("compare.effect")
    yield words("compare.intervals")
    if comparison.groups:
        yield words("compare.letters")
    if comparison.margin is not None:
        method = margin_correction(comparison.correction)
        yield words(
            "compare.margin", margin=f"{comparison.margin:g}", alpha=f"{comparison.alpha:g}",
            correction=words(f"compare.method.{method}"), family=_with_baseline(comparison, None, words),
        )  # fmt: skip
    for each in comparison.agreement:
        figures = {name: f"{getattr(each, name):.2f}" for name in ("kendall", "tau_ap", "rbo", "rbo_p")}
        yield words("compare.agreement", first=each.first, other=each.other, **figures)


def _correction(comparison: Comparison, words: Words) -> str:
    if comparison.correction == "tukey":
        return words("compare.correction.family_wise")
    return words("compare.correction.corrected", name=words(f"compare.method.{comparison.correction}"))


def _family(comparison: Comparison, words: Words) -> str:
    if comparison.test != "tukey":
        return _with_baseline(comparison, None, words)
    s = len(comparison.rows[str(comparison.measures[0])])
    pairs = words("compare.family.pairs", n=s * (s - 1) // 2, systems=s)
    return words("compare.family.each", pairs=pairs) if len(comparison.measures) > 1 else pairs


def _with_baseline(comparison: Comparison, segments: int | None, words: Words) -> str:
    """What a correction covers: comparisons of each system with the baseline, by each measure, in each segment."""
    measures = len(comparison.measures)
    each = len(comparison.rows[str(comparison.measures[0])]) - 1
    kind = "_".join([*(["segments"] if segments else []), *(["measures"] if measures > 1 else [])]) or "baseline"
    n = each * measures * (segments or 1)
    return words(f"compare.family.{kind}", n=n, each=each, measures=measures, segments=segments)


def _bounds(found: Sensitivity, j: int, words: Words) -> list[str]:
    """A warning where labels that nobody has given could change the order of systems."""
    pairs = overlapping(found, j)
    if not pairs:
        return []
    of = {system: i for i, system in enumerate(found.systems)}
    mean, low, high = (column[:, j].tolist() for column in (found.mean, found.low, found.high))
    # The pair highest up the leaderboard, the better system first.
    one, other = max(
        ((a, b) if mean[of[a]] > mean[of[b]] else (b, a) for a, b in pairs),
        key=lambda pair: (mean[of[pair[0]]], mean[of[pair[1]]]),
    )
    named = {"one": one, "one_bounds": f"{low[of[one]]:.3f}–{high[of[one]]:.3f}",
             "other": other, "other_bounds": f"{low[of[other]]:.3f}–{high[of[other]]:.3f}"}  # fmt: skip
    judged = _judged(found, j, words)
    if len(pairs) == 1:
        return [words("compare.bounds.one_pair", judged=judged, **named)]
    s = len(found.systems)
    return [words("compare.bounds.pairs", judged=judged, pairs=len(pairs), all=s * (s - 1) // 2, **named)]


def _judged(found: Sensitivity, j: int, words: Words) -> str:
    spec, shares = found.measures[j], found.judged[:, j]
    name = str(make("judged", spec.depth))
    low, high = _percent(float(np.nanmin(shares)), words), _percent(float(np.nanmax(shares)), words)
    if low == high:
        return words("compare.bounds.judged", name=name, share=low)
    return words("compare.bounds.judged_range", name=name, low=low, high=high)


def _percent(share: float, words: Words) -> str:
    return words("compare.bounds.percent", number=f"{100 * share:.0f}")


def _ties(found: Sensitivity, j: int, words: Words) -> list[str]:
    """A warning where the order of tied documents moves a mean: the system that it moves most, and how many more."""
    spec, moved = found.measures[j], moved_by_ties(found, j)
    takes = "ties" in spec.definition.parameters
    if not moved or (takes and spec.param("ties") == "average"):
        return []
    rows = [list(found.systems).index(system) for system in moved]
    i = max(rows, key=lambda row: float(found.tie_high[row, j] - found.tie_low[row, j]))
    low, high = float(found.tie_low[i, j]), float(found.tie_high[i, j])
    advice = {"spec": _averaged(spec)} if takes else {}
    said = words(
        f"compare.bounds.{'ties_average' if takes else 'ties'}", measure=spec, system=found.systems[i],
        moved=f"{high - low:.3f}", low=f"{low:.3f}", high=f"{high:.3f}",
        mass=_percent(float(found.tie_mass[i, j]), words), **advice,
    )  # fmt: skip
    more = words("compare.bounds.ties_more", n=len(moved) - 1) if len(moved) > 1 else ""
    return [f"{said} {more}".strip() if words.code == "en" else said + more]


def _averaged(spec: Measure) -> Measure:
    """The measure with the expected value under ties: ndcg@10 is ndcg(ties=average)@10."""
    return make(spec.name, spec.k, {**dict(spec.params), "ties": "average"})


def _segment_sheets(comparison: Comparison, beside: Beside, words: Words) -> Iterator[Sheet]:
    """One sheet a measure, a row a segment and system; the first with what holds for all."""
    several = len(comparison.rows[str(comparison.measures[0])]) > 2
    for position, measure in enumerate(map(str, comparison.measures)):
        rows = [
            (name, found, row)
            for name, found in comparison.segments.items()
            for row in found.rows[measure]
            if row.verdict != "baseline"
        ]
        names = ["questions", "difference", "interval", "p", "counts", "detectable"]
        title = words("compare.segments.title", measure=measure, by=words(f"compare.by.{beside.by}"))
        header = [title, *(_head(name, comparison, words) for name in [*names, "verdict"])]
        cells = [
            [segment_text(name, beside.by, words) + (f" · {row.system}" if several else ""), str(found.n[measure]),
             _difference(row), _interval(row, words), _p(row.adjusted), _counts(row), _detectable(row),
             _short_verdict(row, found, words)]
            for name, found, row in rows
        ]  # fmt: skip
        notes = list(_segment_notes(comparison, beside, words)) if position == 0 else []
        if any(row.verdict == "no test" for _, _, row in rows):
            notes.append(words("compare.segments.no_test"))
        yield Sheet(header, cells, set(), notes)


def _detectable(row: Compared) -> str:
    return f"{row.detectable:.3f}" if np.isfinite(row.detectable) else "–"


def _short_verdict(row: Compared, comparison: Comparison, words: Words) -> str:
    """The verdict without its figures, which have columns of their own."""
    short = {"no difference shown": "no_difference", "no test": "untested"}
    key = short.get(row.verdict)
    return words(f"compare.verdict.{key}") if key else verdict_text(row, comparison, words)


def segment_text(name: str, by: str | None, words: Words) -> str:
    """The name of a segment for a reader; a tag is its own name."""
    if by == "tag" and name != UNTAGGED:
        return name
    return words(f"compare.segment.{name.strip('()')}")


def _segment_notes(comparison: Comparison, beside: Beside, words: Words) -> Iterator[str]:
    first = next(iter(comparison.segments.values()))
    yield words(
        "compare.segments.how", test=words(f"compare.test.{first.test}"), alpha=f"{first.alpha:g}",
        correction=words(f"compare.method.{first.correction}"),
        family=_with_baseline(first, len(comparison.segments), words),
    )  # fmt: skip
    if beside.by == "tag":
        yield words("compare.segments.tag")
    if beside.bounds:
        listed = words("compare.segments.between").join(_lengths(beside.bounds, words))
        yield words("compare.segments.bounds", listed=listed)


def _lengths(bounds: Mapping[str, Mapping[str, tuple[int, int]]], words: Words) -> Iterator[str]:
    """What the short, medium and long questions of each language are."""
    for code, of in bounds.items():
        listed = [
            words("compare.segments.of_length", name=words(f"compare.segment.{length}"), fewest=of[length][0],
                 most=of[length][1])
            for length in LENGTHS if length in of
        ]  # fmt: skip
        named = words(f"compare.segment.{code}")
        yield words("compare.segments.of_language", language=named, listed=words("list.comma").join(listed))


def as_csv(comparison: Comparison) -> str:
    """One row for each measure and system, then the same of each segment; full precision, words in English."""
    words = read_words("en")
    made = []
    for segment, part in [("", comparison), *comparison.segments.items()]:
        for measure, rows in part.rows.items():
            letters = _group_letters(part.groups.get(measure, []))
            made += [
                {"measure": measure, **_row(row, part, words), "group": letters.get(row.system), "segment": segment}
                for row in rows
            ]
    out = StringIO()
    writer = csv.DictWriter(out, list(made[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(made)
    return out.getvalue()


def as_json(comparison: Comparison, *, beside: Beside | None = None) -> str:
    """Everything, numbers in full precision, null where there is none; words in English, whatever the locale."""
    beside = beside or Beside()
    made: dict[str, Any] = {
        "baseline": comparison.baseline,
        "test": comparison.test,
        "correction": comparison.correction,
        "family": comparison.family,
        "alpha": comparison.alpha,
        "margin": comparison.margin,
        "seed": comparison.seed,
        "missing": dict(comparison.missing),
        "measures": _measures(comparison),
        "agreement": [
            {"first": each.first, "other": each.other, "kendall": _finite(each.kendall), "tau_ap": _finite(each.tau_ap),
             "rbo": _finite(each.rbo), "rbo_p": each.rbo_p}
            for each in comparison.agreement
        ],
        "segments": _segments_json(comparison, beside),
        "sensitivity": None if beside.sensitivity is None else _sensitivity_json(beside.sensitivity, beside.labelled),
        "changes": [changes_json(each) for each in beside.changes],
        "settings": None if beside.settings is None else settings_json(beside.settings),
        "recipe": comparison.recipe,
    }  # fmt: skip
    return json.dumps(made, ensure_ascii=False, indent=2, allow_nan=False) + "\n"


def _measures(comparison: Comparison) -> dict[str, Any]:
    words = read_words("en")
    return {
        measure: {
            "questions": comparison.n[measure],
            "left_out": comparison.left_out[measure],
            "lacking": dict(comparison.lacking.get(measure, {})),
            "systems": [_row(row, comparison, words) for row in rows],
            "groups": comparison.groups.get(measure),
        }
        for measure, rows in comparison.rows.items()
    }


def _row(row: Compared, comparison: Comparison, words: Words) -> dict[str, Any]:
    numbers = {name: getattr(row, name) for name in ("mean", "difference", "low", "high", "p", "adjusted", "effect")}
    relative = row.relative
    numbers |= {"detectable": row.detectable}
    return {
        "system": row.system,
        **{name: _finite(value) for name, value in numbers.items()},
        "won": row.counts.n_wins,
        "tied": row.counts.n_ties,
        "lost": row.counts.n_losses,
        "verdict": row.verdict,
        "in_words": verdict_text(row, comparison, words),
        "not_worse": row.not_worse,
        "equivalent": row.equivalent,
        "relative": _finite(relative.change) if relative else None,
        "relative_low": _finite(relative.low) if relative else None,
        "relative_high": _finite(relative.high) if relative else None,
        "needed": row.needed,
    }


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _segments_json(comparison: Comparison, beside: Beside) -> dict[str, Any] | None:
    if not comparison.segments:
        return None
    first = next(iter(comparison.segments.values()))
    return {
        "by": beside.by,
        "test": first.test,
        "correction": first.correction,
        "family": first.family,
        "lengths": beside.bounds,
        "parts": {name: {"measures": _measures(part)} for name, part in comparison.segments.items()},
    }


def _sensitivity_json(found: Sensitivity, labelled: bool) -> dict[str, Any]:
    names = [*(["low", "high", "judged"] if labelled else []), "tie_mass", "tie_low", "tie_high"]
    return {
        str(measure): {
            system: {name: _finite(getattr(found, name)[i, j]) for name in names}
            for i, system in enumerate(found.systems)
        }
        for j, measure in enumerate(found.measures)
    }
