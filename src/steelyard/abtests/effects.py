"""Effects: every metric of an experiment, each arm against the baseline, with the test that its role asks for."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import NormalDist

import numpy as np

from steelyard.abtests.config import Amount, ExperimentConfig, Guardrail
from steelyard.abtests.experiment import Effect, EffectVerdict, Role
from steelyard.abtests.exposures import Exposures, JudgedAnswers, Percentiles, Sums
from steelyard.base.arrays import Ints
from steelyard.base.errors import InputError, quoted
from steelyard.stats.arms.contrast import Contrast
from steelyard.stats.arms.judged import judged_contrast
from steelyard.stats.arms.percentiles import percentile_contrast
from steelyard.stats.arms.ratios import ratio_contrast
from steelyard.stats.intervals.inversion import least_tail
from steelyard.stats.sequences import Sequential
from steelyard.stats.tests.corrections import correct
from steelyard.traffic.series import Better

_NORMAL = NormalDist()
_MOST_DAYS, _MOST_VALUES = 60, 20
_NO_ARM, _Z = -1, 1.96


@dataclass(frozen=True, eq=False)
class Measured:
    """The effects of an experiment: those of all units and days, by segment, by day, and up to each day."""

    effects: Sequence[Effect]
    segments: Sequence[Effect]
    daily: Sequence[Effect]
    running: Sequence[Effect]


def measured(exposures: Exposures, config: ExperimentConfig) -> Measured:
    """Effects of all metrics.

    Primary metrics, over all arms, are one family by Holm, secondary ones another, segments a third; a guardrail is
    tested at its own level, and each day by itself is shown as it is.
    """
    scale = _Scale(exposures, config)
    scale.check_directions()
    effects = [
        *scale.family("primary", config.primary), *scale.guardrails(), *scale.family("secondary", config.secondary)
    ]  # fmt: skip
    return Measured(effects, scale.segments(), scale.by_day(), scale.up_to_days())


@dataclass(frozen=True, eq=False)
class _Scale:
    exposures: Exposures
    config: ExperimentConfig

    @property
    def arms(self) -> list[tuple[int, str]]:
        """Place and name of each arm but the baseline."""
        return list(enumerate(self.exposures.arms))[1:]

    @cached_property
    def strata(self) -> Ints | None:
        """(u,) stratum of each unit; None without strata."""
        names = self.config.strata
        if not names or not self.exposures.units.height:
            return None
        texts = self.exposures.units.select(names).fill_null("").to_struct()
        return texts.rank("dense").to_numpy().astype(np.int64) - 1

    def better(self, metric: str) -> Better:
        """Direction: that of the declaration, else that of the metric."""
        return self.config.better.get(metric, self.exposures.metrics[metric].series.better)

    def check_directions(self) -> None:
        """Raise   InputError for a metric that decides and has no direction."""
        for metric in (*self.config.primary, *(guardrail.metric for guardrail in self.config.guardrail)):
            if self.better(metric) == "either":
                raise InputError(
                    f"metric {quoted(metric)} has no direction that is better; add to the declaration "
                    f'[better] with {quoted(metric)} = "higher" or "lower"'
                )

    def contrast(
        self, metric: str, arm: int, *, days: range | None = None, units: Ints | None = None, is_adjusted: bool = True
    ) -> Contrast:
        """A metric of an arm against the baseline.

        days    those that count; None for all;   units   (u,) Boolean, those that count; None for all
        """
        table = self.exposures.metrics[metric]
        of_arm = self.exposures.arm if units is None else np.where(units, self.exposures.arm, _NO_ARM)
        if isinstance(table, Percentiles):
            counts = _counting(table.day, days)
            contrast = percentile_contrast(
                of_arm, table.unit[counts], table.value[counts], table.share, baseline=0, other=arm
            )
        elif isinstance(table, JudgedAnswers):
            contrast = judged_contrast(
                of_arm, table.unit, table.judged, table.people, baseline=0, other=arm, bounds=table.bounds
            )
        else:
            contrast = self._ratio(table, metric, of_arm, arm, days, is_adjusted=is_adjusted)
        is_always_valid = self.config.analysis == "always-valid"
        return Sequential(contrast, self.config.planned_units) if is_always_valid else contrast

    def _ratio(
        self, table: Sums, metric: str, of_arm: Ints, arm: int, days: range | None, *, is_adjusted: bool
    ) -> Contrast:
        counts, n = _counting(table.day, days), len(of_arm)
        numerator, denominator = (
            np.bincount(table.unit[counts], column[counts], n).astype(np.float64, copy=False)
            for column in (table.numerator, table.denominator)
        )
        before = None
        if is_adjusted and table.before_numerator is not None and table.before_denominator is not None:
            before = table.before_numerator, table.before_denominator
        return ratio_contrast(
            of_arm, numerator, denominator, baseline=0, other=arm, before=before,
            strata=self.strata if is_adjusted else None, winsorise=self.config.winsorise.get(metric),
        )  # fmt: skip

    def family(self, role: Role, metrics: Sequence[str]) -> list[Effect]:
        """Effects whose p-values are corrected by Holm over all metrics and arms."""
        pairs = [(metric, arm, name) for metric in metrics for arm, name in self.arms]
        effects = [
            self.effect(self.contrast(metric, arm), metric, name, role, n_tests=len(pairs))
            for metric, arm, name in pairs
        ]
        return self.corrected(effects, f"{role} metrics")

    def corrected(self, effects: Sequence[Effect], family: str) -> list[Effect]:
        """The effects with the p of their family, and what that shows."""
        adjusted = correct([effect.p for effect in effects], method="holm", family=family).adjusted.tolist()
        return [
            replace(effect, adjusted=p, verdict=self.verdict(effect, p))
            for effect, p in zip(effects, adjusted, strict=True)
        ]

    @property
    def is_due(self) -> bool:
        """Whether anything can be shown by now: an analysis with one look shows nothing before the horizon."""
        return self.config.analysis == "always-valid" or self.exposures.n_days >= self.config.days

    def verdict(self, effect: Effect, p: float) -> EffectVerdict:
        """What a two-sided p shows of an effect."""
        if math.isnan(p):
            return "none"
        if p >= self.config.alpha or effect.better == "either" or not self.is_due:
            return "unclear"
        return "better" if (effect.difference > 0) is (effect.better == "higher") else "worse"

    def effect(
        self, contrast: Contrast, metric: str, name: str, role: Role, *, n_tests: int = 1, alpha: float | None = None,
        segment: str = "", day: int | None = None,
    ) -> Effect:  # fmt: skip
        """A contrast as an effect, before any correction."""
        level = 1 - (self.config.alpha if alpha is None else alpha) / n_tests
        low, high = contrast.interval(level)
        relative = contrast.relative(level)
        half = (high - low) / 2
        error = half / _Z if math.isnan(contrast.error) else contrast.error
        return Effect(
            metric, name, role, self.better(metric), "unclear", contrast.n_baseline, contrast.n_other,
            contrast.baseline, contrast.other, contrast.difference, contrast.error, low, high, *relative,
            p=contrast.p(),
            detectable=half + _NORMAL.inv_cdf(self.config.power) * error, method=contrast.method,
            segment=segment, day=day, details=contrast.details,
        )  # fmt: skip

    def guardrails(self) -> Iterator[Effect]:
        """Tests of non-inferiority, each at its own level."""
        for guardrail in self.config.guardrail:
            for arm, name in self.arms:
                yield self._guardrail(guardrail, self.contrast(guardrail.metric, arm), name)

    def _guardrail(self, guardrail: Guardrail, contrast: Contrast, name: str) -> Effect:
        metric, margin = guardrail.metric, guardrail.margin
        worse = 1 if self.better(metric) == "lower" else -1
        p = margin_p(contrast, margin, worse)
        beyond = margin_p(contrast, margin, worse, is_broken=True)
        verdict: EffectVerdict = (
            "none" if math.isnan(p) else "unclear" if not self.is_due else "not_worse" if p < guardrail.alpha
            else "broken" if beyond < guardrail.alpha else "unclear"
        )  # fmt: skip
        effect = self.effect(contrast, metric, name, "guardrail", alpha=2 * guardrail.alpha)
        if not margin.is_relative:  # its interval is the one that the margin was compared with
            effect = replace(effect, relative=math.nan, relative_low=math.nan, relative_high=math.nan)
        return replace(effect, p=p, adjusted=p, margin=margin.absolute(contrast.baseline), verdict=verdict)

    def segments(self) -> list[Effect]:
        """Primary metrics by the values of segments: exploration, corrected among themselves."""
        parts = [(column, value) for column in self.config.segments for value in self._most_frequent(column)]
        n_tests = len(parts) * len(self.config.primary) * len(self.arms)
        effects = list[Effect]()
        for column, value in parts:
            units = (self.exposures.units[column] == value).fill_null(value=False).to_numpy()
            for metric in self.config.primary:
                for arm, name in self.arms:
                    contrast = self.contrast(metric, arm, units=units)
                    segment = f"{column}={value}"
                    effects.append(self.effect(contrast, metric, name, "primary", n_tests=n_tests, segment=segment))
        return self.corrected(effects, "segments")

    def _most_frequent(self, column: str) -> list[str]:
        counts = self.exposures.units[column].drop_nulls().value_counts(sort=True)
        return counts[column].head(_MOST_VALUES).sort().to_list()

    def by_day(self) -> list[Effect]:
        """Primary metrics of each day by itself."""
        return [
            self.of_days(metric, arm, name, range(day, day + 1), is_adjusted=False)
            for metric, arm, name in self.primary for day in self.days
        ]  # fmt: skip

    def up_to_days(self) -> list[Effect]:
        """Primary metrics of all days up to each one, the last of which is that of their family."""
        n_tests = len(self.config.primary) * len(self.arms)
        return [
            self.of_days(metric, arm, name, range(day + 1), n_tests=n_tests)
            for metric, arm, name in self.primary for day in self.days
        ]  # fmt: skip

    @property
    def primary(self) -> list[tuple[str, int, str]]:
        """Primary metrics with each arm but the baseline, as far as they have days."""
        metrics = [name for name in self.config.primary if not isinstance(self.exposures.metrics[name], JudgedAnswers)]
        return [(metric, arm, name) for metric in metrics for arm, name in self.arms]

    @property
    def days(self) -> range:
        """The last days that the log holds, as many as are shown."""
        return range(self.exposures.n_days)[-_MOST_DAYS:]

    def of_days(
        self, metric: str, arm: int, name: str, days: range, *, n_tests: int = 1, is_adjusted: bool = True
    ) -> Effect:
        """A primary metric of some days, named by the last one, as one of so many tests (Bonferroni)."""
        contrast = self.contrast(metric, arm, days=days, is_adjusted=is_adjusted)
        effect = self.effect(contrast, metric, name, "primary", n_tests=n_tests, day=days[-1])
        p = min(n_tests * effect.p, 1.0) if not math.isnan(effect.p) else effect.p
        return replace(effect, adjusted=p, verdict=self.verdict(effect, p))


def margin_p(contrast: Contrast, margin: Amount, worse: int, *, is_broken: bool = False) -> float:
    """p of a loss of the margin or more; of the margin or less, where that is asked.

    worse      1 where larger values are worse, -1 where smaller ones are
    is_broken  test that the loss is above the margin, in place of below it
    Returns    NaN where there is no test.  A margin that is a share of the baseline is compared with the interval of
               the relative difference, so that the chance of the baseline's value counts too; 1 where p is above .5
    """
    null = worse * margin.value
    is_below = (worse > 0) is not is_broken
    if not margin.is_relative:
        return contrast.p(null, sides="less" if is_below else "greater")
    if math.isnan(contrast.relative()[0]):
        return math.nan
    leaves_out = (lambda _, high: high < null) if is_below else (lambda low, _: low > null)
    return least_tail(lambda level: contrast.relative(level)[1:], leaves_out)


def _counting(day: Ints, days: range | None) -> slice | Ints:
    """Which rows are of these days."""
    if days is None:
        return slice(None)
    return np.flatnonzero((day >= days.start) & (day < days.stop))
