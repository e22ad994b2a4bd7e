"""Models of sentence-transformers and of entailment on this machine: found, loaded, checked and asked."""

from __future__ import annotations

import errno
import hashlib
import logging
import os
import re
import socket
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, NamedTuple
from urllib.parse import urlsplit

import numpy as np

from steelyard.base.arrays import Floats
from steelyard.base.errors import InputError, StageError, exception_line
from steelyard.base.extras import require
from steelyard.base.instances import Instances
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


ENTAILMENT = frozenset("entailment entail entails entailed support supports supported 蕴含 蕴涵 蘊含 蘊涵".split())
CONTRADICTION = frozenset(
    "contradiction contradict contradicts contradicted contradictory refutes refuted 矛盾".split()
)
"""Words that models name their labels by, in small letters."""

_WORD = re.compile(r"[^\W_]+")
_LABEL = re.compile(r"label|\d+")
_UNLIMITED = 1_000_000
_OWN_POSITIONS = 2


class LabelPlaces(NamedTuple):
    """Where in a model's output its labels are; contradiction is None where it has no such label."""

    entailment: int
    contradiction: int | None


def label_places(
    labels: Sequence[str], *, entailment: str | None = None, contradiction: str | None = None
) -> LabelPlaces:
    """The places of a model's labels, by their names: English or Chinese words in any case, in any order.

    entailment, contradiction   the names, where a model has others, such as "LABEL_1"
    Raises   InputError with the labels, where it is not clear which is that of entailment.

    >>> label_places(["CONTRADICTION", "neutral", "Entailment"])
    LabelPlaces(entailment=2, contradiction=0)
    >>> label_places(["not_entailment", "entailment"])
    LabelPlaces(entailment=1, contradiction=None)
    """
    entails = _place(labels, "entailment", entailment, ENTAILMENT)
    if entails is None or (len(labels) == 1 and entailment is None):
        raise InputError(
            f"has {_listed(labels)}; expected labels of entailment, neutral and contradiction, or of entailment and "
            f'not: if one of these means entailment, name it: entailment = "{labels[-1]}"'
        )
    contradicts = _place(labels, "contradiction", contradiction, CONTRADICTION)
    if contradicts == entails:
        raise InputError(f"has one label {labels[entails]!r} for entailment and contradiction; name two")
    return LabelPlaces(entails, contradicts)


def _place(labels: Sequence[str], setting: str, name: str | None, words: frozenset[str]) -> int | None:
    if name is None:
        places = [i for i, label in enumerate(labels) if _is_named(label, words)]
    else:
        places = [i for i, label in enumerate(labels) if label.casefold() == name.casefold()]
        if not places:
            raise InputError(f"has no label {name!r} ({_listed(labels)}); correct {setting}")
    if len(places) > 1:
        raise InputError(f"has {len(places)} labels of {setting} ({_listed(labels)}); name one of them: {setting}")
    return places[0] if places else None


def _is_named(label: str, words: frozenset[str]) -> bool:
    """True if a label is one of these words, beside a number or "label" perhaps; "not entailment" is not."""
    rest = [word for word in _WORD.findall(label.casefold()) if not _LABEL.fullmatch(word)]
    return len(rest) == 1 and rest[0] in words


def _listed(labels: Sequence[str]) -> str:
    return f"{'one label' if len(labels) == 1 else f'{len(labels)} labels'}: {', '.join(labels)}"


@dataclass(frozen=True)
class _Network:
    """A loaded model.

    max_length   tokens of a pair, with those that the model adds;   room   without them
    """

    transformer: Any
    tokenizer: Any
    places: LabelPlaces
    max_length: int
    room: int


@dataclass(eq=False)
class EntailmentModel:
    """A cross-encoder of sentence-transformers; threads that ask at once have an instance each.

    model        see `ModelName`
    device       "cpu", "cuda", "mps"; None lets torch choose
    max_length   tokens of a pair; None is the model's own
    entailment, contradiction   names of its labels, where they do not say it; see `label_places`
    """

    model: ModelName
    device: str | None = None
    max_length: int | None = None
    entailment: str | None = None
    contradiction: str | None = None
    _networks: Instances[_Network] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._networks = Instances(self._load)

    def room(self) -> int:
        """Tokens that both texts of a pair may have together.

        Raises   InputError where the model cannot be loaded, or is of another kind.
        """
        with self._networks.borrowed() as network:
            return network.room

    def n_tokens(self, texts: Sequence[str]) -> list[int]:
        """The number of tokens of each text, by the model's own tokenizer; raises as `room` does, and StageError."""
        if not texts:
            return []
        with self._networks.borrowed() as network, failing_as(f"tokenizer of {self.model}"):
            ids = network.tokenizer(list(texts), add_special_tokens=False, verbose=False)["input_ids"]
            return [len(tokens) for tokens in ids]

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> Floats:
        """(n, 3) of each pair: that the second text follows from the first, contradicts it, and neither.

        The second is 0 where the model has no such label.
        Raises   as `room` does; StageError where the model fails, gives NaN, or a pair is longer than it reads.
        """
        with self._networks.borrowed() as network:
            logits = self._logits(network, pairs)
        check_finite(f"model {self.model}", logits)
        if logits.shape[1] == 1:
            entails = 1 / (1 + np.exp(-np.clip(logits[:, 0], -500, 500)))
            return np.stack([entails, np.zeros(len(pairs)), 1 - entails], axis=1)
        shares = np.exp(logits - logits.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        entails, contradiction = shares[:, network.places.entailment], network.places.contradiction
        contradicts = np.zeros(len(pairs)) if contradiction is None else shares[:, contradiction]
        return np.stack([entails, contradicts, np.clip(1 - entails - contradicts, 0, 1)], axis=1)

    def _logits(self, network: _Network, pairs: Sequence[tuple[str, str]]) -> Floats:
        torch = require("torch", extra="models", what="the model")
        with failing_as(f"model {self.model}"), torch.inference_mode():
            first, second = map(list, zip(*pairs, strict=True))
            features = network.tokenizer(first, second, padding=True, truncation=False, return_tensors="pt")
            length = features["input_ids"].shape[1]
            if length <= network.max_length:
                logits = network.transformer(**features.to(network.transformer.device)).logits
                return np.asarray(logits.double().cpu().numpy(), np.float64)
        raise StageError(f"model {self.model} reads {network.max_length} tokens, and a pair has {length}")

    def _load(self) -> _Network:
        encoder = load_model("CrossEncoder", self.model, who="the NLI model", device=self.device)
        transformer, tokenizer = encoder.model, encoder.tokenizer
        labels = [str(label) for _, label in sorted(transformer.config.id2label.items())]
        try:
            places = label_places(labels, entailment=self.entailment, contradiction=self.contradiction)
        except InputError as error:
            raise InputError(f"model {self.model} {error}") from None
        max_length = self.max_length or self._own_length(tokenizer, transformer.config)
        room = max_length - tokenizer.num_special_tokens_to_add(pair=True)
        return _Network(transformer.eval(), tokenizer, places, max_length, room)

    def _own_length(self, tokenizer: Any, config: Any) -> int:
        """Tokens that the model reads, by its tokenizer, else by its positions, of which some models keep two."""
        length = getattr(tokenizer, "model_max_length", _UNLIMITED)
        if length >= _UNLIMITED:
            length = getattr(config, "max_position_embeddings", 0) - _OWN_POSITIONS
        if length <= 0:
            raise InputError(f"model {self.model} does not say how many tokens it reads; set max_length")
        return int(length)
