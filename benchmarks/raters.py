"""Agreement of raters beside what others computed from the same labels, and how sure its intervals are.

    python -m benchmarks.raters [FOLDER] [--table published|coverage|grades|order ...] [--markdown FILE] [--json FILE]

FOLDER is the folder `answers` of the shared data beside the repository.  Exits with 1 where a figure is not the
published one to its last digit.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from benchmarks.judged.rater_figures import all_figures, figure_table
from benchmarks.simulated.agreement import coverage_table, grade_table, order_table
from benchmarks.simulated.tables import Table

ANSWERS = Path(__file__).resolve().parents[2] / "shared" / "data" / "answers"


def published(folder: Path) -> tuple[Table, list[dict[str, object]]]:
    """Every figure of six sets."""
    began = time.process_time()
    figures = list(all_figures(folder))
    seconds = time.process_time() - began
    title = f"Agreement of raters: {len(figures)} published figures and ours, in {seconds:.0f} s of one core"
    return figure_table(title, figures), [figure.row() for figure in figures]


def simulated(folder: Path) -> tuple[Table, list[dict[str, object]]]:
    """How often intervals hold the true value."""
    return coverage_table(), []


def graded(folder: Path) -> tuple[Table, list[dict[str, object]]]:
    """The same of grades."""
    return grade_table(), []


def ordered(folder: Path) -> tuple[Table, list[dict[str, object]]]:
    """Why the order of systems has no interval."""
    return order_table(), []


TABLES: Mapping[str, Callable[[Path], tuple[Table, list[dict[str, object]]]]] = {
    "published": published,
    "coverage": simulated,
    "grades": graded,
    "order": ordered,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=ANSWERS)
    parser.add_argument("--table", choices=TABLES, nargs="*", default=[*TABLES])
    parser.add_argument("--markdown", type=Path)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if not options.folder.is_dir():
        parser.error(f"{options.folder} is no folder; name the folder `answers` of the shared data")
    tables = {name: TABLES[name](options.folder) for name in options.table}
    texts = ["\n".join(table.lines()) for table, _ in tables.values()]
    rows = [{"table": name, **row} for name, (_, listed) in tables.items() for row in listed]
    sys.stdout.write("\n\n".join(texts) + "\n")
    if options.markdown:
        options.markdown.write_text("\n\n".join(texts) + "\n", encoding="utf-8")
    if options.json:
        options.json.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    n_missed = sum(row["met"] is False for row in rows)
    sys.stdout.write(f"{n_missed} figures are not as published\n")
    return int(n_missed > 0)


if __name__ == "__main__":
    sys.exit(main())
