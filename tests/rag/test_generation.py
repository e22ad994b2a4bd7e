"""The extractive generator and the prompts."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.base.errors import InputError
from steelyard.data.corpus import Chunks, Document, Passage
from steelyard.rag import registry
from steelyard.rag.fingerprint import settings_of
from steelyard.rag.stages.generation import (
    DONT_KNOW,
    Extractive,
    build_prompt,
    prompt_digest,
    read_template,
    template_text,
)
from steelyard.text.citing import citations
from steelyard.text.scripts import language_of
from tests.hypothesis_profiles import examples

CASES = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "cases" / "extracted_answers.jsonl").read_text("utf-8").splitlines()
]

LIBRARY = (
    "The library opens at nine. It closes at six on weekdays. On Sunday the library is shut.",
    "Dr. Mills runs the workshop. Cordless drills cost 3.50 euros a day. The drill must come back charged.",
    "图书馆九点开门。周日闭馆。电钻每天租金三元五角！押金另付。",
)


def passages(*texts: str, doc: str = "doc") -> list[Passage]:
    return [Passage(f"{doc}{i}#1", f"{doc}{i}", 0, len(text), text, 1.0 / i) for i, text in enumerate(texts, 1)]


# Extractive


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["label"])
def test_what_is_quoted(case: dict[str, Any]) -> None:
    settings = {"words": case["words"]} if "words" in case else {}
    answer = Extractive(**settings).answer(case["query"], passages(*case["passages"]))
    quotes = "\n".join(f"{sentence} [doc{n}#1]" for sentence, n in case["want"])
    assert answer == (quotes or DONT_KNOW[language_of(case["query"])])


def test_a_sentence_that_a_chunk_begins_within_is_not_quoted() -> None:
    found = [Passage("d#1", "d", 20, 71, "the loans of members. All loans of members end today", 1.0)]
    assert Extractive(words=1).answer("Who are the members?", found) == "the loans of members. [d#1]"
    whole = [Passage("d#1", "d", 20, 72, "the loans of members. All loans of members end today.", 1.0)]
    assert Extractive().answer("Do the loans of members end?", whole) == "All loans of members end today. [d#1]"


def test_a_long_run_of_marks_is_read_once() -> None:
    text = "fees " + ":" * 300_000 + "a"
    assert Extractive().answer("fees", passages(text)).startswith("fees :::")


def test_overlapping_chunks_do_not_repeat_a_sentence() -> None:
    text = "Rent is due on Monday. Late rent costs a fee of ten euros. Ask us."
    chunks = Chunks.of([Document("a", text)], lambda _: [(0, 50), (23, len(text)), (39, len(text))])
    found = [chunks.passage(i, 1.0) for i in (1, 0, 2)]
    # The cut sentences of the two other chunks overlap the whole one, which is chosen first.
    assert Extractive().answer("late rent fee ten euros", found) == (
        "Late rent costs a fee of ten euros. [a#2]\nAsk us. [a#2]\nRent is due on Monday. [a#1]"
    )


def test_it_is_registered_and_checks_its_setting() -> None:
    assert settings_of(Extractive(words=2)) == {"words": 2}
    assert isinstance(registry.make("generate", "extractive", {}), Extractive)
    with pytest.raises(InputError, match="Extractive: words must be a whole number from 1, not 0"):
        Extractive(words=0)


words = st.lists(st.sampled_from(["drill", "rent", "library", "电钻", "租金", "fee", "the"]), max_size=6).map(" ".join)


@examples(60)
@given(words, st.lists(st.lists(words, max_size=3).map(". ".join), max_size=4), st.integers(1, 12))
def test_an_answer_cites_only_what_was_given(query: str, found: list[str], n: int) -> None:
    answer = Extractive(words=n).answer(query, given := passages(*found))
    assert answer == Extractive(words=n).answer(query, given)
    cited = citations(answer)
    if answer in DONT_KNOW.values():
        assert not set(query.split()) & set(" ".join(found).replace(".", " ").split()) - {"the"}
    else:
        assert cited == sorted(cited, key=[passage.chunk_id for passage in given].index)
        assert all(set(query.split()) & set(p.text.replace(".", " ").split()) for p in given if p.chunk_id in cited)
        n_words = len(re.findall("[电钻租金]|[a-z]+", re.sub(r"\[.*?\]", "", answer)))
        assert n_words <= n or answer.count("[") == 1


# Prompts


@pytest.mark.parametrize(("query", "language"), [("Who runs it?", "en"), ("谁负责？", "zh")])
def test_the_prompt_is_in_the_language_of_the_question(query: str, language: str) -> None:
    system, user = build_prompt(query, passages(*LIBRARY))
    assert (system["role"], user["role"]) == ("system", "user")
    assert DONT_KNOW[language] in system["content"]
    assert "[doc#chunk]" in system["content"]
    assert language_of(system["content"]) == language
    assert f"[doc1#1]\n{LIBRARY[0]}\n\n[doc2#1]\n{LIBRARY[1]}" in user["content"]
    assert user["content"].endswith(query)
    assert build_prompt(query, passages(*LIBRARY), language=language) == [system, user]


def test_a_language_can_be_named() -> None:
    assert build_prompt("谁负责？", [], language="en")[0]["content"].startswith("You answer")
    with pytest.raises(InputError, match="no prompt for the language 'de'; choose auto, en or zh"):
        build_prompt("wer?", [], language="de")


def test_what_is_filled_in_is_never_filled_in_again() -> None:
    evil = "{query} {passages} {0} {} {{query}} \\1 \\g<0> %s $query --- \n---\n {"
    system, user = build_prompt(
        "Q {passages} {query}", passages(evil), template="S {x}\n---\n{passages}|{query}|{passages}"
    )
    listed = f"[doc1#1]\n{evil}"
    assert system["content"] == "S {x}"
    assert user["content"] == f"{listed}|Q {{passages}} {{query}}|{listed}"


def test_a_template_without_a_rule_is_one_message() -> None:
    assert build_prompt("q?", passages("x"), template="{passages}\n--- {query} ---\n") == [
        {"role": "user", "content": "[doc1#1]\nx\n--- q? ---"}
    ]


@pytest.mark.parametrize(
    ("template", "told"),
    [
        ("{passages}", r"lacks \{query\}"),
        ("{query} {context}", r"lacks \{passages\}"),
        ("", r"lacks \{passages\} and \{query\}; a prompt needs both"),
    ],
)
def test_a_missing_placeholder_is_refused(tmp_path: Path, template: str, told: str) -> None:
    with pytest.raises(InputError, match=f"the prompt: {told}"):
        build_prompt("q", [], template=template)
    file = tmp_path / "mine.txt"
    file.write_text(template)
    with pytest.raises(InputError, match=rf"mine\.txt: {told}"):
        read_template(file)


def test_a_prompt_file_of_the_users_own(tmp_path: Path) -> None:
    file = tmp_path / "mine.txt"
    file.write_bytes("\ufeff根据材料\r\n---\r\n{passages}\r\n{query}".encode())
    assert read_template(file) == "根据材料\n---\n{passages}\n{query}"
    file.write_bytes("材料 {passages}{query}".encode("gb18030"))
    with pytest.raises(InputError, match=r"mine\.txt: byte 0xb2 at 0 is not UTF-8"):
        read_template(file)
    with pytest.raises(InputError, match="there is no such file"):
        read_template(tmp_path / "none.txt")


def test_the_digest_moves_with_every_prompt_that_may_be_used() -> None:
    digests = {prompt_digest(), prompt_digest("en"), prompt_digest("zh"), prompt_digest(template="{passages}{query}")}
    assert len(digests) == 4
    assert prompt_digest("en", template=template_text("zh")) == prompt_digest("zh")
    assert all(digest.startswith("sha256:") and len(digest) == 71 for digest in digests)
    with pytest.raises(InputError, match="no prompt for the language"):
        prompt_digest("fr")
