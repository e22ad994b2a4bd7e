"""Agreement of raters, people or judges: every pair of them, or each against one."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
import polars as pl

from steelyard._version import __version__
from steelyard.base import defaults
from steelyard.base.arrays import Floats
from steelyard.base.choices import Scale
from steelyard.base.errors import InputError, quoted
from steelyard.base.json_text import plain
from steelyard.base.nearest import nearest
from steelyard.base.options import WeighOptions
from steelyard.base.progress import Progress, usual_progress
from steelyard.base.result import Result
from steelyard.comparison.raters.pairs import SCALES, Estimate, PairOptions, RaterPair, alpha_together, rater_pairs
from steelyard.data.rating_tables import RatingColumns
from steelyard.data.ratings import Label, Ratings, read_ratings, truth_of
from steelyard.experiment.door.evaluation import evaluate
from steelyard.experiment.door.opening import open_inputs
from steelyard.experiment.table.scores import Scores
from steelyard.measures import Measure
from steelyard.stats.intervals.resampling import N_RESAMPLES
from steelyard.stats.rankings import kendall_tau, tau_ap
from steelyard.stats.samples import checked_seed, share, whole

TENTATIVE, RELIABLE = 0.667, 0.8
"""Krippendorff's convention (Content Analysis, 2019, chapter 12): below .667 of alpha, labels support no conclusion,
below .8 tentative ones."""
MOST_PAIRS = 5_000
"""Pairs of raters that are compared without a reference: all pairs of 100."""
_MEASURE = "ndcg@10"

COLUMNS: dict[str, pl.DataType | type[pl.DataType]] = {
    "rater": pl.String,
    "against": pl.String,
    "statistic": pl.String,
    "value": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "n": pl.Int64,
    "n_questions": pl.Int64,
}
"""Columns of `Agreement.frame`; see there."""


@dataclass(frozen=True, eq=False, repr=False)
class Agreement(Result):
    """Agreement of raters.

    frame     one row a pair and statistic: rater, against, statistic, value, low, high, n, n_questions.  The rows with
              "" in both are alpha of all raters together; value is null where undefined, low and high without interval
    pairs     best first by the headline: alpha on the scale; none where all pairs would be more than MOST_PAIRS
    together  alpha of all raters on each scale that the labels have, none of scores
    n_together  items with two labels or more
    reference the rater whom all others are compared with; None where every pair is compared
    systems   of each rater: how far the order of systems by its labels agrees with that by the reference's
    """

    VIEW = "views.agreement"

    ratings: Ratings
    scale: Scale
    reference: str | None
    min_gain: Label | None
    pairs: Sequence[RaterPair]
    together: Mapping[Scale, Estimate]
    n_together: int
    systems: Sequence[SystemAgreement] = ()
    recipe: Mapping[str, object] = field(repr=False, default_factory=dict)

    @property
    def headline(self) -> str:
        """The statistic that pairs are ranked by."""
        return f"alpha_{self.scale}"

    @property
    def frame(self) -> pl.DataFrame:
        """See the class."""
        n_questions = self.ratings.n_questions
        rows = [
            ("", "", f"alpha_{scale}", *_ends(estimate), self.n_together, n_questions)
            for scale, estimate in self.together.items()
        ]
        for pair in self.pairs:
            rows += [
                (pair.rater, pair.against, name, *_ends(estimate), pair.n, pair.n_questions)
                for name, estimate in pair.estimates.items()
            ]
        for system in self.systems:
            against = self.reference or ""
            orders = {"system_kendall": system.kendall, "system_tau_ap": system.tau_ap}
            rows += [
                (system.rater, against, name, plain(value), None, None, len(system.means), system.n_questions)
                for name, value in orders.items()
            ]
        return pl.DataFrame(rows, COLUMNS, orient="row")


def agreement(
    labels: object,
    *,
    measurement_level: Scale | None = None,
    reference: str | None = None,
    categories: str | Sequence[Label] | None = None,
    min_gain: Label | None = None,
    item: str | Sequence[str] = (),
    question: str | None = None,
    raters: str | Sequence[str] = (),
    runs: object = None,
    measure: str | Measure | None = None,
    level: float = 0.95,
    n_resamples: int = N_RESAMPLES,
    seed: int = defaults.SEED,
    progress: Progress = usual_progress,
) -> Agreement:
    """Agreement of raters about the same items: kappa, alpha and more of each pair, with intervals.

    labels      a path or several: tables with a row a label (item, rater, label), or a row an item and a column a
                rater, or qrels and other files of one rater each, who is called what the file is, or NAME=FILE; a
                frame, a list of dicts; a dict {rater: {item: label}}, {rater: qrels}.  Empty cells are gaps
    measurement_level   "nominal" for words, "ordinal" for labels in order, "interval" for numbers to be subtracted; by
                default nominal for words without `categories`, else ordinal
    reference   the rater whom all others are compared with; by default every pair is compared
    categories  all labels in order: a list, "poor,fair,good", "0-3"; labels that are none of them are left out, counted
    min_gain    the label from which on an item is positive, for kappa, balanced accuracy and AUC of labels cut in two
    item        columns that together name an item, where their names do not say so;   question   the column of what
                items belong to: intervals resample questions, or items where there are none
    raters      columns of a wide table that are raters; or those raters of other data that count
    runs        runs as of `evaluate`: how far is their order by each rater's grades that by those of `reference`?
    measure     by which, "ndcg@10" by default
    level       coverage of the intervals;   n_resamples, seed   of resampling
    progress    called as progress("pairs", done, total)
    Raises      InputError: one rater alone, contradictory labels, an unknown name, with the place and what to try.

    >>> pairs = agreement({"ann": {"a": 2, "b": 0, "c": 1}, "bob": {"a": 2, "b": 0, "c": 0}}).pairs
    >>> round(pairs[0].estimates["kappa_quadratic"].value, 3)
    0.8
    """
    share(level, "level")
    columns = RatingColumns(_names(item), question, _names(raters))
    ratings = read_ratings(labels, columns=columns, categories=categories)
    if reference is not None and reference not in ratings.raters:
        raise InputError(f"no rater is called {quoted(reference)}; {nearest(reference, ratings.raters)}")
    scale = _checked_scale(measurement_level, ratings)
    if min_gain is not None:
        _check_cut(min_gain, ratings)
    options = PairOptions(ratings, min_gain, level, whole(n_resamples, "n_resamples"), checked_seed(seed))
    systems, recipe = _systems(ratings, reference, runs, measure)
    places = _pairs(ratings, reference)
    pairs = rater_pairs(options, places, against_reference=reference is not None, progress=progress)
    pairs.sort(key=lambda pair: -_rank(pair, f"alpha_{scale}"))
    together, n_together = _alpha_of(pairs[0]) if len(pairs) == 1 else alpha_together(options)
    recipe |= {
        "scale": scale, "reference": reference, "categories": list(ratings.categories) if ratings.are_named else None,
        "min_gain": min_gain, "level": level, "n_resamples": n_resamples, "seed": seed, "labels": ratings.digest,
        "version": __version__,
    }  # fmt: skip
    return Agreement(ratings, scale, reference, min_gain, pairs, together, n_together, systems, recipe)


def _systems(
    ratings: Ratings, reference: str | None, runs: object, measure: str | Measure | None
) -> tuple[Sequence[SystemAgreement], dict[str, object]]:
    """The agreement of the order of systems, and by what measure; nothing without runs."""
    if runs is None:
        if measure is not None:
            raise InputError(f"a measure ({measure}) without runs to be evaluated by it; name runs: runs=[...], --runs")
        return (), {}
    if reference is None:
        raise InputError("runs are ordered by the grades of each rater and of a reference; name it: --reference")
    measure = measure or _MEASURE
    return system_agreement(ratings, reference, runs, measure), {"measure": str(measure)}


def _names(names: str | Sequence[str]) -> list[str]:
    return [names] if isinstance(names, str) else list(names)


def _checked_scale(scale: Scale | None, ratings: Ratings) -> Scale:
    if scale is None:
        return "ordinal" if ratings.have_order else "nominal"
    if scale not in SCALES:
        raise InputError(f"no scale is called {quoted(scale)}; {nearest(scale, SCALES)}")
    if scale != "nominal" and not ratings.have_order:
        words = ", ".join(str(word) for word in ratings.categories[:5])
        raise InputError(f"{scale}: labels are words ({words}); name all of them in order: categories, --categories")
    return scale


def _check_cut(min_gain: Label, ratings: Ratings) -> None:
    if isinstance(min_gain, str) if ratings.are_numbers else min_gain not in ratings.categories:
        listed = ", ".join(map(str, ratings.categories[:10]))
        raise InputError(f"min_gain {quoted(min_gain)} is no label; they are {listed}")
    if ratings.are_numbers and not ratings.categories[0] < min_gain <= ratings.categories[-1]:  # type: ignore[operator]
        ends = f"{ratings.categories[0]} to {ratings.categories[-1]}"
        raise InputError(f"min_gain is {min_gain}, and labels go from {ends}; choose one above the lowest of them")
    if not ratings.have_order and len(ratings.categories) > 2:
        raise InputError("min_gain: words have no order; name all of them in order: categories, --categories")


def _pairs(ratings: Ratings, reference: str | None) -> list[tuple[int, int]]:
    """Places of each rater and of the one it is compared with; none where there are more than MOST_PAIRS."""
    if reference is None and math.comb(len(ratings.raters), 2) > MOST_PAIRS:
        return []
    if reference is None:
        return list(combinations(range(len(ratings.raters)), 2))
    place = ratings.raters.index(reference)
    return [(rater, place) for rater in range(len(ratings.raters)) if rater != place]


def _alpha_of(pair: RaterPair) -> tuple[dict[Scale, Estimate], int]:
    """Alpha of two raters, who are a pair, and its items; none of scores."""
    estimates = {scale: pair.estimates.get(f"alpha_{scale}") for scale in SCALES}
    return {scale: estimate for scale, estimate in estimates.items() if estimate is not None}, pair.n


def _rank(pair: RaterPair, headline: str) -> float:
    """Key by which a pair is ranked: the headline, AUC where scores have no such thing; undefined ones come last."""
    estimate = pair.estimates.get(headline) or pair.estimates.get("auc")
    return -math.inf if estimate is None or math.isnan(estimate.value) else estimate.value


def _ends(estimate: Estimate) -> list[float | None]:
    return [plain(end) for end in (estimate.value, estimate.low, estimate.high)]


_FEWEST_SYSTEMS = 3


@dataclass(frozen=True)
class SystemAgreement:
    """Agreement of the order of systems by a rater's grades with that by the reference's.

    No interval: of systems that are close, the order turns over from sample to sample of questions, and no interval by
    resampling these holds the tau of all questions as often as it should (71 to 97% in simulations, in place of 95).

    kendall       tau-b;   tau_ap   the same with the weight at the top
    n_questions   that both raters judged;   means   system -> mean by the rater's grades, and by the reference's
    """

    rater: str
    kendall: float
    tau_ap: float
    n_questions: int
    means: Mapping[str, tuple[float, float]]


def system_agreement(ratings: Ratings, against: str, runs: object, measure: str | Measure) -> list[SystemAgreement]:
    """Agreement on systems of each rater but the reference, best Kendall first.

    Raises   InputError for fewer than three systems, grades that are no numbers, no common query.
    """
    reference = truth_of(ratings, against)
    systems = {system.name: system.run for system in open_inputs(reference, runs, WeighOptions()).systems}
    if len(systems) < _FEWEST_SYSTEMS:
        raise InputError(f"{len(systems)} runs; the order of systems takes {_FEWEST_SYSTEMS} or more")
    by_reference = evaluate(reference, systems, measure)
    others = {rater: truth_of(ratings, rater) for rater in ratings.raters if rater != against}
    rows = [_of_rater(rater, by_reference, evaluate(truth, systems, measure)) for rater, truth in others.items()]
    return sorted(rows, key=lambda row: math.inf if math.isnan(row.kendall) else -row.kendall)


def _of_rater(rater: str, reference: Scores, judged: Scores) -> SystemAgreement:
    """From the questions of which all systems have a value by both."""
    values = _common(reference, judged)
    n, s = len(values), len(judged.systems)
    means = values.mean(axis=0) if n else np.full((2, s), np.nan)
    kendall = top = math.nan
    if n:
        sign = 1 if judged.measures[0].definition.higher_is_better else -1
        kendall, top = kendall_tau(*means), tau_ap(*(sign * means))
    pairs = [(by_rater, by_reference) for by_reference, by_rater in means.T.tolist()]
    return SystemAgreement(rater, kendall, top, n, dict(zip(judged.systems, pairs, strict=True)))


def _common(reference: Scores, judged: Scores) -> Floats:
    """(q, 2, s) values of the questions that all systems have one of by both raters."""
    places = {query_id: place for place, query_id in enumerate(judged.query_ids)}
    shared = [(place, places[query_id]) for place, query_id in enumerate(reference.query_ids) if query_id in places]
    if not shared:
        return np.empty((0, 2, len(judged.systems)))
    of_reference, of_judged = np.array(shared).T
    both = np.stack([reference.values[:, 0, of_reference], judged.values[:, 0, of_judged]]).transpose(2, 0, 1)
    return np.asarray(both[np.isfinite(both).all(axis=(1, 2))])
