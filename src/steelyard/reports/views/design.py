"""A plan as a sheet: questions by difference, and in words what they rest on."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from steelyard.comparison.design import Design, Pilot
from steelyard.reports.views.cautions import careful, shared_documents
from steelyard.reports.views.notes import cluster_notes, signature_note
from steelyard.reports.views.view import Block, Look, Sheet, Text, View
from steelyard.reports.words import Words, read_words

_FEW = 20
"""Questions from which on t holds for measures that are not normal."""


def design_sheet(design: Design, words: Words) -> Sheet:
    """A row a difference; the notes begin with the answer."""
    columns = ["effect", "needed", *(["range"] if design.pilot else []), *(["f"] if design.n_systems > 2 else [])]
    rows = []
    for row in design.rows:
        name = f"{row.difference:.4g}"
        cells = {
            "effect": f"{row.effect:.2f}",
            "needed": count_text(row.needed),
            "range": words("plan.range", low=count_text(row.needed_low), high=count_text(row.needed_high)),
            "f": count_text(row.needed_f),
        }
        first = words("plan.wished", difference=name) if row.wished else name
        rows.append([first, *(cells[column] for column in columns)])
    header = [words("plan.head.difference"), *(words(f"plan.head.{column}") for column in columns)]
    return Sheet(header, rows, notes=list(design_notes(design, words)))


def _brief(design: Design, look: Look) -> Iterator[Block]:
    """The answer, what the pilot can show, the table without the F test, and what to be careful with."""
    words, whole = look.words, design_sheet(design, look.words)
    shown = [] if design.pilot is None else [_shown_text(design.pilot, words)]
    yield Text(answer_text(design, words), "bold")
    n = len(whole.header) - (design.n_systems > 2)
    notes = [*shown, *careful(_cautions(design, words), look)]
    yield Sheet(whole.header[:n], [row[:n] for row in whole.rows], notes=notes)


def _cautions(design: Design, words: Words) -> Iterator[str]:
    """Cautions about the answer, the gravest first."""
    low, n_at_most = design.wished.power_low, design.wished.needed_high
    if low is not None and design.pilot is not None and design.pilot.n < (n_at_most or math.inf):
        yield words("brief.plan.spread", low=f"{100 * low:.0f}")
    if design.basis != "differences":
        yield words(f"brief.plan.{design.basis}", sd=f"{design.sd:.4g}")
    if (pilot := design.pilot) is not None:
        yield from shared_documents(design.recipe, words, n=pilot.n, n_clusters=pilot.n_clusters)
        yield from _lacking_notes(pilot, words)
    yield from _few_notes(design, words)
    if design.n_systems > 2:
        yield words("plan.shared", comparisons=design.n_comparisons, alpha=f"{design.alpha:g}")


def design_notes(design: Design, words: Words) -> Iterator[str]:
    """The answer, how sure it is, what the pilot can show, and how all of it was computed."""
    yield answer_text(design, words)
    yield _basis(design, words)
    if (low := design.wished.power_low) is not None and (high := design.wished.power_high) is not None:
        yield words("plan.power", cases=f"{100 * design.power:g}", low=f"{100 * low:.0f}", high=f"{100 * high:.0f}")
    if design.pilot is not None:
        yield _shown_text(design.pilot, words)
        yield from _lacking_notes(design.pilot, words)
        yield from cluster_notes(design.recipe, words, n=design.pilot.n, n_clusters=design.pilot.n_clusters)
    if design.n_systems > 2:
        yield words("plan.shared", comparisons=design.n_comparisons, alpha=f"{design.alpha:g}")
        yield words("plan.f", systems=design.n_systems)
    yield from _few_notes(design, words)
    yield from signature_note(design.signature, words)


def _few_notes(design: Design, words: Words) -> Iterator[str]:
    """That t does not hold for so few questions as are needed."""
    if design.wished.needed is not None and design.wished.needed < _FEW:
        yield words("plan.few", few=_FEW)


def answer_text(design: Design, words: Words) -> str:
    """A sentence on how many questions show the wished difference, and how many more than the pilot has that is."""
    needed = design.wished.needed
    difference = f"{design.difference:g}"
    if design.measure is not None:
        difference = words("plan.of_measure", difference=difference, measure=design.measure)
    facts = {"difference": difference, "cases": f"{100 * design.power:g}", "alpha": f"{design.alpha:g}"}
    if needed is None:
        return words("plan.too_many", **facts)
    answer = words("plan.answer", number=f"{needed:,}", **facts)
    if design.pilot is None:
        return answer
    more = needed - design.pilot.n
    have = (
        words("plan.more", more=f"{more:,}", pilot=design.pilot.n)
        if more > 0
        else words("plan.enough", pilot=design.pilot.n)
    )
    return words("plan.sentences", first=answer, second=have)


def count_text(n: int | None) -> str:
    """A number of questions; a dash for more than anyone asks."""
    return "–" if n is None else f"{n:,}"


def _basis(design: Design, words: Words) -> str:
    if design.pilot is None:
        return words("plan.basis.sd", sd=f"{design.sd:.4g}")
    return words(
        f"plan.basis.{design.basis}", sd=f"{design.sd:.3f}", low=f"{design.sd_low:.3f}", high=f"{design.sd_high:.3f}",
        values=f"{design.sd / math.sqrt(2):.3f}", systems=words.listed(list(design.pilot.systems)),
        pilot=design.pilot.n,
    )  # fmt: skip


def _shown_text(pilot: Pilot, words: Words) -> str:
    """A sentence on the smallest difference that the questions of the pilot show."""
    if math.isnan(pilot.detectable):
        return words("plan.shows_unknown", pilot=pilot.n)
    if math.isinf(pilot.detectable):
        return words("plan.shows_nothing", pilot=pilot.n)
    return words("plan.shows", pilot=pilot.n, detectable=f"{pilot.detectable:.3f}")


def _lacking_notes(pilot: Pilot, words: Words) -> Iterator[str]:
    """Questions that are left out, and those that count 0."""
    if pilot.n_left_out:
        lacking = [words("compare.lacking", system=system, n=n) for system, n in pilot.lacking.items()]
        yield words("compare.left_out", n=pilot.n_left_out, compared=pilot.n, listed=words.listed(lacking))
    if pilot.missing:
        listed = [words("compare.missing_of", system=system, n=n) for system, n in pilot.missing.items()]
        yield words("compare.missing", listed=words.listed(listed))


def _data(design: Design) -> dict[str, Any]:
    names = ("difference", "power", "alpha", "n_systems", "n_comparisons", "basis", "sd", "sd_low", "sd_high")
    return {
        "signature": None if design.signature is None else str(design.signature),
        "measure": None if design.measure is None else str(design.measure),
        **{name: getattr(design, name) for name in names},
        "pilot": None if design.pilot is None else asdict(design.pilot),
        "rows": design.frame.to_dicts(),
        "in_words": answer_text(design, read_words("en")),
        "recipe": design.recipe,
    }


VIEWS = {
    Design: View[Design](
        "a plan",
        blocks=lambda design, look: [design_sheet(design, look.words)],
        brief=_brief,
        data=lambda design, words: _data(design),
        has_parts=True,
        rows=lambda design: design.frame,
        papers=lambda design, words: [design_sheet(design, words)],
    )
}
