"""Settings that configurations about logs share: times, zones, and one text in place of a list."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator

from steelyard.base.errors import InputError
from steelyard.base.limits import Words
from steelyard.base.settings import SettingError
from steelyard.traffic.windows import Windows, parse_duration


def listed(value: object) -> object:
    """A list of a text or a path alone; anything else as it is."""
    return [value] if isinstance(value, str | Path) else value


def duration(value: object) -> timedelta:
    """The time of a text such as "1h".

    Raises   ValueError for anything else
    """
    if isinstance(value, timedelta):
        return value
    if not isinstance(value, str):
        raise ValueError
    try:
        return parse_duration(value)
    except InputError:
        raise ValueError from None


def _check_zone(text: str) -> str:
    try:
        Windows(1, text)
    except InputError as error:
        raise SettingError(str(error)) from None
    return text


Duration = Annotated[timedelta, BeforeValidator(duration), Words("a time such as '15m', '1h' or '1d'")]
Zone = Annotated[str, AfterValidator(_check_zone)]
"""An IANA name."""
