"""Budgets and prices: read, refused, and held."""

import pytest

from steelyard.base.errors import InputError
from steelyard.services.announcements import Usage
from steelyard.services.prices import Account, Budget, Price, estimate_tokens


@pytest.mark.parametrize("text", ["2.00usd", "0.5 USD", "500000tokens", "1234567tokens", "0tokens", "0.000001usd"])
def test_budgets_print_and_read_back(text: str) -> None:
    budget = Budget.parse(text)
    assert Budget.parse(str(budget)) == budget


@pytest.mark.parametrize(
    "text", ["", "2", "usd", "-1usd", "2eur", "1e9tokens", "nan usd", "2usd tokens", "inf usd", "$2"]
)
def test_what_is_no_budget_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"2\.00usd or 500000tokens"):
        Budget.parse(text)


@pytest.mark.parametrize("text", ["", "1", "1,2,3", "-1,2", "a,b", "1;2", "inf,1"])
def test_what_is_no_price_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"0\.15,0\.60"):
        Price.parse(text)


def test_what_is_reserved_counts_until_it_is_settled() -> None:
    account = Account(Budget.parse("100tokens"))
    assert account.reserve(Usage(40, 10))
    assert account.reserve(Usage(40, 0))
    account.settle(Usage(40, 10), Usage(10, 5))
    assert account.reserve(Usage(45, 0))
    assert not account.reserve(Usage(1, 0))
    account.settle(Usage(40, 0), Usage())
    assert not account.reserve(Usage(1, 0))  # Closed for good.
    account.settle(Usage(45, 0), Usage(45, 0))
    assert account.spent == Usage(55, 5)


def test_an_account_without_a_budget_has_no_end() -> None:
    account = Account()
    assert all(account.reserve(Usage(10**9, 10**9)) for _ in range(9))
    assert account.cost_usd is None


def test_money_is_counted_in_both_directions() -> None:
    account = Account(Budget.parse("3usd"), Price(1.0, 10.0))
    assert account.reserve(Usage(1_000_000, 200_000))
    assert not account.reserve(Usage(0, 1))
    account.settle(Usage(1_000_000, 200_000), Usage(500_000, 100_000))
    assert account.cost_usd == 1.5


def test_money_without_a_price_is_refused() -> None:
    with pytest.raises(InputError, match="price of qwen is not known"):
        Account(Budget.parse("3usd"), model="qwen")


def test_tokens_are_estimated_by_characters() -> None:
    assert [estimate_tokens(text) for text in ("", "a", "abcd", "abcde", "秤", "秤 and")] == [0, 1, 1, 2, 1, 2]
