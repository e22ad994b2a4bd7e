"""What a judge said of answers, and what judging would take, as sheets."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, get_args

from steelyard.experiment.calibrated import calibration_notes
from steelyard.experiment.judging import JudgedRun, JudgingPlan
from steelyard.judges.cases import NOT_ASKED
from steelyard.judges.records import Problem, State
from steelyard.judges.unsupported import unsupported_units
from steelyard.judges.verdict import Label
from steelyard.judges.verdicts import FOLDER, Verdicts
from steelyard.rag.labelling import LabellingPlan
from steelyard.report.details.limits import cut
from steelyard.report.sheets.notes import note_text
from steelyard.report.sheets.section import Paragraph, Section
from steelyard.report.sheets.sheet import Sheet, number, percent
from steelyard.report.words import Words

_LONGEST = 400
_LEXICAL_PART = re.compile(r"(missing|numbers|units|dates|negation|no words)(?:: (.+))?", re.DOTALL)


def judging_sections(run: JudgedRun, words: Words, *, questions: str = "", outputs: str = "") -> list[Section]:
    """Counts of answers, sentences and citations, one sentence without support, and what to do next.

    questions, outputs   as they were named, for the command that weighs them
    """
    verdicts = run.verdicts
    sheet = Sheet(
        [words("judging.head.counted"), words("judging.head.n"), words("judging.head.share")],
        [*_rows(verdicts, words)],
        notes=[*_notes(run, words)],
    )
    title = words("judging.title", judge=verdicts.judge, system=verdicts.recipe.get("system", ""))
    sections = [Section("judge", title, [], [sheet])]
    sections += [Section("unsupported", p.title, [Paragraph(p.text)]) for p in least_supported(run, words)]
    if questions and outputs and (measures := _measures(run.verdicts)):
        command = shlex.join(_evaluate_command(run, questions, outputs, measures))
        sections.append(Section("next", words("judging.next"), [Paragraph(command, is_command=True)]))
    return sections


def plan_section(plan: JudgingPlan, words: Words) -> Section:
    """What judging would take."""
    rows = [[words("judging.answers"), f"{plan.n_answers:,}"], [words("judging.plan.cases"), f"{plan.n_cases:,}"],
            [words("judging.plan.verdicts"), f"{plan.n_verdicts:,}"]]  # fmt: skip
    if plan.n_calls is not None:
        rows += call_rows(plan, words)
    notes = [words("judging.plan.nothing")]
    if plan.n_calls is not None:
        notes.append(words("judging.plan.estimate"))
    sheet = Sheet([words("judging.head.counted"), words("judging.head.n")], rows, notes=notes)
    return Section("judge", words("judging.plan.title", judge=plan.judge), [], [sheet])


def call_rows(plan: JudgingPlan | LabellingPlan, words: Words) -> list[list[str]]:
    """Calls of a model, tokens and cost."""
    counts = (("calls", plan.n_calls), ("cached", plan.n_cached), ("tokens_in", plan.tokens_in),
              ("tokens_out", plan.tokens_out))  # fmt: skip
    cost = words("judging.plan.no_price") if plan.cost_usd is None else f"${number(plan.cost_usd, 4)}"
    rows = [[words(f"judging.plan.{name}"), f"{value:,}"] for name, value in counts]
    return [*rows, [words("judging.plan.cost"), cost]]


def call_notes(recipe: Mapping[str, Any], words: Words) -> Iterator[str]:
    """What a model was asked, where one was."""
    calls = recipe.get("calls")
    if calls:
        # A judge of the user's own may count other things, or in words.
        taken = {key: value for key, value in calls.items() if isinstance(value, int | float)}
        cost = taken.get("cost_usd")
        yield words(
            "judging.note.calls" if cost is None else "judging.note.calls_cost", calls=f"{taken.get('calls', 0):,}",
            cached=f"{taken.get('cached', 0):,}", tokens=f"{taken.get('tokens_in', 0) + taken.get('tokens_out', 0):,}",
            cost=number(cost, 4),
        )  # fmt: skip


def _rows(verdicts: Verdicts, words: Words) -> Iterator[list[str]]:
    """Counts by group, each with its parts below it; parts that are none are left out."""
    counts = verdicts.counts
    n_checkable = counts["units"] - counts["no_claim"]
    yield [words("judging.answers"), f"{counts['questions']:,}", ""]
    yield from _parts(verdicts, get_args(State), "state", counts["questions"], words)
    yield [words("judging.units"), f"{counts['units']:,}", ""]
    if counts["no_claim"]:
        yield [f"  {words('judging.no_claim')}", f"{counts['no_claim']:,}", ""]
    yield from _parts(verdicts, get_args(Label), "label", n_checkable, words)
    yield [words("judging.citations"), f"{counts['citations']:,}", ""]
    yield from _parts(verdicts, get_args(Problem), "problem", counts["citations"], words)


def _parts(verdicts: Verdicts, names: tuple[str, ...], kind: str, n: int, words: Words) -> Iterator[list[str]]:
    for name in names:
        if count := verdicts.counts[name]:
            yield [f"  {words(f'judging.{kind}.{name}')}", f"{count:,}", percent(count / n)]


def _notes(run: JudgedRun, words: Words) -> Iterator[str]:
    verdicts = run.verdicts
    yield from (note_text(note, words) for note in calibration_notes(verdicts.recipe))
    if n := verdicts.counts["without_context"]:
        yield words("judging.note.without_context", n=n)
    # What was not wanted (`tables`) is not missing.
    if causes := {cause: n for cause, n in verdicts.not_judged.items() if cause != NOT_ASKED.reason}:
        listed = [words("judging.cause", cause=cause, number=f"{n:,}") for cause, n in causes.items()]
        yield words("judging.note.not_judged", causes=words.listed(listed))
    if n := sum(verdicts.errors.values()):
        yield words("judging.note.errors", n=n)
    yield from call_notes(verdicts.recipe, words)
    if run.file is not None:
        yield words("judging.note.file", file=str(run.file))


def least_supported(run: JudgedRun, words: Words) -> Iterator[Paragraph]:
    """The sentence with least support, with its question."""
    units = unsupported_units(run.verdicts)
    if not units:
        return
    first = units[0]
    queries = {question.query_id: question.query for question in run.questions}
    reason = reason_text(_line(first.nearest.reason), run.verdicts.judge, words)
    reason = words("judging.unsupported.reason", reason=reason) if reason else ""
    yield Paragraph(
        words(
            "judging.unsupported.text", query=_line(queries[first.query_id] or first.query_id),
            sentence=_line(first.unit.text),
            label=words(f"judging.label.{first.label}"), reason=reason,
        ),
        words("judging.unsupported.title", n=len(units)),
    )  # fmt: skip


def _line(text: str) -> str:
    """A text in one line, cut where it is long: a sentence without a full stop may be all of an answer."""
    return cut(" ".join(text.split()), _LONGEST)


def reason_text(reason: str, judge: str, words: Words) -> str:
    """A reason as people read it: that of the lexical judge in their language, of another judge as it is.

    >>> from steelyard.report.words import read_words
    >>> reason_text("missing: 九点, 四月; negation", "lexical", read_words("zh"))
    '缺少“九点、四月”；否定不一致'
    """
    if judge != "lexical":
        return reason
    parts = [_LEXICAL_PART.fullmatch(part) for part in reason.split("; ")]
    if not all(parts):
        return reason
    comma = words("list.comma")
    texts = [
        words(f"judging.lexical.{part[1].replace(' ', '_')}", words=(part[2] or "").replace(", ", comma))
        for part in parts
        if part is not None
    ]
    return words("judging.lexical.between").join(texts)


def _measures(verdicts: Verdicts) -> list[str]:
    """Measures that what was judged has something for."""
    tables = {*verdicts.recipe.get("tables", ())}
    has_gold = any(record.gold_units for record in verdicts.records.values())
    measures = ["faithfulness"] if tables & {"support", "grounded"} else []
    measures += ["answer_f1"] if has_gold and tables >= {"correctness", "said"} else []
    return measures + (["citation_support"] if verdicts.counts["citations"] and "joint" in tables else [])


def _evaluate_command(run: JudgedRun, questions: str, outputs: str, measures: Sequence[str]) -> list[str]:
    """The command that weighs what was judged."""
    kept_apart = run.file is not None and run.file.parent.name != FOLDER
    apart = ["--verdicts", str(run.file)] if kept_apart else []
    return ["steelyard", "evaluate", questions, outputs, *(word for m in measures for word in ("-m", m)), *apart]
