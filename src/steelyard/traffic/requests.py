"""Requests: what was asked and shown, beside what users did with it and what the answer was, one row per request."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import timedelta

import polars as pl

from steelyard.base.errors import InputError
from steelyard.base.nearest import nearest
from steelyard.traffic.logs import Logs

FOLLOWED_WITHIN = timedelta(minutes=5)
"""A request counts as reformulated where its session (or user) asks again so soon, not the same text, but with at least
half of the words of the shorter one."""
_WORD = r"[\p{Han}\p{Hiragana}\p{Katakana}]|[\p{L}\p{N}&&[^\p{Han}\p{Hiragana}\p{Katakana}]]+"
_MOST_RANKS = 4096
_AT_K = re.compile(r"(clicks|judged|shown)@([1-9]\d{0,3})")
_OF_KIND = re.compile(r"(.+)\.(n|value)")
Abstains = Callable[[pl.Series], pl.Series]
"""Texts of answers -> Boolean, whether each says that it cannot answer."""


def words(text: pl.Expr) -> pl.Expr:
    """Words of texts in small letters: runs of letters and digits, and each Chinese or Japanese character."""
    return text.str.to_lowercase().str.extract_all(_WORD)


def _score(place: int) -> pl.Expr:
    return pl.col("scores").list.get(place, null_on_oob=True)


def _is(kind: str) -> pl.Expr:
    return pl.col("kind") == kind


def _of(kind: str, value: str | pl.Expr = "value") -> pl.Expr:
    return pl.when(_is(kind)).then(value)


_SHOWN: Mapping[str, pl.Expr] = {
    "unit": pl.coalesce("user", "session", "request"),
    "is_served": pl.col("error").is_null(),
    "n_results": pl.col("doc_ids").list.len(),
    "top_score": _score(0),
    "score_gap": _score(0) - _score(1),
    "n_documents": pl.col("doc_ids").list.eval(pl.element().str.replace(r"#.*", "")).list.n_unique(),
    "n_characters": pl.col("query").str.strip_chars().str.len_chars(),
}
"""What impressions say by themselves."""

_CLICK = pl.col("time").to_physical().cast(pl.UInt64) * _MOST_RANKS + pl.col("position").clip(
    0, _MOST_RANKS - 1
).fill_null(0).cast(pl.UInt64)
"""Time and rank of a click as one number, in the order of time."""
_DONE: Mapping[str, tuple[pl.Expr, str]] = {
    "n_clicks": (_is("click"), "sum"),
    "first_click": (_of("click", _CLICK), "min"),
    "n_citation_clicks": (_is("citation_click"), "sum"),
    "n_copies": (_is("copy"), "sum"),
    "dwell_s": (_of("dwell"), "max"),
    "thumbs": (_of("thumb", pl.col("value").sign()), "sum"),
    "n_thumbs": (_is("thumb"), "sum"),
    "rating": (_of("rating"), "mean"),
    "n_offered": (_is("survey"), "sum"),
    "n_accepted": (_is("accept"), "sum"),
    "n_reformulations": (_is("reformulation"), "sum"),
    "n_good": (_is("good_abandon"), "sum"),
    "n_successes": (_is("success"), "sum"),
    "success_time": (_of("success", "time"), "min"),
    "accept_time": (_of("accept", "time"), "min"),
}
"""What the events of a request say: a value of each, and how they become one.  Counts are 0 without events."""

_ANSWERED: Mapping[str, pl.Expr] = {
    "is_answered": pl.lit(value=True),
    "n_citations": pl.col("citations").list.len(),
    "has_abstained": pl.col("abstained"),
}
"""What its answer says; null without one."""


def _seconds(name: str) -> pl.Expr:
    """Seconds from the request to a time; an event that is logged as earlier, by another clock, is at 0."""
    return ((pl.col(name) - pl.col("time")).dt.total_microseconds() / 1e6).clip(lower_bound=0)


_RANK = pl.col("first_click") % _MOST_RANKS
_IS_LEFT = pl.col("is_served") & (pl.col("n_clicks") == 0)
_IS_GOOD = (
    pl.sum_horizontal("n_good", "n_accepted", "n_copies", "n_citation_clicks", "n_successes") + pl.col("thumbs")
) > 0
_DERIVED: Mapping[str, pl.Expr] = {
    "first_click_rank": pl.when(_RANK > 0).then(_RANK),
    "first_click_time": (pl.col("first_click") // _MOST_RANKS).cast(pl.Datetime("us", "UTC")),
    "first_click_s": _seconds("first_click_time"),
    "success_s": _seconds("first_success_time"),
    "first_success_time": pl.coalesce("success_time", "accept_time"),
    "is_abandoned": _IS_LEFT,
    "is_well_abandoned": _IS_LEFT & _IS_GOOD,
    "is_badly_abandoned": _IS_LEFT & ~_IS_GOOD,
    "is_reformulated": pl.col("is_followed") | (pl.col("n_reformulations") > 0),
}
"""What follows from the others.

A request without a click on a result is abandoned well where its user left satisfied, as the service knows, accepted or
copied the answer, opened a citation, gave a thumb up or reached the goal; else badly.
"""
COLUMNS = (*_SHOWN, *_DONE, *_ANSWERED, *_DERIVED, "is_followed")
"""Columns of requests beside those of impressions."""


def requests(
    logs: Logs, columns: Collection[str] | None = None, *, judged: pl.DataFrame | None = None,
    abstains: Abstains | None = None,
) -> pl.LazyFrame:  # fmt: skip
    """Requests of people, in no certain order; those of bots are left out.

    An event counts for its request, whenever it happened: what a window of requests says may still change while their
    events come in.

    columns   those to give: of impressions, of COLUMNS, and, by name, "clicks@5" (clicks on the first 5 results),
              "judged@5" and "shown@5", and "KIND.n" and "KIND.value" (how many events of a kind, the sum of their
              values); None gives all of impressions and COLUMNS.  Only what they need is computed
    judged    documents with a label, for judged@k: columns query (a text as users write it) and doc_id; null for
              requests with other queries
    abstains  tells abstentions where the log does not say; without it they are null there
    Raises    InputError for a column that there is not, and for judged@k without labels
    """
    own = logs.impressions.collect_schema().names()
    names = [*own, *COLUMNS] if columns is None else list(columns)
    for name in names:
        if not is_column(name, own):
            raise InputError(f"requests have no column {name!r}; {nearest(name, [*own, *COLUMNS])}")
    needed = _needed(names)
    frame = logs.impressions.filter(~pl.col("is_bot"))
    if "is_followed" in needed:
        frame = _followed(frame)
    frame = frame.with_columns(**{name: _SHOWN[name] for name in _SHOWN if name in needed})
    frame = _with_events(frame, logs, needed)
    if needed & _ANSWERED.keys():
        frame = frame.join(_answers(logs, abstains), on="request", how="left")
    for k in sorted({int(match[2]) for match in map(_AT_K.fullmatch, needed) if match and match[1] != "clicks"}):
        frame = _with_judged(frame, judged, k)
    for name in _in_order(needed):
        frame = frame.with_columns(_DERIVED[name].alias(name))
    return frame.select(list(dict.fromkeys(names)))


def column_type(logs: Logs, name: str) -> pl.DataType | None:
    """Type of a column that requests of these logs can have by its name; None where there is no such column."""
    own = logs.impressions.collect_schema()
    if name in own or not is_column(name, own):
        return own.get(name)
    return pl.Float64() if name not in COLUMNS else requests(logs, [name]).collect_schema()[name]


def is_column(name: str, own: Collection[str] = ()) -> bool:
    """True for a column that requests can have: of COLUMNS, by its form, or one of `own`."""
    return name in own or name in COLUMNS or bool(_AT_K.fullmatch(name) or _OF_KIND.fullmatch(name))


def _needed(names: Iterable[str]) -> set[str]:
    """Names, and all that they are computed from."""
    needed, rest = set[str](), list(names)
    while rest:
        name = rest.pop()
        if name not in needed:
            needed.add(name)
            rest += _DERIVED[name].meta.root_names() if name in _DERIVED else ()
    return needed


def _in_order(needed: set[str]) -> list[str]:
    """Derived columns, each behind those that it is computed from."""
    ordered = list[str]()
    rest = [name for name in _DERIVED if name in needed]
    while rest:
        ready = [name for name in rest if not set(_DERIVED[name].meta.root_names()) & set(rest)]
        ordered += ready
        rest = [name for name in rest if name not in ready]
    return ordered


def _followed(frame: pl.LazyFrame) -> pl.LazyFrame:
    """The frame, with whether the session, or user, asked again in other words."""
    asker = pl.coalesce("session", "user")
    asked = frame.filter(asker.is_not_null()).select(
        "request", "time", "query", asker=asker.hash(), tie=pl.col("request").hash()
    )
    pairs = asked.sort("asker", "time", "tie").with_columns(
        pl.col("asker", "time", "query").shift(-1).name.prefix("next_")
    )
    is_soon = (pl.col("asker") == pl.col("next_asker")) & (pl.col("next_time") - pl.col("time") <= FOLLOWED_WITHIN)
    # Polars joins filters into one, so that others are read as null: words of all are ten times as slow.
    queries = [pl.when(is_soon).then(name) for name in ("query", "next_query")]
    plain, next_plain = (query.str.strip_chars().str.to_lowercase() for query in queries)
    before, behind = (words(query).list.unique() for query in queries)
    n_shared = before.list.set_intersection(behind).list.len()
    n_fewest = pl.min_horizontal(before.list.len(), behind.list.len())
    followed = pairs.filter(is_soon, plain != next_plain, n_fewest > 0, 2 * n_shared >= n_fewest)
    frame = frame.join(followed.select("request", is_followed=True), on="request", how="left")
    return frame.with_columns(pl.col("is_followed").fill_null(value=False))


def _with_events(frame: pl.LazyFrame, logs: Logs, needed: set[str]) -> pl.LazyFrame:
    """The frame with what the events of each request say."""
    parts = {name: part for name, part in _DONE.items() if name in needed}
    for name in sorted(needed):
        if (match := _AT_K.fullmatch(name)) and match[1] == "clicks":
            parts[name] = (_is("click") & (pl.col("position") <= int(match[2])), "sum")
        elif match := _OF_KIND.fullmatch(name):
            parts[name] = (_is(match[1]) if match[2] == "n" else _of(match[1]), "sum")
    if not parts:
        return frame
    events = (
        _with_ranks(logs) if any("position" in part.meta.root_names() for part, _ in parts.values()) else logs.events
    )
    key = "row" if "row" in frame.collect_schema() and "row" in events.collect_schema() else "request"
    values = events.select(key, **{name: part for name, (part, _) in parts.items()})
    done = values.group_by(key).agg(getattr(pl.col(name), how)() for name, (_, how) in parts.items())
    frame = frame.join(done, on=key, how="left")
    return frame.with_columns(pl.col(name).fill_null(0) for name, (_, how) in parts.items() if how == "sum")


def _with_ranks(logs: Logs) -> pl.LazyFrame:
    """Events, with the rank of a click that names a document alone."""
    is_bare = _is("click") & pl.col("position").is_null() & pl.col("doc_id").is_not_null()
    bare = logs.events.filter(is_bare).drop("position")
    shown = logs.impressions.join(bare, on="request", how="semi").select("request", doc_id="doc_ids")
    ranks = (
        shown.with_columns(position=pl.int_ranges(1, pl.col("doc_id").list.len() + 1, dtype=pl.Int32))
        .explode("doc_id", "position")
        .group_by("request", "doc_id")
        .agg(pl.col("position").min())
    )
    ranked = bare.join(ranks, on=["request", "doc_id"], how="left")
    return pl.concat([logs.events.filter(~is_bare), ranked.select(logs.events.collect_schema().names())])


def _answers(logs: Logs, abstains: Abstains | None) -> pl.LazyFrame:
    answers = logs.answers
    if abstains is not None:
        told = pl.col("answer").map_batches(abstains, return_dtype=pl.Boolean)
        answers = answers.with_columns(abstained=pl.coalesce("abstained", told))
    return answers.select("request", **_ANSWERED)


def _with_judged(frame: pl.LazyFrame, judged: pl.DataFrame | None, k: int) -> pl.LazyFrame:
    """The frame with how many of the first k results there are, and have a label, of queries with labels."""
    if judged is None:
        raise InputError("judged@k needs labels; give a frame of queries and documents that have one")
    labels = judged.lazy().select("query", "doc_id").unique()
    shown = frame.join(labels, on="query", how="semi").select("request", "query", doc_id=pl.col("doc_ids").list.head(k))
    counts = (
        shown.explode("doc_id")
        .join(labels.with_columns(is_judged=True), on=["query", "doc_id"], how="left")
        .group_by("request")
        .agg(pl.col("is_judged").sum().alias(f"judged@{k}"), pl.col("doc_id").count().alias(f"shown@{k}"))
    )
    return frame.join(counts, on="request", how="left")
