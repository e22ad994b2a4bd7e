"""Models of sentence-transformers, by the name of a folder or of a model on the Hugging Face hub."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from steelyard.base.errors import InputError, StageError, exception_line
from steelyard.base.extras import require
from steelyard.base.limits import NotEmpty, Words
from steelyard.base.settings import SettingError

ModelName = Annotated[str, NotEmpty(), Words("a folder or a name on the Hugging Face hub")]
"""A folder, or a name on the hub, looked for on this machine first; a name with a dot or slash in front, with a
backslash or with several slashes, or whose parent folder is there, can only be a folder."""

_LOADING = threading.Lock()
_WHOLE = 1 << 20
_SAMPLE = 1 << 16


def check_model(who: str, model: str) -> None:
    """Refuse, before anything is computed, a model that cannot be had.

    who      who needs it, for the message
    Raises   SettingError for a folder that is not there; MissingExtraError without the library.
    """
    if _is_folder(model) and not _folder(model).is_dir():
        raise SettingError(
            f"{model}: the model folder is not there (looked at {_folder(model).absolute()}); "
            "check the path, or give a name on the Hugging Face hub as owner/name",
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
        if _offline():
            raise _unloadable(model, error, "HF_HUB_OFFLINE is set; download it first, or give a folder") from error
    try:
        return make(name, **options)
    except Exception as error:
        hint = "it is not on this machine; check its name and the network, or give a folder"
        raise _unloadable(model, error, hint) from error


def identity_of(model: str) -> str:
    """What identifies a model: for a folder a digest of its files, else the name.

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
    """What version control and downloaders leave beside a model."""
    return any(part.startswith(".") for part in path.parts)


def _folder(model: str) -> Path:
    return Path(os.path.expanduser(model))


def _is_folder(model: str) -> bool:
    """Whether the name can only be a folder's; a name on the hub is `name` or `owner/name`."""
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


def _unloadable(model: str, error: Exception, hint: str) -> InputError:
    return InputError(f"model {model} cannot be loaded: {exception_line(error)}; {hint}")


def _offline() -> bool:
    return os.environ.get("HF_HUB_OFFLINE", "").upper() in {"1", "ON", "YES", "TRUE"}


@contextmanager
def _quiet() -> Iterator[None]:
    """Without transformers' own progress bar and load report, which it writes beside ours."""
    logging = require("transformers.utils.logging", extra="models", what="the model")
    bars, level = logging.is_progress_bar_enabled(), logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()
