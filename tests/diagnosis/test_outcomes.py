"""Retrieval and answer read together: every question has one outcome, by the table and by hand."""

import math
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from steelyard.base.errors import InputError
from steelyard.diagnosis.diagnosing import diagnose
from steelyard.diagnosis.outcomes import (
    AT,
    NO,
    OPEN,
    OUTCOMES,
    UNDEFINED,
    YES,
    Abstention,
    AnswerOutcomes,
    Criteria,
    answer_outcomes,
    place_outcomes,
)
from steelyard.judges.tables.arrays import judged_arrays
from steelyard.judges.verdict import JudgedAnswer, Unit
from steelyard.measures.judged_answers import ABSTAINED, ANSWERED, EMPTY, FAILED, MISSING
from tests.diagnosis import judged_library
from tests.diagnosis.judged_library import judged_diagnosis, judged_weighing, record, with_verdicts
from tests.diagnosis.library import outputs, questions, weighed

STATES = (ANSWERED, ABSTAINED, EMPTY, FAILED, MISSING)
ANY = (YES, NO, OPEN, UNDEFINED)


def outcome_of(state: int, answerable: int, gold: int, correct: int, faithful: int) -> str:
    columns = [np.array([code], np.int8) for code in (state, answerable, gold, correct, faithful)]
    (place,) = place_outcomes(*columns[:3], correct=columns[3], faithful=columns[4])
    return OUTCOMES[place]


ROWS = {
    # gold in the context, correct, faithful
    (YES, YES, YES): "works", (YES, YES, NO): "beyond_context", (YES, NO, NO): "context_unused",
    (YES, NO, YES): "wrong_chunk", (NO, YES, YES): "other_support", (NO, YES, NO): "self_knowledge",
    (NO, NO, YES): "noise_followed", (NO, NO, NO): "hallucination",
    (YES,): "over_cautious", (NO,): "rightly_abstained",
}  # fmt: skip


def by_hand(state: int, answerable: int, *known: int) -> str:
    """The table, as a reader goes through it."""
    if state in (EMPTY, FAILED, MISSING):
        return "no_answer"
    if answerable == NO:
        return "unanswerable_abstained" if state == ABSTAINED else "unanswerable_answered"
    needed = known[:1] if state == ABSTAINED else known
    if UNDEFINED in needed:
        return "unknown"
    return "not_judged" if OPEN in needed else ROWS[needed]


def test_every_combination_has_the_outcome_of_the_table() -> None:
    cases = list(product(STATES, (YES, NO, UNDEFINED), ANY, ANY, ANY))
    wrong = [case for case in cases if outcome_of(*case) != by_hand(*case)]
    assert not wrong
    assert {by_hand(*case) for case in cases} == set(OUTCOMES)


def test_places_are_numbers_of_outcomes() -> None:
    assert [OUTCOMES[place] for place in AT.values()] == list(AT) == list(OUTCOMES)


# From verdicts -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_verdicts_come_to_their_outcome(outcome: str) -> None:
    """By labels of the chunks, and without any by the verdicts on gold units and chunks."""
    (of_system,) = judged_diagnosis(outcome, "works").outcomes
    assert of_system.counts()[outcome] == 1 + (outcome == "works")
    records = {"q000": record(0, outcome)}
    without_labels = answer_outcomes(judged_arrays(records, ["q000"]), np.array([UNDEFINED], np.int8))
    assert without_labels.at(outcome) == ["q000"]


def reached(*records: JudgedAnswer, criteria: Criteria | None = None) -> list[str]:
    arrays = judged_arrays({r.query_id: r for r in records}, [r.query_id for r in records])
    of_system = answer_outcomes(arrays, np.full(len(records), UNDEFINED, np.int8), criteria=criteria)
    return [OUTCOMES[place] for place in of_system.outcome.tolist()]


def with_units(n_supported: int, n_open: int, n: int) -> JudgedAnswer:
    """A correct answer of n units, so many of which the context supports, and so many are not judged."""
    yes, no, unclear = judged_library.YES, judged_library.NO, judged_library.OPEN
    verdicts = [yes] * n_supported + [unclear] * n_open + [no] * (n - n_supported - n_open)
    return replace(
        record(0, "works"),
        units=tuple(Unit(0, 1, "x") for _ in range(n)),
        joint=(None,) * n,
        support=tuple((verdict, no) for verdict in verdicts),
        correctness=((yes,),) * n,
    )


def test_criteria_decide() -> None:
    answer = with_units(2, 0, 3)
    assert reached(answer) == ["beyond_context"]
    assert reached(answer, criteria=Criteria(faithful=2 / 3)) == ["works"]
    assert reached(answer, criteria=Criteria(faithful=0.67)) == ["beyond_context"]
    yes, no = judged_library.YES, judged_library.NO
    half = replace(answer, gold_units=answer.gold_units * 2, said=(yes, no), reach=((yes, no), (no, no)))
    assert reached(half, criteria=Criteria(faithful=0.5)) == ["works"]
    assert reached(half, criteria=Criteria(faithful=0.5, correct=0.51)) == ["wrong_chunk"]
    assert reached(half, criteria=Criteria(faithful=0.5, in_context=0.51)) == ["other_support"]


@pytest.mark.parametrize("values", [{"correct": 0.0}, {"faithful": 1.1}, {"in_context": math.nan}])
def test_criteria_are_shares(values: dict[str, float]) -> None:
    with pytest.raises(InputError, match="expected a share above 0 and up to 1"):
        Criteria(**values)


def test_verdicts_that_are_lacking_count_where_they_could_decide() -> None:
    assert reached(with_units(2, 1, 3)) == ["not_judged"]
    assert reached(with_units(1, 1, 3)) == ["beyond_context"], "one unit has no support, whatever the open one has"
    assert reached(with_units(2, 1, 3), criteria=Criteria(faithful=0.6)) == ["works"]


def test_labels_come_before_verdicts_on_the_context() -> None:
    """The label names a chunk that is not in the context; the verdict says that a chunk holds the gold answer."""
    weighing = judged_weighing(["hallucination"])
    found = record(0, "hallucination")
    found = replace(found, reach=((judged_library.YES, judged_library.NO),))
    assert reached(found) == ["context_unused"]
    (of_system,) = diagnose(with_verdicts(weighing, {"a": [found]})).outcomes
    assert of_system.counts()["hallucination"] == 1


def test_abstention_by_the_gold_and_by_the_context() -> None:
    outcomes = ["works"] * 4 + ["over_cautious"] * 2 + ["rightly_abstained"] * 3 + ["unanswerable_abstained"]
    outcomes += ["unanswerable_answered"] * 2 + ["hallucination", "no_answer"]
    (of_system,) = judged_diagnosis(*outcomes).outcomes
    by_gold, by_context = of_system.abstention
    assert by_gold == Abstention(
        "gold", answered_rightly=0, abstained_wrongly=0, answered_wrongly=2, abstained_rightly=1, n_unknown=10
    )
    assert by_context == Abstention(
        "context", answered_rightly=4, abstained_wrongly=2, answered_wrongly=3, abstained_rightly=4, n_unknown=0
    )
    assert (by_context.precision, by_context.recall) == (4 / 6, 4 / 7)
    assert by_context.f1 == pytest.approx(2 * (4 / 6) * (4 / 7) / (4 / 6 + 4 / 7))
    nothing = Abstention("gold", 5, 0, 0, 0, 0)
    assert all(math.isnan(value) for value in (nothing.precision, nothing.recall, nothing.f1))


def test_faithfulness_by_gold_leaves_out_what_has_none() -> None:
    outcomes = ["works"] * 6 + ["context_unused"] * 2 + ["hallucination"] * 3 + ["noise_followed"]
    (of_system,) = judged_diagnosis(*outcomes, "over_cautious", "no_answer", "unknown").outcomes
    groups = of_system.faithfulness_by_gold
    assert (groups.n_first, groups.n_second) == (8, 4)
    assert (groups.first, groups.second, groups.difference) == (0.75, 0.25, 0.5)
    assert groups.low < 0.5 < groups.high


def test_shares_parts_and_frame() -> None:
    tags = {i: ["odd"] for i in range(6)}
    diagnosis = judged_diagnosis(*["works"] * 4, *["hallucination"] * 6, "unknown", tags=tags)
    (of_system,) = diagnosis.outcomes
    (of_tag,) = diagnosis.outcomes_by_tag["odd"]
    assert {code: n for code, n in of_tag.counts().items() if n} == {"works": 4, "hallucination": 2}
    assert of_tag.faithfulness_by_gold.n_first == 4
    intervals = of_system.share_intervals()
    assert intervals.low[AT["works"]] < 4 / 11 < intervals.high[AT["works"]]
    assert intervals.low[AT["not_judged"]] == 0 < intervals.high[AT["not_judged"]]
    frame = of_system.frame
    assert frame.columns == ["system", "query_id", "outcome", "gold_in_context", "faithfulness"]
    assert dict(frame.group_by("outcome").len().iter_rows()) == {"works": 4, "hallucination": 6, "unknown": 1}
    assert frame.filter(outcome="unknown").row(0)[3:] == (None, None)
    clustered = replace(of_system, clusters=np.arange(11) // 4)
    wide = clustered.share_intervals()
    assert wide.high[AT["works"]] - wide.low[AT["works"]] > intervals.high[AT["works"]] - intervals.low[AT["works"]]
    assert isinstance(clustered.by(np.arange(11) < 8).clusters, np.ndarray)


def test_without_verdicts_there_is_nothing() -> None:
    diagnosis = diagnose(weighed(questions(2), outputs("a", [1, None])))
    assert (diagnosis.outcomes, diagnosis.outcomes_by_tag) == ([], {})


def test_no_questions_at_all() -> None:
    of_system = answer_outcomes(judged_arrays({}, []), np.zeros(0, np.int8))
    assert isinstance(of_system, AnswerOutcomes)
    assert not any(of_system.counts().values())
    assert math.isnan(of_system.faithfulness_by_gold.difference)
