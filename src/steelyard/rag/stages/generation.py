"""Answers from passages: the extractive generator, the prompt of the others, and chat models."""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Literal

from steelyard.base.choices import Language
from steelyard.base.errors import InputError
from steelyard.base.limits import at_least
from steelyard.base.settings import check_fields
from steelyard.data.corpus import Passage
from steelyard.io.source import Source
from steelyard.rag.registry import stage
from steelyard.services.models.chat import ChatModel, fill_template
from steelyard.text.scripts import CHINESE_STOPWORDS, CONTRACTED, ENGLISH_STOPWORDS, QUESTION_WORDS, language_of
from steelyard.text.sentences import sentence_spans
from steelyard.text.tokens import Tokenizer

DONT_KNOW: dict[Language, str] = {"en": "I don't know.", "zh": "我不知道。"}
"""The answer where the passages have none; the prompts ask for the same words."""

_STOP_WORDS = ENGLISH_STOPWORDS | CHINESE_STOPWORDS | CONTRACTED | QUESTION_WORDS
# A two-character token with one of these in it is grammar rather than matter: 是什, 么的, 哪个.
_STOP_CHARACTERS = frozenset("的了吗呢吧么什谁哪怎是")

_PLACEHOLDERS = ("{passages}", "{query}")


def template_text(language: Language) -> str:
    """The prompt that comes with Steelyard.

    Raises   InputError for another language.
    """
    if language not in DONT_KNOW:
        raise InputError(f"there is no prompt for the language {language!r}; choose auto, {' or '.join(DONT_KNOW)}")
    return _shipped(language)


@cache
def _shipped(language: str) -> str:
    return (files("steelyard.rag") / "prompts" / f"answer.{language}.txt").read_text(encoding="utf-8")


def read_template(path: str | Path) -> str:
    """A prompt of the user's own, from a UTF-8 file.

    Raises   InputError for a file that cannot be read, or that lacks a placeholder.
    """
    source = Source(path)
    try:
        template = source.read().decode().replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{source.name}: byte {error.object[error.start]:#04x} at {error.start} is not UTF-8"
        ) from None
    _check_template(template, source.name)
    return template


def _check_template(template: str, name: str) -> None:
    missing = [placeholder for placeholder in _PLACEHOLDERS if placeholder not in template]
    if missing:
        raise InputError(f"{name}: lacks {' and '.join(missing)}; a prompt needs both {' and '.join(_PLACEHOLDERS)}")


def build_prompt(
    query: str,
    passages: Sequence[Passage],
    *,
    language: Literal["auto", "en", "zh"] = "auto",
    template: str | None = None,
) -> list[dict[str, str]]:
    """Messages for a chat model: answer from these passages only, say so where they have no answer, cite [doc#chunk].

    language   of the prompt that comes with Steelyard; "auto" takes the question's
    template   a prompt in place of that one, with {passages} and {query}.  What is above the first line of nothing
               but `---` becomes the system message; without such a line there is none.
    Returns    dicts with `role` ("system", "user") and `content`.  Each passage is its id in brackets and, below, its
               text.  What is filled in is never filled in again, whatever braces it holds.
    Raises     InputError for a template without a placeholder, or an unknown language.
    """
    if template is None:
        template = template_text(language_of(query) if language == "auto" else language)
    _check_template(template, "the prompt")
    values = {
        "passages": "\n\n".join(f"[{passage.chunk_id}]\n{passage.text or ''}" for passage in passages),
        "query": query,
    }
    return fill_template(template, values)


def prompt_digest(language: Literal["auto", "en", "zh"] = "auto", *, template: str | None = None) -> str:
    """SHA-256 of the prompts that `build_prompt` would choose from, for a fingerprint.

    Raises   InputError for an unknown language.
    """
    languages = list(DONT_KNOW) if language == "auto" else [language]
    texts = [template] if template is not None else [template_text(code) for code in languages]
    return "sha256:" + hashlib.sha256("\0".join(texts).encode()).hexdigest()


@stage("generate", "extractive")
@dataclass(frozen=True)
class Extractive:
    """Answers with the sentences that fit the question best, word for word, each with its [doc#chunk].

    sentences   how many at most

    A word of the question counts idf = ln(1 + n / df) over the n sentences of the passages, stop words aside, each once
    in a sentence and by its stem.  A sentence's score is the sum over its own words, and 0.6 times that over the other
    words of its passage, headings included: "We release it within three days" answers under "Getting the deposit back".
    A word that the answer has already counts 0.85.  Equal scores go by rank of passage, then by position.

    Headings, and the head and rule of a table, are never quoted, nor is a sentence that is in the answer already, or
    overlaps one in its document; one that a chunk cuts, only where no whole one has a word of the question.  The answer
    has them in order of passage and position, white space folded.  Where the passages have no word of the question, or
    nothing to quote, it is DONT_KNOW in the question's language.
    """

    sentences: Annotated[int, at_least(1)] = 3

    def __post_init__(self) -> None:
        check_fields(self)

    def answer(self, query: str, passages: Sequence[Passage]) -> str:
        """The best sentences with their citations, or that it does not know."""
        query_words = _content_tokens(query)
        of_passages = [query_words & _content_tokens(passage.text or "") for passage in passages]
        sentences = [sentence for place, passage in enumerate(passages) for sentence in _quotable(passage, place)]
        # What a chunk cuts is quoted only where no whole sentence has a word of the question.
        whole = [sentence for sentence in sentences if not sentence.is_cut]
        for candidates in (whole, sentences, whole or sentences):
            own = [query_words & _content_tokens(sentence.text) for sentence in candidates]
            if any(own):
                break
        if not candidates or not any(of_passages):
            return DONT_KNOW[language_of(query)]
        return self._answer(candidates, own, of_passages)

    def _answer(self, sentences: Sequence[_Sentence], own: Sequence[Set[str]], of_passages: Sequence[Set[str]]) -> str:
        """The best of the sentences; own are the words of the question in each, of_passages those in each passage."""
        df = Counter(word for words in own for word in words)

        def weight(words: Iterable[str]) -> float:
            # fsum, since the order of a set must not move a bit of the score.
            return math.fsum(math.log1p(len(sentences) / max(df[word], 1)) for word in words)

        scores = [
            weight(words) + _BESIDE * weight(of_passages[sentence.place] - words)
            for sentence, words in zip(sentences, own, strict=True)
        ]
        selected, said = list[int](), set[str]()
        left = [i for i, score in enumerate(scores) if score > 0]
        while left and len(selected) < self.sentences:
            best = max(left, key=lambda i: (scores[i] - _AGAIN * weight(own[i] & said), -i))
            left.remove(best)
            if not any(sentences[best].repeats(sentences[i]) for i in selected):
                selected.append(best)
                said |= own[best]
        return " ".join(f"{sentences[i].folded} [{sentences[i].passage.chunk_id}]" for i in sorted(selected))


_BESIDE = 0.6
"""Weight of a word of the question that is elsewhere in a sentence's passage."""

_AGAIN = 0.15
"""Share of its weight that a word of the question loses once the answer has it."""

_HEADING = re.compile(r"#{1,6}\s|[\s:|-]+$")
_TABLE_RULE = re.compile(r"\|?[\s:|-]*---")
_GOES_ON = re.compile("[a-z，、；：,;)）]")
_ENDS = re.compile(r"\W*?[.!?。！？；…|:：)）”\"’]")
"""The end of a sentence, read backwards: forwards, a long run of marks would be tried from each of them."""
_ITEM = re.compile(r"[-*+•|]|\d+[.)]")


def _quotable(passage: Passage, place: int) -> Iterator[_Sentence]:
    """The sentences of a passage that say something by themselves: neither headings nor the head of a table.

    place   of the passage among all
    """
    text = passage.text or ""
    spans = sentence_spans(text)
    for i, (start, end) in enumerate(spans):
        sentence = text[start:end]
        is_head = i + 1 < len(spans) and sentence[0] == "|" and _TABLE_RULE.match(text, spans[i + 1][0])
        begins_inside = i == 0 and bool(passage.start) and _GOES_ON.match(sentence) is not None
        ends_inside = i + 1 == len(spans) and not _ENDS.match(sentence[::-1]) and not _ITEM.match(sentence)
        if not (is_head or _HEADING.match(sentence)):
            yield _Sentence(passage, start, end, place, begins_inside or ends_inside)


@dataclass(frozen=True)
class _Sentence:
    """A sentence of a passage, by its offsets there.

    place    of the passage among all
    is_cut   whether it seems to begin or end outside of the passage
    """

    passage: Passage
    start: int
    end: int
    place: int
    is_cut: bool

    @property
    def text(self) -> str:
        return (self.passage.text or "")[self.start : self.end]

    @property
    def folded(self) -> str:
        """The text with every run of white space as one space."""
        return " ".join(self.text.split())

    @property
    def span(self) -> tuple[int, int] | None:
        """Offsets in the document; None where those of the passage are not those of its text."""
        first, last, text = self.passage.start, self.passage.end, self.passage.text
        if first is None or last is None or text is None or last - first != len(text):
            return None
        return first + self.start, first + self.end

    def repeats(self, other: _Sentence) -> bool:
        """True if it says the same as another one, or overlaps it: chunks of one document may overlap."""
        if self.folded == other.folded:
            return True
        if self.span is None or other.span is None or self.passage.doc_id != other.passage.doc_id:
            return False
        return self.span[0] < other.span[1] and other.span[0] < self.span[1]


_PLAIN, _STEMMED = Tokenizer(chinese="bigrams", stem="none"), Tokenizer(chinese="bigrams", stem="english")


@lru_cache(maxsize=10_000)
def _content_tokens(text: str) -> frozenset[str]:
    """The stems of the words of a text that say what it is about."""
    return frozenset(
        stem
        for token, stem in zip(_PLAIN.tokens(text), _STEMMED.tokens(text), strict=True)
        # Of a contraction (don't, we're) the first part decides.
        if re.split("['’]", token)[0] not in _STOP_WORDS
        and not (len(token) <= 2 and _STOP_CHARACTERS.intersection(token))
    )


@stage("generate", "openai")
@dataclass(frozen=True, kw_only=True)
class OpenAIGenerator(ChatModel):
    """Answers from an OpenAI-compatible /chat/completions.

    language      of the prompt: "en", "zh", or "auto" by the question
    prompt        a file to use instead of the bundled prompt (`steelyard.rag.stages.generation.read_template`)
    Raises        InputError for settings out of range, a prompt that cannot be read, or a key that is not set.
    """

    max_tokens: Annotated[int, at_least(1)] | None = 512
    language: Literal["auto", "en", "zh"] = "auto"
    prompt: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self.identity()  # A prompt that cannot be read is reported before anything is computed.

    def identity(self) -> str:
        """The digest of the prompt, which is as much a setting as the path to it."""
        return prompt_digest(self.language, template=self._template)

    @cached_property
    def _template(self) -> str | None:
        return None if self.prompt is None else read_template(self.prompt)

    def answer(self, query: str, passages: Sequence[Passage]) -> str:
        """The model's text; one that max_tokens cut is given as it is.

        Raises   StageError when the endpoint fails (`steelyard.services.http.client.Patience`), or answers no text: no
                 choice, a refusal, a content filter, reasoning alone.
        """
        messages = build_prompt(query, passages, language=self.language, template=self._template)
        return self.ask(messages).text
