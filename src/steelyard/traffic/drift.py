"""Drift of what is asked, shown and served: each window against a reference, in effect and p.

Tests suppose values that are independent, and requests are not: a user asks often, and nights are unlike days.  So each
user counts once a window, and samples are reduced by how much the windows of the reference differ among themselves
beyond chance, the dispersion of Pearson's statistic (McCullagh & Nelder, Generalized Linear Models, 1989, section 4.5).
"""

from __future__ import annotations

import base64
import math
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from steelyard.base.arrays import Floats, Ints
from steelyard.base.errors import InputError, quoted
from steelyard.stats import drift as tests
from steelyard.traffic.estimates import Units, ratios
from steelyard.traffic.logs import Logs
from steelyard.traffic.requests import column_type, requests, words
from steelyard.traffic.schema import TIME
from steelyard.traffic.series import POINTS, Series, Stream
from steelyard.traffic.tabulating import LEAST_UNITS
from steelyard.traffic.windows import Windows, placed, time_of

UNSEEN, QUERIES = "unseen_words", "mmd:query"
USUAL = (
    "psi:query_length", "psi:top_score", "psi:latency_ms", "chi_square:language", "chi_square:arm", UNSEEN, QUERIES,
)  # fmt: skip
"""What is compared unless others are asked for, as far as the logs have it."""
_COLUMNS: Mapping[str, str] = {"query_length": "n_characters"}
_CELLS, _TENTHS = 50, 10
_MOST_KINDS, _MOST_WORDS, _MOST_VECTORS = 30, 10_000, 300
_LENGTH = 64
_GRAM = 3
_LARGEST = 32767.0
Embed = Callable[[Sequence[str]], npt.ArrayLike]
"""Texts -> (n, d) vectors."""


def hashed_grams(texts: Sequence[str]) -> Floats:
    """(n, 64) vectors of texts, from their runs of three characters: quick, offline, and blind to meaning.

    >>> [round(float(hashed_grams(["how to sort"])[0] @ other), 2) for other in hashed_grams(["how to sort?", "退款"])]
    [0.86, 0.21]
    """
    vectors = np.zeros((len(texts), _LENGTH))
    for vector, text in zip(vectors, texts, strict=True):
        text = f" {' '.join(text.lower().split())} "
        for start in range(max(len(text) - _GRAM + 1, 1)):
            code = zlib.crc32(text[start : start + _GRAM].encode("utf-8", "replace"))
            vector[code % _LENGTH] += 1 if code & 1 << 16 else -1
    return _of_length_one(vectors)


@dataclass(frozen=True)
class Distribution:
    """How values were distributed in a reference.

    edges        of cells of numbers, ascending, each the highest value of its cell; or the commonest texts
    counts       of each cell, and of what is beyond the last edge or no common text; one request per user and window
    dispersion   how much the windows of the reference differ, where 1 is chance; more makes samples count for less
    """

    edges: Sequence[float] | Sequence[str]
    counts: Sequence[int]
    dispersion: float


@dataclass(frozen=True)
class Reference:
    """What traffic was like from `start` to `end`: counts, hashes of words and a sample of hashed queries, no texts of
    users.

    start, end      microseconds since 1970
    distributions   by name: "psi:query_length", "chi_square:language"
    words           hash of each common word -> windows in which it was, 1 or 2 for more; empty where it is not watched
    vectors         sample of vectors of queries, 64 whole numbers of 16 bits each, as base64; "" likewise
    dispersion      of queries, by the nearest of a few of these vectors: as of a distribution
    seed            of permutations
    """

    start: int
    end: int
    distributions: Mapping[str, Distribution]
    words: Mapping[str, int]
    vectors: str
    dispersion: float = 1.0
    seed: int = 0

    @property
    def data(self) -> dict[str, Any]:
        """What JSON holds of it."""
        return asdict(self)

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Reference:
        """The reference of `data`.

        Raises   InputError for data that is none
        """
        try:
            parts = {name: Distribution(**part) for name, part in data["distributions"].items()}
            return cls(**{**data, "distributions": parts})
        except (KeyError, TypeError, AttributeError):
            raise InputError("the reference of a monitor is damaged; leave it out, so that one is made again") from None

    @property
    def series(self) -> list[Series]:
        """What its points are."""
        names = [*self.distributions, *([UNSEEN] if self.words else ()), *([QUERIES] if self.vectors else ())]
        return [_series(name) for name in names]


def _series(name: str) -> Series:
    if name == UNSEEN:
        return Series(name, "label_free", "lower", "share", 0.01)
    test, _, column = name.partition(":")
    stream: Stream = "operations" if column in ("latency_ms", "tokens_in", "tokens_out", "cost_usd") else "label_free"
    return Series(name, stream, "either", "real", tests.FLOORS[test], is_test=True)


def reference(
    logs: Logs, windows: Windows, drifts: Iterable[str] | None = None, after: datetime | None = None,
    until: datetime | None = None, *, embed: Embed = hashed_grams, seed: int = 0,
) -> Reference:  # fmt: skip
    """The reference of windows between two moments.

    drifts   names: "psi:COLUMN" and "ks:COLUMN" of a column of numbers of requests, "chi_square:COLUMN" of one of
             texts, "unseen_words" and "mmd:query"; None for USUAL, as far as the logs have what they need
    embed    gives vectors of texts; the same one is handed to `drift`
    Raises   InputError for names that are none, and where there is no request between the moments
    """
    names = list(USUAL if drifts is None else dict.fromkeys(drifts))
    sample = _Sample.of(logs, windows, names, after, until)
    if not len(sample.rows):
        raise InputError("there is no request between the moments of the reference; expected several windows of them")
    distributions = {
        name: distribution
        for name in names
        if name not in (UNSEEN, QUERIES) and (distribution := _distribution(name, sample)) is not None
    }
    common = _word_windows(sample) if UNSEEN in names else {}
    bounds = int(sample.starts[0]), int(sample.ends[-1])
    queries = _queries(sample.rows) if QUERIES in names else []
    if not queries:
        return Reference(*bounds, distributions, common, "", seed=seed)
    vectors = _small(embed(queries))
    encoded = base64.b64encode(vectors.tobytes()).decode()
    windows_of_queries = [texts for _, rows in sample.by_window() if (texts := _queries(rows))]
    cells = [_nearest(_small(embed(texts)), vectors[:_TENTHS]) for texts in windows_of_queries]
    return Reference(*bounds, distributions, common, encoded, _dispersion(np.array(cells)), seed)


def drift(
    logs: Logs, windows: Windows, reference: Reference, after: datetime | None = None, until: datetime | None = None,
    *, embed: Embed = hashed_grams,
) -> pl.DataFrame:  # fmt: skip
    """How far each window is from a reference.

    Windows should be days, or longer, where what is asked changes with the hour.  "unseen_words" is no test, but the
    share of words that are not in the reference, with its error; in windows of the reference itself it is the share of
    words that no other one of its windows has.

    Returns   schema POINTS, for all traffic: value is the effect, 0 where nothing changed; null where users are fewer
              than 10
    """
    names = [item.name for item in reference.series]
    sample = _Sample.of(logs, windows, names, after, until)
    points = list[tuple[object, ...]]()
    for window, rows in sample.by_window():
        bounds = time_of(int(sample.starts[window])), time_of(int(sample.ends[window]))
        compared = {name: _compared(name, part, rows) for name, part in reference.distributions.items()}
        if reference.vectors:
            compared[QUERIES] = _compared_queries(reference, rows, int(sample.starts[window]), embed)
        points += [(name, "", *bounds, value, None, p, n) for name, (value, p, n) in compared.items()]
    frame = pl.DataFrame(points, schema=POINTS, orient="row").with_columns(pl.col("value", "p").fill_nan(None))
    if reference.words:
        frame = pl.concat([frame, _unseen(reference.words, reference.start, reference.end, sample)])
    place = pl.col("series").replace_strict(names, list(range(len(names))), return_dtype=pl.Int64)
    return frame.sort(place, "start")


@dataclass(frozen=True, eq=False)
class _Sample:
    """One request of each user in each window, by chance, and where windows begin and end."""

    rows: pl.DataFrame
    starts: Ints
    ends: Ints

    @classmethod
    def of(
        cls, logs: Logs, windows: Windows, names: Sequence[str], after: datetime | None, until: datetime | None
    ) -> _Sample:
        """Raises   InputError for names that are none."""
        for name in names:
            if name not in (UNSEEN, QUERIES):
                _check(name, logs)
        columns = dict.fromkeys(["time", "unit", "request", *(_column(name) for name in names)])
        between = [pl.col("time") >= after] if after else []
        between += [pl.col("time") < until] if until else []
        frame = requests(logs, list(columns)).filter(*between).collect()
        times = frame["time"].to_physical().to_numpy()
        starts, ends = windows.bounds(np.sort(times), after=after, until=until)
        window = placed(times, starts, ends)
        rows = frame.with_columns(window=pl.Series(window, dtype=pl.Int64)).filter(window >= 0)
        rows = rows.sort(pl.col("request").hash(), "request")
        return cls(rows.unique(["window", "unit"], keep="first", maintain_order=True), starts, ends)

    def by_window(self) -> list[tuple[int, pl.DataFrame]]:
        """Each window, also those without requests, and its rows."""
        parts = self.rows.partition_by("window", as_dict=True, maintain_order=True)
        nothing = self.rows.clear()
        return [(window, parts.get((window,), nothing)) for window in range(len(self.starts))]


def _column(name: str) -> str:
    """The column of requests that is compared."""
    if name in (UNSEEN, QUERIES):
        return "query"
    column = name.partition(":")[2]
    return _COLUMNS.get(column, column)


def _check(name: str, logs: Logs) -> None:
    test, _, column = name.partition(":")
    if test not in ("psi", "ks", "chi_square") or not column:
        raise InputError(
            f"drift {quoted(name)} is none; expected psi:COLUMN, ks:COLUMN, chi_square:COLUMN, {UNSEEN} or {QUERIES}"
        )
    type_ = column_type(logs, _column(name))
    if test == "chi_square" and type_ != pl.String:
        raise InputError(f"drift {quoted(name)}: requests have no column of texts {quoted(column)}")
    if test != "chi_square" and (type_ is None or not type_.is_numeric()):
        raise InputError(f"drift {quoted(name)}: requests have no column of numbers {quoted(column)}")


def _distribution(name: str, sample: _Sample) -> Distribution | None:
    """How a column is distributed; None where it is empty."""
    column = sample.rows[_column(name)]
    edges: list[float] | list[str]
    if column.dtype == pl.String:
        common = column.drop_nulls().value_counts().sort(["count", column.name], descending=[True, False])
        edges = common[column.name].head(_MOST_KINDS).to_list()
    else:
        values = _finite(column)
        shares = np.arange(1, _CELLS) / _CELLS
        edges = np.unique(np.quantile(values, shares, method="lower")).tolist() if len(values) else []
    if not edges:
        return None
    counts = [_cells(rows[column.name], edges) for _, rows in sample.by_window()]
    total = np.sum(counts, axis=0)
    merged = np.array([_merged(name, total, part) for part in counts])
    return Distribution(edges, total.astype(int).tolist(), _dispersion(merged))


def _finite(column: pl.Series) -> Floats:
    values = column.cast(pl.Float64)
    return values.filter(values.is_finite()).to_numpy()


def _cells(column: pl.Series, edges: Sequence[float] | Sequence[str]) -> Floats:
    """(len(edges) + 1,) values in each cell; the last one is for those beyond all edges."""
    if column.dtype == pl.String:
        places = {edge: place for place, edge in enumerate(edges)}
        cell = np.array([places.get(value, len(edges)) for value in column.drop_nulls()], np.int64)
    else:
        cell = np.searchsorted(np.array(edges, np.float64), _finite(column))
    return np.bincount(cell, minlength=len(edges) + 1).astype(np.float64)


def _merged(name: str, reference: Floats, counts: Floats) -> Floats:
    """Counts by cells; of numbers, by about tenths of the reference, each of neighbouring cells."""
    if name.startswith("chi_square"):
        return counts
    middles = (np.cumsum(reference) - reference / 2) / max(reference.sum(), 1.0)
    tenth = np.unique(np.minimum((middles * _TENTHS).astype(int), _TENTHS - 1), return_inverse=True)[1]
    return np.bincount(tenth, counts).astype(np.float64, copy=False)


def _dispersion(counts: Floats) -> float:
    """Pearson's statistic of windows (w, b) against their sum, by its degrees of freedom; at least 1."""
    counts = counts[:, counts.sum(axis=0) > 0]
    counts = counts[counts.sum(axis=1) > 0]
    freedom: int = (counts.shape[0] - 1) * (counts.shape[1] - 1)
    if freedom < 1:
        return 1.0
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / counts.sum()
    statistic = float(((counts - expected) ** 2 / expected).sum())
    return max(1.0, statistic / freedom)


def _compared(name: str, part: Distribution, rows: pl.DataFrame) -> tuple[float, float, int]:
    """Effect, p and number of values of a window."""
    reference, counts = np.array(part.counts, np.float64), _cells(rows[_column(name)], part.edges)
    n = int(counts.sum())
    if n < LEAST_UNITS:
        return math.nan, math.nan, n
    test = name.partition(":")[0]
    if test == "psi":
        reference, counts = _merged(name, reference, reference), _merged(name, reference, counts)
    value, p = _TESTS[test](reference / part.dispersion, counts / part.dispersion)
    return value, p, n


_TESTS: Mapping[str, Callable[[Floats, Floats], tuple[float, float]]] = {
    "psi": tests.psi, "ks": tests.ks, "chi_square": tests.chi_square,
}  # fmt: skip


def _small(vectors: npt.ArrayLike) -> npt.NDArray[np.int16]:
    """(n, 64) vectors of length one in whole numbers; longer ones are projected by chance, the same one every time.

    Raises   InputError for what is not one vector of finite numbers per text.
    """
    rows = np.asarray(vectors, np.float64)
    if rows.ndim != 2 or not np.isfinite(rows).all():
        raise InputError(f"vectors of queries have shape {rows.shape}; expected one row of finite numbers per text")
    if rows.shape[1] != _LENGTH:
        rows = _of_length_one(rows) @ np.random.default_rng(0).standard_normal((rows.shape[1], _LENGTH))
    return np.rint(_of_length_one(rows) * _LARGEST).astype("<i2")


def _of_length_one(rows: Floats) -> Floats:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(lengths > 0, lengths, 1.0))


def _compared_queries(reference: Reference, rows: pl.DataFrame, start: int, embed: Embed) -> tuple[float, float, int]:
    queries = _queries(rows)
    n = round(len(queries) / reference.dispersion)
    if n < LEAST_UNITS:
        return math.nan, math.nan, len(queries)
    before = np.frombuffer(base64.b64decode(reference.vectors), "<i2").reshape(-1, _LENGTH)
    rng = np.random.default_rng([reference.seed, abs(start)])
    value, p = tests.mmd(before / _LARGEST, _small(embed(queries[:n])) / _LARGEST, rng)
    return value, p, len(queries)


def _queries(rows: pl.DataFrame) -> list[str]:
    return rows["query"].drop_nulls().head(_MOST_VECTORS).to_list()


def _nearest(vectors: npt.NDArray[np.int16], some: npt.NDArray[np.int16]) -> Ints:
    """(len(some),) how many vectors are nearest to each of some."""
    return np.bincount((vectors.astype(float) @ some.T.astype(float)).argmax(axis=1), minlength=len(some))


def _hashes(texts: pl.Series) -> pl.DataFrame:
    """Distinct texts, and a hash of each that is the same in every version."""
    distinct = texts.unique()
    codes = [f"{zlib.crc32(text.encode('utf-8', 'replace')):x}" for text in distinct]
    return pl.DataFrame({"word": distinct, "hash": codes}, schema={"word": pl.String, "hash": pl.String})


def _hashed(sample: _Sample) -> pl.DataFrame:
    """Each word of the sample: request, window and hash."""
    queries = sample.rows.select("request", "window", word=words(pl.col("query")))
    said = queries.explode("word").drop_nulls("word")
    return said.join(_hashes(said["word"]), on="word")


def _word_windows(sample: _Sample) -> dict[str, int]:
    said = _hashed(sample).group_by("hash").agg(windows=pl.col("window").n_unique(), n=pl.len())
    common = said.sort(["windows", "n", "hash"], descending=[True, True, False]).head(_MOST_WORDS)
    return {code: min(n, 2) for code, n in common.select("hash", "windows").iter_rows()}


def _unseen(common: Mapping[str, int], start: int, end: int, sample: _Sample) -> pl.DataFrame:
    """Points of the share of words that are not in a reference, with users as units."""
    windows = pl.DataFrame({"window": np.arange(len(sample.starts)), "start": sample.starts})
    is_inside = (pl.col("start") >= start) & (pl.col("start") < end)
    schema = {"hash": pl.String, "windows": pl.Int64}
    seen = pl.DataFrame({"hash": list(common), "windows": list(common.values())}, schema=schema)
    units = (
        _hashed(sample)
        .join(seen, on="hash", how="left")
        .join(windows, on="window")
        .with_columns(is_unseen=pl.col("windows").fill_null(0) < pl.when(is_inside).then(2).otherwise(1))
        .group_by("window", "request")
        .agg(pl.col("is_unseen").sum(), n=pl.len())
        .sort("window", "request")
    )
    estimates = ratios(
        Units(units["window"].to_numpy(), len(sample.starts)),
        *(units[name].cast(pl.Float64).to_numpy() for name in ("is_unseen", "n")),
    )
    few = estimates.n < LEAST_UNITS
    columns = {
        "start": pl.Series(sample.starts).cast(TIME), "end": pl.Series(sample.ends).cast(TIME),
        "value": np.where(few, np.nan, estimates.value), "error": np.where(few, np.nan, estimates.error),
        "n": estimates.n,
    }  # fmt: skip
    frame = pl.DataFrame(columns).with_columns(
        pl.col("value", "error").fill_nan(None), series=pl.lit(UNSEEN), segment=pl.lit(""), p=pl.lit(None, pl.Float64)
    )
    return frame.select(pl.col(name).cast(type_) for name, type_ in POINTS.items())
