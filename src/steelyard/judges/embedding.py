"""The judge that compares vectors: how near a unit is to the nearest sentence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

import numpy as np

from steelyard.base.arrays import Vectors
from steelyard.base.errors import StageError
from steelyard.base.limits import NotEmpty, Words, at_least, between
from steelyard.base.settings import check_fields
from steelyard.judges.asking import Batches, case_blocks, empty_verdict, quotation, whole_characters
from steelyard.judges.registry import judge_named
from steelyard.judges.verdict import Case, Verdict
from steelyard.services.addresses import shown
from steelyard.services.models.embeddings import Encoder, OpenAIEmbeddings
from steelyard.services.models.local import check_model, identity_of, library_versions, name_of
from steelyard.text.sentences import sentence_spans

_VERSION = 2
_REMEMBERED = 100_000


@judge_named("embedding")
@dataclass(eq=False)
class EmbeddingJudge:
    """The largest cosine between a unit and the sentences of the premise, 0 where it is negative.

    A unit is embedded behind its lead.

    It says supported or not_found, and never contradicted: a sentence and its negation have nearly the same vector.

    model        a folder or a name on the hub (`steelyard.services.models.local.ModelName`), or the server's name
                 for it
    base_url     of an OpenAI-compatible server, before /embeddings; None for a model on this machine
    api_key_env  the environment variable that holds the server's key
    threshold    the cosine from which on a unit is supported; it depends on the model, and 0.7 is not calibrated
    batch_size   texts at a time
    device       "cpu", "cuda", "mps"; None lets torch choose
    concurrency  requests under way at once, where there is a server
    Raises       InputError for settings out of range, a folder that is not there or a key that is not set.
    """

    name: ClassVar[str] = "embedding"

    model: Annotated[
        str, NotEmpty(), Words("a folder, a name on the Hugging Face hub, or a server's name for it", "BAAI/bge-m3")
    ]
    base_url: str | None = None
    api_key_env: str | None = None
    threshold: Annotated[float, between(0, 1)] = 0.7
    batch_size: Annotated[int, at_least(1)] = 32
    device: str | None = None
    concurrency: Annotated[int, at_least(1)] = 8
    _vectors: dict[str, Vectors] = field(default_factory=dict, init=False, repr=False)
    _embeddings: Encoder | OpenAIEmbeddings = field(init=False, repr=False)
    _batches: Batches[str, Vectors] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        check_fields(self)
        if self.base_url is None:
            check_model("judge embedding", self.model)
            self._embeddings = Encoder(self.model, self.batch_size, device=self.device)
        else:
            self._embeddings = OpenAIEmbeddings(
                model=self.model, base_url=self.base_url, api_key_env=self.api_key_env, batch_size=self.batch_size
            )
        is_local = self.base_url is None
        self._batches = Batches(
            "judge embedding",
            self._rows,
            batch_size=self.batch_size,
            n_at_once=1 if is_local else self.concurrency,
            halving=is_local,
        )

    def judge(self, cases: Sequence[Case]) -> Iterator[list[Verdict]]:
        """For each case one verdict a hypothesis; a text that comes again is embedded once.

        Where the model fails on a sentence, hypotheses that no other sentence supports are not judged.
        Raises   InputError where the model cannot be loaded, or fails on all of 20 batches.
        """
        for block in case_blocks(cases):
            yield from self._judged(block)

    def recipe(self) -> Mapping[str, Any]:
        """Model, threshold and versions; of a server its address, without what may be secret."""
        if self.base_url is None:
            model = {"model": name_of(self.model), "model_id": identity_of(self.model), "libraries": library_versions()}
        else:
            model = {"model": self.model, "base_url": shown(self.base_url)}
        return {
            "judge": self.name,
            "version": _VERSION,
            **model,
            "threshold": self.threshold,
            "calibration": "uncalibrated",
        }

    def _rows(self, texts: list[str]) -> list[Vectors]:
        return list(self._embeddings.vectors(texts))

    def _judged(self, cases: Iterable[Case]) -> Iterator[list[Verdict]]:
        split = [(_sentences(case.premise), [whole_characters(text) for text in case.led_hypotheses]) for case in cases]
        vectors = self._embedded(text for sentences, units in split for text in (*sentences, *units))
        for sentences, units in split:
            cosines = _Cosines(sentences, units, vectors)
            yield [cosines.verdict(i, self.threshold) for i in range(len(units))]
        for text in list(self._vectors)[:-_REMEMBERED]:
            del self._vectors[text]

    def _embedded(self, texts: Iterable[str]) -> Mapping[str, Vectors | StageError]:
        """The vector of each text, or why there is none; nothing for texts without a character."""
        distinct = [text for text in dict.fromkeys(texts) if text.strip()]
        unseen = [text for text in distinct if text not in self._vectors]
        results = self._batches.results(unseen, length=len)
        failures = dict[str, Vectors | StageError]()
        for text, result in zip(unseen, results, strict=True):
            if isinstance(result, StageError):
                failures[text] = result
            elif len(result) != (width := len(next(iter(self._vectors.values()), result))):
                failures[text] = StageError(f"embedding: answered vectors of {len(result)} numbers, before of {width}")
            else:
                self._vectors[text] = result.copy()  # A row alone would keep its whole batch alive.
        return failures | {text: self._vectors[text] for text in distinct if text not in failures}


class _Cosines:
    """Cosines between the units and the sentences of one case; -1 where a vector is missing.

    vectors   of each text, or why there is none
    """

    def __init__(
        self, sentences: Sequence[str], units: Sequence[str], vectors: Mapping[str, Vectors | StageError]
    ) -> None:
        self._sentences, self._units, self._vectors = sentences, units, vectors
        cosines = self._matrix(units) @ self._matrix(sentences).T
        self._are_missing = np.isnan(cosines)
        self._values = np.where(self._are_missing, -1, cosines)

    def verdict(self, unit: int, threshold: float) -> Verdict:
        if nothing := empty_verdict("".join(self._sentences), self._units[unit]):
            return nothing
        cosines, are_missing = self._values[unit], self._are_missing[unit]
        best = int(cosines.argmax())
        score = min(max(float(cosines[best]), 0.0), 1.0)
        if are_missing.any() and (score < threshold or are_missing[best]):
            return Verdict("not_judged", None, self._failure(unit, int(are_missing.argmax())))
        place = f"sentence {best + 1} of {len(cosines)}" if len(cosines) > 1 else "the sentence"
        reason = f"cosine {score:.2f} with {place}: {quotation(self._sentences[best])}"
        return Verdict("supported" if score >= threshold else "not_found", score, reason)

    def _matrix(self, texts: Sequence[str]) -> Vectors:
        rows = [self._vectors.get(text) for text in texts]
        width = next((len(row) for row in self._vectors.values() if isinstance(row, np.ndarray)), 1)
        nothing = np.full(width, np.nan, np.float32)
        matrix = [row if isinstance(row, np.ndarray) else nothing for row in rows]
        return np.array(matrix, np.float32).reshape(len(texts), width)

    def _failure(self, unit: int, sentence: int) -> str:
        failures = (self._vectors[text] for text in (self._units[unit], self._sentences[sentence]))
        return next(str(failure) for failure in failures if isinstance(failure, StageError))


def _sentences(premise: str) -> list[str]:
    return [whole_characters(premise[start:end]) for start, end in sentence_spans(premise)]
