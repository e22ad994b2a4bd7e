"""`steelyard convert`."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from steelyard.data.run import Run
from steelyard.data.truth import OnDuplicate, Truth
from steelyard.io.formats import tell_kind
from steelyard.io.write import refuse_overwriting, write_run, write_truth


def run(source: str, target: Path, kind: Literal["run", "truth"] | None, on_duplicate: OnDuplicate) -> None:
    """Read a run or a truth and write it in another format."""
    refuse_overwriting(target, [source])
    if (kind or tell_kind(source, target)) == "truth":
        truth = Truth.read(source, on_duplicate=on_duplicate)
        n_lost = write_truth(truth.frame, target)
        what = f"truth: {len(truth) - n_lost} queries, {len(truth.gain)} judged documents"
    else:
        read = Run.read(source)
        frame = read.checked_frame(on_duplicate)
        n_lost = write_run(frame, target, read.name)
        n_queries, n_rows = frame["query_id"].n_unique() - n_lost, frame["doc_id"].len() - frame["doc_id"].null_count()
        what = f"run: {n_queries} queries, {n_rows} retrieved documents"
    if n_lost:
        what += f" (lost: {n_lost} without any document; only JSON and JSONL can hold such queries)"
    if str(target) != "-":
        print(f"{target}: {what}")
