"""How commands record their results: into the store that an option, the environment or a configuration names."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steelyard.base.errors import InputError, SteelyardError
from steelyard.cli.options import NOTE, STORE, TAGS
from steelyard.cli.parser import Command
from steelyard.cli.translation import translator
from steelyard.reports.visible import short_path
from steelyard.reports.words import Words

if TYPE_CHECKING:
    from steelyard.store.settings import StoreTable
    from steelyard.store.store import Store

VARIABLE = "STEELYARD_STORE"
"""Variable of the environment that names the store where no option does."""
PREFIX = "store:"
"""How an argument begins that names an entry in the place of files."""

_SETTINGS = ("config", "system", "profile")
"""Arguments that may be a file of settings, whose table [store] says where the result goes."""


@dataclass
class Recording:
    """What a command records, where, and how that went.

    is_asked   whether an option named the store: a result that no store holds is said, and not passed over
    about      keywords of `Store.add`
    is_known   whether the result is of entries alone, which are recorded already
    failure    what kept a result from being recorded, once it has been shown
    """

    store: Store
    is_asked: bool
    about: Mapping[str, Any]
    is_known: bool = field(default=False, init=False)
    failure: SteelyardError | None = field(default=None, init=False)

    def add(self, result: Any, words: Words) -> str:
        """Record a result, and return the line that says so; an empty one where nothing was recorded."""
        from steelyard.store.kinds import is_held

        if self.is_known:
            return ""
        if not is_held(result):
            return words("brief.not_stored") if self.is_asked else ""
        try:
            with self.store:
                entry = self.store.add(result, **self.about)
        except SteelyardError as error:
            self.failure = error
            return ""
        name = self.store.name
        return words("brief.stored", id=entry.id, store=name if "://" in name else short_path(Path(name)))

    def settle(self, status: int | None, words: Words) -> int | None:
        """The exit status of the command: its own where that is a verdict, such as that of a gate which failed.

        Raises   the failure of the store where the command itself had nothing to report.
        """
        if self.failure is None:
            return status
        if not status:
            raise self.failure
        print(f"steelyard: {translator(words.code)(str(self.failure))}", file=sys.stderr)
        return status


def recording_of(command: Command, values: dict[str, Any], line: str) -> Recording | None:
    """Where a command is to record its result, taken out of the values of its arguments; None for nowhere.

    line     the command, as it was given
    Raises   InputError for an address that is none, and for tags or a note without a store.
    """
    if STORE not in command.arguments:
        return None
    url, note = (values.pop(item.dest, None) or "" for item in (STORE, NOTE))
    tags = values.pop(TAGS.dest, None) or []
    table = _table([values.get(name) for name in _SETTINGS])
    named: str | None = url or os.environ.get(VARIABLE) or (table.url if table else None)
    if not named:
        for option in ["--tag"] * bool(tags) + ["--note"] * bool(note):
            raise InputError(f"{option}: there is no store to record in; name one: --store history.db")
        return None
    from steelyard.store.adding import checked_tag
    from steelyard.store.provenance import git_state
    from steelyard.store.store import Store

    tags = [checked_tag(tag) for tag in [*(table.tags if table else ()), *tags]]
    commit, dirty = git_state()  # Now: what is measured is what is checked out when the command begins.
    about = {"tags": tags, "note": note, "command": line, "commit": commit, "dirty": dirty}
    return Recording(Store(named), bool(url), about)


def _table(configurations: Sequence[object]) -> StoreTable | None:
    """The first table [store] of files of settings; a name of something else, such as a profile of ours, has none."""
    files = [str(path) for path in configurations if path and str(path).endswith(".toml") and os.path.isfile(str(path))]
    if not files:
        return None
    from steelyard.store.settings import StoreTable

    return next((table for file in files if (table := StoreTable.read(file)) is not None), None)
