"""Systems of the user's own: functions, and endpoints played by a real server on loopback."""

import asyncio
import gc
import json
import math
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.base.errors import InputError, StageError
from steelyard.data.corpus import Passage
from steelyard.data.responses import Response
from steelyard.rag.own.targets import HTTPTarget, callable_target
from tests.hypothesis_profiles import examples
from tests.rag.server import DOCUMENTS, MALFORMED, Fault, Server, put, stall, status

CASES = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "cases" / "target_results.jsonl").read_text("utf-8").splitlines()
]
QUICK: dict[str, Any] = {"timeout_s": 5.0, "attempts": 3, "wait_initial_s": 0.001, "wait_max_s": 0.02}
KEY = "sk-secret0123456789"


def given_back(results: Any, **more: Any) -> Response:
    return callable_target(lambda query: results, **more)("why?", 10)


def passage(
    id: str,
    score: float | None = None,
    text: str | None = None,
    doc: str | None = None,
    start: int | None = None,
    end: int | None = None,
    pages: list[int] | None = None,
) -> Passage:
    """A passage by the names that items of outputs have."""
    return Passage(id, doc, start, end, text, score, None if pages is None else tuple(pages))


@pytest.mark.parametrize("case", CASES, ids=[case["label"] for case in CASES])
def test_results_of_every_form(case: dict[str, Any]) -> None:
    texts = case.get("texts", False)
    if "error" in case:
        with pytest.raises(StageError, match=re.escape(case["error"])):
            given_back(case["input"], texts=texts)
    else:
        want = tuple(passage(**item) for item in case["want"])
        assert given_back(case["input"], texts=texts) == Response("why?", want, case.get("answer"))


BY_BOTH = [case for case in CASES if case.get("only") != "function"]
"""An endpoint has one name for its results and one for its answer."""


@pytest.mark.parametrize("case", BY_BOTH, ids=[case["label"] for case in BY_BOTH])
def test_an_endpoint_is_understood_like_a_function(endpoint: Server, case: dict[str, Any]) -> None:
    found = case["input"]
    names = {} if isinstance(found, dict) else {"results_field": ""}
    if isinstance(found, dict):
        names["results_field"] = next((n for n in ("retrieved", "results", "documents", "contexts") if n in found), "x")
    endpoint.always("/search", Fault(body=json.dumps(found)))
    target = HTTPTarget(endpoint.url + "/search", texts=case.get("texts", False), **names, **QUICK)
    if "want" in case:
        assert target("why?", 10) == Response(
            "why?", tuple(passage(**item) for item in case["want"]), case.get("answer")
        )
    else:
        with pytest.raises(StageError, match=r"^target: http://127.*/search .*; name its fields"):
            target("why?", 10)
    assert len(endpoint.seen("/search")) == 1


# Functions.


class Document:
    """As LangChain has it."""

    def __init__(self, page_content: str, metadata: Any = None, id: str | None = None) -> None:
        self.page_content, self.metadata, self.id = page_content, metadata or {}, id


@pytest.mark.parametrize(
    ("document", "want"),
    [
        (Document("bees", {"source": "d1.md", "start_index": 7}, "c1"), passage("c1", None, "bees", "d1.md", 7, 11)),
        (Document("bees", {"id": 4, "source": Path("d1.md")}), passage("4", None, "bees", "d1.md")),
        (Document("bees"), passage("text:23da0d3b0b5aa5ee", None, "bees")),
        (SimpleNamespace(page_content="bees", metadata={"id": "x"}), passage("x", None, "bees")),
        (SimpleNamespace(page_content="bees", id="x"), passage("x", None, "bees")),
        ((Document("bees", id="x"), np.float32(0.5)), passage("x", 0.5, "bees")),
    ],
)
def test_documents_with_page_content(document: Any, want: Passage) -> None:
    assert given_back([document]).passages == (want,)


def test_orders_of_other_kinds() -> None:
    want = (passage("d2"), passage("d1"))
    assert given_back(("d2", "d1")).passages == want
    assert given_back(np.array(["d2", "d1"])).passages == want
    assert given_back(name for name in ("d2", "d1")).passages == want
    assert given_back({"results": iter(["d2", "d1"])}).passages == want
    assert given_back(np.array([2, 1])).passages == (passage("2"), passage("1"))


@pytest.mark.parametrize("found", [{"d1", "d2"}, b"d1", object(), {"results": {"d1"}}])
def test_what_has_no_order(found: Any) -> None:
    with pytest.raises(StageError, match="as results; expected a list"):
        given_back(found)


@pytest.mark.parametrize("score", [math.nan, math.inf, np.float64("nan")])
def test_scores_are_finite(score: float) -> None:
    with pytest.raises(StageError, match=r"result 1 has .* as its score; expected a finite number"):
        given_back([("d1", score)])


def test_the_function_may_ask_for_k() -> None:
    def with_k(query: str, k: int = 3) -> list[str]:
        return [f"{query}{i}" for i in range(k)]

    assert len(callable_target(with_k)("q", 5).passages) == 5
    assert len(callable_target(lambda query: ["a", "b", "c"])("q", 2).passages) == 3  # Weighing cuts.
    assert callable_target(str.split)("d1 d2", 2).passages == (passage("d1"), passage("d2"))


def mine(query: str) -> list[str]:
    return [query]


class Mine:
    def search(self, query: str) -> list[str]:
        return [query]


RETRIEVER = Mine()


def test_a_function_by_its_name() -> None:
    assert callable_target("tests.rag.test_targets:mine")("d1", 5).passages == (passage("d1"),)
    assert callable_target("tests.rag.test_targets:RETRIEVER.search")("d1", 5).passages == (passage("d1"),)


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("tests.rag.test_targets:mime", "did you mean mine"),
        ("tests.rag.no_such_module:mine", "no module"),
        ("tests.rag.test_targets:KEY", "is str, not a function"),
        ("tests.rag.test_targets", "names no object; expected module:object"),
        ("../tests/rag/test_targets:mine", "is no name of a module; expected module:object, such as mysearch:search"),
        ("test_targets.py:mine", "is no name of a module"),
    ],
)
def test_a_name_without_a_function(name: str, found: str) -> None:
    with pytest.raises(InputError, match=found):
        callable_target(name)


def failing(query: str) -> list[str]:
    raise KeyError(query)


def failing_late(query: str) -> Iterator[str]:
    yield "d1"
    raise KeyError(query)


async def failing_async(query: str) -> list[str]:
    raise KeyError(query)


def without_parameters() -> list[str]:
    return []


@pytest.mark.parametrize("name", ["failing", "failing_late", "failing_async"])
def test_exceptions_of_the_function(name: str) -> None:
    line = globals()[name].__code__.co_firstlineno + (2 if name == "failing_late" else 1)
    with pytest.raises(StageError) as raised:
        callable_target(f"tests.rag.test_targets:{name}")("秤", 5)
    want = f"target tests.rag.test_targets:{name}: raised KeyError: '秤' ({__file__}:{line}); mend it, then run again"
    assert str(raised.value) == want
    assert isinstance(raised.value.__cause__, KeyError)


def test_exceptions_that_say_too_much_or_nothing() -> None:
    def loud(query: str) -> list[str]:
        raise ValueError("no\n" * 1000)

    def silent(query: str) -> list[str]:
        raise ValueError

    with pytest.raises(StageError, match=r"loud: raised ValueError: (no ){100}… \("):
        callable_target(loud)("q", 5)
    with pytest.raises(StageError, match=r"silent: raised ValueError \("):
        callable_target(silent)("q", 5)


class Torn:
    """A document whose text cannot be had."""

    @property
    def page_content(self) -> str:
        raise ValueError("no text")


def test_exceptions_of_what_it_gave() -> None:
    with pytest.raises(StageError, match=r"raised ValueError: no text \(.*test_targets"):
        given_back([Torn()])


def test_a_call_that_does_not_fit() -> None:
    with pytest.raises(InputError, match=r"without_parameters' takes \(\) -> list\[str\]; expected a query"):
        callable_target(without_parameters)


def test_errors_of_our_stages_and_ctrl_c_pass() -> None:
    def stage_failed(query: str) -> list[str]:
        raise StageError("rerank: failed")

    def stopped(query: str) -> list[str]:
        raise KeyboardInterrupt

    with pytest.raises(StageError, match=r"^rerank: failed$"):
        callable_target(stage_failed)("q", 5)
    with pytest.raises(KeyboardInterrupt):
        callable_target(stopped)("q", 5)


class Async:
    """A client that belongs to the loop in which it was first used, as real ones do."""

    def __init__(self) -> None:
        self.loops: list[asyncio.AbstractEventLoop] = []

    async def __call__(self, query: str, k: int) -> list[str]:
        await asyncio.sleep(0)
        self.loops.append(asyncio.get_running_loop())
        return [query] * (k > 0)


def test_async_functions_share_one_loop() -> None:
    client = Async()
    target = callable_target(client)
    assert [target(name, 5).passages[0].chunk_id for name in ("d1", "d2")] == ["d1", "d2"]
    assert client.loops[0] is client.loops[1]


def test_async_functions_run_within_a_running_loop() -> None:
    async def notebook() -> Response:
        return callable_target(Async())("d1", 5)

    assert asyncio.run(notebook()).passages == (passage("d1"),)


def test_async_functions_run_from_many_threads() -> None:
    target, found = callable_target(Async()), []
    threads = [threading.Thread(target=lambda i=i: found.append(target(f"d{i}", 5))) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answer.passages[0].chunk_id for answer in found) == [f"d{i}" for i in range(8)]


@pytest.mark.usefixtures("frozen_objects")
def test_the_loop_ends_with_its_target() -> None:
    others = set(threading.enumerate())
    target = callable_target(Async())
    target("d1", 5)
    (loop,) = (thread for thread in set(threading.enumerate()) - others if thread.name == "steelyard-target")
    del target
    gc.collect()
    assert not loop.is_alive()


@examples(100)
@given(st.lists(st.text(min_size=1), unique=True), st.lists(st.floats(allow_nan=False, allow_infinity=False)))
def test_ids_and_scores_come_through_as_they_are(ids: list[str], scores: list[float]) -> None:
    n = min(len(ids), len(scores))
    pairs = list(zip(ids[:n], scores[:n], strict=True))
    want = tuple(passage(id_, score) for id_, score in pairs)
    assert given_back(pairs).passages == want
    assert given_back([{"id": id_, "score": score} for id_, score in pairs]).passages == want


@examples(100)
@given(st.lists(st.text(st.characters(codec=None)), unique=True))
def test_texts_have_ids_of_their_own(texts: list[str]) -> None:
    found = given_back(texts, texts=True).passages
    assert [item.text for item in found] == texts
    assert len({item.chunk_id for item in found}) == len(texts)
    assert all(re.fullmatch("text:[0-9a-f]{16}", item.chunk_id) for item in found)


# Endpoints.


@pytest.fixture
def endpoint(server: Server) -> Server:
    pytest.importorskip("httpx2", reason="the extra 'endpoints' is not installed")
    return server


def test_an_endpoint(endpoint: Server) -> None:
    answer = HTTPTarget(endpoint.url + "/search", **QUICK)("what weighs the load", 5)
    first = answer.passages[0]
    assert first == passage("d0#1", 0.75, DOCUMENTS[0], "d0", 0, len(DOCUMENTS[0]))
    assert len(answer.passages) == 3
    assert answer.answer == "See [d0#1]."
    (request,) = endpoint.seen("/search")
    assert (request.method, request.body) == ("POST", {"query": "what weighs the load"})


def test_k_is_sent_where_it_has_a_name(endpoint: Server) -> None:
    assert len(HTTPTarget(endpoint.url + "/search", k_field="k", **QUICK)("weighs", 2).passages) == 2
    assert endpoint.seen("/search")[0].body == {"query": "weighs", "k": 2}


def test_get(endpoint: Server) -> None:
    target = HTTPTarget(
        endpoint.url + "/search?lang=zh", method="GET", k_field="k", body={"mode": "fast & 好"}, **QUICK
    )
    assert len(target("秤 & 砣?", 2).passages) == 2
    (request,) = endpoint.seen("/search")
    assert (request.method, request.body) == ("GET", {"lang": "zh", "mode": "fast & 好", "query": "秤 & 砣?", "k": "2"})


def test_post_keeps_the_query_of_its_address(endpoint: Server) -> None:
    endpoint.always("/search", status(400))
    with pytest.raises(StageError, match=rf"^target: {endpoint.url}/search answered 400"):
        HTTPTarget(endpoint.url + "/search?token=hidden", **QUICK)("q", 5)


NESTED = {
    "took": 3,
    "hits": {
        "total": 1,
        "hits": [{"_id": "d1#1", "_score": 2.5, "_source": {"text": "bees", "at": [3, 7], "doc": "d1"}}],
    },
    "choices": [{"text": "Because."}],
}


def test_fields_within_fields(endpoint: Server) -> None:
    endpoint.always("/search", Fault(body=json.dumps(NESTED)))
    body = {"query": {"match": {"fuzzy": True}}, "size": 1}
    target = HTTPTarget(
        endpoint.url + "/search",
        query_field="query.match.text",
        k_field="size",
        body=body,
        results_field="hits.hits",
        answer_field="choices.0.text",
        id_field="_id",
        score_field="_score",
        text_field="_source.text",
        doc_field="_source.doc",
        start_field="_source.at.0",
        end_field="_source.at.1",
        **QUICK,
    )
    want = (passage("d1#1", 2.5, "bees", "d1", 3, 7),)
    assert [target(query, 5) for query in ("why", "how")] == [
        Response("why", want, "Because."),
        Response("how", want, "Because."),
    ]
    assert [request.body for request in endpoint.seen("/search")] == [
        {"query": {"match": {"fuzzy": True, "text": query}}, "size": 5} for query in ("why", "how")
    ]
    assert body == {"query": {"match": {"fuzzy": True}}, "size": 1}


@pytest.mark.parametrize(
    ("field", "found"),
    [
        ("results", "answered no 'results': it has took, hits, choices; name"),
        ("hits.results", "answered no 'hits.results': it has total, hits under 'hits'; name"),
        ("choices.1", "answered no 'choices.1': it has list under 'choices'; name"),
        ("took.x", "answered no 'took.x': it has int 3 under 'took'; name"),
        ("hits", "gave dict as results; expected a list; name"),
    ],
)
def test_results_that_are_not_there(endpoint: Server, field: str, found: str) -> None:
    endpoint.always("/search", Fault(body=json.dumps(NESTED)))
    with pytest.raises(StageError, match=re.escape(f"target: {endpoint.url}/search {found}")):
        HTTPTarget(endpoint.url + "/search", results_field=field, **QUICK)("why", 5)


def test_an_endpoint_is_asked_again_where_that_helps(endpoint: Server) -> None:
    endpoint.script("/search", status(500), status(429, Retry_After="0"), stall(0.6))
    target = HTTPTarget(endpoint.url + "/search", **{**QUICK, "timeout_s": 0.25, "attempts": 4})
    assert target("weighs", 5).passages
    assert len(endpoint.seen("/search")) == 4


@pytest.mark.parametrize(
    ("fault", "found", "n"),
    [
        (status(500), "answered 500 .* after 3 attempts", 3),
        (status(404), "answered 404 .* after 1 attempt", 1),
        (status(401), "after 1 attempt: .* headers_env$", 1),
        (MALFORMED, "malformed JSON", 1),
        (put(math.nan, "results", 0, "score"), "result 1 has float nan as its score", 1),
        (put(None, "results"), "gave nothing as results", 1),
    ],
)
def test_an_endpoint_that_fails(endpoint: Server, fault: Fault, found: str, n: int) -> None:
    endpoint.always("/search", fault)
    with pytest.raises(StageError, match=rf"^target: {endpoint.url}/search .*{found}"):
        HTTPTarget(endpoint.url + "/search", **QUICK)("weighs", 5)
    assert len(endpoint.seen("/search")) == n


def test_headers_come_from_the_environment(endpoint: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEELYARD_TEST_KEY", f"Bearer {KEY}")
    target = HTTPTarget(endpoint.url + "/search", headers_env={"Authorization": "STEELYARD_TEST_KEY"}, **QUICK)
    target("weighs", 5)
    assert endpoint.seen("/search")[0].headers["authorization"] == f"Bearer {KEY}"
    endpoint.always("/search", status(401, f"bad key {KEY}, header Bearer {KEY}"))
    with pytest.raises(
        StageError, match=r": bad key \[key\], header Bearer \[key\]; check the key in STEELYARD_TEST_KEY$"
    ):
        target("weighs", 5)


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ({"headers_env": {"X-Key": "STEELYARD_TEST_UNSET"}}, "STEELYARD_TEST_UNSET, which is not set"),
        ({"method": "PUT"}, "method must be POST or GET, not 'PUT'"),
        ({"timeout_s": 0}, "timeout_s must be a number from"),
        ({"query_field": "a.b", "body": {"a": 1}}, "body has int 1 at 'a' of 'a.b'; expected a table there"),
    ],
)
def test_options_that_cannot_be(options: dict[str, Any], found: str) -> None:
    with pytest.raises(InputError, match=re.escape(found)):
        HTTPTarget("http://127.0.0.1/search", **options)


@pytest.mark.parametrize("url", ["search", "http://me:pw@host/search", "http://host/search#pw"])
def test_addresses_that_cannot_be(url: str) -> None:
    with pytest.raises(InputError, match=r"^url ") as raised:
        HTTPTarget(url)
    assert "pw" not in str(raised.value)
