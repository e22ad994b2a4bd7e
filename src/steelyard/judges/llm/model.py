"""A chat model that judges: what it may cost, what it answered before, and what became of its calls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, Literal

from steelyard.base.choices import Language
from steelyard.base.limits import at_least
from steelyard.base.progress import Progress, no_progress
from steelyard.judges.llm.asking import Asker
from steelyard.judges.llm.tasks import LANGUAGES
from steelyard.services.announcements import Usage
from steelyard.services.budget import Account, Budget, Price
from steelyard.services.cache import Cache, NoCache
from steelyard.services.models.chat import CallLog, ChatModel
from steelyard.services.prices import price_of
from steelyard.text.languages import language_of

_NO_RESULT = {"fingerprint": False}


@dataclass(frozen=True)
class CallEstimate:
    """Estimate of the calls that judging would take.

    n_calls      that would be sent;   n_cached   that are answered already
    tokens_in, tokens_out   estimated: see `steelyard.services.budget.estimate_tokens`
    cost_usd     None where the price is not known
    """

    n_calls: int
    n_cached: int
    tokens_in: int
    tokens_out: int
    cost_usd: float | None


@dataclass(frozen=True, kw_only=True)
class JudgingModel(ChatModel):
    """A chat model behind an OpenAI-compatible address, asked many things at once by prompts of ours.

    language   of the prompts: "en", "zh", or "auto" by the texts
    budget     what may be spent at most, such as "2.00usd" or "500000tokens"; what is left is not judged
    price      US dollars for a million tokens in and out, such as "0.15,0.60", for models that are not in our table
    cache      an SQLite file that keeps what was answered; None keeps nothing
    log        a JSONL file that each attempt is added to; None for none
    progress   is told how far judging is
    Raises     InputError for settings out of range, a key that is not set, or a budget in money without a price.
    """

    concurrency: Annotated[int, at_least(1)] = 16
    language: Literal["auto", "en", "zh"] = "auto"
    budget: str | None = field(default=None, metadata=_NO_RESULT)
    price: str | None = field(default=None, metadata=_NO_RESULT)
    cache: str | None = field(default=None, metadata=_NO_RESULT)
    log: str | None = field(default=None, metadata=_NO_RESULT)
    progress: Progress = field(default=no_progress, repr=False, compare=False, metadata=_NO_RESULT)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._account  # noqa: B018  A budget that cannot hold is reported before anything is computed.

    def counts(self) -> dict[str, Any]:
        """Counts of calls and failures by now, for the recipe of what was judged."""
        account, asker = self._account, self._asker
        counts = {
            **self._calls.counts(), "cached": asker.n_cached, "repeated": asker.n_repeated,
            "tokens_in": account.spent.tokens_in, "tokens_out": account.spent.tokens_out,
            "unmetered": asker.n_unmetered, "cost_usd": account.cost_usd, "unknown_ids": asker.n_unknown,
            "not_answered": dict(sorted(asker.causes.items())), "not_taken": sorted(self.untaken),
        }  # fmt: skip
        if price := account.price:
            counts["price"] = {
                "usd_in": price.usd_in,
                "usd_out": price.usd_out,
                "source": price.source,
                "date": price.date,
            }
        return counts

    @property
    def errors(self) -> Mapping[str, int]:
        """Errors of the model by now, by kind."""
        n_unknown = self._asker.n_unknown
        return {"unknown_id": n_unknown} if n_unknown else {}

    def refuse_failure(self) -> None:
        """Raise   StageError where the model was asked, and no reply says anything that was asked; it shows one."""
        self._asker.refuse_failure()

    def close(self) -> None:
        """Close connections and files; a later question opens others."""
        super().close()
        self._calls.close()
        asker = self.__dict__.pop("_asker", None)
        if asker is not None:
            asker.close()

    def _address(self) -> tuple[str, str]:
        return "judge", super()._address()[1]

    @cached_property
    def _account(self) -> Account:
        budget = None if self.budget is None else Budget.parse(self.budget)
        price = price_of(self.model, self.base_url) if self.price is None else Price.parse(self.price)
        return Account(budget, price, model=self.model)

    @cached_property
    def _calls(self) -> CallLog:
        return CallLog(self.log)

    @cached_property
    def _asker(self) -> Asker:
        return Asker(self, self._account, NoCache() if self.cache is None else Cache(self.cache), self._calls)

    def _plan(self, estimate: tuple[int, int, Usage]) -> CallEstimate:
        """Estimate of calls with their cost, from that of the asker."""
        n_calls, n_cached, usage = estimate
        price = self._account.price
        cost_usd = None if price is None else price.cost_usd(usage)
        return CallEstimate(n_calls, n_cached, usage.tokens_in, usage.tokens_out, cost_usd)

    @property
    def _languages(self) -> tuple[Language, ...]:
        """Languages of the prompts that may be asked."""
        return LANGUAGES if self.language == "auto" else (self.language,)

    def _language(self, *texts: str) -> Language:
        return language_of(" ".join(texts)) if self.language == "auto" else self.language
