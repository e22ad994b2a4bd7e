"""Lists of chunks weighed as lists of documents, each at the best of its chunks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import steelyard as sy
from steelyard.align.document_lists import DocumentResolver
from steelyard.align.resolver import GoldMapping
from steelyard.base.errors import DuplicateError, InputError, MeasureError
from steelyard.base.notes import Note
from steelyard.data.corpus import Chunks, Document
from steelyard.data.outputs import Outputs
from steelyard.data.questions import Questions
from steelyard.data.truth import Truth
from steelyard.experiment.table.json import as_json, read_scores
from steelyard.reports.views.scores import scores_sheet
from steelyard.reports.words import read_words
from tests.hypothesis_profiles import examples

MEASURES = ("ndcg@3", "ndcg", "map", "mrr", "recall@2", "precision@3", "judged@3", "bpref", "rbp", "hit_rate@1")
DOCS = ("a", "b", "c", "d#", "d")

Lists = Mapping[str, list[tuple[str, int, float]]]
"""query_id -> document, number of the chunk in it, and score."""


def asked(gold: Mapping[str, Mapping[str, float]]) -> list[dict[str, Any]]:
    """Questions whose gold is whole documents."""
    return [
        {"qid": query_id, "evidence": [{"doc": doc, "gain": gain} for doc, gain in gains.items()]}
        for query_id, gains in gold.items()
    ]


def outputs(lists: Lists, *, scored: bool = True, **line: Any) -> Outputs:
    def item(doc: str, number: int, score: float) -> dict[str, Any]:
        return {"id": f"{doc}/{number}", "doc": doc, "text": f"{doc} {number}"} | ({"score": score} if scored else {})

    return Outputs(
        [{"qid": q, "retrieved": [item(*chunk) for chunk in chunks], **line} for q, chunks in lists.items()], name="s"
    )


def notes(scores: sy.Scores, lang: str = "en") -> str:
    return "\n".join(scores_sheet(scores, read_words(lang)).notes)


@st.composite
def cases(draw: st.DrawFn) -> tuple[dict[str, dict[str, float]], dict[str, list[tuple[str, int, float]]]]:
    """Gold documents, some of them judged not to be relevant, and lists of chunks with many ties."""
    gold, lists = dict[str, dict[str, float]](), dict[str, list[tuple[str, int, float]]]()
    for query_id in draw(st.lists(st.sampled_from(["q1", "q2", "q10"]), min_size=1, unique=True)):
        gains = st.sampled_from([1.0, 2.0, 0.0, -1.0])
        gold[query_id] = draw(st.dictionaries(st.sampled_from([*DOCS, "gone"]), gains, min_size=1))
        chunk = st.tuples(st.sampled_from(DOCS), st.integers(0, 3), st.sampled_from([0.0, 1.0, 1.5, -2.0]))
        lists[query_id] = draw(st.lists(chunk, max_size=12, unique_by=lambda c: c[:2]))
    return gold, lists


def best(chunks: list[tuple[str, int, float]]) -> dict[str, float]:
    """The naive oracle: each document with the score of its best chunk."""
    scores: dict[str, float] = {}
    for doc, _, score in chunks:
        if doc not in scores or score > scores[doc]:
            scores[doc] = score
    return scores


@examples(60)
@given(case=cases(), scored=st.booleans())
def test_chunks_weighed_as_documents_are_the_run_of_these_documents(case: Any, scored: bool) -> None:
    gold, lists = case
    collapsed: Any = {query_id: best(chunks) for query_id, chunks in lists.items()}
    if not scored:
        collapsed = {query_id: list(scores) for query_id, scores in collapsed.items()}
    if not any(collapsed.values()):
        return
    as_documents = sy.evaluate(asked(gold), [outputs(lists, scored=scored)], MEASURES)
    plain = sy.evaluate(gold, {"s": collapsed}, MEASURES)
    assert as_documents.query_ids == plain.query_ids
    assert as_documents.values.tobytes() == plain.values.tobytes()
    assert as_documents.judged.tolist() == plain.judged.tolist()


def test_a_document_is_at_its_best_chunk_and_counts_once() -> None:
    lists = {"q": [("a", 1, 3.0), ("b", 1, 2.5), ("a", 2, 2.0), ("c", 1, 1.0), ("b", 2, 0.5)]}
    scores = sy.evaluate(asked({"q": {"b": 1, "c": 1}}), [outputs(lists)], ["precision@3", "recall@3", "mrr"])
    assert scores.means.tolist() == [[2 / 3, 1.0, 0.5]]
    chunks = sy.evaluate(asked({"q": {"b": 1, "c": 1}}), [outputs(lists)], ["precision@3", "mrr"], unit="chunk")
    assert chunks.means.tolist() == [[1 / 3, 0.5]]


def test_of_one_score_the_greater_id_is_first() -> None:
    """As of any run of documents, whatever the chunks are called."""
    lists = {"q": [("d9", 1, 1.0), ("d10", 9, 1.0)]}
    assert sy.evaluate(asked({"q": {"d9": 1}}), [outputs(lists)], "mrr").means.item() == 1
    assert sy.evaluate(asked({"q": {"d10": 1}}), [outputs(lists)], "mrr").means.item() == 0.5


def test_a_chunk_twice_in_a_list_is_refused_or_settled_as_everywhere() -> None:
    lists = {"q": [("a", 1, 1.0), ("b", 1, 2.0), ("a", 1, 3.0)]}
    with pytest.raises(DuplicateError, match="retrieved twice for question 'q'"):
        sy.evaluate(asked({"q": {"a": 1}}), [outputs(lists)], "mrr")
    for policy, value in (("first", 0.5), ("max", 1.0)):
        scores = sy.evaluate(asked({"q": {"a": 1}}), [outputs(lists)], "mrr", on_duplicate=policy)  # type: ignore[arg-type]
        assert scores.means.item() == value


def test_a_score_that_is_none_is_refused() -> None:
    with pytest.raises(InputError, match="score"):
        sy.evaluate(asked({"q": {"a": 1}}), [outputs({"q": [("a", 1, float("nan")), ("a", 2, 3.0)]})], "mrr")


# Which unit it is -----------------------------------------------------------------------------------------------------

QUOTE = [{"qid": "q", "evidence": [{"doc": "a", "quote": "a 1"}]}]
ONE = {"q": [("b", 1, 2.0), ("b", 2, 1.5), ("a", 1, 1.0)]}


def test_documents_are_weighed_by_default_where_gold_names_whole_ones_alone() -> None:
    assert sy.evaluate(asked({"q": {"a": 1}}), [outputs(ONE)], "mrr").recipe["unit"] == "document"
    assert sy.evaluate(QUOTE, [outputs(ONE)], "mrr").recipe["unit"] == "chunk"
    mixed = [*asked({"q": {"a": 1}}), {**QUOTE[0], "qid": "r"}]
    assert sy.evaluate(mixed, [outputs(ONE)], "mrr").recipe["unit"] == "chunk"
    either = [{"qid": "q", "evidence": [{"doc": "a", "group": "g"}, {"doc": "b", "group": "g"}]}]
    assert sy.evaluate(either, [outputs(ONE)], "mrr").recipe["unit"] == "chunk"
    assert "unit" not in sy.evaluate({"q": {"a": 1}}, {"q": ["a"]}, "mrr").recipe


def test_other_gold_stands_for_its_document() -> None:
    assert sy.evaluate(QUOTE, [outputs(ONE)], "mrr", unit="chunk").means.item() == pytest.approx(1 / 3)
    assert sy.evaluate(QUOTE, [outputs(ONE)], "mrr", unit="document").means.item() == 0.5


def test_chunks_that_are_named_by_id_stand_for_their_document() -> None:
    labelled = [{"qid": "q", "gold_evidence": ["a/2", "a/1"]}]
    lists = {"q": [("b", 1, 2.0), ("a", 2, 1.5), ("a", 1, 1.0)]}
    assert sy.evaluate(labelled, [outputs(lists)], "recall@2", unit="document").means.item() == 1


@pytest.mark.parametrize(
    ("evidence", "reason"),
    [
        ([{"doc": "a"}, "a 1"], "names no document, and documents are evaluated; name its `doc`, or evaluate chunks"),
        ([{"doc": "a", "group": "g"}, {"doc": "b", "group": "g"}], "group 'g' has several documents"),
    ],
)
def test_gold_that_documents_cannot_hold_is_refused(evidence: list[Any], reason: str) -> None:
    with pytest.raises(InputError, match=f"question 'q'.*{reason}"):
        sy.evaluate([{"qid": "q", "evidence": evidence}], [outputs(ONE)], "mrr", unit="document")


def test_a_unit_that_does_not_exist_is_refused() -> None:
    for truth in (QUOTE, {"q": {"a": 1}}):
        with pytest.raises(InputError, match="unit must be 'chunk' or 'document', not 'page'"):
            sy.evaluate(truth, [outputs(ONE)], "mrr", unit="page")  # type: ignore[arg-type]


def test_measures_of_characters_are_of_chunks() -> None:
    with pytest.raises(MeasureError, match=r"span_recall@5 is of the characters that chunks show.*--unit chunk"):
        sy.evaluate(asked({"q": {"a": 1}}), [outputs(ONE)], "span_recall@5")
    assert sy.evaluate(asked({"q": {"a": 1}}), [outputs(ONE)], "evidence_recall@2").means.item() == 1


def test_a_truth_by_ids_weighs_documents_where_it_is_asked_to() -> None:
    truth = {"q": {"a": 1, "c": 0}}
    scores = sy.evaluate(truth, [outputs(ONE)], ["mrr", "judged@2"], unit="document")
    assert scores.means.tolist() == [[0.5, 0.5]]
    assert mapping_of(scores).kinds == {"document": 1}
    assert "unit:document" in str(scores.signature)


# Names ----------------------------------------------------------------------------------------------------------------

MANUAL, GUIDE = Document("manual", "Turn the key.", source="docs/manual.pdf"), Document("guide", "Pull it.")


def test_a_document_may_go_by_its_other_names() -> None:
    """In gold as in chunks, as far as the documents are at hand."""
    lines = [{"qid": "q", "retrieved": [{"id": "1", "doc": "guide"}, {"id": "2", "doc": "docs/manual.pdf"}]}]
    for name in ("manual", "manual.pdf"):
        scores = sy.evaluate(asked({"q": {name: 1}}), [Outputs(lines)], "mrr", documents=[MANUAL, GUIDE])
        assert scores.means.item() == 0.5
    truth = sy.evaluate({"q": {"manual.pdf": 1}}, [Outputs(lines)], "mrr", documents=[MANUAL, GUIDE], unit="document")
    assert truth.means.item() == 0.5


def test_a_result_without_a_document_is_one_by_its_id() -> None:
    lines = [{"qid": "q", "retrieved": [{"id": "b", "text": "x"}, {"id": "a", "text": "y"}]}]
    assert sy.evaluate(asked({"q": {"a": 1}}), [Outputs(lines)], "mrr").means.item() == 0.5
    with pytest.raises(InputError, match="document 'c', and no retrieved item has `doc`, nor an id that is"):
        sy.evaluate(asked({"q": {"c": 1}}), [Outputs(lines)], "mrr")


def test_chunks_of_a_corpus_say_which_document_an_id_is_of() -> None:
    corpus = Chunks.of([MANUAL, GUIDE], lambda text: [(0, 4), (4, len(text))])
    scores = sy.evaluate(
        asked({"q": {"guide": 1}}), {"q": ["manual#2", "manual#1", "guide#2"]}, "mrr", documents=corpus
    )
    assert scores.means.item() == 0.5


def test_outputs_of_one_corpus_share_their_labels() -> None:
    corpus = Chunks.of([MANUAL, GUIDE], lambda text: [(0, 4)])
    runs = {"s": {"q": ["manual#1"]}, "t": {"q": ["guide#1"]}}
    weighing = sy.weigh(asked({"q": {"guide": 1}}), runs, documents=corpus)
    assert weighing.weighed[0].labels is weighing.weighed[1].labels


# What is counted and said ---------------------------------------------------------------------------------------------


def mapping_of(scores: sy.Scores) -> GoldMapping:
    [mapping] = scores.gold
    assert mapping is not None
    return mapping


def test_documents_without_a_chunk_are_lost_and_still_gold() -> None:
    """The corpus lacks one, and another one is empty: they count, as relevant documents of any qrels do."""
    corpus = Chunks.of([MANUAL, Document("empty", "")], lambda text: [(0, len(text))] if text else [])
    gold = {"q": {"manual": 1, "empty": 1}, "r": {"gone": 1}}
    scores = sy.evaluate(asked(gold), {"q": ["manual#1"], "r": ["manual#1"]}, "recall@5", documents=corpus)
    assert scores.values.tolist() == [[[0.5, 0.0]]]
    mapping = mapping_of(scores)
    assert [why for _, _, why in mapping.lost] == ["its document gave no chunk", "there is no document 'gone'"]
    assert mapping.unwinnable == ("r",)
    assert "2 of 3 gold pieces are in no chunk: document 'empty' of q (no chunk is of this document)" in notes(scores)
    assert sy.gate(scores, baseline=scores, margin=0.1, max_unmapped=0.5, min_questions=1).outcome == "fail"


def test_documents_alone_say_what_the_corpus_lacks() -> None:
    lines = [{"qid": q, "retrieved": [{"id": "1", "doc": "guide"}]} for q in ("q", "r")]
    gold = asked({"q": {"manual": 1, "guide": 1}, "r": {"gone": 1}})
    weighing = sy.weigh(gold, [Outputs(lines)], documents=[MANUAL, GUIDE])
    assert mapping_of(weighing.scores("mrr")).codes == ("not_in_corpus",)
    counts = sy.diagnose(weighing, k=1).funnels[0].n_at_stage
    assert (counts["found"], counts["not_in_corpus"], counts["not_retrieved"]) == (1, 1, 1)


def test_notes_say_that_documents_are_weighed() -> None:
    scores = sy.evaluate(asked({"q": {"a": 1}}), [outputs(ONE)], "mrr")
    assert "Gold: 1 whole document; chunks are evaluated as their documents, each at its best chunk" in notes(scores)
    assert "按其所属文档评测" in notes(scores, "zh")


def test_lists_that_hold_fewer_documents_than_are_looked_at_are_noted() -> None:
    scores = sy.evaluate(asked({"q": {"a": 1}}), [outputs(ONE)], ["ndcg@3", "mrr"])
    assert "Lists of 3.0 chunks hold 2.0 documents on average, and 3 are looked at" in notes(scores)
    assert "3.0 个文本块的列表只含 2.0 篇文档，而指标要看前 3 篇" in notes(scores, "zh")
    assert "on average" not in notes(sy.evaluate(asked({"q": {"a": 1}}), [outputs(ONE)], "ndcg@2"))
    distinct = {"q": [("b", 1, 2.0), ("a", 1, 1.0)]}
    assert "on average" not in notes(sy.evaluate(asked({"q": {"a": 1}}), [outputs(distinct)], "ndcg@5"))


def test_json_holds_the_unit_and_reads_back(tmp_path: Any) -> None:
    scores = sy.evaluate(asked({"q": {"a": 1, "gone": 1}, "r": {"a": 0}}), [outputs(ONE)], ["ndcg@3"])
    path = tmp_path / "scores.json"
    path.write_text(as_json(scores))
    back = read_scores(path)
    assert back.gold == scores.gold
    assert back.recipe == scores.recipe
    assert notes(back) == notes(scores)
    assert list(back.notes["s"]) == [Note("few_documents_listed", {"chunks": 3.0, "documents": 2.0, "k": 3})]


def test_scores_of_different_units_do_not_mix() -> None:
    gold = asked({"q": {"a": 1}, "r": {"b": 1}})
    by_unit = {unit: sy.evaluate(gold, {unit: outputs(ONE)}, "mrr", unit=unit) for unit in ("chunk", "document")}  # type: ignore[arg-type]
    with pytest.raises(InputError, match="different unit cannot be put together: 'chunk' and 'document'"):
        sy.Scores.concat(by_unit.values())
    with pytest.raises(InputError, match="the scores evaluate documents, and the baseline chunks; evaluate both alike"):
        sy.gate(by_unit["document"], baseline=by_unit["chunk"], margin=0.1)
    with pytest.raises(InputError, match="these scores evaluate chunks; write them with `evaluate --unit document`"):
        sy.gate(by_unit["chunk"], max_failed=0.5, unit="document")


def test_documents_compare_with_a_run_of_documents() -> None:
    gold = asked({"q": {"a": 1}})
    of_chunks = sy.evaluate(gold, {"chunks": outputs(ONE)}, "mrr")
    of_documents = sy.evaluate({"q": {"a": 1}}, {"documents": {"q": ["b", "a"]}}, "mrr")
    assert sy.Scores.concat([of_chunks, of_documents]).means.tolist() == [[0.5], [0.5]]


def test_a_run_of_ids_beside_outputs_is_weighed_as_documents_too() -> None:
    scores = sy.evaluate(asked({"q": {"a": 1}}), {"s": outputs(ONE), "t": {"q": ["x", "y", "a"]}}, "mrr")
    assert scores.means.ravel().tolist() == [0.5, pytest.approx(1 / 3)]


def test_a_truth_is_gold_as_its_documents_are() -> None:
    gold = {"q": {"a": 1, "c": 0}, "r": {}}
    for form in (Truth(gold), Questions(asked(gold))):
        labels = DocumentResolver(form).resolve(outputs(ONE)).labels
        assert (labels.query_ids, labels.labels) == (["q", "r"], [{"a": 1.0, "c": 0.0}, {}])


# Diagnosis and report -------------------------------------------------------------------------------------------------


def test_a_diagnosis_follows_documents_through_the_stages() -> None:
    lists = {f"q{i}": [("b", n, 9.0 - n) for n in range(6)] + [("a", 1, 1.0)] for i in range(12)}
    gold = {f"q{i}": {"a" if i < 6 else "gone": 1} for i in range(12)}
    corpus = Chunks.of([Document("a", "x" * 60), Document("b", "y" * 60)], lambda text: [(n, n + 10) for n in range(9)])
    named = {q: [(doc, n + 1, score) for doc, n, score in chunks] for q, chunks in lists.items()}
    run = {q: {f"{doc}#{n}": score for doc, n, score in chunks} for q, chunks in named.items()}
    weighing = sy.weigh(asked(gold), {"s": run}, documents=corpus)
    diagnosis = sy.diagnose(weighing, k=2)
    counts = diagnosis.funnels[0].counts()
    assert (counts["found"], counts["not_in_corpus"]) == (6, 6)
    assert sy.diagnose(weighing, k=1).funnels[0].counts()["below_k"] == 6
    assert diagnosis.measure == "ndcg@2"
    (advice,) = [advice for advice in diagnosis.advice if advice.code == "not_in_corpus"]
    assert (advice.numbers["pieces"], advice.numbers["all_pieces"]) == (6, 12)


def test_an_answer_uses_a_document_where_it_cites_a_chunk_of_it() -> None:
    items = [{"id": f"{doc}#1", "doc": doc} for doc in "ab"]
    answers = {"q": "It is so [a#1].", "r": "It is not [b#1]."}
    lines = [{"qid": q, "retrieved": items, "answer": answer} for q, answer in answers.items()]
    weighing = sy.weigh(asked({"q": {"a": 1}, "r": {"a": 1}}), [Outputs(lines)])
    assert sy.diagnose(weighing, k=2).funnels[0].lists()["unused"] == ["r"]


def test_lists_of_a_report_are_documents_with_their_texts() -> None:
    documents = [Document("a", "The first " + "x" * 90), Document("b", "The second " + "y" * 90)]
    corpus = Chunks.of(documents, lambda text: [(0, 50), (50, len(text))])
    weighing = sy.weigh(asked({"q": {"a": 1}}), {"s": {"q": ["b#1", "b#2", "a#1"]}}, documents=corpus)
    from steelyard.reports.details.details import Details

    details = Details.of(weighing)
    assert list(details.lists.ids) == ["b", "a"]
    assert [text and text[:10] for text in details.lists.texts] == ["The second", "The first "]
    [frame] = weighing.lists(5)
    assert frame.rows() == [("q", "b", 1, None), ("q", "a", 2, 1.0)]
