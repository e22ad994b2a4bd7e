"""Tables of scores in both languages."""

import dataclasses
import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import steelyard as sy
from steelyard.align.gold import LossCode
from steelyard.align.resolver import GoldMapping
from steelyard.data.clusters import Clustering
from steelyard.experiment.corrections import Correction
from steelyard.experiment.table.arrays import CAUSES
from steelyard.experiment.table.frame import STATUSES
from steelyard.experiment.table.scores import Scores
from steelyard.reports import writing
from steelyard.reports.formats.blocks import sheet_markdown, sheet_terminal
from steelyard.reports.views.scores import per_query_sheet, scores_sheet
from steelyard.reports.views.view import Sheet
from steelyard.reports.words import Words, read_words
from steelyard.stats.labels.prediction_powered import CorrectedMean, LabelledMean
from tests.cli.command import complaint, printed
from tests.reports.untranslated import untranslated

EN, ZH = read_words("en"), read_words("zh")
NAMES = {"hybrid", "rerank", "any", "contains", "--documents", "doc#1", "BEIR", "JSONL", "--cluster doc",
         "talk", "--unit chunk", "--unit document", 'unit = "document"'}  # fmt: skip
"""Names that both languages share: systems, rules, methods, options, examples of ids."""

LATEX = {"needs", "usepackage", "booktabs", "begin", "end", "table", "tabular", "caption", "toprule", "midrule",
         "bottomrule", "textbf"}  # fmt: skip


def test_leaderboards_leave_out_what_is_as_expected_of_all_runs() -> None:
    truth = {"q": {"a": 1}, "r": {"a": 1}}
    whole, lacking, unlabelled = {"q": ["a"], "r": ["a"]}, {"q": ["a"]}, {"q": ["a"], "r": ["a", "b"]}
    for other, counts in ((whole, []), (lacking, ["missing", "judged"]), (unlabelled, ["judged"])):
        sheet = scores_sheet(sy.evaluate(truth, {"x": whole, "y": other}, "mrr"), EN)
        assert sheet.header == ["system", "mrr", *counts]
        assert {len(row) for row in sheet.rows} == {2 + len(counts)}


def test_a_wide_table_of_queries_names_them_in_each_part() -> None:
    scores = sy.evaluate({"q1": {"a": 1}, "q2": {"b": 1}}, {"x": {"q1": ["a"], "q2": ["a"]}}, NUMBERS[:2])
    text = scores.text(per_query=True, lang="en", width=45)
    labels = [line.split()[:2] for line in text.split("\n\n")[0].splitlines() if not line.startswith("─")]
    assert labels == [["system", "question"], ["x", "q1"], ["x", "q2"]] * 3


def test_what_counts_0_of_answers_is_said_by_measure() -> None:
    questions = [{"qid": "q1", "query": "?", "answer": "Nine."}, {"qid": "q2", "query": "?", "answer": "Ten."}]
    run = [{"qid": "q1", "contexts": ["It is nine."], "answer": "It is nine."}]
    notes = "\n".join(scores_sheet(sy.evaluate(questions, run, ["faithfulness", "answer_recall"]), EN).notes)
    assert "faithfulness: 1 of 2 questions is left out: no answer 1." in notes
    assert "answer_recall: 1 of 2 questions counts 0: no answer 1." in notes
    assert "missing from the run" not in notes


NUMBERS = ["ndcg@10", "recall(min_gain=2)@5", "span_recall@5"]
KINDS = ("chunk", "span", "quote", "text", "pages", "document")


class Heard(dict[str, str]):
    """A catalogue that remembers which of its texts were asked for."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        super().__init__(texts)
        self.keys_heard: set[str] = set()

    def __getitem__(self, key: str) -> str:
        self.keys_heard.add(key)
        return super().__getitem__(key)


def listening(lang: Words) -> tuple[Words, Heard]:
    heard = Heard(lang.texts)
    return Words(lang.code, heard), heard


def gold(n: int, *, complete: bool, rule: str = "any") -> GoldMapping:
    """Gold of every kind, n pieces of each, n of them lost, for each reason in one of the tables."""
    code: LossCode = "not_in_corpus" if complete else "cut" if n > 1 else "unknown"
    lost = tuple((f"q{i}", "text 'a whale'", "the corpus has no chunk with this id") for i in range(n))
    return GoldMapping(rule, ("lower",), dict.fromkeys(KINDS, n), complete, False, lost, (), (code,) * n)


def troubled(
    n: int, *, systems: int = 2, specs: list[str] = NUMBERS, policy: str = "zero", reports: bool = True
) -> Scores:
    """Scores of twelve questions, n of them with each trouble: missing, failed, unwinnable, no relevant, unplaced.

    The second system has gold of its own rule and a complete corpus.
    """
    names, q = ["hybrid", "rerank"][:systems], 12
    measures = [sy.parse(spec) for spec in specs]
    values = np.tile(np.linspace(0, 1, q), (systems, len(measures), 1))
    skipped = np.zeros((systems, q), bool)
    skipped[:, n : 2 * n] = policy == "skip"
    values[np.broadcast_to(skipped[:, None], values.shape)] = np.nan
    for j, measure in enumerate(measures):
        if "characters" in measure.definition.inputs:
            values[:, j, 4 * n : 5 * n] = np.nan
    flags = {name: np.zeros((systems, q), bool) for name in ("missing", "failed", "unwinnable")}
    for i, flag in enumerate(flags.values()):
        flag[:, i * n : (i + 1) * n] = True
    no_relevant = np.zeros(values.shape, bool)
    no_relevant[0, 0, 3 * n : 4 * n] = True
    no_relevant[-1, :, 3 * n : 4 * n] = True
    found = [gold(n, complete=False), gold(n, complete=True, rule="contains")][:systems]
    return Scores(
        systems=names, query_ids=[f"q{i}" for i in range(q)], measures=measures, values=values, **flags,
        no_relevant=no_relevant, judged=np.zeros(values.shape), unjudged_queries=np.full(systems, n),
        gold=found if reports else [None] * systems,
        recipe_parts={"steelyard": "x", "missing": policy, "no_relevant": policy},
    )  # fmt: skip


def one_query() -> Scores:
    scores = troubled(0)
    return dataclasses.replace(
        scores.filter(query_ids=scores.query_ids[0]), gold=[dataclasses.replace(gold(1, complete=True), kinds={}), None]
    )


def unmeasured() -> Scores:
    """One question of each system has no value."""
    systems = troubled(0).systems
    frame = pl.DataFrame({"system": systems, "query_id": ["1", "2"], "measure": "mrr", "value": [1.0, 0.5]})
    return Scores.of(frame)


def equal() -> Scores:
    """Values of one measure are equal, and have no range."""
    values = {"system": "hybrid", "query_id": ["1", "2"] * 2, "measure": ["mrr"] * 2 + ["clicks"] * 2}
    return Scores.of(pl.DataFrame({**values, "value": [1.0, 0.5, 3.0, 3.0]}))


def unbounded() -> Scores:
    """Values of a measure without a highest value."""
    frame = pl.DataFrame(
        {"system": "hybrid", "query_id": ["1", "2", "3"], "measure": "clicks", "value": [1.0, 2.0, 9.0]}
    )
    return Scores.of(frame)


def test_a_measure_without_an_interval_is_named() -> None:
    want = "Without an interval: clicks; it needs two questions at least, and values that differ."
    assert want in scores_sheet(equal(), EN).notes


def every_table() -> Iterator[Scores]:
    for n in (1, 2):
        for policy in ("zero", "skip"):
            yield troubled(n, policy=policy)
            yield troubled(n, systems=1, policy=policy)
            yield troubled(n, policy=policy, reports=False)
            yield troubled(n, specs=["map", "mrr"], policy=policy, reports=False)
    yield one_query()
    yield unmeasured()
    yield equal()
    yield unbounded()
    yield from clustered()
    yield from of_documents()
    yield from of_answers()
    yield from corrected()
    yield from without_gold()


def without_gold() -> Iterator[Scores]:
    """One question, and several, of which none has gold."""
    for n in (1, 3):
        truth = {f"q{i}": {"a": 0} for i in range(n)}
        scores = sy.evaluate(truth, {"hybrid": {query: ["a"] for query in truth}}, "map")
        yield dataclasses.replace(scores, notes={})


def corrected() -> Iterator[Scores]:
    """Means that labels of people correct: of the only system, of both, and of one alone; of one measure of two."""
    truth = {f"q{n}": {"d": 1} for n in range(12)}
    three = sy.evaluate(truth, {name: {"q1": ["d"]} for name in ("hybrid", "rerank", "talk")}, "map")
    alone, two = (troubled(0, systems=systems, specs=["map", "mrr"], reports=False) for systems in (1, 2))
    for scores, labelled in ((alone, 1), (two, 2), (two, 1), (three, 1)):
        by_people = LabelledMean(np.full(12, 0.75), 0.75, 0.6, 0.9, 0.07, 11.0)
        mean = CorrectedMean(0.5, by_people, by_people, 0.0, n_labels=40, n_units=60, worth=44.0)
        of = {"map": Correction(mean, "item", 40)}
        yield dataclasses.replace(scores, corrections=dict.fromkeys(scores.systems[:labelled], of))


@pytest.mark.parametrize(
    ("place", "words", "cells", "said"),
    [
        (0, EN, ["0.7500", "0.600–0.900"], "map is corrected by labels of people; beside it what the judge"),
        (0, ZH, ["0.7500", "0.600–0.900"], "map 已用人工标注校正，旁边是仅按裁判的均值。"),
        (1, EN, ["0.7500 0.600–0.900 (judge {})"] * 2, "map is corrected by labels of people; beside it what"),
        (1, ZH, ["0.7500 0.600–0.900（裁判 {}）"] * 2, "map 已用人工标注校正，旁边是仅按裁判的均值。"),
        (2, EN, ["0.7500 0.600–0.900 (judge {})"], "{} has none, so systems are ordered by the judge alone."),
        (2, ZH, ["0.7500 0.600–0.900（裁判 {}）"], "{} 没有标注，因此系统的名次仅按裁判。"),
    ],
)
def test_a_corrected_mean_comes_first_and_the_judge_beside_it(
    place: int, words: Words, cells: list[str], said: str
) -> None:
    scores = list(corrected())[place]
    sheet, judge = scores_sheet(scores, words), [f"{mean:.4f}" for mean in scores.means[:, 0]]
    if place == 0:
        assert sheet.rows[0][1:4] == [*cells, judge[0]]
        assert sheet.rows[1][3] == "–"
    else:
        of_system = {row[0]: row[1] for row in sheet.rows}
        expected = [cell.format(mean) for cell, mean in zip(cells, judge, strict=False)]
        assert [of_system[name] for name in scores.corrections] == expected
    assert any(said.format(scores.systems[-1]) in note for note in sheet.notes)


def of_answers() -> Iterator[Scores]:
    """Values of answers that are 0, or left out: a question for each cause, and another one for the first."""
    scores = troubled(0, specs=["faithfulness", "mrr"])
    causes = np.zeros(scores.values.shape, np.int8)
    for place in range(len(CAUSES)):
        causes[place % 2, 0, place // 2] = place + 1
    causes[:, 0, -1] = 1
    for values in (scores.values, np.where(causes > 0, np.nan, scores.values)):
        yield dataclasses.replace(scores, values=values, causes=causes)
    first = causes * (np.arange(12) == 0)
    for values in (scores.values, np.where(first > 0, np.nan, scores.values)):
        yield dataclasses.replace(scores, values=values, causes=first, measures=[sy.parse("faithfulness")] * 2)


def of_documents() -> Iterator[Scores]:
    """Lists of chunks weighed as documents; gold documents without a chunk."""
    scores = troubled(1, specs=["ndcg@10"])
    lost = dataclasses.replace(gold(1, complete=True), unit="document")
    yield dataclasses.replace(scores, gold=[lost, lost])


def clustered() -> Iterator[Scores]:
    """Questions in clusters of every kind, many, few and one; and such as share gold documents."""
    scores = troubled(1)
    for by, codes in (("doc", np.arange(12)), ("talk", np.arange(12) // 3), ("clusters", np.zeros(12, int))):
        recipe = {**scores.recipe_parts, "cluster": by}
        yield dataclasses.replace(scores, clustering=Clustering(by, codes), recipe_parts=recipe)
    for values in (scores.values[0], scores.values[0] / 2):
        yield dataclasses.replace(scores, repeats={"hybrid": np.stack([scores.values[0], values])})
    yield scores.with_percentiles([f"{scores.measures[0]}:p10"])
    counts = {"n_questions": 4, "n_clusters": 10, "n_chained": 3}
    for widening in (None, 0.9, 1.2):
        recipe = {**scores.recipe_parts, "shared_gold": {**counts, "widening": widening}}
        yield dataclasses.replace(scores, recipe_parts=recipe)
    by_doc = {**recipe, "cluster": "doc"}
    yield dataclasses.replace(scores, clustering=Clustering("doc", np.arange(12)), recipe_parts=by_doc)


def test_no_english_is_left_in_chinese_tables_and_every_text_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    chinese, heard = listening(ZH)
    monkeypatch.setattr(writing, "read_words", lambda lang: chinese)
    for scores in every_table():
        allowed = NAMES | set(map(str, scores.measures)) | {"ndcg", "map", "r_precision"}
        few = len(scores.query_ids) < 100
        texts = [scores.text(per_query=few, lang=chinese.code, width=80, explain=explain) for explain in (False, True)]
        texts.append(scores.text("markdown", lang=chinese.code))
        for text in texts:
            assert untranslated(text, allowed) == []
        latex = scores.text("latex", lang=chinese.code).replace("\\", "").replace("-{}-", "--")
        left = untranslated(latex, allowed | LATEX)
        assert [word for word in left if set(word) > {"l", "r"}] == []
    elsewhere = ("scores.status.ok", "scores.head.measure")
    ours = {key for key in ZH.texts if key.startswith("scores.") and not key.startswith(elsewhere)}
    assert ours - heard.keys_heard == set()


def test_every_status_has_a_name_of_its_own() -> None:
    for lang in (EN, ZH):
        told = [lang(f"scores.status.{status}") for status in STATUSES]
        assert told[0] == ""
        assert len(set(told)) == len(STATUSES)


def test_the_gravest_status_is_told_in_the_language() -> None:
    scores = troubled(2)
    english = [row[-1] for row in per_query_sheet(scores, EN).rows[:12]]
    chinese = [row[-1] for row in per_query_sheet(scores, ZH).rows[:12]]
    assert english[:8] == ["missing"] * 2 + ["failed"] * 2 + ["unwinnable"] * 2 + ["no relevant"] * 2
    assert english[8:] == ["unplaced"] * 2 + [""] * 2
    assert chinese[:8] == ["缺失"] * 2 + ["失败"] * 2 + ["无法得分"] * 2 + ["无相关文档"] * 2


def test_languages_tell_the_same_numbers_in_the_same_places() -> None:
    for scores in (troubled(1), troubled(2, systems=1), one_query()):
        english, chinese = scores_sheet(scores, EN), scores_sheet(scores, ZH)
        assert (english.rows, english.best) == (chinese.rows, chinese.best)
        assert (len(english.header), len(english.notes)) == (len(chinese.header), len(chinese.notes))


def test_the_locale_tells_the_language_where_nobody_does(monkeypatch: pytest.MonkeyPatch) -> None:
    scores = troubled(1)
    for told, lang in (("zh_CN.UTF-8", ZH), ("de_DE.UTF-8", EN)):
        monkeypatch.setenv("LC_ALL", told)
        assert scores_sheet(scores) == scores_sheet(scores, lang)
        assert per_query_sheet(scores) == per_query_sheet(scores, lang)
        for name in ("table", "markdown", "latex"):
            assert scores.text(name, per_query=True) == scores.text(name, per_query=True, lang=lang.code)


def test_programs_read_the_same_in_every_locale(monkeypatch: pytest.MonkeyPatch) -> None:
    scores = troubled(1)
    made = set()
    for told in ("zh_CN.UTF-8", "C"):
        monkeypatch.setenv("LC_ALL", told)
        made.add("".join(scores.text(name, per_query=True) for name in ("json", "csv", "trec")))
    assert len(made) == 1


def test_captions_say_what_is_bold_in_the_language() -> None:
    equal = troubled(1, reports=False)
    scores = dataclasses.replace(equal, values=equal.values * np.array([1.0, 0.5])[:, None, None])
    assert "bold" not in equal.text("latex", lang="en")
    line = str(scores.signature).replace("_", r"\_")
    end = f"ignored. Signature: {line}. Best value of each column in bold.}}"
    assert scores.text("latex", lang="en").count(end) == 1
    chinese = scores.text("latex", lang="zh")
    assert f"已忽略。签名：{line}。每列最佳值以粗体表示。}}" in chinese
    assert "粗体" not in troubled(1, systems=1).text("latex", lang="zh")


@pytest.mark.parametrize("width", [40, 60, 80])
def test_chinese_tables_fit_the_terminal(width: int) -> None:
    cells = pytest.importorskip("rich.cells")
    lines = troubled(2).text(per_query=True, lang="zh", width=width).splitlines()
    assert max(map(cells.cell_len, lines)) <= width
    assert not any(line.startswith(tuple("，。；：、）")) for line in lines)


# The command -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sheets")
    (path / "truth.json").write_text(json.dumps({f"q{i}": {"d": 1, "e": 1} for i in range(20)}))
    ranking = {f"q{i}": ["d", "x", "e"] if i % 4 else ["x", "y"] for i in range(20)}
    (path / "hybrid.json").write_text(json.dumps(ranking))
    return path


def test_a_profile_brings_its_measures_and_its_ratings(folder: Path) -> None:
    text = printed(
        "evaluate", "truth.json", "hybrid.json", "--profile", "faq", "--lang", "en", "-v", cwd=folder, columns=200
    )
    above, below = text.split("hybrid ", 2)[1:]
    assert [line.split()[0] for line in above.splitlines()[2:5]] == ["mrr", "hit_rate@3", "precision@3"]
    assert "rating" in below.splitlines()[0]
    assert "Profile faq." in below
    assert (
        untranslated(
            printed("evaluate", "truth.json", "hybrid.json", "--profile", "faq", "--lang", "zh", cwd=folder).rpartition(
                "下一步："
            )[0],
            NAMES | {"hybrid", "mrr", "hit_rate@3", "precision@3", "faq", "FAQ"},
        )
        == []
    )


def test_measures_that_are_named_are_rated_by_the_profile(folder: Path) -> None:
    options = ("-m", "recall@5", "--profile", "ratings", "--lang", "en")
    text = printed("evaluate", "truth.json", "hybrid.json", *options, "-f", "markdown", cwd=folder)
    assert "| recall@5 | good (could be" in text
    assert text.count("| hybrid |") == 2


def test_numbers_for_programs_are_those_of_the_profiles_measures(folder: Path) -> None:
    given = ("evaluate", "truth.json", "hybrid.json", "-f", "json")
    made = json.loads(printed(*given, "--profile", "faq", "--lang", "zh", cwd=folder))
    assert list(made) == ["format", "signature", "systems", "perfect", "recipe"]
    assert list(made["systems"]["hybrid"]["metrics"]) == ["mrr", "hit_rate@3", "precision@3"]


def test_bad_words_are_told_in_a_line(folder: Path) -> None:
    given = ("evaluate", "truth.json", "hybrid.json")
    assert "did you mean faq?" in complaint(*given, "--profile", "fak", cwd=folder)
    assert "cannot be written as html; choose table" in complaint(*given, "-o", "scores.html", cwd=folder)


def test_columns_of_words_begin_in_line_in_markdown() -> None:
    rows = [
        ["a", "0.7911", "+0.1", "better", "≥ 0.8 (target)", "$0.5", "<0.001"],
        ["b", "–", "–", "baseline", "–", "–", "–"],
    ]
    text = sheet_markdown(Sheet(["system", "mean", "difference", "verdict", "wanted", "cost", "p"], rows))
    assert text.splitlines()[1] == "| --- | ---: | ---: | --- | ---: | ---: | ---: |"


def test_of_two_columns_the_second_is_wrapped_where_the_first_has_no_room_left() -> None:
    sheet = Sheet(
        ["fact", "lexical"], [["judge", "by words"], ["parameters", "numbers = True, names = True, units = True"]]
    )
    assert sheet_terminal(sheet, width=36).splitlines() == [
        "fact         lexical",
        "────────────────────────────────────",
        "judge        by words",
        "parameters   numbers = True, names =",
        "             True, units = True",
    ]
    narrow = Sheet(["a rather long name", "n"], [["another rather long name", "1"]])
    assert sheet_terminal(narrow, width=20).splitlines()[3:] == ["another rather     1", "long name"]
