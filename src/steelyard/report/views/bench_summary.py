"""A bench in ten lines: what is recommended and why, one row a system, and what to be careful with."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from steelyard.base.choices import Prefer
from steelyard.base.notes import Note
from steelyard.bench.bench import Bench
from steelyard.bench.choice.returns import MIN_QUESTIONS, worth_of
from steelyard.report.views.bench_tables import (
    Row,
    currency_of,
    difference_ends,
    heads,
    in_order,
    load_text,
    objective_text,
    of_loop,
    row_name,
    rows_of,
    status_notes,
    time_ends,
)
from steelyard.report.views.comparison import MARKS
from steelyard.report.views.notes import note_text
from steelyard.report.views.numbers import amount, best_places, milliseconds, money, number, p_text, percent, signed
from steelyard.report.views.sheet import Paragraph, Section, Sheet
from steelyard.report.visible import single_line
from steelyard.report.words import Words

_TRUNCATED, _TIED, _LESS_JUDGED, _LITTLE = 0.05, 0.2, 0.05, 0.05
"""From which share on a reader should know: of pairs cut, of pairs tied, of labels lost, of Little's law missed."""


def care(bench: Bench, words: Words) -> Iterator[str]:
    """What could mislead: failures, lists that do not change, pairs that were cut, labels that are missing, notes."""
    yield from _failed(bench, words)
    for code, condition in _CONDITIONS.items():
        systems = [single_line(row_name(row)) for row in rows_of(bench.diagnostics.filter(condition))]
        if systems:
            yield words(f"bench.care.{code}", systems=words.listed(systems))
    odd = rows_of(in_order(bench.throughput.filter(pl.col("little_gap").abs() > _LITTLE), bench.config))
    if odd:
        yield words("bench.care.little", levels=words.listed(_by_system(odd, words)))
    if bench.folder.kind == "rerank":
        yield from status_notes(bench.costs, words)
    yield from _notes(bench, words)


def _by_system(levels: Sequence[Row], words: Words) -> list[str]:
    """Levels of load, those of a system together."""
    loads: dict[str, list[str]] = {}
    for row in levels:
        loads.setdefault(single_line(row_name(row)), []).append(load_text(row, words))
    return [
        words("bench.care.little_of", system=system, loads=words.listed(listed)) for system, listed in loads.items()
    ]


def _notes(bench: Bench, words: Words) -> Iterator[str]:
    """The first note of each kind, and how many more there are."""
    kinds: dict[str, list[Note]] = {}
    for note in map(Note.of_json, bench.folder.manifest.get("notes", ())):
        kinds.setdefault(note.code, []).append(note)
    for first, *others in kinds.values():
        more = words("bench.care.alike", n=len(others)) if others else ""
        yield words("runs.note", note=note_text(first, words)) + more


def _failed(bench: Bench, words: Words) -> Iterator[str]:
    """Requests without an answer, by system and load."""
    failed = bench.latency.group_by("system", "depth", maintain_order=True).agg(pl.col("n_censored", "n").sum())
    systems = [
        words("bench.care.failed_of", system=single_line(row_name(row)), n=row["n_censored"], total=row["n"])
        for row in rows_of(failed.filter(pl.col("n_censored") > 0))
    ]
    if systems:
        yield words("bench.care.failed", listed=words.listed(systems))


_CONDITIONS = {
    "unchanged": (pl.col("tau") == 1) & (pl.col("depth") > 1),
    "same_set": (pl.col("overlap") == 1) & (pl.col("tau") < 1) & (pl.col("depth") > pl.col("k")),
    "truncated": pl.col("truncated") > _TRUNCATED,
    "tied": pl.col("ties") > _TIED,
    "unjudged": pl.col("judged_before") - pl.col("judged_after") > _LESS_JUDGED,
    "unstable": pl.col("n_unstable") > 0,
    "repaired": pl.col("n_repaired") > 0,
}
"""What a row of the diagnostics shows that a reader should know."""


_BARRED = ("failing", "slow", "maybe_slow", "loss")
"""Reasons for which an option may not be recommended, however good its lists are."""
_UNPAID = {"none_pays": "loss", "no_net": "not_paying"}
"""Reason for the base -> that against the rerankers which would be recommended if they paid."""
_FOR_THE_BASE = ("no_gain", "barred", *_UNPAID)
"""Reasons for which the base is recommended although it is not shown to be within the margin."""


def summary_section(bench: Bench, words: Words) -> Section:
    """What `bench rerank` prints, and the report of its bench begins with."""
    sheet = _sheet(bench, words)
    sheet.notes += care(bench, words)
    return Section("summary", headline(bench, words), list(map(Paragraph, _lines(bench, words))), [sheet])


def headline(bench: Bench, words: Words) -> str:
    """What is recommended, or the best so far where nothing is shown to be good enough."""
    row = recommended_row(bench)
    if row is None:
        return words("bench.headline.none")
    kind = "so_far" if row["reason"] == "best_so_far" else "reranker" if row["depth"] is not None else "base"
    best = _best(bench, row) if row["reason"] == "none_pays" else None
    if best is not None:
        kind = "none_pays"
    named = "" if best is None else single_line(row_name(best))
    return words(f"bench.headline.{kind}", system=single_line(row_name(row)), best=named)


def recommended_row(bench: Bench) -> Row | None:
    """The row of the choice that is recommended."""
    return next((row for row in rows_of(bench.choice) if row["recommended"]), None)


def shown_rows(bench: Bench) -> list[Row]:
    """The base, of each reranker the depth with the best mean, the smaller of equal ones; and what is preferred."""
    rows = rows_of(bench.choice)
    best, goodness = dict[str, Row](), _goodness(bench)
    for row in rows:
        ahead = best.get(row["system"])
        if ahead is None or goodness(row) > goodness(ahead):
            best[row["system"]] = row
    return [row for row in rows if row["preferred_by"] or row is best[row["system"]]]


# Words -----------------------------------------------------------------------------------------------------------


def _lines(bench: Bench, words: Words) -> Iterator[str]:
    """Why, then quality, latency, load, cost and return of what is recommended; else of the best in quality."""
    row = recommended_row(bench)
    best = _best(bench, row)
    if best is None:
        return
    yield _why(bench, row, best, words)
    yield from _apart(bench, row, words)
    yield from _preferred(bench, row, words)
    shown = row if row is not None and row["depth"] is not None else best
    if shown["depth"] is None:
        return
    if shown is not row:
        yield words("bench.line.of", system=single_line(row_name(shown)))
    where = {"system": shown["system"], "depth": shown["depth"]}
    yield from _quality(_of(bench.quality, where, measure=shown["measure"]), words)
    yield from _latency(_of(of_loop(bench.latency, "sequential"), where), words)
    yield from _rate(bench, shown["system"], words)
    yield from _cost(_of(bench.costs, where), words)
    yield from _return(_of(bench.returns, where), bench, words)


def _best(bench: Bench, recommended: Row | None) -> Row | None:
    """The best of those that may be recommended: in quality, or by net benefit where none is shown to bring in more.

    Where it is the base that is recommended, it is the reranker that comes nearest.
    """
    rows = rows_of(bench.choice)
    open_ = [row for row in rows if row["on_front"] is not None and row["reason"] not in _BARRED]
    if recommended is None or recommended["reason"] not in _FOR_THE_BASE:
        return max(open_, key=_goodness(bench), default=None)
    if recommended["reason"] in _UNPAID:
        unpaid = (row for row in rows if row["reason"] == _UNPAID[recommended["reason"]])
        return max(unpaid, key=lambda row: row["net"], default=recommended)
    if recommended["reason"] == "barred":
        return max(_better(bench), key=_goodness(bench), default=recommended)
    return max((row for row in open_ if row["depth"] is not None), key=_goodness(bench), default=recommended)


def _better(bench: Bench) -> list[Row]:
    """The rerankers that are shown to be better than the base, whether they may be recommended or not."""
    better = bench.quality.filter(verdict="better").select("system", "depth", "measure").rows()
    return [row for row in rows_of(bench.choice) if (row["system"], row["depth"], row["measure"]) in better]


def _goodness(bench: Bench) -> Callable[[Row], float]:
    """Quality of a row of the choice, higher being better."""
    lower = {str(measure) for measure in bench.scores.measures if not measure.definition.higher_is_better}

    def goodness(row: Row) -> float:
        if row["quality"] is None:
            return -math.inf
        return float(-row["quality"] if row["measure"] in lower else row["quality"])

    return goodness


def _of(frame: pl.DataFrame, where: dict[str, Any], **more: Any) -> Row | None:
    """The one row of an axis that is of a system and depth."""
    same = (pl.col(name).eq_missing(value) for name, value in {**where, **more}.items())
    return next(iter(rows_of(frame.filter(*same))), None)


def _why(bench: Bench, row: Row | None, best: Row, words: Words) -> str:
    values = {"measure": best["measure"], "margin": f"{bench.config.margin:g}", "within": _within(bench, words)}
    if row is None or row["depth"] is None:
        return _why_none(bench, row, best, values, words)
    prefer = _preference(bench)
    if prefer == "net":
        return words("bench.why.by_net", **values)
    named = "" if row_name(row) == row_name(best) else words("bench.why.other", best=single_line(row_name(best)))
    surest = _surest(bench) if prefer == "auto" else None
    by = _cheap_by(bench) if prefer == "cheap" else prefer if surest is None else "alike"
    ahead = "" if surest is None else single_line(row_name(surest))
    why = words(f"bench.why.by_{by}", best=named, ahead=ahead, low=_low(bench, surest or row, words), **values)
    return words("bench.why.and_distance", why=why, distance=_distance(row, values, words))


def _why_none(bench: Bench, row: Row | None, best: Row, values: Mapping[str, str], words: Words) -> str:
    """Why no reranker is recommended."""
    reason = None if row is None else row["reason"]
    if reason == "no_gain":
        return _no_gain(bench, best, values, words)
    if reason in _UNPAID:
        return _no_net(bench, reason, best, values, words)
    if reason == "barred":
        barred = [(single_line(row_name(of)), words(f"bench.reason.{of['reason']}")) for of in _better(bench)]
        listed = [words("bench.why.barred_by", system=system, reason=why) for system, why in barred]
        return words("bench.why.barred", listed=words.listed(listed))
    return words("bench.why.none" if row is None else "bench.why.base", **values)


def _within(bench: Bench, words: Words) -> str:
    """What is asked of all that may be recommended, as far as it rules something out."""
    reasons, objective = set(bench.choice["reason"]), objective_text(bench.config, words)
    asked = [words("bench.why.objective", objective=objective)] if objective else []
    asked += [words(f"bench.why.not_{reason}") for reason in ("failing", "loss") if reason in reasons]
    return words("bench.why.within", asked=words.listed(asked)) if asked else ""


def _distance(row: Row, values: Mapping[str, str], words: Words) -> str:
    """Whether what is recommended is shown to be within the margin of the best, and which questions would show it."""
    if row["not_inferior"] == "yes":
        return words("bench.why.close", **values)
    code = "far" if row["needed"] is None else "needed"
    return words(f"bench.why.{code}", needed=amount(row["needed"]), **values)


def _preference(bench: Bench) -> Prefer:
    """What the choice goes by: of itself by net benefit where that is known, and else by price."""
    prefer = bench.config.prefer
    known = (
        bench.config.value is not None and bench.choice.filter(pl.col("depth").is_not_null())["net"].is_not_null().any()
    )
    return "cheap" if prefer == "auto" and not known else prefer


def _surest(bench: Bench) -> Row | None:
    """The option whose net benefit has the greatest lower end, where a cheaper one is recommended in its place."""
    rows = (row for row in rows_of(bench.choice) if row["reason"] == "not_more" and row["depth"] is not None)
    return max(rows, key=lambda row: _net_row(bench, row)["net_per_day_low"], default=None)


def _low(bench: Bench, row: Row, words: Words) -> str:
    """The lower end of a net benefit."""
    low = _net_row(bench, row).get("net_per_day_low")
    return words("bench.why.a_day", net=money(low, currency_of(bench), sign=True))


def _net_row(bench: Bench, row: Row) -> Row:
    return _of(bench.returns, {"system": row["system"], "depth": row["depth"]}) or {}


def _cheap_by(bench: Bench) -> str:
    """What says which reranker is the cheapest: its cost, or without any price its time."""
    return "cost" if any(row["cost"] for row in rows_of(bench.choice)) else "time"


def _apart(bench: Bench, row: Row | None, words: Words) -> Iterator[str]:
    """What has a net benefit that is not told apart from that of the recommended one, where that decides."""
    if _preference(bench) == "net" and row is not None and row["depth"] is not None and row["net_not_told_apart"]:
        yield words("bench.why.apart", others=words.listed(list(map(single_line, row["net_not_told_apart"]))))


def _preferred(bench: Bench, row: Row | None, words: Words) -> Iterator[str]:
    """What other preferences would recommend, beside what is recommended, and why it is not."""
    for other in rows_of(bench.choice):
        if row is None or other["recommended"] or not other["preferred_by"]:
            continue
        apart = row_name(other) not in row["net_not_told_apart"] or row["net"] is None
        yield words(
            "bench.why.preferred", other=single_line(row_name(other)), theirs=_value(bench, other, words),
            ours=_value(bench, row, words), apart="" if apart else words("bench.why.not_apart"),
            reason=words(f"bench.reason.{other['reason']}"),
            options=words.listed([f"--prefer {prefer}" for prefer in other["preferred_by"]]),
        )  # fmt: skip


def _value(bench: Bench, row: Row, words: Words) -> str:
    """Quality of an option, and its net benefit; without [value] its cost, without a price its time."""
    if row["net"] is not None:
        more = words("bench.why.a_day", net=money(row["net"], currency_of(bench), sign=True))
    elif _cheap_by(bench) == "cost" and row["cost"] is not None:
        more = words("bench.why.a_question", cost=money(row["cost"], currency_of(bench)))
    else:
        more = words("bench.why.ms", ms=milliseconds(row["p95"]))
    return words("bench.why.value", measure=row["measure"], mean=number(row["quality"], 3), more=more)


def _no_net(bench: Bench, reason: str, best: Row, values: Mapping[str, str], words: Words) -> str:
    """What the reranker with the highest net benefit comes to, where none is shown to bring in more than it costs."""
    returns = _net_row(bench, best)
    if returns.get("net_per_day") is None:
        return words("bench.why.net_unknown", **values)
    net, low, high = (
        money(returns[f"net_per_day{end}"], currency_of(bench), sign=True) for end in ("", "_low", "_high")
    )
    ends = words("compare.interval", low=low, high=high)
    return words(f"bench.why.{reason}", best=single_line(row_name(best)), net=net, ends=ends, **values)


def _no_gain(bench: Bench, best: Row, values: Mapping[str, str], words: Words) -> str:
    """What the best reranker comes to, where none is shown to be better, and what so many questions can show."""
    quality = _of(bench.quality, {"system": best["system"], "depth": best["depth"]}, measure=best["measure"])
    if quality is None:
        return words("bench.why.no_reranker", **values)
    least = quality["detectable"]
    detectable = "" if least is None else words(
        "bench.why.detectable", n=quality["n"], detectable=number(least, 3))  # fmt: skip
    return words(
        "bench.why.no_gain", best=single_line(row_name(best)), difference=signed(quality["difference"], 3),
        ends=difference_ends(quality, "difference", words), detectable=detectable, **values,
    )  # fmt: skip


def _quality(row: Row | None, words: Words) -> Iterator[str]:
    if row is None:
        return
    values = {
        "measure": row["measure"], "base": number(row["base"], 3), "reranked": number(row["reranked"], 3),
        "difference": signed(row["difference"], 3), "ends": difference_ends(row, "difference", words),
        "p": p_text(row["p_corrected"], sign=True), "most": number(row["ceiling"], 3),
        "captured": percent(row["captured"]), "depth": row["depth"],
    }  # fmt: skip
    ceiling = "captured" if row["captured"] is not None else "ceiling" if row["ceiling"] is not None else "none"
    yield words("bench.line.quality", **values, ceiling=words(f"bench.line.ceiling_{ceiling}", **values))


def _latency(row: Row | None, words: Words) -> Iterator[str]:
    if row is not None:
        spread = words(
            "bench.line.spread", n=row["repetitions"], least=milliseconds(row["p95_least"]),
            greatest=milliseconds(row["p95_greatest"]),
        )  # fmt: skip
        yield words(
            "bench.line.latency", p50=milliseconds(row["p50"]), p95=milliseconds(row["p95"]),
            ends=time_ends(row, "p95", words), p99=milliseconds(row["p99"]),
            spread=spread if row["repetitions"] > 1 else "",
        )  # fmt: skip


def _rate(bench: Bench, system: str, words: Words) -> Iterator[str]:
    """The sustained rate of a system, and what fails above it."""
    row = _of(bench.sustained, {"system": system})
    if row is None:
        return
    values = {"name": single_line(row_name(row)), "objective": objective_text(bench.config, words)}
    if row["rate"] is None:
        yield words("bench.line.no_rate", reason=words(f"bench.fails.{row['reason']}"), **values)
    elif row["reason"] is None:
        yield words("bench.line.rate", rate=amount(row["rate"]), **values)
    else:
        reason = words(f"bench.fails.{row['reason']}")
        failing = amount(row["failing_rate"])
        yield words("bench.line.rate_below", rate=amount(row["rate"]), failing=failing, reason=reason, **values)


def _cost(row: Row | None, words: Words) -> Iterator[str]:
    if row is None or row["price"] is None:
        return
    if row["per_query"] is None:
        yield words(f"bench.costs.{row['status']}", systems=single_line(row["system"]))
        return
    tokens = "" if row["tokens"] is None or row["counted"] is None else words(
        f"bench.line.tokens_by_{row['counted']}", tokens=amount(row["tokens"]))  # fmt: skip
    values = {
        "cost": money(row["per_query"], row["currency"]), "price": single_line(row["price"]), "tokens": tokens,
        "day": money(row["per_day"], row["currency"]),
    }  # fmt: skip
    yield words("bench.line.cost" if row["per_day"] is None else "bench.line.cost_of_day", **values)


def _return(row: Row | None, bench: Bench, words: Words) -> Iterator[str]:
    """What a day brings, where [value] says what success is worth; whether the gain is worth having in any case."""
    if row is None:
        return
    if row["net_per_day"] is not None:
        net, low, high = (
            money(row[f"net_per_day{end}"], currency_of(bench), sign=True) for end in ("", "_low", "_high")
        )
        ends = words("compare.interval", low=low, high=high)
        share = percent(row["p_positive"])
        yield words("bench.line.return", net=net, ends=ends, share=share, success=row["success"])
        if row["net_per_day_high"] is not None and row["net_per_day_high"] < 0:
            yield words("bench.line.no_return")
    if row["worth_gain"] is not None:
        low, high = row["worth_gain_low"], row["worth_gain_high"]
        is_few = row["worth"] == "open" and (low is None or not low < worth_of(bench.scores)[0].least <= high)
        gain = percent(row["worth_gain"], 1, sign=True)
        code = "few" if is_few else row["worth"]
        yield words(f"bench.worth.{code}", gain=gain, measure=row["worth_measure"], n=MIN_QUESTIONS)


# The table -------------------------------------------------------------------------------------------------------


def _sheet(bench: Bench, words: Words) -> Sheet:
    """One row a system: quality, difference, P95, sustained rate, cost of a question, net of a day."""
    rows = shown_rows(bench)
    columns = {
        "difference": [_difference(bench, row) for row in rows], "p95": [milliseconds(row["p95"]) for row in rows],
        "rate": [_sustained(bench, row) for row in rows], "cost": [_cost_of(bench, row) for row in rows],
        "net": [_net(bench, row) for row in rows],
    }  # fmt: skip
    shown = {name: cells for name, cells in columns.items() if any(cell != "–" for cell in cells)}
    means = [number(row["quality"], 3) for row in rows]
    cells = [
        [row_name(row), mean, *(column[r] for column in shown.values())]
        for r, (row, mean) in enumerate(zip(rows, means, strict=True))
    ]
    measure = rows[0]["measure"] if rows else words("bench.head.mean")
    best = {(r, 1) for r in best_places(np.array(list(map(_goodness(bench), rows))))}
    header = [bench.config.name, measure, *heads([f"short.{name}" for name in shown], words)]
    return Sheet(header, cells, best, list(_sheet_notes(bench, rows, shown, words)))


def _difference(bench: Bench, row: Row) -> str:
    quality = _of(bench.quality, {"system": row["system"], "depth": row["depth"]}, measure=row["measure"])
    return "–" if quality is None else signed(quality["difference"], 3) + MARKS.get(quality["verdict"], "")


def _sustained(bench: Bench, row: Row) -> str:
    sustained = None if row["depth"] is None else _of(bench.sustained, {"system": row["system"]})
    if sustained is None:
        return "–"
    rate = amount(sustained["rate"])
    return rate if sustained["rate"] is None or sustained["depth"] == row["depth"] else f"{rate} @{sustained['depth']}"


def _cost_of(bench: Bench, row: Row) -> str:
    costs = _of(bench.costs, {"system": row["system"], "depth": row["depth"]}) if row["depth"] is not None else None
    return "–" if costs is None else money(costs["per_query"], costs["currency"] or "USD")


def _net(bench: Bench, row: Row) -> str:
    returns = None if row["depth"] is None else _of(bench.returns, {"system": row["system"], "depth": row["depth"]})
    return "–" if returns is None else money(returns["net_per_day"], currency_of(bench), sign=True)


def _sheet_notes(bench: Bench, rows: Sequence[Row], columns: dict[str, Any], words: Words) -> Iterator[str]:
    family = len(bench.quality)
    n: int = bench.quality["n"].max() or 0  # type: ignore[assignment]
    yield words(
        "bench.summary.marks", questions=words("count.questions", n=n), family=words("bench.summary.family", n=family)
    )
    left_out = len(bench.choice) - len(rows)
    if left_out:
        yield words("bench.summary.left_out", n=left_out)
    if "rate" in columns and any("@" in cell for cell in columns["rate"]):
        yield words("bench.summary.rate_at")
