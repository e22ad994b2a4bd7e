"""`steelyard judge`: what it prints, keeps, refuses, and asks a model."""

import json
import os
import re
import shlex
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from steelyard.experiment.judging import judge_run
from steelyard.judges.tables.verdicts import Verdicts
from tests.cli.command import steelyard

QUESTIONS = [
    {"qid": "q1", "query": "When is it open?", "answer": "From 9 to 17."},
    {"qid": "q2", "query": "几点开门？", "answer": "九点开门。"},
    {"qid": "q3", "query": "What does <b>it</b> cost?"},
]
LINES = [
    {
        "qid": "q1",
        "retrieved": [{"id": "h#1", "text": "Opening hours: 9 to 17."}],
        "answer": "Hello! It is open from 9 to 17 [h#1]. It has a \u001b[31m<b>café</b> [h#7].",
    },
    {"qid": "q2", "retrieved": [{"id": "h#3", "text": "九点开门，周一休息。"}], "answer": "九点开门【1】。"},
    {"qid": "q3", "retrieved": [{"id": "h#3", "text": "九点开门，周一休息。"}], "answer": "I don't know."},
]
OWN = "tests.judges.own_judges:"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, lines in (("q.jsonl", QUESTIONS), ("o.jsonl", LINES)):
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _judged(*options: str, **environment: str) -> tuple[int, str, str]:
    done = steelyard("judge", "q.jsonl", "o.jsonl", *options, environment={"LC_ALL": "C.UTF-8", **environment})
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def test_counts_a_sentence_without_support_and_what_to_do_next(folder: Path) -> None:
    status, text, errors = _judged("--into", "v.parquet", "-v")
    assert (status, errors) == (0, "")
    rows = {
        line.split("  ")[0] if line[0] != " " else line[2:].split("  ")[0]: line.split()
        for line in text.splitlines()
        if line
    }
    assert rows["answers"][1:] == ["3"]
    assert rows["abstained"][1:] == ["1", "33%"]
    assert rows["assert nothing"][2:] == ["1"]
    assert rows["supported"][1:] == ["2", "67%"]
    assert rows["no such chunk in the context"][-2:] == ["1", "33%"]
    assert "in the answer to “When is it open?”" in " ".join(text.split())
    assert "(not found: missing: " in " ".join(text.split())
    assert "\x1b" not in text
    assert "--verdicts v.parquet" in text
    assert "Kept in v.parquet." in text
    assert text.index("answers") < text.index("A sentence without support") < text.index("Next: ")
    command = _following(text)
    assert command[:4] == ["steelyard", "evaluate", "q.jsonl", "o.jsonl"]
    assert steelyard(*command[1:]).returncode == 0
    evaluated = steelyard("evaluate", "q.jsonl", "o.jsonl", "-m", "faithfulness", "--verdicts", "v.parquet")
    assert b"faithfulness" in evaluated.stdout


def _following(text: str) -> list[str]:
    """The words of the command that is to be given next."""
    return shlex.split(text.splitlines()[-1].removeprefix("Next: "))


def test_a_terminal_says_it_in_sentences(folder: Path) -> None:
    text = " ".join(_judged("--into", "v.parquet")[1].split())
    assert text.startswith(
        "o, judged by lexical: 3 answers, 1 abstained. Of 3 sentences that assert something: 2 (67%) supported, "
        "1 (33%) not found. 1 of 3 citations names no chunk. The least supported: “"
    )
    assert "Careful: A sentence is supported from a score of 0.6 on; this threshold is not calibrated" in text


@pytest.mark.parametrize(
    ("answer", "language", "texts"),
    [
        (
            "The hall opens at 9.",
            "en",
            ["Careful: 100% of 30 sentences are supported at the threshold 0.6", "--threshold 0.7"],
        ),
        (
            "Famous paintings hang there.",
            "en",
            ["Careful: 100% of 30 sentences are not supported at the threshold 0.6"],
        ),
        ("The hall opens at 9.", "zh", ["30 个句子中有 100% 算有依据"]),
    ],
)
def test_warns_where_nearly_all_sentences_are_on_one_side_of_an_uncalibrated_threshold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: str, language: str, texts: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    chunk = {"id": "h#1", "text": "The hall opens at 9."}
    lines = [{"qid": f"q{n}", "query": "?", "retrieved": [chunk], "answer": answer} for n in range(30)]
    for count, is_warned in ((30, True), (29, False)):
        text = "".join(json.dumps(line) + "\n" for line in lines[:count])
        for name in ("q.jsonl", "o.jsonl"):
            (tmp_path / name).write_text(text, encoding="utf-8")
        said = " ".join(_judged("--into", "v.parquet", "--lang", language)[1].split())
        assert [text in said for text in texts] == [is_warned] * len(texts)


@pytest.mark.parametrize(
    ("tables", "measures"),
    [
        ("grounded", ["faithfulness"]),
        ("joint", ["citation_support"]),
        ("correctness,said", ["answer_f1"]),
        ("said", []),
        ("support,joint,correctness,said", ["faithfulness", "answer_f1", "citation_support"]),
    ],
)
def test_what_it_says_to_weigh_was_judged(folder: Path, tables: str, measures: list[str]) -> None:
    text = _judged("--into", "v.parquet", "--tables", tables)[1]
    assert ("Next: " in text) == bool(measures)
    if measures:
        command = _following(text)
        assert [word for flag, word in pairwise(command) if flag == "-m"] == measures
        assert "not judged" not in steelyard(*command[1:]).stdout.decode()
    assert "not asked" not in text


LED = {
    "qid": "q1", "retrieved": [{"id": "a#1", "text": "Glasses are not covered by the plan."}],
    "answer": "The following are NOT covered:\n- hearing aids\n- glasses",
}  # fmt: skip


def test_the_lead_of_a_sentence_is_shown_behind_it(folder: Path) -> None:
    (folder / "o.jsonl").write_text(json.dumps(LED), encoding="utf-8")
    lead = "Before it: “The following are NOT covered:”"
    text = " ".join(_judged("--into", "v.parquet")[1].split())
    assert re.search(rf"The least supported: “hearing aids” [^“]*“When is it open\?” {lead}", text)
    assert lead in _judged("--into", "v.parquet", "-v")[1]
    content = json.loads(_judged("--into", "v.parquet", "-f", "json")[1])
    assert content["unsupported"][0]["lead"] == "The following are NOT covered:"
    run = judge_run("q.jsonl", "o.jsonl")
    for explain in (False, True):
        assert f"\x1b[2m{lead}\x1b[0m\n" in run.text(lang="en", width=80, colour=True, explain=explain)
    assert f'<p class="faint">{lead}</p>' in run._repr_html_()


def test_json_has_all_of_it_and_chinese_speaks_chinese(folder: Path) -> None:
    content = json.loads(_judged("--into", "v.parquet", "-f", "json")[1])
    assert content["format"] == 1
    assert content["recipe"]["judge"]["name"] == "lexical"
    assert content["counts"]["dangling"] == 1
    assert [unit["query_id"] for unit in content["unsupported"]] == ["q1"]
    assert content["file"] == "v.parquet"
    text = _judged("--into", "v.parquet", "--lang", "zh", "-f", "markdown")[1]
    assert "没有依据" in text
    assert "（无依据：缺少“mcafé”；数字不符“31”）" in text
    assert "<b>" not in text


def test_a_dry_run_asks_and_writes_nothing(folder: Path) -> None:
    status, text, _ = _judged("--dry-run", "--judge", f"{OWN}fails")
    assert status == 0
    assert "Nothing was asked" in text
    assert sorted(path.name for path in folder.iterdir()) == ["o.jsonl", "q.jsonl"]


def test_a_judge_of_ones_own_and_its_failure(folder: Path) -> None:
    assert _judged("--judge", f"{OWN}within", "--threshold", "0.4", "--into", "own.parquet")[0] == 0
    assert Verdicts.read("own.parquet").recipe["judge"]["threshold"] == 0.4
    status, _, errors = _judged("--judge", f"{OWN}fails", "--into", "bad.parquet")
    assert status == 2
    assert errors.startswith("steelyard: judge fails: raised RuntimeError: no model <b>here</b>")
    assert errors.count("\n") == 1
    assert "\x1b" not in errors
    assert not Path("bad.parquet").exists()


_REFUSED = [
    ([], "o: is no run folder, in which verdicts could be kept; name a file for them: --into FILE"),
    (["--into", "q.jsonl"], "q.jsonl: is an input of this command"),
    (["--into", "no/v.parquet"], "no: is no folder; keep the verdicts elsewhere"),
    (["--into", "-"], "-: is no file; name one for the verdicts"),
    (["--into", "."], ".: is no file; name one for the verdicts"),
    (["--judge", "lexicle", "--into", "v"], "no judge is called 'lexicle'; did you mean lexical"),
    (["--model", "m", "--into", "v"], "judge lexical: takes no setting 'model'"),
    (["--threshold", "2", "--into", "v"], "judge lexical: threshold must be a number from 0 to 1, not 2.0"),
    (["--judge", "embedding", "--into", "v"], "judge embedding: model is missing"),
    (["--judge", "nli", "--model", "./no/such", "--into", "v"], "judge nli"),
    (["--tables", "suport", "--into", "v"], "no table is called 'suport'; did you mean support"),
    (["-f", "latex", "--into", "v"], "choose from 'table', 'json', 'markdown'"),
    (["--no-cache", "--into", "v"], "judge lexical: takes no setting 'cache'"),
    (["--judge", "nomodule:x", "--into", "v"], "there is no module 'nomodule'"),
]


@pytest.mark.parametrize(("options", "message"), _REFUSED)
def test_refusals_are_one_line(folder: Path, options: list[str], message: str) -> None:
    status, text, errors = _judged(*options)
    assert (status, text) == (2, "")
    assert message in errors
    assert errors.count("\n") == 1


def test_ctrl_c_says_what_is_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*args: Any, **options: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("steelyard.experiment.judging.judge_run", interrupt)
    status, _, errors = _judged("--into", "v.parquet")
    assert status == 130
    assert "interrupted; no verdicts were written" in errors


def test_a_model_is_asked_once_and_its_calls_are_told(folder: Path) -> None:
    pytest.importorskip("httpx2", reason="the extra 'endpoints' is not installed")
    from tests.judges.llm_server import PATH, judging

    with judging() as server:
        options = ["--judge", "llm", "--model", "m", "--base-url", server.base_url, "--into", "v.parquet",
                   "--tables", "grounded,said", "--price", "1,2"]  # fmt: skip
        plan = json.loads(_judged(*options, "--dry-run", "-f", "json")[1])
        assert (plan["n_calls"], plan["n_cached"], len(server.seen(PATH))) == (4, 0, 0)
        assert plan["cost_usd"] > 0
        content = json.loads(_judged(*options, "-f", "json")[1])
        assert len(server.seen(PATH)) == 4
        assert content["recipe"]["calls"]["calls"] == 4
        assert content["recipe"]["tables"] == ["said", "grounded"]
        again = json.loads(_judged(*options, "-f", "json")[1])
        assert len(server.seen(PATH)) == 4
        assert again["counts"] == content["counts"]
        assert again["recipe"]["calls"]["cached"] == 4
        text = _judged(*options)[1]
        assert "0 calls, 4 answers from the cache, 0 tokens" in text
        budget = json.loads(_judged(*options, "--no-cache", "--budget", "1tokens", "-f", "json")[1])
        assert set(budget["not_judged"]) == {"budget", "not asked"}
        claims = json.loads(_judged(*options, "--answer-units", "claims", "-f", "json")[1])
        assert claims["recipe"]["units"] == "claims"
    assert "judge lexical splits no sentences into claims" in _judged("--answer-units", "claims", "--into", "v")[2]


COMMANDS = [
    ("judge", "q.jsonl", "o.jsonl", "--into", "v.parquet", "--tables", "support"),
    ("label", "q.jsonl", "o.jsonl", "-o", "t.jsonl"),
    ("selftest", "-n", "2"),
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_a_judge_that_gets_nothing_ends_with_2_and_shows_a_reply(folder: Path, command: tuple[str, ...]) -> None:
    pytest.importorskip("httpx2", reason="the extra 'endpoints' is not installed")
    from tests.judges.llm_server import PATH, judging, says

    with judging() as server:
        server.always(PATH, says('{"confidence": 1, "摘要": "fine"}'))
        done = steelyard(*command, "--judge", "llm", "--model", "m", "--base-url", server.base_url)
    message = done.stderr.decode()
    assert (done.returncode, done.stdout) == (2, b"")
    assert "JSON of another shape (keys: confidence, 摘要)" in message
    assert 'one of them: {"confidence": 1, "摘要": "fine"};' in message
    assert not [path.name for path in folder.iterdir() if path.name in {"v.parquet", "t.jsonl"}]


_SERVER = "OPENAI_API_KEY), or of another server (base_url, such as http://127.0.0.1:8000/v1)"
_MODELS = {
    "llm": ("gpt-4.1-mini", f"the name of a model at api.openai.com (its key in the environment variable {_SERVER}"),
    "nli": ("cross-encoder/nli-deberta-v3-base", "a folder or a name on the Hugging Face hub"),
    "embedding": ("BAAI/bge-m3", "a folder, a name on the Hugging Face hub, or a server's name for it"),
}


@pytest.mark.parametrize(
    ("command", "judge"),
    [*((command, "llm") for command in COMMANDS), (COMMANDS[0], "nli"), (COMMANDS[2], "embedding")],
    ids=lambda part: part if isinstance(part, str) else part[0],
)
def test_a_judge_without_its_model_says_how_to_name_it(folder: Path, command: tuple[str, ...], judge: str) -> None:
    done = steelyard(*command, "--judge", judge)
    example, wanted = _MODELS[judge]
    assert done.returncode == 2
    assert done.stderr.decode() == (
        f"steelyard: judge {judge}: model is missing; expected {wanted}; "
        f'name it: --model {example}, in Python model="{example}"\n'
    )


@pytest.mark.parametrize("judge", _MODELS)
@pytest.mark.parametrize(
    "command",
    [
        "evaluate q.jsonl o.jsonl -m faithfulness --judge {}",
        "compare q.jsonl o.jsonl b=o.jsonl -m faithfulness --judge {}",
        "judge q.jsonl o.jsonl --into v.parquet --panel {},lexical",
    ],
)
def test_a_judge_whose_verdicts_are_missing_is_run_by_the_command_that_is_named(
    folder: Path, command: str, judge: str
) -> None:
    done = steelyard(*command.format(judge).split())
    assert done.returncode == 2
    assert f"(steelyard judge QUESTIONS RUN --judge {judge} --model {_MODELS[judge][0]})" in done.stderr.decode()


def test_what_a_judge_prints_does_not_stand_among_the_result(folder: Path) -> None:
    status, text, errors = _judged("--judge", f"{OWN}prints", "--into", "v.parquet", "-f", "json")
    assert status == 0
    assert json.loads(text)["recipe"]["judge"]["name"] == "prints"
    assert "<I am a judge>" in errors


def test_a_judge_that_exits_does_not_end_the_command_as_if_all_were_done(folder: Path) -> None:
    status, text, errors = _judged("--judge", f"{OWN}exits", "--into", "v.parquet")
    assert (status, text) == (2, "")
    assert errors.startswith("steelyard: judge exits: raised SystemExit: 0, on each of ")
    assert not (folder / "v.parquet").exists()


@pytest.mark.parametrize("format", ["table", "json", "markdown"])
@pytest.mark.parametrize("name", ["Odd", "Lost"])
def test_odd_counts_and_thresholds_can_be_shown(folder: Path, name: str, format: str) -> None:
    status, _, errors = _judged("--judge", f"{OWN}{name}", "--into", "v.parquet", "-f", format)
    assert (status, errors) == (0, "")
    options = ("-m", "faithfulness", "--verdicts", "v.parquet", "--lang", "zh")
    assert steelyard("evaluate", "q.jsonl", "o.jsonl", *options).returncode == 0


def test_a_long_sentence_without_support_is_cut_and_in_one_line(folder: Path) -> None:
    line = {**LINES[0], "answer": "a café\nKept in b " * 2_000}
    (folder / "o.jsonl").write_text(json.dumps(line) + "\n", encoding="utf-8")
    status, text, _ = _judged("--into", "v.parquet")
    assert status == 0
    assert len(text) < 4_000
    assert "\nKept in b" not in text


def test_an_odd_recipe_is_kept_without_its_key(folder: Path) -> None:
    status, text, _ = _judged("--judge", f"{OWN}Odd", "--into", "v.parquet", "-f", "json")
    assert status == 0
    kept = Verdicts.read("v.parquet").recipe["judge"]
    assert (kept["name"], kept["api_key"], kept["half"]) == ("../my judge/v1.2", "***", "\ufffd")
    assert "sk-secret" not in text
    assert b"sk-secret" not in (folder / "v.parquet").read_bytes()


@pytest.mark.parametrize("command", ["judge", "evaluate", "diagnose", "report"])
def test_texts_that_no_terminal_should_be_sent_are_shown_as_they_are(folder: Path, command: str) -> None:
    odd = "\x1b[31mnine\x00\u202e<script>alert(1)</script>\u2028|\ud800 =1+1"
    questions = [{"qid": f"q{n}", "query": odd, "answer": odd, "gold_evidence": ["h#1"]} for n in range(3)]
    lines = [
        {"qid": f"q{n}", "retrieved": [{"id": f"h#{n}", "text": odd}], "answer": f"It opens at {odd} [h#{n}]. {odd}"}
        for n in range(3)
    ]
    for name, rows in (("q.jsonl", questions), ("o.jsonl", lines)):
        (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    options = {
        "judge": ["--into", "v.parquet", "--format", "markdown"],
        "evaluate": ["-m", "faithfulness", "-q"],
        "diagnose": ["--lang", "zh"],
        "report": ["--output", "report.html", "-m", "faithfulness"],
    }[command]
    done = steelyard(command, "q.jsonl", "o.jsonl", *options, environment={"LC_ALL": "C.UTF-8"})
    assert (done.returncode, done.stderr) == (0, b"")
    text = done.stdout.decode()
    text += (folder / "report.html").read_text(encoding="utf-8") if command == "report" else ""
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202e\u2028]|<script>alert", text)


@pytest.mark.parametrize("format", ["table", "json", "markdown"])
def test_files_whose_names_are_no_utf8_are_judged_weighed_and_named(folder: Path, format: str) -> None:
    outputs, verdicts = (os.fsdecode(name) for name in (b"o\xff.jsonl", b"v\xff.parquet"))
    (folder / "o.jsonl").rename(folder / outputs)
    for command, *options in (("judge", "--into"), ("evaluate", "-m", "faithfulness", "--verdicts")):
        words = ["q.jsonl", outputs, *options, verdicts, "-f", format]
        assert steelyard(command, *words).returncode == 0
        done = steelyard(command, *words, "-o", f"{command}.txt")
        assert (done.returncode, done.stderr) == (0, b"")
        assert "o?" in (folder / f"{command}.txt").read_text(encoding="utf-8")


def test_grades_by_criteria_are_on_the_screen_with_the_lowest_and_the_measures_to_take(folder: Path) -> None:
    pytest.importorskip("httpx2", reason="the extra 'endpoints' is not installed")
    from tests.judges.llm_server import judging

    with judging() as server:
        options = ["--judge", "llm", "--model", "m", "--base-url", server.base_url, "--into", "v.parquet"]
        status, text, errors = _judged(*options, "--criterion", "answer_grade", "--criterion", "open=It is open")
    assert (status, errors) == (0, "")
    assert "answer_grade: 1.00 on average, on the scale 1-5." in text
    assert "open: yes for 1 of 3 (33%)." in text
    assert "open: no: “九点开门【1】。”: It does not., in the answer to “几点开门？”" in text
    assert "-m answer_grade -m 'criterion(name=open)' --verdicts v.parquet" in text
    assert len(text.splitlines()) <= 15
    status, _, errors = _judged("--criterion", "It is open", "--into", "v.parquet")
    assert status
    assert "judge lexical: does not judge by criteria, such as it_is_open" in errors


def test_answers_are_compared_in_pairs_and_the_result_is_kept(folder: Path) -> None:
    pytest.importorskip("httpx2", reason="the extra 'endpoints' is not installed")
    from steelyard.experiment.preferences import Preferences
    from tests.judges.llm_server import judging

    (folder / "p.jsonl").write_text('{"qid": "q1", "retrieved": [], "answer": "From 9."}\n')
    runs = ["--pairwise", "o.jsonl", "p.jsonl"]
    pair = ["judge", "q.jsonl", *runs, "--judge", "llm", "--model", "m", "--into", "w.json"]
    with judging() as server:
        planned = steelyard(*pair, "--base-url", server.base_url, "--dry-run")
        done = steelyard(*pair, "--base-url", server.base_url)
    assert planned.stderr == b""
    assert re.search(r"calls to the model +2\n", planned.stdout.decode())
    assert (done.returncode, done.stderr) == (0, b"")
    text = done.stdout.decode()
    assert "o is better on 100% of 3 questions" in text.replace("o is preferred to p: better", "o is better")
    assert len(text.splitlines()) <= 15
    assert Preferences.read(folder / "w.json").systems == ("o", "p")
    for options, message in (
        (["--judge", "lexical"], "--pairwise: answers are compared by a language model"),
        (["--criterion", "x"], "--criterion is of one system's answers, and --pairwise compares several"),
    ):
        refused = steelyard(*pair, *options)
        assert refused.returncode
        assert message in refused.stderr.decode()
    assert "no outputs are given" in steelyard("judge", "q.jsonl").stderr.decode()
