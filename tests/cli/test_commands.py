import csv
import gzip
import io
import json
import os
import re
import stat
import subprocess
from pathlib import Path

import pytest

import steelyard as sy
from steelyard.demo import copy_data
from tests.cli.command import complaint, printed, steelyard
from tests.shared_data import shared

DEMO = ("evaluate", "pilot.jsonl", "keyword.jsonl", "hybrid.jsonl")


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_data(tmp_path_factory.mktemp("demo") / "data")


@pytest.mark.parametrize("columns", [40, 60, 80, 200])
def test_tables_fit_the_terminal(columns: int, demo: Path) -> None:
    text = printed(*DEMO, "-m", "ndcg@10", "-m", "map", "-m", "mrr", "-m", "recall@5", cwd=demo, columns=columns)
    tables = [line for line in text.splitlines() if line.startswith(("system", "hybrid", "keyword  ", "─"))]
    assert max(map(len, tables)) <= columns
    assert sum("0.7911" in line for line in tables) == 1


def test_json_holds_everything(demo: Path) -> None:
    made = json.loads(printed(*DEMO, "-m", "ndcg@10", "-m", "P_5", "-q", "-f", "json", cwd=demo))
    keyword = made["systems"]["keyword"]
    assert set(keyword) == {"metrics", "intervals", "reachable", "counts", "per_query", "queries", "judged"}
    assert set(keyword["metrics"]) == {"ndcg@10", "precision@5"}
    assert len(keyword["per_query"]) == 40
    assert sum(q["ndcg@10"] for q in keyword["per_query"].values()) / 40 == pytest.approx(keyword["metrics"]["ndcg@10"])
    assert keyword["counts"]["missing"] == 1
    low, high = keyword["intervals"]["ndcg@10"]
    assert low < keyword["metrics"]["ndcg@10"] < high
    recipe = made["recipe"]
    assert recipe["measures"] == ["ndcg@10", "precision@5"]
    assert recipe["truth"]["digest"].startswith("sha256:")
    assert set(recipe["runs"]) == {"keyword", "hybrid"}
    assert recipe["steelyard"] == sy.__version__


def test_csv_of_means_and_of_queries(demo: Path) -> None:
    means = list(csv.DictReader(io.StringIO(printed(*DEMO, "-m", "map", "-f", "csv", cwd=demo))))
    assert [row["system"] for row in means] == ["keyword", "hybrid"]
    queries = list(csv.DictReader(io.StringIO(printed(*DEMO, "-m", "map", "-q", "-f", "csv", cwd=demo))))
    assert len(queries) == 80
    assert {row["status"] for row in queries} == {"ok", "missing", "no_relevant"}


def test_skipped_queries_are_empty_cells_and_nulls(demo: Path) -> None:
    options = ("-m", "map", "-q", "--missing", "skip", "--no-relevant", "skip")
    rows = list(csv.DictReader(io.StringIO(printed(*DEMO, *options, "-f", "csv", cwd=demo))))
    assert {row["status"] for row in rows if row["value"] == ""} == {"missing", "no_relevant"}
    made = json.loads(printed(*DEMO, *options, "-f", "json", cwd=demo))
    assert made["systems"]["keyword"]["per_query"]["zh-20"] == {"map": None}
    assert made["systems"]["keyword"]["counts"]["n"] == {"map": 37}
    assert "are left out" in printed(*DEMO, *options, "-v", cwd=demo)


def test_markdown_latex_and_trec(demo: Path) -> None:
    markdown = printed(*DEMO, "-m", "ndcg@10", "-f", "markdown", cwd=demo)
    assert markdown.splitlines()[1] == "| --- | ---: | ---: | ---: |"
    assert "| hybrid | **0.7911 " in markdown
    latex = printed(*DEMO, "-m", "ndcg@10", "-f", "latex", cwd=demo)
    assert r"\begin{tabular}{lrrr}" in latex
    assert r"\textbf{0.7911 0.706--0.871}" in latex
    assert r"95\% intervals" in latex
    trec = printed(*DEMO, "-m", "ndcg@10", "-q", "-f", "trec", cwd=demo)
    assert "ndcg@10               \tall\t0.7911\n" in trec
    assert trec.count("\ten-01\t") == 2


def test_special_characters_in_names_are_escaped(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text('{"q": {"d": 1}}')
    (tmp_path / "a_b&c|<i>.json").write_text('{"q": {"d": 1}}')
    arguments = ("evaluate", "t.json", "a_b&c|<i>.json", "t.json", "-m", "map")
    assert r"a\_b\&c|$<$i$>$" in printed(*arguments, "-f", "latex", cwd=tmp_path)
    assert r"a_b&c\|&lt;i>" in printed(*arguments, "-f", "markdown", cwd=tmp_path)


def test_output_file_appears_whole(demo: Path, tmp_path: Path) -> None:
    target = tmp_path / "scores.json"
    assert printed(*DEMO, "-f", "json", "-o", target, cwd=demo) == ""
    assert set(json.loads(target.read_text())) == {"format", "signature", "systems", "perfect", "recipe"}
    assert target.stat().st_mode & 0o444
    assert [path.name for path in tmp_path.iterdir()] == ["scores.json"]


def test_an_unwritable_output_is_an_error(demo: Path, tmp_path: Path) -> None:
    assert "cannot be written" in complaint(*DEMO, "-o", tmp_path / "no" / "scores.json", cwd=demo)
    assert "cannot be written" in complaint(*DEMO, "-o", tmp_path, cwd=demo)
    assert list(tmp_path.iterdir()) == []


def test_an_input_is_never_overwritten(demo: Path) -> None:
    before = (demo / "hybrid.jsonl").read_bytes()
    assert "is an input of this command" in complaint(*DEMO, "-o", "hybrid.jsonl", cwd=demo)
    assert "is an input of this command" in complaint("convert", "hybrid.jsonl", "./hybrid.jsonl", cwd=demo)
    assert (demo / "hybrid.jsonl").read_bytes() == before


def test_links_and_pipes_are_written_through(demo: Path, tmp_path: Path) -> None:
    (tmp_path / "real.json").write_text("old")
    (tmp_path / "link.json").symlink_to(tmp_path / "real.json")
    printed(*DEMO, "-o", tmp_path / "link.json", cwd=demo)
    assert (tmp_path / "link.json").is_symlink()
    assert set(json.loads((tmp_path / "real.json").read_text())) == {
        "format",
        "signature",
        "systems",
        "perfect",
        "recipe",
    }
    os.mkfifo(tmp_path / "pipe")
    with subprocess.Popen(["cat", tmp_path / "pipe"], stdout=subprocess.PIPE) as reader:
        printed(*DEMO, "-f", "csv", "-o", tmp_path / "pipe", cwd=demo)
        assert reader.communicate()[0].startswith(b"system,measure,mean")
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


@pytest.mark.parametrize(("name", "start"), {"a.json": "{", "a.csv": "system,", "a.md": "| ", "a.tex": "%"}.items())
def test_the_suffix_of_the_output_tells_the_format(name: str, start: str, demo: Path, tmp_path: Path) -> None:
    printed(*DEMO, "-o", tmp_path / name, cwd=demo)
    printed(*DEMO, "-o", tmp_path / f"{name}.gz", cwd=demo)
    assert (tmp_path / name).read_text().startswith(start)
    assert gzip.decompress((tmp_path / f"{name}.gz").read_bytes()) == (tmp_path / name).read_bytes()


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "latin-1"])
@pytest.mark.parametrize("arguments", [DEMO, ("--help",), ("measures", "ndcg"), ("trec-eval", "-h")])
def test_narrow_encodings_are_no_error(arguments: tuple[str, ...], encoding: str, demo: Path) -> None:
    done = steelyard(*arguments, cwd=demo, environment={"PYTHONIOENCODING": encoding})
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout.decode(encoding)


def test_json_survives_a_narrow_encoding(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text('{"问": {"文": 1}}')
    (tmp_path / "r.json").write_text('{"问": {"文": 1}}')
    done = steelyard(
        "evaluate", "t.json", "r.json", "-q", "-f", "json", cwd=tmp_path, environment={"PYTHONIOENCODING": "ascii"}
    )
    assert list(json.loads(done.stdout)["systems"]["r"]["per_query"]) == ["问"]


def test_convert_to_standard_output(demo: Path) -> None:
    text = printed("convert", "hybrid.jsonl", "-", cwd=demo)
    assert len(text.splitlines()) == 400
    assert text.splitlines()[0].split()[::5] == ["en-01", "hybrid"]


@pytest.mark.parametrize(
    "source", ['{"q1": [], "q2": ["d3"]}', '{"qid":"q1","retrieved":[]}\n{"qid":"q2","retrieved":["d3"]}']
)
def test_a_query_that_got_nothing_is_not_missing(source: str, tmp_path: Path) -> None:
    (tmp_path / "a.x").write_text(source)
    truth = {"q1": ["d3"], "q2": ["d3"], "q3": ["d3"]}
    for name in ("a.x", "b.json", "c.jsonl"):
        if name != "a.x":
            printed("convert", "a.x", name, cwd=tmp_path)
        scores = sy.evaluate(truth, tmp_path / name, "mrr")
        assert scores.values.tolist() == [[[0.0, 1.0, 0.0]]]
        assert scores.missing.tolist() == [[False, False, True]]
    assert "lost: 1 without any document" in printed("convert", "a.x", "d.run", cwd=tmp_path)


def test_standard_input(demo: Path) -> None:
    run = (demo / "hybrid.jsonl").read_bytes()
    for stdin in (run, gzip.compress(run)):
        assert "stdin" in printed("evaluate", "pilot.jsonl", "-", "-m", "map", cwd=demo, stdin=stdin)


WRONG = {
    "evaluate nothing.txt x": "nothing.txt: there is no such file",
    "evaluate pilot.jsonl pilot.jsonl": "pilot.jsonl, line 1: `retrieved` must be a list",
    "evaluate keyword.jsonl pilot.jsonl": "keyword.jsonl, line 1: has none of `gold_evidence`",
    "evaluate pilot.jsonl hybrid.jsonl -m ndgc@10": "did you mean ndcg",
    "evaluate pilot.jsonl hybrid.jsonl -m ndcg@0": "k must be a whole number from 1",
    "evaluate pilot.jsonl hybrid.jsonl --min-gain=-1": "min_gain must be a number of at least 0",
    "evaluate pilot.jsonl hybrid.jsonl hybrid.jsonl": "two runs are called",
    "evaluate pilot.jsonl documents": "documents: is a folder",
    "evaluate documents hybrid.jsonl": "has neither qrels",
    "evaluate pilot.jsonl hybrid.jsonl -m precision@99999999999999999999": "k must be a whole number",
    "evaluate pilot.jsonl hybrid.jsonl -m f(beta=1e200)": "beta must be",
    "evaluate - -": "standard input (-) can be read once only",
    "convert hybrid.jsonl x/y.run": "x/y.run: cannot be written",
    "measures nonsense": "no measure is called 'nonsense'",
}


@pytest.mark.parametrize(("arguments", "reason"), WRONG.items())
def test_what_a_user_may_do_wrong(arguments: str, reason: str, demo: Path) -> None:
    assert reason in complaint(*arguments.split(), cwd=demo)


@pytest.mark.parametrize("suffix", ["run", "run.gz", "json", "jsonl", "csv", "tsv", "parquet", "arrow", "csv.zst"])
def test_a_run_survives_every_conversion(suffix: str, demo: Path, tmp_path: Path) -> None:
    target = tmp_path / f"hybrid.{suffix}"
    assert "run: 40 questions, 400 retrieved documents" in printed("convert", demo / "hybrid.jsonl", target)
    measures = ["ndcg@10", "map", "bpref"]
    there = sy.evaluate(demo / "pilot.jsonl", target, measures)
    here = sy.evaluate(demo / "pilot.jsonl", demo / "hybrid.jsonl", measures)
    assert (there.values == here.values).all()


@pytest.mark.parametrize("suffix", ["qrels", "json", "jsonl", "csv", "tsv.gz", "parquet", "arrow"])
def test_a_truth_survives_every_conversion(suffix: str, demo: Path, tmp_path: Path) -> None:
    """Queries without any label survive in JSON and JSONL; the other formats have no way to say so."""
    target = tmp_path / f"gold.{suffix}"
    printed("convert", demo / "pilot.jsonl", target)
    there, here = sy.Truth.read(target), sy.Truth.read(demo / "pilot.jsonl")
    assert set(here.query_ids) - set(there.query_ids) <= {"en-19", "zh-19"}
    assert there.gain.sum() == here.gain.sum()
    assert (len(there) == len(here)) == suffix.startswith("json")


def test_ids_with_blanks_cannot_become_trec(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"q": {"a b": 1}}')
    assert "'a b' holds white space" in complaint("convert", "a.json", "a.run", cwd=tmp_path)


def test_measures_lists_all_and_tells_one() -> None:
    text = printed("measures")
    assert all(definition.name in text for definition in sy.definitions())
    about = printed("measures", "P_5")
    assert re.search(r"^aliases: +P, set_P, SetP$", about, re.M)
    assert re.search(r"^min_gain=1: +a number of at least 0; the smallest gain", about, re.M)
    assert "source:" in about


def test_help_and_version() -> None:
    assert "evaluate" in printed("--help")
    assert printed("--version") == f"steelyard {sy.__version__}\n"


def test_no_arguments_show_help() -> None:
    assert b"usage: steelyard" in steelyard().stdout


def test_37_real_systems_have_the_reference_values() -> None:
    """nDCG@10 and AP of every topic of 37 runs of TREC DL 2019, ties included, to the four digits of the reference."""
    folder = shared("trec_dl2019_passage")
    runs = sorted((folder / "runs_judged43_top100").glob("*.run.gz"))
    truth = folder / "qrels.dl19-passage.txt.gz"
    made = json.loads(printed("evaluate", truth, *runs, "-m", "ndcg@10", "-q", "-f", "json"))["systems"]
    assert len(made) == 37
    reference = _reference(folder / "reference_trec_eval" / "all.pass.dl2019.ndcgeval.gz", "ndcg_cut_10")
    compared = 0
    for system, queries in reference.items():
        for query, value in queries.items():
            assert f"{made[system]['per_query'][query]['ndcg@10']:.4f}" == value, (system, query)
            compared += 1
    assert compared == 36 * 43


def test_15_real_systems_have_the_reference_ap() -> None:
    folder = shared("trec_dl2019_passage")
    runs = sorted((folder / "runs_judged43_full_depth").glob("*.run.gz"))
    truth = folder / "qrels.dl19-passage.txt.gz"
    made = json.loads(printed("evaluate", truth, *runs, "-m", "map", "-q", "-f", "json"))["systems"]
    reference = _reference(folder / "reference_trec_eval" / "all.pass.dl2019.treceval.gz", "map")
    compared = [(system, query) for system in made if system in reference for query in reference[system]]
    assert len(compared) == 14 * 43
    assert all(f"{made[s]['per_query'][q]['map']:.4f}" == reference[s][q] for s, q in compared)


def _reference(path: Path, measure: str) -> dict[str, dict[str, str]]:
    """system -> query -> printed value, of lines `system measure query value`."""
    found: dict[str, dict[str, str]] = {}
    with gzip.open(path, "rt") as lines:
        for line in lines:
            system, name, query, value = line.split()
            if name == measure and query != "all":
                found.setdefault(system, {})[query] = value
    return found


@pytest.mark.parametrize("command", ["evaluate", "trec-eval", "compare", "diagnose"])
def test_what_a_document_twice_is_answered_with_works(command: str, tmp_path: Path) -> None:
    (tmp_path / "qrels.txt").write_text("q1 0 d1 1\nq2 0 d2 1\n")
    (tmp_path / "twice.run").write_text("q1 Q0 d1 1 2 x\nq1 Q0 d1 2 1 x\nq2 Q0 d2 1 1 x\n")
    (tmp_path / "other.run").write_text("q1 Q0 d2 1 2 y\nq2 Q0 d2 1 1 y\n")
    runs = ["twice.run", "other.run"] if command == "compare" else ["twice.run"]
    advice = complaint(command, "qrels.txt", *runs, cwd=tmp_path)
    assert "remove one, or keep the first or the max: --on-duplicate first" in advice
    printed("convert", "--on-duplicate", "first", "twice.run", "once.run", cwd=tmp_path)
    printed(command, "qrels.txt", "once.run", *runs[1:], cwd=tmp_path)
