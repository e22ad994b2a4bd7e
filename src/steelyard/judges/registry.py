"""Which judges there are: names to classes, and `module:object` for one of the user's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar, cast

from steelyard.base.own_code import check_own, import_object
from steelyard.base.registry import Registry
from steelyard.base.settings import make_with, needed_options
from steelyard.judges.own import check_name, own_judge
from steelyard.judges.verdict import Judge

T = TypeVar("T", bound=Callable[..., Any])
_HOMES = {"embedding": "embedding", "lexical": "lexical.judge", "llm": "llm.judge", "nli": "nli"}
_judges: Registry[Callable[..., Any]] = Registry(
    "judge", group="steelyard.judges", homes={name: f"steelyard.judges.{home}" for name, home in _HOMES.items()}
)


def judge_named(name: str) -> Callable[[T], T]:
    """Register a class that makes a judge; its parameters are the settings.

    Raises   InputError when the name is taken by another class.
    """

    def decorate(maker: T) -> T:
        _judges.add(name, maker)
        return maker

    return decorate


def judge_names() -> list[str]:
    """All registered judges."""
    return _judges.names()


def judge_class(name: str) -> Callable[..., Any]:
    """The class of a registered judge.

    Raises   InputError with the nearest names.
    """
    return _judges.get(name, hint=" (your own: module:object)")


def judging_command(judge: str) -> str:
    """The command that has a judge judge, with the settings that it cannot do without.

    >>> judging_command("lexical"), judging_command("llm")
    ('steelyard judge QUESTIONS RUN --judge lexical', 'steelyard judge QUESTIONS RUN --judge llm --model gpt-4.1-mini')
    """
    options = needed_options(judge_class(judge)) if judge in judge_names() else ""
    return f"steelyard judge QUESTIONS RUN --judge {judge} {options}".rstrip()


def make_judge(judge: object, settings: Mapping[str, Any] | None = None, *, folder: Path | None = None) -> Judge:
    """A judge by registered name, as `module:object`, or of the user's own: a class, an object or a function.

    settings  of its class; and `threshold` for a function on pairs
    folder    where the module may be; None is the working folder
    Raises    InputError for an unknown name or setting, with the nearest ones, and for what can be no judge.
    """
    settings = settings or {}
    if not isinstance(judge, str):
        return check_name(own_judge(judge, settings))
    if ":" in judge:
        thing = import_object(judge, "judge", folder)
        if not callable(getattr(thing, "judge", None)):
            check_own(judge, thing, "judge", "steelyard.judges", folder)
        return check_name(own_judge(thing, settings, judge))
    return check_name(cast("Judge", make_with(judge_class(judge), settings, f"judge {judge}", are_options=True)))
