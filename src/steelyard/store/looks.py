"""How often the questions of a truth were looked at: configurations that were tried, and confirmations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sqlalchemy import Connection, Select, and_, func, select

from steelyard.store.schema import CONFIRMATIONS, ENTRIES, MEANS, SYSTEMS


def configs_of(truth: str) -> Select[Any]:
    """Configuration and time of its first entry, of those that were evaluated on a truth."""
    config, since = SYSTEMS.c.config, func.min(ENTRIES.c.time)
    query = select(config, since).select_from(SYSTEMS.join(ENTRIES)).where(ENTRIES.c.truth == truth, config != "")
    return query.group_by(config).order_by(since, config)


def latest_means_of(truth: str, measure: str) -> Select[Any]:
    """Of each configuration on a truth the newest mean of a measure, with entry and system; oldest first."""
    order = (ENTRIES.c.time.desc(), ENTRIES.c.number.desc())
    place = func.row_number().over(partition_by=SYSTEMS.c.config, order_by=order).label("place")
    of_system = and_(SYSTEMS.c.entry == MEANS.c.entry, SYSTEMS.c.system == MEANS.c.system)
    own = (
        select(SYSTEMS.c.config, ENTRIES.c.time, ENTRIES.c.id, MEANS.c.system, MEANS.c.mean, MEANS.c.n, place)
        .select_from(MEANS.join(ENTRIES).join(SYSTEMS, of_system))
        .where(ENTRIES.c.truth == truth, MEANS.c.measure == measure, MEANS.c.mean.is_not(None), SYSTEMS.c.config != "")
        .subquery()
    )
    c = own.c
    columns = (c.config, c.time, c.id, c.system, c.mean, c.n)
    return select(*columns).where(c.place == 1).order_by(c.time, c.id)


def all_confirmations() -> Select[Any]:
    """Every question to a held-out part with its answer, oldest first."""
    c = CONFIRMATIONS.c
    columns = [c.time, c.truth, c.entry, c.system, c.against, c.measure, c.mean, c.agrees, c.charged]
    return select(*columns).order_by(c.number)


def answered(
    connection: Connection, question: Mapping[str, str], answer: Callable[[int], Mapping[str, Any]], *, time: int
) -> tuple[Mapping[str, Any], int]:
    """The answer to a question, kept beside it, and the number of charged answers with it; see `Store.ask_held_out`."""
    c = CONFIRMATIONS.c
    same = [c[name] == value for name, value in question.items()]
    before = connection.execute(CONFIRMATIONS.select().where(*same, c.mean.is_not(None))).mappings().first()
    count = select(func.count()).select_from(CONFIRMATIONS).where(c.truth == question["truth"], c.charged)
    n_spent = int(connection.execute(count).scalar_one())
    own = answer(n_spent) if before is None else {name: before[name] for name in ("mean", "agrees")}
    own = {"charged": False, **own}
    connection.execute(CONFIRMATIONS.insert().values(time=time, **question, **own))
    return own, n_spent + bool(own["charged"])
