"""Changes of a configuration by dotted keys, for the command line and for grids."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from steelyard.base.nearest import nearest
from steelyard.base.settings import SettingError
from steelyard.rag.config_table import STAGES
from steelyard.rag.config_values import Stage

_TABLES = (*STAGES, "target", "weigh")


def change_values(
    values: Mapping[str, Any], changes: Mapping[str, Any], *, stages: Mapping[str, Stage | None]
) -> dict[str, Any]:
    """The values of a configuration with some keys changed; a dot leads into a table.

    stages   role -> the stage so far, the first one of several indexes; None where there is none
    Raises   SettingError for a dotted key that names no single table.
    """
    changed = copy.deepcopy(dict(values))
    for key, value in changes.items():
        head, _, setting = key.partition(".")
        if not setting:
            changed[head] = value
        elif "." in setting:
            raise SettingError(f"{key}: leads too deep; expected stage.setting, e.g. chunk.size")
        else:
            changed[head] = {**_table(changed, stages, head, key), setting: value}
    return changed


def _table(values: Mapping[str, Any], stages: Mapping[str, Stage | None], head: str, key: str) -> Mapping[str, Any]:
    """What the changed table holds so far; that of a stage has at least its kind."""
    table = values.get(head)
    if head == "index" and isinstance(table, Sequence) and not isinstance(table, str):
        if len(table) != 1:
            raise SettingError(f"{key}: there are {len(table)} indexes; change `index` as a whole")
        table = table[0]
    if isinstance(table, Mapping):
        return table
    if head not in _TABLES:
        raise SettingError(f"{key}: {head!r} is no table; {nearest(head, _TABLES)}")
    if head not in STAGES:
        return {}
    stage = stages[head]
    if stage is None:
        raise SettingError(f"{key}: there is no {head} stage to set it in; set {head!r} to a table with `kind`")
    return {"kind": stage.kind}
