"""TREC runs and qrels: what is read, in which odd shapes, and what is refused with which line."""

from __future__ import annotations

import gzip
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import steelyard as sy
from steelyard.align.rankings import align
from steelyard.data.run import StreamedRun
from steelyard.io import formats, source
from steelyard.io.trec import TrecFile

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

Row = tuple[str, str, float]
Words = list[list[str]]

# Ids that a splitter of text, rather than of ASCII bytes, would tear apart: U+2028, no-break and ideographic blanks.
ODD_IDS = [
    "文档一",
    "d\u2028x",
    "d\u00a0y",
    "d\u3000z",
    "d\u0085w",
    "é",
    "😀",
    "-1",
    "007",
    "a#b",
    '"q"',
    "a,b",
    "NaN",
    "null",
]
DOCS = [*ODD_IDS, *(f"d{i}" for i in range(26))]
NUMBERS = [str(40 - i) if i % 3 else f"{40 - i}.125" for i in range(40)]
QUERIES = [("q1", "查询", "q\u20283", "0042")[i // 10] for i in range(40)]
RUN_WORDS = [[q, "Q0", d, str(i), n, "tag"] for i, (q, d, n) in enumerate(zip(QUERIES, DOCS, NUMBERS, strict=True), 1)]
QRELS_WORDS = [[q, "0", d, n] for q, d, n in zip(QUERIES, DOCS, NUMBERS, strict=True)]
ROWS = [(q, d, float(n)) for q, d, n in zip(QUERIES, DOCS, NUMBERS, strict=True)]


def lines(words: Words, separator: str = " ", end: str = "\n") -> str:
    return "".join(separator.join(row) + end for row in words)


def aligned(words: Words) -> str:
    return "".join("".join(word.ljust(12) for word in row) + "\n" for row in words)


def with_between(words: Words, extra: list[str]) -> str:
    """Extra lines before the first, in the middle and after the last row."""
    half = len(words) // 2
    between = "".join(line + "\n" for line in extra)
    return between + lines(words[:half]) + between + lines(words[half:]) + between


SHAPES: dict[str, Callable[[Words], str]] = {
    "single blanks": lines,
    "tabs": lambda words: lines(words, "\t"),
    "blank and tab": lambda words: lines(words, " \t "),
    "tabs on every other line": lambda words: "".join("\t "[i % 2].join(w) + "\n" for i, w in enumerate(words)),
    "tab in one place": lambda words: lines(words[:30]) + lines(words[30:31], "\t") + lines(words[31:]),
    "aligned columns": aligned,
    "many blanks": lambda words: lines(words, " " * 9),
    "blanks before": lambda words: "".join("  " + " ".join(row) + "\n" for row in words),
    "tab before": lambda words: "".join("\t" + " ".join(row) + "\n" for row in words),
    "blanks behind": lambda words: lines(words, end=" \t \n"),
    "form feed and vertical tab": lambda words: lines(words, "\f\v"),
    "CRLF": lambda words: lines(words, end="\r\n"),
    "tabs and CRLF": lambda words: lines(words, "\t", "\r\n"),
    "CRLF made of CRLF": lambda words: lines(words, end="\r\r\n"),
    "CR before the end": lambda words: lines(words).removesuffix("\n") + "\r",
    "some CRLF": lambda words: lines(words[:20], end="\r\n") + lines(words[20:]),
    "BOM": lambda words: "\ufeff" + lines(words),
    "BOM and CRLF": lambda words: "\ufeff" + lines(words, end="\r\n"),
    "BOM and comment": lambda words: "\ufeff# made by hand\n" + lines(words),
    "blank lines": lambda words: with_between(words, ["", "  ", "\t", ""]),
    "blank CRLF lines": lambda words: with_between(words, ["\r", "\r"]),
    "no final newline": lambda words: lines(words).removesuffix("\n"),
    "tabs, no final newline": lambda words: lines(words, "\t").removesuffix("\n"),
    "comments": lambda words: with_between(words, ["# one", "#two", "#", "  # three", "# 四\u2028 x"]),
    "commented-out rows": lambda words: with_between(words, ["#" + lines(words[:1]).strip()]),
    "commented-out rows, blank": lambda words: with_between(words, ["# " + lines(words[:1]).strip()]),
    "comments with as many words as rows": lambda words: with_between(words, [" ".join(["#", *words[0][1:]])]),
    "only a comment with as many words": lambda words: lines([["#", *words[0][1:]], *words]),
    "comment without newline at the end": lambda words: lines(words) + "# the end",
    "long comment": lambda words: "#" + "x" * 300 + "\n" + lines(words),
}

MORE_COLUMNS: dict[str, Callable[[Words], str]] = {
    "a tag with blanks": lambda words: lines(words, end=" of May 2024\n"),
    "more columns on some lines": lambda words: lines(words[:20]) + lines(words[20:], end=" more\n"),
    "tabs, and more columns": lambda words: lines(words, "\t", "\tmore\tand more\n"),
    "aligned, and a ranking of fractions": lambda words: aligned([[*w[:3], "1.0", *w[4:], "x", "y"] for w in words]),
    "comments, CRLF and more columns": lambda words: "# 7\r\n" + lines(words, end=" #more\r\n"),
    "more columns, no final newline": lambda words: lines(words, end=" more\n").removesuffix("\n"),
    "other bytes than UTF-8 behind the tag": lambda words: lines(words, end=" \udce9\n"),
}


@pytest.fixture(params=[None, 64], ids=lambda n: f"blocks of {n or 'the usual'} bytes")
def _block_bytes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    if request.param:
        monkeypatch.setattr(source, "BLOCK_BYTES", request.param)
    return


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def run_rows(path: Path) -> list[Row]:
    return sy.Run.read(path).frame.rows()


def truth_rows(path: Path) -> list[Row]:
    return sy.Truth.read(path).frame.rows()


def by_gain(rows: list[Row]) -> list[Row]:
    """The order in which a truth keeps its labels."""
    return sorted(rows, key=lambda row: (row[0], -row[2]))


@pytest.mark.usefixtures("_block_bytes")
@pytest.mark.parametrize("shape", SHAPES)
def test_a_run_is_read_in_any_shape(shape: str, tmp_path: Path) -> None:
    path = write(tmp_path / "a.run", SHAPES[shape](RUN_WORDS))
    assert run_rows(path) == ROWS
    want = sy.evaluate({"q1": {"文档一": 1, "d\u2028x": 2}}, {"q1": {d: s for q, d, s in ROWS if q == "q1"}}, "map")
    assert sy.evaluate({"q1": {"文档一": 1, "d\u2028x": 2}}, path, "map").values.tobytes() == want.values.tobytes()


@pytest.mark.usefixtures("_block_bytes")
@pytest.mark.parametrize("shape", MORE_COLUMNS)
def test_what_is_behind_the_tag_of_a_run_is_left_out(shape: str, tmp_path: Path) -> None:
    path = write(tmp_path / "a.run", MORE_COLUMNS[shape](RUN_WORDS).encode(errors="surrogateescape"))
    assert run_rows(path) == ROWS
    streamed = StreamedRun(path)
    assert streamed.tag == "tag"
    want = sy.evaluate({"q1": {"文档一": 1}}, {"q1": {d: s for q, d, s in ROWS if q == "q1"}}, "map")
    assert sy.evaluate({"q1": {"文档一": 1}}, path, "map").values.tobytes() == want.values.tobytes()
    assert formats.looks_like_run(path)


def test_runs_with_more_columns_are_not_read_line_by_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which takes thirty times as long."""
    monkeypatch.delattr(TrecFile, "_parse_by_line")
    for number, shape in enumerate(MORE_COLUMNS.values()):
        path = write(tmp_path / f"{number}.run", shape(RUN_WORDS).encode(errors="surrogateescape"))
        assert run_rows(path) == ROWS


@pytest.mark.usefixtures("_block_bytes")
def test_the_tag_is_that_of_the_last_line(tmp_path: Path) -> None:
    """As trec_eval prints it."""
    path = write(tmp_path / "a.run", lines(RUN_WORDS) + "q9 Q0 d 1 2 other\n\n# the end of this file, it seems\n")
    run = StreamedRun(path)
    assert run.tag == "other"
    assert align(sy.Truth({"q1": ["d1"]}), run).alignment.n_retrieved.tolist() == [10]
    assert run.tag == "other"


@pytest.mark.usefixtures("_block_bytes")
@pytest.mark.parametrize("shape", SHAPES)
def test_qrels_are_read_in_any_shape(shape: str, tmp_path: Path) -> None:
    assert truth_rows(write(tmp_path / "a.qrels", SHAPES[shape](QRELS_WORDS))) == by_gain(ROWS)


NUMBERS_READ = [
    "0", "-0", "7", "+7", "-7", "007", "1.5", "+1.5", ".5", "-.5", "5.", "1e3", "1E3", "1e+3", "1e-3", "-2.5E-7",
    "1e-400", "0.1", "0.30000000000000004", "123456789012345678", "0.1234567890123456789", "10.000000002",
    "2.2250738585072011e-308",
    "1.7976931348623157e308", "5e-324", "9007199254740993", "1e23", "8.41e21", "4.35", "100000000000000000000000.5",
]  # fmt: skip


@pytest.mark.parametrize("oddity", ["", "# a comment turns to the careful reader\n"])
@pytest.mark.parametrize("number", NUMBERS_READ)
def test_numbers_are_rounded_as_python_rounds_them(number: str, oddity: str, tmp_path: Path) -> None:
    run = write(tmp_path / "a.run", f"{oddity}q Q0 d 1 {number} t\n")
    qrels = write(tmp_path / "a.qrels", f"{oddity}q 0 d {number}\n")
    assert [repr(row) for row in run_rows(run)] == [repr(("q", "d", float(number)))]
    assert [repr(row) for row in truth_rows(qrels)] == [repr(("q", "d", float(number)))]


# (label, what stands on the line, what the message says besides file and line)
BAD_NUMBERS = ["abc", "nan", "NaN", "-nan", "inf", "-inf", "Infinity", "1e999", "-1e999", "1,5", "1_0", "0x1A", "--1",
               "1.2.3",               "1e", "e5", ".", "+", "null", "None", "true", "1f", "½"]  # fmt: skip
NOT_A_NUMBER = "is not a finite number"
NOT_UTF8 = "is not UTF-8"
BAD_RUN_LINES: list[tuple[str, bytes, list[str]]] = [
    ("one column", b"q1", ["1 columns", "(q1)", "expected the 6 of a run: query_id Q0 doc_id rank score tag"]),
    ("five columns", b"q1 Q0 x 1 3", ["5 columns", "expected the 6"]),
    ("five columns, trailing blank", b"q1 Q0 x 1 3 ", ["5 columns", "expected the 6"]),
    ("five columns, trailing tab", b"q1\tQ0\tx\t1\t3\t", ["5 columns", "expected the 6"]),
    ("five columns, two blanks", b"q1 Q0 x  1 3", ["5 columns", "expected the 6"]),
    ("a blank in a document id", b"q1 Q0 my x 1 3 t", ["7 columns", "the rank being 'x'", "does an id have a blank"]),
    ("a blank in a query id", b"q 1 Q0 x y 3 t", ["7 columns", "the rank being 'x'", "does an id have a blank"]),
    ("a bad score before a tag with a blank", b"q1 Q0 x 1 3,5 my tag", ["score '3,5'", NOT_A_NUMBER]),
    ("two records", b"q1 Q0 x 1 3 t q1 Q0 y 2 2 t", ["12 columns (q1 Q0 x 1 3 t q1 Q0 y 2 2 t)", "two records"]),
    ("two records with tabs", b"q1\tQ0\tx\t1\t3\tt\tq1\tQ0\ty\t2\t2\tt", ["12 columns", "each on a line of its own"]),
    ("a record behind a tag without its line end", b"q1 Q0 x 1 3 tq1 Q0 y 2 2 t", ["11 columns", "two records"]),
    ("two records with 0", b"q1 0 x 1 3 t q1 0 y 2 2 t", ["12 columns", "two records"]),
    ("two records with 0 in one", b"q1 0 x 1 3 tq1 0 y 2 2 t", ["11 columns", "two records"]),
    ("two records with another word", b"q1 _ x 1 3 t q1 _ y 2 2 t", ["12 columns", "two records"]),
    ("two records with words as tags", b"q1 Q0 x 1 3 my tag q1 Q0 y 2 2 my tag", ["14 columns", "two records"]),
    ("three records", b"q1 Q0 x 1 3 t q1 Q0 y 2 2 t q1 Q0 z 3 1 t", ["18 columns", "two records"]),
    ("half a record behind another", b"q1 Q0 x 1 3 t q1 Q0 y", ["9 columns", "two records"]),
    ("CR between records", b"q1 Q0 x 1 3 t\rq1 Q0 y 2 2 t", ["carriage returns", r"`tr '\r' '\n'`"]),
    ("CR between records with tabs", b"q1\tQ0\tx\t1\t3\tt\rq1\tQ0\ty\t2\t2\tt\r", ["carriage returns"]),
    ("CR between columns", b"q1 Q0 x 1 3\rt", ["carriage returns"]),
    ("CR in a tag", b"q1 Q0 x 1 3 my\rtag", ["carriage returns"]),
    ("CR behind a comment", b"# a run\rq1 Q0 x 1 3 t", ["carriage returns"]),
    ("a qrels line", b"q1 0 x 1", ["4 columns", "is it a qrels file?", "The truth comes first, then the runs"]),
    ("latin-1 document", b"q1 Q0 d\xe9 1 3 t", ["byte 0xe9", NOT_UTF8, "iconv"]),
    ("latin-1 query", b"\xe9 Q0 d 1 3 t", ["byte 0xe9", NOT_UTF8]),
    ("latin-1 tag", b"q1 Q0 d 1 3 \xfct", ["byte 0xfc", NOT_UTF8]),
    ("torn UTF-8", b"q1 Q0 \xe6\x96 1 3 t", ["byte 0xe6", NOT_UTF8]),
    ("GBK", "q1 Q0 文档 1 3 t".encode("gbk"), ["byte 0xce", NOT_UTF8]),
    *((f"score {n}", f"q1 Q0 x 1 {n} t".encode(), [f"score {n!r}", NOT_A_NUMBER]) for n in BAD_NUMBERS),
]
BAD_QRELS_LINES: list[tuple[str, bytes, list[str]]] = [
    (
        "three columns",
        b"q1 0 x",
        ["3 columns", "(q1 0 x)", "expected the 4 of a qrels: query_id iteration doc_id gain"],
    ),
    ("five columns", b"q1 0 x 1 2", ["5 columns", "expected the 4"]),
    ("two records", b"q1 0 x 1 q1 0 y 2", ["8 columns", "look like two records"]),
    ("a record behind a gain without its line end", b"q1 0 x 1q1 0 y 2", ["7 columns", "look like two records"]),
    ("CR between records", b"q1 0 x 1\rq1 0 y 2", ["carriage returns"]),
    ("a run line", b"q1 Q0 x 1 3 t", ["6 columns", "is it a run file?", "The truth comes first, then the runs"]),
    ("latin-1 document", b"q1 0 d\xe9 1", ["byte 0xe9", NOT_UTF8]),
    ("latin-1 query", b"q\xe9 0 d 1", ["byte 0xe9", NOT_UTF8]),
    *((f"gain {n}", f"q1 0 x {n}".encode(), [f"gain {n!r}", NOT_A_NUMBER]) for n in BAD_NUMBERS),
]
# What stands before the bad line, so that the count of lines has something to miscount.
BEFORE = {
    "rows": lambda rows: rows,
    "CRLF rows": lambda rows: rows.replace(b"\n", b"\r\n"),
    "blank lines and comments": lambda rows: b"\n# 1\n\n" + rows + b"  \n#\n",
    "BOM": lambda rows: b"\xef\xbb\xbf" + rows,
}


def refused(path: Path, read: Callable[[Path], object], line: int, fragments: list[str]) -> None:
    with pytest.raises(sy.InputError) as caught:
        read(path)
    message = str(caught.value)
    assert f"{path}, line {line}: " in message
    for fragment in fragments:
        assert fragment in message
    assert "\n" not in message


@pytest.mark.usefixtures("_block_bytes")
@pytest.mark.parametrize(("bad", "fragments"), [pytest.param(b, f, id=i) for i, b, f in BAD_RUN_LINES])
def test_a_bad_line_of_a_run_is_named(bad: bytes, fragments: list[str], tmp_path: Path) -> None:
    for number, before in enumerate(BEFORE.values()):
        good = before(lines(RUN_WORDS[:20]).encode())
        path = write(tmp_path / f"{number}.run", good + bad + b"\n" + lines(RUN_WORDS[20:]).encode())
        refused(path, sy.Run.read, good.count(b"\n") + 1, fragments)
    path = write(tmp_path / "last.run", lines(RUN_WORDS).encode() + bad)
    refused(path, lambda run: sy.evaluate({"q1": ["d1"]}, run), 41, fragments)


@pytest.mark.usefixtures("_block_bytes")
@pytest.mark.parametrize(("bad", "fragments"), [pytest.param(b, f, id=i) for i, b, f in BAD_QRELS_LINES])
def test_a_bad_line_of_qrels_is_named(bad: bytes, fragments: list[str], tmp_path: Path) -> None:
    for number, before in enumerate(BEFORE.values()):
        good = before(lines(QRELS_WORDS[:20]).encode())
        path = write(tmp_path / f"{number}.qrels", good + bad + b"\n" + lines(QRELS_WORDS[20:]).encode())
        refused(path, sy.Truth.read, good.count(b"\n") + 1, fragments)
    path = write(tmp_path / "last.qrels", lines(QRELS_WORDS).encode() + bad)
    refused(path, lambda truth: sy.evaluate(truth, {"q1": ["d1"]}), 41, fragments)


NUMBERS_IN_TAGS = [
    "BM25 with k1 = 0.9 0.4 tuned",
    "run 1 of 3",
    "b 0.4",
    "v 1 of the 2 3 4 5 6",
    "bm25 k1 0.9 b 0.4 d 7 e",
]


@pytest.mark.parametrize("tag", NUMBERS_IN_TAGS)
def test_numbers_in_a_tag_are_no_record(tag: str, tmp_path: Path) -> None:
    assert run_rows(write(tmp_path / "a.run", lines([[*row[:5], tag] for row in RUN_WORDS]))) == ROWS


@pytest.mark.parametrize("end", [b"\r", b" "])
def test_a_run_of_one_long_line_is_refused(end: bytes, tmp_path: Path) -> None:
    """It was read as its first record, and a map of 1 was .5."""
    for suffix, shrink in (("", bytes), (".gz", gzip.compress)):
        path = write(tmp_path / f"a.run{suffix}", shrink(lines(RUN_WORDS).encode().replace(b"\n", end)))
        refused(path, lambda run: sy.evaluate({"q1": ["d1"]}, run), 1, [""])


def test_short_and_long_lines_do_not_make_up_for_each_other(tmp_path: Path) -> None:
    path = write(tmp_path / "a.run", "q1 Q0 a 1 3\nq1 Q0 b 2 2 my tag\n")
    refused(path, sy.Run.read, 1, ["5 columns"])
    path = write(tmp_path / "a.qrels", "q1 0 a 1 1\nq1 0 b\n")
    refused(path, sy.Truth.read, 1, ["5 columns"])


def test_the_first_of_several_bad_lines_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "BLOCK_BYTES", 64)
    words = [row.copy() for row in RUN_WORDS]
    words[11][4], words[30][4] = "x", "y"
    refused(write(tmp_path / "a.run", lines(words)), sy.Run.read, 12, ["score 'x'"])


def test_a_byte_that_is_not_utf8_is_placed_within_its_line(tmp_path: Path) -> None:
    refused(write(tmp_path / "a.run", b"q1 Q0 a 1 3 t\nq1 Q0 d\xe9 1 3 t\n"), sy.Run.read, 2, ["0xe9 at position 7"])


def test_swapped_files_are_recognised(tmp_path: Path) -> None:
    run = write(tmp_path / "a.run", lines(RUN_WORDS))
    qrels = write(tmp_path / "a.qrels", lines(QRELS_WORDS))
    with pytest.raises(sy.InputError, match=r"a\.run, line 1: .*is it a run file\? The truth comes first"):
        sy.evaluate(run, qrels)
    with pytest.raises(sy.InputError, match=r"a\.qrels, line 1: .*is it a qrels file\? The truth comes first"):
        sy.evaluate(qrels, qrels)


@pytest.mark.usefixtures("_block_bytes")
def test_duplicates_are_named_by_their_lines(tmp_path: Path) -> None:
    run = write(
        tmp_path / "a.run", "# c\nq1 Q0 文 1 9 t\n\nq2 Q0 文 1 9 t\nq1 Q0 x 2 8 t\nq1 Q0 文 3 7 t\nq1 Q0 文2 3 7 t\n"
    )
    with pytest.raises(
        sy.DuplicateError, match=r"a\.run, lines 2 and 6: document '文' is retrieved twice for question 'q1'"
    ):
        sy.evaluate({"q1": ["文"]}, run)
    qrels = write(tmp_path / "a.qrels", "\n# c\nq1 0 文 1\nq2 0 文 1\nq1 0 文 2\n")
    with pytest.raises(
        sy.DuplicateError, match=r"a\.qrels, lines 3 and 5: document '文' is judged twice for question 'q1'"
    ):
        sy.Truth.read(qrels)


def test_duplicates_of_a_run_that_was_read_before_are_named_by_their_lines(tmp_path: Path) -> None:
    run = sy.Run.read(write(tmp_path / "a.run", "# c\nq1 Q0 x 1 9 t\nq1 Q0 x 2 8 t\n"))
    with pytest.raises(sy.DuplicateError, match=r"a\.run, lines 2 and 3: "):
        sy.evaluate({"q1": ["x"]}, run)


EMPTY = {
    "nothing": b"",
    "a BOM": b"\xef\xbb\xbf",
    "a newline": b"\n",
    "blank lines": b"\n \r\n\t\n",
    "comments": b"# a\n  # b\n#",
    "BOM and comment": b"\xef\xbb\xbf# a\n",
    "an empty archive": gzip.compress(b""),
    "an archive of comments": gzip.compress(b"# a\n\n"),
}


@pytest.mark.usefixtures("_block_bytes")
@pytest.mark.parametrize("label", EMPTY)
def test_a_file_without_rows_is_refused(label: str, tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", EMPTY[label])
    for read in (
        sy.Run.read,
        sy.Truth.read,
        lambda p: sy.evaluate({"q": ["d"]}, p),
        lambda p: sy.evaluate(p, {"q": ["d"]}),
    ):
        with pytest.raises(sy.InputError, match=r"a\.txt: is empty; expected"):
            read(path)


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    for read in (sy.Run.read, sy.Truth.read):
        with pytest.raises(sy.InputError, match=r"nowhere\.run: there is no such file"):
            read(tmp_path / "nowhere.run")
    with pytest.raises(sy.InputError, match="is a folder, where a file is expected"):
        sy.Run.read(tmp_path)
    with pytest.raises(sy.InputError, match="has neither qrels"):
        sy.Truth.read(tmp_path)


COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "plain": lambda content: content,
    "gzip": gzip.compress,
    "gzip of two members": lambda content: gzip.compress(content[:99]) + gzip.compress(content[99:]),
    "zstd": zstd.compress,
}


@pytest.mark.usefixtures("_block_bytes")
@pytest.mark.parametrize("how", COMPRESS)
def test_compression_is_told_by_the_content_not_by_the_suffix(how: str, tmp_path: Path) -> None:
    for suffix in ("", ".txt", ".run", ".gz", ".zst", ".run.gz", ".run.zst"):
        run = write(tmp_path / f"a{suffix}", COMPRESS[how](lines(RUN_WORDS).encode()))
        assert run_rows(run) == ROWS
        qrels = write(tmp_path / f"b{suffix}", COMPRESS[how](("\ufeff" + lines(QRELS_WORDS)).encode()))
        assert truth_rows(qrels) == by_gain(ROWS)


@pytest.mark.parametrize("at", range(1, 120, 7))
def test_where_the_blocks_are_cut_changes_nothing(at: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "BLOCK_BYTES", at)
    for shape in ("single blanks", "tabs and CRLF", "comments", "BOM", "no final newline"):
        assert run_rows(write(tmp_path / "a.run", SHAPES[shape](RUN_WORDS))) == ROWS


@pytest.mark.parametrize("how", ["gzip", "zstd"])
def test_the_line_is_named_within_an_archive(how: str, tmp_path: Path) -> None:
    content = lines(RUN_WORDS[:20]).encode() + b"q1 Q0 x 1 3\n"
    refused(write(tmp_path / "a.run.gz", COMPRESS[how](content)), sy.Run.read, 21, ["5 columns"])


DAMAGED: dict[str, bytes] = {
    "gzip cut in the middle": gzip.compress(lines(RUN_WORDS * 30).encode())[:-400],
    "gzip cut in its last bytes": gzip.compress(lines(RUN_WORDS).encode())[:-3],
    "gzip cut in its head": gzip.compress(lines(RUN_WORDS).encode())[:5],
    "gzip with a wrong sum": gzip.compress(lines(RUN_WORDS).encode())[:-8] + b"\0" * 8,
    "gzip with spoilt data": gzip.compress(lines(RUN_WORDS).encode())[:30] + b"\xff" * 60,
    "zstd cut in the middle": zstd.compress(lines(RUN_WORDS * 30).encode())[:-100],
    "zstd cut in its head": zstd.compress(lines(RUN_WORDS).encode())[:6],
    "zstd with spoilt data": zstd.compress(lines(RUN_WORDS).encode())[:20] + b"\xff" * 60,
}


@pytest.mark.parametrize("label", DAMAGED)
def test_a_damaged_archive_is_refused(label: str, tmp_path: Path) -> None:
    path = write(tmp_path / "a.run.gz", DAMAGED[label])
    for read in (sy.Run.read, sy.Truth.read, lambda p: sy.evaluate({"q1": ["d1"]}, p)):
        with pytest.raises(sy.InputError, match=r"a\.run\.gz: (cannot be read to the end|is damaged)"):
            read(path)


@pytest.mark.parametrize(
    ("file", "name"),
    [("bm25.run", "bm25"), ("bm25.run.gz", "bm25"), ("bm25.zst", "bm25"), ("bm25.v2.txt", "bm25.v2"), ("bm25", "bm25"),
     ("检索.run", "检索")],
)  # fmt: skip
def test_a_run_is_called_as_its_file_without_suffixes(file: str, name: str, tmp_path: Path) -> None:
    path = write(tmp_path / file, lines(RUN_WORDS))
    assert sy.Run.read(path).name == name
    assert list(sy.evaluate({"q1": ["d1"]}, path, "map").systems) == [name]
    assert sy.Run.read(path, name="other").name == "other"
