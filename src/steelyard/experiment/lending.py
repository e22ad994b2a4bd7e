"""A judge for the time that it is needed: made with its settings and files, and closed afterwards."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Protocol, TypeVar

from steelyard.base.own_code import own_code
from steelyard.base.own_paths import own_file
from steelyard.base.progress import Progress
from steelyard.judges.registry import judge_class, make_judge
from steelyard.judges.verdict import Judge
from steelyard.services.cache import CACHE_NAME


class _Named(Protocol):
    name: str


T = TypeVar("T", bound=_Named)


def model_files(file: Path) -> Mapping[str, Path]:
    """Where a model's answers are kept, and its calls logged, by setting: beside a file that is written."""
    return {"cache": own_file(file.parent, CACHE_NAME), "log": own_file(file.parent, f"{file.stem}.calls.jsonl")}


def kept(files: Mapping[str, Path]) -> Mapping[str, Path]:
    """Those that are there, for whoever only looks: a cache that is opened is made where it is absent."""
    return {name: file for name, file in files.items() if file.exists()}


def lent(
    judge: object, settings: Mapping[str, Any], files: Mapping[str, Path], progress: Progress
) -> AbstractContextManager[Judge]:
    """The judge of a name, or of the user's own, as `lent_by` gives it."""
    return lent_by(judge_class, make_judge, judge, settings, files=files, progress=progress)


@contextmanager
def lent_by(
    class_of: Callable[[str], Callable[..., Any]],
    make: Callable[[object, Mapping[str, Any]], T],
    judge: object,
    settings: Mapping[str, Any],
    *,
    files: Mapping[str, Path],
    progress: Progress,
) -> Iterator[T]:
    """A judge, closed afterwards where it was made here.

    class_of   the class of a name;   make   makes the judge of a name, or of the user's own, with settings
    files      of a judge that asks a model, by setting, unless the settings name others
    """
    values = dict(settings)
    if isinstance(judge, str) and ":" not in judge:
        parameters = inspect.signature(class_of(judge)).parameters
        if "progress" in parameters:
            values.setdefault("progress", progress)
        for name, file in files.items():
            if name in parameters:
                values.setdefault(name, str(file))
    own_judge = make(judge, values)
    try:
        yield own_judge
    finally:
        close = getattr(own_judge, "close", None)
        if own_judge is not judge and callable(close):
            with own_code(f"judge {own_judge.name}, closed"):
                close()
