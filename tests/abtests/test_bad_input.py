"""What is wrong with the logs of an experiment is said, whatever it is, and takes the verdict where it has to."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from steelyard.abtests.analysing import analyse_experiment
from steelyard.abtests.experiment import Experiment
from steelyard.base.errors import InputError
from tests.abtests.simulated import write_experiment

Row = dict[str, Any]
Change = Callable[[list[Row]], list[Row]]
NOW = datetime(2026, 11, 1, tzinfo=UTC)


def analysed(folder: Path, change: Change, declared: Mapping[str, str] | None = None) -> Experiment:
    """The experiment of `write_experiment` with other rows, and with texts of its declaration replaced."""
    declaration, logs = write_experiment(folder, n_users=300)
    rows = change([json.loads(line) for line in logs.read_text("utf-8").splitlines()])
    logs.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    text = declaration.read_text("utf-8")
    for old, new in (declared or {}).items():
        assert old in text
        text = text.replace(old, new)
    declaration.write_text(text, "utf-8")
    return analyse_experiment(declaration, logs, now=NOW)


def _set(name: str, value: Any, of: Callable[[Row], bool]) -> Change:
    return lambda rows: [{**row, name: value} if of(row) else row for row in rows]


def _number(row: Row) -> int:
    return int(row["request"].split("-")[0][1:])


def _in_arm(row: Row) -> bool:
    return "arm" in row


def _only(keep: Callable[[Row], bool]) -> Change:
    return lambda rows: [row for row in rows if keep(row)]


def _with(row: Row) -> Change:
    """A further event for each impression of the experiment."""
    return lambda rows: (
        rows
        + [{"type": "event", "time": own["time"], "request": own["request"], **row} for own in rows if _in_arm(own)]
    )


def _in_both(row: Row) -> bool:
    """A request of the fourth day, on which everyone is in one arm."""
    return _in_arm(row) and row["time"][8:10] == "08"


@pytest.mark.parametrize(
    ("change", "check", "state", "outcome"),
    [
        pytest.param(_only(lambda row: row.get("arm") != "wide"), "sample_ratio", "blocks", "blocked", id="empty arm"),
        pytest.param(_set("arm", "control", _in_arm), "sample_ratio", "blocks", "blocked", id="all in one arm"),
        pytest.param(_set("arm", "wide", _in_both), "arms_of_unit", "blocks", "blocked", id="users in both arms"),
        pytest.param(_set("arm", "third", lambda row: _in_arm(row) and _number(row) % 9 == 0), "unknown_arm", "careful",
                     "ship", id="unknown arm"),
        pytest.param(_only(lambda row: _number(row) < 10), "sample_ratio", "well", "inconclusive", id="ten users"),
        pytest.param(_only(lambda row: _number(row) < 7), "sample_ratio", "few", "inconclusive", id="seven users"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_arms_takes_the_verdict(
    tmp_path: Path, change: Change, check: str, state: str, outcome: str
) -> None:
    experiment = analysed(tmp_path, change)
    assert {own.code: own.state for own in experiment.checks}[check] == state
    assert experiment.decisions[0].outcome == outcome


def test_negative_dwell_is_left_out_and_counted(tmp_path: Path) -> None:
    experiment = analysed(tmp_path, _with({"kind": "dwell", "value": -4}))
    assert [(own.kind, own.is_fatal) for own in experiment.troubles] == [("negative_dwell", True)]


def test_events_before_the_exposure_do_not_count(tmp_path: Path) -> None:
    def unexposed(rows: list[Row]) -> list[Row]:
        return [
            {name: value for name, value in row.items() if name != "arm" or row["time"] > "2026-10-07"} for row in rows
        ]

    experiment = analysed(tmp_path, unexposed)
    assert experiment.excluded["before_exposure"] > 0


def test_a_metric_without_variance_has_no_test_and_no_verdict(tmp_path: Path) -> None:
    experiment = analysed(tmp_path, _set("tokens_in", 7, lambda row: row["type"] == "impression"),
                          {'primary = "ctr"': 'primary = "tokens_in"\nbetter = {tokens_in = "lower"}'})  # fmt: skip
    (effect,) = [own for own in experiment.effects if own.role == "primary"]
    assert (effect.verdict, effect.difference, experiment.decisions[0].outcome) == ("none", 0.0, "inconclusive")


def test_experiments_of_the_same_time_are_said(tmp_path: Path) -> None:
    def overlapping(rows: list[Row]) -> list[Row]:
        return [
            {**row, "layout": {"control": "old", "wide": "new"}[row["arm"]]} if _in_arm(row) else row for row in rows
        ]

    experiment = analysed(tmp_path, overlapping, {'before = "7d"': 'before = "7d"\nother_arms = "layout"'})
    (check,) = [own for own in experiment.checks if own.code == "overlap"]
    assert (check.state, check.values["share"]) == ("careful", 1.0)


def test_logs_without_any_of_the_arms_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="its values: 'x'"):
        analysed(tmp_path, _set("arm", "x", _in_arm))


def test_a_column_of_segments_that_no_impression_has_is_refused(tmp_path):
    with pytest.raises(InputError, match="no impression has a value in column 'brwoser'; check its name"):
        analysed(tmp_path, lambda rows: rows, {'"language"': '"brwoser"'})


def test_a_column_of_the_service_is_a_metric(tmp_path):
    def with_basket(rows: list[Row]) -> list[Row]:
        return [row | {"加购": int(row["request"][-1] in "13")} for row in rows]

    experiment = analysed(tmp_path, with_basket, {'"latency_ms"]': '"加购"]'})
    assert next(effect.n for effect in experiment.effects if effect.metric == "加购") > 100


def test_logs_without_users_say_so(tmp_path):
    with pytest.raises(InputError, match="no request names its user, which experiment"):
        analysed(tmp_path, lambda rows: [{k: v for k, v in row.items() if k != "user"} for row in rows])


def test_a_difference_of_a_metric_that_is_0_has_no_days_left(tmp_path):
    experiment = analysed(tmp_path, lambda rows: [row for row in rows if "kind" not in row])
    assert experiment.decisions[0].outcome == "inconclusive"
    assert experiment.decisions[0].days_needed is None


def test_a_declaration_that_was_not_registered_comes_behind_what_is_wrong_with_the_data(tmp_path):
    def twice(rows: list[Row]) -> list[Row]:
        return [row | {"arm_b": row["arm"]} if _in_arm(row) else row for row in rows]

    experiment = analysed(tmp_path, twice, {"days = 7": 'days = 7\nother_arms = ["arm_b"]'})
    careful = [check.code for check in experiment.checks if check.state == "careful"]
    assert careful.index("overlap") < careful.index("declaration")
