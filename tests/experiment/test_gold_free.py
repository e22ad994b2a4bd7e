"""Outputs with answers are questions too: what no gold is needed for is evaluated from one file."""

import json
from pathlib import Path

import pytest

import steelyard as sy
from tests.cli.command import steelyard

LINES = [
    {
        "query_id": "q1",
        "query": "When?",
        "answer": "At nine [1].",
        "retrieved": [{"id": "a", "text": "Opens at nine."}],
    },
    {"query_id": "q2", "query": "几点？", "answer": "十点。", "retrieved": [{"id": "b", "text": "九点开门。"}]},
]


def test_the_command_that_judge_names_next_works_for_outputs_without_gold(tmp_path: Path) -> None:
    file = tmp_path / "outputs.jsonl"
    file.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in LINES), encoding="utf-8")
    judged = steelyard("judge", "outputs.jsonl", "outputs.jsonl", "--into", "v.parquet", "--lang", "en", cwd=tmp_path)
    following = judged.stdout.decode().strip().splitlines()[-1].removeprefix("Next: steelyard ").split()
    assert following[:3] == ["evaluate", "outputs.jsonl", "outputs.jsonl"]
    done = steelyard(*following, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for arguments in ((str(file), str(file)), (str(file),)):
        assert sy.evaluate(*arguments, measures="faithfulness").values[0, 0].tolist() == [1.0, 0.0]


def test_a_run_without_answers_is_no_truth(tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    lines = [{key: line[key] for key in ("query_id", "query", "retrieved")} for line in LINES]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    with pytest.raises(sy.InputError, match="is this a file of results"):
        sy.evaluate(str(file), str(file), "ndcg@10")
