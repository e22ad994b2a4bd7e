"""The language that a text is in, and words that say nothing about what a text is about."""

from __future__ import annotations

import re

from steelyard.base.choices import Language
from steelyard.text.scripts import IDEOGRAPHS

_ZH_SHARE = 0.3
_IDEOGRAPH = re.compile(f"[{IDEOGRAPHS}]")


def language_of(text: str) -> Language:
    """Language of a text, Chinese or English: "zh" where at least 0.3 of its letters are Chinese characters, else "en".

    >>> language_of("请问 iPhone 怎么充电？"), language_of("Who was 李白?"), language_of("42")
    ('zh', 'en', 'en')
    """
    n_letters = sum(map(str.isalpha, text))
    return "zh" if n_letters and len(_IDEOGRAPH.findall(text)) / n_letters >= _ZH_SHARE else "en"


ENGLISH_STOPWORDS = frozenset(
    """a about after again all also am an and any are as at be because been before being both but by can could did do
    does for from had has have he her here hers him his how i if in into is it its just me more most my no nor not of
    on or our ours out over own she should so some such than that the their theirs them then there these they this
    those through to too under until up us very was we were what when where which while who whom whose why will with
    would you your yours""".split()
)
"""What an index may leave out of an English text."""

CHINESE_STOPWORDS = frozenset(
    """的 了 和 与 及 或 而 且 但 在 是 有 也 都 就 还 又 很 更 最 不 被 把 将 对 从 到 向 于 以 为 由 给 让
    跟 同 之 其 此 该 这 那 哪 谁 么 吗 呢 吧 啊 呀 着 过 地 得 个 们 我 你 您 他 她 它 我们 你们 他们 她们
    它们 自己 这个 那个 这些 那些 这里 那里 这样 那样 什么 怎么 怎样 如何 为什么 哪个 哪些 哪里 因为 所以 如果
    但是 而且 或者 以及 并且 可以 没有 不是 就是 还是 只是 已经 一个 一些 关于 对于 由于""".split()
)
"""What an index may leave out of a Chinese text."""

CONTRACTED = frozenset("""ain aren couldn didn doesn don hadn hasn haven isn shouldn wasn weren won wouldn""".split())
"""English verbs as they are left when the apostrophe of don't ends the word."""

QUESTION_WORDS = frozenset("为何 是否 有没 请问".split())
"""Chinese words by which a question asks, and pairs of characters that these have in common with no other word."""
