"""Entries of a store as an MLflow tracking folder, without MLflow.

The folder has the layout of MLflow's file store, `mlruns/EXPERIMENT/RUN`, which every version of MLflow reads: versions
from 3.7 on with MLFLOW_ALLOW_FILE_STORE=true, or after `mlflow migrate-filestore`, which copies it into their database.
That database has a schema of its own in most releases, so that one written here would fit one of them alone.
Source: MLflow, `mlflow/store/tracking/file_store.py` and "Migrate from the file store" of its documentation.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from steelyard.base.errors import OutputError, reason_of
from steelyard.io.write import write_text

if TYPE_CHECKING:
    from steelyard.store.entries import Entry
    from steelyard.store.store import Store

_LONGEST_KEY, _LONGEST_VALUE, _LONGEST_NAME = 80, 6_000, 250
"""Characters of a key, of a parameter or tag, and of a run's name; MLflow takes 250, 6,000 and 250."""
_FINISHED, _LOCAL = 3, 4
"""Status of a run and kind of its source, as MLflow numbers them."""
_BOUNDS = {"mean": "", "low": "_low", "high": "_high", "n": "_n"}
"""Column of the means -> ending of the name of its metric."""


def export_mlflow(store: Store, refs: Sequence[str], folder: Path) -> list[str]:
    """Write entries of a store as MLflow runs into a tracking folder, and return their ids.

    refs      ids, or beginnings of them, latest, accepted, tag=NAME; none for all entries
    folder    as of `tracking_folder`
    Raises    InputError for an entry that is not there; OutputError where the folder cannot be written.
    """
    entries = [store.entry(ref) for ref in refs or store.entries()["id"].to_list()]
    tracking_folder(store.means(), entries, folder)
    return [entry.id for entry in entries]


def tracking_folder(means: pl.DataFrame, entries: Iterable[Entry], folder: Path) -> Path:
    """Write entries as MLflow runs into a tracking folder, and give the path that MLflow calls its tracking URI.

    means     as `Store.means` gives them; a null or NaN mean becomes no metric
    entries   those to write; one without any mean becomes one run without metrics
    folder    where `mlruns` is, or goes; runs of other entries in it stay, those of the same entries are replaced
    Returns   folder/mlruns. An entry and a system are a run, and all entries of a truth an experiment, since means on
              other questions cannot be compared. Numbers of experiments and runs follow from truth, entry and system.
    Raises    OutputError where the folder cannot be written.
    """
    root = folder.absolute() / "mlruns"
    rows = means.partition_by("entry", as_dict=True)
    for entry in entries:
        experiment = _experiment(root, entry)
        of_entry = rows.get((entry.id,), means.clear())
        systems = of_entry["system"].unique(maintain_order=True).to_list() or list(entry.settings) or [""]
        for system in systems:
            _write_run(experiment, entry, system, of_entry.filter(system=system))
    return root


def _experiment(root: Path, entry: Entry) -> Path:
    """The folder of the experiment of an entry's truth, with its description."""
    number = str(int(_digest("truth", entry.truth or "")[:15], 16))
    folder, created = root / number, _milliseconds(entry)
    if not (folder / "meta.yaml").exists():
        name = f"steelyard, truth {entry.truth.rpartition(':')[2][:8]}" if entry.truth else "steelyard"
        _write(folder / "meta.yaml", _yaml({
            "artifact_location": folder.as_uri(), "creation_time": created, "experiment_id": number,
            "last_update_time": created, "lifecycle_stage": "active", "name": name,
        }))  # fmt: skip
    return folder


def _write_run(experiment: Path, entry: Entry, system: str, means: pl.DataFrame) -> None:
    run, time = _digest("run", entry.id, system)[:32], _milliseconds(entry)
    folder = experiment / run
    name = _printable(f"{system} {entry.id[:8]}".strip())[:_LONGEST_NAME]
    facts = dataclasses.asdict(entry) | {"system": system, "means": means.to_dicts()}
    del facts["number"]  # That of a row in one database.
    texts = {
        "params": entry.settings.get(system, {}),
        "tags": dict(_tags(entry, system)) | {"mlflow.runName": name},
        "metrics": {key: f"{time} {value!r} 0\n" for key, value in _metrics(means)},
    }
    for kind, values in texts.items():
        for key, text in zip(_keys(values), values.values(), strict=True):
            _write(folder / kind / key, text[:_LONGEST_VALUE])
    artifacts = json.dumps(facts, ensure_ascii=False, indent=1, default=str)
    _write(folder / "artifacts" / "entry.json", artifacts + "\n")
    _write(folder / "meta.yaml", _yaml({
        "artifact_uri": (folder / "artifacts").as_uri(), "end_time": time, "entry_point_name": "",
        "experiment_id": experiment.name, "lifecycle_stage": "active", "run_id": run, "run_name": name,
        "run_uuid": run, "source_name": "", "source_type": _LOCAL, "source_version": "", "start_time": time,
        "status": _FINISHED, "tags": [], "user_id": "steelyard",
    }))  # fmt: skip


def _metrics(means: pl.DataFrame) -> Iterator[tuple[str, float]]:
    """Names and values of the metrics of a run: `ndcg_at_10` as MLflow writes ndcg@10, with its interval and n."""
    for row in means.iter_rows(named=True):
        for column, ending in _BOUNDS.items():
            value = row.get(column)
            if value is not None and not math.isnan(value):
                yield f"{row['measure'].replace('@', '_at_')}{ending}", float(value)


def _tags(entry: Entry, system: str) -> Iterator[tuple[str, str]]:
    """Names and texts of the tags of a run; those that begin with mlflow are shown by its pages."""
    named = {
        "mlflow.user": "steelyard", "mlflow.source.type": "LOCAL", "mlflow.source.name": entry.command,
        "mlflow.source.git.commit": entry.commit, "mlflow.note.content": entry.note, "steelyard.entry": entry.id,
        "steelyard.kind": entry.kind, "steelyard.system": system, "steelyard.truth": entry.truth,
        "steelyard.tags": ", ".join(entry.tags), "steelyard.n_questions": entry.n_questions,
        "steelyard.dirty": None if entry.dirty is None else str(entry.dirty).lower(),
    }  # fmt: skip
    named |= {f"version.{library}": text for library, text in entry.versions.items()}
    named |= {f"fingerprint.{part}": digest for part, digest in entry.fingerprints.get(system, {}).items()}
    yield from ((name, str(text)) for name, text in named.items() if text not in (None, ""))


def _keys(names: Iterable[str]) -> list[str]:
    """Names as MLflow and file systems take them, all different; a changed or long one ends with a digest.

    >>> _keys(["ndcg_at_10", "../x", "chunk.size"])
    ['ndcg_at_10', '_x-d6b96a97', 'chunk.size']
    """
    keys = []
    for name in names:
        key = re.sub(r"[^\w.-]+", "_", name).lstrip(".")[:_LONGEST_KEY]
        keys.append(key if key and key == name else f"{key}-{_digest(name)[:8]}")
    return keys


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode(errors="backslashreplace")).hexdigest()


def _milliseconds(entry: Entry) -> int:
    return int(entry.time.timestamp() * 1000)


def _printable(text: str) -> str:
    """The text as YAML takes it: blanks for what cannot be printed."""
    return "".join(character if character.isprintable() else " " for character in text)


def _yaml(facts: Mapping[str, Any]) -> str:
    """A flat mapping as YAML, in which every value is written as in JSON."""
    return "".join(f"{key}: {json.dumps(value, ensure_ascii=False)}\n" for key, value in facts.items())


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(
            f"{path.parent}: cannot be made ({reason_of(error, path.parent)}); choose another place"
        ) from error
    write_text(path, text)
