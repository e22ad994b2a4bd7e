"""Which format a file has, and the reader for it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import polars as pl

from steelyard.base.choices import FileKind
from steelyard.base.errors import InputError
from steelyard.base.schema import COLUMN_NAMES, FrameReader
from steelyard.io import json_files, tables, trec
from steelyard.io.evaluation_lines import output_lines
from steelyard.io.evaluation_rows import columns_of, holds_rows, is_row, read_rows
from steelyard.io.objects import RunDict, truth_from_dict
from steelyard.io.source import Source, source_of
from steelyard.io.traces.reading import TRACE_FORMATS, Traces, read_traces, trace_format

FORMATS = ("trec", "json", "jsonl", "csv", "tsv", "parquet", "arrow", "beir")
BY_SUFFIX = {
    ".json": "json", ".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".tsv": "tsv", ".parquet": "parquet",
    ".pq": "parquet", ".arrow": "arrow", ".ipc": "arrow", ".feather": "arrow",
}  # fmt: skip
_JSONL_KEY = rb'\{(\s*"\w+"\s*:\s*"[^"]*"\s*,)*\s*"(qid|query_id)"\s*:\s*("[^"]*"|\d+)\s*[,}]'
_FAMILIAR = frozenset(name for spellings in COLUMN_NAMES.values() for name in spellings)
_BEIR_SPLITS = ("test", "dev", "train")


@dataclass
class TruthFile:
    """A truth that is about to be read;   digest   of the file, None for one in memory"""

    name: str
    frame: Callable[[], pl.DataFrame]
    locate: Callable[[str, str], str]
    digest: Callable[[], str] | None
    judged_by: Callable[[], Mapping[str, int]] = dict


@dataclass
class RunFile:
    """A run that is about to be read: as a stream of frames, or as a dict that is there already."""

    name: str
    reader: FrameReader | RunDict
    digest: Callable[[], str]


def sniff(source: Source) -> str:
    """The format that the suffix names, else that of the content: a table with familiar column names, else TREC.

    Raises   InputError for a file without content.
    """
    return format_of(source.head, source.suffix)


def format_of(head: bytes, suffix: str) -> str:
    """The same of the first bytes of a file, and the suffix below its compression.

    >>> format_of(b"q1 0 d7 1", ".qrels"), format_of(b"qid,docno,score", "")
    ('trec', 'csv')
    """
    if head.startswith(b"PAR1") and not head[4:5].isspace():
        return "parquet"
    if head.startswith(b"ARROW1\0"):
        return "arrow"
    if suffix in BY_SUFFIX and suffix != ".tsv":
        return BY_SUFFIX[suffix]
    text = head.lstrip()
    if text.startswith((b"{", b"[")):
        return "jsonl" if re.match(rb"\{[^\n]*\}\s*\n\s*\{", text) or re.match(_JSONL_KEY, text) else "json"
    first_line = text.partition(b"\n")[0].decode(errors="replace").strip().lower()
    for separator, name in (("\t", "tsv"), (",", "csv")):
        names = [word.strip('" ') for word in first_line.split(separator)]
        if sum(map(_FAMILIAR.__contains__, names)) >= 2 or is_row(names):
            return name
    return "trec"


def _source(path: str | Path | Source, format: str | None) -> tuple[Source, str]:
    if format is not None and format not in FORMATS:
        raise InputError(f"no format is called {format!r}; there are {', '.join((*FORMATS, *TRACE_FORMATS))}")
    source = source_of(path)
    return source, format or sniff(source)


def open_traces(source: Source, trace: str | None = None) -> Traces | None:
    """The traces of a file; None for a file that holds none.

    trace    their format, a name from TRACE_FORMATS; None for that which their keys show
    Raises   InputError.
    """
    format = json_format(source)
    trace = trace or trace_format(source, format)
    return None if trace is None else read_traces(source, format, trace)


def holds_traces(source: Source) -> bool:
    """True if a file holds traces of another tool, by its first bytes alone."""
    return trace_format(source, json_format(source)) is not None


def json_format(source: Source) -> str:
    """The format of a file; whether JSON is one value or a value a line, its content says whatever it is called."""
    format = sniff(source)
    if format not in ("json", "jsonl"):
        return format
    head = source.head.lstrip()
    first, ends, _ = head.partition(b"\n")
    if format == "json":
        return format_of(head, "")
    return "json" if head.startswith(b"[") or (ends and not first.rstrip().endswith(b"}")) else "jsonl"


def open_run(path: str | Path | Source, format: str | None = None) -> RunFile:
    """A run from a file; nothing but its head has been read yet (a JSON file is read whole).

    Raises   InputError.
    """
    trace = format if format in TRACE_FORMATS else None
    source, format = _source(path, None if trace else format)
    reader: FrameReader | RunDict
    if trace or trace_format(source, json_format(source)):
        traces = open_traces(source, trace)
        assert traces is not None
        reader = json_files.result_table(traces.lines, source.name)
    elif holds_rows(source, format):
        reader = json_files.result_table(output_lines(read_rows(source, format), source.name), source.name)
    elif format == "json":
        reader = RunDict.checked(_by_question(source), source.name)
    elif format == "trec":
        reader = trec.TrecFile(source, trec.RUN)
    elif format == "beir":
        raise InputError(f"{source.name}: a BEIR folder holds a truth, not a run")
    else:
        reader = _table(source, format, "run")
    return RunFile(source.stem, reader, source.digest)


def open_truth(path: str | Path | Source, format: str | None = None) -> TruthFile:
    """A truth from a file or a BEIR folder.

    Raises   InputError.
    """
    if not isinstance(path, Source) and (format == "beir" or (format is None and _is_folder(path))):
        return _beir(Path(path))
    source, format = _source(path, format)
    if format == "json":
        return TruthFile(
            source.stem,
            lambda: truth_from_dict(_by_question(source), source.name),
            lambda query, doc: source.name,
            source.digest,
        )
    reader: FrameReader = trec.TrecFile(source, trec.QRELS) if format == "trec" else _table(source, format, "truth")
    judged_by = (lambda: reader.judged_by) if isinstance(reader, json_files.JsonLines) else dict
    return TruthFile(source.stem, lambda: pl.concat(reader.batches()), reader.locate, source.digest, judged_by)


def _by_question(source: Source) -> dict[str, object]:
    """The object of a file that maps questions to documents.

    Raises   InputError for one of columns, whose names would be taken for questions.
    """
    value = json_files.read_json(source)
    if names := columns_of(value):
        raise InputError(
            f"{source.name}: holds questions as columns ({', '.join(names)}), expected documents by question; "
            "Questions.read(path) reads them"
        )
    return value


def _is_folder(path: str | Path) -> bool:
    return str(path) != "-" and os.path.isdir(path)


def _table(source: Source, format: str, kind: FileKind) -> FrameReader:
    if format == "jsonl":
        return json_files.JsonLines(source, kind)
    if format in ("csv", "tsv"):
        return tables.delimited(source, "," if format == "csv" else "\t", kind)
    return tables.columnar(source, format, kind)


def _beir(folder: Path) -> TruthFile:
    """The labels of a BEIR folder: qrels/test.tsv, else dev, else train, else the only file there."""
    files = sorted((folder / "qrels").glob("*.tsv"))
    if not files:
        raise InputError(f"{folder}: holds no truth; it has neither qrels/*.tsv (BEIR) nor questions.jsonl")
    labels = next((file for split in _BEIR_SPLITS for file in files if file.stem == split), files[0])
    truth = open_truth(labels)
    parts = [labels, *(path for name in ("queries.jsonl", "corpus.jsonl") if (path := folder / name).exists())]
    return TruthFile(folder.name, truth.frame, truth.locate, partial(_digest_of_all, parts))


def _digest_of_all(files: Sequence[Path]) -> str:
    import hashlib

    digests = "".join(Source(file).digest() for file in files)
    return "sha256:" + hashlib.sha256(digests.encode()).hexdigest()


def file_kind(path: str | Path | Source, target: str | Path = "") -> FileKind:
    """Kind of a file, truth or run, from its columns or keys.

    A JSON dict may be either: it counts as a run, unless the target ends in .qrels.
    """
    if not isinstance(path, Source) and _is_folder(path):
        return "truth"
    source = source_of(path)
    format, first = sniff(source), _first_line(source)
    if holds_traces(source) or holds_rows(source, format):
        return "run"
    if format == "trec":
        return "truth" if len(first.split()) == len(trec.QRELS.names) else "run"
    if format == "jsonl":
        return "run" if b'"retrieved"' in first else "truth"
    if format == "json":
        return "truth" if ".qrels" in Path(target).suffixes else "run"
    if format in ("csv", "tsv"):
        names = [
            name.strip('" \r').lower()
            for name in first.decode(errors="replace").split("," if format == "csv" else "\t")
        ]
    else:
        names = [name.lower() for name in tables.column_names(source, format)]
    only_truth = {name for name in COLUMN_NAMES["gain"] if name not in COLUMN_NAMES["score"]}
    return "truth" if only_truth & set(names) else "run"


def looks_like_run(path: str | Path) -> bool:
    """True if a file holds a run as far as its first line shows; a text with words in lines is none.

    Raises   InputError for a file without content.
    """
    source = Source(path)
    if sniff(source) == "trec":
        return trec.is_row_of_run(_first_line(source))
    return source.suffix in BY_SUFFIX and file_kind(source) == "run"


def _first_line(source: Source) -> bytes:
    """The first line that is neither blank nor a comment."""
    return next((line for line in source.head.split(b"\n") if line.strip() and not line.startswith(b"#")), b"")
