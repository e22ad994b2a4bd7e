"""Questions to label, drawn from the traffic, with weights by which means over them are means over all requests."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import polars as pl

from steelyard.base import defaults
from steelyard.base.arrays import Floats, Ints
from steelyard.base.errors import InputError
from steelyard.base.limits import at_least
from steelyard.base.result import Result
from steelyard.base.settings import check_arguments
from steelyard.io.retrieved_items import content_id
from steelyard.io.write import write_text
from steelyard.stats.samples import checked_seed
from steelyard.text.folding import STEPS, fold
from steelyard.traffic.logs import Logs
from steelyard.traffic.pseudonyms import pseudonym_key
from steelyard.traffic.pseudonyms import pseudonymise as pseudonymised
from steelyard.traffic.reading import read_logs
from steelyard.traffic.requests import requests

_LOW = 0.1
"""Share of requests whose best score is low."""
_USE = ("n_clicks", "n_citation_clicks", "n_copies", "n_accepted", "n_successes")
_SIGNS: Mapping[str, pl.Expr] = {
    "error": pl.col("error").is_not_null(),
    "empty": pl.col("is_served") & (pl.col("n_results") == 0),
    "thumb_down": pl.col("thumbs") < 0,
    "low_rating": pl.col("rating") <= 2,
    "reformulated": pl.col("is_reformulated"),
    "abstained": pl.col("has_abstained"),
    "abandoned": pl.col("is_badly_abandoned") & pl.col("is_answered").is_null() & (pl.sum_horizontal(_USE).sum() > 0),
    "low_score": (pl.col("top_score") <= pl.col("top_score").quantile(_LOW, "lower"))
    & (pl.col("top_score") < pl.col("top_score").max()),
}
SIGNS = tuple(_SIGNS)
"""Signs that a request failed, the gravest first.

It failed by its own account; nothing was found; a thumb down; a rating of 1 or 2; the user asked again in other words;
the answer says that it has none; nothing was opened, copied or accepted, where that is logged and there was no answer
to read; the best score is in the lowest tenth of all requests.
"""

_HEAD = 0.5
"""Share of the requests of repeated queries that those of the head have."""
_OFTEN = 0.5
"""Share of the requests of a query that show a sign, from which on it is one of the query."""
_STEPS = tuple(step for step in STEPS if step not in ("accents", "line_wraps"))
_END = ".?!。？！…"

DRAWN = pl.Schema(
    {
        "query_id": pl.String(), "query": pl.String(), "language": pl.String(), "n_requests": pl.Int64(),
        "weight": pl.Float64(), "probability": pl.Float64(), "stratum": pl.String(), "signs": pl.String(),
    }
)  # fmt: skip
"""Columns of `DrawnQuestions.frame`; see there."""


@dataclass(frozen=True, eq=False, repr=False)
class DrawnQuestions(Result):
    """Questions that were drawn from logs.

    frame       one question a row, the most frequent first:
                query        as it was typed most often;   n_requests   how often it was asked, in any spelling
                probability  with which it was to be drawn;   weight   n_requests / probability: so many requests it
                             speaks for
                stratum      head, torso or tail, and "suspected" where it has signs;   signs   names of SIGNS, in one
                             text
    strata      one stratum a row: stratum, n_requests, n_queries, n_drawn
    n_requests  from which the questions were drawn;   n_left_out   requests of bots, and those without a query
    n_queries   different ones
    head_from   a query that was asked so often is of the head; one that was asked once is of the tail
    file        where the questions are; empty where nowhere
    """

    VIEW = "views.drawn"

    frame: pl.DataFrame = field(repr=False)
    strata: pl.DataFrame = field(repr=False)
    n_requests: int
    n_left_out: int
    n_queries: int
    head_from: int
    seed: int
    is_masked: bool = False
    file: str = ""

    @property
    def lines(self) -> Iterator[dict[str, Any]]:
        """The questions as a file of questions holds them."""
        for row in self.frame.iter_rows(named=True):
            line = {"qid": row.pop("query_id"), **row}
            del line["probability"]
            yield {key: value for key, value in line.items() if value not in (None, "")}


def questions_from_logs(
    logs: Logs | str | Path | Sequence[str | Path],
    *,
    n: Annotated[int, at_least(1)] = defaults.DRAWN,
    seed: int = defaults.SEED,
    save: str | Path | None = None,
    pseudonymise: bool = False,
) -> DrawnQuestions:
    """Draw questions to label from logs, so that rare and suspected ones come up and weighted means stay true.

    Queries that are equal once folded (case, width, blanks, quotes, dashes, Chinese characters, the mark at the end)
    are one question.  Strata are its frequency (tail: asked once; head: the most frequent that make up half of the
    requests of repeated queries; torso: between) by whether half of its requests show a sign of failure (SIGNS).  A
    stratum gets questions halfway between its share of the requests and an equal share; within it, a question is drawn
    with a probability proportional to how often it was asked.  Its weight is n_requests over that probability: the mean
    of any value over the questions, by weight, is without bias that over all requests (Horvitz and Thompson 1952; of
    known total, Hajek 1971).

    logs          Logs, or files and folders as `read_logs` takes them; requests of bots, and those without a query, are
                  left out
    n             questions, or all where there are no more; as many as there are strata at least, up to 6
    seed          of the draw
    save          a file of questions in JSONL, with weight, stratum and signs as fields of each question
    pseudonymise  mask personal data in queries; the key of the environment is needed, as for all logs
    Raises        InputError for logs without a query, and for too few questions; OutputError.
    """
    check_arguments(questions_from_logs, n=n, pseudonymise=pseudonymise)
    checked_seed(seed)
    whole = logs if isinstance(logs, Logs) else read_logs(logs)
    hidden = pseudonymised(whole, pseudonym_key()) if pseudonymise else whole
    queries = _queries(hidden)
    if not queries.height:
        raise InputError("the logs hold no query of a person, so there is no question to draw")
    queries, head_from = in_strata(queries)
    drawn = draw(queries, n, seed)
    strata = (
        queries.group_by("stratum")
        .agg(pl.col("n_requests").sum(), n_queries=pl.len())
        .join(drawn.group_by("stratum").agg(n_drawn=pl.len()), on="stratum")
        .sort("stratum")
    )
    n_requests = int(queries["n_requests"].sum())
    n_left_out = hidden.impressions.select(pl.len()).collect().item() - n_requests
    result = DrawnQuestions(
        drawn, strata, n_requests, n_left_out, queries.height, head_from, seed, pseudonymise,
        "" if save is None else str(save),
    )  # fmt: skip
    if save is not None:
        write_text(save, "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in result.lines))
    return result


def _queries(logs: Logs) -> pl.DataFrame:
    """One question a row, in the order of its folded text: query, language, n_requests, signs."""
    needed = {name for sign in _SIGNS.values() for name in sign.meta.root_names()}
    asked = requests(logs, ["query", "language", *sorted(needed)]).filter(pl.col("query").str.strip_chars() != "")
    signs = asked.select("query", "language", **{name: sign.fill_null(value=False) for name, sign in _SIGNS.items()})
    typed = signs.group_by("query", "language").agg(pl.len(), *(pl.col(name).sum() for name in SIGNS)).collect()
    texts = typed["query"].unique()
    folded = texts.map_elements(_folded, return_dtype=pl.String)
    spelled = typed.with_columns(folded=pl.col("query").replace_strict(texts, folded))
    most = spelled.sort("len", "query", "language", descending=[True, False, False]).group_by(
        "folded", maintain_order=True
    )
    often = [
        pl.when(pl.col(name).sum() >= _OFTEN * pl.col("len").sum()).then(pl.lit(name)).alias(name) for name in SIGNS
    ]
    questions = most.agg(pl.col("query", "language").first(), *often, n_requests=pl.col("len").sum().cast(pl.Int64))
    return questions.sort("folded").select(
        "query", "language", "n_requests", signs=pl.concat_list(*SIGNS).list.drop_nulls()
    )


def _folded(query: str) -> str:
    """A query without what does not make it another one."""
    text = fold(query, _STEPS)
    return text.rstrip(_END + " ") or text


def in_strata(queries: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """Questions with the column stratum, and the count from which on they are of the head.

    queries   columns n_requests and signs
    """
    head_from = _head_from(queries["n_requests"].to_numpy())
    return queries.with_columns(_stratum(head_from).alias("stratum")), head_from


def _head_from(counts: Ints) -> int:
    """The count from which on queries are of the head, the largest that leaves it half of the repeated requests.

    Queries that were asked as often as each other are in one band.
    """
    repeated = np.sort(counts[counts > 1])[::-1]
    if not len(repeated):
        return 2
    return int(repeated[np.searchsorted(np.cumsum(repeated), _HEAD * repeated.sum())])


def _stratum(head_from: int) -> pl.Expr:
    n = pl.col("n_requests")
    band = pl.when(n == 1).then(pl.lit("tail")).when(n >= head_from).then(pl.lit("head")).otherwise(pl.lit("torso"))
    return pl.concat_str(band, pl.when(pl.col("signs").list.len() > 0).then(pl.lit(" suspected")).otherwise(pl.lit("")))


def draw(queries: pl.DataFrame, n: int, seed: int) -> pl.DataFrame:
    """Draw n questions from some with a stratum; columns DRAWN."""
    strata = queries.with_row_index("place").group_by("stratum").agg("place", "n_requests").sort("stratum")
    sizes = strata["place"].list.len().to_numpy().astype(np.int64)
    if n < len(sizes):
        raise InputError(
            f"{n} questions cannot speak for {len(sizes)} strata of the traffic; draw {len(sizes)} at least"
        )
    shares = strata["n_requests"].list.sum().to_numpy() / queries["n_requests"].sum()
    rng = np.random.default_rng(seed)
    probability = np.zeros(queries.height)
    is_drawn = np.zeros(queries.height, bool)
    for row, size in zip(strata.iter_rows(named=True), allocated(shares, sizes, n), strict=True):
        own = inclusion(np.array(row["n_requests"], float), int(size))
        probability[row["place"]] = own
        is_drawn[np.array(row["place"])[systematic(own, rng)]] = True
    drawn = queries.with_columns(probability=probability).filter(is_drawn)
    return drawn.select(
        pl.col("query").map_elements(content_id, return_dtype=pl.String).alias("query_id"),
        "query", "language", "n_requests", (pl.col("n_requests") / pl.col("probability")).alias("weight"),
        "probability", "stratum", pl.col("signs").list.join(", "),
    ).sort("n_requests", "query", descending=[True, False]).cast(dict(DRAWN))  # type: ignore[arg-type]  # fmt: skip


def allocated(shares: Floats, sizes: Ints, n: int) -> Ints:
    """Questions of each stratum: halfway between its share of the requests and an equal share.

    shares   (h,) of the requests, in sum 1;   sizes   (h,) questions that there are;   n   to be drawn, h at least
    Returns  (h,) 2 at least where n and the size allow it, else 1; no more than there are; in sum n, or all.

    >>> allocated(np.array([0.9, 0.1]), np.array([50, 4]), 20)
    array([16,  4])
    """
    h = len(sizes)
    least = np.minimum(sizes, 2 if n >= 2 * h else 1)
    quota = (shares + 1 / h) / 2
    counts = least.copy()
    for _ in range(min(n, int(sizes.sum())) - int(least.sum())):
        counts[np.argmax(np.where(counts < sizes, quota / (counts + 1), -1))] += 1
    return counts


def inclusion(counts: Floats, n: int) -> Floats:
    """Probabilities proportional to counts, in sum n; those that would be above 1 are 1.

    counts   (q,) positive;   n   from 1 to q

    >>> inclusion(np.array([8.0, 1.0, 1.0]), 2)
    array([1. , 0.5, 0.5])
    """
    certain = np.zeros(len(counts), bool)
    while True:
        rest = n - certain.sum()
        scale = rest / counts[~certain].sum() if (~certain).any() else 0.0
        above = ~certain & (counts * scale >= 1)
        if not above.any():
            return np.where(certain, 1.0, counts * scale)
        certain |= above


def systematic(probability: Floats, rng: np.random.Generator) -> Ints:
    """Places of units that are drawn with these probabilities, as many as these are in sum.

    One comb is laid over the units in a random order, so that no probability is missed.

    probability   (q,) in [0, 1], in sum a whole number
    Returns       places, ascending
    Source        Hartley and Rao, Sampling with unequal probabilities and without replacement, 1962.
    """
    order = rng.permutation(len(probability))
    ends = np.cumsum(probability[order])
    ends[-1] = np.round(ends[-1])
    teeth = np.floor(ends + rng.random())
    return np.sort(order[np.diff(teeth, prepend=0.0) > 0])
