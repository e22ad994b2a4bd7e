"""CSV that a spreadsheet shows and does not compute."""

from __future__ import annotations

import errno
import gzip
import io
import json
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

import polars as pl

from steelyard.base.errors import InputError, OutputError, quoted, reason_of
from steelyard.base.schema import canonical_order
from steelyard.io.formats import BY_SUFFIX, format_of
from steelyard.io.native import EXACT
from steelyard.io.source import strip_compression

_STARTS = "=+@\t\r\n\uff1d\uff0b\uff0d\uff20-"
"""How a cell begins that spreadsheets compute; some take the wide forms of East Asian keyboards too."""
_NUMBER = re.compile(r"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|inf|nan)%?", re.IGNORECASE)


def without_formulas(text: str, separator: str = ",") -> str:
    """CSV or TSV whose texts no spreadsheet takes for formulas: ' is put before those that begin with = + - or @.

    Numbers and all other cells are the same bytes as before.

    >>> without_formulas("doc,change\\n=1+1,-0.5\\n-x,1\\n")
    "doc,change\\n'=1+1,-0.5\\n'-x,1\\n"
    """
    return re.sub(rf'("(?:[^"]|"")*"|[^{separator}\n]*)({separator}|\n|\Z)', _safe, text)


def _safe(cell: re.Match[str]) -> str:
    content, end = cell.groups()
    quote = content[:1] if content[:1] == '"' else ""
    inner = content[len(quote) : len(content) - len(quote)]
    if inner[:1] and inner[0] in _STARTS and not _NUMBER.fullmatch(inner):
        return f"{quote}'{inner}{quote}{end}"
    return cell[0]


_HEAD_BYTES = 1 << 16
_HOLD_ALL = ("json", "jsonl")
"""Formats that hold every id, and queries without any document."""
_FORMAT_NAMES = {"trec": "a TREC file", "csv": "CSV", "tsv": "TSV", "parquet": "Parquet", "arrow": "Arrow"}
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
_PLAIN = str.maketrans({
    "─": "-", "━": "=", "–": "-", "…": "...", "−": "-", "∞": "inf", "≥": ">=", "≤": "<=", "→": "->", "“": '"',
    "”": '"', "κ": "kappa", "α": "alpha", "│": "|", "▲": "^", "▼": "v",
    **dict(zip("▁▂▃▄▅▆▇█", "_.-~=+*#", strict=True)),
})  # fmt: skip


def write_text(path: str | Path, text: str) -> None:
    """Write a text file whole, or not at all, compressed as its suffix says; "-" is standard output.

    What is no UTF-8 in it, such as a byte of a file's name, is written as JSON and Python escape it.
    """
    if str(path) == "-":
        sys.stdout.write(_printable(text, sys.stdout.encoding))
        sys.stdout.flush()
        return
    write_bytes(path, _compressed(text.encode(errors="backslashreplace"), strip_compression(Path(path).name)[1]))


def _printable(text: str, encoding: str) -> str:
    """The text as a terminal or pipe of a narrow encoding can take it: plain lines and dashes, escapes for the rest."""
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return text.translate(_PLAIN).encode(encoding, "backslashreplace").decode(encoding)
    return text


def write_bytes(path: str | Path, data: bytes) -> None:
    """Write beside the target and rename, so that half a file is never seen; "-" is standard output.

    A link stays a link, to the new content; pipes and devices are written into.
    Raises   OutputError naming the path and the reason.
    """
    if "\0" in str(path):
        raise OutputError(f"{quoted(str(path))} holds the character NUL, which no path can; choose another place")
    target = Path(os.path.realpath(path))
    temporary = None
    try:
        if str(path) == "-":
            sys.stdout.buffer.write(data)
            sys.stdout.flush()
            return
        if target.exists() and not target.is_file() and not target.is_dir():
            target.write_bytes(data)
            return
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        # mkstemp makes files that only their owner can read; a result is as public as any new file.
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)
        os.replace(temporary, target)
    except BrokenPipeError:
        raise
    except OSError as error:
        name = "standard output" if str(path) == "-" else path
        advice = "make room, or choose another place" if error.errno in _NO_ROOM else "choose another place"
        raise OutputError(f"{name}: cannot be written ({reason_of(error, target.parent)}); {advice}") from error
    finally:
        # Whatever ends this, Ctrl-C too, leaves no half file behind.
        if temporary is not None and os.path.exists(temporary):
            os.unlink(temporary)


def refuse_overwriting(output: str | Path, inputs: Iterable[str | Path]) -> None:
    """Refuse to write over a file that is read.

    Raises   OutputError naming it.
    """
    for path in inputs:
        if str(output) != "-" and os.path.exists(path) and os.path.exists(output) and os.path.samefile(path, output):
            raise OutputError(f"{output}: is an input of this command; choose another place")


def write_run(
    frame: pl.DataFrame, path: str | Path, name: str, format: str | None = None, *, safe_csv: bool = False
) -> int:
    """Write a run (query_id, doc_id, score) in canonical order, in the format of the suffix or the one named.

    Returns   how many queries were lost: those with an empty list, where the format is not JSON or JSONL.
    """
    ordered = canonical_order(frame)
    written = _write(ordered, path, format, lambda f: _trec_run(f, name), "retrieved", safe_csv=safe_csv)
    return 0 if written in _HOLD_ALL else frame["doc_id"].null_count()


def write_truth(frame: pl.DataFrame, path: str | Path, format: str | None = None, *, safe_csv: bool = False) -> int:
    """Write a truth (query_id, doc_id, gain), in the format of the suffix or the one named.

    Returns   how many queries were lost: those without any label, where the format is not JSON or JSONL.
    """
    written = _write(frame.sort("query_id", "doc_id"), path, format, _trec_qrels, "rel_map", safe_csv=safe_csv)
    return 0 if written in _HOLD_ALL else frame["doc_id"].null_count()


def _write(
    frame: pl.DataFrame, path: str | Path, format: str | None, as_trec: Callable[[pl.DataFrame], str], key: str,
    *, safe_csv: bool,
) -> str:  # fmt: skip
    bare, compression = strip_compression(Path(path).name)
    target = format or BY_SUFFIX.get(Path(bare).suffix.lower(), "trec")
    writers: dict[str, Callable[[pl.DataFrame], bytes]] = {
        "trec": lambda f: as_trec(f).encode(),
        "json": lambda f: json.dumps(_nested(f), ensure_ascii=False).encode() + b"\n",
        "jsonl": lambda f: _json_lines(f, key).encode(),
        "csv": lambda f: _separated(f, ",", safe=safe_csv),
        "tsv": lambda f: _separated(f, "\t", safe=safe_csv),
        "parquet": lambda f: _binary(f.write_parquet),
        "arrow": lambda f: _binary(f.write_ipc),
    }
    if target not in writers:
        raise OutputError(f"{path}: {target} cannot be written; choose one of {', '.join(writers)}")
    if target not in _HOLD_ALL:
        frame = _readable_ids(frame.drop_nulls(), path, target)
    data = writers[target](frame)
    suffix = Path(bare).suffix.lower()
    if target == "trec" and suffix not in BY_SUFFIX and (looks := format_of(data[:_HEAD_BYTES], suffix)) != "trec":
        raise InputError(
            f"{path}: with query_id {quoted(frame['query_id'][0])} first, it would be read as {looks}; "
            "write JSON or JSONL"
        )
    write_bytes(path, _compressed(data, compression))
    return target


def _separated(frame: pl.DataFrame, separator: str, *, safe: bool) -> bytes:
    text = frame.write_csv(separator=separator)
    return (without_formulas(text, separator) if safe else text).encode()


def _binary(write: Callable[[io.BytesIO], object]) -> bytes:
    buffer = io.BytesIO()
    write(buffer)
    return buffer.getvalue()


def _compressed(data: bytes, compression: str | None) -> bytes:
    if compression == "gzip":
        return gzip.compress(data, mtime=0)
    if compression == "zstd":
        if sys.version_info >= (3, 14):
            from compression import zstd
        else:
            from backports import zstd
        return bytes(zstd.compress(data))
    return data


def _readable_ids(frame: pl.DataFrame, path: str | Path, format: str) -> pl.DataFrame:
    """The rows, if a file of this format can name them; only JSON and JSONL hold every id.

    Raises   InputError with an id that would not be read again.
    """
    forbidden = {"is empty": pl.col("id") == ""}
    if format == "trec":
        forbidden |= {
            "holds white space": pl.col("id").str.contains(r"[ \t\n\r\f\v]"),
            "begins as a comment does": pl.col("id").str.starts_with("#") & pl.col("leads"),
            "begins with a byte order mark": pl.col("id").str.starts_with("\ufeff") & pl.col("leads"),
        }
    for column in ("query_id", "doc_id"):
        ids = frame.select(id=column, leads=column == "query_id")
        for problem, condition in forbidden.items():
            if len(odd := ids.filter(condition)):
                raise InputError(
                    f"{path}: {column} {quoted(odd['id'][0])} {problem}, which {_FORMAT_NAMES[format]} cannot hold; "
                    "write JSON or JSONL"
                )
    return frame


def _trec_run(frame: pl.DataFrame, name: str) -> str:
    tag = "_".join(name.split()) or "run"
    rank = pl.int_range(1, pl.len() + 1).over("query_id")
    columns = ["query_id", pl.lit("Q0").alias("Q0"), "doc_id", rank.alias("rank"), "score", pl.lit(tag).alias("tag")]
    return frame.select(columns).write_csv(separator=" ", include_header=False, quote_style="never")


def _trec_qrels(frame: pl.DataFrame) -> str:
    rows = frame.with_columns(
        pl.lit("0").alias("iteration"),
        pl.when((pl.col("gain") == pl.col("gain").round()) & (pl.col("gain").abs() < EXACT))
        .then(pl.col("gain").cast(pl.Int64, strict=False).cast(pl.String))
        .otherwise(pl.col("gain").cast(pl.String)),
    )
    order = ["query_id", "iteration", "doc_id", "gain"]
    return rows.select(order).write_csv(separator=" ", include_header=False, quote_style="never")


def _nested(frame: pl.DataFrame) -> dict[str, dict[str, float]]:
    nested: dict[str, dict[str, float]] = {}
    for query, doc, number in frame.iter_rows():
        ranking = nested.setdefault(query, {})
        if doc is not None:
            ranking[doc] = number
    return nested


def _json_lines(frame: pl.DataFrame, key: str) -> str:
    lines = []
    for query, ranking in _nested(frame).items():
        items: object = ranking
        if key == "retrieved":
            items = [{"id": doc, "score": score} for doc, score in ranking.items()]
        lines.append(json.dumps({"qid": query, key: items}, ensure_ascii=False) + "\n")
    return "".join(lines)
