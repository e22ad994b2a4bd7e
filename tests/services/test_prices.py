"""The table of prices: what is shipped, what users add, what is refused, and the sums that are known."""

from datetime import date
from typing import Any

import pytest

from steelyard.base.errors import InputError
from steelyard.services.prices import (
    OUTDATED_DAYS,
    UNITS,
    UnitPrice,
    find_price,
    price_at,
    price_of,
    read_price,
    shipped_prices,
)

MODELS_OF_OPENAI = {
    "gpt-4o": (2.5, 10), "gpt-4o-mini": (0.15, 0.6), "gpt-4.1": (2, 8), "gpt-4.1-mini": (0.4, 1.6),
    "gpt-4.1-nano": (0.1, 0.4), "gpt-5": (1.25, 10), "gpt-5-mini": (0.25, 2), "gpt-5-nano": (0.05, 0.4),
}  # fmt: skip
RERANKERS = {
    "cohere/rerank-v3.5": ("per_search_unit", 0.002), "cohere/rerank-v4.0-fast": ("per_search_unit", 0.002),
    "cohere/rerank-v4.0-pro": ("per_search_unit", 0.0025), "cohere/rerank-v5.0-fast": ("per_1m_tokens", 0.02),
    "cohere/rerank-v5.0-pro": ("per_1m_tokens", 0.05), "voyage/rerank-2.5": ("per_1m_tokens", 0.05),
    "voyage/rerank-3": ("per_1m_tokens", 0.05), "voyage/rerank-2.5-lite": ("per_1m_tokens", 0.02),
    "voyage/rerank-3-lite": ("per_1m_tokens", 0.02), "jina/jina-reranker-v2-base-multilingual": ("per_1m_tokens", 0.05),
    "novita/baai/bge-reranker-v2-m3": ("per_1m_tokens", 0.01), "bedrock/amazon.rerank-v1:0": ("per_query", 0.001),
    "vertex/semantic-ranker-default-004": ("per_query", 0.001),
}  # fmt: skip


def test_each_price_has_a_unit_a_source_and_a_date() -> None:
    for price in shipped_prices().values():
        assert price.unit in UNITS
        assert price.source.startswith("https://") or "verify before use" in price.source
        assert str(price.day) >= "2026-01-01"
        assert price.amount > 0


@pytest.mark.parametrize(("model", "amounts"), MODELS_OF_OPENAI.items())
def test_prices_of_models_that_judge_are_what_they_were(model: str, amounts: tuple[float, float]) -> None:
    price = price_of(model, "https://api.openai.com/v1")
    assert price is not None
    assert (price.usd_in, price.usd_out, price.date) == (*amounts, "2026-03-01")


@pytest.mark.parametrize(("name", "want"), RERANKERS.items())
def test_prices_of_rerankers(name: str, want: tuple[str, float]) -> None:
    price = find_price(name, {})
    assert (price.unit, price.amount, price.currency) == (*want, "USD")


def test_a_price_holds_at_its_own_address_alone() -> None:
    assert price_of("gpt-4.1", "https://api.openai.com/v1") is not None
    assert price_of("gpt-4.1", "https://proxy.example.com/v1") is None
    assert price_of("gpt-9", "https://api.openai.com/v1") is None
    assert price_of("rerank-v3.5", "https://api.cohere.com/v2/rerank") is None  # It has no price of tokens.
    assert price_at("rerank-v3.5", "https://api.cohere.com/v2/rerank") == find_price("cohere/rerank-v3.5", {})
    assert price_at("amazon.rerank-v1:0", "https://bedrock.example.com") is None


@pytest.mark.parametrize(
    ("per_1m_tokens", "per_query", "per_day"), [(0.025, 0.00125, 125), (0.5, 0.025, 2_500), (1, 0.05, 5_000)]
)
def test_fifty_documents_of_a_thousand_tokens(per_1m_tokens: float, per_query: float, per_day: float) -> None:
    cost = UnitPrice(per_1m_tokens=per_1m_tokens).of_tokens(50 * 1_000)
    assert cost == pytest.approx(per_query, rel=1e-12)
    assert cost * 100_000 == pytest.approx(per_day, rel=1e-12)


def test_tokens_beside_search_units() -> None:
    pair_tokens = [20 + 300] * 50
    assert sum(pair_tokens) == 16_000
    voyage, cohere = find_price("voyage/rerank-2.5", {}), find_price("cohere/rerank-v3.5", {})
    by_tokens, by_units = voyage.of_tokens(sum(pair_tokens)), cohere.amount * cohere.search_units(pair_tokens)
    assert (by_tokens, by_units) == (pytest.approx(0.0008, rel=1e-12), 0.002)
    assert (by_tokens * 1e6, by_units * 1e6) == (pytest.approx(800), pytest.approx(2_000))


@pytest.mark.parametrize(
    ("pair_tokens", "units"),
    [([500] * 100, 1), ([500] * 101, 2), ([501] * 50, 1), ([501] * 51, 2), ([1], 1), ([], 0), ([1_500] * 100, 3)],
)
def test_long_texts_and_long_lists_are_more_search_units(pair_tokens: list[int], units: int) -> None:
    assert UnitPrice(per_search_unit=1).search_units(pair_tokens) == units


def test_tokens_that_are_written_may_cost_something_else() -> None:
    price = UnitPrice(per_1m_tokens={"in": 0.15, "out": 0.6})
    assert price.of_tokens(2_000_000, 500_000) == pytest.approx(0.6)
    assert UnitPrice(per_1m_tokens=0.5).of_tokens(1_000_000, 1_000_000) == 1


def test_a_machine_costs_by_what_it_sustains() -> None:
    machine = UnitPrice(per_gpu_hour=1.8, utilisation=0.5)
    assert machine.of_seconds(3_600) == 3.6


def test_a_price_of_ones_own_goes_first() -> None:
    own = read_price({"per_query": 0.5, "date": "2026-11-01", "source": "contract"}, "cohere/rerank-v3.5")
    assert find_price("cohere/rerank-v3.5", {own.name: own}) is own


def test_a_price_is_read_back_from_its_table() -> None:
    for price in shipped_prices().values():
        assert read_price(price.as_table(), price.name) == price


def test_what_is_old_is_outdated() -> None:
    price = UnitPrice(per_query=1, date=date(2026, 3, 1))
    last = date.fromordinal(date(2026, 3, 1).toordinal() + OUTDATED_DAYS)
    assert not price.is_outdated(last)
    assert price.is_outdated(date.fromordinal(last.toordinal() + 1))
    assert not UnitPrice(per_query=1).is_outdated(date(2099, 1, 1))


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({}, "has no unit; expected one of per_search_unit, per_query, per_1m_tokens, per_gpu_hour"),
    ({"currency": "USD"}, "has no unit"),
    ({"per_query": 1, "per_1m_tokens": 2}, "has per_query and per_1m_tokens"),
    ({"per_querry": 1}, "did you mean per_query"),
    ({"per_query": -1}, "per_query must be a number from 0, not -1"),
    ({"per_query": "1"}, "per_query must be a number from 0"),
    ({"per_query": float("nan")}, "per_query must be a number from 0"),
    ({"per_gpu_hour": 0}, "per_gpu_hour must be a number above 0"),
    ({"per_gpu_hour": 1, "utilisation": 1.5}, "utilisation must be a number above 0 and to 1"),
    ({"per_1m_tokens": {"in": 1}}, "both `in` and `out`"),
    ({"per_1m_tokens": {"in": 1, "out": 2, "cached": 1}}, "both `in` and `out`"),
    ({"per_1m_tokens": {"in": 1, "out": -2}}, "both `in` and `out`"),
    ({"per_1m_tokens": -1}, "per_1m_tokens must be a number from 0"),
    ({"per_1m_tokens": float("nan")}, "per_1m_tokens must be a number from 0"),
    ({"per_query": 1, "currency": "dollars"}, "currency must be a code such as USD, not 'dollars'"),
    ({"per_query": 1, "date": "yesterday"}, "date must be a day such as 2026-11-22, not 'yesterday'"),
    ({"per_query": 1, "name": "other"}, "the key of its table is its name"),
]


@pytest.mark.parametrize(("table", "message"), REFUSED)
def test_what_is_no_price_is_refused(table: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        read_price(table, "mine")
    assert message in str(caught.value)
    assert str(caught.value).startswith("price mine: ")


def test_a_price_that_nobody_knows_is_refused_with_the_nearest() -> None:
    with pytest.raises(InputError, match=r"no price is called 'cohere/rerank-3\.5'; did you mean cohere/rerank-v3\.5"):
        find_price("cohere/rerank-3.5", {})
