import json
import re
from dataclasses import replace
from functools import cache

import pytest
from rich.cells import cell_len

from steelyard.diagnosis.advice import Advice
from steelyard.diagnosis.diagnosing import Diagnosis, diagnose
from steelyard.diagnosis.funnel import STAGES
from steelyard.experiment.door.evaluation import weigh
from steelyard.reports.formats.blocks import blocks_markdown, blocks_terminal
from steelyard.reports.views.diagnosis import (
    advice_text,
    ceilings_sheet,
    diagnosis_sections,
    funnel_sheet,
    stage_lists,
    stage_name,
    tag_sheet,
)
from steelyard.reports.words import Words, read_words
from tests.diagnosis import test_advice as patterns
from tests.diagnosis.library import outputs, questions, weighed

EN, ZH = read_words("en"), read_words("zh")
BOTH = pytest.mark.parametrize("lang", [EN, ZH], ids=["en", "zh"])


def as_text(found, lang, *, width=None):
    return blocks_terminal(diagnosis_sections(found, lang), width=width)


def as_markdown(found, lang):
    return blocks_markdown(diagnosis_sections(found, lang))


@cache
def found() -> Diagnosis:
    """A reranker that helps some questions, beside a system without one."""
    tags = {i: ["odd"] for i in range(10)} | {11: ["seldom"]}
    a = outputs("a", [1, 7, None, 2] * 10, before=[3, 7, None, 20] * 10)
    return diagnose(weighed(questions(40, tags=tags), a, outputs("b", [None, 1, 9, 1] * 10)), k=5)


@BOTH
def test_every_stage_has_a_name(lang: Words) -> None:
    assert len({stage_name(stage, lang) for stage in STAGES}) == len(STAGES)


@cache
def patterns_told() -> list[Advice]:
    """A piece of advice of every code."""
    told = {advice.code: advice for _, fires, _ in patterns.FIRES for advice in patterns.diagnosis_of(fires()).advice}
    return list(told.values())


@BOTH
def test_every_piece_of_advice_has_words(lang: Words) -> None:
    assert len(patterns_told()) > 15
    for advice in patterns_told():
        text = advice_text(advice, lang)
        for part in (text.title, text.evidence, text.action, text.gain):
            assert part
            assert not re.search(r"[{}]|nan|None", part)
        assert re.search(r"\d", text.evidence), "no advice without numbers"
        if lang is ZH:
            said = "".join((text.title, text.evidence, text.action, text.gain))
            names = r"[a-z_]+@\d+|abstention_precision|RAG|BM25|ID|rrf|depth|--[a-z_ ]+|outputs.jsonl|odd|contains"
            plain = re.sub(rf"{names}|^run|run：", "", said)
            assert not re.search(r"[A-Za-z]{2,}", plain), plain


def test_one_question_is_not_several() -> None:
    advice = diagnose(patterns.one(["failed", *[1] * 9]), k=5).advice[0]
    assert advice_text(advice, EN).evidence == "a: 1 of 10 questions ended in an error and counts 0."


def test_a_reranker_is_advised_alone_where_more_results_would_not_help() -> None:
    advice = patterns.advised(patterns.one([2] * 40), "not_ranked", "ndcg@5")
    assert "hand over" not in advice_text(advice, EN).action
    more = patterns.advised(patterns.one([1] * 20 + [9] * 20), "not_ranked")
    assert (
        "20 results instead of 5 (evidence_recall@5 is 0.500, evidence_recall@20 1.000)" in advice_text(more, EN).action
    )


def test_the_funnel_is_a_row_a_stage_and_a_column_a_system() -> None:
    sheet = funnel_sheet(found(), EN)
    assert sheet.header == ["questions", "a", "b"]
    rows = {row[0]: row[1:] for row in sheet.rows}
    assert rows["found"] == ["20 (50%)", "20 (50%)"]
    assert rows["pushed out by reranker"] == ["0", "–"]
    assert rows["retrieved below k"] == ["10 (25%)", "10 (25%)"]
    assert rows["all"] == ["40", "40"]
    assert "failed" not in rows


def test_the_funnel_says_what_cannot_be_told() -> None:
    sheet = funnel_sheet(diagnose(weigh({"q": {"a": 1}, "r": {"a": 1}}, {"q": ["a"], "r": ["x"]})), EN)
    assert any("ids alone do not show it; name the corpus" in note for note in sheet.notes)
    assert [row[0] for row in sheet.rows] == ["not retrieved", "found", "all"]


def test_small_tags_are_left_out_and_counted() -> None:
    sheet = tag_sheet(found(), EN)
    assert sheet is not None
    assert sheet.rows == [["odd", "10", "5 (50%)", "5 (50%)"]]
    assert any(note.startswith("1 tag of fewer than 5") for note in sheet.notes)
    assert tag_sheet(diagnose(weighed(questions(3), outputs("a", [1] * 3))), EN) is None


def test_one_system_by_tag_shows_its_stages() -> None:
    tags = {i: ["odd"] for i in range(10)}
    sheet = tag_sheet(diagnose(weighed(questions(20, tags=tags), outputs("a", [1, None] * 10))), EN)
    assert sheet is not None
    assert sheet.header == ["tag", "all", "not retrieved", "found"]
    assert sheet.rows == [["odd", "10", "5", "5"]]


def test_ceilings_show_what_the_reranker_captured() -> None:
    sheet = ceilings_sheet(found(), EN, measure="recall@5")
    assert sheet.header[:3] == ["recall@5", "before reranking", "now"]
    assert sheet.header[-1] == "captured of 50"
    assert sheet.rows[0] == ["a", "0.250", "0.500", "0.500", "0.750", "0.750", "0.750", "50%"]
    assert sheet.rows[1][:3] == ["b", "–", "0.500"]
    assert sheet.rows[1][-1] == "–"


def test_a_dash_is_explained_where_the_table_has_one() -> None:
    sheet = ceilings_sheet(diagnose(weighed(questions(4), outputs("a", [1] * 4, depth=5))), EN)
    assert not any("–" in row for row in sheet.rows)
    assert list(sheet.notes) == [
        "What a perfect order of the first 10 or more could reach is unknown: the lists are not that deep."
    ]


@BOTH
def test_the_terminal_keeps_its_width(lang: Words) -> None:
    text = as_text(found(), lang, width=80)
    assert max(map(cell_len, text.split("\n"))) <= 80
    for key in ("funnel", "by_tag", "ceilings", "pairs", "advice"):
        assert lang(f"diagnose.{key}") in text


def test_no_mark_begins_a_chinese_line() -> None:
    made = found()
    for width in range(40, 81, 8):
        for line in as_text(made, ZH, width=width).split("\n"):
            assert not line.startswith(("，", "。", "、", "：", "；", "）")), (width, line)


@BOTH
def test_markdown_has_headings_and_tables(lang: Words) -> None:
    text = as_markdown(found(), lang)
    assert text.count("\n## ") + text.startswith("## ") == 5
    assert "| ---: |" in text


def test_texts_from_outside_do_no_harm() -> None:
    tags = {i: ["<script>|\x1b[31m"] for i in range(10)}
    a = outputs("a\x1b[2J", [None] * 10 + [1] * 30)
    made = diagnose(weighed(questions(40, tags=tags), a), k=5)
    text, page = as_text(made, EN, width=80), as_markdown(made, EN)
    assert "\x1b" not in text + page + stage_lists(made, ["found"], EN)
    assert "<script>" not in page.replace("\\<script\\>", "")


def test_json_has_everything() -> None:
    made = json.loads(found().text("json", lang="en"))
    a = made["systems"]["a"]
    assert a["questions"]["found"] == 20
    assert a["lists"]["not_retrieved"] == [f"q{i:03}" for i in range(2, 40, 4)]
    assert set(a["lists"]) == set(STAGES) - {"found", "no_gold"}
    assert made["ceilings"]["systems"]["a"]["recall@5"]["perfect"]["50"] == 0.75
    assert made["captured"][0]["system"] == "a"
    assert made["curves"]["a"]["recall@5"]["mean"] == 0.5
    assert made["curves"]["a"].get("recall@100") is None
    assert made["by_tag"]["odd"]["b"]["found"] == 5
    assert all(advice["text"]["evidence"] and advice["query_ids"] for advice in made["advice"])


def test_lists_of_stages() -> None:
    text = stage_lists(diagnose(weighed(questions(3), outputs("a", [1, None, 2]))), ["found", "below_k"], EN)
    assert text == "a, found: q000, q002\na, retrieved below k: none\n"


def test_what_is_well_is_said_too() -> None:
    text = as_text(diagnose(weighed(questions(20), outputs("a", [1] * 20))), EN, width=80)
    assert "No pattern stands out" in text


def test_a_pattern_of_many_systems_is_one_card() -> None:
    systems = [outputs(f"s{i}", [1] * 20 + [9] * 20) for i in range(9)]
    text = as_text(diagnose(weighed(questions(40), *systems), k=5), EN, width=800)
    assert text.count("Found, but not ranked") == 1
    assert text.count("Put a reranker over") == 1
    assert "Possible gain: about 0.500 (s0), 0.500 (s1)" in text
    assert "(9 in all)" in text


def test_advice_of_many_patterns_is_cut_and_counted() -> None:
    diagnosis = diagnose(weighed(questions(10), outputs("a", ["failed"] * 10)))
    numbers = {"k": 5, "total": 40, "n": 9, "system": "a", "size": 9, "others": 31, "share": 1.0, "share_others": 0.0,
               "p": 0.01, "tested": 9, "explained": 0.1}  # fmt: skip
    tags = [Advice("cluster_tag", ("a",), "ndcg@5", 0.1, {**numbers, "name": f"t{i}"}, ()) for i in range(9)]
    text = as_text(replace(diagnosis, advice=tags), EN, width=80)
    assert text.count("fail more often") == 6
    assert text.count("Read them side by side") == 1
    assert "... and 3 more pieces of advice" in text


def test_both_catalogues_have_the_same_keys_and_fields() -> None:
    for area in ("diagnose", "advice"):
        one = {key: set(re.findall(r"{(\w+)}", text)) for key, text in EN.texts.items() if key.startswith(f"{area}.")}
        two = {key: set(re.findall(r"{(\w+)}", text)) for key, text in ZH.texts.items() if key.startswith(f"{area}.")}
        assert one == two
        assert one


def test_every_text_is_used() -> None:
    from pathlib import Path

    from steelyard.diagnosis.advice import RULES

    code = Path(diagnose.__code__.co_filename).parents[1]
    files = (
        "reports/views/diagnosis.py",
        "reports/views/outcomes.py",
        "diagnosis/funnel.py",
        "diagnosis/rules/losses.py",
    )
    source = "".join((code / file).read_text() for file in files)
    advised = {case[0] for case in patterns.FIRES} | {"reranker_idle"} | set(RULES.names())
    for key in EN.texts:
        plain = key.removesuffix(".one").removesuffix(".other")
        if plain.startswith("diagnose.stage."):
            assert plain.removeprefix("diagnose.stage.") in STAGES
        elif plain.startswith("advice.") and plain.count(".") == 2 and not plain.startswith("advice.language."):
            assert plain.split(".")[1] in advised, key
        elif plain.startswith("diagnose.head.pair_") or plain in (
            "diagnose.head.first_only",
            "diagnose.head.second_only",
        ):
            assert plain.removeprefix("diagnose.head.") in source, key
        elif plain.startswith(("advice.unit_", "advice.language.")):
            assert plain[:-2] in source, key
        elif plain.startswith("diagnose.note."):
            assert plain.removeprefix("diagnose.note.") in source, key  # Some keys are put together.
        elif plain.startswith(("diagnose.", "advice.")):
            assert f'"{plain}"' in source, key
