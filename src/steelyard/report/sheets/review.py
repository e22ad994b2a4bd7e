"""Rounds of review as sections: what was drawn, what came back, and what to do next."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from steelyard.report.details.limits import cut
from steelyard.report.sheets.section import Paragraph, Section
from steelyard.report.sheets.sheet import Sheet, percent
from steelyard.report.words import Words
from steelyard.review.imported import Conflict, ImportedLabels
from steelyard.review.items_file import INTO, Kind, into_options
from steelyard.review.pools import PooledReview
from steelyard.review.rounds import SampledReview

_SHOWN, _LONGEST = 20, 160


def sample_sections(sampled: SampledReview, words: Words) -> list[Section]:
    """What was drawn of each system, and how decisions come back."""
    drawn, form = sampled.round, sampled.form
    table = words(f"review.table.{drawn.table}")
    notes = [words("review.form_asks_conflicts", asked=len(drawn.asked))]
    sheets = []
    if not drawn.adjudicating:
        samples = [(own.name, sample) for own in drawn.systems if (sample := own.review.sample(drawn.table, own.name))]
        rows = [
            [name, f"{sample.n_members:,}", f"{len(sample.drawn):,}", percent(len(sample.drawn) / sample.n_members),
             f"{drawn.n_new[name]:,}"]
            for name, sample in samples
        ]  # fmt: skip
        counted = "answers" if samples[0][1].unit == "answer" else "population"
        names = ("system", counted, "drawn", "share", "new")
        notes = [words("review.form_asks", asked=len(drawn.asked), decided=drawn.n_decided)]
        notes += [words("review.kept", file=str(file)) for file in sampled.files]
        sheets = [Sheet([words(f"review.head.{name}") for name in names], rows, notes=notes)]
    title = words("review.adjudicate_title" if drawn.adjudicating else "review.sample_title", table=table)
    paragraphs = [] if sheets else [Paragraph(note) for note in notes]
    files = {own.name: own.file for own in drawn.systems if own.file is not None}
    return [Section("sample", title, paragraphs, sheets), _next(form, files, words)]


def pool_sections(pooled: PooledReview, words: Words) -> list[Section]:
    """How many pairs, or questions, there are, how many people decided, and how many the form asks."""
    counts = (("pool", pooled.n_pool), ("before", pooled.n_before), ("now", len(pooled.asked)))
    rows = [[words(f"review.pool.{name}"), f"{n:,}"] for name, n in counts]
    head = [words(f"review.pool.{pooled.kind}"), words("review.head.count")]
    sheet = Sheet(head, rows, notes=[words("review.into", file=str(pooled.into))])
    title = words(f"review.{pooled.kind}_title")
    return [Section("sample", title, [], [sheet]), _next(pooled.form, {INTO: pooled.into}, words)]


def _next(form: Path, files: Mapping[str, Path], words: Words) -> Section:
    """How decisions come back, and where they go: system -> file, or `INTO` -> file."""
    command = f"steelyard review import {shlex.quote(str(form.parent))}/*.json {into_options(files, form.parent)}"
    return Section(
        "next", words("judging.next"),
        [
            Paragraph(words("review.form", form=str(form), folder=str(form.parent))),
            Paragraph(command.rstrip(), is_command=True),
        ],
    )  # fmt: skip


def import_sections(result: ImportedLabels, words: Words) -> list[Section]:
    """What was taken in of each person, what is left to decide, and conflicts."""
    further = ("n_changed", "n_older", "n_cannot_say")
    columns = ["n", "n_new", *(name for name in further if any(getattr(own, name) for own in result.raters))]
    rows = [[own.rater, *(f"{getattr(own, name):,}" for name in columns)] for own in result.raters]
    head = [words("review.head.rater"), *(words(f"review.head.{name}") for name in columns)]
    notes = [words("review.decided", decided=result.n_decided, total=result.n_asked)]
    notes += [words("review.kept", file=str(file)) for file in result.files]
    sections = [Section("import", words("review.import_title"), [], [Sheet(head, rows, notes=notes)])]
    if result.conflicts:
        sections.append(conflicts_section(result.conflicts, result.kind, words))
    return sections


def conflicts_section(conflicts: Sequence[Conflict], kind: Kind, words: Words) -> Section:
    """Items that raters are at odds about: who says what of a sentence, and what was asked."""
    paragraphs = [
        Paragraph(
            words(
                "review.conflict", query=_line(own.item.query), sentence=_line(own.item.text),
                labels=words.listed([f"{rater}: {label_text(value, words)}" for rater, value in own.opinions]),
            )
        )
        for own in conflicts[:_SHOWN]
    ]  # fmt: skip
    more = [words("review.more", n=len(conflicts) - _SHOWN)] if len(conflicts) > _SHOWN else []
    paragraphs += [Paragraph(text) for text in (*more, words(f"review.adjudicate.{kind}"))]
    return Section("conflicts", words("review.conflicts_title", n=len(conflicts)), paragraphs)


def _line(text: str) -> str:
    return cut(" ".join(text.split()), _LONGEST)


def label_text(label: str, words: Words) -> str:
    """A label of a judge or a person in words; a grade as it is."""
    if label == "cannot_say":
        return words("review.cannot_say")
    return words(f"judging.label.{label}") if f"judging.label.{label}" in words else label
