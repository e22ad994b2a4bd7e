"""Rounds of reviews: what forms ask people, and what came back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

from steelyard.base.result import Result
from steelyard.reports.details.limits import one_line
from steelyard.reports.views.numbers import percent
from steelyard.reports.views.picture import Intervals
from steelyard.reports.views.view import USUAL_WIDTH, Block, Look, Paragraph, Section, Sheet, Text, View
from steelyard.reports.visible import cut_to
from steelyard.reports.words import Words
from steelyard.reviewing.forms import Conflict, ImportedLabels, Kind
from steelyard.reviewing.pools import PooledReview
from steelyard.reviewing.rounds import SampledReview

_SHOWN, _LONGEST = 20, 160


def sample_sections(sampled: SampledReview, words: Words) -> list[Section]:
    """A section on what was drawn of each system, and how decisions come back."""
    drawn, sheet = sampled.round, _drawn_sheet(sampled, words)
    title = "review.adjudicate_title" if drawn.adjudicating else "review.sample_title"
    asks = "review.form_asks_conflicts" if drawn.adjudicating else "review.form_asks"
    notes = [words(asks, asked=len(drawn.asked), decided=drawn.n_decided)]
    notes += [] if drawn.adjudicating else [words("review.kept", file=str(file)) for file in sampled.files]
    notes.append(_form_text(sampled.form, words))
    title = words(title, table=words(f"review.table.{drawn.table}"))
    if sheet is None:
        return [Section("sample", title, [Paragraph(note) for note in notes])]
    return [Section("sample", title, [], [replace(sheet, notes=notes)])]


def _brief_sample(sampled: SampledReview, look: Look) -> Iterator[Block]:
    """How many items the form asks, of how many of each system, and how decisions come back."""
    words, drawn, sheet = look.words, sampled.round, _drawn_sheet(sampled, look.words)
    kind = "adjudicate" if drawn.adjudicating else "sample"
    table = words(f"review.table.{drawn.table}")
    yield Text(words(f"brief.review.{kind}", n=len(drawn.asked), decided=drawn.n_decided, table=table), "bold")
    form = _form_text(sampled.form, words)
    yield Text(form) if sheet is None else replace(sheet, notes=[form])


def _drawn_sheet(sampled: SampledReview, words: Words) -> Sheet | None:
    """A row a system: how many items were drawn; None where nothing was, as conflicts are asked for."""
    drawn = sampled.round
    if drawn.adjudicating:
        return None
    samples = [(own.name, sample) for own in drawn.systems if (sample := own.review.sample(drawn.table, own.name))]
    rows = [
        [name, f"{sample.n_members:,}", f"{len(sample.drawn):,}", percent(len(sample.drawn) / sample.n_members),
         f"{drawn.n_new[name]:,}"]
        for name, sample in samples
    ]  # fmt: skip
    counted = "answers" if samples[0][1].unit == "answer" else "population"
    return Sheet([words(f"review.head.{name}") for name in ("system", counted, "drawn", "share", "new")], rows)


def pool_sections(pooled: PooledReview, words: Words) -> list[Section]:
    """A section on how many pairs, or questions, there are, how many people decided, and how many the form asks."""
    counts = (("pool", pooled.n_pool), ("before", pooled.n_before), ("now", len(pooled.asked)))
    rows = [[words(f"review.pool.{name}"), f"{n:,}"] for name, n in counts]
    head = [words(f"review.pool.{pooled.kind}"), words("review.head.count")]
    notes = [words("review.into", file=str(pooled.into)), _form_text(pooled.form, words)]
    return [Section("sample", words(f"review.{pooled.kind}_title"), [], [Sheet(head, rows, notes=notes)])]


def _brief_pool(pooled: PooledReview, look: Look) -> Iterator[Block]:
    """How many pairs, or questions, the form asks, and how decisions come back."""
    words, counts = look.words, {"total": pooled.n_pool, "before": pooled.n_before}
    yield Text(words(f"brief.review.{pooled.kind}", asked=len(pooled.asked), **counts), "bold")
    yield Text(_form_text(pooled.form, words))


def _form_text(form: Path, words: Words) -> str:
    """Instruction for a form that was written."""
    return words("review.form", form=str(form), folder=str(form.parent))


def import_sections(result: ImportedLabels, words: Words) -> list[Section]:
    """Sections on what was imported from each person, what is left to decide, and conflicts."""
    sheet = _imported_sheet(result, words)
    sheet.notes = [_decided_text(result, words), *(words("review.kept", file=str(file)) for file in result.files)]
    sections = [Section("import", words("review.import_title"), [], [sheet])]
    if result.conflicts:
        sections.append(conflicts_section(result.conflicts, result.kind, words))
    return sections


def _brief_import(result: ImportedLabels, look: Look) -> Iterator[Block]:
    """How many items are decided, by whom, and the first one that raters disagree on."""
    words, texts, notes = look.words, [_decided_text(result, look.words)], list[str]()
    if n := len(result.conflicts):
        texts.append(words("brief.review.conflicts", n=n))
        width = (look.width or USUAL_WIDTH) * 2 // 3
        first = _conflict_text(result.conflicts[0], words, cut=partial(cut_to, width=width))
        notes = [words("brief.review.first", conflict=first), words(f"review.adjudicate.{result.kind}")]
    yield Text(words("scores.between").join(texts), "bold")
    kept = [words("review.kept", file=str(file)) for file in result.files]
    yield replace(_imported_sheet(result, words), notes=[*notes, *kept])


def _imported_sheet(result: ImportedLabels, words: Words) -> Sheet:
    """A row a rater: how many decisions, and how many of them are new."""
    further = ("n_changed", "n_older", "n_cannot_say")
    columns = ["n", "n_new", *(name for name in further if any(getattr(own, name) for own in result.raters))]
    rows = [[own.rater, *(f"{getattr(own, name):,}" for name in columns)] for own in result.raters]
    return Sheet([words("review.head.rater"), *(words(f"review.head.{name}") for name in columns)], rows)


def _decided_text(result: ImportedLabels, words: Words) -> str:
    return words("review.n_decided", decided=result.n_decided, total=result.n_asked)


def _conflict_text(conflict: Conflict, words: Words, *, cut: Callable[[str], str] = str) -> str:
    """Labels of all raters of an item, its text and its question, which `cut` shortens."""
    return words(
        "review.conflict",
        query=cut(one_line(conflict.item.query, _LONGEST)),
        sentence=cut(one_line(conflict.item.text, _LONGEST)),
        labels=words.listed(
            [words("review.opinion", rater=rater, label=label_text(value, words)) for rater, value in conflict.opinions]
        ),
    )


def conflicts_section(conflicts: Sequence[Conflict], kind: Kind, words: Words) -> Section:
    """Items that raters disagree on: who says what of a sentence, and what was asked."""
    paragraphs = [Paragraph(_conflict_text(own, words)) for own in conflicts[:_SHOWN]]
    more = [words("review.more", n=len(conflicts) - _SHOWN)] if len(conflicts) > _SHOWN else []
    paragraphs += [Paragraph(text) for text in (*more, words(f"review.adjudicate.{kind}"))]
    return Section("conflicts", words("review.conflicts_title", n=len(conflicts)), paragraphs)


def label_text(label: str, words: Words) -> str:
    """A label of a judge or a person in words; a grade as it is."""
    if label == "cannot_say":
        return words("review.cannot_say")
    return words(f"judging.label.{label}") if f"judging.label.{label}" in words else label


# How they are written ------------------------------------------------------------------------------------------------


def _sample_data(result: SampledReview) -> dict[str, Any]:
    drawn = result.round
    samples = {own.name: own.review.sample(drawn.table, own.name) for own in drawn.systems}
    return {
        "table": drawn.table,
        "adjudicating": drawn.adjudicating,
        "form": result.form,
        "items": result.items,
        "files": result.files,
        "n_asked": len(drawn.asked),
        "n_decided": drawn.n_decided,
        "samples": [
            {
                "system": name, "unit": sample.unit, "seed": sample.seed, "n": sample.n_members,
                "n_drawn": len(sample.drawn), "n_new": drawn.n_new[name],
                "strata": [
                    {"name": stratum.name, "n": len(stratum.members), "n_drawn": len(stratum.drawn)}
                    for stratum in sample.strata
                ],
            }
            for name, sample in samples.items() if sample is not None
        ],
    }  # fmt: skip


def _pool_data(result: PooledReview) -> dict[str, Any]:
    return {
        "kind": result.kind, "form": result.form, "items": result.items, "into": result.into,
        "n_asked": len(result.asked), "n_pool": result.n_pool, "n_decided": result.n_before,
    }  # fmt: skip


def _import_data(result: ImportedLabels) -> dict[str, Any]:
    return {
        "raters": [asdict(own) for own in result.raters],
        "n_asked": result.n_asked,
        "n_decided": result.n_decided,
        "conflicts": [
            {**asdict(own.item), "opinions": [{"rater": rater, "value": value} for rater, value in own.opinions]}
            for own in result.conflicts
        ],
        "files": result.files,
    }


def sections_view(
    name: str, sections: Callable[[Any, Words], list[Section]], data: Callable[[Any], Mapping[str, Any]],
    brief: Callable[[Any, Look], Iterator[Block]], *, has_parts: bool = False,
    picture: Callable[[Any, Words], Intervals | None] | None = None,
) -> View[Any]:  # fmt: skip
    """The view of a result of a review, which is sections, and has a page."""
    return View(
        name,
        blocks=lambda result, look: sections(result, look.words),
        brief=brief,
        data=lambda result, words: data(result),
        has_page=True,
        has_parts=has_parts,
        picture=picture,
    )


VIEWS: dict[type[Result], View[Any]] = {
    SampledReview: sections_view("a review", sample_sections, _sample_data, _brief_sample),
    PooledReview: sections_view("a review", pool_sections, _pool_data, _brief_pool, has_parts=True),
    ImportedLabels: sections_view("a review", import_sections, _import_data, _brief_import, has_parts=True),
}
