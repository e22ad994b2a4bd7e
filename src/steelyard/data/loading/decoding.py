"""Text from the bytes of a file: in the encoding that is named for it, or in the one that its bytes give away."""

from __future__ import annotations

import codecs
import fnmatch
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from steelyard.base.errors import InputError
from steelyard.data.loading.detecting import detect
from steelyard.io.source import Source

DETECT = "detect"
"""In place of an encoding: a file's mark, else UTF-8, else what a page declares, else what its bytes read as."""

_CANDIDATES = ("gb18030", "big5", "cp1252", "latin-1")
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_WIDER = {
    "gb2312": "gb18030", "gbk": "gb18030", "big5": "cp950", "shift_jis": "cp932", "euc_kr": "cp949", "ascii": "cp1252",
    "iso8859-1": "cp1252", "iso8859-9": "cp1254",
}  # fmt: skip
"""What a page is in that declares an encoding, as browsers read it: the wider one of the same bytes."""
# Tabs, line ends, form feeds, escapes and the end-of-file mark of DOS do occur in text.
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x19\x1c-\x1f]")
_DECLARED = re.compile(
    rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w.:-]+)|<\?xml[^>]{0,100}?encoding\s*=\s*[\"']([\w.:-]+)",
    re.IGNORECASE,
)
_PRESCAN_BYTES = 1024  # how far browsers look for a declared encoding
_PAGES = (".html", ".htm")


@dataclass(frozen=True)
class Encodings:
    """Which encoding each file is in.

    by_pattern   pattern of a name or path, as `load` takes them, and the encoding of the files that it matches; the
                 first that matches counts, and where none does the encoding is detected
    """

    by_pattern: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, encoding: str | Mapping[str, str]) -> Encodings:
        """Encodings of one encoding for all files, or of a table by pattern.

        Raises   InputError for an encoding that does not exist.

        >>> Encodings.of({"legacy/**": "gbk", "*": "utf-8"}).of_file("legacy/old.txt")
        'gbk'
        """
        table = {"*": encoding} if isinstance(encoding, str) else encoding
        named = {pattern: name if name == DETECT else python_encoding(name) for pattern, name in table.items()}
        return cls(tuple(named.items()))

    def of_file(self, path: str) -> str:
        """The encoding of a file by its path in the folder, or DETECT."""
        return next((encoding for pattern, encoding in self.by_pattern if matches(path, pattern)), DETECT)


def matches(path: str, pattern: str) -> bool:
    """True if a path, or the name at its end, is of a pattern; `*` crosses `/`."""
    return any(fnmatch.fnmatchcase(name, pattern) for name in (path, PurePosixPath(path).name))


def python_encoding(encoding: str) -> str:
    """The name by which Python calls an encoding.

    Raises   InputError for one that does not exist, or that turns text into no bytes.
    >>> python_encoding("GB18030")
    'gb18030'
    """
    try:
        "a".encode(encoding)
        return codecs.lookup(encoding).name
    except (LookupError, ValueError, TypeError):
        raise InputError(
            f"there is no encoding {encoding!r}; try utf-8, gb18030, big5, utf-16 or latin-1, or {DETECT}"
        ) from None


def encoding_of(source: Source, *, whole: bool = True) -> str:
    """The encoding that a file is in, as its bytes show; "utf-8" for all that can be UTF-8.

    whole    whether all of it is looked at, or whole lines of its beginning, as it may be longer than memory
    Raises   InputError where no encoding is sure, naming those that would fit.
    """
    if whole:
        source.hold()  # it is read once more, when the encoding is clear
        data = source.read()
    else:
        data = source.head[: source.head.rfind(b"\n") + 1] or source.head
    mark = next((name for mark, name in _MARKS if data.startswith(mark)), None)
    if mark is not None:
        return mark
    if _is_utf8(data, cut=not whole):
        return "utf-8"
    declared = [_as_browsers_do(name) for name in _declared(data)] if source.suffix in _PAGES else []
    encoding = next((name for name in declared if _decodes(data, name)), None)
    if encoding is None and not _CONTROL.search(data):
        encoding = detect(data)
    if encoding is None:
        at = _first_wrong(data)
        raise InputError(_refusal(source, data, "utf-8", at, unsure=", and reads as no one language for sure"))
    return encoding


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


def _first_wrong(data: bytes) -> int:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start
    return len(data)


def _refusal(source: Source, data: bytes, encoding: str, at: int, *, unsure: str = "") -> str:
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
        f"{source.name}: byte {data[at]:#04x} at {at + bom} is not {encoding.upper()}{unsure}; "
        f"name the file's encoding with encoding=..., or convert it (its bytes would pass as {passing}: you must know "
        "which)"
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
    return [(match[1] or match[2]).decode("ascii", "replace").lower()] if match else []


def _is_utf8(data: bytes, *, cut: bool) -> bool:
    """True if bytes are UTF-8, of which the last character may be cut off."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(data, final=not cut)
    except UnicodeDecodeError:
        return False
    return True


def _as_browsers_do(encoding: str) -> str:
    try:
        name = codecs.lookup(encoding).name
    except (LookupError, ValueError):
        return encoding
    return _WIDER.get(name, name)


def _decodes(data: bytes, encoding: str) -> bool:
    try:
        data.decode(encoding)
    except (LookupError, ValueError):
        return False
    return True
