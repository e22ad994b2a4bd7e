"""The tables of a bench as data: what each column is called and says, and which columns each table has."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from steelyard.bench.bench import Bench
from steelyard.bench.config import BenchConfig
from steelyard.bench.frames import system_label
from steelyard.bench.load.throughput import INCONCLUSIVE
from steelyard.reports.views.numbers import (
    amount,
    bounds,
    by_width,
    count,
    decimals_of,
    milliseconds,
    money,
    multiple,
    number,
    p_text,
    percent,
    signed,
    significant,
)
from steelyard.reports.views.view import Column, Sheet, sheet_of
from steelyard.reports.visible import single_line
from steelyard.reports.words import Words

Row = Mapping[str, Any]
Cell = Callable[[Row, Words], str]

_LEAST = {"p95": 72, "p99": 368}
"""Requests from which on a percentile has an upper end."""
_PERCENTILES = ("p50", "p95", "p99")


# Rows ----------------------------------------------------------------------------------------------------------------


def rows_of(frame: pl.DataFrame) -> list[dict[str, Any]]:
    """The rows of an axis, null where there is no number."""
    return frame.fill_nan(None).to_dicts()


def in_order(frame: pl.DataFrame, config: BenchConfig) -> pl.DataFrame:
    """An axis by systems in the order of the configuration, then by candidates and load; the base first.

    Blocks are measured in an order of their own, which says nothing.
    """
    places = {system.name: place for place, system in enumerate(config.systems.values())}
    by = [pl.col("system").replace_strict(places, default=-1, return_dtype=pl.Int64), pl.col("depth")]
    if "loop" in frame.columns:
        by += [pl.col("loop") != "open", pl.col("loop") != "closed", pl.col("rate"), pl.col("users")]
    return frame.sort(by, nulls_last=False, maintain_order=True)


def of_loop(frame: pl.DataFrame, loop: str) -> pl.DataFrame:
    """The rows of requests that were sent in one way; those of different ways are never put together."""
    return frame.filter(pl.col("loop") == loop)


def levels(bench: Bench, loop: str | None = None) -> list[dict[str, Any]]:
    """Every level of load, or of one loop, with its times."""
    keys = ["system", "depth", "loop", "rate", "users"]
    latency, throughput = bench.latency.drop("n"), in_order(bench.throughput, bench.config)
    rows = throughput.join(latency, on=keys, how="left", nulls_equal=True, maintain_order="left")
    return rows_of(rows if loop is None else of_loop(rows, loop))


def row_name(row: Row) -> str:
    """The name in scores of the system of a row over its candidates."""
    return system_label(row["system"], row["depth"])


def named(row: Row) -> str:
    """The same on one line, whatever the name holds."""
    return single_line(row_name(row))


def is_lower(bench: Bench, measure: str) -> bool:
    """True if lower values of a measure are better."""
    return any(str(own) == measure and not own.definition.higher_is_better for own in bench.scores.measures)


def choice_rows(bench: Bench) -> list[dict[str, Any]]:
    """The options of a bench in order, with the ends of the intervals of their P95 and net benefit."""
    keys, rows = ["system", "depth"], in_order(bench.choice, bench.config)
    axes = ((of_loop(bench.latency, "sequential"), "p95", "p95"), (bench.returns, "net_per_day", "net"))
    for axis, name, own in axes:
        ends = axis.select(*keys, *(pl.col(f"{name}_{end}").alias(f"{own}_{end}") for end in ("low", "high")))
        rows = rows.join(ends, on=keys, how="left", nulls_equal=True, maintain_order="left")
    return [row | {"currency": currency_of(bench)} for row in rows_of(rows)]


def goodness_of(bench: Bench, row: Row, name: str = "quality") -> float:
    """The value of a row by its measure, higher being better; the least of all where there is none."""
    if row[name] is None:
        return -math.inf
    return float(-row[name] if is_lower(bench, row["measure"]) else row[name])


def places_of(systems: Iterable[str], config: BenchConfig) -> list[int]:
    """The place of each system of some rows in the configuration, the base left out; charts have colours by it."""
    names = [system.name for system in config.systems.values() if not system.is_base]
    return [names.index(system) if system in names else len(names) for system in systems]


# Cells ---------------------------------------------------------------------------------------------------------------


def currency_of(bench: Bench) -> str:
    """The one currency of a bench: that of its [value], or else of its prices."""
    if bench.config.value is not None:
        return bench.config.value.currency
    return next(iter(bench.costs["currency"].drop_nulls()), "USD")


def objective_text(config: BenchConfig, words: Words) -> str:
    """The latency that is wished for: "P95 ≤ 500 ms"; nothing where the configuration names none."""
    limits = {} if config.load is None else config.load.slo
    return words("list.comma").join(
        words("bench.limit", name=name.upper(), ms=milliseconds(1000 * limit)) for name, limit in limits.items()
    )


def load_text(row: Row, words: Words) -> str:
    """The load of a row: "20/s", "4 users", or one request at a time."""
    if row["loop"] in ("open", "ramp"):
        return words(f"bench.load.{'rate' if row['loop'] == 'open' else 'rising'}", rate=amount(row["rate"]))
    return words("bench.load.users", n=row["users"]) if row["loop"] == "closed" else words("bench.load.one")


def time_ends(row: Row, name: str, words: Words) -> str:
    """Both ends of the interval of a percentile."""
    return bounds(row[f"{name}_low"], row[f"{name}_high"], unknown=words("bench.few"))


def timed(row: Row, name: str) -> str:
    """A time or rate to the digits that its interval allows, where it has one."""
    return by_width(row.get(f"{name}_low"), row.get(f"{name}_high"))(row[name])


def ends_of(row: Row, name: str, text: Callable[[float], str], words: Words) -> str:
    """Both ends of an interval, with a word between them, as a dash beside a minus misleads; a dash for none."""
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    return "–" if low is None or high is None else words("compare.interval", low=text(low), high=text(high))


def difference_ends(row: Row, name: str, words: Words) -> str:
    """Both ends of an interval of differences; a dash where there is none."""
    return ends_of(row, name, lambda end: signed(end, 3), words)


def _money_ends(row: Row, name: str, *, sign: bool = False) -> str:
    """Both ends of an interval of money; a dash where there is none, or where it has no width."""
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    if low is None or high is None or low == high:
        return "–"
    return " … ".join(money(end, _currency(row), sign=sign, decimals=decimals_of(low, high)) for end in (low, high))


def _currency(row: Row) -> str:
    return row["currency"] or "USD"


def is_open(row: Row) -> bool:
    """True for a level of load where more requests would decide whether it holds."""
    return row["reason"] in INCONCLUSIVE


def _holds(row: Row, words: Words) -> str:
    """The state of a load: held or why not; by which percentile, where it is not the P95, whose interval is shown."""
    if row["holds"] is None:
        return "–"
    key = "open_since" if is_open(row) else "no_since"
    reason = "" if row["holds"] else words(f"bench.fails.{row['reason']}")
    verdict = words("bench.yes") if row["holds"] else words(f"bench.{key}", reason=reason)
    if row["percentile"] in (None, "p95"):
        return verdict
    interval = time_ends(row, "latency_ms", words)
    return words("bench.by_percentile", verdict=verdict, percentile=row["percentile"].upper(), interval=interval)


def _value(name: str, text: Callable[[Any], str]) -> Cell:
    return lambda row, words: text(row[name])


def _code(name: str, area: str) -> Cell:
    """A code in words; a dash for none."""
    return lambda row, words: "–" if row[name] is None else words(f"bench.{area}.{row[name]}")


def _ends(name: str, text: Callable[[Row, str, Words], str]) -> Cell:
    return lambda row, words: text(row, name, words)


def cost_text(row: Row, name: str, *, sign: bool = False) -> str:
    """Money to the digits that its interval allows, where it has one."""
    return money(row[name], _currency(row), sign=sign, decimals=_decimals(row, name))


def _cost(name: str, *, sign: bool = False) -> Cell:
    return lambda row, words: cost_text(row, name, sign=sign)


def _decimals(row: Row, name: str) -> int | None:
    """The decimals that the interval of a value allows; None where it has none."""
    return decimals_of(row.get(f"{name}_low"), row.get(f"{name}_high"))


def _timed(name: str) -> Cell:
    return lambda row, words: timed(row, name)


_MILLISECONDS = (*_PERCENTILES, "service_p95", "ttft_p50", "ttft_p95", "itl_p50", "itl_p95", "ms_per_1k_tokens")
_AMOUNTS = ("ms_per_pair", "achieved", "goodput", "in_flight", "rate", "failing_rate", "tokens",
            "gamma", "sigma", "kappa", "peak_users", "peak_rate")  # fmt: skip
_TIMES = (*_PERCENTILES, "ttft_p95", "gamma", "sigma", "kappa")
_COUNTS = ("n_short", "n_failed", "n_unstable", "n_repaired")

COLUMNS: dict[str, tuple[str, Cell]] = {
    "system": ("system", lambda row, words: row_name(row)),
    "load": ("load", load_text),
    "stage": ("stage", lambda row, words: words("bench.rest") if row["stage"] == "rest" else row["stage"]),
    "requests": ("requests", _value("n", count)),
    "questions": ("questions", _value("n", count)),
    "users": ("users", _value("users", count)),
    **{name: (name, _timed(name)) for name in (*_MILLISECONDS, *_AMOUNTS)},
    **{name: (name, _value(name, count)) for name in _COUNTS},
    **{f"{name}_ends": ("interval", _ends(name, time_ends)) for name in _TIMES},
    **{name: (name, _value(name, number)) for name in ("base", "ceiling")},
    **{name: (name, _value(name, percent)) for name in ("captured", "first_changed", "overlap", "p_positive")},
    **{name: (name, _value(name, lambda share: percent(share, 1))) for name in ("ties", "truncated")},
    **{name: (name, _cost(name)) for name in ("cost", "per_query", "per_day", "per_1m_tokens", "break_even")},
    **{f"{name}_ends": ("interval", _ends(name, difference_ends))
       for name in ("difference", "gain")},
    # A loss that rounds to nothing has no sign.
    **{f"{name}_ends": ("interval", _ends(name, lambda row, name, words: ends_of(
        row, name, lambda end: percent(round(end, 2) + 0.0), words))) for name in ("captured", "relative_gain")},
    # The time of no tokens is no surer than that of a thousand.
    "fixed_ms": ("fixed_ms", lambda row, words: by_width(
        row["ms_per_1k_tokens_low"], row["ms_per_1k_tokens_high"])(row["fixed_ms"])),
    "tokens_per_s": ("tokens_per_s", _value("tokens_per_s", significant)),
    "slope_ends": ("interval", lambda row, words: ends_of(
        row, "ms_per_1k_tokens", by_width(row["ms_per_1k_tokens_low"], row["ms_per_1k_tokens_high"]), words)),
    # Of several repetitions the least and the greatest P95.
    "repetitions": ("repetitions", lambda row, words: bounds(row["p95_least"], row["p95_greatest"], unknown="–")),
    "n_censored": ("n_censored", _value("n_censored", lambda n: amount(n or None))),
    "tokens_out": ("tokens_out", _value("tokens", amount)),
    "offered": ("offered", _value("rate", amount)),
    "rising": ("offered", lambda row, words: f"{amount(row['low_rate'])}–{amount(row['high_rate'])}"),
    "errors": ("errors", _value("error_rate", lambda share: percent(share, 1))),
    "late": ("late", _value("dispatch_p99", milliseconds)),
    "little_gap": ("little_gap", _value("little_gap", lambda share: percent(share, 1, sign=True))),
    "holds": ("holds", _holds),
    "why": ("why", _code("reason", "fails")),
    "objective": ("objective", _code("verdict", "ramp")),
    # Quality, and what happens to lists
    "mean": ("mean", _value("reranked", number)),
    "difference": ("difference", _value("difference", lambda value: signed(value, 4))),
    "p": ("p", _value("p_corrected", p_text)),
    "counts": ("counts", lambda row, words: "–" if row["won"] is None else
               f"{row['won']:,}/{row['tied']:,}/{row['lost']:,}"),
    "verdict": ("verdict", _code("verdict", "verdict")),
    "tau": ("tau", _value("tau", lambda value: signed(value, 2))),
    "judged": ("judged", lambda row, words: "–" if row["judged_after"] is None else words(
        "bench.from_to", before=percent(row["judged_before"]), after=percent(row["judged_after"]))),
    "could_be": ("could_be", lambda row, words: "–" if row["worst"] is None else
                 f"{number(row['worst'], 3)}–{number(row['best'], 3)}"),
    # Costs, returns and choice
    "price": ("price", lambda row, words: row["price"] or "–"),
    "unit_price": ("unit_price", lambda row, words: "–" if row["unit"] is None else words(
        f"bench.unit.{row['unit']}", price=money(row["unit_price"], _currency(row)))),
    "per_query_ends": ("interval", lambda row, words: _money_ends(row, "per_query")),
    "gain": ("gain", _value("gain", lambda value: signed(value, 3))),
    "relative_gain": ("relative_gain", _value("relative_gain", lambda share: percent(share, 1, sign=True))),
    "worth": ("worth", lambda row, words: words(
        "bench.returns.worth", answer=words(f"bench.answer.{row['worth']}"),
        gain=percent(row["worth_gain"], 1, sign=True))),
    "more": ("more", _cost("cost")),
    "saving": ("saving", lambda row, words: money(row["saving"] or None, _currency(row))),
    "net_per_day": ("net_per_day", _cost("net_per_day", sign=True)),
    "net_per_day_ends": ("interval", lambda row, words: _money_ends(row, "net_per_day", sign=True)),
    "roi": ("roi", lambda row, words: multiple(row["roi"], _decimals(row, "roi"))),
    "roi_ends": ("interval", lambda row, words: ends_of(
        row, "roi", lambda end: multiple(end, _decimals(row, "roi")), words)),
    "break_even_ends": ("interval", lambda row, words: _money_ends(row, "break_even")),
    "net": ("short.net", _cost("net", sign=True)),
    "front": ("front", lambda row, words: "–" if row["on_front"] is None else words(
        f"bench.answer.{'yes' if row['on_front'] else 'no'}")),
    "not_told_apart": ("not_told_apart", lambda row, words: words.listed(row["not_told_apart"] or []) or "–"),
    "counted": ("counted", _code("counted", "counted")),
    "not_inferior": ("not_inferior", _code("not_inferior", "answer")),
    "holds_slo": ("holds_slo", _code("holds_slo", "answer")),
    "reason": ("reason", _code("reason", "reason")),
}  # fmt: skip
"""Every column by its key: the key of its head, and what it says of a row."""


def columns_of(
    keys: str, words: Words, *, optional: bool = False, short: bool = False, **values: object
) -> list[Column[Row]]:
    """Columns by their keys, with blanks between.

    optional   whether those with a dash in every row are left out;   short   whether heads are those of a summary
    """

    def column(key: str) -> Column[Row]:
        head, cell = COLUMNS[key]
        area = "short." if short and f"bench.head.short.{head}" in words else ""
        return Column(words(f"bench.head.{area}{head}", **values), lambda row: cell(row, words), optional=optional)

    return [column(key) for key in keys.split()]


# Tables --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class BenchTable:
    """A table of a bench as data; called with a bench it yields its sheet, or nothing where there are no rows.

    rows      of a bench, or the name of an axis;   columns   keys of COLUMNS
    notes     of rows, bench and the reader's language
    sparse    whether columns are left out that have a dash in every row
    """

    rows: str | Callable[[Bench], list[dict[str, Any]]]
    columns: str
    notes: Callable[[Sequence[Row], Bench, Words], Iterable[str]] = lambda rows, bench, words: ()
    n_labels: int = 1
    sparse: bool = False

    def __call__(self, bench: Bench, words: Words) -> Iterator[Sheet]:
        """The sheet of a bench."""
        own = self.rows
        rows = rows_of(in_order(getattr(bench, own), bench.config)) if isinstance(own, str) else own(bench)
        if rows:
            columns = columns_of(self.columns, words, optional=self.sparse)
            yield sheet_of(rows, columns, self.notes(rows, bench, words), n_labels=self.n_labels)


def _quality(bench: Bench, words: Words) -> Iterator[Sheet]:
    """A table for each measure, the base in its first row; the notes are below the last.

    Questions and base have columns where some rerankers lack a value for some questions.
    """
    quality = in_order(bench.quality, bench.config)
    measures = quality["measure"].unique(maintain_order=True).to_list()
    for measure in measures:
        rows = rows_of(quality.filter(measure=measure))
        uneven = len({row["n"] for row in rows}) > 1
        base = {**dict.fromkeys(rows[0]), "system": bench.base_name, "measure": measure, "reranked": rows[0]["base"],
                "verdict": "base"}  # fmt: skip
        shown = rows if uneven else [base, *rows]
        first, *others = columns_of("system questions base" if uneven else "system", words)
        (mean,) = columns_of("mean", words)
        if sum(row["reranked"] is not None for row in shown) > 1:  # One alone is ahead of nothing.
            mean = replace(mean, goodness=lambda row: goodness_of(bench, row, "reranked"))
        rest = "difference difference_ends p counts ceiling captured captured_ends verdict"
        columns = [replace(first, head=measure), *others, mean, *columns_of(rest, words)]
        sheet = sheet_of(shown, columns)
        sheet.notes = list(_quality_notes(quality, len(measures), words)) if measure == measures[-1] else []
        yield sheet


def _quality_notes(quality: pl.DataFrame, n_measures: int, words: Words) -> Iterator[str]:
    questions = words("count.questions", n=quality["n"].max())
    yield words("bench.quality.family", questions=questions, family=len(quality), n=n_measures)
    yield words("bench.quality.ceiling")
    if quality["captured"].is_null().any():
        yield words("bench.quality.no_headroom")


def _changes(bench: Bench, words: Words) -> Iterator[Sheet]:
    """A table of changes of the lists; counts of what is odd have a column where there is any."""
    if rows := rows_of(in_order(bench.diagnostics, bench.config)):
        odd = [name for name in _COUNTS if any(row[name] for row in rows)]
        keys = " ".join(["system first_changed overlap tau ties truncated judged could_be", *odd])
        could_be = [words("bench.changes.could_be")] if any(row["worst"] is not None for row in rows) else []
        notes = [words("bench.changes.tau"), *could_be, *(words(f"bench.changes.{name}") for name in odd)]
        yield sheet_of(rows, columns_of(keys, words, optional=True, k=rows[0]["k"]), notes)


def _latency_notes(rows: Sequence[Row], words: Words) -> Iterator[str]:
    if any(row[f"{name}_high"] == float("inf") for row in rows for name in _PERCENTILES):
        yield words("bench.latency.few", **_LEAST)
    if any(row["n_censored"] for row in rows):
        yield words("bench.latency.censored")


def _priced(bench: Bench) -> list[dict[str, Any]]:
    """Costs of all systems; none where there is neither a price nor a count of tokens."""
    rows = rows_of(in_order(bench.costs, bench.config))
    return rows if any(row["per_query"] is not None or row["tokens"] is not None for row in rows) else []


def _price_notes(rows: Sequence[Row], bench: Bench, words: Words) -> Iterator[str]:
    """Notes on where each price is from, and which are old or not known."""
    prices: dict[str | None, Row] = {}
    for row in rows:
        prices.setdefault(row["price"], row)
    for price, row in prices.items():
        if price is not None and row["source"] is not None:
            source = words("list.comma").join([row["source"], *([row["date"]] if row["date"] else [])])
            yield words("bench.costs.source", price=price, source=source)
    yield from status_notes(rows, words)


def status_notes(rows: Sequence[Row], words: Words) -> Iterator[str]:
    """Notes on costs: systems without a price, or with an old one, and how machines were reckoned."""
    statuses: dict[str, dict[str, None]] = {}
    for row in rows:
        statuses.setdefault(row["status"], {})[single_line(row["system"])] = None
    for status, systems in statuses.items():
        if status != "known":
            yield words(f"bench.costs.{status}", systems=words.listed(list(systems)))


def _returns(bench: Bench, words: Words) -> Iterator[Sheet]:
    """A table of gains of reranking, and of what they bring a day where something says what success is worth."""
    rows = [row | {"currency": currency_of(bench)} for row in rows_of(in_order(bench.returns, bench.config))]
    tables = (
        "system gain gain_ends relative_gain relative_gain_ends worth",
        "system more saving net_per_day net_per_day_ends p_positive roi roi_ends break_even break_even_ends",
    )
    sheets = [sheet_of(rows, columns_of(keys, words, optional=True)) for keys in tables] if rows else []
    sheets = [sheet for sheet in sheets if len(sheet.header) > 1]
    if sheets:
        sheets[-1].notes = [words("bench.returns.note", measure=rows[0]["success"], worth=rows[0]["worth_measure"])]
    return iter(sheets)


def _choice(bench: Bench, words: Words) -> Iterator[Sheet]:
    """Quality, P95 and cost of all, which of them are on the front, and why one is recommended or not."""
    if rows := choice_rows(bench):
        quality = Column[Row](
            rows[0]["measure"], lambda row: number(row["quality"]), lambda row: goodness_of(bench, row)
        )
        keys = "p95 cost net front not_told_apart not_inferior holds_slo reason"
        notes = [words(f"bench.choice.{name}") for name in ("front", "apart", "enough")]
        yield sheet_of(rows, [*columns_of("system", words), quality, *columns_of(keys, words, optional=True)], notes)


STREAMING = BenchTable(
    "streaming",
    "system load requests ttft_p50 ttft_p95 ttft_p95_ends itl_p50 itl_p95 tokens_out tokens_per_s",
    lambda rows, bench, words: [words("bench.latency.streaming")],
    n_labels=2,
)
"""How long answers take to the first token, and from one to the next."""

RAMP = BenchTable(
    "ramp",
    "system rising requests errors p50 p95 p95_ends p99 objective",
    lambda rows, bench, words: [words("bench.ramp.note")],
    n_labels=2,
)
"""What users waited while the rate rose."""

TABLES: dict[str, tuple[Callable[[Bench, Words], Iterable[Sheet]], ...]] = {
    "quality": (_quality,),
    "changes": (_changes,),
    "latency": (
        BenchTable(
            lambda bench: rows_of(of_loop(in_order(bench.latency, bench.config), "sequential")),
            "system requests p50 p50_ends p95 p95_ends p99 p99_ends repetitions n_censored ms_per_pair tokens_per_s",
            lambda rows, bench, words: [
                words("bench.latency.sequential", n=max(row["repetitions"] for row in rows)),
                *_latency_notes(rows, words),
            ],
            sparse=True,
        ),
        BenchTable("stages", "system load stage requests p50 p95", n_labels=3),
        BenchTable(
            "token_fit", "system requests fixed_ms ms_per_1k_tokens slope_ends",
            lambda rows, bench, words: [words("bench.latency.fit")],
        ),
    ),
    "load": (
        BenchTable(
            "sustained", "system rate failing_rate why",
            lambda rows, bench, words: [words("bench.load.sustained", objective=objective_text(bench.config, words))],
        ),
        BenchTable(
            lambda bench: levels(bench, "open"),
            "system offered achieved goodput errors p50 p95 p95_ends p99 service_p95 late in_flight little_gap holds",
            lambda rows, bench, words: [words("bench.load.open"), *_latency_notes(rows, words)],
            n_labels=2, sparse=True,
        ),
        BenchTable(
            lambda bench: levels(bench, "closed"),
            "system users achieved errors p50 p95 p95_ends p99 in_flight little_gap",
            lambda rows, bench, words: [words("bench.load.closed"), *_latency_notes(rows, words)],
            n_labels=2, sparse=True,
        ),
        STREAMING,
        RAMP,
        BenchTable(
            "scalability", "system gamma gamma_ends sigma sigma_ends kappa kappa_ends peak_users peak_rate",
            lambda rows, bench, words: [words("bench.load.scalability")], sparse=True,
        ),
    ),
    "costs": (
        BenchTable(
            _priced, "system price unit_price tokens counted per_query per_query_ends per_day per_1m_tokens",
            _price_notes, sparse=True,
        ),
    ),
    "returns": (_returns,),
    "choice": (_choice,),
}  # fmt: skip
"""Section of a report -> its tables, in order."""
