"""The result: one value for each system, query and measure, with its means and intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Literal, Self, TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl

from steelyard.base.arrays import Bools, Floats, Ints
from steelyard.base.errors import InputError
from steelyard.base.notes import Note
from steelyard.base.result import Result
from steelyard.base.short_repr import plural
from steelyard.data.clusters import SharedGold
from steelyard.experiment.corrections import ReportedMeans, corrected_columns, reported_means, taken
from steelyard.experiment.table.arrays import (
    AXES,
    CAUSES,
    METHOD,
    NO_GOLD,
    NOT_JUDGED,
    SHARED_GOLD,
    ScoreArrays,
    computed,
    counted,
    percentiles,
    refuse_impossible,
    with_percentiles,
)
from steelyard.experiment.table.frame import arrays_of, frame_of, places_of, spec_names, statuses
from steelyard.experiment.table.parts import of_questions
from steelyard.experiment.table.recipes import Signature, signature_of
from steelyard.experiment.table.union import union
from steelyard.measures import Measure
from steelyard.measures.spec import measure_or_column
from steelyard.stats.intervals.means import Intervals, guarded_or_skewed_intervals
from steelyard.stats.intervals.percentiles import PercentileInterval
from steelyard.stats.samples import ROUNDING
from steelyard.stats.spread import variance_components

LEVEL = 0.95
COMPONENTS: dict[str, pl.DataType | type[pl.DataType]] = {
    "system": pl.String, "measure": pl.String, "n_runs": pl.Int64, "n": pl.Int64, "sd_questions": pl.Float64,
    "sd_runs": pl.Float64, "least": pl.Float64, "greatest": pl.Float64,
}  # fmt: skip
"""Columns of `Scores.components`."""

T = TypeVar("T")

_WEIGHING, _SOURCE, _HELD_OUT = "_weighing", "_source", "_held_out"
_NOT_KEPT = (_WEIGHING, _SOURCE, _HELD_OUT)
_OF_FRAME = 5
"""So many columns of the frame are those of `per_query`."""


@dataclass(frozen=True, eq=False, repr=False)
class Scores(ScoreArrays, Result):
    """One value for each system, question and measure: of rankings, answers, times, costs, clicks.

    It is a long frame (`frame`, `of`); the arrays that it has too (see ScoreArrays) are views of its columns, for
    kernels and statistics.
    """

    VIEW = "views.scores"

    def __getstate__(self) -> dict[str, Any]:
        """State that is pickled: the recipe's digests as they are now, without the inputs that they come from."""
        state = {name: value for name, value in self.__dict__.items() if name not in _NOT_KEPT}
        return {**state, "recipe_parts": computed(self.recipe_parts), "perfect": computed(self.perfect)}

    @property
    def weighing(self) -> Any:
        """The Weighing that these are all scores of; None for scores that were read, or that are a part of others."""
        return self.__dict__.get(_WEIGHING)

    @property
    def held_out(self) -> Scores | None:
        """The same systems and measures by the questions that were held out: for the reusable held-out part alone, as
        every look at them wears them out.  None where none were, for scores of some questions alone, and for those that
        were read.
        """
        part = getattr(self.source, "held_out", None)
        if part is None or len(self.source.query_ids) != len(self.query_ids):
            own: Scores | None = self.__dict__.get(_HELD_OUT)
            return own
        scores: Scores = part.scores(self.measures).filter(systems=self.systems)
        return scores

    def beside(self, held_out: Scores) -> Self:
        """The same, with the scores of the questions that were held out."""
        self.__dict__[_HELD_OUT] = held_out
        return self

    def of_weighing(self, weighing: Any) -> Self:
        """The same, with the Weighing that they come from."""
        self.__dict__[_WEIGHING] = weighing
        return self.from_source(weighing)

    @property
    def source(self) -> Any:
        """The Weighing that these, or scores that they are a part of, come from; None for scores that were read."""
        return self.__dict__.get(_SOURCE)

    def from_source(self, weighing: Any) -> Self:
        """The same, with the Weighing that they are some scores of."""
        self.__dict__[_SOURCE] = weighing
        return self

    def __repr__(self) -> str:
        axes = {"system": self.systems, "measure": self.measures, "question": self.query_ids}
        return f"Scores({' × '.join(plural(len(own), noun) for noun, own in axes.items())})"

    @classmethod
    def of(cls, data: object, *, system: str = "run", cluster: str | None = None) -> Scores:
        """Scores from a long frame of any library: query_id, measure, value, and what else `frame` has.

        Or from what ragas, deepeval, RAGChecker or MTRAG wrote, a path or rows: each number that they gave a question,
        as a measure that is called after them, such as `ragas_faithfulness`.

        A measure that is registered is that measure, in any spelling.  Any other name is a column of numbers, such as
        clicks or latency_ms: without a range, and better low where the name ends in _ms, _error, _loss or _usd or
        begins with cost_.

        data     a frame, of rows in any order, or a path or rows of these tools; value is a number, true or false, or
                 null where there is none
        system   of all rows, where the frame has no column for it
        cluster  the column that says which questions count as one for intervals and tests, such as a session
        Raises   InputError for columns that are not there, two values of one question, and values that are not numbers
                 or that their measure cannot have.

        >>> import polars as pl
        >>> clicks = pl.DataFrame({"query_id": ["q1", "q2"], "measure": "clicks", "value": [3, 1]})
        >>> Scores.of(clicks).mean().select("measure", "mean", "n").rows()
        [('clicks', 2.0, 2)]
        """
        scores = cls(**arrays_of(data, system=system, cluster=cluster))
        refuse_impossible(scores)
        return scores

    @classmethod
    def concat(cls, parts: Iterable[Scores], *, mixed_judges: bool = False) -> Scores:
        """All values of several Scores: of other systems, other measures, or other questions.

        What none of them has is not measured.  The order is that in which systems and measures come first.

        mixed_judges   put measures of answers together although these were judged in different ways
        Raises         InputError for a value that is there twice, and for policies and judges that differ.
        """
        return cls(**union(list(parts), mixed_judges=mixed_judges))

    def filter(
        self,
        *,
        systems: Sequence[str] | str | None = None,
        measures: Sequence[str | Measure] | str | Measure | None = None,
        query_ids: Sequence[str] | str | None = None,
    ) -> Scores:
        """Only some systems, measures and questions, in the order that they have here.

        A percentile of a measure that is here, such as latency_ms:p95, comes after all that are.
        Labels correct means of some of the questions where 20 at least are of these; else a note says how many are.
        Raises   InputError for one that is not here, with the nearest.
        """
        more = self if measures is None else self.with_percentiles(measures)
        if more is not self:
            return more.filter(systems=systems, measures=measures, query_ids=query_ids)
        rows = places_of(systems, self.systems, "system")
        columns = places_of(spec_names(measures), [str(measure) for measure in self.measures], "measure")
        ids = places_of(query_ids, self.query_ids, "question")
        places = {"s": rows, "m": columns, "q": ids}
        arrays = {
            name: own[np.ix_(*(places[axis] for axis in axes))]
            for name, axes in AXES.items()
            if (own := getattr(self, name)) is not None
        }
        names, specs = [self.systems[i] for i in rows], [self.measures[j] for j in columns]
        texts, pairs = [str(spec) for spec in specs], np.ix_(rows, ids)
        corrections, few = of_questions(taken(self.corrections, names, texts), self, np.asarray(ids, np.int64))
        parts = self.recipe_parts.items()
        return replace(
            self, systems=names, measures=specs, query_ids=[self.query_ids[k] for k in ids], **arrays,
            gold=[self.gold[i] for i in rows],
            clustering=None if self.clustering is None else self.clustering.take(ids),
            corrections=corrections,
            repeats={name: self.repeats[name][:, columns][:, :, ids] for name in names if name in self.repeats},
            notes={
                name: notes for name in names if (notes := [*self._notes_of(name, specs), *few.get(name, ())])
            },
            recipe_parts={
                **{key: part for key, part in parts
                   if key != "verdicts" and (query_ids is None or key != SHARED_GOLD)},
                **self._runs_of(names),
                **(self._verdicts_of(names) if self.of_answers[columns].any() else {}),
            },
            perfect={name: partial(_cells, self.perfect[name], pairs) for name in texts if name in self.perfect},
            ceilings={name: self.ceilings[name][pairs] for name in texts if name in self.ceilings},
        ).from_source(self.source)  # fmt: skip

    def renamed(self, names: Mapping[str, str]) -> Scores:
        """The same with other names of some systems.

        Raises   InputError for a name that two systems would have.
        """
        systems = [names.get(system, system) for system in self.systems]
        if len(set(systems)) < len(systems):
            raise InputError(f"two systems would be called {max(systems, key=systems.count)!r}; choose other names")

        def of(mapping: Mapping[str, T]) -> dict[str, T]:
            return {names.get(system, system): own for system, own in mapping.items()}

        runs, verdicts = (self.recipe_parts.get(key, {}) for key in ("runs", "verdicts"))
        by_system = {"runs": lambda: of(runs() if callable(runs) else runs), "verdicts": of(verdicts)}
        return replace(
            self, systems=systems, repeats=of(self.repeats), notes=of(self.notes), corrections=of(self.corrections),
            recipe_parts={key: by_system.get(key, part) for key, part in self.recipe_parts.items()},
        )  # fmt: skip

    def with_percentiles(self, measures: Iterable[str | Measure] | str | Measure) -> Scores:
        """The same scores, and those of some percentiles of their measures that they do not have yet.

        measures   such as "latency_ms:p95" or "ndcg@10:p10"; what is no percentile, or of no measure here, adds nothing

        >>> import polars as pl
        >>> times = pl.DataFrame({"query_id": ["q1", "q2", "q3"], "measure": "latency_ms", "value": [20, 90, 30]})
        >>> Scores.of(times).with_percentiles("latency_ms:p50").mean().select("measure", "mean").rows()[1]
        ('latency_ms:p50', 30.0)
        """
        listed = [measures] if isinstance(measures, str | Measure) else measures
        fields = with_percentiles(self, [measure_or_column(measure) for measure in listed])
        return replace(self, **fields).from_source(self.source) if fields else self

    def by_mean(self, measure: int = 0) -> list[int]:
        """Places of the systems, best mean first; of equal ones the one that was named first."""
        sign = 1 if self.measures[measure].definition.higher_is_better else -1
        means = sign * self.reported.ranked[:, measure]
        return sorted(range(len(means)), key=lambda i: (-np.nan_to_num(means[i], nan=-np.inf), i))

    def run_digest(self, system: str) -> str | None:
        """The fingerprint of a system's results, where it is known; systems with the same one gave the same lists."""
        runs = self.recipe_parts.get("runs", {})
        digests: dict[str, str] = runs() if callable(runs) else runs
        return digests.get(system)

    def _runs_of(self, systems: Sequence[str]) -> dict[str, Any]:
        """The digests of some runs, as a part of the recipe; they are computed when they are asked for."""
        if "runs" not in self.recipe_parts:
            return {}
        runs = self.recipe_parts["runs"]

        def digests() -> dict[str, str]:
            of = runs() if callable(runs) else runs
            return {system: of[system] for system in systems if system in of}

        return {"runs": digests}

    def _notes_of(self, system: str, measures: Sequence[Measure]) -> list[Note]:
        """The notes of a system that are about some measures, or about the system itself."""
        names, of_answers = set(map(str, measures)), any(measure.definition.of_answers for measure in measures)
        lack_gold = not names.isdisjoint(map(str, self.without_gold))
        return [
            note
            for note in self.notes.get(system, ())
            if note.values.get("measure") in (None, *names)
            and (of_answers or not note.code.startswith(("judge", "labels")))
            and (lack_gold or not note.code.startswith(NO_GOLD))
        ]

    def _verdicts_of(self, systems: Sequence[str]) -> dict[str, Any]:
        """Recipes by which the answers of some systems were judged, as a part of the recipe."""
        recipes = self.recipe_parts.get("verdicts", {})
        return {"verdicts": {system: recipes[system] for system in systems if system in recipes}} if recipes else {}

    @cached_property
    def by_id(self) -> Bools:
        """(s,) whether gold labels the very things that a system lists: documents; else evidence judges its chunks."""
        return np.array([mapping is None or mapping.unit == "document" for mapping in self.gold], bool)

    @cached_property
    def frame(self) -> pl.DataFrame:
        """One row for each system, question and measure, of schema SCORES: the table that all of this is.

        status is ok, failed (by the system's own account), missing (the question is absent from the run), unwinnable
        (its gold is in no chunk of the corpus), no_relevant, unplaced (the gold's characters have no place),
        not_measured, or of measures of answers one of CAUSES; where several hold, it is the first, and reason names
        all.  A value that is left out is null.  judged is the share of labelled documents that the measure looked at.
        """
        return frame_of(self)

    @property
    def per_query(self) -> pl.DataFrame:
        """The first columns of `frame`: system, query_id, measure, value, status."""
        return self.frame[:, :_OF_FRAME]

    def statuses(self) -> npt.NDArray[np.int64]:
        """(s, m, q) the place of each value's status in STATUSES; the first that holds."""
        return statuses(self)

    def mean(self) -> pl.DataFrame:
        """One row for each system and measure: mean, 95% interval (low, high), n, and counts of questions.

        n is the number of questions in the mean; missing, failed, unwinnable and no_relevant count those of the truth,
        whether they enter it as 0 or not at all; judged is the mean share of labelled documents down to the k of the
        measure; not_judged counts the answers that a judge has not judged in full, which are left out.  Measures named
        gm_ have a geometric mean, and abstention_f1 an F1; ndcg@10:p10 has a percentile, of the values of all runs, and
        an end of its interval is infinite where there are too few.  Where labels of people correct a mean there are
        more columns, null elsewhere: corrected, its interval (corrected_low, corrected_high), people (the mean by
        labels alone, without verdicts), its interval (people_low, people_high), n_labels, worth: how many labels
        without a judge would do as well, and n_undecided, what was drawn and has no label; where that is a tenth or
        more, lowest and highest: the corrected mean with all of that at either end, and the outer ends of their
        intervals (lowest_low, highest_high).
        """
        s, m, _ = self.values.shape
        there = counted(self)

        def of_system(mask: Bools) -> npt.NDArray[np.int64]:
            return np.repeat(mask.sum(axis=1), m)

        table = pl.DataFrame(
            {
                "system": pl.Series(self.systems, dtype=pl.String).gather(np.repeat(np.arange(s), m)),
                "measure": [str(measure) for measure in self.measures] * s,
                "mean": self.means.ravel(),
                "low": self.intervals.low.ravel(),
                "high": self.intervals.high.ravel(),
                "n": self.n_counted.ravel(),
                "missing": of_system(self.missing),
                "failed": of_system(self.failed),
                "unwinnable": np.where(np.tile(self.of_answers, s), 0, of_system(self.unwinnable)),
                "no_relevant": self.no_relevant.sum(axis=2).ravel(),
                "judged": _means(self.judged, there).ravel(),
                "not_judged": self.n_not_judged.ravel(),
            }
        ).with_columns(pl.col("mean", "low", "high", "judged").fill_nan(None))
        if not self.corrections:
            return table
        return table.hstack(corrected_columns(self.corrections, table["system"].to_list(), table["measure"].to_list()))

    @cached_property
    def of_answers(self) -> Bools:
        """(m,) which measures are of answers."""
        return np.array([measure.definition.of_answers for measure in self.measures], bool)

    @cached_property
    def n_not_judged(self) -> Ints:
        """(s, m) answers that a judge has not judged in full."""
        if self.causes is None:
            return np.zeros(self.values.shape[:2], np.int64)
        return np.asarray((self.causes == 1 + CAUSES.index(NOT_JUDGED)).sum(axis=2), np.int64)

    @cached_property
    def without_gold(self) -> list[Measure]:
        """Measures that no system has a value of, as no question has the gold that they need.

        >>> from steelyard.experiment.door.evaluation import evaluate
        >>> [str(measure) for measure in evaluate({"q": {"a": 0}}, {"q": ["a"]}, ["map", "judged@1"]).without_gold]
        ['map']
        """
        bare = np.asarray(self.lacks_gold.all(axis=0))
        return [measure for measure, lacks in zip(self.measures, bare.tolist(), strict=True) if lacks]

    @property
    def primary(self) -> Measure:
        """The measure that headlines, orders, ratings and advice go by: the first one."""
        return self.measures[0]

    @cached_property
    def components(self) -> pl.DataFrame:
        """Spread of values between questions and between runs, of the systems with several runs; else no rows.

        A row for each system and measure: n_runs, n (questions), sd_questions and sd_runs (see VarianceComponents), and
        least and greatest mean of a run; null where there are fewer than two questions.
        """
        rows = list[dict[str, object]]()
        for system, values in self.repeats.items():
            for measure, of_runs in zip(self.measures, np.moveaxis(values, 1, 0), strict=True):
                whole = of_runs[:, ~np.isnan(of_runs).any(axis=0)]
                parts = variance_components(whole)
                run_means = parts.run_means if measure.share is None else [measure.aggregation.of(run) for run in whole]
                rows.append({
                    "system": system, "measure": str(measure), "n_runs": len(of_runs), "n": parts.n,
                    "sd_questions": parts.sd_questions, "sd_runs": parts.sd_runs,
                    "least": min(run_means), "greatest": max(run_means),
                })  # fmt: skip
        return pl.DataFrame(rows, schema=COMPONENTS).with_columns(pl.col(pl.Float64).fill_nan(None))

    @cached_property
    def means(self) -> Floats:
        """(s, m) mean, or percentile, over the questions that are not skipped; NaN where there is none."""
        means = _aggregate(self.measures, self.values)
        for i, j, interval in self._percentiles:
            means[i, j] = interval.value
        return means

    @cached_property
    def _percentiles(self) -> list[tuple[int, int, PercentileInterval]]:
        return list(percentiles(self, LEVEL))

    @cached_property
    def reachable(self) -> Floats:
        """(s, m) mean of a perfect ranking over the same queries: what the truth allows at most.

        NaN where that is not known: measures that the truth does not bound, such as columns of numbers; evidence of
        which only the retrieved chunks are at hand; measures of which some value is larger, so that it is no maximum.

        >>> from steelyard.experiment.door.evaluation import evaluate
        >>> evaluate({"q": {"a": 1, "b": 1}}, {"q": ["c", "a"]}, ["precision@5", "mrr"]).reachable
        array([[0.4, 1. ]])
        """
        return _aggregate(self.measures, self.highest_values("perfect"))

    @cached_property
    def ceiling(self) -> Floats:
        """(s, m) mean of the best order of the candidates that a system reorders; NaN for one that reorders none."""
        return _aggregate(self.measures, self.highest_values("ceilings"))

    def highest_values(self, of: Literal["perfect", "ceilings"]) -> Floats:
        """(s, m, q) values of a perfect ranking, or of the best order of candidates; NaN where they are not known.

        They are not known of queries that are skipped, and of measures that have a higher value on some query.
        """
        highest = np.full(self.values.shape, np.nan)
        for j, measure in enumerate(self.measures):
            if (values := getattr(self, of).get(str(measure))) is not None:
                highest[:, j] = values() if callable(values) else values
        counted = ~np.isnan(self.values)
        unbounded = (counted & ~(self.values <= highest + ROUNDING * np.abs(highest))).any(axis=2)
        return np.where(counted & ~unbounded[:, :, None], highest, np.nan)

    @cached_property
    def intervals(self) -> Intervals:
        """(s, m) ends of the intervals of the means; of percentiles, see `percentile_interval`.

        A question that none was like is reckoned with (see `mean_intervals`): its value may be the lowest that the
        measure has, or the highest that a perfect ranking has on any of these questions, where that is known.  Without
        a highest value they are those of `skewed_intervals`.
        """
        s, m, q = self.values.shape
        series = np.stack([_scale(measure, self.values[:, j]) for j, measure in enumerate(self.measures)], axis=1)
        series = series.reshape(s * m, q)
        least, most = (ends.ravel() for ends in self._bounds())
        low, high = np.full(s * m, np.nan), np.full(s * m, np.nan)
        # Series over the same queries are computed together.
        together: dict[bytes, list[int]] = {}
        for row in range(s * m):
            together.setdefault(np.isnan(series[row]).tobytes(), []).append(row)
        for rows in together.values():
            there = ~np.isnan(series[rows[0]])
            clusters = None if self.clustering is None else self.clustering.codes[there]
            intervals = guarded_or_skewed_intervals(
                series[rows][:, there].T, level=LEVEL, bounds=(least[rows], most[rows]), clusters=clusters
            )
            low[rows], high[rows] = intervals.low, intervals.high
        ends = Intervals(_unscale(self.measures, low.reshape(s, m)), _unscale(self.measures, high.reshape(s, m)))
        for i, j, interval in self._percentiles:
            ends.low[i, j], ends.high[i, j] = interval.low, interval.high
        return ends

    @cached_property
    def reported(self) -> ReportedMeans:
        """(s, m) means and intervals as reports show them first: corrected by labels where there are some."""
        names = [str(measure) for measure in self.measures]
        return reported_means(
            self.corrections, self.systems, names, self.means, self.intervals.low, self.intervals.high
        )

    @cached_property
    def n_counted(self) -> Ints:
        """(s, m) questions in each mean."""
        return np.asarray(counted(self).sum(axis=2), np.int64)

    def _bounds(self) -> tuple[Floats, Floats]:
        """(s, m) lowest and highest value there can be, on the scale that is averaged."""
        perfect = self.highest_values("perfect")
        reachable = np.where(np.isnan(perfect), -np.inf, perfect).max(axis=2, initial=-np.inf)
        lowest, highest = np.empty(reachable.shape), np.empty(reachable.shape)
        for j, measure in enumerate(self.measures):
            low, high = measure.definition.range
            top = np.where(np.isneginf(reachable[:, j]), high, np.minimum(reachable[:, j], high))
            lowest[:, j], highest[:, j] = _scale(measure, np.array(low)), _scale(measure, top)
        return lowest, highest

    @property
    def signature(self) -> Signature:
        """One quotable line, and its data: measures, questions, policies, version, digests of truth and runs.

        >>> from steelyard.experiment.door.evaluation import evaluate
        >>> str(evaluate({"q": {"a": 1}}, {"q": ["a"]}, "map").signature)
        'map; n:1; missing:zero; no_relevant:zero; truth:...; runs:...; steelyard:...'
        """
        n = (~np.isnan(self.values)).sum(axis=2)
        return signature_of(self._recipe, (int(n.min(initial=n.max(initial=0))), int(n.max(initial=0))))

    @property
    def recipe(self) -> dict[str, Any]:
        """Everything that is needed to get the same numbers again; digests are computed now."""
        method: dict[str, float | str] = {"level": LEVEL, "method": self.intervals.method}
        method |= {"unbounded": "skewed_t"} if self.unbounded else {}
        return {**self._recipe, "interval": method | ({"percentiles": METHOD} if self._percentiles else {})}

    @property
    def unbounded(self) -> list[Measure]:
        """Measures whose mean has an interval without a highest value: columns of numbers, such as latencies."""
        highest, there = self._bounds()[1], ~np.isnan(self.intervals.low)
        return [
            measure
            for j, measure in enumerate(self.measures)
            if measure.share is None and (np.isinf(highest[:, j]) & there[:, j]).any()
        ]

    @property
    def shared_gold(self) -> SharedGold | None:
        """Extent of shared gold documents, where questions share them; None for scores of a file, which has counts."""
        part = self.recipe_parts.get(SHARED_GOLD)
        fields = part() if callable(part) else part
        return SharedGold(**fields) if fields and "codes" in fields else None

    @cached_property
    def _recipe(self) -> dict[str, Any]:
        """The recipe without the intervals, which take a while."""
        parts = computed(self.recipe_parts)
        if (shared := self.shared_gold) is not None:
            parts[SHARED_GOLD] = shared.facts(self.values.reshape(-1, len(self.query_ids)))
        elif parts.get(SHARED_GOLD) is None:
            parts.pop(SHARED_GOLD, None)
        return {**parts, "measures": [str(measure) for measure in self.measures]}


def _cells(values: Floats | Callable[[], Floats], cells: tuple[Ints, ...]) -> Floats:
    return (values() if callable(values) else values)[cells]


def _mean(values: Floats) -> float:
    """The mean over queries, always in the truth's order, so that no order of the input can move a bit."""
    return float(values.mean()) if len(values) else math.nan


def _means(values: Floats, there: Bools) -> Floats:
    """(s, m) means over the queries that are there, to the bit as `_mean` computes each."""
    whole = there.all(axis=2)
    means = np.full(whole.shape, np.nan)
    if values.shape[2]:
        means[whole] = np.ascontiguousarray(values)[whole].mean(axis=1)
    for i, j in np.argwhere(~whole).tolist():
        means[i, j] = _mean(values[i, j][there[i, j]])
    return means


def _aggregate(measures: Sequence[Measure], values: Floats) -> Floats:
    """(s, m) means over the queries that are there, as each measure aggregates."""
    scaled = _means(values, ~np.isnan(values))
    for j, measure in enumerate(measures):
        if measure.share is not None:
            scaled[:, j] = [measure.aggregation.of(row[~np.isnan(row)]) for row in values[:, j]]
        elif not measure.aggregation.arithmetic:
            scaled[:, j] = [_mean(_scale(measure, row[~np.isnan(row)])) for row in values[:, j]]
    return _unscale(measures, scaled)


def _scale(measure: Measure, values: Floats) -> Floats:
    return measure.aggregation.before(values)


def _unscale(measures: Sequence[Measure], values: Floats) -> Floats:
    columns = [measure.aggregation.after(values[:, j]) for j, measure in enumerate(measures)]
    return np.stack(columns, axis=1) if columns else values
