"""Question and text scored together: by words, by a cross-encoder or by a /rerank endpoint, and checked."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Annotated, Any, Literal

import numpy as np

from steelyard.base.arrays import Floats
from steelyard.base.errors import InputError, StageError
from steelyard.base.instances import Instances
from steelyard.base.limits import at_least, between
from steelyard.base.settings import check_fields
from steelyard.rag.own.results import Odd, value_at
from steelyard.rag.protocols import Reranked, Reranker, joined
from steelyard.rag.registry import stage
from steelyard.services.addresses import checked_url
from steelyard.services.announcements import Usage
from steelyard.services.http.client import ServiceError
from steelyard.services.models.endpoints import Endpoint, in_order, mapping_at, outline
from steelyard.services.models.local import ModelName, check_finite, check_model, failing_as, identity_of, load_model
from steelyard.text.tokens import Accents, Chinese, Simplify, Stem, Tokenizer, tokenizer_of

_REMEMBERED = 50_000
"""Texts whose tokens are kept at most: the same chunks come again with every question."""


@stage("rerank", "lexical")
@dataclass(frozen=True)
class Lexical:
    """Share of the question's words, and of its pairs of neighbouring words, that occur in the text.

    score = (1 - pairs) * share of its distinct words + pairs * share of its distinct pairs of neighbours; a question
    of one word has no pairs, and the words alone count.

    pairs      weight of the pairs, 0 to 1
    chinese, simplify, accents, stem, stopwords   see `Tokenizer`; stop words are left out by default, as all words
               count alike here

    A text's score does not depend on the others.  How often a word occurs, and how rare it is, does not count, so this
    helps a ranking that ignores words (LSA on Chinese) more than one that weighs them already (BM25).

    >>> Lexical(stem="none").scores("Weigh the load", ["I weigh my load.", "The load that you weigh", "A whale"])
    [1.0, 0.5, 0.0]
    """

    pairs: Annotated[float, between(0, 1)] = 0.5
    chinese: Chinese = "bigrams"
    simplify: Simplify = "characters"
    accents: Accents = "folded"
    stem: Stem = "english"
    stopwords: bool = True
    _tokenizer: Tokenizer = field(init=False, repr=False, compare=False)
    _memory: dict[str, list[str]] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_fields(self)
        object.__setattr__(self, "_tokenizer", tokenizer_of(self))

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """(n,) one score in [0, 1] a text; all 0 for a question without words."""
        query_tokens = self._tokenizer.tokens(query)
        words, pairs = set(query_tokens), _neighbours(query_tokens)
        token_lists = self._tokens(texts)
        shares = [_share(words, set(tokens)) for tokens in token_lists]
        if not pairs:
            return shares
        return [
            (1 - self.pairs) * share + self.pairs * _share(pairs, _neighbours(tokens))
            for share, tokens in zip(shares, token_lists, strict=True)
        ]

    def _tokens(self, texts: Sequence[str]) -> list[list[str]]:
        """The tokens of each text; those of texts that were met before are remembered."""
        # A copy of its own: another thread may clear the memory between a look and the next.
        tokens = {text: stored for text in texts if (stored := self._memory.get(text)) is not None}
        new = list(dict.fromkeys(text for text in texts if text not in tokens))
        tokens.update(zip(new, self._tokenizer.many(new), strict=True))
        if len(self._memory) > _REMEMBERED:
            self._memory.clear()
        self._memory.update((text, tokens[text]) for text in new)
        return [tokens[text] for text in texts]


def _neighbours(tokens: Sequence[str]) -> set[tuple[str, str]]:
    return set(pairwise(tokens))


def _share(wanted: Set[object], present: Set[object]) -> float:
    return len(wanted & present) / len(wanted) if wanted else 0.0


def checked_scores(reranker: Reranker, query: str, texts: Sequence[str]) -> Floats:
    """(n,) what a reranker gives, where it gives one finite score a text; no text asks nothing of it.

    Raises   StageError saying how many scores came, or which of them is no finite number; and whatever the reranker
             raises itself.
    """
    if not len(texts):
        return np.empty(0, np.float64)
    return check_scores(type(reranker).__name__, reranker.scores(query, texts), len(texts))


def check_scores(name: str, answer: object, n: int) -> Floats:
    """(n,) scores, one finite number a text.

    name     of the reranker, for messages
    Raises   StageError as `checked_scores` does.
    """
    try:
        scores = np.asarray(answer, np.float64)
    except (TypeError, ValueError) as error:
        raise StageError(f"reranker {name} gave something else than numbers ({error}); expected one a text") from error
    if scores.shape != (n,):
        got = f"{len(scores)} scores" if scores.ndim == 1 else f"scores of shape {scores.shape}"
        raise StageError(f"reranker {name} gave {got} for {n} texts; expected one a text")
    odd = np.flatnonzero(~np.isfinite(scores))
    if len(odd):
        raise StageError(
            f"reranker {name} gave {scores[odd[0]]} for text {odd[0] + 1} of {n}"
            + (f", and {len(odd) - 1} more such" if len(odd) > 1 else "")
            + "; expected finite scores"
        )
    return scores


_UNLIMITED = 1_000_000
"""Tokens from which on a limit is none: tokenizers without one say 10**30."""


@stage("rerank", "cross-encoder")
@dataclass(eq=False)
class CrossEncoderReranker:
    """Scores by a cross-encoder of sentence-transformers, which reads question and text together.

    model        a folder, or a name on the hub, resolved as for `SentenceTransformerEmbedder`
    batch_size   pairs at a time
    max_length   longest pair in the model's tokens, cut behind it, as far as the model has positions; None is the
                 model's own
    device       "cpu", "cuda", "mps"; None lets torch choose

    Scores are on the model's own scale: most squash them to 0..1, some leave them as they are.  Threads
    that ask at once have an instance each.  Its tokens are counted by the model's own tokenizer, without what a prompt
    of the model's own may add.
    """

    model: ModelName
    batch_size: Annotated[int, at_least(1)] = 32
    max_length: Annotated[int, at_least(1)] | None = 512
    device: str | None = None
    _models: Instances[Any] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        check_fields(self)
        self._models = Instances(self._load)
        check_model("rerank cross-encoder", self.model)

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """(n,) one finite score a text; higher is better.

        Raises   InputError where the model cannot be loaded, or gives more than one number a pair; StageError where
                 it fails on these texts or gives NaN.
        """
        with self._models.borrowed() as model:
            return self._predicted(model, query, texts) if len(texts) else []

    @property
    def max_tokens(self) -> int | None:
        """Tokens of a pair that the model reads; None where it does not say.

        Raises   InputError as `scores` does.
        """
        with self._models.borrowed() as model:
            limit = int(model.tokenizer.model_max_length)
        return limit if limit < _UNLIMITED else None

    def pair_tokens(self, query: str, texts: Sequence[str]) -> list[int]:
        """(n,) tokens of each pair, with those that the model sets between and around the two, before anything is cut.

        Raises   InputError as `scores` does; StageError where the tokenizer fails.
        """
        if not len(texts):
            return []
        with self._models.borrowed() as model, failing_as(f"tokenizer of {self.model}"):
            ids = model.tokenizer([query] * len(texts), list(texts), truncation=False, verbose=False)["input_ids"]
            return [len(tokens) for tokens in ids]

    def _predicted(self, model: Any, query: str, texts: Sequence[str]) -> list[float]:
        with failing_as(f"reranker {self.model}"):
            pairs = [(query, text) for text in texts]
            scores = model.predict(pairs, batch_size=self.batch_size, show_progress_bar=False, convert_to_numpy=True)
        check_finite(f"reranker {self.model}", scores)
        return [float(score) for score in scores]

    def identity(self) -> str:
        """The identity of the model, wherever its folder lies: see `identity_of`."""
        return identity_of(self.model)

    def _load(self) -> Any:
        model = load_model("CrossEncoder", self.model, who="the cross-encoder", device=self.device)
        if self.max_length is not None:
            positions = getattr(model.model.config, "max_position_embeddings", None) or self.max_length
            model.tokenizer.model_max_length = min(self.max_length, positions)
        if model.num_labels != 1:
            raise InputError(
                f"reranker {self.model}: gives {model.num_labels} numbers a pair; expected a model with one label"
            )
        return model


Shape = Literal["cohere", "voyage", "tei"]
SCORE_LISTS, _SCORES = ("results", "data", "scores", "rankings", ""), ("relevance_score", "score", "logit")
"""Where answers have their list of scores ("" is the answer itself), and its items their score."""
_REFUSALS, _WORD = {400, 422}, re.compile("[a-z_]+")
_FIELDS: Mapping[Shape, Mapping[Shape, set[str]]] = {
    "cohere": {"tei": {"texts"}, "voyage": {"top_n", "top_k"}},
    "voyage": {"tei": {"texts"}, "cohere": {"top_n", "top_k"}},
    "tei": {"cohere": {"documents", "top_n"}, "voyage": {"top_k"}},
}
"""Shape -> the other one, which a server wants that refuses a request and names one of these fields."""


@stage("rerank", "endpoint")
@stage("rerank", "http")
@dataclass(frozen=True, kw_only=True)
class HTTPReranker(Endpoint):
    """Scores from a /rerank endpoint.

    url          the whole address
    model        its name; None where the server has only one
    shape        of the request: "cohere" (also Jina, vLLM, infinity): {query, documents, top_n};
                 "voyage": {query, documents, top_k};   "tei": {query, texts, truncate}
    batch_size   texts in one request, for servers with a limit (TEI's is 32); None for all at once
    results_field, index_field, score_field   where an answer has the list of scores, and an item of it the number of
                 the text from 0 and the score, as paths with dots.  None for the usual ones, whatever the shape:
                 {results: [{index, relevance_score}]}, {data: …}, [{index, score}], {scores: [0.9, 0.1]}
    Raises       InputError for settings out of range or a key that is not set.
    """

    url: str
    model: str | None = None
    shape: Shape = "cohere"
    batch_size: Annotated[int, at_least(1)] | None = None
    results_field: str | None = None
    index_field: str | None = None
    score_field: str | None = None

    def __post_init__(self) -> None:
        checked_url(self.url, "url")
        super().__post_init__()

    def _address(self) -> tuple[str, str]:
        return "rerank", self.url

    def scores(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """One finite score a text, in the order of the texts; none without texts.

        Raises   StageError when the endpoint fails (`steelyard.services.http.client.Patience`), its answer has another
                 shape, or does not hold each text once with a finite score.
        """
        return self.rerank(query, texts).scores

    def rerank(self, query: str, texts: Sequence[str]) -> Reranked:
        """As `scores`, with the tokens and search units that the server says it counts; raises as `scores` does."""
        size = self.batch_size or max(len(texts), 1)
        return joined([self._rerank(query, list(texts[i : i + size])) for i in range(0, len(texts), size)])

    def _rerank(self, query: str, texts: list[str]) -> Reranked:
        try:
            answer = self._service.request("POST", body=self._body(query, texts))
        except ServiceError as error:
            raise self._with_shape(error) from None
        return Reranked(self._scores(answer, len(texts)), tokens_of(answer), search_units_of(answer))

    def _scores(self, answer: Any, n: int) -> list[float]:
        pairs = [self._pair(position, item) for position, item in enumerate(self._items(answer))]
        scores = in_order(self._service, pairs, n, "scores", "score")
        for position, score in enumerate(scores):
            if isinstance(score, bool) or not isinstance(score, int | float) or not math.isfinite(score):
                what = f"answered {outline(score)} as the score of text {position + 1} of {n}"
                raise self._service.error(what, "look into the server's log; a text may be too long for the model")
        return [float(score) for score in scores]

    def _with_shape(self, error: ServiceError) -> ServiceError:
        """A refusal with the shape of the request that the server asks for, where it names a field of that one."""
        body = error.body.lower() if error.reason in _REFUSALS else ""
        wanted = next(
            (shape for shape, fields in _FIELDS[self.shape].items() if fields & set(_WORD.findall(body))), None
        )
        return error if wanted is None else ServiceError(f'{error}; set shape = "{wanted}"', error.reason, error.body)

    def _pair(self, position: int, item: Any) -> dict[str, Any]:
        """The number of a text, and its score; bare scores are in the order of the texts."""
        if not isinstance(item, Mapping):
            return {"index": position, "score": item}
        score_field = self.score_field or next((key for key in _SCORES if key in item), _SCORES[0])
        pair, paths = {}, {"index": self.index_field or "index", "score": score_field}
        for name, path in paths.items():
            try:
                pair[name] = value_at(item, path, required=True)
            except Odd as odd:
                raise self._service.error(f"{odd}, in an item of its list", f"name the field: {name}_field") from None
        return pair

    def _items(self, answer: Any) -> list[Any]:
        """The list of scores in an answer, where it is named or usual."""
        paths = SCORE_LISTS if self.results_field is None else (self.results_field,)
        for path in paths:
            if isinstance(items := value_at(answer, path), list):
                return items
        wanted = "one of " * (len(paths) > 1) + ", ".join(repr(path) for path in paths if path)
        raise self._service.error(
            f"answered {outline(answer)}, without a list of scores under {wanted}",
            "check that the address is of a /rerank, or name where its list is: results_field",
        )

    def _body(self, query: str, texts: list[str]) -> dict[str, Any]:
        model = {} if self.model is None else {"model": self.model}
        if self.shape == "tei":
            return {**model, "query": query, "texts": texts, "truncate": True}
        limit = "top_n" if self.shape == "cohere" else "top_k"
        return {**model, "query": query, "documents": texts, limit: len(texts)}


def tokens_of(answer: Any) -> Usage | None:
    """Tokens that a /rerank endpoint says it took; None where it says nothing of them.

    Jina, Voyage and vLLM count in `usage`, Cohere in `meta.billed_units`, else in `meta.tokens`.

    >>> tokens_of({"usage": {"total_tokens": 16000}}), tokens_of({"meta": {"billed_units": {"search_units": 1}}})
    (Usage(tokens_in=16000, tokens_out=0), None)
    """
    meta = mapping_at(answer, "meta")
    for counts in (mapping_at(answer, "usage"), mapping_at(meta, "billed_units"), mapping_at(meta, "tokens")):
        tokens_out = _count(counts, "completion_tokens", "output_tokens") or 0
        tokens_in = _count(counts, "prompt_tokens", "input_tokens")
        total = _count(counts, "total_tokens")
        if tokens_in is None and total is not None:
            tokens_in = total - tokens_out
        if tokens_in is not None:
            return Usage(int(tokens_in), int(tokens_out))
    return None


def search_units_of(answer: Any) -> float | None:
    """Search units that an endpoint of Cohere's kind says it bills; None where it says nothing of them.

    >>> search_units_of({"meta": {"billed_units": {"search_units": 2}}}), search_units_of([])
    (2.0, None)
    """
    return _count(mapping_at(mapping_at(answer, "meta"), "billed_units"), "search_units")


def _count(counts: Mapping[str, Any], *names: str) -> float | None:
    """The number under the first of some names that holds one; what is no count is as if it were not there."""
    for name in names:
        value = counts.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value >= 0:
            return float(value)
    return None
