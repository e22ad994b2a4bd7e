"""How worn questions are: configurations counted, the best one and its lead beside luck's."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import steelyard as sy
from steelyard.history.listing import list_entries
from steelyard.history.wear import wear
from steelyard.reports.views.wear import wear_text
from steelyard.reports.words import read_words
from steelyard.stats.luck import luck, scatter

IDS = [f"q{i}" for i in range(60)]
TRUTH = {q: {"d": 1} for q in IDS}


def run(seed: int, share: float = 0.5) -> dict[str, list[str]]:
    rng = np.random.default_rng(seed)
    return {q: ["d"] if rng.random() < share else ["x", "d"] for q in IDS}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[sy.Store]:
    with sy.Store(tmp_path / "history.db") as opened:
        yield opened


def test_equal_configurations_lead_as_luck_says(store: sy.Store) -> None:
    entries = [store.add(sy.evaluate(TRUTH, {f"s{n}": run(n)}, ["mrr", "recall@2"])) for n in range(8)]
    worn, means = wear(store), store.means("mrr")["mean"].to_numpy()
    assert worn is not None
    assert (worn.measure, worn.n_questions, worn.n_configs, worn.since) == ("mrr", 60, 8, entries[0].time)
    assert (worn.entry, worn.mean) == (entries[int(means.argmax())].id, means.max())
    values = np.stack([store.scores(entry.id).values[0, 0] for entry in entries])
    error = scatter(values)
    assert error is not None
    assert worn.luck == luck(means, error, 8, seed=0)
    assert worn.luck.over_average.mean == pytest.approx(1.4236 * 0.25 / 60**0.5, rel=0.15)
    assert worn.detectable < worn.detectable_now


def test_a_configuration_that_is_evaluated_again_counts_once(store: sy.Store) -> None:
    for seed in (0, 1, 0, 0):
        store.add(sy.evaluate(TRUTH, {"s": run(seed)}, "mrr"))
    store.add(sy.evaluate({**TRUTH, "other": {"d": 1}}, {"s": run(5)}, "mrr"))
    assert wear(store) is None
    truth = store.entries()["truth"][-1]
    worn = wear(store, truth=truth)
    assert worn is not None
    assert worn.n_configs == 2


def test_nothing_is_worn_without_entries_of_two_configurations(store: sy.Store) -> None:
    store.add(sy.evaluate(TRUTH, {"s": run(0)}, ["mrr", "gm_map"]))
    assert wear(store) is None
    with pytest.raises(sy.InputError, match="luck is computed of arithmetic means alone"):
        wear(store, "gm_map")


def test_questions_that_are_clusters_scatter_more(store: sy.Store) -> None:
    talks = {q: i // 6 for i, q in enumerate(IDS)}
    alike = {seed: np.random.default_rng(seed).random(10) < 0.5 for seed in range(4)}
    for seed, good in alike.items():
        own = {q: ["d"] if good[talks[q]] else ["x", "d"] for q in IDS}
        store.add(sy.evaluate(TRUTH, {f"s{seed}": own}, "mrr", cluster=talks))
    worn = wear(store)
    assert worn is not None
    assert worn.luck is not None
    assert worn.luck.error > 0.04


def test_one_line_in_both_languages(store: sy.Store) -> None:
    for seed in range(3):
        store.add(sy.evaluate(TRUTH, {f"s{seed}": run(seed)}, "mrr"))
    worn = wear(store)
    assert worn is not None
    assert wear_text(worn, read_words("en")).startswith("3 configurations were tried on 60 questions since 20")
    assert "3 个配置" in wear_text(worn, read_words("zh"))


def test_the_list_of_entries_ends_with_it(store: sy.Store) -> None:
    store.add(sy.evaluate(TRUTH, {"s": run(0)}, "mrr"))
    assert list_entries(store).worn is None
    store.add(sy.evaluate(TRUTH, {"s": run(1)}, "mrr"))
    assert "configurations" not in list_entries(store).text(lang="en")
    store.add(sy.evaluate(TRUTH, {"s": run(2)}, "mrr"))
    assert "3 configurations were tried on 60 questions" in list_entries(store).text(lang="en")
    assert "60 个问题上共试过 3 个配置" in list_entries(store).text("markdown", lang="zh")
    store.add(sy.evaluate(TRUTH, {"s": run(1)}, "gm_map"))
    assert list_entries(store).worn is None
