"""The sink of e-mail, by SMTP."""

from __future__ import annotations

import hashlib
import smtplib
import ssl
from email.message import EmailMessage
from email.utils import format_datetime
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from steelyard.base.limits import Words, between
from steelyard.base.settings import SettingError
from steelyard.monitoring.sinks.message import DeliveryError, Message, cut
from steelyard.monitoring.sinks.sink import Sink, Variable
from steelyard.services.addresses import Keys, is_loopback, one_line, secret_from

_SUBJECT = 200
_PORTS = {"starttls": 587, "ssl": 465, "none": 25}
_Address = Annotated[str, Field(pattern=r"^[!-~]+@[!-~]+$"), Words('an address such as "alerts@example.org"')]


class Email(Sink):
    """Mail to one or several addresses.

    security   "starttls", "ssl" or "none"; without either, no password is sent but to this computer
    """

    type: Literal["email"]
    host: Annotated[str, Field(min_length=1), Words("the host of an SMTP server")]
    port: Annotated[int, between(1, 65535)] | None = None
    security: Literal["starttls", "ssl", "none"] = "starttls"
    user: Annotated[str, Field(min_length=1)] | None = None
    password_env: Variable | None = None
    sender: _Address
    to: Annotated[list[_Address], Field(min_length=1), Words('a list of addresses such as ["team@example.org"]')]

    @model_validator(mode="after")
    def _check_account(self) -> Self:
        if (self.user is None) != (self.password_env is None):
            raise SettingError("user and password_env belong together; name both, or none of them")
        if self.user is not None and self.security == "none" and not is_loopback(f"smtp://{self.host}"):
            raise SettingError('a password is not sent without encryption; set security = "starttls" or "ssl"')
        return self

    def check(self) -> None:
        """Raise   InputError for a password that the environment lacks."""
        _ = self._password

    @property
    def _password(self) -> str:
        return "" if self.password_env is None else secret_from(self.password_env, "password_env")

    def send(self, message: Message, seconds: float) -> None:
        """Hand the mail to the server."""
        password = self._password
        try:
            with self._connection(seconds) as server:
                if self.user is not None:
                    server.login(self.user, password)
                server.send_message(self._mail(message))
        except (OSError, smtplib.SMTPException, ValueError) as error:
            # What TLS and the network say are OSErrors; smtplib raises ValueError for an odd server.
            why = one_line(Keys([("password", password)]).removed(_reason(error)))
            raise DeliveryError(f"{self.label}: the mail server {self.host} did not take the mail ({why})") from None

    def _connection(self, seconds: float) -> smtplib.SMTP:
        port = self.port or _PORTS[self.security]
        if self.security == "ssl":
            return smtplib.SMTP_SSL(self.host, port, timeout=seconds, context=ssl.create_default_context())
        server = smtplib.SMTP(self.host, port, timeout=seconds)
        try:
            if self.security == "starttls":
                server.starttls(context=ssl.create_default_context())
        except BaseException:
            server.close()
            raise
        return server

    def _mail(self, message: Message) -> EmailMessage:
        """The mail; that of one message has the same Message-ID whenever it is sent."""
        mail = EmailMessage()
        mail["Subject"] = cut(one_line(message.title), lambda text: len(text) <= _SUBJECT)
        mail["From"], mail["To"] = self.sender, ", ".join(self.to)
        mail["Date"] = format_datetime(message.time)
        digest = hashlib.sha256(f"{message.monitor}\n{message.key}\n{self.label}".encode()).hexdigest()[:32]
        mail["Message-ID"] = f"<{digest}@{self.sender.rpartition('@')[2]}>"
        mail["Auto-Submitted"] = "auto-generated"
        mail.set_content(f"{message.text}\n".encode(errors="backslashreplace").decode())
        return mail


def _reason(error: Exception) -> str:
    """What the server or the connection said, in a line."""
    answer: tuple[int, bytes | str] | None = None
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        answer = next(iter(error.recipients.values()))
    elif isinstance(error, smtplib.SMTPResponseException):
        answer = error.smtp_code, error.smtp_error
    if answer is not None:
        code, words = answer
        return f"{code} {words.decode(errors='replace') if isinstance(words, bytes) else words}"
    return (error.strerror if isinstance(error, OSError) else None) or str(error).rstrip(".") or type(error).__name__
