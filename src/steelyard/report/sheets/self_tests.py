"""How a judge did in its self-tests, as a sheet."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from steelyard.judges.self_tests import SelfTest, SelfTests
from steelyard.report.details.limits import cut
from steelyard.report.sheets.section import Paragraph, Section
from steelyard.report.sheets.sheet import Sheet, percent
from steelyard.report.words import Words

_LONGEST = 200


def self_tests_sections(tests: SelfTests, words: Words, file: Path | None = None) -> list[Section]:
    """A row a test; what it comes to; and an example of each test that the judge failed.

    file   the calibration that the results are kept in
    """
    sheet = Sheet(
        [words(f"selftest.head.{name}") for name in ("test", "n", "wrong", "interval", "limit", "result")],
        [_row(test, words) for test in tests.tests],
        notes=[*_notes(tests, words), *([] if file is None else [words("judging.note.file", file=str(file))])],
    )
    section = Section("selftest", words("selftest.title", judge=tests.judge), [], [sheet])
    examples = [_example(tests, name, words) for name in tests.failed]
    return [section, *([Section("examples", words("selftest.examples"), examples)] if examples else [])]


def _row(test: SelfTest, words: Words) -> list[str]:
    wrong = f"{test.n_failed:,} ({percent(test.rate)})" if test.n else "–"
    interval = words("selftest.interval", low=percent(test.low), high=percent(test.high)) if test.n else "–"
    result = words(f"selftest.result.{test.result}")
    return [test.name, f"{test.n:,}", wrong, interval, percent(test.limit), result]


def _notes(tests: SelfTests, words: Words) -> Iterator[str]:
    if (label := tests.always) is not None:
        yield words("selftest.note.always", label=words(f"judging.label.{label}"))
    if tests.failed:
        yield words("selftest.note.failed", names=words.listed([*tests.failed], len(tests.failed)))
    if undecided := [test for test in tests.tests if test.result == "too_few" and test.n]:
        counts = [
            words("judging.cause", cause=test.name, number="–" if test.needed is None else f"{test.needed:,}")
            for test in undecided
        ]
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
        words("selftest.said", sentence=_line(row[sentence]), label=words(f"judging.label.{row[label]}"))
        for sentence, label in (("sentence", "verdict"), ("second_sentence", "second_verdict"))
        if row[label] is not None
    ]
    return Paragraph(words("selftest.then").join(texts), name)


def _line(sentence: str) -> str:
    return cut(" ".join(sentence.split()), _LONGEST)
