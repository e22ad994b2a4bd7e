"""An A/B test on a terminal and in files: its decision, effects, guardrails, checks, days and segments."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from steelyard.abtests.experiment import Check, Decision, Effect, EffectVerdict, Experiment
from steelyard.reports.views.cautions import careful
from steelyard.reports.views.experiment_words import (
    cautions,
    change_text,
    change_texts,
    check_text,
    check_title,
    count_text,
    day_text,
    declaration_text,
    facts_text,
    is_relative,
    metric_text,
    outcome_text,
    reason_texts,
    segment_text,
    size_text,
    value_text,
    values_text,
)
from steelyard.reports.views.logs import troubles_sheet
from steelyard.reports.views.numbers import count, number, p_text
from steelyard.reports.views.picture import Course, Intervals, Kind, Mark, described
from steelyard.reports.views.view import Block, Column, Look, Paragraph, Section, Sheet, Text, sheet_of
from steelyard.reports.visible import single_line
from steelyard.reports.words import Words

_MOST_ROWS, _MOST_ORIGINS, _MOST_REASONS = 8, 5, 4
_SHOWN = {
    "effects": "metric arm role baseline value change interval margin p verdict",
    "days": "day metric arm n change interval running",
    "segments": "segment metric arm n baseline value change interval p verdict",
    "methods": "metric arm n detectable method details",
}
"""Columns of each sheet of effects, by name."""
_OPTIONAL, _SPARE = ("margin", "detectable", "details"), ("p", "role", "margin", "baseline")
_KINDS: Mapping[EffectVerdict, Kind] = {
    "better": "better", "worse": "worse", "broken": "worse", "not_worse": "plain", "unclear": "unclear",
    "none": "unclear",
}  # fmt: skip


def title_text(experiment: Experiment, words: Words) -> str:
    """What to do with each arm."""
    return words("scores.between").join(outcome_text(decision, words) for decision in experiment.decisions)


def is_blocked(experiment: Experiment) -> bool:
    """Whether checks take every verdict."""
    return all(decision.outcome == "blocked" for decision in experiment.decisions)


# Tables --------------------------------------------------------------------------------------------------------------


def _columns(experiment: Experiment, words: Words) -> dict[str, Column[Effect]]:
    """Columns of effects by name; those of the values are headed by the arms, where there are two."""
    running = {(effect.metric, effect.arm, effect.day): effect for effect in experiment.running}

    def interval(effect: Effect) -> str:
        _, low, high = change_texts(effect)
        return "–" if low == "–" else words("ab.to", low=low, high=high)

    def verdict(effect: Effect) -> str:
        """Of a metric without a direction, a difference that is shown is neither better nor worse."""
        is_due = experiment.analysis == "always-valid" or experiment.n_days >= experiment.horizon
        is_shown = is_due and effect.better == "either" and effect.adjusted < experiment.alpha
        return "differs" if is_shown else effect.verdict

    def up_to(effect: Effect) -> str:
        own = running.get((effect.metric, effect.arm, effect.day))
        return "–" if own is None else change_text(own, words)

    cells: dict[str, Callable[[Effect], str]] = {
        "metric": metric_text,
        "arm": lambda effect: single_line(effect.arm),
        "role": lambda effect: words(f"ab.role.{effect.role}"),
        "segment": lambda effect: single_line(effect.segment),
        "day": lambda effect: day_text(experiment, effect.day or 0),
        "n": lambda effect: count(effect.n_baseline + effect.n),
        "baseline": lambda effect: values_text(effect)[0],
        "value": lambda effect: values_text(effect)[1],
        "change": lambda effect: change_texts(effect)[0],
        "interval": interval,
        "running": up_to,
        "margin": lambda effect: size_text(effect, effect.margin),
        "p": lambda effect: p_text(effect.adjusted),
        "verdict": lambda effect: words(f"ab.verdict.{verdict(effect)}"),
        "detectable": lambda effect: size_text(effect, effect.detectable),
        "method": lambda effect: method_text(effect, words),
        "details": lambda effect: details_text(effect, words),
    }
    heads = dict(zip(("baseline", "value"), map(single_line, experiment.arms), strict=False))
    if len(experiment.arms) > 2:
        heads = {}
    return {
        name: Column(heads.get(name) or words(f"ab.head.{name}"), cell, optional=name in _OPTIONAL)
        for name, cell in cells.items()
    }


def _sheet(experiment: Experiment, effects: Sequence[Effect], words: Words, kind: str) -> Sheet:
    """A row an effect: no arm where there is one, no role where all have one, no verdict where checks take it."""
    columns = _columns(experiment, words)
    hidden = {
        "arm": len(experiment.arms) == 2, "verdict": is_blocked(experiment),
        "role": len({effect.role for effect in effects}) == 1,
    }  # fmt: skip
    shown = [name for name in _SHOWN[kind].split() if not hidden.get(name)]
    sheet = sheet_of(
        effects, [columns[name] for name in shown], n_labels=shown.index("arm" if "arm" in shown else "metric") + 1
    )
    heads = [columns[name].head for name in _SPARE]
    return replace(sheet, spare=[sheet.header.index(head) for head in heads if head in sheet.header])


def effects_sheet(experiment: Experiment, effects: Sequence[Effect], words: Words) -> Sheet:
    """A row a metric and arm: both values, the difference, what a guardrail allows, and the verdict."""
    return _sheet(experiment, effects, words, "effects")


def method_text(effect: Effect, words: Words) -> str:
    """How an effect was computed; of a confidence sequence, what it is of, too."""
    return str(value_text("method", [effect.method, *filter(None, [effect.details.get("method")])], words))


def details_text(effect: Effect, words: Words) -> str:
    """What else is known of how an effect was computed: counts, numbers, and counts of both arms."""

    def text(value: Any) -> str:
        if isinstance(value, list | tuple):
            return words.listed([count_text(own) for own in value])
        return number(value, 2) if isinstance(value, float) else count(value)

    details = {name: value for name, value in effect.details.items() if f"ab.detail.{name}" in words}
    texts = [words(f"ab.detail.{name}", value=text(value)) for name, value in details.items()]
    return words("list.semicolon").join(texts) or "–"


def checks_sheet(experiment: Experiment, words: Words) -> Sheet:
    """A row a check: its state, p, and what it says."""
    columns = [
        Column[Check](words("ab.head.check"), lambda check: check_title(check, words)),
        Column[Check](words("ab.head.state"), lambda check: words(f"ab.state.{check.state}")),
        Column[Check](words("ab.head.p_check"), lambda check: p_text(check.p), optional=True),
        Column[Check](words("ab.head.text"), lambda check: check_text(check, experiment, words)),
    ]
    return sheet_of(experiment.checks, columns)


def origin_sheets(experiment: Experiment, words: Words) -> list[Sheet]:
    """Where what a check says comes from: a sheet for each check that is not well and has rows."""
    checks = [
        check
        for check in experiment.checks
        if check.rows and (check.state == "blocks" or (check.state == "careful" and check.code != "declaration"))
    ]
    return [rows_sheet(check, experiment, words) for check in checks]


def rows_sheet(check: Check, experiment: Experiment, words: Words) -> Sheet:
    """The rows of a check."""
    rows = [_cells(row, experiment, words) for row in check.rows]
    names = list(dict.fromkeys(name for row in rows for name in row))
    heads = [words(f"ab.rows.{name}") if f"ab.rows.{name}" in words else single_line(name) for name in names]
    spare = [place for name in ("rest", "apart") for place, own in enumerate(names) if own == name]
    return Sheet(heads, [[row.get(name, "–") for name in names] for row in rows], spare=spare)


def _cells(row: Mapping[str, Any], experiment: Experiment, words: Words) -> dict[str, str]:
    """The cells of a row by name."""
    cells = {
        name: count(value) if isinstance(value, int) else str(value_text(name, value, words))
        for name, value in row.items()
    }
    return cells | ({"segment": segment_text(row["segment"], experiment, words)} if "segment" in row else {})


def excluded_sheet(experiment: Experiment, words: Words) -> Sheet:
    """A row a reason for which units or requests do not count."""
    rows = [[str(value_text("excluded", reason, words)), count(n)] for reason, n in experiment.excluded.items()]
    return Sheet([words("ab.head.reason"), words("ab.head.count")], rows)


def declaration_sheets(experiment: Experiment, words: Words) -> Iterator[Sheet]:
    """Settings that were changed since, and all settings."""
    heads = {name: words(f"ab.head.{name}") for name in ("setting", "then", "now", "value")}
    if experiment.changed:
        rows = [[name, then, now] for name, (then, now) in experiment.changed.items()]
        yield Sheet([heads["setting"], heads["then"], heads["now"]], rows)
    if experiment.declaration:
        yield Sheet([heads["setting"], heads["value"]], [[*row] for row in experiment.declaration.items()])


# On a terminal -------------------------------------------------------------------------------------------------------


def brief_experiment(experiment: Experiment, look: Look) -> Iterator[Block]:
    """The decision with its reasons; a row a metric, or where the data come apart; and the gravest caution."""
    words, between = look.words, look.words("scores.between")
    for decisions, reasons in _alike(experiment, words):
        outcomes = [outcome_text(decision, words) for decision in decisions]
        yield Text(between.join([*outcomes, *reasons[:_MOST_REASONS]]), "bold")
    facts = between.join([facts_text(experiment, words), *_adjusted(experiment.effects, words)])
    notes = [facts, *careful(cautions(experiment, words), look)]
    if is_blocked(experiment):
        rows = origin_sheets(experiment, words)[:1]
        yield replace(rows[0], rows=rows[0].rows[:_MOST_ORIGINS], notes=notes) if rows else Text("\n".join(notes))
        return
    effects, more = experiment.effects[:_MOST_ROWS], len(experiment.effects) - _MOST_ROWS
    below = [words("ab.note.more", n=more)] if more > 0 else []
    yield replace(effects_sheet(experiment, effects, words), notes=[*below, *notes])


# Everything ----------------------------------------------------------------------------------------------------------


def experiment_sections(experiment: Experiment, look: Look) -> list[Section]:
    """The decision with its effects; guardrails, checks, days, segments, methods, what is left out, the declaration."""
    words = look.words
    guardrails = [effect for effect in experiment.effects if effect.role == "guardrail"]
    below, origins = [_effects(experiment, words)], origin_sheets(experiment, words)
    blocked = is_blocked(experiment)
    days, segments, methods = (
        [_sheet(experiment, effects, words, kind)]
        for kind, effects in (
            ("days", experiment.daily), ("segments", experiment.segments), ("methods", experiment.effects)
        )
    )  # fmt: skip
    left_out = [excluded_sheet(experiment, words), troubles_sheet(experiment.troubles, words)]
    parts: dict[str, tuple[str, list[Sheet]]] = {
        "effects": (words("ab.note.blocked"), below if blocked else []),
        "guardrails": (words("ab.note.guardrails"), [effects_sheet(experiment, guardrails, words)]),
        "checks": (words("ab.note.checks"), [checks_sheet(experiment, words), *([] if blocked else origins)]),
        "days": (words("ab.note.days_fixed" if experiment.analysis == "fixed" else "ab.note.days_valid"), days),
        "segments": (words("ab.note.segments"), segments),
        "methods": (words("ab.note.adjusted"), methods),
        "excluded": (words("ab.note.excluded"), left_out),
        "declaration": (declaration_text(experiment, words), list(declaration_sheets(experiment, words))),
    }
    sections = [_decision_section(experiment, words)]
    for name, (text, sheets) in parts.items():
        shown = [replace(sheet, spare=()) for sheet in sheets if sheet.rows]
        if shown or name == "declaration":
            sections.append(Section(name, words(f"ab.title.{name}"), [Paragraph(text)], shown))
    return sections


def _decision_section(experiment: Experiment, words: Words) -> Section:
    """What to do and why, what to be careful with, and the effects; or where the data come apart."""
    texts = [_why(experiment, words), facts_text(experiment, words)]
    texts += [words("brief.careful", listed=text) for text in cautions(experiment, words)]
    sheets = origin_sheets(experiment, words) if is_blocked(experiment) else [_effects(experiment, words)]
    return Section("experiment", title_text(experiment, words), list(map(Paragraph, texts)), sheets)


def _effects(experiment: Experiment, words: Words) -> Sheet:
    """Effects on the metrics that are no guardrails, with how to read them."""
    others = [effect for effect in experiment.effects if effect.role != "guardrail"]
    level = f"{100 * (1 - experiment.alpha):g}%"
    notes = [words("ab.note.intervals", baseline=single_line(next(iter(experiment.arms))), level=level)]
    notes += _adjusted(others, words)
    if experiment.analysis == "always-valid":
        notes.append(words("ab.note.valid"))
    if any(effect.better == "lower" for effect in experiment.effects):
        notes.append(words("ab.lower"))
    return replace(effects_sheet(experiment, others, words), notes=notes, spare=())


def _adjusted(effects: Sequence[Effect], words: Words) -> list[str]:
    """That differences are adjusted, and that Holm's p shows what an interval does not, where some are so."""
    notes = [words("ab.note.beside")] if any("variance_kept" in effect.details for effect in effects) else []
    is_beyond = any(effect.verdict in ("better", "worse") and effect.low <= 0 <= effect.high for effect in effects)
    return [*notes, words("ab.note.stepwise")] if is_beyond else notes


def _alike(experiment: Experiment, words: Words) -> list[tuple[list[Decision], list[str]]]:
    """Decisions with their reasons; those of the same reasons, such as a check that blocks, together."""
    groups = dict[tuple[str, ...], list[Decision]]()
    for decision in experiment.decisions:
        groups.setdefault(tuple(reason_texts(decision, experiment, words)), []).append(decision)
    return [(decisions, list(reasons)) for reasons, decisions in groups.items()]


def _why(experiment: Experiment, words: Words) -> str:
    """The reasons of all decisions; with the arms before them where they differ."""
    between, groups = words("scores.between"), _alike(experiment, words)
    if len(groups) == 1:
        return between.join(groups[0][1])
    return between.join(
        between.join([*(outcome_text(decision, words) for decision in decisions), *reasons])
        for decisions, reasons in groups
    )


# Pictures ------------------------------------------------------------------------------------------------------------


def forest(experiment: Experiment, words: Words) -> Intervals | None:
    """Effects in per cent of the baseline, with what guardrails allow; None without any, and without verdicts."""
    effects = [effect for effect in experiment.effects if is_relative(effect) and not is_blocked(experiment)]
    marks = [_forest_mark(effect, experiment) for effect in effects]
    baseline = single_line(next(iter(experiment.arms)))
    is_lower = any(effect.better == "lower" for effect in effects)
    title = words("ab.chart.forest_lower" if is_lower else "ab.chart.forest", baseline=baseline)
    if not marks:
        return None
    return Intervals(title, described(title, marks, words), marks, line=0.0, scale="differences")


def _forest_mark(effect: Effect, experiment: Experiment) -> Mark:
    arm = f" {single_line(effect.arm)}" if len(experiment.arms) > 2 else ""
    margin = 100 * effect.margin / abs(effect.baseline) * (1 if effect.better == "lower" else -1)
    value, low, high = (100 * end for end in (effect.relative, effect.relative_low, effect.relative_high))
    name, text = metric_text(effect) + arm, change_texts(effect)[0]
    return Mark(name, value, low, high, text, _KINDS[effect.verdict], margin)


def courses(experiment: Experiment, words: Words) -> Iterator[tuple[str, Course]]:
    """Of each metric and arm, with a name: the difference day by day, and that of all days up to each."""
    pairs = dict.fromkeys((effect.metric, effect.arm) for effect in experiment.daily)
    for n, (metric, arm) in enumerate(pairs, 1):
        for name, effects in (("daily", experiment.daily), ("running", experiment.running)):
            own = [effect for effect in effects if (effect.metric, effect.arm) == (metric, arm)]
            if own:
                yield f"{name}-{n}", _course(own, name, experiment, words)


def _course(effects: Sequence[Effect], name: str, experiment: Experiment, words: Words) -> Course:
    in_percent = all(map(is_relative, effects))

    def ends(effect: Effect) -> tuple[float, float, float]:
        if in_percent:
            return 100 * effect.relative, 100 * effect.relative_low, 100 * effect.relative_high
        return effect.difference, effect.low, effect.high

    is_joined, metric = name == "running", metric_text(effects[0])
    if len(experiment.arms) > 2:
        metric = words("ab.of_arm", arm=single_line(effects[0].arm), metric=metric)
    points = [
        Mark(
            day_text(experiment, effect.day or 0),
            *ends(effect),
            change_text(effect, words),
            "plain" if is_joined else _KINDS[effect.verdict],
        )
        for effect in effects
    ]
    title = words(f"ab.chart.{name}", metric=metric)
    if in_percent:
        title = words("ab.chart.percent", title=title, baseline=single_line(next(iter(experiment.arms))))
    return Course(title, described(title, points[-1:], words), points, 0.0, "differences", is_joined)


# Data ----------------------------------------------------------------------------------------------------------------


def experiment_data(experiment: Experiment, words: Words) -> dict[str, Any]:
    """Everything as data; decisions and checks in words, too."""
    return {
        **asdict(experiment),
        "in_words": title_text(experiment, words),
        "arms": [
            {"arm": arm, "share": share, "n": n}
            for (arm, share), n in zip(experiment.arms.items(), experiment.units, strict=True)
        ],
        "decisions": [
            asdict(own) | {"in_words": [outcome_text(own, words), *reason_texts(own, experiment, words)]}
            for own in experiment.decisions
        ],
        "checks": [asdict(own) | {"in_words": check_text(own, experiment, words)} for own in experiment.checks],
        "changed": {name: {"then": then, "now": now} for name, (then, now) in experiment.changed.items()},
    }
