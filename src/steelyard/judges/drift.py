"""Anchors of two judges: what both judged of the same texts, and what each makes of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from steelyard.base.arrays import Floats
from steelyard.base.choices import ItemTable
from steelyard.judges.tables.arrays import judged_arrays
from steelyard.judges.tables.items import Item, decided, items, judged, restricted
from steelyard.judges.tables.verdicts import Verdicts
from steelyard.judges.verdict import JudgedAnswer, Verdict
from steelyard.measures import Measure
from steelyard.stats.labels.judge_shift import AnchorShift, independence_p

_OF_TWO: Sequence[ItemTable] = ("grounded", "correctness")
_TWICE_JUDGED = ("hallucination", "self_knowledge")
"""Measures that are means over the units of an answer too, each of which is judged in both tables."""
_WITHOUT_CONTEXT = ("answer_precision", "answer_recall", "answer_f1", "nugget_recall", "answer_relevance")
"""Measures that read the answer beside the question and its gold alone."""
_ABSENT = ("empty", "failed", "missing")

_Judged = Mapping[tuple[str, str, str], Verdict]
_Units = Mapping[int, Mapping[ItemTable, Verdict]]


def anchor_shift(
    measure: Measure, before: Sequence[Verdicts], after: Sequence[Verdicts], query_ids: Sequence[str]
) -> AnchorShift:
    """Difference by which the judge of `after` values the anchors of its answers above the judge of `before`.

    Anchors of means over sentences, such as faithfulness, are sentences with the same query, text and texts to be
    judged by in both.  Of other measures, and of claims, which each judge has cut for itself, they are whole answers
    with the same query, text, gold answers and, where the measure reads it, context.  What either did not judge is no
    anchor.

    before, after   of one run or several of one system each; of `after`, means over its runs count
    query_ids       (q,) questions, in the order of the result
    """
    runs = list(_runs(measure, before, after, query_ids))
    parts = [(run.shift, run.anchored, run.exposed, run.count) for run in runs]
    return AnchorShift(*np.mean(parts, axis=0))


def _runs(
    measure: Measure, before: Sequence[Verdicts], after: Sequence[Verdicts], query_ids: Sequence[str]
) -> Iterator[AnchorShift]:
    by_sentence = all(run.recipe.get("units", "sentences") == "sentences" for run in (*before, *after))
    tables = _tables(measure) if by_sentence else ()
    if not tables:
        answers = _answers(before, with_context=_reads_context(measure))
        yield from (_of_answers(measure, answers, run, query_ids) for run in after)
    else:
        verdicts = _verdicts(before, tables, query_ids)
        yield from (_of_units(measure, tables, verdicts, run, query_ids) for run in after)


def _tables(measure: Measure) -> Sequence[ItemTable]:
    """Tables in which each unit of an answer is judged for a measure that is a mean over units; else none."""
    if measure.definition.name in _TWICE_JUDGED:
        return _OF_TWO
    items = measure.items
    return () if items in (None, "said") else (items,)


def _of_units(
    measure: Measure, tables: Sequence[ItemTable], before: _Judged, after: Verdicts, query_ids: Sequence[str]
) -> AnchorShift:
    """Shift of one run, by a measure that is a mean over units."""
    own, other = dict[str, JudgedAnswer](), dict[str, JudgedAnswer]()
    anchored, exposed, count = (np.zeros(len(query_ids)) for _ in range(3))
    for place, query_id in enumerate(query_ids):
        record = after.records.get(query_id)
        n_units = 0 if record is None else sum(unit.checkable for unit in record.units)
        if record is None or not n_units:
            continue
        anchors = _anchors(record, tables, before)
        exposed[place] = sum(_is_exposed(record, tables, unit) for unit in range(len(record.units))) / n_units
        anchored[place], count[place] = len(anchors) / n_units, len(anchors)
        if anchors:
            own[query_id] = restricted(record, tables[0], list(anchors))
            other[query_id] = _by_other(own[query_id], list(anchors.values()))
    difference = _values(measure, own, query_ids) - _values(measure, other, query_ids)
    return _defined(difference * anchored, anchored, exposed, count)


def _anchors(record: JudgedAnswer, tables: Sequence[ItemTable], before: _Judged) -> _Units:
    """Unit -> what the judge of before said about it, by table: units about which both judges said something in all.

    A table that has nothing to say of a unit, such as one without a context, is left out.
    """
    listed: dict[ItemTable, Mapping[int, Item]] = {t: {i.unit: i for i in items(record, t)} for t in tables}
    anchors: dict[int, Mapping[ItemTable, Verdict]] = {}
    for unit in range(len(record.units)):
        asked = [t for t in tables if record.units[unit].checkable and judged(record, t, unit) is not None]
        by_table = {
            t: verdict
            for t in asked
            if (item := listed[t].get(unit)) is not None
            and _is_judged(judged(record, t, unit))
            and (verdict := before.get((record.query_id, t, item.item_id))) is not None
        }
        if by_table and len(by_table) == len(asked):
            anchors[unit] = by_table
    return anchors


def _is_exposed(record: JudgedAnswer, tables: Sequence[ItemTable], unit: int) -> bool:
    return record.units[unit].checkable and any(judged(record, table, unit) is not None for table in tables)


def _by_other(record: JudgedAnswer, by_unit: Sequence[Mapping[ItemTable, Verdict]]) -> JudgedAnswer:
    """A record of anchors alone with what the other judge said about them."""
    for table in dict.fromkeys(table for verdicts in by_unit for table in verdicts):
        record = decided(record, table, {unit: by[table] for unit, by in enumerate(by_unit) if table in by})
    return record


def _verdicts(runs: Sequence[Verdicts], tables: Sequence[ItemTable], query_ids: Sequence[str]) -> _Judged:
    """(query, table, item) -> what a judge said about it, in the first run that has it."""
    verdicts: dict[tuple[str, str, str], Verdict] = {}
    for run in runs:
        for record in (run.records[query_id] for query_id in query_ids if query_id in run.records):
            for table in tables:
                for item in items(record, table):
                    verdict = judged(record, table, item.unit)
                    if verdict is not None and _is_judged(verdict):
                        verdicts.setdefault((record.query_id, table, item.item_id), verdict)
    return verdicts


def _is_judged(verdict: Verdict | None) -> bool:
    return verdict is not None and verdict.label != "not_judged"


def _of_answers(
    measure: Measure,
    before: Mapping[tuple[object, ...] | None, JudgedAnswer],
    after: Verdicts,
    query_ids: Sequence[str],
) -> AnchorShift:
    """Shift of one run, by a measure of which whole answers are anchors."""
    own, other = dict[str, JudgedAnswer](), dict[str, JudgedAnswer]()
    exposed = np.zeros(len(query_ids))
    unread, with_context = measure.definition.absent == "unread", _reads_context(measure)
    for place, query_id in enumerate(query_ids):
        record = after.records.get(query_id)
        if record is None:
            continue
        exposed[place] = unread or record.state not in _ABSENT
        texts = _texts(record, with_context=with_context)
        if exposed[place] and texts in before:
            own[query_id], other[query_id] = record, before[texts]
    difference = _values(measure, own, query_ids) - _values(measure, other, query_ids)
    there = np.isfinite(difference).astype(float)
    return _defined(difference, there, exposed, there)


def _answers(runs: Sequence[Verdicts], *, with_context: bool) -> Mapping[tuple[object, ...] | None, JudgedAnswer]:
    """The texts of an answer -> its record, in the first run that has it."""
    listed: dict[tuple[object, ...] | None, JudgedAnswer] = {}
    for record in (record for run in runs for record in run.records.values()):
        if (texts := _texts(record, with_context=with_context)) is not None:
            listed.setdefault(texts, record)
    return listed


def _reads_context(measure: Measure) -> bool:
    return measure.definition.name not in _WITHOUT_CONTEXT


def _texts(record: JudgedAnswer, *, with_context: bool) -> tuple[object, ...] | None:
    """Texts that an answer is judged by, but not its cut into units; None where its context is not known."""
    if with_context and record.context and not record.context_digests:
        return None
    citations = [(citation.mark, citation.chunk) for citation in record.citations]
    context = (record.context is None, record.context_digests, *citations) if with_context else ()
    own = (record.query_id, record.query, record.state, record.answer, record.gold_answers, record.answerable)
    return (*own, *context)


def _values(measure: Measure, records: Mapping[str, JudgedAnswer], query_ids: Sequence[str]) -> Floats:
    """(q,) of a measure; NaN for questions without a record."""
    values = np.full(len(query_ids), np.nan)
    there = [place for place, query_id in enumerate(query_ids) if query_id in records]
    if there:
        values[there] = measure(judged_arrays(records, [query_ids[place] for place in there]))
    return values


def _defined(shift: Floats, anchored: Floats, exposed: Floats, count: Floats) -> AnchorShift:
    """Anchors whose measure both judges leave undefined are none."""
    shift, anchored, count = (np.where(np.isfinite(shift), part, 0.0) for part in (shift, anchored, count))
    return AnchorShift(shift, anchored, exposed, count)


@dataclass(frozen=True)
class Likeness:
    """Likeness of anchors to the other units of a system, as p of tests; NaN where there is none.

    score, length               whether anchors have other scores by the system's judge, or other lengths, than the rest
    moved_score, moved_length   whether verdicts on anchors move more at some scores, by the other judge, or lengths
    """

    score: float
    length: float
    moved_score: float
    moved_length: float


def anchor_likeness(
    measure: Measure, before: Sequence[Verdicts], after: Sequence[Verdicts], query_ids: Sequence[str]
) -> Likeness | None:
    """The checks of the anchors of a measure that is a mean over sentences, by the first run of either system.

    A judge without scores has those of its labels, 1 for "supported" and else 0.  None for other measures, whose
    anchors are whole answers.
    """
    by_sentence = all(run.recipe.get("units", "sentences") == "sentences" for run in (*before, *after))
    if not (tables := _tables(measure) if by_sentence else ()):
        return None
    verdicts = _verdicts(before, tables, query_ids)
    places, anchored, scores, lengths, old, moved = ([] for _ in range(6))
    for place, query_id in enumerate(query_ids):
        if (record := after[0].records.get(query_id)) is None:
            continue
        anchors = _anchors(record, tables, verdicts)
        for number, unit in enumerate(record.units):
            own = judged(record, tables[0], number) if _is_exposed(record, tables, number) else None
            if own is None or not _is_judged(own):
                continue
            other = anchors.get(number, {}).get(tables[0])
            places.append(place)
            anchored.append(float(number in anchors))
            scores.append(_score_of(own))
            lengths.append(float(len(unit.text)))
            old.append(np.nan if other is None else _score_of(other))
            moved.append(np.nan if other is None else float(own.label != other.label))
    owner, is_anchor, by_old, moves = np.array(places, int), np.array(anchored), np.array(old), np.array(moved)
    length, there = np.array(lengths), ~np.isnan(by_old)
    return Likeness(
        independence_p(owner, is_anchor, np.array(scores)),
        independence_p(owner, is_anchor, length),
        independence_p(owner[there], moves[there], by_old[there]),
        independence_p(owner[there], moves[there], length[there]),
    )


def _score_of(verdict: Verdict) -> float:
    return float(verdict.label == "supported") if verdict.score is None else verdict.score
