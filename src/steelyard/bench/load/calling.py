"""Rerankers asked one question after the other: what is timed, what is not, and what is kept of it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from queue import Empty, SimpleQueue
from time import perf_counter

import polars as pl

from steelyard.base.errors import StageError
from steelyard.bench.candidates import Candidates
from steelyard.bench.frames import Counted
from steelyard.bench.load.served import Ask, Request, Served, Task, requests_frame
from steelyard.rag.protocols import EstimatingReranker, MeteredReranker, Reranked, Reranker, TokenCounter
from steelyard.rag.stages.reranking import check_scores
from steelyard.services.announcements import Usage
from steelyard.services.loops import SIGNAL_S, cancel_requests
from steelyard.services.prices import estimate_tokens


class RerankerCalls:
    """A reranker over the first candidates of each question, as something to ask; safe in threads where it is.

    Texts are laid out beforehand, so that only the reranker's own work is timed.

    depth    candidates of each question
    scores   query_id -> what the reranker gave last
    """

    def __init__(self, reranker: Reranker, candidates: Candidates, depth: int | None) -> None:
        self.scores: dict[str, list[float]] = {}
        self._reranker = reranker
        self._texts = {id: [candidates.texts[doc] for doc in candidates.first(id, depth)] for id in candidates.searched}

    def __call__(self, query_id: str, query: str) -> Served:
        """Ask once.

        Raises   StageError for scores that are too few, too many or not finite; and what the reranker raises.
        """
        texts = self._texts[query_id]
        reranker = self._reranker
        if isinstance(reranker, MeteredReranker):
            reranked = reranker.rerank(query, texts)
        else:
            reranked = Reranked(reranker.scores(query, texts))
        answered_at = perf_counter()
        self.scores[query_id] = check_scores(type(reranker).__name__, reranked.scores, len(texts)).tolist()
        return Served(
            len(texts), None, reranked.usage, reranked.search_units, reranked.n_repaired, answered_at=answered_at
        )


@dataclass(frozen=True)
class PairTokens:
    """Tokens of the pairs of questions and candidates, before anything is cut.

    counts     query_id -> (n,) tokens of each pair, in the order of the candidates
    counted    who counted them: the model's tokenizer, or nobody, so that they are estimates
    longest    pair that the model reads; None where nothing is cut
    is_limit_known   whether it is known that there is a limit, or none
    of_request tokens of a question with so many pairs, where they are not those of the pairs: see `EstimatingReranker`
    """

    counts: Mapping[str, Sequence[int]]
    counted: Counted
    longest: int | None = None
    is_limit_known: bool = False
    of_request: Callable[[str, Sequence[int]], Usage] | None = None

    @classmethod
    def of(cls, reranker: Reranker, candidates: Candidates, depth: int) -> PairTokens:
        """The work on the first `depth` candidates; counted outside of any clock.

        Raises   StageError where a reranker cannot count them.
        """
        if not isinstance(reranker, TokenCounter):
            of_request = partial(estimated_usage, reranker, candidates)
            return cls(estimated_tokens(candidates, depth), "estimate", of_request=of_request)
        counts = dict[str, Sequence[int]]()
        for query_id in candidates.searched:
            texts = [candidates.texts[doc] for doc in candidates.first(query_id, depth)]
            counts[query_id] = tokens = list(reranker.pair_tokens(candidates.queries[query_id], texts))
            if len(tokens) != len(texts):
                raise StageError(
                    f"pair_tokens of {type(reranker).__name__} gave {len(tokens)} counts for {len(texts)} texts; "
                    "expected one a text"
                )
        return cls(counts, "tokenizer", reranker.max_tokens, is_limit_known=True)

    def first(self, depth: int | None) -> PairTokens:
        """The same of fewer candidates."""
        counts = {query_id: counts[:depth] for query_id, counts in self.counts.items()}
        return replace(self, counts=counts)

    def fill(self, requests: pl.DataFrame) -> pl.DataFrame:
        """Requests with tokens and truncated pairs where no server accounts for them.

        A pair that is longer than the model reads counts as long as it is read.
        """
        rows = []
        for query_id, counts in self.counts.items():
            usage, n_longer = self._usage(query_id, counts)
            rows.append((query_id, usage.tokens_in, usage.tokens_out or None, n_longer))
        schema = dict.fromkeys(("_tokens", "_tokens_out", "_truncated"), pl.Int64)
        own = pl.DataFrame(rows, schema={"query_id": pl.String, **schema}, orient="row")
        by_server = pl.col("tokens_in").is_not_null()
        truncated = pl.col("_truncated") if self.is_limit_known else pl.col("n_truncated")
        return (
            requests.join(own, on="query_id", how="left", maintain_order="left")
            .with_columns(
                tokens_in=pl.coalesce("tokens_in", "_tokens"),
                tokens_out=pl.when(by_server).then(pl.col("tokens_out")).otherwise(pl.col("_tokens_out")),
                counted=pl.when(by_server)
                .then(pl.lit("server"))
                .when(pl.col("_tokens").is_not_null())
                .then(pl.lit(self.counted)),
                n_truncated=truncated,
            )
            .select(requests.columns)
        )

    def _usage(self, query_id: str, counts: Sequence[int]) -> tuple[Usage, int]:
        """Tokens of a question, and pairs that are longer than the model reads."""
        if self.of_request is not None:
            return self.of_request(query_id, counts), 0
        longest = self.longest
        if longest is None:
            return Usage(sum(counts)), 0
        return Usage(sum(min(n, longest) for n in counts)), sum(n > longest for n in counts)


def estimated_usage(reranker: Reranker, candidates: Candidates, query_id: str, counts: Sequence[int]) -> Usage:
    """Tokens of a question with so many pairs: the reranker's own estimate, else those of the pairs."""
    if not isinstance(reranker, EstimatingReranker):
        return Usage(sum(counts))
    texts = [candidates.texts[doc] for doc in candidates.first(query_id, len(counts))]
    return reranker.estimate(candidates.queries[query_id], texts)


def estimated_tokens(candidates: Candidates, depth: int) -> dict[str, list[int]]:
    """query_id -> (n,) tokens of each pair, by `estimate_tokens`: those of the question and those of the text."""
    of_texts = {doc_id: estimate_tokens(text) for doc_id, text in candidates.texts.items()}
    of_queries = {query_id: estimate_tokens(candidates.queries[query_id]) for query_id in candidates.searched}
    return {
        query_id: [n + of_texts[doc] for doc in candidates.first(query_id, depth)] for query_id, n in of_queries.items()
    }


class PatientCaller:
    """Asks in a thread of its own, and waits no longer than it may; the clock runs in that thread alone.

    timeout_s   that an answer may take
    """

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._start()

    def _start(self) -> None:
        self._tasks, self._answers = SimpleQueue[Callable[[], Request] | None](), SimpleQueue[Request]()
        self._thread = threading.Thread(
            target=_work, args=(self._tasks, self._answers), name="steelyard-calling", daemon=True
        )
        self._thread.start()

    def send(self, ask: Ask, query_id: str, query: str, *, number: int) -> Request:
        """Ask once.  Where no answer comes in time, the request is given up, and what it waits for is cancelled."""
        began, task = perf_counter(), Task(number, query_id, query, self._timeout_s)
        self._tasks.put(lambda: task.send(ask))
        if (request := self._answer(began + self._timeout_s)) is not None:
            return request
        cancel_requests([self._thread])
        # An answer that comes late makes way for the next request; else its thread is left alone.
        if self._answer(perf_counter() + self._timeout_s) is None:
            self.close()
            self._start()
        return task.given_up(began)

    def _answer(self, until: float) -> Request | None:
        """The answer that comes by then; asked again and again, so that Ctrl-C is noticed."""
        while (left_s := until - perf_counter()) > 0:
            try:
                return self._answers.get(timeout=min(left_s, SIGNAL_S))
            except Empty:
                continue
        return None

    def close(self) -> None:
        """Let the thread end."""
        self._tasks.put(None)


def _work(tasks: SimpleQueue[Callable[[], Request] | None], answers: SimpleQueue[Request]) -> None:
    while (task := tasks.get()) is not None:
        answers.put(task())


def call_in_turn(
    ask: Ask,
    queries: Sequence[tuple[str, str]],
    caller: PatientCaller,
    *,
    tick: Callable[[Request], None] = lambda request: None,
) -> pl.DataFrame:
    """Ask each question once, the next when the last is answered.

    queries   (query_id, question)
    tick      called with each request, outside of the clock; what it raises ends the block
    Returns   of schema REQUESTS; system and depth are null
    """
    requests, start = list[Request](), perf_counter()
    for number, (query_id, query) in enumerate(queries):
        requests.append(caller.send(ask, query_id, query, number=number))
        tick(requests[-1])
    return requests_frame(requests, loop="sequential", start=start)
