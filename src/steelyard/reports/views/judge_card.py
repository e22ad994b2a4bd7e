"""The judge card: who judged the answers, by what, what it took, and what was not judged."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, get_args

from steelyard.experiment.corrections import Correction, Corrections
from steelyard.judges.people.calibration import calibration_notes
from steelyard.judges.verdict import Label, Problem, State
from steelyard.reports.details.details import Judging
from steelyard.reports.details.limits import shortened
from steelyard.reports.views.notes import notes_of_systems
from steelyard.reports.views.sheet import Sheet
from steelyard.reports.words import Words

_LONGEST = 200
_DIGEST = 12
"""Letters of a digest that are enough to tell prompts apart."""
_SHOWN_APART = ("name", "version", "model", "base_url", "prompts", "threshold")
"""Of the judge's recipe; what else it holds are parameters."""
_CALIBRATION = {
    "judge_uncalibrated": "judge_card.uncalibrated",
    "judge_checked": "judge_card.uncalibrated",
    "judge_calibrated": "judge_card.calibrated",
    "judge_calibrated_without_interval": "judge_card.calibrated_without_interval",
}
"""What a note on a threshold is in the card."""
_CARD_NOTES = ("judge_agreement", "judge_checked", "judge_fails_self_tests")
_CALLS = ("calls", "attempts", "retries", "failed", "cached", "repeated", "tokens_in", "tokens_out", "cost_usd",
          "unmetered")  # fmt: skip


def judge_card(judging: Mapping[str, Judging], words: Words, corrections: Corrections | None = None) -> Sheet:
    """A row a fact, a column a system; facts that no system has are left out.

    corrections   of means by labels of people, by system and measure
    """
    facts = [_facts(own, (corrections or {}).get(system, {}), words) for system, own in judging.items()]
    rows = [
        [words(f"judge_card.fact.{name}"), *(of_system[name] or "–" for of_system in facts)]
        for name in (facts[0] if facts else ())
        if any(of_system[name] for of_system in facts)
    ]
    uncalibrated = any(
        own.recipe["judge"].get("threshold") is not None and own.recipe.get("calibration") is None
        for own in judging.values()
    )
    notes = [words("judge_card.note.uncalibrated")] if uncalibrated else []
    notes += notes_of_systems(
        {
            system: [note for note in calibration_notes(own.recipe) if note.code in _CARD_NOTES]
            for system, own in judging.items()
        },
        words,
        n_systems=len(judging),
    )
    return Sheet([words("judge_card.head.fact"), *judging], rows, notes=notes)


def _facts(judging: Judging, corrections: Mapping[str, Correction], words: Words) -> dict[str, str]:
    """Facts of the card, in their order; empty where there is nothing to say."""
    recipe, judge, listed = judging.recipe, judging.recipe["judge"], words("list.comma").join
    prompts, calls, units = judge.get("prompts"), recipe.get("calls"), str(recipe.get("units") or "")
    digests = prompts.items() if isinstance(prompts, Mapping) else ()

    def counted(counts: Mapping[str, Any], names: Iterable[str]) -> str:
        numbers = {name: n for name in names if isinstance(n := counts.get(name), int | float) and n}
        return listed(
            f"{words(f'judge_card.count.{name}')} {f'{n:,}' if isinstance(n, int) else f'{n:.4g}'}"
            for name, n in numbers.items()
        )

    def causes(counts: Mapping[str, int]) -> str:
        return listed(f"{name} {n:,}" for name, n in counts.items() if n)

    facts = {
        "judge": " ".join(str(judge[key]) for key in ("name", "version") if key in judge),
        "model": " · ".join(str(judge[key]) for key in ("model", "base_url") if judge.get(key)),
        "prompts": listed(f"{name} {str(digest).removeprefix('sha256:')[:_DIGEST]}" for name, digest in digests),
        "threshold": _threshold(recipe, words),
        "parameters": listed(f"{key} = {value}" for key, value in judge.items() if key not in _SHOWN_APART),
        "units": words(f"judge_card.units.{units}") if f"judge_card.units.{units}" in words else units,
        "date": str(recipe.get("date") or ""),
        "calls": counted(calls, _CALLS) if isinstance(calls, Mapping) else "",
        "answers": counted(judging.counts, (*get_args(State), "without_context")),
        "sentences": counted(judging.counts, (*get_args(Label), "no_claim")),
        "not_judged": causes(judging.not_judged),
        "citations": counted(judging.counts, ("citations", *get_args(Problem))),
        "errors": causes(judging.errors),
    }
    # By how many labels each mean is corrected.
    labels = listed(f"{measure} {own.mean.n_labels:,}" for measure, own in corrections.items())
    return {**{name: shortened(text, _LONGEST) for name, text in facts.items()}, "labels": labels}


def _threshold(recipe: Mapping[str, Any], words: Words) -> str:
    threshold = recipe["judge"].get("threshold")
    if threshold is None:
        return ""
    note = next(calibration_notes(recipe), None)
    text = str(recipe.get("calibration")) if note is None else words(_CALIBRATION[note.code], **note.values)
    return words("judge_card.threshold", threshold=f"{threshold:g}", calibration=text)
