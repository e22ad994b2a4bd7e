"""What people were asked about the answers of systems, and what they decided."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from steelyard.base.errors import InputError
from steelyard.judges.items import ItemTable
from steelyard.judges.labels import Decision, Labels
from steelyard.judges.review_files import decode_review, encode_review, locked
from steelyard.judges.strata import Drawn, Sample, Stratum

__all__ = ["FILE", "Drawn", "Review", "Sample", "Stratum"]

FILE = "review.json"
"""Of the folder of verdicts of a run, where its review is kept."""


class Review:
    """Samples of items that people were asked about, and their labels.

    `sy.sample_review` draws the samples, `sy.import_review` takes the labels in; both are kept beside the verdicts.
    A label is of an item, so it counts for every system and judge that the item comes again with.

    samples   one of each table of each system
    labels    the decisions of people
    Raises    InputError for two samples of one table of one system.

    >>> review = Review([Sample("grounded", "hybrid", "0", 1, (Stratum("all", ("a", "b"), ("b",)),))])
    >>> review
    Review(1 sample, 1 of 2 items drawn, 0 decisions)
    >>> review.sample("grounded", "hybrid").drawn, review.sample("joint", "hybrid")
    (('b',), None)
    """

    def __init__(self, samples: Iterable[Sample] = (), labels: Labels | Iterable[Decision] = ()) -> None:
        self.samples: Sequence[Sample] = tuple(samples)
        self.labels = labels if isinstance(labels, Labels) else Labels(labels)
        for place, sample in enumerate(self.samples):
            if any((sample.table, sample.system) == (other.table, other.system) for other in self.samples[:place]):
                raise InputError(f"review: has two samples of {sample.table} of {sample.system}; remove one")

    @classmethod
    def read(cls, path: str | Path) -> Review:
        """Read what `write` wrote.

        Raises   InputError where the file is none, of a later version, or was edited so that it does not hold together.
        """
        samples, decisions = decode_review(path)
        try:
            return cls(samples, decisions)
        except InputError as error:
            raise InputError(f"{path}: {error}") from None

    def write(self, path: str | Path) -> None:
        """Write it to a JSON file, whole or not at all, while nobody else writes into its folder.

        Raises   OutputError.
        """
        with locked(path):
            encode_review(path, self.samples, self.labels.decisions)

    @classmethod
    def update(cls, path: str | Path, change: Callable[[Review], Review]) -> Review:
        """Read the file, or begin with nothing where there is none, change it, and write it: no other can between.

        Returns   what was written
        Raises    InputError, OutputError, and whatever `change` raises: then the file stays as it was.
        """
        with locked(path):
            review = change(cls.read(path) if Path(path).exists() else cls())
            encode_review(path, review.samples, review.labels.decisions)
            return review

    def sample(self, table: ItemTable, system: str) -> Sample | None:
        """What was drawn of a table of a system; None where nothing was."""
        return next((own for own in self.samples if (own.table, own.system) == (table, system)), None)

    def with_sample(self, sample: Sample) -> Review:
        """The same with this sample, in the place of an earlier one of its table and system."""
        others = [own for own in self.samples if (own.table, own.system) != (sample.table, sample.system)]
        return Review([*others, sample], self.labels)

    def with_decisions(self, decisions: Iterable[Decision]) -> Review:
        """The same with further decisions; of one person about one item, the last one counts."""
        return Review(self.samples, [*self.labels.decisions, *decisions])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Review):
            return NotImplemented
        return (self.samples, self.labels.decisions) == (other.samples, other.labels.decisions)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        drawn, members = (sum(ns) for ns in ([len(s.drawn) for s in self.samples], [s.n_members for s in self.samples]))
        parts = [_count(len(self.samples), "sample"), f"{drawn} of {_count(members, 'item')} drawn"]
        return f"Review({', '.join([*parts, _count(len(self.labels), 'decision')])})"


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}{'s' * (n != 1)}"
