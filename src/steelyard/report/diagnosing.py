"""A diagnosis in words: where the gold was lost, what could be reached, and what to try."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from steelyard.diagnosis.advice import MIN_GROUP, RERANKED, Advice
from steelyard.diagnosis.diagnosing import Diagnosis
from steelyard.diagnosis.funnel import NOT_LOST, STAGES, Funnel
from steelyard.report.section import Paragraph, Section
from steelyard.report.sheet import Sheet
from steelyard.report.visible import visible
from steelyard.report.words import Words

_SHARES = {"share", "share_others", "shown", "wished"}
_SIGNED = {"ndcg", "recall"}
_PAIRS = 5


@dataclass(frozen=True)
class AdviceText:
    """A piece of advice in words.

    title      the pattern;   evidence   what it was seen in;   action   what to try;   gain   what could be won
    """

    title: str
    evidence: str
    action: str
    gain: str


def stage_name(code: str, lang: Words) -> str:
    """What a stage of the funnel is called."""
    return lang(f"diagnose.stage.{code}")


def advice_text(advice: Advice, lang: Words) -> AdviceText:
    """A piece of advice in words; each is one paragraph."""
    values = {name: _value(name, value) for name, value in advice.numbers.items()} | {"measure": advice.measure}
    values["n"] = advice.numbers["n"]
    name = advice.numbers.get("name")
    if advice.code in ("cluster_language", "cluster_long"):
        values |= {"language": lang(f"advice.language.{name}"), "unit": lang(f"advice.unit_{name}")}
    key = f"advice.{advice.code}"
    # More results instead of a reranker are only worth a word where they are known to help.
    more = advice.numbers.get("recall_more")
    helps = isinstance(more, float) and more - float(str(advice.numbers["recall_k"])) >= 0.01
    reranker_alone = advice.code == "not_ranked" and not helps
    action = f"{key}.action_reranker" if reranker_alone else f"{key}.action"
    evidence = lang(f"{key}.evidence", **values)
    if advice.numbers.get("below"):
        evidence = lang("diagnose.between").join([evidence, lang("advice.below", **values)])
    if untold := advice.numbers.get("untold"):
        evidence = lang("diagnose.between").join([evidence, lang(f"diagnose.note.{untold}")])
    return AdviceText(
        lang(f"{key}.title", **values), evidence, lang(action, **values), gain_text(advice, lang)
    )  # fmt: skip


def gain_text(advice: Advice, lang: Words) -> str:
    """How much could be won, as a sentence."""
    if advice.measure == "answers":
        return lang("advice.gain_answers", gain=_share(advice.gain))
    return lang("advice.gain", gain=f"{advice.gain:.3f}", measure=advice.measure)


def _value(name: str, value: object) -> object:
    if not isinstance(value, float):
        return value
    if name in _SHARES:
        return _share(value)
    if name == "p":
        return "<0.001" if value < 0.001 else f"{value:.3f}"
    return f"{value:+.3f}" if name in _SIGNED else f"{value:.3f}"


def _number(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.3f}"


def _share(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.0%}"


def funnel_sheet(diagnosis: Diagnosis, lang: Words) -> Sheet:
    """A row a stage, a column a system: how many questions, and their share."""
    funnels = diagnosis.funnels
    rows = []
    for stage in stages_of(funnels):
        cells = [_count(one.counts()[stage], one.n_queries) if stage in one.stages else "–" for one in funnels]
        rows.append([stage_name(stage, lang), *cells])
    rows.append([lang("diagnose.head.total"), *(str(one.n_queries) for one in funnels)])
    header = [lang("diagnose.head.stage"), *(one.system for one in funnels)]
    return Sheet(header, rows, notes=list(_funnel_notes(diagnosis, lang)))


def stages_of(funnels: Sequence[Funnel]) -> list[str]:
    """Stages that some system has questions at, and those that all know and lost nothing at, in order."""
    seldom = {"failed", "missing", "no_gold"}
    return [
        stage
        for stage in STAGES
        if any(one.counts()[stage] for one in funnels)
        or (stage not in seldom and any(stage in one.stages for one in funnels))
    ]


def _count(n: int, total: int) -> str:
    return f"{n} ({_share(n / total)})" if n else "0"


def _funnel_notes(diagnosis: Diagnosis, lang: Words) -> Iterator[str]:
    funnels, k = diagnosis.funnels, diagnosis.k
    yield lang("diagnose.note.funnel", k=k)
    depths: dict[int, list[str]] = {}
    for one in funnels:
        depths.setdefault(one.depth, []).append(one.system)
    for depth, systems in sorted(depths.items()):
        if len(depths) == 1:
            yield lang("diagnose.note.depth", depth=depth)
        else:
            yield lang("diagnose.note.depth_of", systems=lang.listed(systems), depth=depth)
    if unknown := [one for one in funnels if one.n_untold]:
        yield lang("diagnose.note.untold" if unknown[0].by_evidence else "diagnose.note.untold_ids")
    if any(one.counts()["unused"] for one in funnels):
        yield lang("diagnose.note.unused", k=k)
    for one in funnels if len(funnels) <= _PAIRS else ():
        found, total = one.n_at_stage["found"], int(one.n_gold.sum())
        if total > one.n_winnable:
            pieces = "diagnose.note.pieces" if one.by_evidence else "diagnose.note.documents"
            yield lang(pieces, system=one.system, found=found, total=total, k=k)
        if one.split is not None and one.split.any():
            yield lang("diagnose.note.split", system=one.system, n=int(one.split.sum()))


def tag_sheet(diagnosis: Diagnosis, lang: Words) -> Sheet | None:
    """The same by tag, a row each: the stages of one system, or what each of several systems found.

    None where no tag has MIN_GROUP questions; smaller tags are left out, and counted.
    """
    by_tag = {tag: each for tag, each in diagnosis.by_tag.items() if each[0].n_winnable >= MIN_GROUP}
    if not by_tag:
        return None
    one = diagnosis.funnels[0]
    if len(diagnosis.funnels) == 1:
        stages = [stage for stage, n in one.counts().items() if n]
        columns = [stage_name(stage, lang) for stage in stages]
        rows = [[tag, *(str(each[0].counts()[stage]) for stage in stages)] for tag, each in by_tag.items()]
    else:
        columns = [each.system for each in diagnosis.funnels]
        rows = [[tag, *(_count(each.counts()["found"] + each.counts()["unused"], each.n_winnable) for each in of_tag)]
                for tag, of_tag in by_tag.items()]  # fmt: skip
    header = [lang("diagnose.head.tag"), lang("diagnose.head.total"), *columns]
    rows = [[row[0], str(by_tag[row[0]][0].n_winnable), *row[1:]] for row in rows]
    small = len(diagnosis.by_tag) - len(by_tag)
    notes = [lang("diagnose.note.found_by_tag", k=diagnosis.k)] if len(diagnosis.funnels) > 1 else []
    notes += [lang("diagnose.note.small_tags", n=small, least=MIN_GROUP)] if small else []
    return Sheet(header, rows, notes=notes)


def ceilings_sheet(diagnosis: Diagnosis, lang: Words, *, measure: str | None = None) -> Sheet:
    """A row a system: a measure as it is, with perfect orders of the first N, and what a reranker captured of that."""
    found = diagnosis.ceilings
    measure = diagnosis.measure if measure is None else measure
    j = list(found.measures).index(measure)
    known = [place for place in range(len(found.ns)) if not np.isnan(found.perfect[:, j, place]).all()]
    captured = {(row.system, row.n): row.share for row in diagnosis.captured if row.measure == measure}
    told = [found.ns[place] for place in known]
    last = max((n for n in told if n <= RERANKED), default=min(told, default=0))
    header = [measure, *([lang("diagnose.head.base")] if captured else []), lang("diagnose.head.reached")]
    header += [lang("diagnose.head.perfect", n=found.ns[place]) for place in known]
    header += [lang("diagnose.head.captured", n=last)] if captured else []
    rows = []
    for i, system in enumerate(found.systems):
        reranked = any(name == system for name, _ in captured)
        row = [system, *([_number(found.base[i, j]) if reranked else "–"] if captured else [])]
        row += [_number(found.reached[i, j]), *(_number(found.perfect[i, j, place]) for place in known)]
        rows.append(row + ([_share(captured.get((system, last), math.nan))] if captured else []))
    notes = list(_ceiling_notes(rows, bool(captured), known, lang))
    if known and measure.startswith("recall") and any(one.by_evidence for one in diagnosis.funnels):
        notes.append(lang("diagnose.note.bound"))
    return Sheet(header, rows, notes=notes)


def _ceiling_notes(rows: list[list[str]], captured: bool, known: list[int], lang: Words) -> Iterator[str]:
    if known:
        yield lang("diagnose.note.perfect")
    if captured:
        yield lang("diagnose.note.captured")
    if not known or any(cell == "–" for row in rows for cell in row[-len(known) - captured :]):
        yield lang("diagnose.note.unknown")


def deeper_sheet(diagnosis: Diagnosis, lang: Words) -> Sheet | None:
    """Recall and hit rate with more results than k; None where no list is that deep."""
    found, k = diagnosis.ceilings, diagnosis.k
    known = [place for place in range(len(found.deeper_ks)) if not np.isnan(found.deeper[:, :, place]).all()]
    if not known:
        return None
    header, rows = [lang("diagnose.head.system")], [[system] for system in found.systems]
    for a, name in enumerate(found.deeper_names):
        header += [f"{name}@{k}", *(f"@{found.deeper_ks[place]}" for place in known)]
        for i, row in enumerate(rows):
            row += [_number(diagnosis.curves.at(i, name, k)), *(_number(found.deeper[i, a, place]) for place in known)]
    return Sheet(header, rows, notes=[lang("diagnose.note.deeper", k=k)])


def pairs_sheet(diagnosis: Diagnosis, lang: Words) -> Sheet | None:
    """The pairs of systems that complete each other best; None for one system."""
    pairs = [pair for pair in diagnosis.ceilings.pairs if pair.measure == diagnosis.measure]
    if not pairs:
        return None
    best = sorted(pairs, key=lambda pair: (-pair.mean, pair.first, pair.second))[:_PAIRS]
    names = ("pair_mean", "pair_gain", "first_only", "second_only")
    rows = [[f"{pair.first} + {pair.second}", _number(pair.mean), f"{pair.gain:+.3f}", str(pair.first_only),
             str(pair.second_only)] for pair in best]  # fmt: skip
    header = [diagnosis.measure, *(lang(f"diagnose.head.{name}") for name in names)]
    return Sheet(header, rows, notes=[lang("diagnose.note.pairs")])


def as_json(diagnosis: Diagnosis, lang: Words) -> str:
    """Everything, numbers in full precision, null where there is none; advice in words too."""
    made: dict[str, Any] = {
        "k": diagnosis.k,
        "measure": diagnosis.measure,
        "systems": {one.system: _funnel_json(one) for one in diagnosis.funnels},
        "by_tag": {
            tag: {one.system: one.counts() for one in of_tag} for tag, of_tag in diagnosis.by_tag.items()
        },
        "ceilings": _ceilings_json(diagnosis),
        "captured": [asdict(row) for row in diagnosis.captured],
        "curves": _curves_json(diagnosis),
        "advice": [_advice_json(advice, lang) for advice in diagnosis.advice],
        "recipe": dict(diagnosis.recipe),
    }  # fmt: skip
    return json.dumps(_plain(made), ensure_ascii=False, indent=2, allow_nan=False) + "\n"


def _funnel_json(one: Funnel) -> dict[str, Any]:
    return {
        "depth": one.depth, "corpus_known": one.corpus_known, "reranked": one.reranked, "stages": list(one.stages),
        "questions": one.counts(), "gold": one.n_at_stage, "untold": one.n_untold,
        "split": None if one.split is None else int(one.split.sum()),
        "lists": {stage: ids for stage, ids in one.lists().items() if stage not in NOT_LOST},
    }  # fmt: skip


def _ceilings_json(diagnosis: Diagnosis) -> dict[str, Any]:
    found = diagnosis.ceilings
    each = {
        system: {
            measure: {
                "before_reranking": found.base[i, j], "reached": found.reached[i, j],
                "perfect": dict(zip(map(str, found.ns), found.perfect[i, j].tolist(), strict=True)),
            }
            for j, measure in enumerate(found.measures)
        }
        for i, system in enumerate(found.systems)
    }  # fmt: skip
    deeper = {
        system: {
            name: dict(zip(map(str, found.deeper_ks), found.deeper[i, a].tolist(), strict=True))
            for a, name in enumerate(found.deeper_names)
        }
        for i, system in enumerate(found.systems)
    }
    return {"systems": each, "deeper": deeper, "pairs": [asdict(pair) for pair in found.pairs]}


def _curves_json(diagnosis: Diagnosis) -> dict[str, Any]:
    drawn = diagnosis.curves
    return {
        system: {
            f"{name}@{k}": {"mean": drawn.values[i, n, j], "low": drawn.low[i, n, j], "high": drawn.high[i, n, j]}
            for n, name in enumerate(drawn.names)
            for j, k in enumerate(drawn.ks)
            if not np.isnan(drawn.values[i, n, j])
        }
        for i, system in enumerate(drawn.systems)
    }


def _advice_json(advice: Advice, lang: Words) -> dict[str, Any]:
    return {**asdict(advice), "text": asdict(advice_text(advice, lang))}


def _plain(value: Any) -> Any:
    """Numbers that JSON has: null for what is no number."""
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, float | np.floating):
        return float(value) if math.isfinite(value) else None
    return value


def paragraphs(diagnosis: Diagnosis, lang: Words, *, limit: int = 6) -> Iterator[Paragraph]:
    """What to try, in the order of the diagnosis, and how much is left unsaid."""
    said: set[str] = set()
    for place, advice in enumerate(diagnosis.advice[:limit], 1):
        text = advice_text(advice, lang)
        # What to do is not said twice.
        parts = [text.evidence, *([] if advice.code in said else [text.action]), text.gain]
        parts += [lang("diagnose.questions", ids=lang.listed(list(advice.query_ids)))] if advice.query_ids else []
        said.add(advice.code)
        title = lang("diagnose.numbered", place=place, title=text.title)
        yield Paragraph(lang("diagnose.between").join(parts), title)
    if not diagnosis.advice:
        yield Paragraph(lang("diagnose.no_advice"))
    if len(diagnosis.advice) > limit:
        yield Paragraph(lang("diagnose.more_advice", n=len(diagnosis.advice) - limit))


def sections(diagnosis: Diagnosis, lang: Words) -> Iterator[Section]:
    """Where the gold was lost, by tag too; what could be reached, by pairs too; what to try."""
    yield Section("funnel", lang("diagnose.funnel"), sheets=[funnel_sheet(diagnosis, lang)])
    if tagged := tag_sheet(diagnosis, lang):
        yield Section("by_tag", lang("diagnose.by_tag"), sheets=[tagged])
    deeper, pairs = deeper_sheet(diagnosis, lang), pairs_sheet(diagnosis, lang)
    ceilings = [ceilings_sheet(diagnosis, lang), *([deeper] if deeper else [])]
    yield Section("ceilings", lang("diagnose.ceilings"), sheets=ceilings)
    if pairs is not None:
        yield Section("pairs", lang("diagnose.pairs"), sheets=[pairs])
    yield Section("advice", lang("diagnose.advice"), list(paragraphs(diagnosis, lang)))


def listed(diagnosis: Diagnosis, stages: Sequence[str], lang: Words) -> str:
    """Ids of the questions at some stages, a line for each system and stage."""
    lines = []
    for one in diagnosis.funnels:
        for stage in stages:
            ids = lang("list.comma").join(one.at(stage)) or lang("diagnose.none")
            lines.append(visible(lang("diagnose.listed", system=one.system, stage=stage_name(stage, lang), ids=ids)))
    return "\n".join(lines) + "\n"
