"""Decisions follow from checks, effects and the declaration by the rules that are written beside them."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, datetime

import polars as pl
import pytest

from steelyard.abtests.config import ExperimentConfig
from steelyard.abtests.decision import days_needed, decisions
from steelyard.abtests.experiment import Check, Effect
from steelyard.abtests.exposures import Exposures

CONFIG = {
    "start": "2026-10-05", "primary": "ctr", "difference": 0.02, "arms": {"a": 0.5, "b": 0.5},
    "guardrail": [{"metric": "cost_usd", "margin": "5%"}],
}  # fmt: skip
PRIMARY = Effect(
    "ctr", "b", "primary", "higher", "unclear", 500, 500, 0.4, 0.41, 0.01, low=-0.01, high=0.03, detectable=0.03
)
GUARDRAIL = Effect("cost_usd", "b", "guardrail", "lower", "not_worse", 500, 500, 1.0, 1.0, 0.0, low=-0.02, high=0.02)
BETTER = replace(PRIMARY, verdict="better", low=0.005)
UNCLEAR = replace(GUARDRAIL, verdict="unclear")
MISMATCH = Check("sample_ratio", "blocks", 1e-9)


def exposed(n_days: int = 28) -> Exposures:
    start = datetime(2026, 10, 5, tzinfo=UTC)
    return Exposures(["a", "b"], pl.DataFrame(), {}, n_days, start, start, 10_000)


def outcome(
    *effects: Effect, n_days: int = 28, checks: tuple[Check, ...] = (), **settings: object
) -> tuple[str, list[str]]:
    config = ExperimentConfig.of({**CONFIG, **settings})
    (decision,) = decisions(exposed(n_days), config, checks, effects, [])
    return decision.outcome, [reason.code for reason in decision.reasons]


@pytest.mark.parametrize(
    ("effects", "settings", "expected"),
    [
        ([BETTER, GUARDRAIL], {}, ("ship", ["primary_better", "guardrail_well"])),
        ([BETTER], {}, ("ship", ["primary_better"])),
        ([BETTER, GUARDRAIL], {"checks": (MISMATCH,)}, ("blocked", ["check_blocks"])),
        ([BETTER, GUARDRAIL], {"n_days": 27}, ("inconclusive", ["horizon_not_reached"])),
        ([BETTER], {"n_days": 27, "analysis": "always-valid"}, ("ship", ["primary_better"])),
        ([BETTER, GUARDRAIL], {"n_days": 6, "analysis": "always-valid"}, ("inconclusive", ["few_days"])),
        ([replace(BETTER, n=9)], {}, ("inconclusive", ["few_units"])),
        ([BETTER, UNCLEAR], {}, ("inconclusive", ["guardrail_unclear", "primary_better"])),
        ([BETTER, replace(GUARDRAIL, verdict="none")], {}, ("inconclusive", ["guardrail_unclear", "primary_better"])),
        ([BETTER, replace(GUARDRAIL, verdict="broken")], {}, ("do_not_ship", ["guardrail_broken"])),
        ([replace(PRIMARY, verdict="worse"), GUARDRAIL], {}, ("do_not_ship", ["primary_worse"])),
        ([BETTER, replace(PRIMARY, verdict="worse")], {}, ("do_not_ship", ["primary_worse"])),
        ([replace(PRIMARY, high=0.019)], {}, ("do_not_ship", ["gain_ruled_out"])),
        ([PRIMARY, GUARDRAIL], {}, ("inconclusive", ["not_shown"])),
        ([replace(PRIMARY, better="lower", low=-0.019)], {}, ("do_not_ship", ["gain_ruled_out"])),
        ([replace(PRIMARY, verdict="none", low=math.nan, high=math.nan)], {}, ("inconclusive", ["no_test"])),
        ([replace(PRIMARY, high=0.019), PRIMARY], {}, ("inconclusive", ["not_shown", "not_shown"])),
    ],
)  # fmt: skip
def test_a_decision(effects: list[Effect], settings: dict[str, object], expected: tuple[str, list[str]]) -> None:
    assert outcome(*effects, **settings) == expected  # type: ignore[arg-type]


def test_a_gain_that_is_a_share_is_ruled_out_by_the_relative_interval() -> None:
    """The baseline of .4 may be less: 5% of it are .02 at the value that it has."""
    ends = replace(PRIMARY, high=0.0199, relative_low=-0.03)
    assert outcome(replace(ends, relative_high=0.051), difference="5%") == ("inconclusive", ["not_shown"])
    assert outcome(replace(ends, relative_high=0.049), difference="5%") == ("do_not_ship", ["gain_ruled_out"])
    assert outcome(ends, difference="5%") == ("inconclusive", ["not_shown"])


def test_each_arm_has_its_own_decision() -> None:
    config = ExperimentConfig.of({**CONFIG, "arms": {"a": 0.4, "b": 0.3, "c": 0.3}})
    both = decisions(exposed(), config, [], [BETTER, replace(PRIMARY, arm="c", verdict="worse")], [])
    assert [(decision.arm, decision.outcome) for decision in both] == [("b", "ship"), ("c", "do_not_ship")]


def test_days_that_are_still_needed_follow_the_fall_of_what_could_be_seen() -> None:
    """By the root of the days: .04 after 28 of them is .02 after 112, 84 more."""
    config = ExperimentConfig.of(CONFIG)
    running = [replace(PRIMARY, day=day, detectable=0.04 * math.sqrt(28 / (day + 1))) for day in range(28)]
    assert days_needed(running[-1], running, config, 28) == 84
    flat = [replace(effect, detectable=0.04) for effect in running]
    assert days_needed(flat[-1], flat, config, 28) is None
    share = ExperimentConfig.of({**CONFIG, "difference": "5%"})
    assert days_needed(replace(running[-1], baseline=0.0), running, share, 28) is None
    slow = [replace(effect, detectable=0.04 - 1e-7 * day) for day, effect in enumerate(running)]
    assert days_needed(slow[-1], slow, config, 28) is None
    assert days_needed(replace(running[-1], detectable=0.019), running, config, 28) is None


def test_the_horizon_says_how_many_days_are_left() -> None:
    (decision,) = decisions(exposed(20), ExperimentConfig.of(CONFIG), [], [PRIMARY], [])
    assert decision.days_needed == 8
