"""One pipeline, asked by several threads at once."""

import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from steelyard.base.errors import StageError
from steelyard.data.responses import Response
from steelyard.rag.pipeline.pipeline import Pipeline
from steelyard.rag.stages.reranking import Lexical
from tests.rag.small import TEXTS, Common, Letters, Nearest, Stops

N_THREADS = 8
QUERIES = [f"{text} {number}" for number in range(20) for text in ("the whale", "slides the beam", "龙井茶来自哪里")]


class Slow(Stops):
    """Counts how often documents are cut, and gives other threads time to get in between."""

    calls = 0

    def spans(self, text: str) -> list[tuple[int, int]]:
        Slow.calls += 1
        time.sleep(0.01)
        return super().spans(text)


class Yielding(Letters):
    """Lets other threads in while it embeds a question."""

    def query(self, text: str) -> object:
        time.sleep(0.0005)
        return super().query(text)


def made(**options: object) -> Pipeline:
    stages = {"chunk": Stops(), "index": [Common(), Nearest()], "embed": Yielding(), "rerank": Lexical(stem="none")}
    return Pipeline(TEXTS, **{**stages, "generate": "extractive", "k": 3, **options})


def results(response: Response) -> tuple[object, ...]:
    """All but the times."""
    return response.query, response.passages, response.answer, response.candidates


def test_threads_get_what_one_after_the_other_gets() -> None:
    serial = [results(made().ask(query)) for query in QUERIES[:3]]
    serial += [results(response) for response in map(made().ask, QUERIES[3:])]
    pipeline = made()
    with ThreadPoolExecutor(N_THREADS) as pool:
        assert [results(response) for response in pool.map(pipeline.ask, QUERIES)] == serial
        passages = list(pool.map(pipeline.search, QUERIES))
    assert [tuple(found) for found in passages] == [found for _, found, *_ in serial]


def test_documents_are_prepared_once() -> None:
    Slow.calls = 0
    pipeline, gate = made(chunk=Slow()), threading.Barrier(N_THREADS)

    def prepare(_: int) -> list[str]:
        gate.wait()
        pipeline.prepare()
        return pipeline.chunks.ids

    with ThreadPoolExecutor(N_THREADS) as pool:
        ids = list(pool.map(prepare, range(N_THREADS)))
    assert Slow.calls == len(TEXTS)
    assert all(other == ids[0] for other in ids)


def test_a_session_may_be_asked_by_threads(tmp_path: Path) -> None:
    cache, counted = tmp_path / "cache.sqlite", Yielding()
    pipeline = made(embed=counted, cache=cache)
    with pipeline.session(QUERIES) as ask, ThreadPoolExecutor(N_THREADS) as pool:
        responses = list(pool.map(ask, QUERIES))
    assert [results(response) for response in responses] == [results(made().ask(query)) for query in QUERIES]
    assert sorted(counted._queries) == sorted(QUERIES)
    with made(embed=(second := Yielding()), cache=cache).session(QUERIES) as ask:
        again = [ask(query) for query in QUERIES]
    assert second._queries == []
    assert [r.latency_ms["embed"] for r in again] == [r.latency_ms["embed"] for r in responses]


def test_sessions_do_not_see_each_other(tmp_path: Path) -> None:
    """Questions that one session embedded are embedded anew outside of it: nothing is left behind in the pipeline."""
    counted = Yielding()
    pipeline = made(embed=counted, cache=tmp_path / "cache.sqlite")
    with pipeline.session(QUERIES[:2]) as ask:
        ask(QUERIES[0])
        pipeline.ask(QUERIES[0])
    pipeline.ask(QUERIES[0])
    assert counted._queries == [QUERIES[0]] * 3


@pytest.mark.parametrize("remembered", [0, 1, 50_000])
def test_a_memory_that_another_thread_clears_changes_nothing(remembered: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("steelyard.rag.stages.reranking._REMEMBERED", remembered)
    shared, texts = Lexical(stem="none"), list(TEXTS.values())
    expected = Lexical(stem="none").scores("the whale", texts)
    with ThreadPoolExecutor(N_THREADS) as pool:
        assert all(scores == expected for scores in pool.map(lambda _: shared.scores("the whale", texts), range(200)))


def test_what_a_stage_raises_reaches_its_own_thread_alone() -> None:
    class Fussy(Lexical):
        def scores(self, query: str, texts: Sequence[str]) -> list[float]:
            if "beam" in query:
                raise ValueError("no beams")
            return super().scores(query, texts)

    pipeline = made(rerank=Fussy(stem="none"))

    def ask(query: str) -> str:
        try:
            return str(len(pipeline.ask(query).passages))
        except StageError as error:
            return f"{error.stage}, {error.__cause__}"

    with ThreadPoolExecutor(N_THREADS) as pool:
        answers = list(pool.map(ask, QUERIES))
    assert answers == ["rerank, no beams" if "beam" in query else "3" for query in QUERIES]
