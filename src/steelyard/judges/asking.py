"""Asking a judge, whatever it does: what it says wrongly, or fails to say, is not judged, with the cause."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any, get_args

import numpy as np

from steelyard.base.errors import InputError, SteelyardError, exception_line, quoted
from steelyard.judges.batches import whole_characters
from steelyard.judges.verdict import Case, Judge, Label, Verdict

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
