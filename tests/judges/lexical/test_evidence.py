"""The best sentence of a text for another, and what of an answer is not supported."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.judges.lexical import LexicalJudge, best_sentence, evidence_scores, unsupported_spans
from steelyard.judges.lexical.words import forms
from steelyard.text.sentences import sentence_spans
from tests.hypothesis_profiles import examples

WORDS = ("hall", "opens", "9", "12", "Rome", "馆", "开放", "三百元", "不", "的", ".", "。", "\n\n")
texts = st.lists(st.sampled_from(WORDS), max_size=15).map(" ".join) | st.text(max_size=40)

MUSEUM = "The museum has a garden with old trees. It opens at 9. Its cafe opens later, at 11."
BOWUGUAN = "博物馆有一座花园。开放时间为九点到十七点。咖啡馆较晚开放。"


@pytest.mark.parametrize(
    ("hypothesis", "premise", "sentence"),
    [
        ("The museum opens at 9.", MUSEUM, "It opens at 9."),
        ("There are old trees at the museum.", MUSEUM, "The museum has a garden with old trees."),
        ("The cafe opens at eleven.", MUSEUM, "Its cafe opens later, at 11."),
        ("九点开放", BOWUGUAN, "开放时间为九点到十七点。"),
        ("花園", BOWUGUAN, "博物馆有一座花园。"),
    ],
)
def test_the_best_sentence(hypothesis: str, premise: str, sentence: str) -> None:
    span = best_sentence(hypothesis, premise)
    assert span is not None
    assert premise[slice(*span)] == sentence


@pytest.mark.parametrize(
    ("hypothesis", "premise"), [("", MUSEUM), ("Zebra", MUSEUM), ("museum", ""), ("斑马", BOWUGUAN)]
)
def test_no_sentence_without_a_common_word(hypothesis: str, premise: str) -> None:
    assert best_sentence(hypothesis, premise) is None


def test_of_equally_good_sentences_the_first() -> None:
    assert best_sentence("It opens.", "The hall opens. The yard opens.") == (0, 15)


@given(texts, texts)
@examples(200)
def test_evidence_is_that_of_a_naive_twin(hypothesis: str, premise: str) -> None:
    sentences = [set(forms(premise[start:end])) for start, end in sentence_spans(premise)]
    own = set(forms(hypothesis))
    expected = []
    for sentence in sentences:
        holders = {word: sum(word in other for other in sentences) for word in own.union(*sentences)}
        common = sum(1 / holders[word] for word in own & sentence)
        votes = sum(1 / holders[word] for word in own if holders[word])
        size = sum(1 / holders[word] for word in sentence)
        expected.append(1.1 * common / (votes + 0.1 * size) if common else 0)
    scores = evidence_scores(hypothesis, [premise[start:end] for start, end in sentence_spans(premise)])
    assert scores == pytest.approx(expected)
    assert all(0 <= score <= 1 + 1e-9 for score in scores)


@given(texts)
@examples(200)
def test_nothing_of_a_text_is_unsupported_by_itself(text: str) -> None:
    assert unsupported_spans(text, text) == []


@given(texts, texts)
@examples(200)
def test_unsupported_spans_are_in_order_and_apart(answer: str, context: str) -> None:
    spans = unsupported_spans(answer, context)
    ends = [0, *(end for _, end in spans), len(answer)]
    assert all(ends[i] <= start < end <= len(answer) for i, (start, end) in enumerate(spans))


@pytest.mark.parametrize(
    ("answer", "unsupported"),
    [
        ("It opens at 9. Famous paintings hang there.", ["Famous paintings hang there."]),
        ("The museum has a garden with 12 old trees.", ["12"]),
        ("Welcome! It opens at 9.", ["Welcome!"]),
        ("?! It opens at 9.", []),
        ("", []),
    ],
)
def test_unsupported_spans(answer: str, unsupported: list[str]) -> None:
    assert [answer[start:end] for start, end in unsupported_spans(answer, MUSEUM)] == unsupported


def test_missing_words_in_chinese_are_not_shown_twice() -> None:
    text = "博物馆的花园和三百棵古树"
    missing = LexicalJudge().missing_spans(text, BOWUGUAN)
    assert [text[start:end] for start, end in missing] == ["三百棵古树"]
