"""Levels of a series: the exact optimum, its rate of false alarms, and what must not count as evidence."""

import math
from collections.abc import Sequence
from functools import cache

import numpy as np
import pytest
from benchmarks.simulated.changes import (
    best_partitions,
    change_table,
    false_alarms,
    least_penalties,
    located,
    step_rates,
)
from hypothesis import given
from hypothesis import strategies as st

from steelyard.base.errors import InputError
from steelyard.stats.changes import FEWEST, RATES, find_levels, least_squares_partition, penalty_of, step_interval
from tests.hypothesis_profiles import examples


def least_cost(values: Sequence[float], penalty: float, alone: Sequence[bool]) -> float:
    """The cost of the best partition, from its definition: any last part, and the best of what is before."""

    @cache
    def cost(end: int) -> float:
        if end == 0:
            return -penalty
        return min(
            (
                cost(start) + penalty + part_cost(values[start:end])
                for start in range(end)
                if end - start > 1 or alone[start]
            ),
            default=math.inf,
        )

    return cost(len(values))


def part_cost(part: Sequence[float]) -> float:
    mean = math.fsum(part) / len(part)
    return math.fsum((value - mean) ** 2 for value in part)


@examples(300)
@given(st.data())
def test_no_partition_costs_less(data: st.DataObject) -> None:
    values = data.draw(st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.5, 7.0]) | st.floats(-5, 5), min_size=2, max_size=25))
    alone = data.draw(st.lists(st.booleans(), min_size=len(values), max_size=len(values)))
    penalty = data.draw(st.floats(0.1, 10))
    starts = least_squares_partition(np.array(values), penalty, np.array(alone)).tolist()
    parts = [slice(*ends) for ends in zip(starts, [*starts[1:], len(values)], strict=True)]
    assert starts[0] == 0
    assert all(own.stop - own.start > 1 or alone[own.start] for own in parts)
    cost = math.fsum(part_cost(values[own]) for own in parts) + penalty * (len(parts) - 1)
    assert cost == pytest.approx(least_cost(values, penalty, alone), abs=1e-9)


def test_the_least_penalty_of_the_simulation_is_that_of_the_search() -> None:
    series = np.random.default_rng(4).normal(size=(20, 30))
    alone = np.ones(30, bool)
    for row, penalty in zip(series, least_penalties(series), strict=True):
        assert len(least_squares_partition(row, penalty * 1.000001, alone)) == 1
        assert len(least_squares_partition(row, penalty * 0.999999, alone)) > 1
    gains, changes = best_partitions(series, np.full(20, 1e9))
    assert not changes.any()
    assert gains == pytest.approx(np.zeros(20), abs=1e-6)


def test_a_step_is_located_where_it_is() -> None:
    values = np.concatenate([np.random.default_rng(1).normal(0.7, 0.01, 40), np.full(20, 0.6)])
    values[40:] += np.random.default_rng(2).normal(0, 0.01, 20)
    levels = find_levels(values)
    assert levels.starts.tolist() == [0, 40]
    assert levels.means == pytest.approx([0.7, 0.6], abs=0.01)
    assert levels.noise == pytest.approx(0.01, rel=0.3)
    assert levels.errors == pytest.approx(levels.noise / np.sqrt([40, 20]))
    moved = find_levels(3 - 100 * values)
    assert moved.starts.tolist() == [0, 40]


def test_entries_that_repeat_the_one_before_are_no_evidence() -> None:
    """Ten values drawn by chance show no change, however often each is measured again."""
    values = np.random.default_rng(0).normal(0.7, 0.01, 10)
    assert len(find_levels(values).starts) == 1
    often = find_levels(np.repeat(values, 30))
    assert often.starts.tolist() == [0]
    assert (often.n_distinct, often.noise) == (10, find_levels(values).noise)


@pytest.mark.parametrize("values", [[0.7], [0.7] * 50, [0.7] * 25 + [0.5] * 25, [0.1 + 0.2, 0.3] * 20, [0, 1] * 3])
def test_too_few_distinct_values_are_one_level(values: list[float]) -> None:
    levels = find_levels(values)
    assert levels.starts.tolist() == [0]
    assert math.isnan(levels.noise)
    assert not levels.is_drifting


def test_a_spike_makes_no_level() -> None:
    values = np.random.default_rng(3).normal(0.7, 0.01, 60)
    values[30] = 0.2
    assert len(find_levels(values).starts) == 1


def test_what_drifts_is_said_to() -> None:
    assert find_levels(np.random.default_rng(5).normal(size=100).cumsum()).is_drifting
    assert not find_levels(np.random.default_rng(5).normal(size=100)).is_drifting


def test_penalties_rise_where_fewer_false_alarms_are_allowed() -> None:
    for n in (FEWEST, 15, 40, 250, 1000, 10_000):
        penalties = [penalty_of(n, rate) for rate in (*RATES, 0.03)]
        assert penalties[: len(RATES)] == sorted(penalties[: len(RATES)], reverse=True)
        assert penalties[1] > penalties[-1] > penalties[2]
    assert penalty_of(10_000, 0.05) > penalty_of(1000, 0.05)
    with pytest.raises(InputError, match=r"from 0.01 to 0.2, not 0.5"):
        penalty_of(50, 0.5)


def test_steps_share_their_rate() -> None:
    d = np.random.default_rng(6).normal(-0.02, 0.05, 60)
    mean, low, high = step_interval(d, n_steps=1)
    _, wide_low, wide_high = step_interval(d, n_steps=6)
    assert wide_low < low < mean < high < wide_high
    assert math.isnan(step_interval(np.full(9, 0.1), n_steps=1)[1])
    assert math.isnan(step_interval(np.array([0.1]), n_steps=1)[1])


@pytest.mark.slow
@pytest.mark.parametrize("n", [8, 10, 30, 100])
@pytest.mark.parametrize("kind", ["normal", "rounded to one sd", "7 entries of 10 repeat the one before"])
def test_false_alarms_keep_to_their_rate(kind: str, n: int) -> None:
    assert false_alarms(1000, 3, kind, n) <= 0.065


@pytest.mark.slow
@pytest.mark.parametrize("n_steps", [1, 6])
def test_steps_of_luck_keep_to_their_rate(n_steps: int) -> None:
    luck, loss = step_rates(1000, 3, n_steps, 0.02)
    assert luck <= 0.065
    assert loss > 0.9


@pytest.mark.slow
def test_a_loss_of_three_sd_is_located() -> None:
    shown, right, near = located(200, 3, 3)
    assert shown[2] > 0.95
    assert right > 0.75
    assert near > 0.95
    assert len(change_table(2, 1).rows) == 7
