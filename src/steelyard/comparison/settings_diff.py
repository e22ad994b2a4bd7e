"""Which settings, libraries and inputs differ between pipelines whose run folders are compared."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from steelyard.data.run_folder import RunFolder

_PLACES = ("name", "folder", "cache", "documents", "questions", "weigh")
"""What names a run, or where things are, or how it was weighed at the end; none of it moves a ranking."""


@dataclass(frozen=True)
class SettingsDiff:
    """Where the configurations of run folders differ.

    systems     names of the systems with a run folder, in the order given
    settings    dotted setting -> its value for each system, as text; None where the system has no such setting.
                Places in lists count from 1: index.2.kind is the kind of the second index.  Only those that differ
    versions    the same of Steelyard, Python and the libraries behind the run; a library that one run did not load is
                no difference
    inputs      which inputs are not the same for all systems: "documents", "questions"
    """

    systems: tuple[str, ...]
    settings: Mapping[str, tuple[str | None, ...]]
    versions: Mapping[str, tuple[str | None, ...]]
    inputs: tuple[str, ...]

    @property
    def same(self) -> bool:
        """Whether nothing differs."""
        return not (self.settings or self.versions or self.inputs)


def settings_diff(folders: Mapping[str, RunFolder]) -> SettingsDiff:
    """Compare the configurations of run folders.

    folders   system -> its run folder; two at least make sense
    Returns   documents and questions are compared by content, not by path; a setting that is null is as good as absent
    Raises    InputError for a config.json that cannot be read
    """
    names = tuple(folders)
    configs = [dict(_flat(_config(folder))) for folder in folders.values()]
    versions = [dict(_versions(folder.manifest)) for folder in folders.values()]
    digests = {
        "documents": [_corpus(folder.manifest) for folder in folders.values()],
        "questions": [folder.manifest.get("questions") for folder in folders.values()],
    }
    differing = tuple(name for name, values in digests.items() if len(set(map(repr, values))) > 1)
    loaded = {name: row for name, row in _differing(versions).items() if len({*row} - {None}) > 1}
    return SettingsDiff(names, _differing(configs), loaded, differing)


def _config(folder: RunFolder) -> dict[str, Any]:
    """What config.json holds but for names and places; nothing where there is none."""
    return {key: value for key, value in folder.config.items() if key not in _PLACES}


def _flat(value: object, path: str = "") -> Iterator[tuple[str, str]]:
    """Dotted path and text of every value below; a list of plain values is one value."""
    if isinstance(value, dict):
        for key, below in value.items():
            yield from _flat(below, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list) and any(isinstance(below, dict | list) for below in value):
        for place, below in enumerate(value, 1):
            yield from _flat(below, f"{path}.{place}")
    elif value is not None:
        yield path, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _versions(manifest: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    libraries = manifest.get("libraries")
    yield from ((name, str(manifest[name])) for name in ("steelyard", "python") if name in manifest)
    yield from ((str(k), str(v)) for k, v in libraries.items()) if isinstance(libraries, dict) else ()


def _corpus(manifest: Mapping[str, Any]) -> object:
    fingerprint = manifest.get("fingerprint")
    return fingerprint.get("corpus") if isinstance(fingerprint, dict) else None


def _differing(tables: Sequence[Mapping[str, str]]) -> dict[str, tuple[str | None, ...]]:
    """Rows whose values are not all the same, in the order of the first table that has them."""
    keys = dict.fromkeys(key for table in tables for key in table)
    rows = {key: tuple(table.get(key) for table in tables) for key in keys}
    return {key: values for key, values in rows.items() if len(set(values)) > 1}
