"""Commands over questions of which none has gold."""

import json
from pathlib import Path

import pytest

from tests.cli.command import steelyard

IDS = [f"q{i:02}" for i in range(15)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    asked = [{"qid": q, "query": f"What is {q}?"} for q in IDS]
    (tmp_path / "asked.jsonl").write_text("".join(json.dumps(line) + "\n" for line in asked))
    for name in ("a", "b"):
        lines = [{"qid": q, "retrieved": [{"text": f"{name} {q} {i}"} for i in range(5)]} for q in IDS]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return tmp_path


def text(folder: Path, *arguments: object, status: int = 0) -> str:
    done = steelyard(*arguments, cwd=folder, columns=999)
    assert done.returncode == status, done.stderr.decode()
    return (done.stderr if status == 2 else done.stdout).decode()


@pytest.mark.parametrize(
    ("lang", "reason", "nothing", "gate_reason"),
    [
        ("en", "recall@5: not measured, as none of the 15 questions has gold for it.",
         "Nothing was measured: none of the 15 questions has gold", "no question has gold for it"),
        ("zh", "recall@5：未测得，因为 15 个问题都没有相应的标准证据或答案。", "未测得任何结果：15 个问题都没有",
         "没有一个问题有相应的标准证据或答案"),
    ],
)  # fmt: skip
def test_nothing_is_measured(folder: Path, lang: str, reason: str, nothing: str, gate_reason: str) -> None:
    measure = ["-m", "recall@5", "--lang", lang]
    for format in ("table", "markdown"):
        written = text(folder, "evaluate", "asked.jsonl", "a.jsonl", *measure, "-f", format)
        assert reason in written
        assert "0.0000" not in written
    assert nothing in text(folder, "diagnose", "asked.jsonl", "a.jsonl", "b.jsonl", "--lang", lang)
    for name in ("report.txt", "report.md", "report.html"):
        text(folder, "report", "asked.jsonl", "a.jsonl", "b.jsonl", *measure, "-o", name)
        report = (folder / name).read_text()
        assert nothing in report
        assert "0.000" not in report or name == "report.html"
    text(folder, "evaluate", "asked.jsonl", "a.jsonl", "b.jsonl", *measure, "-f", "json", "-o", "scores.json")
    of_a = json.loads((folder / "scores.json").read_text())["systems"]["a"]
    assert of_a["metrics"] == {"recall@5": None}
    assert of_a["notes"][0] == {"code": "no_gold_unlabelled", "values": {"name": "asked"}}
    for options in (["--profile", "document-qa"], ["--baseline", "a", "--margin", "0.02"]):
        assert gate_reason in text(folder, "gate", "scores.json", *options, "--lang", lang, status=3)


def test_comparisons_refuse_and_say_what_to_do(folder: Path) -> None:
    files = ["compare", "asked.jsonl", "a.jsonl", "b.jsonl"]
    for measures in ([], ["-m", "recall@5"]):
        assert "nothing was measured, as none of the 15 questions has gold for it; grade what was retrieved: `" in text(
            folder, *files, *measures, status=2
        )
    assert "name what was measured first: -m judged@5" in text(
        folder, *files, "-m", "recall@5", "-m", "judged@5", status=2
    )
    noted = text(folder, *files, "-m", "judged@5", "-m", "recall@5", "-m", "mrr")
    assert "Not compared by recall@5, mrr: none of the 15 questions has gold for it." in noted
    assert "未按 recall@5、mrr 比较" in text(folder, *files, "-m", "judged@5", "-m", "recall@5,mrr", "--lang", "zh")


def test_json_of_a_diagnosis_has_no_numbers(folder: Path) -> None:
    diagnosis = json.loads(text(folder, "diagnose", "asked.jsonl", "a.jsonl", "b.jsonl", "-f", "json"))
    assert [(item["code"], item["gain"], item["systems"]) for item in diagnosis["advice"]] == [
        ("no_gold", None, ["a", "b"])
    ]
    assert diagnosis["curves"] == {"a": {}, "b": {}}
    assert diagnosis["ceilings"]["pairs"] == []
    reached = diagnosis["ceilings"]["systems"]["a"]["evidence_recall@5"]
    assert (reached["reached"], reached["before_reranking"], set(reached["perfect"].values())) == (None, None, {None})


def test_trec_eval_prints_what_trec_eval_prints(folder: Path) -> None:
    (folder / "zero.qrels").write_text("".join(f"{q} 0 d 0\n" for q in IDS))
    (folder / "run.txt").write_text("".join(f"{q} Q0 d 1 1.0 t\n" for q in IDS))
    assert text(folder, "trec-eval", "-m", "map", "zero.qrels", "run.txt") == f"{'map':<22}\tall\t0.0000\n"


def test_a_plan_and_a_sweep_and_a_bench_say_it(folder: Path) -> None:
    refused = text(
        folder, "plan", "asked.jsonl", "a.jsonl", "b.jsonl", "-m", "recall@5", "--difference", "0.05", status=2
    )
    assert "recall@5: nothing was measured, as none of the 15 questions has gold for it" in refused
    (folder / "docs").mkdir()
    (folder / "docs" / "a.txt").write_text("What is q01? A question.")
    config = 'documents = "docs"\nquestions = "asked.jsonl"\nname = "sw"\nindex = "bm25"\n'
    (folder / "sw.toml").write_text(config + "[sweep]\nk = [1, 2]\n")
    swept = text(folder, "sweep", "sw.toml", "-m", "recall@5", "--holdout")
    assert "asked has no gold." in swept
    assert "the best reaches" not in swept
    bench = 'truth = "asked.jsonl"\ncandidates = "a.jsonl"\n[systems.words]\nrerank = "lexical"\n'
    (folder / "bench.toml").write_text(bench)
    assert "no question has gold for what is retrieved" in text(folder, "bench", "rerank", "bench.toml", status=2)


@pytest.mark.parametrize(
    ("lang", "note"),
    [("en", "No test: no question of a segment has gold."), ("zh", "无法检验：某个分段中没有一个问题有标准证据。")],
)
def test_a_segment_without_gold_is_not_compared(folder: Path, lang: str, note: str) -> None:
    asked = [
        {"qid": q, "query": "?", "tags": ["bare" if i < 7 else "told"],
         **({} if i < 7 else {"evidence": [{"text": f"{'ab'[i % 2]} {q} 0"}]})}
        for i, q in enumerate(IDS)
    ]  # fmt: skip
    (folder / "tags.jsonl").write_text("".join(json.dumps(line) + "\n" for line in asked))
    command = ["compare", "tags.jsonl", "a.jsonl", "b.jsonl", "-m", "recall@5", "--segments", "tag"]
    assert note in text(folder, *command, "--lang", lang)
    part = json.loads(text(folder, *command, "-f", "json"))["segments"]["parts"]["bare"]["measures"]["recall@5"]
    assert [(row["n"], row["reason"]) for row in part["systems"]] == [(0, None), (0, "no gold")]
