"""Two answers compared by a model, each shown first once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from steelyard.base.errors import quoted
from steelyard.judges.llm.asking import LEFT_OUT, ModelRequest
from steelyard.judges.llm.judge import CallEstimate, JudgingModel
from steelyard.judges.llm.replies import ReplyEntries, read_text
from steelyard.judges.llm.tasks import ONLY, Task

NAME, VERSION = "pairwise", 1
_KEY = "better"
_WORDS = {
    1: "first|1|a|the first|answer 1|first answer|第一个|第一|前者",
    -1: "second|2|b|the second|answer 2|second answer|第二个|第二|后者",
}
_TIES = "tie|tied|equal|same|both|neither|none|draw|0|平局|一样|相同|不分上下|都不好|都好"
_MEANING = {word: value for value, words in {**_WORDS, 0: _TIES}.items() for word in words.split("|")}


@dataclass(frozen=True, slots=True)
class AnswerPair:
    """Two answers to a question, in the order in which they are shown."""

    query: str
    first: str
    second: str


@dataclass(frozen=True, slots=True)
class Choice:
    """Choice between two answers.

    better   1 for the one that was shown first, -1 for the other, 0 for neither; None where it was not judged
    reason   why; without a choice the cause
    """

    better: int | None
    reason: str = ""


def _read(reply: Mapping[str, Any], ids: Sequence[str]) -> ReplyEntries[Choice]:
    better = _MEANING.get(str(reply[_KEY]).strip(" .。\"'").lower())
    if better is None:
        return ReplyEntries(causes={ONLY: f"{_KEY} {quoted(reply[_KEY])} cannot be read"})
    return ReplyEntries({ONLY: Choice(better, read_text(reply.get("reason")))})


PAIRWISE = Task(
    NAME, _KEY,
    {"reason": {"type": "string"}, _KEY: {"type": "string", "enum": ["first", "second", "tie"]}}, _read, (60, 0),
    others=("winner", "preferred", "verdict", "choice"),
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class PairwiseModel(JudgingModel):
    """Asks a chat model behind an OpenAI-compatible address which answer is better; settings as of `JudgingModel`."""

    name: str = field(default="llm", init=False)

    def choose(self, pairs: Sequence[AnswerPair]) -> list[Choice]:
        """The choice of each pair, as it is shown; pairs that are alike are asked about once.

        Raises   StageError where no call can succeed: a wrong key, an unknown model, a server that is not there.
        """
        results = self._asker.run(self._requests(pairs), NAME, self.progress)
        self.refuse_failure()
        return [result.values.get(ONLY) or Choice(None, result.causes.get(ONLY, LEFT_OUT)) for result in results]

    def plan(self, pairs: Sequence[AnswerPair]) -> CallEstimate:
        """Estimate of the calls that choosing would take; nothing is sent."""
        return self._plan(self._asker.estimate(self._requests(pairs)))

    def recipe(self) -> Mapping[str, Any]:
        """Facts that the choices depend on."""
        return {
            "name": self.name, "version": VERSION, "model": self.model, "base_url": self.base_url,
            "temperature": self.temperature, "max_tokens": self.max_tokens, "seed": self.seed,
            "language": self.language,
            "prompts": {f"{NAME}.{code}": self._prompts.digest(NAME, code) for code in self._languages},
        }  # fmt: skip

    def _requests(self, pairs: Sequence[AnswerPair]) -> list[ModelRequest[Choice]]:
        return [
            ModelRequest(
                PAIRWISE, self._language(pair.query, pair.first, pair.second),
                {"question": pair.query, "first": pair.first, "second": pair.second},
            )
            for pair in pairs
        ]  # fmt: skip
