"""Systems under load: addresses, templates of requests, functions, pipelines, and rerankers over candidates."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from itertools import islice
from time import perf_counter
from typing import Any, cast

import polars as pl

from steelyard.base.errors import InputError
from steelyard.base.instances import Instances
from steelyard.bench.candidates import Candidates
from steelyard.bench.config import BenchConfig, BenchSystem
from steelyard.bench.frames import Option
from steelyard.bench.load.calling import PairTokens, PatientCaller, RerankerCalls
from steelyard.bench.load.latency import read_stream
from steelyard.bench.load.served import Ask, Request, Served, Streamed
from steelyard.data.loading.files import load
from steelyard.data.questions import Questions
from steelyard.data.responses import Response
from steelyard.rag import fingerprint
from steelyard.rag.concurrency import concurrency_of
from steelyard.rag.config import Config
from steelyard.rag.fingerprint import describe
from steelyard.rag.own.results import Odd, value_at
from steelyard.rag.own.system import TargetSystem
from steelyard.rag.own.targets import FunctionTarget, HTTPTarget
from steelyard.rag.pipeline.pipeline import Pipeline
from steelyard.rag.protocols import Reranker, raise_all
from steelyard.rag.registry import make_stage
from steelyard.rag.stages.reranking import SCORE_LISTS, search_units_of, tokens_of
from steelyard.services.http.direct import DirectService
from steelyard.services.models.endpoints import Endpoint, list_at, outline

_LEAST_CHARACTERS = 80
"""Shorter paragraphs are headings."""


@cache
def bundled_questions() -> dict[str, str]:
    """query_id -> question: those of the bundled example, in English and Chinese."""
    with (files("steelyard") / "demo_data" / "questions.jsonl").open(encoding="utf-8") as lines:
        questions = Questions(map(json.loads, lines))
    return {question.query_id: question.query for question in questions if question.query}


@cache
def bundled_passages() -> tuple[str, ...]:
    """Paragraphs of the documents of the bundled example."""
    folder = files("steelyard") / "demo_data" / "documents"
    texts = (file.read_text(encoding="utf-8") for file in sorted(folder.iterdir(), key=lambda file: file.name))
    paragraphs = (paragraph.strip() for text in texts for paragraph in text.split("\n\n"))
    return tuple(paragraph for paragraph in paragraphs if len(paragraph) >= _LEAST_CHARACTERS)


_CHAT = {"messages", "prompt"}
"""Keys of a request whose answer has choices."""


def documents_of(config: BenchConfig, depth: int) -> Sequence[str]:
    """Texts for the place "{documents}" of a body, at least `depth`: those that are named, else bundled ones.

    Raises   InputError for documents that cannot be read, and for fewer.
    """
    if config.documents is None:
        name, texts = "the bundled example", bundled_passages()
    else:
        name, texts = str(config.documents), tuple(doc.text for doc in load(config.documents) if doc.text.strip())
    if len(texts) < depth:
        raise InputError(
            f"{name}: has {len(texts)} texts, fewer than the {depth} of a request; lower --depth, or "
            "name more: --documents"
        )
    return texts


def asking_template(
    target: HTTPTarget, service: DirectService, queries: Mapping[str, str], documents: Sequence[str], depth: int
) -> Ask:
    """A function that asks a service by the template of a target's body.

    documents   of which a question gets `depth`, the next question those after them, and so on in a circle; empty where
                the body has no place for them
    Where the body has "stream": true, the answer is read as it comes, event by event.
    Asking raises   ServiceError where the service fails or says so, and where it answers a chat without choices or a
                    rerank without a list of scores.
    """
    n_texts, whole = depth if documents else 0, [*documents, *documents[:depth]]
    starts = {query_id: place * n_texts % len(documents) for place, query_id in enumerate(queries) if n_texts}

    is_stream = target.body.get("stream") is True

    def ask(query_id: str, query: str) -> Served:
        start = starts.get(query_id, 0)
        sent = target.sent(query, depth, documents=whole[start : start + n_texts])
        if is_stream:
            return _streamed(service, service.stream(target.method, **sent))
        answer = service.request(target.method, **sent)
        answered_at = service.answered_at
        _refuse_odd(service, sent, answer, has_documents=bool(n_texts))
        return Served(n_texts or None, None, tokens_of(answer), search_units_of(answer), answered_at=answered_at)

    return ask


def _streamed(service: DirectService, events: Sequence[tuple[float, str]]) -> Served:
    """The answer and the times of a stream of events.

    Raises   ServiceError for one that is no answer.
    """
    answered_at = service.answered_at
    try:
        streamed, usage = read_stream(events)
    except Odd as odd:
        raise service.error(service.redacted(str(odd)), "look into its log") from None
    return Served(usage=usage, answered_at=answered_at, streamed=streamed)


def _refuse_odd(service: DirectService, sent: Mapping[str, Any], answer: Any, *, has_documents: bool) -> None:
    """Raise   ServiceError for an answer that is none."""
    if isinstance(answer, Mapping) and answer.get("error"):
        raise service.error(f"answered an error: {service.redacted(str(answer['error']))}", "look into its log")
    lists = (items for path in SCORE_LISTS if isinstance(items := value_at(answer, path), list))
    if has_documents and not any(lists):
        raise service.error(f"answered {outline(answer)}, without a list of scores", "check that it is a /rerank")
    if not _CHAT.isdisjoint(sent.get("body") or {}) and not list_at(answer, "choices"):
        raise service.error(f"answered {outline(answer)}, without choices", "check that it is a chat model's address")


@dataclass(frozen=True, eq=False)
class LoadedSystem:
    """A system that load is put on.

    depth     candidates that are reranked; None for a whole system
    workers   requests that it takes at once in an open loop, the others wait in its queue; None for all that come
    users_at_once   the same of a closed loop: a reranker has one instance a user there
    digest    of what is asked, as far as it is known
    tokens    of the pairs of each question, where there are pairs
    prepare   makes so many instances ready, before any clock
    """

    name: str
    depth: int | None
    ask: Ask
    queries: Mapping[str, str]
    workers: int | None = None
    users_at_once: int | None = None
    digest: str = ""
    tokens: PairTokens | None = None
    prepare: Callable[[int], None] = field(default=lambda n: None, repr=False)

    @property
    def option(self) -> Option:
        """The option that its rows are of."""
        return Option(self.name, self.depth)

    def labelled(self, requests: pl.DataFrame) -> pl.DataFrame:
        """Requests with the name, the depth and, where nobody accounts for them, the tokens of this system."""
        by_server = pl.when(pl.col("tokens_in").is_not_null()).then(pl.lit("server"))
        filled = requests.with_columns(counted=by_server) if self.tokens is None else self.tokens.fill(requests)
        return filled.with_columns(system=pl.lit(self.name), depth=pl.lit(self.depth, pl.Int64))


@contextmanager
def whole_system(system: BenchSystem, config: BenchConfig, queries: Mapping[str, str]) -> Iterator[LoadedSystem]:
    """A system of one's own, or a pipeline, while load is put on it.

    An address is asked by a client that repeats nothing and waits for nobody, and so are the endpoints of a pipeline.
    A function takes as many questions at once as its `concurrency` says; a pipeline as `Pipeline.under_load` has it.
    Raises   InputError with file and line, for what cannot be made.
    """
    with ExitStack() as stack:
        if system.pipeline is not None:
            pipeline = Pipeline.read(system.pipeline)
            pipeline.prepare()
            ask_pipeline, workers = stack.enter_context(pipeline.under_load(config.timeout))
            ask, digest = _asking_pipeline(ask_pipeline), pipeline.fingerprint["all"]
        else:
            target = _target_system(system, config)
            workers, digest = None, target.fingerprint["all"]
            if not isinstance(target.target, HTTPTarget):
                function = cast("FunctionTarget", target.target)
                ask, workers = _asking_function(function, target.k), target.concurrency
            else:
                service = DirectService(target.target.service, config.timeout)
                stack.callback(service.close)
                is_template = target.target.places and "results_field" not in (system.target or {})
                if is_template:
                    depth = config.load_depth
                    documents = documents_of(config, depth) if "documents" in target.target.places else ()
                    ask = asking_template(target.target, service, queries, documents, depth)
                    digest = fingerprint.digest(digest, depth, *documents)
                else:
                    ask = _asking_address(target.target.asked_by(service), service, target.k)
        yield LoadedSystem(system.name, None, ask, queries, workers=workers, users_at_once=workers, digest=digest)


@contextmanager
def loaded_reranker(
    system: BenchSystem, config: BenchConfig, candidates: Candidates, depth: int
) -> Iterator[LoadedSystem]:
    """A reranker over the first `depth` candidates of each question, while load is put on it.

    One that runs here has an instance a thread: `instances` of [load] in an open loop, one a user in a closed loop.
    One that calls out takes as many questions at once as its `concurrency` says.  An endpoint takes all that comes:
    its `concurrency` spares a server in runs, and its client under load repeats nothing and holds nothing back.
    Raises   InputError with file and line of one that cannot be made; StageError.
    """

    def make() -> Reranker:
        with config.origin.locating("systems", system.name, "rerank"):
            reranker: Reranker = make_stage("rerank", system.rerank, config.base)
        return reranker

    first = make()
    calls_out = hasattr(first, "concurrency")
    with ExitStack() as stack:
        asked, limit = first, concurrency_of(first)
        if isinstance(first, Endpoint):
            asked, limit = first.directly(config.timeout), None
            stack.callback(asked.close)
        crew = _Instances(asked, make, candidates, depth, shared=calls_out)
        load_instances = 1 if config.load is None else config.load.instances
        yield LoadedSystem(
            system.name, depth, crew.ask, {id: candidates.queries[id] for id in candidates.searched},
            workers=limit if calls_out else load_instances,
            users_at_once=limit if calls_out else None, digest=describe(first).digest,
            tokens=PairTokens.of(first, candidates, depth), prepare=crew.prepare,
        )  # fmt: skip


class _Instances:
    """A reranker as something to ask, by one thread an instance, or by all."""

    def __init__(
        self, first: Reranker, make: Callable[[], Reranker], candidates: Candidates, depth: int, *, shared: bool
    ) -> None:
        self._make, self._candidates, self._depth = make, candidates, depth
        self._shared = RerankerCalls(first, candidates, depth) if shared else None
        self._rerankers = [first]
        self._instances = Instances(self._next)

    def _next(self) -> RerankerCalls:
        return RerankerCalls(self._rerankers.pop() if self._rerankers else self._make(), self._candidates, self._depth)

    def ask(self, query_id: str, query: str) -> Served:
        """Ask an instance that is idle."""
        if self._shared is not None:
            return self._shared(query_id, query)
        with self._instances.borrowed() as calls:
            return calls(query_id, query)

    def prepare(self, n: int) -> None:
        """Have n instances, each of which was asked once, so that its model is loaded; one that is shared is warm."""
        if self._shared is not None:
            return
        query_id = self._candidates.searched[0]
        with ExitStack() as stack:
            for calls in [stack.enter_context(self._instances.borrowed()) for _ in range(n)]:
                with suppress(Exception):  # What fails under load is counted there.
                    calls(query_id, self._candidates.queries[query_id])


def _target_system(system: BenchSystem, config: BenchConfig) -> TargetSystem:
    with config.origin.locating("systems", system.name):
        return TargetSystem.read(
            Config.of({"target": dict(system.target or {}), "name": system.name}, base=config.base)
        )


def _asking_function(target: FunctionTarget, k: int) -> Ask:
    def ask(query_id: str, query: str) -> Served:
        heard = list[float]()
        target(query, k, heard=heard)
        answered_at = perf_counter()
        return Served(answered_at=answered_at, streamed=Streamed(heard[0], heard[-1], len(heard)) if heard else None)

    return ask


def _asking_address(target: HTTPTarget, service: DirectService, k: int) -> Ask:
    def ask(query_id: str, query: str) -> Served:
        target(query, k)
        return Served(answered_at=service.answered_at)

    return ask


def _asking_pipeline(ask_pipeline: Callable[[str], Response]) -> Ask:
    def ask(query_id: str, query: str) -> Served:
        latency_ms = ask_pipeline(query).latency_ms
        return Served(stages_ms={stage: ms for stage, ms in latency_ms.items() if stage != "total"})

    return ask


_FIRST = 3
"""So many questions are asked of a system that does not answer the first one, which may be at fault itself."""
_OF_QUESTION = re.compile(r"[0-9]+|'[^']*'")
"""What differs between errors that are alike: counts, ids and texts of questions."""


def first_answers(systems: Sequence[LoadedSystem], timeout_s: float) -> dict[str, Request]:
    """The answer of each system to its first question, by its name; it is absent where errors of several ones differ.

    Raises   StageError naming all systems that answer none of the first questions, as with a wrong address, key, model
             or shape, each with its error.
    """
    answers, errors = dict[str, Request](), dict[str, str]()
    for system in systems:
        failures = list[Request]()
        caller = PatientCaller(timeout_s)
        try:
            for number, (query_id, query) in enumerate(islice(system.queries.items(), _FIRST)):
                request = caller.send(system.ask, query_id, query, number=number)
                if request.outcome == "ok":
                    answers[system.name] = request
                    break
                failures.append(request)
                if request.outcome == "timeout":
                    break
        finally:
            caller.close()
        alike = {_OF_QUESTION.sub("", request.error or "") for request in failures}
        if system.name not in answers and len(alike) == 1:
            n = len(failures)
            which = "the first request was not answered" if n == 1 else f"none of the first {n} requests was answered"
            errors[system.name] = f"{system.name}: {which}: {failures[0].error}"
    raise_all([*errors.values()], f"{len(errors)} of {len(systems)} systems do not answer, and nothing was measured")
    return answers
