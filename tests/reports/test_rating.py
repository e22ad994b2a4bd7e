import re
from dataclasses import replace

import numpy as np
import pytest

from steelyard.gates.profiles import Profile, profiles
from steelyard.gates.ratings import rate
from steelyard.reports.formats.blocks import sheet_terminal
from steelyard.reports.views.ratings import interval_text, level_text, rating_sheets, rating_text, text_in
from steelyard.reports.words import Words, read_words
from tests.gates.stated import scores_of, stated

EN, ZH = read_words("en"), read_words("zh")
FLAT = {"recall@5": (0.9, 0.9, 0.9), "mrr": (0.9, 0.9, 0.9), "precision@5": (0.9, 0.9, 0.9)}


@pytest.mark.parametrize(
    ("lang", "interval", "text"),
    [
        (EN, (0.72, 0.66, 0.78), "fair (could be good)"),
        (EN, (0.9, 0.86, 0.94), "excellent"),
        (EN, (0.78, 0.70, 0.88), "good (could be fair or excellent)"),
        (ZH, (0.72, 0.66, 0.78), "一般（也可能是良好）"),
        (ZH, (0.78, 0.70, 0.88), "良好（也可能是一般或优秀）"),
    ],
)
def test_a_rating_is_given_to_the_interval(lang: Words, interval: tuple[float, float, float], text: str) -> None:
    assert rating_text(rate(stated({"recall@5": interval}), "ratings")[0], lang) == text


def test_one_question_and_what_is_not_measured_are_told() -> None:
    rated = rate(stated({"recall@5": (0.9, float("nan"), float("nan"))}, n=1), "production")
    assert [rating_text(rating, EN) for rating in rated] == [
        "excellent (one question: no interval)",
        "not measured",
        "not measured",
    ]
    assert rating_text(rated[1], ZH) == "未测量"


@pytest.mark.parametrize("name", profiles())
@pytest.mark.parametrize("lang", [EN, ZH], ids=["en", "zh"])
def test_every_level_of_the_shipped_profiles_has_words(name: str, lang: Words) -> None:
    profile = Profile.read(name)
    for level in (*profile.levels, *([profile.below] if profile.levels else [])):
        assert f"ratings.level.{level}" in lang
        assert level == profile.below or f"gate.level.{level}" in lang


def test_a_users_own_levels_and_texts_stay_as_they_are() -> None:
    assert level_text("Güteklasse A", ZH) == "Güteklasse A"
    assert text_in({"en": "only English"}, ZH) == "only English"
    assert text_in({}, EN) == ""


def test_the_sheet_shows_value_interval_and_rating_and_advises_below_the_top() -> None:
    scores = stated({**FLAT, "recall@5": (0.72, 0.66, 0.78)})
    profile = Profile.read("production")
    (sheet,) = rating_sheets(rate(scores, profile), profile, EN)
    assert sheet.header == ["a", "rating", "value", "95% interval"]
    assert sheet.rows[0] == ["recall@5", "minimum met (could be below the minimum)", "0.7200", "0.660–0.780"]
    advice = [note for note in sheet.notes if note.startswith(("recall@5:", "mrr:", "precision@5:"))]
    assert advice == [f"recall@5: {profile.standards['recall@5'].advice['en']}"]
    assert any("conventions of practice" in note for note in sheet.notes)


def test_advice_is_given_once_with_the_systems_that_need_it() -> None:
    profile = Profile.read("ratings")
    scores = scores_of([[[0.9] * 30, [0.1] * 30], [[0.1] * 30, [0.1] * 30]], ["recall@5", "mrr"], systems=["x", "y"])
    sheets = rating_sheets(rate(scores, profile), profile, EN)
    assert [sheet.header[0] for sheet in sheets] == ["x", "y"]
    assert sheets[0].notes == []
    told = [note for note in sheets[1].notes if note.startswith(("recall", "mrr"))]
    assert [note.split(":")[0] for note in told] == ["mrr", "recall@5 (y)"]


def test_latencies_show_milliseconds_and_the_end_that_is_not_there() -> None:
    profile = Profile.read("reranker")
    rated = rate(stated(FLAT), profile, latency_ms={"a": [123.456] * 40}, numbers={"cost_usd_per_million_tokens": 0.04})
    (sheet,) = rating_sheets(rated, profile, EN)
    rows = {row[0]: row[1:] for row in sheet.rows}
    assert rows["latency_ms:p95"] == ["excellent (could be target met or below the target)", "123.5", "123.5–∞"]
    assert rows["cost_usd_per_million_tokens"] == ["target met", "0.04", "–"]
    assert any(note.startswith("∞: latency_ms:p95") for note in sheet.notes)


def test_nothing_rated_gives_no_sheet() -> None:
    assert rating_sheets([], Profile.read("ratings"), EN) == []


@pytest.mark.parametrize("name", [name for name in profiles() if name != "monitoring"])
def test_no_english_is_left_in_chinese(name: str) -> None:
    profile = Profile.read(name)
    scores = scores_of(np.full((1, 1, 30), 0.1), ["mrr@10"], systems=["系统"])
    text = "".join(sheet_terminal(sheet) for sheet in rating_sheets(rate(scores, profile), profile, ZH))
    plain = re.sub(r"[a-z_]+@\d+|(latency|cost)_\w+|mrr|RAG|FAQ|token", "", text.replace(name, ""))
    assert not re.search(r"[A-Za-z]{2,}", plain), plain


def test_both_catalogues_have_the_same_keys_and_fields() -> None:
    for area in ("ratings", "gate"):
        one = {key: set(re.findall(r"{(\w+)}", text)) for key, text in EN.texts.items() if key.startswith(f"{area}.")}
        two = {key: set(re.findall(r"{(\w+)}", text)) for key, text in ZH.texts.items() if key.startswith(f"{area}.")}
        assert one == two
        assert one


@pytest.mark.parametrize(
    ("low", "high", "n", "handed_in", "text"),
    [(0.1, 0.25, 9, False, "0.100–0.250"), (float("nan"), float("nan"), 1, True, "–"), (3.0, 3.0, 0, True, "–"),
     (120.04, float("inf"), 40, True, "120–∞"), (float("-inf"), 5.0, 3, True, "−∞–5"),
     (0.00034, 0.00035123, 9, True, "0.00034–0.0003512")],
)  # fmt: skip
def test_intervals_in_words(low: float, high: float, n: int, handed_in: bool, text: str) -> None:
    assert interval_text(low, high, n, handed_in) == text


def test_a_profile_without_advice_says_nothing() -> None:
    profile = Profile.read("ratings")
    bare = replace(profile, standards={key: replace(each, advice={}) for key, each in profile.standards.items()})
    (sheet,) = rating_sheets(rate(stated({"mrr": (0.1, 0.1, 0.1)}), bare), bare, EN)
    assert len(sheet.notes) == 2
