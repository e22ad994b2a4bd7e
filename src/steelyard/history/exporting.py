"""Entries of a store as files: scores that gates read back, frames, verdicts, reports, and what is known of them."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl
import polars.selectors as cs

from steelyard.base.choices import EntryFormat
from steelyard.base.errors import OutputError, reason_of
from steelyard.history.listing import StoredEntry, show_entry
from steelyard.history.mlflow import export_mlflow
from steelyard.judges.tables.verdicts import Verdicts
from steelyard.store.kinds import HELD_OUT
from steelyard.store.store import Store

_SUFFIXES = {
    "Scores": ("json", "csv"), "Comparison": ("json", "csv"), "Gate": ("json", "md", "xml"),
    "Report": ("json", "html"), "ReviewReport": ("json", "html"), "Swept": ("json", "csv"),
}  # fmt: skip
"""Kind of a result -> endings of the files that it is written into; JSON and Markdown for others."""


def export(store: Store, refs: Sequence[str], folder: str | Path, *, to: EntryFormat = "files") -> list[str]:
    """Write entries into a folder, whole or not at all, and return their ids.

    refs     as of `Store.entry`, all entries where there are none; of one entry the files lie in the folder, of several
             each has a folder of its id there
    folder   which must be empty or absent; for MLflow, runs of other entries in it stay
    to       "files": manifest.json and entry.html of what is known of the entry; each result in JSON, and as CSV,
             Markdown, JUnit or HTML; frames in CSV, those of lists in Parquet; verdicts.parquet.  `gate` reads
             scores.json.
             "mlflow": a tracking folder, mlruns
    Raises   InputError for entries that are not there; OutputError for a folder that holds something, or cannot be
             written.

    Scores of questions that were held out are not written: `steelyard history confirm` alone asks them.
    """
    if to == "mlflow":
        return export_mlflow(store, refs, Path(folder))
    ids = list(dict.fromkeys(store.entry(ref).id for ref in refs or store.entries()["id"]))
    with _new_folder(Path(folder)) as made:
        for id in ids:
            place = made if len(ids) == 1 else made / id
            place.mkdir(exist_ok=True)
            _write_entry(store, show_entry(store, id), place)
    return ids


def _write_entry(store: Store, shown: StoredEntry, folder: Path) -> None:
    for name in shown.entry.parts:
        if name == HELD_OUT:
            continue
        part: Any = store.result(shown.entry.id, name)
        if isinstance(part, pl.DataFrame):
            _write_frame(part, folder / name)
        elif isinstance(part, Verdicts):
            part.write(folder / "verdicts.parquet")
        else:
            for suffix in _SUFFIXES.get(type(part).__name__, ("json", "md")):
                part.write(folder / f"{name}.{suffix}")
    shown.write(folder / "entry.html")
    manifest = {"store": shown.store, **shown.data()["entry"]}
    (folder / "manifest.json").write_text(json.dumps(manifest, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")


def _write_frame(frame: pl.DataFrame, path: Path) -> None:
    """Write a frame as CSV, digests in hexadecimal; as Parquet where its cells are lists, which CSV does not hold."""
    if any(dtype.is_nested() for dtype in frame.schema.values()):
        frame.write_parquet(path.with_suffix(".parquet"))
    else:
        frame.with_columns(cs.binary().bin.encode("hex")).write_csv(path.with_suffix(".csv"))


@contextmanager
def _new_folder(target: Path) -> Iterator[Path]:
    """A folder that becomes the target once all is written; nothing is left of it where that fails.

    Raises   OutputError
    """
    if os.path.lexists(target) and not (target.is_dir() and not any(target.iterdir())):
        raise OutputError(f"{target}: exists already; name a folder that is empty or not there")
    try:
        target.absolute().parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.absolute().parent))
    except OSError as error:
        raise OutputError(f"{target}: cannot be written ({reason_of(error, target.absolute().parent)})") from error
    try:
        yield made
        made.chmod(0o755)
        made.replace(target)
    except OSError as error:
        raise OutputError(f"{target}: cannot be written ({reason_of(error, target.absolute().parent)})") from error
    finally:
        shutil.rmtree(made, ignore_errors=True)
