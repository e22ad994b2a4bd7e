"""Rerankers asked in turn: what is timed, what is counted, and what becomes of calls that fail or take too long."""

import threading
import time
from collections.abc import Sequence

import polars as pl
import pytest

import steelyard as sy
from steelyard.bench.candidates import Candidates
from steelyard.bench.frames import REQUESTS
from steelyard.bench.load.calling import PairTokens, PatientCaller, RerankerCalls, call_in_turn
from steelyard.bench.load.served import Request, Served
from steelyard.rag.protocols import Reranked
from steelyard.rag.stages.reranking import Lexical
from steelyard.services.announcements import Usage

CANDIDATES = Candidates(
    "bm25",
    ["q1", "q2", "q3"],
    {"q1": "what is d", "q2": "who"},
    doc_ids={"q1": ["a", "b", "d"], "q2": ["d"], "q3": []},
    texts={"a": "a" * 40, "b": "b", "d": "it is d"},
)


class Lengths:
    """Scores by length, and tokens by characters."""

    max_tokens = 20

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        return [float(len(text)) for text in texts]

    def pair_tokens(self, query: str, texts: Sequence[str]) -> list[int]:
        return [len(query) + len(text) for text in texts]


class Metered(Lengths):
    def rerank(self, query: str, texts: Sequence[str]) -> Reranked:
        return Reranked(self.scores(query, texts), Usage(7, 2), 1.0)


class Short(Lengths):
    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        return super().scores(query, texts)[1:]


def block(reranker: Lengths, depth: int = 2, tokens: PairTokens | None = None) -> tuple[pl.DataFrame, RerankerCalls]:
    calls, caller = RerankerCalls(reranker, CANDIDATES, depth), PatientCaller(5.0)
    requests = call_in_turn(calls, list(CANDIDATES.queries.items()), caller)
    caller.close()
    return (tokens or PairTokens.of(reranker, CANDIDATES, 3).first(depth)).fill(requests), calls


def test_a_block() -> None:
    requests, calls = block(Lengths())
    assert requests.schema == REQUESTS
    assert calls.scores == {"q1": [40.0, 1.0], "q2": [7.0]}
    columns = ["query_id", "outcome", "n_pairs", "n_truncated", "tokens_in", "tokens_out", "counted"]
    assert requests.select(columns).rows() == [
        ("q1", "ok", 2, 1, 20 + 10, None, "tokenizer"),
        ("q2", "ok", 1, 0, 10, None, "tokenizer"),
    ]
    assert (requests["intended_s"] == requests["sent_s"]).all()
    assert (requests["end_s"] >= requests["sent_s"]).all()
    assert (requests["sent_s"][1:] >= requests["end_s"][:-1]).all()


def test_a_server_accounts_for_itself() -> None:
    requests, _ = block(Metered())
    assert requests.select("tokens_in", "tokens_out", "counted", "search_units").rows() == [(7, 2, "server", 1.0)] * 2


def test_without_a_tokenizer_tokens_are_estimates() -> None:
    tokens = PairTokens.of(Lexical(), CANDIDATES, 3)
    # 9 letters of the question are 3 tokens, 40 of the text 10.
    assert tokens.counts == {"q1": [3 + 10, 3 + 1, 3 + 2], "q2": [1 + 2]}
    requests, _ = block(Lengths(), tokens=tokens.first(2))
    assert requests.select("tokens_in", "counted", "n_truncated").rows() == [
        (17, "estimate", None),
        (3, "estimate", None),
    ]


def test_known_tokens() -> None:
    """50 documents of 300 tokens and a question of 20 are 16,000 tokens."""
    texts = {f"d{n}": "word " * 240 for n in range(50)}
    candidates = Candidates("run", ["q"], {"q": "a" * 80}, doc_ids={"q": list(texts)}, texts=texts)
    tokens = PairTokens.of(Lexical(), candidates, 50)
    assert sum(tokens.counts["q"]) == 16_000


def test_what_fails_is_recorded() -> None:
    requests, calls = block(Short())
    assert requests["outcome"].to_list() == ["error", "error"]
    assert requests["error"][0] == "reranker Short gave 1 scores for 2 texts; expected one a text"
    assert calls.scores == {}
    assert requests["tokens_in"].to_list() == [30, 10]


def test_a_reranker_that_miscounts_tokens_is_refused() -> None:
    class Miscounting(Lengths):
        def pair_tokens(self, query: str, texts: Sequence[str]) -> list[int]:
            return [1]

    with pytest.raises(sy.StageError, match="gave 1 counts for 3 texts"):
        PairTokens.of(Miscounting(), CANDIDATES, 3)


def test_who_does_not_answer_in_time_is_given_up() -> None:
    """The call that hangs holds up none of the later ones; one that is merely late makes way for them."""
    hang, caller = threading.Event(), PatientCaller(0.4)

    def ask(query_id: str, query: str) -> Served:
        if query_id == "hangs":
            hang.wait(30)
        if query_id == "late":
            time.sleep(0.5)
        return Served()

    requests = call_in_turn(ask, [(name, "?") for name in ("hangs", "late", "quick")], caller)
    assert requests["outcome"].to_list() == ["timeout", "timeout", "ok"]
    assert requests["error"][0] == "no answer within 0.4 s"
    assert requests["end_s"][0] - requests["sent_s"][0] == pytest.approx(0.4)
    assert requests["query_id"].to_list() == ["hangs", "late", "quick"]
    hang.set()


def test_what_the_tick_raises_ends_the_block() -> None:
    def stop(request: Request) -> None:
        raise KeyboardInterrupt

    caller = PatientCaller(5.0)
    with pytest.raises(KeyboardInterrupt):
        call_in_turn(lambda query_id, query: Served(), [("q1", "?")], caller, tick=stop)
    caller.close()
