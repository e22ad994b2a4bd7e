"""Judges by name, and judges of the user's own: a class with one method, or a function, on pairs of texts."""

from __future__ import annotations

import hashlib
import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from numbers import Real
from typing import Annotated, Any, cast

from steelyard.base.errors import InputError, quoted
from steelyard.base.limits import between
from steelyard.base.own_code import check_own, import_object, own_code, source_text
from steelyard.base.registry import Registry
from steelyard.base.settings import SettingError, check_arguments, make_with, needed_options
from steelyard.judges.asking import listable
from steelyard.judges.verdict import Case, Judge, Label, Verdict

TextPair = tuple[str, str]
"""A premise and a hypothesis."""

_DIGITS = 16
_LONGEST_NAME = 60


class PairJudge:
    """A function on pairs as a judge.

    A result for each pair may be a Verdict, a label ("supported", "contradicted", "not_found"), a bool, or a score from
    0 to 1, which is held against the threshold; None is not judged.

    judge_pairs  takes a list of (premise, hypothesis), and gives as many results
    name         of the judge
    threshold    the score from which on a hypothesis is supported
    facts        what its verdicts depend on besides
    Raises       InputError for a threshold out of range, and for a function that cannot be called with one list.

    >>> judge = PairJudge(lambda pairs: [hypothesis in premise for premise, hypothesis in pairs], "within")
    >>> [[verdict.label for verdict in verdicts] for verdicts in judge.judge([Case("It is red.", ("red", "blue"))])]
    [['supported', 'not_found']]
    """

    def __init__(
        self,
        judge_pairs: Callable[[Sequence[TextPair]], Iterable[Any]],
        name: str,
        *,
        threshold: Annotated[float, between(0, 1)] = 0.5,
        facts: Mapping[str, Any] | None = None,
    ) -> None:
        check_arguments(PairJudge, threshold=threshold)
        _check_takes_pairs(judge_pairs, name)
        self.name, self.threshold = name, threshold
        self._judge_pairs, self._facts = judge_pairs, dict(facts or {})

    def judge(self, cases: Sequence[Case]) -> Iterator[list[Verdict]]:
        """Verdicts by the results for all pairs of the cases, which are asked at once.

        Raises   ValueError where there are not as many results as pairs; and whatever the function raises.
        """
        pairs = [(case.premise, hypothesis) for case in cases for hypothesis in case.led_hypotheses]
        results = list(islice(listable(self._judge_pairs(pairs)), len(pairs) + 1))
        if len(results) != len(pairs):
            n_given = f"more than {len(pairs)}" if len(results) > len(pairs) else f"{len(results)}"
            raise ValueError(f"it gave {n_given} results for {len(pairs)} pairs")
        remaining = iter(results)
        for case in cases:
            yield [self._verdict(next(remaining)) for _ in case.hypotheses]

    def recipe(self) -> Mapping[str, Any]:
        """The threshold, where it is from, and a digest of its source."""
        return {"threshold": self.threshold, **self._facts}

    def _verdict(self, result: Any) -> Verdict:
        """Verdict of a result; one that cannot be read is left to the check of verdicts."""
        if isinstance(result, Verdict):
            return result
        if result is None:
            return Verdict("not_judged", None, "gave None")
        if isinstance(result, str):
            return Verdict(cast("Label", re.sub(r"[\s-]+", "_", result.strip().lower())))
        if isinstance(result, bool) or type(result).__name__ in ("bool", "bool_"):
            return Verdict("supported" if result else "not_found", float(result))
        if isinstance(result, Real) or hasattr(result, "item"):
            with suppress(Exception):  # No number after all, or one without end.
                score = float(result)
                return Verdict("supported" if score >= self.threshold else "not_found", score)
        return cast("Verdict", result)


def _check_takes_pairs(judge_pairs: Callable[..., Any], name: str) -> None:
    """Raise   InputError for what takes another number of arguments than one."""
    try:
        signature = inspect.signature(judge_pairs)
    except ValueError:  # Some functions of C have none.
        return
    try:
        signature.bind([])
    except TypeError:
        raise InputError(
            f"judge {name}: takes {signature}; expected one argument, a list of pairs (premise, hypothesis)"
        ) from None


def own_judge(thing: Any, settings: Mapping[str, Any], name: str = "") -> Judge:
    """A judge from a class, an object or a function of the user's own.

    thing     a judge that takes cases, with `name`, `judge` and `recipe` (`steelyard.judges.verdict.Judge`); a class or
              object whose method `judge` takes pairs; or a function that does
    settings  of the class; and `threshold` of what takes pairs, unless the class has one of its own
    name      as the user wrote it; by default its own
    Raises    InputError where it can be none, or does not take the settings.
    """
    qualified = getattr(thing, "__qualname__", type(thing).__qualname__)
    called = name or str(getattr(thing, "name", None) or qualified.rpartition(".")[2])
    settings = dict(settings)
    threshold = {} if _takes(thing, "threshold") else {k: settings.pop(k) for k in ("threshold",) if k in settings}
    if isinstance(thing, type):
        with own_code(f"judge {called}"):
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
        return PairJudge(judge_pairs, last_name(called), facts=_facts(thing), **threshold)
    except SettingError as error:
        raise error.inside(owner=f"judge {called}") from None


def _takes(thing: Any, setting: str) -> bool:
    """True for a class with a setting of this name."""
    try:
        return isinstance(thing, type) and setting in inspect.signature(thing).parameters
    except ValueError:
        return False


def last_name(called: str) -> str:
    """The last part of `module:object`, or all of a name that is none.

    >>> last_name("mine.judges:by_words"), last_name("mine:Words.judge"), last_name("words-1.2")
    ('by_words', 'judge', 'words-1.2')
    """
    _, colon, path = called.rpartition(":")
    return path.rpartition(".")[2] if colon else called


def file_name(name: str) -> str:
    """The name of a judge as a file can have it, as it is in most cases.

    >>> file_name("llm"), file_name("words-1.2"), file_name("../people/"), file_name("<>")
    ('llm', 'words-1.2', 'people', 'own')
    """
    return re.sub(r"[^\w.-]+", "", name).strip(".") or "own"


def check_name(judge: Judge) -> Judge:
    """The judge, whose name can stand in tables and files.

    Raises   InputError for another name.
    """
    name = judge.name
    if not isinstance(name, str) or not 0 < len(name) <= _LONGEST_NAME or not name.isprintable():
        raise InputError(
            f"judge: its name is {quoted(name)}; expected a text of 1 to {_LONGEST_NAME} characters that can be printed"
        )
    return judge


def _facts(thing: Any) -> dict[str, Any]:
    """Source of code, with a digest of its module, so that verdicts of an edited one are those of another."""
    code = thing if hasattr(thing, "__qualname__") else type(thing)
    module = getattr(code, "__module__", "") or ""
    source = source_text(module)
    facts = {"object": f"{module}:{code.__qualname__}"}
    if source is not None:
        facts["source"] = hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
    return facts


OWN_HINT = " (your own: module:object)"
_HOMES = {"embedding": "embedding", "lexical": "lexical.judge", "llm": "llm.judge", "nli": "nli"}
JUDGES: Registry[Callable[..., Any]] = Registry(
    "judge",
    hint=OWN_HINT,
    group="steelyard.judges",
    homes={name: f"steelyard.judges.{home}" for name, home in _HOMES.items()},
)


judge_named = JUDGES.register
"""Registers a class that makes a judge; its parameters are the settings."""


def judging_command(judge: str) -> str:
    """The command that has a judge judge, with the settings that it cannot do without.

    >>> judging_command("lexical"), judging_command("llm")
    ('steelyard judge QUESTIONS RUN --judge lexical', 'steelyard judge QUESTIONS RUN --judge llm --model gpt-4.1-mini')
    """
    options = needed_options(JUDGES.get(judge)) if judge in JUDGES.names() else ""
    return f"steelyard judge QUESTIONS RUN --judge {judge} {options}".rstrip()


def make_judge(judge: object, settings: Mapping[str, Any] | None = None) -> Judge:
    """A judge by registered name, as `module:object`, or of the user's own: a class, an object or a function.

    settings  of its class; and `threshold` for a function on pairs
    Raises    InputError for an unknown name or setting, with the nearest ones, and for what can be no judge.
    """
    settings = settings or {}
    if not isinstance(judge, str):
        return check_name(own_judge(judge, settings))
    if ":" in judge:
        thing = import_object(judge, "judge")
        if not callable(getattr(thing, "judge", None)):
            check_own(judge, thing, "judge", "steelyard.judges")
        return check_name(own_judge(thing, settings, judge))
    return check_name(cast("Judge", make_with(JUDGES.get(judge), settings, f"judge {judge}", are_options=True)))
