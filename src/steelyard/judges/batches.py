"""Many texts through a model: streamed, batched by length, and what a failing batch costs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from steelyard.base.errors import StageError
from steelyard.judges.verdict import Case

T = TypeVar("T")
R = TypeVar("R")

_BLOCK = 2_000_000


def case_blocks(cases: Iterable[Case], *, characters: int = _BLOCK) -> Iterator[list[Case]]:
    """Cases in runs of about so many characters, so that first verdicts come early and memory has a limit.

    >>> [len(block) for block in case_blocks([Case("ab", ("c",))] * 5, characters=6)]
    [2, 2, 1]
    """
    block, size = list[Case](), 0
    for case in cases:
        block.append(case)
        size += len(case.premise) + sum(map(len, case.hypotheses))
        if size >= characters:
            yield block
            block, size = [], 0
    if block:
        yield block


def ask_in_batches(
    ask: Callable[[list[T]], Sequence[R]],
    items: Sequence[T],
    *,
    batch_size: int,
    length: Callable[[T], int],
    n_at_once: int = 1,
    halving: bool = True,
) -> list[R | StageError]:
    """What a model says of each item, in their order; a StageError where it failed.

    Items of like length go together, the longest first.
    n_at_once   batches under way at once
    halving     whether a batch that fails is asked in halves, so that only the items that fail alone are lost

    >>> ask_in_batches(lambda batch: [word.upper() for word in batch], ["a", "ccc", "bb"], batch_size=2, length=len)
    ['A', 'CCC', 'BB']
    """
    order = sorted(range(len(items)), key=lambda i: -length(items[i]))
    batches = [order[start : start + batch_size] for start in range(0, len(order), batch_size)]

    def results_of(batch: list[int]) -> list[R | StageError]:
        return _asked(ask, [items[i] for i in batch], halving=halving)

    with ThreadPoolExecutor(n_at_once) as pool:
        results = [result for batch in pool.map(results_of, batches) for result in batch]
    by_place = dict(zip(order, results, strict=True))
    return [by_place[i] for i in range(len(items))]


def _asked(ask: Callable[[list[T]], Sequence[R]], batch: list[T], *, halving: bool) -> list[R | StageError]:
    try:
        return list(ask(batch))
    except StageError as error:
        if not halving or len(batch) == 1:
            return [error] * len(batch)
    half = len(batch) // 2
    return [*_asked(ask, batch[:half], halving=halving), *_asked(ask, batch[half:], halving=halving)]


def whole_characters(text: str) -> str:
    """The text with U+FFFD for each half of a character (a lone surrogate), which no tokenizer and no server takes.

    >>> whole_characters("a\\ud83d b")
    'a� b'
    """
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
