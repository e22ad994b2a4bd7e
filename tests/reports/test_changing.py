import json
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from steelyard.comparison.changes import Changes, Listed, Mover, SettingsDiff, list_change
from steelyard.reports.formats.blocks import sheet_markdown, sheet_terminal
from steelyard.reports.views.changes import (
    changes_json,
    changes_sheets,
    changes_text,
    end_cut,
    middle_cut,
    settings_json,
    settings_notes,
    settings_sheet,
)
from steelyard.reports.words import read_words
from tests.hypothesis_profiles import examples

EN, ZH = read_words("en"), read_words("zh")


def mover(first: str, second: str, *, query: str | None = "who?", relevant: str = "") -> Mover:
    """A question whose lists are these letters; the relevant ones have gain 2, "0" has gain 0."""

    def listed(ids: str) -> tuple[Listed, ...]:
        return tuple(Listed(id, 2.0 if id in relevant else 0.0 if id == "0" else None) for id in ids)

    return Mover("q7", query, 0.25, 1.0, 0.75, listed(first), listed(second), list_change(first, second))


def changed(*gained: Mover, lost: tuple[Mover, ...] = (), same_chunks: bool | None = None, k: int = 10) -> Changes:
    return Changes("keyword", "hybrid", "mrr@10", gained, lost, k, 40, 3, 0.75, 0.6875, same_chunks)


def test_rankings_side_by_side() -> None:
    text = changes_text(changed(mover("abc0", "cxb", relevant="c")), EN, width=80)
    assert text.splitlines() == [
        "From keyword to hybrid, ranks 1 to 10: mean overlap 0.75, rank-biased overlap",
        "0.69; lists that are the same: 3 of 40.",
        "",
        "Gained: q7  mrr@10 0.2500 → 1.0000 (+0.7500)",
        "who?",
        "rank    keyword                        hybrid                       what changed",
        "   1  - a                              c (2)                        from 3",
        "   2    b                            + x                            entered",
        "   3    c (2)                          b                            from 2",
        "   4  - 0 (0)                          –",
        "",
        "- left, + entered the list; in brackets the gain, where there is a label.",
    ]


def test_answers_in_place_of_rankings() -> None:
    answers = replace(mover("ab", "ab"), answers=("It opens at nine.\n\x1b[31mDaily.", None))
    text = changes_text(changed(answers), EN, width=80)
    assert text.splitlines()[3:] == [
        "Gained: q7  mrr@10 0.2500 → 1.0000 (+0.7500)",
        "who?",
        "keyword: It opens at nine. ␛[31mDaily.",
        "hybrid: –",
    ]
    assert "keyword：It opens" in changes_text(changed(answers), ZH, width=80)
    (sheet,) = changes_sheets(changed(answers), EN)
    assert (sheet.header, sheet.rows) == (["keyword", "hybrid"], [["It opens at nine. ␛[31mDaily.", "–"]])
    assert changes_json(changed(answers))["gained"][0]["answers"] == ("It opens at nine.\n\x1b[31mDaily.", None)


def test_lost_is_said_and_nothing_moved() -> None:
    text = changes_text(changed(lost=(mover("a", "b", query=None),)), EN, width=80)
    assert "\nLost: q7  mrr@10" in text
    assert "who?" not in text
    assert "No question gained or lost by mrr@10." in changes_text(changed(), EN, width=80)


def test_chunks_cut_differently_are_warned_of() -> None:
    assert "Chunks are cut differently" in changes_text(changed(mover("a", "b"), same_chunks=False), EN)
    for told in (None, True):
        assert "Chunks" not in changes_text(changed(mover("a", "b"), same_chunks=told), EN)


def test_labelled_documents_further_down_are_shown() -> None:
    first, second = "abcdefghijklmnopqrst", "abcdefghijklmnoprqst"
    text = changes_text(changed(mover(first, second, relevant="rt"), k=20), EN, width=80)
    ranks = [line.split()[0] for line in text.splitlines() if re.match(r" *(\d+|…) ", line + " ")]
    assert ranks == [*map(str, range(1, 11)), "…", "17", "18", "…", "20"]


@pytest.mark.parametrize("lang", [EN, ZH])
@pytest.mark.parametrize("width", [40, 60, 80, 100])
def test_lines_fit(width: int, lang) -> None:
    long = mover("ab", "bc")
    ids = [f"documents/中文资料/一份很长的文件名_{each}.md#12" for each in "abc"]
    one, two = (tuple(Listed(each, 1.0) for each in some) for some in (ids[:2], ids[1:]))
    long = Mover("q", "退款" * 60, 0, 1, 1, one, two, list_change(ids[:2], ids[1:]))
    text = changes_text(changed(long, same_chunks=False), lang, width=width)
    assert max(map(cell_len, text.splitlines())) <= width
    assert "…" in text


def test_no_escape_sequence_reaches_the_terminal() -> None:
    odd = "\x1b[2J\x9b\x07a\rb\n\tc"
    one, two = (Listed(odd, None),), (Listed(odd + "2", 1.0),)
    nasty = Mover(odd, odd, 0, 1, 1, one, two, list_change([odd], [odd + "2"]))
    found = Changes(odd, odd + "b", "mrr", (nasty,), (), 10, 1, 0, 0.5, 0.5, None)
    text = changes_text(found, EN, width=80)
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f]", text)
    for sheet in changes_sheets(found, EN):
        for text in (sheet_terminal(sheet), sheet_markdown(sheet)):
            assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f]", text)


def test_no_english_in_chinese() -> None:
    lost = (mover("gh", "hg", query="谁？"),)
    text = changes_text(changed(mover("abc", "cxb", query="谁？", relevant="c"), lost=lost, same_chunks=False), ZH)
    left = re.sub(r"\b(keyword|hybrid|mrr@10|q7|RBO|ID|[a-z])\b", "", text)
    assert not re.search("[A-Za-z]", left)


def test_markdown_has_both_lists() -> None:
    (sheet,) = changes_sheets(changed(mover("abc", "cxb", relevant="c"), same_chunks=False), EN)
    assert sheet.header == ["rank", "keyword", "hybrid", "what changed"]
    assert sheet.rows[0] == ["1", "- a", "c (2)", "from 3"]
    assert sheet.notes[0].startswith("Gained: q7")
    assert sheet.notes[1] == "who?"
    assert any(note.startswith("Chunks") for note in sheet.notes)


def test_json_has_all_of_it() -> None:
    made = json.loads(json.dumps(changes_json(changed(mover("abc0", "cxb", relevant="c"))), allow_nan=False))
    assert made["gained"][0]["first"][2] == {"doc_id": "c", "gain": 2.0}
    assert made["gained"][0]["change"]["moved"][0] == {"doc_id": "c", "before": 3, "after": 1}
    nothing = Changes("a", "b", "mrr", (), (), 10, 0, 0, float("nan"), float("nan"), None)
    assert changes_json(nothing)["overlap"] is None
    assert "mean overlap –" in changes_text(nothing, EN)


DIFF = SettingsDiff(("a", "b", "c"), {"k": ("5", "5", None)}, {"numpy": ("1", "2", "2")}, ("questions",))


def test_settings_are_a_sheet() -> None:
    sheet = settings_sheet(DIFF, EN)
    assert sheet is not None
    assert sheet.header == ["setting", "a", "b", "c"]
    assert sheet.rows == [["k", "5", "5", "–"], ["numpy (version)", "1", "2", "2"]]
    assert sheet.best == set()  # A setting that differs is not the best one.
    assert list(settings_notes(DIFF, EN)) == ["The runs were made with questions that are not the same."]
    assert settings_json(DIFF)["settings"] == {"k": {"a": "5", "b": "5", "c": None}}


def test_no_difference_is_said() -> None:
    same = SettingsDiff(("a", "b"), {}, {}, ())
    assert settings_sheet(same, EN) is None
    assert list(settings_notes(same, EN)) == ["a, b: their configurations do not differ."]
    assert list(settings_notes(same, ZH)) == ["a、b：配置没有差别。"]


@examples(200)
@given(st.text(st.sampled_from("ab退款"), max_size=40), st.integers(2, 30))
def test_cut_texts_fit(text: str, width: int) -> None:
    for cut in (middle_cut, end_cut):
        made = cut(text, width)
        assert cell_len(made) <= width
        assert (made == text) == (cell_len(text) <= width)
        head, _, tail = made.partition("…")
        assert text.startswith(head)
        assert text.endswith(tail) or cut is end_cut
