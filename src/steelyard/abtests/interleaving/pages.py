"""Interleaved pages: results of several systems in one list, with the system that each place is credited to."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import zip_longest
from typing import Any

from steelyard.base.choices import InterleavingMethod
from steelyard.base.errors import InputError, quoted
from steelyard.base.nearest import nearest

Key = Callable[[str], Hashable] | Mapping[str, Hashable]
"""What makes documents the same: a function of their ids, or id -> key (ids that it lacks are their own)."""
_DECAY = 3
"""Of probabilistic interleaving: a document at a rank is picked with a probability in proportion to rank**-3."""
_MASK = (1 << 64) - 1
_NOTHING = object()


@dataclass(frozen=True)
class InterleavedPage:
    """A page to show, and what has to be logged of it.

    doc_ids        what to show, best first
    teams          system that each place is credited to; None for the documents that all systems have first, in one
                   order, and for those behind the length that the shortest ranking fills
    seed           what the coins were drawn from: the same seed and rankings give the same page
    team_shares    of probabilistic interleaving: probability that the system picked what is shown, None where it has
                   no team;   propensities   probability that it is shown there, given the places above
    """

    doc_ids: list[str]
    teams: list[str | None]
    seed: int
    team_shares: list[float | None] | None = None
    propensities: list[float] | None = None

    def record(self) -> dict[str, Any]:
        """Columns of the impression, to be written beside its time, request, user and query.

        >>> interleave({"old": ["d1", "d2"], "new": ["d1", "d3"]}, "request-7").record()
        {'doc_ids': ['d1', 'd2', 'd3'], 'teams': [None, 'old', None], 'seed': 5945603728179730}
        """
        return {name: value for name, value in vars(self).items() if value is not None}


def interleave(
    rankings: Mapping[str, Sequence[str]], request: str, *, k: int = 10, salt: str = "",
    method: InterleavingMethod = "team-draft", key: Key | None = None,
) -> InterleavedPage:  # fmt: skip
    """A page of the results of two systems or more, so that clicks say which one users prefer.

    It is computed from the arguments alone.  Each ranking counts as far as the shortest one goes, and to k at most;
    a page that is not full by then goes on with what is left, in the order of ranks, which is credited to no system.

    rankings   system -> ids of its documents, best first;   request   its id, which decides the coins together with
    salt       that of the experiment;   k   places of the page
    method     "team-draft", of any number of systems: in each round every system puts its best document that is not
               there yet, in an order that coins decide;   "probabilistic", of two: a coin says which system picks, and
               it draws a document, by rank**-3, so that every page could come about: propensities are logged
    key        what makes documents near-identical, such as a hash of their texts: of those that have one key, a page
               shows one
    Raises     InputError for fewer than two systems, names that are empty, k below 1, and an unknown method
    Source     Radlinski, Kurup & Joachims, CIKM 2008 (team draft); Schuth et al., CIKM 2014 (of several); Hofmann,
               Whiteson & de Rijke, CIKM 2011 (probabilistic)

    >>> page = interleave({"old": ["a", "b", "c"], "new": ["a", "x", "b"]}, "request-1", k=3)
    >>> page.doc_ids, page.teams
    (['a', 'b', 'x'], [None, 'old', 'new'])
    """
    names = list(rankings)
    _check(names, k, method)
    queues = [_distinct(ranking, key) for ranking in rankings.values()]
    seed = _seed(salt, request)
    n = min(k, *map(len, queues))
    picks = _PICKING[method]([list(queue)[:n] for queue in queues], n, _uniforms(seed))
    rest = _left_over(queues, {item for item, *_ in picks}, k - n)
    documents: dict[Hashable, str] = {}
    for queue in reversed(queues):
        documents |= queue
    doc_ids = [documents[item] if team is None else queues[team][item] for item, team, *_ in picks]
    teams = [None if team is None else names[team] for _, team, *_ in picks]
    page = InterleavedPage(doc_ids + [documents[item] for item in rest], teams + [None] * len(rest), seed)
    if method == "team-draft":
        return page
    shares = [*(share for _, _, share, _ in picks), *(None for _ in rest)]
    return replace(page, team_shares=shares, propensities=[*(chance for *_, chance in picks), *(1.0 for _ in rest)])


def _check(names: Sequence[str], k: int, method: str) -> None:
    if method not in _PICKING:
        raise InputError(f"no way of interleaving is called {method!r}; {nearest(method, _PICKING)}")
    if len(names) < 2:
        raise InputError(f"{len(names)} rankings were given; expected two or more")
    if method == "probabilistic" and len(names) > 2:
        raise InputError(f"{len(names)} rankings were given; expected two, or method='team-draft'")
    if not all(isinstance(name, str) and name for name in names):
        raise InputError(f"rankings have names {quoted(list(names))}; expected texts that are not empty")
    if k < 1:
        raise InputError(f"k is {k}; expected at least 1 place on a page")


def _distinct(ranking: Sequence[str], key: Key | None) -> dict[Hashable, str]:
    """What makes a document the same -> the first one of a ranking that has it."""
    if key is None:
        return {doc_id: doc_id for doc_id in ranking}
    queue: dict[Hashable, str] = {}
    for doc_id in ranking:
        queue.setdefault(key(doc_id) if callable(key) else key.get(doc_id, doc_id), doc_id)
    return queue


_Pick = tuple[Hashable, int | None, float | None, float]
"""What is shown at a place, the system that it is credited to, the share of this system, and the propensity."""
_Queues = Sequence[Sequence[Hashable]]
"""What each system would show, best first; all are of one length."""


def _draft(queues: _Queues, n: int, draws: Iterator[float]) -> list[_Pick]:
    """Team draft behind what all have first: who has the fewest picks is next, and a coin decides between equals."""
    n_alike = next((place for place, items in enumerate(zip(*queues, strict=True)) if len(set(items)) > 1), n)
    picks: list[_Pick] = [(item, None, None, 1.0) for item in queues[0][:n_alike]]
    taken = set(queues[0][:n_alike])
    heads, counts = [n_alike] * len(queues), [0] * len(queues)
    while len(picks) < n:
        fewest = min(counts)
        equal = [team for team, count in enumerate(counts) if count == fewest]
        team = equal[int(next(draws) * len(equal))] if len(equal) > 1 else equal[0]
        queue, head = queues[team], heads[team]
        while queue[head] in taken:
            head += 1
        picks.append((queue[head], team, None, 1.0))
        taken.add(queue[head])
        heads[team] = head + 1
        counts[team] += 1
    return picks


def _draw(queues: _Queues, n: int, draws: Iterator[float]) -> list[_Pick]:
    """Every place by a coin for the system, and a document of it by its rank."""
    weights = [{item: (rank + 1.0) ** -_DECAY for rank, item in enumerate(queue)} for queue in queues]
    picks: list[_Pick] = []
    for _ in range(n):
        totals = [sum(weight.values()) for weight in weights]
        team = int(next(draws) * len(queues))
        item = _drawn(weights[team], next(draws) * totals[team])
        chances = [weight.pop(item, 0.0) / total for weight, total in zip(weights, totals, strict=True)]
        picks.append((item, team, chances[team] / sum(chances), sum(chances) / len(chances)))
    return picks


def _drawn(weights: dict[Hashable, float], place: float) -> Hashable:
    """The item that a place between 0 and the sum of weights falls into."""
    for item, weight in weights.items():
        place -= weight
        if place < 0:
            return item
    return next(reversed(weights))


_PICKING: Mapping[str, Callable[[_Queues, int, Iterator[float]], list[_Pick]]] = {
    "team-draft": _draft,
    "probabilistic": _draw,
}


def _left_over(queues: Sequence[Mapping[Hashable, str]], taken: set[Hashable], n: int) -> list[Hashable]:
    """The next n items of all systems, in the order of ranks."""
    if n < 1:
        return []
    items = (item for row in zip_longest(*queues, fillvalue=_NOTHING) for item in row if item is not _NOTHING)
    return list(dict.fromkeys(item for item in items if item not in taken))[:n]


def _seed(salt: str, request: str) -> int:
    """The first 53 bits of the hash that assigns units to arms: numbers that every language holds."""
    return int.from_bytes(sha256(f"{salt}{request}".encode(errors="surrogatepass")).digest()[:8], "big") >> 11


def _uniforms(seed: int) -> Iterator[float]:
    """Numbers in [0, 1): SplitMix64, of which there are a few lines in every language.

    Source   Steele, Lea & Flood, Fast Splittable Pseudorandom Number Generators, OOPSLA 2014.
    """
    while True:
        seed = (seed + 0x9E3779B97F4A7C15) & _MASK
        bits = ((seed ^ (seed >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        bits = ((bits ^ (bits >> 27)) * 0x94D049BB133111EB) & _MASK
        yield ((bits ^ (bits >> 31)) >> 11) * 2.0**-53
