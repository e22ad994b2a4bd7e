"""How many false alarms a gate may give: "1 in 200", or a share."""

from __future__ import annotations

import re

from steelyard.base.errors import InputError, quoted

_ODDS = re.compile(r"\s*1\s*(?:in|/)\s*([1-9]\d*)\s*")


def alarm_share(alarms: str | float) -> float:
    """The share of gates that may fail where nothing was lost.

    alarms   "1 in 200" or "1/200", or a share such as 0.005
    Raises   InputError unless it is above 0 and at most a half

    >>> alarm_share("1 in 200"), alarm_share("0.01"), alarm_share(0.005)
    (0.005, 0.01, 0.005)
    """
    odds = _ODDS.fullmatch(alarms) if isinstance(alarms, str) else None
    try:
        share = 1 / int(odds[1]) if odds else float(alarms)
    except ValueError:
        share = 0.0
    if not 0 < share <= 0.5:
        raise InputError(
            f"alarms is {quoted(alarms)}, expected how many gates may fail where nothing was lost: '1 in 200', or a "
            "share above 0 and at most 0.5, such as 0.005"
        )
    return share
