"""Drift of windows of logs against a reference."""

import json

import numpy as np
import polars as pl
import pytest
from benchmarks.simulated.traffic import Days, quiet_p

from steelyard.base.errors import InputError
from steelyard.stats import drift as tests
from steelyard.traffic.drift import QUERIES, UNSEEN, USUAL, Reference, drift, hashed_grams, reference
from steelyard.traffic.windows import Windows, time_of
from tests.traffic.made_logs import START, logs_of

DAILY = Windows.parse("1d")
DAY = 86_400
FIRST = time_of(START).replace(hour=0, minute=0, second=0, microsecond=0)
SPLIT = FIRST.replace(day=FIRST.day + 5)
WORDS = ["red", "blue", "shoes", "refund", "order", "退款", "政策", "size", "large", "cancel", "invoice", "return"]


def day(rng, number, *, n=150, longer=0, words=WORDS, zh=0.3, users=400):
    """Rows of a day of a shop."""
    return [
        {
            "time": number * DAY + i, "request": f"{number}-{i}", "user": f"u{rng.integers(users)}",
            "query": " ".join(rng.choice(words, rng.integers(2, 5) + longer)), "latency_ms": float(rng.lognormal(5, 1)),
            "language": "zh" if rng.random() < zh else "en", "scores": [float(rng.random())], "doc_ids": ["d"],
        }
        for i in range(n)
    ]  # fmt: skip


@pytest.fixture(scope="module")
def shop():
    """Ten quiet days, and an eleventh in which queries are longer, of other words and another language."""
    rng = np.random.default_rng(5)
    quiet = [row for number in range(10) for row in day(rng, number)]
    return logs_of([*quiet, *day(rng, 10, longer=3, words=["tax", "visa", "移民", *WORDS[:2]], zh=0.7)])


def test_a_day_of_other_queries_stands_out_in_every_test_and_others_do_not(shop):
    drifts = [*USUAL, "ks:query_length"]
    before = Reference.of(json.loads(json.dumps(reference(shop, DAILY, drifts, until=SPLIT).data)))
    points = drift(shop, DAILY, before, after=SPLIT)
    by_name = {name: part.sort("start") for (name,), part in points.partition_by("series", as_dict=True).items()}
    assert [item.name for item in before.series] == list(by_name)
    assert set(by_name) == {
        "ks:query_length",
        "psi:query_length", "psi:top_score", "psi:latency_ms", "chi_square:language", UNSEEN, QUERIES
    }  # fmt: skip
    for name in ("psi:query_length", "ks:query_length", "chi_square:language", QUERIES):
        assert by_name[name]["p"][-1] < 1e-4, name
        assert by_name[name]["p"][:-1].min() > 0.001, name
        assert by_name[name]["value"][-1] > 0.2, name
    for name in ("psi:latency_ms", "psi:top_score"):
        assert by_name[name]["p"].min() > 0.001, name
    assert by_name[UNSEEN]["value"][-1] > 0.3
    assert by_name[UNSEEN]["value"][:-1].max() == 0.0
    assert by_name[UNSEEN]["p"].null_count() == len(by_name[UNSEEN])
    assert points.equals(drift(shop, DAILY, before, after=SPLIT))


def test_a_language_is_compared_by_one_request_of_each_user_a_day(shop):
    before = reference(shop, DAILY, ["chi_square:language"], until=SPLIT)
    part = before.distributions["chi_square:language"]
    assert part.edges == ["en", "zh"]
    assert sum(part.counts) == before_users(shop)
    effect, _ = tests.chi_square(part.counts, [0, 100, 0])
    assert effect == pytest.approx(part.counts[0] / sum(part.counts))


def before_users(logs):
    """Pairs of users and days before SPLIT."""
    rows = logs.impressions.filter(pl.col("time") < SPLIT).collect()
    return rows.select("user", pl.col("time").dt.date()).n_unique()


def test_days_that_differ_among_themselves_make_a_test_careful():
    rng = np.random.default_rng(2)
    rows = [row for number in range(24) for row in day(rng, number, zh=0.2 + 0.4 * (number % 2), users=100_000)]
    logs, split = logs_of(rows), FIRST.replace(day=FIRST.day + 8)
    before = reference(logs, DAILY, ["chi_square:language"], until=split)
    assert before.distributions["chi_square:language"].dispersion > 10
    assert drift(logs, DAILY, before, after=split)["p"].min() > 0.01


def test_few_users_and_empty_windows_have_no_value():
    rng = np.random.default_rng(3)
    rows = [*day(rng, 0), *day(rng, 2, n=5), *day(rng, 3)]
    logs = logs_of(rows)
    before = reference(logs, DAILY, until=FIRST.replace(day=FIRST.day + 1))
    points = drift(logs, DAILY, before, after=FIRST.replace(day=FIRST.day + 1))
    for (name,), part in points.partition_by("series", as_dict=True).items():
        assert part["value"].is_null().to_list() == [True, True, False], name
        assert part["n"].to_list()[0] == 0


def test_words_of_the_reference_itself_are_held_against_its_other_windows():
    queries = ["red", "red", "blue", "red green"]
    rows = [
        {"time": number * DAY, "request": f"{number}-{i}", "query": query, "user": f"u{i}"}
        for number, query in enumerate(queries) for i in range(10)
    ]  # fmt: skip
    logs = logs_of(rows)
    before = reference(logs, DAILY, [UNSEEN], until=FIRST.replace(day=FIRST.day + 3))
    assert drift(logs, DAILY, before)["value"].to_list() == [0.0, 0.0, 1.0, 0.5]


def test_vectors_of_any_length_are_compared():
    rng = np.random.default_rng(4)
    logs = logs_of([row for number in range(3) for row in day(rng, number, words=WORDS[6 * (number == 2) :][:6])])
    grams = {word: rng.standard_normal(300) for word in WORDS}
    split = FIRST.replace(day=FIRST.day + 1)

    def embed(texts):
        return [np.sum([grams[word] for word in text.split()], axis=0) for text in texts]

    before = reference(logs, DAILY, [QUERIES], until=split, embed=embed)
    points = drift(logs, DAILY, before, after=split, embed=embed)
    assert points["p"][0] > 0.01
    assert points["p"][1] < 1e-4
    with pytest.raises(InputError, match="one row of finite numbers"):
        drift(logs, DAILY, before, after=split, embed=lambda texts: [1.0] * len(texts))


def test_grams_are_the_same_every_time_and_alike_for_like_texts():
    vectors = hashed_grams(["return red shoes", "return blue shoes", "退款政策", ""])
    assert vectors[0] @ vectors[1] > 0.5 > abs(vectors[0] @ vectors[2])
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1)


@pytest.mark.parametrize("name", ["psi", "mean:latency_ms", "psi:language", "chi_square:latency_ms", "ks:nothing"])
def test_names_that_are_none_are_refused(shop, name):
    with pytest.raises(InputError, match="drift"):
        reference(shop, DAILY, [name])


def test_a_damaged_reference_is_refused(shop):
    with pytest.raises(InputError, match="damaged"):
        Reference.of({"distributions": {"psi:x": {"edges": []}}})
    with pytest.raises(InputError, match="no request"):
        reference(logs_of([]), DAILY)


@pytest.mark.slow
@pytest.mark.parametrize("world", [Days(300), Days(300, weekend=0.2), Days(300, faithful=0.8)])
def test_quiet_days_are_rarely_called_drift(world):
    for name, p in quiet_p(world, np.random.default_rng(4), 8).items():
        assert (p < 0.05).mean() < 0.1, name
        assert (p < 0.01).mean() < 0.035, name
