"""Many texts through a model: streamed, batched by length, and what a failing batch costs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from typing import Generic, TypeVar

from steelyard.base.errors import InputError, StageError
from steelyard.judges.verdict import Case, Verdict

T = TypeVar("T")
R = TypeVar("R")

_BLOCK = 2_000_000
_HOPELESS = 20


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


class Batches(Generic[T, R]):
    """Asks a model in batches of items of like length, the longest first.

    who         asks, for the message
    ask         what the model says of each item of a batch; raises StageError where it fails
    n_at_once   batches under way at once
    halving     whether a batch that fails is asked in halves, so that only the items that fail alone are lost

    >>> batches = Batches("judge x", lambda batch: [word.upper() for word in batch], batch_size=2)
    >>> batches.results(["a", "ccc", "bb"], length=len)
    ['A', 'CCC', 'BB']
    """

    def __init__(
        self,
        who: str,
        ask: Callable[[list[T]], Sequence[R]],
        *,
        batch_size: int,
        n_at_once: int = 1,
        halving: bool = True,
    ) -> None:
        self._who, self._ask, self._batch_size = who, ask, batch_size
        self._n_at_once, self._halving = n_at_once, halving
        self._works, self._failures = False, list[StageError]()

    def results(self, items: Sequence[T], *, length: Callable[[T], int]) -> list[R | StageError]:
        """Results of the model for each item, in their order; a StageError where it failed.

        Raises   InputError where it has failed on 20 batches, and on all that it was asked so far.
        """
        order = sorted(range(len(items)), key=lambda i: -length(items[i]))
        batches = [order[start : start + self._batch_size] for start in range(0, len(order), self._batch_size)]
        with ThreadPoolExecutor(self._n_at_once) as pool:
            answers = pool.map(self._asked, [[items[i] for i in batch] for batch in batches])
            by_place = dict(zip(order, chain.from_iterable(answers), strict=True))
        return [by_place[i] for i in range(len(items))]

    def _asked(self, batch: list[T]) -> list[R | StageError]:
        self._check_hope()  # Of the batches of a pool, those that have not begun by then.
        try:
            results = list[R | StageError](self._ask(batch))
        except StageError as error:
            failure = StageError(*error.args)  # Without the traceback, which holds what the device has no memory for.
        else:
            self._works = True
            return results
        self._failures.append(failure)
        self._check_hope()
        if not self._halving or len(batch) == 1:
            return [failure] * len(batch)
        half = len(batch) // 2
        return [*self._asked(batch[:half]), *self._asked(batch[half:])]

    def _check_hope(self) -> None:
        if not self._works and (n := len(self._failures)) >= _HOPELESS:
            raise InputError(f"{self._who}: {self._failures[0]} (and no answer to any of {n} batches)")


def whole_characters(text: str) -> str:
    """The text with U+FFFD for each half of a character (a lone surrogate), which no tokenizer and no server takes.

    >>> whole_characters("a\\ud83d b")
    'a� b'
    """
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


_LONGEST_QUOTATION = 80


def quotation(text: str) -> str:
    """The beginning of a text in one line, in quotation marks.

    >>> quotation("Opening hours:\\n9 to 17.")
    '“Opening hours: 9 to 17.”'
    """
    line = " ".join(text[: 4 * _LONGEST_QUOTATION].split())
    return f"“{line}”" if len(line) <= _LONGEST_QUOTATION else f"“{line[: _LONGEST_QUOTATION - 1]}…”"


def empty_verdict(premise: str, unit: str) -> Verdict | None:
    """The verdict where one of them is blank: nothing is found in nothing; None where neither is."""
    if not premise.strip():
        return Verdict("not_found", 0.0, "the premise is empty")
    return None if unit.strip() else Verdict("not_found", 0.0, "the unit is empty")
