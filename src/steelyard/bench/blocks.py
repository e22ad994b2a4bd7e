"""Blocks of requests on disk: each is written whole, so that whatever interrupts a bench costs the last one at most."""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Iterable
from pathlib import Path

import polars as pl

from steelyard.base.errors import InputError, OutputError
from steelyard.bench.requests import RANKINGS, REQUESTS
from steelyard.data.bench_folder import BLOCKS
from steelyard.io.panics import native_reader
from steelyard.io.write import write_bytes

_REQUESTS, _RANKINGS = ".parquet", ".rankings.parquet"
_PLAIN = re.compile(r"[a-z0-9._-]{1,60}")


def block_name(*parts: object) -> str:
    """The name of a block's files: its parts, or a digest of a part that no file should be called.

    >>> block_name("r1", "minilm", 50), block_name("open", "模型/一", 2.5)
    ('r1-minilm-50', 'open-06731527f026-2.5')
    """
    return "-".join(text if _PLAIN.fullmatch(text) else _digest(text) for text in map(str, parts))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def has_block(folder: Path, name: str) -> bool:
    """Whether a block is on disk, whole."""
    return (folder / BLOCKS / (name + _REQUESTS)).exists()


def write_block(folder: Path, name: str, requests: pl.DataFrame, rankings: pl.DataFrame | None = None) -> None:
    """Write a block whole: rankings first, as the requests say that it is there.

    requests, rankings   of schemas REQUESTS and RANKINGS
    Raises               OutputError where it cannot be written.
    """
    try:
        (folder / BLOCKS).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{folder / BLOCKS}: cannot be made ({error.strerror or error})") from error
    if rankings is not None:
        write_bytes(folder / BLOCKS / (name + _RANKINGS), _parquet(rankings.match_to_schema(RANKINGS)))
    write_bytes(folder / BLOCKS / (name + _REQUESTS), _parquet(requests.match_to_schema(REQUESTS)))


def read_requests(folder: Path) -> pl.DataFrame:
    """All requests of a bench, of schema REQUESTS, block by block in the order of their names.

    Raises   InputError for a block that cannot be read.
    """
    paths = sorted((folder / BLOCKS).glob("*" + _REQUESTS))
    return _all((path for path in paths if not path.name.endswith(_RANKINGS)), REQUESTS)


def read_rankings(folder: Path) -> pl.DataFrame:
    """All that rerankers gave, of schema RANKINGS; raises as `read_requests` does."""
    paths = sorted((folder / BLOCKS).glob("*" + _RANKINGS))
    return _all(
        (path for path in paths if has_block(folder, path.name.removesuffix(_RANKINGS))), RANKINGS
    )  # fmt: skip


def _all(paths: Iterable[Path], schema: pl.Schema) -> pl.DataFrame:
    return pl.concat([schema.to_frame(), *(_read(path, schema) for path in paths)])


def _read(path: Path, schema: pl.Schema) -> pl.DataFrame:
    advice = "delete it, and start the same bench again, which measures it anew"
    try:
        with native_reader(str(path)):
            block = pl.read_parquet(path, glob=False)
    except InputError as error:
        raise InputError(f"{error}; {advice}") from None
    if block.schema != schema:
        raise InputError(f"{path}: holds other columns than those of a block; {advice}")
    return block


def _parquet(frame: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.write_parquet(buffer, compression="zstd")
    return buffer.getvalue()
