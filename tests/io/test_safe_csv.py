"""Texts of CSV that a spreadsheet would compute get a ', and nothing else changes."""

import csv
import io
import json
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.io.write import without_formulas
from tests.cli.command import printed
from tests.hypothesis_profiles import examples

FORMULAS = [
    "=1+1",
    "+1-555",
    "-x",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "=1,2",
    '="a"',
    "＝1",
    "－a",
    "-1+2",
    "=1\n2",
    "-",
    "=-5",
]
OTHERS = ["-0.5", "+.5", "-1e-7", "-inf", "+5.4%", "-3", "a=b", "", " =1", "1-2", "'=1", "−5"]


def written(rows: list[list[str]], separator: str = ",") -> str:
    out = io.StringIO()
    quoting = csv.QUOTE_ALL if any("\r" in cell for row in rows for cell in row) else csv.QUOTE_MINIMAL
    csv.writer(out, delimiter=separator, lineterminator="\n", quoting=quoting).writerows(rows)
    return out.getvalue()


def read(text: str, separator: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline=""), delimiter=separator))


@pytest.mark.parametrize("separator", [",", "\t"])
def test_formulas_get_an_apostrophe_and_numbers_none(separator: str) -> None:
    for place in range(3):
        for cell in [*FORMULAS, *OTHERS]:
            row = ["x", "x", "x"]
            row[place] = cell
            want = row.copy()
            want[place] = f"'{cell}" if cell in FORMULAS else cell
            assert read(without_formulas(written([row, ["y"]], separator), separator), separator) == [want, ["y"]]


cells = st.text(st.sampled_from("=+-@\t\r\n,\"'1.ax"), max_size=5)


@examples(200)
@given(st.lists(st.lists(cells, min_size=2, max_size=4), min_size=1, max_size=4), st.sampled_from([",", "\t"]))
def test_only_the_apostrophes_are_new(rows: list[list[str]], separator: str) -> None:
    after = read(without_formulas(written(rows, separator), separator), separator)
    for old, new in zip(chain(*rows), chain(*after), strict=True):
        assert new in (old, f"'{old}")
        assert not new.startswith(("=", "@", "\t", "\r"))
    assert without_formulas(without_formulas(written(rows, separator), separator), separator) == without_formulas(
        written(rows, separator), separator
    )


COMMANDS = [
    "evaluate t.json =a.json @b.json -q -f csv",
    "compare t.json =a.json @b.json -f csv",
    "agreement t.qrels @c.qrels -f csv",
    "report t.json =a.json -o out.csv",
    "convert =a.json out.csv",
    "convert =a.json out.tsv",
    "sweep sweep.toml -m mrr -f csv",
]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_that_writes_csv_has_the_option(command: str, tmp_path: Path) -> None:
    pytest.importorskip("scipy", reason="comparisons need the extra stats")
    pytest.importorskip("bm25s", reason="pipelines need the extra rag")
    truth = {f"={q}": {"=d": 1, "e": 0} for q in range(6)}
    run = {f"={q}": {"=d": 1.0, "e": float(q % 2) * 2} for q in range(6)}
    for name, content in {"t": truth, "=a": run, "@b": {q: {"e": 1.0, "=d": 0.5} for q in truth}}.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
    for name in ("t", "@c"):
        (tmp_path / f"{name}.qrels").write_text("".join(f"={q} 0 =d{q} {q % 2}\n" for q in range(6)))
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "d.txt").write_text("A text about whales.")
    (tmp_path / "q.jsonl").write_text('{"qid": "1", "query": "whales", "rel_map": {"d": 1}}\n')
    (tmp_path / "sweep.toml").write_text(
        'documents = "docs"\nquestions = "q.jsonl"\n[chunk]\nkind = "recursive"\nsize = 100\n'
        '[sweep]\n"chunk.overlap" = [0, 10]\n'
    )
    texts = []
    for options in ((), ("--safe-csv",)):
        said = printed(*command.split(), *options, cwd=tmp_path)
        out = next(tmp_path.glob("out.*"), None)
        texts.append(said if out is None else out.read_text())
    separator = "\t" if "tsv" in command else ","
    exact, safe = texts
    assert safe == without_formulas(exact, separator)
    assert safe != exact or command.startswith("sweep")  # No setting and no folder of it begins so.
    assert all(cell[:1] not in ("=", "@") for row in read(safe, separator) for cell in row)
