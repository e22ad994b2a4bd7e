"""Models behind an address: whom to ask with which key, and what may be wrong with the answer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, Self

from steelyard.base.limits import Words, at_least
from steelyard.services.addresses import checked_url, host_of, secret_from
from steelyard.services.http.client import Patience, Service

OPENAI = "https://api.openai.com/v1"
_MODEL = (
    "the name of a model at api.openai.com (its key in the environment variable OPENAI_API_KEY), or of another server "
    "(base_url, such as http://127.0.0.1:8000/v1)"
)
_DEFAULT = "the default for api.openai.com (another server: base_url)"


@dataclass(frozen=True, kw_only=True)
class Endpoint(Patience, ABC):
    """What all of them have: a key that is named, never given, and a client that is made on use.

    api_key_env   the environment variable that holds the key.  None: OPENAI_API_KEY for api.openai.com, and no key for
                  any other address, as a key is not shown to a host that it was not made for
    concurrency   requests that are under way here at once at most; None for all that come
    """

    api_key_env: str | None = None
    concurrency: Annotated[int, at_least(1)] | None = None

    def __getstate__(self) -> dict[str, Any]:
        # Connections belong to this process, and keys into no file: a copy makes a client of its own.
        return {name: value for name, value in vars(self).items() if name != "_service"}

    @abstractmethod
    def _address(self) -> tuple[str, str]:
        """Who asks, and the whole address."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._key()  # A missing key is reported before anything is computed.

    def _key(self) -> str:
        if self.api_key_env is not None:
            return secret_from(self.api_key_env, "api_key_env")
        is_openai = host_of(self._address()[1]) == host_of(OPENAI)
        return secret_from("OPENAI_API_KEY", _DEFAULT) if is_openai else ""

    @cached_property
    def _service(self) -> Service:
        what, url = self._address()
        key = self._key()
        variable = self.api_key_env or ("OPENAI_API_KEY" if key else None)
        hint = f"check the key in {variable}" if variable else "name the environment variable of the key: api_key_env"
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        return Service(what, url, self, headers=headers, key_hint=hint, concurrency=self.concurrency)

    def directly(self, timeout_s: float) -> Self:
        """The same, asked by a client for measuring (see `DirectService`): each request once, within a time limit."""
        from steelyard.services.http.direct import DirectService

        direct = replace(self)
        direct.__dict__["_service"] = DirectService(self._service, timeout_s)
        return direct

    def close(self) -> None:
        """Close the connections; a later question opens others."""
        service = self.__dict__.pop("_service", None)
        if service is not None:
            service.close()


@dataclass(frozen=True, kw_only=True)
class OpenAIEndpoint(Endpoint):
    """One of the OpenAI-compatible kinds.

    model      its name, as the server knows it
    base_url   the address before /embeddings or /chat/completions; most end in /v1
    """

    model: Annotated[str, Words(_MODEL, "gpt-4.1-mini")]
    base_url: str = OPENAI

    def __post_init__(self) -> None:
        checked_url(self.base_url, "base_url")
        super().__post_init__()


def list_at(answer: Any, key: str) -> list[Any] | None:
    """The list under a key of a decoded answer; None where there is none."""
    value = answer.get(key) if isinstance(answer, Mapping) else None
    return value if isinstance(value, list) else None


def mapping_at(answer: Any, key: str) -> Mapping[str, Any]:
    """The object under a key of a decoded answer; an empty one where there is none."""
    value = answer.get(key) if isinstance(answer, Mapping) else None
    return value if isinstance(value, Mapping) else {}


def in_order(service: Service, items: list[Any], n: int, what: str, key: str) -> list[Any]:
    """The value under `key` of n items, in the order of their "index".

    Raises   StageError unless each position from 0 to n - 1 is there once.
    """
    if len(items) != n:
        raise service.error(f"answered {len(items)} {what} for {n} texts", "lower batch_size, or check the model")
    by_index: dict[int, Any] = {}
    for item in items:
        index = item.get("index") if isinstance(item, Mapping) else None
        if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < n:
            raise service.error(f"answered {what} with index {outline(index)}; expected 0 to {n - 1}", _SERVER)
        if index in by_index:
            raise service.error(f"answered {what} with index {index} twice; expected 0 to {n - 1} once each", _SERVER)
        if key not in item:
            raise service.error(f"answered {what} without {key!r} (keys: {', '.join(map(str, item))})", _SERVER)
        by_index[index] = item[key]
    return [by_index[i] for i in range(n)]


_SERVER = "look into the server's log, or use one that keeps to the shape"


def outline(value: Any) -> str:
    """A decoded answer in a few words and without its texts."""
    if isinstance(value, Mapping):
        return f"an object with {', '.join(sorted(map(str, value))[:8]) or 'nothing'}"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    if isinstance(value, str):
        return repr(value if len(value) <= 40 else value[:40] + "…")
    return "nothing (null)" if value is None else str(value)
