"""Every measure of evidence equals the oracle that counts character by character."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given

import steelyard as sy
from steelyard.data.outputs import Outputs
from steelyard.data.questions import Questions
from tests.align.naive import Weighed, World, ranking
from tests.align.random_evidence import Case, cases
from tests.hypothesis_profiles import examples

CUT = ("precision", "recall", "f1", "hit_rate", "mrr", "map", "map_cap", "ndcg", "recall_cap", "evidence_recall",
       "span_recall", "span_precision", "span_iou")  # fmt: skip
CHARACTERS = ("span_recall", "span_precision", "span_iou")
DEPTHS = (None, 1, 2, 3, 10)
MEASURES = [name + (f"@{k}" if k else "") for name in CUT for k in DEPTHS]


def check(case: Case, scores: sy.Scores, world: World, min_gain: float, *, skipped: Any = lambda question: ()) -> None:
    lines = {line["qid"]: line for line in case.outputs(whole=False)}
    questions = {question.query_id: question for question in Questions(case.questions)}
    for q, query_id in enumerate(scores.query_ids):
        weighed = Weighed(questions[query_id], ranking(lines.get(query_id, {})), world)
        for j, measure in enumerate(scores.measures):
            got, want = float(scores.values[0, j, q]), weighed.value(measure.name, measure.k, min_gain)
            if measure.name in skipped(questions[query_id]):
                assert math.isnan(got) or 0 <= got <= 1
                continue
            # A measure that no question has gold for is not measured, where the oracle says 0.
            want = math.nan if want == 0 and np.isnan(scores.values[0, j]).all() else want
            same = math.isclose(got, want, rel_tol=1e-12, abs_tol=1e-12) or (math.isnan(got) and math.isnan(want))
            assert same, f"{measure} of {query_id}: {got}, not {want}"
        assert bool(scores.unwinnable[0, q]) == weighed.unwinnable
        assert bool(scores.failed[0, q]) == ("error" in lines.get(query_id, {}))
        assert bool(scores.missing[0, q]) == (query_id not in lines)


@pytest.mark.parametrize("min_gain", [1.0, 2.0])
@examples(60)
@given(case=cases(corpus=True))
def test_with_a_corpus(min_gain: float, case: Case) -> None:
    outputs = case.outputs(whole=False)
    scores = sy.evaluate(case.questions, {"s": Outputs(outputs)}, MEASURES, documents=case.chunks, rule=case.rule,
                         unit="chunk", min_gain=min_gain)  # fmt: skip
    check(case, scores, case.world(complete=True), min_gain)


def unplaced(question: Any) -> tuple[str, ...]:
    """Without documents nobody knows for sure where texts and quotes stand; the range is all that is checked."""
    return CHARACTERS if any(piece.kind in ("quote", "text") for piece in question.evidence) else ()


def has_pages(case: Case) -> bool:
    return any("pages" in piece for question in case.questions for piece in question["evidence"])


@examples(60)
@given(case=cases(corpus=False))
def test_from_the_outputs_alone(case: Case) -> None:
    retrieved = [case.facts[id] for ranked in case.rankings.values() for id, _ in ranked or []]
    assume(any(chunk.pages for chunk in retrieved) or (retrieved and not has_pages(case)))
    outputs = {"s": Outputs(case.outputs(whole=True))}
    scores = sy.evaluate(case.questions, outputs, MEASURES, rule=case.rule, unit="chunk")
    check(case, scores, case.world(complete=False), 1.0, skipped=unplaced)
