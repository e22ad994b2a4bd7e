"""GitHub and GitLab on loopback, as far as comments on a request go."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

OWN, STRANGER = 7, 8


class CodeHost:
    """What a code host has seen.

    comments   of the request 5, oldest first
    calls      method and path of each
    keys       that were sent
    refuses    the status of everything that writes; None where it is done
    """

    def __init__(self) -> None:
        self.url = ""
        self.comments: list[dict[str, Any]] = []
        self.calls: list[str] = []
        self.keys: set[str] = set()
        self.refuses: int | None = None

    def add(self, body: str, *, author: int = STRANGER, association: str = "NONE", bot: bool = False) -> dict[str, Any]:
        number = len(self.comments) + 100
        self.comments.append({
            "id": number, "body": body, "html_url": f"https://host.test/5#{number}", "author": {"id": author},
            "user": {"type": "Bot" if bot else "User"}, "author_association": association,
        })  # fmt: skip
        return self.comments[-1]

    def answer(self, method: str, path: str, query: dict[str, list[str]], body: dict[str, str]) -> tuple[int, Any]:
        self.calls.append(f"{method} {path}")
        if path == "/user":
            return 200, {"id": OWN}
        if method == "GET" and path in {"/repos/o/r/issues/5/comments", "/projects/3/merge_requests/5/notes"}:
            size, page = int(query["per_page"][0]), int(query["page"][0])
            return 200, self.comments[size * (page - 1) : size * page]
        if self.refuses is not None:
            return self.refuses, {"message": "Resource not accessible by integration"}
        if method == "POST" and path in {"/repos/o/r/issues/5/comments", "/projects/3/merge_requests/5/notes"}:
            return 201, self.add(body["body"], author=OWN, bot=True)
        area, _, number = path.rpartition("/")
        known = {"PATCH": "/repos/o/r/issues/comments", "PUT": "/projects/3/merge_requests/5/notes"}
        for comment in self.comments:
            if known.get(method) == area and str(comment["id"]) == number:
                comment["body"] = body["body"]
                return 200, comment
        return 404, {"message": "Not Found"}


@contextmanager
def code_host() -> Iterator[CodeHost]:
    """A running one; its address is `url`."""
    host = CodeHost()

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            parts = urlsplit(self.path)
            body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
            host.keys |= {self.headers.get("Authorization") or self.headers.get("PRIVATE-TOKEN", "")}
            status, answer = host.answer(self.command, parts.path, parse_qs(parts.query), body)
            content = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PATCH = do_PUT = _answer  # noqa: N815

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        host.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield host
        server.shutdown()
        thread.join()
