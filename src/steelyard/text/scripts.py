"""Ranges of characters by script, each as the inside of a regular expression's [...]."""

from __future__ import annotations

IDEOGRAPHS = "\u3005\u3007\u3021-\u3029\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
"""Chinese characters."""
KANA = "\u3041-\u3096\u3099-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9f"
"""Japanese syllables."""
HANGUL = "\u1100-\u11ff\u3131-\u318e\ua960-\ua97c\uac00-\ud7a3\ud7b0-\ud7fb"
"""Korean syllables and letters."""
MARKS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0963\u0966-\u096f\u0971-\u09f1"
    "\u09f4-\u09f9\u09fc\u09fe-\u0a75\u0a77-\u0aef\u0af2-\u0b6f\u0b71-\u0bf2\u0bfb-\u0c76\u0c78-\u0c7e\u0c80-\u0c83"
    "\u0c85-\u0d4e\u0d50-\u0d78\u0d7a-\u0df3\u0e31-\u0e3a\u0e40-\u0e4e"
)
"""Vowel signs and accents that NFKC leaves apart from their letter, and that \\w does not match; letters and digits of
the same blocks are in, their punctuation and signs of currencies are not."""
UNSPACED = (
    "\u2e80-\u2fff\u3001-\u3098\u309b-\u312f\u31a0-\u31ff\u3220-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\ufe10-\ufe1f\ufe30-\ufe4f\uff01-\uff9d\uffe0-\uffe6\U0001b000-\U0001b16f\U00020000-\U0003ffff"
)
"""Chinese and Japanese, punctuation included, which are written without blanks; Korean has blanks.  The voiced marks of
kana are left out, as they combine with the character before them."""
WIDE = (
    "\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60\uffe0-\uffe6\U00020000-\U0003ffff"
)
"""What takes two columns of a terminal."""
