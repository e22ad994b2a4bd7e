"""Checks of the data of an experiment: each finds what was planted, and nothing in what is well."""

import hashlib

import numpy as np
import pytest

from steelyard.abtests.checks import check_data
from steelyard.abtests.config import ExperimentConfig
from steelyard.abtests.exposing import exposures
from tests.traffic.made_logs import logs_of

DAY = 86_400
BASE = {
    "start": "2026-09-29", "days": 7, "primary": "ctr", "difference": "5%", "arms": {"a": 0.5, "b": 0.5},
    "segments": ["browser"], "other_arms": ["layout"], "before": "7d",
}  # fmt: skip


def service(n_users=600, *, seed=1):
    """Rows of two weeks, the second of which is the experiment: impressions with three requests a user, and clicks."""
    rng = np.random.default_rng(seed)
    rows, events = [], []
    for user in range(n_users):
        own = {"user": f"u{user}", "browser": ["firefox", "chrome"][user % 2], "layout": rng.choice(["old", "new"]),
               "doc_ids": ["d1", "d2"]}  # fmt: skip
        arm = rng.choice(["a", "b"])
        times = [rng.uniform(0.5, 7), rng.uniform(7.5, 10), rng.uniform(10, 14.4)]
        for i, time in enumerate(times):
            more = {"arm": arm, "config": f"config-{arm}"} if time >= 7.5 else {"layout": None}
            row = {**own, **more, "request": f"r{user}-{i}", "time": time * DAY}
            rows.append(row)
            if rng.random() < 0.4:
                events.append({"request": row["request"], "kind": "click", "doc_id": "d1", "time": row["time"] + 5})
    return rows, events


def checked(rows, events=(), **changes):
    """Checks by code, and what blocks or is a caution."""
    logs, config = logs_of(rows, events), ExperimentConfig.of({**BASE, **changes})
    checks = {check.code: check for check in check_data(logs, config, exposures(logs, config))}
    return checks, {code: check.state for code, check in checks.items() if check.state != "well"}


def in_test(rows, arm=None):
    """Rows of the experiment, of an arm."""
    return [row for row in rows if "arm" in row and arm in (None, row["arm"])]


def test_nothing_is_wrong_with_data_that_are_well():
    checks, wrong = checked(*service())
    assert not wrong
    assert list(checks) == [
        "sample_ratio", "arms_of_unit", "unknown_arm", "exposure", "fingerprints", "covariate", "carry_over", "bots",
        "overlap",
    ]  # fmt: skip
    assert sum(checks["sample_ratio"].values["counts"].values()) == 600
    assert (checks["exposure"].values["n_clicks"] > 0, checks["exposure"].values["n_not_shown"]) == (True, 0)
    assert checks["overlap"].values == {"column": "layout", "n_units": 600, "share": 1.0}


def test_a_sample_ratio_mismatch_blocks_and_names_the_browser_that_it_comes_from():
    rows, events = service()
    lost = {row["user"] for row in in_test(rows, "b") if row["browser"] == "firefox" and int(row["user"][1:]) % 5}
    checks, wrong = checked([row for row in rows if "arm" not in row or row["user"] not in lost], events)
    check = checks["sample_ratio"]
    assert wrong["sample_ratio"] == "blocks"
    assert next(iter(checks)) == "sample_ratio"
    assert check.values["segment"] == "browser=firefox"
    assert (check.rows[0]["segment"], check.p < 0.001, check.rows[0]["rest"] > 0.001) == ("browser=firefox", True, True)


def test_a_mismatch_of_a_day_is_said():
    rows, events = service(1500)
    lost = {row["user"] for row in in_test(rows, "b") if 8.4 < row["time"] / DAY < 9.4 and row["request"][-1] == "1"}
    checks, _ = checked([row for row in rows if row["user"] not in lost], events)
    assert (checks["sample_ratio"].state, checks["sample_ratio"].values["segment"]) == ("blocks", "day=1")


def test_a_mismatch_that_is_everywhere_comes_from_no_value():
    rows, events = service()
    lost = {row["user"] for row in in_test(rows, "b") if int(row["user"][1:]) % 3 == 0}
    checks, _ = checked([row for row in rows if row["user"] not in lost], events)
    assert (checks["sample_ratio"].state, checks["sample_ratio"].values["segment"]) == ("blocks", "")


def test_browsers_that_make_up_for_each_other_are_a_caution():
    rows, events = service()
    lost = {
        row["user"] for row in in_test(rows)
        if (row["arm"] == "b") == (row["browser"] == "firefox") and int(row["user"][1:]) % 3
    }  # fmt: skip
    checks, _ = checked([row for row in rows if row["user"] not in lost], events)
    assert checks["sample_ratio"].state == "careful"
    assert {row["segment"] for row in checks["sample_ratio"].rows[:2]} == {"browser=firefox", "browser=chrome"}


def test_an_arm_without_units_blocks_and_of_ten_users_there_is_too_little_to_say():
    rows, events = service()
    checks, _ = checked([row for row in rows if row.get("arm") != "b"], events)
    assert (checks["sample_ratio"].state, checks["sample_ratio"].values["counts"]["b"]) == ("blocks", 0)
    few = [row for row in rows if int(row["user"][1:]) < 9]
    assert checked(few)[0]["sample_ratio"].state == "few"


def test_a_trigger_that_depends_on_the_arm_blocks():
    rows, events = service()
    for row in rows:
        row["differs"] = str(row.get("arm") == "b" or int(row["user"][1:]) % 3 == 0).lower()
    checks, _ = checked(rows, events, trigger="differs")
    assert (checks["sample_ratio"].state, checks["trigger_ratio"].state) == ("well", "blocks")
    for row in rows:
        row["differs"] = str(int(row["user"][1:]) % 3 == 0).lower()
    checks, _ = checked(rows, events, trigger="differs")
    assert (checks["sample_ratio"].state, checks["trigger_ratio"].state) == ("well", "well")
    assert sum(checks["trigger_ratio"].values["counts"].values()) == 200


@pytest.mark.parametrize(("n", "state"), [(3, "careful"), (30, "blocks")])
def test_units_that_changed_their_arm(n, state):
    rows, events = service()
    for row in in_test(rows):
        if int(row["user"][1:]) < n and row["request"].endswith("2"):
            row["arm"] = "ab"[row["arm"] == "a"]
    checks, _ = checked(rows, events)
    check = checks["arms_of_unit"]
    assert (check.state, check.values["n"], check.values["n_units"]) == (state, n, 600)
    assert sum(row["n"] for row in check.rows) == n
    assert {row["arms"] for row in check.rows} <= {"a → b", "b → a"}


def test_arms_that_are_not_declared():
    rows, events = service()
    for row in in_test(rows):
        if row["user"] in ("u1", "u2"):
            row["arm"] = "c"
    check = checked(rows, events)[0]["unknown_arm"]
    assert (check.state, check.values["arms"], check.values["n"]) == ("careful", ["c"], 4)


@pytest.mark.parametrize(("n", "state"), [(0, "well"), (3, "careful"), (30, "blocks")])
def test_units_that_the_salt_puts_into_another_arm(n, state):
    rows, events = service()
    for row in in_test(rows):
        number = int.from_bytes(hashlib.sha256(f"salt{row['user']}".encode()).digest()[:8], "big")
        is_other = (number >= 2**63) != (int(row["user"][1:]) < n)
        row["arm"] = "ab"[is_other]
    check = checked(rows, events, salt="salt")[0]["assignment"]
    assert (check.state, check.values["n"], check.values["salt"]) == (state, n, "salt")
    assert all(row["arm"] != row["expected"] and int(row["unit"][1:]) < n for row in check.rows)
    assert len(check.rows) == min(n, 10)
    assert "assignment" not in checked(rows, events)[0]


def test_units_that_were_never_shown_a_result_and_clicks_on_what_was_not_shown():
    rows, events = service()
    for row in in_test(rows, "b"):
        if int(row["user"][1:]) % 10 == 0:
            row |= {"error": "timeout"} if int(row["user"][1:]) % 20 else {"doc_ids": []}
    check = checked(rows, [])[0]["exposure"]
    (a, b) = check.rows
    assert (check.state, check.p < 0.001, a["n"], b["n"] > 20) == ("careful", True, 0, True)
    assert b["n_failed"] + b["n_empty"] == 2 * b["n"]
    rows, events = service()
    for event in events[:40]:
        event["doc_id"] = "d9"
    check = checked(rows, events)[0]["exposure"]
    assert check.state == "careful"
    assert 0 < check.values["n_not_shown"] <= 40


def test_configurations_of_arms():
    rows, events = service()
    for row in in_test(rows, "b"):
        row["config"] = "config-a"
    check = checked(rows, events)[0]["fingerprints"]
    assert (check.state, check.values) == ("careful", {"several": [], "same": ["a", "b"]})
    for row in in_test(rows, "b"):
        row["config"] = "config-b" if row["time"] < 10 * DAY else "config-c"
    check = checked(rows, events)[0]["fingerprints"]
    assert (check.state, check.values) == ("careful", {"several": ["b"], "same": []})
    assert [row["config"] for row in check.rows] == ["config-a", "config-b", "config-c"]
    for row in rows:
        row["config"] = None
    assert "fingerprints" not in checked(rows, events)[0]


def test_arms_before_the_start_spoil_the_time_before():
    rows, events = service()
    arms = {row["user"]: row["arm"] for row in in_test(rows)}
    for row in rows:
        row["arm"] = arms[row["user"]]
    check = checked(rows, events)[0]["covariate"]
    assert (check.state, check.values["n"]) == ("careful", sum(arm == "b" for arm in arms.values()))
    for row in rows:
        row["arm"] = "a" if row["time"] < 7.5 * DAY else row["arm"]
    assert checked(rows, events)[0]["covariate"].state == "well"


def test_arms_that_differed_before_the_start():
    rows, events = service()
    arms = {row["user"]: row["arm"] for row in in_test(rows)}
    before = {row["request"] for row in rows if row["time"] < 7.4 * DAY}
    more = [{"request": name, "kind": "click", "time": 7.4 * DAY} for name in before if arms["u" + name[1:-2]] == "b"]
    check = checked(rows, events + more)[0]["carry_over"]
    assert (check.state, check.values["metrics"], check.rows[0]["arm"]) == ("careful", ["ctr"], "b")
    assert check.rows[0]["value"] == 1.0 > check.rows[0]["baseline"]
    assert "carry_over" not in checked(rows, events, before="0d")[0]


def test_bots_of_one_arm():
    rows, events = service()
    for row in in_test(rows, "b"):
        row["is_bot"] = int(row["user"][1:]) % 10 == 0
    check = checked(rows, events)[0]["bots"]
    assert (check.state, check.rows[0]["n"]) == ("careful", 0)


def test_experiments_of_the_same_time_that_depend_on_each_other():
    rows, events = service()
    for row in in_test(rows):
        row["layout"] = {"a": "old", "b": "new"}[row["arm"]] if int(row["user"][1:]) % 2 else None
    check = checked(rows, events)[0]["overlap"]
    assert (check.state, check.values["n_units"], check.values["share"]) == ("careful", 300, 0.5)
    assert [row["other"] for row in check.rows] == ["new", "old"]
    assert check.rows[0]["a"] == 0


@pytest.mark.slow
def test_chance_hardly_ever_makes_a_caution():
    wrong = [checked(*service(300, seed=seed))[1] for seed in range(150)]
    assert sum(map(len, wrong)) <= 3, wrong
