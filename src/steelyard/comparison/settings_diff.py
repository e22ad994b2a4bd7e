"""Which settings, libraries and inputs differ between pipelines whose run folders are compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from steelyard.data.run_folder import RunFolder
from steelyard.data.settings_table import differing_rows, settings_table


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
    configs = [settings_table(folder.config) for folder in folders.values()]
    versions = [dict(_versions(folder.manifest)) for folder in folders.values()]
    digests = {
        "documents": [_corpus(folder.manifest) for folder in folders.values()],
        "questions": [folder.manifest.get("questions") for folder in folders.values()],
    }
    differing = tuple(name for name, values in digests.items() if len(set(map(repr, values))) > 1)
    loaded = {name: row for name, row in differing_rows(versions).items() if len({*row} - {None}) > 1}
    return SettingsDiff(names, differing_rows(configs), loaded, differing)


def _versions(manifest: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    libraries = manifest.get("libraries")
    yield from ((name, str(manifest[name])) for name in ("steelyard", "python") if name in manifest)
    yield from ((str(k), str(v)) for k, v in libraries.items()) if isinstance(libraries, dict) else ()


def _corpus(manifest: Mapping[str, Any]) -> object:
    fingerprint = manifest.get("fingerprint")
    return fingerprint.get("corpus") if isinstance(fingerprint, dict) else None
