"""Single questions: what was asked, what is gold, what each system retrieved, answered, and failed on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from steelyard.base.arrays import Ints
from steelyard.experiment.door.choices import RunVerdicts
from steelyard.experiment.door.weighing import Weighing
from steelyard.reports.details.answers import AnswerDetails, answer_details
from steelyard.reports.details.gold import GoldPiece, gold_pieces, lost_pieces, searched_texts, unread_gold
from steelyard.reports.details.limits import Budget, Limits, shortened, singled_questions
from steelyard.reports.details.lists import ListDetails, list_details, list_frames, table_of, unread_chunks
from steelyard.reports.visible import visible


@dataclass(frozen=True)
class Judging:
    """The verdicts on the answers of one system in numbers.

    recipe      what they depend on, as of `Verdicts`
    counts      answers by state, sentences by verdict, citations by problem
    not_judged  cause -> verdicts that are lacking;   errors   what the judge did wrong, by kind
    """

    recipe: Mapping[str, Any]
    counts: Mapping[str, int]
    not_judged: Mapping[str, int]
    errors: Mapping[str, int]

    @classmethod
    def of(cls, run: RunVerdicts) -> Judging:
        """That of the verdicts on a run; those that were made for the report have its date."""
        verdicts, made_now = run.verdicts, run.origin == "default"
        recipe = {key: value for key, value in verdicts.recipe.items() if key != "date" or not made_now}
        return cls(recipe, dict(verdicts.counts), dict(verdicts.not_judged), dict(verdicts.errors))


@dataclass(frozen=True)
class SystemDetails:
    """What one system adds to single questions, by their numbers.

    has_evidence   whether its chunks were searched for gold evidence
    answers        of those that are not among `judged`; None where there is no room;   left_out   such answers
    failures       why the system failed
    lost           places of the pieces of gold that no chunk holds
    judged         answers with the verdicts on them;   judged_left_out   further ones, for which there is no room
    """

    has_evidence: bool
    answers: dict[int, str | None]
    left_out: int
    failures: dict[int, str]
    lost: dict[int, list[int]]
    judged: dict[int, AnswerDetails] = field(default_factory=dict)
    judged_left_out: int = 0


@dataclass(frozen=True, eq=False)
class Details:
    """All that a page shows of single questions, as plain data; q questions that are shown, s systems.

    Texts are fit to be shown: control characters are visible.

    truth       name of the gold
    places      (q,) of the questions among all;   n_questions   all of them
    query_ids, queries, answers   (q,) id, text and expected answer, None for what the truth does not have
    tag_names   every tag;   tags   (q,) places of those of each question
    gold        (q,) pieces, the first ones of many;   more   question -> further ones
    left_out    texts of gold and expected answers without room
    lists       what was retrieved;   systems   (s,) answers, failures and lost gold
    absent      ids of gold documents among these that the corpus of the truth's folder lacks
    """

    truth: str
    places: Ints
    n_questions: int
    query_ids: Sequence[str]
    queries: Sequence[str | None]
    answers: Sequence[str | None]
    tag_names: Sequence[str]
    tags: Sequence[Sequence[int]]
    gold: Sequence[Sequence[GoldPiece]]
    more: dict[int, int]
    left_out: int
    lists: ListDetails
    systems: Sequence[SystemDetails]
    absent: Sequence[str] = ()

    @classmethod
    def of(cls, weighing: Weighing, limits: Limits | None = None, named: Iterable[int] = ()) -> Details:
        """The contents of the questions of a weighing, cut to limits; with the verdicts on its answers.

        named   places of questions that are shown however many there are
        """
        limits = limits or Limits()
        places = singled_questions(len(weighing.query_ids), limits.questions, named)
        query_ids = [weighing.query_ids[q] for q in places.tolist()]
        questions = [weighing.questions.get(query_id) for query_id in query_ids]
        tags = sorted({tag for question in questions if question for tag in question.tags})
        number = {tag: i for i, tag in enumerate(tags)}
        budget = Budget(limits.gold_bytes)
        answers = [None if q is None or q.answer is None else budget(q.answer) for q in questions]
        gold, more = gold_pieces(weighing, query_ids, limits)
        depth, frames = list_frames(weighing, query_ids, limits)
        unread = unread_gold(gold)
        of_corpus = weighing.texts(unread | unread_chunks(weighing, frames))
        texts = {**searched_texts(weighing, unread), **of_corpus}
        relevant = unread_gold([[piece for piece in pieces if piece.gain > 0] for pieces in gold])
        return cls(
            truth=visible(weighing.gold.name),
            places=places,
            n_questions=len(weighing.query_ids),
            query_ids=[visible(query_id) for query_id in query_ids],
            queries=[None if q is None or q.query is None else shortened(q.query, limits.query) for q in questions],
            answers=answers,
            tag_names=[visible(tag) for tag in tags],
            tags=[sorted({number[tag] for tag in q.tags}) if q else [] for q in questions],
            gold=[[piece.within(budget, texts, limits) for piece in pieces] for pieces in gold],
            more=more,
            left_out=budget.left_out,
            lists=list_details(weighing, query_ids, limits, depth=depth, frames=frames, documents=texts),
            systems=[_system(weighing, query_ids, i, limits, frame) for i, frame in enumerate(frames)],
            # Of a corpus that was named, the notes of the scores say it.
            absent=sorted(relevant - texts.keys()) if of_corpus and weighing.named_corpus is None else (),
        )


def _system(
    weighing: Weighing, query_ids: Sequence[str], place: int, limits: Limits, frame: pl.DataFrame
) -> SystemDetails:
    judged, judged_left_out = _judged(weighing, query_ids, place, limits, frame)
    number = {query_id: i for i, query_id in enumerate(query_ids)}
    weighed, budget = weighing.weighed[place], Budget(limits.answer_bytes // max(len(weighing.weighed), 1))
    answers, failures = dict[int, str | None](), dict[int, str]()
    if weighed.outputs is not None:
        answered = {number[id]: text for id, text in weighed.outputs.answers.items() if id in number}
        reasons = {**weighed.outputs.failures, **weighed.outputs.unanswered}
        failed = {number[id]: text for id, text in reasons.items() if id in number}
        answers = {q: budget(answered[q]) for q in sorted(answered.keys() - judged.keys())}
        failures = {q: shortened(failed[q], limits.reason) for q in sorted(failed)}
    return SystemDetails(
        weighed.evidence is not None, answers=answers, left_out=budget.left_out, failures=failures,
        lost=lost_pieces(weighing, query_ids, place), judged=judged, judged_left_out=judged_left_out,
    )  # fmt: skip


def _judged(
    weighing: Weighing, query_ids: Sequence[str], place: int, limits: Limits, frame: pl.DataFrame
) -> tuple[dict[int, AnswerDetails], int]:
    """Judged answers by question, as many as there is room for, and how many are left out; frame: of `list_frames`."""
    run = weighing.answers.first_runs.get(weighing.systems[place])
    if run is None:
        return {}, 0
    places: dict[str, dict[str, int]] = {}
    for query_id, doc_id, rank in frame.select("query_id", "doc_id", "rank").iter_rows():
        places.setdefault(query_id, {})[doc_id] = rank - 1
    table, judged = table_of(weighing.weighed[place]), dict[int, AnswerDetails]()

    def text_of(chunk_id: str) -> str | None:
        known = table is not None and chunk_id in table.row_of
        return table.texts[table.row_of[chunk_id]] if known and table is not None else None

    records = [(q, run.verdicts.records.get(query_id)) for q, query_id in enumerate(query_ids)]
    shown = [(q, record) for q, record in records if record is not None and record.state in ("answered", "abstained")]
    room = limits.judged_bytes // len(weighing.weighed)
    for q, record in shown:
        details = answer_details(record, places.get(record.query_id, {}), text_of, limits)
        room -= details.size
        if room < 0:
            break
        judged[q] = details
    return judged, len(shown) - len(judged)
