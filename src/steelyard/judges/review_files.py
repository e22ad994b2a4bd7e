"""The file that a review is kept in: JSON, with samples and decisions; whole or not at all, by one writer at a time."""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, get_args

from steelyard.base.errors import InputError, quoted
from steelyard.base.shapes import Each, Table, check_shape
from steelyard.data.folders.run_lock import run_lock
from steelyard.data.pieces import is_whole_text
from steelyard.io.json_files import parse_json
from steelyard.io.source import source_of
from steelyard.io.write import write_bytes
from steelyard.judges.items import ItemTable
from steelyard.judges.labels import Choice, Decision
from steelyard.judges.strata import Drawn, Sample, Stratum

FORMAT, VERSION = "steelyard-labels", 1
_STRATUM = Table({"name": str, "members": Each(list, str), "drawn": Each(list, str)})
_SAMPLE = Table(
    {"table": str, "system": str, "verdicts_digest": str, "seed": int, "strata": Each(list, _STRATUM), "judge": str,
     "unit": str}
)  # fmt: skip
_DECISION = Table({"item_id": str, "rater": str, "label": str}, {"note": str, "date": str})
_SHAPE = Table({"samples": Each(list, _SAMPLE), "decisions": Each(list, _DECISION)})


def locked(path: str | Path) -> AbstractContextManager[object]:
    """While this is open, no other process writes into the folder of a file.

    Raises   OutputError where one does.
    """
    return run_lock(Path(path).parent)


def encode_review(path: str | Path, samples: Iterable[Sample], decisions: Iterable[Decision]) -> None:
    """Write samples and decisions, whole or not at all.

    Raises   OutputError.
    """
    content = {
        "format": FORMAT, "version": VERSION,
        "samples": [
            {"table": own.table, "system": own.system, "verdicts_digest": own.verdicts_digest, "seed": own.seed,
             "judge": own.judge, "unit": own.unit,
             "strata": [{"name": s.name, "members": s.members, "drawn": s.drawn} for s in own.strata]}
            for own in samples
        ],
        "decisions": [
            {"item_id": d.item_id, "rater": d.rater, "label": d.label, "note": d.note, "date": d.date}
            for d in decisions
        ],
    }  # fmt: skip
    text = json.dumps(content, ensure_ascii=False, indent=1)
    write_bytes(path, f"{text}\n".encode(errors="backslashreplace"))


def decode_review(path: str | Path) -> tuple[list[Sample], list[Decision]]:
    """Samples and decisions that a file holds.

    Raises   InputError naming the file.
    """
    content = parse_json(source_of(path).read(), str(path))
    expected = "the labels that `steelyard review` keeps; take in what people saved with `steelyard review import`"
    check_format(content, FORMAT, VERSION, str(path), expected)
    try:
        check_shape(content, _SHAPE)
        samples = [_sample(values) for values in content["samples"]]
        return samples, [decision_of(values) for values in content["decisions"]]
    except (ValueError, InputError) as error:
        raise InputError(f"{path}: {error}") from None


def check_format(content: object, name: str, version: int, where: str, expected: str) -> None:
    """Hold a file of ours against its name and version.

    Raises   InputError for another one, and for a later version than this one.
    """
    if not isinstance(content, dict) or content.get("format") != name:
        raise InputError(f"{where}: is no file of format {name!r}; expected {expected}")
    own = content.get("version")
    if isinstance(own, bool) or not isinstance(own, int) or own != version:
        newer = isinstance(own, int) and own > version
        advice = "newer than this Steelyard; upgrade it" if newer else f"not {version}"
        raise InputError(f"{where}: is of version {quoted(own)}, {advice}")


def decision_of(values: dict[str, Any]) -> Decision:
    """What a file says that a person decided; its shape is checked.

    Raises   ValueError for a label that there is not, and for nobody's decision.
    """
    item_id, rater, label = values["item_id"], values["rater"], values["label"]
    if label not in get_args(Choice):
        raise ValueError(f"item {quoted(item_id)}: the label {quoted(label)} is none of {', '.join(get_args(Choice))}")
    if not rater.strip():
        raise ValueError(f"item {quoted(item_id)}: says not who decided; give each rater a name")
    decision = Decision(item_id, rater, label, values.get("note", ""), values.get("date", ""))
    if not is_whole_text("".join([item_id, rater, decision.note, decision.date])):
        raise ValueError(f"item {quoted(item_id)}: holds half a character, which no file can hold")
    return decision


def _sample(values: dict[str, Any]) -> Sample:
    for key, literal in (("table", ItemTable), ("unit", Drawn)):
        if values[key] not in get_args(literal):
            raise ValueError(f"the sample's {key} {quoted(values[key])} is none of {', '.join(get_args(literal))}")
    strata = tuple(Stratum(s["name"], tuple(s["members"]), tuple(s["drawn"])) for s in values["strata"])
    return Sample(
        values["table"], values["system"], values["verdicts_digest"], values["seed"], strata, values["judge"],
        values["unit"],
    )  # fmt: skip
