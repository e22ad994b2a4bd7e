"""Sentences that assert nothing, by rule, and answers that say that there is none; English and Chinese.

The phrases are data: phrases.en.toml and phrases.zh.toml beside this file."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Any

from steelyard.judges.verdict import Unit
from steelyard.text.footnotes import SOURCES

_LANGUAGES = ("en", "zh")
_AROUND = r"[\s\W]*"
_LONGEST_PHRASE = 400  # characters; what is longer says something
_REASONS = ("greeting", "thanks", "courtesy", "hedge", "offer")


@cache
def _phrases() -> Mapping[str, Mapping[str, list[str]]]:
    """Patterns of all languages, by table and name, their parts filled in."""
    merged: dict[str, dict[str, list[str]]] = {"clauses": {}, "sentences": {}}
    for language in _LANGUAGES:
        table: Mapping[str, Any] = tomllib.loads(
            (files("steelyard.judges.answers") / f"phrases.{language}.toml").read_text("utf-8")
        )
        for kind, patterns_by_name in merged.items():
            for name, patterns in table[kind].items():
                patterns_by_name.setdefault(name, []).extend(_filled(pattern, table["parts"]) for pattern in patterns)
    return merged


def _filled(pattern: str, parts: Mapping[str, str]) -> str:
    while (filled := re.sub(r"\{([a-z]+)\}", lambda match: parts[match[1]], pattern)) != pattern:
        pattern = filled
    return pattern


@cache
def clause_pattern(name: str) -> re.Pattern[str]:
    """The pattern of words in a clause in small letters: admission, introduction, indirect_question, and others of the
    files.
    """
    return re.compile("|".join(_phrases()["clauses"][name]))


@cache
def _sentence_pattern(name: str) -> re.Pattern[str]:
    return re.compile(f"{_AROUND}(?:{'|'.join(_phrases()['sentences'][name])}){_AROUND}", re.DOTALL)


def phrase_reason(sentence: str) -> str:
    """The reason of a sentence that is a phrase of courtesy, a hedge or an offer; empty for any other.

    >>> phrase_reason("Thank you for your question!"), phrase_reason("仅供参考。"), phrase_reason("It opens at nine.")
    ('thanks', 'hedge', '')
    """
    if len(sentence) > _LONGEST_PHRASE:
        return ""
    sentence = sentence.lower()
    return next((reason for reason in _REASONS if _sentence_pattern(reason).fullmatch(sentence)), "")


def is_referral(sentence: str) -> bool:
    """Tell a sentence that sends the asker elsewhere."""
    return _sentence_pattern("referral").fullmatch(sentence.lower()) is not None


_CLAUSE = re.compile(
    r"""\s*[;；]\s* | \s*[,，]?\s*\b(?:but|however|although|though|yet|while|whereas|therefore)\b[\s,]*
      | \s*,\s*(?:and|so|nor|or|only)\b\s* | \s+and\s+(?=(?:do|does|did)(?:n['’]t|\ not)\b|says?\ nothing) | \s*，\s*
      | [，,]?\s*(?:但是|但|不过|然而|所以|因此|因而|虽然|尽管|而且|并且|同时)[，,]?""",
    re.VERBOSE | re.IGNORECASE,
)
_SAID_OTHERWISE = re.compile(
    r"""\s*(?:["“‘「『] | if\b | unless\b | 如果 | 若 | 假如 | 除非) | [^“]*” | [^"]*"[^"]*\Z""",
    re.VERBOSE | re.IGNORECASE,
)
"""What is said by others, or on a condition: it begins with a quotation, or one ends in it that began elsewhere."""
_QUOTED = re.compile(r"""“[^”]*” | "[^"]*" | 「[^」]*」 | 『[^』]*』 | ``.*?''""", re.VERBOSE | re.DOTALL)
_LABEL = re.compile(r"\A\W*(?:answer|a|response|答案?|回答|答复)\W*[:：]")
"""Before an answer that is given by its name."""
_CONCESSION = re.compile(r"\b(?:although|though|while|whereas)\b", re.IGNORECASE)


def only_admits(sentence: str) -> bool:
    """True for a sentence that says only that there is no answer: all its clauses do, or are courtesy or advice.

    >>> only_admits("I'm sorry, but the documents do not say when it closes.")
    True
    >>> only_admits("It opens at nine, but the documents do not say when it closes.")
    False
    """
    sentence = _bare(" ".join(sentence.lower().split()))
    if not clause_pattern("admission_hint").search(sentence) or _SAID_OTHERWISE.match(sentence):
        return False
    admitted = names_topic = False
    for clause in _clauses(sentence):
        if _is_admission(clause, names_topic=names_topic):
            admitted = True
        elif not _asserts_nothing(clause, admitted=admitted):
            return False
        names_topic = names_topic or clause_pattern("topic").match(clause.strip()) is not None
    return admitted


def _bare(sentence: str) -> str:
    """A sentence without its label, the words of quotations, and courtesy behind its last comma."""
    bare = _QUOTED.sub("“”", _LABEL.sub("", sentence))
    last = max(bare.rfind(","), bare.rfind("，"))
    return bare[:last] if last >= 0 and phrase_reason(bare[last + 1 :]) else bare


def _is_admission(clause: str, *, names_topic: bool) -> bool:
    """True for a clause that says that there is no answer, and not that others, or under some condition, have none.

    names_topic   whether what the sources are about is before it
    """
    admission = clause_pattern("admission").search(clause)
    if admission is None and names_topic:
        admission = clause_pattern("later_admission").search(clause)
    if admission is None or clause_pattern("no_admission").search(clause, admission.start()):
        return False
    return _introduces(clause[: admission.start()])


def _asserts_nothing(clause: str, *, admitted: bool) -> bool:
    """True for a clause that is no admission and asserts nothing.

    admitted   whether an admission is before it: then it may say what the answer would be to, and has no number
    """
    if _introduces(clause + ",") and not (admitted and re.search(r"\d", clause)):
        return True
    if clause_pattern("topic").match(clause.strip()):
        return True
    return is_referral(clause) or (admitted and clause_pattern("indirect_question").search(clause) is not None)


def _clauses(sentence: str) -> list[str]:
    """Clauses between conjunctions, Chinese ones between commas too; a concession ends at its comma."""
    cuts = [(0, 0), *(match.span() for match in _CLAUSE.finditer(sentence)), (len(sentence), len(sentence))]
    clauses = []
    for (left, start), (end, _) in pairwise(cuts):
        clause = sentence[start:end]
        clauses += clause.split(",", 1) if _CONCESSION.search(sentence[left:start]) else [clause]
    return [clause for clause in clauses if clause.strip()]


def _introduces(before: str) -> bool:
    """True if what is before an admission asserts nothing: up to its last comma, each part is a phrase or names what is
    talked about, as "In the documents," does.
    """
    parts = [part for part in re.split("[,，]", before)[:-1] if part.strip()]
    return all(phrase_reason(part) or clause_pattern("introduction").match(part.strip()) for part in parts)


_WORD = re.compile(r"\w")
_BOLD = re.compile(r"(\*\*|__)[^*_\n]{1,120}\1:?|\*\*[^*\n]{1,120}[:：]\*\*")
_SOURCES = re.compile(rf"[\W_]*{SOURCES}[\s*_]*[:：](?P<listed>.*)", re.VERBOSE | re.IGNORECASE | re.DOTALL)
_CHAPTER = re.compile(r"第[0-9〇零一二两三四五六七八九十百]{1,6}[章节回卷篇编](?:\s[^。！？.!?]{0,40})?")
_QUESTION = re.compile(r"""[("'“‘「『（].*[?？]\W* | [^"“「『`]*[?？][\s)）*_~]*""", re.VERBOSE | re.DOTALL)
_LAST_VERB = re.compile(r"(?:\b(?:is|are|was|were)(?: to)?(?: either)?|[是为有])\s*[:：]\Z", re.IGNORECASE)
_SHORT_WORDS, _SHORT_CHINESE = 6, 12
_SENTENCE_WORDS = 4  # with a full stop behind them


def no_claim(text: str, *, stands_above: bool = True, leads_list: bool = False) -> str:
    """Reason for which a sentence asserts nothing; empty where it may assert something, also in doubt.

    text          without citation marks
    stands_above  whether nothing follows it in its line, but something below
    leads_list    whether an item of a list is below: what a line with a colon says is then judged with each item

    Reasons: no_words, heading, sources, question, lead_in, greeting, thanks, courtesy, hedge, offer, and admission,
    where all that is said is that there is no answer.

    >>> [no_claim(text) for text in ("## Hours", "Hello!", "希望对你有帮助。", "It opens at nine.", "No.")]
    ['heading', 'greeting', 'hedge', '', '']
    """
    plain = text.strip().lower()
    if not _WORD.search(plain):
        return "no_words"
    if _is_heading(plain, stands_above):
        return "heading"
    if _lists_sources(plain):
        return "sources"
    plain = plain.strip("*_ \t>")
    if _is_question(plain) and not clause_pattern("knowing_question").search(plain):
        return "question"
    if plain.endswith((":", "：")) and _leads_in(plain, stands_above, leads_list):
        return "lead_in"
    return phrase_reason(plain) or ("admission" if only_admits(plain) else "")


def _is_heading(plain: str, stands_above: bool) -> bool:
    """True for a heading by its signs, unless it is a sentence with a full stop, as a conclusion in bold is."""
    if not (re.match(r"#{1,6}\s", plain) or _CHAPTER.fullmatch(plain) or (stands_above and _BOLD.fullmatch(plain))):
        return False
    bare = plain.strip("#*_: \t")
    return not (bare.endswith("。") or (bare.endswith(".") and len(bare.split()) >= _SENTENCE_WORDS))


def _is_question(plain: str) -> bool:
    """True for a sentence that ends with a question mark of its own, not with that of a quotation within it."""
    if plain.rstrip("”\"’')）」』*_~ .")[-1:] not in ("?", "？"):
        return False
    return bool(_QUESTION.fullmatch(plain) or _QUESTION.fullmatch(_QUOTED.sub("", plain)))


def _lists_sources(plain: str) -> bool:
    """True for a list of sources behind such a word, rather than a sentence there."""
    match = _SOURCES.fullmatch(plain)
    if match is None:
        return False
    listed = match["listed"].rstrip()
    return not (listed.endswith((".", "。", "!", "！")) and clause_pattern("finite").search(listed))


def _leads_in(plain: str, stands_above: bool, leads_list: bool) -> bool:
    """True for a sentence with a colon at its end that says only that something follows."""
    if any(unicodedata.category(character) == "Nd" for character in plain):
        return False
    if clause_pattern("lead_in").search(plain):
        return True
    if clause_pattern("counting").search(plain):
        return False
    if leads_list:
        return True
    if clause_pattern("finite").search(_LAST_VERB.sub("", plain)):
        return False
    n_chinese = sum("\u4e00" <= character <= "\u9fff" for character in plain)
    is_short = n_chinese <= _SHORT_CHINESE if n_chinese else len(plain.split()) <= _SHORT_WORDS
    return clause_pattern("reference").search(plain) is not None or (stands_above and is_short)


_UNSAID = frozenset({"code", "sources"})
"""Units that assert nothing, but belong to an answer."""


def is_abstention(units: Iterable[Unit]) -> bool:
    """True for an answer that as a whole says that it, or the documents, cannot answer, in English or Chinese.

    units   of the answer

    Courtesy, questions back, offers and advice where to ask may stand beside it.  An answer that has any other sentence
    beside it, such as a fact and the gap that it leaves, is no abstention; an empty one is none either.

    >>> from steelyard.judges.answers.units import answer_units
    >>> is_abstention(answer_units("I'm sorry, the documents do not say when it closes. Please contact the library."))
    True
    >>> is_abstention(answer_units("It opens at nine. The documents do not say when it closes."))
    False
    """
    admits = False
    for unit in units:
        if unit.no_claim == "admission":
            admits = True
        elif unit.no_claim in _UNSAID or not (unit.no_claim or is_referral(unit.text)):
            return False
    return admits
