"""Judged sample: answers drawn of each window, a judge that changes or moves, labels of people, and budgets."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from benchmarks.simulated import judged_samples

from steelyard.base.errors import InputError
from steelyard.base.settings import validate
from steelyard.monitoring.streams.drawing import SampleTable, draw
from steelyard.monitoring.streams.result import StreamResult
from steelyard.monitoring.streams.sample import sample
from steelyard.stats.labels.prediction_powered import corrected_mean
from steelyard.stats.samples import mean_error
from steelyard.traffic.logs import Logs
from steelyard.traffic.schema import ANSWERS, EVENTS, IMPRESSIONS
from steelyard.traffic.windows import Windows

DAY, N, WINDOWS = datetime(2026, 11, 2, tzinfo=UTC), 60, Windows.parse("1d")
JUDGE = """
STRICT, BROKEN = 0.0, False

class Words:
    def __init__(self, model="a"):
        self.model = model

    def judge(self, pairs):
        if BROKEN:
            raise ValueError("no model")
        return [self.says(premise, hypothesis) for premise, hypothesis in pairs]

    def says(self, premise, hypothesis):
        number = int(hypothesis.split()[-1].strip("."))
        return "true" in hypothesis and (number % 100) >= 100 * (STRICT + (self.model == "b") * 0.3)
"""


def logs_of(days: int, *, share: float = 0.9, bots: int = 0, seed: int = 1) -> Logs:
    """Answers of one sentence each, of which a share is true, of 30 users."""
    rng = random.Random(seed)
    impressions, answers = [], []
    for i in range(days * N):
        time, request = DAY + timedelta(days=i // N, minutes=i % N), f"r{i}"
        text = f"This is {'true' if rng.random() < share else 'false'} {rng.randrange(10**6)}."
        impressions.append({"time": time, "request": request, "user": f"u{i % 30}", "query": f"What is {i}?",
                            "doc_ids": [f"d{i}"], "is_bot": i % N < bots})  # fmt: skip
        answers.append({"time": time, "request": request, "answer": text, "contexts": [f"text {i}"]})
    schema = IMPRESSIONS | {"is_bot": pl.Boolean}
    return Logs(
        pl.LazyFrame(impressions, schema=schema), pl.LazyFrame(schema=EVENTS), pl.LazyFrame(answers, schema=ANSWERS)
    )  # fmt: skip


@pytest.fixture
def look(tmp_path: Path, request: pytest.FixtureRequest) -> Callable[..., StreamResult]:
    """One look after another, with the memory that the last one left."""
    name, memory = f"judge_{abs(hash(request.node.name))}", dict[str, Any]()
    (tmp_path / f"{name}.py").write_text(JUDGE)

    def looked(logs: Logs, after: int, until: int, **settings: Any) -> StreamResult:
        table = validate(SampleTable, {"judge": f"{name}:Words", "n": 40, "n_anchors": 30, **settings})
        result = sample(
            table, logs, WINDOWS, monitor="shop", after=DAY + timedelta(days=after), until=DAY + timedelta(days=until),
            memory=json.loads(json.dumps(memory)), base=tmp_path,
        )  # fmt: skip
        memory.update(result.memory)
        return result

    looked.module = name  # type: ignore[attr-defined]
    return looked


def values(result: StreamResult, series: str = "faithfulness") -> list[float]:
    return result.points.filter(series=series)["value"].to_list()


def codes(result: StreamResult) -> list[str]:
    return [note.code for note in result.notes]


def test_a_draw_depends_on_the_requests_alone() -> None:
    logs = logs_of(2, bots=10)
    mixed = Logs(*(part.collect().sample(fraction=1, shuffle=True, seed=3).lazy()
                   for part in (logs.impressions, logs.events, logs.answers)))  # fmt: skip
    drawn, again = (draw(own, WINDOWS, n=20, monitor="m") for own in (logs, mixed))
    assert drawn[0].answers == again[0].answers
    assert [(window.n, len(window.answers)) for window in drawn] == [(50, 20)] * 2
    assert not {answer.request for answer in drawn[0].answers} & {f"r{i}" for i in range(10)}
    other = draw(logs, WINDOWS, n=20, monitor="other")
    assert {own.request for own in other[0].answers} != {own.request for own in drawn[0].answers}


def test_values_are_means_with_users_as_units(look: Callable[..., StreamResult]) -> None:
    logs = logs_of(2)
    result = look(logs, 0, 2)
    [first, _] = draw(logs, WINDOWS, n=40, monitor="shop")
    true = np.array(["true" in answer.answer for answer in first.answers], float)
    expected = mean_error(true, clusters=[answer.user for answer in first.answers])
    row = result.points.filter(series="faithfulness").row(0, named=True)
    assert (row["value"], row["error"], row["n"]) == (pytest.approx(expected.mean), pytest.approx(expected.error), 40)
    assert (result.state, codes(result), result.changes, result.spent.requests) == ("well", [], [], 80)
    assert result.examples[0].note == "faithfulness 0"


def test_a_judge_that_changed_is_named_and_taken_off(look: Callable[..., StreamResult]) -> None:
    logs = logs_of(6)
    before = look(logs, 0, 3)
    after = look(logs, 3, 6, settings={"model": "b"})
    [change] = after.changes
    assert (change.kind, change.time) == ("judge", DAY + timedelta(days=3))
    assert change.text.startswith("settings.model – → b; faithfulness -0.")
    [shift] = values(after, "judge:anchors:faithfulness")
    assert -0.5 < shift < -0.1
    assert np.mean(values(after)) == pytest.approx(np.mean(values(before)), abs=0.15)
    errors = [result.points.filter(series="faithfulness")["error"][0] for result in (before, after)]
    assert errors[1] > errors[0]


def test_a_judge_that_moves_silently_is_found_on_anchors(look: Callable[..., StreamResult]) -> None:
    import sys

    logs = logs_of(8)
    look(logs, 0, 2, anchor_every=3)
    sys.modules[look.module].STRICT = 0.5  # type: ignore[attr-defined]
    at_once = look(logs, 2, 4, anchor_every=9)
    assert [(change.kind, change.text) for change in at_once.changes] == [("judge", "faithfulness -0.500 ± 0.105")]
    again = look(logs, 4, 6, anchor_every=9)
    assert (len(again.changes), again.spent.requests) == (1, 80)
    assert look(logs, 6, 8, anchor_every=2).spent.requests == 110


def test_a_real_fall_is_not_the_judge(look: Callable[..., StreamResult]) -> None:
    look(logs_of(7), 0, 7)
    after = look(logs_of(14, share=0.5, seed=2), 7, 14)
    assert (after.changes, values(after, "judge:anchors:faithfulness")) == ([], [0.0])
    assert np.mean(values(after)) < 0.65


def test_labels_correct_a_series_of_their_own(look: Callable[..., StreamResult], tmp_path: Path) -> None:
    logs = logs_of(2)
    look(logs, 0, 1)
    [first] = draw(logs, WINDOWS, n=40, monitor="shop", until=DAY + timedelta(days=1))
    labelled = first.answers[:16]
    rows = [{"request": own.request, "faithfulness": float(i % 4 > 0)} for i, own in enumerate(labelled)]
    (tmp_path / "labels.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    result = look(logs, 1, 2, labels="labels.jsonl")
    judged = np.array(["true" in own.answer for own in first.answers], float)
    people = np.array([row["faithfulness"] for row in rows] + [np.nan] * 24)
    users = [own.user for own in first.answers]
    expected = corrected_mean(np.arange(40), judged, people, np.zeros(40, int), 40, clusters=users).corrected
    [row] = result.points.filter(series="faithfulness:people").rows(named=True)
    assert (row["start"], row["value"], row["error"]) == (
        DAY,
        pytest.approx(expected.mean),
        pytest.approx(expected.error),
    )
    assert values(look(logs, 2, 2, labels="labels.jsonl"), "faithfulness:people") == []


def test_a_budget_is_kept_and_the_newest_windows_come_first(look: Callable[..., StreamResult]) -> None:
    result = look(logs_of(3), 0, 3, budget={"requests": 60})
    assert result.spent.requests == 60
    assert result.points.filter(series="faithfulness")["n"].to_list() == [0, 20, 40]
    assert [note.values for note in result.notes if note.code == "sample_budget"] == [{"n": 60}]
    dollars = look(logs_of(4), 3, 4, budget={"usd": 0.1}, usd_per_request=0.01)
    assert (dollars.spent.requests, dollars.spent.usd) == (10, pytest.approx(0.1))


def test_anchors_of_a_file_are_judged_first(look: Callable[..., StreamResult], tmp_path: Path) -> None:
    rows = [{"query": "What?", "answer": f"This is true {i}.", "contexts": ["text"]} for i in range(100)]
    (tmp_path / "anchors.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert look(logs_of(2), 0, 1, anchors="anchors.jsonl").spent.requests == 140
    after = look(logs_of(2), 1, 2, anchors="anchors.jsonl", settings={"model": "b"})
    assert values(after, "judge:anchors:faithfulness") == [pytest.approx(-0.3)]


def test_a_judge_that_fails_loses_nothing(look: Callable[..., StreamResult]) -> None:
    import sys

    logs = logs_of(2)
    look(logs, 0, 1)
    module = sys.modules[look.module]  # type: ignore[attr-defined]
    module.BROKEN = True
    broken = look(logs, 1, 2)
    assert (codes(broken), broken.state, broken.points.height) == (["sample_no_judge"], "few", 0)
    module.BROKEN = False
    assert len(values(look(logs, 1, 2))) == 1


@pytest.mark.parametrize(
    ("settings", "files", "message"),
    [
        ({"measures": ["ndcg@10"]}, {}, "no mean of answers"),
        ({"budget": {"usd": 1.0}}, {}, "needs usd_per_request"),
        ({"settings": {"budget": "1usd"}}, {}, "beside settings"),
        ({"labels": "l.csv"}, {"l.csv": "request,clicks\nr1,3\n"}, "no column faithfulness"),
        ({"labels": "l.csv"}, {"l.csv": "request,faithfulness\nr1,3\n"}, "row 2: faithfulness is '3'"),
        ({"labels": "l.csv"}, {"l.csv": "qid,faithfulness\nr1,1\n"}, "has no request"),
        ({"anchors": "a.jsonl"}, {"a.jsonl": '{"query": "why?"}\n'}, "line 1: expected query and answer"),
        ({"anchors": "a.jsonl"}, {"a.jsonl": '{"query": "why?", "answer": "so"}\n'}, "holds 1 anchors"),
        ({"anchors": "none.jsonl"}, {}, "there is no"),
    ],
)
def test_settings_and_files_that_do_not_fit_are_refused(
    look: Callable[..., StreamResult], tmp_path: Path, settings: dict[str, Any], files: dict[str, str], message: str
) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=message):
        look(logs_of(1), 0, 1, **settings)


@pytest.mark.slow
def test_an_update_of_the_judge_is_called_so_and_a_fall_of_answers_is_not() -> None:
    shares = {name: judged_samples.rates(event, draws=200, seed=5) for name, event in judged_samples.EVENTS.items()}
    called, alarmed = ({name: own[place] for name, own in shares.items()} for place in (0, 1))
    assert called["the judge is another by its recipe, .1 lower"] == 1.0
    assert called["the judge moves without a word by .15"] >= 0.95
    assert alarmed["the judge is another by its recipe, .1 lower"] <= 0.05
    assert called["answers are worse by .1"] <= 0.05
    assert alarmed["answers are worse by .1"] >= 0.6
    assert max(called["nothing"], alarmed["nothing"]) <= 0.05


def test_logs_without_any_answer_say_so(look: Callable[..., StreamResult]) -> None:
    logs = logs_of(2)
    none = replace(logs, answers=logs.answers.clear(), n={"impression": 100, "event": 0, "answer": 0})
    assert codes(look(none, 0, 1)) == ["sample_no_answers"]
    assert codes(look(logs, 0, 1)) == []
    assert codes(look(none, 1, 2)) == []  # Answers were there before.
