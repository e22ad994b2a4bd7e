"""Measures of what users did with what they were shown.

They are shares of the requests that were served: an outage is no loss of quality.
"""

import polars as pl

from steelyard.traffic.measures.registry import Ratio, Values, traffic_measure

SERVED = pl.col("is_served")
_SATISFIED_S = 30
_RATED = (pl.col("n_thumbs") > 0) | pl.col("rating").is_not_null()


def share(condition: pl.Expr, of: pl.Expr = SERVED) -> Ratio:
    """Share of those requests where a condition holds."""
    return Ratio(of & condition, of)


@traffic_measure(stream="feedback", floor=0.01, needs=["event:click"])
def ctr() -> Ratio:
    """Requests with a click on any result."""
    return share(pl.col("n_clicks") > 0)


@traffic_measure(stream="feedback", scale="real", floor=0.02, needs=["event:click"], usual=["@5"])
def clicks(k: int) -> Ratio:
    """Clicks on the first k results, per request."""
    return Ratio(pl.when(SERVED).then(f"clicks@{k}"), SERVED)


@traffic_measure(stream="feedback", floor=0.01, needs=["event:click"])
def first_click_rr() -> Ratio:
    """Reciprocal of the rank of the first click, mean; 0 without a click."""
    reciprocal = (1 / pl.col("first_click_rank")).fill_null(0.0)
    return Ratio(pl.when(SERVED).then(reciprocal), SERVED)


@traffic_measure(stream="feedback", better="lower", floor=0.01, needs=["event:click"], usual=[])
def abandonment() -> Ratio:
    """Requests without a click on a result."""
    return share(pl.col("is_abandoned"))


@traffic_measure(stream="feedback", better="lower", floor=0.01, needs=["event:click"])
def bad_abandonment() -> Ratio:
    """Requests without a click, and without a sign that the user left satisfied."""
    return share(pl.col("is_badly_abandoned"))


@traffic_measure(
    stream="feedback", better="either", floor=0.01,
    needs=["event:click", "event:good_abandon|event:accept|event:copy|event:thumb|event:citation_click|event:success"],
)  # fmt: skip
def good_abandonment() -> Ratio:
    """Requests without a click whose user left satisfied: accepted or copied the answer, opened a citation, gave a
    thumb up, reached the goal, or as the service knows."""
    return share(pl.col("is_well_abandoned"))


@traffic_measure(
    stream="feedback", better="lower", floor=0.01,
    needs=["impression:session|impression:user|event:reformulation"],
)  # fmt: skip
def reformulation() -> Ratio:
    """Requests that were asked again in other words: as the service knows, or by the next request of the session,
    within 5 minutes, another text with at least half of the words of the shorter one."""
    return share(pl.col("is_reformulated"))


@traffic_measure(stream="feedback", floor=0.01, needs=["event:dwell"])
def satisfied_click() -> Ratio:
    """Requests with a result that was read for 30 seconds or longer."""
    return share(pl.col("dwell_s").fill_null(0) >= _SATISFIED_S)


@traffic_measure(stream="feedback", better="either", floor=0.01, needs=["event:survey", "event:thumb|event:rating"])
def response_rate() -> Ratio:
    """Requests with a thumb or a rating, of those that were asked for one.  Read it before what they say: where another
    part of the users answers, thumbs and ratings change by that alone."""
    return share(_RATED, SERVED & ((pl.col("n_offered") > 0) | _RATED))


@traffic_measure(stream="feedback", better="either", floor=0.005, needs=["event:thumb|event:rating"])
def rated() -> Ratio:
    """Requests with a thumb or a rating, of all."""
    return share(_RATED)


@traffic_measure(stream="feedback", floor=0.02, needs=["event:thumb"])
def thumbs_up() -> Ratio:
    """Requests with thumbs up, of those with thumbs; both on one request are none."""
    return share(pl.col("thumbs") > 0, pl.col("thumbs") != 0)


@traffic_measure(stream="feedback", scale="real", floor=0.1, needs=["event:rating"])
def csat() -> Values:
    """Satisfaction from 1 to 5, mean of the requests with a rating."""
    return Values(pl.col("rating"))


@traffic_measure(stream="feedback", floor=0.01, needs=["event:accept"])
def accepted() -> Ratio:
    """Requests whose answer was accepted or used."""
    return share(pl.col("n_accepted") > 0)


@traffic_measure(stream="feedback", floor=0.01, needs=["event:citation_click"])
def citation_clicked() -> Ratio:
    """Requests where a citation of the answer was opened, of those whose answer has citations as far as is logged."""
    return share(pl.col("n_citation_clicks") > 0, SERVED & (pl.col("n_citations").fill_null(1) > 0))


@traffic_measure(stream="feedback", floor=0.01, needs=["event:success"])
def success() -> Ratio:
    """Requests whose user reached the goal, as the service knows."""
    return share(pl.col("n_successes") > 0)


@traffic_measure(
    stream="feedback", better="lower", scale="positive", floor=0.1, needs=["event:success|event:accept"],
    usual=[":p50"],
)  # fmt: skip
def time_to_success() -> Values:
    """Seconds from a request to its success, or else to the acceptance of its answer; requests without either are left
    out."""
    return Values(pl.col("success_s"))
