"""Whether one text follows from another, by a cross-encoder that names its labels."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from steelyard.base.arrays import Floats
from steelyard.base.errors import InputError, StageError
from steelyard.base.extras import require
from steelyard.base.instances import Instances
from steelyard.services.models.local import ModelName, check_finite, failing_as, load_model

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
