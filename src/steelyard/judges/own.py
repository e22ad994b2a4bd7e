"""Judges of the user's own: a class with one method, or a function, on pairs of a premise and a hypothesis."""

from __future__ import annotations

import hashlib
import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from numbers import Real
from typing import Annotated, Any, cast

from steelyard.base.errors import InputError
from steelyard.base.limits import between
from steelyard.base.own_code import source_text
from steelyard.base.settings import SettingError, check_arguments, make_with
from steelyard.judges.verdict import Case, Judge, Label, Verdict

Pair = tuple[str, str]
"""A premise and a hypothesis."""

_DIGITS = 16


class PairJudge:
    """A function on pairs as a judge.

    A result for each pair may be a Verdict, a label ("supported", "contradicted", "not_found"), a bool, or a score from
    0 to 1, which is held against the threshold; None is not judged.

    judge_pairs  takes a list of (premise, hypothesis), and gives as many results
    name         of the judge
    threshold    the score from which on a hypothesis is supported
    facts        what its verdicts depend on besides
    Raises       InputError for a threshold out of range.

    >>> judge = PairJudge(lambda pairs: [hypothesis in premise for premise, hypothesis in pairs], "within")
    >>> [[verdict.label for verdict in verdicts] for verdicts in judge.judge([Case("It is red.", ("red", "blue"))])]
    [['supported', 'not_found']]
    """

    def __init__(
        self,
        judge_pairs: Callable[[Sequence[Pair]], Iterable[Any]],
        name: str,
        *,
        threshold: Annotated[float, between(0, 1)] = 0.5,
        facts: Mapping[str, Any] | None = None,
    ) -> None:
        check_arguments(PairJudge, threshold=threshold)
        self.name, self.threshold = name, threshold
        self._judge_pairs, self._facts = judge_pairs, dict(facts or {})

    def judge(self, cases: Sequence[Case]) -> Iterator[list[Verdict]]:
        """Verdicts by the results for all pairs of the cases, which are asked at once.

        Raises   ValueError where there are not as many results as pairs; and whatever the function raises.
        """
        pairs = [(case.premise, hypothesis) for case in cases for hypothesis in case.hypotheses]
        results = list(self._judge_pairs(pairs))
        if len(results) != len(pairs):
            raise ValueError(f"it gave {len(results)} results for {len(pairs)} pairs")
        remaining = iter(results)
        for case in cases:
            yield [self._verdict(next(remaining)) for _ in case.hypotheses]

    def recipe(self) -> Mapping[str, Any]:
        """The threshold, where it is from, and a digest of its source."""
        return {"threshold": self.threshold, **self._facts}

    def _verdict(self, result: Any) -> Verdict:
        """What a result says; what cannot be read is left to whoever checks verdicts."""
        if isinstance(result, Verdict):
            return result
        if result is None:
            return Verdict("not_judged", None, "gave None")
        if isinstance(result, str):
            return Verdict(cast("Label", re.sub(r"[\s-]+", "_", result.strip().lower())))
        if isinstance(result, bool) or type(result).__name__ in ("bool", "bool_"):
            return Verdict("supported" if result else "not_found", float(result))
        if isinstance(result, Real) or hasattr(result, "item"):
            score = float(result)
            return Verdict("supported" if score >= self.threshold else "not_found", score)
        return cast("Verdict", result)


def own_judge(thing: Any, settings: Mapping[str, Any], name: str = "") -> Judge:
    """A judge from a class, an object or a function of the user's own.

    thing     a judge that takes cases, with `name`, `judge` and `recipe` (`steelyard.judges.verdict.Judge`); a class or
              object whose method `judge` takes pairs; or a function that does
    settings  of the class; and `threshold` of what takes pairs, unless the class has one of its own
    name      as the user wrote it; by default its own
    Raises    InputError where it can be none, or does not take the settings.
    """
    called = name or _own_name(thing)
    settings = dict(settings)
    threshold = {} if _takes(thing, "threshold") else {k: settings.pop(k) for k in ("threshold",) if k in settings}
    if isinstance(thing, type):
        thing = make_with(thing, settings, f"judge {called}")
    elif settings:
        raise InputError(f"judge {called}: takes no settings ({', '.join(settings)}), as it is no class")
    if all(hasattr(thing, part) for part in ("name", "judge", "recipe")):
        return cast("Judge", thing)
    judge_pairs = getattr(thing, "judge", thing)
    if not callable(judge_pairs) or inspect.iscoroutinefunction(judge_pairs):
        was = "is async" if callable(judge_pairs) else f"is {type(thing).__name__}"
        raise InputError(
            f"judge {called}: {was}; expected a function that takes a list of (premise, hypothesis) and gives as many "
            "verdicts, or a class with such a method `judge`"
        )
    try:
        return PairJudge(judge_pairs, file_name(called), facts=_facts(thing), **threshold)
    except SettingError as error:
        raise error.inside(owner=f"judge {called}") from None


def _takes(thing: Any, setting: str) -> bool:
    """Whether a class has a setting of this name."""
    try:
        return isinstance(thing, type) and setting in inspect.signature(thing).parameters
    except ValueError:
        return False


def _own_name(thing: Any) -> str:
    return str(getattr(thing, "name", None) or getattr(thing, "__qualname__", type(thing).__qualname__))


def file_name(called: str) -> str:
    """The name of a judge as a file can have it: the last part of `module:object`.

    >>> file_name("mine.judges:by_words"), file_name("llm")
    ('by_words', 'llm')
    """
    return re.sub(r"[^\w.-]+", "", called.rpartition(":")[2].rpartition(".")[2]) or "own"


def _facts(thing: Any) -> dict[str, Any]:
    """Where code is from, and a digest of its module, so that verdicts of an edited one are those of another."""
    code = thing if hasattr(thing, "__qualname__") else type(thing)
    module = getattr(code, "__module__", "") or ""
    source = source_text(module)
    facts = {"object": f"{module}:{code.__qualname__}"}
    if source is not None:
        facts["source"] = hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
    return facts
