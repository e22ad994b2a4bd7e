"""Gates of load tests: by level and objective, by the sustained rate, and by the numbers of a profile."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

from steelyard.base.errors import InputError
from steelyard.data.folders.manifests import write_bench_manifest
from steelyard.experiment.table.json import as_json
from steelyard.gates.gating import Gate, gate
from tests.gates.test_benches import column

pytest.importorskip("scipy.stats", reason="gates need the extra stats")

PROFILE = """
name = "mine"
below = "low"
levels = ["slo"]
[measures.sustained_rate]
given = true
levels = {{ slo = {} }}
"""


def level(load: str, reason: str | None, value: float = 300.0, low: float | None = 250.0, high: float | None = 400.0,
          *, is_asked: bool = True, system: str = "search") -> dict[str, Any]:  # fmt: skip
    return {"system": system, "load": load, "is_asked": is_asked, "n": 600, "reason": reason, "percentile": "p95",
            "limit_ms": 500.0, "latency_ms": value, "latency_ms_low": low, "latency_ms_high": high}  # fmt: skip


def rate(held: float | None, failing: float | None, reason: str | None = "latency") -> dict[str, Any]:
    return {"system": "search", "rate": held, "failing_rate": failing, "reason": reason}


def folder(path: Path, levels: list[dict[str, Any]], *rates: dict[str, Any]) -> str:
    """The folder of a load test."""
    path = path / "load"
    path.mkdir()
    (path / "scores.json").write_text(as_json(column("latency_ms", [100.0 + n for n in range(200)])))
    (path / "levels.json").write_text(json.dumps({"levels": levels, "sustained": list(rates)}))
    write_bench_manifest(path, {"name": "l", "kind": "load", "finished": "yes"})
    return str(path)


def outcomes(verdict: Gate) -> dict[str, str]:
    return {check.name: check.outcome for check in verdict.checks}


def test_every_rate_that_is_asked_for_is_judged_by_the_objective(tmp_path: Path) -> None:
    levels = [
        level("10/s", None), level("20/s", "latency", 700.0, 600.0, 800.0), level("30/s", "open", high=600.0),
        level("40/s", "few", high=None), level("50/s", "achieved"), level("15/s", "latency", is_asked=False),
    ]  # fmt: skip
    path = folder(tmp_path, levels, rate(10.0, 20.0))
    verdict = gate(path)
    assert outcomes(verdict) == {
        "10/s": "pass", "20/s": "fail", "30/s": "insufficient", "40/s": "insufficient", "50/s": "fail",
    }  # fmt: skip
    assert (verdict.outcome, verdict.exit_code) == ("fail", 1)
    text = verdict.text(lang="en")
    assert "≤ 500 ms (P95)" in text
    assert "20/s: the whole interval is above 500 ms." in text
    assert "≥ 250" in text
    assert "整个区间都高于" in verdict.text(lang="zh")
    assert outcomes(gate(path, system="search 10/s")) == {"10/s": "pass"}
    assert outcomes(gate(path, system="search 15/s")) == {"15/s": "fail"}
    assert len(gate(path, system="search").checks) == 5
    with pytest.raises(InputError, match="no system is called 'serch'; did you mean search"):
        gate(path, system="serch")


@pytest.mark.parametrize(
    ("found", "least", "outcome"),
    [
        (rate(30.0, 33.0), 20, "pass"), (rate(30.0, 33.0), 30, "pass"), (rate(30.0, 33.0), 31, "insufficient"),
        (rate(30.0, 33.0), 33, "fail"), (rate(30.0, 33.0, "open"), 33, "insufficient"),
        (rate(30.0, None, None), 40, "insufficient"), (rate(None, 5.0), 20, "fail"),
        (rate(None, 50.0), 20, "insufficient"),
    ],
)  # fmt: skip
def test_the_sustained_rate_is_held_against_a_profile(
    tmp_path: Path, found: dict[str, Any], least: float, outcome: str
) -> None:
    (tmp_path / "mine.toml").write_text(PROFILE.format(least))
    verdict = gate(folder(tmp_path, [level("10/s", None)], found), profile=str(tmp_path / "mine.toml"))
    assert outcomes(verdict) == {"sustained_rate": outcome}
    assert f"≥ {least} (slo)" in verdict.text(lang="en", explain=True)


@pytest.mark.parametrize(
    ("found", "outcome"),
    [(rate(8.0, 9.0), "pass"), (rate(None, 2.0), "fail"), (rate(None, 2.0, "few"), "insufficient")],
)
def test_where_the_rate_is_searched_one_has_to_hold(tmp_path: Path, found: dict[str, Any], outcome: str) -> None:
    path = folder(tmp_path, [level("16/s", "latency", is_asked=False)], found)
    assert gate(path).outcome == outcome


def test_a_profile_asks_a_load_test_for_times_and_rates_alone(tmp_path: Path) -> None:
    path = folder(tmp_path, [level("10/s", None)], rate(10.0, None, None))
    assert {check.name for check in gate(path, profile="reranker").checks} == {"latency_ms:p95"}
    with pytest.raises(InputError, match=r"is a load test.*profile production asks for none; leave the profile out"):
        gate(path, profile="production")


def test_what_cannot_be_judged_is_said(tmp_path: Path) -> None:
    path = folder(tmp_path, [])
    with pytest.raises(InputError, match="no rate was offered"):
        gate(path)
    (Path(path) / "levels.json").write_text('{"levels": [{"system": 3}], "sustained": []}')
    with pytest.raises(InputError, match=r"levels\.json: .*; delete it"):
        gate(path)
    (Path(path) / "levels.json").unlink()
    with pytest.raises(InputError, match=r"has no levels\.json"):
        gate(path)


def test_ends_that_are_not_there_are_infinite(tmp_path: Path) -> None:
    (check,) = gate(
        folder(tmp_path, [level("10/s", "errors", math.nan, None, None)], rate(None, 10.0, "errors"))
    ).checks
    assert (check.low, check.high, check.outcome) == (-math.inf, math.inf, "fail")
