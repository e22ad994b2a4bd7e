"""The pipelines of a grid: every combination of what `[sweep]` varies."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from steelyard.base.errors import InputError
from steelyard.rag.config import Config
from steelyard.rag.fingerprint import digest
from steelyard.rag.pipeline import Pipeline
from steelyard.services.secrecy import without_secrets

_LONGEST_FOLDER = 80


@dataclass(frozen=True)
class Trial:
    """One pipeline of a grid.

    settings  key -> value of what varies, k left aside;   config  the whole configuration;   ks  the k to weigh it at
    """

    settings: Mapping[str, Any]
    config: Config
    ks: tuple[int, ...]


def grid(config: Config) -> list[Trial]:
    """Every combination of the values in `[sweep]`, each once; those that differ in k alone are one trial.

    Raises   InputError for a sweep without values, and for a value that the configuration cannot take.
    """
    varied = {key: values if isinstance(values, list) else [values] for key, values in config.sweep.items()}
    if not varied or not all(varied.values()):
        raise InputError(
            f"{config.line('sweep')}there is nothing to vary; expected a table such as "
            '[sweep] with "chunk.size" = [300, 1000] and index = ["bm25", "dense"]'
        )
    ks = varied.pop("k", [config.k])
    if not all(isinstance(k, int) and not isinstance(k, bool) and k >= 1 for k in ks):
        raise InputError(f"{config.line('sweep', 'k')}k must be whole numbers from 1, not {ks!r}")
    ordered = tuple(sorted(set(ks)))
    trials: dict[str, Trial] = {}
    for values in itertools.product(*varied.values()):
        settings = dict(zip(varied, values, strict=True))
        trial = _trial(config, settings, ordered)
        trials.setdefault(trial.config.name, trial)
    return list(trials.values())


def setting_text(value: Any) -> str:
    """A setting as a table shows it, without secrets.

    >>> setting_text(["bm25", {"kind": "dense", "backend": "numpy"}])
    'bm25+dense backend=numpy'
    """
    value = without_secrets(value)
    if isinstance(value, list):
        return "+".join(map(setting_text, value))
    if isinstance(value, Mapping):
        more = [f"{key}={setting_text(inner)}" for key, inner in value.items() if key != "kind"]
        return " ".join([str(value.get("kind", "")), *more]).strip()
    return str(value)


def _trial(config: Config, settings: Mapping[str, Any], ks: tuple[int, ...]) -> Trial:
    name = "-".join(f"{key.rpartition('.')[2]}={setting_text(value)}" for key, value in settings.items())
    name = name or config.name
    depth = settings.get("depth", max(config.depth, ks[-1]))
    try:
        # Its messages name the line of [sweep], not that of a key which the sweep replaces.
        varied = replace(config, where="").with_changes({**settings, "k": ks[-1], "depth": depth})
        folder = config.folder.with_name(f"{config.folder.name}-sweep") / _folder_name(name)
        varied = replace(varied, name=name, folder=folder)
        Pipeline.read(varied)  # Raises now, and not after hours of what comes before it in the grid.
    except InputError as error:
        shown = ", ".join(f"{key} = {setting_text(value)}" for key, value in settings.items())
        reason = str(error).removeprefix("the configuration: ")
        raise InputError(f"{config.line('sweep')}{shown + ': ' if shown else ''}{reason}") from error
    return Trial(settings, varied, ks)


def _folder_name(name: str) -> str:
    """A name as that of a folder; where letters are replaced or left away, with a digest that keeps it apart."""
    plain = "".join(c if c.isalnum() or c in "=.+-_" else "_" for c in name)[:_LONGEST_FOLDER]
    return plain if plain == name else f"{plain}-{digest(name)[:8]}"
