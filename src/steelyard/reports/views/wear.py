"""How worn questions are: configurations that were tried, and what luck explains of the lead of the best one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from steelyard.base.json_text import plain
from steelyard.history.wear import Wear
from steelyard.reports.views.numbers import number, p_text
from steelyard.reports.views.view import Block, Look, Sheet, Text, View
from steelyard.reports.words import Words
from steelyard.stats.luck import Luck, LuckyLead

_PAIR = 2


def luck_text(luck: Luck, measure: str, words: Words) -> str:
    """How far the best leads those that are here, and how far the best of so many equal configurations would."""
    average, following = luck.over_average, luck.over_next
    return words(
        "luck.text", n=luck.n_systems, measure=measure, lead=number(average.lead), mean=number(average.mean),
        limit=number(average.limit), next_lead=number(following.lead), next_mean=number(following.mean),
        next_limit=number(following.limit),
    )  # fmt: skip


def wear_text(wear: Wear, words: Words) -> str:
    """How many configurations were tried, and what luck explains."""
    tried = words("wear.tried", n=wear.n_configs, questions=wear.n_questions, since=f"{wear.since:%Y-%m-%d}")
    if wear.luck is None:
        return tried
    average = wear.luck.over_average
    leads = words(
        "wear.leads", n=wear.n_configs, measure=wear.measure, system=wear.system, lead=number(average.lead),
        mean=number(average.mean), limit=number(average.limit),
    )  # fmt: skip
    return words("plan.sentences", first=tried, second=leads)


def wear_line(wear: Wear, words: Words) -> Iterator[str]:
    """The same in short, below a list of entries; nothing of two configurations, whose comparison says more."""
    if wear.luck is not None and wear.n_configs > _PAIR:
        average = wear.luck.over_average
        yield words(
            "wear.line", n=wear.n_configs, questions=wear.n_questions, measure=wear.measure, lead=number(average.lead),
            mean=number(min(average.mean, average.lead)),
        )  # fmt: skip


def _sheet(wear: Wear, words: Words) -> Sheet:
    luck = wear.luck
    leads: list[tuple[str, LuckyLead]] = (
        [] if luck is None else [("average", luck.over_average), ("next", luck.over_next)]
    )
    rows = [
        [words(f"luck.over.{name}"), *map(number, (lead.lead, lead.mean, lead.limit)), p_text(lead.p)]
        for name, lead in leads
    ]
    heads = [*(words(f"luck.head.{name}") for name in ("over", "lead", "mean", "limit")), words("compare.head.p")]
    return Sheet(heads, rows, notes=list(_notes(wear, words)))


def _notes(wear: Wear, words: Words) -> Iterator[str]:
    yield words("wear.best", system=wear.system, entry=wear.entry, measure=wear.measure, mean=number(wear.mean))
    if wear.luck is not None:
        yield words("wear.detectable", alone=number(wear.detectable), now=number(wear.detectable_now), n=wear.n_configs)


def _blocks(wear: Wear, look: Look) -> Iterator[Block]:
    yield Text(wear_text(wear, look.words), "bold")
    sheet = _sheet(wear, look.words)
    yield sheet if sheet.rows else Text("\n".join(sheet.notes))


def _data(wear: Wear) -> dict[str, Any]:
    return {name: value for name, value in wear.frame.to_dicts()[0].items() if name != "since"} | {
        "since": wear.since.isoformat()
    }


VIEWS = {
    Wear: View[Wear](
        "the wear of questions",
        blocks=_blocks,
        data=lambda wear, words: _data(wear),
        rows=lambda wear: plain([_data(wear)]),
        papers=lambda wear, words: [_sheet(wear, words)],
    )
}
