"""The judge of relevance that asks a language model, one call for each question and document."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, ClassVar

from steelyard.base.choices import Language
from steelyard.base.errors import quoted
from steelyard.judges.grading.graders import Grading, QueryDocument, grader_named
from steelyard.judges.grading.grades import Scale
from steelyard.judges.llm.asking import ModelRequest
from steelyard.judges.llm.judge import CallEstimate, JudgingModel
from steelyard.judges.llm.prompting import Prompts
from steelyard.judges.llm.replies import ReplyEntries, last_object, read_text
from steelyard.judges.llm.tasks import GRADES, ONLY, Task
from steelyard.services.models.chat import fill_template

VERSION = 1
_KEY, _NAME = "grade", "grade"
_N_TOKENS = 90
_TEXT = {"type": "string"}


@grader_named("llm")
@dataclass(frozen=True, kw_only=True)
class LLMGrader(JudgingModel):
    """Asks a chat model behind an OpenAI-compatible address; its settings are those of `JudgingModel`.

    A reply is JSON with a `grade`, prose around JSON, or a number alone.  What is off the scale, or cannot be read, is
    asked for once more, and then not judged.
    Raises   InputError for settings out of range, a key that is not set, or a budget in money without a price.
    """

    wants_all_at_once: ClassVar[bool] = True
    name: str = field(default="llm", init=False)

    def grade(self, pairs: Sequence[QueryDocument], scale: Scale) -> list[Grading]:
        """The grade of each pair; pairs that are alike are asked for once.

        Raises   StageError where no call can succeed: a wrong key, an unknown model, a server that is not there.
        """
        requests = self._requests(pairs, scale)
        results = self._asker.run(requests, "grades", self.progress)
        return [
            result.values.get(
                ONLY, Grading(None, result.causes.get(ONLY, ""), _prompt(scale, request.language, self._prompts))
            )
            for request, result in zip(requests, results, strict=True)
        ]

    def plan(self, pairs: Sequence[QueryDocument], scale: Scale) -> CallEstimate:
        """Estimate of the calls that grading would take; nothing is sent."""
        return self._plan(self._asker.estimate(self._requests(pairs, scale)))

    def recipe(self) -> Mapping[str, Any]:
        """Facts that the grades depend on, besides the scale."""
        return {
            "version": VERSION, "model": self.model, "base_url": self.base_url, "temperature": self.temperature,
            "max_tokens": self.max_tokens, "seed": self.seed, "language": self.language,
            "prompts": {f"{_NAME}.{code}": self._prompts.digest(_NAME, code) for code in self._languages},
        }  # fmt: skip

    def _requests(self, pairs: Sequence[QueryDocument], scale: Scale) -> list[ModelRequest[Grading]]:
        return [self._request(pair, scale) for pair in pairs]

    def _request(self, pair: QueryDocument, scale: Scale) -> ModelRequest[Grading]:
        language = self._language(pair.query)
        texts = {"question": pair.query, "source": pair.text}
        return ModelRequest(
            _task(scale, language, self._prompts), language, texts, own_words=_own_words(scale, language)
        )


@cache
def _own_words(scale: Scale, language: Language) -> Mapping[str, str]:
    """Words of the prompt about a scale."""
    lines = [f"- {gain:g}: {words}" for gain, words in scale.words(language)]
    gains = [f"{gain:g}" for gain in scale.gains]
    between = "、" if language == "zh" else ", "
    return {"scale": "\n".join(lines), "grades": between.join(gains), "example": gains[len(gains) // 2]}


@cache
def _prompt(scale: Scale, language: Language, prompts: Prompts) -> str:
    """A digest of the prompt with the words of the scale in it."""
    messages = fill_template(prompts.text(_NAME, language), _own_words(scale, language))
    return "sha256:" + hashlib.sha256("\n".join(message["content"] for message in messages).encode()).hexdigest()


@cache
def _task(scale: Scale, language: Language, prompts: Prompts) -> Task[Grading]:
    """The form of a reply, and how it is read, on a scale."""

    def read(reply: Mapping[str, Any], ids: Sequence[str]) -> ReplyEntries[Grading]:
        gain = scale.gain_of(reply[_KEY])
        if gain is None:
            return ReplyEntries(causes={ONLY: f"off the scale: {quoted(reply[_KEY])}"})
        return ReplyEntries({ONLY: Grading(gain, read_text(reply.get("reason")), _prompt(scale, language, prompts))})

    def find(text: str, key: str) -> Mapping[str, Any] | None:
        reply = last_object(text, key)
        is_number = reply is None and "{" not in text and scale.gain_of(text) is not None
        return {key: text} if is_number else reply

    whole = all(gain.is_integer() for gain in scale.gains)
    gains = [int(gain) if whole else gain for gain in scale.gains]
    grade = {"type": "integer" if whole else "number", "enum": gains}
    form = {"intent": _TEXT, "match": _TEXT, "trust": _TEXT, "reason": _TEXT, _KEY: grade}
    return Task(_NAME, _KEY, form, read, (_N_TOKENS, 0), find, others=GRADES)
