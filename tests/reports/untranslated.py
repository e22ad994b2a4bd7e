"""What is left in English in a Chinese text."""

import re
from collections.abc import Iterable


def untranslated(text: str, allowed: Iterable[str]) -> list[str]:
    """Runs of three or more Latin letters that are no part of an allowed name, nor of a signature, in their order.

    allowed   names that stay as they are: measures, systems, ids, options; a name counts where no letter adjoins it

    >>> untranslated("hybrid 的 ndcg@10 为 0.5，best of all", ["hybrid", "ndcg@10"])
    ['best', 'all']
    """
    text = re.sub(r"签名：[^：]*?steelyard:[\w.]+", " ", text)
    for name in sorted(set(allowed), key=len, reverse=True):
        before, after = (
            (r"(?<![A-Za-z])" if name[:1].isalpha() else ""),
            (r"(?![A-Za-z])" if name[-1:].isalpha() else ""),
        )
        text = re.sub(before + re.escape(name) + after, " ", text)
    return re.findall(r"[A-Za-z]{3,}", text)
