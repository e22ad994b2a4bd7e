"""Grades of answers by criteria: means, and the answers with the lowest grades."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from steelyard.experiment.judging import JudgedRun
from steelyard.reports.details.limits import one_line
from steelyard.reports.views.numbers import count, number, percent
from steelyard.reports.views.view import Paragraph, Section, Sheet
from steelyard.reports.visible import cut_to
from steelyard.reports.words import Words

_LONGEST = 400
_SHOWN, _WORST = 3, 5
"""Criteria of a brief screen, and answers with the lowest grades by each criterion in full."""


def criteria_lines(run: JudgedRun, words: Words, *, width: int) -> Iterator[str]:
    """For each of the first criteria its mean, and the answer with the lowest grade.

    width   columns of a terminal that answer, question and reason each take at most
    """
    for grades in _by_criterion(run)[:_SHOWN]:
        yield _mean_text(grades, words)
        yield from _lowest(grades, run, words, most=1, width=width)


def criteria_sections(run: JudgedRun, words: Words) -> Iterator[Section]:
    """A table of all criteria, and the answers with the lowest grades by each."""
    criteria = _by_criterion(run)
    if criteria:
        header = [words(f"judging.criteria.{key}") for key in ("criterion", "scale", "n", "mean", "share", "lowest")]
        rows = [
            [grades["criterion"][0], grades["scale"][0], count(len(judged)), number(_mean(judged["value"])),
             percent(_mean(judged["share"])), number(_lowest_value(judged))]
            for grades in criteria for judged in [grades.drop_nulls("value")]
        ]  # fmt: skip
        lines = [text for grades in criteria for text in _lowest(grades, run, words, most=_WORST)]
        sheet = Sheet(header, rows)
        yield Section("criteria", words("judging.criteria.title"), [Paragraph(text) for text in lines], [sheet])


def _by_criterion(run: JudgedRun) -> list[pl.DataFrame]:
    return run.verdicts.criteria.partition_by("criterion", maintain_order=True)


def _mean(values: pl.Series) -> float:
    return float("nan") if values.is_empty() else float(values.to_numpy().mean())


def _lowest_value(judged: pl.DataFrame) -> float:
    return float("nan") if judged.is_empty() else float(judged["value"].to_numpy().min())


def _mean_text(grades: pl.DataFrame, words: Words) -> str:
    name, scale, judged = grades["criterion"][0], grades["scale"][0], grades.drop_nulls("value")
    if scale != "yes/no":
        return words("judging.criteria.graded", name=name, mean=number(_mean(judged["value"]), 2), scale=scale)
    n_yes = int((judged["value"] >= 0.5).sum())
    share = percent(_mean(judged["share"]))
    return words("judging.criteria.yes", name=name, n=n_yes, total=len(judged), share=share)


def _lowest(
    grades: pl.DataFrame, run: JudgedRun, words: Words, *, most: int, width: int | None = None
) -> Iterator[str]:
    """The answers with the lowest grades, of those that are not the best that there is."""

    def short(text: str) -> str:
        line = one_line(text, _LONGEST)
        return line if width is None else cut_to(line, width)

    queries = {question.query_id: question.query for question in run.questions}
    below = grades.filter(pl.col("share") < 1).sort("share", maintain_order=True)
    for row in below.head(most).iter_rows(named=True):
        reason = words("judging.unsupported.reason", reason=short(row["reason"])) if row["reason"] else ""
        yield words(
            f"judging.criteria.{'no' if row['scale'] == 'yes/no' else 'worst'}", name=row["criterion"],
            value=number(row["value"], 2), answer=short(run.verdicts.records[row["query_id"]].answer), reason=reason,
            query=short(queries[row["query_id"]] or row["query_id"]),
        )  # fmt: skip
