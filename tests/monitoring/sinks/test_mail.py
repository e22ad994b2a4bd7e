"""E-mail by SMTP, with a server on loopback."""

import base64
import email.policy
import socket
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from email.message import EmailMessage
from typing import Any

import pytest

from steelyard.base.errors import InputError
from steelyard.monitoring.sinks.declared import parse_sink
from steelyard.monitoring.sinks.message import DeliveryError
from tests.monitoring.messages import TIME, message
from tests.services.raw_server import CERTIFICATES

TABLE = {
    "type": "email",
    "host": "127.0.0.1",
    "sender": "monitor@example.org",
    "to": ["a@example.org", "b@example.org"],
}


class MailServer:
    """An SMTP server for one mail.

    answers    first word of a command -> the answer in place of a good one
    came       commands that came;   mail   what was sent
    """

    def __init__(self, security: str, answers: Mapping[str, str]) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.settimeout(5)
        self.port = self.listener.getsockname()[1]
        self.security, self.answers = (
            security,
            {"DATA": "354 go on", "AUTH": "235 fine", "QUIT": "221 bye", "STARTTLS": "220 go on", **answers},
        )
        self.came, self.content = list[str](), b""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(CERTIFICATES / "trusted.pem", CERTIFICATES / "key.pem")
        self.context = context

    @property
    def mail(self) -> EmailMessage:
        parsed: Any = email.message_from_bytes(self.content, policy=email.policy.default)
        return parsed  # type: ignore[no-any-return]

    def serve(self) -> None:
        with suppress(OSError):
            connection = self.listener.accept()[0]
            if self.security == "ssl":
                connection = self.context.wrap_socket(connection, server_side=True)
            while (connection := self.talk(connection)) is not None:
                pass

    def talk(self, connection: socket.socket) -> Any:
        """Speak until the end, or until the connection is to be encrypted."""
        with connection.makefile("rb") as lines:
            if "STARTTLS" not in self.came:
                connection.sendall(b"220 here\r\n")
            for line in lines:
                command = line.decode().strip()
                self.came.append(command)
                word = command.partition(" ")[0].upper()
                answer = self.answers.get(word, "250 fine")
                if word == "EHLO" and answer == "250 fine":
                    answer = "250-here\r\n250-STARTTLS\r\n250 AUTH PLAIN"
                connection.sendall(answer.encode() + b"\r\n")
                if word == "STARTTLS":
                    return self.context.wrap_socket(connection, server_side=True)
                if word == "DATA" and answer.startswith("354"):
                    while (part := lines.readline()) not in (b".\r\n", b""):
                        self.content += part.removeprefix(b".").replace(b"\r\n", b"\n")
                    connection.sendall(self.answers.get(".", "250 queued").encode() + b"\r\n")
                if word == "QUIT":
                    break
        connection.close()
        return None


@contextmanager
def mail_server(security: str = "none", **answers: str) -> Iterator[MailServer]:
    server = MailServer(security, answers)
    thread = threading.Thread(target=server.serve)
    thread.start()
    try:
        yield server
    finally:
        thread.join()
        server.listener.close()


@pytest.fixture(autouse=True)
def password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAIL_PASSWORD", "s3cret-of-mail")
    monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATES / "trusted.pem"))


@pytest.mark.parametrize("security", ["starttls", "ssl", "none"])
def test_a_mail_is_sent(security: str) -> None:
    table = {**TABLE, "security": security, "user": "me", "password_env": "MAIL_PASSWORD"}
    own = message(title="检索：点击率\n下降", lines=("自 3 月 1 日起", ".", "x" * 2000))
    with mail_server(security) as server:
        parse_sink({**table, "port": server.port}).send(own, 5)
    assert server.mail["Subject"] == "检索：点击率 下降"
    assert server.mail["To"] == "a@example.org, b@example.org"
    assert server.mail["From"] == "monitor@example.org"
    assert server.mail["Date"].datetime == TIME
    assert server.mail.get_content() == f"{own.text}\n"
    assert sum(line.startswith("rcpt") for line in map(str.lower, server.came)) == 2
    (auth,) = (line for line in server.came if line.startswith("AUTH"))
    assert base64.b64decode(auth.split()[2]) == b"\0me\0s3cret-of-mail"
    assert server.came.index(auth) > (server.came.index("STARTTLS") if security == "starttls" else 0)


def test_one_message_has_one_id() -> None:
    ids = []
    for key in ("k1", "k1", "k2"):
        with mail_server() as server:
            parse_sink({**TABLE, "security": "none", "port": server.port}).send(message(key), 5)
        ids.append(server.mail["Message-ID"])
    assert ids[0] == ids[1] != ids[2]


REFUSALS: list[tuple[str, dict[str, str], str]] = [
    ("none", {"AUTH": "535 s3cret-of-mail is wrong"}, r"\(535 \[key\] is wrong\)$"),
    ("none", {"RCPT": "550 no such user"}, r"\(550 no such user\)$"),
    ("none", {"MAIL": "452 full"}, r"\(452 full\)$"),
    ("none", {".": "554 spam"}, r"\(554 spam\)$"),
    ("starttls", {"EHLO": "250 plain alone"}, r"\(STARTTLS extension not supported by server\)$"),
]


@pytest.mark.parametrize(("security", "answers", "words"), REFUSALS, ids=[words[2:30] for *_, words in REFUSALS])
def test_what_the_server_refuses_is_an_error_without_the_password(
    security: str, answers: dict[str, str], words: str
) -> None:
    table = {**TABLE, "security": security, "user": "me", "password_env": "MAIL_PASSWORD"}
    with mail_server(security, **answers) as server:
        sink = parse_sink({**table, "port": server.port})
        with pytest.raises(DeliveryError, match=words) as raised:
            sink.send(message(), 5)
    assert str(raised.value).startswith("email: the mail server 127.0.0.1 did not take the mail (")
    assert "s3cret" not in str(raised.value)
    if security == "starttls":
        assert not any(line.startswith("AUTH") for line in server.came)


def test_an_untrusted_server_gets_no_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SSL_CERT_FILE")
    table = {**TABLE, "user": "me", "password_env": "MAIL_PASSWORD"}
    with mail_server("starttls") as server, pytest.raises(DeliveryError, match="CERTIFICATE_VERIFY_FAILED"):
        parse_sink({**table, "port": server.port}).send(message(), 5)
    assert server.came[-1] == "STARTTLS"


def test_no_server_and_no_password_are_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(DeliveryError, match="Connection refused"):
        parse_sink({**TABLE, "port": port}).send(message(), 5)
    monkeypatch.delenv("MAIL_PASSWORD")
    sink = parse_sink({**TABLE, "user": "me", "password_env": "MAIL_PASSWORD"})
    for act in (sink.check, lambda: sink.send(message(), 1)):
        with pytest.raises(InputError, match="password_env names the environment variable MAIL_PASSWORD"):
            act()
