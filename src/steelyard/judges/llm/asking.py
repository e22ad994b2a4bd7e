"""Asking a model many things at once: what was asked before comes from the cache, and all ends with the budget."""

from __future__ import annotations

import hashlib
import json
import time
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any, Generic, TypeVar

from steelyard.base.choices import Language
from steelyard.base.errors import StageError
from steelyard.base.progress import Progress, usual_progress
from steelyard.judges.llm.prompting import BUNDLED, Prompts
from steelyard.judges.llm.replies import ReplyEntries, is_refusal, other_values, shape_of
from steelyard.judges.llm.tasks import ONLY, Task
from steelyard.services.addresses import one_line
from steelyard.services.announcements import SPENDING, Spending, Usage
from steelyard.services.cache import Store
from steelyard.services.http.client import ServiceError
from steelyard.services.loops import shared_loop
from steelyard.services.models.chat import Call, CallLog, ChatModel, Items, Messages, Reply, SilentError, numbered
from steelyard.services.prices import Account, estimate_tokens

T = TypeVar("T")
KIND = "judge.llm"
_FORMAT = 1
_OPTIONAL = ("temperature", "seed", "response_format")
_OF_ONE_CALL = {400, 408, 409, 413, 422, 429}
_HOPELESS = 4
"""Calls that fail before any other succeeds, after which none is thought to."""
_SHOW_EVERY_S = 0.1

_HOPELESS_REPLIES = 20
"""Replies of a run without a value before any other has one, after which no more are asked for."""

BUDGET, LEFT_OUT, CUT_OFF, DISAGREES = "budget", "left out of the reply", "cut off", "two answers for it that disagree"
UNREADABLE, TORN, SHAPE = "no JSON in the reply", "JSON that breaks off", "JSON of another shape"
UNKNOWN_IDS = "ids that were not asked about"
"""Why something was not judged."""
_EXCERPT = 300
REFUSAL = "refusal"
_SILENCES = {"refusal": REFUSAL, "content_filter": "content filter", "no_text": "no text"}


_ITEMS_PER_CALL = 40


def numbered_items(texts: Sequence[str], prefix: str = "") -> Items:
    """Texts with their ids, from 1, behind a letter or none."""
    return tuple((f"{prefix}{i}", text) for i, text in enumerate(texts, 1))


@dataclass(frozen=True)
class ModelRequest(Generic[T]):
    """Something to ask.

    texts       by placeholder of the prompt; of one that holds several texts, these with their ids
    list_name   the placeholder of the items; empty where the task is about the texts as a whole
    items       id and text of what is asked about, one by one
    epoch       which of several samples of the same
    own_words   what the prompt says itself, by placeholder, such as a scale; not quoted as data
    leads       by id of an item, the text that it is understood by
    asked       ids that are asked about; the other items are there to be read; None for all
    """

    task: Task[T]
    language: Language
    texts: Mapping[str, str | Items]
    list_name: str = ""
    items: Items = ((ONLY, ""),)
    epoch: int = 0
    own_words: Mapping[str, str] = field(default_factory=dict)
    leads: Mapping[str, str] = field(default_factory=dict)
    asked: tuple[str, ...] | None = None

    @property
    def ids(self) -> tuple[str, ...]:
        """Ids that are asked about."""
        return tuple(item_id for item_id, _ in self.items) if self.asked is None else self.asked

    def parts(self) -> list[ModelRequest[T]]:
        """Requests for some ids each: models cut off the reply to a list that is too long."""
        ids = self.ids
        cuts = [ids[i : i + _ITEMS_PER_CALL] for i in range(0, len(ids), _ITEMS_PER_CALL)]
        return [replace(self, asked=cut) for cut in cuts] if len(cuts) > 1 else [self]

    def without(self, answered: Container[str]) -> ModelRequest[T]:
        """A request for the other ids alone."""
        return replace(self, asked=tuple(item_id for item_id in self.ids if item_id not in answered))

    def messages(self, prompts: Prompts = BUNDLED) -> list[dict[str, str]]:
        """The prompt; its fences are others each time."""
        items = {self.list_name: numbered(self._lines())} if self.list_name else {}
        return prompts.messages(self.task.name, self.language, {**self.texts, **items}, self.own_words)

    def reading(self, text: str) -> ReplyEntries[T] | None:
        """The values of a reply by id, each checked by what was asked; None where it has none of them."""
        entries, check = self.task.reading(text, self.ids), self.task.check
        if entries is None or check is None:
            return entries
        checked = {item_id: check(item_id, value, self.texts) for item_id, value in entries.values.items()}
        values = {item_id: value for item_id, (value, _, _) in checked.items() if value is not None}
        causes = {item_id: cause for item_id, (_, cause, _) in checked.items() if cause}
        n_unknown = sum(n for _, _, n in checked.values())
        return replace(
            entries, values=values, causes={**entries.causes, **causes}, n_unknown=entries.n_unknown + n_unknown
        )

    def _lines(self) -> list[tuple[str, str]]:
        """Items, with the lead of neighbours that have the same before them; those not asked about have no id."""
        asked, lines = frozenset(self.ids), list[tuple[str, str]]()
        for lead, neighbours in groupby(self.items, key=lambda item: self.leads.get(item[0], "")):
            run = list(neighbours)
            ids = [item_id for item_id, _ in run if item_id in asked] or ["-"]
            led = ids[0] if len(ids) == 1 else f"{ids[0]}-{ids[-1]}"
            lines += [(f"{led} lead", lead)] if lead else []
            lines += [(item_id if item_id in asked else "-", text) for item_id, text in run]
        return lines

    def facts(self, prompts: Prompts = BUNDLED) -> list[Any]:
        """What a reply depends on, but for the model; parts that are usually empty are there where they are not."""
        return [
            prompts.digest(self.task.name, self.language), self.texts, self.items, self.epoch,
            *([dict(self.own_words)] if self.own_words else []),
            *([{"leads": dict(self.leads)}] if self.leads else []),
            *([{"asked": self.asked}] if self.asked is not None else []),
        ]  # fmt: skip


class Asker:
    """Asks one model, and keeps count.

    n_cached     calls that the cache answered
    n_repeated   calls that ask again for what the first reply lacks
    n_unknown    entries of replies with an id that was not asked
    n_unmetered  calls whose tokens are an estimate, as the server did not say them
    causes       calls that gave nothing, by cause
    """

    def __init__(
        self, model: ChatModel, account: Account, cache: Store, log: CallLog, prompts: Prompts = BUNDLED
    ) -> None:
        self._prompts = prompts
        self._model, self._account, self._cache, self._log = model, account, cache, log
        self.n_cached = self.n_unknown = self.n_repeated = self.n_unmetered = self._n_answered = self._n_failed = 0
        self.causes = Counter[str]()
        self._error: ServiceError | None = None
        self._n_read, self._unread = 0, list[tuple[str, str]]()
        whole = {"base_url": model.base_url, "model": model.model, "temperature": model.temperature}
        self._identity = {**whole, "max_tokens": model.max_tokens, "seed": model.seed}

    def run(
        self, requests: Sequence[ModelRequest[T]], stage: str, progress: Progress = usual_progress
    ) -> list[ReplyEntries[T]]:
        """A result for each request, in their order; requests that are alike are asked once.

        Raises   StageError where no call can succeed (a wrong key, an unknown model, a server that is not there), and
                 where none did.
        """
        self._n_read, self._unread = 0, []
        keys = [self._key(request) for request in requests]
        unique = dict(zip(keys, requests, strict=True))
        replies = {key: reply for key, (reply, _) in self._cache.get(KIND, list(unique), _decode).items()}
        results = shared_loop().run(self._run(unique, replies, _Meter(stage, len(unique), progress, self._account)))
        if self._error is not None and not self._n_answered and not self.n_cached:
            raise self._error
        return [results[key] for key in keys]

    def refuse_failure(self) -> None:
        """Raise   StageError where no reply of the last run says anything that was asked; it shows one of them."""
        if not self._unread or self._n_read:
            return
        causes = ", ".join(f"{cause} {n}" for cause, n in Counter(cause for cause, _ in self._unread).most_common(3))
        text = self._unread[0][1]
        raise StageError(
            f"the judge read nothing: none of {len(self._unread)} replies of model {self._model.model} holds a verdict "
            f"({causes}); one of them: {text[:_EXCERPT]}{'…' * (len(text) > _EXCERPT)}; look at it, raise max_tokens "
            "where replies are cut off, or name a model that keeps to a form"
        )

    def close(self) -> None:
        """Close the cache."""
        self._cache.close()

    def estimate(self, requests: Sequence[ModelRequest[Any]]) -> tuple[int, int, Usage]:
        """Calls that would be sent, those that the cache answers, and the tokens, without those of repetitions."""
        unique = {self._key(request): request for request in requests}
        cached = self._cache.get(KIND, list(unique), _decode)
        due = [request for key, request in unique.items() if key not in cached]
        usage = sum((_estimate(request, request.messages(self._prompts)) for request in due), Usage())
        return len(due), len(cached), usage

    async def _run(
        self, requests: Mapping[bytes, ModelRequest[T]], replies: Mapping[bytes, Reply], meter: _Meter
    ) -> dict[bytes, ReplyEntries[T]]:
        import asyncio  # Slow to import, and most judges need none.

        results, remaining = dict[bytes, ReplyEntries[T]](), iter(requests.items())

        async def work() -> None:
            for key, request in remaining:
                results[key] = await self._result(request, key, replies.get(key))
                meter.advance()

        n_workers = min(self._model.concurrency or len(requests), len(requests))
        workers = [asyncio.create_task(work()) for _ in range(n_workers)]
        try:
            await asyncio.gather(*workers)
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
        return results

    async def _result(self, request: ModelRequest[T], key: bytes, cached: Reply | None) -> ReplyEntries[T]:
        """Result of one request; ids that its reply lacks are asked for once more."""
        first, cause = await self._reading(request, key, cached)
        if len(first.values) == len(request.ids):
            return ReplyEntries(first.values)
        missing = request.without({*first.values, *first.conflicting})
        values, causes = dict(first.values), dict.fromkeys(first.conflicting, DISAGREES)
        refused = dict(first.causes)
        if missing.ids and not cause:
            self.n_repeated += 1
            key = self._key(missing)
            reply, _ = self._cache.get(KIND, [key], _decode).get(key, (None, 0.0))
            second, cause = await self._reading(missing, key, reply)
            values |= second.values
            causes |= dict.fromkeys(second.conflicting, DISAGREES)
            refused |= second.causes
        absent = (item_id for item_id in missing.ids if item_id not in values)
        left_out = {item_id: cause or refused.get(item_id, LEFT_OUT) for item_id in absent}
        return ReplyEntries(values, causes=left_out | causes)

    async def _reading(self, request: ModelRequest[T], key: bytes, cached: Reply | None) -> tuple[ReplyEntries[T], str]:
        """Entries of a reply, and the cause where there is none and a second one would say no more."""
        if cached is not None and (reading := request.reading(cached.text)) is not None:
            self.n_cached += 1
            self._n_read += 1
            self.n_unknown += reading.n_unknown
            return reading, ""
        started = time.perf_counter()
        reply, cause = await self._called(request)
        if reply is None:
            return ReplyEntries(), cause
        reading = request.reading(reply.text)
        self.n_unknown += 0 if reading is None else reading.n_unknown
        if reading is None or not (reading.values or reading.conflicting):
            cause = _cause_of(reply, reading)
            self.causes[cause] += 1
            self._lose_hope(request, cause, reply.text)
            is_final = cause in {CUT_OFF, REFUSAL}
            return (ReplyEntries(), cause) if is_final else (ReplyEntries(causes=dict.fromkeys(request.ids, cause)), "")
        self._n_read += 1
        if reading.values and not reading.conflicting:
            value = json.dumps({"text": reply.text, "finish": reply.finish}).encode()
            self._cache.put(KIND, {key: (value, (time.perf_counter() - started) * 1000)})
        return reading, ""

    async def _called(self, request: ModelRequest[Any]) -> tuple[Reply | None, str]:
        """The reply of the model, or why there is none."""
        messages = request.messages(self._prompts)
        estimate = _estimate(request, messages)
        if not self._account.reserve(estimate):
            self.causes[BUDGET] += 1
            return None, BUDGET
        call, spent = self._log.begin(), estimate
        try:
            reply = await self._ask(request, messages, call)
        except SilentError as error:
            spent, cause = error.usage or estimate, _SILENCES[error.cause]
            self._n_answered += 1
            self._lose_hope(request, cause, str(error))
        except ServiceError as error:
            # What was refused costs nothing; what was answered and makes no sense may.
            spent, cause = estimate if error.reason is None else Usage(), _cause(error)
            self._check_hope(error)
        else:
            self._n_answered += 1
            self.n_unmetered += reply.usage is None
            spent = reply.usage or Usage(estimate.tokens_in, estimate_tokens(reply.text))
            return reply, ""
        finally:
            call.end(spent)
            lost = Usage(estimate.tokens_in * call.lost, 0)  # The server may have worked on what was not waited for.
            self._account.settle(estimate, spent + lost)
        self.causes[cause] += 1
        return None, cause

    async def _ask(self, request: ModelRequest[Any], messages: Messages, call: Call) -> Reply:
        return await self._model.ask_async(
            messages, response_format=request.task.response_format, optional=_OPTIONAL, listener=call
        )

    def _check_hope(self, error: ServiceError) -> None:
        """Raise an error that all other calls would meet too."""
        self._n_failed += 1
        self._error = error
        status = error.reason if isinstance(error.reason, int) else 0
        is_general = 300 <= status < 500 and status not in _OF_ONE_CALL
        if is_general or (self._n_answered == 0 and self._n_failed >= _HOPELESS):
            raise error

    def _lose_hope(self, request: ModelRequest[Any], cause: str, text: str) -> None:
        """Note a reply that says nothing of what was asked, and raise where all do."""
        if request.task.prepares:
            return
        self._unread.append((cause, one_line(text)))
        if len(self._unread) >= _HOPELESS_REPLIES:
            self.refuse_failure()

    def _key(self, request: ModelRequest[Any]) -> bytes:
        """Key of a reply: all that it depends on, but not the fences of its prompt, which are others each time."""
        whole = [_FORMAT, self._identity, *request.facts(self._prompts)]
        return hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).digest()


def _cause_of(reply: Reply, reading: ReplyEntries[Any] | None) -> str:
    """Cause for which a reply gives nothing."""
    if reading is not None:
        return next(iter(reading.causes.values()), UNKNOWN_IDS if reading.n_unknown else LEFT_OUT)
    if reply.finish == "length":
        return CUT_OFF
    values, torn = other_values(reply.text)
    objects = [value for value in values if isinstance(value, Mapping)] or values
    texts = objects[0].values() if objects and isinstance(objects[0], Mapping) else []
    if is_refusal(reply.text) if not objects else len(texts) == 1 and all(is_refusal(str(text)) for text in texts):
        return REFUSAL
    if objects:
        return f"{SHAPE} ({shape_of(objects[0])})"
    return TORN if torn else UNREADABLE


def _estimate(request: ModelRequest[Any], messages: Messages) -> Usage:
    base, per_item = request.task.n_tokens
    tokens_in = sum(estimate_tokens(message["content"]) for message in messages)
    return Usage(tokens_in, base + per_item * len(request.ids))


def _cause(error: ServiceError) -> str:
    return f"status {error.reason}" if isinstance(error.reason, int) else error.reason or "malformed answer"


def _decode(value: bytes) -> Reply:
    entry = json.loads(value)
    if not isinstance(entry, dict) or not isinstance(entry.get("text"), str):
        raise ValueError
    return Reply(entry["text"], str(entry.get("finish", "")))


class _Meter:
    """Shows how far requests are, and what they cost, not more often than one can see."""

    def __init__(self, stage: str, total: int, progress: Progress, account: Account) -> None:
        self._stage, self._total, self._progress, self._account = stage, total, progress, account
        self._done, self._shown = 0, 0.0

    def advance(self) -> None:
        """One more is done."""
        self._done += 1
        now = time.monotonic()
        if now - self._shown >= _SHOW_EVERY_S or self._done == self._total:
            self._shown = now
            self._progress(self._stage, self._done, self._total)
            SPENDING.announce(Spending(self._account.spent, self._account.cost_usd))
