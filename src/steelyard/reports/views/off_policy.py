"""What a policy would have got, by three estimators, and how far the log lets one say so."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from steelyard.abtests.offpolicy.evaluating import LEAST_EFFECTIVE, MOST_UNSEEN, OffPolicy
from steelyard.reports.views.cautions import careful
from steelyard.reports.views.numbers import amount, count, percent
from steelyard.reports.views.view import Block, Look, Section, Sheet, Text, View, headed, sheet_of
from steelyard.reports.visible import single_line
from steelyard.reports.words import Words

_HEAVY = 0.05
"""Share of all weights from which on a single result is named."""


def _change(value: float, digits: int = 3) -> str:
    """A difference with its sign."""
    return f"+{amount(value, digits)}" if value > 0 else amount(value, digits)


def _between(low: float, high: float, words: Words, *, is_signed: bool = False) -> str:
    text = _change if is_signed else amount
    return "–" if math.isnan(low) else words("off_policy.between", low=text(low, 2), high=text(high, 2))


def verdict_text(result: OffPolicy, words: Words) -> str:
    """Whether the policy gets more than that of the log, in one sentence."""
    facts = {
        "policy": single_line(result.policy), "metric": _metric(result, words),
        "requests": count(result.n_requests),
    }  # fmt: skip
    if result.verdict == "refused":
        return words("off_policy.verdict.refused", share=percent(1 - min(result.overlap[0].weight, 1.0)), **facts)
    best = result.estimates[-1]
    facts |= {
        "value": amount(best.value), "logged": amount(result.estimates[0].value),
        "difference": _change(best.difference),
        "between": _between(best.difference_low, best.difference_high, words, is_signed=True),
        "effective": amount(result.overlap[0].effective), "least": f"{LEAST_EFFECTIVE:g}",
    }  # fmt: skip
    return words(f"off_policy.verdict.{result.verdict}", **facts)


def _metric(result: OffPolicy, words: Words) -> str:
    key = f"off_policy.metric.{result.metric}"
    return words(key) if key in words else single_line(result.metric)


def estimates_sheet(result: OffPolicy, words: Words) -> Sheet:
    """A row an estimator, the log's own value first."""
    columns = headed(
        words,
        "off_policy.head",
        ("method", lambda row: words(f"off_policy.method.{row.method}")),
        ("value", lambda row: amount(row.value)),
        ("interval", lambda row: _between(row.low, row.high, words)),
        ("difference", lambda row: _change(row.difference)),
        ("interval", lambda row: _between(row.difference_low, row.difference_high, words, is_signed=True)),
    )
    return sheet_of(result.estimates, columns if len(result.estimates) > 1 else columns[:3])


def overlap_sheet(result: OffPolicy, words: Words) -> Sheet:
    """A row a position: how much of the log speaks for the policy."""
    columns = headed(
        words,
        "off_policy.head",
        ("position", lambda row: words("off_policy.all") if row.position is None else str(row.position)),
        ("n", lambda row: count(row.n)),
        ("n_weighted", lambda row: count(row.n_weighted)),
        ("effective", lambda row: amount(row.effective)),
        ("weight", lambda row: amount(row.weight)),
        ("interval", lambda row: _between(row.weight_low, row.weight_high, words)),
        ("smallest", lambda row: amount(row.smallest)),
        ("largest", lambda row: amount(row.largest)),
    )
    return sheet_of(result.overlap, columns)


def never_sheet(result: OffPolicy, words: Words) -> Sheet:
    """A row a document that the policy would show and the log never does, by how often the policy would."""
    columns = headed(
        words,
        "off_policy.head",
        ("key", lambda row: single_line(row["key"]) or words("off_policy.all")),
        ("position", lambda row: str(row["position"])),
        ("document", lambda row: single_line(row["doc_id"])),
        ("times", lambda row: amount(row["n"])),
    )
    return sheet_of(result.never.rows(named=True), columns, n_labels=3)


def _effective_text(result: OffPolicy, words: Words) -> str:
    overlap = result.overlap[0]
    return words(
        "off_policy.effective", effective=amount(overlap.effective), n=count(overlap.n),
        smallest=amount(overlap.smallest), largest=amount(overlap.largest), share=percent(overlap.share, 1),
    )  # fmt: skip


def _cautions(result: OffPolicy, words: Words) -> Iterator[str]:
    overlap = result.overlap[0]
    between = _between(overlap.weight_low, overlap.weight_high, words)
    if result.verdict == "refused" and result.unseen < MOST_UNSEEN:
        yield words("off_policy.too_large")
    elif result.verdict == "refused" and result.never.height:
        row = result.never.row(0, named=True)
        key = "off_policy.never_of" if row["key"] else "off_policy.never"
        facts = {"document": single_line(row["doc_id"]), "position": row["position"], "key": single_line(row["key"])}
        yield words(key, times=amount(row["n"]), **facts)
    elif result.verdict != "refused" and overlap.weight_high < 1:
        yield words("off_policy.unsupported", weight=amount(overlap.weight), between=between)
    if overlap.weight_low > 1:
        yield words("off_policy.wrong", weight=amount(overlap.weight), between=between)
    if result.n_clipped:
        yield words("off_policy.clipped", n=result.n_clipped, number=count(result.n_clipped), clip=amount(result.clip))
    if overlap.share > _HEAVY and result.verdict in ("better", "worse", "unclear"):
        yield words("off_policy.heavy", share=percent(overlap.share, 1))
    for reason, n in result.excluded.items():
        yield words(f"off_policy.excluded.{reason}", n=n, number=count(n))


def _brief(result: OffPolicy, look: Look) -> Iterator[Block]:
    words = look.words
    yield Text(verdict_text(result, words), "bold")
    sheet = estimates_sheet(result, words)
    sheet.notes += [_effective_text(result, words), *careful(_cautions(result, words), look)]
    yield sheet


def _blocks(result: OffPolicy, look: Look) -> Iterator[Block]:
    words = look.words
    sheet, overlap = estimates_sheet(result, words), overlap_sheet(result, words)
    sheet.notes += [_effective_text(result, words), *_cautions(result, words), words("off_policy.estimators")]
    overlap.notes += [words("off_policy.weights"), words("off_policy.limit", share=percent(MOST_UNSEEN))]
    yield Section("estimates", verdict_text(result, words), sheets=[sheet])
    yield Section("overlap", words("off_policy.overlap"), sheets=[overlap])
    if result.never.height:
        title = words("off_policy.unseen", share=percent(result.unseen))
        yield Section("unseen", title, sheets=[never_sheet(result, words)])


def _data(result: OffPolicy, words: Words) -> dict[str, Any]:
    names = (
        "metric", "policy", "k", "verdict", "n_requests", "n_users", "n_rewards", "unseen", "clip",
        "n_clipped", "excluded",
    )  # fmt: skip
    return {
        **{name: getattr(result, name) for name in names},
        "in_words": verdict_text(result, words),
        "estimates": result.frame.to_dicts(),
        "overlap": [asdict(row) for row in result.overlap],
        "never": result.never.to_dicts(),
        "troubles": [asdict(trouble) for trouble in result.troubles],
    }


VIEWS = {
    OffPolicy: View[OffPolicy](
        "an off-policy evaluation",
        blocks=_blocks,
        brief=_brief,
        data=_data,
        rows=lambda result: result.frame,
        has_page=True,
        papers=lambda result, words: [estimates_sheet(result, words)],
    )
}
