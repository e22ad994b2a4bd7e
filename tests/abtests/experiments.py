"""Analysed experiments by hand: a reranker that users prefer, that harms, of which little is known, or badly split."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from steelyard.abtests.experiment import Check, Decision, Effect, EffectVerdict, Experiment, Outcome, Role
from steelyard.base.notes import Note
from steelyard.traffic.logs import Trouble
from steelyard.traffic.series import Better

START = datetime(2026, 10, 4, 16, tzinfo=UTC)
"""A Monday at midnight in Shanghai."""


def effect(
    metric: str, role: Role, better: Better, verdict: EffectVerdict, values: tuple[float, float],
    ends: tuple[float, float] = (math.nan, math.nan), **others: Any,
) -> Effect:  # fmt: skip
    """An effect of the treatment, with the values of both arms and the ends of their difference."""
    (baseline, value), (low, high) = values, ends
    relative = {"relative": (value - baseline) / baseline, "relative_low": low / baseline,
                "relative_high": high / baseline} if baseline else {}  # fmt: skip
    return Effect(
        metric, "treatment", role, better, verdict, 10_020, 10_093, baseline, value, value - baseline, low=low,
        high=high, **relative | others,
    )  # fmt: skip


CTR = effect("ctr", "primary", "higher", "better", (0.3021, 0.3178), (0.0065, 0.0249), p=0.0008, adjusted=0.0008,
             detectable=0.0131, method="cuped", details={"variance_kept": 0.64, "rho": 0.6})  # fmt: skip
GUARDRAILS = [
    effect("latency_ms:p95", "guardrail", "lower", "not_worse", (1520.4, 1534.1), (-9.2, 36.6), p=0.0001,
           adjusted=0.0001, margin=76.02, method="percentile", details={"worth": [6_120.4, 6_093.1]}),
    effect("abandonment", "guardrail", "lower", "unclear", (0.412, 0.4166), (-0.0011, 0.0103), p=0.16, adjusted=0.16,
           margin=0.00824),
]  # fmt: skip
REWRITES = effect("rewrites", "secondary", "lower", "none", (0.0, 0.0), details={"reason": "no_variance"})
MRR = effect("click_mrr", "secondary", "higher", "unclear", (0.601, 0.604), (-0.004, 0.010), p=0.41, adjusted=0.82)
UNEVEN = Check(
    "sample_ratio", "blocks", 1.2e-9,
    {"counts": {"control": 10_420, "treatment": 9_693}, "expected": {"control": 10_056.5, "treatment": 10_056.5},
     "segment": "browser=firefox"},
    [{"segment": "browser=firefox", "control": 2_820, "treatment": 2_014, "p": 3e-14, "rest": 0.52, "apart": 2e-11},
     {"segment": "day=3", "control": 371, "treatment": 340, "p": 0.25, "rest": 4e-9, "apart": 0.7}],
)  # fmt: skip
CHECKS = [
    Check("carry_over", "careful", 0.0002, {"metrics": ["ctr"]},
          [{"metric": "ctr", "arm": "treatment", "baseline": 0.301, "value": 0.311, "p": 0.0002}]),
    Check("sample_ratio", "well", 0.61, {"counts": {"control": 10_020, "treatment": 10_093}}),
    Check("declaration", "well", values={"changed": []}),
    Check("novelty", "well", 0.21, {"metric": "ctr", "arm": "treatment", "first": 0.0191, "later": 0.0146}),
    Check("arms_of_unit", "well", values={"n": 12, "n_units": 20_125, "share": 12 / 20_125}),
    Check("bots", "well", 0.44, {"n": 340, "n_units": 20_465}),
    Check("overlap", "well", 0.3, {"column": "arm_layout", "n_units": 8_020, "share": 0.399}),
]  # fmt: skip


def days(effect: Effect, n: int = 28, *, running: bool = False, seed: int = 3) -> list[Effect]:
    """An effect that is larger in the first days; of each day, or up to it."""
    rng, effects, width = np.random.default_rng(seed), [], effect.high - effect.difference
    novelty = 0.02 * np.exp(-np.arange(n) / 3)
    drawn = effect.difference + novelty + width * 2 * rng.standard_normal(n)
    for day in range(n):
        own = float(drawn[: day + 1].mean() if running else drawn[day])
        half = width * 5 / math.sqrt(day + 1) if running else width * 4
        effects.append(
            replace(effect, day=day, n_baseline=700, n=710, difference=own, low=own - half, high=own + half,
                    relative=own / effect.baseline, relative_low=(own - half) / effect.baseline,
                    relative_high=(own + half) / effect.baseline, verdict="unclear")
        )  # fmt: skip
    return effects


def experiment(outcome: Outcome = "ship", **changes: Any) -> Experiment:
    """An experiment with this decision, with fields changed."""
    slow = effect("latency_ms:p95", "guardrail", "lower", "broken", (1520.4, 1711.0), (160.1, 221.7), p=0.99,
                  adjusted=0.99, margin=76.02, method="percentile")  # fmt: skip
    unclear = replace(CTR, verdict="unclear", low=-0.0021, relative_low=-0.007, p=0.11, adjusted=0.11)
    effects = {"do_not_ship": [unclear, slow, GUARDRAILS[1]], "inconclusive": [unclear, *GUARDRAILS]}
    reasons = {
        "ship": [Note("primary_better", {"metric": "ctr"}), Note("guardrail_well", {"metrics": ["latency_ms:p95"]})],
        "do_not_ship": [Note("guardrail_broken", {"metric": "latency_ms:p95", "margin": 76.02})],
        "inconclusive": [Note("horizon_not_reached", {"days": 10, "horizon": 28})],
        "blocked": [Note("check_blocks", {"check": "sample_ratio"})],
    }[outcome]  # fmt: skip
    values: dict[str, Any] = {
        "name": "reranker-v2", "analysis": "fixed", "alpha": 0.05, "power": 0.8, "start": START,
        "end": START + timedelta(days=28), "n_days": 28, "horizon": 28,
        "arms": {"control": 0.5, "treatment": 0.5}, "units": [10_020, 10_093],
        "decisions": [Decision("treatment", outcome, reasons, detectable=0.0131)],
        "effects": [*effects.get(outcome, [CTR, *GUARDRAILS[:1]]), MRR, REWRITES],
        "checks": [UNEVEN, *CHECKS[2:]] if outcome == "blocked" else CHECKS,
        "fingerprint": "5f" * 32,
        "segments": [
            replace(CTR, segment="browser=chrome", n_baseline=7_640, n=7_679, adjusted=0.004),
            replace(CTR, segment="browser=firefox", n_baseline=2_380, n=2_414, verdict="unclear", low=-0.004,
                    high=0.03, relative_low=-0.0132, relative_high=0.0993, adjusted=0.31),
        ],
        "daily": days(CTR), "running": days(CTR, running=True),
        "registered": START - timedelta(days=3), "timezone": "Asia/Shanghai", "n_requests": 84_213,
        "excluded": {"mixed": 12, "bots": 340, "before_exposure": 1_204},
        "troubles": [Trouble("torn_line", 2, "logs/2026-10-09.jsonl, line 17")],
        "declaration": {"primary": "ctr", "difference": "5%", "days": "28"},
    }  # fmt: skip
    if outcome == "inconclusive":
        values |= {"n_days": 10, "end": START + timedelta(days=10)}
        values["decisions"] = [Decision("treatment", outcome, reasons, days_needed=18, detectable=0.0131)]
    return Experiment(**values | changes)
