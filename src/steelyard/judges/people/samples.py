"""Random samples of items for people, within strata, each drawn with a known probability."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from steelyard.base.choices import ItemTable
from steelyard.base.errors import InputError, quoted

Drawn = Literal["item", "answer"]
"""What is drawn: items, or whole answers with all of their items, which are then named by question."""


@dataclass(frozen=True, slots=True)
class Stratum:
    """Items that are alike to the judge, and those that were drawn among them, each as likely as any other.

    members   all of them, by id, each once: ids of items, or of questions where whole answers are drawn
    drawn     some of the members

    >>> Stratum("low", ("a", "b", "c", "d"), ("b",)).probability
    0.25
    """

    name: str
    members: tuple[str, ...]
    drawn: tuple[str, ...]

    @property
    def probability(self) -> float:
        """With which each member was drawn; 0 of an empty stratum."""
        return len(self.drawn) / len(self.members) if self.members else 0.0


@dataclass(frozen=True)
class StratifiedSample:
    """A random sample within strata of the items of one table of one system.

    table            what people are asked
    system           whose answers it is of
    verdicts_digest  of the verdicts that the strata were made by: `items_digest` of steelyard.reviewing.sampling
    seed             of the order in which members of a stratum are drawn
    strata           of all items of the table, in the order of the judge's score, so that neighbours are alike
    judge            whose verdicts these are, by name
    unit             what is drawn
    Raises           InputError for a member of two strata, and for what was drawn and is no member.

    >>> strata = (Stratum("low", ("a", "b"), ("b",)), Stratum("high", ("c",), ()))
    >>> sample = StratifiedSample("grounded", "hybrid", "0", 1, strata)
    >>> sample.n_members, sample.drawn
    (3, ('b',))
    """

    table: ItemTable
    system: str
    verdicts_digest: str
    seed: int
    strata: tuple[Stratum, ...]
    judge: str = ""
    unit: Drawn = "item"

    def __post_init__(self) -> None:
        where = f"sample of {self.table} of {self.system}"
        members = [member for stratum in self.strata for member in stratum.members]
        _check_once(where, "members", members)
        for stratum in self.strata:
            _check_once(f"{where}, stratum {stratum.name!r}", "drawn", stratum.drawn)
            for item in set(stratum.drawn) - set(stratum.members):
                raise InputError(f"{where}, stratum {stratum.name!r}: {quoted(item)} was drawn and is no member")

    @property
    def n_members(self) -> int:
        """Count of all members to draw from."""
        return sum(len(stratum.members) for stratum in self.strata)

    @property
    def drawn(self) -> Sequence[str]:
        """Members that were drawn, stratum after stratum."""
        return tuple(item for stratum in self.strata for item in stratum.drawn)

    @cached_property
    def stratum_of(self) -> Mapping[str, int]:
        """Member -> the place of its stratum."""
        return {member: n for n, stratum in enumerate(self.strata) for member in stratum.members}

    def merged(self, decided: Collection[str], least: int = 1) -> tuple[Stratum, ...]:
        """The strata, in each of which people decided about enough that were drawn: others are put to a neighbour.

        decided   members that people decided about; drawn of the strata that are returned are those alone
        least     how many a stratum needs, unless there is but one

        >>> strata = (Stratum("low", ("a", "b"), ("b",)), Stratum("mid", ("c",), ("c",)), Stratum("high", ("d",), ()))
        >>> StratifiedSample("grounded", "hybrid", "0", 1, strata).merged({"b", "c"})[1]
        Stratum(name='mid + high', members=('c', 'd'), drawn=('c',))
        """
        merged = list[Stratum]()
        for stratum in self.strata:
            own = Stratum(stratum.name, stratum.members, tuple(item for item in stratum.drawn if item in decided))
            if merged and min(len(own.drawn), len(merged[-1].drawn)) < least:
                own = _together(merged.pop(), own)
            merged.append(own)
        return tuple(merged)


def _together(*strata: Stratum) -> Stratum:
    return Stratum(
        " + ".join(stratum.name for stratum in strata),
        tuple(member for stratum in strata for member in stratum.members),
        tuple(item for stratum in strata for item in stratum.drawn),
    )


def _check_once(where: str, what: str, ids: Iterable[str]) -> None:
    """Raise   InputError for an id that comes twice."""
    met = set[str]()
    for id in ids:
        if id in met:
            raise InputError(f"{where}: {quoted(id)} is twice among its {what}")
        met.add(id)
