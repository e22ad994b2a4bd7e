"""A bench in ten lines: what is recommended and why, one row a system, and what to be careful with."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import polars as pl

from steelyard.base.choices import Prefer
from steelyard.base.notes import Note
from steelyard.bench.bench import Bench
from steelyard.bench.choice.returns import MIN_QUESTIONS, worth_of
from steelyard.reports.views.bench_tables import (
    Row,
    choice_rows,
    cost_text,
    currency_of,
    difference_ends,
    goodness_of,
    in_order,
    load_text,
    named,
    objective_text,
    row_name,
    rows_of,
    status_notes,
    time_ends,
    timed,
)
from steelyard.reports.views.cautions import careful, is_grave
from steelyard.reports.views.comparison import MARKS
from steelyard.reports.views.notes import note_text
from steelyard.reports.views.numbers import amount, by_width, decimals_of, money, number, p_text, percent, signed
from steelyard.reports.views.picture import Intervals, Kind, Mark, described
from steelyard.reports.views.view import Block, Column, Look, Paragraph, Section, Sheet, Text, sheet_of
from steelyard.reports.visible import single_line
from steelyard.reports.words import Words

_BARRED = ("failing", "slow", "maybe_slow", "loss")
"""Reasons for which an option may not be recommended, however good its lists are."""
_ENDS = ("difference_low", "difference_high")
_UNPAID = {"none_pays": "loss", "no_net": "not_paying"}
"""Reason for the base -> that against the rerankers which would be recommended if they paid."""
_FOR_THE_BASE = ("no_gain", "barred", *_UNPAID)
"""Reasons for which the base is recommended although it is not shown to be within the margin."""
_TRUNCATED, _TIED, _LESS_JUDGED, _LITTLE = 0.05, 0.2, 0.05, 0.05
"""From which share on a reader should know: of pairs cut, of pairs tied, of labels lost, of Little's law missed."""


def summary_section(bench: Bench, words: Words) -> Section:
    """The section that `bench rerank` prints, and with which the report of its bench begins."""
    summary = _Summary(bench, words)
    sheet = summary.sheet()
    sheet.notes += care(bench, words)
    return Section("summary", summary.headline(), list(map(Paragraph, summary.lines())), [sheet])


def brief_summary(bench: Bench, look: Look) -> Iterator[Block]:
    """What is recommended and why, one row a system, and what to be careful with."""
    summary, words = _Summary(bench, look.words), look.words
    yield Text(words("diagnose.between").join([summary.headline(), *summary.reasons()]), "bold")
    sheet = summary.sheet()
    notes = [words("brief.bench.marks", n=len(bench.quality)), *summary.rate_notes()]
    cautions = [*summary.cautions(), *dangers_of_bench(bench, words)]
    yield replace(sheet, notes=[*notes, *careful(cautions, look, lines=2)])


def recommended_row(bench: Bench) -> Row | None:
    """The row of the choice that is recommended."""
    return next((row for row in choice_rows(bench) if row["recommended"]), None)


def shown_rows(bench: Bench) -> list[Row]:
    """The base, of each reranker the depth with the best mean, the smaller of equal ones; and what is preferred."""
    rows, best = choice_rows(bench), dict[str, Row]()
    for row in rows:
        ahead = best.get(row["system"])
        if ahead is None or goodness_of(bench, row) > goodness_of(bench, ahead):
            best[row["system"]] = row
    return [row for row in rows if row["preferred_by"] or row is best[row["system"]]]


def bench_picture(bench: Bench, words: Words) -> Intervals | None:
    """The differences of rerankers to the base by the measure of the choice, at the depths that the summary shows.

    None where nothing was reranked.
    """
    quality = {(row["system"], row["depth"], row["measure"]): row for row in rows_of(bench.quality)}
    rows = [
        quality[key] for row in shown_rows(bench) if (key := (row["system"], row["depth"], row["measure"])) in quality
    ]
    rows = [row for row in rows if row["difference"] is not None]
    if not rows:
        return None
    kinds: dict[str, Kind] = {"better": "better", "worse": "worse"}
    marks = []
    for row in rows:
        low, high = (math.nan if row[end] is None else row[end] for end in _ENDS)
        kind = kinds.get(row["verdict"], "unclear")
        marks.append(Mark(row_name(row), row["difference"], low, high, signed(row["difference"], 3), kind))
    reference = single_line(bench.config.base_name)
    title = words("charts.differences.title", measure=rows[0]["measure"], reference=reference)
    return Intervals(title, described(title, marks, words), marks, line=0.0, scale="differences")


# Words ---------------------------------------------------------------------------------------------------------------


class _Summary:
    """Sentences on what is recommended, why, and what it comes to; and a row a system."""

    def __init__(self, bench: Bench, words: Words) -> None:
        self.bench, self.words, self.currency = bench, words, currency_of(bench)
        self.choice, self.recommended = choice_rows(bench), recommended_row(bench)
        self.best = self._best()

    def headline(self) -> str:
        """The recommendation, or the best so far where nothing is shown to be good enough."""
        row, best = self.recommended, ""
        if row is None:
            return self.words("bench.headline.none")
        kind = "so_far" if row["reason"] == "best_so_far" else "reranker" if row["depth"] is not None else "base"
        if row["reason"] == "none_pays" and self.best is not None:
            kind, best = "none_pays", named(self.best)
        return self.words(f"bench.headline.{kind}", system=named(row), best=best)

    def lines(self) -> Iterator[str]:
        """Why, then quality, latency, load, cost and return of what is recommended; else of the best in quality."""
        row, best, words = self.recommended, self.best, self.words
        if best is None:
            return
        yield self._why(best)
        yield from self._apart()
        yield from self._preferred(row)
        shown = row if row is not None and row["depth"] is not None else best
        if shown["depth"] is None:
            return
        if shown is not row:
            yield words("bench.line.of", system=named(shown))
        yield from self._quality(shown)
        yield from self._latency(shown)
        yield from self._rate(shown)
        yield from self._cost(shown)
        yield from self._return(shown)

    def reasons(self) -> Iterator[str]:
        """Why, without how far the recommended one may be below the best."""
        if self.best is not None:
            yield self._reason(self.best)

    def cautions(self) -> Iterator[str]:
        """Cautions about the recommendation: how far it may be below the best, and what others would recommend."""
        row = self.recommended
        if (
            row is not None
            and row["depth"] is not None
            and row["not_inferior"] != "yes"
            and self._preference() != "net"
        ):
            yield self._distance(row)
        yield from self._apart()
        for other in self._preferred_rows():
            options = self.words.listed([f"--prefer {prefer}" for prefer in other["preferred_by"]])
            yield self.words("brief.bench.preferred", options=options, other=named(other), theirs=self._value(other))

    def _apart(self) -> Iterator[str]:
        """A sentence on what the recommended one is not told apart from by net benefit, where that decides."""
        row = self.recommended
        if self._preference() == "net" and row is not None and row["depth"] is not None and row["net_not_told_apart"]:
            others = self.words.listed(list(map(single_line, row["net_not_told_apart"])))
            yield self.words("bench.why.apart", others=others)

    def _best(self) -> Row | None:
        """The best of those that may be recommended in quality, or by net benefit where none is shown to bring in more.

        Where it is the base that is recommended, it is the reranker that comes nearest.
        """
        row, rows = self.recommended, self.choice
        open_ = [own for own in rows if own["on_front"] is not None and own["reason"] not in _BARRED]
        if row is not None and row["reason"] in _UNPAID:
            unpaid = (own for own in rows if own["reason"] == _UNPAID[row["reason"]])
            return max(unpaid, key=lambda own: own["net"], default=row)
        if row is not None and row["reason"] == "barred":
            open_ = self._better()
        elif row is not None and row["reason"] in _FOR_THE_BASE:
            open_ = [own for own in open_ if own["depth"] is not None]
        for_base = row if row is not None and row["reason"] in _FOR_THE_BASE else None
        return max(open_, key=lambda own: goodness_of(self.bench, own), default=for_base)

    def _better(self) -> list[dict[str, Any]]:
        """The rerankers that are shown to be better than the base, whether they may be recommended or not."""
        better = self.bench.quality.filter(verdict="better").select("system", "depth", "measure").rows()
        return [row for row in self.choice if (row["system"], row["depth"], row["measure"]) in better]

    def _at(self, axis: str, row: Row, **where: str) -> Row | None:
        """The one row of an axis that is of the system and depth of another row."""
        of = {"system": row["system"], "depth": row["depth"], **where}
        same = (pl.col(name).eq_missing(value) for name, value in of.items())
        return next(iter(rows_of(getattr(self.bench, axis).filter(*same))), None)

    def _a_day(self, net: float | None, low: float | None, high: float | None) -> str:
        return self.words("bench.why.a_day", net=money(net, self.currency, sign=True, decimals=decimals_of(low, high)))

    def _net_ends(self, returns: Row) -> dict[str, str]:
        """The net benefit of a day, and both ends of its interval."""
        decimals = decimals_of(returns["net_per_day_low"], returns["net_per_day_high"])
        net, low, high = (
            money(returns[f"net_per_day{end}"], self.currency, sign=True, decimals=decimals)
            for end in ("", "_low", "_high")
        )
        return {"net": net, "ends": self.words("compare.interval", low=low, high=high)}

    def _preference(self) -> Prefer:
        """The measure of the choice: of itself by net benefit where that is known, and else by price."""
        known = any(row["net"] is not None for row in self.choice if row["depth"] is not None)
        prefer = self.bench.config.prefer
        return "cheap" if prefer == "auto" and not (known and self.bench.config.value is not None) else prefer

    def _cheap_by(self) -> str:
        """The measure of the cheapest reranker: its cost, or without any price its time."""
        return "cost" if any(row["cost"] for row in self.choice) else "time"

    def _why(self, best: Row) -> str:
        """Why, and whether it is shown to be within the margin of the best."""
        row, why = self.recommended, self._reason(best)
        if row is None or row["depth"] is None or self._preference() == "net":
            return why
        return self.words("bench.why.and_distance", why=why, distance=self._distance(row))

    def _distance(self, row: Row) -> str:
        """Whether a row is shown to be within the margin of the best, and how many questions would show it."""
        code = "close" if row["not_inferior"] == "yes" else "far" if row["needed"] is None else "needed"
        return self.words(f"bench.why.{code}", needed=amount(row["needed"]), margin=f"{self.bench.config.margin:g}")

    def _reason(self, best: Row) -> str:
        row, words, prefer = self.recommended, self.words, self._preference()
        reasons, objective = {own["reason"] for own in self.choice}, objective_text(self.bench.config, words)
        # What is asked of all that may be recommended, as far as it rules something out.
        asked = [words("bench.why.objective", objective=objective)] if objective else []
        asked += [words(f"bench.why.not_{reason}") for reason in ("failing", "loss") if reason in reasons]
        values = {
            "measure": best["measure"],
            "margin": f"{self.bench.config.margin:g}",
            "within": words("bench.why.within", asked=words.listed(asked)) if asked else "",
        }
        if row is None or row["depth"] is None:
            return self._why_none(best, values)
        if prefer == "net":
            return words("bench.why.by_net", **values)
        surest = None
        if prefer == "auto":
            # The option whose net benefit has the greatest lower end, where a cheaper one is recommended in its place.
            unpreferred = (own for own in self.choice if own["reason"] == "not_more" and own["depth"] is not None)
            surest = max(unpreferred, key=lambda own: self._returns(own)["net_per_day_low"], default=None)
        by = self._cheap_by() if prefer == "cheap" else prefer if surest is None else "alike"
        low, high = (self._returns(surest or row).get(f"net_per_day_{end}") for end in ("low", "high"))
        return words(
            f"bench.why.by_{by}",
            ahead="" if surest is None else named(surest),
            best="" if row_name(row) == row_name(best) else words("bench.why.other", best=named(best)),
            low=self._a_day(low, low, high),
            **values,
        )

    def _returns(self, row: Row) -> Row:
        return self._at("returns", row) or {}

    def _why_none(self, best: Row, values: dict[str, str]) -> str:
        """Why no reranker is recommended."""
        words, reason = self.words, None if self.recommended is None else self.recommended["reason"]
        if reason == "no_gain":
            return self._no_gain(best, values)
        if reason in _UNPAID:
            # What the reranker with the highest net benefit comes to.
            returns = self._returns(best)
            if returns.get("net_per_day") is None:
                return words("bench.why.net_unknown", **values)
            return words(f"bench.why.{reason}", best=named(best), **self._net_ends(returns), **values)
        if reason == "barred":
            listed = [
                words("bench.why.barred_by", system=named(row), reason=words(f"bench.reason.{row['reason']}"))
                for row in self._better()
            ]
            return words("bench.why.barred", listed=words.listed(listed))
        return words("bench.why.none" if reason is None else "bench.why.base", **values)

    def _no_gain(self, best: Row, values: dict[str, str]) -> str:
        """A sentence on the best reranker, where none is shown to be better, and on what so many questions can show."""
        words, quality = self.words, self._at("quality", best, measure=best["measure"])
        if quality is None:
            return words("bench.why.no_reranker", **values)
        detectable = (
            ""
            if quality["detectable"] is None
            else words("bench.why.detectable", n=quality["n"], detectable=number(quality["detectable"], 3))
        )
        return words(
            "bench.why.no_gain", best=named(best), difference=signed(quality["difference"], 3),
            ends=difference_ends(quality, "difference", words), detectable=detectable, **values,
        )  # fmt: skip

    def _preferred_rows(self) -> list[Row]:
        """The rows that other preferences would recommend, beside one that is recommended."""
        if self.recommended is None:
            return []
        return [row for row in self.choice if row["preferred_by"] and not row["recommended"]]

    def _preferred(self, row: Row | None) -> Iterator[str]:
        """Recommendations of other preferences, beside the one that is recommended, and why it is not."""
        words = self.words
        if row is None:
            return
        for other in self._preferred_rows():
            apart = row_name(other) not in row["net_not_told_apart"] or row["net"] is None
            yield words(
                "bench.why.preferred", other=named(other), theirs=self._value(other), ours=self._value(row),
                apart="" if apart else words("bench.why.not_apart"), reason=words(f"bench.reason.{other['reason']}"),
                options=words.listed([f"--prefer {prefer}" for prefer in other["preferred_by"]]),
            )  # fmt: skip

    def _value(self, row: Row) -> str:
        """Quality of an option, and its net benefit; without [value] its cost, without a price its time."""
        words = self.words
        if row["net"] is not None:
            more = self._a_day(row["net"], row["net_low"], row["net_high"])
        elif self._cheap_by() == "cost" and row["cost"] is not None:
            more = words("bench.why.a_question", cost=cost_text(row, "cost"))
        else:
            more = words("bench.why.ms", ms=timed(row, "p95"))
        return words("bench.why.value", measure=row["measure"], mean=number(row["quality"], 3), more=more)

    def _quality(self, shown: Row) -> Iterator[str]:
        row, words = self._at("quality", shown, measure=shown["measure"]), self.words
        if row is not None:
            values = {
                "measure": row["measure"], "base": number(row["base"], 3), "reranked": number(row["reranked"], 3),
                "difference": signed(row["difference"], 3), "ends": difference_ends(row, "difference", words),
                "p": p_text(row["p_corrected"], sign=True), "most": number(row["ceiling"], 3),
                "captured": percent(row["captured"]), "depth": row["depth"],
            }  # fmt: skip
            ceiling = "captured" if row["captured"] is not None else "ceiling" if row["ceiling"] is not None else "none"
            yield words("bench.line.quality", **values, ceiling=words(f"bench.line.ceiling_{ceiling}", **values))

    def _latency(self, shown: Row) -> Iterator[str]:
        row, words = self._at("latency", shown, loop="sequential"), self.words
        if row is not None:
            text = by_width(row["p95_least"], row["p95_greatest"])
            spread = "" if row["repetitions"] <= 1 else words(
                "bench.line.spread", n=row["repetitions"], least=text(row["p95_least"]),
                greatest=text(row["p95_greatest"]),
            )  # fmt: skip
            yield words(
                "bench.line.latency", p50=timed(row, "p50"), p95=timed(row, "p95"),
                ends=time_ends(row, "p95", words), p99=timed(row, "p99"), spread=spread,
            )  # fmt: skip

    def _rate(self, shown: Row) -> Iterator[str]:
        """The sustained rate of a system, and what fails above it."""
        for row in [own for own in rows_of(self.bench.sustained) if own["system"] == shown["system"]][:1]:
            kind = "no_rate" if row["rate"] is None else "rate" if row["reason"] is None else "rate_below"
            reason = "" if row["reason"] is None else self.words(f"bench.fails.{row['reason']}")
            yield self.words(
                f"bench.line.{kind}", name=named(row), objective=objective_text(self.bench.config, self.words),
                rate=amount(row["rate"]), failing=amount(row["failing_rate"]), reason=reason,
            )  # fmt: skip

    def _cost(self, shown: Row) -> Iterator[str]:
        row, words = self._at("costs", shown), self.words
        if row is None or row["price"] is None:
            return
        if row["per_query"] is None:
            yield words(f"bench.costs.{row['status']}", systems=single_line(row["system"]))
            return
        tokens = (
            ""
            if row["tokens"] is None or row["counted"] is None
            else words(f"bench.line.tokens_by_{row['counted']}", tokens=amount(row["tokens"]))
        )
        yield words(
            "bench.line.cost" if row["per_day"] is None else "bench.line.cost_of_day",
            tokens=tokens,
            cost=money(row["per_query"], row["currency"]),
            price=single_line(row["price"]),
            day=money(row["per_day"], row["currency"]),
        )

    def _return(self, shown: Row) -> Iterator[str]:
        """The return of a day, where [value] says what success is worth; if the gain is worth having in any case."""
        row, words = self._returns(shown), self.words
        if row.get("net_per_day") is not None:
            share = percent(row["p_positive"])
            yield words("bench.line.return", share=share, success=row["success"], **self._net_ends(row))
            if row["net_per_day_high"] is not None and row["net_per_day_high"] < 0:
                yield words("bench.line.no_return")
        if row.get("worth_gain") is not None:
            low, high = row["worth_gain_low"], row["worth_gain_high"]
            few = row["worth"] == "open" and (low is None or not low < worth_of(self.bench.scores)[0].least <= high)
            gain = percent(row["worth_gain"], 1, sign=True)
            code = "few" if few else row["worth"]
            yield words(f"bench.worth.{code}", gain=gain, measure=row["worth_measure"], n=MIN_QUESTIONS)

    def sheet(self) -> Sheet:
        """One row a system: quality, difference, P95, sustained rate, cost of a question, net of a day."""
        rows, words = shown_rows(self.bench), self.words
        measure = rows[0]["measure"] if rows else words("bench.head.mean")
        texts = {
            "difference": self._difference_cell,
            "p95": lambda row: timed(row, "p95"),
            "rate": self._rate_cell,
            "cost": lambda row: "–" if row["depth"] is None else cost_text(row, "cost"),
            "net": lambda row: "–" if row["depth"] is None else cost_text(row, "net", sign=True),
        }
        columns = [
            Column[Row](self.bench.config.name, row_name),
            Column[Row](measure, lambda row: number(row["quality"], 3), lambda row: goodness_of(self.bench, row)),
            *(Column[Row](words(f"bench.head.short.{name}"), text, optional=True) for name, text in texts.items()),
        ]
        n, family = self.bench.quality["n"].max() or 0, words("bench.summary.family", n=len(self.bench.quality))
        notes = [words("bench.summary.marks", questions=words("count.questions", n=n), family=family)]
        if left_out := len(self.choice) - len(rows):
            notes.append(words("bench.summary.left_out", n=left_out))
        return sheet_of(rows, columns, [*notes, *self.rate_notes()])

    def rate_notes(self) -> list[str]:
        """That a rate was measured over another number of candidates, where one was."""
        is_other = any("@" in self._rate_cell(row) for row in shown_rows(self.bench))
        return [self.words("bench.summary.rate_at")] if is_other else []

    def _difference_cell(self, row: Row) -> str:
        quality = self._at("quality", row, measure=row["measure"])
        return "–" if quality is None else signed(quality["difference"], 3) + MARKS.get(quality["verdict"], "")

    def _rate_cell(self, row: Row) -> str:
        sustained = [own for own in rows_of(self.bench.sustained) if own["system"] == row["system"]]
        if row["depth"] is None or not sustained:
            return "–"
        rate, depth = sustained[0]["rate"], sustained[0]["depth"]
        return amount(rate) if rate is None or depth == row["depth"] else f"{amount(rate)} @{depth}"


# Care ----------------------------------------------------------------------------------------------------------------


def care(bench: Bench, words: Words) -> Iterator[str]:
    """Notes on what could mislead: failures, lists that do not change, pairs that were cut, missing labels, notes."""
    yield from _measured_dangers(bench, words)
    yield from (words("runs.note", note=text) for _, text in _notes(bench, words))


def dangers_of_bench(bench: Bench, words: Words) -> Iterator[str]:
    """The same for a short screen, where a caution is not called a note; where numbers come from is said last."""
    yield from _measured_dangers(bench, words)
    yield from (text for _, text in sorted(_notes(bench, words), key=lambda note: not is_grave(note[0])))


def _measured_dangers(bench: Bench, words: Words) -> Iterator[str]:
    """Failures, lists that do not change, pairs that were cut, missing labels, load that does not add up."""
    failed = bench.latency.group_by("system", "depth", maintain_order=True).agg(pl.col("n_censored", "n").sum())
    listed = [
        words("bench.care.failed_of", system=named(row), n=row["n_censored"], total=row["n"])
        for row in rows_of(failed)
        if row["n_censored"] > 0
    ]
    if listed:
        yield words("bench.care.failed", listed=words.listed(listed))
    for code, condition in _CONDITIONS.items():
        if systems := [named(row) for row in rows_of(bench.diagnostics.filter(condition))]:
            yield words(f"bench.care.{code}", systems=words.listed(systems))
    loads: dict[str, list[str]] = {}
    for row in rows_of(in_order(bench.throughput.filter(pl.col("little_gap").abs() > _LITTLE), bench.config)):
        loads.setdefault(named(row), []).append(load_text(row, words))
    if loads:
        listed = [words("bench.care.little_of", system=name, loads=words.listed(own)) for name, own in loads.items()]
        yield words("bench.care.little", levels=words.listed(listed))
    if bench.folder.kind == "rerank":
        yield from status_notes(rows_of(bench.costs), words)


def _notes(bench: Bench, words: Words) -> Iterator[tuple[Note, str]]:
    """The first note of each kind, and its text with how many more there are."""
    kinds: dict[str, list[Note]] = {}
    for note in map(Note.of_json, bench.folder.manifest.get("notes", ())):
        kinds.setdefault(note.code, []).append(note)
    for first, *others in kinds.values():
        more = words("bench.care.alike", n=len(others)) if others else ""
        yield first, note_text(first, words) + more


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
