"""Judges by name, and those of a user's own."""

import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from steelyard.base.errors import InputError
from steelyard.judges.asking import Asking
from steelyard.judges.registry import JUDGES, PairJudge, judge_named, make_judge
from steelyard.judges.verdict import Case, Verdict
from tests.judges.own_judges import SHARE, Share, Whole, within

OWN = "tests.judges.own_judges:"
CASES = [Case("It is red.", ("It is red.", "It is blue.")), Case("", ("It is red.",))]


def _labels(judge: Any) -> list[list[str]]:
    return [[verdict.label for verdict in verdicts] for verdicts in judge.judge(CASES)]


@pytest.mark.parametrize("judge", [within, Share, SHARE, f"{OWN}within", f"{OWN}Share", f"{OWN}SHARE"])
def test_functions_classes_and_objects_on_pairs_are_judges(judge: object) -> None:
    own = make_judge(judge, {"threshold": 0.9})
    assert _labels(own) == [["supported", "not_found"], ["not_found"]]
    assert own.name == ("within" if "within" in str(judge) else "SHARE" if "SHARE" in str(judge) else "Share")
    recipe = own.recipe()
    assert recipe["threshold"] == 0.9
    assert recipe["object"].startswith(OWN)
    assert len(recipe["source"]) == 16


def test_settings_go_to_the_class_and_the_threshold_to_the_scores() -> None:
    own = make_judge(f"{OWN}Share", {"least": 3, "threshold": 0.1})
    assert [verdict.score for verdicts in own.judge(CASES) for verdict in verdicts] == [1.0, 0.0, 0.0]


def test_a_judge_that_takes_cases_is_taken_as_it_is() -> None:
    judge = make_judge(Whole)
    assert isinstance(judge, Whole)
    assert make_judge(f"{OWN}Whole").recipe() == {"version": 7}


_RESULTS: list[tuple[Any, Verdict]] = [
    (True, Verdict("supported", 1.0)),
    (np.bool_(False), Verdict("not_found", 0.0)),
    (0.5, Verdict("supported", 0.5)),
    (np.float32(0.25), Verdict("not_found", 0.25)),
    (1, Verdict("supported", 1.0)),
    ("Supported ", Verdict("supported")),
    ("not found", Verdict("not_found")),
    ("NOT-FOUND", Verdict("not_found")),
    ("contradicted", Verdict("contradicted")),
    (Verdict("contradicted", 0.2, "why"), Verdict("contradicted", 0.2, "why")),
    (None, Verdict("not_judged", None, "gave None")),
    (float("nan"), Verdict("not_judged", None, "gave the score nan, not from 0 to 1")),
    (7, Verdict("not_judged", None, "gave the score 7.0, not from 0 to 1")),
    ("yes", Verdict("not_judged", None, "gave 'yes', none of supported, contradicted, not_found, not_judged")),
    (10**400, Verdict("not_judged", None, f"gave {'1' + '0' * 79}…, no verdict")),
    (np.ones(2), Verdict("not_judged", None, "gave array([1., 1.]), no verdict")),
    ({"label": 1}, Verdict("not_judged", None, "gave {'label': 1}, no verdict")),
]


@pytest.mark.parametrize(("result", "verdict"), _RESULTS)
def test_what_a_result_says(result: Any, verdict: Verdict) -> None:
    case = Case("p", ("h",))
    assert Asking(PairJudge(lambda pairs: [result], "own")).verdicts([case]) == {case: [verdict]}


def test_a_function_that_gives_another_number_of_results_loses_that_case_alone() -> None:
    def skips_what_is_empty(pairs: Sequence[tuple[str, str]]) -> list[bool]:
        return [True for premise, _ in pairs if premise]

    verdicts = Asking(PairJudge(skips_what_is_empty, "own")).verdicts(CASES)
    assert [verdict.label for verdict in verdicts[CASES[0]]] == ["supported", "supported"]
    assert [verdict.reason for verdict in verdicts[CASES[1]]] == ["raised ValueError: it gave 0 results for 1 pairs"]


class Named(Whole):
    """Has any name."""

    def __init__(self, name: object) -> None:
        self.name = name  # type: ignore[assignment]


class Unmade(Whole):
    """Cannot be made."""

    def __init__(self) -> None:
        raise ValueError("no model here")


_REFUSED: list[tuple[object, dict[str, Any], str]] = [
    ("lexicle", {}, r"no judge is called 'lexicle'; .*your own: module:object"),
    ("embedding", {}, "judge embedding: model is missing"),
    ("nli", {"modell": "x"}, "judge nli: takes no setting 'modell'; did you mean model"),
    (f"{OWN}absent", {}, "has no 'absent'"),
    ("no_such_module:judge", {}, "there is no module 'no_such_module'"),
    (f"{OWN}later", {}, "judge .*later: is async; expected a function that takes a list of"),
    (f"{OWN}NUMBER", {}, "judge .*NUMBER: is int; expected a function"),
    (7, {}, "judge int: is int; expected a function"),
    (within, {"least": 3}, "judge within: takes no settings .least., as it is no class"),
    (within, {"threshold": 2}, "judge within: threshold must be a number from 0 to 1, not 2"),
    (Share, {"leest": 3}, "judge Share: takes no setting 'leest'; did you mean least"),
    (Named, {"name": None}, "judge: its name is None; expected a text of 1 to 60 characters"),
    (Named, {"name": ""}, "judge: its name is ''; expected"),
    (Named, {"name": "a\x1b[31m"}, r"judge: its name is 'a.x1b\[31m'; expected"),
    (Named, {"name": "a\ud800"}, r"judge: its name is 'a.ud800'; expected"),
    (Named, {"name": "n" * 5_000}, "judge: its name is 'n{79}…; expected"),
    (Unmade, {}, r"judge whole: raised ValueError: no model here \(.*test_registry.py:\d+\); mend it"),
]


@pytest.mark.parametrize(("judge", "settings", "message"), _REFUSED)
def test_what_is_no_judge_is_refused(judge: object, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make_judge(judge, settings)


@pytest.mark.parametrize("name", ["embedding", "lexical", "llm", "nli"])
def test_our_judges_are_registered_and_a_name_that_is_taken_is_refused(name: str) -> None:
    assert name in JUDGES.names()
    with pytest.raises(InputError, match=f"a judge called {name!r} exists"):
        judge_named(name)(Share)
    assert JUDGES.get(name).name == name


def test_no_judge_is_imported_but_the_one_that_judges() -> None:
    code = """
import sys, steelyard as sy
ours = "lexical", "llm", "nli", "embedding"
say = lambda: print([name for name in ours if f"steelyard.judges.{name}" in sys.modules])
answers = [{"qid": "q", "retrieved": [{"id": "d#1", "text": "It opens at nine."}], "answer": "It opens at nine."}]
questions = [{"qid": "q", "query": "When?"}]
verdicts = sy.judge(questions, answers, judge=lambda pairs: [True] * len(pairs))
sy.evaluate(questions, answers, "faithfulness", verdicts=verdicts)
say()
sy.evaluate(questions, answers, "faithfulness")
say()
"""
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert output.splitlines() == ["[]", "['lexical']"]


def test_a_function_that_fails_is_named_in_one_line() -> None:
    cases = [Case(str(n), ("h",)) for n in range(30)]
    with pytest.raises(InputError, match=r"judge fails: raised RuntimeError: no model <b>here</b>.* on each of 20"):
        Asking(make_judge(f"{OWN}fails")).verdicts(cases)
