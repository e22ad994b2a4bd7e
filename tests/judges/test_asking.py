"""Judges that raise, give nonsense, or too few or too many results."""

import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from itertools import repeat
from typing import Any

import numpy as np
import pytest

from steelyard.base.errors import InputError, StageError
from steelyard.judges.asking import Asking
from steelyard.judges.verdict import Case, Verdict
from tests.judges.fakes import Scripted, Within


class Mute:
    """Fails to say what it is."""

    def __repr__(self) -> str:
        raise RuntimeError("no words")


YES = Verdict("supported", 1.0)
CASES = [Case(f"premise {n}", ("a", "b")) for n in range(9)]


def _raising_on(bad: Case, after: int = 0) -> Scripted:
    """A judge that raises where a case is among those it is asked; a generator, once it comes to it."""

    def whole(cases: Sequence[Case]) -> list[list[Verdict]]:
        if bad in cases:
            raise RuntimeError("out of memory\nat line 3")
        return [[YES, YES] for _ in cases]

    def lazy(cases: Sequence[Case]) -> Iterator[list[Verdict]]:
        for case in cases:
            if case == bad:
                raise RuntimeError("out of memory\nat line 3")
            yield [YES, YES]

    return Scripted(lazy if after else whole)


def test_equal_cases_are_asked_once() -> None:
    judge = Within()
    verdicts = Asking(judge).verdicts([Case("It is red.", ("It is red.",)), Case("It is red.", ("It is red.",))])
    assert len(judge.cases) == len(verdicts) == 1


def test_nothing_to_ask_asks_nothing() -> None:
    judge = Within()
    assert Asking(judge).verdicts([]) == {}
    assert judge.cases == []


@pytest.mark.parametrize("after", [0, 1])
@pytest.mark.parametrize("place", [0, 4, 8])
def test_only_the_case_on_which_a_judge_raises_is_not_judged(place: int, after: int) -> None:
    asking = Asking(_raising_on(CASES[place], after))
    verdicts = asking.verdicts(CASES)
    lost = Verdict("not_judged", None, "raised RuntimeError: out of memory")
    assert verdicts == {case: [lost, lost] if case == CASES[place] else [YES, YES] for case in CASES}
    assert list(verdicts) == CASES
    assert asking.errors == {"raised": 1}


def test_a_judge_that_leaves_out_one_case_loses_that_one() -> None:
    """What comes back cannot be told apart by place, so none of it is believed."""
    asking = Asking(Scripted(lambda cases: [[YES, YES] for case in cases if case != CASES[2]]))
    verdicts = asking.verdicts(CASES)
    lost = [case for case in CASES if verdicts[case][0].label == "not_judged"]
    assert lost == [CASES[2]]
    assert verdicts[CASES[2]][0].reason == "gave 0 results, not 1"
    assert asking.errors == {"wrong_count": 1}


def test_a_judge_that_gives_too_many_results_for_several_cases_is_asked_one_by_one() -> None:
    asking = Asking(Scripted(lambda cases: [[YES, YES]] * (len(cases) + (len(cases) > 1))))
    assert set(map(tuple, asking.verdicts(CASES).values())) == {(YES, YES)}


def test_a_judge_that_decides_nothing_at_all_is_refused() -> None:
    undecided = Verdict("not_judged", None, "gave None")
    asking = Asking(Scripted(lambda cases: [[undecided, undecided]] * len(cases)))
    asking.verdicts(CASES)
    with pytest.raises(InputError, match=rf"gave None, on each of {len(CASES)} cases"):
        asking.refuse_failure()
    some = Asking(Scripted(lambda cases: [[YES if case == cases[-1] else undecided, undecided] for case in cases]))
    some.verdicts(CASES)
    some.refuse_failure()


_NONSENSE: dict[str, tuple[Any, str]] = {
    "too few": ([YES], "gave 1 verdicts, not 2"),
    "too many": ([YES] * 3, "gave 3 verdicts, not 2"),
    "a text": ("supported", "gave 'supported', not 2 verdicts"),
    "nothing": (None, "gave None, not 2 verdicts"),
    "a bool": ([True, YES], "gave True, no verdict"),
    "an unknown label": ([Verdict("yes"), YES], "gave 'yes', none of supported, contradicted"),  # type: ignore[arg-type]
    "NaN": ([Verdict("supported", float("nan")), YES], "gave the score nan, not from 0 to 1"),
    "beyond 1": ([Verdict("supported", 1.5), YES], "gave the score 1.5, not from 0 to 1"),
    "below 0": ([Verdict("supported", -0.1), YES], "gave the score -0.1, not from 0 to 1"),
    "a score in words": ([Verdict("supported", "0.5"), YES], "gave the score '0.5', not from 0 to 1"),  # type: ignore[arg-type]
    "a complex score": ([Verdict("supported", 1j), YES], "gave the score 1j, not from 0 to 1"),  # type: ignore[arg-type]
    "a list of labels": ([Verdict(["supported"]), YES], r"gave ['supported'], none of"),  # type: ignore[arg-type]
    "no label": ([Verdict(None), YES], "gave None, none of"),  # type: ignore[arg-type]
    "no reason": ([Verdict("supported", 1.0, None), YES], "gave None, no reason"),  # type: ignore[arg-type]
    "what cannot be shown": ([Mute(), YES], "gave <Mute>, no verdict"),
    "a row without end": (repeat(YES), "gave repeat(Verdict(label='supported', score=1.0, "),
}


@pytest.mark.parametrize("name", _NONSENSE)
def test_nonsense_is_not_judged_and_says_why(name: str) -> None:
    answer, reason = _NONSENSE[name]
    good, bad = CASES[:2]
    asking = Asking(Scripted(lambda cases: [answer if case == bad else [YES, YES] for case in cases]))
    verdicts = asking.verdicts([good, bad])
    assert verdicts[good] == [YES, YES]
    assert verdicts[bad][0].label == "not_judged"
    assert verdicts[bad][0].reason.startswith(reason)
    assert sum(asking.errors.values()) == 1


def test_scores_are_floats_whatever_numbers_they_were() -> None:
    given = [Verdict("supported", np.float32(0.5)), Verdict("supported", True)]  # type: ignore[arg-type]
    verdicts = Asking(Scripted(lambda cases: [given])).verdicts(CASES[:1])[CASES[0]]
    assert [(type(verdict.score), verdict.score) for verdict in verdicts] == [(float, 0.5), (float, 1.0)]


def test_a_reason_without_end_is_cut() -> None:
    asking = Asking(Scripted(lambda cases: [[Verdict("supported", 1.0, "x" * 1_000_000), YES]]))
    assert len(asking.verdicts(CASES[:1])[CASES[0]][0].reason) == 10_000


def test_half_characters_of_a_reason_are_replaced() -> None:
    asking = Asking(Scripted(lambda cases: [[Verdict("supported", 1.0, "a\ud800"), YES]]))
    assert asking.verdicts(CASES[:1])[CASES[0]][0].reason == "a\ufffd"


def test_a_judge_that_fails_on_all_is_given_up() -> None:
    def fail(cases: Sequence[Case]) -> Any:
        raise RuntimeError("no such device")

    judge = Scripted(fail)
    many = [Case(str(n), ("a",)) for n in range(1000)]
    with pytest.raises(InputError, match="judge scripted: raised RuntimeError: no such device, on each of 20 cases"):
        Asking(judge).verdicts(many)
    assert len(judge.cases) < 4000


def test_a_judge_of_whose_verdicts_none_can_be_read_is_given_up() -> None:
    asking = Asking(Scripted(lambda cases: [[Verdict("supported", float("nan"))] * 2 for _ in cases]))
    verdicts = asking.verdicts(CASES)
    assert {verdict.label for row in verdicts.values() for verdict in row} == {"not_judged"}
    with pytest.raises(InputError, match="judge scripted: gave the score nan, not from 0 to 1, on each of 9 cases"):
        asking.refuse_failure()


def test_one_verdict_that_can_be_read_is_hope() -> None:
    asking = Asking(Scripted(lambda cases: [[Verdict("supported", float("nan")), YES] for _ in cases]))
    assert len(asking.verdicts([Case(str(n), ("a", "b")) for n in range(50)])) == 50
    asking.refuse_failure()


async def _later(cases: Sequence[Case]) -> list[list[Verdict]]:
    return [[YES, YES] for _ in cases]


async def _one_by_one(cases: Sequence[Case]) -> AsyncIterator[list[Verdict]]:
    for _ in cases:
        yield [YES, YES]


def _exit(cases: Sequence[Case]) -> Any:
    sys.exit(0)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("answer", "cause"),
    [
        (_exit, "raised SystemExit: 0"),
        (_later, "raised TypeError: it is async"),
        (_one_by_one, "raised TypeError: it is async"),
        (lambda cases: None, "raised TypeError: 'NoneType' object is not iterable"),
        (lambda cases: repeat([YES, YES]), "gave more than 1 results, not 1"),
    ],
)
def test_a_judge_that_exits_or_is_async_or_never_ends_is_given_up(answer: Any, cause: str) -> None:
    with pytest.raises(InputError, match=f"judge scripted: {cause}.*, on each of 20 cases; mend it"):
        Asking(Scripted(answer)).verdicts([Case(str(n), ("a", "b")) for n in range(30)])


@pytest.mark.parametrize("error", [InputError("no such model; choose another"), StageError("the key is refused")])
def test_our_own_errors_end_it(error: Exception) -> None:
    def refuse(cases: Sequence[Case]) -> Any:
        raise error

    with pytest.raises(type(error), match=str(error)):
        Asking(Scripted(refuse)).verdicts(CASES)


def test_ctrl_c_ends_it() -> None:
    def interrupt(cases: Sequence[Case]) -> Any:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Asking(Scripted(interrupt)).verdicts(CASES)


def test_progress_reaches_the_number_of_cases() -> None:
    reports: list[int] = []
    Asking(_raising_on(CASES[3])).verdicts(CASES, reports.append)
    assert reports[-1] == len(CASES)
    assert reports == sorted(reports)
