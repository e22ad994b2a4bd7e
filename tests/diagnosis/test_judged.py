"""On which chunks an answer rests, and the funnel's stage `unused` by verdicts."""

from dataclasses import replace

import pytest

from steelyard.diagnosis.diagnosing import diagnose
from steelyard.diagnosis.outcomes import NO, UNDEFINED, YES, JudgedSystem
from steelyard.experiment.door.evaluation import weigh
from steelyard.judges.tables.verdicts import Verdicts
from steelyard.judges.verdict import JudgedAnswer, Unit
from tests.diagnosis import judged_library
from tests.diagnosis.judged_library import judged_weighing, record, with_verdicts
from tests.diagnosis.library import outputs, questions, weighed

SUPPORTED, NOT_FOUND, OPEN = judged_library.YES, judged_library.NO, judged_library.OPEN


def rests(found: JudgedAnswer, outcome: str = "works") -> int:
    (system,) = judged_weighing([outcome]).weighed
    assert system.labels is not None
    return int(JudgedSystem.of(Verdicts([found]), system, system.labels, min_gain=1.0).rests[0])


@pytest.mark.parametrize(
    ("support", "want"),
    [
        ((SUPPORTED, NOT_FOUND), YES),
        ((SUPPORTED, OPEN), YES),
        ((NOT_FOUND, SUPPORTED), NO),
        ((NOT_FOUND, OPEN), UNDEFINED),
        ((OPEN, SUPPORTED), UNDEFINED),
        ((NOT_FOUND, NOT_FOUND), UNDEFINED),
    ],
    ids=str,
)
def test_an_answer_rests_on_gold_where_a_chunk_with_gold_supports_a_unit(support: tuple[object], want: int) -> None:
    assert rests(replace(record(0, "works"), support=(support,))) == want  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("outcome", "want"),
    [("over_cautious", NO), ("no_answer", UNDEFINED), ("hallucination", UNDEFINED), ("unknown", UNDEFINED),
     ("unanswerable_answered", UNDEFINED)],
)  # fmt: skip
def test_what_rests_on_nothing_and_what_cannot_be_said(outcome: str, want: int) -> None:
    assert rests(record(0, outcome), outcome) == want


def test_an_answer_that_asserts_nothing_says_nothing() -> None:
    greeting = replace(
        record(0, "works"), units=(Unit(0, 16, "It opens at nine", "greeting"),), support=((),), correctness=((),)
    )
    assert rests(greeting) == UNDEFINED


def test_verdicts_come_before_citations_and_citations_where_there_are_none() -> None:
    """The first answer cites the gold and rests on another chunk; the second one is not judged, and cites another."""
    system = outputs("a", [1, 1, 1], answers={0: "[g0#1]", 1: "[f0#1]", 2: "[f0#1]"})
    weighing = weighed(questions(3), system)
    assert diagnose(weighing).funnels[0].at("unused") == ["q001", "q002"]
    found = [record(0, "wrong_chunk"), record(1, "unknown"), record(2, "works")]
    funnel = diagnose(with_verdicts(weighing, {"a": found})).funnels[0]
    assert funnel.at("unused") == ["q000", "q001"]
    assert funnel.frame["judged"].to_list() == [True, False, True]
    assert "unused" in funnel.stages


def test_where_documents_are_weighed_their_chunks_hold_gold() -> None:
    asked = [{"qid": "q000", "query": "?", "evidence": [{"doc": "d"}]}]
    lines = [{"qid": "q000", "retrieved": [{"id": "d#2", "doc": "d"}, {"id": "e#1", "doc": "e"}]}]
    weighing = weigh(asked, {"a": lines}, unit="document")
    found = replace(record(0, "works"), context=("d#2", "e#1"))
    (outcomes,) = diagnose(with_verdicts(weighing, {"a": [found]})).outcomes
    assert outcomes.counts()["works"] == 1


def test_gold_by_ids() -> None:
    weighing = weigh({"q000": {"g0#1": 1}, "q001": {"x": 1}}, {"q000": ["g0#1"], "q001": ["y"]})
    name = weighing.systems[0]
    found = [record(0, "works"), record(1, "self_knowledge")]
    (outcomes,) = diagnose(with_verdicts(weighing, {name: found})).outcomes
    assert (outcomes.at("works"), outcomes.at("self_knowledge")) == (["q000"], ["q001"])


def test_only_systems_with_verdicts_are_read() -> None:
    weighing = weighed(questions(2), outputs("a", [1, 1]), outputs("b", [1, 1]))
    diagnosis = diagnose(with_verdicts(weighing, {"b": [record(0, "works"), record(1, "works")]}))
    assert [of_system.system for of_system in diagnosis.outcomes] == ["b"]
    assert diagnosis.funnels[0].judged is None


def test_questions_that_the_verdicts_lack_are_not_judged() -> None:
    weighing = weighed(questions(3), outputs("a", [1, 1, None], answers={0: "yes", 2: "no"}))
    (outcomes,) = diagnose(with_verdicts(weighing, {"a": [record(0, "works")]})).outcomes
    assert outcomes.at("works") == ["q000"]
    assert outcomes.counts()["no_answer"] == 1
    assert outcomes.counts()["unknown"] == 1
