"""Sinks of HTTP: a signed webhook, and the robots of Slack, Feishu and DingTalk."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from contextlib import closing
from typing import Annotated, ClassVar, Literal, Self
from urllib.parse import urlencode, urlsplit

from pydantic import AfterValidator, model_validator

from steelyard.base.errors import InputError, quoted
from steelyard.base.settings import SettingError
from steelyard.monitoring.sinks.message import DeliveryError, Message
from steelyard.monitoring.sinks.payloads import (
    body_of,
    dingtalk_payload,
    dingtalk_signature,
    feishu_payload,
    hex_signature,
    slack_payload,
)
from steelyard.monitoring.sinks.sink import Sink, Variable
from steelyard.services.addresses import checked_url, secret_from
from steelyard.services.http.client import Patience, Service, ServiceError
from steelyard.services.http.replies import HTTPReply

_CONNECT_S = 5.0
_LONGEST_WAIT_S = 3_600.0
_EXCERPT = 200
_LATER = {408, 409, 425, 429}
"""Statuses of a client's error that a later attempt may not get."""


class _Posting(Sink):
    """A sink that posts JSON to an address, which is in the environment where it is a secret."""

    url_env: Variable | None = None
    secret_env: Variable | None = None

    _CODE: ClassVar[tuple[str, str]] = ("", "")
    """Fields of the answer with a code, which is 0 for success, and with its words; none where the status says all."""

    def send(self, message: Message, seconds: float) -> None:
        """Post the message once; an answer that is no success, or none in time, raises DeliveryError."""
        address, headers, body = self._request(message, time.time())
        patience = Patience(
            timeout_s=min(seconds, _CONNECT_S), request_max_s=seconds, attempts=1, wait_max_s=_LONGEST_WAIT_S,
            reply_max_mb=1,
        )  # fmt: skip
        headers = {"Content-Type": "application/json", **headers}
        with closing(Service(self.label, address, patience, headers=headers, has_secret_path=True)) as service:
            try:
                self._check(service.post(body, {}), service)
            except ServiceError as error:
                is_final = isinstance(error.reason, int) and error.reason < 500 and error.reason not in _LATER
                hint = f"; check {self._settings}" if is_final else ""
                raise DeliveryError(f"{self.label}: {self._shown} {error.fact}{hint}", error.wait_s) from None

    def check(self) -> None:
        """Raise   InputError for an address or a secret that the environment lacks."""
        _ = self._address, self._secret

    def _request(self, message: Message, now: float) -> tuple[str, Mapping[str, str], bytes]:
        """Address, headers and body; `now` is in seconds since 1970."""
        raise NotImplementedError

    @property
    def _address(self) -> str:
        assert self.url_env is not None
        address = secret_from(self.url_env, "url_env")
        try:
            return checked_url(address, "", query=True)
        except InputError:
            # The usual message would show what is secret.
            raise InputError(
                f"the environment variable {self.url_env} holds no address; expected https://host/path"
            ) from None

    @property
    def _secret(self) -> str | None:
        return None if self.secret_env is None else secret_from(self.secret_env, "secret_env")

    @property
    def _shown(self) -> str:
        """The address without what may be secret in it."""
        parts = urlsplit(self._address)
        return f"{parts.scheme}://{parts.netloc}"

    @property
    def _settings(self) -> str:
        return ", ".join(name for name in (self.url_env or "url", self.secret_env) if name)

    def _check(self, reply: HTTPReply, service: Service) -> None:
        """Raise   DeliveryError for a code that is no success."""
        name, words = self._CODE
        if not name:
            return
        try:
            answer = json.loads(reply.content)
            code = answer[name]
        except (ValueError, LookupError, TypeError, RecursionError):
            excerpt = service.redacted(reply.text)[:_EXCERPT]
            raise DeliveryError(
                f"{self.label}: {self._shown} answered what is no answer of {self.type} ({excerpt}); "
                f"check {self._settings}"
            ) from None
        if code != 0:
            why = service.redacted(str(answer.get(words, "")))[:_EXCERPT]
            raise DeliveryError(f"{self.label}: {self._shown} answered the code {code} ({why})")


def _webhook_url(url: str) -> str:
    if not url.isascii():
        raise SettingError(f"url {quoted(url)} has letters that no address has; write them as xn--… or %…")
    return checked_url(url, "url")


class Webhook(_Posting):
    """Any server that takes JSON; its body is signed where there is a secret.

    Headers: Idempotency-Key (equal for one message that is sent again), Steelyard-Timestamp (seconds since 1970 of this
    attempt), Steelyard-Signature ("v1=" and the HMAC-SHA-256 of timestamp, ".", and body).
    """

    type: Literal["webhook"]
    url: Annotated[str, AfterValidator(_webhook_url)] | None = None

    @model_validator(mode="after")
    def _check_one_address(self) -> Self:
        if (self.url is None) == (self.url_env is None):
            raise SettingError(
                "expected either url, an address without secrets, or url_env, the environment variable that holds it"
            )
        return self

    @property
    def _address(self) -> str:
        return self.url or super()._address

    def _request(self, message: Message, now: float) -> tuple[str, Mapping[str, str], bytes]:
        body, timestamp = body_of(message.record), str(int(now))
        headers = {"Idempotency-Key": message.key, "Steelyard-Timestamp": timestamp}
        if (secret := self._secret) is not None:
            headers["Steelyard-Signature"] = f"v1={hex_signature(secret, timestamp, body)}"
        return self._address, headers, body


class _Chat(_Posting):
    url_env: Variable


class Slack(_Chat):
    """An incoming webhook of Slack, or of what takes the same."""

    type: Literal["slack"]
    secret_env: None = None

    def _request(self, message: Message, now: float) -> tuple[str, Mapping[str, str], bytes]:
        return self._address, {}, body_of(slack_payload(message))


class Feishu(_Chat):
    """A custom bot of Feishu or Lark."""

    type: Literal["feishu"]
    _CODE: ClassVar[tuple[str, str]] = ("code", "msg")

    def _request(self, message: Message, now: float) -> tuple[str, Mapping[str, str], bytes]:
        return self._address, {}, body_of(feishu_payload(message, self._secret, int(now)))


class DingTalk(_Chat):
    """A custom robot of DingTalk."""

    type: Literal["dingtalk"]
    _CODE: ClassVar[tuple[str, str]] = ("errcode", "errmsg")

    def _request(self, message: Message, now: float) -> tuple[str, Mapping[str, str], bytes]:
        address, milliseconds = self._address, int(now * 1000)
        if (secret := self._secret) is not None:
            sign = urlencode({"timestamp": milliseconds, "sign": dingtalk_signature(secret, milliseconds)})
            address = f"{address}{'&' if '?' in address else '?'}{sign}"
        return address, {}, body_of(dingtalk_payload(message))
