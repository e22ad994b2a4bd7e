"""Gates of questions that are no independent evidence."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import steelyard as sy
from steelyard.data.clusters import Clustering
from steelyard.experiment.table.scores import Scores
from steelyard.gates.gating import gate
from steelyard.stats.tests.equivalence import non_inferiority
from tests.gates.stated import scores_of

RNG = np.random.default_rng(3)
CODES = np.repeat(np.arange(8), 5)
BASE = RNG.uniform(0.3, 0.7, 40)
NEW = BASE + RNG.normal(0, 0.03, 8)[CODES] + RNG.normal(0, 0.01, 40)
NEW += 0.003 - (NEW - BASE).mean()


def clustered(codes: np.ndarray = CODES, by: str = "doc") -> Scores:  # type: ignore[type-arg]
    scores = scores_of([BASE, NEW], ["recall@5"], systems=["old", "new"])
    return replace(scores, clustering=Clustering(by, codes), recipe_parts={**scores.recipe_parts, "cluster": by})


def test_a_margin_is_held_by_cluster() -> None:
    (check,) = gate(clustered(), baseline="old", margin=0.01).checks
    test = non_inferiority(NEW - BASE, margin=0.01, width=1, clusters=CODES)
    assert (check.low, check.reason) == (test.low, "undecided")
    assert check.detectable > 0.02
    assert check.needed is not None
    assert check.needed > 40
    plain = scores_of([BASE, NEW], ["recall@5"], systems=["old", "new"])
    (alone,) = gate(plain, baseline="old", margin=0.01).checks
    assert check.low < alone.low


def test_levels_are_held_by_cluster() -> None:
    (check, *_) = gate(clustered(), profile="ratings", system="new").checks
    plain = gate(scores_of([BASE, NEW], ["recall@5"], systems=["old", "new"]), profile="ratings", system="new").checks[
        0
    ]
    assert check.value == plain.value
    assert (check.low, check.high) != (plain.low, plain.high)


def test_one_cluster_is_too_few_data() -> None:
    verdict = gate(clustered(np.zeros(40, int)), baseline="old", margin=0.01)
    assert (verdict.outcome, verdict.checks[0].reason) == ("insufficient", "no_interval")
    assert "1 cluster is too few: nothing can be tested." in verdict.text(lang="en")


def test_clusters_are_named() -> None:
    text = gate(clustered(by="talk"), baseline="old", margin=0.01).text(lang="en", explain=True)
    assert "Questions with the same talk count as one cluster: 40 questions in 8 clusters." in text
    assert "40 个问题共 8 组" in gate(clustered(), baseline="old", margin=0.01).text(lang="zh", explain=True)


def test_other_clusters_are_refused() -> None:
    plain = scores_of([BASE], ["recall@5"], systems=["old"])
    with pytest.raises(sy.InputError, match="cluster 'talk': these scores take the clusters 'doc'; write them with"):
        gate(clustered(), baseline="old", margin=0.01, cluster="talk")
    with pytest.raises(sy.InputError, match="cluster 'doc': these scores take each question by itself"):
        gate(plain, profile="ratings", cluster="doc")
    with pytest.raises(sy.InputError, match="go by the clusters 'doc', and the baseline by None; evaluate both alike"):
        gate(clustered().filter(systems="new"), baseline=plain, margin=0.01)


def test_a_run_folder_is_weighed_by_the_clusters_asked_for(tmp_path: Path) -> None:
    pytest.importorskip("bm25s", reason="pipelines need the extra rag")
    from steelyard.demo import copy_data
    from steelyard.rag.config import Config
    from steelyard.rag.weighed_run import run_and_weigh

    folder = copy_data(tmp_path / "demo")
    config = Config.read(folder / "bm25.toml")
    (check, *_) = gate(
        run_and_weigh(config).folder.path, profile="ratings", truth=config.questions, cluster="doc"
    ).checks
    scores = run_and_weigh(config, measures=[check.name], cluster="doc").scores
    assert (check.low, check.high) == pytest.approx((scores.intervals.low[0, 0], scores.intervals.high[0, 0]))
    with pytest.raises(sy.InputError, match="cluster 'talk': no question has such a field"):
        run_and_weigh(config, cluster="talk")
