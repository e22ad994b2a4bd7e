"""What a judge said of answers, pairs and self-tests, and what asking it would take."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, get_args

from steelyard.base.result import Result
from steelyard.experiment.judging import JudgedRun, JudgingPlan
from steelyard.judges.answers.cases import NOT_ASKED
from steelyard.judges.grading.grades import FEW, JUDGE, PEOPLE, GradeAgreement, Grades, holds_rows
from steelyard.judges.people.calibration import calibration_notes
from steelyard.judges.self_tests import SelfTests
from steelyard.judges.tables.items import unsupported_units
from steelyard.judges.tables.verdicts import FOLDER, Verdicts
from steelyard.judges.verdict import Label, Problem, State
from steelyard.rag.labelling import LabellingPlan
from steelyard.reports.details.limits import one_line
from steelyard.reports.views.colours import ON_STEPS, STEPS
from steelyard.reports.views.notes import note_text
from steelyard.reports.views.numbers import count, number, percent
from steelyard.reports.views.picture import Intervals, Kind, Mark, Part, Shares, described, shares
from steelyard.reports.views.view import Paragraph, Section, Sheet, View
from steelyard.reports.words import Words

_LONGEST, _LONGEST_TEST = 400, 200
_LEXICAL_PART = re.compile(r"(missing|numbers|units|dates|negation|no words)(?:: (.+))?", re.DOTALL)


def judging_sections(run: JudgedRun, words: Words, *, questions: str = "", outputs: str = "") -> list[Section]:
    """Counts of answers, sentences and citations, one sentence without support, and what to do next.

    questions, outputs   as they were named, for the command that weighs them
    """
    verdicts = run.verdicts
    header = [words(f"judging.head.{name}") for name in ("counted", "n", "share")]
    sheet = Sheet(header, list(_rows(verdicts, words)), notes=list(_notes(run, words)))
    title = words("judging.title", judge=verdicts.judge, system=verdicts.recipe.get("system", ""))
    sections = [Section("judge", title, [], [sheet])]
    sections += [Section("unsupported", p.title, [Paragraph(p.text)]) for p in least_supported(run, words)]
    if questions and outputs and (measures := _measures(run.verdicts)):
        kept_apart = run.file is not None and run.file.parent.name != FOLDER
        options = [word for measure in measures for word in ("-m", measure)]
        options += ["--verdicts", str(run.file)] if kept_apart else []
        command = shlex.join(["steelyard", "evaluate", questions, outputs, *options])
        sections.append(Section("next", words("judging.next"), [Paragraph(command, is_command=True)]))
    return sections


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


def _call_notes(recipe: Mapping[str, Any], words: Words) -> Iterator[str]:
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
    yield from _call_notes(verdicts.recipe, words)
    if run.file is not None:
        yield words("judging.note.file", file=str(run.file))


def least_supported(run: JudgedRun, words: Words) -> Iterator[Paragraph]:
    """The sentence with least support, with its question."""
    units = unsupported_units(run.verdicts)
    if not units:
        return
    first = units[0]
    queries = {question.query_id: question.query for question in run.questions}
    reason = reason_text(one_line(first.nearest.reason, _LONGEST), run.verdicts.judge, words)
    reason = words("judging.unsupported.reason", reason=reason) if reason else ""
    yield Paragraph(
        words(
            "judging.unsupported.text",
            query=one_line(queries[first.query_id] or first.query_id, _LONGEST),
            sentence=one_line(first.unit.text, _LONGEST),
            label=words(f"judging.label.{first.label}"),
            reason=reason,
        ),
        words("judging.unsupported.title", n=len(units)),
    )


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


def _measures(verdicts: Verdicts) -> list[str]:
    """Measures that what was judged has something for."""
    tables = {*verdicts.recipe.get("tables", ())}
    has_gold = any(record.gold_units for record in verdicts.records.values())
    measures = ["faithfulness"] if tables & {"support", "grounded"} else []
    measures += ["answer_f1"] if has_gold and tables >= {"correctness", "said"} else []
    return measures + (["citation_support"] if verdicts.counts["citations"] and "joint" in tables else [])


def labelling_sections(grades: Grades, words: Words, *, file: str = "", sources: Sequence[str] = ()) -> list[Section]:
    """Sections on how often each grade was given, agreement with people, and what to do next.

    file, sources   as they were named, for the command that weighs with the truth
    """
    header = [words(f"labelling.head.{name}") for name in ("gain", "judge", "people", "share")]
    sheet = Sheet(header, list(_grade_rows(grades, words)), notes=list(_grade_notes(grades, file, words)))
    title = words("labelling.title", judge=grades.recipe["judge"]["name"], scale=grades.recipe["scale"])
    sections = [Section("label", title, [], [sheet])]
    if (agreement := grades.agreement) is not None and (agreement.n or agreement.n_off):
        text = " ".join(_grade_agreement(agreement, words))
        sections.append(Section("agreement", words("labelling.agreement.title"), [Paragraph(text)]))
    if file and file != "-":
        # The pooled runs, or others where documents were pooled, from half of the scale on.
        gains = sorted(float(grade["gain"]) for grade in grades.recipe["grades"])
        runs = "RUN..." if grades.recipe["pool"]["documents"] else shlex.join(sources)
        command = f"{shlex.join(['steelyard', 'evaluate', file])} {runs} --min-gain {gains[len(gains) // 2]:g}"
        sections.append(Section("next", words("judging.next"), [Paragraph(command, is_command=True)]))
    return sections


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
    if grades.recipe["judge"]["name"] == "lexical":
        yield words("labelling.note.lexical")
    if grades.not_judged:
        listed = [words("judging.cause", cause=cause, number=f"{n:,}") for cause, n in grades.not_judged.items()]
        yield words("labelling.note.not_judged", causes=words.listed(listed))
    if n_other := len(grades) - grades.recipe["n_pairs"]:
        yield words("labelling.note.other", n=n_other)
    yield from _call_notes(grades.recipe, words)
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


def self_tests_sections(tests: SelfTests, words: Words, file: Path | None = None) -> list[Section]:
    """A row a test; what it comes to; and an example of each test that the judge failed.

    file   the calibration that the results are kept in
    """
    rows = [
        [test.name, count(test.n), f"{test.n_failed:,} ({percent(test.rate)})" if test.n else "–",
         words("selftest.interval", low=percent(test.low), high=percent(test.high)) if test.n else "–",
         percent(test.limit), words(f"selftest.result.{test.result}")]
        for test in tests.tests
    ]  # fmt: skip
    header = [words(f"selftest.head.{name}") for name in ("test", "n", "wrong", "interval", "limit", "result")]
    notes = [*_test_notes(tests, words), *([] if file is None else [words("judging.note.file", file=str(file))])]
    sheet = Sheet(header, rows, notes=notes)
    section = Section("selftest", words("selftest.title", judge=tests.judge), [], [sheet])
    examples = [_example(tests, name, words) for name in tests.failed]
    return [section, *([Section("examples", words("selftest.examples"), examples)] if examples else [])]


def _test_notes(tests: SelfTests, words: Words) -> Iterator[str]:
    if (label := tests.always) is not None:
        yield words("selftest.note.always", label=words(f"judging.label.{label}"))
    if tests.failed:
        yield words("selftest.note.failed", names=words.listed([*tests.failed], len(tests.failed)))
    if undecided := [test for test in tests.tests if test.result == "too_few" and test.n]:
        counts = [words("judging.cause", cause=test.name, number=count(test.needed)) for test in undecided]
        yield words("selftest.note.too_few", counts=words.listed(counts, len(counts)))
    if without := [test.name for test in tests.tests if not test.n]:
        yield words("selftest.note.without", names=words.listed(without, len(without)))
    if n := sum(test.n_not_judged for test in tests.tests):
        yield words("selftest.note.not_judged", n=n)
    if n := sum(tests.errors.values()):
        yield words("judging.note.errors", n=n)
    for test in tests.tests:
        yield words("selftest.meaning", name=test.name, meaning=words(f"selftest.test.{test.name}"))


def _example(tests: SelfTests, name: str, words: Words) -> Paragraph:
    """A trial that went wrong: the sentence, and what the judge said of it."""
    rows = tests.trials.filter((tests.trials["test"] == name) & (tests.trials["result"] == "failed"))
    row = rows.row(0, named=True)
    texts = [
        words(
            "selftest.said", sentence=one_line(row[sentence], _LONGEST_TEST), label=words(f"judging.label.{row[label]}")
        )
        for sentence, label in (("sentence", "verdict"), ("second_sentence", "second_verdict"))
        if row[label] is not None
    ]
    return Paragraph(words("selftest.then").join(texts), name)


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


def self_tests_picture(tests: SelfTests, words: Words) -> Intervals | None:
    """How often the judge was wrong in each test, with intervals; None where no test has trials."""
    kinds: dict[str, Kind] = {"passed": "better", "failed": "worse"}
    marks = [
        Mark(test.name, test.rate, test.low, test.high, percent(test.rate), kinds.get(test.result, "unclear"))
        for test in tests.tests if test.rate is not None
    ]  # fmt: skip
    title = words("charts.selftest.title", judge=tests.judge)
    return Intervals(title, described(title, marks, words), marks) if marks else None


# How they are written ------------------------------------------------------------------------------------------------


def _judging_data(run: JudgedRun) -> dict[str, Any]:
    verdicts = run.verdicts
    return {
        "recipe": verdicts.recipe,
        "counts": verdicts.counts,
        "not_judged": verdicts.not_judged,
        "errors": verdicts.errors,
        "unsupported": [
            {
                "query_id": unit.query_id, "sentence": unit.unit.text, "start": unit.unit.start, "end": unit.unit.end,
                "verdict": unit.label, "score": unit.nearest.score, "reason": unit.nearest.reason,
                "chunk_id": unit.chunk_id,
            }
            for unit in unsupported_units(verdicts)
        ],
        "file": run.file,
    }  # fmt: skip


def _grades_data(grades: Grades, file: str) -> dict[str, Any]:
    return {
        "recipe": grades.recipe,
        "pairs": {"by_people": len(grades.by(PEOPLE)), "by_judge": len(grades.by(JUDGE))},
        "not_judged": grades.not_judged,
        "agreement": None if grades.agreement is None else asdict(grades.agreement),
        "file": file or None,
    }


def _self_tests_data(tests: SelfTests) -> dict[str, Any]:
    """All tests, and the trials that went wrong."""
    failed_trials = tests.trials.filter(tests.trials["result"] == "failed").drop("result")
    return {
        "recipe": tests.recipe,
        "tests": tests.frame.to_dicts(),
        "always": tests.always,
        "errors": tests.errors,
        "failed_trials": failed_trials.to_dicts(),
    }


VIEWS: dict[type[Result], View[Any]] = {
    JudgedRun: View[JudgedRun](
        "verdicts",
        blocks=lambda run, look, **named: judging_sections(run, look.words, **named),
        data=lambda run, words, **named: _judging_data(run),
        options=("questions", "outputs"),
        picture=lambda run, words: verdicts_picture(run.verdicts, words),
    ),
    JudgingPlan: View[JudgingPlan](
        "a plan of judging",
        blocks=lambda plan, look: [plan_section(plan, look.words)],
        data=lambda plan, words: asdict(plan),
        has_parts=True,
    ),
    Grades: View[Grades](
        "what was graded",
        blocks=lambda grades, look, **named: labelling_sections(grades, look.words, **named),
        data=lambda grades, words, file="", sources=(): _grades_data(grades, file),
        options=("file", "sources"),
    ),
    LabellingPlan: View[LabellingPlan](
        "a plan of grading",
        blocks=lambda plan, look: [plan_section(plan, look.words)],
        data=lambda plan, words: asdict(plan),
        has_parts=True,
    ),
    SelfTests: View[SelfTests](
        "self-tests",
        blocks=lambda tests, look, **named: self_tests_sections(tests, look.words, **named),
        data=lambda tests, words, file=None: _self_tests_data(tests),
        options=("file",),
        has_parts=True,
        picture=self_tests_picture,
    ),
}
