"""Labels of people on verdicts, the random samples that they are asked about, and the file of both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from steelyard.base.choices import ItemTable
from steelyard.base.errors import InputError, quoted
from steelyard.base.shapes import Each, Object
from steelyard.base.short_repr import plural
from steelyard.data.folders.run_lock import run_lock
from steelyard.data.pieces import is_whole_text
from steelyard.io.own_json import OwnJson, check_word
from steelyard.judges.verdict import Label

Choice = Literal["supported", "contradicted", "not_found", "cannot_say"]
"""Labels that a person can give an item."""
IN_TWO = ("supported", "not_supported")
"""Labels as a judge is held against people by them: "contradicted" and "not_found" are both without support."""
ADJUDICATION = "adjudication"
"""The rater whose decisions settle conflicts."""


@dataclass(frozen=True, slots=True)
class Decision:
    """Decision of one person about one item.

    rater   a name or a pseudonym; "adjudication" settles conflicts of others
    date    when, in ISO 8601;   note   the person's own words
    """

    item_id: str
    rater: str
    label: Choice
    note: str = ""
    date: str = ""


class Labels:
    """The decisions of people; of one person about one item, the last one counts.

    >>> labels = Labels([Decision("i", "ann", "supported"), Decision("i", "bob", "not_found")])
    >>> labels.conflicts, dict(labels.consensus)
    (('i',), {})
    >>> Labels([*labels.decisions, Decision("i", "adjudication", "not_found")]).consensus["i"]
    'not_found'
    """

    def __init__(self, decisions: Iterable[Decision]) -> None:
        last = {(decision.item_id, decision.rater): decision for decision in decisions}
        self.decisions: Sequence[Decision] = tuple(last.values())

    @cached_property
    def by_item(self) -> Mapping[str, Sequence[Decision]]:
        """Item -> the decisions about it, one a rater."""
        listed: dict[str, list[Decision]] = {}
        for decision in self.decisions:
            listed.setdefault(decision.item_id, []).append(decision)
        return listed

    @property
    def raters(self) -> Sequence[str]:
        """Names of the raters, without adjudication."""
        return sorted({decision.rater for decision in self.decisions} - {ADJUDICATION})

    @cached_property
    def consensus(self) -> Mapping[str, Label]:
        """Item -> what people decided: the adjudication, else what more raters said than anything else.

        A rater who cannot say has said nothing.  Items that no rater can say, or that raters disagree on, have no
        label.
        """
        return self._agreed(in_two=False)

    @cached_property
    def support(self) -> Mapping[str, Label]:
        """Consensus where "contradicted" and "not_found" are one label, "not_found": for what reads both alike.

        >>> labels = Labels([Decision("i", "ann", "contradicted"), Decision("i", "bob", "not_found")])
        >>> dict(labels.consensus), dict(labels.support)
        ({}, {'i': 'not_found'})
        """
        return self._agreed(in_two=True)

    def _agreed(self, *, in_two: bool) -> Mapping[str, Label]:
        labels = {item_id: _consensus(decisions, in_two=in_two) for item_id, decisions in self.by_item.items()}
        return {item_id: label for item_id, label in labels.items() if label not in (None, "cannot_say")}  # type: ignore[misc]

    @cached_property
    def conflicts(self) -> Sequence[str]:
        """Items that raters disagree on, so that no label is ahead, and that are not adjudicated.

        First those about whether there is support, then those where the question is whether the source says otherwise.
        """
        return (*self.support_conflicts, *(i for i in self._at_odds(in_two=False) if i not in self.support_conflicts))

    @cached_property
    def support_conflicts(self) -> Sequence[str]:
        """Conflicts that have no label in `support` either."""
        return self._at_odds(in_two=True)

    def _at_odds(self, *, in_two: bool) -> Sequence[str]:
        return tuple(i for i, decisions in self.by_item.items() if _consensus(decisions, in_two=in_two) is None)

    def __len__(self) -> int:
        return len(self.decisions)


def _consensus(decisions: Sequence[Decision], *, in_two: bool) -> Choice | None:
    settled = [decision.label for decision in decisions if decision.rater == ADJUDICATION]
    labels = settled[-1:] or [decision.label for decision in decisions]
    labels = ["not_found" if in_two and label == "contradicted" else label for label in labels]
    counts = Counter(label for label in labels if label != "cannot_say").most_common(2)
    if not counts:
        return "cannot_say"
    return counts[0][0] if len(counts) == 1 or counts[0][1] > counts[1][1] else None


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


_STRATUM = Object({"name": str, "members": Each(list, str), "drawn": Each(list, str)})
_SAMPLE = Object(
    {"table": str, "system": str, "verdicts_digest": str, "seed": int, "strata": Each(list, _STRATUM), "judge": str,
     "unit": str}
)  # fmt: skip
_DECISION = Object({"item_id": str, "rater": str, "label": str}, {"note": str, "date": str})
_FILE = OwnJson(
    "steelyard-labels",
    1,
    Object({"samples": Each(list, _SAMPLE), "decisions": Each(list, _DECISION)}),
    "the labels that `steelyard review` keeps; take in what people saved with `steelyard review import`",
)


def locked(path: str | Path) -> AbstractContextManager[object]:
    """While this is open, no other process writes into the folder of a file.

    Raises   OutputError where one does.
    """
    return run_lock(Path(path).parent)


def decision_of(values: dict[str, Any]) -> Decision:
    """A person's decision in a file whose shape is checked.

    Raises   ValueError for a label that there is not, and for a decision without a rater.
    """
    item_id, rater, label = values["item_id"], values["rater"], values["label"]
    check_word(label, Choice, f"item {quoted(item_id)}: the label")
    if not rater.strip():
        raise ValueError(f"item {quoted(item_id)}: says not who decided; give each rater a name")
    decision = Decision(item_id, rater, label, values.get("note", ""), values.get("date", ""))
    if not is_whole_text("".join([item_id, rater, decision.note, decision.date])):
        raise ValueError(f"item {quoted(item_id)}: holds half a character, which no file can hold")
    return decision


def _sample(values: dict[str, Any]) -> StratifiedSample:
    check_word(values["table"], ItemTable, "the sample's table")
    check_word(values["unit"], Drawn, "the sample's unit")
    strata = tuple(Stratum(s["name"], tuple(s["members"]), tuple(s["drawn"])) for s in values["strata"])
    return StratifiedSample(**{key: values[key] for key in _SAMPLE.needed} | {"strata": strata})


FILE = "review.json"
"""Of the folder of verdicts of a run, where its review is kept."""


class Review:
    """Samples of items that people were asked about, and their labels.

    `sy.review.sample` draws the samples, `sy.review.import_labels` imports the labels; both are beside the verdicts.
    A label is of an item, so it counts for every system and judge that the item comes again with.

    samples   one of each table of each system
    labels    the decisions of people
    Raises    InputError for two samples of one table of one system.

    >>> review = Review([StratifiedSample("grounded", "hybrid", "0", 1, (Stratum("all", ("a", "b"), ("b",)),))])
    >>> review
    Review(1 sample, 1 of 2 items drawn, 0 decisions)
    >>> review.sample("grounded", "hybrid").drawn, review.sample("joint", "hybrid")
    (('b',), None)
    """

    def __init__(self, samples: Iterable[StratifiedSample] = (), labels: Labels | Iterable[Decision] = ()) -> None:
        self.samples: Sequence[StratifiedSample] = tuple(samples)
        self.labels = labels if isinstance(labels, Labels) else Labels(labels)
        for place, sample in enumerate(self.samples):
            if any((sample.table, sample.system) == (other.table, other.system) for other in self.samples[:place]):
                raise InputError(f"review: has two samples of {sample.table} of {sample.system}; remove one")

    @classmethod
    def read(cls, path: str | Path) -> Review:
        """Read what `write` wrote.

        Raises   InputError where the file is none, of a later version, or was edited so that it does not hold together.
        """
        return _FILE.read(path, lambda data: cls(map(_sample, data["samples"]), map(decision_of, data["decisions"])))

    def write(self, path: str | Path) -> None:
        """Write it to a JSON file, whole or not at all, while no other process writes into its folder.

        Raises   OutputError.
        """
        with locked(path):
            self.keep(path)

    def keep(self, path: str | Path) -> None:
        """Write it to a file in a folder that is locked by now.

        Raises   OutputError.
        """
        samples, decisions = map(asdict, self.samples), map(asdict, self.labels.decisions)
        _FILE.write(path, {"samples": list(samples), "decisions": list(decisions)})

    @classmethod
    def update(cls, path: str | Path, change: Callable[[Review], Review]) -> Review:
        """Read the file, or begin with nothing where there is none, change it, and write it: no other can between.

        Returns   what was written
        Raises    InputError, OutputError, and whatever `change` raises: then the file stays as it was.
        """
        with locked(path):
            review = change(cls.read(path) if Path(path).exists() else cls())
            review.keep(path)
            return review

    def sample(self, table: ItemTable, system: str) -> StratifiedSample | None:
        """The sample of a table of a system; None where nothing was drawn."""
        return next((own for own in self.samples if (own.table, own.system) == (table, system)), None)

    def with_sample(self, sample: StratifiedSample) -> Review:
        """A review with this sample, in the place of an earlier one of its table and system."""
        others = [own for own in self.samples if (own.table, own.system) != (sample.table, sample.system)]
        return Review([*others, sample], self.labels)

    def with_decisions(self, decisions: Iterable[Decision]) -> Review:
        """A review with further decisions; of one person about one item, the last one counts."""
        return Review(self.samples, [*self.labels.decisions, *decisions])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Review):
            return NotImplemented
        return (self.samples, self.labels.decisions) == (other.samples, other.labels.decisions)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        drawn, members = (sum(ns) for ns in ([len(s.drawn) for s in self.samples], [s.n_members for s in self.samples]))
        parts = [plural(len(self.samples), "sample"), f"{drawn} of {plural(members, 'item')} drawn"]
        return f"Review({', '.join([*parts, plural(len(self.labels), 'decision')])})"
