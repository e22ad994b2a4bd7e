"""What a held-out part says: whether it agrees with the open questions, and how often it may still be asked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from steelyard.history.confirm import Confirmation
from steelyard.reports.views.numbers import number
from steelyard.reports.views.view import Block, Look, Sheet, Text, View
from steelyard.reports.words import Words, read_words


def confirmation_text(confirmation: Confirmation, words: Words) -> str:
    """The answer in one sentence."""
    own = confirmation
    of = words("confirm.against" if own.against else "confirm.mean", **_names(own))
    return words(
        f"confirm.{own.outcome}", of=of, open=number(own.open_mean), mean=number(own.mean), n_open=own.n_open,
        n_held=own.n_held, budget=own.rules.budget,
    )  # fmt: skip


def confirmation_notes(confirmation: Confirmation, words: Words) -> Iterator[str]:
    """By how much the answer may be off, when both parts agree, and what is spent."""
    own, rules = confirmation, confirmation.rules
    if own.agrees is not None:
        yield words("confirm.error", error=number(rules.error))
        yield words(
            "confirm.rules", threshold=number(rules.threshold), noise=number(rules.noise), step=f"{rules.step:g}"
        )
    yield words("confirm.spent", n=own.n_spent, budget=rules.budget)


def _names(confirmation: Confirmation) -> dict[str, str]:
    return {name: getattr(confirmation, name) for name in ("measure", "system", "entry", "against")}


def _sheet(confirmation: Confirmation, words: Words) -> Sheet:
    """A row of the open questions, and one of those that were held out: with a mean where these differ."""
    own = confirmation
    rows = [
        [words("confirm.part.open"), str(own.n_open), number(own.open_mean)],
        [words(f"confirm.part.{own.outcome}"), str(own.n_held), "" if own.agrees else number(own.mean)],
    ]
    heads = [words(f"confirm.head.{name}") for name in ("questions", "n", "mean")]
    return Sheet(heads, rows, notes=list(confirmation_notes(own, words)))


def _blocks(confirmation: Confirmation, look: Look) -> Iterator[Block]:
    yield Text(confirmation_text(confirmation, look.words), "bold")
    yield _sheet(confirmation, look.words)


def _data(confirmation: Confirmation) -> dict[str, Any]:
    return {**confirmation.frame.to_dicts()[0], "in_words": confirmation_text(confirmation, read_words("en"))}


VIEWS = {
    Confirmation: View[Confirmation](
        "a confirmation",
        blocks=_blocks,
        data=lambda confirmation, words: _data(confirmation),
        rows=lambda confirmation: confirmation.frame,
        papers=lambda confirmation, words: [_sheet(confirmation, words)],
    )
}
