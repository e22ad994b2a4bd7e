"""Which sentences of an answer assert nothing, by rule."""

from __future__ import annotations

import re
import unicodedata

from steelyard.judges.admitting import only_admits
from steelyard.judges.phrases import clause_pattern, phrase_reason
from steelyard.text.footnotes import SOURCES

_WORD = re.compile(r"\w")
_BOLD = re.compile(r"(\*\*|__)[^*_\n]{1,120}\1:?|\*\*[^*\n]{1,120}[:：]\*\*")
_SOURCES = re.compile(rf"[\W_]*{SOURCES}[\s*_]*[:：](?P<listed>.*)", re.VERBOSE | re.IGNORECASE | re.DOTALL)
_CHAPTER = re.compile(r"第[0-9〇零一二两三四五六七八九十百]{1,6}[章节回卷篇编](?:\s[^。！？.!?]{0,40})?")
_QUOTED = re.compile(r"""“[^”]*” | "[^"]*" | 「[^」]*」 | 『[^』]*』 | ``.*?''""", re.VERBOSE | re.DOTALL)
_QUESTION = re.compile(r"""[("'“‘「『（].*[?？]\W* | [^"“「『`]*[?？][\s)）*_~]*""", re.VERBOSE | re.DOTALL)
_LAST_VERB = re.compile(r"(?:\b(?:is|are|was|were)(?: to)?(?: either)?|[是为有])\s*[:：]\Z", re.IGNORECASE)
_SHORT_WORDS, _SHORT_CHINESE = 6, 12


def no_claim(text: str, *, stands_above: bool = True) -> str:
    """Why a sentence asserts nothing; empty where it may assert something, which is what doubt is decided for.

    text          without citation marks
    stands_above  whether nothing follows it in its line, but something below

    Reasons: no_words, heading, sources, question, lead_in, greeting, thanks, courtesy, hedge, offer, and admission,
    where all that is said is that there is no answer.

    >>> [no_claim(text) for text in ("## Hours", "Hello!", "希望对你有帮助。", "It opens at nine.", "No.")]
    ['heading', 'greeting', 'hedge', '', '']
    """
    plain = text.strip().lower()
    if not _WORD.search(plain):
        return "no_words"
    if re.match(r"#{1,6}\s", plain) or _CHAPTER.fullmatch(plain) or (stands_above and _BOLD.fullmatch(plain)):
        return "heading"
    if _lists_sources(plain):
        return "sources"
    plain = plain.strip("*_ \t>")
    if _is_question(plain) and not clause_pattern("knowing_question").search(plain):
        return "question"
    if plain.endswith((":", "：")) and _leads_in(plain, stands_above):
        return "lead_in"
    return phrase_reason(plain) or ("admission" if only_admits(plain) else "")


def _is_question(plain: str) -> bool:
    """Whether a sentence ends with a question mark that is not that of a quotation within it."""
    if plain.rstrip("”\"’')）」』*_~ .")[-1:] not in ("?", "？"):
        return False
    return bool(_QUESTION.fullmatch(plain) or _QUESTION.fullmatch(_QUOTED.sub("", plain)))


def _lists_sources(plain: str) -> bool:
    """Whether it is a list of sources behind such a word, rather than a sentence there."""
    match = _SOURCES.fullmatch(plain)
    if match is None:
        return False
    listed = match["listed"].rstrip()
    return not (listed.endswith((".", "。", "!", "！")) and clause_pattern("finite").search(listed))


def _leads_in(plain: str, stands_above: bool) -> bool:
    """Whether a sentence that ends with a colon says only that something follows."""
    if any(unicodedata.category(character) == "Nd" for character in plain):
        return False
    if clause_pattern("lead_in").search(plain):
        return True
    if clause_pattern("counting").search(plain) or clause_pattern("finite").search(_LAST_VERB.sub("", plain)):
        return False
    n_chinese = sum("\u4e00" <= character <= "\u9fff" for character in plain)
    is_short = n_chinese <= _SHORT_CHINESE if n_chinese else len(plain.split()) <= _SHORT_WORDS
    return clause_pattern("reference").search(plain) is not None or (stands_above and is_short)
