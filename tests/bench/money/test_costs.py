"""What questions cost: the sums that are known, who counted, machines of one's own, and what nobody knows."""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

import polars as pl
import pytest

from steelyard.base.errors import InputError
from steelyard.bench.config import BenchConfig
from steelyard.bench.costs import costs, request_costs, stored_prices, system_prices
from steelyard.bench.frames import COSTS, RANKINGS, REQUESTS, SUSTAINED

DAY = date(2026, 11, 23)
NO_RANKINGS = RANKINGS.to_frame()


def config_of(price: object = None, **tables: Any) -> BenchConfig:
    system = {"rerank": "lexical"} | ({} if price is None else {"price": price})
    return BenchConfig.of({"systems": {"mine": system}, **tables})


def requests_of(*rows: Mapping[str, object], **shared: object) -> pl.DataFrame:
    """Sequential requests of the system "mine" at depth 50, a question each, of one second."""
    usual = {"system": "mine", "depth": 50, "loop": "sequential", "repetition": 1, "intended_s": 0.0, "sent_s": 0.0,
             "end_s": 1.0, "outcome": "ok"}  # fmt: skip
    filled = [{**usual, "number": i, "query_id": f"q{i}", **shared, **row} for i, row in enumerate(rows)]
    return pl.DataFrame([{name: row.get(name) for name in REQUESTS} for row in filled], schema=REQUESTS)


def rankings_of(pair_tokens: Sequence[Sequence[int]]) -> pl.DataFrame:
    rows = [{"system": "mine", "depth": 50, "repetition": 1, "query_id": f"q{i}", "scores": [0.0] * len(tokens),
             "pair_tokens": tokens} for i, tokens in enumerate(pair_tokens)]  # fmt: skip
    return pl.DataFrame(rows, schema=RANKINGS)


def sustained_of(*rows: tuple[int, float | None], reason: str | None = None) -> pl.DataFrame:
    return pl.DataFrame(
        [{"system": "mine", "depth": d, "rate": rate, "failing_rate": None, "reason": reason} for d, rate in rows],
        schema=SUSTAINED,
    )


def costs_of(
    config: BenchConfig,
    requests: pl.DataFrame,
    rankings: pl.DataFrame,
    sustained: pl.DataFrame | None = None,
    **options: Any,
) -> pl.DataFrame:
    return costs(config, requests, request_costs(config, requests, rankings, sustained), sustained, **options)


def row_of(
    config: BenchConfig,
    requests: pl.DataFrame,
    rankings: pl.DataFrame = NO_RANKINGS,
    sustained: pl.DataFrame | None = None,
) -> dict[str, Any]:
    frame = costs_of(config, requests, rankings, sustained, day=DAY)
    assert frame.schema == COSTS
    return frame.row(0, named=True)


@pytest.mark.parametrize(
    ("price", "per_query", "per_day"), [(0.025, 0.00125, 125), (0.5, 0.025, 2500), (1, 0.05, 5000)]
)
def test_fifty_documents_of_a_thousand_tokens(price: float, per_query: float, per_day: float) -> None:
    value = {"value_per_query": 0.01, "queries_per_day": 100_000}
    requests = requests_of({}, {}, tokens_in=50_000, tokens_out=0, counted="server")
    row = row_of(config_of({"per_1m_tokens": price}, value=value), requests)
    assert row["per_query"] == pytest.approx(per_query, rel=1e-12)
    assert row["per_query_low"] == row["per_query_high"] == row["per_query"]
    assert row["per_day"] == pytest.approx(per_day, rel=1e-12)
    assert row["per_1m_tokens"] == pytest.approx(price, rel=1e-12)
    assert (row["tokens"], row["counted"], row["unit"], row["status"]) == (50_000, "server", "per_1m_tokens", "known")


def test_a_question_of_twenty_tokens_with_fifty_documents_of_three_hundred() -> None:
    rankings = rankings_of([[320] * 50] * 2)
    requests = requests_of({}, {}, tokens_in=16_000, counted="tokenizer")
    by_tokens = row_of(config_of("voyage/rerank-2.5"), requests, rankings)
    by_units = row_of(config_of("cohere/rerank-v3.5"), requests, rankings)
    assert (by_tokens["per_query"], by_units["per_query"]) == (pytest.approx(0.0008), 0.002)
    assert by_units["per_1m_tokens"] == pytest.approx(0.125)
    assert by_units["source"].startswith("litellm 1.109.1")


def test_search_units_that_the_server_bills_go_first() -> None:
    requests = requests_of({"search_units": 3.0}, {}, tokens_in=16_000, counted="tokenizer")
    frame = request_costs(config_of("cohere/rerank-v3.5"), requests, rankings_of([[320] * 50, [320] * 150]))
    assert frame["cost"].to_list() == pytest.approx([0.006, 0.004])


def test_tokens_that_are_written_are_counted_and_paid() -> None:
    requests = requests_of({}, {}, tokens_in=1_000, tokens_out=100, counted="server")
    row = row_of(config_of({"per_1m_tokens": {"in": 1, "out": 10}}), requests)
    assert (row["tokens"], row["per_query"]) == (1_100, pytest.approx(0.002))


def test_the_least_sure_count_is_named() -> None:
    requests = requests_of({"counted": "server"}, {"counted": "estimate"}, {"counted": "tokenizer"}, tokens_in=10)
    assert row_of(config_of({"per_query": 1}), requests)["counted"] == "estimate"


def test_intervals_are_over_questions_and_not_over_repetitions() -> None:
    once = requests_of(*({"tokens_in": n} for n in (100, 200, 300, 400)))
    config = config_of({"per_1m_tokens": 1})
    thrice = pl.concat([once.with_columns(repetition=pl.lit(i, pl.Int64)) for i in (1, 2, 3)])
    single, several = (row_of(config, requests) for requests in (once, thrice))
    assert {key: single[key] for key in single if "per_query" in key} == {
        key: pytest.approx(several[key]) for key in several if "per_query" in key
    }
    assert single["per_query_low"] < 250e-6 < single["per_query_high"]
    clustered = costs_of(config, once, NO_RANKINGS, day=DAY, clusters={"q0": 0, "q1": 0, "q2": 1, "q3": 1})
    assert clustered["per_query_high"].item() > single["per_query_high"]


def test_rows_are_in_the_order_of_the_configuration() -> None:
    systems = {"b": {"rerank": "lexical"}, "a": {"rerank": "lexical"}, "none": {}}
    config = BenchConfig.of({"systems": systems, "depths": [10, 100, 20]})
    requests = pl.concat([requests_of({}, system=s, depth=d) for s in "ab" for d in (100, 10, 20)])
    frame = costs_of(config, requests, NO_RANKINGS, day=DAY)
    assert frame.select("system", "depth").rows() == [(s, d) for s in "ba" for d in (10, 20, 100)]


def test_a_machine_costs_by_the_rate_that_it_sustains() -> None:
    config = config_of("self-host", self_host={"per_hour": 1.8, "utilisation": 0.5})
    requests = requests_of({"end_s": 0.1}, {"end_s": 0.3})
    row = row_of(config, requests, sustained=sustained_of((50, 20.0)))
    assert (row["per_query"], row["status"]) == (pytest.approx(1.8 / (3_600 * 20 * 0.5)), "known")
    assert (row["price"], row["unit"], row["unit_price"]) == ("self-host", "per_gpu_hour", 1.8)


def test_at_another_depth_a_machine_costs_in_proportion_to_its_time() -> None:
    config = config_of("self-host", self_host={"per_hour": 3.6})
    requests = pl.concat([requests_of({}, {}, depth=10, end_s=0.05), requests_of({}, {}, depth=50, end_s=0.2)])
    frame = costs_of(config, requests, NO_RANKINGS, sustained_of((50, 10.0)), day=DAY)
    assert frame["per_query"].to_list() == pytest.approx([0.000025, 0.0001])
    assert frame["status"].to_list() == ["scaled", "known"]


def test_without_load_a_request_pays_for_the_whole_machine() -> None:
    row = row_of(config_of("self-host", self_host={"per_hour": 3.6}), requests_of({}, {}, end_s=0.5))
    assert (row["per_query"], row["status"]) == (pytest.approx(0.0005), "sequential")


@pytest.mark.parametrize(
    ("reason", "cost", "status"),
    [("latency", None, "no_rate"), ("few", 0.001, "sequential"), ("generator", 0.001, "sequential")],
)
def test_a_machine_that_sustains_nothing_has_no_cost(reason: str, cost: float | None, status: str) -> None:
    config = config_of("self-host", self_host={"per_hour": 3.6})
    row = row_of(config, requests_of({}, {}), sustained=sustained_of((50, None), reason=reason))
    assert (row["per_query"], row["status"]) == (cost and pytest.approx(cost), status)


def test_failures_have_no_cost_and_no_tokens() -> None:
    requests = requests_of({"tokens_in": 10}, {"outcome": "timeout"}, {"outcome": "error", "error": "down"})
    assert request_costs(config_of({"per_query": 1}), requests, NO_RANKINGS)["query_id"].to_list() == ["q0"]
    row = row_of(config_of({"per_query": 1}), requests.filter(pl.col("outcome") != "ok"))
    assert (row["per_query"], row["status"]) == (None, "no_tokens")


@pytest.mark.parametrize(
    ("price", "status"),
    [(None, "no_price"), ({"per_1m_tokens": 1}, "no_tokens"), ({"per_search_unit": 1}, "no_tokens"),
     ({"per_query": 1}, "known"), ({"per_query": 1, "date": "2026-01-01"}, "outdated"), ("openai/gpt-4o", "no_tokens")],
)  # fmt: skip
def test_what_is_not_known_is_said(price: object, status: str) -> None:
    row = row_of(config_of(price), requests_of({}, {}))
    assert row["status"] == status
    assert (row["per_query"] is None) == (status not in ("known", "outdated"))


def test_a_model_at_its_own_address_has_its_price() -> None:
    stage = {"kind": "http", "url": "https://api.cohere.com/v2/rerank", "model": "rerank-v3.5"}
    config = BenchConfig.of({"systems": {"api": {"rerank": stage}, "none": {}}})
    prices = system_prices(config)
    assert list(prices) == ["api"]
    assert prices["api"] is not None
    assert prices["api"].name == "cohere/rerank-v3.5"
    own = {"cohere/rerank-v3.5": {"per_search_unit": 0.001, "date": date(2026, 11, 1)}}
    overridden = BenchConfig.of({"systems": {"api": {"rerank": stage}}, "prices": own})
    assert stored_prices(overridden) == {"cohere/rerank-v3.5": {"per_search_unit": 0.001, "date": "2026-11-01"}}


@pytest.mark.parametrize(
    ("settings", "price"),
    [
        ({}, "openai/gpt-4.1-mini"),
        ({"base_url": "https://api.openai.com/v1"}, "openai/gpt-4.1-mini"),
        ({"base_url": "http://127.0.0.1:8000/v1"}, None),
    ],
)
def test_a_chat_model_has_its_price_at_its_own_address_alone(settings: dict[str, str], price: str | None) -> None:
    stage = {"kind": "llm", "mode": "listwise", "model": "gpt-4.1-mini", **settings}
    known = system_prices(BenchConfig.of({"systems": {"llm": {"rerank": stage}}}))["llm"]
    assert (None if known is None else known.name) == price


def test_prices_that_a_bench_used_are_stored_whole(tmp_path: Any) -> None:
    (tmp_path / "prices.toml").write_text("[mine]\nper_query = 0.5\ndate = 2026-10-01\n", encoding="utf-8")
    values = {
        "systems": {"a": {"rerank": "lexical", "price": "mine"}, "b": {"rerank": "lexical", "price": "voyage/rerank-3"}}
    }
    config = BenchConfig.of({**values, "prices": "prices.toml"}, base=tmp_path)
    tables = stored_prices(config)
    assert tables["mine"] == {"per_query": 0.5, "date": "2026-10-01"}
    inline = {"mine": {"rerank": "lexical", "price": {"per_query": 9}}}
    assert stored_prices(BenchConfig.of({"systems": inline, "prices": tables}))["mine"]["per_query"] == 0.5
    again = BenchConfig.of({**values, "prices": tables})
    assert system_prices(again) == system_prices(config)


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"value": {"value_per_query": 1, "queries_per_day": 1, "currency": "usd"}},
     "currency must be a code such as USD, not 'usd'"),
    ({"systems": {"a": {"rerank": "lexical", "price": "cohere/rerank-9"}}},
     "systems.a.price: no price is called 'cohere/rerank-9'; did you mean cohere/rerank"),
    ({"systems": {"a": {"rerank": "lexical", "price": {"amount": 1}}}}, "systems.a.price: price a: "),
    ({"systems": {"a": {"rerank": "lexical", "price": {"currency": "USD"}}}}, "has no unit; expected one of"),
    ({"systems": {"a": {"rerank": "lexical", "price": "self-host"}}}, "add [self_host] with per_hour"),
    ({"systems": {"a": {"rerank": "lexical"}, "none": {"price": {"per_query": 1}}}}, "the candidates cost all systems"),
    ({"systems": {"a": {"rerank": "lexical"}}, "prices": {"x": {"per_hour": 1}}}, "price x: "),
    ({"systems": {"a": {"rerank": "lexical"}}, "prices": {"self-host": {"per_query": 1}}}, "choose another name"),
    ({"systems": {"a": {"rerank": "lexical", "price": {"per_query": 1, "currency": "EUR"}},
                  "b": {"rerank": "lexical", "price": {"per_query": 1}}}}, "systems.b.price is in USD, and the bench"),
    ({"systems": {"a": {"rerank": "lexical", "price": {"per_query": 1, "currency": "EUR"}}},
      "value": {"value_per_query": 1, "queries_per_day": 1}}, "systems.a.price is in EUR"),
]  # fmt: skip


@pytest.mark.parametrize(("values", "message"), REFUSED)
def test_prices_that_do_not_fit_are_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        system_prices(BenchConfig.of({"systems": {"a": {"rerank": "lexical"}}, **values}))
    assert message in str(caught.value)
