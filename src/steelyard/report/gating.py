"""A gate's result in words: for a terminal, for the job page of a CI, and one line for a log."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator

from steelyard.gates.gating import Check, Gate
from steelyard.report.formats import SHEET_FORMATS
from steelyard.report.rating import interval_text, text_in, value_text
from steelyard.report.sheet import Sheet, number
from steelyard.report.words import Words

_OUTCOMES = ("pass", "fail", "insufficient")


def gate_text(gate: Gate, lang: Words, *, width: int | None = None, colour: bool = False) -> str:
    """For a terminal: what was judged by, a table a system, why a check did not pass, and the outcome of each."""
    tables = [SHEET_FORMATS["table"](sheet, width=width, colour=colour) for sheet in gate_sheets(gate, lang)]
    lines = [outcome_line(gate, system, lang) for system in gate.systems]
    return "\n".join([heading(gate, lang), "", *tables, *lines]) + "\n"


def gate_markdown(gate: Gate, lang: Words) -> str:
    """For a CI's job page: the outcome as heading, then a table a system with the reason of each check.

    Readable without colour; GitHub shows what is written to the file that GITHUB_STEP_SUMMARY names.
    """
    result = lang("gate.result", outcome=lang(f"gate.outcome.{gate.outcome}"))
    parts = [f"## {result}\n", f"{_escaped(heading(gate, lang))}\n"]
    for sheet, system in zip(gate_sheets(gate, lang, reasons_in_rows=True), gate.systems, strict=True):
        parts += [f"**{_escaped(outcome_line(gate, system, lang))}**\n", SHEET_FORMATS["markdown"](sheet)]
    return "\n".join(parts)


def _escaped(text: str) -> str:
    return "".join(f"\\{character}" if character in "\\*_`[]<>" else character for character in text).replace("\n", " ")


def gate_sheets(gate: Gate, lang: Words, *, reasons_in_rows: bool = False) -> list[Sheet]:
    """One sheet a system, a row a check; the notes say why, but for checks that passed, unless the rows say it."""
    names = ["outcome", "value", "interval", "wanted", *(["reason"] if reasons_in_rows else [])]
    header = [lang(f"gate.head.{name}") for name in names]
    made = []
    for system in gate.systems:
        checks = [check for check in gate.checks if check.system == system]
        rows = [[check_name(check, lang), lang(f"gate.outcome.{check.outcome}"), _value(check, gate), _interval(check),
                 wanted_text(check, lang)] for check in checks]  # fmt: skip
        if reasons_in_rows:
            rows = [[*row, reason_text(check, gate, lang)] for row, check in zip(rows, checks, strict=True)]
        failed = {(r, 1) for r, check in enumerate(checks) if check.outcome == "fail"}
        notes = [] if reasons_in_rows else list(_reasons(checks, gate, lang))
        first = lang("gate.head.check") if reasons_in_rows else system
        made.append(Sheet([first, *header], rows, failed, [*notes, *_left_out(checks, lang)]))
    if made:
        made[-1].notes += list(_notes(gate, lang))
    return made


def _reasons(checks: list[Check], gate: Gate, lang: Words) -> Iterator[str]:
    for check in checks:
        if check.outcome == "insufficient" or (check.outcome == "fail" and check.kind != "share"):
            yield lang("gate.reasons", name=check_name(check, lang), reason=reason_text(check, gate, lang))


def _left_out(checks: list[Check], lang: Words) -> Iterator[str]:
    """How many questions have no partner, once for measures that are alike in it."""
    alike: dict[tuple[int, tuple[int, int]], list[Check]] = {}
    for check in checks:
        if any(check.left_out):
            alike.setdefault((check.n, check.left_out), []).append(check)
    for (n, (here, there)), of in alike.items():
        names = lang.listed(list(dict.fromkeys(check.name for check in of)))
        yield lang("gate.left_out", name=names, n=n, here=here, there=there, system=of[0].system)


def _notes(gate: Gate, lang: Words) -> Iterator[str]:
    if any(check.kind == "baseline" for check in gate.checks):
        yield lang("gate.intervals", level=f"{100 * (1 - 2 * gate.alpha):g}", alpha=f"{gate.alpha:g}")
    if gate.other_truth:
        yield lang("gate.other_truth")
    if gate.not_judged is not None:
        measure, least = gate.not_judged
        yield lang("gate.not_judged", measure=measure, least=f"{least:.3g}" if least >= 10 else _share(least))


def heading(gate: Gate, lang: Words) -> str:
    """What was judged by: profile, level, baseline and margin."""
    parts = [lang("gate.title")]
    if gate.profile is not None:
        title = text_in(gate.profile.title, lang)
        name = lang("gate.titled", name=gate.profile.name, title=title) if title else gate.profile.name
        if gate.level is None:
            parts.append(lang("gate.by_profile", profile=name))
        else:
            parts.append(lang("gate.by_level", profile=name, level=_level(gate.level, lang)))
    if gate.baselines:
        names = lang.listed(list(dict.fromkeys(gate.baselines.values())))
        if gate.margin is None:
            parts.append(lang("gate.by_baseline", baseline=names))
        else:
            parts.append(lang("gate.by_baseline_margin", baseline=names, margin=f"{gate.margin:g}"))
    return " · ".join(parts)


def outcome_line(gate: Gate, system: str, lang: Words) -> str:
    """The outcome of one system, with how many checks passed, failed and lack data."""
    counts = Counter[str](check.outcome for check in gate.checks if check.system == system)
    worst = next(name for name in ("fail", "insufficient", "pass") if counts[name])
    told = [lang(f"gate.counts.{name}", n=counts[name]) for name in _OUTCOMES if counts[name]]
    return lang(
        "gate.line", system=system, outcome=lang(f"gate.outcome.{worst}"), counts=lang("list.comma").join(told)
    )  # fmt: skip


def check_name(check: Check, lang: Words) -> str:
    """What a check is called in a table."""
    return lang(f"gate.name.{check.name if check.kind == 'share' else check.kind}", name=check.name)


def wanted_text(check: Check, lang: Words) -> str:
    """What a check asks for: "≥ 0.7 (minimum)", "> -0.01", "≤ 5%"."""
    higher = check.better == "higher"
    if check.kind == "level":
        sign = "≥" if higher else "≤"
        return lang("gate.wanted.level", sign=sign, limit=_limit(check), level=_level(check.level or "", lang))
    if check.kind == "baseline":
        return lang("gate.wanted.bound", sign=">" if higher else "<", limit=f"{'-' if higher else '+'}{_limit(check)}")
    return lang("gate.wanted.bound", sign="≥" if higher else "≤", limit=_limit(check))


def reason_text(check: Check, gate: Gate, lang: Words) -> str:
    """Why a check came out as it did, as half a sentence without a full stop."""
    family: str = check.kind
    if check.n == 0 and _is_given(check, gate):
        family = "given"
    elif check.kind == "share" and check.reason == "not_measured":
        family = check.name
    reason: str = check.reason
    if check.needed is not None:
        reason = "undecided_needed"
    elif reason == "spans" and (math.isinf(check.low) or math.isinf(check.high)):
        reason = "no_end"
    key = f"gate.reason.{family}.{reason}"
    return lang(
        key, name=check.name, limit=_limit(check), n=check.n, least=gate.min_questions, needed=check.needed,
        detectable=number(check.detectable),
    )  # fmt: skip


def _is_given(check: Check, gate: Gate) -> bool:
    return check.kind == "level" and gate.profile is not None and gate.profile.is_handed_in(check.name)


def _level(level: str, lang: Words) -> str:
    key = f"gate.level.{level}"
    return lang(key) if key in lang else level


def _limit(check: Check) -> str:
    return _share(check.limit) if check.kind in ("relative", "share") else f"{check.limit:g}"


def _share(value: float) -> str:
    return f"{100 * value:.3g}%"


def _value(check: Check, gate: Gate) -> str:
    if math.isnan(check.value):
        return "–"
    if check.kind == "share":
        return _share(check.value)
    if check.kind == "relative":
        return f"{100 * check.value:+.1f}%"
    return f"{check.value:+.4f}" if check.kind == "baseline" else value_text(check.value, _is_given(check, gate))


def _interval(check: Check) -> str:
    if math.isnan(check.low) or math.isnan(check.high):
        return "–"
    if check.kind == "level":
        return interval_text(check.low, check.high, check.n)
    shown = (f"{100 * end:+.1f}%" if check.kind == "relative" else f"{end:+.3f}" for end in (check.low, check.high))
    return " … ".join(shown)
