"""A diagnosis as data: everything in full precision, advice in words too; and how it is written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from steelyard.diagnosis.ceilings import Ceilings, Curves
from steelyard.diagnosis.diagnosing import Diagnosis
from steelyard.diagnosis.funnel import NOT_LOST, Funnel
from steelyard.diagnosis.outcomes import AnswerOutcomes
from steelyard.reports.views.diagnosis import advice_text, diagnosis_sections, stage_lists
from steelyard.reports.views.view import Block, Look, Text, View
from steelyard.reports.words import Words


def _blocks(diagnosis: Diagnosis, look: Look, *, stages: Sequence[str] = ()) -> Iterable[Block]:
    """Its sections, or the questions at some stages."""
    if stages:
        return [Text(stage_lists(diagnosis, stages, look.words).removesuffix("\n"), "laid out")]
    return diagnosis_sections(diagnosis, look.words)


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


VIEWS = {
    Diagnosis: View[Diagnosis]("a diagnosis", blocks=_blocks, data=diagnosis_data, options=("stages",), has_parts=True)
}
