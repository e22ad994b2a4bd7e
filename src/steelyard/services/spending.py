"""What calls to models have taken, and news of it."""

from __future__ import annotations

from dataclasses import dataclass

from steelyard.services.announcements import Announcements


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens that calls took.

    >>> Usage(10, 2) + Usage(5, 1) - Usage(3, 3)
    Usage(tokens_in=12, tokens_out=0)
    """

    tokens_in: int = 0
    tokens_out: int = 0

    def __add__(self, other: Usage) -> Usage:
        """Those of both."""
        return Usage(self.tokens_in + other.tokens_in, self.tokens_out + other.tokens_out)

    def __sub__(self, other: Usage) -> Usage:
        """Those that the other does not have."""
        return Usage(self.tokens_in - other.tokens_in, self.tokens_out - other.tokens_out)

    @property
    def total(self) -> int:
        """Tokens in either direction."""
        return self.tokens_in + self.tokens_out


@dataclass(frozen=True, slots=True)
class Spending:
    """What calls to a model have taken by now.

    cost_usd   None where the price is not known
    """

    usage: Usage
    cost_usd: float | None


SPENDING = Announcements[Spending]()
"""What is spent by each judge of this process, told now and then."""
