"""Two entries of a store: what was changed, and what it did to which questions; entries of one commit are repeats."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import steelyard as sy
from steelyard.data.folders.run_folder import RunFolder
from steelyard.experiment.table.json import as_json
from steelyard.history.difference import difference
from steelyard.history.exporting import export
from steelyard.store.repeats import repeats_of
from tests.history.runs import MEASURES, SENTENCES, evaluated, flaky, run_folder

pytest.importorskip("sqlalchemy", reason="the extra 'store' is not installed")
pytest.importorskip("scipy.stats", reason="comparing needs the extra stats")

CHANGED = {name: text for name, text in SENTENCES.items() if name != "cats"} | {
    "owls": "Owls rest. Whales sing loudly at night.", "extra": "Bees dance wildly. Snails.",
}  # fmt: skip
TRUTH = {f"q{i:02}": {"d": 1} for i in range(40)}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[sy.Store]:
    with sy.Store(tmp_path / "history.db") as opened:
        yield opened


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return run_folder(tmp_path_factory.mktemp("first"))


def ranked(share: float, seed: int, n: int = 40) -> dict[str, list[str]]:
    rng = np.random.default_rng(seed)
    return {q: ["d"] if rng.random() < share else ["x", "d"] for q in list(TRUTH)[:n]}


def test_settings_documents_and_the_gold_that_they_touch(store: sy.Store, folder: RunFolder, tmp_path: Path) -> None:
    store.add(evaluated(folder), tags=["old"], commit="0123456789", dirty=False)
    other = run_folder(tmp_path / "second", CHANGED, asked=SENTENCES, index={"kind": "bm25", "k1": 2.0}, k=3)
    store.add(evaluated(other), commit="abcdef0123", dirty=True)
    found = difference(store, "tag=old", "latest")
    export(store, ["latest"], tmp_path / "out")
    assert set(pl.read_csv(tmp_path / "out" / "documents.csv")["digest"].str.len_chars()) == {16}
    settings = found.settings
    assert dict(settings.settings) == {"k": ("10", "3"), "index.1.k1": (None, "2.0")}
    assert {"corpus", "index", "run"} <= {*found.changed}
    assert "chunker" not in found.fingerprints  # It follows the corpus, and its settings are the same.
    assert found.fingerprints["truth"]
    assert "reranker" not in found.fingerprints
    assert found.corpus is not None
    assert (found.corpus.added, found.corpus.removed, found.corpus.changed) == (["extra"], ["cats"], ["owls"])
    assert dict(found.corpus.touched) == {"extra": ["bees"], "cats": ["cats"], "owls": ["owls"]}
    assert found.movers.select("query_id", "difference").rows() == [("cats", -1.0), ("owls", -1.0)]
    text = found.text(lang="en", width=100)
    assert "Changed: corpus (1 added, 1 removed, 1 changed), index, results." in " ".join(text.split())
    assert "Documents that changed are gold of 3 questions: bees, cats, owls." in " ".join(text.split())
    assert len(text.splitlines()) <= 12 + len(settings.settings) + 2
    assert "有变化的文档是 3 个问题的标准证据" in found.text(lang="zh")
    assert "abcdef0, with changes" in found.text("markdown", lang="en")
    assert "<script>alert" not in found.text("html", lang="en")


def test_a_stage_that_one_pipeline_lacks_is_a_change(store: sy.Store, folder: RunFolder, tmp_path: Path) -> None:
    first = store.add(evaluated(folder))
    second = store.add(evaluated(run_folder(tmp_path / "second", rerank={"kind": "lexical"})))
    found = difference(store, first.id, second.id)
    assert found.fingerprints["reranker"] is False
    assert found.fingerprints["corpus"]
    assert found.corpus is not None
    assert (found.corpus.added, found.corpus.removed, found.corpus.changed) == ([], [], [])
    assert "rerank.kind" in found.settings.settings


def test_questions_of_one_entry_alone_are_counted_and_left_out(store: sy.Store) -> None:
    first = store.add(sy.evaluate(TRUTH, {"s": ranked(0.9, 1)}, ["mrr"]))
    part = {q: TRUTH[q] for q in list(TRUTH)[:30]} | {"new": {"d": 1}}
    second = store.add(sy.evaluate(part, {"s": ranked(0.2, 2, 30) | {"new": ["d"]}}, ["mrr", "map"]))
    found = difference(store, first.id, second.id)
    assert (found.n_common, found.n_first_only, found.n_second_only) == (30, 10, 1)
    assert found.comparison.common is None
    assert found.comparison.n == {"mrr": 30}
    assert found.comparison.rows["mrr"][0].system == f"s@{first.id}"
    assert found.fingerprints["truth"] is False
    assert "The gold of both differs" in " ".join(found.text(lang="en").split())
    unknown = difference(store, first.id, second.id, measures="mrr", margin=0.5)
    assert unknown.comparison.margin == 0.5
    assert unknown.corpus is None


def test_entries_without_a_common_question_are_compared_unpaired(store: sy.Store) -> None:
    first = store.add(sy.evaluate(TRUTH, {"s": ranked(0.9, 1)}, ["mrr"]))
    other = {f"x{q}": run for q, run in ranked(0.2, 2).items()}
    second = store.add(sy.evaluate({q: {"d": 1} for q in other}, {"s": other}, ["mrr"]))
    found = difference(store, first.id, second.id)
    assert found.comparison.common == {f"s@{second.id}": 0}
    assert found.text(lang="en").startswith(f"Unpaired: s@{first.id} beats s@{second.id}.")
    assert found.movers.is_empty()


def test_entries_of_one_commit_are_repeats(store: sy.Store, folder: RunFolder, tmp_path: Path) -> None:
    again = [flaky(folder, tmp_path / name, name) for name in ("whales", "bees")]
    runs = [folder, *again]
    entries = [store.add(evaluated(own), commit="c1", dirty=False) for own in runs]
    store.add(evaluated(folder), commit="c1", dirty=False)  # The same results again, as of a gate.
    store.add(evaluated(flaky(folder, tmp_path / "dirty", "cats")), commit="c1", dirty=True)
    elsewhere = store.add(evaluated(flaky(folder, tmp_path / "other", "owls")), commit="c2", dirty=False)
    together = repeats_of(store, entries[1].id)
    questions = folder.path.parent / "questions.jsonl"
    direct = sy.evaluate(questions, {"hybrid": sy.Repeats([own.path for own in runs])}, MEASURES)
    assert together.repeats["hybrid"].tolist() == direct.repeats["hybrid"].tolist()
    assert together.values.tolist() == direct.values.tolist()
    assert together.components.equals(direct.components)
    assert together.components["sd_runs"][0] > 0
    assert as_json(repeats_of(store, elsewhere.id)) == as_json(store.scores(elsewhere.id))
    found = difference(store, entries[0].id, elsewhere.id)
    assert found.runs == (3, 1)
    assert found.comparison.components["n_runs"].to_list() == [3, 3]
    assert "mean of 3 runs" in " ".join(found.text(lang="en", explain=True).split())
    of_two_runs = difference(store, entries[0].id, entries[1].id)
    assert of_two_runs.runs == (1, 1)
    assert of_two_runs.movers["query_id"].to_list() == ["whales"]


def test_files_of_rankings_are_repeats_by_their_names(store: sy.Store) -> None:
    first = store.add(sy.evaluate(TRUTH, {"s": ranked(0.9, 1)}, ["mrr"]), commit="c1", dirty=False)
    for runs in ({"s": ranked(0.9, 2)}, {"other": ranked(0.9, 3)}):
        store.add(sy.evaluate(TRUTH, runs, ["mrr"]), commit="c1", dirty=False)
    assert len(repeats_of(store, first.id).repeats["s"]) == 2


def test_what_cannot_be_compared(store: sy.Store) -> None:
    first = store.add(sy.evaluate(TRUTH, {"a": ranked(0.9, 1)}, ["mrr"]))
    second = store.add(sy.evaluate(TRUTH, {"b": ranked(0.5, 2)}, ["map"]))
    third = store.add(sy.evaluate(TRUTH, {"b": ranked(0.5, 2), "c": ranked(0.8, 3)}, ["mrr"]))
    with pytest.raises(sy.InputError, match="are the same entry"):
        difference(store, first.id, first.id)
    with pytest.raises(sy.InputError, match="no measure in common that can be compared: mrr; map"):
        difference(store, first.id, second.id)
    with pytest.raises(sy.InputError, match=f"entry {first.id}: no system is called 'c'"):
        difference(store, first.id, third.id, system="c")
    assert difference(store, first.id, third.id).systems == (f"a@{first.id}", f"c@{third.id}")
