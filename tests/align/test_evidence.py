"""Measures of evidence: the worked example, cases by hand, and what must hold whatever the data."""

import math
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import steelyard as sy
from steelyard.base.errors import MeasureError
from steelyard.data.corpus import Chunks, Document
from steelyard.data.outputs import Outputs
from tests.align.random_evidence import RULES, Case, cases, spans
from tests.hypothesis_profiles import examples
from tests.measures import naive
from tests.measures.random_collections import builtin

CHARACTERS = ["span_recall", "span_precision", "span_iou"]
EVIDENCE = ["evidence_recall", *CHARACTERS]
RISING = ["evidence_recall", "span_recall"]
DEPTHS = range(1, 8)
OTHERS = (("rankings",), ("answers",))
NEED_JUDGED = {"bpref", "gm_bpref", "infap", "n_nonrelevant_retrieved", "rbp_residual"}
quick = examples(40)


def values(questions: Any, lines: Any, measures: Any, **options: Any) -> list[Any]:
    options = {"unit": "chunk", **options}
    return sy.evaluate(questions, {"s": Outputs(lines)}, measures, **options).values[0].tolist()  # type: ignore


def weigh(case: Case, measures: Any, lines: Any = None, **options: Any) -> Any:
    lines = case.outputs(whole=False) if lines is None else lines
    options = {"documents": case.chunks, "rule": case.rule, "unit": "chunk", **options}
    return sy.evaluate(case.questions, {"s": Outputs(lines)}, measures, **options).values[0]


# Where characters cannot be counted ----------------------------------------------------------------------------------


def test_what_measures_read_besides_rankings() -> None:
    inputs = {d.name: set(d.inputs) - {"rankings"} for d in sy.definitions() if d.inputs not in OTHERS}
    assert inputs == {
        "evidence_recall": {"pieces"},
        **{name: {"characters"} for name in CHARACTERS},
        **{name: {"labels"} for name in NEED_JUDGED},
    }


@pytest.mark.parametrize("measure", CHARACTERS)
def test_characters_need_evidence(measure: str) -> None:
    with pytest.raises(MeasureError, match=f"{measure}@5 needs gold evidence, and a run that has more than ids"):
        sy.evaluate({"q": {"a": 1}}, {"q": ["a"]}, f"{measure}@5")
    with pytest.raises(MeasureError, match=f"{measure} needs gold evidence, and a run that has more than ids"):
        sy.plain.score(measure, ["a"], {"a"})
    with pytest.raises(MeasureError, match=f"{measure} needs gold evidence"):
        sy.evaluate([{"qid": "q", "gold_evidence": ["a"], "evidence": []}], {"q": ["a"]}, measure)


@pytest.mark.parametrize("measure", ["evidence_recall", "precision@3", "span_iou@2"])
def test_judged_alone_has_no_meaning(measure: str) -> None:
    name, _, cut = measure.partition("@")
    with pytest.raises(MeasureError, match="pool=judged has no meaning for gold evidence"):
        values(
            [{"qid": "q", "evidence": ["cat"]}],
            [{"qid": "q", "retrieved": [{"id": "c", "text": "cat"}]}],
            f"{name}(pool=judged)" + (f"@{cut}" if cut else ""),
        )


# By hand -------------------------------------------------------------------------------------------------------------

THREE = [{"qid": "q", "evidence": ["she was forty", "a maid of honor", "Anna had a cough"]}]


def ten(*texts: str) -> list[dict[str, Any]]:
    padded = [*texts, *(f"something else {i}" for i in range(10 - len(texts)))]
    return [{"qid": "q", "retrieved": [{"id": f"c{i}", "text": text} for i, text in enumerate(padded)]}]


def test_three_gold_texts_of_which_two_are_covered_by_two_of_ten_chunks() -> None:
    got = values(THREE, ten("Now she was\nforty.", "As a Maid of Honor, she"), ["precision@10", "recall@10", "f1@10"])
    assert [round(value, 2) for [value] in got] == [0.20, 0.67, 0.31]
    assert got == [[0.2], [2 / 3], [pytest.approx(2 * 0.2 * (2 / 3) / (0.2 + 2 / 3))]]


def test_overlap_counts_for_precision_and_not_for_recall() -> None:
    lines = ten("Now she was forty.", "a maid of honor", "she was forty, and")
    got = values(THREE, lines, ["precision@10", "recall@10", "f1@10", "evidence_recall@10", "hit_rate@1", "recall@1"])
    assert got == [[0.3], [2 / 3], [pytest.approx(0.6 * (2 / 3) / (0.3 + 2 / 3))], [2 / 3], [1], [1 / 3]]


def test_one_chunk_may_hold_all() -> None:
    lines = ten("She was forty, a maid of honor. Anna had a cough.")
    assert values(THREE, lines, ["precision@10", "recall@1", "recall_cap@1", "f1@1"]) == [[0.1], [1], [1], [1]]


ABC = Document("d", "abcdefghijklmnopqrstuvwxyz")


def by_hand(gold: list[dict[str, Any]], *chunks: tuple[int, int], **options: Any) -> list[float]:
    corpus = Chunks.of([ABC], lambda text: chunks)
    lines = [{"qid": "q", "retrieved": corpus.ids}]
    return [v for [v] in values([{"qid": "q", "evidence": gold}], lines, EVIDENCE, documents=corpus, **options)]


def span(start: int, end: int, **more: Any) -> dict[str, Any]:
    return {"doc": "d", "start": start, "end": end, **more}


@pytest.mark.parametrize(
    ("gold", "chunks", "want", "comment"),
    [
        ([span(2, 6)], [(0, 4), (10, 14)], [1, 2 / 4, 2 / 8, 2 / 10], "cd of cdef in abcd and klmn"),
        ([span(2, 6)], [(0, 4), (0, 4)], [1, 2 / 4, 2 / 4, 2 / 6], "a chunk twice shows nothing new"),
        ([span(2, 6)], [(0, 4), (2, 8)], [1, 1, 4 / 8, 4 / 8], "overlap counts once"),
        ([span(2, 6), span(4, 8)], [(0, 5)], [1 / 2, 3 / 6, 3 / 5, 3 / 8], "gold that overlaps counts once"),
        ([span(2, 6), span(20, 22)], [(0, 10)], [1 / 2, 4 / 6, 4 / 10, 4 / 12], "the second is not shown"),
        ([span(0, 2, group="g"), span(8, 12, group="g")], [(8, 10)], [1, 2 / 4, 1, 2 / 4], "the one shown most"),
        ([span(0, 2, group="g"), span(8, 12, group="g")], [(20, 22)], [0, 0, 0, 0], "none: the first, ab"),
        ([span(0, 2, group="g"), span(8, 12, group="g")], [(2, 5), (8, 12)], [1, 1, 4 / 7, 4 / 7], "cde touches ab"),
        ([span(0, 2, group="g"), span(8, 12, group="g")], [(0, 2), (8, 12)], [1, 1, 2 / 6, 2 / 6], "a tie: the first"),
        ([span(0, 4, gain=0), span(8, 12)], [(0, 4)], [0, 0, 0, 0], "gain 0 is no gold"),
        ([{"text": "elsewhere", "gain": 0}, span(8, 12)], [(8, 12)], [1, 1, 1, 1], "nor where no document has it"),
        ([span(4, 8)], [(0, 4), (8, 12)], [0, 0, 0, 0], "ends that touch do not meet"),
        ([span(0, 26)], [(3, 5)], [0, 2 / 26, 1, 2 / 26], "two characters of 26 are not half of the piece"),
        ([span(0, 26)], [(0, 9), (5, 12)], [0, 12 / 26, 1, 12 / 26], "what two chunks show counts once"),
        ([span(0, 26)], [(0, 9), (17, 21)], [1, 13 / 26, 1, 13 / 26], "two chunks hold half of it together"),
    ],
)
def test_cases_by_hand(gold: Any, chunks: Any, want: list[float], comment: str) -> None:
    assert by_hand(gold, *chunks) == pytest.approx(want, abs=1e-15), comment


@pytest.mark.parametrize(("rule", "want"), [("any", 1), ("share>=0.25", 1), ("share>=0.5", 0), ("contains", 0)])
def test_rules(rule: str, want: float) -> None:
    """One character of four; two chunks of two characters hold the piece together."""
    assert by_hand([span(3, 7)], (0, 4), rule=rule)[0] == want
    assert by_hand([span(3, 7)], (3, 5), (5, 7), rule=rule)[:2] == [1, 1]
    assert by_hand([span(3, 7)], (3, 6), (4, 6), rule=rule)[:2] == [float(rule != "contains"), 3 / 4]


@pytest.mark.parametrize("rule", ["share>=0", "share>=1.5", "all", "share>0.5", ""])
def test_rules_that_are_none(rule: str) -> None:
    with pytest.raises(sy.InputError, match="there are any, contains and share>=X"):
        by_hand([span(3, 7)], (0, 4), rule=rule)


def test_pages_are_one_passage_and_no_alternatives() -> None:
    """Nineteen characters on two pages; half of the passage is half of it."""
    document = Document("m.pdf", "aaaa bbbb cccc dddd", pages=(0, 10))
    question = [{"qid": "q", "evidence": [{"doc": "m.pdf", "pages": [1, 2]}]}]
    for chunks, want in (([(0, 10)], [1, 10 / 19, 1, 10 / 19]), ([(0, 19)], [1, 1, 1, 1])):
        corpus = Chunks.of([document], lambda text, chunks=chunks: chunks)  # type: ignore[misc]
        got = values(question, [{"qid": "q", "retrieved": corpus.ids}], EVIDENCE, documents=corpus)
        assert [v for [v] in got] == pytest.approx(want)
    scattered = Document("m.pdf", "aaaabbbbccccdddd", pages=(0, 4, 8, 12))
    corpus = Chunks.of([scattered], lambda text: [(0, 4), (4, 8), (8, 12), (12, 16)])
    question = [{"qid": "q", "evidence": [{"doc": "m.pdf", "pages": [1, 4]}]}]
    lines = [{"qid": "q", "retrieved": [corpus.ids[0], corpus.ids[1]]}]
    assert [v for [v] in values(question, lines, EVIDENCE, documents=corpus)] == pytest.approx(
        [1, 4 / 8, 4 / 8, 4 / 12]
    )


def test_a_parted_text_has_no_place_that_is_longer_than_it_is() -> None:
    """Two parts of a text that stand a thousand characters apart do not make a thousand characters of gold."""
    items = [
        {"id": "c1", "doc": "a", "start": 0, "end": 5, "text": "alpha"},
        {"id": "c2", "doc": "a", "start": 1000, "end": 1005, "text": "gamma"},
    ]
    question = [{"qid": "q", "evidence": ["alpha beta gamma"]}]
    [recall] = values(question, [{"qid": "q", "retrieved": items}], "span_recall")[0]
    assert math.isnan(recall) or recall >= 5 / 16


def test_min_gain_says_which_pieces_count() -> None:
    gold = [span(0, 4, gain=8), span(8, 12, gain=3), span(20, 24, gain=9)]
    corpus = Chunks.of([ABC], lambda text: [(0, 4), (8, 12)])
    lines = [{"qid": "q", "retrieved": corpus.ids}]
    measures = [f"evidence_recall(min_gain={g})@{k}" for g in (3, 7, 9, 10) for k in (1, 2)]
    got = values([{"qid": "q", "evidence": gold}], lines, measures, documents=corpus)
    assert [v for [v] in got] == pytest.approx([1 / 3, 2 / 3, 1 / 2, 1 / 2, 0, 0, math.nan, math.nan], nan_ok=True)
    assert values([{"qid": "q", "evidence": gold}], lines, "evidence_recall@1", documents=corpus, min_gain=7) == [
        [1 / 2]
    ]


@pytest.mark.parametrize("no_relevant", ["zero", "skip"])
def test_a_question_without_gold(no_relevant: Any) -> None:
    corpus = Chunks.of([ABC], lambda text: [(0, 4)])
    for evidence in ([], [span(0, 4, gain=0)], [span(0, 4, gain=-1)]):
        bare, other = {"qid": "q", "evidence": evidence}, {"qid": "r", "evidence": [span(0, 4)]}
        run = {"q": corpus.ids, "r": corpus.ids}
        for questions, value in (([bare, other], 0.0 if no_relevant == "zero" else None), ([bare], None)):
            scores = sy.evaluate(questions, run, EVIDENCE, documents=corpus, no_relevant=no_relevant)
            of_bare = scores.per_query.filter(query_id="q")
            assert set(of_bare["status"]) == {"no_relevant"}
            assert set(of_bare["value"]) == {value}
            assert scores.mean()["no_relevant"].to_list() == [1] * 4


def test_an_empty_list_shows_nothing() -> None:
    corpus = Chunks.of([ABC], lambda text: [(0, 4)])
    for lines in ([{"qid": "q", "retrieved": []}], [{"qid": "q", "error": "timeout"}]):
        got = values([{"qid": "q", "evidence": [span(0, 4)]}], lines, [*EVIDENCE, "span_iou@3"], documents=corpus)
        assert got == [[0]] * 5


def test_of_a_truth_of_ids_evidence_recall_is_recall() -> None:
    truth, run = {"q": {"a": 2, "b": 1, "c": 0}}, {"q": ["x", "a", "c"]}
    for least in (0, 1, 2):
        pair = [f"{name}(min_gain={least})@2" for name in ("recall", "evidence_recall")]
        got = sy.evaluate(truth, run, pair).values[0].tolist()
        assert got[0] == got[1]


# What must hold ------------------------------------------------------------------------------------------------------


@quick
@given(case=cases(corpus=True), known=st.booleans())
def test_all_measures_keep_their_range(case: Case, known: bool) -> None:
    names = [d.name for d in builtin() if not d.of_answers]
    specs = [name + "@0.5" * (name == "iprec") for name in names if name not in NEED_JUDGED]
    specs += [
        f"{name}@{k}" for name in ("precision", "recall", "f1", "recall_cap", "map", "ndcg", "set_map") for k in (1, 2)
    ]
    lines = case.outputs(whole=not known)
    assume(known or any(case.rankings.values()))
    questions = case.questions if known else findable(case.questions)
    scores = sy.evaluate(
        questions, {"s": Outputs(lines)}, specs, rule=case.rule, unit="chunk", documents=case.chunks if known else None
    )
    for spec, row in zip(scores.measures, scores.values[0], strict=True):
        low, high = spec.definition.range
        unplaced = "characters" in spec.definition.inputs or spec in scores.without_gold
        assert all(low <= v <= high * (1 + 1e-12) or (unplaced and math.isnan(v)) for v in row), f"{spec}: {row}"


def findable(questions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without what only documents can answer: the pages of text files, and which occurrence is meant."""
    return [{**question, "evidence": [{key: value for key, value in piece.items() if key != "occurrence"}
                                      for piece in question["evidence"] if "pages" not in piece]}
            for question in questions]  # fmt: skip


@pytest.mark.parametrize("measure", sorted(NEED_JUDGED))
def test_measures_that_need_documents_judged_not_to_be_relevant(measure: str) -> None:
    with pytest.raises(MeasureError, match="needs documents that were judged not to be relevant"):
        values(THREE, ten("she was forty"), measure)


@quick
@given(case=cases(corpus=True))
def test_k_beyond_the_list_is_no_k(case: Case) -> None:
    k = max(len(case.chunks), 1)
    got = [weigh(case, [f"{measure}{cut}" for measure in EVIDENCE]) for cut in ("", f"@{k}", f"@{k + 3}")]
    assert got[0].tobytes() == got[1].tobytes() == got[2].tobytes()


@quick
@given(case=cases(corpus=True))
def test_a_deeper_cut_never_costs(case: Case) -> None:
    for measure in RISING:
        for of_query in weigh(case, [f"{measure}@{k}" for k in DEPTHS]).T.tolist():
            assert of_query == sorted(of_query) or math.isnan(of_query[0])


@quick
@given(case=cases(corpus=True), whole=st.booleans(), shuffler=st.randoms(use_true_random=False))
def test_the_order_of_the_input_moves_no_bit(case: Case, whole: bool, shuffler: random.Random) -> None:
    """Questions and results may stand in any order, and so may the items of a list that has scores."""
    measures = [
        f"{name}{cut}" for name in [*EVIDENCE, "ndcg", "map", "recall", "precision"] for cut in ("", "@1", "@3")
    ]
    assume(not whole or any(case.rankings.values()))
    questions = findable(case.questions) if whole else case.questions
    options: dict[str, Any] = {"rule": case.rule, "unit": "chunk", "documents": None if whole else case.chunks}
    lines = case.outputs(whole=whole)
    before = sy.evaluate(questions, {"s": Outputs(lines)}, measures, **options)
    mixed = [
        {**line, "retrieved": shuffled(line["retrieved"], shuffler) if scored(line) else line["retrieved"]}
        for line in shuffled(lines, shuffler)
    ]
    after = sy.evaluate(shuffled(questions, shuffler), {"s": Outputs(mixed)}, measures, **options)
    assert after.values.tobytes() == before.values.tobytes()
    assert after.query_ids == before.query_ids


def scored(line: dict[str, Any]) -> bool:
    return any(isinstance(item, dict) and "score" in item for item in line["retrieved"])


def shuffled(items: Any, shuffler: random.Random) -> list[Any]:
    listed = list(items)
    shuffler.shuffle(listed)
    return listed


def test_the_lines_of_other_questions_do_not_choose_the_place_of_a_text() -> None:
    """A text that stands in two documents: which of them counts is no matter of which line came first."""
    c1 = {"id": "c1", "doc": "a", "start": 0, "end": 7, "text": "the cat"}
    c2 = {"id": "c2", "doc": "b", "start": 0, "end": 9, "text": "a big cat"}
    lines = [{"qid": "q", "retrieved": [c1, c2]}, {"qid": "p", "retrieved": [c2]}]
    questions = [{"qid": "q", "evidence": ["cat"]}, {"qid": "p", "evidence": ["cat"]}]
    measures = [f"{name}@{k}" for name in EVIDENCE for k in (1, 2)]
    assert values(questions, lines, measures) == values(questions, lines[::-1], measures)


def test_what_stands_below_rank_k_does_not_move_a_value_at_k() -> None:
    """A text in two documents: the list shows six of seven characters first, and all of them elsewhere later."""
    documents = [Document("a", "the big cat"), Document("b", "xx big cat")]
    items = [{"id": "c1", "doc": "a", "start": 0, "end": 10}, {"id": "c2", "doc": "b", "start": 0, "end": 10}]
    gold = [{"qid": "q", "evidence": ["big cat"]}]
    items = [{**item, "text": document.text[:10]} for item, document in zip(items, documents, strict=True)]
    got = [
        values(gold, [{"qid": "q", "retrieved": items[:n]}], ["span_recall@1", "span_iou@1"], documents=documents)
        for n in (1, 2)
    ]
    assert got[0] == got[1] == [[6 / 7], [6 / 11]]


def test_the_lists_of_other_questions_do_not_move_a_value() -> None:
    """Of an unknown corpus, what another question retrieved tells nothing about this one."""
    mine = {"qid": "q", "retrieved": [{"id": "c1", "text": "the cat"}]}
    questions = [{"qid": "q", "evidence": ["cat"]}, {"qid": "p", "evidence": ["dog"]}]
    dog, cat = {"id": "c3", "text": "dog"}, {"id": "c2", "text": "cat sat"}
    got = [
        values(questions, [mine, {"qid": "p", "retrieved": items}], ["ndcg", "map", "recall"])
        for items in ([dog], [dog, cat])
    ]
    assert got[0] == got[1]


def test_the_order_of_alternatives_moves_nothing() -> None:
    pieces = [span(0, 3, gain=3, group="g"), span(10, 12, gain=3, group="g"), span(20, 24)]
    items = [{"id": "c1", "doc": "d", "start": 20, "end": 24}, {"id": "c2", "doc": "d", "start": 15, "end": 18}]
    got = [
        values([{"qid": "q", "evidence": gold}], [{"qid": "q", "retrieved": items}], ["ndcg", "map", "recall"])
        for gold in (pieces, pieces[::-1], [pieces[1], pieces[0], pieces[2]])
    ]
    assert got[0] == got[1] == got[2]
    ids = [{"id": "z", "gain": 1}, {"id": "z", "gain": 3}, {"id": "c1"}]
    both = [
        values([{"qid": "q", "evidence": gold}], [{"qid": "q", "retrieved": items}], "ndcg")
        for gold in (ids, ids[::-1])
    ]
    assert both[0] == both[1]


@quick
@given(case=cases(corpus=True))
def test_a_stricter_rule_finds_no_more(case: Case) -> None:
    at = [np.nan_to_num(weigh(case, ["evidence_recall", "evidence_recall@2"], rule=rule)) for rule in RULES]
    assert (at[0] >= at[1]).all()
    assert (at[1] >= at[2]).all()


@quick
@given(case=cases(corpus=True), data=st.data())
def test_a_chunk_that_shows_nothing_new_changes_no_measure_of_characters(case: Case, data: st.DataObject) -> None:
    """Appended at the end, and inside of what is shown; whole lists and cut ones stay as they are."""
    query = case.outputs(whole=False)[0]
    assume(query["retrieved"])
    inside = data.draw(st.sampled_from(query["retrieved"]))
    chunk = case.facts[inside if isinstance(inside, str) else inside["id"]]
    a, b = data.draw(spans(chunk.end - chunk.start))  # type: ignore[operator]
    rows = [*zip(case.chunks.owner.tolist(), case.chunks.start.tolist(), case.chunks.end.tolist(), strict=True)]
    names = [d.doc_id for d in case.chunks.documents]
    items = [
        {"id": id, "doc": names[o], "start": s, "end": e, "text": case.chunks.documents[o].text[s:e]}
        for id, (o, s, e) in zip(case.chunks.ids, rows, strict=True)
    ]
    extra = {"id": "extra", "doc": chunk.doc, "start": chunk.start + a, "end": chunk.start + b,  # type: ignore[operator]
             "text": (chunk.text or "")[a:b]}  # fmt: skip
    known = {item["id"]: item for item in items}
    first = [id if isinstance(id, str) else id["id"] for id in query["retrieved"]]
    if scored(query):
        first = naive.canonical({item["id"]: item["score"] for item in query["retrieved"]})
    corpus = list(case.chunks.documents)
    measures = [f"{name}{cut}" for name in CHARACTERS for cut in ("", "@1", "@2", "@20")] + ["evidence_recall@1"]
    got = [
        values(case.questions, [{"qid": query["qid"], "retrieved": ranked}], measures, documents=corpus, rule="any")
        for ranked in ([known[id] for id in first], [*(known[id] for id in first), extra])
    ]
    assert repr(got[0]) == repr(got[1])


def backwards(id: str) -> str:
    return id[::-1]


@quick
@given(case=cases(corpus=True))
def test_the_names_of_chunks_change_no_measure_of_characters(case: Case) -> None:
    """Lists without scores keep their order, so nothing may depend on what a chunk is called."""
    questions = [{**q, "evidence": [p for p in q["evidence"] if "id" not in p]} for q in case.questions]
    facts = case.facts
    lines = [
        {"qid": line["qid"], "retrieved": [facts[i if isinstance(i, str) else i["id"]] for i in line["retrieved"]]}
        for line in case.outputs(whole=False)
    ]
    assume(any(line["retrieved"] for line in lines))
    measures = [f"{name}{cut}" for name in [*EVIDENCE, "precision", "mrr"] for cut in ("@1", "@3")]
    got = []
    for name in (str, backwards):
        named = [{**line, "retrieved": [{"id": name(c.id), "doc": c.doc, "start": c.start, "end": c.end, "text": c.text}
                                        for c in line["retrieved"]]} for line in lines]  # fmt: skip
        got.append(values(questions, named, measures, documents=list(case.chunks.documents), rule=case.rule))
    assert repr(got[0]) == repr(got[1])


def test_the_measures_of_characters_do_not_move_when_chunks_overlap() -> None:
    """The same characters shown by two chunks or by three that overlap; precision of chunks moves, these do not."""
    gold = [{"qid": "q", "evidence": [span(2, 6), span(9, 11)]}]
    got = []
    for chunks in ([(0, 6), (6, 12)], [(0, 6), (3, 9), (6, 12)]):
        corpus = Chunks.of([ABC], lambda text, chunks=chunks: chunks)  # type: ignore[misc]
        got.append(values(gold, [{"qid": "q", "retrieved": corpus.ids}], [*EVIDENCE, "precision@3"], documents=corpus))
    assert got[0][:4] == got[1][:4] == [[1], [1], [0.5], [0.5]]
    assert got[0][4] != got[1][4]
