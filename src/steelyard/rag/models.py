"""Models of sentence-transformers, by the name of a folder or of a model on the Hugging Face hub."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from steelyard.base.arrays import Vectors
from steelyard.base.errors import InputError, StageError, exception_line
from steelyard.base.extras import require
from steelyard.base.limits import NotEmpty, Words, at_least
from steelyard.base.settings import SettingError, check_fields
from steelyard.rag.instances import Instances
from steelyard.rag.registry import stage

Model = Annotated[str, NotEmpty(), Words("a folder or a name on the Hugging Face hub")]

_LOADING = threading.Lock()
_WHOLE = 1 << 20
_SAMPLE = 1 << 16


@stage("embed", "sentence-transformers")
@dataclass(eq=False)
class SentenceTransformerEmbedder:
    """Vectors by a model of sentence-transformers, of length 1.

    model        a folder, or a name on the hub, looked for on this machine first; a name with a dot or slash in front,
                 with a backslash or with several slashes, or whose parent folder is there, can only be a folder
    batch_size   texts at a time
    device       "cpu", "cuda", "mps"; None lets torch choose
    query_prefix, document_prefix   put before each question and chunk, for models that were trained so ("query: ")
    max_length   longest text in the model's tokens, cut behind it; None is the model's own

    Threads that ask at once have an instance each.  Texts of one batch are padded to one length, so the last bits of a
    vector may depend on its company.
    """

    model: Model
    batch_size: Annotated[int, at_least(1)] = 32
    device: str | None = None
    query_prefix: str = ""
    document_prefix: str = ""
    max_length: Annotated[int, at_least(1)] | None = None
    _models: Instances[Any] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        check_fields(self)
        self._models = Instances(self._load)
        _check_model("embed sentence-transformers", self.model)

    def fit(self, texts: Sequence[str]) -> None:
        """Learn nothing; load the model, so that one which cannot be loaded raises before any work is done.

        Raises   InputError where it cannot be loaded.
        """
        with self._models.borrowed():
            pass

    def documents(self, texts: Sequence[str]) -> Vectors:
        """(n, d) one vector a text.

        Raises   InputError where the model cannot be loaded; StageError where it fails or gives NaN.
        """
        return self._vectors(self.document_prefix, texts)

    def query(self, text: str) -> Vectors:
        """(d,) the vector of a question; raises as `documents` does."""
        vector: Vectors = self._vectors(self.query_prefix, [text])[0]
        return vector

    def identity(self) -> str:
        """What the model is, wherever its folder lies: see `identity_of`."""
        return identity_of(self.model)

    def _load(self) -> Any:
        library = require("sentence_transformers", extra="models", what="the embedder")
        model = _load(library.SentenceTransformer, self.model, device=self.device)
        if self.max_length is not None:
            model.max_seq_length = self.max_length
        return model

    def _vectors(self, prefix: str, texts: Sequence[str]) -> Vectors:
        with self._models.borrowed() as model:
            return self._encoded(model, prefix, texts)

    def _encoded(self, model: Any, prefix: str, texts: Sequence[str]) -> Vectors:
        if not len(texts):
            return np.empty((0, model.encode([prefix or "."], show_progress_bar=False).shape[1]), np.float32)
        with _failing_as(f"embedder {self.model}"):
            vectors = model.encode(
                [prefix + text for text in texts],
                batch_size=self.batch_size,
                show_progress_bar=False,
                convert_to_numpy=True,
                normalize_embeddings=True,
            )
        _check_finite(f"embedder {self.model}", vectors)
        return np.ascontiguousarray(vectors, np.float32)


@stage("rerank", "cross-encoder")
@dataclass(eq=False)
class CrossEncoderReranker:
    """Scores by a cross-encoder of sentence-transformers, which reads question and text together.

    model        a folder, or a name on the hub, resolved as for `SentenceTransformerEmbedder`
    batch_size   pairs at a time
    max_length   longest pair in the model's tokens, cut behind it; None is the model's own
    device       "cpu", "cuda", "mps"; None lets torch choose

    Scores are on the model's own scale: most squash them to 0..1, some leave them as they are.  Threads
    that ask at once have an instance each.
    """

    model: Model
    batch_size: Annotated[int, at_least(1)] = 32
    max_length: Annotated[int, at_least(1)] | None = 512
    device: str | None = None
    _models: Instances[Any] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        check_fields(self)
        self._models = Instances(self._load)
        _check_model("rerank cross-encoder", self.model)

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """(n,) one finite score a text; higher is better.

        Raises   InputError where the model cannot be loaded, or gives more than one number a pair; StageError where
                 it fails on these texts or gives NaN.
        """
        with self._models.borrowed() as model:
            return self._predicted(model, query, texts) if len(texts) else []

    def _predicted(self, model: Any, query: str, texts: Sequence[str]) -> list[float]:
        with _failing_as(f"reranker {self.model}"):
            pairs = [(query, text) for text in texts]
            scores = model.predict(pairs, batch_size=self.batch_size, show_progress_bar=False, convert_to_numpy=True)
        _check_finite(f"reranker {self.model}", scores)
        return [float(score) for score in scores]

    def identity(self) -> str:
        """What the model is, wherever its folder lies: see `identity_of`."""
        return identity_of(self.model)

    def _load(self) -> Any:
        library = require("sentence_transformers", extra="models", what="the cross-encoder")
        model = _load(library.CrossEncoder, self.model, device=self.device, max_length=self.max_length)
        if model.num_labels != 1:
            raise InputError(
                f"reranker {self.model}: gives {model.num_labels} numbers a pair; expected a model with one label"
            )
        return model


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


def _check_model(where: str, model: str) -> None:
    """Refuse a folder that is not there."""
    if _is_folder(model) and not _folder(model).is_dir():
        raise SettingError(
            f"{model}: the model folder is not there (looked at {_folder(model).absolute()}); "
            "check the path, or give a name on the Hugging Face hub as owner/name",
            "model",
        )
    if find_spec("sentence_transformers") is None:
        require("sentence_transformers", extra="models", what=where)


def _load(make: Callable[..., Any], model: str, **options: Any) -> Any:
    """A model from its folder, else from what was downloaded before, else from the hub."""
    folder = _is_folder(model)
    name = str(_folder(model)) if folder else model
    with _LOADING, _quiet():
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


@contextmanager
def _failing_as(who: str) -> Iterator[None]:
    """A failure inside the model, of whatever kind, as the failure of this question."""
    try:
        yield
    except Exception as error:
        raise StageError(f"{who} failed: {exception_line(error)}") from error


def _check_finite(who: str, numbers: Any) -> None:
    odd = np.flatnonzero(~np.isfinite(numbers).reshape(len(numbers), -1).all(axis=1))
    if len(odd):
        raise StageError(
            f"{who} gave NaN or infinite numbers for {len(odd)} of {len(numbers)} texts, first {odd[0] + 1}"
        )
