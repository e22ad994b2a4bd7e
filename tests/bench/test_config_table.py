"""What a bench configuration refuses, and in which words."""

from typing import Any

import pytest

import steelyard as sy
from steelyard.bench.config import BenchConfig

SYSTEMS = {"systems": {"words": {"rerank": "lexical"}}}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            {"load": {"slo": "p95=0"}},
            r"^p95=0 is no objective; expected a time above 0 with its unit, such as p95=500ms",
        ),
        ({"load": {"slo": "p95=soon, p99=1s"}}, "^p95=soon is no objective"),
        ({"load": {"slo": "p95"}}, "^'p95' is no objective"),
        ({"measures": ["ndcg@10:p10", "map:p5"]}, "has percentiles alone, .*; name one too, such as ndcg@10"),
    ],
)
def test_what_cannot_be_is_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(sy.InputError, match=message):
        BenchConfig.of(SYSTEMS | values)


def test_percentiles_may_stand_beside_means() -> None:
    assert BenchConfig.of(SYSTEMS | {"measures": ["ndcg@10:p10", "map"]}).measures == ["ndcg@10:p10", "map"]
