"""Results come back from a store to the last bit, whatever they hold, and however little is kept apart."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import steelyard as sy
from steelyard.base.notes import Note
from steelyard.data.clusters import Clustering
from steelyard.experiment import parts
from steelyard.experiment.table.arrays import CAUSES
from steelyard.store import kinds
from tests.comparison.test_comparison import EARLY, LATE, TRUTH
from tests.comparison.test_labels import labels_of, weighing
from tests.experiment.test_scores_json import all_scores, ids, numbers
from tests.hypothesis_profiles import examples
from tests.test_results import MADE, SHOWN


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> sy.Store:
    return sy.Store(tmp_path_factory.mktemp("round") / "history.db")


def check(store: sy.Store, result: Any) -> None:
    """All parts of a result come back as they were."""
    entry = store.add(result, commit="c0ffee")
    for name, part in kinds.results_of(result).items():
        again = store.result(entry.id, name)
        if isinstance(part, sy.Verdicts):
            assert again == part
        elif name in ("ceilings", "requests", "rankings"):
            assert again.equals(part)
        else:
            assert parts.parts_of(again) == parts.parts_of(part)
            assert repr(again) == repr(part)


@st.composite
def rich_scores(draw: st.DrawFn) -> sy.Scores:
    """Scores with all that scores may have, but corrections."""
    scores: sy.Scores = draw(all_scores())
    s, m, q = scores.values.shape

    def array(elements: st.SearchStrategy[Any], *shape: int, dtype: Any = float) -> Any:
        flat = draw(st.lists(elements, min_size=math.prod(shape), max_size=math.prod(shape)))
        return np.array(flat, dtype=dtype).reshape(shape)

    name = st.sampled_from(list(scores.systems))
    specs = st.lists(st.sampled_from([str(measure) for measure in scores.measures]), unique=True)
    codes = np.unique(array(st.integers(0, 3), q, dtype=np.int64), return_inverse=True)[1].astype(np.int64)
    values = st.dictionaries(ids, st.integers(-(2**70), 2**70) | ids | st.lists(ids) | numbers | st.none(), max_size=2)
    return replace(
        scores,
        perfect={spec: array(numbers, s, q) for spec in draw(specs)},
        ceilings={spec: array(numbers, s, q) for spec in draw(specs)},
        repeats={draw(name): array(numbers, draw(st.integers(2, 3)), m, q) for _ in range(draw(st.integers(0, 2)))},
        notes={draw(name): [Note(draw(ids), draw(values))]} if draw(st.booleans()) else {},
        clustering=Clustering(draw(ids), codes) if draw(st.booleans()) else None,
        causes=array(st.integers(0, len(CAUSES)), s, m, q, dtype=np.int8) if draw(st.booleans()) else None,
    )


@examples(150)
@given(scores=rich_scores(), large=st.sampled_from([1, 100, parts._LARGE]), row=st.sampled_from([1, 1 << 20]))
def test_any_scores(store: sy.Store, scores: sy.Scores, large: int, row: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parts, "_LARGE", large)
        patch.setattr(parts, "_LARGE_ROW", row)
        check(store, scores)


def with_labels(_: Path) -> sy.Comparison:
    return sy.compare(weighing(labels_of()), measures="faithfulness", segments="tag")


def with_ties(_: Path) -> sy.Comparison:
    questions = sy.Questions([{"qid": query, "query": "who?", "tags": [f"t{query > 'q2'}"]} for query in TRUTH])
    asked = sy.weigh(TRUTH, {"late": LATE, "early": EARLY}, questions=questions)
    return sy.compare(asked, measures="mrr", segments="tag")


HELD = {name: MADE[name] for name in (*kinds._HOMES, *kinds._WITHIN)}
HELD |= {
    "Verdicts": lambda path: SHOWN["Verdicts"](), "Comparison corrected by labels": with_labels,
    "Comparison with segments": with_ties,
    "Scores corrected by labels": lambda path: weighing(labels_of()).scores("faithfulness"),
    "Gate by labels": lambda path: sy.gate(weighing(labels_of()).scores("faithfulness"), baseline="b", margin=0.3),
}  # fmt: skip


@pytest.mark.parametrize("name", HELD)
def test_every_kind_of_result(name: str, store: sy.Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = HELD[name](tmp_path)
    assert kinds.is_held(result)
    for large in (1, parts._LARGE):
        monkeypatch.setattr(parts, "_LARGE", large)
        check(store, result)
