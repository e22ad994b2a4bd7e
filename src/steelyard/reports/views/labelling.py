"""Grades of pooled documents, and what grading would take."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import Any

from steelyard.base.result import Result
from steelyard.judges.grading.grades import FEW, JUDGE, PEOPLE, GradeAgreement, Grades, holds_rows
from steelyard.rag.labelling import LabellingPlan
from steelyard.reports.views.cautions import careful
from steelyard.reports.views.judging import call_notes, plan_section
from steelyard.reports.views.numbers import number, percent
from steelyard.reports.views.view import Block, Look, Paragraph, Section, Sheet, Text, View
from steelyard.reports.words import Words


def labelling_sections(grades: Grades, words: Words, *, file: str = "") -> list[Section]:
    """Sections on how often each grade was given, and on agreement with people.

    file   that the grades are kept in, as it was named
    """
    sheet = replace(grades_sheet(grades, words), notes=list(_grade_notes(grades, file, words)))
    title = words("labelling.title", judge=grades.recipe["judge"]["name"], scale=grades.recipe["scale"])
    sections = [Section("label", title, [], [sheet])]
    if (agreement := grades.agreement) is not None and (agreement.n or agreement.n_off):
        text = words("scores.between").join(_grade_agreement(agreement, words))
        sections.append(Section("agreement", words("labelling.agreement.title"), [Paragraph(text)]))
    return sections


def _brief(grades: Grades, look: Look, *, file: str = "") -> Iterator[Block]:
    """How many pairs were graded, how often each grade was given, agreement with people, and what to be careful with.

    file   as of `labelling_sections`
    """
    words, by = look.words, {who: len(grades.by(who)) for who in (JUDGE, PEOPLE)}
    text = words("brief.label.graded", judge=grades.recipe["judge"]["name"], scale=grades.recipe["scale"], n=by[JUDGE])
    kept = [words("brief.label.people", n=by[PEOPLE])] if by[PEOPLE] else []
    yield Text(words("scores.between").join([text, *kept]), "bold")
    sheet = grades_sheet(grades, words)
    agreement = grades.agreement
    if agreement is not None and (agreement.n or agreement.n_off):
        sheet.notes.append(words("scores.between").join(_grade_agreement(agreement, words)))
    sheet.notes += [*careful(_cautions(grades, words), look), *_asking_notes(grades, file, words)]
    yield sheet


def grades_sheet(grades: Grades, words: Words) -> Sheet:
    """A row a grade: how often judge and people gave it."""
    header = [words(f"labelling.head.{name}") for name in ("gain", "judge", "people", "share")]
    return Sheet(header, list(_grade_rows(grades, words)))


def _grade_rows(grades: Grades, words: Words) -> Iterator[list[str]]:
    """Counts of each grade, the highest first."""
    counts = {who: Counter(float(pair.gain or 0) for pair in grades.by(who)) for who in (JUDGE, PEOPLE)}
    gains = {float(grade["gain"]) for grade in grades.recipe["grades"]}
    total = sum(sum(by.values()) for by in counts.values())
    for gain in sorted(gains.union(*counts.values()), reverse=True):
        n_judge, n_people = counts[JUDGE][gain], counts[PEOPLE][gain]
        share = percent((n_judge + n_people) / total) if total else ""
        yield [f"{gain:g}", f"{n_judge:,}", f"{n_people:,}", share]
    if n_not := sum(grades.not_judged.values()):
        yield [words("labelling.not_judged"), f"{n_not:,}", "", ""]


def _grade_notes(grades: Grades, file: str, words: Words) -> Iterator[str]:
    yield from _cautions(grades, words)
    yield from _asking_notes(grades, file, words)


def _cautions(grades: Grades, words: Words) -> Iterator[str]:
    """Cautions about the truth, the gravest first."""
    if grades.recipe["judge"]["name"] == "lexical":
        yield words("labelling.note.lexical")
    if grades.not_judged:
        listed = [words("judging.cause", cause=cause, number=f"{n:,}") for cause, n in grades.not_judged.items()]
        yield words("labelling.note.not_judged", causes=words.listed(listed))
    if n_other := len(grades) - grades.recipe["n_pairs"]:
        yield words("labelling.note.other", n=n_other)


def _asking_notes(grades: Grades, file: str, words: Words) -> Iterator[str]:
    """Notes on what a model was asked, and on where the grades are kept."""
    yield from call_notes(grades.recipe, words)
    if file and file != "-":
        yield words("judging.note.file" if holds_rows(file) else "labelling.note.labels", file=file)


def _grade_agreement(agreement: GradeAgreement, words: Words) -> Iterator[str]:
    """Sentences on the agreement of judge and people."""
    if agreement.n:
        yield words(
            "labelling.agreement.equal",
            n=agreement.n,
            equal=f"{agreement.n_equal:,}",
            share=percent(agreement.n_equal / agreement.n),
        )
        if agreement.kappa is None or agreement.alpha is None:
            yield words("labelling.agreement.undefined")
        else:
            yield words(
                "labelling.agreement.values",
                kappa=number(agreement.kappa, 3),
                alpha=number(agreement.alpha, 3),
                grades=words.listed([f"{grade:g}" for grade in agreement.grades], len(agreement.grades)),
            )
        if agreement.n < FEW:
            yield words("labelling.agreement.few", n=FEW)
    if agreement.n_off:
        yield words("labelling.agreement.off", n=agreement.n_off)


def _grades_data(grades: Grades, file: str) -> dict[str, Any]:
    return {
        "recipe": grades.recipe,
        "pairs": {"by_people": len(grades.by(PEOPLE)), "by_judge": len(grades.by(JUDGE))},
        "not_judged": grades.not_judged,
        "agreement": None if grades.agreement is None else asdict(grades.agreement),
        "file": file or None,
    }


VIEWS: dict[type[Result], View[Any]] = {
    Grades: View[Grades](
        "what was graded",
        blocks=lambda grades, look, **named: labelling_sections(grades, look.words, **named),
        brief=_brief,
        data=lambda grades, words, file="": _grades_data(grades, file),
        options=("file",),
    ),
    LabellingPlan: View[LabellingPlan](
        "a plan of grading",
        blocks=lambda plan, look: [plan_section(plan, look.words)],
        data=lambda plan, words: asdict(plan),
        has_parts=True,
    ),
}
