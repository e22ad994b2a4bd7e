"""The judge card: who judged the answers, by what, what it took, and what was not judged."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, get_args

from steelyard.experiment.corrections import Correction, Corrections
from steelyard.experiment.lending import calibration_notes
from steelyard.judges.verdict import Label, Problem, State
from steelyard.report.details.details import Judging
from steelyard.report.details.limits import shortened
from steelyard.report.views.notes import notes_of_systems
from steelyard.report.views.sheet import Sheet
from steelyard.report.words import Words

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
_CALLS = (
    "calls",
    "attempts",
    "retries",
    "failed",
    "cached",
    "repeated",
    "tokens_in",
    "tokens_out",
    "cost_usd",
    "unmetered",
)


def judge_card(judging: Mapping[str, Judging], words: Words, corrections: Corrections | None = None) -> Sheet:
    """A row a fact, a column a system; facts that no system has are left out.

    corrections   of means by labels of people, by system and measure
    """
    rows = []
    for name, fact in _FACTS.items():
        cells = [shortened(fact(of_system, words), _LONGEST) for of_system in judging.values()]
        if any(cells):
            rows.append([words(f"judge_card.fact.{name}"), *(cell or "–" for cell in cells)])
    labels = [_labels((corrections or {}).get(system, {}), words) for system in judging]
    if any(labels):
        rows.append([words("judge_card.fact.labels"), *(cell or "–" for cell in labels)])
    notes = [words("judge_card.note.uncalibrated")] if any(map(_is_uncalibrated, judging.values())) else []
    notes += notes_of_systems(
        {system: [note for note in calibration_notes(own.recipe) if note.code in _CARD_NOTES]
         for system, own in judging.items()},
        words, n_systems=len(judging),
    )  # fmt: skip
    return Sheet([words("judge_card.head.fact"), *judging], rows, notes=notes)


def _labels(corrections: Mapping[str, Correction], words: Words) -> str:
    """By how many labels each mean is corrected."""
    return words("list.comma").join(f"{measure} {own.mean.n_labels:,}" for measure, own in corrections.items())


def _judge(judging: Judging, words: Words) -> str:
    judge = judging.recipe["judge"]
    version = f" {judge['version']}" if "version" in judge else ""
    return f"{judge['name']}{version}"


def _model(judging: Judging, words: Words) -> str:
    judge = judging.recipe["judge"]
    return " · ".join(str(judge[key]) for key in ("model", "base_url") if judge.get(key))


def _prompts(judging: Judging, words: Words) -> str:
    prompts = judging.recipe["judge"].get("prompts")
    if not isinstance(prompts, Mapping):
        return ""
    named = [f"{name} {str(digest).removeprefix('sha256:')[:_DIGEST]}" for name, digest in prompts.items()]
    return words("list.comma").join(named)


def _threshold(judging: Judging, words: Words) -> str:
    threshold = judging.recipe["judge"].get("threshold")
    if threshold is None:
        return ""
    calibration = judging.recipe.get("calibration")
    note = next(calibration_notes(judging.recipe), None)
    text = str(calibration) if note is None else words(_CALIBRATION[note.code], **note.values)
    return words("judge_card.threshold", threshold=f"{threshold:g}", calibration=text)


def _is_uncalibrated(judging: Judging) -> bool:
    return judging.recipe["judge"].get("threshold") is not None and judging.recipe.get("calibration") is None


def _parameters(judging: Judging, words: Words) -> str:
    judge = judging.recipe["judge"]
    return words("list.comma").join(f"{key} = {value}" for key, value in judge.items() if key not in _SHOWN_APART)


def _units(judging: Judging, words: Words) -> str:
    units = str(judging.recipe.get("units") or "")
    key = f"judge_card.units.{units}"
    return words(key) if key in words else units


def _date(judging: Judging, words: Words) -> str:
    return str(judging.recipe.get("date") or "")


def _calls(judging: Judging, words: Words) -> str:
    calls = judging.recipe.get("calls")
    return "" if not isinstance(calls, Mapping) else words("list.comma").join(_numbers(calls, _CALLS, words))


def _counted(names: tuple[str, ...]) -> Callable[[Judging, Words], str]:
    return lambda judging, words: words("list.comma").join(_numbers(judging.counts, names, words))


def _numbers(counts: Mapping[str, Any], names: tuple[str, ...], words: Words) -> Iterator[str]:
    for name in names:
        value = counts.get(name)
        if isinstance(value, int | float) and value:
            yield f"{words(f'judge_card.count.{name}')} {f'{value:,}' if isinstance(value, int) else f'{value:.4g}'}"


def _causes(counts: Callable[[Judging], Mapping[str, int]]) -> Callable[[Judging, Words], str]:
    return lambda judging, words: words("list.comma").join(f"{name} {n:,}" for name, n in counts(judging).items() if n)


_FACTS: dict[str, Callable[[Judging, Words], str]] = {
    "judge": _judge, "model": _model, "prompts": _prompts, "threshold": _threshold, "parameters": _parameters,
    "units": _units, "date": _date, "calls": _calls,
    "answers": _counted((*get_args(State), "without_context")),
    "sentences": _counted((*get_args(Label), "no_claim")),
    "not_judged": _causes(lambda judging: judging.not_judged),
    "citations": _counted(("citations", *get_args(Problem))),
    "errors": _causes(lambda judging: judging.errors),
}  # fmt: skip
"""Facts of the card, in their order, and what says them; empty where there is nothing to say."""
