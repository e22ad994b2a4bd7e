import csv
import io
import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

import steelyard as sy
from steelyard.demo import copy_data
from tests.cli.command import complaint, printed, process, steelyard
from tests.shared_data import shared

pytest.importorskip("scipy", reason="the tests of differences need the extra stats")

DEMO = ("compare", "pilot.jsonl", "keyword.jsonl", "hybrid.jsonl")


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_data(tmp_path_factory.mktemp("demo") / "data")


def test_table(demo: Path) -> None:
    text = printed(*DEMO, "-v", cwd=demo, columns=200)
    assert re.search(
        r"^hybrid +0\.7911 +\+0\.1912 +\+31\.9% +\+0\.093 to \+0\.290 +<0\.001 +\+0\.61 +25/9/6 +better$", text, re.M
    )
    assert re.search(r"^keyword +0\.5999( +–){6} +baseline$", text, re.M)
    assert "Missing questions count 0: 1 missing from keyword." in text
    assert "Baseline: keyword. Paired t tests, two-sided, level 0.05; correction: Holm, over 1 comparison " in text


def test_missing_questions_are_left_out_where_asked(demo: Path) -> None:
    text = printed(*DEMO, "--missing", "skip", "-v", cwd=demo, columns=200)
    assert re.search(
        r"^hybrid +0\.7910 +\+0\.1757 +\+28\.6% +\+0\.080 to \+0\.272 +<0\.001 +\+0\.58 +24/9/6 +better$", text, re.M
    )
    assert re.search(r"^keyword +0\.6153( +–){6} +baseline$", text, re.M)
    assert "1 question is left out (keyword lacks 1); means are over the other 39." in text
    assert "count 0" not in text


def test_missing_questions_count_the_same_in_every_way_to_compare(demo: Path) -> None:
    """The command line once left them out, where `sy.compare` of `sy.evaluate` and a report had them count 0."""
    (row, _) = json.loads(printed(*DEMO, "-f", "json", cwd=demo))["measures"]["ndcg@10"]["systems"]
    truth, runs = demo / "pilot.jsonl", [demo / "keyword.jsonl", demo / "hybrid.jsonl"]
    report = sy.report(sy.weigh(truth, runs), measures="ndcg@10")
    assert report.comparison is not None
    for comparison in (sy.compare(sy.evaluate(truth, runs, "ndcg@10")), report.comparison):
        (hybrid, _) = comparison.rows["ndcg@10"]
        assert (hybrid.mean, hybrid.difference, hybrid.p) == (row["mean"], row["difference"], row["p"])
        assert (dict(comparison.missing), comparison.left_out) == ({"keyword": 1}, {"ndcg@10": 0})


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_tables_fit_the_terminal(columns: int, demo: Path) -> None:
    for explain in ((), ("-v",)):
        text = printed(*DEMO, "-m", "ndcg@10", "-m", "mrr@10", *explain, cwd=demo, columns=columns)
        *lines, following = text.splitlines()
        assert max(map(len, lines)) <= columns
        assert following.startswith(
            "Next: steelyard report pilot.jsonl keyword.jsonl hybrid.jsonl -m ndcg@10 -m mrr@10 "
        )


def test_options_reach_the_comparison(demo: Path) -> None:
    options = ("-m", "ndcg@10,map", "--baseline", "hybrid", "--test", "randomization", "--correction", "bonferroni",
               "--margin", "0.02", "--alpha", "0.01", "--seed", "3", "--missing", "skip", "-f", "json")  # fmt: skip
    made = json.loads(printed(*DEMO, *options, cwd=demo))
    found = sy.compare(
        sy.evaluate(
            str(demo / "pilot.jsonl"),
            [str(demo / "keyword.jsonl"), str(demo / "hybrid.jsonl")],
            ["ndcg@10", "map"],
            missing="skip",
        ),
        baseline="hybrid", test="randomization", correction="bonferroni", margin=0.02, alpha=0.01, seed=3,
    )  # fmt: skip
    assert {key: made[key] for key in ("baseline", "test", "correction", "margin", "alpha", "seed")} == {
        "baseline": "hybrid", "test": "randomization", "correction": "bonferroni", "margin": 0.02, "alpha": 0.01,
        "seed": 3,
    }  # fmt: skip
    for measure, rows in found.rows.items():
        written = made["measures"][measure]["systems"]
        assert [row["system"] for row in written] == [row.system for row in rows]
        assert [row["mean"] for row in written] == [row.mean for row in rows]
        keyword = next(row for row in rows if row.system == "keyword")
        assert keyword.verdict == "worse"
        assert [row["adjusted"] for row in written if row["system"] == "keyword"] == [keyword.adjusted]


def test_same_command_same_bytes(demo: Path) -> None:
    command = (*DEMO, "--test", "randomization", "-f", "json")
    assert printed(*command, cwd=demo) == printed(*command, cwd=demo)


def test_min_gain_reaches_the_measures(demo: Path) -> None:
    plain, strict = (printed(*DEMO, "-m", "recall@5", *more, cwd=demo) for more in ((), ("--min-gain", "2")))
    assert plain != strict
    assert "recall(min_gain=2)@5" in strict


def test_csv_markdown_and_latex(demo: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(printed(*DEMO, "-m", "ndcg@10,map", "-f", "csv", cwd=demo))))
    assert [(row["measure"], row["system"]) for row in rows] == [
        ("ndcg@10", "hybrid"),
        ("ndcg@10", "keyword"),
        ("map", "hybrid"),
        ("map", "keyword"),
    ]
    assert len(rows[0]["p"]) > 10
    markdown = printed(*DEMO, "-f", "markdown", cwd=demo)
    assert markdown.startswith("**hybrid beats keyword.**\n\n")
    assert (
        "| ndcg@10 | mean | difference | change | 95% interval | p | effect | won/tied/lost | verdict |"
    ) in markdown
    assert "| hybrid | **0.7911** | +0.1912 |" in markdown
    latex = printed(*DEMO, "-f", "latex", cwd=demo)
    assert r"\begin{tabular}{lrrrrrrr}" in latex
    assert r"hybrid & \textbf{0.7911\rlap{$^{\dagger}$}} & +0.1912 &" in latex


def test_trec_is_refused(demo: Path) -> None:
    assert complaint(*DEMO, "-f", "trec", cwd=demo) == (
        "steelyard: argument --format/-f: invalid choice: 'trec' "
        "(choose from 'table', 'json', 'csv', 'markdown', 'latex'); try `steelyard compare --help`\n"
    )


def test_output_tells_the_format_and_is_never_an_input(demo: Path, tmp_path: Path) -> None:
    assert printed(*DEMO, "-o", tmp_path / "made.json", cwd=demo) == ""
    assert json.loads((tmp_path / "made.json").read_text("utf-8"))["baseline"] == "keyword"
    before = (demo / "keyword.jsonl").read_bytes()
    complaint(*DEMO, "-o", "keyword.jsonl", cwd=demo)
    assert (demo / "keyword.jsonl").read_bytes() == before
    complaint(*DEMO, "-o", tmp_path / "no such folder" / "made.json", cwd=demo)


def test_standard_input_once(demo: Path) -> None:
    run = (demo / "hybrid.jsonl").read_bytes()
    text = printed("compare", "pilot.jsonl", "keyword.jsonl", "-", cwd=demo, stdin=run)
    assert "better" in text
    assert "once only" in complaint("compare", "pilot.jsonl", "-", "-", cwd=demo, stdin=run)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--require-all",), "1 of 40 questions lack a value (keyword: 1), first 'zh-20'"),
        (("--baseline", "bm25"), "no system is called 'bm25'; there are keyword, hybrid"),
        (("--test", "anova"), "no test is called 'anova'; there are t, randomization, wilcoxon, sign and tukey"),
        (("--correction", "fdr"), "there are holm, bonferroni, bh, none"),
        (("--test", "tukey", "--correction", "holm"), "family-wise already"),
        (("--margin", "0"), "a margin is a number above 0"),
        (("--margin", "nan"), "a margin is a number above 0"),
        (("--alpha", "1"), "alpha lies between 0 and 1"),
        (("--seed", "-1"), "seed must be a whole number from 0"),
        (("-m", "ndgc@10"), "ndcg"),
    ],
)
def test_bad_options(options: tuple[str, ...], said: str, demo: Path) -> None:
    assert said in complaint(*DEMO, *options, cwd=demo)


def test_one_run(demo: Path) -> None:
    assert "two systems at least, and hybrid is the only one" in complaint(
        "compare", "pilot.jsonl", "hybrid.jsonl", cwd=demo
    )


def test_strict_passes_complete_runs(demo: Path, tmp_path: Path) -> None:
    shutil.copy(demo / "hybrid.jsonl", tmp_path / "again.jsonl")
    text = printed("compare", "pilot.jsonl", "hybrid.jsonl", tmp_path / "again.jsonl", "--require-all", cwd=demo)
    assert "equal on all 40 questions" in " ".join(text.split())
    assert "issing" not in text.partition("Signature:")[0]


def test_nan_scores_are_refused(demo: Path, tmp_path: Path) -> None:
    frame = pl.DataFrame({"query_id": ["en-01", "en-01"], "doc_id": ["a", "b"], "score": [1.0, float("nan")]})
    frame.write_parquet(tmp_path / "odd.parquet")
    said = complaint("compare", "pilot.jsonl", "hybrid.jsonl", tmp_path / "odd.parquet", cwd=demo)
    assert "odd" in said
    assert "NaN" in said or "nan" in said


def test_without_scipy_the_extra_is_named(demo: Path, tmp_path: Path) -> None:
    (tmp_path / "scipy").mkdir()
    (tmp_path / "scipy" / "__init__.py").write_text("raise ModuleNotFoundError('No module named scipy', name='scipy')")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    said = complaint(*DEMO, run=process, cwd=demo, environment={"PYTHONPATH": path})
    assert "stats" in said


ASKED = [{"qid": f"q{i}", "query": "who?", "evidence": [{"text": f"the answer {i}"}]} for i in range(6)]


def outputs(place: int, n: int = 6) -> Iterator[str]:
    """Outputs whose gold is at this place (from 0) of three chunks."""
    for i in range(n):
        texts = ["nothing here", "nor here", "nor there"]
        texts[place] = f"behold the answer {i} of all"
        yield json.dumps(
            {"qid": f"q{i}", "retrieved": [{"id": f"c{i}-{j}", "text": text} for j, text in enumerate(texts)]}
        )


def test_questions_with_evidence_are_a_truth(tmp_path: Path) -> None:
    (tmp_path / "asked.jsonl").write_text("\n".join(map(json.dumps, ASKED)))
    (tmp_path / "late.jsonl").write_text("\n".join(outputs(2)))
    (tmp_path / "early.jsonl").write_text("\n".join(outputs(0, 5)))
    made = json.loads(
        printed("compare", "asked.jsonl", "late.jsonl", "early.jsonl", "-m", "mrr", "--test", "randomization",
                "--missing", "skip", "-f", "json", cwd=tmp_path)
    )  # fmt: skip
    of_mrr = made["measures"]["mrr"]
    assert (of_mrr["questions"], of_mrr["left_out"]) == (5, 1)
    assert [(row["system"], row["n_wins"]) for row in of_mrr["systems"]] == [("early", 5), ("late", 0)]
    assert of_mrr["systems"][0]["p"] == 2 / 2**5
    assert made["recipe"]["rule"] == "share>=0.5"


def test_rule_and_fold_reach_the_evidence(tmp_path: Path) -> None:
    (tmp_path / "asked.jsonl").write_text("\n".join(map(json.dumps, ASKED)))
    (tmp_path / "late.jsonl").write_text("\n".join(outputs(2)))
    (tmp_path / "early.jsonl").write_text("\n".join(outputs(0)))
    made = json.loads(
        printed("compare", "asked.jsonl", "late.jsonl", "early.jsonl", "-m", "mrr", "--rule", "contains", "--steps",
                "lower", "-f", "json", cwd=tmp_path)
    )  # fmt: skip
    assert (made["recipe"]["rule"], made["recipe"]["steps"]) == ("contains", ["lower"])


def test_run_folders_are_runs(tmp_path: Path) -> None:
    (tmp_path / "asked.jsonl").write_text("\n".join(map(json.dumps, ASKED)))
    (tmp_path / "own.py").write_text(
        "def good(query):\n    return [{'id': 'c', 'text': ', '.join(f'the answer {i}' for i in range(6))}]\n"
        "def bad(query):\n    return [{'id': 'd', 'text': 'nothing'}]\n"
    )
    for name in ("good", "bad"):
        done = steelyard(
            "run", "--target", f"own:{name}", "--questions", "asked.jsonl", "-o", name, "-m", "mrr", cwd=tmp_path
        )
        assert done.returncode == 0, done.stderr.decode()
    options = ("-m", "evidence_recall@5", "--test", "randomization", "-f", "json")
    made = json.loads(printed("compare", "asked.jsonl", "bad", "good", *options, cwd=tmp_path))
    assert made["baseline"] == "bad"
    good, bad = made["measures"]["evidence_recall@5"]["systems"]
    assert (good["system"], good["mean"], good["verdict"], bad["mean"]) == ("good", 1, "better", 0)


DL19 = "trec_dl2019_passage"


def test_leaderboard_of_37_real_runs() -> None:
    truth = shared(DL19, "qrels.dl19-passage.txt.gz")
    runs = sorted(shared(DL19, "runs_judged43_top100").glob("*.run.gz"))
    assert len(runs) == 37
    names = [path.name.removesuffix(".run.gz") for path in runs]
    text = printed("compare", truth, *runs, "-v", columns=200)
    rows = [line.split() for line in text.splitlines()[1:] if line.split() and line.split()[0] in names]
    assert sorted(row[0] for row in rows) == sorted(names)
    means = [float(row[1]) for row in rows]
    assert means == sorted(means, reverse=True)
    made = json.loads(printed("compare", truth, *runs, "-f", "json"))
    assert (made["test"], made["family"]) == ("t", "all 666 pairs of 37 systems")
    assert (made["baseline"], made["reference"]) == (None, rows[0][0])
    (of_ndcg,) = made["measures"].values()
    assert of_ndcg["questions"] == 43
    order = [row["system"] for row in of_ndcg["systems"]]
    assert order == [row[0] for row in rows]
    places = [sorted(order.index(name) for name in group) for group in of_ndcg["groups"]]
    assert set().union(*places) == set(range(37))
    assert 2 < len(places) < 37
    best, worst = set(of_ndcg["groups"][0]), set(of_ndcg["groups"][-1])
    assert {"idst_bert_p1", "idst_bert_p2", "idst_bert_p3"} <= best
    assert worst == {"UNH_exDL_bm25"}
    flat = " ".join(text.split())
    assert "share a letter are not told apart; correction: Holm, over all 666 pairs of 37 systems." in flat
    assert "37 systems on 43 questions: for so many systems" in flat


def test_movers_of_two_runs(demo: Path) -> None:
    text = printed(*DEMO, "-v", cwd=demo)
    assert "From keyword to hybrid, ranks 1 to 10: mean overlap 0.73" in text
    assert text.count("Gained: ") == text.count("Lost: ") == 1
    assert "Gained: zh-20  ndcg@10 0.0000 → 0.7967 (+0.7967)\n个人资料泄露了，多久会通知我？" in text
    flat = " ".join(text.split())
    assert "judged@10 is 12% to 17%; the bounds of hybrid (0.791–0.971) and keyword (0.600–0.952) overlap" in flat
    assert max(map(len, text.splitlines())) <= 80
    assert "Gained" not in printed(*DEMO, cwd=demo)
    assert "Gained" not in printed(*DEMO, "-v", "--movers", "0", cwd=demo)
    assert printed(*DEMO, "--movers", "2", cwd=demo).count("Gained: ") == 2


def test_movers_of_several_runs_where_asked(demo: Path, tmp_path: Path) -> None:
    shutil.copy(demo / "hybrid.jsonl", tmp_path / "again.jsonl")
    three = (*DEMO, tmp_path / "again.jsonl")
    assert "Gained" not in printed(*three, cwd=demo)
    text = printed(*three, "--baseline", "keyword", "--movers", "1", cwd=demo)
    assert "From keyword to hybrid" in text
    assert "From keyword to again" in text


def test_movers_in_other_formats(demo: Path) -> None:
    for more, n in ((), 1), (("--movers", "2"), 2):
        (changes,) = json.loads(printed(*DEMO, *more, "-f", "json", cwd=demo))["changes"]
        assert [len(changes[direction]) for direction in ("gained", "lost")] == [n, n]
    assert changes["gained"][1]["query"] == "Is there a car park at the East Pier branch?"
    assert json.loads(printed(*DEMO, "--movers", "0", "-f", "json", cwd=demo))["changes"] == []
    assert "| rank | keyword | hybrid | what changed |" in printed(*DEMO, "-f", "markdown", cwd=demo)
    said = complaint(*DEMO, "-f", "csv", "--movers", "1", cwd=demo)
    assert "--movers: rankings are not written as csv; choose table, markdown or json" in said
    assert "movers must be a whole number from 0, not -1" in complaint(*DEMO, "--movers", "-1", cwd=demo)


def test_segments(demo: Path) -> None:
    made = json.loads(printed(*DEMO, "--segments", "language", "-f", "json", cwd=demo))
    assert list(made["segments"]["parts"]) == ["en", "zh"]
    whole = made["measures"]["ndcg@10"]
    parts = [part["measures"]["ndcg@10"] for part in made["segments"]["parts"].values()]
    assert sum(part["questions"] for part in parts) == whole["questions"]
    text = printed(*DEMO, "--segments", "length", "-v", cwd=demo)
    assert "ndcg@10 by length" in text
    assert "Length in tokens" in text
    assert "there are tag, language, length" in complaint(*DEMO, "--segments", "topic", cwd=demo)


def test_segments_need_texts_and_tags(demo: Path, tmp_path: Path) -> None:
    (tmp_path / "truth.txt").write_text("q1 0 a 1\nq2 0 a 1\nq3 0 b 1\n")
    for name, order in (("x", "ab"), ("y", "ba")):
        lines = (f"{q} Q0 {d} {r} {9 - r} {name}\n" for q in ("q1", "q2", "q3") for r, d in enumerate(order, 1))
        (tmp_path / f"{name}.run").write_text("".join(lines))
    (tmp_path / "queries.tsv").write_text("q1\tshort\nq2\ta rather longer one\nq3\tone in the middle\n", "utf-8")
    runs = ("compare", "truth.txt", "x.run", "y.run")
    assert "--questions FILE" in complaint(*runs, "--segments", "length", cwd=tmp_path)
    text = printed(*runs, "--segments", "language", "--questions", "queries.tsv", "-v", cwd=tmp_path)
    assert re.search(r"^English +3 ", text, re.M)
    assert "\none in the middle\n" in text


def test_chinese(demo: Path) -> None:
    from rich.cells import cell_len

    text = printed(*DEMO, "--lang", "zh", "--segments", "language", "--margin", "0.02", "-v", cwd=demo)
    assert max(map(cell_len, text.splitlines()[:-1])) <= 80  # A command is copied whole.
    assert "缺失的问题按 0 计：keyword 缺 1 个。" in text.replace("\n", "")
    assert re.search(r"^hybrid +更好$", text, re.M)
    assert printed(*DEMO, cwd=demo, environment={"LC_ALL": "zh_CN.UTF-8"}).startswith(
        "hybrid 优于 keyword。\n\nndcg@10     均值"
    )
    data = [printed(*DEMO, "-f", "json", *more, cwd=demo) for more in ((), ("--lang", "zh"))]
    assert data[0] == data[1]


def test_ties_are_warned_of(tmp_path: Path) -> None:
    (tmp_path / "truth.txt").write_text("".join(f"q{i} 0 a 1\n" for i in range(4)))
    for name, score in (("tied", 5), ("clear", 9)):
        lines = (f"q{i} Q0 a 1 {score} {name}\nq{i} Q0 z 2 5 {name}\n" for i in range(4))
        (tmp_path / f"{name}.run").write_text("".join(lines))
    text = " ".join(
        printed("compare", "truth.txt", "tied.run", "clear.run", "-m", "mrr@10", "-v", cwd=tmp_path).split()
    )
    assert "Ties could move mrr@10 of tied by 0.500 (0.500–1.000): 100% of the places looked at are tied" in text
    assert "give ties=average, as in mrr(ties=average)@10." in text


def test_run_folders_tell_their_settings(tmp_path: Path) -> None:
    pytest.importorskip("bm25s", reason="pipelines need the extra rag")
    (tmp_path / "texts").mkdir()
    for name in "abcd":
        (tmp_path / "texts" / f"{name}.txt").write_text(f"The word {name * 3} stands in this text alone. " * 20)
    (tmp_path / "asked.jsonl").write_text(
        "".join(json.dumps({"qid": n, "query": f"word {n * 3}", "evidence": [{"doc": n}]}) + "\n" for n in "abcd")
    )
    for name, size in (("small", 100), ("large", 200), ("also-large", 200)):
        (tmp_path / f"{name}.toml").write_text(
            f'documents = "texts"\nquestions = "asked.jsonl"\n[chunk]\nkind = "recursive"\nsize = {size}\n'
            'overlap = 20\n[[index]]\nkind = "bm25"\n'
        )
        done = steelyard("run", f"{name}.toml", "-o", name, "-m", "mrr", cwd=tmp_path)
        assert done.returncode == 0, done.stderr.decode()
    text = printed("compare", "asked.jsonl", "small", "large", "-m", "mrr", "--unit", "chunk", "-v", cwd=tmp_path)
    assert re.search(r"^setting +small +large\n─+\nchunk\.size +100 +200$", text, re.M)
    assert "Chunks are cut differently" in text
    same = printed("compare", "asked.jsonl", "large", "also-large", "-m", "mrr", cwd=tmp_path)
    assert "large, also-large: their configurations do not differ." in same
    made = json.loads(printed("compare", "asked.jsonl", "small", "large", "-m", "mrr", "-f", "json", cwd=tmp_path))
    assert made["settings"]["settings"] == {"chunk.size": {"small": "100", "large": "200"}}


def test_names_and_queries_cannot_act_on_the_terminal(tmp_path: Path) -> None:
    truth = {f"q\x1b[2J{i}": {"a\x07": 1} for i in range(3)}
    (tmp_path / "truth.json").write_text(json.dumps(truth))
    for name, order in (("x\x1b[31m", ["a\x07", "b\x9b"]), ("y", ["b\x9b", "a\x07"])):
        (tmp_path / f"{name}.json").write_text(json.dumps(dict.fromkeys(truth, order)))
    (tmp_path / "queries.tsv").write_text("".join(f"{query}\tring\x07 {i}\n" for i, query in enumerate(truth)), "utf-8")
    text = printed(
        "compare", "truth.json", "x\x1b[31m.json", "y.json", "--questions", "queries.tsv", "-v", cwd=tmp_path
    )
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f]", text)
    assert "ring␇" in text


def test_a_run_without_labelled_documents_is_named(demo: Path, tmp_path: Path) -> None:
    lines = (demo / "hybrid.jsonl").read_text("utf-8").replace('"id": "', '"id": "files/')
    (tmp_path / "renamed.jsonl").write_text(lines, "utf-8")
    text = printed("compare", "pilot.jsonl", "hybrid.jsonl", tmp_path / "renamed.jsonl", cwd=demo, columns=300)
    assert "renamed: no document that the measures look at has a label." in text
    assert "hybrid: no document" not in text


def test_a_short_screen_of_many_systems_has_the_best_and_the_baseline() -> None:
    truth = shared(DL19, "qrels.dl19-passage.txt.gz")
    runs = sorted(shared(DL19, "runs_judged43_top100").glob("*.run.gz"))
    text = printed("compare", truth, *runs, "--baseline", "UNH_exDL_bm25", "--lang", "en")
    rows = [line.split()[0] for line in text.splitlines()[4:] if "0." in line]
    assert (len(rows), rows[0], rows[-1]) == (11, "idst_bert_p1", "UNH_exDL_bm25")
    assert "26 more systems: -v" in text
    assert "Next: " not in text
