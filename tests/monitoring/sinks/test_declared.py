"""Tables [[sink]]: read from TOML, refused with a line where they are none, and tried all at once."""

from pathlib import Path
from typing import Any

import pytest

from steelyard.base.errors import InputError
from steelyard.base.settings import parse_toml
from steelyard.monitoring.config import MonitorConfig
from steelyard.monitoring.sinks import declared
from steelyard.monitoring.sinks.declared import SINKS
from tests.monitoring.messages import message
from tests.services.raw_server import answering, http


def read(text: str, base: Path = Path("/etc/monitor")) -> list[Any]:
    values, origin = parse_toml(f'logs = "logs"\n{text}', "monitor.toml")
    with origin.locating():
        return MonitorConfig._of(values, base=base).sink


ALL = """
[[sink]]
type = "json"
path = "alerts.jsonl"
[[sink]]
type = "webhook"
url = "https://example.org/alerts"
secret_env = "HOOK_SECRET"
[[sink]]
type = "slack"
name = "team"
url_env = "SLACK_URL"
[[sink]]
type = "feishu"
url_env = "FEISHU_URL"
secret_env = "FEISHU_SECRET"
[[sink]]
type = "dingtalk"
url_env = "DINGTALK_URL"
[[sink]]
type = "email"
host = "smtp.example.org"
sender = "monitor@example.org"
to = ["team@example.org"]
[[sink]]
type = "prometheus"
path = "steelyard.prom"
serve = "127.0.0.1:9464"
[[sink]]
type = "markdown"
path = "/tmp/look.md"
"""


def test_all_types_are_read() -> None:
    sinks = read(ALL)
    assert {sink.type for sink in sinks} == set(SINKS)
    assert [sink.label for sink in sinks] == [
        "json", "webhook", "team", "feishu", "dingtalk", "email", "prometheus", "markdown"
    ]  # fmt: skip
    paths = [str(sink.path) for sink in sinks if hasattr(sink, "path")]
    assert paths == ["/etc/monitor/alerts.jsonl", "/etc/monitor/steelyard.prom", "/tmp/look.md"]


REFUSED = [
    ('type = "slak"\nurl_env = "X"', "line 3: there is no sink of type 'slak'; did you mean slack?"),
    ('url_env = "X"', "a sink is a table with `type`: json, webhook,"),
    (
        'type = "slack"\nurl = "https://hooks.slack.com/services/T/B/X"',
        "line 4: there is no setting 'url'; did you mean url_env",
    ),
    ('type = "slack"', r"line 2: url_env is missing; expected the name of an environment variable"),
    ('type = "slack"\nurl_env = "https://x"', r"line 4: .*url_env must be the name of an environment variable"),
    ('type = "slack"\nurl_env = "X"\nsecret_env = "Y"', "secret_env must be"),
    ('type = "webhook"', "expected either url, an address without secrets, or url_env"),
    ('type = "webhook"\nurl = "https://me:pw@x.org"', "url https://x.org has a user name or password in it"),
    ('type = "webhook"\nurl = "https://x.org/?key=5b1f"', "must end before the [?] or #; keys go into an environment"),
    ('type = "webhook"\nurl = "https://é.org/"', "url 'https://é.org/' has letters that no address has"),
    ('type = "webhook"\nurl = "x"\nurl_env = "X"', "url 'x' is no address"),
    ('type = "json"', r"path is missing; expected a path"),
    ('type = "prometheus"', 'expected path, such as "steelyard.prom", or serve'),
    ('type = "prometheus"\nserve = "9464"', "'9464' is no address to serve at; expected HOST:PORT"),
    ('type = "email"\nhost = "h"\nsender = "a@b"\nto = []', r"to must be a list of addresses"),
    ('type = "email"\nhost = "h"\nsender = "a\\r\\nBcc: c@d"\nto = ["a@b"]', "sender must be an address such as"),
    ('type = "email"\nhost = "h"\nsender = "a@b"\nto = ["a@b"]\nuser = "u"', "user and password_env belong together"),
    (
        'type = "email"\nhost = "h"\nsender = "a@b"\nto = ["a@b"]\nuser = "u"\npassword_env = "P"\nsecurity = "none"',
        "a password is not sent without encryption",
    ),
    ('type = "markdown"\npath = "x"\n[[sink]]\ntype = "markdown"\npath = "y"', "two sinks are called markdown; give"),
]


@pytest.mark.parametrize(("table", "words"), REFUSED, ids=[words[:40] for _, words in REFUSED])
def test_what_is_no_sink_is_refused_with_its_place(table: str, words: str) -> None:
    with pytest.raises(InputError, match=words) as raised:
        read(f"[[sink]]\n{table}\n")
    assert str(raised.value).startswith("monitor.toml")
    assert not any(secret in str(raised.value) for secret in ("5b1f", "me:pw"))


def test_every_sink_is_tried_and_says_how_it_did(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("httpx2")
    monkeypatch.setenv("FEISHU_URL", "")
    with answering(http(b"ok")) as (url, _):
        monkeypatch.setenv("SLACK_URL", url)
        sinks = read(
            '[[sink]]\ntype = "feishu"\nurl_env = "FEISHU_URL"\n[[sink]]\ntype = "slack"\nurl_env = "SLACK_URL"\n'
            '[[sink]]\ntype = "json"\npath = "a.jsonl"\n[[sink]]\ntype = "markdown"\npath = "a.md"\n',
            tmp_path,
        )
        outcomes = declared.test_sinks(sinks, message()).outcomes
    assert [(outcome.sink, outcome.error[:20]) for outcome in outcomes] == [
        ("feishu", "url_env names the en"), ("slack", ""), ("json", ""), ("markdown", "")
    ]  # fmt: skip
    assert all(outcome.seconds < 5 for outcome in outcomes)
    assert [path.name for path in tmp_path.iterdir()] == ["a.jsonl"]
