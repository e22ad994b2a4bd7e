"""Reranking by a chat model: each text graded by itself, or lists of texts put in order."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib.resources import files
from typing import Annotated, Any, Literal, TypeVar

from steelyard.base.choices import Language
from steelyard.base.limits import at_least
from steelyard.base.settings import SettingError
from steelyard.judges.llm.replies import last_object
from steelyard.rag.protocols import Reranked, total_usage
from steelyard.rag.registry import stage
from steelyard.services.announcements import Usage
from steelyard.services.loops import shared_loop
from steelyard.services.models.chat import ChatModel, Messages, Reply, fenced, fill_template, numbered, response_format
from steelyard.services.prices import estimate_tokens
from steelyard.text.scripts import language_of

T = TypeVar("T")
Mode = Literal["pointwise", "listwise"]
_LANGUAGES: tuple[Language, ...] = ("en", "zh")
_OPTIONAL = ("temperature", "seed", "response_format")
_FORMS: Mapping[Mode, Mapping[str, Any]] = {
    "pointwise": response_format("grade", {"score": {"type": "number"}}),
    "listwise": response_format("ranking", {"ranking": {"type": "array", "items": {"type": "integer"}}}),
}
"""What servers that can see to the form of a reply are told."""
_TOP = 100
_CUT = "length"
_LONGEST = 200_000
"""Characters of a reply that are searched for a ranking."""
_BRACKETS = "[【("
_NUMBER = r"(?:[\[【(]\s*[0-9]{1,6}\s*[\]】)]|(?<![0-9.,])[0-9]{1,6}(?![0-9]|[.,][0-9]))"
_WORD = r"(?:(?:passages?|documents?|docs?|texts?|段落|文档|文章|文本)[\s*#]*)?"
_CHAIN = re.compile(rf"{_NUMBER}(?:[\s*]*[>≻]+[\s*]*{_WORD}{_NUMBER})+", re.IGNORECASE)
"""[2] > [1] > [3], or 2 > 1 > 3, with Markdown's asterisks or a word before each number."""
_THOUGHTS, _THOUGHTS_END = (re.compile(f"<{slash}think(?:ing)?>", re.IGNORECASE) for slash in ("", "/"))
_REPLY_TOKENS, _NUMBER_TOKENS = 8, 3
"""About as many as a reply has, and a number in it."""


@stage("rerank", "llm")
@dataclass(frozen=True, kw_only=True)
class LLMReranker(ChatModel):
    """Scores by a chat model behind an OpenAI-compatible /chat/completions.

    mode          "pointwise": a call for each text, which is graded from 0 to 100; the score is the grade as a share.
                  "listwise": a call for `window` texts, which the model puts in order, from the end of the list to its
                  start by `step` texts at a time, so that the best of each window meet those before them (Sun et al.
                  2023, arXiv 2304.09542); the score is the number of texts below
    window, step  of listwise
    language      of the prompt: "en", "zh", or "auto" by the question
    concurrency   calls that are under way at once; under load, of one question
    Raises        InputError for settings out of range, or a key that is not set.

    A reply that cannot be read fails the question.  A ranking, as JSON or as [2] > [1] > [3], may leave texts out: they
    keep their order below the others.  Numbers that are repeated or of no text are dropped.  All of them are counted.
    """

    mode: Mode
    window: Annotated[int, at_least(2)] = 20
    step: Annotated[int, at_least(1)] = 10
    language: Literal["auto", "en", "zh"] = "auto"
    max_tokens: Annotated[int, at_least(1)] | None = 512
    concurrency: Annotated[int, at_least(1)] | None = 8

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.step >= self.window:
            fact = f"step is {self.step}, and window {self.window}: no text would meet those before its window"
            raise SettingError(f"LLMReranker: {fact}; choose a lower step", "step")

    def identity(self) -> str:
        """The digest of the prompts, which are as much a setting as the others."""
        languages = _LANGUAGES if self.language == "auto" else (self.language,)
        text = "\0".join(template(self.mode, language) for language in languages)
        return "sha256:" + hashlib.sha256(text.encode()).hexdigest()

    def scores(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """One finite score a text; none without texts.

        Raises   StageError when the endpoint fails (`steelyard.services.http.client.Patience`), answers no text, or a
                 reply holds no grade, or names no text of its window.
        """
        return self.rerank(query, texts).scores

    def rerank(self, query: str, texts: Sequence[str]) -> Reranked:
        """As `scores`, with the tokens of all calls where the server says them of each."""
        work = self._graded if self.mode == "pointwise" else self._ordered
        return shared_loop().run(work(query, list(texts)))

    def estimate(self, query: str, texts: Sequence[str]) -> Usage:
        """About the tokens of all calls that `rerank` would make, prompts and replies."""
        if self.mode == "pointwise":
            calls = [(self._messages(query, {"passage": text}), 1) for text in texts]
        else:
            spans = windows(len(texts), self.window, self.step)
            calls = [(self._window(query, texts, range(start, end)), end - start) for start, end in spans]
        tokens_in = sum(estimate_tokens(message["content"]) for messages, _ in calls for message in messages)
        return Usage(tokens_in, sum(_REPLY_TOKENS + _NUMBER_TOKENS * n for _, n in calls))

    async def _graded(self, query: str, texts: list[str]) -> Reranked:
        replies = await self._ask_all([self._messages(query, {"passage": text}) for text in texts])
        scores = [self._read(read_grade, reply, f"text {i} of {len(texts)}") for i, reply in enumerate(replies, 1)]
        return Reranked(scores, total_usage([reply.usage for reply in replies]))

    async def _ordered(self, query: str, texts: list[str]) -> Reranked:
        order, replies, n_repaired = list(range(len(texts))), list[Reply](), 0
        for start, end in windows(len(texts), self.window, self.step):
            reply = await self._ask(self._window(query, texts, order[start:end]))
            what = f"texts {start + 1} to {end} of {len(texts)}"
            ranking = self._read(partial(_whole_ranking, n=end - start, is_cut=reply.finish == _CUT), reply, what)
            order[start:end] = [order[start + place] for place in ranking.places]
            n_repaired += ranking.n_missing + ranking.n_dropped
            replies.append(reply)
        scores = [0.0] * len(texts)
        for place, text in enumerate(order):
            scores[text] = float(len(texts) - 1 - place)
        return Reranked(scores, total_usage([reply.usage for reply in replies]), n_repaired=n_repaired)

    def _window(self, query: str, texts: Sequence[str], places: Sequence[int]) -> Messages:
        items = [(str(number), texts[place]) for number, place in enumerate(places, 1)]
        return self._messages(query, {"passages": numbered(items)}, n=str(len(items)))

    def _messages(self, query: str, texts: Mapping[str, str], **own_words: str) -> Messages:
        language = language_of(query) if self.language == "auto" else self.language
        return fill_template(template(self.mode, language), {**own_words, **fenced({"query": query, **texts})})

    async def _ask(self, prompt: Messages) -> Reply:
        return await self.ask_async(prompt, response_format=_FORMS[self.mode], optional=_OPTIONAL)

    async def _ask_all(self, prompts: Sequence[Messages]) -> list[Reply]:
        """Replies in the order of the prompts; with the first that fails, the others are given up."""
        import asyncio

        # Under load, the client of all questions has no limit: see `Endpoint.directly`.
        turns = asyncio.Semaphore(self.concurrency or len(prompts))

        async def ask(prompt: Messages) -> Reply:
            async with turns:
                return await self._ask(prompt)

        calls = [asyncio.ensure_future(ask(prompt)) for prompt in prompts]
        try:
            return list(await asyncio.gather(*calls))
        finally:
            for call in calls:
                call.cancel()

    def _read(self, read: Callable[[str], T], reply: Reply, what: str) -> T:
        try:
            return read(reply.text)
        except ValueError as error:
            cut = reply.finish == _CUT
            hint = "raise max_tokens" if cut else "choose a model that keeps to the prompt, or the other mode"
            raise self._service.error(f"{error}, for {what}{', and was cut off' * cut}", hint) from None

    def _address(self) -> tuple[str, str]:
        return "rerank", super()._address()[1]


@cache
def template(mode: Mode, language: Language) -> str:
    """The prompt of a mode."""
    return (files("steelyard.rag") / "prompts" / f"rerank.{mode}.{language}.txt").read_text(encoding="utf-8")


def windows(n: int, size: int, step: int) -> list[tuple[int, int]]:
    """Start and end of the windows over n texts, from the last one back to the first text; none where n < 2.

    >>> windows(50, 20, 10), windows(12, 20, 10), windows(1, 20, 10)
    ([(30, 50), (20, 40), (10, 30), (0, 20)], [(0, 12)], [])
    """
    if n < 2:
        return []
    starts = [*range(n - size, 0, -step), 0]
    return [(start, min(start + size, n)) for start in starts]


def _answer_of(text: str) -> str:
    """A reply without its thoughts, whose beginning may be in the prompt, and which may not come to an end."""
    answer = _THOUGHTS_END.split(text)[-1]
    return _THOUGHTS.split(answer)[0]


def read_grade(text: str) -> float:
    """The grade of a reply, as a share of the highest.

    Raises   ValueError saying what there is in its place.

    >>> read_grade('{"score": 75}')
    0.75
    """
    answer = last_object(_answer_of(text), "score")
    if answer is None:
        raise ValueError('answered no {"score": …}')
    score = answer["score"]
    if isinstance(score, bool) or not isinstance(score, int | float) or not 0 <= score <= _TOP:
        raise ValueError(f"answered the score {str(score)[:20]!r}; expected a number from 0 to {_TOP}")
    return float(score) / _TOP


@dataclass(frozen=True, slots=True)
class ListwiseReply:
    """The ranking of a listwise reply.

    places      of all texts, from 0, best first; those that the reply leaves out come last, in their order before
    n_missing   texts that it leaves out;   n_dropped   numbers that are repeated, or of no text
    """

    places: list[int]
    n_missing: int = 0
    n_dropped: int = 0


def read_ranking(text: str, n: int) -> ListwiseReply:
    """The ranking of n texts, by their numbers from 1, in a reply: as JSON, or as RankGPT and RankZephyr write it.

    Raises   ValueError where it names no text, or counts from 0, so that each number would be of another text.

    >>> read_ranking('{"ranking": [2, 3, 1]}', 3).places, read_ranking("[3] > [1] > [3] > [7]", 3)
    ([1, 2, 0], ListwiseReply(places=[2, 0, 1], n_missing=1, n_dropped=2))
    """
    text = _answer_of(text)
    answer = last_object(text, "ranking")
    listed = None if answer is None else answer["ranking"]
    numbers = listed if isinstance(listed, list) else _chain(text, n)
    if numbers is None:
        raise ValueError('answered no {"ranking": […]} and no ranking such as [2] > [1]')
    for number in numbers:
        if isinstance(number, bool) or not isinstance(number, int):
            raise ValueError(f"answered a ranking with {str(number)[:20]!r}; expected numbers from 1 to {n}")
    if 0 in numbers and n not in numbers:
        raise ValueError(f"answered a ranking that counts from 0; expected numbers from 1 to {n}")
    named = [number - 1 for number in dict.fromkeys(numbers) if 1 <= number <= n]
    if not named:
        raise ValueError(f"answered a ranking of none of the {n} texts; expected numbers from 1 to {n}")
    missing = [place for place in range(n) if place not in named]
    return ListwiseReply([*named, *missing], len(missing), len(numbers) - len(named))


def _chain(text: str, n: int) -> list[int] | None:
    """The numbers of the longest chain such as [2] > [1] > [3], the last of equally long ones; None without any."""
    chains = list[list[int]]()
    for match in _CHAIN.finditer(unicodedata.normalize("NFKC", text[-_LONGEST:])):
        numbers = [int(digits) for digits in re.findall("[0-9]+", match[0])]
        # Without brackets, two numbers may as well be two amounts that a sentence compares.
        if match[0][0] in _BRACKETS or 2 * len({number for number in numbers if 1 <= number <= n}) >= n:
            chains.append(numbers)
    return max(reversed(chains), key=len, default=None)


def _whole_ranking(text: str, *, n: int, is_cut: bool) -> ListwiseReply:
    """As `read_ranking`; of a reply that was cut, what is missing was not left out."""
    ranking = read_ranking(text, n)
    if is_cut and ranking.n_missing:
        raise ValueError(f"answered a ranking of {n - ranking.n_missing} of {n} texts")
    return ranking
