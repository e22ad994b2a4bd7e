"""Levels that no ranking reaches, and latencies of questions that failed."""

import math
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import steelyard as sy
from steelyard.gates.gating import Gate, gate
from steelyard.gates.levels import measures_in_reach
from steelyard.gates.profiles import Profile
from steelyard.gates.ratings import Rating, rate
from steelyard.measures import definition, parse
from steelyard.reports.views.gate import out_of_reach
from steelyard.reports.views.ratings import rating_sheets, rating_text
from steelyard.reports.words import Words, read_words
from tests.gates.stated import stated

EN, ZH = read_words("en"), read_words("zh")
FINE = (0.9, 0.88, 0.92)


def answered(n_relevant: int, n_found: int, n: int = 40) -> sy.Scores:
    """Questions with so many relevant documents, of which the first so many are returned, by precision and recall."""
    truth = {f"q{i}": {f"d{j}": 1 for j in range(n_relevant)} for i in range(n)}
    run = {query: [f"d{j}" for j in range(n_found)] + [f"x{j}" for j in range(5)] for query in truth}
    return sy.evaluate(truth, run, ["precision@5", "recall@5", "ndcg@5"])


def rated(scores: sy.Scores, measure: str = "precision@5") -> Rating:
    return next(rating for rating in rate(scores, "ratings") if rating.measure == measure)


@pytest.mark.parametrize(
    ("n_relevant", "n_found", "reachable", "level", "out_of_reach", "is_top"),
    [
        (2, 2, 0.4, None, ("fair", "good", "excellent"), False),
        (3, 3, 0.6, "fair", ("good", "excellent"), True),
        (3, 2, 0.6, "poor", ("good", "excellent"), False),
        (4, 4, 0.8, "good", ("excellent",), True),
        (5, 5, 1.0, "excellent", (), True),
        (5, 0, 1.0, "poor", (), False),
    ],
)
def test_a_value_is_held_against_the_levels_in_reach(
    n_relevant: int, n_found: int, reachable: float, level: str | None, out_of_reach: tuple[str, ...], is_top: bool
) -> None:
    rating = rated(answered(n_relevant, n_found))
    assert rating.reachable == pytest.approx(reachable)
    assert (rating.level, rating.out_of_reach, rating.is_top) == (level, out_of_reach, is_top)
    assert not set(rating.could_be) & set(out_of_reach)


def test_ratings_say_what_is_out_of_reach() -> None:
    texts = {n: rating_text(rated(answered(n, n)), EN) for n in (2, 3, 5)}
    assert texts == {
        2: "not rated: every level is out of reach here (at most 0.4000)",
        3: "fair; out of reach here: good, excellent (at most 0.6000)",
        5: "excellent",
    }
    assert rating_text(rated(answered(3, 2)), ZH) == "差；此处无法达到：良好、优秀（最高可达 0.6000）"
    assert rating_text(rated(answered(2, 2)), ZH) == "未评级：此处任何等级都无法达到（最高可达 0.4000）"


def test_the_sheet_shows_what_is_reachable_where_that_is_below_one() -> None:
    profile = Profile.read("ratings")
    (sheet,) = rating_sheets(rate(answered(8, 5), profile), profile, EN)
    assert sheet.header[-1] == "at most"
    assert [(row[0], row[-1]) for row in sheet.rows] == [
        ("precision@5", "1.0000"),
        ("recall@5", "0.6250"),
        ("ndcg@5", "1.0000"),
    ]
    assert any(note.startswith("Out of reach: a perfect ranking") for note in sheet.notes)
    (sheet,) = rating_sheets(rate(answered(5, 5), profile), profile, EN)
    assert sheet.header[-1] == "95% interval"
    assert {len(row) for row in sheet.rows} == {len(sheet.header)}


def test_ratings_as_columns() -> None:
    row = rate(answered(3, 3), "ratings").frame.row(0, named=True)
    assert (row["reachable"], row["out_of_reach"]) == (pytest.approx(0.6), ["good", "excellent"])
    assert rate(stated({"mrr": FINE}), "ratings").frame["reachable"].to_list() == [None]


def production(n_relevant: int, n_found: int, **options: Any) -> Gate:
    scores = answered(n_relevant, n_found).filter(measures=["precision@5", "recall@5"])
    return gate(scores, profile="production", numbers=None, **options)


@pytest.mark.parametrize(
    ("n_relevant", "n_found", "reason", "outcome"),
    [(2, 2, "out_of_reach", "insufficient"), (2, 0, "out_of_reach", "insufficient"), (5, 5, "reached", "pass"),
     (3, 3, "spans", "insufficient"), (3, 2, "missed", "fail")],
)  # fmt: skip
def test_a_level_that_no_ranking_reaches_says_nothing_of_the_system(
    n_relevant: int, n_found: int, reason: str, outcome: str
) -> None:
    check = production(n_relevant, n_found).checks[0]
    assert (check.name, check.reason, check.outcome) == ("precision@5", reason, outcome)
    assert check.reachable == pytest.approx(n_relevant / 5)


def test_the_first_line_says_so_and_offers_what_is_in_reach() -> None:
    verdict = production(2, 2)
    want = (
        "OUT OF REACH: precision@5 ≥ 0.6 (a perfect ranking of these questions has 0.4000); "
        "judge by one of r_precision, recall_cap@5, ndcg@5"
    )
    assert list(out_of_reach(verdict, EN)) == [want]
    assert verdict.text(lang="en").splitlines()[0] == want
    narrow = verdict.text(lang="en", width=80).splitlines()
    assert narrow[0].startswith("OUT OF REACH: precision@5 ≥ 0.6")
    assert max(map(len, narrow)) <= 80
    assert "no ranking of these questions reaches 0.6: a perfect one has 0.4000" in verdict.text("markdown", lang="en")
    assert "达不到的要求：precision@5 ≥ 0.6" in verdict.text(lang="zh").splitlines()[0]
    assert "OUT OF REACH" not in production(3, 3).text(lang="en")
    assert verdict.frame["reachable"].to_list()[:2] == pytest.approx([0.4, 1.0])


@pytest.mark.parametrize("name", ["precision@5", "recall(min_gain=2)@5", "map", "f1@10"])
def test_what_is_offered_is_there_and_in_reach(name: str) -> None:
    offered = measures_in_reach(name)
    assert len(offered) == 3
    truth = {"q": {f"d{i}": 2 for i in range(8)}, "r": {"d": 2}}
    for other in offered:
        assert definition(parse(other).name)
        assert sy.evaluate(truth, {"q": ["d1"]}, other).reachable.tolist() == [[1.0]]


def test_lower_levels_of_a_measure_are_always_in_reach(tmp_path: Path) -> None:
    (path := tmp_path / "odd.toml").write_text(
        'levels = ["few"]\n[measures."precision@5"]\nbetter = "lower"\nlevels = { few = 0.1 }\n'
    )
    scores = answered(2, 0)
    assert [(rating.level, rating.out_of_reach) for rating in rate(scores, str(path))] == [("few", ())]


def fast(latencies: list[float]) -> Any:
    numbers = {"cost_usd_per_million_tokens": 0.01}
    scores = stated({"ndcg@10": FINE, "mrr": FINE, "recall@5": FINE, "precision@5": FINE})
    return gate(scores, profile="reranker", numbers=numbers, latency_ms={"a": latencies}), rate(
        scores, "reranker", latency_ms={"a": latencies}
    )


@pytest.mark.parametrize(
    ("n_failed", "reason", "value"), [(0, "reached", 100.0), (4, "spans", 100.0), (12, "missed", math.inf)]
)
def test_a_failed_question_is_slower_than_any_limit(n_failed: int, reason: str, value: float) -> None:
    verdict, ratings = fast([100.0] * (100 - n_failed) + [math.inf] * n_failed)
    (check,) = [check for check in verdict.checks if check.name == "latency_ms:p95"]
    assert (check.reason, check.value, check.n, check.n_failed) == (reason, value, 100, n_failed)
    text = verdict.text(lang="en")
    assert (f"{n_failed} of 100 questions failed; they count as slower than any limit" in " ".join(text.split())) == (
        n_failed > 0
    )
    (rating,) = [rating for rating in ratings if rating.measure == "latency_ms:p95"]
    assert rating.level == ("below_target" if n_failed == 12 else "excellent")
    notes = rating_sheets(ratings, Profile.read("reranker"), EN)[-1].notes
    assert any("a, latency_ms:p95" in note for note in notes) == (n_failed > 0)
    assert not any(note.startswith("∞") for note in notes)
    if n_failed == 4:
        assert "failed questions count as slower than any limit" in text
    if n_failed == 12:
        assert "∞" in text


def reranked(before: int) -> sy.Scores:
    """20 questions whose reranker gets 10 candidates; of so many of them, these have nothing relevant."""
    truth = {f"q{i:02}": {f"d{i}": 1} for i in range(20)}
    runs = {q: ["x", *(truth[q] if i >= before else ["y"])] for i, q in enumerate(truth)}
    best = {q: [doc for doc in runs[q] if doc in truth[q]] for q in truth}
    scores = sy.evaluate(truth, {"none": runs, "mine@10": best}, ["ndcg@10", "mrr"])
    highest = sy.evaluate(truth, best, ["ndcg@10", "mrr"]).values[0]
    unknown = np.full(highest.shape, np.nan)
    values = np.stack([unknown, highest])
    return replace(scores, ceilings={str(measure): values[:, j] for j, measure in enumerate(scores.measures)})


BEYOND = [
    (
        EN,
        "OUT OF REACH: ndcg@10 ≥ 0.85 (the best order of the candidates that mine@10 reranks has 0.7000): no reranker "
        "over them can have it; retrieve more or better candidates, or ask for less",
        "no reranker over these candidates reaches 0.85: the best order of them has 0.7000",
    ),
    (
        ZH,
        "达不到的要求：ndcg@10 ≥ 0.85（mine@10 所重排的候选，最佳排列也只有 0.7000）：在这些候选上任何重排序都做不到；"
        "请取回更多或更好的候选，或降低要求",
        "在这些候选上任何重排序都达不到 0.85：最佳排列也只有 0.7000",
    ),
]


@pytest.mark.parametrize(("words", "line", "reason"), BEYOND)
def test_a_level_above_the_best_order_of_the_candidates_is_out_of_reach_of_a_reranker(
    words: Words, line: str, reason: str
) -> None:
    verdict = gate(reranked(6), profile="reranker", system="mine@10", baseline="none")
    check = verdict.checks[0]
    assert (check.name, check.reason, check.outcome) == ("ndcg@10", "beyond_candidates", "insufficient")
    assert (check.reachable, verdict.outcome, verdict.exit_code) == (pytest.approx(0.7), "insufficient", 3)
    assert verdict.text(lang=words.code).splitlines()[0] == line
    assert reason in verdict.text(lang=words.code, explain=True)
    assert reason in verdict.text("markdown", lang=words.code)
    error = ET.fromstring(verdict.text("junit", lang=words.code)).find("testsuite/testcase/error")
    assert error is not None
    assert (error.get("type"), error.get("message")) == ("out of reach", reason)
    row = verdict.data()["checks"][0]
    assert (row["outcome"], row["reason"], row["reachable"]) == ("insufficient", "beyond_candidates", check.reachable)


def test_of_a_reranker_a_rating_holds_only_what_its_candidates_reach_and_of_the_base_what_the_truth_does() -> None:
    ratings = {(r.system, r.measure): r for r in rate(reranked(6), "reranker")}
    assert ratings["mine@10", "ndcg@10"].out_of_reach == ("target", "excellent")
    assert ratings["mine@10", "ndcg@10"].reachable == pytest.approx(0.7)
    assert ratings["none", "ndcg@10"].out_of_reach == ()
    note = next(note for sheet in rating_sheets(rate(reranked(6), "reranker"), Profile.read("reranker"), EN)
                for note in sheet.notes if note.startswith("Out of reach"))  # fmt: skip
    assert "or of the candidates that are reranked" in note


@pytest.mark.parametrize(("before", "system", "reason"), [
    (6, "none", "missed"),  # The candidates as they are reorder nothing: a better search could have the level.
    (1, "mine@10", "spans"), (0, "mine@10", "reached"),
])  # fmt: skip
def test_what_is_in_reach_of_the_candidates_is_judged(before: int, system: str, reason: str) -> None:
    checks = gate(reranked(before), profile="reranker", system=system).checks
    assert next(check.reason for check in checks if check.name == "ndcg@10") == reason
    fails = replace(reranked(0), values=0.3 * reranked(0).values)
    checks = gate(fails, profile="reranker", system="mine@10").checks
    assert next(check.reason for check in checks if check.name == "ndcg@10") == "missed"
