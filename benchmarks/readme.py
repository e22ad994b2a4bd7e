"""Puts the table of RESULTS.md into README.md beside it, between its marks: python benchmarks/readme.py"""

from __future__ import annotations

from pathlib import Path

HERE = Path(__file__).parent
MARKS = ("<!-- speed -->", "<!-- /speed -->")

TEXT = """\
6,980 questions × 1,000 documents (7 M lines), five measures, whole process with imports, unless the row says otherwise;
ratios of medians measured in one run, after checking that all sides compute the same values.

| work | against | measured | target |
|---|---|---:|---:|
{rows}

{medians} {missed} of {n} rows miss their target; starting Python and importing NumPy and Polars takes
about 0.2 s of every process.
"""


def rows_of(results: str) -> list[list[str]]:
    """Work, against, measured, target and verdict of each line that was measured."""
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in results.splitlines() if line[:2] == "| "]
    return [[work, against, value, target, verdict] for work, against, target, _, _, value, verdict in cells[1:]]


def table(rows: list[list[str]]) -> str:
    """The rows as Markdown; those that miss their target say so."""
    return "\n".join(
        f"| {work} | {against or '–'} | {value}{' (missed)' if 'missed' in verdict else ''} | {target} |"
        for work, against, value, target, verdict in rows
        if verdict != "skipped"
    )


def replace_table(path: Path, text: str) -> None:
    """Put a text between the marks of a file."""
    before, _, rest = path.read_text("utf-8").partition(MARKS[0])
    _, _, after = rest.partition(MARKS[1])
    path.write_text(f"{before}{MARKS[0]}\n{text}{MARKS[1]}{after}", "utf-8")


def main() -> None:
    results = (HERE / "RESULTS.md").read_text("utf-8")
    rows, medians = rows_of(results), results.strip().splitlines()[-1]
    counted = [row for row in rows if row[-1] != "skipped"]
    missed = sum("missed" in row[-1] for row in counted)
    text = TEXT.format(rows=table(rows), medians=medians, missed=missed, n=len(counted))
    replace_table(HERE / "README.md", text)


if __name__ == "__main__":
    main()
