"""Asking a judge, or its model, many things: in batches, until it is hopeless; what it fails to say is not judged."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, islice
from typing import Any, Generic, TypeVar, get_args

import numpy as np

from steelyard.base.errors import InputError, StageError, SteelyardError, exception_line, quoted
from steelyard.judges.verdict import Case, Judge, Label, Verdict

T = TypeVar("T")
R = TypeVar("R")

_BLOCK = 2_000_000
_HOPELESS_BATCHES = 20


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
        if not self._works and (n := len(self._failures)) >= _HOPELESS_BATCHES:
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


_LABELS = frozenset(get_args(Label))
_LONGEST_REASON = 10_000
_HOPELESS = 20
"""Cases on which a judge fails, with no verdict by then, after which no more are asked."""


def listable(results: Any) -> Any:
    """Results of a judge, as they may be gone through.

    Raises   TypeError for what would have to be awaited.
    """
    if inspect.isawaitable(results) or hasattr(results, "__aiter__"):
        if inspect.iscoroutine(results):
            results.close()  # Nobody will await it, of which Python would warn.
        raise TypeError("it is async; expected results, not something to await")
    return results


class Asking:
    """Asks one judge, case by case.

    errors   what it did wrong, by kind, such as "raised": how many cases, or verdicts
    grades   whether its scores of nuggets are their credit
    """

    def __init__(self, judge: Judge) -> None:
        self._judge, self.grades = judge, bool(getattr(judge, "grades", False))
        self._knows_failure = callable(getattr(judge, "refuse_failure", None))
        self.errors: Counter[str] = Counter()
        self._n_judged, self._n_failed, self._cause = 0, 0, ""

    def verdicts(
        self, cases: Sequence[Case], report: Callable[[int], object] = lambda n: None
    ) -> dict[Case, Sequence[Verdict]]:
        """One verdict a hypothesis of each case; equal cases are asked once.

        A judge that raises, or gives results of another number than there are cases, is asked again with half of them,
        until it is known which cases it fails on.
        report   called with the number of cases that are done, now and then
        Raises   InputError where the judge fails on all of the first cases; and what the judge raises of our own
                 errors, such as for a key that is refused.
        """
        distinct = list(dict.fromkeys(cases))
        results: list[Sequence[Verdict]] = []
        batches = [distinct] if distinct else []
        while batches:
            batch = batches.pop()
            answers, cause = self._ask(batch, report, len(results))
            results += [self._checked(case, answer) for case, answer in zip(batch, answers, strict=False)]
            rest = batch[len(answers) :]
            if rest and len(batch) == 1:
                results.append(self._failed(rest[0], cause))
            elif rest:
                middle = len(rest) // 2 if not answers else 0
                batches += [part for part in (rest[middle:], rest[:middle]) if part]
        report(len(results))
        return dict(zip(distinct, results, strict=True))

    def _ask(self, cases: Sequence[Case], report: Callable[[int], object], n_done: int) -> tuple[Sequence[Any], str]:
        """Answers of the judge to the first of some cases, to all as a rule, and the cause where others have none."""
        answers: list[Any] = []
        try:
            for answer in islice(listable(self._judge.judge(cases)), len(cases) + 1):
                answers.append(answer)
                report(n_done + len(answers))
        except (SteelyardError, KeyboardInterrupt):
            raise
        except BaseException as error:  # Whatever a judge of the user's own raises, an exit among it.
            return answers[: len(cases)], f"raised {exception_line(error)}"
        if len(answers) != len(cases):
            n_given = f"more than {len(cases)}" if len(answers) > len(cases) else f"{len(answers)}"
            return [], f"gave {n_given} results, not {len(cases)}"
        return answers, ""

    def _failed(self, case: Case, cause: str) -> Sequence[Verdict]:
        self.errors["raised" if cause.startswith("raised") else "wrong_count"] += 1
        self._lose_hope(cause)
        return [Verdict("not_judged", None, cause)] * len(case.hypotheses)

    def _lose_hope(self, cause: str) -> None:
        self._n_failed += 1
        self._cause = cause
        if self._n_failed >= _HOPELESS:
            self.refuse_failure()

    def refuse_failure(self) -> None:
        """Raise   InputError where the judge has failed on all that it was asked by now, or its own error for that."""
        if self._knows_failure:
            self._judge.refuse_failure()  # type: ignore[attr-defined]
        if self._n_failed and not self._n_judged:
            cases = f"each of {self._n_failed} cases" if self._n_failed > 1 else "the one case"
            raise InputError(f"judge {self._judge.name}: {self._cause or 'not judged'}, on {cases}; mend it")

    def _checked(self, case: Case, answer: Any) -> Sequence[Verdict]:
        """The verdicts on a case, those that are none replaced."""
        n = len(case.hypotheses)
        if isinstance(answer, str) or not isinstance(answer, Sequence) or len(answer) != n:
            is_list = isinstance(answer, list | tuple)
            gave = f"{len(answer)} verdicts, not {n}" if is_list else f"{quoted(answer)}, not {n} verdicts"
            return self._failed(case, f"gave {gave}")
        n_before = self.errors["no_verdict"]
        verdicts = [self._checked_verdict(verdict) for verdict in answer]
        if n and self.errors["no_verdict"] - n_before == n:
            self._lose_hope(verdicts[0].reason)
        elif self._knows_failure or any(verdict.label != "not_judged" for verdict in verdicts):
            self._n_judged += 1
        elif n:  # It may decide others.
            self._n_failed, self._cause = self._n_failed + 1, verdicts[0].reason
        return verdicts

    def _checked_verdict(self, verdict: Any) -> Verdict:
        """A verdict as it may be kept."""
        if not isinstance(verdict, Verdict):
            return self._no_verdict(f"gave {quoted(verdict)}, no verdict")
        wrong = _wrong_field(verdict.label, verdict.score, verdict.reason)
        if wrong:
            return self._no_verdict(f"gave {wrong}")
        score, reason = verdict.score, verdict.reason
        if reason.isascii() and len(reason) <= _LONGEST_REASON and (score is None or type(score) is float):
            return verdict
        return Verdict(
            verdict.label, None if score is None else float(score), whole_characters(reason[:_LONGEST_REASON])
        )

    def _no_verdict(self, cause: str) -> Verdict:
        self.errors["no_verdict"] += 1
        return Verdict("not_judged", None, cause)


def _wrong_field(label: Any, score: Any, reason: Any) -> str:
    """Part of a verdict that cannot be kept, in words; empty where all can."""
    if not isinstance(label, str) or label not in _LABELS:
        return f"{quoted(label)}, none of {', '.join(get_args(Label))}"
    if score is not None and not (isinstance(score, int | float | np.number) and 0 <= score <= 1):
        return f"the score {quoted(score)}, not from 0 to 1"
    return "" if isinstance(reason, str) else f"{quoted(reason)}, no reason"
