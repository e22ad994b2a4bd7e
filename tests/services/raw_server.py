"""A server of bytes, for answers that no library would send."""

from __future__ import annotations

import re
import socket
import ssl
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

CERTIFICATES = Path(__file__).parent / "certificates"


@contextmanager
def answering(*answers: bytes | Iterable[bytes], certificate: str | None = None) -> Iterator[tuple[str, list[bytes]]]:
    """Its address, and what came: each connection gets one answer, in pieces or whole, and is closed.

    certificate   of a server of https, by its name in the folder of certificates
    """
    came = list[bytes]()
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            for answer in answers:
                with suppress(OSError), _spoken(listener.accept()[0], certificate) as spoken:
                    came.append(_request(spoken))
                    for piece in [answer] if isinstance(answer, bytes) else answer:
                        spoken.sendall(piece)

        listener.settimeout(5)  # Else a test that fails would not end.
        thread = threading.Thread(target=serve)
        thread.start()
        scheme = "http" if certificate is None else "https"
        yield f"{scheme}://127.0.0.1:{listener.getsockname()[1]}/ask?lang=en", came
        thread.join()


def _request(spoken: socket.socket) -> bytes:
    """A whole request: a server that closes before it has read it all resets the connection."""
    came = b""
    while b"\r\n\r\n" not in came and came[:1] != b"\x16":  # With which TLS begins.
        if not (piece := spoken.recv(65536)):
            return came
        came += piece
    head, _, body = came.partition(b"\r\n\r\n")
    length = int((re.search(rb"(?i)\r\ncontent-length: (\d+)", head) or [b"", b"0"])[1])
    while len(body) < length and (piece := spoken.recv(65536)):
        body += piece
    return head + b"\r\n\r\n" + body


def _spoken(connection: socket.socket, certificate: str | None) -> socket.socket:
    if certificate is None:
        return connection
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATES / f"{certificate}.pem", CERTIFICATES / "key.pem")
    with connection:
        return context.wrap_socket(connection, server_side=True)


def http(body: bytes, status: str = "200 OK", *fields: str) -> bytes:
    """An answer with its length, and that the connection ends with it: else a client may ask again over it."""
    head = "\r\n".join([f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", "Connection: close", *fields, "", ""])
    return head.encode() + body
