"""Self-tests of a judge: a row a test, and what went wrong where the right verdict is known."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from steelyard.judges.self_tests import SelfTests
from steelyard.reports.details.limits import one_line
from steelyard.reports.views.cautions import careful
from steelyard.reports.views.numbers import count, percent
from steelyard.reports.views.picture import Intervals, Kind, Mark, described
from steelyard.reports.views.view import USUAL_WIDTH, Block, Look, Paragraph, Section, Sheet, Text, View
from steelyard.reports.visible import cut_to
from steelyard.reports.words import Words

_LONGEST = 200


def self_tests_sections(tests: SelfTests, words: Words, file: Path | None = None) -> list[Section]:
    """A row a test; what it comes to; and an example of each test that the judge failed.

    file   the calibration that the results are kept in
    """
    sheet = tests_sheet(tests, words)
    sheet.notes = [*_test_notes(tests, words), *([] if file is None else [words("judging.note.file", file=str(file))])]
    section = Section("selftest", words("selftest.title", judge=tests.judge), [], [sheet])
    examples = [_example(tests, name, words) for name in tests.failed]
    return [section, *([Section("examples", words("selftest.examples"), examples)] if examples else [])]


def tests_sheet(tests: SelfTests, words: Words) -> Sheet:
    """A row a test: how often the judge was wrong in it, and how often it may be."""
    rows = [
        [test.name, count(test.n), f"{test.n_failed:,} ({percent(test.rate)})" if test.n else "–",
         words("selftest.interval", low=percent(test.low), high=percent(test.high)) if test.n else "–",
         percent(test.limit), words(f"selftest.result.{test.result}")]
        for test in tests.tests
    ]  # fmt: skip
    names = ("test", "n", "wrong", "interval", "limit", "result")
    return Sheet([words(f"selftest.head.{name}") for name in names], rows)


def _brief(tests: SelfTests, look: Look, *, file: Path | None = None) -> Iterator[Block]:
    """Which tests the judge failed, a row a test, and where it first went wrong.

    file   as of `self_tests_sections`
    """
    words = look.words
    yield Text(_verdict_text(tests, words), "bold")
    sheet = replace(tests_sheet(tests, words), spare=[1])
    if tests.failed:
        name = tests.failed[0]
        example = _example(tests, name, words, width=(look.width or USUAL_WIDTH) // 2)
        meaning = words("selftest.meaning", name=name, meaning=words(f"selftest.test.{name}"))
        sheet.notes.append(words("brief.selftest.example", meaning=meaning, example=example.text))
    sheet.notes += careful(_cautions(tests, words), look)
    sheet.notes += [] if file is None else [words("judging.note.file", file=str(file))]
    yield sheet


def _verdict_text(tests: SelfTests, words: Words) -> str:
    n = sum(test.n > 0 for test in tests.tests)
    if tests.failed:
        names = words.listed([*tests.failed], len(tests.failed))
        return words("brief.selftest.failed", judge=tests.judge, n=len(tests.failed), total=n, names=names)
    return words("brief.selftest.passed", judge=tests.judge, n=sum(test.passed for test in tests.tests), total=n)


def _cautions(tests: SelfTests, words: Words) -> Iterator[str]:
    """Cautions about the results, the gravest first."""
    if (label := tests.always) is not None:
        yield words("selftest.note.always", label=words(f"judging.label.{label}"))
    if undecided := [test for test in tests.tests if test.result == "too_few" and test.n]:
        counts = [words("judging.cause", cause=test.name, number=count(test.needed)) for test in undecided]
        yield words("selftest.note.too_few", counts=words.listed(counts, len(counts)))
    if without := [test.name for test in tests.tests if not test.n]:
        yield words("selftest.note.without", names=words.listed(without, len(without)))
    if n := sum(test.n_not_judged for test in tests.tests):
        yield words("selftest.note.not_judged", n=n)
    if n := sum(tests.errors.values()):
        yield words("judging.note.errors", n=n)


def _test_notes(tests: SelfTests, words: Words) -> Iterator[str]:
    if tests.failed:
        yield words("selftest.note.failed", names=words.listed([*tests.failed], len(tests.failed)))
    yield from _cautions(tests, words)
    for test in tests.tests:
        yield words("selftest.meaning", name=test.name, meaning=words(f"selftest.test.{test.name}"))


def _example(tests: SelfTests, name: str, words: Words, *, width: int | None = None) -> Paragraph:
    """A trial that went wrong: the sentence, and what the judge said of it;   width   as of `least_supported`"""
    rows = tests.trials.filter((tests.trials["test"] == name) & (tests.trials["result"] == "failed"))
    row = rows.row(0, named=True)
    texts = []
    for sentence, label in (("sentence", "verdict"), ("second_sentence", "second_verdict")):
        if row[label] is not None:
            line = one_line(row[sentence], _LONGEST)
            line = line if width is None else cut_to(line, width)
            texts.append(words("selftest.said", sentence=line, label=words(f"judging.label.{row[label]}")))
    return Paragraph(words("selftest.then").join(texts), name)


def self_tests_picture(tests: SelfTests, words: Words) -> Intervals | None:
    """How often the judge was wrong in each test, with intervals; None where no test has trials."""
    kinds: dict[str, Kind] = {"passed": "better", "failed": "worse"}
    marks = [
        Mark(test.name, test.rate, test.low, test.high, percent(test.rate), kinds.get(test.result, "unclear"))
        for test in tests.tests if test.rate is not None
    ]  # fmt: skip
    title = words("charts.selftest.title", judge=tests.judge)
    return Intervals(title, described(title, marks, words), marks) if marks else None


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


VIEWS = {
    SelfTests: View[SelfTests](
        "self-tests",
        blocks=lambda tests, look, **named: self_tests_sections(tests, look.words, **named),
        brief=_brief,
        data=lambda tests, words, file=None: _self_tests_data(tests),
        options=("file",),
        has_parts=True,
        picture=self_tests_picture,
    )
}
