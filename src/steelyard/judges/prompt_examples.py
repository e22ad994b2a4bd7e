"""What a judge was shown in its prompt, which its calibration must not count: it knows the answer."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from steelyard.text.folding import STEPS, fold
from steelyard.text.scripts import UNSPACED

_FOLDED = tuple(step for step in STEPS if step != "line_wraps")
_KEYS = ("examples", "prompt", "prompts")
_LONG, _LONG_UNSPACED = 20, 8
"""Characters from which on a sentence within a longer text is no chance; fewer where no blanks part words."""
_HAS_UNSPACED = re.compile(f"[{UNSPACED}]").search


@dataclass(frozen=True)
class PromptExamples:
    """Texts of a prompt, folded: lines, and all of them as one.

    >>> examples = PromptExamples.of({"name": "own", "examples": [{"statement": "It opens at 9.", "verdict": "yes"}]})
    >>> examples.hold("It  opens at 9."), examples.hold("It closes at 5.")
    (True, False)
    """

    lines: frozenset[str]
    texts: Sequence[str]

    @classmethod
    def of(cls, judge: Mapping[str, Any], more: Sequence[str] = ()) -> PromptExamples:
        """Those that `recipe["judge"]` holds under `examples` or `prompt`, however nested, and more of them."""
        texts = [*_strings([judge.get(key) for key in _KEYS]), *more]
        lines = {_fold(line) for text in texts for line in text.splitlines()}
        return cls(frozenset(lines - {""}), [_fold(text) for text in texts])

    def hold(self, text: str) -> bool:
        """Whether a sentence is a line of them, or, where it is long enough to be no chance, a part of one of them."""
        folded = _fold(text)
        if not folded:
            return False
        is_long = len(folded) >= (_LONG_UNSPACED if _HAS_UNSPACED(folded) else _LONG)
        return folded in self.lines or (is_long and any(folded in whole for whole in self.texts))


def _fold(text: str) -> str:
    return fold(text, _FOLDED).strip()


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from _strings(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _strings(part)
