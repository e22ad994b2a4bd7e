"""The plain functions of answers say what the measures say."""

import json
import math
import subprocess
import sys
from collections.abc import Callable

import pytest

import steelyard as sy

OF_CONTEXTS = ("faithfulness", "citation_validity", "citation_support", "citation_precision")
OF_GOLD = ("answer_precision", "answer_recall", "answer_f1", "exact_match", "token_f1", "content_f1", "contains")
HOURS = "Opening hours: 9 to 17."


def plain(name: str) -> Callable[..., float]:
    return getattr(sy.plain, name)  # type: ignore[no-any-return]


@pytest.mark.parametrize("name", OF_CONTEXTS)
def test_of_contexts(name: str) -> None:
    answer = "It opens at 9 [1]."
    assert plain(name)(answer, [HOURS]) == sy.plain.score_answer(name, answer, [HOURS]) == 1
    assert plain(name)("It opens at 9 [h#2].", {"h#2": HOURS}) == 1
    assert plain(name)(answer, (text for text in [HOURS])) == 1
    assert type(plain(name)(answer, [HOURS])) is float
    assert math.isnan(plain(name)("", [HOURS]))
    assert math.isnan(sy.plain.score_answer(name, answer))


@pytest.mark.parametrize("name", OF_GOLD)
def test_of_gold_answers(name: str) -> None:
    assert plain(name)("It opens at 9.", "It opens at 9.") == 1
    assert plain(name)("It opens at 9.", ["No.", "It opens at 9."]) == sy.plain.score_answer(name, "9", gold="9") == 1
    assert plain(name)("周一上午九点开门。", "周一上午九点开门。") == 1
    assert plain(name)("Tea is free.", "It opens at 9.") == 0
    assert math.isnan(plain(name)("It opens at 9.", []))


def test_an_abstention_is_not_unfaithful() -> None:
    assert math.isnan(sy.plain.faithfulness("I could not find this in the documents.", [HOURS]))
    assert math.isnan(sy.plain.faithfulness("根据提供的资料，无法回答这个问题。", [HOURS]))


def test_nothing_retrieved_supports_nothing() -> None:
    assert sy.plain.faithfulness("It opens at 9.", []) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("It opens at 9.", HOURS), "contexts: 'Opening hours: 9 to 17.' was passed where a list of texts is expected"),
        (("It opens at 9.", [None]), "contexts: None was passed where a text is expected"),
        (("It opens at 9.", {1: HOURS}), "contexts: an id: 1 was passed where a text is expected"),
        ((None, [HOURS]), "answer: None was passed where a text is expected"),
        (("It opens at 9.", 3), "contexts: 3 was passed where a list of texts is expected"),
    ],
)
def test_what_is_no_text(arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises(sy.InputError, match=message):
        sy.plain.faithfulness(*arguments)  # type: ignore[arg-type]


def test_a_measure_of_rankings_is_refused() -> None:
    with pytest.raises(sy.MeasureError, match="ndcg@5 is of what was retrieved"):
        sy.plain.score_answer("ndcg@5", "It opens at 9.", [HOURS])


def test_importing_is_light() -> None:
    code = "import sys, json, steelyard.plain; print(json.dumps(sorted(sys.modules)))"
    modules = json.loads(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout)
    assert not {"polars", "steelyard.judges.judging", "steelyard.data.outputs"} & set(modules)
