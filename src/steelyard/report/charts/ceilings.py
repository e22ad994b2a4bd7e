"""How much there is to win: of every system its mean now, and what a perfect order or a second system would reach."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from steelyard.diagnosis.ceilings import Ceilings
from steelyard.report.charts.plot import LISTED, altair, height_of, plot, systems_axis, titled, tooltips
from steelyard.report.contents import Contents
from steelyard.report.sheets.sheet import number
from steelyard.report.visible import single_line
from steelyard.report.words import Words

if TYPE_CHECKING:
    from altair import TopLevelMixin


def draw(contents: Contents, words: Words) -> TopLevelMixin | None:
    """A line for each system from its lowest to its highest value, a mark for each; None where no ceiling has one."""
    ceilings = contents.diagnosis.ceilings
    rows = [row for i in range(len(ceilings.systems)) for row in _rows(ceilings, i, words)]
    if all(row["kind"] == words("charts.ceilings.now") for row in rows):
        return None
    alt, order = altair(), [single_line(contents.scores.systems[i]) for i in contents.by_mean()]
    kinds = list(dict.fromkeys(row["kind"] for row in sorted(rows, key=lambda row: row["place"])))
    name = ceilings.measures[0]
    x = alt.X("value:Q", title=name, scale=alt.Scale(zero=False, nice=True, padding=12), axis=alt.Axis(tickCount=6))
    y = systems_axis(order)
    tooltip = tooltips(words, system="N", ceiling="N", value="Q:.4f", gain="Q:+.4f")
    of_system = {system: [row for row in rows if row["system"] == system] for system in order}
    ends = [{"system": system, "from": min(row["value"] for row in own), "to": max(row["value"] for row in own)}
            for system, own in of_system.items() if own]  # fmt: skip
    way = plot(ends).mark_rule(strokeWidth=2, opacity=0.3).encode(
        y=y, x=alt.X("from:Q", title=name, scale=alt.Scale(zero=False)), x2="to:Q")  # fmt: skip
    dots = plot(rows).mark_point(filled=True, size=110, opacity=1).encode(
        y=y, x=x, tooltip=tooltip,
        color=alt.Color("kind:N", sort=kinds, title=None, scale=alt.Scale(domain=kinds)),
        shape=alt.Shape("kind:N", sort=kinds, title=None, scale=alt.Scale(domain=kinds)))  # fmt: skip
    texts = [_text(system, own, words) for system, own in of_system.items()]
    values = {"measure": name, "listed": words.listed(texts, LISTED)}
    return titled(alt.layer(way, dots), "ceilings", words, values, height=height_of(len(order)))


def _rows(ceilings: Ceilings, i: int, words: Words) -> Iterator[dict[str, Any]]:
    """Marks of one system: the mean now, perfect orders of the fewest and of the most candidates, the best pair."""
    system, now = ceilings.systems[i], float(ceilings.reached[i, 0])
    perfect = zip(ceilings.ns, ceilings.perfect[i, 0].tolist(), strict=True)
    orders = [(n, value) for n, value in perfect if math.isfinite(value)]
    marks = [(0, words("charts.ceilings.now"), "", now)]
    marks += [(place, words("charts.ceilings.perfect", n=n), "", value)
              for place, (n, value) in enumerate([*orders[:1], *orders[1:][-1:]], 1)]  # fmt: skip
    own = [pair for pair in ceilings.pairs if pair.measure == ceilings.measures[0]
           and system in (pair.first, pair.second)]  # fmt: skip
    best = max(own, key=lambda pair: pair.mean, default=None)
    if best is not None:
        partner = best.second if best.first == system else best.first
        marks.append((3, words("charts.ceilings.pair"), single_line(partner), best.mean))
    for place, kind, partner, value in marks:
        ceiling = words("charts.ceilings.with", kind=kind, partner=partner) if partner else kind
        yield {"system": single_line(system), "place": place, "kind": kind, "ceiling": ceiling, "value": value,
               "gain": value - now}  # fmt: skip


def _text(system: str, rows: Sequence[dict[str, Any]], words: Words) -> str:
    best = max(rows, key=lambda row: row["value"])
    if best is rows[0]:
        return words("charts.ceilings.of_now", system=system, mean=number(best["value"]))
    return words("charts.ceilings.of", system=system, mean=number(rows[0]["value"]), ceiling=best["ceiling"],
                 value=number(best["value"]))  # fmt: skip
