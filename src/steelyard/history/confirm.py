"""Confirm what was chosen on the open questions by those that were held out, which may be asked only so often."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import polars as pl

from steelyard.base.arrays import Floats
from steelyard.base.errors import InputError
from steelyard.base.nearest import nearest
from steelyard.base.result import Result
from steelyard.experiment.table.scores import Scores
from steelyard.measures import Measure
from steelyard.stats.holdout import HoldoutRules, holdout_answer, holdout_rules
from steelyard.stats.samples import mean_error
from steelyard.store.entries import Entry
from steelyard.store.kinds import HELD_OUT
from steelyard.store.store import Store


@dataclass(frozen=True, repr=False)
class Confirmation(Result):
    """What a held-out part says of a system, or of its difference from another one; see `confirm`.

    entry, system, against   that were asked about: ids of entries and the name of a system; against "" for a mean
    n_open, n_held   questions of both parts, or clusters
    open_mean        the mean, or mean difference, of the open questions
    mean             the answer: the open mean where both parts agree, else that of the held-out part with noise,
                     rounded; None where the budget is spent
    agrees           whether both parts agree; None where the budget is spent
    rules            threshold, noise, budget, and by how much the answer may be off the truth
    n_spent          answers that were charged, this one included
    """

    VIEW = "views.confirmation"

    entry: str
    system: str
    against: str
    measure: str
    n_open: int
    n_held: int
    open_mean: float
    mean: float | None
    agrees: bool | None
    rules: HoldoutRules
    n_spent: int

    @property
    def outcome(self) -> str:
        """Whether both parts agree: "agrees", "differs", or "refused" where the budget is spent."""
        return "refused" if self.agrees is None else "agrees" if self.agrees else "differs"

    @property
    def frame(self) -> pl.DataFrame:
        """One row with the answer."""
        own = {name: value for name, value in vars(self).items() if name != "rules"}
        return pl.DataFrame([{**own, "outcome": self.outcome, **asdict(self.rules)}])


def confirm(
    store: Store,
    ref: str = "latest",
    *,
    against: str | None = None,
    measure: str | None = None,
    system: str | None = None,
    rng: np.random.Generator | None = None,
) -> Confirmation:
    """Ask the held-out questions of an entry whether they agree with the open ones; the store counts each answer.

    ref       an entry of scores that were evaluated with `hold_out`: an id, latest, accepted or tag=NAME
    against   another entry of the same questions: the answer is then of the mean difference from it
    measure   one whose mean is arithmetic; by default the primary one of the entry
    system    of the entry; by default the one with the best open mean.  In the other entry that of the same name
              counts, else its best one
    rng       of the noise, by default one that nobody can guess
    Where both parts differ by more than a threshold, the answer is from the held-out part, with noise, and the budget
    is charged; once it is spent, nothing is answered.  A question that was answered before has the same answer.
    Raises    InputError for entries without held-out questions, or of other questions

    >>> from tempfile import mkdtemp
    >>> from steelyard.experiment.door.evaluation import evaluate
    >>> truth = {f"q{i}": {"d": 1} for i in range(60)}
    >>> run = {q: ["d"] if i % 3 else ["x", "d"] for i, q in enumerate(truth)}
    >>> store = Store(f"{mkdtemp()}/history.db")
    >>> entry = store.add(evaluate(truth, run, "mrr", hold_out=0.3))
    >>> confirm(store, rng=np.random.default_rng(1)).outcome
    'agrees'
    """
    entry = store.entry(ref)
    parts = _parts(store, entry)
    spec = parts[0].primary if measure is None else _measure(parts[0], measure)
    name = system or _best(parts[0], spec)
    values = [_values(part, name, spec) for part in parts]
    other = "" if against is None else store.entry(against, truth=entry.truth).id
    if other:
        values = [
            own - baseline for own, baseline in zip(values, _baseline(store, entry, other, name, spec), strict=True)
        ]
    open_, held_out = (_Part.of(part, own) for part, own in zip(parts, values, strict=True))
    rules = holdout_rules(open_.error, open_.n, held_out.n)
    noise = np.random.default_rng() if rng is None else rng

    def answer(n_spent: int) -> Mapping[str, Any]:
        reply = holdout_answer(open_.mean, held_out.mean, rules, n_spent=n_spent, rng=noise)
        return {"mean": reply.mean, "agrees": reply.agrees, "charged": reply.charged}

    question = {"truth": entry.truth or "", "entry": entry.id, "system": name, "against": other, "measure": str(spec)}
    reply, n_spent = store.ask_held_out(question, answer)
    return Confirmation(
        entry.id, name, other, str(spec), n_open=open_.n, n_held=held_out.n, open_mean=open_.mean,
        mean=reply["mean"], agrees=reply["agrees"], rules=rules, n_spent=n_spent,
    )  # fmt: skip


@dataclass(frozen=True)
class _Part:
    """Mean of one part, its standard error, and its questions or clusters."""

    mean: float
    error: float
    n: int

    @classmethod
    def of(cls, scores: Scores, values: Floats) -> _Part:
        there = ~np.isnan(values)
        clusters = None if scores.clustering is None else scores.clustering.codes[there]
        own = mean_error(values[there], clusters=clusters)
        n = own.n if clusters is None else len(np.unique(clusters))
        if own.reason:
            raise InputError(f"{own.reason}; hold out another share (--hold-out), or ask more questions")
        return cls(own.mean, own.error, n)


def _parts(store: Store, entry: Entry) -> tuple[Scores, Scores]:
    """Scores of the open questions of an entry, and of those that were held out."""
    if HELD_OUT not in entry.parts:
        raise InputError(
            f"entry {entry.id}: no questions were held out; evaluate with `--hold-out 30%`, and confirm that"
        )
    held_out: Scores = store.result(entry.id, HELD_OUT)
    return store.scores(entry.id), held_out


def _measure(scores: Scores, name: str) -> Measure:
    specs = {str(measure): measure for measure in scores.measures}
    if name not in specs:
        raise InputError(f"measure {name!r}: the entry has none of that name ({nearest(name, list(specs))})")
    if not specs[name].aggregation.arithmetic:
        raise InputError(f"measure {name!r}: a held-out part answers with arithmetic means alone")
    return specs[name]


def _best(scores: Scores, measure: Measure) -> str:
    """The system with the best mean of a measure."""
    sign = 1 if measure.definition.higher_is_better else -1
    means = sign * scores.means[:, scores.measures.index(measure)]
    return scores.systems[int(np.argmax(np.nan_to_num(means, nan=-np.inf)))]


def _values(scores: Scores, system: str, measure: Measure) -> Floats:
    """(q,) values of a system."""
    if system not in scores.systems:
        raise InputError(f"system {system!r}: the entry has none of that name ({nearest(system, scores.systems)})")
    column = [str(own) for own in scores.measures].index(str(measure))
    return np.asarray(scores.values[scores.systems.index(system), column])


def _baseline(store: Store, entry: Entry, ref: str, system: str, measure: Measure) -> list[Floats]:
    """(q,) values of the open and of the held-out questions, of the system of another entry of the same ones."""
    other = store.entry(ref)
    if other.truth != entry.truth:
        raise InputError(f"entry {other.id} is of other questions than entry {entry.id}; evaluate both by one truth")
    parts = _parts(store, other)
    own = _measure(parts[0], str(measure))
    name = system if system in parts[0].systems else _best(parts[0], own)
    return [_values(part, name, own) for part in parts]
