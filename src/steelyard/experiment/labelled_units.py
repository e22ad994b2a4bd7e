"""What people may be asked about for a measure: units of answers or whole answers, with what judge and labels say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import get_args

import numpy as np

from steelyard.base.arrays import Bools, Floats, Ints
from steelyard.judges.arrays import judged_arrays
from steelyard.judges.items import ItemTable, decided, items, restricted
from steelyard.judges.records import JudgedAnswer
from steelyard.judges.strata import Drawn, Sample
from steelyard.judges.verdict import Label, Verdict
from steelyard.measures import Measure
from steelyard.measures.judged_answers import JudgedAnswers
from steelyard.stats.labelled_samples import KNOWN

_UNKNOWN = Verdict("not_judged")
OUTSIDE = -2
"""The stratum of units that people could not have been asked about, although what they say would count."""


@dataclass(frozen=True, eq=False)
class LabelledUnits:
    """Units of which a measure is the mean, question by question; a whole answer is one unit.

    unit      what was drawn
    owner     (u,) the question of each;   judged, people   (u,) its value by judge and people; NaN where nobody said
    stratum   (u,) within which it could be drawn; KNOWN where its value does not depend on what anyone says; OUTSIDE
    n_drawn   how many people were asked about;   n_decided   how many of them have a label
    unlabelled   names of strata that nobody decided about anything in
    """

    unit: Drawn
    owner: Ints
    judged: Floats
    people: Floats
    stratum: Ints
    n_drawn: int
    n_decided: int
    unlabelled: Sequence[str]

    @property
    def outside(self) -> Bools:
        """(u,) units that are in no stratum, and should be."""
        return np.asarray(self.stratum == OUTSIDE)


@dataclass(frozen=True, eq=False)
class SystemLabels:
    """The answers of a system, what was drawn of them, and what people decided.

    records    of every question, in their order
    samples    of this system;   consensus   item -> what people decided
    """

    records: Sequence[JudgedAnswer]
    samples: Sequence[Sample]
    consensus: Mapping[str, Label]

    def units(self, spec: Measure) -> LabelledUnits | None:
        """What people may be asked about for a measure; None where they were not asked, or that cannot correct it."""
        table = spec.definition.items
        if not spec.definition.aggregation.arithmetic:
            return None
        if table is not None and (sample := self._sample(table, "item")) is not None:
            return self._units_of(spec, sample)
        return self._answers_of(spec)

    def _sample(self, table: ItemTable, unit: Drawn) -> Sample | None:
        return next((own for own in self.samples if own.table == table and own.unit == unit), None)

    def _units_of(self, spec: Measure, sample: Sample) -> LabelledUnits | None:
        if sample.table == "said" and any(_has_alternatives(record) for record in self.records):
            return None
        single = self._single_units[sample.table]
        values = spec(single.people)
        strata = np.array([sample.stratum_of.get(item, OUTSIDE) for item in single.items], np.int64)
        strata[(strata == OUTSIDE) & ~np.isnan(values)] = KNOWN
        defined = spec.undefined_reasons(self._arrays) == 0
        counted = defined[single.owner] if len(single.owner) else np.zeros(0, bool)
        return LabelledUnits(
            unit="item",
            owner=single.owner[counted],
            judged=np.where(strata == KNOWN, values, spec(single.judged))[counted],
            people=np.where(single.labelled, values, np.nan)[counted],
            stratum=strata[counted],
            n_drawn=len(sample.drawn),
            n_decided=sum(item in self.consensus for item in sample.drawn),
            unlabelled=[
                s.name for s in sample.strata if s.members and not any(item in self.consensus for item in s.drawn)
            ],
        )

    @cached_property
    def _single_units(self) -> Mapping[ItemTable, _SingleUnits]:
        """By table of which items were drawn."""
        return {
            own.table: _SingleUnits.of(self.records, own.table, {
                item: self.consensus[item] for item in own.drawn if item in self.consensus
            })
            for own in self.samples if own.unit == "item"
        }  # fmt: skip

    @cached_property
    def _arrays(self) -> JudgedAnswers:
        return _arrays(self.records)

    def _answers_of(self, spec: Measure) -> LabelledUnits | None:
        """Whole answers, with what people decided in all tables that the measure is computed from."""
        if not any(sample.unit == "answer" for sample in self.samples):
            return None
        tables = self._tables_of(spec)
        samples = [sample for table in tables if (sample := self._sample(table, "answer")) is not None]
        if not samples or len(samples) < len(tables):
            return None
        says = {item: Verdict(label) for item, label in self.consensus.items()}
        drawn = set.intersection(*(set(sample.drawn) for sample in samples))
        complete = np.array(
            [record.query_id in drawn and self._is_decided(record, tables) for record in self.records], bool
        )
        by_people = [_decided(record, tables, says) if whole else _decided(record, tables, {})
                     for record, whole in zip(self.records, complete.tolist(), strict=True)]  # fmt: skip
        values = spec(_arrays(by_people))
        defined = spec.undefined_reasons(self._arrays) == 0
        if np.isnan(values[complete & defined]).any():
            return None
        places = [tuple(s.stratum_of.get(record.query_id, OUTSIDE) for s in samples) for record in self.records]
        cells = sorted({place for place in places if OUTSIDE not in place})
        strata = np.array([OUTSIDE if OUTSIDE in place else cells.index(place) for place in places], np.int64)
        strata[(strata == OUTSIDE) & ~np.isnan(values)] = KNOWN
        labelled = complete & (strata >= 0)
        empty = [n for n in range(len(cells)) if not (labelled & (strata == n)).any()]
        judged = np.where(strata == KNOWN, values, spec(self._arrays))
        return LabelledUnits(
            unit="answer",
            owner=np.flatnonzero(defined),
            judged=judged[defined],
            people=np.where(labelled, values, np.nan)[defined],
            stratum=strata[defined],
            n_drawn=len(drawn),
            n_decided=int(complete.sum()),
            unlabelled=[
                " × ".join(s.strata[place].name for s, place in zip(samples, cells[n], strict=True)) for n in empty
            ],
        )  # fmt: skip

    def _tables_of(self, spec: Measure) -> Sequence[ItemTable]:
        """From which tables a measure is computed here: without their verdicts, some value is not known.

        Empty where it is computed from others too, which people are not asked about.
        """
        values = spec(self._arrays)

        def reads(records: Sequence[JudgedAnswer]) -> bool:
            arrays = _arrays(records)
            unknown = np.isnan(spec(arrays)) & (spec.undefined_reasons(arrays) == 0)
            return bool((unknown & ~np.isnan(values)).any())

        if reads([_without_others(record) for record in self.records]):
            return ()
        return [table for table in get_args(ItemTable) if reads([_without(record, table) for record in self.records])]

    def _is_decided(self, record: JudgedAnswer, tables: Iterable[ItemTable]) -> bool:
        """Whether people decided about all items of an answer."""
        return all(item.item_id in self.consensus for table in tables for item in items(record, table))


@dataclass(frozen=True, eq=False)
class _SingleUnits:
    """Units of all answers, each as an answer of its own.

    owner    (u,) the question of each;   items   (u,) its id; "" where nobody can be asked
    judged   by the judge;   people   by people; not judged without a label;   labelled   (u,) which have one
    """

    owner: Ints
    items: Sequence[str]
    judged: JudgedAnswers
    people: JudgedAnswers
    labelled: Bools

    @classmethod
    def of(cls, records: Sequence[JudgedAnswer], table: ItemTable, says: Mapping[str, Label]) -> _SingleUnits:
        """says   item -> what people decided, of those that were drawn"""
        owner, ids, judged, people = list[int](), list[str](), list[JudgedAnswer](), list[JudgedAnswer]()
        for place, record in enumerate(records):
            items_of = {item.unit: item.item_id for item in items(record, table)}
            for n, unit in enumerate(record.gold_units if table == "said" else record.units):
                if unit.checkable:
                    item = items_of.get(n, "")
                    single = restricted(record, table, [n])
                    owner.append(place)
                    ids.append(item)
                    judged.append(single)
                    people.append(decided(single, table, {0: Verdict(says[item])} if item in says else {}))
        labelled = np.array([item in says for item in ids], bool)
        return cls(np.array(owner, np.int64), ids, _arrays(judged), _arrays(people), labelled)


def _has_alternatives(record: JudgedAnswer) -> bool:
    """Whether units of several gold answers count, of which the best one does."""
    return len({unit.alternative for unit in record.gold_units if unit.checkable}) > 1


def _without(record: JudgedAnswer, table: ItemTable) -> JudgedAnswer:
    """The record without the verdicts of a table."""
    if table != "grounded":
        return decided(record, table, {})
    return replace(record, support=tuple(tuple(_UNKNOWN for _ in row) for row in record.support), grounded=())


def _without_others(record: JudgedAnswer) -> JudgedAnswer:
    """The record without verdicts that people are not asked for."""
    return replace(
        record,
        without=tuple(None if verdict is None else _UNKNOWN for verdict in record.without),
        reach=tuple(tuple(_UNKNOWN for _ in row) for row in record.reach),
        nuggets=tuple(replace(nugget, credit=None) for nugget in record.nuggets),
        grade=None if record.grade is None else _UNKNOWN,
    )


def _decided(record: JudgedAnswer, tables: Iterable[ItemTable], says: Mapping[str, Verdict]) -> JudgedAnswer:
    """The record with people's verdicts in some tables; units without one are not judged."""
    for table in tables:
        verdicts = {item.unit: says[item.item_id] for item in items(record, table) if item.item_id in says}
        record = decided(record, table, verdicts)
    return record


def _arrays(records: Sequence[JudgedAnswer]) -> JudgedAnswers:
    numbered = {str(n): record for n, record in enumerate(records)}
    return judged_arrays(numbered, list(numbered))
