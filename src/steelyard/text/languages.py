"""Which language a text is in."""

from __future__ import annotations

import re

from steelyard.base.choices import Language
from steelyard.text.scripts import IDEOGRAPHS

_ZH_SHARE = 0.3
_IDEOGRAPH = re.compile(f"[{IDEOGRAPHS}]")


def language_of(text: str) -> Language:
    """Whether a text is Chinese or English: "zh" where at least 0.3 of its letters are Chinese characters, else "en".

    >>> language_of("请问 iPhone 怎么充电？"), language_of("Who was 李白?"), language_of("42")
    ('zh', 'en', 'en')
    """
    n_letters = sum(map(str.isalpha, text))
    return "zh" if n_letters and len(_IDEOGRAPH.findall(text)) / n_letters >= _ZH_SHARE else "en"
