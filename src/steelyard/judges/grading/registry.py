"""Which judges of relevance there are: names to classes, and functions of the user's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from steelyard.base.own_code import check_own, import_object
from steelyard.base.registry import Registry
from steelyard.base.settings import make_with
from steelyard.judges.grading.grader import Grader
from steelyard.judges.grading.own import own_grader

T = TypeVar("T", bound=Callable[..., Any])
_HOMES = {"lexical": "lexical", "llm": "llm"}
_graders: Registry[Callable[..., Any]] = Registry(
    "judge of relevance", homes={name: f"steelyard.judges.grading.{home}" for name, home in _HOMES.items()}
)


def grader_named(name: str) -> Callable[[T], T]:
    """Register a class that makes a judge of relevance; its parameters are the settings.

    Raises   InputError when the name is taken by another class.
    """

    def decorate(maker: T) -> T:
        _graders.add(name, maker)
        return maker

    return decorate


def grader_class(name: str) -> Callable[..., Any]:
    """The class of a registered judge of relevance.

    Raises   InputError with the nearest names.
    """
    return _graders.get(name, hint=" (your own: module:object)")


def grader_names() -> list[str]:
    """All registered judges of relevance."""
    return _graders.names()


def make_grader(judge: object, settings: Mapping[str, Any]) -> Grader:
    """A judge of relevance by name, as `module:object`, or a function of the user's own on pairs.

    Raises   InputError for an unknown name or setting, and for what can be no judge.
    """
    if isinstance(judge, str) and ":" not in judge:
        grader: Grader = make_with(grader_class(judge), settings, f"judge {judge}", are_options=True)
        return grader
    if not isinstance(judge, str):
        return own_grader(judge, settings, judge)
    thing = import_object(judge, "judge")
    if not callable(getattr(thing, "grade", None)):
        check_own(judge, thing, "judge", "steelyard.judges")
    return own_grader(thing, settings, judge)
