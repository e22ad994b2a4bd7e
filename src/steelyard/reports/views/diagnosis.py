"""A diagnosis in words: where the gold was lost, what could be reached, and what to try; and as data."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from steelyard.diagnosis.advice import MISTAKES, Advice
from steelyard.diagnosis.ceilings import Ceilings, Curves
from steelyard.diagnosis.diagnosing import Diagnosis
from steelyard.diagnosis.funnel import NOT_LOST, STAGES, Funnel
from steelyard.diagnosis.outcomes import AnswerOutcomes
from steelyard.diagnosis.thresholds import RERANKED
from steelyard.reports.views.cautions import NAMED, careful, dangers
from steelyard.reports.views.colours import OUTCOME_COLOURS, STAGE_COLOURS
from steelyard.reports.views.notes import signature_note
from steelyard.reports.views.numbers import count, number, p_text, part_of, percent, signed
from steelyard.reports.views.outcomes import (
    answers_text,
    outcome_name,
    outcome_sections,
    outcomes_sheet,
    tags_sheet,
    worst_outcome,
)
from steelyard.reports.views.picture import Part, Shares, shares
from steelyard.reports.views.view import Block, Look, Paragraph, Section, Sheet, Text, View
from steelyard.reports.visible import visible
from steelyard.reports.words import Words

_PAIRS = 5
_RARE = {"failed", "missing", "no_gold"}
_SHARES = {"explained", "share", "share_others", "shown", "wished", "utilization"}
_SIGNED = {"ndcg", "recall"}
_WORTHWHILE = 0.01
_EVIDENCE = 3
"""Systems whose numbers a card of advice shows; it names all."""


def diagnosis_sections(diagnosis: Diagnosis, words: Words) -> Iterator[Section]:
    """Sections on where the gold was lost, outcomes, by tag too; what could be reached; what to try.

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
        sheets = [ceilings_sheet(diagnosis, words), *_deeper(diagnosis, words)]
        yield Section("ceilings", words("diagnose.ceilings"), sheets=sheets)
        if pairs := _pairs(diagnosis, words):
            yield Section("pairs", words("diagnose.pairs"), sheets=pairs)
    yield Section("advice", words("diagnose.advice"), list(_advice_paragraphs(diagnosis, words)))


def stage_name(code: str, words: Words) -> str:
    """The name of a stage of the funnel."""
    return words(f"diagnose.stage.{code}")


def worst_stage(funnel: Funnel) -> tuple[str, int] | None:
    """The stage that loses most questions of a system, and how many; the earliest of equal ones; None for no loss."""
    losses = [(stage, n) for stage, n in funnel.counts().items() if n and stage not in NOT_LOST]
    return max(losses, key=lambda loss: loss[1], default=None)


def lost_text(diagnosis: Diagnosis, system: str, words: Words) -> str:
    """The number of questions of which a system has any gold in the first k, and where most others lost it.

    Nothing where no question has gold.
    """
    funnel = next(funnel for funnel in diagnosis.funnels if funnel.system == system)
    worst, k = worst_stage(funnel), diagnosis.k
    if worst is not None:
        (stage, n), counts, questions = worst, funnel.counts(), words("count.questions", n=funnel.n_queries)
        return words("page.summary.lost_of", system=system, stage=stage_name(stage, words), n=n, k=k,
                     found=counts["found"] + counts["unused"], questions=questions)  # fmt: skip
    total, n_found = int(funnel.n_gold.sum()), funnel.n_at_stage["found"]
    if not total:
        return ""
    if total == n_found:
        return words("page.summary.nothing_lost", system=system, k=k)
    kind = "pieces" if funnel.by_evidence else "documents"
    return words(f"page.summary.nothing_lost_{kind}", system=system, k=k, found=n_found, total=total)


def mistakes(diagnosis: Diagnosis, best: str, words: Words) -> Iterator[str]:
    """A sentence on systems that may be behind the best one by a mistake around them alone."""
    systems = dict[str, list[str]]()
    for item in diagnosis.advice:
        if item.code in MISTAKES and best not in item.systems:
            systems.setdefault(advice_text(item, words).title, []).extend(map(visible, item.systems))
    if systems:
        named = [(title, words.listed(own, NAMED)) for title, own in systems.items()]
        listed = [words("page.care.mistake_of", title=title, systems=own) for title, own in named]
        yield words("page.care.mistake", listed=words.listed(listed, NAMED))


# Where the gold was lost ---------------------------------------------------------------------------------------------


def funnel_sheet(diagnosis: Diagnosis, words: Words) -> Sheet:
    """A row a stage, a column a system: how many questions, and their share; all questions in the last row."""
    funnels = diagnosis.funnels
    rows = [
        [
            stage_name(stage, words),
            *(part_of(own.counts()[stage], own.n_queries) if stage in own.stages else "–" for own in funnels),
        ]
        for stage in stages_of(funnels)
    ]
    rows.append([words("diagnose.head.total"), *(count(own.n_queries) for own in funnels)])
    notes = [*_funnel_notes(diagnosis, words), *signature_note(diagnosis.signature, words)]
    return Sheet([words("diagnose.head.stage"), *(own.system for own in funnels)], rows, notes=notes)


def stages_of(funnels: Sequence[Funnel]) -> list[str]:
    """Stages with questions of some system, and those that some system can lose questions at; in order."""
    return [
        stage
        for stage in STAGES
        if any(funnel.counts()[stage] for funnel in funnels)
        or (stage not in _RARE and any(stage in funnel.stages for funnel in funnels))
    ]


def _funnel_notes(diagnosis: Diagnosis, words: Words) -> Iterator[str]:
    funnels, k = diagnosis.funnels, diagnosis.k
    yield words("diagnose.note.funnel", k=k)
    yield from _depth_notes(diagnosis, words)
    yield from _untold_notes(diagnosis, words)
    if any(funnel.counts()["unused"] for funnel in funnels):
        yield words("diagnose.note.unused", k=k)
    for funnel in funnels if len(funnels) <= _PAIRS else ():
        # How much of the gold was retrieved where a question may have several pieces, and how much was cut apart.
        retrieved, total = funnel.n_at_stage["found"], int(funnel.n_gold.sum())
        if total > funnel.n_winnable:
            key = "pieces" if funnel.by_evidence else "documents"
            yield words(f"diagnose.note.{key}", system=funnel.system, found=retrieved, total=total, k=k)
        if funnel.split is not None and funnel.split.any():
            yield words("diagnose.note.split", system=funnel.system, n=int(funnel.split.sum()))


def _depth_notes(diagnosis: Diagnosis, words: Words) -> Iterator[str]:
    """The rank at which lists end, below which gold counts as not retrieved."""
    depths = dict[int, list[str]]()
    for funnel in diagnosis.funnels:
        depths.setdefault(funnel.depth, []).append(funnel.system)
    for depth, systems in sorted(depths.items()):
        key = "depth" if len(depths) == 1 else "depth_of"
        yield words(f"diagnose.note.{key}", depth=depth, systems=words.listed(systems))


def _untold_notes(diagnosis: Diagnosis, words: Words) -> Iterator[str]:
    """That it is unknown whether the corpus holds gold that was not retrieved."""
    if untold := [funnel.untold for funnel in diagnosis.funnels if funnel.n_untold]:
        yield words(f"diagnose.note.{untold[0]}")


def tag_sheet(diagnosis: Diagnosis, words: Words) -> Sheet | None:
    """Questions by tag, a row each: at which stages one system lost them, or how many each of several systems won."""
    several = len(diagnosis.funnels) > 1
    stages = [] if several else [stage for stage, n in diagnosis.funnels[0].counts().items() if n]
    heads = [own.system for own in diagnosis.funnels] if several else [stage_name(stage, words) for stage in stages]

    def cells(funnels: Sequence[Funnel]) -> list[str]:
        counts = [own.counts() for own in funnels]
        if not several:
            return [count(counts[0][stage]) for stage in stages]
        return [part_of(n["found"] + n["unused"], own.n_winnable) for n, own in zip(counts, funnels, strict=True)]

    sheet = tags_sheet(diagnosis.by_tag, heads, cells, lambda own: own.n_winnable, words, area="diagnose")
    if sheet is not None and several:
        sheet.notes.insert(0, words("diagnose.note.found_by_tag", k=diagnosis.k))
    return sheet


def stage_lists(diagnosis: Diagnosis, stages: Sequence[str], words: Words) -> str:
    """Ids of the questions at some stages of the funnel, or of some outcomes, a line for each system and stage.

    A system whose answers are not read has no question of any outcome.
    """
    lines, outcomes = list[str](), {own.system: own for own in diagnosis.outcomes}
    for funnel in diagnosis.funnels:
        for stage in stages:
            if stage in STAGES:
                name, listed = stage_name(stage, words), funnel.at(stage)
            else:
                name, of_system = outcome_name(stage, words), outcomes.get(funnel.system)
                listed = [] if of_system is None else of_system.at(stage)
            ids = words("list.comma").join(listed) or words("diagnose.none")
            lines.append(visible(words("diagnose.listed", system=funnel.system, stage=name, ids=ids)))
    return "\n".join(lines) + "\n"


# What could be reached -----------------------------------------------------------------------------------------------


def ceilings_sheet(diagnosis: Diagnosis, words: Words, *, measure: str | None = None) -> Sheet:
    """A row a system: a measure as it is, with perfect orders of the first N, and what a reranker captured of that."""
    ceilings = diagnosis.ceilings
    measure = diagnosis.measure if measure is None else measure
    j = list(ceilings.measures).index(measure)
    places = [place for place in range(len(ceilings.ns)) if not np.isnan(ceilings.perfect[:, j, place]).all()]
    ns = [ceilings.ns[place] for place in places]
    captured = {(row.system, row.n): row.share for row in diagnosis.captured if row.measure == measure}
    reranked = {system for system, _ in captured}
    deepest = max((n for n in ns if n <= RERANKED), default=min(ns, default=0))
    header = [measure, words("diagnose.head.base"), words("diagnose.head.reached")]
    header += [*(words("diagnose.head.perfect", n=n) for n in ns), words("diagnose.head.captured", n=deepest)]
    rows = [
        [system, number(ceilings.base[i, j], 3) if system in reranked else "–", number(ceilings.reached[i, j], 3),
         *(number(ceilings.perfect[i, j, place], 3) for place in places), percent(captured.get((system, deepest)))]
        for i, system in enumerate(ceilings.systems)
    ]  # fmt: skip
    if not captured:
        header, *rows = [[row[0], *row[2:-1]] for row in (header, *rows)]
    unknown = any(cell == "–" for row in rows for cell in row[-len(ns) - bool(captured) :])
    bound = "recall" in measure and any(funnel.by_evidence for funnel in diagnosis.funnels)
    said = {"perfect": ns, "captured": captured, "unknown": ns and unknown, "shallow": not ns, "bound": ns and bound}
    notes = [words(f"diagnose.note.{key}", n=min(ceilings.ns)) for key, holds in said.items() if holds]
    return Sheet(header, rows, notes=notes)


def _deeper(diagnosis: Diagnosis, words: Words) -> Iterator[Sheet]:
    """Recall and hit rate with more results than k, where any list is that deep."""
    ceilings, k = diagnosis.ceilings, diagnosis.k
    places = [place for place in range(len(ceilings.deeper_ks)) if not np.isnan(ceilings.deeper[:, :, place]).all()]
    header, rows = [words("diagnose.head.system")], [[system] for system in ceilings.systems]
    for a, name in enumerate(ceilings.deeper_names):
        header += [f"{name}@{k}", *(f"@{ceilings.deeper_ks[place]}" for place in places)]
        for i, row in enumerate(rows):
            row.append(number(diagnosis.curves.at(i, name, k), 3))
            row += [number(ceilings.deeper[i, a, place], 3) for place in places]
    if places:
        yield Sheet(header, rows, notes=[words("diagnose.note.deeper", k=k)])


def _pairs(diagnosis: Diagnosis, words: Words) -> list[Sheet]:
    """The pairs of systems that complete each other best; none for one system."""
    pairs = [pair for pair in diagnosis.ceilings.pairs if pair.measure == diagnosis.measure]
    rows = [
        [f"{pair.first} + {pair.second}", number(pair.mean, 3), signed(pair.gain, 3), count(pair.first_only),
         count(pair.second_only)]
        for pair in sorted(pairs, key=lambda pair: (-pair.mean, pair.first, pair.second))[:_PAIRS]
    ]  # fmt: skip
    heads = [words(f"diagnose.head.{name}") for name in ("pair_mean", "pair_gain", "first_only", "second_only")]
    return [Sheet([diagnosis.measure, *heads], rows, notes=[words("diagnose.note.pairs")])] if rows else []


# What to try ---------------------------------------------------------------------------------------------------------


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


def _advice_paragraphs(diagnosis: Diagnosis, words: Words, *, limit: int = 6) -> Iterator[Paragraph]:
    """Advice, in the order of the diagnosis, and how many pieces of it are left out."""
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


def advice_cards(advice: Sequence[Advice], words: Words) -> list[AdviceCard]:
    """Advice in words, in its order; a pattern that several systems show is one card, where it comes first."""
    patterns: dict[tuple[str, str], list[tuple[Advice, AdviceText]]] = {}
    for item in advice:
        text = advice_text(item, words)
        patterns.setdefault((item.code, text.title), []).append((item, text))
    cards = []
    for alike in patterns.values():
        evidence = words("diagnose.between").join(text.evidence for _, text in alike[:_EVIDENCE])
        card = replace(alike[0][1], evidence=evidence)
        if len(alike) > 1:
            gains = [
                words("advice.gain_of", gain=_gain(item), systems=words.listed(list(item.systems))) for item, _ in alike
            ]
            card = replace(card, gain=_gain_text(alike[0][0], words.listed(gains), words))
        query_ids = dict.fromkeys(query_id for item, _ in alike for query_id in item.query_ids)
        cards.append(AdviceCard(card, tuple(query_ids)))
    return cards


def advice_text(advice: Advice, words: Words) -> AdviceText:
    """A piece of advice in words."""
    numbers, key = advice.numbers, f"advice.{advice.code}"
    values = {name: _value(name, value) for name, value in numbers.items()}
    values |= {"measure": advice.measure, "n": numbers["n"]}
    if advice.code in ("cluster_language", "cluster_long"):
        name = numbers.get("name")
        values |= {"language": words(f"advice.language.{name}"), "unit": words(f"advice.unit_{name}")}
    if advice.code == "shifted":
        values["beside"] = words("advice.shifted.next" if numbers["by"] == 1 else "advice.shifted.previous")
    evidence = [words(f"{key}.evidence", **values)]
    if numbers.get("below"):
        evidence.append(words("advice.below", **values))
    if advice.explains:
        evidence.append(words("advice.explains", **values))
    if untold := numbers.get("untold"):
        evidence.append(words(f"diagnose.note.{untold}"))
    # A better order alone helps where more results do not raise recall.
    more = numbers.get("recall_more")
    more_helps = isinstance(more, float) and more - float(str(numbers["recall_k"])) >= _WORTHWHILE
    kind = "_reranker" if advice.code == "not_ranked" and not more_helps else ""
    kind = "_gains" if advice.code == "no_gold" and "most" in values else kind
    return AdviceText(
        words(f"{key}.title", **values),
        words("diagnose.between").join(evidence),
        words(f"{key}.action{kind}", **values),
        "" if math.isnan(advice.gain) else _gain_text(advice, _gain(advice), words),
    )


def _gain(advice: Advice) -> str:
    return percent(advice.gain) if advice.measure == "answers" else number(advice.gain, 3)


def _gain_text(advice: Advice, gain: str, words: Words) -> str:
    """A sentence on how much could be won."""
    if advice.measure == "answers":
        return words("advice.gain_answers", gain=gain)
    return words("advice.gain", gain=gain, measure=advice.measure)


def _value(name: str, value: object) -> object:
    if not isinstance(value, float):
        return value
    if name in _SHARES:
        return percent(value)
    if name == "p":
        return p_text(value, sign=True)
    return signed(value, 3) if name in _SIGNED else number(value, 3)


def _blocks(diagnosis: Diagnosis, look: Look, *, stages: Sequence[str] = ()) -> Iterable[Block]:
    """Its sections, or the questions at some stages."""
    if stages:
        return [Text(stage_lists(diagnosis, stages, look.words).removesuffix("\n"), "laid out")]
    return diagnosis_sections(diagnosis, look.words)


def _brief(diagnosis: Diagnosis, look: Look, *, stages: Sequence[str] = ()) -> Iterator[Block]:
    """Where the best system loses most, the stages, what to try first, and what to be careful with."""
    if stages or not (diagnosis.has_gold or diagnosis.outcomes):
        yield from _blocks(diagnosis, look, stages=stages)
        return
    words, best = look.words, best_funnel(diagnosis).system
    if diagnosis.has_gold:
        yield Text(lost_text(diagnosis, best, words), "bold")
        yield _reached_sheet(diagnosis, words)
    else:
        yield Text(answers_text(diagnosis.outcomes[0], words), "bold")
        yield replace(outcomes_sheet(diagnosis.outcomes, words), notes=[])
    yield Text("\n".join([_first_advice(diagnosis, words), *careful(_cautions(diagnosis, best, words), look)]))


def worst(diagnosis: Diagnosis) -> tuple[str, int] | None:
    """The stage that loses most questions of the best system, or of answers alone what becomes of most that fail."""
    if diagnosis.is_of_answers_alone:
        return worst_outcome(diagnosis.outcomes[0])
    return worst_stage(best_funnel(diagnosis))


def best_funnel(diagnosis: Diagnosis) -> Funnel:
    """The funnel of the system with the best mean by the measure of gains, the first of equal ones."""
    j = list(diagnosis.ceilings.measures).index(diagnosis.measure)
    return diagnosis.funnels[int(np.argmax(np.nan_to_num(diagnosis.ceilings.reached[:, j], nan=-np.inf)))]


def _reached_sheet(diagnosis: Diagnosis, words: Words) -> Sheet:
    """The stages that any question ended at, without notes."""
    sheet = funnel_sheet(diagnosis, words)
    return replace(sheet, rows=[row for row in sheet.rows if {*row[1:]} - {"0", "–"}], notes=[])


def _first_advice(diagnosis: Diagnosis, words: Words) -> str:
    """The first pattern, with what to try and what that could win, but without the numbers that show it."""
    if not diagnosis.advice:
        return words("diagnose.no_advice")
    first, text = diagnosis.advice[0], advice_text(diagnosis.advice[0], words)
    gain = words("diagnose.between").join([text.action, text.gain]).rstrip()
    answer = words("page.summary.first", systems=words.listed(list(first.systems)), title=text.title, gain=gain)
    return words("brief.answered", question=words("page.summary.advice"), answer=visible(answer))


def _cautions(diagnosis: Diagnosis, best: str, words: Words) -> Iterator[str]:
    """Cautions about the numbers of the stages, the gravest first."""
    yield from mistakes(diagnosis, best, words)
    yield from _untold_notes(diagnosis, words)
    yield from dangers(diagnosis.judges, words, n_systems=len(diagnosis.outcomes))
    yield from _depth_notes(diagnosis, words)


def diagnosis_data(diagnosis: Diagnosis, words: Words, *, stages: Sequence[str] = ()) -> dict[str, Any]:
    """All of it, whatever stages are shown; `text` of advice in the words' language."""
    return {
        "signature": str(diagnosis.signature),
        "k": diagnosis.k,
        "measure": diagnosis.measure,
        "coverage": diagnosis.coverage,
        "systems": {funnel.system: _funnel(funnel) for funnel in diagnosis.funnels},
        "by_tag": {
            tag: {funnel.system: funnel.counts() for funnel in funnels} for tag, funnels in diagnosis.by_tag.items()
        },
        **_outcomes(diagnosis),
        "ceilings": _ceilings(diagnosis.ceilings),
        "captured": [asdict(row) for row in diagnosis.captured],
        "curves": _curves(diagnosis.curves),
        "advice": [{**asdict(advice), "text": asdict(advice_text(advice, words))} for advice in diagnosis.advice],
        "recipe": dict(diagnosis.recipe),
    }


def _funnel(funnel: Funnel) -> dict[str, Any]:
    return {
        "depth": funnel.depth, "corpus_known": funnel.corpus_known, "reranked": funnel.reranked,
        "stages": list(funnel.stages), "questions": funnel.counts(), "gold": funnel.n_at_stage,
        "untold": funnel.n_untold, "split": None if funnel.split is None else int(funnel.split.sum()),
        "lists": {stage: ids for stage, ids in funnel.lists().items() if stage not in NOT_LOST},
    }  # fmt: skip


def _outcomes(diagnosis: Diagnosis) -> dict[str, Any]:
    """Outcomes of the questions, of systems with verdicts; nothing without any."""
    if not diagnosis.outcomes:
        return {}
    return {
        "criteria": asdict(diagnosis.outcomes[0].criteria),
        "outcomes": {of_system.system: _outcomes_of(of_system) for of_system in diagnosis.outcomes},
        "outcomes_by_tag": {
            tag: {of_system.system: of_system.counts() for of_system in outcomes}
            for tag, outcomes in diagnosis.outcomes_by_tag.items()
        },
    }


def _outcomes_of(outcomes: AnswerOutcomes) -> dict[str, Any]:
    intervals, n = outcomes.share_intervals(), outcomes.n_queries
    ends = zip(intervals.low.tolist(), intervals.high.tolist(), strict=True)
    return {
        "questions": outcomes.counts(),
        "shares": {
            code: {"share": count / n if n else None, "low": low, "high": high}
            for (code, count), (low, high) in zip(outcomes.counts().items(), ends, strict=True)
        },
        "lists": {code: ids for code in outcomes.counts() if (ids := outcomes.at(code)) and code != "works"},
        "faithfulness_by_gold": asdict(outcomes.faithfulness_by_gold),
        "abstention": [
            {**asdict(by), "precision": by.precision, "recall": by.recall, "f1": by.f1} for by in outcomes.abstention
        ],
    }


def _ceilings(ceilings: Ceilings) -> dict[str, Any]:
    systems = {
        system: {
            measure: {
                "before_reranking": ceilings.base[i, j],
                "reached": ceilings.reached[i, j],
                "perfect": dict(zip(map(str, ceilings.ns), ceilings.perfect[i, j].tolist(), strict=True)),
            }
            for j, measure in enumerate(ceilings.measures)
        }
        for i, system in enumerate(ceilings.systems)
    }
    deeper = {
        system: {
            name: dict(zip(map(str, ceilings.deeper_ks), ceilings.deeper[i, a].tolist(), strict=True))
            for a, name in enumerate(ceilings.deeper_names)
        }
        for i, system in enumerate(ceilings.systems)
    }
    return {"systems": systems, "deeper": deeper, "pairs": [asdict(pair) for pair in ceilings.pairs]}


def _curves(curves: Curves) -> dict[str, Any]:
    return {
        system: {
            f"{name}@{k}": {"mean": curves.values[i, n, j], "low": curves.low[i, n, j], "high": curves.high[i, n, j]}
            for n, name in enumerate(curves.names)
            for j, k in enumerate(curves.ks)
            if not np.isnan(curves.values[i, n, j])
        }
        for i, system in enumerate(curves.systems)
    }


def diagnosis_picture(diagnosis: Diagnosis, words: Words) -> Shares:
    """Where questions are lost, a bar a system; of answers alone, what became of the questions."""
    rows: Sequence[AnswerOutcomes | Funnel] = diagnosis.funnels
    area, colours, name = "funnel", STAGE_COLOURS, stage_name
    if diagnosis.is_of_answers_alone:
        rows, area, colours, name = diagnosis.outcomes, "outcomes", OUTCOME_COLOURS, outcome_name
    counts = {row.system: row.counts() for row in rows}
    bars = [
        (system, [Part(name(code, words), of[code], *colours[code]) for code in colours if code in of])
        for system, of in counts.items()
    ]
    return shares(words(f"charts.{area}.title"), bars, words)


VIEWS = {
    Diagnosis: View[Diagnosis](
        "a diagnosis", blocks=_blocks, brief=_brief, data=diagnosis_data, options=("stages",), has_parts=True,
        picture=diagnosis_picture,
    )
}  # fmt: skip
