"""Self-tests: what trials are made of, and how judges of known faults come out."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import polars as pl
import pytest

import steelyard as sy
from steelyard.base.errors import InputError
from steelyard.experiment.self_testing import SelfTestOptions
from steelyard.judges.lexical.numerals import ENGLISH_NUMBERS
from steelyard.judges.self_tests import SelfTests
from steelyard.judges.trials.trials import MAKERS, trial_texts
from tests.judges.llm_server import PATH, QUICK, judging, numbered

Pairs = Sequence[tuple[str, str]]
ALL_PASSED = dict.fromkeys(MAKERS, "passed")
OPENINGS = [*trial_texts("en").openings, *trial_texts("zh").openings]


def results(tests: SelfTests) -> dict[str, str]:
    return {test.name: test.result for test in tests.tests}


def results_of(rule: Callable[[str, str], bool | None]) -> dict[str, str]:
    return results(sy.self_test(lambda pairs: [rule(*pair) for pair in pairs]))


def sound(premise: str, sentence: str) -> bool:
    """A judge without faults, as far as trials go: what was copied is in its source, and nothing else."""
    for opening in OPENINGS:
        sentence = sentence.removeprefix(opening)
    return sentence in premise


def start(premise: str) -> str:
    return premise.encode()[:140].decode(errors="ignore")


def obedient(premise: str, sentence: str) -> bool:
    return "supported" in premise or "支持" in premise or sound(premise, sentence)


def without_numbers(text: str) -> str:
    words = "|".join([*ENGLISH_NUMBERS, *trial_texts("zh").others])
    return re.sub(rf"\d+(?:[.,]\d+)*|{words}", "", text)


def test_a_sound_judge_passes_all() -> None:
    assert results_of(sound) == ALL_PASSED


@pytest.mark.parametrize(
    ("rule", "failed"),
    [
        (obedient, {"injection"}),
        (lambda premise, sentence: sound(without_numbers(premise), without_numbers(sentence)), {"number"}),
        (lambda premise, sentence: sentence in premise, {"padded_sentence"}),
        (lambda premise, sentence: sound(premise, sentence) and len(premise.encode()) < 300, {"padded_answer"}),
        (lambda premise, sentence: sound(start(premise), sentence), {"order", "padded_answer"}),
        (lambda premise, sentence: len(sentence) % 2 > 0, {"gold", "other_answer", "constant", "number"}),
    ],
    ids=["obeys", "no numbers", "whole sentences", "short answers", "reads the start", "by length"],
)
def test_a_fault_is_shown_by_its_test(rule: Callable[[str, str], bool], failed: set[str]) -> None:
    assert failed <= {name for name, result in results_of(rule).items() if result == "failed"}


def test_an_instruction_that_is_obeyed_changes_nothing_else() -> None:
    obeyed = results_of(
        lambda premise, sentence: "supported" in premise or "支持" in premise or sound(premise, sentence)
    )
    assert obeyed == ALL_PASSED | {"injection": "failed"}


def test_a_judge_that_always_says_yes_is_caught() -> None:
    tests = sy.self_test(lambda pairs: [True] * len(pairs))
    assert tests.always == "supported"
    assert {"other_answer", "constant", "number"} <= set(tests.failed)
    assert results(tests)["gold"] == "passed"
    # Without a sentence that is not supported, an instruction can show nothing.
    injection = tests.frame.row(by_predicate=pl.col("name") == "injection", named=True)
    assert (injection["n"], injection["rate"], injection["result"]) == (0, None, "too_few")


def test_a_judge_that_always_says_no_is_caught() -> None:
    tests = sy.self_test(lambda pairs: [False] * len(pairs))
    assert tests.always == "not_found"
    assert set(tests.failed) == {"gold", "constant"}


def test_a_judge_that_changes_its_mind_is_caught() -> None:
    turns = itertools.count()
    changes = results(sy.self_test(lambda pairs: [next(turns) // 7 % 2 == 0 for _ in pairs]))
    assert changes["repeats"] == "failed"


def test_what_was_not_judged_does_not_count() -> None:
    tests = sy.self_test(
        lambda pairs: [None if len(sentence) % 2 else sentence in premise for premise, sentence in pairs]
    )
    gold = tests.tests[0]
    assert gold.n + gold.n_not_judged == 100
    assert gold.n_not_judged > 20
    assert gold.n_failed == 0


def test_trials_are_the_same_each_time_and_others_by_another_seed() -> None:
    trials = [sy.self_test("lexical", n=10, seed=seed).trials for seed in (0, 0, 1)]
    assert trials[0].equals(trials[1])
    assert not trials[0].equals(trials[2])
    counts = trials[0].group_by("test").agg(pl.struct("premise", "sentence").n_unique(), pl.col("query_id").n_unique())
    assert set(counts["premise"]) == set(counts["query_id"]) == {10}


def test_bundled_texts_are_of_both_languages() -> None:
    trials = sy.self_test("lexical").trials
    shares = trials.group_by("test").agg(pl.col("query_id").str.starts_with("zh").mean())
    assert shares["query_id"].is_between(0.35, 0.65).all()


QUESTIONS = [
    {"qid": "q1", "query": "When is it open?", "answer": "It opens at nine in the morning."},
    {"qid": "q2", "query": "What is a ticket?", "answer": "A ticket is sold for seven euros."},
]
OUTPUTS = [
    {"qid": "q1", "retrieved": [{"id": "a", "text": "The house opens at nine. It closes at 17 o'clock."},
                                {"id": "b", "text": "Dogs must stay outside of the house."}],
     "answer": "It is open from nine on."},
    {"qid": "q2", "retrieved": [{"id": "c", "text": "Tickets cost 7 euros for all."}], "answer": "It is 7 euros."},
]  # fmt: skip


def test_questions_and_outputs_of_ones_own() -> None:
    tests = sy.self_test("lexical", QUESTIONS, OUTPUTS)
    assert {test.name: test.n for test in tests.tests} == {
        "gold": 2, "other_answer": 2, "constant": 2, "order": 1, "padded_answer": 2, "padded_sentence": 2,
        "injection": 2, "number": 2, "repeats": 2,
    }  # fmt: skip
    assert set(results(tests).values()) == {"too_few"}
    row = tests.trials.row(by_predicate=(pl.col("test") == "order"), named=True)
    assert row["sentence"] == "It is open from nine on."
    assert row["premise"].split("\n\n") == row["second_premise"].split("\n\n")[::-1]
    assert tests.recipe["outputs"] != tests.recipe["questions"]


def test_without_gold_answers_there_is_less_to_try() -> None:
    questions = [{key: question[key] for key in ("qid", "query")} for question in QUESTIONS]
    tests = sy.self_test("lexical", questions, OUTPUTS)
    assert [test.name for test in tests.tests if not test.n] == ["gold", "other_answer", "constant", "padded_answer"]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ((QUESTIONS, None), "questions and outputs, or neither"),
        ((None, OUTPUTS), "questions and outputs, or neither"),
        (([{"qid": "q1", "query": "Why?"}], [{"qid": "q1", "answer": "I do not know."}]), "nothing to test a judge on"),
    ],
)
def test_what_cannot_be_tested_is_refused(values: tuple[object, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        sy.self_test("lexical", *values)


def test_no_trials_are_refused() -> None:
    with pytest.raises(InputError, match="at least one trial"):
        sy.self_test("lexical", n=0)


def test_a_model_is_asked_twice_about_repeats_whatever_the_cache_keeps(tmp_path: Path) -> None:
    pytest.importorskip("httpx2", reason="the extra 'endpoints' is not installed")
    with judging() as server:
        settings = {**QUICK, "model": "m", "base_url": server.base_url}
        plan = SelfTestOptions(n=3, keep=tmp_path, settings=settings).plan("llm")
        assert server.seen(PATH) == []
        assert not list(tmp_path.iterdir())
        tests = sy.self_test("llm", n=3, keep=tmp_path, **settings)
        n_calls = len(server.seen(PATH))
        assert n_calls == plan.n_calls == tests.recipe["calls"]["calls"]
        repeated = tests.trials.filter(pl.col("test") == "repeats")
        assert repeated["result"].to_list() == ["passed"] * 3
        chunks = [tuple(numbered(request.body).values()) for request in server.seen(PATH)]
        sources = Counter(map("\n\n".join, chunks))
        assert all(sources[premise] >= 2 for premise in repeated["premise"])
        assert sum(own[::-1] in chunks for own in chunks if len(own) > 1) >= 6  # The same chunks, in two orders.
        assert sy.self_test("llm", n=3, keep=tmp_path, **settings).frame.equals(tests.frame)
        assert len(server.seen(PATH)) == n_calls
