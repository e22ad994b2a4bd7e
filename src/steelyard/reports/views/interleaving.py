"""Interleaving on a terminal and in files: what users prefer, how sure that is, and what an A/B test had shown."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import Any

from steelyard.abtests.interleaving.analysing import Interleaving, Preference
from steelyard.abtests.interleaving.runs import InterleavedRuns
from steelyard.reports.views.cautions import careful
from steelyard.reports.views.logs import troubles_sheet
from steelyard.reports.views.numbers import amount, count, number, p_text, part_of, percent, signed
from steelyard.reports.views.view import Block, Column, Look, Section, Sheet, Text, View, headed, sheet_of
from steelyard.reports.visible import single_line
from steelyard.reports.words import Words

_MOST_ROWS = 8
_MANY_ALIKE = 0.5
_SHOWN = 1.96


def verdict_text(analysed: Interleaving, words: Words) -> str:
    """What users prefer, a sentence for each system."""
    return words("scores.between").join(
        words(
            f"interleaving.{own.verdict}", system=single_line(own.system), baseline=single_line(analysed.baseline)
        )
        for own in analysed.preferences
    )  # fmt: skip


def preferences_sheet(analysed: Interleaving, words: Words) -> Sheet:
    """A row a system: credits per request, the difference with its interval, and users for and against it."""

    def interval(own: Preference) -> str:
        return "–" if own.low != own.low else words("ab.to", low=signed(own.low, 3), high=signed(own.high, 3))

    columns = headed(
        words,
        "interleaving.head",
        ("system", lambda own: single_line(own.system)),
        ("baseline", lambda own: number(own.baseline, 3)),
        ("value", lambda own: number(own.value, 3)),
        ("difference", lambda own: signed(own.difference, 3)),
        ("interval", interval),
        ("p", lambda own: p_text(own.adjusted)),
        ("users", lambda own: f"{count(own.wins)} / {count(own.losses)}"),
        ("sign_p", lambda own: p_text(own.sign_p)),
    )
    return replace(sheet_of(analysed.preferences, columns), spare=[7, 1, 5])


def _facts(analysed: Interleaving, words: Words) -> str:
    units = words("interleaving.units", number=count(analysed.n_units), n=analysed.n_units)
    requests = words("interleaving.requests", number=count(analysed.n_requests), n=analysed.n_requests, units=units)
    return words(
        "interleaving.facts", requests=requests, acts=count(analysed.n_acts), credited=count(analysed.n_credited),
        done=words(f"interleaving.done.{analysed.credit}"),
    )  # fmt: skip


def _gains(analysed: Interleaving, words: Words) -> Iterator[str]:
    """What the log could show, and what an A/B test needs for it: measured where the log has one."""
    if len(analysed.preferences) == 1 and (own := analysed.preferences[0]).ab_ratio == own.ab_ratio:
        yield words("interleaving.detectable", detectable=amount(own.detectable))
        if not analysed.sensitivities:
            yield words("interleaving.ab", times=number(own.ab_ratio, 1))
    best = {row.system: row for row in reversed(analysed.sensitivities)}
    for row in best.values():
        values = {"z": number(row.z, 1), "z_interleaving": number(row.z_interleaving, 1), "metric": row.metric}
        if abs(row.z) < _SHOWN:
            yield words("interleaving.unmeasured", **values)
        else:
            times = {"times": number(row.times, 1), "at_least": number(row.at_least, 1)}
            yield words("interleaving.measured", **values, **times)


def _cautions(analysed: Interleaving, words: Words) -> Iterator[str]:
    for check in analysed.checks:
        if check.state == "blocks":
            first = [f"{single_line(name)} {count(n)}" for name, n in check.values["first"].items()]
            yield words("interleaving.draft", first=words.listed(first), p=p_text(check.p, sign=True))
        if check.state == "careful":
            yield words("interleaving.seeds", **{name: count(n) for name, n in check.values.items()})
    if analysed.n_alike > _MANY_ALIKE * analysed.n_requests:
        yield words("interleaving.alike", share=percent(analysed.n_alike / analysed.n_requests))
    if any(own.verdict == "better" for own in analysed.preferences):
        yield words("interleaving.gain")


def _brief(analysed: Interleaving, look: Look) -> Iterator[Block]:
    words = look.words
    yield Text(verdict_text(analysed, words), "bold")
    sheet = preferences_sheet(analysed, words)
    notes = [_facts(analysed, words), *_gains(analysed, words), *careful(_cautions(analysed, words), look)]
    yield replace(sheet, rows=sheet.rows[:_MOST_ROWS], notes=notes)


def _blocks(analysed: Interleaving, look: Look) -> Iterator[Block]:
    words = look.words
    looks = words("interleaving.always" if analysed.analysis == "always-valid" else "interleaving.once")
    columns = words("interleaving.columns", done=words(f"interleaving.done.{analysed.credit}"))
    notes = [_facts(analysed, words), columns, looks, *_gains(analysed, words), *_cautions(analysed, words)]
    sheets = [replace(preferences_sheet(analysed, words), notes=notes)]
    if analysed.sensitivities:
        sheets.append(_sensitivities_sheet(analysed, words))
    if analysed.troubles:
        sheets.append(troubles_sheet(analysed.troubles, words))
    yield Section("preferences", verdict_text(analysed, words), sheets=sheets)


def _sensitivities_sheet(analysed: Interleaving, words: Words) -> Sheet:
    """A row a metric of the A/B test."""
    columns = headed(
        words,
        "interleaving.head",
        ("system", lambda row: single_line(row.system)),
        ("metric", lambda row: row.metric),
        ("z", lambda row: number(row.z, 1)),
        ("z_interleaving", lambda row: number(row.z_interleaving, 1)),
        ("times", lambda row: number(row.times, 1)),
        ("at_least", lambda row: number(row.at_least, 1)),
    )
    return sheet_of(analysed.sensitivities, columns, n_labels=2)


def _data(analysed: Interleaving, words: Words) -> dict[str, Any]:
    names = (
        "baseline", "systems", "credit", "analysis", "alpha", "n_requests", "n_units", "n_alike", "n_acts",
        "n_credited",
    )  # fmt: skip
    parts = ("preferences", "sensitivities", "checks", "troubles")
    return {
        **{name: getattr(analysed, name) for name in names},
        "in_words": verdict_text(analysed, words),
        **{name: [asdict(part) for part in getattr(analysed, name)] for name in parts},
    }


def _pages_verdict(pages: InterleavedRuns, words: Words) -> str:
    n = len(pages.pages)
    return words("interleaving.pages.verdict", number=count(n), n=n, alike=part_of(pages.n_alike, n))


def _pages_blocks(pages: InterleavedRuns, look: Look) -> Iterator[Block]:
    words = look.words
    yield Text(_pages_verdict(pages, words), "bold")
    columns = [
        Column[str](words("interleaving.pages.system"), single_line),
        Column[str](
            words("interleaving.pages.credited"), lambda system: part_of(pages.credited[system], pages.n_places)
        ),
        Column[str](words("interleaving.pages.lacking"), lambda system: count(pages.lacking[system])),
    ]
    notes = [words("interleaving.pages.each_request")]
    if pages.written:
        notes.insert(0, words("interleaving.pages.written", place=single_line(pages.written)))
    yield sheet_of(pages.systems, columns, notes)


def _pages_data(pages: InterleavedRuns, words: Words) -> dict[str, Any]:
    names = ("systems", "k", "method", "n_alike", "n_places", "credited", "lacking", "written")
    return {**{name: getattr(pages, name) for name in names}, "pages": pages.frame.to_dicts()}


VIEWS = {
    Interleaving: View[Interleaving](
        "an interleaving", blocks=_blocks, brief=_brief, data=_data, rows=lambda analysed: analysed.frame, has_page=True
    ),
    InterleavedRuns: View[InterleavedRuns]("interleaved runs", blocks=_pages_blocks, data=_pages_data),
}
