"""Scores of several runs of the same systems as one: values are means over the runs, question by question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from steelyard.base.arrays import Floats
from steelyard.base.errors import InputError
from steelyard.base.notes import Note
from steelyard.experiment.table.arrays import ScoreArrays
from steelyard.experiment.table.recipes import check_same_judge
from steelyard.experiment.table.scores import Scores
from steelyard.experiment.table.union import merged_recipe


def repeated(parts: Sequence[Scores]) -> Scores:
    """The scores of several runs as evaluating these together gives them, as `Repeats`.

    parts     scores of the same systems over the same questions, a part for each run; those of several runs already
              count with all of these.  Only measures that all parts have are there
    Returns   values that are means over all runs, with `repeats` and `components`; the one part where there is one.
              Labels of people do not correct such means, as they are of one run
    Raises    InputError for no part, other systems, other questions or questions that are missing from some runs, other
              truths, policies or judges, and where no measure is in all parts

    >>> from steelyard.experiment.door.evaluation import evaluate
    >>> runs = [{"q1": ["a"], "q2": ["b"]}, {"q1": ["b", "a"], "q2": ["b"]}]
    >>> both = repeated([evaluate({"q1": {"a": 1}, "q2": {"b": 1}}, {"rag": run}, "mrr") for run in runs])
    >>> both.values[0, 0].tolist(), both.repeats["rag"].shape
    ([0.75, 1.0], (2, 1, 2))
    """
    if not parts:
        raise InputError("there are no scores to put together; pass one or several")
    if len(parts) == 1:
        return parts[0]
    alike = _alike(parts)
    first, n_runs = alike[0], [_n_runs(part) for part in alike]
    runs = [_runs_of(alike, i) for i in range(len(first.systems))]
    values = np.stack([own.mean(axis=0) for own in runs])
    return Scores(
        first.systems, first.query_ids, first.measures, values, missing=first.missing, no_relevant=first.no_relevant,
        failed=np.any([part.failed for part in alike], axis=0),
        unwinnable=np.any([part.unwinnable for part in alike], axis=0),
        judged=np.average([part.judged for part in alike], axis=0, weights=n_runs),
        unjudged_queries=first.unjudged_queries, gold=first.gold, recipe_parts=_recipe(alike), perfect=first.perfect,
        clustering=first.clustering, causes=_causes(alike), notes=_notes(alike, sum(n_runs)),
        repeats={
            system: np.where(np.isnan(own_values), np.nan, own)
            for system, own_values, own in zip(first.systems, values, runs, strict=True)
        },
    )  # fmt: skip


def _alike(parts: Sequence[Scores]) -> list[Scores]:
    """The parts with the measures that all have, and the systems and questions in one order."""
    first = parts[0]
    check_same_judge(parts)
    for number, part in enumerate(parts[1:], 2):
        if others := sorted({*first.systems} ^ {*part.systems}):
            raise InputError(f"run {number} is of other systems than the first, such as {others[0]!r}: no repeat of it")
        if others := sorted({*first.query_ids} ^ {*part.query_ids}):
            raise InputError(
                f"run {number} is of other questions than the first, such as {others[0]!r}: no repeat of it"
            )
        truths = [of.signature.truth for of in (first, part)]
        if truths[0] != truths[1]:
            raise InputError(
                f"run {number} is of another truth than the first ({truths[1]}, {truths[0]}): no repeat of it"
            )
    names = [str(measure) for measure in first.measures if all(measure in part.measures for part in parts)]
    if not names:
        raise InputError(f"no measure is in all {len(parts)} runs; the first has {', '.join(map(str, first.measures))}")
    ids = first.query_ids if any(list(part.query_ids) != list(first.query_ids) for part in parts) else None
    alike = [part.filter(systems=first.systems, measures=names, query_ids=ids) for part in parts]
    for number, part in enumerate(alike[1:], 2):
        if (differs := np.argwhere(alike[0].missing != part.missing)).size:
            i, q = differs[0].tolist()
            raise InputError(
                f"{first.systems[i]}: its runs cover different questions, such as {first.query_ids[q]!r}, which the "
                f"first or number {number} lacks; give runs over the same questions"
            )
    return alike


def _n_runs(part: ScoreArrays) -> int:
    return max((len(own) for own in part.repeats.values()), default=1)


def _runs_of(parts: Sequence[ScoreArrays], i: int) -> Floats:
    """(r, m, q) values of a system in each of its runs."""
    system = parts[0].systems[i]
    return np.concatenate([part.repeats.get(system, part.values[i][None]) for part in parts])


def _causes(parts: Sequence[ScoreArrays]) -> Any:
    """(s, m, q) why there is no value: of the first run that has a cause."""
    causes = None
    for part in parts:
        if part.causes is not None:
            causes = part.causes if causes is None else np.where(causes > 0, causes, part.causes)
    return causes


def _notes(parts: Sequence[ScoreArrays], n_runs: int) -> Mapping[str, Sequence[Note]]:
    """Of each system those of the first run that has some, and that labels are of one run where they corrected one."""
    notes = {
        system: list(next((own for part in parts if (own := part.notes.get(system))), ()))
        for system in parts[0].systems
    }
    for system in parts[0].systems:
        if any(system in part.corrections for part in parts):
            notes[system].append(Note("labels_of_runs", {"n": n_runs}))
    return {system: own for system, own in notes.items() if own}


def _recipe(parts: Sequence[ScoreArrays]) -> Mapping[str, Any]:
    """One recipe, with the digests and the ways of judging of all runs of a system."""
    recipe = dict(merged_recipe([part.recipe_parts for part in parts], alike=True))
    listed = [part.recipe_parts.get("runs", {}) for part in parts]

    def digests() -> dict[str, str]:
        of_parts = [own() if callable(own) else own for own in listed]
        return {
            system: ", ".join(of[system] for of in of_parts if system in of) for system in parts[0].systems
            if any(system in of for of in of_parts)
        }  # fmt: skip

    verdicts = [of for part in parts if (of := part.recipe_parts.get("verdicts"))]
    if "runs" in recipe:
        recipe["runs"] = digests
    if verdicts:
        recipe["verdicts"] = {
            system: [one for of in verdicts for one in of.get(system, ())] for system in parts[0].systems
        }
    return recipe
