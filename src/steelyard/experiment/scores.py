"""The result: one value for each system, query and measure, with its means and intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from steelyard.base.arrays import Bools, Floats, Ints
from steelyard.base.notes import Note
from steelyard.experiment.corrections import Corrections, corrected_columns, taken
from steelyard.experiment.percentiles import METHOD, counted, percentiles, with_percentiles
from steelyard.experiment.score_arrays import CAUSES, NOT_JUDGED, SHARED_GOLD, ScoreArrays, computed, refuse_impossible
from steelyard.experiment.scores_frame import arrays_of, frame_of, places_of, spec_names, statuses
from steelyard.experiment.scores_union import union
from steelyard.experiment.signature import Signature, signature_of
from steelyard.measures import Measure
from steelyard.measures.spec import measure_or_column
from steelyard.stats.intervals import Intervals, mean_intervals
from steelyard.stats.percentiles import PercentileInterval
from steelyard.stats.repeats import variance_components
from steelyard.stats.samples import ROUNDING

LEVEL = 0.95
COMPONENTS: dict[str, pl.DataType | type[pl.DataType]] = {
    "system": pl.String, "measure": pl.String, "n_runs": pl.Int64, "n": pl.Int64, "sd_questions": pl.Float64,
    "sd_runs": pl.Float64, "least": pl.Float64, "greatest": pl.Float64,
}  # fmt: skip
"""Columns of `Scores.components`."""

_OF_FRAME = 5
"""So many columns of the frame are those of `per_query`."""


@dataclass(frozen=True, eq=False)
class Scores(ScoreArrays):
    """One value for each system, query and measure: of rankings, answers, times, costs, clicks.

    It is a long frame (`frame`, `of`); the arrays that it has too (see ScoreArrays) are views of its columns, for
    kernels and statistics.
    """

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled: the recipe's digests as they are now, without the inputs that they come from."""
        return {**self.__dict__, "recipe_parts": computed(self.recipe_parts), "perfect": computed(self.perfect)}

    def __repr__(self) -> str:
        return f"Scores({len(self.systems)} systems × {len(self.measures)} measures × {len(self.query_ids)} queries)"

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
        cluster  the column that says which queries count as one for intervals and tests, such as a session
        Raises   InputError for columns that are not there, two values of one query, and values that are not numbers or
                 that their measure cannot have.

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
        """All values of several Scores: of other systems, other measures, or other queries.

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
        """Only some systems, measures and queries, in the order that they have here.

        A percentile of a measure that is here, such as latency_ms:p95, comes after all that are.
        Means of some of the queries are not corrected: labels were drawn for the mean of all.
        Raises   InputError for one that is not here, with the nearest.
        """
        more = self if measures is None else self.with_percentiles(measures)
        if more is not self:
            return more.filter(systems=systems, measures=measures, query_ids=query_ids)
        rows = places_of(systems, self.systems, "system")
        columns = places_of(spec_names(measures), [str(measure) for measure in self.measures], "measure")
        ids = places_of(query_ids, self.query_ids, "query")
        cells, pairs = np.ix_(rows, columns, ids), np.ix_(rows, ids)
        return replace(
            self, systems=[self.systems[i] for i in rows], measures=[self.measures[j] for j in columns],
            query_ids=[self.query_ids[k] for k in ids], values=self.values[cells], judged=self.judged[cells],
            no_relevant=self.no_relevant[cells], missing=self.missing[pairs], failed=self.failed[pairs],
            unwinnable=self.unwinnable[pairs], unjudged_queries=self.unjudged_queries[rows],
            gold=[self.gold[i] for i in rows], causes=None if self.causes is None else self.causes[cells],
            clustering=None if self.clustering is None else self.clustering.take(ids),
            corrections=self._corrections_of(rows, columns) if len(ids) == len(self.query_ids) else {},
            repeats={
                name: self.repeats[name][:, columns][:, :, ids]
                for name in (self.systems[i] for i in rows) if name in self.repeats
            },
            notes={
                name: notes for name in (self.systems[i] for i in rows)
                if (notes := self._notes_of(name, [self.measures[j] for j in columns]))
            },
            recipe_parts={
                **{key: part for key, part in self.recipe_parts.items()
                   if key != "verdicts" and (query_ids is None or key != SHARED_GOLD)},
                **self._runs_of([self.systems[i] for i in rows]),
                **(self._verdicts_of([self.systems[i] for i in rows]) if self.of_answers[columns].any() else {}),
            },
            perfect={
                name: partial(_cells, self.perfect[name], pairs)
                for name in (str(self.measures[j]) for j in columns) if name in self.perfect
            },
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
        return replace(self, **fields) if fields else self

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

    def _corrections_of(self, rows: Ints, columns: Ints) -> Corrections:
        """The corrections of some systems and measures."""
        if not self.corrections:
            return self.corrections
        names = [str(self.measures[j]) for j in columns]
        return taken(self.corrections, [self.systems[i] for i in rows], names)

    def _notes_of(self, system: str, measures: Sequence[Measure]) -> list[Note]:
        """The notes of a system that are about some measures, or about the system itself."""
        names, of_answers = set(map(str, measures)), any(measure.definition.of_answers for measure in measures)
        return [
            note for note in self.notes.get(system, ())
            if note.values.get("measure") in (None, *names)
            and (of_answers or not note.code.startswith(("judge", "labels")))
        ]  # fmt: skip

    def _verdicts_of(self, systems: Sequence[str]) -> dict[str, Any]:
        """How the answers of some systems were judged, as a part of the recipe."""
        recipes = self.recipe_parts.get("verdicts", {})
        return {"verdicts": {system: recipes[system] for system in systems if system in recipes}} if recipes else {}

    @cached_property
    def by_id(self) -> Bools:
        """(s,) whether gold labels the very things that a system lists: documents; else evidence judges its chunks."""
        return np.array([mapping is None or mapping.unit == "document" for mapping in self.gold], bool)

    @cached_property
    def frame(self) -> pl.DataFrame:
        """One row for each system, query and measure, of schema SCORES: the table that all of this is.

        status is ok, failed (by the system's own account), missing (the query is absent from the run), unwinnable
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
        """One row for each system and measure: mean, 95% interval (low, high), n, and counts of queries.

        n is the number of queries in the mean; missing, failed, unwinnable and no_relevant count those of the truth,
        whether they enter it as 0 or not at all; judged is the mean share of labelled documents down to the k of the
        measure; not_judged counts the answers that a judge has not judged in full, which are left out.  Measures named
        gm_ have a geometric mean, and abstention_f1 an F1; ndcg@10:p10 has a percentile, of the values of all runs, and
        an end of its interval is infinite where there are too few.  Where labels of people correct a mean there are
        more columns, null elsewhere: corrected, its interval (corrected_low, corrected_high), people (the mean by
        labels alone), its interval (people_low, people_high), n_labels, and worth: how many labels without a judge
        would do as well.
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
                "n": there.sum(axis=2).ravel(),
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

    @property
    def primary(self) -> Measure:
        """The measure that headlines, orders, ratings and advice go by: the first one."""
        return self.measures[0]

    @cached_property
    def components(self) -> pl.DataFrame:
        """How much values differ between questions and between runs, of the systems with several runs; else no rows.

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
        """(s, m) mean, or percentile, over the queries that are not skipped; NaN where there is none."""
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

        >>> from steelyard.experiment.evaluation import evaluate
        >>> evaluate({"q": {"a": 1, "b": 1}}, {"q": ["c", "a"]}, ["precision@5", "mrr"]).reachable
        array([[0.4, 1. ]])
        """
        return _aggregate(self.measures, self._reachable_values())

    def _reachable_values(self) -> Floats:
        """(s, m, q) values of a perfect ranking, of queries that are not skipped; NaN where they are not known."""
        perfect = np.full(self.values.shape, np.nan)
        for j, measure in enumerate(self.measures):
            if (values := self.perfect.get(str(measure))) is not None:
                perfect[:, j] = values() if callable(values) else values
        counted = ~np.isnan(self.values)
        unbounded = (counted & ~(self.values <= perfect + ROUNDING * np.abs(perfect))).any(axis=2)
        return np.where(counted & ~unbounded[:, :, None], perfect, np.nan)

    @cached_property
    def intervals(self) -> Intervals:
        """(s, m) ends of the intervals of the means; of percentiles, see `percentile_interval`.

        A query that none was like is reckoned with (see `mean_intervals`): its value may be the lowest that the measure
        has, or the highest that a perfect ranking has on any of these queries, where that is known.
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
            bounds = least[rows], most[rows]
            intervals = mean_intervals(series[rows][:, there].T, level=LEVEL, bounds=bounds, clusters=clusters)
            low[rows], high[rows] = intervals.low, intervals.high
        ends = Intervals(_unscale(self.measures, low.reshape(s, m)), _unscale(self.measures, high.reshape(s, m)))
        for i, j, interval in self._percentiles:
            ends.low[i, j], ends.high[i, j] = interval.low, interval.high
        return ends

    def _bounds(self) -> tuple[Floats, Floats]:
        """(s, m) lowest and highest value there can be, on the scale that is averaged."""
        perfect = self._reachable_values()
        reachable = np.where(np.isnan(perfect), -np.inf, perfect).max(axis=2, initial=-np.inf)
        lowest, highest = np.empty(reachable.shape), np.empty(reachable.shape)
        for j, measure in enumerate(self.measures):
            low, high = measure.definition.range
            top = np.where(np.isneginf(reachable[:, j]), high, np.minimum(reachable[:, j], high))
            lowest[:, j], highest[:, j] = _scale(measure, np.array(low)), _scale(measure, top)
        return lowest, highest

    @property
    def signature(self) -> Signature:
        """One quotable line, and its data: measures, queries, policies, version, digests of truth and runs.

        >>> from steelyard.experiment.evaluation import evaluate
        >>> str(evaluate({"q": {"a": 1}}, {"q": ["a"]}, "map").signature)
        'map; n:1; missing:zero; no_relevant:zero; truth:...; runs:...; steelyard:...'
        """
        n = (~np.isnan(self.values)).sum(axis=2)
        return signature_of(self._recipe, (int(n.min(initial=n.max(initial=0))), int(n.max(initial=0))))

    @property
    def recipe(self) -> dict[str, Any]:
        """Everything that is needed to get the same numbers again; digests are computed now."""
        method = {"level": LEVEL, "method": self.intervals.method}
        return {**self._recipe, "interval": method | ({"percentiles": METHOD} if self._percentiles else {})}

    @property
    def _recipe(self) -> dict[str, Any]:
        """The recipe without the intervals, which take a while."""
        parts = computed(self.recipe_parts)
        if parts.get(SHARED_GOLD, True) is None:
            del parts[SHARED_GOLD]
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
