import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.data.corpus import Chunks, Document
from steelyard.data.outputs import Outputs
from steelyard.data.questions import Questions
from steelyard.diagnosis.funnel import AT, STAGES, Funnel, funnel
from steelyard.diagnosis.lists import lists_of
from steelyard.experiment.door.evaluation import weigh
from steelyard.experiment.door.weighing import Weighing
from tests.align.naive import Weighed
from tests.align.random_evidence import Case, cases
from tests.diagnosis import library
from tests.hypothesis_profiles import examples

CASES = list(map(json.loads, (Path(__file__).parents[1] / "cases" / "funnel.jsonl").read_text("utf-8").splitlines()))
DOCUMENTS = {"g0": "x" * 100, "c0": "z" * 110, **{f"f{i}": "y" for i in range(4)}}


def small_corpus() -> Chunks:
    """Every document is one chunk; c0 has two, a border at 50, and ten characters that no chunk has."""
    documents = [Document(name, text) for name, text in DOCUMENTS.items()]
    return Chunks.of(documents, lambda text: [(0, 50), (50, 100)] if len(text) == 110 else [(0, len(text))])


def funnels(weighing: Weighing, k: int) -> list[Funnel]:
    return [funnel(each, lists_of(each), k=k) for each in weighing.weighed]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["label"])
def test_stage(case: dict[str, Any]) -> None:
    told = dict(case["input"])
    evidence = told.pop("evidence", [{"doc": "g0", "start": 0, "end": 9}])
    rule = told.pop("rule", "any")
    other = {"qid": "other", "query": "?", "evidence": [{"doc": "g0", "start": 0, "end": 9}]}
    lines = [{"qid": "other", "retrieved": ["f3#1"]}, *([{"qid": "q", **told}] if told else [])]
    weighing = weigh(
        [{"qid": "q", "query": "?", "evidence": evidence}, other], Outputs(lines), documents=small_corpus(), rule=rule
    )
    (found,) = funnels(weighing, 2)
    assert STAGES[found.stage[list(found.query_ids).index("q")]] == case["want"]
    assert (found.pieces.sum(axis=1) == found.n_gold).all()


def test_counts_lists_and_parts() -> None:
    ranks = [1, 3, None, "failed", "missing", 2]
    weighing = library.weighed(library.questions(6), library.outputs("a", ranks))
    (found,) = funnels(weighing, 2)
    assert {stage: n for stage, n in found.counts().items() if n} == {
        "failed": 1, "missing": 1, "not_retrieved": 1, "below_k": 1, "found": 2
    }  # fmt: skip
    assert found.lists()["found"] == ["q000", "q005"]
    assert sum(map(len, found.lists().values())) == 6
    part = found.by(np.array([True, True, False, False, False, False]))
    assert {stage: n for stage, n in part.counts().items() if n} == {"below_k": 1, "found": 1}
    assert part.n_winnable == 2
    assert (found.depth, found.corpus_known, found.reranked, found.n_untold) == (100, True, False, 0)
    assert "reranked_out" not in found.stages
    assert "unused" not in found.stages


def test_ids_alone_cannot_tell_what_the_corpus_holds() -> None:
    weighing = weigh({"q": {"a": 1}, "r": {"b": 1}}, {"q": ["x", "a"], "r": ["x", "y"]})
    (found,) = funnels(weighing, 1)
    assert found.counts()["not_retrieved"] == found.n_untold == 1
    assert not found.corpus_known
    assert found.split is None
    assert {"not_in_corpus", "cut"}.isdisjoint(found.stages)


def test_no_stage_below_k_where_lists_end_there() -> None:
    (found,) = funnels(weigh({"q": {"a": 1}}, {"q": ["x", "y"]}), 2)
    assert "below_k" not in found.stages


def test_pieces_that_no_chunk_holds_whole() -> None:
    weighing = library.weighed(library.questions(3), library.outputs("a", [1, 1, 1]), cut=[1])
    (found,) = funnels(weighing, 2)
    assert found.split is not None
    assert found.split.tolist() == [0, 1, 0]


def test_what_a_reranker_pushed_out_counts_less_what_it_pulled_up() -> None:
    asked = [
        {"qid": "q", "query": "?", "evidence": [{"doc": name, "start": 0, "end": 1} for name in ("f0", "f1", "f2")]}
    ]
    line = {"qid": "q", "retrieved": ["f2#1", "f3#1"], "candidates": ["f0#1", "f1#1", "f2#1", "f3#1"]}
    (found,) = funnels(weigh(asked, Outputs([line]), documents=small_corpus()), 2)
    assert found.n_at_stage == dict.fromkeys(STAGES, 0) | {"found": 1, "reranked_out": 1, "below_k": 1}


@examples(40)
@given(case=cases(corpus=True), k=st.integers(1, 4))
def test_against_a_naive_walk(case: Case, k: int) -> None:
    """Each group of pieces is walked down the list by itself."""
    lines = case.outputs(whole=False)
    weighing = weigh(case.questions, Outputs(lines), documents=case.chunks, rule=case.rule, unit="chunk")
    (found,) = funnels(weighing, k)
    (each,) = weighing.weighed
    assert each.evidence is not None
    mapping, of_any_gain = each.evidence.mapping, funnel(each, lists_of(each), k=k, min_gain=0.5)
    assert len(mapping.codes) == len(mapping.lost) <= mapping.n_pieces == of_any_gain.n_gold.sum()
    resolution, table = each.evidence.resolution, each.evidence.table
    holders: dict[int, set[str]] = {}
    for row, chunk in zip(resolution.piece.tolist(), resolution.chunk.tolist(), strict=True):
        holders.setdefault(int(resolution.gold.group[row]), set()).add(table.ids[chunk])
    questions = {question.query_id: question for question in Questions(case.questions)}
    tops = dict(each.run.top(1000).group_by("query_id").agg("doc_id").iter_rows())
    for q, query_id in enumerate(found.query_ids):
        groups: dict[int, list[int]] = {}
        for row in range(len(resolution.gold.pieces)):
            if case.questions[resolution.gold.query[row]]["qid"] == query_id:
                groups.setdefault(int(resolution.gold.group[row]), []).append(row)
        relevant = {g: rows for g, rows in groups.items() if max(resolution.gold.pieces[r].gain for r in rows) >= 1}
        ranks = Weighed(questions[query_id], tops.get(query_id, []), case.world(complete=True)).item_rank
        rank_of = {group: ranks.get(f"item {i}") for i, group in enumerate(sorted(groups))}
        stages = [walk(rank_of[g], rows, g in holders, each.evidence.lost, k) for g, rows in relevant.items()]
        if not relevant:
            want = "no_gold"
        elif query_id in each.failures:
            want = "failed"
        elif query_id not in case.rankings:
            want = "missing"
        else:
            want = max(stages, key=AT.__getitem__)
        assert STAGES[found.stage[q]] == want
        assert found.n_gold[q] == len(relevant) == found.pieces[q].sum()
        if want not in ("failed", "missing", "no_gold"):
            assert {STAGES[s]: int(n) for s, n in enumerate(found.pieces[q]) if n} == {
                stage: stages.count(stage) for stage in set(stages)
            }


def walk(rank: int | None, rows: list[int], held_alone: bool, lost: Any, k: int) -> str:
    if rank is not None:
        return "found" if rank <= k else "below_k"
    codes = [lost[row].code for row in rows if row in lost]
    if not codes:
        return "not_retrieved" if held_alone else "cut"
    return "cut" if "cut" in codes else "not_in_corpus"
