"""Published figures of agreement again: each with ours, its interval, and what others got from the same labels."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.judged import rater_sets
from benchmarks.simulated.tables import Table

import steelyard as sy
from steelyard.comparison.raters.pairs import Estimate, RaterPair
from steelyard.stats.intervals.resampling import N_RESAMPLES

DIGITS = 4
Agree = Callable[..., sy.Agreement]


@dataclass(frozen=True)
class Figure:
    """A figure of a set: ours, its interval (NaN without), and the published one."""

    set: str
    what: str
    ours: float
    low: float
    high: float
    published: float

    @property
    def met(self) -> bool:
        """Whether both are the same to the last digit that is published."""
        return round(self.ours, DIGITS) == self.published

    def row(self) -> dict[str, Any]:
        """As a line of JSON."""
        ends = {
            name: None if math.isnan(end) else round(end, DIGITS)
            for name, end in (("low", self.low), ("high", self.high))
        }
        return {"set": self.set, "what": self.what, "ours": round(self.ours, DIGITS), **ends,
                "published": self.published, "met": self.met}  # fmt: skip

    def cells(self) -> tuple[str, ...]:
        """As a row of a table."""
        ends = "–" if math.isnan(self.low) else f"{self.low:.3f} to {self.high:.3f}"
        return self.set, self.what, f"{self.ours:.4f}", ends, f"{self.published:.4f}", "yes" if self.met else "**no**"


def figure_table(title: str, figures: list[Figure]) -> Table:
    """One row a figure."""
    header = ("set", "what", "ours", "95% interval", "published", "equal")
    return Table(title, header, [figure.cells() for figure in figures])


def all_figures(folder: Path, *, n_resamples: int = N_RESAMPLES) -> Iterator[Figure]:
    """Of the six sets, in order; 223 of them."""
    published = json.loads((folder / "reference.json").read_text(encoding="utf-8"))
    for part in (_ragchecker, _mtrag, _llmjudge, _open_qa, _fair_eval, _wice):
        yield from part(folder, published, partial(sy.agreement, n_resamples=n_resamples))


def _ragchecker(folder: Path, published: dict[str, float], agree: Agree) -> Iterator[Figure]:
    names = {"kappa": "kappa_nominal"}
    for aspect in rater_sets.PREFERENCES:
        pair = agree(rater_sets.ragchecker(folder, aspect)).pairs[0]
        key = f"ragchecker_meta.{aspect}."
        yield _count("RAGChecker", f"{aspect}, same label", pair, published[f"{key}exact"])
        for name in ("kappa", "kappa_linear", "kappa_quadratic", "alpha_nominal", "alpha_ordinal", "alpha_interval"):
            yield _figure(
                "RAGChecker", f"{aspect}, {name}", pair.estimates[name], published[key + names.get(name, name)]
            )


def _mtrag(folder: Path, published: dict[str, float], agree: Agree) -> Iterator[Figure]:
    for aspect in rater_sets.ASPECTS:
        together = agree(rater_sets.mtrag(folder, aspect)).together
        for scale in ("ordinal", "interval"):
            key = f"alpha_{scale}"
            yield _figure("MTRAG", f"{aspect}, {key}", together[scale], published[f"mtrag.{key}_{aspect}"])


def _llmjudge(folder: Path, published: dict[str, float], agree: Agree) -> Iterator[Figure]:
    names = {"kappa": "kappa", "kappa_quadratic": "kappa_quadratic", "alpha_ordinal": "alpha_ordinal",
             "binary_kappa": "kappa_binary_ge2", "mean_difference": "mean_minus_human"}  # fmt: skip
    for pair in agree(rater_sets.llmjudge(folder), reference="human", min_gain=2).pairs:
        for name, key in names.items():
            value = published[f"llmjudge.judge.{pair.rater}.{key}"]
            yield _figure("LLMJudge", f"{pair.rater}, {name}", pair.estimates[name], value)


def _open_qa(folder: Path, published: dict[str, float], agree: Agree) -> Iterator[Figure]:
    rows = rater_sets.open_qa(folder)
    people = agree(rows, raters=["annotator1", "annotator2", "annotator3"])
    first = next(pair for pair in people.pairs if {pair.rater, pair.against} == {"annotator1", "annotator2"})
    key = "openqa.annotators_1_2."
    yield _count("OpenQA", "annotators 1 and 2, same label", first, published[f"{key}exact"])
    yield _figure("OpenQA", "annotators 1 and 2, kappa", first.estimates["kappa"], published[f"{key}kappa"])
    yield _figure(
        "OpenQA",
        "annotators 1 and 2, alpha_nominal",
        first.estimates["alpha_nominal"],
        published[f"{key}alpha_nominal"],
    )
    yield _figure(
        "OpenQA", "three annotators, alpha_nominal", people.together["nominal"], published[f"{key}alpha_nominal_1_2_3"]
    )
    judges = ["gpt4", "text-davinci-003", "bem", "em", "contains", "f1"]
    pairs = {
        pair.rater: pair for pair in agree(rows, reference="verdict", min_gain=1, raters=["verdict", *judges]).pairs
    }
    for judge in judges[:3]:
        for name, of in (("kappa", "kappa"), ("exact", "accuracy")):
            value = published[f"openqa.judge_{judge}.{of}"]
            yield _figure("OpenQA", f"{judge}, {name}", pairs[judge].estimates[name], value)
    for judge in judges[3:5]:
        for name, of in (("kappa", "kappa"), ("exact", "accuracy")):
            value = published[f"openqa.lexical.{judge}_{of}"]
            yield _figure("OpenQA", f"{judge}, {name}", pairs[judge].estimates[name], value)
    yield _figure("OpenQA", "f1, auc", pairs["f1"].estimates["auc"], published["openqa.lexical.f1_auc"])


def _fair_eval(folder: Path, published: dict[str, float], agree: Agree) -> Iterator[Figure]:
    pairs = {pair.rater: pair for pair in agree(rater_sets.fair_eval(folder), reference="people").pairs}
    key = "gpt4_reviews.vs_human."
    for name, of in (("exact", "agreement"), ("kappa", "kappa"), ("kappa_quadratic", "kappa_quadratic")):
        yield _figure("FairEval", f"gpt-4, {name}", pairs["gpt-4"].estimates[name], published[key + of])
    spearman = pairs["difference"].estimates["spearman"]
    yield _figure("FairEval", "difference of scores, spearman", spearman, published[f"{key}spearman_difference"])


def _wice(folder: Path, published: dict[str, float], agree: Agree) -> Iterator[Figure]:
    for pair in agree(rater_sets.wice(folder), reference="people", min_gain=2).pairs:
        names = {"auc": "auc_supported", "kappa": "kappa", "kappa_quadratic": "kappa_quadratic", "exact": "accuracy"}
        for name, of in names.items():
            if (value := published.get(f"wice.judge.{pair.rater}.{of}")) is not None:
                yield _figure("WiCE", f"{pair.rater}, {name}", pair.estimates[name], value)


def _figure(set_name: str, what: str, estimate: Estimate, published: float) -> Figure:
    return Figure(set_name, what, estimate.value, estimate.low, estimate.high, published)


def _count(set_name: str, what: str, pair: RaterPair, published: float) -> Figure:
    """How many items have the same label."""
    return Figure(set_name, what, pair.estimates["exact"].value * pair.n, math.nan, math.nan, published)
