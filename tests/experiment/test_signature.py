"""The line by which a result is quoted."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET

import polars as pl
import pytest

import steelyard as sy
from steelyard.experiment.table.recipes import Signature, signature_of
from steelyard.experiment.table.scores import Scores
from steelyard.reports.formats.blocks import blocks_markdown, blocks_terminal
from steelyard.reports.views.diagnosis import diagnosis_sections
from steelyard.reports.words import read_words

TRUTH = {"q1": {"a": 1}, "q2": {"b": 1}, "q3": {"c": 0}}
RUNS = {name: {"q1": {"a": 1.0, name: 2.0}, "q2": {"b": 1.0}} for name in ("one", "two", "three", "four")}
DIGEST = "sha256:" + "0123456789abcdef" * 4


def test_all_that_must_be_equal_is_in_the_line() -> None:
    scores = sy.evaluate(TRUTH, {"one": RUNS["one"]}, ["ndcg@10", "P@5"], missing="skip", no_relevant="skip")
    signature = scores.signature
    truth, run = scores.recipe["truth"]["digest"], scores.recipe["runs"]["one"]
    assert signature == Signature(
        ("ndcg@10", "precision@5"), (2, 2), "skip", "skip", None, None, None, truth, None, {"one": run}, sy.__version__
    )
    assert str(signature) == (
        f"ndcg@10,precision@5; n:2; missing:skip; no_relevant:skip; truth:{truth[7:15]}; runs:{run[7:15]}; "
        f"steelyard:{sy.__version__}"
    )


def test_what_differs_shows() -> None:
    lines = {
        str(sy.evaluate(truth, RUNS["one"], measure, missing=missing).signature)  # type: ignore[arg-type]
        for truth in (TRUTH, {**TRUTH, "q1": {"a": 2}})
        for measure in ("map", "map@5")
        for missing in ("zero", "skip")
    }
    assert len(lines) == 8


def test_means_of_unequal_numbers_of_queries_and_many_runs() -> None:
    scores = sy.evaluate(TRUTH, RUNS, ["map", "judged@5"], no_relevant="skip", missing="zero")
    line = str(scores.signature)
    assert "; n:2-3; " in line
    assert "; runs:4x" in line
    turned = sy.evaluate(TRUTH, dict(reversed(RUNS.items())), ["map", "judged@5"], no_relevant="skip")
    assert str(turned.signature) == line
    few = scores.filter(systems=["one", "two"])
    assert len(few.signature.runs) == 2
    assert "x" not in str(few.signature).partition("runs:")[2].partition(";")[0]


def test_folding_differs_in_the_line() -> None:
    golds = [{"query_id": "q", "query": "Where?", "evidence": [{"doc": "d", "quote": "THE  harbour"}]}]
    outputs = [{"query_id": "q", "retrieved": [{"id": "c", "doc": "d", "text": "the  harbour"}]}]
    values, lines = {}, {}
    for steps in (["lower"], ["white_space"], [], ["white_space", "lower"]):
        scores = sy.evaluate(sy.Questions(golds), {"a": outputs}, "evidence_recall@1", steps=steps)
        name = ",".join(steps)
        values[name], lines[name] = scores.means[0, 0], str(scores.signature)
    assert (values["lower"], values["white_space"]) == (1, 0)
    assert len(set(lines.values())) == 4
    assert "; rule:share>=0.5; steps:lower,white_space; truth:" in lines["white_space,lower"]
    assert "; steps:none; " in lines[""]


def test_which_equal_document_is_kept_is_in_the_line() -> None:
    run = pl.DataFrame({"query_id": ["q1"] * 2, "doc_id": ["a", "a"], "score": [1.0, 2.0]})
    lines = [str(sy.evaluate(TRUTH, run, "map", on_duplicate=policy).signature) for policy in ("first", "max")]
    assert ["on_duplicate:first" in lines[0], "on_duplicate:max" in lines[1]] == [True, True]
    assert "on_duplicate" not in str(sy.evaluate(TRUTH, RUNS["one"], "map").signature)


def test_the_corpus_that_gold_is_looked_up_in_is_in_the_line() -> None:
    golds = [{"query_id": "q", "query": "Where?", "evidence": [{"doc": "d", "quote": "harbour"}]}]
    outputs = [{"query_id": "q", "retrieved": [{"id": "c", "doc": "d", "text": "the harbour"}]}]
    documents = [sy.Document("d", "By the harbour."), sy.Document("e", "Inland.")]

    def corpus_of(corpus: object) -> str | None:
        return sy.evaluate(sy.Questions(golds), {"a": outputs}, "evidence_recall@1", documents=corpus).signature.corpus

    digests = [corpus_of(documents), corpus_of(documents[:1])]
    assert len({None, *digests}) == 3
    assert corpus_of(None) is None
    scores = sy.evaluate(sy.Questions(golds), {"a": outputs}, "evidence_recall@1", documents=documents)
    assert f"; corpus:{str(digests[0])[7:15]}; runs:" in str(scores.signature)
    assert Scores.concat([scores]).signature == scores.signature


def test_of_a_recipe() -> None:
    recipe = {
        "measures": ["recall@5"], "missing": "zero", "no_relevant": "zero", "rule": "share>=0.5", "steelyard": "1",
        "steps": ["white_space", "lower"], "on_duplicate": "max", "corpus": {"digest": DIGEST},
        "truth": {"name": "gold", "digest": DIGEST}, "runs": {"a": DIGEST},
    }  # fmt: skip
    assert str(signature_of(recipe, 7)) == (
        "recall@5; n:7; missing:zero; no_relevant:zero; rule:share>=0.5; steps:lower,white_space; "
        "on_duplicate:max; truth:01234567; corpus:01234567; runs:01234567; steelyard:1"
    )


def test_of_a_frame_there_are_no_inputs_to_name() -> None:
    frame = pl.DataFrame({"query_id": ["a", "b"], "measure": "clicks", "value": [1, 2]})
    assert str(Scores.of(frame).signature) == (
        f"clicks; n:2; missing:zero; no_relevant:zero; steelyard:{sy.__version__}"
    )


def test_a_comparison_has_one_too() -> None:
    scores = sy.evaluate(TRUTH, RUNS, ["map"], no_relevant="skip")
    assert str(sy.compare(scores).signature) == str(scores.signature)


def test_it_is_written_with_a_comparison() -> None:
    comparison = sy.compare(sy.evaluate(TRUTH, RUNS, ["map", "P@5"]))
    line = str(comparison.signature)
    for lang, name in (("en", "Signature: "), ("zh", "签名：")):
        words = read_words(lang)
        for format in ("table", "markdown"):
            assert comparison.text(format, lang=words.code, explain=True).count(name + line) == 1
        assert line.replace("_", r"\_") in comparison.text("latex", lang=words.code)
        assert comparison.data()["signature"] == line


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_it_is_written_with_a_gate(lang: str) -> None:
    scores, words = sy.evaluate(TRUTH, RUNS, ["map"]), read_words(lang)
    verdict = sy.gate(scores, baseline="one", margin=0.1)
    assert verdict.signature == scores.signature
    note = words("scores.signature", line=scores.signature)
    assert verdict.text(lang=words.code, explain=True).count(note) == 1
    assert verdict.text("markdown", lang=words.code).count(note) == 1
    suites = ET.fromstring(verdict.text("junit", lang=words.code))
    values = [item.get("value") for item in suites.findall("testsuite/properties/property[@name='signature']")]
    assert values == [str(scores.signature)] * 3


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_it_is_written_with_a_diagnosis(lang: str) -> None:
    weighing, words = sy.weigh(TRUTH, {"one": RUNS["one"]}), read_words(lang)
    diagnosis = sy.diagnose(weighing, k=2)
    truth, run = weighing.digests["truth"]["digest"], weighing.digests["runs"]["one"]
    line = str(diagnosis.signature)
    assert line == (
        f"ndcg@2,recall@2,mrr@2,hit_rate@2; n:3; truth:{truth[7:15]}; runs:{run[7:15]}; steelyard:{sy.__version__}"
    )
    note = words("scores.signature", line=line)
    assert blocks_terminal(diagnosis_sections(diagnosis, words)).count(note) == 1
    assert blocks_markdown(diagnosis_sections(diagnosis, words)).replace("\\", "").count(note) == 1
    assert json.loads(diagnosis.text("json", lang=words.code))["signature"] == line


def test_it_is_written_in_reports() -> None:
    pytest.importorskip("jinja2")
    weighing = sy.weigh(TRUTH, {"one": RUNS["one"]})
    report, line = sy.report(weighing, measures=["map"]), str(weighing.scores(["map"]).signature)
    assert f"Signature: {line}." in report.text("markdown")
    assert line.replace("_", r"\_") in report.text("latex")
    assert report.data()["scores"]["signature"] == line
    assert report.text("html").count(f"Signature: {line}.") == 1


def test_it_is_written_under_tables_and_in_files() -> None:
    scores = sy.evaluate(TRUTH, RUNS, ["map"])
    line = str(scores.signature)
    for name in ("table", "markdown"):
        assert line in scores.text(name, explain=True)
    assert line.replace("_", r"\_") in scores.text("latex")
    assert json.loads(scores.text("json"))["signature"] == line
