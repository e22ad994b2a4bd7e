"""How far a judge agrees with people on the items of a review."""

from __future__ import annotations

import pytest

from steelyard.reviewing.agreement import DecidedItem, judge_agreement
from steelyard.stats.labels.raters import wilson_ends


def test_items_that_go_wrong_together_count_as_fewer() -> None:
    """Ten questions of four items, in two of which the judge is wrong about all: a share of ten, and not of forty."""
    together = [
        DecidedItem(f"{q}-{n}", f"q{q}", "supported", is_supported=q > 1, score=None)
        for q in range(10)
        for n in range(4)
    ]
    apart = [DecidedItem(own.item_id, own.item_id, own.label, own.is_supported, None) for own in together]
    rates = [judge_agreement(listed).sensitivity for listed in (together, apart)]
    assert [rate.value for rate in rates] == [0.8, 0.8]
    assert (rates[0].low, rates[0].high) == pytest.approx(wilson_ends(0.8, 10))
    assert (rates[1].low, rates[1].high) == pytest.approx(wilson_ends(0.8, 40))
