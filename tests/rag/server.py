"""A real HTTP server on 127.0.0.1 that plays the endpoints of a pipeline, and misbehaves where a test says so.

`with serving() as server:` starts one; tests take it as the fixture `server` (tests/rag/conftest.py).  Its paths:

    /v1/embeddings         OpenAI's shape; a vector counts the words and Chinese characters of its text
    /v1/chat/completions   OpenAI's shape; cites the first [doc#chunk] that the messages hold
    /rerank, /v1/rerank    Cohere's, Jina's and vLLM's shape; the score is the share of the query's words in the text
    /voyage/rerank         Voyage's
    /tei/rerank            TEI's
    /search                {query, k?} (POST) or ?query=...&k=... (GET) to {"results": [...], "answer": ...}, where a
                           result has id, score, text, doc, start, end

`server.script(path, fault, fault, ...)` makes the next requests to a path misbehave, one fault each; after them, and
where a fault is None, the path answers well.  `server.always(path, fault)` makes all of them misbehave.
`server.seen(path)` is what came.  Everything is deterministic.
"""

from __future__ import annotations

import hashlib
import json
import re
import socket
import threading
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

WIDTH = 256
DOCUMENTS = (
    "The steelyard weighs an unknown load against one known weight.",
    "A balance with two equal arms needs many weights.",
    "秤用一个已知的砣称未知的货物。",
    "Bees dance to tell where flowers are.",
)


@dataclass(frozen=True)
class Fault:
    """What a request gets instead of, or on the way to, a good answer.

    status, headers   of the response;   body   sent as it is, None for the good answer
    stall_s           silence before the answer;   cut   whether the connection ends amid the body
    change            makes another decoded answer of the good one
    """

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str | None = None
    stall_s: float = 0.0
    cut: bool = False
    change: Callable[[Any], Any] | None = None


def status(code: int, body: str = '{"error": {"message": "scripted"}}', **headers: str) -> Fault:
    """A status with a body; headers with _ for -."""
    return Fault(code, {name.replace("_", "-"): value for name, value in headers.items()}, body)


def stall(seconds: float) -> Fault:
    return Fault(stall_s=seconds)


def change(make: Callable[[Any], Any]) -> Fault:
    return Fault(change=make)


def put(value: Any, *path: str | int) -> Fault:
    """The good answer with another value at a path of keys and positions."""

    def make(answer: Any) -> Any:
        inner = answer
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = value
        return answer

    return Fault(change=make)


CUT = Fault(cut=True)
MALFORMED = Fault(body='{"results": [{"index": 0,')
WEB_PAGE = Fault(headers={"Content-Type": "text/html"}, body="<!DOCTYPE html><title>Welcome</title>")


@dataclass(frozen=True)
class Seen:
    """One request that came."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: Any


def words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9]+|[\u4e00-\u9fff]", text.lower())


def vector(text: str, width: int = WIDTH) -> list[float]:
    """Counts of words, each at a place that its hash names; the last number is there to be never all zero."""
    counts = [0.0] * width
    for word in words(text):
        counts[int.from_bytes(hashlib.blake2b(word.encode(), digest_size=4).digest()) % (width - 1)] += 1.0
    counts[-1] = 0.1
    return counts


def overlap(query: str, text: str) -> float:
    asked = set(words(query))
    return len(asked & set(words(text))) / max(len(asked), 1)


def embeddings(body: Any) -> Any:
    texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
    items = [
        {"object": "embedding", "index": i, "embedding": vector(text, body.get("dimensions") or WIDTH)}
        for i, text in enumerate(texts)
    ]
    usage = {"prompt_tokens": 1, "total_tokens": 1}
    # Last first: a client must go by the index.
    return {"object": "list", "model": body["model"], "data": items[::-1], "usage": usage}


def chat(body: Any) -> Any:
    cited = re.search(r"\[[^\[\]\s]+#\d+\]", " ".join(message["content"] for message in body["messages"]))
    content = f"It says so {cited.group()}." if cited else "I don't know."
    choice = {"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": "stop"}
    return {"id": "chat-1", "object": "chat.completion", "created": 0, "model": body["model"], "choices": [choice]}


def reranked(body: Any, texts: str, score: str) -> list[dict[str, Any]]:
    """Best first, as real servers answer."""
    items = [{"index": i, score: overlap(body["query"], text)} for i, text in enumerate(body[texts])]
    return sorted(items, key=lambda item: (-item[score], item["index"]))


def search(body: Any) -> Any:
    found = sorted(range(len(DOCUMENTS)), key=lambda i: (-overlap(body["query"], DOCUMENTS[i]), i))
    results = [
        {
            "id": f"d{i}#1",
            "score": overlap(body["query"], DOCUMENTS[i]),
            "text": DOCUMENTS[i],
            "doc": f"d{i}",
            "start": 0,
            "end": len(DOCUMENTS[i]),
        }
        for i in found[: int(body.get("k", 3))]
    ]
    return {"results": results, "answer": f"See [{results[0]['id']}]."}


ANSWERS: dict[str, Callable[[Any], Any]] = {
    "/v1/embeddings": embeddings,
    "/v1/chat/completions": chat,
    "/rerank": lambda body: {"results": reranked(body, "documents", "relevance_score")},
    "/v1/rerank": lambda body: {"results": reranked(body, "documents", "relevance_score")},
    "/voyage/rerank": lambda body: {"data": reranked(body, "documents", "relevance_score")},
    "/tei/rerank": lambda body: reranked(body, "texts", "score"),
    "/search": search,
}


class Server:
    """The endpoints, as a test sees them."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.base_url = f"{url}/v1"
        self.closing = threading.Event()
        self._lock = threading.Lock()
        self._seen: list[Seen] = []
        self._scripts: defaultdict[str, deque[Fault | None]] = defaultdict(deque)
        self._always: dict[str, Fault] = {}

    def script(self, path: str, *faults: Fault | None) -> None:
        """What the next requests to a path get; None is a good answer."""
        with self._lock:
            self._scripts[path].extend(faults)

    def always(self, path: str, fault: Fault | None) -> None:
        """What all requests to a path get that no script is for; None makes it well again."""
        with self._lock:
            self._always.pop(path, None)
            if fault is not None:
                self._always[path] = fault

    def seen(self, path: str) -> list[Seen]:
        """The requests to a path, in the order in which they came."""
        with self._lock:
            return [request for request in self._seen if request.path == path]

    def take(self, request: Seen) -> Fault:
        """Note a request, and say what it gets."""
        with self._lock:
            self._seen.append(request)
            script = self._scripts[request.path]
            fault = script.popleft() if script else self._always.get(request.path)
        return fault or Fault()


class _Listener(ThreadingHTTPServer):
    served: Server
    request_queue_size = 128  # Of five, a sixth connection at once waits for a second.

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.connections: set[socket.socket] = set()

    def process_request(self, request: Any, client_address: Any) -> None:
        self.connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self.connections.discard(request)
        super().shutdown_request(request)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    server: _Listener

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: a test's output is its own."""

    def handle(self) -> None:
        with suppress(ConnectionError):  # The client went away, as one does that has waited enough.
            super().handle()

    def finish(self) -> None:
        with suppress(ConnectionError):
            super().finish()

    def do_GET(self) -> None:
        self._answer(dict(parse_qsl(urlsplit(self.path).query)))

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        raw = self.rfile.read(length)
        if len(raw) < length:  # The client died.
            self.close_connection = True
            return
        self._answer(json.loads(raw) if raw else None)

    def _answer(self, body: Any) -> None:
        served, path = self.server.served, urlsplit(self.path).path
        fault = served.take(Seen(self.command, path, {k.lower(): v for k, v in self.headers.items()}, body))
        if fault.stall_s and served.closing.wait(fault.stall_s):
            self.close_connection = True
            return
        code, text = fault.status, fault.body
        if text is None and path in ANSWERS:
            good = ANSWERS[path](body)
            text = json.dumps(fault.change(good) if fault.change else good)
        elif text is None:
            code, text = 404, '{"detail": "Not Found"}'
        self._send(code, {"Content-Type": "application/json", **fault.headers}, text.encode(), cut=fault.cut)

    def _send(self, code: int, headers: Mapping[str, str], payload: bytes, *, cut: bool) -> None:
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload[: len(payload) // 2] if cut else payload)
        self.close_connection = self.close_connection or cut


@contextmanager
def serving(kind: type[Server] = Server) -> Iterator[Server]:
    """The server, for as long as the block lasts; it leaves no thread, socket or connection behind."""
    with _Listener() as listener:
        server = kind(f"http://127.0.0.1:{listener.server_address[1]}")
        listener.served = server
        thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.closing.set()
            listener.shutdown()
            thread.join()
            for connection in list(listener.connections):
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
