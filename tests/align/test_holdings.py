"""Chunks that hold a passage together: shares of it, each character once, by places and by texts alone."""

import json
import math
import re
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import steelyard as sy
from steelyard.data.corpus import Chunks, Document
from steelyard.data.outputs import Outputs
from steelyard.demo import DATA
from steelyard.text.matching import overlaps_of_texts
from tests.hypothesis_profiles import examples

ENGLISH = "Return the drill to the locker before closing time, wipe it dry, and hang the key on the third hook."
CHINESE = "归还电钻时请先擦干净,再放回储物柜,钥匙挂在第三个挂钩上,逾期每天收取五元滞纳金。"
PASSAGES = {"en": ENGLISH, "zh": CHINESE}
MEASURES = ("evidence_recall", "mrr", "hit_rate", "recall")
FORMS = ("span", "quote", "text")


def gold_of(form: str, text: str, start: int, end: int) -> dict[str, Any]:
    forms: dict[str, dict[str, Any]] = {
        "span": {"doc": "d", "start": start, "end": end},
        "quote": {"doc": "d", "quote": text[start:end]},
        "text": {"text": text[start:end]},
    }
    return forms[form]


def document(language: str) -> tuple[Document, int, int]:
    """The passage between two others, and where it is."""
    before, after = (
        ("Lend a tool for a week. ", " Ask at the desk.") if language == "en" else ("工具可借一周。", "请到前台询问。")
    )
    return Document("d", before + PASSAGES[language] + after), len(before), len(before) + len(PASSAGES[language])


def weighed(form: str, language: str, spans: list[tuple[int, int]], *, how: str, **options: Any) -> list[float]:
    """Values of chunks in the order given: of a pipeline, of outputs with texts alone, or those beside documents."""
    doc, start, end = document(language)
    question = [{"qid": "q", "query": "?", "evidence": [gold_of(form, doc.text, start, end)]}]
    if how == "chunks":
        corpus = Chunks.of([doc], lambda text: spans)
        scores = sy.evaluate(question, {"q": corpus.ids}, MEASURES, documents=corpus, unit="chunk", **options)
    else:
        items = [{"id": f"c{i}", "doc": "d", "text": doc.text[a:b]} for i, (a, b) in enumerate(spans)]
        corpus = [doc] if how == "documents" else None
        scores = sy.evaluate(
            question, {"s": Outputs([{"qid": "q", "retrieved": items}])}, MEASURES, documents=corpus, **options
        )
    return [float(value) for value in scores.values[0, :, 0]]


HOW = [(form, how) for form in FORMS for how in ("chunks", "documents", "texts") if (form, how) != ("span", "texts")]


@pytest.mark.parametrize("language", PASSAGES)
@pytest.mark.parametrize(("form", "how"), HOW)
def test_one_character_is_no_passage_and_parts_add_up(form: str, how: str, language: str) -> None:
    _, start, end = document(language)
    third = (end - start) // 3
    first, second, last = (start, start + third), (start + third, start + 2 * third), (start + 2 * third, end)
    nothing, at_once, second_rank = [0.0] * 4, [1.0] * 4, [1.0, 0.5, 1.0, 1.0]
    for spans, want in (
        ([(start, start + 1)], nothing),
        ([first], nothing),
        ([(start, end - third)], at_once),
        ([first, first], nothing),
        ([first, (start, start + third - 2)], nothing),
        ([first, last], second_rank),
        ([first, (start + third - 3, start + 2 * third)], second_rank),
        ([last, first, second], second_rank),
    ):
        distinct = list(dict.fromkeys(spans)) if how == "chunks" else spans
        assert weighed(form, language, distinct, how=how) == pytest.approx(want), spans
    for rule in ("contains", "share>=0.9"):
        assert weighed(form, language, [first, last], how=how, rule=rule) == nothing
        assert weighed(form, language, [first, last, second], how=how, rule=rule) == pytest.approx([1, 1 / 3, 1, 1])


def test_parts_of_different_documents_are_no_passage() -> None:
    half = len(ENGLISH) // 2
    items = [{"id": "a", "doc": "a", "text": ENGLISH[: half - 5]}, {"id": "b", "doc": "b", "text": ENGLISH[half + 5 :]}]
    for second, want in (("b", 0.0), ("a", 1.0)):
        lines = [{"qid": "q", "retrieved": [items[0], items[1] | {"doc": second}]}]
        assert sy.evaluate([{"qid": "q", "evidence": [ENGLISH]}], lines, "evidence_recall").means[0, 0] == want


OVERLAPS: list[tuple[str, str, str, tuple[int, int, bool] | None]] = [
    ("gold in chunk", "the third hook", "hang it on the third hook.", (0, 12, False)),
    ("chunk in gold", "hang it on the third hook", "on the third hook", (6, 20, True)),
    ("end of gold, too short", "wipe it dry, and hang the key", "hang the key on the third hook", None),
    ("end of gold, telling", "wipe it dry, and hang the red key", "and hang the red key on", (10, 26, True)),
    ("start of gold", "hang the red key here", "wipe it dry and hang the red key here", (0, 17, True)),
    ("one word alike", "the tool returns", "returns are free", None),
    ("nothing alike", "the third hook", "on the second shelf", None),
    ("Chinese end", "请先擦干净再放回储物柜", "再放回储物柜,谢谢", (5, 11, True)),
    ("Chinese, too short an end", "请先擦干净再放回柜", "放回柜后离开", None),
    ("Chinese within", "请先擦干净再放回储物柜", "擦干净", (2, 5, False)),
]


@pytest.mark.parametrize(("gold", "chunk", "want"), [case[1:] for case in OVERLAPS], ids=[case[0] for case in OVERLAPS])
def test_overlaps_of_texts(gold: str, chunk: str, want: tuple[int, int, bool] | None) -> None:
    found = overlaps_of_texts([gold], [chunk])
    got = list(zip(found.start.tolist(), found.end.tolist(), found.is_telling.tolist(), strict=True))
    assert got == ([] if want is None else [want])


def test_equal_chunks_are_equal_stretches_in_turn() -> None:
    found = overlaps_of_texts(["on the third hook, on the third hook"], ["on the third hook", "x", "on the third hook"])
    assert list(zip(found.chunk.tolist(), found.start.tolist(), found.end.tolist(), strict=True)) == [
        (0, 0, 14),
        (2, 15, 29),
    ]


LETTERS = st.text("ab c天地人\n", min_size=2, max_size=40).filter(lambda text: any(map(str.isalnum, text)))


@st.composite
def cuttings(draw: st.DrawFn) -> tuple[str, tuple[int, int], list[int], list[int]]:
    """A text, a gold span, coarse borders, and finer ones among which these are."""
    text = draw(LETTERS)
    start = draw(st.integers(0, len(text) - 1))
    end = draw(st.integers(start + 1, len(text)))
    fine = sorted(draw(st.sets(st.integers(1, max(len(text) - 1, 1)))))
    coarse = [border for border in fine if draw(st.booleans())]
    return text, (start, end), coarse, fine


def held(text: str, gold: tuple[int, int], borders: list[int], order: Any, rule: str) -> list[float]:
    """evidence_recall at each k, all chunks between borders retrieved in some order."""
    cuts = [0, *(border for border in borders if border < len(text)), len(text)]
    spans = list(pairwise(cuts))
    corpus = Chunks.of([Document("d", text)], lambda text: spans)
    ids = sorted(corpus.ids, key=order)
    question = [{"qid": "q", "evidence": [{"doc": "d", "start": gold[0], "end": gold[1]}]}]
    measures = [f"evidence_recall@{k}" for k in range(1, len(ids) + 1)]
    return [float(v) for v in sy.evaluate(question, {"q": ids}, measures, documents=corpus, rule=rule).values[0, :, 0]]


@examples(60)
@given(cuttings(), st.randoms(use_true_random=False), st.sampled_from(["any", "share>=0.5", "contains"]))
def test_finer_chunks_lose_nothing_and_more_of_them_no_less(cutting: Any, random: Any, rule: str) -> None:
    text, gold, coarse, fine = cutting
    by_coarse, by_fine = (held(text, gold, borders, lambda _: random.random(), rule) for borders in (coarse, fine))
    assert by_coarse[-1] == by_fine[-1] == 1
    for values in (by_coarse, by_fine):
        assert values == sorted(values)


@examples(60)
@given(cuttings(), st.randoms(use_true_random=False))
def test_the_order_of_what_is_retrieved_does_not_matter_at_its_end(cutting: Any, random: Any) -> None:
    """Half of all chunks, in two orders, against a set of characters."""
    text, (start, end), _, fine = cutting
    cuts = [0, *fine, len(text)] if fine and fine[-1] < len(text) else [0, len(text)]
    spans = [span for span in pairwise(cuts) if random.random() < 0.5] or [(0, 1)]
    corpus = Chunks.of([Document("d", text)], lambda text: spans)
    question = [{"qid": "q", "evidence": [{"doc": "d", "start": start, "end": end}]}]
    gold = {i for i in range(start, end) if not text[i].isspace()} or set(range(start, end))
    shown = {i for a, b in spans for i in range(a, b)}
    want = float(len(gold & shown) >= 0.5 * len(gold))
    for ids in (corpus.ids, corpus.ids[::-1]):
        assert sy.evaluate(question, {"q": ids}, "evidence_recall", documents=corpus).means[0, 0] == want


@examples(60)
@given(st.sampled_from(list(PASSAGES)), st.lists(st.integers(1, 30), min_size=1, max_size=12), st.booleans())
def test_texts_lose_no_more_than_ends_that_say_nothing(language: str, sizes: list[int], corpus: bool) -> None:
    """Consecutive chunks with texts alone: enough is held unless more than half is in parts too short to tell."""
    doc, start, end = document(language)
    cuts = [0]
    while cuts[-1] < len(doc.text):
        cuts.append(min(cuts[-1] + sizes[len(cuts) % len(sizes)], len(doc.text)))
    spans = list(pairwise(cuts))
    shown = sum(
        len(part.replace(" ", ""))
        for a, b in spans
        if len((part := doc.text[max(a, start) : min(b, end)].strip()).encode()) >= 16
        and ((start <= a and b <= end) or len(part) >= 6)
    )
    least = math.ceil(len(PASSAGES[language].replace(" ", "")) / 2)
    [recall, *_] = weighed("text", language, spans, how="documents" if corpus else "texts")
    if shown >= least:
        assert recall == 1


def windows(size: int) -> Any:
    """Windows of words between blanks, and of single Chinese characters."""

    def spans(text: str) -> list[tuple[int, int]]:
        words = [found.span() for found in re.finditer(r"[\u3400-\u9fff]|[^\s\u3400-\u9fff]+", text)]
        return [(words[i][0], words[min(i + size, len(words)) - 1][1]) for i in range(0, len(words), size)]

    return spans


def test_useless_chunks_are_not_better_and_useful_ones_alike() -> None:
    """The bundled example, its quotes as texts, 200 words shown: by `any`, three words were the best of all."""
    documents = [Document(path.stem, path.read_text("utf-8")) for path in sorted((DATA / "documents").glob("*.md"))]
    lines = [json.loads(line) for line in (DATA / "questions.jsonl").read_bytes().splitlines()]
    asked = [
        {"qid": line["qid"], "query": line["query"], "evidence": [{"text": p["quote"]} for p in line["evidence"]]}
        for line in lines
        if line.get("evidence")
    ]
    recall: dict[tuple[int, str], float] = {}
    for size in (100, 40, 10, 3):
        corpus, k = Chunks.of(documents, windows(size)), round(200 / size)
        pipeline = sy.Pipeline(documents, chunk=Windows(size), index="bm25", k=k)
        run = {line["qid"]: [passage.chunk_id for passage in pipeline.search(line["query"])] for line in asked}
        for rule in ("any", "share>=0.5"):
            recall[size, rule] = float(
                sy.evaluate(asked, run, "evidence_recall", documents=corpus, rule=rule).means[0, 0]
            )
    assert recall[3, "any"] > recall[10, "any"] > recall[100, "any"]
    half = [recall[size, "share>=0.5"] for size in (100, 40, 10, 3)]
    assert half[0] == pytest.approx(half[1], abs=0.02)
    assert half[1] > half[2] + 0.1 > half[3] + 0.2


class Windows:
    """The same as a chunker."""

    def __init__(self, size: int) -> None:
        self.spans = windows(size)
