"""A truth that a judge drew up, and what drawing it up would take, as sheets."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence

from steelyard.judges.grading.agreement import FEW, GradeAgreement
from steelyard.judges.grading.grades import JUDGE, PEOPLE, Grades, holds_rows
from steelyard.rag.labelling import LabellingPlan
from steelyard.report.sheets.judging import call_notes, call_rows
from steelyard.report.sheets.section import Paragraph, Section
from steelyard.report.sheets.sheet import Sheet, number, percent
from steelyard.report.words import Words


def labelling_sections(
    grades: Grades, words: Words, *, file: str = "", sources: Sequence[str] = ()
) -> list[Section]:  # fmt: skip
    """How often each grade was given, agreement with people, and what to do next.

    file, sources   as they were named, for the command that weighs with the truth
    """
    sheet = Sheet(
        [words("labelling.head.gain"), words("labelling.head.judge"), words("labelling.head.people"),
         words("labelling.head.share")],
        [*_rows(grades, words)], notes=[*_notes(grades, file, words)],
    )  # fmt: skip
    title = words("labelling.title", judge=grades.recipe["judge"]["name"], scale=grades.recipe["scale"])
    sections = [Section("label", title, [], [sheet])]
    if (agreement := grades.agreement) is not None and (agreement.n or agreement.n_off):
        text = " ".join(_agreement(agreement, words))
        sections.append(Section("agreement", words("labelling.agreement.title"), [Paragraph(text)]))
    if file and file != "-":
        command = _evaluate_command(grades, file, sources)
        sections.append(Section("next", words("judging.next"), [Paragraph(command, is_command=True)]))
    return sections


def plan_section(plan: LabellingPlan, words: Words) -> Section:
    """What drawing up a truth would take."""
    rows = [[words("labelling.plan.questions"), f"{plan.n_questions:,}"],
            [words("labelling.plan.pairs"), f"{plan.n_pairs:,}"]]  # fmt: skip
    if plan.n_people:
        rows.append([f"  {words('labelling.plan.people')}", f"{plan.n_people:,}"])
    notes = [words("judging.plan.nothing")]
    if plan.n_calls is not None:
        rows += call_rows(plan, words)
        notes.append(words("judging.plan.estimate"))
    sheet = Sheet([words("judging.head.counted"), words("judging.head.n")], rows, notes=notes)
    return Section("label", words("labelling.plan.title", judge=plan.judge), [], [sheet])


def _rows(grades: Grades, words: Words) -> Iterator[list[str]]:
    """How often each grade was given, the highest first."""
    counts = {who: Counter(float(pair.gain or 0) for pair in grades.by(who)) for who in (JUDGE, PEOPLE)}
    gains = {float(grade["gain"]) for grade in grades.recipe["grades"]}
    total = sum(sum(by.values()) for by in counts.values())
    for gain in sorted(gains.union(*counts.values()), reverse=True):
        n_judge, n_people = counts[JUDGE][gain], counts[PEOPLE][gain]
        share = percent((n_judge + n_people) / total) if total else ""
        yield [f"{gain:g}", f"{n_judge:,}", f"{n_people:,}", share]
    if n_not := sum(grades.not_judged.values()):
        yield [words("labelling.not_judged"), f"{n_not:,}", "", ""]


def _notes(grades: Grades, file: str, words: Words) -> Iterator[str]:
    if grades.recipe["judge"]["name"] == "lexical":
        yield words("labelling.note.lexical")
    if grades.not_judged:
        listed = [words("judging.cause", cause=cause, number=f"{n:,}") for cause, n in grades.not_judged.items()]
        yield words("labelling.note.not_judged", causes=words.listed(listed))
    if n_other := len(grades) - grades.recipe["n_pairs"]:
        yield words("labelling.note.other", n=n_other)
    yield from call_notes(grades.recipe, words)
    if file and file != "-":
        yield words("judging.note.file" if holds_rows(file) else "labelling.note.labels", file=file)


def _agreement(agreement: GradeAgreement, words: Words) -> Iterator[str]:
    """How far judge and people agree, in sentences."""
    if agreement.n:
        yield words(
            "labelling.agreement.equal", n=agreement.n, equal=f"{agreement.n_equal:,}",
            share=percent(agreement.n_equal / agreement.n),
        )  # fmt: skip
        if agreement.kappa is None or agreement.alpha is None:
            yield words("labelling.agreement.undefined")
        else:
            yield words(
                "labelling.agreement.values", kappa=number(agreement.kappa, 3), alpha=number(agreement.alpha, 3),
                grades=words.listed([f"{grade:g}" for grade in agreement.grades], len(agreement.grades)),
            )  # fmt: skip
        if agreement.n < FEW:
            yield words("labelling.agreement.few", n=FEW)
    if agreement.n_off:
        yield words("labelling.agreement.off", n=agreement.n_off)


def _evaluate_command(grades: Grades, file: str, sources: Sequence[str]) -> str:
    """The command that weighs the pooled runs, or others where documents were pooled, from half of the scale on."""
    gains = sorted(float(grade["gain"]) for grade in grades.recipe["grades"])
    runs = "RUN..." if grades.recipe["pool"]["documents"] else shlex.join(sources)
    return f"{shlex.join(['steelyard', 'evaluate', file])} {runs} --min-gain {gains[len(gains) // 2]:g}"
