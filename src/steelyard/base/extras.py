"""Libraries that only some parts need: imported on use, and asked for by name where they are absent."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from steelyard.base.errors import MissingExtraError


def require(module: str, *, extra: str, what: str) -> Any:
    """Import a library of an extra.

    module   what is imported, e.g. "bm25s"
    extra    the extra that installs it
    what     who needs it, for the message
    Raises   MissingExtraError with the line that installs it.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not module.startswith(error.name.partition(".")[0]):
            raise
        raise MissingExtraError(
            f"{what} needs {module.partition('.')[0]}, which is not installed; try: pip install 'steelyard[{extra}]'"
        ) from None
