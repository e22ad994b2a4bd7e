"""Verdicts on answers to the questions of the library, made so that each question comes to an outcome."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from steelyard.diagnosis.diagnosing import Diagnosis, diagnose
from steelyard.diagnosis.outcomes import OUTCOMES, Criteria
from steelyard.experiment.door.weighing import Weighing
from steelyard.judges.tables.verdicts import Verdicts
from steelyard.judges.verdict import CitedChunk, JudgedAnswer, Unit, Verdict
from tests.diagnosis.library import outputs, questions, weighed

YES, NO, OPEN = Verdict("supported", 0.9), Verdict("not_found", 0.1), Verdict("not_judged", None, "budget")
WITH_GOLD = OUTCOMES[:5]
CORRECT = {"works", "beyond_context", "other_support", "self_knowledge"}
FAITHFUL = {"works", "wrong_chunk", "other_support", "noise_followed"}
ABSTAINED = {"over_cautious", "rightly_abstained", "unanswerable_abstained"}
GOLD = "It opens at nine."


def record(i: int, outcome: str, *, invalid: int = 0, cited: int = 0) -> JudgedAnswer:
    """Verdicts by which question i comes to an outcome, with so many invalid citations, and good ones."""
    gold = outcome in WITH_GOLD
    answerable = None if not outcome.startswith("unanswerable") else False
    context = (f"g{i}#1", "f0#1") if gold else ("f0#1", "f1#1")
    golds = {"gold_answers": (GOLD,), "gold_units": (Unit(0, len(GOLD), GOLD),)} if answerable is None else {}
    reach = () if not golds else ((),) if outcome == "unknown" else ((YES if gold else NO, NO),)
    query_id = f"q{i:03}"
    if outcome == "no_answer":
        return JudgedAnswer(query_id, "failed", context=context, **golds, said=(NO,), reach=reach)  # type: ignore[arg-type]
    if outcome in ABSTAINED:
        return JudgedAnswer(
            query_id, "abstained", answer="I do not know.", context=context, **golds, said=(NO,) if golds else (),  # type: ignore[arg-type]
            reach=reach, answerable=answerable,
        )  # fmt: skip
    correct, faithful = outcome in CORRECT, outcome in FAITHFUL
    # What is right is in the chunk with gold, and what is wrong in another one.
    support = (YES, NO) if faithful and correct else (NO, YES) if faithful else (NO, NO)
    citations = (
        *(CitedChunk(0, 0, 1, "[1]", 0) for _ in range(cited)),
        *(CitedChunk(0, 0, 1, "[9]", None, "out_of_range") for _ in range(invalid)),
    )
    verdict = OPEN if outcome == "not_judged" else YES if correct else NO
    return JudgedAnswer(
        query_id, "answered", answer="It opens at nine", context=None if outcome == "unknown" else context,
        units=(Unit(0, 16, "It opens at nine"),), support=((),) if outcome == "unknown" else (support,),
        correctness=(((verdict,) if golds else ()),), said=(verdict,) if golds else (), joint=(None,),
        citations=citations, without=(None,) * len(citations),
        **golds, reach=reach, answerable=answerable,  # type: ignore[arg-type]
    )  # fmt: skip


def judged_weighing(
    outcomes: Sequence[str], *, tags: Mapping[int, Sequence[str]] | None = None, name: str = "a", **citations: int
) -> Weighing:
    """A system whose questions come to these outcomes by its verdicts; gold is first where the context has it."""
    ranks = [1 if outcome in WITH_GOLD else None for outcome in outcomes]
    records = [record(i, outcome, **citations) for i, outcome in enumerate(outcomes)]
    return with_verdicts(weighed(questions(len(outcomes), tags=tags), outputs(name, ranks)), {name: records})


def with_verdicts(weighing: Weighing, records: Mapping[str, Sequence[JudgedAnswer]]) -> Weighing:
    """The same systems with verdicts on their answers."""
    verdicts = {system: Verdicts(of_system) for system, of_system in records.items()}
    return replace(weighing, options=replace(weighing.options, verdicts=verdicts))


def judged_diagnosis(
    *outcomes: str, tags: Mapping[int, Sequence[str]] | None = None, criteria: Criteria | None = None, **citations: int
) -> Diagnosis:
    """The diagnosis of a system whose questions come to these outcomes."""
    return diagnose(judged_weighing(outcomes, tags=tags, **citations), k=5, criteria=criteria)
