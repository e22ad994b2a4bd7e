"""Judged answers of arms: what is drawn, what a judge who favours an arm does, and what labels mend."""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from benchmarks.simulated.judged_arms import held

import steelyard as sy
from steelyard.base.errors import InputError

START = datetime(2026, 10, 5, tzinfo=UTC)
DECLARATION = """start = 2026-10-05
days = 7
primary = "judged:citation_validity"
difference = 0.1
before = "0d"
[arms]
control = 0.5
short = 0.5
[judged]
n = 60
measures = ["citation_validity"]
"""


def write(folder: Path, *, labels: bool) -> Path:
    """Answers of 160 users, of which every fourth one of the arm "short" cites what there is not; people's labels."""
    rng, rows, people = random.Random(3), list[dict[str, object]](), ["request,citation_validity"]
    for i in range(160):
        arm, time = ("control", "short")[i % 2], START + timedelta(minutes=63 * i)
        is_bad = i % 8 == 1
        rows.append({
            "type": "impression", "time": time.isoformat(), "request": f"r{i}", "user": f"u{i}", "arm": arm,
            "query": "When does it open?", "doc_ids": ["d#1"],
        })  # fmt: skip
        rows.append({
            "type": "answer", "time": time.isoformat(), "request": f"r{i}", "contexts": ["It opens at nine."],
            "answer": f"It opens at nine [{9 if is_bad else 1}].",
        })  # fmt: skip
        if rng.random() < 0.6:
            people.append(f"r{i},{int((arm == 'short') is not (rng.random() < 0.1))}")
    (folder / "logs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    (folder / "labels.csv").write_text("\n".join(people) + "\n", "utf-8")
    declaration = folder / "short.toml"
    declaration.write_text(DECLARATION + ('labels = "labels.csv"\n' if labels else ""), "utf-8")
    return declaration


@pytest.mark.parametrize(("labels", "method", "state", "outcome"), [
    (False, "judged", "careful", "do_not_ship"), (True, "judged_corrected", "well", "ship"),
])  # fmt: skip
def test_labels_of_people_have_the_last_word(
    labels: bool, method: str, state: str, outcome: str, tmp_path: Path
) -> None:
    """By the judge a quarter of the answers of "short" is wrong; people say that nearly all of the baseline's are."""
    result = sy.analyse_experiment(write(tmp_path, labels=labels), tmp_path / "logs.jsonl")
    effect = result.effects[0]
    assert (effect.method, effect.n_baseline) == (method, 60)
    assert (effect.difference > 0) is labels
    (check,) = [check for check in result.checks if check.code == "judge"]
    assert (check.state, check.values["n_drawn"]) == (state, 120)
    assert result.decisions[0].outcome == outcome


def test_a_metric_that_is_not_judged_is_an_error(tmp_path: Path) -> None:
    declaration = write(tmp_path, labels=False)
    declaration.write_text(
        DECLARATION.replace('measures = ["citation_validity"]', 'measures = ["faithfulness"]'), "utf-8"
    )
    with pytest.raises(InputError, match="is not judged; add 'citation_validity' to measures"):
        sy.analyse_experiment(declaration, tmp_path / "logs.jsonl")


@pytest.mark.slow
def test_a_judge_who_favours_an_arm_is_corrected() -> None:
    """`python -m benchmarks.decisions --table judged-arms` has all."""
    assert 0.93 < held(300, 1, n=200, n_labels=100, bias=0.5).mean() < 0.98
    assert held(300, 1, n=200, n_labels=100, bias=0.5, is_labelled=False).mean() < 0.1
