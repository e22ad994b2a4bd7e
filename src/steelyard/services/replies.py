"""What a server answers: read piece by piece, unpacked, and never beyond a limit."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from email.message import Message

from steelyard.services.failures import Unanswered

_MB = 1_000_000
_BEGINNING = 64_000
"""Bytes of an answer that are enough for a message."""
_PACKED = {"gzip", "x-gzip", "deflate"}
_GZIP_OR_ZLIB = 32 + zlib.MAX_WBITS
ACCEPTED = "gzip, deflate"
"""What can be unpacked without ever holding more than the limit."""


@dataclass(frozen=True, slots=True)
class HTTPReply:
    """A whole answer, unpacked.

    headers   by names in small letters
    """

    status: int
    headers: Mapping[str, str]
    content: bytes

    @property
    def is_success(self) -> bool:
        """Whether the status is a 2xx."""
        return 200 <= self.status < 300

    @property
    def location(self) -> str | None:
        """The address that a redirect points to."""
        return self.headers.get("location") if 300 <= self.status < 400 else None

    @property
    def text(self) -> str:
        """The beginning of the content, as messages show it."""
        beginning = self.content[:_BEGINNING]
        described = Message()
        described["content-type"] = self.headers.get("content-type", "")
        try:
            return beginning.decode(described.get_content_charset("utf-8"), "replace")
        except LookupError:
            return beginning.decode("utf-8", "replace")


class ReplyReader:
    """Takes the content of an answer in, up to a limit, counted after unpacking.

    Of an answer that is no success the beginning is enough.
    """

    def __init__(self, status: int, headers: Iterable[tuple[str, str]], max_mb: float) -> None:
        self._status, self._max_mb = status, max_mb
        self._headers = {name.lower(): value for name, value in headers}
        self._is_refusal = not 200 <= status < 300
        self._left = _BEGINNING if self._is_refusal else round(max_mb * _MB)
        self._pieces: list[bytes] = []
        encoding = self._headers.get("content-encoding", "").strip().lower()
        if encoding not in {"", "identity", *_PACKED}:
            raise Unanswered(
                f"answered in the encoding {encoding!r}, which was not asked for", "have it answer gzip or plain JSON"
            )
        self._inflater = zlib.decompressobj(_GZIP_OR_ZLIB) if encoding in _PACKED else None

    def take(self, piece: bytes) -> bool:
        """Take the next piece; whether more is wanted.

        Raises   Unanswered beyond the limit, and for what cannot be unpacked.
        """
        if self._inflater is not None:
            try:
                piece = self._inflater.decompress(piece, self._left + 1)
            except zlib.error as error:
                raise Unanswered(
                    f"answered what is no {self._headers['content-encoding']} ({error})", "look into the server's log"
                ) from None
        self._left -= len(piece)
        self._pieces.append(piece)
        if self._left < 0 and not self._is_refusal:
            raise Unanswered(f"answered more than {self._max_mb:g} MB", "ask for less at once, or raise reply_max_mb")
        return self._left > 0 or not self._is_refusal

    def reply(self) -> HTTPReply:
        """What was taken."""
        return HTTPReply(self._status, self._headers, b"".join(self._pieces))
