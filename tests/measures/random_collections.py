"""Small random collections, and every measure with parameters, for Hypothesis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl
from hypothesis import strategies as st

import steelyard as sy
from steelyard.measures import Definition, Measure, Word, make
from steelyard.measures.parameters import Parameter
from tests.hypothesis_profiles import PROFILE

# UTF-8 order, UTF-16 order (𠀀 before ！) and any locale's order differ on these.
DOCS = ("A1", "D10", "D9", "a1", "d", "é", "中文", "文档一", "文档二", "！", "𠀀", "z z")
GAINS = (-2.0, -1.0, 0.0, 0.5, 1.0, 2.0, 3.0, 4.0)
QUERIES = ("q1", "q10", "q2", "问题", "Q2")

Truth = Mapping[str, Mapping[str, float]]
Scored = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True)
class Collection:
    """A truth and a run; the run may lack queries, and may hold empty lists and queries the truth does not judge."""

    truth: Truth
    run: Scored


def labels(gains: Sequence[float] = GAINS, min_size: int = 0) -> st.SearchStrategy[dict[str, float]]:
    return st.dictionaries(st.sampled_from(DOCS), st.sampled_from(gains), min_size=min_size)


def rankings(min_size: int = 0, n_scores: int = 6) -> st.SearchStrategy[dict[str, float]]:
    """Few different scores, so most lists have ties; multiples of 1/8 survive 32 bits."""
    scores = st.integers(-n_scores, n_scores).map(lambda i: i / 8)
    return st.dictionaries(st.sampled_from(DOCS), scores, min_size=min_size)


@st.composite
def collections(draw: st.DrawFn, gains: Sequence[float] = GAINS, min_size: int = 0) -> Collection:
    queries = draw(st.lists(st.sampled_from(QUERIES), min_size=1, max_size=4, unique=True))
    truth = {query: draw(labels(gains, min_size)) for query in queries}
    kept = [query for query in queries if query == queries[0] or draw(st.booleans())]
    run = {query: draw(rankings(min_size)) for query in kept}
    return Collection(truth, run | ({"unjudged": draw(rankings())} if draw(st.booleans()) else {}))


def frame(run: Scored) -> pl.DataFrame:
    rows = [(query, doc, score) for query, scores in run.items() for doc, score in scores.items()]
    return pl.DataFrame(rows, schema={"query_id": pl.String, "doc_id": pl.String, "score": pl.Float64}, orient="row")


def values(
    collection: Collection, measures: Sequence[str | Measure] | str, run: object | None = None
) -> npt.NDArray[np.float64]:
    """(m, q) values of the collection's run, or of another one."""
    scores = sy.evaluate(collection.truth, collection.run if run is None else run, measures)
    return np.asarray(scores.values[0])


def builtin() -> list[Definition]:
    """What ships with Steelyard."""
    return [d for d in sy.definitions() if d.kernel.__module__.startswith("steelyard.")]


def without_evidence() -> list[Definition]:
    """Those that a truth of ids is enough for; tests/evidence has those that count characters."""
    return [d for d in builtin() if not d.of_answers and "characters" not in d.inputs]


def of_answers() -> list[Definition]:
    """Those that are computed from verdicts on answers."""
    return [definition for definition in builtin() if definition.of_answers]


_CHOICES: dict[str, st.SearchStrategy[object]] = {
    "min_gain": st.sampled_from([0.0, 0.5, 1.0, 2.0, 3.0, 5.0]),
    "beta": st.sampled_from([0.5, 1.0, 2.0]),
    "beta_squared": st.sampled_from([0.5, 1.0, 3.0]),
    "p": st.sampled_from([0.5, 0.8, 0.95]),
    "multiple": st.sampled_from([0.05, 0.2, 0.5, 1.0, 1.4, 2.0]),
    "max_gain": st.sampled_from([4.0, 5.0]),
    "gain": st.sampled_from(["linear", "exp", ((1.0, 3.5), (2.0, 9.0)), ((0.0, 0.5), (3.0, 0.0), (4.0, 1.0))]),
    "ties": st.just("canonical"),
    "tail": st.sampled_from(["always", "unjudged"]),
    "ideal": st.sampled_from(["judged", "retrieved"]),
    "pool": st.sampled_from(["all", "judged"]),
    "scope": st.sampled_from(["truth", "retrieved"]),
    "n_docs": st.sampled_from([0.0, 100.0]),
}
_CUTOFFS: dict[str | None, st.SearchStrategy[float | None]] = {
    "k": st.sampled_from([None, 1, 2, 3, 5, 10, 50]),
    "recall": st.sampled_from([i / 20 for i in range(21)]),
    None: st.none(),
}


def _words_or_numbers(parameter: Parameter) -> st.SearchStrategy[object]:
    return st.sampled_from((parameter.words or ("polite",)) if isinstance(parameter, Word) else [-2.0, 0.0, 1.0, 1.5])


@st.composite
def specs(draw: st.DrawFn, definition: Definition) -> Measure:
    """The measure with some of its parameters and cut-offs."""
    params = {
        key: draw(_CHOICES.get(key, _words_or_numbers(parameter)))
        for key, parameter in definition.parameters.items()
        if draw(st.booleans())
    }
    params = {key: value for key, value in params.items() if definition.parameters[key].unless not in params}
    return make(definition.name, draw(_CUTOFFS[definition.cutoff]), params)  # type: ignore[arg-type]


def some_specs() -> st.SearchStrategy[list[Measure]]:
    """One spec of each measure that needs no evidence, or, in the quick profile, of each in a fifth of them."""
    n_parts = 5 if PROFILE == "quick" else 1
    parts = [without_evidence()[i::n_parts] for i in range(n_parts)]
    return st.one_of([st.tuples(*map(specs, definitions)).map(list) for definitions in parts])
