"""Units of answers, and the chunks that they cite."""

import gzip
import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.judges.answers.units import answer_units, gold_units, units_with_citations
from steelyard.text.cited import Names
from steelyard.text.citing import citation_marks
from tests.hypothesis_profiles import examples
from tests.shared_data import shared

_CASES = Path(__file__).parents[1] / "cases"


def _rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (_CASES / name).read_text(encoding="utf-8").splitlines()]


CITED = [row for row in _rows("citations.jsonl") if "context" in row]
UNITS = _rows("units.jsonl")
LEADS = _rows("leads.jsonl")
TEXTS = _rows("unit_texts.jsonl")
IDS = ["hours#1", "hours#2", "票价#1"]


@pytest.mark.parametrize("row", CITED, ids=[row["label"] for row in CITED])
def test_citation_cases(row: dict[str, Any]) -> None:
    answer = row["input"]
    pages = [None if numbers is None else tuple(numbers) for numbers in row.get("pages", ())]
    units, cited = units_with_citations(answer, Names(row["context"], docs=row.get("docs", ()), pages=pages))
    assert [[c.mark, c.chunk if c.problem is None else c.problem] for c in cited] == row["want"], row["comment"]
    assert "texts" not in row or [unit.text for unit in units] == row["texts"], row["comment"]
    assert all(answer[c.start : c.end] == c.mark and (c.chunk is None) == (c.problem is not None) for c in cited)


@pytest.mark.parametrize("row", UNITS, ids=[row["label"] for row in UNITS])
def test_unit_cases(row: dict[str, Any]) -> None:
    units = answer_units(row["input"], IDS)
    assert [[unit.text, unit.no_claim] for unit in units] == row["want"], row["comment"]


@pytest.mark.parametrize("row", LEADS, ids=[row["id"] for row in LEADS])
def test_lead_cases(row: dict[str, Any]) -> None:
    units = answer_units(row["input"])
    assert [unit.lead for unit in units] == row["want"], (row["comment"], [unit.text for unit in units])


@pytest.mark.parametrize("row", TEXTS, ids=[row["id"] for row in TEXTS])
def test_unit_texts(row: dict[str, Any]) -> None:
    units, _ = units_with_citations(row["input"], ["a#1", "b#2"])
    assert [unit.text for unit in units if unit.checkable] == row["want"], row["comment"]


def test_clauses_cite_what_their_sentence_cites() -> None:
    long = (
        "It opens at nine o'clock on weekdays, it closes at six o'clock in winter [2], {}a card costs ten euros a year"
    )
    for mark, want in (("", [[1], [1], [1]]), ("and for visitors of the city [1] it is free, ", [[1], [1], [0]])):
        units, cited = units_with_citations(long.format(mark), ["a#1", "b#2"])
        assert [[c.chunk for c in cited if c.unit == n] for n in range(len(units))] == want
    units, cited = units_with_citations(long.replace("[2]", "in").format("") + " [1][2]", ["a#1", "b#2"])
    assert [[c.chunk for c in cited if c.unit == n] for n in range(len(units))] == [[0, 1]] * len(units)


TRICKY = st.text(
    st.sampled_from("aA1我 \n\t.。!?？:：…[]【】()<>`~|-#*^¹²$\\,，\x00\ud800\u2028"), max_size=60
) | st.lists(
    st.sampled_from(
        ["[1]", "[1-3]", "[hours#2]", "¹", "<cite>", "</cite>",
         "(1)", "（第3页）", "①", "##0$$", "(p. 2, 3)", "{{1}}", "</co: 1>", "（见资料1）",
         "<sup>2</sup>", "```\n", "`x`", "\n", "\n\n", "- ", "It is. ", "九点。", "Sources:\n",
         "[1] a.pdf\n", "[^1]: b\n", "| a |\n", "|---|\n", "# h\n", "，图书馆每天早上九点开门晚上九点关门[2]",
         "; the hall opens at nine on every day", "“开。关。”", "根据资料，", "**", "<p>", "</p>", "Hello! ", " "]
    ),
    max_size=14,
).map("".join)  # fmt: skip


@examples(400)
@given(TRICKY)
def test_units_are_apart_and_citations_lie_in_them(answer: str) -> None:
    units, cited = units_with_citations(answer, IDS)
    assert units == answer_units(answer, IDS)
    assert not any(unit.lead for unit in units[:1])
    assert all(0 <= unit.start < unit.end <= len(answer) for unit in units)
    assert all(before.end <= after.start for before, after in pairwise(units))
    for unit in units:
        rest = iter(answer[unit.start : unit.end])
        assert all(character in rest for character in unit.text if character.isalnum())
    for citation in cited:
        [place] = [n for n, unit in enumerate(units) if unit.start <= citation.start < citation.end <= unit.end]
        between = answer[units[min(place, citation.unit)].start : units[max(place, citation.unit)].end]
        assert place == citation.unit or len(between) > 50
        assert answer[citation.start : citation.end] == citation.mark
    assert len({(c.unit, c.chunk) for c in cited if c.chunk is not None}) == sum(c.chunk is not None for c in cited)


def test_marks_of_real_answers() -> None:
    """HAGRID: claims of answers, whose marks name the passages that come with them."""
    path = shared("answers", "attribution_citations", "hagrid.jsonl.gz")
    with gzip.open(path, "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file.read().split("\n") if line]
    marks = [[mark for mark in citation_marks(row["claim"]) if mark.text[0] == "["] for row in rows]
    with_and = [any(" and " in mark.text for mark in of_claim) for of_claim in marks]
    assert sum(map(bool, marks)) - sum(with_and) == 1025  # [1 and 3] is no mark to those who counted
    numbers = [{n for mark in of_claim for t in mark.targets for n in (t.first, t.last)} for of_claim in marks]
    assert sum(len(n) for n, has_and in zip(numbers, with_and, strict=True) if not has_and) == 1415
    context, equal, n_cited = [f"p{i}" for i in range(1, 11)], 0, 0
    for row in rows:
        named = {int(match[1]) - 1 for text in row["references"] if (match := re.match(r"\[(\d+)\]", text))}
        _, cited = units_with_citations(row["claim"], context)
        n_cited += bool(row["references"])
        equal += bool(row["references"]) and {citation.chunk for citation in cited} == named
    # One claim has no mark, and a passage; one names (contexts 1 and 2), which those who counted did not read.
    assert (n_cited, equal) == (1013, 1011)


def test_a_gold_answer_has_units_that_name_it() -> None:
    units = gold_units("九点开门。六点关门。", 2)
    assert [(unit.text, unit.alternative) for unit in units] == [("九点开门。", 2), ("六点关门。", 2)]


@pytest.mark.parametrize(
    "piece",
    [
        "[", "]", "[1", "[[", "[]", "[a", "[1]", "[1-99]", "¹", "<cite>", "<cite ", "<sup>", "```", "`", "`a",
        "$", "$a", "![", "|", "\n", "\n[1]", "\n[^1]: ", "- ", "<p>", "<", "【", "*", "If you ", "根据",
        "(", "（1", "(1)", "①", "(p. 1, ", "（第1页、", "(a.pdf, ", "((a)", "##0$$", "{{1}}", "<co: 1",
        "(see doc 1 and ", "没有", "I do not know, but ", "there is no ", "the documents ", "资料", " ,", "Sources:\n",
        "no ",
    ],
)  # fmt: skip
def test_a_long_answer_of_one_piece_is_read(piece: str) -> None:
    answer = piece * (30_000 // len(piece))
    units, _ = units_with_citations(answer, IDS)
    assert len(units) <= len(answer)


@pytest.mark.parametrize(
    "answer",
    [
        "九点开门。" * 20_000,
        "九点开门[1]。" * 10_000,
        "Is it? " * 20_000,
        "```\nx\n```\n[^1]: a\n" * 10_000,
        "a" + " " * 60_000 + ":\nb",
        "It is not in the documents" + " " * 20_000 + ", but.",
        "Nine.\nSources" + " " * 20_000 + "x",
        "我们认为" * 28 + "。好的①，好",
        "①" * 60 + "题见①。",
    ],
)
def test_an_answer_is_read_that_would_take_hours_if_time_were_not_linear(answer: str) -> None:
    units, citations = units_with_citations(answer, IDS)
    assert all(0 <= unit.start < unit.end <= len(answer) for unit in units)
    assert len(citations) <= len(answer)


@pytest.mark.parametrize(
    "lines",
    [
        ["Is it? "] * 900,
        ["x" * n + ":\n" for n in range(1, 900)],
        ["First:\n", *(" " * n + "- " + "x" * n + "\n" for n in range(300))],
        ["First. ", *("It " + "x" * n + ". " for n in range(300))],
        ["# First\n", *("x" * n + "\n" for n in range(300))],
        ["1. First.", *(" So it " + "x" * n + ":" for n in range(300)), "\n- a"],
    ],
)
def test_leads_of_a_long_answer_stay_short(lines: list[str]) -> None:
    leads = [unit.lead for unit in answer_units("".join(lines))]
    assert 0 < max(map(len, leads)) < 3_500
