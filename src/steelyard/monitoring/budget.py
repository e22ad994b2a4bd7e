"""False alarms that a user accepts, shared out among series, windows and rules."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from steelyard.base.errors import InputError

MONTH = timedelta(days=365.25 / 12)
_MOST_PER_WINDOW = 0.05


@dataclass(frozen=True)
class Budget:
    """What one series may cost.

    per_window   false alarms a window of the series, of all rules together

    >>> Budget.shared(1, n_series=40, windows_per_month=30.4).odds
    1216.0
    """

    per_window: float

    def __post_init__(self) -> None:
        if not self.per_window > 0:
            raise InputError(f"a budget of {self.per_window:g} false alarms a window allows no limit; expected above 0")

    @classmethod
    def shared(cls, per_month: float, n_series: int, windows_per_month: float) -> Budget:
        """An equal share of the false alarms a month, for each of so many series and segments.

        Never more than one in 20 windows, which is what a very generous budget comes to with few windows.
        Raises   InputError where nothing is allowed, and without series or windows.
        """
        if not (per_month > 0 and n_series > 0 and windows_per_month > 0):
            raise InputError(
                f"{per_month:g} false alarms a month over {n_series} series of {windows_per_month:g} windows: "
                "all three must be above 0"
            )
        return cls(min(per_month / (n_series * windows_per_month), _MOST_PER_WINDOW))

    @property
    def odds(self) -> float:
        """Windows from one false alarm of the series to the next."""
        return 1 / self.per_window


def windows_per_month(every: timedelta) -> float:
    """Windows of so long in a mean month.

    >>> windows_per_month(timedelta(hours=1))
    730.5
    """
    return MONTH / every
