"""Logs without personal data: keyed hashes for users and sessions, and masked texts."""

from __future__ import annotations

import hmac
from collections.abc import Callable
from dataclasses import replace

import polars as pl

from steelyard.base.errors import InputError
from steelyard.services.addresses import secret_from
from steelyard.text.personal import masked
from steelyard.traffic.logs import Logs

KEY_VARIABLE = "STEELYARD_PSEUDONYM_KEY"
"""The environment variable that holds the key; a command line or a file would show it."""
SHORTEST_KEY = 16
"""Bytes of a key, below which the hashes of all users could be tried."""
_DIGITS = 24
"""Hexadecimal digits that stay of a hash: 96 bits, by which two of 10 million users are alike in 1 of 10**15 logs."""


def pseudonym_key() -> bytes:
    """The key that the environment variable STEELYARD_PSEUDONYM_KEY holds.

    Raises   InputError where it is not set or too short, without a word of the key.
    """
    return _checked(secret_from(KEY_VARIABLE, "--pseudonymise"))


def pseudonymise(logs: Logs, key: bytes | str) -> Logs:
    """Logs with users and sessions as keyed hashes, and personal data in texts masked.

    A user or session becomes the first 24 hexadecimal digits of HMAC-SHA-256 of its id: equal ones stay equal, also in
    other logs that the same key is used for; without the key, ids cannot be tried.  Queries, errors, answers and
    contexts are masked by `text.personal.mask`.  Names of people and ids of documents and requests stay.

    key      16 bytes at least; neither stored nor shown
    Raises   InputError for a shorter key.
    """
    secret = _checked(key)
    users, sessions = _hashed("user", secret), _hashed("session", secret)
    texts = [_masked(name) for name in ("answer", "contexts")]
    return replace(
        logs,
        impressions=logs.impressions.with_columns(users, sessions, _masked("query"), _masked("error")),
        events=logs.events.with_columns(users),
        answers=logs.answers.with_columns(texts),
    )


def _checked(key: bytes | str) -> bytes:
    secret = key.encode() if isinstance(key, str) else key
    if len(secret) < SHORTEST_KEY:
        raise InputError(
            f"the key for pseudonyms is {len(secret)} bytes long, which can be tried out; expected {SHORTEST_KEY} "
            "bytes at least, e.g. what `openssl rand -hex 32` prints"
        )
    return secret


def _hashed(column: str, key: bytes) -> pl.Expr:
    """A column of ids as hashes; equal ids of different columns differ."""

    hashed: dict[str, str] = {}

    def hashes(ids: pl.Series) -> pl.Series:
        own = ids.unique().drop_nulls().to_list()
        hashed.update({id: _hash(f"{column}\0{id}", key) for id in own if id not in hashed})
        return ids.replace_strict(own, [hashed[id] for id in own], default=None, return_dtype=pl.String)

    return _elementwise(column, hashes, pl.String())


def _hash(text: str, key: bytes) -> str:
    return hmac.digest(key, text.encode(), "sha256").hex()[:_DIGITS]


def _masked(column: str) -> pl.Expr:
    if column == "contexts":
        return _elementwise(column, _masked_lists, pl.List(pl.String))
    return _elementwise(column, masked, pl.String())


def _masked_lists(lists: pl.Series) -> pl.Series:
    return lists.to_frame("texts").select(pl.col("texts").list.eval(_elementwise("", masked, pl.String()))).to_series()


def _elementwise(column: str, function: Callable[[pl.Series], pl.Series], dtype: pl.DataType) -> pl.Expr:
    return pl.col(column).map_batches(function, return_dtype=dtype, is_elementwise=True)
