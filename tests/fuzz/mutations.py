"""Small damages of a file's bytes: flips, cuts, repeats, and values that nobody meant."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator
from typing import Any

Mutation = Callable[[bytes, random.Random], bytes]

_WORD = re.compile(rb"\"[^\"\n]{0,200}\"|[^\s,:=\[\]{}\"]+")
_TEXT = (".json", ".jsonl", ".csv", ".tsv", ".trec", ".qrels", ".toml", ".txt", ".md", ".html")
_MARKUP = (b"<!--", b"<![CDATA[", b"<a ", b"</", b"<table><tr><td>", b"&#", b"<pre>", b"<script>", b"<div ", b"<!")

ODD_VALUES: tuple[bytes, ...] = (
    b"", b"0", b"-1", b"1.5", b"1e300", b"-1e300", b"1e999", b"nan", b"NaN", b"inf", b"-Infinity", b"9007199254740993",
    b"1" + b"0" * 24, b"9" * 5_000, b"true", b"null", b"None", b"{}", b"[]", b'""', b'" "', b'"\\ud800"', b'"\\u0000"',
    b"\x00", b"\xff", b"\xef\xbb\xbf", b"\xe6\x96", b"#", b"#1", b"~nosuchuser", b'"~nosuchuser"', b"/",
    b'"/dev/null"', b'"1-3000000000"', b"2026-01-01", b"12:30:00", b"'x'", b'"""', b"[[", b"]]", b"[" * 2_000,
    b'{"a":' * 500, b"\t", b"\r", b"\xe2\x80\xa8", b"\xc2\x85", b"%s", b"%(x)s", b"{0}", b"[bold]", b"\x1b[2J",
    b'"' + b"x" * 20_000 + b'"', b'"x\\u0000y"', b"\r",
    b'"' + b" ".join(b"%d" % i for i in range(25_000)) + b'"',
    b"a b", b"@", b"ndcg@10", b"recall(min_gain=2)@5", b"any", b"doc", b"-" * 5_000,
)  # fmt: skip
ODD_JSON: tuple[Any, ...] = (
    None, True, 0, -1, 1.5, 1e300, 10**24, 10**400, float("nan"), float("-inf"), 2**53 + 1, "", " ", "\ud800", "\x00",
    2**63, 10**4_000, "x\x00y", {"\x00": 1}, {"\ud800": 1},
    "q1", "~nosuchuser", "1-3000000000", "x" * 20_000, "\x1b[31m<b>\u202e\u2028|", "[1][99][c1][c1",
    "It is [1, 3-9] 九¹。" * 500,
    "```\n[1]\n```", "I do not know.", "[^1]: c1\n" * 300, [], {}, [[]], [None], {"": None}, {"id": []}, ["a", "a"],
    [1, "a"], -0.0,
)  # fmt: skip


def mutated(content: bytes, suffix: str, rng: random.Random) -> bytes:
    """The bytes with one to three damages that suit the format."""
    kinds: list[Mutation] = [flip, cut, splice]
    if suffix in _TEXT:
        kinds += [odd_word, odd_word, odd_word, repeat_line, drop_line]
    if suffix in (".json", ".jsonl"):
        kinds += [odd_json] * 5
    if suffix in (".html", ".md"):
        kinds += [odd_markup] * 3
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        content = rng.choice(kinds)(content, rng)
    return content


def flip(content: bytes, rng: random.Random) -> bytes:
    """Some bytes are others."""
    damaged = bytearray(content)
    for _ in range(rng.choice((1, 1, 2, 8)) if damaged else 0):
        damaged[rng.randrange(len(damaged))] = rng.randrange(256)
    return bytes(damaged)


def cut(content: bytes, rng: random.Random) -> bytes:
    """The end is missing, or all of it."""
    return content[: rng.randrange(len(content) + 1)] if rng.random() < 0.9 else b""


def splice(content: bytes, rng: random.Random) -> bytes:
    """A piece is missing, or is there again, elsewhere."""
    start, at = rng.randrange(len(content) + 1), rng.randrange(len(content) + 1)
    piece = content[start : start + rng.randrange(40)]
    if rng.random() < 0.5:
        return content[:start] + content[start + len(piece) :]
    return content[:at] + piece + content[at:]


def odd_word(content: bytes, rng: random.Random) -> bytes:
    """A word, number or text in quotes is something else."""
    words = list(_WORD.finditer(content))
    if not words:
        return rng.choice(ODD_VALUES)
    word = rng.choice(words)
    return content[: word.start()] + rng.choice(ODD_VALUES) + content[word.end() :]


def repeat_line(content: bytes, rng: random.Random) -> bytes:
    """A line is there twice."""
    lines = content.split(b"\n")
    return b"\n".join([*lines, rng.choice(lines)])


def drop_line(content: bytes, rng: random.Random) -> bytes:
    """A line is missing."""
    lines = content.split(b"\n")
    del lines[rng.randrange(len(lines))]
    return b"\n".join(lines)


def odd_markup(content: bytes, rng: random.Random) -> bytes:
    """Markup that is never closed, many times."""
    at = rng.randrange(len(content) + 1)
    return content[:at] + rng.choice(_MARKUP) * rng.choice((1, 100, 20_000)) + content[at:]


def odd_json(content: bytes, rng: random.Random) -> bytes:
    """One value of a JSON text, or of a line of JSON, is something else, is missing, or has its key twice."""
    lines = content.split(b"\n") if content.count(b"\n}") == 0 else [content]
    at = rng.randrange(len(lines))
    try:
        value = json.loads(lines[at])
    except (ValueError, RecursionError):
        return odd_word(content, rng)
    listed = list(places(value))
    if not listed:
        return content
    holder, key = rng.choice(listed)
    if isinstance(holder, dict) and rng.random() < 0.2:
        text = json.dumps(holder)
        twice = json.dumps({key: rng.choice(ODD_JSON)})[1:-1]
        lines[at] = json.dumps(value).replace(text, "{" + twice + ", " + text[1:], 1).encode()
        return b"\n".join(lines)
    if rng.random() < 0.2:
        del holder[key]
    else:
        holder[key] = rng.choice(ODD_JSON)
    lines[at] = json.dumps(value).encode()
    return b"\n".join(lines)


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every dict or list within a value, with each of its keys."""
    if isinstance(value, dict | list):
        for key, inner in list(value.items() if isinstance(value, dict) else enumerate(value)):
            yield value, key
            yield from places(inner)
