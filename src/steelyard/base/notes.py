"""Remarks beside a result, as codes: `report` renders them in the reader's language."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

PLAIN = "plain"
"""The code of a sentence that an earlier version wrote out; it is shown as it is."""


@dataclass(frozen=True)
class Note:
    """Something that a reader of a result should know.

    code    what it is about, such as "documents_empty"; the catalogues have a text for each
    values  numbers, names and lists of names that the text names

    >>> Note("documents_empty", {"n": 1, "names": ["d4"]}).as_json()
    {'code': 'documents_empty', 'values': {'n': 1, 'names': ['d4']}}
    """

    code: str
    values: Mapping[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """The note as data."""
        return {"code": self.code, "values": dict(self.values)}

    @classmethod
    def of_json(cls, data: object) -> Note:
        """A note from data; anything but a code with values is a sentence of an earlier version.

        >>> Note.of_json("1 document is empty: d4")
        Note(code='plain', values={'text': '1 document is empty: d4'})
        """
        if isinstance(data, Mapping) and isinstance(data.get("code"), str):
            values = data.get("values")
            return cls(data["code"], dict(values) if isinstance(values, Mapping) else {})
        return cls(PLAIN, {"text": str(data)})
