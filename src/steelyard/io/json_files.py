"""JSON files: one dict of dicts, or JSONL with one question or one result list a line."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import polars as pl

from steelyard.errors import InputError
from steelyard.io.objects import finite, text_id
from steelyard.io.source import Source
from steelyard.io.tables import Kind
from steelyard.schema import RUN, TRUTH

_LINES_PER_BATCH = 5_000
_QUERY_KEYS = ("query_id", "qid")
_LABEL_KEYS = ("rel_map", "relevant")


def read_json(source: Source) -> dict[str, object]:
    """The one object of a JSON file.

    Raises   InputError with line and column.
    """
    data = source.read()
    try:
        value = json.loads(data, object_pairs_hook=_no_repeats)
    except UnicodeDecodeError as error:
        raise InputError(f"{source.name}: byte {data[error.start]:#04x} at {error.start} is not UTF-8") from None
    except json.JSONDecodeError as error:
        raise InputError(
            f"{source.name}, line {error.lineno}: is not JSON ({error.msg}, column {error.colno})"
        ) from None
    except _RepeatedKeyError as error:
        raise InputError(f"{source.name}: the key {error.key!r} stands twice in one object; remove one") from None
    if not isinstance(value, dict):
        raise InputError(f"{source.name}: holds a {type(value).__name__}, expected {{query_id: {{doc_id: number}}}}")
    return value


class _RepeatedKeyError(ValueError):
    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = key


def _no_repeats(pairs: list[tuple[str, object]]) -> dict[str, object]:
    made = dict(pairs)
    if len(made) < len(pairs):
        seen: set[str] = set()
        raise _RepeatedKeyError(next(key for key, _ in pairs if key in seen or seen.add(key)))  # type: ignore[func-returns-value]
    return made


@dataclass
class JsonLines:
    """JSONL: `{"qid", "retrieved": [ids | {"id", "score"}]}` for a run, gold_evidence and rel_map for a truth."""

    source: Source
    kind: Kind

    def __post_init__(self) -> None:
        self.name = self.source.name
        self._n_unscored: dict[str, int] = {}

    def batches(self) -> Generator[pl.DataFrame]:
        """Frames of schema RUN or TRUTH.

        Raises   InputError naming the line.
        """
        rows_of = self._run_rows if self.kind == "run" else self._truth_rows
        schema = RUN if self.kind == "run" else TRUTH
        lines = self._lines()
        self._n_unscored = {}
        read = False
        while batch := list(islice(lines, _LINES_PER_BATCH)):
            read = True
            rows = [row for number, line in batch for row in rows_of(number, line)]
            yield pl.DataFrame(rows, schema=schema, orient="row")
        if not read:
            raise InputError(f"{self.source.name}: is empty; expected one JSON object a line")

    def _lines(self) -> Iterator[tuple[int, dict[str, object]]]:
        number = 0
        for block in self.source.blocks():
            for raw in block.removesuffix(b"\n").split(b"\n"):
                number += 1
                if not raw.strip():
                    continue
                where = f"{self.source.name}, line {number}"
                try:
                    value = json.loads(raw)
                except UnicodeDecodeError as error:
                    raise InputError(f"{where}: byte {raw[error.start]:#04x} at {error.start} is not UTF-8") from None
                except json.JSONDecodeError as error:
                    raise InputError(f"{where}: is not JSON ({error.msg}, column {error.colno})") from None
                if not isinstance(value, dict):
                    raise InputError(f"{where}: holds a {type(value).__name__}, expected an object")
                yield number, value

    def _query_id(self, number: int, line: dict[str, object]) -> str:
        for key in _QUERY_KEYS:
            if key in line:
                return text_id(line[key], f"{self.source.name}, line {number}", f"`{key}`")
        raise InputError(
            f"{self.source.name}, line {number}: has no `query_id` or `qid` (keys: {', '.join(line) or 'none'})"
        )

    def _run_rows(self, number: int, line: dict[str, object]) -> Iterator[tuple[str, str | None, float | None]]:
        query_id, where = self._query_id(number, line), f"{self.source.name}, line {number}"
        retrieved = line.get("retrieved")
        if not isinstance(retrieved, list):
            raise InputError(f"{where}: `retrieved` must be a list of ids or of {{id, score}}, not {retrieved!r:.60}")
        scored = [isinstance(item, dict) and item.get("score") is not None for item in retrieved]
        if any(scored) and not all(scored):
            at = scored.index(False) + 1
            raise InputError(f"{where}: item {at} of `retrieved` has no score, but others have; score all or none")
        if not retrieved:
            yield query_id, None, None
        for place, item in enumerate(retrieved):
            doc = item.get("id", item.get("doc_id")) if isinstance(item, dict) else item
            doc_id = text_id(doc, where, f"the id of item {place + 1} of `retrieved`")
            yield query_id, doc_id, self._score(query_id, item, scored[place], f"{where}, item {place + 1}")

    def _score(self, query_id: str, item: Any, scored: bool, where: str) -> float:
        """The score that is given, or one below all before: a list without scores keeps its order, over lines too."""
        if scored:
            return finite(item["score"], f"{where}: score")
        before = self._n_unscored.get(query_id, 0)
        self._n_unscored[query_id] = before + 1
        return float(-before)

    def _truth_rows(self, number: int, line: dict[str, object]) -> Iterator[tuple[str, str | None, float | None]]:
        query_id, where = self._query_id(number, line), f"{self.source.name}, line {number}"
        key = next((key for key in _LABEL_KEYS if key in line), None)
        gold = line.get("gold_evidence") or []
        labels = (line.get(key) if key else None) or {}
        if key is None and "gold_evidence" not in line:
            raise InputError(
                f"{where}: has none of `gold_evidence`, `rel_map`, `relevant` (keys: {', '.join(line)}); "
                "is this a file of results? The truth comes first, then the runs"
            )
        if isinstance(labels, list):
            gold, labels = [*gold, *labels] if isinstance(gold, list) else gold, {}
        if not isinstance(gold, list) or not isinstance(labels, dict):
            raise InputError(f"{where}: `gold_evidence` must be a list of ids, and `{key}` a map from id to gain")
        gains = {text_id(doc, where, "an id of `gold_evidence`"): 1.0 for doc in gold}
        gains |= {doc: finite(gain, f"{where}, document {doc!r}: gain") for doc, gain in labels.items()}
        if not gains:
            yield query_id, None, None
        for doc, gain in gains.items():
            yield query_id, doc, gain

    def locate(self, query_id: str, doc_id: str) -> str:
        """Lines of a query that hold a document."""
        lines = [number for number, line in self._lines() if self._query_id(number, line) == query_id]
        return f"{self.source.name}, line{'s' * (len(lines) > 1)} {' and '.join(map(str, lines[:2]))}"
