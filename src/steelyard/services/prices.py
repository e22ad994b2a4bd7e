"""Prices of models and machines, tokens as an estimate, and budgets."""

from __future__ import annotations

import datetime
import math
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from importlib.resources import files
from typing import Annotated, Any, Literal, get_args

from steelyard.base.errors import InputError
from steelyard.base.limits import Limits, Words, above, at_least
from steelyard.base.nearest import nearest
from steelyard.base.settings import SettingError, check_fields, make_with
from steelyard.services.addresses import host_of
from steelyard.services.announcements import Usage

_BUDGET = re.compile(r"(\d+(?:\.\d+)?) ?(usd|tokens)", re.IGNORECASE)
_NUMBER = r"(\d+(?:\.\d+)?|\.\d+)"
_PRICE = re.compile(rf"{_NUMBER} ?, ?{_NUMBER}")
_MILLION = 1_000_000
_LETTERS_PER_TOKEN = 4


def estimate_tokens(text: str) -> int:
    """About how many tokens a text has: one for four ASCII characters, and one for any other character.

    Tokenizers differ; for English and Chinese this is rather too much than too little.

    >>> estimate_tokens("It opens at nine."), estimate_tokens("九点开门。")
    (5, 5)
    """
    n_letters = len(text.encode("ascii", "ignore"))
    return -(-n_letters // _LETTERS_PER_TOKEN) + len(text) - n_letters


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars for a million tokens.

    source, date   where and when that was the price; empty for one that the user names
    """

    usd_in: float
    usd_out: float
    source: str = ""
    date: str = ""

    @classmethod
    def parse(cls, text: str) -> Price:
        """A price that the user names: for a million tokens in, and out.

        Raises   SettingError for anything else.

        >>> Price.parse("0.15,0.60").cost_usd(Usage(2_000_000, 500_000))
        0.6
        """
        match = _PRICE.fullmatch(text.strip())
        if match is None:
            raise SettingError(
                f"price {text!r} is no price; expected US dollars for a million tokens in and out, such as 0.15,0.60"
            )
        return cls(float(match[1]), float(match[2]))

    def cost_usd(self, usage: Usage) -> float:
        """The cost of some tokens."""
        return (self.usd_in * usage.tokens_in + self.usd_out * usage.tokens_out) / _MILLION


@dataclass(frozen=True, slots=True)
class Budget:
    """Limit of what may be spent.

    >>> str(Budget.parse("2.00usd")), str(Budget.parse("500000tokens"))
    ('2usd', '500000tokens')
    """

    limit: float
    unit: Literal["usd", "tokens"]

    @classmethod
    def parse(cls, text: str) -> Budget:
        """A budget in money or tokens.

        Raises   SettingError for anything else.
        """
        match = _BUDGET.fullmatch(text.strip())
        if match is None:
            raise SettingError(f"budget {text!r} is no budget; expected one such as 2.00usd or 500000tokens")
        return cls(float(match[1]), "usd" if match[2].lower() == "usd" else "tokens")

    def __str__(self) -> str:
        """The budget as `parse` reads it."""
        number = f"{self.limit:.9f}".rstrip("0").rstrip(".")
        return f"{number}{self.unit}"


class Account:
    """What was spent and what is reserved, against a budget.

    A call's estimate is reserved before it is sent, and gives way to what the call took.  With the first one that no
    longer fits, the account is closed: nothing is sent after it, and the calls under way end.  So the budget is
    exceeded at most by what these take beyond their estimates.

    budget   None for no limit;   price   None where it is not known
    Raises   InputError for a budget in money without a price.
    """

    def __init__(self, budget: Budget | None = None, price: Price | None = None, *, model: str = "the model") -> None:
        if budget is not None and budget.unit == "usd" and price is None:
            raise InputError(
                f"the price of {model} is not known, so no budget in money can hold; give it in US dollars for a "
                "million tokens in and out (--price 0.15,0.60), or a budget in tokens (--budget 500000tokens)"
            )
        self.budget, self.price = budget, price
        self.spent, self._reserved, self.closed = Usage(), Usage(), False

    @property
    def cost_usd(self) -> float | None:
        """The money that was spent; None without a price."""
        return None if self.price is None else self.price.cost_usd(self.spent)

    def reserve(self, estimate: Usage) -> bool:
        """Set an estimate aside; False where it does not fit, and from then on."""
        if self.closed or not self._fits(self.spent + self._reserved + estimate):
            self.closed = True
            return False
        self._reserved += estimate
        return True

    def settle(self, estimate: Usage, spent: Usage) -> None:
        """Replace an estimate by what was spent."""
        self._reserved -= estimate
        self.spent += spent

    def _fits(self, usage: Usage) -> bool:
        if self.budget is None:
            return True
        if self.budget.unit == "tokens":
            return usage.total <= self.budget.limit
        return self.price is not None and self.price.cost_usd(usage) <= self.budget.limit


Unit = Literal["per_search_unit", "per_query", "per_1m_tokens", "per_gpu_hour"]
UNITS: tuple[Unit, ...] = get_args(Unit)
OUTDATED_DAYS = 180
"""A price that was read longer ago than this is reported as outdated."""
SELF_HOST = "self-host"
"""The name of a price by the hour of a machine of one's own."""

_MILLION, _HOUR_S = 1_000_000, 3_600
_CURRENCY = re.compile("[A-Z]{3}")
_Amount = Annotated[float, at_least(0)]
_PerTokens = Annotated[float | dict[str, Any], Words("a number from 0, or a table such as { in = 0.15, out = 0.6 }")]
_Day = Annotated[datetime.date | str, Words("a day such as 2026-11-22")]
_Share = Annotated[float, Limits(above=0, most=1)]
_Count = Annotated[int, at_least(1)]


@dataclass(frozen=True, kw_only=True)
class UnitPrice:
    """What one unit of something costs; exactly one of the four units.

    per_query         a question, however many candidates it has
    per_1m_tokens     a million tokens: a number, or a table with `in` (read) and `out` (written)
    per_search_unit   a question with up to `texts_per_unit` texts, where a text counts once for every
                      `tokens_per_text` tokens that it and the question have together, or part of them
    per_gpu_hour      an hour of the machine that serves, of which the share `utilisation` is used
    currency          of the amount;   date   when that was the price, None where nobody says
    source            where it is from;   name   what it is called
    Raises            SettingError for no unit or two, and for amounts, shares and days that cannot be.

    >>> price = UnitPrice(name="mine", per_1m_tokens=0.025)
    >>> price.unit, price.amount, price.of_tokens(50 * 1000)
    ('per_1m_tokens', 0.025, 0.00125)
    """

    per_query: _Amount | None = None
    per_1m_tokens: _PerTokens | None = None
    per_search_unit: _Amount | None = None
    per_gpu_hour: Annotated[float, above(0)] | None = None
    texts_per_unit: _Count = 100
    tokens_per_text: _Count = 500
    utilisation: _Share = 1.0
    currency: str = "USD"
    date: _Day | None = None
    source: str = ""
    name: str = ""

    def __post_init__(self) -> None:
        check_fields(self)
        units = [unit for unit in UNITS if getattr(self, unit) is not None]
        if len(units) != 1:
            has = f"has {' and '.join(units)}" if units else "has no unit"
            raise SettingError(f"{has}; expected one of {', '.join(UNITS)}", *units[1:2])
        try:
            currency_code(self.currency)
        except SettingError as error:
            raise error.inside("currency") from None
        object.__setattr__(self, "date", _day(self.date))
        _in_and_out(self.per_1m_tokens)

    @property
    def unit(self) -> Unit:
        """The unit of a price."""
        return next(unit for unit in UNITS if getattr(self, unit) is not None)

    @property
    def amount(self) -> float:
        """Money for a unit; of tokens that are read, where those that are written cost something else."""
        if self.unit == "per_1m_tokens":
            return _in_and_out(self.per_1m_tokens)[0]
        return float(getattr(self, self.unit))

    @property
    def day(self) -> datetime.date | None:
        """When that was the price."""
        return _day(self.date)

    def is_outdated(self, today: datetime.date) -> bool:
        """True if it was read more than OUTDATED_DAYS before a day; a price without a date is not."""
        return self.day is not None and (today - self.day).days > OUTDATED_DAYS

    def of_tokens(self, tokens_in: float, tokens_out: float = 0) -> float:
        """The cost of tokens, by a price of tokens."""
        per_in, per_out = _in_and_out(self.per_1m_tokens)
        return (per_in * tokens_in + per_out * tokens_out) / _MILLION

    def search_units(self, pair_tokens: Sequence[int]) -> int:
        """The number of search units of a question, from the tokens of each pair of question and text.

        Source   Cohere's documentation of billing, for its models up to version 4.

        >>> price = UnitPrice(per_search_unit=0.002)
        >>> [price.search_units(tokens) for tokens in ([320] * 50, [320] * 101, [501] * 51, [])]
        [1, 2, 2, 0]
        """
        texts = sum(-(-tokens // self.tokens_per_text) for tokens in pair_tokens)
        return -(-texts // self.texts_per_unit)

    def of_seconds(self, seconds: float) -> float:
        """The cost of the machine for so long, with its idle time in proportion."""
        return self.amount * seconds / _HOUR_S / self.utilisation

    def as_table(self) -> dict[str, Any]:
        """The table that it is read from, as JSON holds it."""
        values = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "name"}
        defaults = {field.name: field.default for field in fields(self)}
        table = {key: value for key, value in values.items() if value != defaults[key]}
        return {key: value.isoformat() if isinstance(value, datetime.date) else value for key, value in table.items()}


def currency_code(text: str) -> str:
    """The code of a currency, as it is.

    Raises   SettingError for what is none.
    """
    if not _CURRENCY.fullmatch(text):
        raise SettingError(f"currency must be a code such as USD, not {text!r}")
    return text


def read_price(table: Mapping[str, Any], name: str) -> UnitPrice:
    """A price from a table of settings.

    Raises   SettingError for settings that a price does not have, with the nearest, and those that do not fit.
    """
    if "name" in table:
        raise SettingError(f"price {name}: takes no setting 'name'; the key of its table is its name", "name")
    price: UnitPrice = make_with(UnitPrice, {**table, "name": name}, f"price {name}")
    return price


def find_price(name: str, own: Mapping[str, UnitPrice]) -> UnitPrice:
    """The price of a name: of the user's own first, then of those that are shipped.

    Raises   SettingError with the nearest names.

    >>> find_price("cohere/rerank-v3.5", {}).per_search_unit
    0.002
    """
    price = own.get(name) or shipped_prices().get(name)
    if price is None:
        hint = nearest(name, [*own, *shipped_prices()], n=2, otherwise="add it as a table under [prices]")
        raise SettingError(f"no price is called {name!r}; {hint}")
    return price


def price_at(model: str, url: str) -> UnitPrice | None:
    """The shipped price of a model at an address; None elsewhere: the same name may cost something else."""
    return _at_hosts().get((host_of(url), model))


def price_of(model: str, url: str) -> Price | None:
    """The price of tokens of a model at an address, in US dollars; None where it is not known.

    >>> price_of("gpt-4o-mini", "https://api.openai.com/v1").usd_in, price_of("gpt-4o-mini", "http://127.0.0.1/v1")
    (0.15, None)
    """
    price = price_at(model, url)
    if price is None or price.unit != "per_1m_tokens" or price.currency != "USD":
        return None
    return Price(*_in_and_out(price.per_1m_tokens), price.source, str(price.day or ""))


@cache
def shipped_prices() -> Mapping[str, UnitPrice]:
    """All prices of `prices.toml`, by their names PROVIDER/MODEL."""
    return {price.name: price for row in _rows() for price, _ in _prices_of(row)}


@cache
def _at_hosts() -> Mapping[tuple[str, str], UnitPrice]:
    return {(row["host"], model): price for row in _rows() if "host" in row for price, model in _prices_of(row)}


@cache
def _rows() -> Sequence[dict[str, Any]]:
    rows: list[dict[str, Any]] = tomllib.loads(
        (files("steelyard.services") / "prices.toml").read_text(encoding="utf-8")
    )["prices"]
    return rows


def _prices_of(row: Mapping[str, Any]) -> list[tuple[UnitPrice, str]]:
    """The price of each model of a row, and the model."""
    table = {key: value for key, value in row.items() if key not in ("provider", "host", "models")}
    return [(UnitPrice(**table, name=f"{row['provider']}/{model}"), model) for model in row["models"]]


def _in_and_out(per_1m_tokens: float | Mapping[str, Any] | None) -> tuple[float, float]:
    """Prices of tokens that are read and of those that are written; a number is both."""
    if not isinstance(per_1m_tokens, Mapping):
        per_1m_tokens = dict.fromkeys(("in", "out"), per_1m_tokens or 0)
    amounts = [per_1m_tokens.get(key) for key in ("in", "out")]
    if len(per_1m_tokens) != 2 or not all(map(_is_amount, amounts)):
        raise SettingError(
            "per_1m_tokens must be a number from 0, or a table of both `in` and `out`, such as { in = 1, out = 4 }",
            "per_1m_tokens",
        )
    return float(amounts[0] or 0), float(amounts[1] or 0)


def _is_amount(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < math.inf


def _day(value: datetime.date | str | None) -> datetime.date | None:
    if isinstance(value, str):
        try:
            return datetime.date.fromisoformat(value)
        except ValueError:
            raise SettingError(f"date must be a day such as 2026-11-22, not {value!r}", "date") from None
    return value.date() if isinstance(value, datetime.datetime) else value
