"""Raw records as rows of the schema: kinds of records told apart, and what a record alone can show to be wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import polars as pl

from steelyard.text.scripts import IDEOGRAPHS, ZH_SHARE
from steelyard.traffic.layout import NUMBER, RECORD_TYPES, TEXT, Layout, raw_type
from steelyard.traffic.parsing import unpacked
from steelyard.traffic.schema import IMPRESSIONS, KINDS, SCORE, TABLES
from steelyard.traffic.tally import Tally

EARLIEST = datetime(2000, 1, 1)
TOLERATED = timedelta(minutes=5)
"""How far beyond now a time may be, as clocks differ."""
LONGEST_DWELL = 86_400.0
"""Seconds beyond which no reading of a result lasts."""
_KIND_NAMES = {
    "clicked": "click", "result_click": "click", "citation_clicked": "citation_click", "dwell_time": "dwell",
    "copied": "copy", "accepted": "accept", "thumbs_up": "thumb", "thumbs_down": "thumb",
    "reformulated": "reformulation",
}  # fmt: skip
"""What other logs call our kinds of events."""
_BAD_VALUES = (
    ("dwell", "negative_dwell", pl.col("value") < 0),
    ("dwell", "absurd_dwell", pl.col("value") > LONGEST_DWELL),
    ("rating", "bad_value", ~pl.col("value").is_between(1, 5)),
    ("thumb", "bad_value", ~pl.col("value").is_in([-1.0, 1.0])),
)
"""Kind of events, and a trouble with the values that it has."""
_THUMBS = {"thumbs_up": 1.0, "thumbs_down": -1.0}
_ROBOT = r"(?i)bot\b|crawl|spider|headless|curl/|wget/|python-requests|httpx|go-http-client|scrapy|phantomjs|monitor"
_NO_ERROR = ["", "false", "none", "null", "0"]
_ASKED = ("request", "user", "session", "doc_ids", "is_robot")
_DONE = ("kind", "position")
_COMPACT = ("user", "session", "arm", "language", "error", "config", "corpus", "kind", "doc_id")


@dataclass(frozen=True)
class Rules:
    """How records are read.

    latest     beyond which times are of the future
    closed     windows before it are measured, so that what comes in for them now is too late; None for none
    since      records before it were needed by an earlier look alone
    timezone   of times without one
    segments   further columns of impressions
    texts      the type that short texts are held in: a number for each
    """

    latest: datetime
    closed: datetime | None = None
    since: datetime | None = None
    timezone: str = "UTC"
    segments: Sequence[str] = ()
    texts: Any = field(default_factory=lambda: pl.Categorical(pl.Categories.random()))

    def schema(self, kind: str) -> dict[str, Any]:
        """Columns of records of a kind as they are held; `key` says which request, `file` and `line` where it is."""
        own = {column: self._held(column, dtype) for column, dtype in TABLES[kind].items()}
        segments = dict.fromkeys(self.segments, self.texts) if kind == "impression" else {}
        robot = {"is_robot": pl.Boolean()} if kind == "impression" else {}
        if kind != "impression":
            del own["request"]
        return own | segments | robot | {"key": pl.UInt64(), "file": pl.UInt32(), "line": pl.UInt32()}

    def needed(self, kind: str) -> dict[str, Any]:
        """Those of these columns that cleaning looks at, whether or not a log has them."""
        names = {"impression": _ASKED, "event": _DONE, "answer": ()}[kind]
        schema = self.schema(kind)
        return {name: schema[name] for name in ("time", "key", "file", "line", *names)}

    def _held(self, column: str, dtype: Any) -> Any:
        if column in ("doc_ids", "citations", "teams"):
            return pl.List(self.texts)
        return self.texts if column in _COMPACT else dtype


def settle(raw: pl.DataFrame, layout: Layout, rules: Rules, tally: Tally, n_seen: int) -> dict[str, pl.DataFrame]:
    """Raw records by kind, as `Rules.schema` says; what cannot be used is left out and counted.

    raw      columns of the layout, with times that were parsed, `file` and `line`
    n_seen   lines of the file that an earlier look has read
    """
    raw = unpacked(raw, layout.items)
    quoted = [name for name in raw.columns if raw_type(name) == NUMBER and raw.schema[name] == TEXT]
    raw = raw.with_columns(pl.col(quoted).str.strip_chars().cast(pl.Float64, strict=False))
    raw = _needed(raw, rules, tally, n_seen)
    parts = _by_kind(raw, layout.kind, tally)
    return {kind: settled(part, kind, rules, tally) for kind, part in parts.items() if part.height}


def _needed(raw: pl.DataFrame, rules: Rules, tally: Tally, n_seen: int) -> pl.DataFrame:
    """Records from `since` on; those that came in for windows that were measured already are counted."""
    if rules.closed is None:
        return raw
    tally.note("delayed", raw, ((raw["time"] < rules.closed) & (raw["line"] > n_seen)).fill_null(False), is_fatal=True)
    return raw.filter((raw["time"] >= rules.since).fill_null(True))


def settled(raw: pl.DataFrame, kind: str, rules: Rules, tally: Tally) -> pl.DataFrame:
    """Records of one kind, with times."""
    raw = tally.drop("no_request", raw, _column(raw, "request").is_null() | (_column(raw, "request") == ""))
    raw = tally.drop("bad_time", raw, raw["time"].is_null() | (raw["time"].dt.replace_time_zone(None) < EARLIEST))
    raw = tally.drop("future", raw, raw["time"] > rules.latest)
    schema = rules.schema(kind)
    raw = raw.with_columns(
        pl.lit(None, raw_type(column)).alias(column) for column in schema if column not in (*raw.columns, "key")
    ).with_columns(pl.col("request").hash().alias("key"))
    raw = {"impression": _impressions, "event": _events, "answer": _answers}[kind](raw, tally)
    return raw.select(_held(column, dtype, raw.schema[column]) for column, dtype in schema.items())


def _held(column: str, dtype: Any, now: Any) -> pl.Expr:
    if dtype == now or not isinstance(dtype, pl.Categorical):
        return pl.col(column).cast(dtype, strict=False)
    return pl.col(column).cast(pl.String).cast(dtype)


def _column(raw: pl.DataFrame, column: str) -> pl.Series:
    return raw[column] if column in raw.columns else pl.Series(column, [None] * raw.height, dtype=pl.String)


def _by_kind(raw: pl.DataFrame, kind: str | None, tally: Tally) -> dict[str, pl.DataFrame]:
    """Records by what they are: by the file's name, by `type`, or by their columns; a request may have its answer."""
    answered = ~_column(raw, "answer").is_null()
    if kind is not None:
        parts = {kind: raw}
        return parts | ({"answer": raw.filter(answered)} if kind == "impression" and answered.any() else {})
    declared = _column(raw, "type").str.strip_chars().str.to_lowercase()
    of_type = declared.replace_strict(RECORD_TYPES, default=None, return_dtype=pl.String)
    unknown = declared.is_not_null() & of_type.is_null()
    has = {column: pl.lit(_column(raw, column).is_not_null()) for column in ("kind", "query", "doc_ids", "answer")}
    guess = (
        pl.when(has["kind"]).then(pl.lit("event"))
        .when(has["query"] | has["doc_ids"]).then(pl.lit("impression"))
        .when(has["answer"]).then(pl.lit("answer"))
    )  # fmt: skip
    kinds = raw.select(pl.coalesce(pl.lit(of_type), guess).alias("kind"))["kind"]
    tally.note("unknown_record", raw, unknown | kinds.is_null(), is_fatal=True)
    kinds = kinds.set(unknown, None)
    parts = {name: raw.filter((kinds == name).fill_null(False)) for name in TABLES}
    parts["answer"] = raw.filter(((kinds == "answer") | ((kinds == "impression") & answered)).fill_null(False))
    return parts


def _impressions(raw: pl.DataFrame, tally: Tally) -> pl.DataFrame:
    if raw["doc_ids"].explode(empty_as_null=False, keep_nulls=False).null_count():
        raw = raw.with_columns(pl.col("doc_ids").list.drop_nulls())
    length = raw["doc_ids"].list.len()
    for column, is_bad in _AS_LONG.items():
        values = raw[column]
        if values.null_count() < raw.height:
            bad = ((values.list.len() != length) | values.list.eval(is_bad(pl.element())).list.any()).fill_null(
                length.is_null() & values.is_not_null()
            )
            tally.note(f"bad_{column}", raw, bad)
            raw = raw.with_columns(pl.when(~bad).then(pl.col(column)).alias(column))
    amounts = [column for column, dtype in IMPRESSIONS.items() if dtype.is_numeric()]
    bad_amount = raw.select(pl.any_horizontal(_bad_amount(pl.col(column)) for column in amounts)).to_series()
    if tally.note("bad_amount", raw, bad_amount):
        raw = raw.with_columns(pl.when(~_bad_amount(pl.col(column))).then(column).alias(column) for column in amounts)
    return raw.with_columns(
        _language(),
        pl.when(~pl.col("error").str.to_lowercase().is_in(_NO_ERROR)).then("error").alias("error"),
        *(pl.when(pl.col(column) != "").then(column).alias(column) for column in ("user", "session")),
        _robot(raw).alias("is_robot"),
    )  # fmt: skip


def _robot(raw: pl.DataFrame) -> pl.Series:
    """Whether a request is a bot's by its user agent, or as the log says."""
    said = _column(raw, "is_bot").cast(pl.String).str.to_lowercase().is_in(["true", "1"])
    return said.fill_null(False) | _column(raw, "user_agent").str.contains(_ROBOT).fill_null(False)


def _not_finite(value: pl.Expr) -> pl.Expr:
    return ~value.is_finite().fill_null(False)


def _no_propensity(value: pl.Expr) -> pl.Expr:
    return ~((value > 0) & (value <= 1)).fill_null(False)


_AS_LONG: Mapping[str, Callable[[pl.Expr], pl.Expr]] = {
    "scores": _not_finite,
    "propensities": _no_propensity,
    "teams": lambda team: team == "",
    "team_shares": lambda share: _no_propensity(share) & share.is_not_null(),
}
"""Lists that are as long as `doc_ids`, and which of their items are wrong."""


def _bad_amount(value: pl.Expr) -> pl.Expr:
    return (value < 0) | ~value.is_finite()


def _language() -> pl.Expr:
    """The first part of a tag such as zh-CN; that of the script of the query where there is none, as `language_of`."""
    query = pl.col("query")
    wide = pl.when(query.str.len_bytes() != query.str.len_chars()).then(query)
    share = wide.str.count_matches(f"[{IDEOGRAPHS}]") / wide.str.count_matches(r"\p{L}")
    script = pl.when(query.is_not_null()).then(pl.when(share >= ZH_SHARE).then(pl.lit("zh")).otherwise(pl.lit("en")))
    return pl.coalesce(pl.col("language").str.to_lowercase().str.extract(r"^\s*([a-z]{2,3})\b"), script).alias(
        "language"
    )


def _events(raw: pl.DataFrame, tally: Tally) -> pl.DataFrame:
    plain = {kind: _plain(kind) for kind in raw["kind"].drop_nulls().unique()}
    kinds = {kind: _KIND_NAMES.get(name, name) for kind, name in plain.items()}
    if any(kind != name for kind, name in kinds.items()):
        thumbs = {kind: _THUMBS[name] for kind, name in plain.items() if name in _THUMBS}
        thumb = pl.col("kind").replace_strict(thumbs, default=None, return_dtype=pl.Float64)
        raw = raw.with_columns(pl.coalesce("value", thumb), pl.col("kind").replace(kinds))
    raw = tally.drop("no_kind", raw, raw["kind"].is_null() | (raw["kind"] == ""))
    if unknown := {kind for kind in kinds.values() if kind not in KINDS and not kind.startswith(SCORE)}:
        tally.note("unknown_kind", raw, raw["kind"].is_in(list(unknown)))
    position = raw["position"].cast(pl.Float64)
    raw = tally.drop("bad_position", raw, (position < 1) | (position >= 2**31) | (position % 1 != 0))
    for kind, trouble, is_bad in _BAD_VALUES:
        if kind in kinds.values():
            raw = tally.drop(trouble, raw, raw.select((pl.col("kind") == kind) & is_bad).to_series())
    return tally.drop("bad_value", raw, ~raw["value"].is_finite())


def _plain(kind: str) -> str:
    """A kind of events as ours are written; names of scores stay as they are."""
    return kind if kind.startswith(SCORE) else kind.strip().lower().replace("-", "_").replace(" ", "_")


def _answers(raw: pl.DataFrame, tally: Tally) -> pl.DataFrame:
    abstained = pl.col("abstained").cast(pl.String).str.to_lowercase()
    flag = abstained.replace_strict(
        {"true": True, "false": False, "1": True, "0": False}, default=None, return_dtype=pl.Boolean
    )
    return raw.with_columns(flag.alias("abstained"))
