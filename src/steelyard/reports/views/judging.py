"""What a judge said of answers, and what asking it would take."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, get_args

from steelyard.base.notes import Note
from steelyard.base.result import Shown
from steelyard.experiment.judging import JudgedRun, JudgingPlan
from steelyard.judges.answers.cases import NOT_ASKED
from steelyard.judges.people.calibration import calibration_notes, one_sided_notes
from steelyard.judges.tables.items import unsupported_units
from steelyard.judges.tables.verdicts import Verdicts
from steelyard.judges.verdict import Label, Problem, State
from steelyard.rag.labelling import LabellingPlan
from steelyard.reports.details.limits import one_line
from steelyard.reports.views.cautions import careful, dangers
from steelyard.reports.views.colours import ON_STEPS, STEPS
from steelyard.reports.views.criteria import criteria_lines, criteria_sections
from steelyard.reports.views.notes import note_text
from steelyard.reports.views.numbers import count, number, percent
from steelyard.reports.views.picture import Part, Shares, shares
from steelyard.reports.views.view import USUAL_WIDTH, Block, Look, Paragraph, Section, Sheet, Text, View
from steelyard.reports.visible import cut_to
from steelyard.reports.words import Words

_LONGEST = 400
_LEXICAL_PART = re.compile(r"(missing|numbers|units|dates|negation|no words)(?:: (.+))?", re.DOTALL)


def judging_sections(run: JudgedRun, words: Words) -> list[Section]:
    """Counts of answers, sentences and citations, and one sentence without support."""
    sections = [verdicts_section(run.verdicts, words, run.file, run.notes)]
    sections += criteria_sections(run, words)
    if least := list(least_supported(run, words)):
        sections.append(Section("unsupported", least[0].title, [replace(least[0], title=""), *least[1:]]))
    return sections


def verdicts_section(verdicts: Verdicts, words: Words, file: Path | None = None, read: Sequence[Note] = ()) -> Section:
    """Counts of answers, sentences and citations.

    file   where the verdicts are kept;   read   notes on the outputs
    """
    header = [words(f"judging.head.{name}") for name in ("counted", "n", "share")]
    notes = [*(note_text(note, words) for note in read), *_notes(verdicts, file, words)]
    sheet = Sheet(header, list(_rows(verdicts, words)), notes=notes)
    title = words("judging.title", judge=verdicts.judge, system=verdicts.recipe.get("system", "")).rstrip()
    return Section("judge", title, [], [sheet])


def _brief(run: JudgedRun, look: Look) -> Iterator[Block]:
    """What the judge said in sentences, the sentence with least support, and what to be careful with."""
    words, width = look.words, look.width or USUAL_WIDTH
    yield Text(words("scores.between").join(_verdict_texts(run.verdicts, words)), "bold")
    least = list(least_supported(run, words, width=width * 2 // 3))
    lines = [
        *least_lines(least, words),
        *criteria_lines(run, words, width=width * 2 // 5),
        *careful(_cautions(run, words), look),
        *_asking_notes(run.verdicts, run.file, words),
    ]
    yield from [Text("\n".join(lines), faint=[n for n in (1,) if len(least) > n])] if lines else []


def least_lines(least: Sequence[Paragraph], words: Words) -> list[str]:
    """The paragraphs of `least_supported` as lines of a short text, the second one faint."""
    return [words("brief.judge.least", text=own.text) if n == 0 else own.text for n, own in enumerate(least)]


def _verdict_texts(verdicts: Verdicts, words: Words) -> Iterator[str]:
    """How many answers there are, how many of their sentences are supported, and how many citations are wrong."""
    counts = verdicts.counts
    states = [own for own in get_args(State) if own != "answered" and counts[own]]
    listed = [words("brief.judge.n_answers", n=counts["questions"])]
    listed += [words("brief.judge.part", n=counts[own], label=words(f"judging.state.{own}")) for own in states]
    yield words(
        "brief.judge.answers", system=verdicts.recipe.get("system", ""), judge=verdicts.judge,
        listed=words("list.comma").join(listed),
    )  # fmt: skip
    if n := counts["units"] - counts["no_claim"]:
        shares = [
            words("brief.judge.share", n=own, share=percent(own / n), label=words(f"judging.label.{label}"))
            for label in get_args(Label) if (own := counts[label])
        ]  # fmt: skip
        yield words("brief.judge.units", n=n, listed=words("list.comma").join(shares))
    if n := sum(counts[problem] for problem in get_args(Problem)):
        yield words("brief.judge.citations", n=n, total=counts["citations"])


def _cautions(run: JudgedRun, words: Words) -> Iterator[str]:
    """Cautions about the verdicts, the gravest first."""
    yield from dangers({"": run.notes}, words, n_systems=1)
    yield from _lost_notes(run.verdicts, words)
    notes = [*one_sided_notes(run.verdicts.recipe, run.verdicts.counts), *calibration_notes(run.verdicts.recipe)]
    yield from dangers({"": notes}, words, n_systems=1)


def plan_section(plan: JudgingPlan | LabellingPlan, words: Words) -> Section:
    """The section on what judging answers or pairs would take: how much is asked, calls of a model, tokens and cost."""
    if isinstance(plan, JudgingPlan):
        name, title = "judge", words("judging.plan.title", judge=plan.judge)
        counts = {
            "judging.answers": plan.n_answers,
            "judging.plan.cases": plan.n_cases,
            "judging.plan.verdicts": plan.n_verdicts,
        }
    else:
        name, title = "label", words("labelling.plan.title", judge=plan.judge)
        counts = {"labelling.plan.questions": plan.n_questions, "labelling.plan.pairs": plan.n_pairs}
    rows = [[words(key), count(n)] for key, n in counts.items()]
    if isinstance(plan, LabellingPlan) and plan.n_people:
        rows.append([f"  {words('labelling.plan.people')}", count(plan.n_people)])
    notes = [words("judging.plan.nothing")]
    if plan.n_calls is not None:
        calls = {"calls": plan.n_calls, "cached": plan.n_cached, "tokens_in": plan.tokens_in,
                 "tokens_out": plan.tokens_out}  # fmt: skip
        cost = words("judging.plan.no_price") if plan.cost_usd is None else f"${number(plan.cost_usd, 4)}"
        rows += [[words(f"judging.plan.{key}"), count(n)] for key, n in calls.items()]
        rows.append([words("judging.plan.cost"), cost])
        notes.append(words("judging.plan.estimate"))
    sheet = Sheet([words("judging.head.counted"), words("judging.head.n")], rows, notes=notes)
    return Section(name, title, [], [sheet])


def call_notes(recipe: Mapping[str, Any], words: Words) -> Iterator[str]:
    """Notes on what a model was asked, where one was."""
    calls = recipe.get("calls")
    if calls:
        # A judge of the user's own may count other things, or in words.
        taken = {key: value for key, value in calls.items() if isinstance(value, int | float)}
        cost = taken.get("cost_usd")
        yield words(
            "judging.note.calls" if cost is None else "judging.note.calls_cost",
            calls=f"{taken.get('calls', 0):,}",
            cached=f"{taken.get('cached', 0):,}",
            tokens=f"{taken.get('tokens_in', 0) + taken.get('tokens_out', 0):,}",
            cost=number(cost, 4),
        )


def _rows(verdicts: Verdicts, words: Words) -> Iterator[list[str]]:
    """Counts by group, each with its parts below it; parts that are none are left out."""
    counts, no_claim = verdicts.counts, verdicts.counts["no_claim"]
    groups = (
        ("answers", "questions", "state", get_args(State)),
        ("units", "units", "label", get_args(Label)),
        ("citations", "citations", "problem", get_args(Problem)),
    )
    for group, total, kind, parts in groups:
        n = counts[total]
        yield [words(f"judging.{group}"), count(n), ""]
        if group == "units" and no_claim:
            yield [f"  {words('judging.no_claim')}", count(no_claim), ""]
            n -= no_claim
        for part in parts:
            if own := counts[part]:
                yield [f"  {words(f'judging.{kind}.{part}')}", count(own), percent(own / n)]


def _notes(verdicts: Verdicts, file: Path | None, words: Words) -> Iterator[str]:
    notes = [*calibration_notes(verdicts.recipe), *one_sided_notes(verdicts.recipe, verdicts.counts)]
    yield from (note_text(note, words) for note in notes)
    yield from _lost_notes(verdicts, words)
    yield from _asking_notes(verdicts, file, words)


def _lost_notes(verdicts: Verdicts, words: Words) -> Iterator[str]:
    """Notes on what could not be judged."""
    if n := verdicts.counts["without_context"]:
        yield words("judging.note.without_context", n=n)
    # What was not wanted (`tables`) is not missing.
    if causes := {cause: n for cause, n in verdicts.not_judged.items() if cause != NOT_ASKED.reason}:
        listed = [words("judging.cause", cause=cause, number=f"{n:,}") for cause, n in causes.items()]
        yield words("judging.note.not_judged", causes=words.listed(listed))
    n_misquoted = verdicts.errors.get("misquoted", 0)
    if n := sum(verdicts.errors.values()) - n_misquoted:
        yield words("judging.note.errors", n=n)
    if n_misquoted:
        yield words("judging.note.misquoted", n=n_misquoted)


def _asking_notes(verdicts: Verdicts, file: Path | None, words: Words) -> Iterator[str]:
    """Notes on what a model was asked, and on where the verdicts are kept."""
    yield from call_notes(verdicts.recipe, words)
    if file is not None:
        yield words("judging.note.file", file=str(file))


def least_supported(run: JudgedRun, words: Words, *, width: int | None = None) -> Iterator[Paragraph]:
    """The sentence with least support, with its question, and its lead, where it has one, as a faint paragraph.

    width   columns of a terminal that sentence, question and reason each take at most
    """

    def short(text: str) -> str:
        line = one_line(text, _LONGEST)
        return line if width is None else cut_to(line, width)

    units = unsupported_units(run.verdicts)
    if not units:
        return
    first = units[0]
    queries = {question.query_id: question.query for question in run.questions}
    reason = short(reason_text(one_line(first.nearest.reason, _LONGEST), run.verdicts.judge, words))
    reason = words("judging.unsupported.reason", reason=reason) if reason else ""
    yield Paragraph(
        words(
            "judging.unsupported.text",
            query=short(queries[first.query_id] or first.query_id),
            sentence=short(first.unit.text),
            label=words(f"judging.label.{first.label}"),
            reason=reason,
        ),
        words("judging.unsupported.title", n=len(units)),
    )
    if first.unit.lead:
        yield Paragraph(words("judging.unsupported.lead", lead=short(first.unit.lead)), is_faint=True)


def reason_text(reason: str, judge: str, words: Words) -> str:
    """A reason as people read it: that of the lexical judge in their language, of another judge as it is.

    >>> from steelyard.reports.words import read_words
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


def verdicts_picture(verdicts: Verdicts, words: Words) -> Shares | None:
    """The shares of sentences by what the judge said of them; None where it said the same of all."""
    steps: dict[str, int] = {"supported": 5, "not_found": 1, "contradicted": 0}
    parts = [
        Part(words(f"judging.label.{label}"), n, *((STEPS[steps[label]], ON_STEPS[steps[label]])
             if label in steps else ("#c3c9ce", "#23282d")))
        for label in get_args(Label) if (n := verdicts.counts[label])
    ]  # fmt: skip
    system = str(verdicts.recipe.get("system", "") or words("judging.units"))
    return shares(words("judging.units"), [(system, parts)], words) if len(parts) > 1 else None


# How they are written ------------------------------------------------------------------------------------------------


def _verdicts_data(verdicts: Verdicts) -> dict[str, Any]:
    return {
        "recipe": verdicts.recipe,
        "counts": verdicts.counts,
        "not_judged": verdicts.not_judged,
        "errors": verdicts.errors,
        "criteria": verdicts.criteria.to_dicts(),
        "unsupported": [
            {
                "query_id": unit.query_id, "lead": unit.unit.lead,
                "sentence": unit.unit.text, "start": unit.unit.start, "end": unit.unit.end,
                "verdict": unit.label, "score": unit.nearest.score, "reason": unit.nearest.reason,
                "chunk_id": unit.chunk_id,
            }
            for unit in unsupported_units(verdicts)
        ],
    }  # fmt: skip


VIEWS: dict[type[Shown], View[Any]] = {
    Verdicts: View[Verdicts](
        "verdicts",
        blocks=lambda verdicts, look: [verdicts_section(verdicts, look.words)],
        data=lambda verdicts, words: _verdicts_data(verdicts),
        picture=verdicts_picture,
    ),
    JudgedRun: View[JudgedRun](
        "verdicts",
        blocks=lambda run, look: judging_sections(run, look.words),
        brief=_brief,
        data=lambda run, words: {**_verdicts_data(run.verdicts), "file": run.file},
        picture=lambda run, words: verdicts_picture(run.verdicts, words),
    ),
    JudgingPlan: View[JudgingPlan](
        "a plan of judging",
        blocks=lambda plan, look: [plan_section(plan, look.words)],
        data=lambda plan, words: asdict(plan),
        has_parts=True,
    ),
}
