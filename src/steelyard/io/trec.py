"""TREC runs (query Q0 doc rank score tag) and qrels (query iteration doc gain): read in blocks, exact to the line."""

from __future__ import annotations

import math
import re
from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import islice

import numpy as np
import numpy.typing as npt
import polars as pl

from steelyard.base.errors import InputError
from steelyard.io.source import BARE_RETURN, NOT_UTF8, Source, ahead, has_bare_return

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_WHITE_TO_BLANK = bytes.maketrans(b"\t\r\f\v", b"    ")
_CHUNK = 1 << 18


@dataclass(frozen=True)
class Layout:
    """The columns of a TREC file: all their names, those that are read, and the one that holds a number.

    guard   the column that is a number where a line goes on behind the last column: otherwise an id has a blank in it,
            which moves all that is behind; empty where no line may go on
    joined  how many columns two records on one line have, whether a blank parts them or not, where no line may go on
    """

    what: str
    names: tuple[str, ...]
    wanted: tuple[str, ...]
    number: str
    guard: str = ""
    joined: tuple[int, ...] = ()

    @property
    def schema(self) -> pl.Schema:
        """Types of all columns."""
        return pl.Schema({name: pl.Float64 if name == self.number else pl.String for name in self.names})


RUN = Layout(
    "run", ("query_id", "Q0", "doc_id", "rank", "score", "tag"), ("query_id", "doc_id", "score"), "score", guard="rank"
)
QRELS = Layout(
    "qrels", ("query_id", "iteration", "doc_id", "gain"), ("query_id", "doc_id", "gain"), "gain", joined=(7, 8)
)


class TrecFile:
    """A TREC file as a stream of frames with the columns of its layout that are read.

    keeps_first   read the first of several records on a line, as trec_eval does, rather than refuse them
    joined        after reading so: the number of such a line in each block that has any, and what would be said of it
    """

    def __init__(self, source: Source, layout: Layout) -> None:
        self.source, self.layout, self.name = source, layout, source.name
        self.keeps_first = False
        self.joined: list[tuple[int, str]] = []
        self._last = b""

    def batches(self) -> Generator[pl.DataFrame]:
        """Frames in the order of the file.

        Raises   InputError naming file, line, what was found and what to try.
        """
        empty = True
        with closing(self._blocks()) as blocks, closing(ahead(self._parse, enumerate(blocks))) as frames:
            for frame in frames:
                empty = empty and frame.is_empty()
                yield frame
        if empty:
            raise InputError(f"{self.source.name}: is empty; expected lines of `{' '.join(self.layout.names)}`")

    def _blocks(self) -> Generator[bytes]:
        block = b""
        with closing(self.source.blocks()) as blocks:
            for block in blocks:
                yield block
        self._last = block  # Not where reading ended early.

    def last_tag(self) -> str:
        """The tag of a run's last line, which trec_eval prints as runid; the file's name where there is no line."""
        tag = _last_tag(self._last)
        if tag is None:
            for block in self._blocks():
                tag = _last_tag(block) or tag
        return tag or self.source.stem

    def _parse(self, block: tuple[int, bytes]) -> pl.DataFrame:
        number, content = block
        frame = _parse_regular(content, self.layout)
        if frame is None and not has_bare_return(content):
            # Aligned columns, comments, CRLF and blank lines: the same content with single blanks parses fast.
            frame = _parse_regular(_tidy(content), self.layout)
        return self._parse_by_line(number, content) if frame is None else frame

    def _parse_by_line(self, number: int, content: bytes) -> pl.DataFrame:
        """The slow way, line by line: it raises what is wrong, or reads what is merely odd."""
        with closing(self.source.blocks()) as blocks:
            lines_before = sum(before.count(b"\n") for before in islice(blocks, number))
        rows, joined = list[tuple[str, str, float]](), list[tuple[int, str]]()
        for line, raw in enumerate(content.split(b"\n"), lines_before + 1):
            words = raw.split()
            if fault := self._joined(words, raw):
                joined.append((line, f"{self.source.name}, line {line}: {fault}"))
                if not self.keeps_first:
                    raise InputError(joined[0][1])
            if words and not words[0].startswith(b"#"):
                rows.append(self._parse_line(words, raw, line))
        self.joined += joined[:1]
        schema = {name: self.layout.schema[name] for name in self.layout.wanted}
        return pl.DataFrame(rows, schema=schema, orient="row")

    def _joined(self, words: list[bytes], raw: bytes) -> str:
        """Sign that a line has more than one record; nothing where it has not."""
        if b"\r" in raw.strip():
            return BARE_RETURN
        n = len(self.layout.names)
        has_two = _holds_record(words[n:], words[1]) if len(words) > n and self.layout.guard else False
        if words and not words[0].startswith(b"#") and (has_two or len(words) in self.layout.joined):
            return f"{len(words)} columns ({_beginning(words)}) look like two records; put each on a line of its own"
        return ""

    def _parse_line(self, words: list[bytes], raw: bytes, number: int) -> tuple[str, str, float]:
        where, layout = f"{self.source.name}, line {number}", self.layout
        n_surplus = len(words) - len(layout.names) if layout.guard else 0
        try:
            texts = [word.decode() for word in (words[: len(layout.names)] if n_surplus > 0 else words)]
        except UnicodeDecodeError as error:
            at = raw.find(error.object) + error.start
            raise InputError(
                f"{where}: byte {error.object[error.start]:#04x} at position {at} is not UTF-8; {NOT_UTF8}"
            ) from None
        if len(texts) != len(layout.names):
            raise InputError(
                f"{where}: {len(texts)} columns ({' '.join(texts)[:60]}), expected the {len(layout.names)} of a "
                f"{layout.what}: {' '.join(layout.names)}" + self._other_layout(len(texts))
            )
        row = dict(zip(layout.names, texts, strict=True))
        if n_surplus > 0 and not _NUMBER.fullmatch(row[layout.guard]):
            raise InputError(
                f"{where}: {len(words)} columns ({' '.join(texts)[:60]}), the {layout.guard} being "
                f"{row[layout.guard]!r}; expected {' '.join(layout.names)}; does an id have a blank in it?"
            )
        value = row[layout.number]
        if not _NUMBER.fullmatch(value) or not math.isfinite(float(value)):
            raise InputError(f"{where}: {layout.number} {value!r} is not a finite number, e.g. 12.5 or 1e-3")
        return row["query_id"], row["doc_id"], float(value)

    def _other_layout(self, n: int) -> str:
        other = next((layout for layout in (RUN, QRELS) if layout is not self.layout), RUN)
        return f"; is it a {other.what} file? The truth comes first, then the runs" if n == len(other.names) else ""

    def locate(self, query_id: str, doc_id: str) -> str:
        """Lines that hold a document of a query."""
        query, doc = query_id.encode(), doc_id.encode()
        lines = enumerate((raw for block in self.source.blocks() for raw in block.removesuffix(b"\n").split(b"\n")), 1)
        numbers = [line for line, raw in lines if doc in raw and raw.split()[:3:2] == [query, doc]]
        return f"{self.source.name}, lines {' and '.join(map(str, numbers[:2]))}"


def _beginning(words: list[bytes]) -> str:
    return b" ".join(words).decode(errors="replace")[:60]


def _holds_record(words: Sequence[bytes], iteration: bytes = b"") -> bool:
    """True if the words behind the tag of a run hold another record, whose question's id may be joined to the tag.

    iteration   the second column of the line, which two records have in common; without it, a first look that
                takes more words for a record

    >>> _holds_record(b"q1 Q0 d2 2 1.0 t".split()), _holds_record(b"Q0 d2 2 1.0 t".split())
    (True, True)
    >>> _holds_record(b"with k1 = 0.9 0.4 tuned".split(), b"Q0"), _holds_record(b"0 d2 2 1.0 t".split(), b"0")
    (False, True)
    """
    if any(word.upper() == b"Q0" for word in words):
        return True
    for start, size in ((1, 6), (0, 5)):
        numbers = [_is_number(word) for word in words[start : start + 4]]
        if len(words) >= size and numbers[2:] == [True, True]:
            return not iteration or numbers[0] or words[start] == iteration
    return False


def _is_number(word: bytes) -> bool:
    return _NUMBER.fullmatch(word.decode(errors="replace")) is not None


def read_together(files: Sequence[TrecFile]) -> tuple[pl.DataFrame, npt.NDArray[np.int64]] | None:
    """The rows of several small files of one layout, parsed at once, and how many each has.

    Returns   None where a file is empty, or has anything that needs a closer look
    Raises    InputError for a file that cannot be read.
    """
    contents = [content if content.endswith(b"\n") else content + b"\n" for content in (f.source.read() for f in files)]
    frame = _parse_regular(b"".join(contents), files[0].layout)
    heights = np.array([content.count(b"\n") for content in contents])
    return None if frame is None else (frame, heights)


def _last_tag(content: bytes) -> str | None:
    """The tag of the last line of a run; None where there are comments and blank lines alone."""
    for line in reversed(content.split(b"\n")):
        words = line.split()
        if len(words) >= len(RUN.names) and not words[0].startswith(b"#"):
            return words[len(RUN.names) - 1].decode(errors="replace")
    return None


def is_row_of_run(line: bytes) -> bool:
    """True if a line has the columns of a run; with more than these, whether its rank is a number."""
    words = line.split()
    n_surplus = len(words) - len(RUN.names)
    return n_surplus == 0 or (n_surplus > 0 and _is_number(words[RUN.names.index(RUN.guard)]))


def _tidy(content: bytes) -> bytes:
    """The same lines with single blanks between the columns, and no blank lines or comments."""
    data = b"\n" + content.translate(_WHITE_TO_BLANK) + b"\n"
    for old, new in ((b"  ", b" "), (b" \n", b"\n"), (b"\n ", b"\n"), (b"\n\n", b"\n")):
        while old in data:
            data = data.replace(old, new)
    if b"\n#" in data:
        data = b"\n".join(line for line in data.split(b"\n") if not line.startswith(b"#"))
    return data.lstrip(b"\n")


def _parse_regular(content: bytes, layout: Layout) -> pl.DataFrame | None:
    """The frame of a block whose lines have exactly the columns of the layout, or more where it has a guard; or None.

    Polars forgives lines that are too short or too long.  So white space is counted here too: with the last column
    present on every line, the right number of single separators in all is the right number on each.
    """
    if not content:
        return pl.DataFrame(schema={name: layout.schema[name] for name in layout.wanted})
    n_ends, n_surplus = _count_ends(content, len(layout.names))
    if n_ends is None or (n_surplus and not layout.guard):
        return None
    if n_surplus:
        whole_lines = content if content.endswith(b"\n") else content + b"\n"
        content, surplus = _without_surplus(whole_lines, len(layout.names))
        if any(b"\r" in words or _holds_record(words.split()) for words in surplus):
            return None
    separator = "\t" if b"\t" in content[:_CHUNK] else " "
    guard = [pl.col(layout.guard).cast(pl.Float64)] if n_surplus else []
    try:
        frame = (
            pl.scan_csv(content, separator=separator, has_header=False, quote_char=None, schema=layout.schema)
            .select(*dict.fromkeys([*layout.wanted, layout.names[-1]]), *guard)
            .collect(engine="streaming")
        )
    except pl.exceptions.PolarsError:
        return None
    complete = frame.height == n_ends and not any(column.null_count() for column in frame)
    numbers = [layout.number, *([layout.guard] if n_surplus else [])]
    return frame.select(layout.wanted) if complete and all(frame[name].is_finite().all() for name in numbers) else None


def _without_surplus(content: bytes, n_columns: int) -> tuple[bytes, set[bytes]]:
    """Lines with single separators, cut off behind their columns; and what is cut off, each different text once."""
    octets = np.frombuffer(content, np.uint8)
    white = np.flatnonzero(octets <= ord(" "))
    last = np.flatnonzero(octets[white] == ord("\n"))
    first = np.concatenate(([0], last[:-1] + 1))
    cut = white[np.minimum(first + n_columns - 1, last)]
    # One less from the cut on, one more from the end of the line on: what is at 0 stays.
    steps = np.zeros(len(octets), np.int8)
    steps[cut] -= 1
    steps[white[last]] += 1
    inside = np.cumsum(steps, dtype=np.int8) == 0
    kept: npt.NDArray[np.uint8] = octets[inside]
    surplus: npt.NDArray[np.uint8] = octets[~inside | (octets == ord("\n"))]
    return kept.tobytes(), set(surplus.tobytes().split(b"\n"))


def _count_ends(content: bytes, n_columns: int) -> tuple[int | None, int]:
    """Number of lines, and of columns beyond theirs; None where two white octets are together.

    None too where separators are of both kinds, are too few, or a line is a comment.
    """
    octets = np.frombuffer(content, np.uint8)
    n_white = n_ends = 0
    before = True
    for start in range(0, len(octets), _CHUNK):
        chunk = octets[start : start + _CHUNK]
        white = chunk <= ord(" ")
        if (before and white[0]) or (white[1:] & white[:-1]).any():
            return None, 0
        before = bool(white[-1])
        n_white += int(np.count_nonzero(white))
        n_ends += int(np.count_nonzero(chunk == ord("\n")))
    n_separators = n_white - n_ends
    n_lines = n_ends + (octets[-1] != ord("\n"))
    # Tabs throughout, or none; other control characters are caught by Polars finding too few columns.
    uniform = b"\t" not in content or content.count(b"\t") == n_separators
    ends_well = octets[-1] == ord("\n") or not before
    commented = b"#" in content and (content.startswith(b"#") or b"\n#" in content)
    n_surplus = int(n_separators - (n_columns - 1) * n_lines)
    regular = n_surplus >= 0 and uniform and ends_well and not commented
    return (int(n_lines) if regular else None), n_surplus
