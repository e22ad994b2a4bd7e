"""A diagnosis in words: where the gold was lost, what could be reached, and what to try."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from steelyard.diagnosis.advice import Advice
from steelyard.diagnosis.ceilings import Ceilings
from steelyard.diagnosis.diagnosing import Diagnosis
from steelyard.diagnosis.funnel import NOT_LOST, STAGES, Funnel
from steelyard.diagnosis.thresholds import MIN_GROUP, RERANKED
from steelyard.report.views.notes import signature_note
from steelyard.report.views.numbers import number, p_text, percent, signed
from steelyard.report.views.outcomes import outcome_name, outcome_sections
from steelyard.report.views.sheet import Paragraph, Section, Sheet
from steelyard.report.visible import visible
from steelyard.report.words import Words

_PAIRS = 5
_RARE = {"failed", "missing", "no_gold"}


def diagnosis_sections(diagnosis: Diagnosis, words: Words) -> Iterator[Section]:
    """Where the gold was lost, what became of the questions, by tag too; what could be reached; what to try.

    Where no question has gold, nothing is said of retrieval but that; where there are answers, not even that.
    """
    if diagnosis.has_gold:
        yield Section("funnel", words("diagnose.funnel"), sheets=[funnel_sheet(diagnosis, words)])
        if by_tag := tag_sheet(diagnosis, words):
            yield Section("by_tag", words("diagnose.by_tag"), sheets=[by_tag])
    elif not diagnosis.is_of_answers_alone:
        text = words("diagnose.no_gold", n=diagnosis.funnels[0].n_queries)
        yield Section("funnel", words("diagnose.funnel"), [Paragraph(text)])
    yield from outcome_sections(diagnosis, words)
    if diagnosis.has_gold:
        yield from _reachable_sections(diagnosis, words)
    yield Section("advice", words("diagnose.advice"), list(advice_paragraphs(diagnosis, words)))


def _reachable_sections(diagnosis: Diagnosis, words: Words) -> Iterator[Section]:
    deeper, pairs = deeper_sheet(diagnosis, words), pairs_sheet(diagnosis, words)
    ceilings = [ceilings_sheet(diagnosis, words), *([deeper] if deeper else [])]
    yield Section("ceilings", words("diagnose.ceilings"), sheets=ceilings)
    if pairs is not None:
        yield Section("pairs", words("diagnose.pairs"), sheets=[pairs])


def stage_name(code: str, words: Words) -> str:
    """What a stage of the funnel is called."""
    return words(f"diagnose.stage.{code}")


def worst_stage(funnel: Funnel) -> tuple[str, int] | None:
    """The stage that loses most questions of a system, and how many; the earliest of equal ones; None for no loss."""
    losses = [(stage, n) for stage, n in funnel.counts().items() if n and stage not in NOT_LOST]
    return max(losses, key=lambda loss: loss[1], default=None)


# Where the gold was lost ---------------------------------------------------------------------------------------------


def funnel_sheet(diagnosis: Diagnosis, words: Words) -> Sheet:
    """A row a stage, a column a system: how many questions, and their share."""
    funnels = diagnosis.funnels
    rows = []
    for stage in stages_of(funnels):
        cells = [_count(f.counts()[stage], f.n_queries) if stage in f.stages else "–" for f in funnels]
        rows.append([stage_name(stage, words), *cells])
    rows.append([words("diagnose.head.total"), *(f"{funnel.n_queries:,}" for funnel in funnels)])
    header = [words("diagnose.head.stage"), *(funnel.system for funnel in funnels)]
    notes = [*_funnel_notes(diagnosis, words), *signature_note(diagnosis.signature, words)]
    return Sheet(header, rows, notes=notes)


def stages_of(funnels: Sequence[Funnel]) -> list[str]:
    """Stages with questions of some system, and those that some system can lose questions at; in order."""
    return [
        stage
        for stage in STAGES
        if any(funnel.counts()[stage] for funnel in funnels)
        or (stage not in _RARE and any(stage in funnel.stages for funnel in funnels))
    ]


def _count(n: int, total: int) -> str:
    return f"{n:,} ({percent(n / total)})" if n else "0"


_UNTOLD = {
    "untold": "diagnose.note.untold",
    "untold_cut": "diagnose.note.untold_cut",
    "untold_ids": "diagnose.note.untold_ids",
}


def _funnel_notes(diagnosis: Diagnosis, words: Words) -> Iterator[str]:
    funnels, k = diagnosis.funnels, diagnosis.k
    yield words("diagnose.note.funnel", k=k)
    yield from _depth_notes(funnels, words)
    if untold := [funnel.untold for funnel in funnels if funnel.n_untold]:
        yield words(_UNTOLD[untold[0]])
    if any(funnel.counts()["unused"] for funnel in funnels):
        yield words("diagnose.note.unused", k=k)
    for funnel in funnels if len(funnels) <= _PAIRS else ():
        yield from _piece_notes(funnel, k, words)


def _depth_notes(funnels: Sequence[Funnel], words: Words) -> Iterator[str]:
    depths: dict[int, list[str]] = {}
    for funnel in funnels:
        depths.setdefault(funnel.depth, []).append(funnel.system)
    for depth, systems in sorted(depths.items()):
        if len(depths) == 1:
            yield words("diagnose.note.depth", depth=depth)
        else:
            yield words("diagnose.note.depth_of", systems=words.listed(systems), depth=depth)


def _piece_notes(funnel: Funnel, k: int, words: Words) -> Iterator[str]:
    """How much of the gold was retrieved where a question may have several pieces, and how much was cut apart."""
    retrieved, total = funnel.n_at_stage["found"], int(funnel.n_gold.sum())
    if total > funnel.n_winnable:
        key = "diagnose.note.pieces" if funnel.by_evidence else "diagnose.note.documents"
        yield words(key, system=funnel.system, found=retrieved, total=total, k=k)
    if funnel.split is not None and funnel.split.any():
        yield words("diagnose.note.split", system=funnel.system, n=int(funnel.split.sum()))


def tag_sheet(diagnosis: Diagnosis, words: Words) -> Sheet | None:
    """Questions by tag, a row each: at which stages one system lost them, or how many each of several systems won.

    None where no tag has MIN_GROUP questions; smaller tags are left out, and counted.
    """
    by_tag = {tag: funnels for tag, funnels in diagnosis.by_tag.items() if funnels[0].n_winnable >= MIN_GROUP}
    if not by_tag:
        return None
    several = len(diagnosis.funnels) > 1
    stages = [] if several else [stage for stage, n in diagnosis.funnels[0].counts().items() if n]
    columns = [f.system for f in diagnosis.funnels] if several else [stage_name(stage, words) for stage in stages]
    rows = []
    for tag, funnels in by_tag.items():
        counts = [funnel.counts() for funnel in funnels]
        cells = [_count(n["found"] + n["unused"], f.n_winnable) for n, f in zip(counts, funnels, strict=True)]
        rows.append(
            [tag, f"{funnels[0].n_winnable:,}", *(cells if several else [f"{counts[0][stage]:,}" for stage in stages])]
        )
    small = len(diagnosis.by_tag) - len(by_tag)
    notes = [words("diagnose.note.found_by_tag", k=diagnosis.k)] if several else []
    notes += [words("diagnose.note.small_tags", n=small, least=MIN_GROUP)] if small else []
    return Sheet([words("diagnose.head.tag"), words("diagnose.head.total"), *columns], rows, notes=notes)


def stage_lists(diagnosis: Diagnosis, stages: Sequence[str], words: Words) -> str:
    """Ids of the questions at some stages of the funnel, or of some outcomes, a line for each system and stage."""
    lines = []
    for funnel in diagnosis.funnels:
        for stage in stages:
            of_funnel = stage in STAGES
            listed = funnel.at(stage) if of_funnel else _of_outcome(diagnosis, funnel.system, stage)
            ids = words("list.comma").join(listed) or words("diagnose.none")
            name = stage_name(stage, words) if of_funnel else outcome_name(stage, words)
            lines.append(visible(words("diagnose.listed", system=funnel.system, stage=name, ids=ids)))
    return "\n".join(lines) + "\n"


def _of_outcome(diagnosis: Diagnosis, system: str, outcome: str) -> list[str]:
    """Ids of the questions of an outcome; none of a system whose answers are not read."""
    return next((of_system.at(outcome) for of_system in diagnosis.outcomes if of_system.system == system), [])


# What could be reached -----------------------------------------------------------------------------------------------


def ceilings_sheet(diagnosis: Diagnosis, words: Words, *, measure: str | None = None) -> Sheet:
    """A row a system: a measure as it is, with perfect orders of the first N, and what a reranker captured of that."""
    ceilings = diagnosis.ceilings
    measure = diagnosis.measure if measure is None else measure
    j = list(ceilings.measures).index(measure)
    places = [place for place in range(len(ceilings.ns)) if not np.isnan(ceilings.perfect[:, j, place]).all()]
    ns = [ceilings.ns[place] for place in places]
    captured = {(row.system, row.n): row.share for row in diagnosis.captured if row.measure == measure}
    deepest = max((n for n in ns if n <= RERANKED), default=min(ns, default=0))
    header = [measure, *([words("diagnose.head.base")] if captured else []), words("diagnose.head.reached")]
    header += [words("diagnose.head.perfect", n=n) for n in ns]
    header += [words("diagnose.head.captured", n=deepest)] if captured else []
    rows = []
    for i, system in enumerate(ceilings.systems):
        reranked = any(name == system for name, _ in captured)
        row = [system, *([number(ceilings.base[i, j], 3) if reranked else "–"] if captured else [])]
        row += [number(ceilings.reached[i, j], 3), *(number(ceilings.perfect[i, j, place], 3) for place in places)]
        rows.append(row + ([percent(captured.get((system, deepest), math.nan))] if captured else []))
    notes = list(_ceiling_notes(rows, captured=bool(captured), n_perfect=len(ns), words=words))
    if not ns:
        notes.append(words("diagnose.note.shallow", n=min(ceilings.ns)))
    if ns and "recall" in measure and any(funnel.by_evidence for funnel in diagnosis.funnels):
        notes.append(words("diagnose.note.bound"))
    return Sheet(header, rows, notes=notes)


def _ceiling_notes(rows: list[list[str]], *, captured: bool, n_perfect: int, words: Words) -> Iterator[str]:
    if n_perfect:
        yield words("diagnose.note.perfect")
    if captured:
        yield words("diagnose.note.captured")
    if n_perfect and any(cell == "–" for row in rows for cell in row[-n_perfect - captured :]):
        yield words("diagnose.note.unknown")


def deeper_sheet(diagnosis: Diagnosis, words: Words) -> Sheet | None:
    """Recall and hit rate with more results than k; None where no list is that deep."""
    ceilings, k = diagnosis.ceilings, diagnosis.k
    places = [place for place in range(len(ceilings.deeper_ks)) if not np.isnan(ceilings.deeper[:, :, place]).all()]
    if not places:
        return None
    header, rows = [words("diagnose.head.system")], [[system] for system in ceilings.systems]
    for a, name in enumerate(ceilings.deeper_names):
        header += [f"{name}@{k}", *(f"@{ceilings.deeper_ks[place]}" for place in places)]
        for i, row in enumerate(rows):
            deeper = [number(ceilings.deeper[i, a, place], 3) for place in places]
            row += [number(diagnosis.curves.at(i, name, k), 3), *deeper]
    return Sheet(header, rows, notes=[words("diagnose.note.deeper", k=k)])


def pairs_sheet(diagnosis: Diagnosis, words: Words) -> Sheet | None:
    """The pairs of systems that complete each other best; None for one system."""
    pairs = _best_pairs(diagnosis.ceilings, diagnosis.measure)
    if not pairs:
        return None
    names = ("pair_mean", "pair_gain", "first_only", "second_only")
    header = [diagnosis.measure, *(words(f"diagnose.head.{name}") for name in names)]
    return Sheet(header, pairs, notes=[words("diagnose.note.pairs")])


def _best_pairs(ceilings: Ceilings, measure: str) -> list[list[str]]:
    pairs = [pair for pair in ceilings.pairs if pair.measure == measure]
    pairs.sort(key=lambda pair: (-pair.mean, pair.first, pair.second))
    return [
        [f"{pair.first} + {pair.second}", number(pair.mean, 3), signed(pair.gain, 3), f"{pair.first_only:,}",
         f"{pair.second_only:,}"]
        for pair in pairs[:_PAIRS]
    ]  # fmt: skip


# What to try ---------------------------------------------------------------------------------------------------------


def advice_paragraphs(diagnosis: Diagnosis, words: Words, *, limit: int = 6) -> Iterator[Paragraph]:
    """What to try, in the order of the diagnosis, and how many pieces of advice are left out."""
    cards, actions = advice_cards(diagnosis.advice, words), set[str]()
    for place, card in enumerate(cards[:limit], 1):
        text = card.text
        # What to do about two tags is one thing.
        parts = [text.evidence, *([] if text.action in actions else [text.action]), *([text.gain] if text.gain else [])]
        parts += [words("diagnose.questions", ids=words.listed(list(card.query_ids)))] if card.query_ids else []
        actions.add(text.action)
        title = words("diagnose.numbered", place=place, title=text.title)
        yield Paragraph(words("diagnose.between").join(parts), title)
    if not cards:
        yield Paragraph(words("diagnose.no_advice"))
    if len(cards) > limit:
        yield Paragraph(words("diagnose.more_advice", n=len(cards) - limit))


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
