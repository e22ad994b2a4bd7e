"""Systems compared in pairs by a language model, in words and tables."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from steelyard.base.result import Shown
from steelyard.experiment.preferences import PairwisePlan, Preferences
from steelyard.reports.views.judging import call_notes
from steelyard.reports.views.numbers import count, number, percent, signed
from steelyard.reports.views.view import Block, Look, Paragraph, Section, Sheet, Text, View
from steelyard.reports.words import Words

_ROWS = 6
"""Rows of a table on a brief screen."""


def _head(result: Preferences, words: Words) -> str:
    """Who is preferred to whom, or that nothing is shown, of the strongest and the next one."""
    first, second = result.strengths["system"].to_list()[:2]
    rows = result.frame.rows(named=True)
    row = next(row for row in rows if {row["first"], row["second"]} == {first, second})
    sign = 1 if row["first"] == first else -1
    ends = sorted([sign * row["difference_low"], sign * row["difference_high"]])
    won, lost = (row["won"], row["lost"]) if sign > 0 else (row["lost"], row["won"])
    if row["n"] == 0:
        return words("preferences.nothing")
    key = "preferred" if ends[0] > 0 else "behind" if ends[1] < 0 else "open"
    return words(
        f"preferences.{key}", first=first, second=second, won=percent(won), tied=percent(row["tied"]),
        lost=percent(lost), difference=signed(sign * row["difference"], 3), low=signed(ends[0], 3),
        high=signed(ends[1], 3), n=row["n"],
    )  # fmt: skip


def _notes(result: Preferences, words: Words) -> Iterator[str]:
    bias, n = result.bias, len(result.judged)
    if not math.isnan(bias.value):
        yield words(
            "preferences.bias", bias=signed(bias.value, 3), low=signed(bias.low, 3), high=signed(bias.high, 3),
            n=result.n_turned, total=n,
        )  # fmt: skip
    if causes := result.not_judged:
        listed = [words("judging.cause", cause=cause, number=f"{n:,}") for cause, n in causes.items()]
        yield words("preferences.not_judged", causes=words.listed(listed))
    yield from call_notes(result.recipe, words)
    if file := result.recipe.get("file"):
        yield words("judging.note.file", file=str(file))


def _strengths(result: Preferences, words: Words, most: int | None = None) -> Sheet:
    header = [words(f"preferences.head.{key}") for key in ("system", "strength", "interval", "share")]
    rows = [
        [row["system"], signed(row["strength"], 3), _ends(row, "strength"), percent(row["share"])]
        for row in result.strengths.head(most or len(result.systems)).rows(named=True)
    ]  # fmt: skip
    return Sheet(header, rows)


def _pairs(result: Preferences, words: Words, most: int | None = None) -> Sheet:
    keys = ("first", "second", "n", "won", "tied", "lost", "difference", "interval")
    header = [words(f"preferences.head.{key}") for key in keys]
    rows = [
        [row["first"], row["second"], count(row["n"]), *(percent(row[key]) for key in ("won", "tied", "lost")),
         signed(row["difference"], 3), _ends(row, "difference")]
        for row in result.frame.head(most or len(result.frame)).rows(named=True)
    ]  # fmt: skip
    return Sheet(header, rows)


def _ends(row: Mapping[str, Any], name: str) -> str:
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    return "–" if low is None or math.isnan(low) else f"[{signed(low, 3)}, {signed(high, 3)}]"


def _brief(result: Preferences, look: Look) -> Iterator[Block]:
    words = look.words
    yield Text(_head(result, words), "bold")
    several = len(result.systems) > 2
    yield (_strengths if several else _pairs)(result, words, _ROWS)
    yield Text("\n".join(_notes(result, words)))


def _sections(result: Preferences, look: Look) -> list[Section]:
    words = look.words
    texts = [Paragraph(text) for text in (_head(result, words), *_notes(result, words))]
    return [
        Section("pairs", words("preferences.title"), texts, [_pairs(result, words)]),
        Section("strengths", words("preferences.strengths"), [], [_strengths(result, words)]),
    ]


def _data(result: Preferences, words: Words) -> dict[str, Any]:
    return {
        "systems": result.systems, "pairs": result.frame.to_dicts(), "strengths": result.strengths.to_dicts(),
        "bias": asdict(result.bias), "n_turned": result.n_turned, "not_judged": result.not_judged,
        "choices": result.choices.to_dicts(), "recipe": result.recipe,
    }  # fmt: skip


def _plan_section(plan: PairwisePlan, words: Words) -> Section:
    counts = {"preferences.plan.comparisons": plan.n_comparisons, "preferences.plan.asked": plan.n_asked}
    counts |= {f"judging.plan.{key}": getattr(plan, name) for key, name in (
        ("calls", "n_calls"), ("cached", "n_cached"), ("tokens_in", "tokens_in"), ("tokens_out", "tokens_out"),
    )}  # fmt: skip
    cost = words("judging.plan.no_price") if plan.cost_usd is None else f"${number(plan.cost_usd, 4)}"
    rows = [*([words(key), count(n)] for key, n in counts.items()), [words("judging.plan.cost"), cost]]
    header = [words("judging.head.counted"), words("judging.head.n")]
    notes = [words("judging.plan.nothing"), words("judging.plan.estimate")]
    return Section("plan", words("preferences.plan.title"), [], [Sheet(header, rows, notes=notes)])


VIEWS: dict[type[Shown], View[Any]] = {
    Preferences: View[Preferences](
        "preferences", blocks=_sections, brief=_brief, data=_data, rows=lambda result: result.frame,
    ),
    PairwisePlan: View[PairwisePlan](
        "a plan of comparisons", blocks=lambda plan, look: [_plan_section(plan, look.words)],
        data=lambda plan, words: asdict(plan), has_parts=True,
    ),
}  # fmt: skip
