"""Scores from a /rerank endpoint of one of the usual shapes."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from steelyard.base.limits import at_least
from steelyard.rag.own.results import Odd, value_at
from steelyard.rag.protocols import Reranked, joined
from steelyard.rag.registry import stage
from steelyard.services.addresses import checked_url
from steelyard.services.announcements import Usage
from steelyard.services.http.client import ServiceError
from steelyard.services.models.endpoints import Endpoint, in_order, mapping_at, outline

Shape = Literal["cohere", "voyage", "tei"]
SCORE_LISTS, _SCORES = ("results", "data", "scores", "rankings", ""), ("relevance_score", "score", "logit")
"""Where answers have their list of scores ("" is the answer itself), and its items their score."""
_REFUSALS, _WORD = {400, 422}, re.compile("[a-z_]+")
_FIELDS: Mapping[Shape, Mapping[Shape, set[str]]] = {
    "cohere": {"tei": {"texts"}, "voyage": {"top_n", "top_k"}},
    "voyage": {"tei": {"texts"}, "cohere": {"top_n", "top_k"}},
    "tei": {"cohere": {"documents", "top_n"}, "voyage": {"top_k"}},
}
"""Of each shape, which other one a server wants that refuses a request and names one of these fields."""


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
