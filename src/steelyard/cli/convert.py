"""`steelyard convert`."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import polars as pl

from steelyard.io.formats import tell_kind
from steelyard.io.write import write_run, write_truth
from steelyard.run import Run
from steelyard.truth import OnDuplicate, Truth


def run(source: str, target: Path, kind: Literal["run", "truth"] | None, on_duplicate: OnDuplicate) -> None:
    """Read a run or a truth and write it in another format."""
    if (kind or tell_kind(source, target)) == "truth":
        truth = Truth.read(source, on_duplicate=on_duplicate)
        n_lost = write_truth(truth.frame, target)
        what = f"truth: {len(truth) - n_lost} queries, {len(truth.gain)} judged documents"
        if n_lost:
            what += f" (lost: {n_lost} without any label; only JSON and JSONL can hold such queries)"
    else:
        read = Run.read(source)
        frame = read.checked_frame(on_duplicate)
        write_run(frame, target, read.name)
        what = f"run: {frame.select(pl.col('query_id').n_unique()).item()} queries, {frame.height} retrieved documents"
    print(f"{target}: {what}")
