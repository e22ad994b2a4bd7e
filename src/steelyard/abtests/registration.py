"""Registration: what was declared before an experiment started, so that a later change can be said."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from steelyard.abtests.config import ExperimentConfig
from steelyard.base.differences import differences
from steelyard.base.errors import InputError
from steelyard.io.write import write_text

SUFFIX = ".registered.json"
"""Behind the name of a declaration's file: what was registered of it, beside it."""


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    time: datetime
    fingerprint: str
    declaration: dict[str, Any]


class _Records(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    registered: list[_Record]


@dataclass(frozen=True)
class Registration:
    """A declaration beside what was registered of it.

    fingerprint   of the declaration as it is: SHA-256 of its settings as JSON
    registered    when it was; None where it never was.  Where several times, the last one before the start counts
    is_late       whether it was registered after the start
    changed       setting -> its value as registered, and now
    path          of the file of registrations; None for a declaration without a file
    """

    fingerprint: str
    registered: datetime | None = None
    is_late: bool = False
    changed: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    path: Path | None = None


def register_experiment(experiment: ExperimentConfig | str | Path, *, now: datetime | None = None) -> Registration:
    """Write the fingerprint and the settings of a declaration beside its file; commit both.

    A declaration that was registered before is registered once more, and what it was stays: registrations before the
    start of the experiment replace each other, later ones are said in every output.

    now       time of the registration, the present one by default
    Raises    InputError for a declaration that was not read from a file, and for registrations that are damaged
    """
    config = experiment if isinstance(experiment, ExperimentConfig) else ExperimentConfig.read(experiment)
    path = _path(config)
    if path is None:
        raise InputError("the declaration was not read from a file; expected the path of experiment.toml")
    time = now or datetime.now(UTC)
    record = _Record(time=time, fingerprint=fingerprint(config), declaration=_settings(config))
    records = [*_records(path), record]
    write_text(path, _Records(registered=records).model_dump_json(indent=1) + "\n")
    return registration(config)


def registration(config: ExperimentConfig) -> Registration:
    """What was registered of a declaration.

    Raises   InputError for registrations that are damaged
    """
    path, own = _path(config), fingerprint(config)
    records = [] if path is None else _records(path)
    if not records:
        return Registration(own, path=path)
    early = [record for record in records if record.time < config.begins]
    record = early[-1] if early else records[0]
    # A setting that a later version of ours knows, and that is not used, is no change.
    now = {name: value for name, value in _settings(config).items() if name in record.declaration} | _settings(
        config, exclude_defaults=True
    )
    changed = {name: (then, now) for name, then, now in differences(record.declaration, now)}
    return Registration(own, record.time, not early, changed, path)


def fingerprint(config: ExperimentConfig) -> str:
    """SHA-256 of the settings that are not the usual ones, however they are written: 64 hexadecimal digits."""
    settings = _settings(config, exclude_defaults=True)
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()


def settings_text(config: ExperimentConfig) -> dict[str, str]:
    """All settings as text, by name; those that are empty are left out."""
    return {name: _text(value) for name, value in _settings(config).items() if value not in (None, [], {}, "")}


def _text(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} = {item}" for name, item in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _settings(config: ExperimentConfig, *, exclude_defaults: bool = False) -> dict[str, Any]:
    """Settings as JSON, as people write them; the arms as a list, since their order counts."""
    written = {
        "difference": str(config.difference),
        "before": f"{config.before / timedelta(days=1):g}d",
        "guardrail": [f"{item.metric} by {item.margin} (alpha {item.alpha:g})" for item in config.guardrail],
        "arms": [f"{name} = {share:g}" for name, share in config.arms.items()],
    }
    settings = config.model_dump(mode="json", exclude_defaults=exclude_defaults)
    return {name: written.get(name, value) for name, value in settings.items()}


def _path(config: ExperimentConfig) -> Path | None:
    name = config.origin.name
    return Path(name).with_suffix(SUFFIX) if name else None


def _records(path: Path) -> list[_Record]:
    if not path.exists():
        return []
    try:
        return _Records.model_validate_json(path.read_bytes()).registered
    except (OSError, ValidationError) as error:
        raise InputError(
            f"{path} cannot be read as registrations ({type(error).__name__}); restore it from version control, or "
            "remove it: the experiment then counts as not registered"
        ) from None
