"""A plan of labels as a sheet: labels by width, and in words what they rest on."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from steelyard.comparison.label_design import LabelDesign
from steelyard.reports.views.design import count_text
from steelyard.reports.views.view import Block, Look, Sheet, Text, View
from steelyard.reports.words import Words, read_words


def label_sheet(design: LabelDesign, words: Words) -> Sheet:
    """A row a width."""
    columns = ["labels", "people_alone", *([] if math.isnan(design.sensitivity) else ["calibration"])]
    rows = []
    for row in design.frame.iter_rows(named=True):
        name = f"{row['width']:.4g}"
        first = words("plan.wished", difference=name) if row["wished"] else name
        rows.append([first, *(count_text(row[column]) for column in columns)])
    return Sheet([words(f"plan.labels.head.{name}") for name in ("width", *columns)], rows)


def label_answer(design: LabelDesign, words: Words) -> str:
    """A sentence on how many labels make the interval so wide."""
    number, kind = design.wished["labels"], "measure" if design.measure else "named"
    narrowest = "" if math.isnan(design.narrowest) else f"{design.narrowest:.3f}"
    facts = {
        "width": f"{design.width:g}", "measure": str(design.measure), "narrowest": narrowest,
        "units": count_text(design.n_units), "questions": count_text(design.n_questions),
    }  # fmt: skip
    if number is None:
        return words(f"plan.labels.too_many.{kind}", **facts)
    return words(f"plan.labels.answer.{kind}", number=count_text(number), **facts)


def label_notes(design: LabelDesign, words: Words) -> Iterator[str]:
    """What labels are drawn from, what a calibration takes, and what is foreseen of the judge."""
    wished = design.wished
    if design.n_units is not None and wished["labels"] is not None:
        facts = {"units": count_text(design.n_units), "questions": count_text(design.n_questions)}
        called = f"{100 * design.called:.0f}%"
        yield words("plan.labels.of", number=wished["labels"], called=called, **facts)
    if wished["calibration"] is not None:
        yield words("plan.labels.calibration", number=count_text(wished["calibration"]))
    yield words("plan.labels.foreseen", supported=f"{100 * design.supported:.0f}%")
    rates = {name: f"{getattr(design, name):.3g}" for name in ("sensitivity", "specificity")}
    yield words(f"plan.labels.basis.{design.basis}", n=design.n_labels, **rates)


def _blocks(design: LabelDesign, look: Look) -> Iterator[Block]:
    yield Text(label_answer(design, look.words), "bold")
    sheet = label_sheet(design, look.words)
    yield Sheet(sheet.header, sheet.rows, notes=list(label_notes(design, look.words)))


def _data(design: LabelDesign) -> dict[str, Any]:
    names = (
        "system", "width", "basis", "n_units", "n_questions", "narrowest", "called", "supported", "sensitivity",
        "specificity", "n_labels",
    )  # fmt: skip
    return {
        "measure": None if design.measure is None else str(design.measure),
        **{name: getattr(design, name) for name in names},
        "rows": design.frame.to_dicts(),
        "in_words": label_answer(design, read_words("en")),
    }


VIEWS = {
    LabelDesign: View[LabelDesign](
        "a plan of labels",
        blocks=_blocks,
        data=lambda design, words: _data(design),
        rows=lambda design: design.frame,
        papers=lambda design, words: [label_sheet(design, words)],
    )
}
