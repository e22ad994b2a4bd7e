"""Text from the bytes of a file: in the encoding that is named, or not at all; an encoding is never guessed."""

from __future__ import annotations

import codecs
import re

from steelyard.base.errors import InputError
from steelyard.io.source import Source

_CANDIDATES = ("gb18030", "big5", "cp1252", "latin-1")
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# Tabs, line ends, form feeds, escapes and the end-of-file mark of DOS do occur in text.
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x19\x1c-\x1f]")
_DECLARED = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w.:-]+)", re.IGNORECASE)
_PRESCAN_BYTES = 1024  # how far browsers look for a declared encoding


def python_encoding(encoding: str) -> str:
    """The name by which Python calls an encoding.

    Raises   InputError for one that does not exist, or that turns text into no bytes.
    >>> python_encoding("GB18030")
    'gb18030'
    """
    try:
        "a".encode(encoding)
        return codecs.lookup(encoding).name
    except (LookupError, ValueError):
        raise InputError(f"there is no encoding {encoding!r}; try utf-8, gb18030, big5, utf-16 or latin-1") from None


def read_text(source: Source, *, encoding: str = "utf-8") -> str:
    """All text of a file, without a byte order mark; line ends stay as they are.

    encoding   what the file is in; bytes that it does not allow are refused, with their position
    Raises     InputError for another encoding (naming those that would fit) and for a binary file.
    """
    data = source.read()
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        raise InputError(_refusal(source, data, encoding, error.start)) from None
    text = text.removeprefix("\ufeff")
    nul = text.find("\0")
    if nul >= 0:
        at = len(text[:nul].encode(encoding)) + _mark_bytes(source)
        raise InputError(_binary(source, 0, at))
    refuse_half_characters(text, source.name)
    return text


def refuse_half_characters(text: str, where: str) -> None:
    """Raise InputError where text holds half of a surrogate pair, which no file can."""
    if text.isascii():
        return
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InputError(
            f"{where}: character {error.start} is half of a surrogate pair (U+{ord(text[error.start]):04X}); repair it"
        ) from None


def _refusal(source: Source, data: bytes, encoding: str, at: int) -> str:
    mark = next((name for mark, name in _MARKS if data.startswith(mark)), None)
    if mark:
        return f"{source.name}: begins with the mark of {mark.upper()}; name it with encoding={mark!r}"
    control = _CONTROL.search(data)
    bom = _mark_bytes(source)
    if control:
        return _binary(source, data[control.start()], control.start() + bom)
    fitting = [name for name in _declared(data) + list(_CANDIDATES) if name != encoding and _decodes(data, name)]
    passing = ", ".join(dict.fromkeys(fitting))
    return (
        f"{source.name}: byte {data[at]:#04x} at {at + bom} is not {encoding.upper()}; name the file's encoding with "
        f"encoding=..., or convert it (its bytes would pass as {passing}: you must know which)"
    )


def _binary(source: Source, byte: int, at: int) -> str:
    return (
        f"{source.name}: is a binary file, not text (byte {byte:#04x} at {at}); take it out, choose files with "
        "pattern=..., or name its encoding with encoding=... if it is UTF-16"
    )


def _mark_bytes(source: Source) -> int:
    """Length of the UTF-8 mark that reading a source drops, so that positions are those of the file."""
    with source.open() as stream:
        return len(codecs.BOM_UTF8) if stream.read(3) == codecs.BOM_UTF8 else 0


def _declared(data: bytes) -> list[str]:
    """The encoding that an HTML page says it is in."""
    match = _DECLARED.search(data[:_PRESCAN_BYTES])
    return [match[1].decode("ascii", "replace").lower()] if match else []


def _decodes(data: bytes, encoding: str) -> bool:
    try:
        data.decode(encoding)
    except (LookupError, ValueError):
        return False
    return True
