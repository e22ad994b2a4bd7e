"""Batches: every item once, in order, and only what fails alone is lost."""

import weakref

from hypothesis import given
from hypothesis import strategies as st

from steelyard.base.errors import StageError
from steelyard.judges.asking import Batches, case_blocks
from steelyard.judges.verdict import Case
from tests.hypothesis_profiles import examples


class Tensor:
    """Something that takes memory."""


@examples(200)
@given(
    st.lists(st.integers(0, 99), max_size=40),
    st.sets(st.integers(0, 99), max_size=10),
    st.integers(1, 7),
    st.integers(1, 3),
)
def test_results_are_in_order_and_only_bad_items_fail(
    items: list[int], bad: set[int], batch_size: int, n_at_once: int
) -> None:
    def ask(batch: list[int]) -> list[int]:
        assert 1 <= len(batch) <= batch_size
        if bad & set(batch):
            raise StageError("bad")
        return [-item for item in batch]

    batches = Batches("judge", ask, batch_size=batch_size, n_at_once=n_at_once)
    batches._works = True
    results = batches.results(items, length=lambda item: item)
    assert [None if isinstance(result, StageError) else -result for result in results] == [
        None if item in bad else item for item in items
    ]


def test_what_a_failing_batch_took_is_free_when_its_halves_are_asked() -> None:
    tensors = list[weakref.ref[Tensor]]()

    def ask(batch: list[int]) -> list[int]:
        assert [tensor() for tensor in tensors if tensor() is not None] == []
        tensor = Tensor()
        tensors.append(weakref.ref(tensor))
        if len(batch) > 1:
            raise StageError("out of memory") from MemoryError()
        return batch

    results = Batches("judge", ask, batch_size=4).results([4, 3, 2, 1], length=lambda item: item)
    assert results == [4, 3, 2, 1]
    assert len(tensors) == 7


def test_without_halving_a_batch_fails_whole() -> None:
    def ask(batch: list[int]) -> list[int]:
        if 1 in batch:
            raise StageError("bad")
        return batch

    results = Batches("judge", ask, batch_size=2, halving=False).results([4, 3, 2, 1], length=lambda item: item)
    assert [isinstance(result, StageError) for result in results] == [False, False, True, True]


@examples(100)
@given(st.lists(st.text(max_size=5), max_size=20), st.integers(1, 12))
def test_blocks_hold_all_cases_and_end_once_they_are_full(premises: list[str], characters: int) -> None:
    cases = [Case(premise, ("u",)) for premise in premises]
    blocks = list(case_blocks(cases, characters=characters))
    assert [case for block in blocks for case in block] == cases
    assert all(sum(len(case.premise) + 1 for case in block[:-1]) < characters for block in blocks)
