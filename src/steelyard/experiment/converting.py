"""A run, a truth or outputs from one format to another."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from steelyard.base import defaults
from steelyard.base.choices import FileKind, OnDuplicate
from steelyard.base.notes import Note
from steelyard.data.outputs import Outputs
from steelyard.data.run import Run
from steelyard.data.truth import Truth
from steelyard.io.evaluation_lines import output_lines, question_lines
from steelyard.io.evaluation_rows import holds_rows, read_rows
from steelyard.io.formats import BY_SUFFIX, file_kind, open_traces, sniff
from steelyard.io.source import Source, strip_compression
from steelyard.io.traces.reading import TRACE_FORMATS
from steelyard.io.write import write_run, write_text, write_truth


@dataclass(frozen=True)
class Conversion:
    """Counts of what was written: queries, and their documents.

    n_lost   queries without any document, where the format cannot hold such
    n_answers   of whole outputs: how many have one; None where rankings alone were written
    notes    what the traces that were read lack
    """

    kind: FileKind
    n_queries: int
    n_documents: int
    n_lost: int
    n_answers: int | None = None
    notes: Sequence[Note] = ()

    def __str__(self) -> str:
        if self.n_answers is not None:
            return (
                f"outputs: {self.n_queries} questions, {self.n_documents} retrieved documents, {self.n_answers} answers"
            )
        text = f"run: {self.n_queries} questions, {self.n_documents} retrieved documents"
        if self.kind == "truth":
            text = f"truth: {self.n_queries} questions, {self.n_documents} judged documents"
        if not self.n_lost:
            return text
        return f"{text} (lost: {self.n_lost} without any document; only JSON and JSONL can hold such questions)"


def convert(
    source: str | Path,
    target: str | Path,
    *,
    kind: FileKind | None = None,
    on_duplicate: OnDuplicate = defaults.ON_DUPLICATE,
    safe_csv: bool = False,
    source_format: str | None = None,
) -> Conversion:
    """Read a run or a truth, and write it in the format of the target's suffix.

    Traces and rows of other tools are written whole into JSONL: questions, history, texts and answers, as outputs.

    kind      what the source holds; by default what its columns or keys show
    source_format   "trec", "json", …, or of traces "otel", "langfuse", …; by default what suffix and content show
    safe_csv  whether ids in CSV and TSV get a ' where a spreadsheet would compute them; they are other ids then
    Raises   InputError, DuplicateError, OutputError.
    """
    # One Source, since a pipe can be read but once; a folder is none.
    located = source if str(source) != "-" and os.path.isdir(source) else Source(source)
    format = source_format
    kind = kind or ("run" if format in TRACE_FORMATS else file_kind(located, target))
    if kind == "truth":
        truth = Truth.read(located, on_duplicate=on_duplicate, format=format)
        n_lost = write_truth(truth.frame, Path(target), safe_csv=safe_csv)
        return Conversion(kind, len(truth) - n_lost, len(truth.gain), n_lost)
    outputs = _whole_outputs(located, format) if isinstance(located, Source) else None
    if outputs is not None and _is_jsonl(target):
        read = Outputs(outputs.lines)  # Refuses what no command could read.
        write_text(target, "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in outputs.lines))
        n_documents = read.run.frame["doc_id"].drop_nulls().len()
        return Conversion(kind, len(outputs.lines), n_documents, 0, len(read.answers), outputs.notes)
    run = Run.read(located, format=format)
    frame = run.checked_frame(on_duplicate)
    n_lost = write_run(frame, Path(target), run.name, safe_csv=safe_csv)
    n_documents = frame["doc_id"].len() - frame["doc_id"].null_count()
    n_queries, notes = frame["query_id"].n_unique() - n_lost, () if outputs is None else outputs.notes
    return Conversion(kind, n_queries, n_documents, n_lost, notes=notes)


def _is_jsonl(target: str | Path) -> bool:
    return BY_SUFFIX.get(Path(strip_compression(Path(target).name)[0]).suffix.lower()) == "jsonl"


class _WholeOutputs(NamedTuple):
    """Lines of outputs with their questions, and notes on what they lack."""

    lines: list[dict[str, Any]]
    notes: Sequence[Note] = ()


def _whole_outputs(source: Source, format: str | None) -> _WholeOutputs | None:
    """The outputs in a file of traces, or in rows of another tool; None of any other file."""
    traces = open_traces(source, format) if format is None or format in TRACE_FORMATS else None
    if traces is not None:
        return _WholeOutputs([line for _, line in traces.lines], traces.notes)
    own = format or sniff(source)
    if not holds_rows(source, own):
        return None
    rows = list(read_rows(source, own, source.stem))
    asked = {
        line["query_id"]: {key: line[key] for key in _OF_QUESTIONS if line.get(key)} for _, line in question_lines(rows)
    }
    return _WholeOutputs([{**asked[line["query_id"]], **line} for _, line in output_lines(rows, source.name)])


_OF_QUESTIONS = ("query_id", "query", "history", "conversation")
"""Keys of a line of questions that outputs have too."""
