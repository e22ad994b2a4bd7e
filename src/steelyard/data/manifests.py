"""manifest.json: what makes a folder one of a run, or one of a bench."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from steelyard.base.errors import InputError, OutputError, quoted
from steelyard.base.own_paths import check_links
from steelyard.base.shapes import Shape, check_shape
from steelyard.io.json_files import parse_json
from steelyard.io.write import write_text

MANIFEST = "manifest.json"


@dataclass(frozen=True)
class Manifests:
    """The manifests of one kind of folder.

    noun      what such a folder holds
    mark      key of the version, which no other manifest has
    shape     what commands take from it
    beside    names that are in such folders alone: beside one of them, a manifest that cannot be read is damaged
    """

    noun: str
    mark: str
    version: int
    shape: Shape
    beside: tuple[str, ...]

    def read(self, path: Path) -> dict[str, Any] | None:
        """What manifest.json holds, or None where the folder is none of this kind.

        Raises   InputError for a later version, for a manifest that is damaged, and for links that lead out of the
                 folder, which may come from somebody else.
        """
        file, remedy = path / MANIFEST, f"remove the folder, and start the {self.noun} again"
        if os.path.lexists(file):
            check_links(path)
        try:
            data = file.read_bytes()
        except (OSError, ValueError):
            return None
        try:
            manifest = parse_json(data, str(file))
        except InputError as error:
            if not any((path / name).exists() for name in self.beside):
                return None
            raise InputError(f"{error}; the {self.noun} beside it cannot be read: {remedy}") from None
        if not isinstance(manifest, dict) or self.mark not in manifest:
            return None
        version = manifest[self.mark]
        if not isinstance(version, int) or version > self.version:
            raise InputError(f"{file}: is of version {quoted(version)}, newer than this Steelyard; upgrade it")
        try:
            check_shape(manifest, self.shape)
        except ValueError as error:
            raise InputError(f"{file}: {error}; {remedy}") from None
        return manifest

    def write(self, path: Path, manifest: Mapping[str, Any]) -> None:
        """Write manifest.json whole; what it holds makes the folder one of this kind."""
        write_json(path / MANIFEST, {self.mark: self.version, **manifest})


def visible_entries(path: Path, *, wanted: str) -> list[str]:
    """Names in a folder but hidden ones, sorted; none where the folder is absent.

    wanted   what it is to be, for the message: "cannot " and these words
    Raises   OutputError where the path is no folder, or cannot be read.
    """
    try:
        return [name for name in sorted(os.listdir(path)) if not name.startswith(".")]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise OutputError(f"{path}: cannot {wanted} ({error.strerror or error}); choose another path") from error


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """Write a JSON file that people may read."""
    write_text(path, json.dumps(value, ensure_ascii=False, indent=2) + "\n")
