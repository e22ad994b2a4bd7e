"""What chats take: the bodies of their webhooks within their limits, and the signatures that they ask for.

Sources: Slack, "Block Kit" (header 150 characters, section 3,000, 50 blocks) and "Formatting message text"; Feishu,
"Custom bot usage guide" (20 KB a request); DingTalk, "Custom robots" (20,000 bytes a message).
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Iterator
from typing import Any

from steelyard.monitoring.sinks.message import MARK, Message, cut
from steelyard.services.addresses import one_line

_HEADER, _SECTION, _SECTIONS = 150, 3_000, 49
_TITLE = 200
"""Characters of a title that are plenty for a line, where a chat sets no limit of its own."""
_BYTES = 19_500
"""Of a body for Feishu or DingTalk: below both of their limits, also where a KB is 1,000 bytes."""
_LANGUAGES = {"en": "en_us", "zh": "zh_cn"}


def body_of(payload: Any) -> bytes:
    """The bytes of a JSON body, the same for the same payload."""
    return json.dumps(payload, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode(
        errors="backslashreplace"
    )


def hex_signature(secret: str, timestamp: str, body: bytes) -> str:
    """HMAC-SHA-256 of the timestamp, a full stop and the body, in hexadecimal.

    >>> hex_signature("secret", "1767225600", b"{}")[:16]
    'fa7eaa06bf97d781'
    """
    return hmac.new(secret.encode(), f"{timestamp}.".encode() + body, hashlib.sha256).hexdigest()


def slack_payload(message: Message) -> dict[str, Any]:
    """A header and sections of text; nothing in them mentions people, and no address becomes a link by itself."""
    title = _title(message, _HEADER)
    blocks = [{"type": "header", "text": {"type": "plain_text", "text": title, "emoji": False}}]
    sections = list(_sections(message))
    if len(sections) > _SECTIONS:
        last = sections[_SECTIONS - 1]
        sections = [*sections[: _SECTIONS - 1], cut(f"{last}\n", lambda text: text.endswith(MARK) and _fits(text))]
    texts = ({"type": "mrkdwn", "text": _escaped(section), "verbatim": True} for section in sections)
    return {"text": _escaped(title), "blocks": [*blocks, *({"type": "section", "text": text} for text in texts)]}


def _sections(message: Message) -> Iterator[str]:
    """The lines, as many together as a section takes."""
    section = ""
    for line in message.lines:
        line = cut(line, _fits)
        together = f"{section}\n{line}" if section else line
        if not _fits(together):
            yield section
            together = line
        section = together
    if section:
        yield section


def _fits(text: str) -> bool:
    return _utf16(_escaped(text)) <= _SECTION


def _utf16(text: str) -> int:
    """Characters as JavaScript counts them."""
    return len(text.encode("utf-16-le", "replace")) // 2


def _escaped(text: str) -> str:
    """The text without the signs that Slack reads as mentions and links."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def feishu_payload(message: Message, secret: str | None, seconds: int) -> dict[str, Any]:
    """A post of lines of plain text; `seconds` since 1970 are signed."""
    signature = {} if secret is None else {"timestamp": str(seconds), "sign": feishu_signature(secret, seconds)}

    def payload(text: str) -> dict[str, Any]:
        lines = [[{"tag": "text", "text": line}] for line in text.splitlines()]
        post = {_LANGUAGES[message.lang]: {"title": _title(message), "content": lines}}
        return {**signature, "msg_type": "post", "content": {"post": post}}

    return payload(cut(message.text, lambda text: len(body_of(payload(text))) <= _BYTES))


def feishu_signature(secret: str, seconds: int) -> str:
    """HMAC-SHA-256 of nothing, with the time and the secret as its key, in Base64.

    >>> feishu_signature("secret", 1767225600)[:16]
    'wX758XZ/EWLFBzns'
    """
    key = f"{seconds}\n{secret}".encode()
    return base64.b64encode(hmac.new(key, b"", hashlib.sha256).digest()).decode()


def dingtalk_payload(message: Message) -> dict[str, Any]:
    """Plain text, the title in its first line; it mentions no one."""

    def payload(text: str) -> dict[str, Any]:
        return {"msgtype": "text", "text": {"content": f"{_title(message)}\n{text}".rstrip()}}

    return payload(cut(message.text, lambda text: len(body_of(payload(text))) <= _BYTES))


def dingtalk_signature(secret: str, milliseconds: int) -> str:
    """HMAC-SHA-256 of the time and the secret, with the secret as its key, in Base64.

    >>> dingtalk_signature("secret", 1767225600000)[:16]
    '1fw8BpCOyotKc7DG'
    """
    content = f"{milliseconds}\n{secret}".encode()
    return base64.b64encode(hmac.new(secret.encode(), content, hashlib.sha256).digest()).decode()


def _title(message: Message, most: int = _TITLE) -> str:
    return cut(one_line(message.title), lambda text: _utf16(text) <= most)
