"""Reviews: samples that people were asked about, their decisions, and the JSON file that keeps both."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from steelyard.base.choices import ItemTable
from steelyard.base.errors import InputError, quoted
from steelyard.base.shapes import Each, Table
from steelyard.data.folders.run_lock import run_lock
from steelyard.data.pieces import is_whole_text
from steelyard.io.own_json import OwnJson, check_word
from steelyard.judges.people.labels import Choice, Decision, Labels
from steelyard.judges.people.samples import Drawn, StratifiedSample, Stratum

_STRATUM = Table({"name": str, "members": Each(list, str), "drawn": Each(list, str)})
_SAMPLE = Table(
    {"table": str, "system": str, "verdicts_digest": str, "seed": int, "strata": Each(list, _STRATUM), "judge": str,
     "unit": str}
)  # fmt: skip
_DECISION = Table({"item_id": str, "rater": str, "label": str}, {"note": str, "date": str})
_FILE = OwnJson(
    "steelyard-labels",
    1,
    Table({"samples": Each(list, _SAMPLE), "decisions": Each(list, _DECISION)}),
    "the labels that `steelyard review` keeps; take in what people saved with `steelyard review import`",
)


def locked(path: str | Path) -> AbstractContextManager[object]:
    """While this is open, no other process writes into the folder of a file.

    Raises   OutputError where one does.
    """
    return run_lock(Path(path).parent)


def decision_of(values: dict[str, Any]) -> Decision:
    """A person's decision in a file whose shape is checked.

    Raises   ValueError for a label that there is not, and for nobody's decision.
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
        """Write it to a JSON file, whole or not at all, while nobody else writes into its folder.

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
        parts = [_counted(len(self.samples), "sample"), f"{drawn} of {_counted(members, 'item')} drawn"]
        return f"Review({', '.join([*parts, _counted(len(self.labels), 'decision')])})"


def _counted(n: int, noun: str) -> str:
    return f"{n} {noun}{'s' * (n != 1)}"
