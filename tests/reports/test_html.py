"""The page: what it says, that nothing in it can act, and that its columns hold what the scores hold."""

from __future__ import annotations

import base64
import json
import math
import re
import string
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import steelyard as sy
from steelyard.align.resolver import Resolver
from steelyard.base.errors import InputError
from steelyard.data.corpus import Document, Passage
from steelyard.data.folders.run_folder import write_run_folder
from steelyard.data.outputs import Outputs
from steelyard.data.questions import Questions
from steelyard.data.responses import Response
from steelyard.diagnosis.funnel import STAGES
from steelyard.experiment.door.evaluation import weigh
from steelyard.gates.gating import gate
from steelyard.reports.contents import Contents
from steelyard.reports.details.details import Details
from steelyard.reports.details.gold import Highlights, merged
from steelyard.reports.details.limits import Limits
from steelyard.reports.page.leaderboard import leaderboard_table
from steelyard.reports.page.payload import NOTHING, packed, packed_values, payload
from steelyard.reports.page.tables import ceilings_table, funnel_table, gate_table, ratings_table, tags_table
from steelyard.reports.visible import visible
from steelyard.reports.words import read_words
from tests.gates.stated import stated
from tests.hypothesis_profiles import examples
from tests.reports.pages import Page, check_nothing_acts
from tests.reports.reports import (
    EVIL,
    QUESTIONS,
    TEXTS,
    evil,
    hostile_report,
    ids_report,
    ids_weighing,
    texts_report,
    texts_weighing,
)

pytest.importorskip("altair", reason="pages need the extra report")
pytest.importorskip("jinja2", reason="pages need the extra report")
pytest.importorskip("vl_convert", reason="pages need the extra report")
from steelyard.reports.page.page import render

CASES = [
    json.loads(line)
    for line in (Path(__file__).parent.parent / "cases" / "highlighting.jsonl").read_text("utf-8").splitlines()
]
EN = read_words("en")
DTYPES = {8: "u1", 16: "<u2", 32: "<u4"}


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    report = texts_report()
    return {code: render(report, words=read_words(code)) for code in ("en", "zh")}


@pytest.mark.parametrize("case", CASES, ids=[case["label"] for case in CASES])
def test_gold_is_marked(case: dict[str, Any]) -> None:
    given_, want = case["input"], case["want"]
    questions = Questions([{"qid": "q", "query": "?", "evidence": given_["evidence"]}])
    outputs = Outputs([{"qid": "q", "retrieved": given_["chunks"]}])
    highlights = Highlights.of(Resolver(questions, rule=given_.get("rule", "any")).resolve(outputs))
    assert {id: [list(span) for span in highlights.spans("q", id)] for id in want} == want
    assert highlights.spans("q", "gone") == highlights.spans("gone", "a") == []


spans = st.tuples(st.integers(0, 29), st.integers(1, 12)).map(lambda s: (s[0], min(s[0] + s[1], 30)))


@examples(100)
@given(st.lists(spans, min_size=1, max_size=5), st.lists(spans, min_size=1, max_size=5))
def test_marks_are_the_gold_characters_that_a_chunk_shows(gold: list[Any], chunks: list[Any]) -> None:
    """Held against a set of characters."""
    items = [
        {"id": f"c{i}", "doc": "d", "start": a, "end": b, "text": "x" * (b - a)} for i, (a, b) in enumerate(chunks)
    ]
    questions = Questions(
        [{"qid": "q", "query": "?", "evidence": [{"doc": "d", "start": a, "end": b} for a, b in gold]}]
    )
    highlights = Highlights.of(Resolver(questions).resolve(Outputs([{"qid": "q", "retrieved": items}])))
    wanted = {character for a, b in gold for character in range(a, b)}
    for i, (a, b) in enumerate(chunks):
        marked = [set(range(a + first, a + last)) for first, last in highlights.spans("q", f"c{i}")]
        assert set().union(*marked) == wanted & set(range(a, b))
        assert sum(map(len, marked)) == len(set().union(*marked))


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), max_size=12))
def test_merged_spans_cover_the_same_and_are_apart(given_: list[tuple[int, int]]) -> None:
    made = merged(given_)
    assert {i for a, b in made for i in range(a, b)} == {i for a, b in given_ for i in range(a, b)}
    assert all(one[1] < other[0] for one, other in pairwise(made))


@given(hnp.arrays(float, st.integers(0, 30), elements=st.floats(-1e6, 1e6) | st.just(np.nan)))
def test_packed_values_are_the_values_to_the_last_step(values: Any) -> None:
    made = packed_values(values)
    steps = np.frombuffer(base64.b64decode(made["data"]), "<u2")
    assert ((steps == NOTHING) == np.isnan(values)).all()
    back = made["low"] + steps / 10.0 ** made["decimals"]
    assert np.abs(back - values)[~np.isnan(values)].max(initial=0) <= 0.5001 * 10.0 ** -made["decimals"]
    assert made["decimals"] <= 4


@given(st.lists(st.floats(0, 1), min_size=1))
def test_shares_are_packed_to_four_decimals(values: list[float]) -> None:
    made = packed_values(np.array(values))
    assert (made["low"], made["decimals"]) == (0.0, 4)


@pytest.mark.parametrize(("most", "bits"), [(0, 8), (255, 8), (256, 16), (65_535, 16), (65_536, 32)])
def test_whole_numbers_are_packed_small(most: int, bits: int) -> None:
    made = packed(np.array([0, most]))
    assert made["bits"] == bits
    assert np.frombuffer(base64.b64decode(made["data"]), DTYPES[bits]).tolist() == [0, most]


@given(st.text() | st.text("\x00\x07\x1b\x7f\x85\r\n\t\u202e\u2066ab"))
def test_visible_texts_keep_their_length(text: str) -> None:
    made = visible(text)
    assert len(made) == len(text)
    assert all(c in "\n\t" or not (ord(c) < 32 or 0x7F <= ord(c) < 0xA0 or c in "\u202e\u2066") for c in made)
    assert not {"\u2028", "\u2029"} & set(made)
    assert [a for a, b in zip(text, made, strict=True) if a == b] == [a for a in text if visible(a) == a]


def test_the_page_holds_the_values_of_the_scores(pages: dict[str, str]) -> None:
    report, data = texts_report(), Page(pages["en"]).data("data")
    assert data["systems"] == report.scores.systems
    for j, column in enumerate(data["values"]):
        steps = np.frombuffer(base64.b64decode(column["data"]), "<u2").reshape(len(data["systems"]), -1)
        assert np.allclose(steps / 10.0 ** column["decimals"] + column["low"], report.scores.values[:, j], atol=5.1e-5)
    lists = {
        key: np.frombuffer(base64.b64decode(data[key]["data"]), DTYPES[data[key]["bits"]])
        for key in ("list_n", "list_entry", "list_gain", "status", "stage")
    }
    assert lists["list_n"].tolist() == [2, 2, 2, 1, 2, 2, 2, 0, 1, 1, 0, 1]
    assert [data["chunk_ids"][i] for i in lists["list_entry"][:4]] == ["c1", "c4", "c4", "c2"]
    assert [data["gains"][i] for i in lists["list_gain"][:4]] == [1.0, None, None, 2.0]
    assert lists["stage"].tolist() == [place for one in report.diagnosis.funnels for place in one.stage.tolist()]
    assert data["expected"][0] == "After a hospital stay."
    assert data["of"][0]["answers"] == {}
    assert [part[0] for part in data["of"][0]["judged"]["0"]["parts"]] == ["After a hospital stay ", "[c1]", "."]
    assert data["of"][2]["failures"] == {"2": "timeout after 30 s"}
    marks = {id: data["marks"][str(q)][str(data["chunk_ids"].index(id))] for q, id in ((0, "c1"), (1, "c2"), (2, "c3"))}
    assert marks == {"c1": [14, 42], "c2": [3, 11], "c3": [0, 15, 33, 45]}
    assert TEXTS["c3"][33:45] == "on Saturdays"


def test_hostile_texts_are_in_the_data_as_they_are_and_cannot_act() -> None:
    page = check_nothing_acts(text := render(replace(hostile_report(), title=EVIL), words=EN))
    assert not set("\x7f\u202e") & set(text)
    data = page.data("data")
    answers = ["".join(part[0] for part in answer["parts"]) for of in data["of"] for answer in of["judged"].values()]
    told = json.dumps([data, answers], ensure_ascii=False)
    for field in ("chunk0", "text of 1", "q1", "query 1", "expected 1", "tag", "answer 1", "group", "document", "why"):
        assert f"{field}\\n</script><script>alert(1)" in told, field


def test_the_same_report_gives_the_same_bytes(pages: dict[str, str]) -> None:
    assert render(texts_report(), words=read_words("en")) == pages["en"]


NAMES = {"Steelyard", "JavaScript", "Tukey", "HSD", "Holm", "Hedges", "Kendall", "tau", "RBO", "tau_AP", "AP", "BM25",
         "outputs", "jsonl", "documents", "family-wise", "family", "wise", "ratings", "any", "share"}  # fmt: skip


def test_a_chinese_page_has_no_english_but_names(pages: dict[str, str]) -> None:
    page = Page(pages["zh"])
    specs = page.data("specs")
    told = [*page.texts, *page.data("words")["zh"].values(), *_words_of(specs)]
    told += [value for _, attributes in page.elements for key, value in attributes.items()
             if key in ("aria-label", "title") and value]  # fmt: skip
    known = {*NAMES, "first", "second", "third", "ndcg", "recall", "mrr", "evidence_recall", "precision", "hit_rate",
             "questions", *(tag for question in QUESTIONS for tag in question["tags"])}  # fmt: skip
    plain = " ".join(re.sub(r"\{\w+\}", " ", text) for text in told if not text.strip().startswith("签名："))
    found = set(re.findall(r"[A-Za-z][A-Za-z_-]{2,}", plain))
    of_judging = {"steelyard", "judge", "lexical", "faithfulness", "answer_recall", "context_recall"}
    # Parameters of a judge stand on its card as they are typed.
    parameters = set(re.findall(r"[A-Za-z_]{3,}", next(text for text in page.texts if re.search(r"=\sTrue", text))))
    assert found - known - of_judging - parameters == set()


def _words_of(specs: Any) -> list[str]:
    """Titles of axes, legends and tooltips, and the texts of charts for those who do not see them."""
    if isinstance(specs, list):
        return [text for each in specs for text in _words_of(each)]
    if not isinstance(specs, dict):
        return []
    own = [specs[key] for key in ("title", "description", "class", "kind") if isinstance(specs.get(key), str)]
    return own + [text for each in specs.values() for text in _words_of(each)]


def test_both_catalogues_say_the_same_things() -> None:
    texts = {
        code: {key: text for key, text in read_words(code).texts.items() if key.startswith(("page.", "charts."))}
        for code in ("en", "zh")
    }
    assert texts["en"].keys() == texts["zh"].keys()
    for key, text in texts["en"].items():
        fields = [
            {name for _, name, _, _ in string.Formatter().parse(each) if name} for each in (text, texts["zh"][key])
        ]
        assert fields[0] == fields[1], key


def test_every_word_of_the_script_stands_in_the_catalogue() -> None:
    folder = Path(__file__).parents[2] / "src" / "steelyard" / "reports" / "page"
    script, known = "".join(file.read_text("utf-8") for file in folder.glob("*.js")), read_words("en").texts
    asked = set(re.findall(r'say\("([\w.]+)"', script)) | {"lost_everywhere", "lost_somewhere"}
    asked -= {"show_all", "show_first"}  # The shell's.
    for key in asked:
        assert f"page.script.{key}" in known or f"page.script.{key}.one" in known, key
    there = {
        key.removeprefix("page.script.").removesuffix(".one").removesuffix(".other")
        for key in known
        if key.startswith("page.script.")
    }
    begun = tuple(set(re.findall(r"say\(`(\w+\.)\$", script)))
    assert {"kind.", "verdict.", "said."} <= set(begun)
    left = {key for key in there - asked if not key.startswith(begun)}
    assert left - {"nothing_retrieved", "lists_left_out"} == set()


def test_the_leaderboard_ranks_and_draws_intervals() -> None:
    report = ids_report(4, baseline="system-0")
    table = leaderboard_table(report, read_words("en"))
    assert [cell.text for cell in table.header] == [
        "system",
        "rank",
        "ndcg@3",
        "dcg@3",
        "recall@3",
        "group",
        "labelled",
    ]
    assert [row[0].value for row in table.rows] == [0, 1, 2, 3]
    means = [row[2].value for row in table.rows]
    assert means == sorted(report.scores.means[:, 0].tolist(), reverse=True)
    bars = [row[2].bar for row in table.rows if row[2].bar is not None]
    assert len(bars) == 4
    assert all(0 <= low <= mean <= high <= 100 for low, mean, high in bars)
    assert (min(bar[0] for bar in bars), max(bar[2] for bar in bars)) == (0, 100)
    assert [row[0].small for row in table.rows].index("baseline") == table.shown_row
    of_pairs = leaderboard_table(ids_report(4), read_words("en"))
    assert {row[0].small for row in of_pairs.rows} == {""}
    assert of_pairs.shown_row == 0


def test_equal_systems_share_a_rank_and_low_measures_begin_low() -> None:
    truth = {f"q{i}": {"a": 1, "b": 1} for i in range(4)}
    runs = {
        name: dict.fromkeys(truth, ranked)
        for name, ranked in (("far", ["x", "y", "a"]), ("one", ["a", "x"]), ("same", ["b", "x"]))
    }
    table = leaderboard_table(sy.report(weigh(truth, runs), measures=["unjudged@3", "mrr"]), read_words("en"))
    assert [(row[0].text, row[1].text) for row in table.rows] == [("one", "1"), ("same", "1"), ("far", "3")]
    assert [cell.value for cell in table.header[2:4]] == [1, -1]


def test_latency_is_shown_where_it_is_reported() -> None:
    questions = [{"qid": f"q{i}", "query": "?", "evidence": [{"text": "gold"}]} for i in range(3)]
    lines = [
        {"qid": f"q{i}", "retrieved": [{"id": "c", "text": "gold"}], "latency_ms": {"total": 10.0 * i}}
        for i in range(1, 3)
    ]
    runs = {
        "slow": [*lines, {"qid": "q0", "error": "timeout", "retrieved": []}],
        "silent": [{"qid": f"q{i}", "retrieved": [{"id": "c", "text": "gold"}]} for i in range(3)],
    }
    report = sy.report(weigh(questions, runs), measures="recall@1")
    assert report.latency_ms == {"slow": (20.0, math.inf)}
    table = leaderboard_table(report, read_words("en"))
    of = {row[0].text: [cell.text for cell in row[-2:]] for row in table.rows}
    assert [cell.text for cell in table.header[-2:]] == ["P50, ms", "P95, ms"]
    assert of == {"slow": ["20", "∞"], "silent": ["–", "–"]}


def test_what_all_systems_share_is_a_note_and_no_column() -> None:
    report = texts_report()
    table = leaderboard_table(report, read_words("en"))
    assert "questions in the mean" not in [cell.text for cell in table.header]
    assert "Each mean is over 4 questions." in table.notes
    one = leaderboard_table(ids_report(1), read_words("en"))
    assert [row[0].text for row in one.rows] == ["ndcg@3", "dcg@3", "recall@3"]
    assert [row[1].bar is None for row in one.rows] == [False, True, False]


@pytest.mark.parametrize(
    ("lang", "why"), [("en", "a limit that held in every case would be too wide"), ("zh", "在任何情况下都成立的界限")]
)
def test_a_page_says_why_a_pass_leaves_open_what_none_has_shown(lang: str, why: str) -> None:
    words = read_words(lang)
    for mean, is_pass in ((0.9, True), (0.6, False)):
        scores = stated({"mrr": (mean, mean - 0.02, mean + 0.02)})
        contents = SimpleNamespace(scores=scores, by_mean=lambda: [0])
        notes = gate_table(gate(scores, profile="faq"), cast(Contents, contents), words).notes
        assert any(why in note for note in notes) == is_pass


def test_a_named_profile_brings_its_gate() -> None:
    report = sy.report(
        ids_weighing(3), measures=("ndcg@5", "recall@5"), baseline="system-0", profile="document-qa", margin=0.05
    )
    assert report.gate is not None
    assert set(report.gate.baselines.values()) == {"system-0"}
    page = render(report, words=read_words("en"))
    assert "Steelyard gate: " in page
    assert "recall@5 ≥ 0.8 (target)" in page
    assert "May it ship?" in report.text("markdown", lang="en")
    assert json.loads(report.text("json"))["gate"]["checks"][0]["kind"] == "level"
    without = sy.report(ids_weighing(3), measures=("ndcg@5", "recall@5"))
    assert without.gate is None
    assert "Steelyard gate" not in render(without, words=read_words("en"))
    assert sy.report(ids_weighing(1), measures="mrr", profile="document-qa").gate is None


def test_a_report_has_a_title_and_a_date(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    report = ids_report(1, title="Pilot <3>")
    assert (report.title, report.date) == ("Pilot <3>", "2023-11-14")
    page = render(report, words=read_words("en"))
    finding = "system-0 reaches ndcg@3 "
    assert '<p class="named">Pilot &lt;3&gt;</p>' in page
    assert f"<title>Pilot &lt;3&gt;: {finding}" in page
    assert f'<h1 id="finding">{finding}' in page
    assert '<time datetime="2023-11-14">' in render(report, words=read_words("en"))
    assert report.text("markdown", lang="en").startswith("# Pilot \\<3\\>\n")
    assert "Pilot <3> · 2023-11-14\n" in report.text("table", lang="en", explain=True)
    stored = json.loads(report.text("json"))
    assert (stored["title"], stored["date"]) == ("Pilot <3>", "2023-11-14")
    assert ids_report(1).text("markdown", lang="zh").startswith("# 评估报告\n")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "yesterday")
    with pytest.raises(InputError, match=r"SOURCE_DATE_EPOCH is 'yesterday', expected seconds since 1970"):
        ids_report(1)


def test_one_system_has_no_comparison() -> None:
    page = render(ids_report(1), words=read_words("en"))
    assert 'id="leaderboard"' in page
    assert not any(f'id="{name}"' in page for name in ("comparison", "scatter", "heatmap"))
    assert "so no texts are shown" in page
    assert "What does it reach?" in page
    assert not any(word in page for word in ("Which system is best?", "decides the order", "the comparison below"))
    table = ratings_table(ids_report(1), read_words("en"))
    assert [cell.text for cell in table.header] == ["measure", "rating"]
    assert [row[0].text for row in table.rows] == ["ndcg@3", "recall@3"]


def test_questions_without_a_value_stay_without() -> None:
    truth, runs = {"q1": {"a": 1}, "q2": {"b": 1}}, {"x": {"q1": ["a"]}, "y": {"q1": ["b"]}}
    report = sy.report(truth, runs, "mrr", missing="skip")
    data = Page(render(report, words=read_words("en"))).data("data")
    steps = np.frombuffer(base64.b64decode(data["values"][0]["data"]), "<u2")
    assert steps.tolist() == [10_000, NOTHING, 0, NOTHING]
    stages = np.frombuffer(base64.b64decode(data["stage"]["data"]), "u1")
    assert stages.tolist() == [STAGES.index("found"), len(STAGES), STAGES.index("not_retrieved"), len(STAGES)]


def test_what_does_not_fit_is_left_out_and_counted() -> None:
    report, weighing = texts_report(), texts_weighing()

    def limited(**limits: int) -> dict[str, Any]:
        return payload(replace(report, details=Details.of(weighing, Limits(**limits))), EN)

    assert payload(report, EN)["chunk_texts_left_out"] == 0
    small = limited(chunk_bytes=60, gold_bytes=40, answer_bytes=3, judged_bytes=200)
    assert small["chunk_texts"][small["chunk_ids"].index("c1")] == visible(TEXTS["c1"])
    assert small["chunk_texts_left_out"] == small["chunk_texts"].count(None) > 0
    assert small["gold_left_out"] > 0
    assert small["of"][0]["answers"] == {0: None}
    assert (small["of"][0]["judged"], small["of"][0]["judged_left_out"]) == ({}, 1)
    assert limited(entries=12)["depth"] == 1
    assert limited(entries=11)["depth"] == 0
    assert limited(id_bytes=9)["depth"] < 20


def test_tables_of_the_diagnosis_have_systems_down_and_no_stage_of_zeros() -> None:
    report, words = texts_report(), read_words("en")
    order = [report.scores.systems[i] for i in report.by_mean()]
    table = funnel_table(report, words)
    assert [row[0].text for row in table.rows] == order
    assert [row[0].text for row in ceilings_table(report, words).rows] == order
    assert [cell.text for cell in table.header] == ["system", "failed", "no gold to find", "not retrieved", "found"]
    assert [cell.text for cell in table.rows[order.index("third")][1:]] == ["1 (25%)", "1 (25%)", "2 (50%)", "0"]
    ids = funnel_table(ids_report(), words)
    assert ([cell.text for cell in ids.header], ids.notes[0]) == (
        ["system", "found"],
        "No question of any system: not retrieved, retrieved below k.",
    )
    assert [row[0].text for row in tags_table(report, words).rows] == ["fees", "hours", "repair", "中文"]


def test_documents_are_shown_for_runs_by_ids() -> None:
    truth = {"q1": {"d1": 1, "d9": 2}, "q2": {"d2": 1}}
    runs = {"a": {"q1": ["d1", "d3"], "q2": ["d2"]}, "b": {"q1": ["d4"], "q2": ["d1"]}}
    texts = {"d1": evil("first"), "d2": "long " * 1000, "d3": "", "d9": " gold\n\n that none has "}
    weighing = weigh(truth, runs, documents=[Document(doc_id, text) for doc_id, text in texts.items()])
    report = sy.report(weighing, measures="recall@1")
    data = payload(report, EN)
    assert data["chunk_ids"] == ["d1", "d3", "d2", "d4"]
    assert data["chunk_texts"] == [visible(evil("first")), "", f"{'long ' * 800}"[:3999] + "…", ""]
    assert data["chunk_texts_left_out"] == 0
    assert [piece[5] for piece in data["gold"][0]] == ["gold that none has", visible(" ".join(evil("first").split()))]
    small = replace(report, details=Details.of(weighing, Limits(chunk_bytes=4_001)))
    assert payload(small, EN)["chunk_texts_left_out"] == 1
    assert payload(sy.report(weigh(truth, runs), measures="recall@1"), EN)["chunk_texts"] is None


def test_two_texts_of_one_id_stay_apart() -> None:
    runs = {
        name: [{"qid": "q", "retrieved": [{"id": "c", "text": text}]}] for name, text in (("a", "gold"), ("b", "tin"))
    }
    report = sy.report(weigh([{"qid": "q", "query": "?", "evidence": [{"text": "gold"}]}], runs), measures="recall@1")
    data = payload(report, EN)
    assert (data["chunk_ids"], data["chunk_texts"]) == (["c", "c"], ["gold", "tin"])
    assert data["marks"] == {0: {0: [0, 4]}}


def test_gold_documents_and_spans_are_shown_by_whichever_name(tmp_path: Path) -> None:
    """`travel` is documents/travel.md, be it of a corpus, or of the documents that a run folder keeps."""
    text = "Hotels up to 120 euros."
    asked = [{"qid": "q", "query": "?", "evidence": [{"doc": "travel.md"}, {"doc": "travel", "start": 0, "end": 6}]}]
    item = {"id": "c", "doc": "documents/travel.md", "start": 0, "end": 6, "text": "Hotels"}
    corpus = [Document("travel", text, source="documents/travel.md")]
    lists = {"a": [{"qid": "q", "retrieved": [item]}]}
    data = payload(sy.report(weigh(asked, lists, documents=corpus), measures="mrr"), EN)
    assert [piece[5] for piece in data["gold"][0]] == [text, "Hotels"]
    passage = Passage("c", "documents/travel.md", 0, 6, "Hotels")
    folder = write_run_folder(
        tmp_path / "run",
        config={},
        manifest={"name": "a", "finished": "now"},
        documents=corpus,
        responses=[("q", Response("?", (passage,)))],
    )
    data = payload(sy.report(weigh(asked, str(folder.path)), measures="mrr"), EN)
    assert [piece[5] for piece in data["gold"][0]] == [text, "Hotels"]
    assert [piece[5] for piece in payload(sy.report(weigh(asked, lists), measures="mrr"), EN)["gold"][0]] == [
        None,
        None,
    ]
