"""The benchmark of faults planted into answers, on the bundled example."""

from functools import cache

import numpy as np
import pytest
from benchmarks import answer_faults

pytest.importorskip("bm25s", reason="the lists are those of BM25")


@cache
def answers() -> answer_faults.Answers:
    return answer_faults.sound(answer_faults.bundled(), np.random.default_rng(1))


def test_sound_answers_are_not_accused() -> None:
    assert sum(map(bool, answers().gold)) > 60
    assert answers().advice() == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_each_fault_is_named_first_or_second(seed: int) -> None:
    planted = answer_faults.faults(answers(), np.random.default_rng(seed))
    assert [fault for fault, codes, broken in planted if not codes & set(broken.advice()[:2])] == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_nothing_is_seen_in_more_than_one_of_twenty_sound_samples(seed: int) -> None:
    rng = np.random.default_rng(seed)
    seen = answer_faults.accusations(answer_faults.sound(answer_faults.bundled(), rng), 20, rng)
    assert max(seen.values(), default=0) <= 1, seen
