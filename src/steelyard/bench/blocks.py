"""Blocks of requests on disk: each is written whole, so that whatever interrupts a bench costs the last one at most."""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from steelyard.base.errors import InputError, OutputError
from steelyard.base.own_paths import own_file
from steelyard.bench.config import BenchConfig
from steelyard.bench.frames import ADDED, RANKINGS, REQUESTS, Option
from steelyard.data.folders.manifests import BLOCKS
from steelyard.io.native import native_reader
from steelyard.io.write import write_bytes

_REQUESTS, _RANKINGS = ".parquet", ".rankings.parquet"
_PLAIN = re.compile(r"[a-z0-9._-]{1,60}")


@dataclass(frozen=True)
class Block:
    """All questions asked once of one reranker over so many candidates, one after the other.

    repetition   from 1
    """

    repetition: int
    option: Option

    @property
    def name(self) -> str:
        """The name of its files."""
        return block_name(f"r{self.repetition}", self.option.system, self.option.depth)


def plan_blocks(config: BenchConfig) -> list[Block]:
    """All blocks, in the order in which they are run.

    Rerankers and depths come in an order that the seed draws, then in the same reversed, then in another one, ...: what
    warms up, cools down or slows down meanwhile meets all of them alike (ABBA).

    >>> config = BenchConfig.of({"systems": {"words": {"rerank": "lexical"}}, "depths": [10, 50], "repetitions": 2})
    >>> [block.name for block in plan_blocks(config)]
    ['r1-words-10', 'r1-words-50', 'r2-words-50', 'r2-words-10']
    """
    rng, blocks, options = np.random.default_rng(config.seed), list[Block](), config.options
    order = list(range(len(options)))
    for repetition in range(1, config.repetitions + 1):
        order = rng.permutation(len(options)).tolist() if repetition % 2 else order[::-1]
        blocks += [Block(repetition, options[place]) for place in order]
    return blocks


def block_name(*parts: object) -> str:
    """The name of a block's files: its parts, or a digest of a part that no file should be called.

    >>> block_name("r1", "minilm", 50), block_name("open", "模型/一", 2.5)
    ('r1-minilm-50', 'open-06731527f026-2.5')
    """

    def plain(text: str) -> str:
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        return text if _PLAIN.fullmatch(text) else digest[:12]

    return "-".join(plain(str(part)) for part in parts)


def has_block(folder: Path, name: str) -> bool:
    """True if a block is on disk, whole."""
    return _file(folder, name, _REQUESTS).exists()


def _file(folder: Path, name: str, suffix: str) -> Path:
    """A file of a block; a manifest.json of somebody else may name any.

    Raises   InputError where that is outside of the folder.
    """
    return own_file(folder / BLOCKS, name + suffix)


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
        write_bytes(_file(folder, name, _RANKINGS), _parquet(rankings.match_to_schema(RANKINGS)))
    write_bytes(_file(folder, name, _REQUESTS), _parquet(requests.match_to_schema(REQUESTS)))


def read_requests(folder: Path, names: Sequence[str] | None = None) -> pl.DataFrame:
    """All requests of a bench, of schema REQUESTS, block by block in the order of their names.

    names    of the blocks that count; None for all
    Raises   InputError for a block that cannot be read, and for one that is named and gone.
    """
    return _all(folder, block_names(folder) if names is None else sorted(names), _REQUESTS, REQUESTS)


def read_rankings(folder: Path, names: Sequence[str] | None = None) -> pl.DataFrame:
    """All that rerankers gave, of schema RANKINGS; as `read_requests`."""
    names = block_names(folder) if names is None else sorted(names)
    with_rankings = [name for name in names if _file(folder, name, _RANKINGS).exists()]
    return _all(folder, with_rankings, _RANKINGS, RANKINGS)


def block_names(folder: Path) -> list[str]:
    """The blocks that are on disk, whole."""
    names = (path.name for path in (folder / BLOCKS).glob("*" + _REQUESTS))
    return sorted(name.removesuffix(_REQUESTS) for name in names if not name.endswith(_RANKINGS))


def _all(folder: Path, names: Iterable[str], suffix: str, schema: pl.Schema) -> pl.DataFrame:
    return pl.concat([schema.to_frame(), *(_read(_file(folder, name, suffix), schema) for name in names)])


def _read(path: Path, schema: pl.Schema) -> pl.DataFrame:
    advice = "delete it, and start the same bench again, which measures it again"
    try:
        with native_reader(str(path)):
            block = pl.read_parquet(path, glob=False)
    except InputError as error:
        raise InputError(f"{error}; {advice}") from None
    expected = {name: kind for name, kind in schema.items() if name in block.schema or name not in ADDED}
    if block.schema != expected:
        raise InputError(f"{path}: holds other columns than those of a block; {advice}")
    return block.match_to_schema(schema, missing_columns="insert")


def _parquet(frame: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.write_parquet(buffer, compression="zstd")
    return buffer.getvalue()
