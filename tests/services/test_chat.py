"""Chat models by their address: text, tokens, why nothing was said, and parameters that a server does not take."""

import asyncio
import threading
import time
from collections.abc import Iterator

import pytest

from steelyard.base.errors import StageError
from tests.rag.server import Fault, Server, change, put, serving, stall, status

pytest.importorskip("httpx2", reason="the extra 'endpoints' is not installed")

from steelyard.services.announcements import Attempt, Usage
from steelyard.services.http.client import ServiceError
from steelyard.services.models.chat import ChatModel, Reply, SilentError, refused_parameters

PATH = "/v1/chat/completions"
QUICK = {"timeout_s": 5.0, "attempts": 3, "wait_initial_s": 0.001, "wait_max_s": 0.02}
MESSAGES = [{"role": "user", "content": "See [h#2]."}]
FORMAT = {"type": "json_schema", "json_schema": {"name": "any", "schema": {}}}
OPTIONAL = ("temperature", "response_format")


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as server:
        yield server


def model(server: Server, **settings: object) -> ChatModel:
    return ChatModel(**{"model": "m", "base_url": server.base_url, **QUICK, **settings})


def said(**more: object) -> Fault:
    """The good answer with other keys of the choice or, as `usage`, of the whole."""
    whole = {key: more.pop(key) for key in ("usage",) if key in more}
    return change(lambda answer: {**answer, **whole, "choices": [{**answer["choices"][0], **more}]})


def test_text_reason_and_tokens_are_read(server: Server) -> None:
    server.script(PATH, said(usage={"prompt_tokens": 12, "completion_tokens": 3}, finish_reason="length"), None)
    assert model(server).ask(MESSAGES) == Reply("It says so [h#2].", "length", Usage(12, 3))
    assert model(server).ask(MESSAGES) == Reply("It says so [h#2].", "stop", None)


@pytest.mark.parametrize("usage", [None, 3, {}, {"prompt_tokens": 1}, {"prompt_tokens": -1, "completion_tokens": 2}])
def test_tokens_that_make_no_sense_are_unknown(server: Server, usage: object) -> None:
    server.script(PATH, said(usage=usage))
    assert model(server).ask(MESSAGES).usage is None


@pytest.mark.parametrize(
    ("fault", "cause"),
    [
        (said(finish_reason="content_filter"), "content_filter"),
        (said(message={"content": None, "refusal": "I cannot."}), "refusal"),
        (said(message={"content": " "}), "no_text"),
        (said(message=None), "no_text"),
    ],
)
def test_no_text_has_a_cause(server: Server, fault: Fault, cause: str) -> None:
    server.script(PATH, fault)
    with pytest.raises(SilentError) as caught:
        model(server).ask(MESSAGES)
    assert caught.value.cause == cause


def test_tokens_of_a_refusal_are_counted(server: Server) -> None:
    usage = {"prompt_tokens": 9, "completion_tokens": 1}
    server.script(PATH, said(message={"refusal": "no"}, usage=usage))
    with pytest.raises(SilentError) as caught:
        model(server).ask(MESSAGES)
    assert caught.value.usage == Usage(9, 1)


def ask(chat: ChatModel, *, optional: tuple[str, ...] = OPTIONAL, attempts: list[Attempt] | None = None) -> Reply:
    listener = (attempts if attempts is not None else []).append
    return asyncio.run(chat.ask_async(MESSAGES, response_format=FORMAT, optional=optional, listener=listener))


def test_what_a_server_does_not_take_is_left_out_from_then_on(server: Server) -> None:
    chat = model(server, seed=7)
    server.script(PATH, status(400, '{"error": {"message": "Unsupported value: \'temperature\' is 1"}}'))
    ask(chat)
    ask(chat)
    sent = [sorted(request.body) for request in server.seen(PATH)]
    without = ["messages", "model", "response_format", "seed"]
    assert sent == [sorted([*without, "temperature"]), without, without]
    assert chat.untaken == {"temperature"}


def test_a_refusal_without_a_word_is_taken_for_the_format(server: Server) -> None:
    chat = model(server)
    server.script(PATH, status(422, "no"))
    ask(chat)
    assert "response_format" not in server.seen(PATH)[-1].body
    server.script(PATH, status(400, "no"))
    with pytest.raises(ServiceError, match="answered 400"):
        ask(chat)


def test_a_format_that_was_taken_is_not_given_up_for_a_text_that_is_not(server: Server) -> None:
    chat = model(server)
    ask(chat)
    server.script(PATH, status(400, "the text is too long"))
    with pytest.raises(ServiceError, match="answered 400"):
        ask(chat)
    ask(chat)
    assert all("response_format" in request.body for request in server.seen(PATH))


def test_only_optional_parameters_are_left_out(server: Server) -> None:
    server.always(PATH, status(400, "no temperature, please"))
    with pytest.raises(ServiceError) as caught:
        ask(model(server), optional=())
    assert (caught.value.reason, caught.value.body) == (400, "no temperature, please")
    assert len(server.seen(PATH)) == 1


def test_a_refusal_of_another_kind_leaves_nothing_out() -> None:
    error = ServiceError("", 404, "temperature")
    assert refused_parameters(error, OPTIONAL) == set()


def test_each_attempt_is_reported(server: Server) -> None:
    server.script(PATH, status(500), status(429, Retry_After="0"), None)
    attempts: list[Attempt] = []
    ask(model(server), attempts=attempts)
    assert [(attempt.number, attempt.outcome) for attempt in attempts] == [(1, 500), (2, 429), (3, 200)]
    assert all(attempt.ms > 0 and abs(attempt.began - time.time()) < 60 for attempt in attempts)


def test_a_timeout_is_reported(server: Server) -> None:
    server.always(PATH, stall(5))
    attempts: list[Attempt] = []
    with pytest.raises(StageError, match=r"within 0\.05 s after 2 attempts"):
        ask(model(server, timeout_s=0.05, attempts=2), attempts=attempts)
    assert [attempt.outcome for attempt in attempts] == ["timeout", "timeout"]


def test_a_key_that_a_server_sends_back_is_in_no_reply(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "sk-secret/+")
    server.script(PATH, said(message={"content": "It is\n  sk-secret/+, or sk-secret%2F%2B."}))
    assert model(server, api_key_env="MY_KEY").ask(MESSAGES).text == "It is\n  [key], or [key]."


def test_a_key_is_in_no_message(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "sk-secret")
    server.always(PATH, status(401, '{"error": "wrong key sk-secret"}'))
    with pytest.raises(ServiceError) as caught:
        model(server, api_key_env="MY_KEY").ask(MESSAGES)
    assert "sk-secret" not in f"{caught.value} {caught.value.body}"
    assert "check the key in MY_KEY" in str(caught.value)


def test_no_more_go_at_once_than_may(server: Server) -> None:
    class Counting(Server):
        def take(self, request):
            with lock:
                under_way.add(threading.get_ident())
                most.append(len(under_way))
            time.sleep(0.02)
            with lock:
                under_way.discard(threading.get_ident())
            return super().take(request)

    lock, under_way, most = threading.Lock(), set[int](), list[int]()

    async def ask_all(chat: ChatModel) -> None:
        await asyncio.gather(*(chat.ask_async(MESSAGES) for _ in range(12)))

    with serving(Counting) as counting:
        asyncio.run(ask_all(model(counting, concurrency=3)))
    assert max(most) == 3


def test_a_list_that_is_none_is_an_error(server: Server) -> None:
    server.script(PATH, put("text", "choices"))
    with pytest.raises(StageError, match="without a list 'choices'"):
        model(server).ask(MESSAGES)
