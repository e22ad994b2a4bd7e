"""`steelyard convert`."""

from __future__ import annotations

from pathlib import Path

from steelyard.base.choices import FileKind, OnDuplicate
from steelyard.experiment.converting import convert
from steelyard.io.write import refuse_overwriting


def run(source: str, target: Path, kind: FileKind | None, on_duplicate: OnDuplicate, *, safe_csv: bool) -> None:
    """Read a run or a truth and write it in another format."""
    refuse_overwriting(target, [source])
    conversion = convert(source, target, kind=kind, on_duplicate=on_duplicate, safe_csv=safe_csv)
    if str(target) != "-":
        print(f"{target}: {conversion}")
