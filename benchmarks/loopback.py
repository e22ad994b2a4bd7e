"""A server of a process of its own that plays endpoints, and waits before each answer."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from multiprocessing.connection import Connection
from typing import Any


@dataclass(frozen=True)
class Refusal:
    """An answer other than a good one: a status, its Retry-After, and silence before it."""

    status: int = 200
    retry_after_s: float | None = None
    stall_s: float = 0.0


Answers = Mapping[str, Callable[[Any], Any]]
"""What each path answers to a decoded body: what is sent as JSON, or a Refusal."""


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, answers: Answers, call_s: float) -> None:
    """All requests of one connection, each after a wait."""
    try:
        while head := await reader.readuntil(b"\r\n\r\n"):
            path = head.split(b" ", 2)[1].decode()
            length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
            body = json.loads(await reader.readexactly(length))
            await asyncio.sleep(call_s)
            value = answers[path](body)
            refusal = value if isinstance(value, Refusal) else Refusal()
            await asyncio.sleep(refusal.stall_s)
            payload = json.dumps(None if isinstance(value, Refusal) else value).encode()
            writer.write(b"HTTP/1.1 %d %s\r\n" % (refusal.status, HTTPStatus(refusal.status).phrase.encode()))
            if refusal.retry_after_s is not None:
                writer.write(b"Retry-After: %g\r\n" % refusal.retry_after_s)
            writer.write(b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(payload) + payload)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


def serve(ready: Connection, answers: Answers, call_s: float) -> None:
    async def listen() -> None:
        server = await asyncio.start_server(lambda r, w: answer(r, w, answers, call_s), "127.0.0.1", 0, backlog=1024)
        ready.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(listen())


@contextmanager
def serving(answers: Answers, call_s: float) -> Iterator[str]:
    """The address of the endpoints, for as long as the block lasts."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=serve, args=(theirs, answers, call_s), daemon=True)
    process.start()
    try:
        yield f"http://127.0.0.1:{ours.recv()}"
    finally:
        process.terminate()
        process.join()
