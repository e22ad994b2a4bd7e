"""Models of sentence-transformers, by the name of a folder or of a model on the Hugging Face hub."""

from __future__ import annotations

import errno
import hashlib
import logging
import os
import re
import socket
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

import numpy as np

from steelyard.base.errors import InputError, StageError, exception_line
from steelyard.base.extras import require
from steelyard.base.limits import NotEmpty, Words
from steelyard.base.settings import SettingError
from steelyard.services.addresses import shown
from steelyard.services.http.replies import proxy_of, unanswered

ModelName = Annotated[str, NotEmpty(), Words("a folder or a name on the Hugging Face hub")]
"""A folder, or a name on the hub, looked for on this machine first; a name with a dot or slash in front, with a
backslash or with several slashes, or whose parent folder is there, can only be a folder."""

_HUB = "https://huggingface.co"
_HUB_NAME = re.compile(r"(?!.*(?:--|\.\.|\.git$))(?:\w(?:[\w.-]{0,94}\w)?/)?\w(?:[\w.-]{0,94}\w)?", re.ASCII)
_REACH_S = 5.0
_LIBRARIES = ("huggingface_hub", "sentence_transformers", "transformers")
_LOADING = threading.Lock()
_WHOLE = 1 << 20
_SAMPLE = 1 << 16


def check_model(who: str, model: str) -> None:
    """Refuse, before anything is computed, a model that cannot be had.

    who      who needs it, for the message
    Raises   SettingError for a folder that is not there, and for what can be no name on the hub; MissingExtraError
             without the library.
    """
    if _is_folder(model) and not _folder(model).is_dir():
        raise SettingError(
            f"{model}: the model folder is not there (looked at {_folder(model).absolute()}); "
            "check the path, or give a name on the Hugging Face hub as owner/name",
            "model",
        )
    if not _is_folder(model) and _HUB_NAME.fullmatch(model) is None:
        raise SettingError(
            f"{model!r} is no folder, and can be no name on the Hugging Face hub; expected owner/name, of letters, "
            "digits, - _ and single dots",
            "model",
        )
    if find_spec("sentence_transformers") is None:
        require("sentence_transformers", extra="models", what=who)


def load_model(kind: str, model: str, *, who: str, **options: Any) -> Any:
    """A model from its folder, else from what was downloaded before, else from the hub.

    kind     a class of sentence-transformers, such as "CrossEncoder"
    who      who needs it, for the message
    options  of the class
    Raises   MissingExtraError without the library; InputError where the model cannot be loaded.
    """
    make = getattr(require("sentence_transformers", extra="models", what=who), kind)
    with _LOADING, _quiet():
        return _load(make, model, **options)


def _load(make: Callable[..., Any], model: str, **options: Any) -> Any:
    folder = _is_folder(model)
    name = str(_folder(model)) if folder else model
    try:
        return make(name, local_files_only=True, **options)
    except Exception as error:
        if folder:
            raise _unloadable(model, error, "expected a folder that sentence-transformers can load") from error
        missing = "it is not, or not whole, on this machine"
        if not isinstance(error, OSError):  # Whatever it lacks, it is not a file.
            missing = exception_line(error)
        if (variable := _offline()) is not None:
            hint = f"unset {variable} to download it, or give a folder"
            raise _unloadable(model, f"{missing}, and {variable} is set", hint) from error
        if (failure := _hub_failure()) is not None:
            hint = "check its name and the network, or give a folder"
            raise _unloadable(model, f"{missing}, and {failure}", hint) from error
    try:
        return make(name, **options)
    except Exception as error:
        hint = "it is not on this machine; check its name and the network, or give a folder"
        raise _unloadable(model, error, hint) from error


def _hub_failure() -> str | None:
    """Why the hub cannot be reached; None where it, or the proxy before it, takes a connection.

    The library finds that out too, but asks six times first, and writes about it.
    """
    hub = os.environ.get("HF_ENDPOINT") or _HUB
    address = urlsplit(proxy_of(hub) or hub)
    failures: list[Exception | None] = []

    def connect() -> None:
        try:
            port = address.port or (443 if address.scheme == "https" else 80)
            socket.create_connection((address.hostname or "", port), timeout=_REACH_S).close()
            failures.append(None)
        except (OSError, ValueError) as error:
            failures.append(error)

    thread = threading.Thread(target=connect, daemon=True)  # As a look-up of a name knows no time limit.
    thread.start()
    thread.join(_REACH_S)
    failure = failures[0] if failures else TimeoutError(errno.ETIMEDOUT, "")
    return None if failure is None else f"{shown(hub)} {unanswered(failure, proxy_of(hub)).fact}"


def identity_of(model: str) -> str:
    """The identity of a model: for a folder a digest of its files, else the name.

    Files up to 1 MiB count whole; of greater ones the size and three samples, so that this stays cheap.
    """
    folder = _folder(model)
    if not folder.is_dir():
        return model
    digest = hashlib.sha256()
    for path in sorted(p for p in folder.rglob("*") if p.is_file() and not _hidden(p.relative_to(folder))):
        size = path.stat().st_size
        digest.update(f"{path.relative_to(folder).as_posix()}\0{size}\0".encode())
        with path.open("rb") as file:
            if size <= _WHOLE:
                digest.update(file.read())
            else:
                for at in (0, size // 2, size - _SAMPLE):
                    file.seek(at)
                    digest.update(file.read(_SAMPLE))
    return digest.hexdigest()


def name_of(model: str) -> str:
    """The name of a model without the place of its folder."""
    folder = _folder(model)
    return folder.resolve().name if folder.is_dir() else model


def library_versions() -> dict[str, str]:
    """Versions of the libraries that models run on, of those that are installed."""
    from importlib.metadata import PackageNotFoundError, version  # Slow to import.

    versions = {}
    for library in ("sentence-transformers", "transformers", "torch"):
        with suppress(PackageNotFoundError):
            versions[library] = version(library)
    return versions


@contextmanager
def failing_as(who: str) -> Iterator[None]:
    """A failure inside a model, of whatever kind, as a StageError."""
    try:
        yield
    except Exception as error:
        raise StageError(f"{who} failed: {exception_line(error)}") from error


def check_finite(who: str, numbers: Any) -> None:
    """Refuse numbers, one or a row a text, that are not all finite.

    Raises   StageError.
    """
    odd = np.flatnonzero(~np.isfinite(numbers).reshape(len(numbers), -1).all(axis=1))
    if len(odd):
        raise StageError(
            f"{who} gave NaN or infinite numbers for {len(odd)} of {len(numbers)} texts, first {odd[0] + 1}"
        )


def _hidden(path: Path) -> bool:
    """Files that version control and downloaders leave beside a model."""
    return any(part.startswith(".") for part in path.parts)


def _folder(model: str) -> Path:
    return Path(os.path.expanduser(model))


def _is_folder(model: str) -> bool:
    """True if the name can only be a folder's; a name on the hub is `name` or `owner/name`."""
    path = _folder(model)
    return (
        path.is_dir()
        or path.is_absolute()
        or model.startswith((".", "~"))
        or "\\" in model
        or model.count("/") > 1
        or model.endswith("/")
        or ("/" in model and path.parent.is_dir())
    )


def _unloadable(model: str, cause: Exception | str, hint: str) -> InputError:
    cause = cause if isinstance(cause, str) else exception_line(cause)
    return InputError(f"model {model} cannot be loaded: {cause}; {hint}")


def _offline() -> str | None:
    """The variable that keeps the library off the network, as the library reads it."""
    variable = "HF_HUB_OFFLINE" if os.environ.get("HF_HUB_OFFLINE") else "TRANSFORMERS_OFFLINE"
    return variable if os.environ.get(variable, "").upper() in {"1", "ON", "YES", "TRUE"} else None


@contextmanager
def _quiet() -> Iterator[None]:
    """Without what the libraries would write beside ours: progress bars, reports, warnings."""
    bars = require("transformers.utils.logging", extra="models", what="the model")
    shown_bars, loggers = bars.is_progress_bar_enabled(), [logging.getLogger(name) for name in _LIBRARIES]
    levels = [logger.level for logger in loggers]
    bars.disable_progress_bar()
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        with warnings.catch_warnings(action="ignore"):
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
        if shown_bars:
            bars.enable_progress_bar()
