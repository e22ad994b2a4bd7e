"""The commands that read a store: what is there, what an entry holds, and which of them count."""

from __future__ import annotations

import os
import shlex
import sys
from typing import TYPE_CHECKING, Any

from steelyard.base.errors import InputError
from steelyard.cli.recording import VARIABLE
from steelyard.reports.visible import single_line

if TYPE_CHECKING:
    from pathlib import Path

    from steelyard.base.choices import EntryFormat
    from steelyard.cli.calls import Call
    from steelyard.store.store import Store

REFUSED = 1
"""Exit status of `history confirm` where the held-out questions are worn out."""
NO = 1
"""Exit status where a question whether to remove entries was answered by no."""


def open_store(url: str | None) -> Store:
    """The store that is named, else that of STEELYARD_STORE, else history.db here."""
    from steelyard.store import opening  # SQLAlchemy takes a moment to import, and `--help` needs none.

    return opening.open_store(url)


def entries(call: Call, *, store: str | None, **options: Any) -> None:
    """List the newest entries, or say how to begin; a store that is named and not there is a mistake."""
    with open_store(store) as opened:
        if not opened.exists and (store is not None or VARIABLE in os.environ):
            opened.entries()
        listed = call.compute(opened, **{name: value for name, value in options.items() if value is not None})
    newest = listed.entries["id"].head(1).to_list()
    call.write(listed, following=["history", "show", newest[0], *_named(store)] if newest else [])


def _named(store: str | None) -> list[str]:
    return [] if store is None else ["--store", store]


def show(call: Call, entry: str, *, store: str | None) -> None:
    """Show an entry."""
    with open_store(store) as opened:
        shown = call.compute(opened, entry)
    failed = getattr(shown.result, "outcome", None) == "fail"
    can_be_accepted = shown.means.height and not shown.entry.accepted and not failed
    call.write(shown, following=["history", "accept", shown.entry.id, *_named(store)] if can_be_accepted else [])


def remove(call: Call, entries: list[str], *, store: str | None, yes: bool, force: bool) -> int:
    """Remove entries, once the user agrees."""
    with open_store(store) as opened:
        ids = [opened.entry(ref).id for ref in entries]
        if not yes and not _agrees(call, len(set(ids)), opened.name):
            return NO
        call.compute(opened, ids, force=force)
        print(call.words("stored.removed", n=len(set(ids)), store=opened.name))
    return 0


def _agrees(call: Call, n: int, store: str) -> bool:
    """True if the user agrees to remove entries.

    Raises   InputError without a terminal.
    """
    if not _is_terminal():
        raise InputError("history remove asks before it removes, and there is no terminal to ask on; add --yes")
    return input(call.words("stored.remove", n=n, store=store)).strip().casefold() in ("y", "yes", "是")


def _is_terminal() -> bool:
    return sys.stdin.isatty()


def accept(call: Call, entry: str, *, store: str | None, who: str | None, why: str | None) -> None:
    """Accept an entry as the baseline of later gates."""
    with open_store(store) as opened:
        accepted = call.function(opened, entry, who=who or "", why=why or "")
        who = accepted.accepted[-1][1]
        print(single_line(call.words("stored.accepted", id=accepted.id, who=who, store=opened.name)))


def export(call: Call, entries: list[str], *, store: str | None, to: EntryFormat, output: Path) -> None:
    """Write entries into a folder, and say how it is opened."""
    with open_store(store) as opened:
        ids = call.compute(opened, entries, output, to=to)
    print(call.words(f"stored.exported_{to}", n=len(ids), folder=shlex.quote(str(output))))


def tag(call: Call, entry: str, tags: list[str], *, store: str | None) -> None:
    """Give an entry tags."""
    with open_store(store) as opened:
        tagged = call.function(opened, entry, *tags)
        print(single_line(call.words("stored.tagged", id=tagged.id, tags=", ".join(tagged.tags), store=opened.name)))


def trend(call: Call, *, store: str | None, measures: list[str] | None, **options: Any) -> None:
    """Show how measures went over time."""
    with open_store(store) as opened:
        shown = call.compute(opened, measures, **options)
    line = shown.changed_last
    following = list[str]()
    if line is not None and len(shown.lines) > 1:
        following = ["history", "trend", "-m", line.measure, "--system", line.system]
    elif line is not None:
        following = ["history", "diff", *line.frame["entry"].slice(line.now.place - 1, 2)]
    call.write(shown, following=[*following, *_named(store)] if following else [])


def confirm(call: Call, entry: str, *, store: str | None, **options: Any) -> int:
    """Ask the held-out questions of an entry whether they agree with the open ones."""
    with open_store(store) as opened:
        confirmation = call.function(opened, entry, **options)
    call.write(confirmation)
    return REFUSED if confirmation.agrees is None else 0


def diff(call: Call, first: str, second: str, *, store: str | None, **options: Any) -> None:
    """Compare two entries: what was changed, and what it did to the scores."""
    with open_store(store) as opened:
        difference = call.function(opened, first, second, **options)
    call.write(difference)


def wear(call: Call, *, store: str | None, **options: Any) -> None:
    """Say how worn the questions of a store are."""
    with open_store(store) as opened:
        worn = call.function(opened, **options)
    if worn is None:
        print(call.words("wear.none"))
    else:
        call.write(worn)
