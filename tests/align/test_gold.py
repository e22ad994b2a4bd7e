"""Where gold is found: quotes, pages, names of documents, what is lost, and how the report tells of it."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import steelyard as sy
from steelyard.align.resolver import GoldMapping
from steelyard.base.errors import InputError
from steelyard.data.chunk_table import Corpus
from steelyard.data.corpus import Chunks, Document
from steelyard.data.outputs import Outputs
from steelyard.data.questions import Questions
from steelyard.experiment.table.json import as_json
from steelyard.reports.views.scores import scores_sheet
from steelyard.reports.words import read_words
from steelyard.text.spans import SpanRule, Spans, cover, join
from tests.hypothesis_profiles import examples

TEXT = "Anna Pávlovna had a\r\ncough.  The cat sat. The dog ran. The cat slept. 安娜咳嗽了。"
NOVEL = Document("novel", TEXT)


def weigh(
    evidence: list[Any], documents: list[Document], *chunks: tuple[int, int], retrieved: list[str] | None = None,
    measures: Any = ("evidence_recall", "span_recall", "span_precision"), **options: Any,
) -> sy.Scores:  # fmt: skip
    """One question against all chunks of a corpus, in order."""
    corpus = Chunks.of(documents, lambda text: [(a, min(b, len(text))) for a, b in chunks or [(0, len(text))]])
    return sy.evaluate([{"qid": "q", "evidence": evidence}], {"q": corpus.ids if retrieved is None else retrieved},
                       measures, documents=corpus, **options)  # fmt: skip


def listed(scores: sy.Scores) -> list[float]:
    return [float(value) for value in scores.values.ravel()]


def report(scores: sy.Scores) -> GoldMapping:
    [found] = scores.gold
    assert found is not None
    return found


def place(words: str) -> tuple[int, int]:
    start = TEXT.index(words)
    return start, start + len(words)


# Quotes --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("quote", "words"),
    [
        ("had a cough.", "had a\r\ncough."),
        ("ANNA PÁVLOVNA", "Anna Pávlovna"),
        (" cough. the CAT ", "cough.  The cat"),
        ("娜咳嗽", "娜咳嗽"),
    ],
)
def test_a_quote_is_exactly_its_characters(quote: str, words: str) -> None:
    gold = [{"doc": "novel", "quote": quote}]
    start, end = place(words)
    assert listed(weigh(gold, [NOVEL], (start, end), rule="contains")) == [1, 1, 1]
    assert listed(weigh(gold, [NOVEL], (start + 1, end), rule="contains")) == pytest.approx([0, 1 - 1 / len(words), 1])
    assert listed(weigh(gold, [NOVEL], (start, end - 1), rule="share>=0.5"))[0] == 1


def test_a_quote_that_is_not_there_is_an_error_with_the_nearest_passage() -> None:
    with pytest.raises(InputError) as error:
        weigh([{"doc": "novel", "quote": "The cat sit."}], [NOVEL])
    assert "questions, question 1, question 'q': document 'novel'" in str(error.value)
    assert "the quote 'The cat sit.' is not in the text" in str(error.value)
    start, end = place("The cat sat.")
    assert f"the nearest passage is at characters {start} to {end}" in str(error.value)
    assert "'The cat sat.'" in str(error.value)


def test_several_errors_are_told_at_once() -> None:
    quotes = [{"doc": "novel", "quote": f"nothing like it {i}"} for i in range(5)]
    with pytest.raises(InputError) as error:
        weigh([*quotes, {"doc": "novel", "start": 0, "end": 5000}], [NOVEL])
    assert str(error.value).count("questions, question 1") == 3
    assert "and 3 more" in str(error.value)


def test_steps_make_a_quote_match() -> None:
    document = Document("d", "He said “no” — at once.")
    gold = [{"doc": "d", "quote": 'said "no" - at'}]
    with pytest.raises(InputError, match="it is found with steps lower, white_space, quotes, dashes"):
        weigh(gold, [document])
    scores = weigh(gold, [document], steps=["lower", "white_space", "quotes", "dashes"])
    assert listed(scores)[:2] == [1, 1]
    assert report(scores).steps == ("lower", "white_space", "quotes", "dashes")


def test_occurrences_are_alternatives_and_one_may_be_named() -> None:
    first, second = TEXT.index("The cat"), TEXT.rindex("The cat")
    chunks = ((0, 3), (second, second + 7), (first, first + 7))
    gold = {"doc": "novel", "quote": "the cat"}
    measures = [f"{name}@{k}" for name in ("evidence_recall", "span_recall", "precision") for k in (1, 2, 3)]

    def at(piece: dict[str, Any]) -> list[float]:
        corpus = Chunks.of([NOVEL], lambda text: sorted(chunks))
        order = [corpus.ids[sorted(chunks).index(chunk)] for chunk in chunks]
        return listed(weigh([piece], [NOVEL], *sorted(chunks), retrieved=order, measures=measures))

    assert at(gold) == pytest.approx([0, 1, 1, 0, 0, 1, 0, 1 / 2, 2 / 3]) or at(gold) == pytest.approx(
        [0, 1, 1, 0, 1, 1, 0, 1 / 2, 2 / 3]
    )
    assert at({**gold, "occurrence": 2}) == pytest.approx([0, 1, 1, 0, 1, 1, 0, 1 / 2, 1 / 3])
    assert at({**gold, "occurrence": 1}) == pytest.approx([0, 0, 1, 0, 0, 1, 0, 0, 1 / 3])
    with pytest.raises(InputError, match="occurs 2 times, so there is no occurrence 3"):
        at({**gold, "occurrence": 3})


def test_a_span_beyond_its_document() -> None:
    with pytest.raises(InputError, match=f"the document has {len(TEXT)} characters; was it labelled on another"):
        weigh([{"doc": "novel", "start": 0, "end": len(TEXT) + 1}], [NOVEL])
    assert listed(weigh([{"doc": "novel", "start": 0, "end": len(TEXT)}], [NOVEL])) == [1, 1, 1]


def chunk(id: str, start: int, end: int, **more: Any) -> dict[str, Any]:
    return {"id": id, "doc": "novel", "start": start, "end": end, "text": TEXT[start:end], **more}


def outputs(*items: Any) -> dict[str, Outputs]:
    return {"s": Outputs([{"qid": "q", "retrieved": list(items)}])}


def test_a_quote_is_found_in_the_texts_of_the_outputs() -> None:
    """Without documents the texts say whether, and the offsets where."""
    start, end = place("The dog ran.")
    gold = [{"qid": "q", "evidence": [{"doc": "novel", "quote": "the dog ran."}]}]
    measures = ["evidence_recall@1", "evidence_recall", "span_recall", "span_precision"]
    found = sy.evaluate(gold, outputs(chunk("a", 0, 5), chunk("b", start - 6, end)), measures)
    assert listed(found) == pytest.approx([0, 1, 1, 12 / (5 + 18)])
    other = chunk("c", start, end) | {"doc": "another book"}
    assert listed(sy.evaluate(gold, outputs(other), measures))[:2] == [0, 0]
    bare = {"id": "c", "text": "And the DOG  ran."}
    values = listed(sy.evaluate(gold, outputs(bare), measures))
    assert values[:2] == [1, 1]
    assert np.isnan(values[2:]).all()


def test_documents_and_outputs_with_texts_alone() -> None:
    """The documents tell where a quote stands, the outputs only what the chunks say: the texts decide."""
    gold = [{"qid": "q", "evidence": [{"doc": "novel", "quote": "the dog ran."}]}]
    scores = sy.evaluate(gold, outputs({"id": "a", "text": "x"}, {"id": "b", "text": "the dog ran. The cat"}),
                         ["evidence_recall@1", "evidence_recall@2"], documents=[NOVEL])  # fmt: skip
    assert listed(scores) == [0, 1]


def test_texts_match_both_ways() -> None:
    gold = [{"qid": "q", "evidence": ["Anna Pávlovna had a cough. The cat sat."]}]
    measures = ["evidence_recall@1", "precision@1"]
    for text, want in (
        ("anna pávlovna had\na cough.", 1),
        ("Anna", 0),
        ("had a cough. The cat", 1),
        ("Anna had", 0),
        ("...", 0),
        (TEXT, 1),
    ):
        assert listed(sy.evaluate(gold, outputs({"id": "c", "text": text}), measures)) == [want, want], text


# Pages, documents, names ---------------------------------------------------------------------------------------------

MANUAL = Document("manual.pdf", "first page|second page|third page", pages=(0, 11, 23), source="docs/manual.pdf")


def test_pages_go_through_the_offsets_of_the_loader() -> None:
    gold = [{"doc": "manual.pdf", "page": 2}]
    assert listed(weigh(gold, [MANUAL], (11, 23))) == [1, 1, 1]
    assert listed(weigh(gold, [MANUAL], (0, 11), (23, 33)))[:2] == [0, 0]
    assert listed(weigh(gold, [MANUAL], (0, 12), rule="contains")) == pytest.approx([1, 1 / 12, 1 / 12])
    with pytest.raises(InputError, match=r"page 4 of 'manual\.pdf': the document has 3 pages"):
        weigh([{"doc": "manual.pdf", "page": 4}], [MANUAL])
    with pytest.raises(InputError, match=r"has no pages; only PDF files have|has `page`"):
        weigh([{"doc": "novel", "page": 1}], [NOVEL])


def test_pages_that_the_system_tells() -> None:
    gold = [{"qid": "q", "evidence": [{"doc": "m.pdf", "pages": "3-4"}]}]
    items = [
        {"id": "a", "doc": "m.pdf", "page": 2, "text": "x"},
        {"id": "b", "doc": "n.pdf", "page": 3, "text": "y"},
        {"id": "c", "doc": "m.pdf", "pages": [4, 5], "text": "z"},
    ]
    got = listed(sy.evaluate(gold, outputs(*items), [f"evidence_recall@{k}" for k in (1, 2, 3)]))
    assert got == [0, 0, 1]


def test_a_system_that_found_nothing_of_the_pdf_is_not_refused() -> None:
    """It tells pages where there are any; what it retrieved has none."""
    gold = [{"qid": "q", "evidence": [{"doc": "m.pdf", "page": 3}]}]
    item = {"id": "a", "doc": "notes.txt", "page": None, "text": "x"}
    assert listed(sy.evaluate(gold, outputs(item), "evidence_recall")) == [0]


@pytest.mark.parametrize("name", ["manual.pdf", "manual", "docs/manual.pdf", "docs/manual"])
def test_a_document_by_its_other_names(name: str) -> None:
    gold = [
        {"doc": name, "start": 0, "end": 5},
        {"doc": name, "quote": "third"},
        {"doc": name},
        {"doc": name, "page": 1},
    ]
    assert listed(weigh(gold, [MANUAL, NOVEL]))[:2] == [1, 1]
    item = {"id": "c1", "doc": name, "start": 0, "end": 5, "text": "first"}
    gold = [{"doc": "manual.pdf", "start": 0, "end": 5}]
    scores = sy.evaluate(
        [{"qid": "q", "evidence": gold}], outputs(item), ["evidence_recall", "span_recall"], documents=[MANUAL, NOVEL]
    )
    assert listed(scores) == [1, 1]


def test_each_chunk_of_a_whole_document_counts_where_chunks_are_weighed() -> None:
    scores = weigh(
        [{"doc": "novel"}], [NOVEL, MANUAL], (0, 10), (10, 20), measures=["precision@4", "recall@1"], unit="chunk"
    )
    assert listed(scores) == [0.5, 0.5]
    assert report(scores).n_coarse == 1
    assert any("--unit document evaluates documents" in note for note in scores_sheet(scores, read_words("en")).notes)
    assert not any(
        "--unit" in note
        for note in scores_sheet(weigh([{"doc": "novel", "start": 0, "end": 1}], [NOVEL]), read_words("en")).notes
    )


# What is lost --------------------------------------------------------------------------------------------------------

QUESTIONS: list[dict[str, Any]] = [
    {"qid": "won", "evidence": [{"doc": "novel", "start": 0, "end": 4}, {"doc": "novel", "start": 40, "end": 50}]},
    {"qid": "lost", "evidence": [{"doc": "novel", "start": 8, "end": 12}]},
    {"qid": "nowhere", "evidence": [{"doc": "no such", "start": 8, "end": 12}]},
    {"qid": "gone", "gold_evidence": ["novel#9"]},
    {"qid": "empty", "evidence": []},
]


def lossy(**options: Any) -> sy.Scores:
    corpus = Chunks.of([NOVEL], lambda text: [(0, 10), (11, 20)])
    run = {question["qid"]: corpus.ids for question in QUESTIONS}
    return sy.evaluate(QUESTIONS, {"s": Outputs([{"qid": q, "retrieved": ids} for q, ids in run.items()])},
                       ["precision@2", "evidence_recall"], documents=corpus, rule="contains", **options)  # fmt: skip


def test_lost_pieces_and_unwinnable_questions_are_counted_and_listed() -> None:
    scores = lossy()
    status = {row["query_id"]: row["status"] for row in scores.per_query.filter(measure="precision@2").to_dicts()}
    assert status == {"won": "ok", "lost": "unwinnable", "nowhere": "unwinnable", "gone": "unwinnable",
                      "empty": "no_relevant"}  # fmt: skip
    assert scores.mean()["unwinnable"].to_list() == [3, 3]
    found = report(scores)
    assert sorted(found.unwinnable) == ["gone", "lost", "nowhere"]
    assert set(found.lost) == {
        ("won", "characters 40 to 50 of 'novel'", "no chunks hold it (rule contains)"),
        ("lost", "characters 8 to 12 of 'novel'", "no chunks hold it (rule contains)"),
        ("nowhere", "characters 8 to 12 of 'no such'", "there is no document 'no such'"),
        ("gone", "chunk 'novel#9'", "the corpus has no chunk with this id"),
    }
    assert (found.n_pieces, found.kinds, found.rule, found.complete) == (5, {"span": 4, "chunk": 1}, "contains", True)
    assert dict(zip(scores.query_ids, scores.values[0, 1].tolist(), strict=True)) == {
        "won": 0.5, "lost": 0, "nowhere": 0, "gone": 0, "empty": 0
    }  # fmt: skip


def test_the_notes_tell_of_losses() -> None:
    notes = "\n".join(scores_sheet(lossy(), read_words("en")).notes)
    assert re.search(r"Gold: 4 spans, 1 chunk id, held by the rule contains", notes)
    assert re.search(r"4 of 5 gold pieces are in no chunk", notes)
    assert re.search(r"3 questions cannot be won, as no chunk holds any of the gold: gone, lost, nowhere", notes)
    assert "1 of 5 questions is without a relevant document" in notes
    skipped = "\n".join(scores_sheet(lossy(no_relevant="skip"), read_words("en")).notes)
    assert "cannot be won" in skipped


WON, CUT, NOWHERE = ({"doc": doc, "start": a, "end": a + 4} for doc, a in (("novel", 0), ("novel", 8), ("no such", 0)))
COUNTED: list[tuple[str, list[dict[str, Any]], dict[str, int], int]] = [
    ("judged 0", [WON, CUT | {"gain": 0}], {"span": 1}, 0),
    ("lost, and judged 0", [CUT, NOWHERE | {"gain": 0}], {"span": 1}, 1),
    ("lost alternatives", [CUT | {"group": 1}, NOWHERE | {"group": 1}], {"span": 1}, 1),
    ("an alternative is held", [NOWHERE | {"group": 1}, WON | {"group": 1}], {"span": 1}, 0),
    ("kinds", [WON, {"doc": "novel"}, {"id": "novel#1", "gain": 2}], {"span": 1, "document": 1, "chunk": 1}, 0),
]


@pytest.mark.parametrize(("gold", "kinds", "n_lost"), [case[1:] for case in COUNTED], ids=[case[0] for case in COUNTED])
def test_gold_pieces_have_one_count(gold: list[dict[str, Any]], kinds: dict[str, int], n_lost: int) -> None:
    """What a note on the gold, one on what is lost, and the funnel count: none judged 0, alternatives as one."""
    corpus = Chunks.of([NOVEL], lambda text: [(0, 10), (11, 20)])
    weighing = sy.weigh([{"qid": "q", "evidence": gold}], {"s": Outputs([{"qid": "q", "retrieved": corpus.ids}])},
                        documents=corpus, rule="contains")  # fmt: skip
    mapping = report(weighing.scores("evidence_recall"))
    (funnel,) = sy.diagnose(weighing).funnels
    assert (mapping.kinds, len(mapping.lost), len(mapping.codes)) == (kinds, n_lost, n_lost)
    assert mapping.n_pieces == int(funnel.n_gold.sum())
    assert mapping.n_pieces - n_lost == funnel.n_at_stage["found"]


def test_json_tells_of_losses() -> None:
    told = json.loads(as_json(lossy()))["systems"]["s"]
    assert told["counts"]["unwinnable"] == 3
    assert told["gold"]["rule"] == "contains"
    assert told["gold"]["pieces"] == {"span": 4, "chunk": 1}
    assert told["gold"]["corpus_known"] is True
    assert sorted(told["gold"]["unwinnable"]) == ["gone", "lost", "nowhere"]
    assert {(row["query_id"], row["why"], row["code"]) for row in told["gold"]["lost"]} >= {
        ("gone", "the corpus has no chunk with this id", "not_in_corpus")
    }
    assert len(told["gold"]["lost"]) == 4


def test_a_document_is_missing_where_all_chunks_or_all_documents_are_at_hand(tmp_path: Path) -> None:
    gold = [{"doc": "novel", "start": 0, "end": 4}, {"doc": "no such", "start": 0, "end": 4}]
    lost = (("q", "characters 0 to 4 of 'no such'", "there is no document 'no such'"),)
    row = chunk("a", 0, 10)
    chunks = tmp_path / "chunks.jsonl"
    chunks.write_text(json.dumps(row) + "\n")
    for corpus in (chunks, [NOVEL]):
        scores = sy.evaluate([{"qid": "q", "evidence": gold}], outputs(row), "evidence_recall", documents=corpus)  # type: ignore
        assert report(scores).lost == lost
        assert listed(scores) == [0.5]


def test_of_an_unknown_corpus_nothing_is_said_to_be_lost() -> None:
    gold = [{"qid": "q", "evidence": [{"doc": "novel", "start": 0, "end": 4}, {"doc": "other", "start": 0, "end": 4},
                                      {"id": "c9"}]}]  # fmt: skip
    scores = sy.evaluate(gold, outputs(chunk("a", 0, 10)), ["recall", "ndcg"])
    found = report(scores)
    assert (found.complete, found.lost, found.unwinnable) == (False, (), ())
    assert listed(scores)[0] == pytest.approx(1 / 3)
    assert listed(scores)[1] < 1
    notes = scores_sheet(scores, read_words("en")).notes
    assert any("not all chunks of the corpus are known" in note for note in notes)
    assert any("what it retrieved itself, and gold pieces beyond that" in note for note in notes)


def test_an_empty_corpus_holds_nothing() -> None:
    corpus = Chunks.of([NOVEL], lambda text: [])
    scores = sy.evaluate([{"qid": "q", "evidence": [{"doc": "novel", "start": 0, "end": 4}]}],
                         {"s": Outputs([{"qid": "q", "retrieved": []}])}, "evidence_recall",
                         documents=corpus)  # fmt: skip
    assert scores.unwinnable.tolist() == [[True]]


def test_retrieved_chunks_that_the_corpus_lacks_make_characters_unknown() -> None:
    scores = weigh([{"doc": "novel", "start": 0, "end": 4}], [NOVEL], (0, 8), retrieved=["novel#1", "zz"],
                   measures=["precision@2", "evidence_recall", "span_precision"])  # fmt: skip
    assert listed(scores)[:2] == [0.5, 1]
    assert np.isnan(listed(scores)[2])
    assert scores.per_query["status"].to_list() == ["ok", "ok", "unplaced"]


def test_alternatives_are_worth_the_same() -> None:
    gold = [
        {"doc": "novel", "start": 0, "end": 4, "gain": 1, "group": "g"},
        {"doc": "novel", "start": 4, "end": 8, "gain": 2, "group": "g"},
    ]
    with pytest.raises(InputError, match="question 1: group 'g' has pieces of gain 1 and 2"):
        weigh(gold, [NOVEL])


def test_groups_are_of_one_question() -> None:
    questions = Questions(
        [{"qid": q, "evidence": [{"text": t, "group": "g"}]} for q, t in (("a", "cat"), ("b", "dog"))]
    )
    lines = [{"qid": q, "retrieved": [{"id": "c", "text": "the cat"}]} for q in "ab"]
    assert listed(sy.evaluate(questions, {"s": Outputs(lines)}, "evidence_recall")) == [1, 0]


def test_evidence_goes_before_labels() -> None:
    question = {"qid": "q", "gold_evidence": ["b"], "evidence": ["the cat"]}
    scores = sy.evaluate([question], outputs({"id": "a", "text": "the cat"}, {"id": "b", "text": "x"}), "mrr")
    assert listed(scores) == [1]


def test_a_corpus_of_another_kind_is_refused() -> None:
    for corpus in (5, [], ["text"], {"d": "text"}):
        with pytest.raises(InputError, match="corpus: cannot be read from"):
            sy.evaluate([{"qid": "q", "evidence": ["a"]}], {"q": ["c"]}, "mrr", documents=corpus)
    assert Corpus().chunks is None


# Arithmetic of spans -------------------------------------------------------------------------------------------------


def test_rules_print_and_parse_back() -> None:
    for text in ("any", "contains", "share>=0.5", "share>=0.25", "share>=1"):
        assert str(SpanRule.parse(text)) == text
        assert SpanRule.parse(str(SpanRule.parse(f" {text.upper()} "))) == SpanRule.parse(text)
    assert str(SpanRule.parse("share >= .5")) == "share>=0.5"


spans = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 20), st.integers(1, 8)), max_size=8)


def columns(rows: list[tuple[int, int, int]]) -> Spans:
    flat = np.array(rows, np.int64).reshape(-1, 3)
    return Spans(flat[:, 0], flat[:, 1], flat[:, 1] + flat[:, 2])


@examples(300)
@given(spans, spans, st.sampled_from([0.0, 0.3, 0.5, 1.0]))
def test_join_is_the_double_loop(gold: list[Any], chunks: list[Any], least: float) -> None:
    pairs = [(i, j) for i, (d, a, n) in enumerate(gold) for j, (e, b, m) in enumerate(chunks)
             if d == e and (held := min(a + n, b + m) - max(a, b)) > 0 and held >= least * n]  # fmt: skip
    found = join(columns(gold), columns(chunks), least)
    assert list(zip(*(column.tolist() for column in found), strict=True)) == pairs


owned = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1), st.integers(0, 12), st.integers(1, 6)), max_size=6)


@examples(300)
@given(owned, owned)
def test_cover_counts_every_character_once(gold: list[Any], shown: list[Any]) -> None:
    """Against a dict that knows of every character whether it is gold, and when it was first shown."""
    want: dict[tuple[int, int, int], list[Any]] = {}
    for q, d, a, n in gold:
        for i in range(a, a + n):
            want.setdefault((q, d, i), [False, 0])[0] = True
    for rank, (q, d, a, n) in enumerate(shown, 1):
        for i in range(a, a + n):
            known = want.setdefault((q, d, i), [False, 0])
            known[1] = known[1] or rank
    counts: dict[tuple[int, bool, int], int] = {}
    for (q, _, _), (is_gold, rank) in want.items():
        counts[q, is_gold, rank] = counts.get((q, is_gold, rank), 0) + 1

    def taken(rows: list[Any]) -> tuple[Any, Spans]:
        return np.array([row[0] for row in rows], np.int64), columns([row[1:] for row in rows])

    cut = cover(*taken(gold), *taken(shown), np.arange(1, len(shown) + 1))
    found: dict[tuple[int, bool, int], int] = {}
    for q, n, rank, is_gold in zip(
        cut.query.tolist(), cut.length.tolist(), cut.rank.tolist(), cut.gold.tolist(), strict=True
    ):
        found[q, is_gold, rank] = found.get((q, is_gold, rank), 0) + n
    assert found == counts
