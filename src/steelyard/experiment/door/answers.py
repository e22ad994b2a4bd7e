"""The answers of weighed systems, and what measures of answers make of the verdicts on them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from steelyard.base.arrays import Bools, Floats, Ints
from steelyard.base.errors import MeasureError
from steelyard.base.notes import Note
from steelyard.data.questions import Questions
from steelyard.experiment.corrections import SystemCorrections
from steelyard.experiment.door.choices import RunVerdicts, VerdictChoice, completed, judged_run, unjudged_run
from steelyard.experiment.door.weighed import Weighed
from steelyard.experiment.table.recipes import causes_of, reads_verdicts
from steelyard.measures import Measure
from steelyard.measures.judged_answers import Codes, JudgedAnswers

if TYPE_CHECKING:
    from steelyard.judges.people.review import Review
    from steelyard.judges.tables.verdicts import Verdicts


@dataclass(frozen=True, eq=False)
class Answers:
    """The answers of all runs of some systems, judged when a measure asks for verdicts.

    questions   every query of the gold, in the order of the values
    """

    weighed: Sequence[Weighed]
    questions: Questions
    choice: VerdictChoice

    @cached_property
    def judged(self) -> Sequence[RunVerdicts]:
        """(r,) verdicts on the answers of every run, system after system; judged now where there are none."""
        return [
            judged_run(run, self.questions, verdicts, self.choice)
            for system in self.weighed
            for run, verdicts in zip(system.runs, self.choice.of(system), strict=True)
        ]

    @cached_property
    def first_runs(self) -> Mapping[str, RunVerdicts]:
        """System -> the verdicts on the answers of its first run, of systems that answer; judged now as `judged` is.

        A run that is rankings alone is not read once more for answers, unless verdicts on them are handed in.
        Questions that verdicts lack, as these are of a part of them, are not judged.
        """
        runs = {}
        for n, system in enumerate(self.weighed):
            verdicts = self.choice.of(system)[0]
            has_outputs = system.outputs is not None or system.folder is not None
            if verdicts is None and not (has_outputs and system.answered().answers):
                continue
            if "judged" in self.__dict__:
                runs[system.name] = self.judged[self._bounds[n][0]]
            else:
                run = judged_run(system, self.questions, verdicts, self.choice)
                runs[system.name] = completed(run, system, self.questions)
        return runs

    @cached_property
    def _at_hand(self) -> Sequence[RunVerdicts]:
        """(r,) the answers of every run as far as they are known without a judge."""
        return [unjudged_run(run, self.questions) for system in self.weighed for run in system.runs]

    def _runs(self, spec: Measure) -> Sequence[RunVerdicts]:
        """(r,) what a measure is computed from: no judge is asked for one that needs none."""
        return self.judged if reads_verdicts(spec) or "judged" in self.__dict__ else self._at_hand

    @cached_property
    def _bounds(self) -> Sequence[tuple[int, int]]:
        """(s,) the first run of each system, and the first one behind them."""
        return list(pairwise(np.cumsum([0, *(len(system.runs) for system in self.weighed)]).tolist()))

    def prepare(self, specs: Sequence[Measure]) -> None:
        """Judge the answers, where a measure needs that.

        Raises   MeasureError for a run without any answer, of which nothing says that it failed either; InputError for
                 verdicts that are none of the run.
        """
        for run in (run for system in self.weighed for run in system.runs):
            outputs = run.answered()
            if not (outputs.answers or outputs.unanswered or outputs.failures):
                raise MeasureError(
                    f"{run.name}: {specs[0]} is of answers, and the run has none; give outputs with `answer`, or the "
                    "run of a pipeline that generates"
                )
        if any(map(reads_verdicts, specs)):
            _ = self.judged

    def are_defined(self, spec: Measure) -> bool:
        """True if a measure is defined for some question of every run, as far as is known without a judge."""
        return all((spec.undefined_reasons(run.arrays) == 0).any() for run in self._at_hand)

    def values(self, spec: Measure) -> Floats:
        """(r, q) values of every run."""
        return np.stack([spec(run.arrays) for run in self._runs(spec)])

    def causes(self, specs: Sequence[Measure], of_runs: Floats) -> Codes | None:
        """(s, m, q) causes of each system by the first run that has one; None without any.

        of_runs   (r, m, q) values
        """
        causes = np.zeros(of_runs.shape, np.int8)
        for j, spec in enumerate(specs):
            if spec.definition.of_answers:
                runs = zip(self._runs(spec), of_runs[:, j], strict=True)
                causes[:, j] = [causes_of(spec, run.arrays, values) for run, values in runs]
        firsts = [(own, (own > 0).argmax(axis=0)[None]) for own in (causes[a:b] for a, b in self._bounds)]
        of_systems: Codes = np.stack([np.take_along_axis(own, run, axis=0)[0] for own, run in firsts])
        return of_systems if of_systems.any() else None

    def verdicts_of(self, system: str) -> Sequence[Verdicts]:
        """The verdicts on the answers of each run of a system; judged now where there are none."""
        place = [weighed.name for weighed in self.weighed].index(system)
        first, end = self._bounds[place]
        return [run.verdicts for run in self.judged[first:end]]

    def notes(self, place: int, specs: Sequence[Measure], values: Floats) -> list[Note]:
        """Who judged the answers of a system, and how far means could move by what was not judged.

        place   of the system;   values   (m, q) its own
        """
        first, end = self._bounds[place]
        notes = [
            note
            for spec, row in zip(specs, values, strict=True)
            if spec.definition.of_answers
            for note in bounds_notes(spec, [run.arrays for run in self._runs(spec)[first:end]], row)
        ]
        if any(map(reads_verdicts, specs)):
            notes += [note for run in self.judged[first:end] for note in run.notes()]
        return [note for n, note in enumerate(notes) if note not in notes[:n]]

    def corrections(
        self, place: int, specs: Sequence[Measure], review: Review, *, left_out: Bools, clusters: Ints | None,
        handed_in: bool,
    ) -> SystemCorrections:  # fmt: skip
        """The means of a system corrected by labels; of several runs they are not, as labels are of one.

        place   of the system;   the rest as of `correct`
        """
        from steelyard.experiment.door.correcting import correct

        first, end = self._bounds[place]
        if end - first > 1:
            return SystemCorrections({}, [Note("labels_of_runs", {"n": end - first})])
        return correct(
            specs, self.judged[first], review, system=self.weighed[place].name, left_out=left_out,
            clusters=clusters, handed_in=handed_in,
        )  # fmt: skip

    def recipes(self, specs: Iterable[Measure]) -> dict[str, list[dict[str, Any]]]:
        """System -> what the verdicts on each of its runs depend on; empty where no measure needs any."""
        if not any(map(reads_verdicts, specs)):
            return {}
        recipes = [dict(run.verdicts.recipe) for run in self.judged]
        return {system.name: recipes[a:b] for system, (a, b) in zip(self.weighed, self._bounds, strict=True)}


def bounds_notes(spec: Measure, runs: Sequence[JudgedAnswers], values: Floats) -> Iterator[Note]:
    """Distance by which a mean could move by verdicts that are not there.

    runs     of one system;   values   (q,) of the measure, which means over the runs are
    """
    if not any((np.isnan(values) & (spec.undefined_reasons(run) == 0)).any() for run in runs):
        return
    low, high = (np.mean(ends, axis=0) for ends in zip(*(spec.bounds(run) for run in runs), strict=True))
    unknown = np.isnan(values) & ~np.isnan(low)
    if unknown.any():
        counted = unknown | ~np.isnan(values)
        least, most = (spec.aggregation.of(np.where(unknown, end, values)[counted]) for end in (low, high))
        yield Note(
            "answers_not_judged",
            {
                "measure": str(spec),
                "n": int(unknown.sum()),
                "total": int(counted.sum()),
                "low": round(least, 4),
                "high": round(most, 4),
            },
        )
