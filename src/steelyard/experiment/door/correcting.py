"""Means of measures of answers, corrected by what people decided about some of what a judge judged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import get_args

import numpy as np

from steelyard.base.arrays import Bools, Floats, Ints
from steelyard.base.choices import ItemTable
from steelyard.base.errors import InputError
from steelyard.base.notes import Note
from steelyard.experiment.corrections import Correction, SystemCorrections
from steelyard.experiment.door.choices import RunVerdicts
from steelyard.judges.people.calibration import labels_digest
from steelyard.judges.people.review import Drawn, Labels, Review, StratifiedSample
from steelyard.judges.tables.arrays import verdict_codes
from steelyard.judges.tables.items import items
from steelyard.judges.verdict import JudgedAnswer, Label
from steelyard.measures import Measure
from steelyard.measures.judged_answers import (
    CONTRADICTED,
    NONE,
    NOT_FOUND,
    NOT_JUDGED,
    Codes,
    JudgedAnswers,
    owners,
    single_units,
    with_verdicts,
)
from steelyard.stats.labels.labelled_samples import KNOWN
from steelyard.stats.labels.prediction_powered import FEWEST_FOR_TUNING, CorrectedMean, Ends, corrected_mean

OUTSIDE = -2
"""The stratum of units that people could not have been asked about, although what they say would count."""


@dataclass(frozen=True, eq=False)
class LabelledUnits:
    """Units of which a measure is the mean, question by question; a whole answer is one unit.

    unit      what was drawn
    owner     (u,) the question of each;   judged, people   (u,) its value by judge and people; NaN where nobody said
    stratum   (u,) within which it could be drawn; KNOWN where its value does not depend on what anyone says; OUTSIDE
    undecided   (u,) units that people were asked about and that have no label
    n_drawn   how many people were asked about;   n_decided   how many of them have a label
    unlabelled   names of strata that nobody decided about anything in
    """

    unit: Drawn
    owner: Ints
    judged: Floats
    people: Floats
    stratum: Ints
    undecided: Bools
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

    records    of every question, in their order;   arrays   what measures are computed from, in the same order
    samples    of this system;   labels   what people decided about items
    """

    records: Sequence[JudgedAnswer]
    arrays: JudgedAnswers
    samples: Sequence[StratifiedSample]
    labels: Labels

    def units(self, spec: Measure) -> LabelledUnits | None:
        """Labelled units of a measure; None where people were not asked, or that cannot correct it."""
        table = spec.items
        if not spec.aggregation.arithmetic:
            return None
        if table is not None and (sample := self._sample(table, "item")) is not None:
            return self._units_of(spec, sample)
        return self._answers_of(spec)

    def _sample(self, table: ItemTable, unit: Drawn) -> StratifiedSample | None:
        return next((own for own in self.samples if own.table == table and own.unit == unit), None)

    def _units_of(self, spec: Measure, sample: StratifiedSample) -> LabelledUnits | None:
        if sample.table == "said" and _has_alternatives(self.arrays):
            return None
        items, judge = self._items[sample.table], self._single[sample.table]
        decided = self._decided(spec, judge, [sample.table])
        asked = set(sample.drawn)
        labelled, open_ = (
            np.array([i in asked and (i in decided) is own for i in items], bool) for own in (True, False)
        )
        values = spec(with_verdicts(judge, sample.table, _codes(decided, items, labelled)))
        strata = np.array([sample.stratum_of.get(item, OUTSIDE) for item in items], np.int64)
        strata[(strata == OUTSIDE) & ~np.isnan(values)] = KNOWN
        owner = owners(self.arrays, sample.table)
        counted = (spec.undefined_reasons(self.arrays) == 0)[owner]
        return LabelledUnits(
            unit="item",
            owner=owner[counted],
            judged=np.where(strata == KNOWN, values, spec(judge))[counted],
            people=np.where(labelled, values, np.nan)[counted],
            stratum=strata[counted],
            undecided=open_[counted],
            n_drawn=len(sample.drawn),
            n_decided=len(asked & decided.keys()),
            unlabelled=[s.name for s in sample.strata if s.members and decided.keys().isdisjoint(s.drawn)],
        )

    @cached_property
    def _items(self) -> Mapping[ItemTable, Sequence[str]]:
        """Item of each unit, as `owners` has them, by table of which anything was drawn; "" where it is none."""
        return {own.table: _items(self.records, own.table) for own in self.samples}

    @cached_property
    def _single(self) -> Mapping[ItemTable, JudgedAnswers]:
        """Units as answers of their own, by the judge, for each table of which items were drawn."""
        return {own.table: single_units(self.arrays, own.table) for own in self.samples if own.unit == "item"}

    def _decided(self, spec: Measure, arrays: JudgedAnswers, tables: Iterable[ItemTable]) -> Mapping[str, Label]:
        """Item -> what people decided, "contradicted" and "not_found" as one where the measure reads both alike."""

        def all_of(code: int) -> Floats:
            equal = arrays
            for table in tables:
                equal = with_verdicts(equal, table, np.full(len(owners(arrays, table)), code, np.int8))
            return spec(equal)

        alike = np.array_equal(all_of(CONTRADICTED), all_of(NOT_FOUND), equal_nan=True)
        return self.labels.support if alike else self.labels.consensus

    def _answers_of(self, spec: Measure) -> LabelledUnits | None:
        """Whole answers, with what people decided in all tables that the measure is computed from."""
        if not any(sample.unit == "answer" for sample in self.samples):
            return None
        tables = self._tables_of(spec)
        samples = [sample for table in tables if (sample := self._sample(table, "answer")) is not None]
        if not samples or len(samples) < len(tables):
            return None
        query_ids = self.arrays.query_id
        drawn = set.intersection(*(set(sample.drawn) for sample in samples))
        asked, decided = np.array([id in drawn for id in query_ids], bool), self._decided(spec, self.arrays, tables)
        complete = asked & self._are_decided(tables, decided)
        by_people = self.arrays
        for table in tables:
            codes = _codes(decided, self._items[table], complete[owners(self.arrays, table)])
            by_people = with_verdicts(by_people, table, codes)
        values = spec(by_people)
        defined = spec.undefined_reasons(self.arrays) == 0
        if np.isnan(values[complete & defined]).any():
            return None
        places = [tuple(s.stratum_of.get(query_id, OUTSIDE) for s in samples) for query_id in query_ids]
        cells = sorted({place for place in places if OUTSIDE not in place})
        strata = np.array([OUTSIDE if OUTSIDE in place else cells.index(place) for place in places], np.int64)
        strata[(strata == OUTSIDE) & ~np.isnan(values)] = KNOWN
        labelled = complete & (strata >= 0)
        empty = [n for n in range(len(cells)) if not (labelled & (strata == n)).any()]
        judged = np.where(strata == KNOWN, values, spec(self.arrays))
        return LabelledUnits(
            unit="answer",
            owner=np.flatnonzero(defined),
            judged=judged[defined],
            people=np.where(labelled, values, np.nan)[defined],
            stratum=strata[defined],
            undecided=(asked & ~complete & (strata >= 0))[defined],
            n_drawn=len(drawn),
            n_decided=int(complete.sum()),
            unlabelled=[
                " × ".join(s.strata[place].name for s, place in zip(samples, cells[n], strict=True)) for n in empty
            ],
        )

    def _tables_of(self, spec: Measure) -> Sequence[ItemTable]:
        """From which tables a measure is computed here: without their verdicts, some value is not known.

        Empty where it is computed from others too, which people are not asked about.
        """

        values = spec(self.arrays)

        def reads(arrays: JudgedAnswers) -> bool:
            unknown = np.isnan(spec(arrays)) & (spec.undefined_reasons(arrays) == 0)
            return bool((unknown & ~np.isnan(values)).any())

        if reads(_without_others(self.arrays)):
            return ()
        tables = [table for table in get_args(ItemTable) if reads(_without(self.arrays, table))]
        # What people say of the whole context replaces what a judge says of cited chunks: see `with_verdicts`.
        return [table for table in tables if table != "joint" or "grounded" not in tables]

    def _are_decided(self, tables: Iterable[ItemTable], decided: Mapping[str, Label]) -> Bools:
        """(q,) whether people decided about all items of an answer."""
        complete = np.ones(self.arrays.n_queries, bool)
        for table in tables:
            is_open = [item != "" and item not in decided for item in self._items[table]]
            complete[owners(self.arrays, table)[is_open]] = False
        return complete


def _codes(decided: Mapping[str, Label], items: Sequence[str], counted: Bools) -> Codes:
    """Codes of labels of items; not judged where one is not counted."""
    return np.where(counted, verdict_codes(decided.get(item, "not_judged") for item in items), NOT_JUDGED)


def _items(records: Sequence[JudgedAnswer], table: ItemTable) -> list[str]:
    listed = list[str]()
    for record in records:
        item_of = {item.unit: item.item_id for item in items(record, table)}
        units = record.gold_units if table == "said" else record.units
        listed += [item_of.get(n, "") for n, unit in enumerate(units) if unit.checkable]
    return listed


def _has_alternatives(a: JudgedAnswers) -> bool:
    """True where units of several gold answers count, of which the best one does."""
    follows = a.gold_query[1:] == a.gold_query[:-1]
    return bool((a.gold_answer[1:] != a.gold_answer[:-1])[follows].any())


def _without(a: JudgedAnswers, table: ItemTable) -> JudgedAnswers:
    """The answers without the verdicts of a table."""
    if table == "grounded":
        return replace(a, grounded=np.full_like(a.grounded, NONE), support=np.full_like(a.support, NOT_JUDGED))
    return with_verdicts(a, table, np.full(len(owners(a, table)), NOT_JUDGED, np.int8))


def _without_others(a: JudgedAnswers) -> JudgedAnswers:
    """The answers without verdicts that people are not asked for."""
    return replace(
        a,
        without=np.where(a.without == NONE, a.without, NOT_JUDGED),
        reach=np.full_like(a.reach, NOT_JUDGED),
        credit=np.full_like(a.credit, np.nan),
        grade=np.full_like(a.grade, np.nan),
    )


MANY_UNDECIDED = 0.1
"""Share of what was drawn from which on items without a label are not taken to be like the others."""


def correct(
    specs: Sequence[Measure],
    run: RunVerdicts,
    review: Review,
    *,
    system: str,
    left_out: Bools,
    clusters: Ints | None,
    handed_in: bool = False,
) -> SystemCorrections:
    """Correct the means of a system by the labels of a review.

    specs      measures that verdicts are needed for;   run   those on the answers of the system
    left_out   (q,) questions that are in no mean;   clusters   (q,) questions that count as one
    handed_in  whether the labels were handed in for this system: they are refused where they are of other answers
    Raises     InputError for a review without a sample of the system, and for samples of other answers, if handed in.
    """
    samples = _samples_of(review, system)
    if not samples:
        return _none(system, review, handed_in=handed_in)
    records = [run.verdicts.records[query_id] for query_id in run.query_ids]
    labels = SystemLabels(records, run.arrays, samples, review.labels)
    digest = labels_digest({**review.labels.support, **review.labels.consensus})
    corrections, notes = dict[str, Correction](), list[Note]()
    without, not_asked = list[str](), dict[str, list[str]]()
    for spec in specs:
        units = labels.units(spec)
        if units is None:
            table = spec.items
            asked = table is None or any(sample.table == table for sample in samples)
            (without if asked else not_asked.setdefault(str(table), [])).append(str(spec))
            continue
        if units.outside.any():
            notes.append(_outside(spec, units, system, handed_in=handed_in))
            continue
        correction = _correction(spec, units, len(records), left_out=left_out, clusters=clusters)
        notes += _notes(spec, units, correction)
        if not np.isnan(correction.mean.corrected.low):
            corrections[str(spec)] = replace(correction, digest=digest)
    notes += [Note("labels_of_no_table", {"measures": names, "table": table}) for table, names in not_asked.items()]
    if without:
        notes.append(Note("labels_do_not_correct", {"measures": without}))
    return SystemCorrections(corrections, notes)


def _samples_of(review: Review, system: str) -> Sequence[StratifiedSample]:
    """Samples of a system by its name, or of the only one that there is."""
    own = [sample for sample in review.samples if sample.system == system]
    alone = len({sample.system for sample in review.samples}) == 1
    return own or (review.samples if alone else ())


def _none(system: str, review: Review, *, handed_in: bool) -> SystemCorrections:
    names = sorted({sample.system for sample in review.samples})
    if handed_in:
        of = f"those of {', '.join(names)}" if names else "none"
        raise InputError(
            f"labels: hold {of}, and nothing that was drawn of the answers of {system} (`steelyard review sample`); "
            "labels without a random sample correct no mean"
        )
    return SystemCorrections({}, [Note("labels_of_others", {"names": names})] if len(review.labels) else [])


def _outside(spec: Measure, units: LabelledUnits, system: str, *, handed_in: bool) -> Note:
    values = {"measure": str(spec), "n": int(units.outside.sum()), "total": len(units.owner)}
    if handed_in and values["n"] == values["total"]:
        raise InputError(
            f"{system}: the labels are of other answers: {spec} has {values['total']} units to be labelled, and none "
            "of them is among those that were drawn from; draw again (`steelyard review sample`), or leave the labels "
            "out (--no-labels)"
        )
    return Note("labels_of_other_answers", values)


def _correction(
    spec: Measure, units: LabelledUnits, n_questions: int, *, left_out: Bools, clusters: Ints | None
) -> Correction:
    counted = ~left_out[units.owner]

    def corrected(people: Floats) -> CorrectedMean:
        return corrected_mean(
            units.owner[counted], units.judged[counted], people[counted], units.stratum[counted], n_questions,
            bounds=spec.definition.range, clusters=clusters,
        )  # fmt: skip

    mean = corrected(units.people)
    n_undecided = units.n_drawn - units.n_decided
    if n_undecided >= MANY_UNDECIDED * units.n_drawn and n_undecided and np.isfinite(spec.definition.range).all():
        low, high = (corrected(np.where(units.undecided, end, units.people)).corrected for end in spec.definition.range)
        mean = replace(mean, ends=Ends(low, high, n_undecided))
    return Correction(mean, units.unit, units.n_drawn, n_undecided=n_undecided)


def _notes(spec: Measure, units: LabelledUnits, correction: Correction) -> Iterator[Note]:
    n, name = correction.mean.n_labels, str(spec)
    if np.isnan(correction.mean.corrected.low):
        yield Note("labels_too_few", {"measure": name, "n": n})
    elif n < FEWEST_FOR_TUNING:
        yield Note("labels_few", {"measure": name, "n": n, "least": FEWEST_FOR_TUNING})
    if undecided := correction.n_undecided:
        values = {"measure": name, "n": undecided, "total": units.n_drawn}
        ends = correction.mean.ends
        bounds = {} if ends is None else {"low": round(ends.lowest.mean, 4), "high": round(ends.highest.mean, 4)}
        yield Note("labels_undecided_bounds" if bounds else "labels_undecided", values | bounds)
    if n and (names := list(units.unlabelled)):
        yield Note("labels_strata_merged", {"measure": name, "n": len(names), "names": names})
