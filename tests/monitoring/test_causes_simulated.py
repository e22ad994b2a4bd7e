"""Causes of alerts where the truth is simulated; `python -m benchmarks.decisions --table causes` has all events."""

import pytest
from benchmarks.simulated.causes import EVENTS, Event, named


@pytest.mark.slow
@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.name)
def test_the_right_cause_is_named_first(event: Event) -> None:
    first, n_alerts = named(event, 20, seed=7)
    assert first[event.cause] >= 17
    assert n_alerts < 1.6
