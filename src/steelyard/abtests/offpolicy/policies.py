"""Policies: with which probability a system shows a document at a position for a query."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import polars as pl

from steelyard.base.errors import InputError, quoted
from steelyard.data.questions import Questions
from steelyard.data.run import Run, ranked
from steelyard.io.formats import BY_SUFFIX
from steelyard.io.native import native_reader

UNIFORM = "uniform"
POLICY = pl.Schema({"key": pl.String, "position": pl.Int64, "doc_id": pl.String, "probability": pl.Float64})
"""A row a document that may be shown.  `key` is a query or a request, or null for all of them; `position` is a rank
from 1; the probabilities of a position add up to 1 at most, and what lacks is shown nothing."""
Key = Literal["query", "request"]
_ROUNDED = 1e-6
_READERS: Mapping[str, Callable[[str | Path], pl.DataFrame]] = {
    "parquet": pl.read_parquet, "csv": partial(pl.read_csv, infer_schema=False), "jsonl": pl.read_ndjson,
    "arrow": pl.read_ipc,
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Policy:
    """What a system would show.

    name    what results call it;   by   what its keys are: "query" or "request"
    frame   schema POLICY
    """

    name: str
    frame: pl.DataFrame
    by: Key = "query"

    @property
    def is_for_all(self) -> bool:
        """Whether it shows the same for every query."""
        return self.frame["key"].null_count() == self.frame.height


def uniform_policy(shown: pl.Series, k: int) -> Policy:
    """Every document that the log shows with the same probability, at each of k positions."""
    documents = shown.drop_nulls().unique().sort()
    rows = pl.DataFrame({"doc_id": documents.cast(pl.String)}).with_columns(
        probability=pl.lit(1 / max(len(documents), 1))
    )
    positions = pl.DataFrame({"position": pl.Series(range(1, k + 1), dtype=pl.Int64)})
    frame = rows.join(positions, how="cross").with_columns(key=pl.lit(None, pl.String))
    return Policy(UNIFORM, frame.select(POLICY.names()))


def read_policy(
    policy: str | Path | pl.DataFrame | Run | Mapping[Any, Any], *, questions: str | Path | Questions | None = None
) -> Policy:  # fmt: skip
    """A policy of a run, which shows its documents in their order, or of a table of probabilities.

    policy          a run, or its file: its query ids are queries as users write them, or ids of `questions`; or a table
                    (Parquet, Arrow, CSV, JSONL, a frame) with a column probability beside query (or query_id, or
                    request), doc_id and, unless all are of the first, position
    questions       texts of query ids
    Raises          InputError for what is no policy: probabilities outside of [0, 1], or above 1 at a position
    """
    table = _table(policy)
    name = str(policy) if isinstance(policy, str | Path) else getattr(policy, "name", "policy")
    if table is not None:
        by: Key = "request" if "request" in table.columns else "query"
        frame = _of_table(table, name)
    else:
        run = policy if isinstance(policy, Run) else Run.read(policy) if isinstance(policy, str | Path) else Run(policy)
        by, frame = "query", _of_run(run)
    if questions is not None:
        texts = questions if isinstance(questions, Questions) else Questions.read(questions)
        frame = _with_texts(frame, {question.query_id: question.query or "" for question in texts}, name)
    if by == "query":
        frame = frame.with_columns(pl.col("key").str.strip_chars())
    return Policy(Path(name).name if isinstance(policy, str | Path) else name, _checked(frame, name), by)


def _table(policy: object) -> pl.DataFrame | None:
    """A table with a column of probabilities; None for anything else."""
    if isinstance(policy, pl.DataFrame):
        return policy if "probability" in policy.columns else None
    if not isinstance(policy, str | Path) or not Path(policy).is_file():
        return None
    reader = _READERS.get(BY_SUFFIX.get(Path(policy).suffix, ""))
    if reader is None:
        return None
    with native_reader(str(policy)):
        frame = reader(policy)
    return frame if "probability" in frame.columns else None


def _of_table(table: pl.DataFrame, name: str) -> pl.DataFrame:
    key = next((column for column in ("request", "query", "query_id") if column in table.columns), None)
    if key is None or "doc_id" not in table.columns:
        listed = ", ".join(table.columns)
        raise InputError(
            f"{name}: has a column 'probability' (columns: {listed}), but not query and doc_id beside it; rename them"
        )
    position = pl.col("position") if "position" in table.columns else pl.lit(1)
    frame = table.select(key=key, position=position, doc_id="doc_id", probability="probability")
    cast = frame.select(pl.col(column).cast(dtype, strict=False) for column, dtype in POLICY.items())
    bad = cast.select(pl.any_horizontal(pl.all().is_null())).to_series()
    if bad.any():
        number = 1 + int(bad.arg_true()[0])
        listed = f"{frame.row(number - 1)}"
        raise InputError(f"{name}, row {number}: {listed} is no query, position, document and probability")
    return cast


def _of_run(run: Run) -> pl.DataFrame:
    ranks = ranked(run.checked_frame()).with_columns(probability=pl.lit(1.0))
    return ranks.select(key="query_id", position="rank", doc_id="doc_id", probability="probability")


def _with_texts(frame: pl.DataFrame, texts: Mapping[str, str], name: str) -> pl.DataFrame:
    """The frame with the texts of its query ids."""
    unknown = frame.filter(~pl.col("key").is_in([*texts]))
    if unknown.height:
        raise InputError(
            f"{name}: query {quoted(unknown['key'][0])} is not among the questions; give those it was made of"
        )
    return frame.with_columns(pl.col("key").replace_strict(texts, return_dtype=pl.String))


def _checked(frame: pl.DataFrame, name: str) -> pl.DataFrame:
    odd = frame.filter(~pl.col("probability").is_between(0, 1) | (pl.col("position") < 1))
    if odd.height:
        key, position, doc, probability = odd.select(POLICY.names()).row(0)
        raise InputError(
            f"{name}: {quoted(key)}, position {position}, document {quoted(doc)} has the probability {probability:g}; "
            "expected positions from 1 and probabilities from 0 to 1"
        )
    sums = frame.group_by("key", "position", maintain_order=True).agg(pl.col("probability").sum())
    above = sums.filter(pl.col("probability") > 1 + _ROUNDED)
    if above.height:
        key, position, total = above.row(0)
        raise InputError(
            f"{name}: the probabilities of {quoted(key)} at position {position} add up to {total:g}; expected 1 at most"
        )
    shown = frame.filter(pl.col("probability") > 0)
    return shown.group_by("key", "position", "doc_id", maintain_order=True).agg(pl.col("probability").sum())
