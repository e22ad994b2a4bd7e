"""A gate's result in words: for a terminal, for the job page of a CI, and one line for a log."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any

from steelyard.gates.checks import OUT_OF_REACH, Check, Outcome
from steelyard.gates.gating import Gate
from steelyard.gates.judges import JUDGE_PREFIX
from steelyard.gates.levels import measures_in_reach
from steelyard.judges.people.review import IN_TWO
from steelyard.measures.spec import measure_or_column
from steelyard.reports.views.cautions import NAMED, careful, dangers, shared_documents
from steelyard.reports.views.gate_notes import (
    DIFFERENCES,
    alarm_rule,
    corpus_note,
    entry_notes,
    odds_text,
    spent_lines,
    undecided_note,
)
from steelyard.reports.views.gate_notes import interval_text as intervals_of_differences
from steelyard.reports.views.notes import (
    cluster_notes,
    component_notes,
    notes_of_systems,
    signature_note,
    texts_of_systems,
)
from steelyard.reports.views.numbers import bounds, number, percent, signed
from steelyard.reports.views.picture import Intervals, Kind, Mark, described
from steelyard.reports.views.ratings import interval_text, text_in, value_text
from steelyard.reports.views.verdicts import signed_ends
from steelyard.reports.views.view import Block, Look, Section, Sheet, Text, View
from steelyard.reports.visible import single_line, wrapped
from steelyard.reports.words import Words

_KAPPAS = {("judge", "kappa"), ("people", "people")}
"""Kind and name of checks of a kappa."""
_CLUSTERS = {"run": "--cluster doc", "scores": "`evaluate --cluster doc`"}
"""What counts questions by document; of a bench it is said in words."""
_PART = " · "
_OUTCOMES = ("pass", "fail", "insufficient")
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot hold, not even escaped."""


def _blocks(gate: Gate, look: Look) -> Iterator[Block]:
    """For a terminal what was judged by, tables, why checks did not pass, and outcomes; else as `_job_page`."""
    words = look.words
    if look.format != "table":
        yield from _job_page(gate, words)
        return
    reach = [line for text in out_of_reach(gate, words) for line in wrapped(text, look.width)]
    rules = [line for text in _rules(gate, words) for line in wrapped(text, look.width)]
    yield Text("\n".join([*reach, heading(gate, words), *rules]), "laid out")
    yield from gate_sheets(gate, words)
    yield Text("\n".join(outcome_line(gate, system, words) for system in gate.systems), "laid out")


def _brief(gate: Gate, look: Look) -> Iterator[Block]:
    """The outcome of each system and what was judged by, the checks, and what to be careful with."""
    words = look.words
    outcomes = [outcome_line(gate, system, words) for system in gate.systems]
    judged_by = _PART.join(_parts_judged_by(gate, words))
    yield Text("\n".join([*out_of_reach(gate, words), *outcomes, *filter(None, [judged_by])]), "bold")
    if rules := list(_rules(gate, words)):
        yield Text("\n".join(line for text in rules for line in wrapped(text, look.width)))
    sheets = [replace(sheet, notes=[]) for sheet in gate_sheets(gate, words, brief=True)]
    sheets[-1].notes = careful(_cautions(gate, words), look)
    yield from sheets


def _rules(gate: Gate, words: Words) -> Iterator[str]:
    """What was lost since an accepted entry, whether by other documents, and how alarms decide."""
    yield from spent_lines(gate, words)
    yield from corpus_note(gate, words)
    yield from alarm_rule(gate, words)


def _cautions(gate: Gate, words: Words) -> Iterator[str]:
    """Why checks did not pass, those that failed first; then what endangers the outcome, the gravest first."""
    yield from _of_systems(gate, partial(_reasons, outcomes=("fail",)), words)
    yield from _of_systems(gate, partial(_reasons, outcomes=("insufficient",)), words)
    if gate.alarms is not None:
        yield from undecided_note(gate, words)
    if any(check.reason == "lost" for check in gate.checks):
        yield from entry_notes(gate, words)
    yield from _of_systems(gate, _failed, words)
    yield from _left_out(gate.checks, words)
    yield from _open_notes(gate, words)
    yield from shared_documents(gate.recipe, words, **_clusters(gate, words))
    yield from dangers(gate.notes, words, n_systems=len(gate.systems))
    yield from unseen_notes(gate.checks, words)
    yield from _of_systems(gate, _corrected, words)
    yield from _interval_notes(gate, words)


def _of_systems(gate: Gate, texts: Callable[[list[Check], Gate, Words], Iterator[str]], words: Words) -> Iterator[str]:
    """Each text on the checks of a system once, with its systems; without checks that no ranking can pass."""
    by_system: dict[str, list[Check]] = {system: [] for system in gate.systems}
    for check in gate.checks:
        if check.reason not in OUT_OF_REACH:
            by_system[check.system].append(check)
    listed = {system: list(texts(checks, gate, words)) for system, checks in by_system.items()}
    return texts_of_systems(listed, words, n_systems=len(listed), most=NAMED)


def _job_page(gate: Gate, words: Words) -> Iterator[Block]:
    """For a CI's job page: the outcome as heading, then a table a system with the reason of each check.

    Readable without colour; GitHub shows what is written to the file that GITHUB_STEP_SUMMARY names.
    """
    yield Section("gate", words("gate.result", outcome=words(f"gate.outcome.{gate.outcome}")))
    yield from (Text(single_line(text), "bold") for text in out_of_reach(gate, words))
    yield Text(single_line(heading(gate, words)))
    yield from (Text(single_line(text)) for text in [*undecided_note(gate, words), *_rules(gate, words)])
    for sheet, system in zip(gate_sheets(gate, words, reasons_in_rows=True), gate.systems, strict=True):
        yield Text(single_line(outcome_line(gate, system, words)), "bold")
        yield sheet


def gate_sheets(gate: Gate, words: Words, *, reasons_in_rows: bool = False, brief: bool = False) -> list[Sheet]:
    """One sheet a system, a row a check; the notes say why, but for checks that passed, unless the rows say it.

    brief   in short words, and without the level that the heading names
    """
    names = ["outcome", "value", "interval", "wanted", *(["reason"] if reasons_in_rows else [])]
    header = [words(f"gate.head.{name}") for name in names]
    sheets = []
    for system in gate.systems:
        checks = [check for check in gate.checks if check.system == system]
        rows = [
            [check_name(check, words), check_text(check, words, brief=brief), check_value(check, gate),
             check_interval(check, gate, words), wanted_text(check, words, heading=gate.level if brief else None)]
            for check in checks
        ]  # fmt: skip
        if reasons_in_rows:
            rows = [[*row, reason_text(check, gate, words)] for row, check in zip(rows, checks, strict=True)]
        failed = {(r, 1) for r, check in enumerate(checks) if check.outcome == "fail"}
        first = words("gate.head.check") if reasons_in_rows else system_text(gate, system, words)
        notes = [] if reasons_in_rows else [*_reasons(checks, gate, words), *_corrected(checks, gate, words)]
        notes += [*_failed(checks, gate, words), *_left_out(checks, words)]
        sheets.append(Sheet([first, *header], rows, failed, notes))
    if sheets:
        sheets[-1].notes += [*_notes(gate, words), *signature_note(gate.signature, words)]
    return sheets


def gate_sheet(gate: Gate, words: Words) -> Sheet:
    """All systems at once: a row a system, a column a check, with what is wanted in its head."""
    columns = check_columns(gate, words)
    header = [words("gate.head.system"), words("gate.head.outcome"), *columns.values()]
    rows = []
    for system in gate.systems:
        checks = checks_of(gate, system)
        cells = ("–" if (check := checks.get(key)) is None else check_text(check, words) for key in columns)
        rows.append([system, outcome_text(outcome_of(gate, system), words), *cells])
    failed = {
        (r, c) for r, row in enumerate(rows) for c, text in enumerate(row) if c and text == outcome_text("fail", words)
    }
    return Sheet(header, rows, failed, list(_notes(gate, words)))


def check_columns(gate: Gate, words: Words) -> dict[tuple[str, str], str]:
    """Every kind and name of a check, and what it asks for."""
    return {(c.kind, c.name): f"{check_name(c, words)} {wanted_text(c, words)}" for c in gate.checks}


def checks_of(gate: Gate, system: str) -> dict[tuple[str, str], Check]:
    """The checks of one system by kind and name."""
    return {(check.kind, check.name): check for check in gate.checks if check.system == system}


def outcome_of(gate: Gate, system: str) -> Outcome:
    """The gravest outcome of a system's checks."""
    outcomes = {check.outcome for check in gate.checks if check.system == system}
    return next(outcome for outcome in ("fail", "insufficient", "pass") if outcome in outcomes)


def check_text(check: Check, words: Words, *, brief: bool = False) -> str:
    """The outcome of one check, or that there is no value."""
    if check.reason == "not_measured":
        return words("gate.outcome.not_measured")
    return (
        words("gate.outcome.lacks_data")
        if brief and check.outcome == "insufficient"
        else outcome_text(check.outcome, words)
    )


def outcome_text(outcome: Outcome, words: Words) -> str:
    """The outcome in the reader's language."""
    return words(f"gate.outcome.{outcome}")


def gate_data(gate: Gate) -> dict[str, Any]:
    """Everything that was judged by, and every check: the columns of `Gate.frame`; null where there is no number.

    A check of a kappa has the labels that it tells apart.
    """
    return {
        "outcome": gate.outcome, "level": gate.level, "margin": gate.margin, "alpha": gate.alpha,
        "min_questions": gate.min_questions, "baselines": dict(gate.baselines),
        **({} if gate.alarms is None else {"alarms": gate.alarms}),
        **({} if gate.entry is None else {"entry": asdict(gate.entry)}),
        "checks": [
            row | ({"labels": list(IN_TWO)} if (row["kind"], row["name"]) in _KAPPAS else {})
            for row in gate.frame.iter_rows(named=True)
        ],
    }  # fmt: skip


def gate_picture(gate: Gate, words: Words) -> Intervals | None:
    """How far every value is from what is wanted of it, to the right where it passes; None where there is no value.

    Shares and measures are on one scale; anything else is on one of its own.
    """
    kinds: dict[Outcome, Kind] = {"pass": "better", "fail": "worse", "insufficient": "unclear"}
    apart = [(check, _apart(check)) for check in gate.checks if math.isfinite(check.value)]
    common = max((reach for check, of in apart if (reach := _reach(of)) <= 1), default=1.0) or 1.0
    several, marks = len(gate.systems) > 1, []
    for check, distances in apart:
        scale = common if _reach(distances) <= 1 else _reach(distances)
        name = check_name(check, words)
        name = words("charts.gate.of", system=check.system, name=name) if several else name
        value, low, high = (distance / scale for distance in distances)
        marks.append(Mark(name, value, low, high, check_value(check, gate), kinds[check.outcome]))
    title = words("charts.gate.title")
    return Intervals(title, described(title, marks, words), marks, line=0.0, scale="none") if marks else None


def _apart(check: Check) -> tuple[float, float, float]:
    """How far value and ends of the interval are on the good side of what is wanted; below 0 on the other side."""
    higher, limit = check.better == "higher", check.limit
    if check.kind == "people" or (check.kind in DIFFERENCES and higher) or (check.kind == "relative" and not higher):
        limit = -limit
    if higher:
        return check.value - limit, check.low - limit, check.high - limit
    return limit - check.value, limit - check.high, limit - check.low


def _reach(distances: Iterable[float]) -> float:
    return max((abs(distance) for distance in distances if math.isfinite(distance)), default=0.0)


def _reasons(
    checks: list[Check], gate: Gate, words: Words, *, outcomes: Sequence[Outcome] = ("fail", "insufficient")
) -> Iterator[str]:
    """Why checks came out so; those of the same reason share a line.  A table says it of a share that is too large."""
    names: dict[str, list[str]] = {}
    for check in checks:
        if check.outcome in outcomes and not (check.outcome == "fail" and check.kind == "share"):
            names.setdefault(reason_text(check, gate, words), []).append(check_name(check, words))
    for reason, listed in names.items():
        yield words("gate.reasons", name=words.listed(listed), reason=reason)


def _corrected(checks: list[Check], gate: Gate, words: Words) -> Iterator[str]:
    """By how many labels the values of checks that passed are corrected: of the others their reasons say so."""
    for check in checks:
        if check.n_labels and check.outcome == "pass":
            key = "gate.corrected_open_pass" if check.n_undecided else "gate.corrected_pass"
            yield words(key, name=check_name(check, words), n=check.n_labels, undecided=check.n_undecided)


def _failed(checks: list[Check], gate: Gate, words: Words) -> Iterator[str]:
    for check in checks:
        if check.n_failed:
            yield words("gate.failed", name=check.name, n=check.n_failed, total=check.n)


def _left_out(checks: Sequence[Check], words: Words) -> Iterator[str]:
    """Numbers of questions without a partner, once for measures that are alike in it."""
    alike: dict[tuple[str, int, tuple[int, int]], list[str]] = {}
    for check in checks:
        if any(check.left_out):
            alike.setdefault((check.system, check.n, check.left_out), []).append(check.name)
    for (system, n, (here, there)), names in alike.items():
        name = words.listed(list(dict.fromkeys(names)))
        yield words("gate.left_out", name=name, n=n, here=here, there=there, system=system)


def _interval_notes(gate: Gate, words: Words) -> Iterator[str]:
    """That intervals of differences are narrower than others, where there are some."""
    if any(check.kind == "baseline" for check in gate.checks):
        yield intervals_of_differences(gate, words)


def _notes(gate: Gate, words: Words) -> Iterator[str]:
    yield from _interval_notes(gate, words)
    yield from entry_notes(gate, words)
    yield from unseen_notes(gate.checks, words)
    yield from cluster_notes(gate.recipe, words, **_clusters(gate, words))
    yield from component_notes(gate.components, words)
    yield from notes_of_systems(gate.notes, words, n_systems=len(gate.systems))
    yield from _open_notes(gate, words)


def _clusters(gate: Gate, words: Words) -> dict[str, Any]:
    """How many questions were judged by, how many clusters they are, and how to have them counted by document."""
    return {
        "n": max((check.n for check in gate.checks), default=0),
        "n_clusters": None if gate.clustering is None else gate.clustering.n,
        "ask": _CLUSTERS.get(gate.origin) or words("gate.bench_clusters"),
    }


def _open_notes(gate: Gate, words: Words) -> Iterator[str]:
    """Notes on systems and requirements that were not judged, and on truths that differ."""
    if gate.n_others:
        yield words("gate.recommended", system=gate.systems[0], n=gate.n_others)
    if gate.other_truth:
        yield words("gate.other_truth")
    if gate.not_judged is not None:
        measure, least = gate.not_judged
        yield words("gate.not_judged", measure=measure, least=f"{least:.3g}" if least >= 10 else _share(least))


def unseen_notes(checks: Sequence[Check], words: Words) -> Iterator[str]:
    """Notes on what questions behind checks that passed cannot exclude, once for as many questions."""
    losses: dict[str, list[float]] = {}
    for check in checks:
        if not math.isnan(check.unseen_share):
            losses.setdefault(f"{100 * check.unseen_share:.2g}%", []).append(check.unseen_loss)
    for share, of in losses.items():
        bounded = [loss for loss in of if math.isfinite(loss)]
        if bounded:
            yield words("gate.unseen", share=share, loss=f"{max(bounded):.2g}")
        if len(bounded) < len(of):
            yield words("gate.unseen_unbounded", share=share)


def heading(gate: Gate, words: Words) -> str:
    """The profile, level, baseline and margin that were judged by, behind the name of the gate."""
    return _PART.join([words("gate.title"), *_parts_judged_by(gate, words)])


def _parts_judged_by(gate: Gate, words: Words) -> Iterator[str]:
    """The profile and level, and the baseline and margin, where there are some."""
    if gate.profile is not None:
        title = text_in(gate.profile.title, words)
        name = words("gate.titled", name=gate.profile.name, title=title) if title else gate.profile.name
        if gate.level is None:
            yield words("gate.by_profile", profile=name)
        else:
            yield words("gate.by_level", profile=name, level=_level(gate.level, words))
    if gate.baselines:
        names = words.listed(list(dict.fromkeys(gate.baselines.values())))
        if gate.margin is None:
            yield words("gate.by_baseline", baseline=names)
        else:
            yield words("gate.by_baseline_margin", baseline=names, margin=f"{gate.margin:g}")


def out_of_reach(gate: Gate, words: Words) -> Iterator[str]:
    """For each measure whose level no ranking reaches: the most of any system, and what to judge by, or do, instead."""
    beyond: dict[tuple[str, str], Check] = {}
    for check in gate.checks:
        if check.reason in OUT_OF_REACH:
            key = (check.reason, check.name)
            beyond[key] = max(beyond.get(key, check), check, key=lambda of: of.reachable)
    for (reason, name), check in beyond.items():
        yield words(
            f"gate.{reason}", name=name, limit=_limit(check), most=number(check.reachable), system=check.system,
            others=words.listed(measures_in_reach(name)) if reason == "out_of_reach" else "",
        )  # fmt: skip


def outcome_line(gate: Gate, system: str, words: Words) -> str:
    """The outcome of one system, with how many checks passed, failed and lack data."""
    counts = Counter[str](check.outcome for check in gate.checks if check.system == system)
    worst = outcome_of(gate, system)
    counted = [words(f"gate.counts.{name}", n=counts[name]) for name in _OUTCOMES if counts[name]]
    outcome = words(f"gate.trust.{worst}") if _is_judge(gate, system) else outcome_text(worst, words)
    return words(
        "gate.line", system=system_text(gate, system, words), outcome=outcome, counts=words("list.comma").join(counted)
    )


def system_text(gate: Gate, system: str, words: Words) -> str:
    """The name of a system; a judge is called one in the reader's language."""
    return words("gate.judge", judge=system.removeprefix(JUDGE_PREFIX)) if _is_judge(gate, system) else system


def _is_judge(gate: Gate, system: str) -> bool:
    return any(check.system == system and check.kind in ("judge", "self_test") for check in gate.checks)


def check_name(check: Check, words: Words) -> str:
    """The name of a check in a table."""
    return words(f"gate.name.{check.name if check.kind in ('share', 'judge') else check.kind}", name=check.name)


def wanted_text(check: Check, words: Words, *, heading: str | None = None) -> str:
    """The wish of a check: "≥ 0.7 (minimum)", "> −0.01", "≤ 5%";   heading   the level that is named elsewhere."""
    higher = check.better == "higher"
    if check.kind == "people" or (check.kind == "sustained" and check.level is None):
        return words("gate.wanted.bound", sign=">", limit=f"{'−' * (check.kind == 'people')}{_limit(check)}")
    if check.kind in ("level", "sustained"):
        sign = "≥" if higher else "≤"
        shape = "bound" if check.level == heading else "level"
        return words(f"gate.wanted.{shape}", sign=sign, limit=_limit(check), level=_level(check.level or "", words))
    if check.kind in DIFFERENCES:
        return words("gate.wanted.bound", sign=">" if higher else "<", limit=f"{'−' if higher else '+'}{_limit(check)}")
    if check.kind == "load":
        return words("gate.wanted.load", limit=_limit(check), percentile=(check.level or "").upper())
    down = "−" if check.kind == "relative" and not higher else ""
    return words("gate.wanted.bound", sign="≥" if higher else "≤", limit=f"{down}{_limit(check)}")


def reason_text(check: Check, gate: Gate, words: Words) -> str:
    """Why a check came out as it did, as half a sentence without a full stop."""
    family: str = "baseline" if check.kind in DIFFERENCES else check.kind
    if check.n == 0 and check.reason != "no_gold" and _is_handed_in(check, gate):
        family = "given"
    elif check.kind == "share" and check.reason == "not_measured":
        family = check.name
    reason: str = check.reason
    if gate.origin == "bench" and reason == "not_measured" and (family in ("level", "relative", "not_judged")):
        family = "of_bench_answers" if family == "not_judged" else "of_bench"
    if reason == "undecided" and check.kind in DIFFERENCES and math.isnan(check.detectable):
        reason = "undecided_percentile" if measure_or_column(check.name).share is not None else "no_spread"
        reason += "_needed" if check.needed is not None else ""
    elif check.needed is not None:
        reason = f"{'undecided' if check.kind in DIFFERENCES else reason}_needed"
    elif reason == "spans" and check.kind != "sustained" and (math.isinf(check.low) or math.isinf(check.high)):
        reason = "failures" if check.n_failed else "no_end"
    key = f"gate.reason.{family}.{reason}"
    if check.n_labels and f"{key}_labels" in words:
        key = f"{key}_labels"
    text = words(
        key, name=check.name, limit=_limit(check), n=check.n, least=gate.min_questions, needed=check.needed,
        detectable=number(check.detectable), reachable=number(check.reachable),
        odds=odds_text(check.alarm, words) if check.says("alarm") else "",
    )  # fmt: skip
    if check.needed_runs is not None:
        text = words("gate.or_runs", reason=text, n=check.needed_runs)
    if check.n_undecided:
        return words("gate.corrected_open", reason=text, n=check.n_labels, undecided=check.n_undecided)
    return words("gate.corrected", reason=text, n=check.n_labels) if check.n_labels else text


def _is_handed_in(check: Check, gate: Gate) -> bool:
    return check.kind == "level" and gate.profile is not None and gate.profile.is_handed_in(check.name)


def _level(level: str, words: Words) -> str:
    key = f"gate.level.{level}"
    return words(key) if key in words else level


def _limit(check: Check) -> str:
    return _share(check.limit) if check.kind in ("relative", "share", "self_test") else f"{check.limit:g}"


def _share(value: float) -> str:
    return f"{100 * value:.3g}%".replace("-", "−")


def check_value(check: Check, gate: Gate) -> str:
    """The value, difference, change or share that was judged."""
    if math.isnan(check.value):
        return "–"
    if check.kind in ("share", "self_test"):
        return _share(check.value)
    if check.kind in ("load", "sustained"):
        return value_text(check.value, handed_in=True)
    if check.kind == "relative":
        return percent(check.value, 1, sign=True)
    return (
        signed(check.value, 4)
        if check.kind in (*DIFFERENCES, "people")
        else value_text(check.value, _is_handed_in(check, gate))
    )


def check_interval(check: Check, gate: Gate, words: Words) -> str:
    """Both ends of its interval, or a dash."""
    if math.isnan(check.low) or math.isnan(check.high):
        return "–"
    if check.kind in ("level", "judge"):
        return interval_text(check.low, check.high, check.n, _is_handed_in(check, gate))
    if check.kind in ("load", "sustained"):
        return bounds(check.low, check.high, unknown=words("bench.few"))
    if check.kind == "self_test":
        return words("gate.interval_of_shares", low=_share(check.low), high=_share(check.high))
    if check.kind == "relative":
        low, high = (percent(end, 1, sign=True) for end in (check.low, check.high))
        return words("compare.interval", low=low, high=high)
    return signed_ends(check.low, check.high, words)


def _junit(gate: Gate, look: Look) -> str:
    """JUnit XML, which every CI shows: a suite a system, a case a check; there is no time in it.

    A failed check is a failure, one without enough data an error of type "insufficient data", one whose level no
    ranking reaches an error of type "out of reach".  What the questions of a check that passed cannot exclude is its
    output; the signature of the scores is a property of each suite.
    """
    words = look.words
    suites = ET.Element("testsuites", _counts(gate, gate.systems, _clean(heading(gate, words))))
    for system in gate.systems:
        suite = ET.SubElement(suites, "testsuite", _counts(gate, [system], _clean(system)))
        if gate.signature is not None:
            properties = ET.SubElement(suite, "properties")
            ET.SubElement(properties, "property", {"name": "signature", "value": _clean(str(gate.signature))})
        for check in gate.checks:
            if check.system != system:
                continue
            name = _clean(f"{check_name(check, words)} {wanted_text(check, words)}")
            case = ET.SubElement(suite, "testcase", {"classname": _clean(f"steelyard.{system}"), "name": name})
            if check.outcome != "pass":
                lack = "out of reach" if check.reason in OUT_OF_REACH else "insufficient data"
                tag, kind = ("failure", check.kind) if check.outcome == "fail" else ("error", lack)
                message = _clean(reason_text(check, gate, words))
                ET.SubElement(case, tag, {"type": kind, "message": message}).text = f"{name}: {message}"
            for note in unseen_notes([check], words):
                ET.SubElement(case, "system-out").text = note
    ET.indent(suites)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(suites, encoding="unicode") + "\n"


def _counts(gate: Gate, systems: list[str], name: str) -> dict[str, str]:
    outcomes = [check.outcome for check in gate.checks if check.system in systems]
    return {
        "name": name,
        "tests": str(len(outcomes)),
        "failures": str(outcomes.count("fail")),
        "errors": str(outcomes.count("insufficient")),
    }


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("", text)


VIEWS = {
    Gate: View[Gate](
        "a gate",
        blocks=_blocks,
        brief=_brief,
        data=lambda gate, words: gate_data(gate),
        has_parts=True,
        texts={"junit": _junit},
        picture=gate_picture,
    )
}
