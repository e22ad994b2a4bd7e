"""The table [store] of a TOML file: where commands that take the file record what they made of it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from steelyard.base.limits import Words
from steelyard.base.settings import read_toml, validate

_URL = 'a file such as "history.db", or "postgresql://USER@HOST/NAME"'


class StoreTable(BaseModel):
    """Where results are recorded, and by which tags; a relative file counts from the folder of the TOML."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    url: Annotated[str, Field(min_length=1), Words(_URL)]
    tags: Annotated[list[str], Words('a list of tags, such as ["nightly"]')] = []

    @classmethod
    def read(cls, path: str | Path) -> StoreTable | None:
        """The table of a file, its url as it is opened; None where the file has none.

        Raises   InputError for a file that is not TOML, or a table of something else, with the line.
        """
        values, origin = read_toml(path)
        if "store" not in values:
            return None
        with origin.locating():
            table: StoreTable = validate(cls, values["store"], "store")
        if "://" in table.url:
            return table
        file = Path(path).resolve().parent / os.path.expanduser(table.url)
        return table.model_copy(update={"url": str(file)})
