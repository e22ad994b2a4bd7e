"""Advice in words: the pattern, its evidence, what to try, and what that could gain."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from steelyard.diagnosis.advice import Advice
from steelyard.report.sheets.sheet import number, p_text, percent, signed
from steelyard.report.words import Words

_SHARES = {"explained", "share", "share_others", "shown", "wished", "utilization"}
_SIGNED = {"ndcg", "recall"}
_WORTHWHILE = 0.01
_EVIDENCE = 3
"""Systems whose numbers a card shows; it names all."""


@dataclass(frozen=True)
class AdviceText:
    """A piece of advice in words, a sentence or a few for every part.

    title      the pattern;   evidence   the numbers that show it;   action   what to try
    gain       what could be won; empty where nothing was measured
    """

    title: str
    evidence: str
    action: str
    gain: str


@dataclass(frozen=True)
class AdviceCard:
    """One pattern, in all systems that show it: text as of AdviceText, and the questions of all of them."""

    text: AdviceText
    query_ids: tuple[str, ...]


def advice_cards(advice: Sequence[Advice], words: Words) -> list[AdviceCard]:
    """Advice in words, in its order; a pattern that several systems show is one card, where it comes first."""
    patterns: dict[tuple[str, str], list[Advice]] = {}
    for item in advice:
        patterns.setdefault((item.code, advice_text(item, words).title), []).append(item)
    return [_card(items, words) for items in patterns.values()]


def _card(items: Sequence[Advice], words: Words) -> AdviceCard:
    texts = [advice_text(item, words) for item in items[:_EVIDENCE]]
    text = replace(texts[0], evidence=words("diagnose.between").join(text.evidence for text in texts))
    if len(items) > 1:
        gains = [words("advice.gain_of", gain=_gain(item), systems=words.listed(list(item.systems))) for item in items]
        text = replace(text, gain=_gain_text(items[0], words.listed(gains), words))
    return AdviceCard(text, tuple(dict.fromkeys(query_id for item in items for query_id in item.query_ids)))


def advice_text(advice: Advice, words: Words) -> AdviceText:
    """A piece of advice in words."""
    values = _values(advice, words)
    key = f"advice.{advice.code}"
    evidence = [words(f"{key}.evidence", **values)]
    if advice.numbers.get("below"):
        evidence.append(words("advice.below", **values))
    if advice.explains:
        evidence.append(words("advice.explains", **values))
    if untold := advice.numbers.get("untold"):
        evidence.append(words(f"diagnose.note.{untold}"))
    has_gains = advice.code == "no_gold" and "most" in values
    kind = "_reranker" if _needs_reranker(advice) else "_gains" if has_gains else ""
    return AdviceText(
        words(f"{key}.title", **values), words("diagnose.between").join(evidence),
        words(f"{key}.action{kind}", **values), gain_text(advice, words),
    )  # fmt: skip


def gain_text(advice: Advice, words: Words) -> str:
    """How much could be won, as a sentence."""
    if math.isnan(advice.gain):
        return ""
    return _gain_text(advice, _gain(advice), words)


def _gain(advice: Advice) -> str:
    return percent(advice.gain) if advice.measure == "answers" else number(advice.gain, 3)


def _gain_text(advice: Advice, gain: str, words: Words) -> str:
    if advice.measure == "answers":
        return words("advice.gain_answers", gain=gain)
    return words("advice.gain", gain=gain, measure=advice.measure)


def _values(advice: Advice, words: Words) -> dict[str, object]:
    """What fills the fields of the texts."""
    values = {name: _value(name, value) for name, value in advice.numbers.items()}
    values |= {"measure": advice.measure, "n": advice.numbers["n"]}
    if advice.code in ("cluster_language", "cluster_long"):
        name = advice.numbers.get("name")
        values |= {"language": words(f"advice.language.{name}"), "unit": words(f"advice.unit_{name}")}
    if advice.code == "shifted":
        values["beside"] = words("advice.shifted.next" if advice.numbers["by"] == 1 else "advice.shifted.previous")
    return values


def _value(name: str, value: object) -> object:
    if not isinstance(value, float):
        return value
    if name in _SHARES:
        return percent(value)
    if name == "p":
        return p_text(value, sign=True)
    return signed(value, 3) if name in _SIGNED else number(value, 3)


def _needs_reranker(advice: Advice) -> bool:
    """Whether a better order alone helps: more results are worth a word only where they raise recall."""
    more = advice.numbers.get("recall_more")
    helps = isinstance(more, float) and more - float(str(advice.numbers["recall_k"])) >= _WORTHWHILE
    return advice.code == "not_ranked" and not helps
