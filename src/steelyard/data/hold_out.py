"""Questions that are held out: by a hash of their ids, so that the same ones are wherever they are evaluated."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import TypeVar, cast

from steelyard.base.errors import InputError
from steelyard.data.clusters import NONE, cluster_names, conversation_names
from steelyard.data.question import Question
from steelyard.data.questions import Questions
from steelyard.data.truth import Truth

_FEWEST = 2
"""Questions or clusters that both parts have at least: one alone has no error."""

Gold = TypeVar("Gold", bound=Truth | Questions)


def is_held_out(name: str, share: float) -> bool:
    """True for about this share of all names: the first 64 bits of SHA-256 of "steelyard held out:NAME", in UTF-8, are
    below that share of 2**64.  A question that is added moves no other.

    name   the id of a question, or the name of the cluster that it is in

    >>> [name for name in ("q1", "q2", "q3", "q4", "q5", "q6", "问题") if is_held_out(name, 0.3)]
    ['q2', 'q6', '问题']
    """
    digest = hashlib.sha256(f"steelyard held out:{name}".encode()).digest()
    return int.from_bytes(digest[:8], "big") < share * 2**64


def parted(
    gold: Gold, share: float | None, *, cluster: str | Mapping[str, object] | None, questions: Mapping[str, Question]
) -> Sequence[Gold]:
    """The open part of the gold, and the part that is held out; all of it alone where the share is None.

    Questions of one cluster are on the same side.
    cluster   as of `evaluate`: by default the conversations of the questions
    Raises    InputError where a part has fewer than two questions or clusters
    """
    if share is None:
        return [gold]
    query_ids = list(gold.query_ids) if isinstance(gold, Truth) else [question.query_id for question in gold]
    names = _names(gold, cluster, questions, query_ids)
    held = {name for name in names if is_held_out(name, share)}
    n_names = len(set(names))
    if min(len(held), n_names - len(held)) < _FEWEST:
        raise InputError(
            f"hold_out {share:g} would hold out {len(held)} of {n_names} questions or clusters of them; expected at "
            f"least {_FEWEST}, and {_FEWEST} others: name another share, or have more questions"
        )
    sides = [{id for id, name in zip(query_ids, names, strict=True) if (name in held) is out} for out in (False, True)]
    return [cast("Gold", gold.restricted(side)) for side in sides]


def _names(
    gold: Truth | Questions,
    cluster: str | Mapping[str, object] | None,
    questions: Mapping[str, Question],
    query_ids: Sequence[str],
) -> list[str]:
    """(q,) the name of the cluster of each question; of one by itself, its id."""
    if cluster == NONE:
        return list(query_ids)
    if cluster is None:
        names = conversation_names(questions, query_ids)
    else:
        names = cluster_names(cluster, gold=gold, questions=questions, query_ids=query_ids)
    return [query_id if name is None else str(name) for query_id, name in zip(query_ids, names, strict=True)]
