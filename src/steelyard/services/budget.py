"""What calls to models may take and have taken: tokens, money, and a limit that holds."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from steelyard.base.errors import InputError
from steelyard.base.settings import SettingError
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
    """How much may be spent at most.

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
