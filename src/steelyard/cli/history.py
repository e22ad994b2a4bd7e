"""The commands on entries over time: what a store says of them together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steelyard.base.errors import InputError
from steelyard.cli.recording import VARIABLE

if TYPE_CHECKING:
    from steelyard.cli.calls import Call
    from steelyard.store.store import Store

REFUSED = 1
"""Exit status of `history confirm` where the held-out questions are worn out."""


def opened_store(store: str | None) -> Store:
    """The store that an option names, else the environment.

    Raises   InputError where neither does, or where there is none.
    """
    from steelyard.store.store import Store

    opened = Store.of_environment(store)
    if opened is None:
        raise InputError(f"which store? Name one: --store history.db, or set {VARIABLE}")
    return opened


def confirm(call: Call, ref: str, *, store: str | None, **options: Any) -> int:
    """Ask the held-out questions of an entry whether they agree with the open ones."""
    with opened_store(store) as opened:
        confirmation = call.function(opened, ref, **options)
    call.write(confirmation)
    return REFUSED if confirmation.agrees is None else 0


def wear(call: Call, *, store: str | None, **options: Any) -> None:
    """Say how worn the questions of a store are."""
    with opened_store(store) as opened:
        worn = call.function(opened, **options)
    if worn is None:
        print(call.words("wear.none"))
    else:
        call.write(worn)
