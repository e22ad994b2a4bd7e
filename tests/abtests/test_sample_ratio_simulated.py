"""Sample ratio mismatches of known origin; `python -m benchmarks.decisions --table sample-ratio` has all."""

import pytest
from benchmarks.simulated.sample_ratios import outcomes


@pytest.mark.slow
def test_chance_hardly_ever_blocks_and_a_loss_of_one_browser_is_named():
    blocks, careful, _ = outcomes("nothing", 2_000, draws=1_000, seed=1)
    assert blocks <= 0.004
    assert careful <= 0.004
    blocks, _, named = outcomes("a half of firefox", 20_000, draws=30, seed=1)
    assert (blocks, named) == (1.0, 1.0)
    blocks, _, named = outcomes("a tenth everywhere", 20_000, draws=30, seed=1)
    assert (blocks, named >= 0.9) == (1.0, True)
