"""Pseudonyms: who is equal stays equal, and nothing shows the key."""

from datetime import UTC, datetime

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.base.errors import InputError
from steelyard.traffic.logs import Logs
from steelyard.traffic.pseudonyms import KEY_VARIABLE, pseudonym_key, pseudonymise
from steelyard.traffic.schema import ANSWERS, EVENTS, IMPRESSIONS
from tests.hypothesis_profiles import examples

KEY = "a secret of the tests, long enough"
NOW = datetime(2026, 11, 1, tzinfo=UTC)


def logs(users: list[str | None]) -> Logs:
    impressions = [
        {
            "time": NOW,
            "request": str(n),
            "user": user,
            "session": user,
            "query": "call 415-555-2671",
            "error": "a@b.org",
        }
        for n, user in enumerate(users)
    ]
    events = [{"time": NOW, "request": "0", "kind": "click", "user": user} for user in users]
    answers = [
        {"time": NOW, "request": "0", "answer": "手机13800138000", "contexts": ["none", "a@b.org"]},
        {"time": NOW, "request": "1", "answer": None, "contexts": None},
        {"time": NOW, "request": "2", "answer": "", "contexts": []},
    ]
    return Logs(
        pl.LazyFrame(impressions, schema=IMPRESSIONS),
        pl.LazyFrame(events, schema=EVENTS),
        pl.LazyFrame(answers, schema=ANSWERS),
    )


@examples(50)
@given(users=st.lists(st.none() | st.text(max_size=3), max_size=8))
def test_equal_users_stay_equal_and_others_differ(users: list[str | None]) -> None:
    hidden = pseudonymise(logs(users), KEY)
    impressions, events = hidden.impressions.collect(), hidden.events.collect()
    hashes = impressions["user"].to_list()
    assert hashes == events["user"].to_list()
    assert [[a == b for a in hashes] for b in hashes] == [[a == b for a in users] for b in users]
    assert all(user is None or (len(user) == 24 and int(user, 16) >= 0) for user in hashes)
    assert all(a is None or a != b for a, b in zip(hashes, impressions["session"], strict=True))


def test_texts_are_masked_and_schemas_stay() -> None:
    hidden = pseudonymise(logs(["u"]), KEY)
    impressions, answers = hidden.impressions.collect(), hidden.answers.collect()
    assert (impressions.schema, hidden.events.collect().schema, answers.schema) == (IMPRESSIONS, EVENTS, ANSWERS)
    assert impressions.select("query", "error").row(0) == ("call [phone]", "[email]")
    assert answers["answer"].to_list() == ["手机[phone]", None, ""]
    assert answers["contexts"].to_list() == [["none", "[email]"], None, []]


def test_the_hash_is_hmac_and_another_key_gives_another() -> None:
    """The first digits of `printf 'user\\0anna' | openssl dgst -sha256 -hmac KEY`."""
    users = [
        pseudonymise(logs(["anna"]), key).impressions.collect()["user"][0] for key in (KEY, KEY.encode(), KEY + "!")
    ]
    assert users[0] == users[1] == "4ab4dd7b59b66f7b70adee7d"
    assert users[2] != users[0]


@pytest.mark.parametrize("key", ["", "short", "fifteen letters"])
def test_a_short_key_is_refused_unseen(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY_VARIABLE, key)
    for refused in (pseudonym_key, lambda: pseudonymise(logs(["u"]), key)):
        with pytest.raises(InputError) as error:
            refused()
        assert not key or key not in str(error.value)


def test_the_key_is_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    assert pseudonym_key() == KEY.encode()
    monkeypatch.delenv(KEY_VARIABLE)
    with pytest.raises(InputError, match="STEELYARD_PSEUDONYM_KEY, which is not set"):
        pseudonym_key()
