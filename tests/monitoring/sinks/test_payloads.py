"""Bodies for chats: as they expect them, and within their limits whatever the text."""

import base64
import hashlib
import hmac
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.monitoring.sinks.message import Message, cut
from steelyard.monitoring.sinks.payloads import (
    body_of,
    dingtalk_payload,
    dingtalk_signature,
    feishu_payload,
    feishu_signature,
    hex_signature,
    slack_payload,
)
from tests.hypothesis_profiles import examples
from tests.monitoring.messages import message

CASES = [json.loads(line) for line in Path("tests/cases/chat_messages.jsonl").read_text("utf-8").splitlines()]
LINES = st.lists(
    st.tuples(st.text(min_size=1, max_size=40), st.integers(1, 900)).map(lambda part: part[0] * part[1]), max_size=60
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["label"])
def test_a_message_is_what_each_chat_expects(case: dict[str, Any]) -> None:
    own = message(title=case["title"], lines=tuple(case["lines"]), lang=case.get("lang", "en"))
    slack = slack_payload(own)
    header, *sections = slack["blocks"]
    assert header == {"type": "header", "text": {"type": "plain_text", "text": case["slack"][0], "emoji": False}}
    assert [section["text"] for section in sections] == [
        {"type": "mrkdwn", "text": text, "verbatim": True} for text in case["slack"][1]
    ]
    assert "<" not in slack["text"]
    title, lines = case["feishu"]
    post = {"title": title, "content": [[{"tag": "text", "text": line}] for line in lines]}
    content = {"post": {"zh_cn" if case.get("lang") == "zh" else "en_us": post}}
    assert feishu_payload(own, None, 0) == {"msg_type": "post", "content": content}
    assert dingtalk_payload(own) == {"msgtype": "text", "text": {"content": case["dingtalk"]}}


@given(lines=LINES, title=st.text(max_size=400))
@examples(40)
def test_no_body_is_longer_than_its_chat_takes(lines: list[str], title: str) -> None:
    own = message(lines=tuple(lines), title=title)
    header, *sections = slack_payload(own)["blocks"]
    assert len(sections) <= 49
    texts = [section["text"]["text"] for section in sections]
    assert all(0 < len(text.encode("utf-16-le", "replace")) // 2 <= 3_000 for text in texts)
    assert len(header["text"]["text"].encode("utf-16-le", "replace")) // 2 <= 150
    assert len(body_of(feishu_payload(own, "secret", 1))) <= 20_000
    assert len(body_of(dingtalk_payload(own))) <= 20_000


def test_what_is_cut_is_a_beginning_with_a_mark() -> None:
    own = message(lines=tuple(f"{n}: " + "字" * 500 for n in range(400)))
    *_, last = slack_payload(own)["blocks"]
    assert last["text"]["text"].endswith("…")
    content = dingtalk_payload(own)["text"]["content"]
    assert content.endswith("…")
    assert f"{own.title}\n{own.text}".startswith(content[:-1])
    assert len(body_of(dingtalk_payload(own))) > 19_000
    lines = [line[0]["text"] for line in feishu_payload(own, None, 1)["content"]["post"]["en_us"]["content"]]
    assert own.text.startswith("\n".join(lines).removesuffix("…"))
    assert lines[-1].endswith("…")


@given(text=st.text(), most=st.integers(1, 60))
@examples(100)
def test_a_cut_is_the_longest_beginning_that_fits(text: str, most: int) -> None:
    short = cut(text, lambda part: len(part) <= most)
    if len(text) <= most:
        assert short == text
    else:
        assert short == text[: most - 1].rstrip() + "…"


def test_signatures_are_those_of_openssl() -> None:
    # printf '' | openssl dgst -sha256 -mac HMAC -macopt hexkey:$(printf '1767225600\nsecret' | xxd -p) -binary | base64
    assert feishu_signature("secret", 1767225600) == "wX758XZ/EWLFBznsguE6uErE0731VsIgNFLkdifOEsk="
    # printf '1767225600000\nsecret' | openssl dgst -sha256 -hmac secret -binary | base64
    assert dingtalk_signature("secret", 1767225600000) == "1fw8BpCOyotKc7DGthOtCoyIPZnawMkstREQyRU4j5I="
    # printf '1767225600.{}' | openssl dgst -sha256 -hmac secret
    assert hex_signature("secret", "1767225600", b"{}") == (
        "fa7eaa06bf97d7815f3f456e97cde70c9e50cb005f01660c8d10b10c21964887"
    )


def test_a_signed_body_has_the_time_beside_the_signature() -> None:
    payload = feishu_payload(message(), "secret", 1767225600)
    key = b"1767225600\nsecret"
    assert payload["timestamp"] == "1767225600"
    assert payload["sign"] == base64.b64encode(hmac.new(key, b"", hashlib.sha256).digest()).decode()


def test_a_record_is_read_back() -> None:
    own = message(lang="zh", title="检索")
    assert Message.of(json.loads(json.dumps(own.record))) == own
