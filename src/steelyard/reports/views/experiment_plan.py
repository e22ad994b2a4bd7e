"""The plan of an A/B test: the answer, a row a length with what it can show, guardrails, and the declaration."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import date
from typing import Any

from steelyard.abtests.planning import ExperimentPlan, PlannedGuardrail, PlannedLength
from steelyard.reports.views.cautions import careful
from steelyard.reports.views.numbers import amount, count, percent, significant
from steelyard.reports.views.view import Block, Column, Look, Paragraph, Section, Sheet, Text, headed, sheet_of
from steelyard.reports.visible import single_line
from steelyard.reports.words import Words

_BAR, _WIDEST = "▇", 10
_BRIEF_WEEKS = 6
"""Lengths that a terminal shows."""
_MUCH_KEPT, _MUCH_UNKNOWN = 0.98, 0.02
_FAR = 2.0
"""Times as many days as the logs hold, beyond which a plan is a guess."""


def lengths_sheet(plan: ExperimentPlan, words: Words, rows: Sequence[PlannedLength] | None = None) -> Sheet:
    """A row a length: users, the smallest difference that one look and many looks show, and the power.

    rows   of the plan, all by default
    """
    shown = plan.lengths if rows is None else rows
    widest = max(row.detectable for row in shown)
    columns = headed(
        words,
        "ab_plan.head",
        ("days", lambda row: _days_text(plan, row, words)),
        ("users", lambda row: significant(row.users)),
        ("fixed", lambda row: difference_text(plan, row.detectable)),
        ("always_valid", lambda row: difference_text(plan, row.always_valid)),
        ("power", lambda row: percent(row.power)),
    )
    columns.append(Column("", lambda row: _BAR * max(round(_WIDEST * row.detectable / widest), 1)))
    return replace(sheet_of(shown, columns), spare=[5, 3])


def _days_text(plan: ExperimentPlan, row: PlannedLength, words: Words) -> str:
    text = count(row.days) if row.is_measured else words("ab_plan.beyond", days=count(row.days))
    return words("ab_plan.planned", days=text) if row.days == plan.days else text


def difference_text(plan: ExperimentPlan, difference: float) -> str:
    """A difference as it was asked for: a share of the baseline, or a number."""
    if plan.is_relative:
        return percent(difference / abs(plan.baseline), 1)
    return amount(difference)


def answer_text(plan: ExperimentPlan, words: Words) -> str:
    """How many users and days show the difference, or that a year does not."""
    facts = {
        "metric": single_line(plan.metric), "difference": difference_text(plan, plan.difference),
        "baseline": amount(plan.baseline), "power": percent(plan.power), "days": count(plan.days),
        "users": count(plan.users), "weeks": count(None if plan.days is None else plan.days // 7),
    }  # fmt: skip
    if plan.days is None:
        month, year = (difference_text(plan, _shown(plan, plan.lengths[place])) for place in (3, -1))
        return words("ab_plan.never_margins" if plan.guardrails else "ab_plan.never", **facts, month=month, year=year)
    return words("ab_plan.answer" if plan.analysis == "fixed" else "ab_plan.answer_always_valid", **facts)


def _shown(plan: ExperimentPlan, row: PlannedLength) -> float:
    return row.detectable if plan.analysis == "fixed" else row.always_valid


def guardrails_sheet(plan: ExperimentPlan, words: Words) -> Sheet:
    """A row a guardrail: its margin, the days that rule it out, and what the planned days rule out."""

    def margin(row: PlannedGuardrail, number: float) -> str:
        return f"{amount(number)} ({percent(number / abs(row.value), 1)})" if row.value else amount(number)

    columns = headed(
        words,
        "ab_plan.head",
        ("guardrail", lambda row: single_line(row.metric)),
        ("value", lambda row: amount(row.value)),
        ("margin", lambda row: margin(row, row.margin)),
        ("margin_days", lambda row: words("ab_plan.year") if row.days is None else count(row.days)),
        ("ruled_out", lambda row: margin(row, row.detectable)),
    )
    return sheet_of(plan.guardrails, columns)


def _notes(plan: ExperimentPlan, words: Words) -> Iterator[str]:
    """What the pre-period saves, how the other analysis compares, and how all of it was computed."""
    if plan.n_before and plan.variance_kept < _MUCH_KEPT:
        yield words("ab_plan.cuped", saved=percent(1 - plan.variance_kept), days=plan.n_before)
    row = plan.planned
    if row.needed and row.needed_always_valid:
        more = percent(row.needed_always_valid / row.needed - 1)
        yield words("ab_plan.more_looks", more=more)


def _method_notes(plan: ExperimentPlan, words: Words) -> Iterator[str]:
    yield words("ab_plan.detectable", power=percent(plan.power), alpha=f"{plan.alpha:g}")
    yield words("ab_plan.from_logs" if plan.n_days else "ab_plan.from_numbers", days=plan.n_days)
    if len(plan.arms) > 2:
        yield words("ab_plan.arms", n=len(plan.arms) - 1, alpha=f"{plan.alpha / (len(plan.arms) - 1):.2g}")
    if plan.guardrails:
        yield words("ab_plan.guardrails")


def _cautions(plan: ExperimentPlan, words: Words) -> Iterator[str]:
    """What endangers the plan, the gravest first."""
    if plan.n_days and plan.planned.days > _FAR * plan.n_days:
        yield words("ab_plan.far", days=count(plan.planned.days), n=plan.n_days)
    elif not plan.planned.is_measured:
        yield words("ab_plan.beyond_logs", n=plan.n_days)
    if plan.n_unknown > _MUCH_UNKNOWN * plan.n_requests:
        share = percent(plan.n_unknown / plan.n_requests)
        yield words("ab_plan.unknown", share=share, unit=words(f"ab_plan.unit.{plan.unit}"))
    if plan.n_days and not plan.n_before and plan.declaration["before"] not in ("0d", "0"):
        yield words("ab_plan.no_before", before=plan.declaration["before"], n=plan.n_days)


def brief_plan(plan: ExperimentPlan, look: Look) -> Iterator[Block]:
    """The answer, some lengths, guardrails, and what to be careful with."""
    words = look.words
    yield Text(answer_text(plan, words), "bold")
    yield replace(
        lengths_sheet(plan, words, _around(plan)), notes=[*_notes(plan, words), *careful(_cautions(plan, words), look)]
    )
    if plan.guardrails:
        yield guardrails_sheet(plan, words)


def _around(plan: ExperimentPlan) -> list[PlannedLength]:
    """The first four weeks and the last two, with the planned one; fewer where there are not as many."""
    rows = list(plan.lengths)
    return rows if len(rows) <= _BRIEF_WEEKS else [*rows[: _BRIEF_WEEKS - 2], *rows[-2:]]


def plan_sections(plan: ExperimentPlan, look: Look) -> list[Section]:
    """The answer with all lengths, and guardrails, with everything that is known of them."""
    words = look.words
    notes = [*_notes(plan, words), *_cautions(plan, words), *_method_notes(plan, words)]
    answer = Paragraph(answer_text(plan, words))
    lengths = lengths_sheet(plan, words)
    if look.format == "html":
        lengths = Sheet(lengths.header[:-1], [row[:-1] for row in lengths.rows])
    title = words("ab_plan.title", metric=single_line(plan.metric))
    sections = [Section("plan", title, [answer], [replace(lengths, notes=notes)])]
    if plan.guardrails:
        sections.append(Section("guardrails", words("ab_plan.guardrails_title"), [], [guardrails_sheet(plan, words)]))
    header = [words("ab_plan.head.setting"), words("ab_plan.head.setting_value")]
    declared = Sheet(header, [[key, _toml(value)] for key, value in plan.declaration.items()])
    paragraphs = [Paragraph(words("ab_plan.register"))]
    sections.append(Section("declaration", words("ab_plan.declaration_title"), paragraphs, [declared]))
    return sections


def plan_data(plan: ExperimentPlan, words: Words) -> dict[str, Any]:
    """Everything as data."""
    names = (
        "metric", "baseline", "difference", "is_relative", "analysis", "alpha", "power", "arms", "unit", "days",
        "users", "variance_kept", "n_days", "n_before", "n_requests", "n_unknown",
    )  # fmt: skip
    return {
        **{name: getattr(plan, name) for name in names},
        "lengths": plan.frame.to_dicts(),
        "guardrails": [asdict(own) for own in plan.guardrails],
        "declaration": plan.declaration,
        "in_words": answer_text(plan, words),
    }


def declaration_text(plan: ExperimentPlan, words: Words) -> str:
    """experiment.toml: the declaration of the planned test, which `steelyard ab register` takes."""
    lines = [f"# {words('ab_plan.declaration')}"]
    for key, value in plan.declaration.items():
        if key not in ("arms", "guardrail"):
            lines.append(f"{key} = {_toml(value)}")
    lines += ["", "[arms]", *(f"{_toml(arm)} = {_toml(share)}" for arm, share in plan.declaration["arms"].items())]
    for table in plan.declaration.get("guardrail", ()):
        lines += ["", "[[guardrail]]", *(f"{key} = {_toml(value)}" for key, value in table.items())]
    return "\n".join(lines) + "\n"


def _toml(value: object) -> str:
    """A value as TOML writes it; a text as a basic string.

    >>> _toml("50%"), _toml([{"a": 1}]), _toml(date(2026, 10, 5))
    ('"50%"', '[{"a" = 1}]', '2026-10-05')
    """
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{_toml(key)} = {_toml(part)}' for key, part in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
