"""A chat model that judges: what it may cost, what it answered before, and what became of its calls."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from itertools import chain
from typing import Annotated, Any, ClassVar, Literal

from steelyard.base.choices import AskBy, Language
from steelyard.base.limits import at_least
from steelyard.base.progress import Progress, usual_progress
from steelyard.judges.answers.refining import Refined
from steelyard.judges.llm.asking import Asker, ModelRequest, numbered_items
from steelyard.judges.llm.criteria import CRITERIA, criteria_inquiries
from steelyard.judges.llm.evidence import Evidence
from steelyard.judges.llm.inquiries import Asked, Inquiry, inquiries
from steelyard.judges.llm.prompting import Prompts, prompts_in
from steelyard.judges.llm.tasks import CLAIMS, LANGUAGES, NEW_NUGGETS, ONLY, TASKS
from steelyard.judges.registry import judge_named
from steelyard.judges.verdict import Case, Verdict
from steelyard.services.announcements import Usage
from steelyard.services.cache import Cache, NoCache
from steelyard.services.models.chat import CallLog, ChatModel
from steelyard.services.prices import Account, Budget, Price, price_of
from steelyard.text.scripts import language_of

_NO_RESULT = {"fingerprint": False}


@dataclass(frozen=True)
class CallEstimate:
    """Estimate of the calls that judging would take.

    n_calls      that would be sent;   n_cached   that are answered already
    tokens_in, tokens_out   estimated: see `steelyard.services.prices.estimate_tokens`
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
    prompts    a folder with prompts in the place of ours, under our names, such as verdicts.zh.txt; None for ours
    progress   is told how far judging is
    Raises     InputError for settings out of range, a key that is not set, or a budget in money without a price.
    """

    concurrency: Annotated[int, at_least(1)] = 16
    language: Literal["auto", "en", "zh"] = "auto"
    budget: str | None = field(default=None, metadata=_NO_RESULT)
    price: str | None = field(default=None, metadata=_NO_RESULT)
    cache: str | None = field(default=None, metadata=_NO_RESULT)
    log: str | None = field(default=None, metadata=_NO_RESULT)
    prompts: str | None = field(default=None, metadata=_NO_RESULT)
    progress: Progress = field(default=usual_progress, repr=False, compare=False, metadata=_NO_RESULT)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._account  # noqa: B018  A budget that cannot hold is reported before anything is computed.
        self._prompts  # noqa: B018  So are prompts that cannot be.

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
    def _prompts(self) -> Prompts:
        return prompts_in(self.prompts)

    @cached_property
    def _calls(self) -> CallLog:
        return CallLog(self.log)

    @cached_property
    def _asker(self) -> Asker:
        return Asker(
            self, self._account, NoCache() if self.cache is None else Cache(self.cache), self._calls, self._prompts
        )

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


TIE = "the samples tie"


def merge_samples(samples: Sequence[Verdict]) -> Verdict:
    """One verdict of several samples.

    The label is what more samples say than any other, of those that were judged; where two share the first place,
    it is not judged.  The score is the mean of all samples that have one, and the reason that of the first sample with
    the label.  Of nothing but failures, the first one's cause stays.

    >>> merge_samples([Verdict("supported", 1.0, "named"), Verdict("not_found", 0.5), Verdict("supported", 0.75)])
    Verdict(label='supported', score=0.75, reason='named')
    >>> merge_samples([Verdict("supported"), Verdict("not_found")]).reason
    'the samples tie'
    """
    judged = [sample for sample in samples if sample.label != "not_judged"]
    if not judged or len(samples) == 1:
        return samples[0]
    (label, votes), *others = Counter(sample.label for sample in judged).most_common(2)
    if others and others[0][1] == votes:
        return Verdict("not_judged", None, TIE)
    scores = [sample.score for sample in judged if sample.score is not None]
    first = next(sample for sample in judged if sample.label == label)
    return Verdict(label, statistics.fmean(scores) if scores else None, first.reason)


@dataclass(frozen=True)
class Spread:
    """Spread of several samples of the same verdicts.

    n              what was judged several times
    n_differing    of it, where not all samples have one label
    score_sd       mean standard deviation of the scores, where there are several
    """

    n: int
    n_differing: int
    score_sd: float | None


def spread_of(groups: Sequence[Sequence[Verdict]]) -> Spread:
    """The spread over many verdicts, each with its samples."""
    judged = [[sample for sample in group if sample.label != "not_judged"] for group in groups]
    several = [group for group in judged if len(group) > 1]
    scores = [[sample.score for sample in group if sample.score is not None] for group in several]
    deviations = [statistics.stdev(values) for values in scores if len(values) > 1]
    n_differing = sum(len({sample.label for sample in group}) > 1 for group in several)
    return Spread(len(several), n_differing, statistics.fmean(deviations) if deviations else None)


PROMPTS = (*(task.name for task in TASKS), CRITERIA)
"""Names of the prompts that verdicts depend on."""
VERSION = 2


@judge_named("llm")
@dataclass(frozen=True, kw_only=True)
class LLMJudge(JudgingModel):
    """Asks a chat model behind an OpenAI-compatible address.

    epochs        how often the same is asked; above 1 it wants a temperature above 0
    ask_by        what is asked in one call: a question's sentences, of answer and gold answers, by all chunks
                  ("question"); those of the answer, and those of gold answers, each by all chunks ("text"), so that
                  verdicts on an answer do not depend on what its gold answers say; or sentences by one chunk ("chunk")
    chunk_tokens  of chunks that one call has at most, as an estimate; longer contexts are asked in several calls
    The other settings are those of `JudgingModel`.
    Raises     InputError for settings out of range, a key that is not set, or a budget in money without a price.
    """

    wants_all_at_once: ClassVar[bool] = True
    grades: ClassVar[bool] = True

    epochs: Annotated[int, at_least(1)] = 1
    ask_by: AskBy = "question"
    chunk_tokens: Annotated[int, at_least(1)] = 6000
    name: str = field(default="llm", init=False)

    def judge(self, cases: Sequence[Case]) -> list[tuple[Verdict, ...]]:
        """For each case, in their order, one verdict a hypothesis, in theirs.

        The table says what is asked: of "grounded" alone all hypotheses are judged as one answer against the whole
        premise; the score of "nuggets" is 1, .5 or 0, and that of "relevance" grades whether the premise answers the
        hypothesis.  Cases of one answer are asked together.
        Raises   StageError where no call can succeed: a wrong key, an unknown model, a server that is not there.
        """
        return self._judged(cases, 0)

    def judge_again(self, cases: Sequence[Case]) -> list[tuple[Verdict, ...]]:
        """Judge again, by samples of their own, whatever the cache keeps of `judge`."""
        return self._judged(cases, self.epochs)

    def _judged(self, cases: Sequence[Case], first_epoch: int) -> list[tuple[Verdict, ...]]:
        asked = self._inquiries(cases, first_epoch)
        self._ask([(inquiry, request) for inquiry in asked for request in inquiry.requests()], "judge")
        self._ask([(inquiry, request) for inquiry in asked for request in inquiry.looks()], "judge_together")
        samples: list[list[list[Verdict]]] = [[] for _ in cases]
        for inquiry in asked:
            for place, row in zip(inquiry.places, inquiry.rows(), strict=True):
                samples[place].append(row)
        groups = [list(zip(*of_case, strict=True)) for of_case in samples]
        if self.epochs > 1:
            self._samples.extend(group for of_case in groups for group in of_case)
        return [tuple(map(merge_samples, of_case)) for of_case in groups]

    def _ask(self, pairs: Sequence[tuple[Inquiry, ModelRequest[Any]]], stage: str) -> None:
        """Ask what inquiries want to know, and hand them what the model said."""
        if not pairs:
            return
        results = self._asker.run([request for _, request in pairs], stage, self.progress)
        for (inquiry, request), result in zip(pairs, results, strict=True):
            inquiry.take(request, result)
            evidence = [own for own in result.values.values() if isinstance(own, Evidence) and own.quote and own.shown]
            self._quotes.update(checked=len(evidence), misquoted=sum(own.is_misquoted for own in evidence))

    def split(self, answers: Sequence[Refined]) -> list[list[tuple[str, ...] | None]]:
        """For each answer and each of its sentences the claims; None where the model does not say."""
        requests = [list(self._splitting(answer)) for answer in answers]
        results = iter(self._asker.run(list(chain.from_iterable(requests)), "claims", self.progress))
        return [
            [values.get(i) for request in of_answer for values in [next(results).values] for i in request.ids]
            for of_answer in requests
        ]

    def nuggets(self, answers: Sequence[Refined]) -> list[tuple[tuple[str, bool], ...]]:
        """Facts of each gold answer, each with a flag for vital ones; none where the model does not say."""
        requests = [self._drawing_up(answer) for answer in answers]
        results = self._asker.run(requests, "nuggets", self.progress)
        return [result.values.get(ONLY, ()) for result in results]

    def plan(
        self, cases: Sequence[Case], answers: Sequence[Refined] = (), golds: Sequence[Refined] = (),
        *, again: Sequence[Case] = (),
    ) -> CallEstimate:  # fmt: skip
        """Estimate of the calls that judging would take; nothing is sent.

        answers   whose sentences are to be split before;   golds   that nuggets are to be drawn up from before
        again     cases that are judged a second time
        The cases are then those without claims and nuggets that nobody knows yet, and fewer than there will be.  Second
        looks, at chunks of several calls together, are not counted: the first replies say which there will be.
        """
        splitting: list[ModelRequest[Any]] = [request for answer in answers for request in self._splitting(answer)]
        splitting += map(self._drawing_up, golds)
        asked = [*self._inquiries(cases, 0), *self._inquiries(again, self.epochs)]
        judging = [request for inquiry in asked for request in inquiry.requests()]
        return self._plan(self._asker.estimate([*splitting, *judging]))

    def recipe(self) -> Mapping[str, Any]:
        """Facts that the verdicts depend on."""
        named = [(name, code) for name in PROMPTS for code in self._languages]
        prompts = {f"{name}.{code}": self._prompts.digest(name, code) for name, code in named}
        return {
            "judge": self.name, "version": VERSION, "model": self.model, "base_url": self.base_url,
            "temperature": self.temperature, "max_tokens": self.max_tokens, "seed": self.seed,
            "language": self.language, "epochs": self.epochs, "ask_by": self.ask_by, "chunk_tokens": self.chunk_tokens,
            "prompts": prompts, "examples": [self._prompts.example(name, code) for name, code in named],
        }  # fmt: skip

    def counts(self) -> dict[str, Any]:
        """Counts of calls and failures by now, for the recipe of the verdicts."""
        counts = {**super().counts(), "quotes": dict(self._quotes)}
        if self.epochs > 1:
            counts["epochs"] = asdict(spread_of(self._samples))
        return counts

    @property
    def errors(self) -> Mapping[str, int]:
        """Errors of the model by now, by kind."""
        n_misquoted = self._quotes["misquoted"]
        return {**super().errors, **({"misquoted": n_misquoted} if n_misquoted else {})}

    @property
    def reads_chunks(self) -> bool:
        """True where all chunks of a context are read in one call."""
        return self.ask_by != "chunk"

    @cached_property
    def _samples(self) -> list[Sequence[Verdict]]:
        return []

    @cached_property
    def _quotes(self) -> Counter[str]:
        return Counter(checked=0, misquoted=0)

    def _inquiries(self, cases: Sequence[Case], first_epoch: int) -> list[Inquiry]:
        asked = Asked(self.ask_by, self.chunk_tokens, self._language)
        return [
            inquiry
            for epoch in range(first_epoch, first_epoch + self.epochs)
            for inquiry in (*inquiries(cases, asked, epoch), *criteria_inquiries(cases, asked, epoch))
        ]

    def _splitting(self, answer: Refined) -> Iterator[ModelRequest[tuple[str, ...]]]:
        question = {"question": answer.query} if answer.query else {}
        language, items = self._language(*answer.texts), numbered_items(answer.texts)
        leads = {id: lead for (id, _), lead in zip(items, answer.leads, strict=False) if lead}
        yield from ModelRequest(CLAIMS, language, question, "statements", items, leads=leads).parts()

    def _drawing_up(self, answer: Refined) -> ModelRequest[tuple[tuple[str, bool], ...]]:
        question = {"question": answer.query} if answer.query else {}
        return ModelRequest(NEW_NUGGETS, self._language(*answer.texts), {"answer": answer.texts[0], **question})
