"""How far measures of answers and the lexical judge can be trusted: floors on sets with human labels.

    python -m benchmarks.answers [FOLDER] [--table NAME ...] [--markdown FILE] [--json FILE]

FOLDER is the folder `answers` of the shared data beside the repository.  Exits with 1 where a figure is not as it must
be.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.judged.answer_pairs import course_values, pair_values
from benchmarks.judged.calls import call_values
from benchmarks.judged.citing import abstention_values, citation_values
from benchmarks.judged.criteria import criteria_values
from benchmarks.judged.gold_answers import preference_values
from benchmarks.judged.labelling import label_values
from benchmarks.judged.lexical import check_values, evidence_values, floor_values, span_values, threshold_rows
from benchmarks.judged.polarity import lead_values, polarity_values
from benchmarks.judged.reference import reproduction_table, reproductions
from benchmarks.judged.stated_amounts import amount_values
from benchmarks.judged.traces import trace_values
from benchmarks.judged.units import text_values, together_values, unit_values
from benchmarks.judged.values import grid, value_table
from benchmarks.simulated.tables import Table

from steelyard.judges.lexical import LexicalJudge

ANSWERS = Path(__file__).resolve().parents[2] / "shared" / "data" / "answers"


@dataclass(frozen=True)
class Report:
    """A table, and the same as lines of JSON, each with `met`: true, false, or null where nothing is asked."""

    table: Table
    rows: list[dict[str, Any]]


def floors(folder: Path) -> Report:
    values = list(floor_values(folder))
    return Report(value_table("The lexical judge beside people", values), [value.row() for value in values])


def checks(folder: Path) -> Report:
    values = list(check_values(folder))
    title = "What each check of the lexical judge adds to its AUC (with all checks, less all but this one)"
    return Report(grid(title, values), [value.row() for value in values])


def thresholds(folder: Path) -> Report:
    rows = list(threshold_rows(folder))
    default = LexicalJudge().threshold
    columns = ("set", "best threshold", "balanced accuracy there", f"of the labels, threshold {default:g}")
    cells = [(name, f"{best:.2f}", f"{there:.3f}", f"{labels:.3f}") for name, best, there, labels in rows]
    title = "Thresholds do not transfer: the best one by set, and what the default one gives"
    return Report(Table(title, columns, cells), [dict(zip(columns, row, strict=True)) | {"met": None} for row in rows])


def evidence(folder: Path) -> Report:
    values = list(evidence_values(folder))
    return Report(value_table("The sentence that supports a text", values), [value.row() for value in values])


def spans(folder: Path) -> Report:
    values = list(span_values(folder))
    title = "Unsupported spans of an answer, by character; the cutoff was chosen on half of the questions"
    return Report(value_table(title, values), [value.row() for value in values])


def gold_answers(folder: Path) -> Report:
    values = list(preference_values(folder))
    title = "Which of two answers people prefer (RAGChecker), and the difference in our measures"
    return Report(value_table(title, values), [value.row() for value in values])


def reference(folder: Path) -> Report:
    rows = reproductions(folder)
    return Report(reproduction_table(rows), [number.row(published) for number, published in rows])


def citations(_: Path) -> Report:
    values = list(citation_values())
    return Report(value_table("Citations of answers, by tables of cases", values), [value.row() for value in values])


def abstentions(_: Path) -> Report:
    values = list(abstention_values())
    return Report(value_table("Answers that say that there is none", values), [value.row() for value in values])


def units(_: Path) -> Report:
    values = [*unit_values(), *text_values(), *together_values()]
    return Report(value_table("Units of answers as people read them", values), [value.row() for value in values])


def calls(_: Path) -> Report:
    values = list(call_values())
    title = "The judge llm: calls, tokens, and verdicts beside those of one chunk a call"
    return Report(value_table(title, values), [value.row() for value in values])


def traces(folder: Path) -> Report:
    values = list(trace_values())
    title = "Traces of other tools and conversations: what is read of the files in tests/cases"
    return Report(value_table(title, values), [value.row() for value in values])


def polarity(_: Path) -> Report:
    values = [*polarity_values(), *lead_values()]
    title = "What texts affirm and deny, by tables of cases"
    return Report(value_table(title, values), [value.row() for value in values])


def pairs(_: Path) -> Report:
    values = [*pair_values(), *course_values()]
    title = "Sentences about course, product and policy texts"
    return Report(value_table(title, values), [value.row() for value in values])


def amounts(_: Path) -> Report:
    values = list(amount_values())
    return Report(value_table("Numerals and quantities in other words", values), [value.row() for value in values])


def labels(_: Path) -> Report:
    values = list(label_values())
    title = "Files of verdicts, and means and differences that labels of people correct (simulated, the truth is known)"
    return Report(value_table(title, values), [value.row() for value in values])


def criteria(_: Path) -> Report:
    values = list(criteria_values())
    title = "Grades by criteria, and answers compared in pairs"
    return Report(value_table(title, values), [value.row() for value in values])


TABLES: Mapping[str, Callable[[Path], Report]] = {
    "floors": floors,
    "checks": checks,
    "thresholds": thresholds,
    "evidence": evidence,
    "spans": spans,
    "gold-answers": gold_answers,
    "reference": reference,
    "amounts": amounts,
    "units": units,
    "citations": citations,
    "abstentions": abstentions,
    "polarity": polarity,
    "pairs": pairs,
    "calls": calls,
    "traces": traces,
    "criteria": criteria,
    "labels": labels,
}
"""By name: from the folder of data to a report."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=ANSWERS)
    parser.add_argument("--table", choices=TABLES, nargs="*", default=[*TABLES])
    parser.add_argument("--markdown", type=Path)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if not options.folder.is_dir():
        parser.error(f"{options.folder} is no folder; name the folder `answers` of the shared data")
    written, rows = [], []
    for name in options.table:
        report = TABLES[name](options.folder)
        lines = "\n".join(report.table.lines())
        sys.stdout.write(f"{lines}\n\n")
        sys.stdout.flush()
        written.append(lines)
        rows += [{"table": name, **row} for row in report.rows]
    if options.markdown:
        options.markdown.write_text("\n\n".join(written) + "\n", encoding="utf-8")
    if options.json:
        options.json.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    n_missed = sum(row["met"] is False for row in rows)
    sys.stdout.write(f"{n_missed} figures are not as they must be\n")
    return int(n_missed > 0)


if __name__ == "__main__":
    sys.exit(main())
