"""Answers compared in pairs: both orders, bias, ties, intervals, and what is kept."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import steelyard as sy
from steelyard.base.errors import InputError
from tests.hypothesis_profiles import examples
from tests.judges.llm_server import PATH, QUICK, judging, says_json
from tests.rag.server import Server

pytest.importorskip("httpx2", reason="the extra 'endpoints' is not installed")

from steelyard.experiment.preferences import PairwiseOptions, Preferences, compared_in_pairs, plan_pairwise

_SIGNS = st.sampled_from([-1, 0, 1])
CHOICES = st.lists(st.tuples(_SIGNS, _SIGNS), min_size=3, max_size=30)


def outputs(answers: Mapping[str, str]) -> list[dict[str, Any]]:
    return [{"qid": qid, "retrieved": [], "answer": answer} for qid, answer in answers.items()]


def questions(n: int, query: str = "What?") -> list[dict[str, Any]]:
    return [{"qid": f"q{i}", "query": query} for i in range(n)]


def preferences(choices: Sequence[tuple[int, int]], systems: tuple[str, str] = ("a", "b")) -> Preferences:
    """Of how the first system did where it was shown first, and where it was shown second, question by question."""
    rows = [
        {"query_id": f"q{n}", "first": systems[0], "second": systems[1], "shown_first": x, "shown_second": y,
         "score": (x + y) / 2, "reason": "r", "cluster": n}
        for n, (x, y) in enumerate(choices)
    ]  # fmt: skip
    schema = {"shown_first": pl.Int64, "shown_second": pl.Int64, "score": pl.Float64, "cluster": pl.Int64}
    return Preferences(systems, pl.DataFrame(rows, schema_overrides=schema), {})


@pytest.fixture
def server() -> Iterator[Server]:
    with judging() as server:
        yield server


def options(server: Server, **more: Any) -> PairwiseOptions:
    settings = {"model": "m", "base_url": server.base_url, **QUICK, **more.pop("settings", {})}
    return PairwiseOptions(**{"save": False, "settings": settings, **more})


def test_both_orders_are_asked_and_the_longer_answer_wins(server: Server) -> None:
    long, short = outputs({"q0": "It opens at nine.", "q1": "At nine."}), outputs({"q0": "Nine.", "q1": "Nine."})
    result = compared_in_pairs(questions(2), {"long": long, "short": short}, options(server))
    assert len(server.seen(PATH)) == 4
    [row] = result.frame.rows(named=True)
    assert (row["won"], row["tied"], row["lost"], row["difference"]) == (1, 0, 0, 1)
    assert row["difference_low"] < 1, "two questions show no certainty"
    assert result.strengths["system"].to_list() == ["long", "short"]
    assert (result.bias.value, result.n_turned) == (0, 0)
    assert result.recipe["calls"]["calls"] == 4


def test_a_model_that_prefers_what_it_sees_first_says_that_all_tie(server: Server) -> None:
    one, other = outputs({f"q{n}": "At nine" for n in range(20)}), outputs({f"q{n}": "By nine" for n in range(20)})
    result = compared_in_pairs(questions(20, "biased?"), {"one": one, "other": other}, options(server))
    [row] = result.frame.rows(named=True)
    assert (row["tied"], row["difference"]) == (1, 0)
    assert (result.bias.value, result.n_turned) == (1, 20)
    assert result.strengths["strength"].to_list() == pytest.approx([0, 0])
    text = result.text(lang="en")
    assert "No preference is shown" in text
    assert "what it sees first by +1.000" in text
    assert len(text.splitlines()) <= 15
    assert "看不出高下" in result.text(lang="zh")
    assert result.data()["n_turned"] == 20


def test_what_is_equal_or_absent_is_not_asked(server: Server) -> None:
    one, other = outputs({"q0": "Nine.", "q1": "Nine.", "q2": ""}), outputs({"q0": "Nine.", "q1": "", "q2": ""})
    result = compared_in_pairs(questions(3), {"one": one, "other": other}, options(server))
    assert server.seen(PATH) == []
    assert result.choices["score"].to_list() == [0.0, 1.0, 0.0]


def test_what_cannot_be_read_is_not_judged(server: Server) -> None:
    one, other = outputs({"q0": "Nine", "q1": "Nine."}), outputs({"q0": "Ten", "q1": "Ten"})
    server.script(PATH, *[says_json(better="perhaps")] * 2)
    result = compared_in_pairs(questions(2), {"one": one, "other": other}, options(server, settings={"concurrency": 1}))
    assert result.choices["score"].to_list() == [None, 1.0]
    assert result.not_judged == {"better 'perhaps' cannot be read": 1}
    assert result.frame["n"].to_list() == [1]


def test_a_plan_counts_calls_and_asks_nothing(server: Server) -> None:
    systems = {name: outputs({"q0": name, "q1": "Nine."}) for name in ("a", "bb", "ccc")}
    plan = plan_pairwise(questions(2), systems, options(server))
    assert (plan.n_comparisons, plan.n_asked, plan.n_calls) == (6, 3, 6)
    assert server.seen(PATH) == []
    assert "comparisons" in plan.text(lang="en")


def test_a_result_is_kept_and_read_back_and_the_cache_answers_again(server: Server, tmp_path: Path) -> None:
    systems = {name: outputs({"q0": name}) for name in ("a", "bb", "ccc")}
    file = tmp_path / "p.json"
    result = compared_in_pairs(questions(1), systems, options(server, save=file))
    n_calls = len(server.seen(PATH))
    kept = Preferences.read(file)
    assert kept.choices.equals(result.choices)
    assert kept.strengths["system"].to_list() == ["ccc", "bb", "a"]
    compared_in_pairs(questions(1), systems, options(server, save=file))
    assert len(server.seen(PATH)) == n_calls
    file.write_text(file.read_text().replace('"ccc"', '"d"', 1))
    with pytest.raises(InputError, match="systems that it does not name; compare again"):
        Preferences.read(file)


def test_one_system_and_no_place_are_refused(server: Server) -> None:
    one = outputs({"q0": "Nine."})
    with pytest.raises(InputError, match="there is 1 system; name two or more"):
        compared_in_pairs(questions(1), {"one": one}, options(server))
    with pytest.raises(InputError, match="one: is no run folder, in which the result could be kept"):
        compared_in_pairs(questions(1), {"one": one, "two": one}, options(server, save=True, must_keep=True))


@given(CHOICES)
def test_turned_systems_mirror_each_other(choices: list[tuple[int, int]]) -> None:
    own = preferences(choices)
    # Where b is the first system, it is shown first where a was shown second.
    turned = preferences([(-y, -x) for x, y in choices], ("b", "a"))
    [row], [mirror] = own.frame.rows(named=True), turned.frame.rows(named=True)
    assert (row["won"], row["tied"], row["lost"]) == (mirror["lost"], mirror["tied"], mirror["won"])
    assert row["difference"] == pytest.approx(-mirror["difference"])
    assert row["difference_low"] == pytest.approx(-mirror["difference_high"])
    assert own.bias.value == pytest.approx(turned.bias.value)
    strengths = [dict(zip(*of.strengths.select("system", "strength"), strict=True)) for of in (own, turned)]
    assert strengths[0] == pytest.approx(strengths[1])


@examples(30)
@given(
    st.lists(st.tuples(st.sampled_from([-1, 0, 1]), st.sampled_from([-1, 0, 1])), min_size=3, max_size=30), st.data()
)
def test_the_order_of_questions_does_not_matter(choices: list[tuple[int, int]], data: st.DataObject) -> None:
    own, other = preferences(choices), preferences(data.draw(st.permutations(choices)))
    values = [of.frame.drop("first", "second").to_numpy() for of in (own, other)]
    np.testing.assert_allclose(*values, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(("advantage", "bias"), [(0.0, 0.0), (0.0, 1.5), (0.8, 0.0), (0.8, 1.5)])
def test_intervals_hold_the_truth_whatever_the_bias(advantage: float, bias: float) -> None:
    """Of a judge that draws by log odds, with a bias for what it sees first, and questions that differ."""
    rng, n, hold, shown = np.random.default_rng(7), 60, 0, 0

    def draw(size: int) -> tuple[np.ndarray, np.ndarray]:
        own = advantage + rng.normal(0, 1, size)
        first, second = (1 / (1 + np.exp(-(own + shift))) for shift in (bias, -bias))
        signs = [np.where(rng.random(size) < chance, 1, -1) for chance in (first, second)]
        return signs[0], signs[1]

    truth = float(np.mean([np.mean(side) for side in draw(400_000)]))
    runs = 400
    for _ in range(runs):
        first, second = draw(n)
        [row] = preferences(list(zip(first.tolist(), second.tolist(), strict=True))).frame.rows(named=True)
        hold += row["difference_low"] <= truth <= row["difference_high"]
        shown += row["difference_low"] > 0 or row["difference_high"] < 0
    assert hold / runs >= 0.93
    if advantage == 0:
        assert shown / runs <= 0.07


def test_the_library_says_the_same_as_the_command(server: Server) -> None:
    long, short = outputs({"q0": "It opens at nine.", "q1": "At nine."}), outputs({"q0": "Nine.", "q1": "Nine."})
    own = sy.compare_answers(
        questions(2), {"long": long, "short": short}, save=False, model="m", base_url=server.base_url, **QUICK
    )
    assert own.frame.equals(compared_in_pairs(questions(2), {"long": long, "short": short}, options(server)).frame)
