"""Criteria of one's own: what is asked, what a reply means, and what becomes of the grades."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import steelyard as sy
from steelyard.base.errors import InputError
from steelyard.judges.criteria import Criterion, criteria_of
from steelyard.judges.llm.criteria import grade_on
from steelyard.measures import parse
from tests.judges.llm_server import PATH, QUICK, block, items, judging, says_json
from tests.rag.server import Server

pytest.importorskip("httpx2", reason="the extra 'endpoints' is not installed")

CASES = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "cases" / "criterion_grades.jsonl").read_text("utf-8").splitlines()
]
QUESTIONS = [{"qid": "q1", "query": "When?"}, {"qid": "q2", "query": "Where?"}, {"qid": "q3", "query": "Why?"}]
OUTPUTS = [
    {"qid": "q1", "retrieved": [{"id": "a", "text": "It opens at 9."}], "answer": "It opens at 9 [a]. Welcome."},
    {"qid": "q2", "retrieved": [{"id": "a", "text": "It opens at 9."}], "answer": "I do not know."},
    {"qid": "q3", "retrieved": [{"id": "a", "text": "It opens at 9."}], "answer": ""},
]
FILE = """\
[criteria.cites]
text = "The answer holds [a]"
scale = "0-10"
of = "answer"
[criteria.answer_grade]
scale = "0-10"
"""


@pytest.fixture
def server() -> Iterator[Server]:
    with judging() as server:
        yield server


def judged(server: Server, **options: Any) -> sy.Verdicts:
    settings = {"model": "m", "base_url": server.base_url, "save": False, "tables": ["said"], **QUICK}
    return sy.judge(QUESTIONS, OUTPUTS, "llm", **(settings | options))


def grades(verdicts: sy.Verdicts, criterion: str) -> list[float | None]:
    return verdicts.criteria.filter(criterion=criterion)["value"].to_list()


def bodies(server: Server) -> list[Any]:
    return [request.body for request in server.seen(PATH)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_a_reply_means_a_grade_or_none(case: dict[str, Any]) -> None:
    assert grade_on(case["scale"], case["reply"]) == case["want"]


def test_all_criteria_of_an_answer_are_one_call(server: Server) -> None:
    verdicts = judged(server, criteria=["polite=It says Welcome", "It opens at 9", "loud=It shouts"])
    assert grades(verdicts, "polite") == [1.0, 0.0, None]
    assert grades(verdicts, "it_opens_at_9") == [1.0, 0.0, None]
    assert grades(verdicts, "loud") == [0.0, 0.0, None]
    assert verdicts.recipe["calls"]["calls"] == 2
    asked = next(body for body in bodies(server) if "Welcome" in block(body, "ANSWER"))
    assert next(iter(items(asked, "CRITERIA").values())) == "It says Welcome (yes or no)"
    assert block(asked, "ANSWER") == "It opens at 9 [a]. Welcome."
    assert block(asked, "QUESTION") == "When?"
    assert block(asked, "SOURCE") == ""


def test_the_grade_of_the_whole_answer_is_one_call_a_question(server: Server) -> None:
    verdicts = judged(server, criteria=["answer_grade"])
    assert verdicts.recipe["calls"]["calls"] == 2
    assert block(bodies(server)[0], "SOURCE") == "It opens at 9."
    assert verdicts.criteria["scale"].to_list() == ["1-5"] * 3
    assert verdicts.criteria["share"].to_list() == [0.0, 0.0, None]
    np.testing.assert_array_equal(parse("answer_grade")(verdicts.arrays()), [0.0, 0.0, 0.0])
    assert verdicts.recipe["criteria"][0]["scale"] == "1-5"
    assert verdicts.method != judged(server).method


def test_criteria_in_a_file_have_their_scale_and_what_the_judge_reads(server: Server, tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(FILE)
    verdicts = judged(server, criteria=["polite=It says Welcome"], criteria_file=tmp_path / "own.toml")
    assert grades(verdicts, "cites") == [10.0, 0.0, None]
    assert verdicts.criteria.filter(criterion="answer_grade")["scale"].to_list() == ["0-10"] * 3
    alone = next(body for body in bodies(server) if "holds [a]" in block(body, "CRITERIA"))
    assert block(alone, "QUESTION") == ""
    values = parse("criterion(name=cites)")(verdicts.arrays())
    np.testing.assert_array_equal(values, [1.0, 0.0, 0.0])


def test_verdicts_with_grades_are_read_back_and_evaluated(server: Server, tmp_path: Path) -> None:
    verdicts = judged(server, criteria=["polite=It says Welcome"], save=tmp_path / "v.parquet")
    assert sy.Verdicts.read(tmp_path / "v.parquet") == verdicts
    scores = sy.evaluate(QUESTIONS, {"a": OUTPUTS}, "criterion(name=polite)", verdicts=verdicts)
    assert float(scores.means[0, 0]) == pytest.approx(1 / 3)


def test_a_grade_that_cannot_be_read_is_asked_for_once_more_and_then_not_judged(server: Server) -> None:
    server.always(PATH, says_json(grades=[{"id": "1", "grade": "perhaps"}, {"id": "2", "grade": "yes"}]))
    verdicts = judged(server, criteria=["polite=It says Welcome", "loud=It shouts"])
    assert grades(verdicts, "polite") == [None, None, None]
    assert verdicts.not_judged["grade 'perhaps' cannot be read"] == 2


def test_samples_of_a_grade_are_averaged(server: Server) -> None:
    server.script(PATH, says_json(grades=[{"id": "1", "grade": 2}]), says_json(grades=[{"id": "1", "grade": 3}]))
    one = Criterion("clear", "It is clear", "1-5")
    settings = {"criteria": [one], "epochs": 2, "temperature": 1.0, "concurrency": 1}
    verdicts = sy.judge(
        QUESTIONS[:1], OUTPUTS[:1], "llm", model="m", base_url=server.base_url, save=False, tables=["said"],
        **settings, **QUICK,
    )  # type: ignore[arg-type]  # fmt: skip
    assert grades(verdicts, "clear") == [2.5]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "own.toml: holds no criteria; write tables"),
        ("[criterion.a]\ntext = 'b'", "own.toml, line 1: there is no setting 'criterion'"),
        ("[criteria.a]\nscale = '1-5'", "own.toml, line 1: criteria.a: .*text"),
        ("[criteria.a]\ntext = 'b'\nscale = '1-7'", "own.toml, line 3: .*1-7"),
        ("[criteria.a]\ntext = ' '", "own.toml, line 2: .*criterion a has no text"),
        ("[criteria.'a b']\ntext = 'c'", "own.toml.*called 'a b'; use letters"),
        ("criteria = 3", "own.toml: holds no criteria"),
    ],
)
def test_a_file_of_criteria_is_refused_with_its_line(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(text)
    with pytest.raises(InputError, match=message):
        criteria_of(file=tmp_path / "own.toml")


def test_criteria_that_cannot_be_judged_are_refused() -> None:
    with pytest.raises(InputError, match="two criteria are called short"):
        criteria_of(["short=It is short.", "short=It is brief."])
    with pytest.raises(InputError, match="there are 41 criteria"):
        criteria_of([f"n{n}=It is {n}." for n in range(41)])
    with pytest.raises(InputError, match=r"criteria are 'It is short\.'; give a list"):
        sy.judge(QUESTIONS, OUTPUTS, criteria="It is short.")
    with pytest.raises(InputError, match="judge lexical: does not judge by criteria, such as it_is_short"):
        sy.judge(QUESTIONS, OUTPUTS, criteria=["It is short."])


def test_prompts_of_a_folder_take_the_place_of_ours(server: Server, tmp_path: Path) -> None:
    from steelyard.judges.llm.prompting import BUNDLED

    own = BUNDLED.text("criteria", "en").replace("You judge an answer", "You weigh an answer")
    (tmp_path / "criteria.en.txt").write_text(own)
    cache = str(tmp_path / "cache.sqlite")
    usual = judged(server, criteria=["It is short"], cache=cache)
    n_before = len(bodies(server))
    ours = judged(server, criteria=["It is short"], prompts=str(tmp_path), cache=cache)
    assert len(bodies(server)) == n_before + 2, "another prompt is another question"
    assert bodies(server)[-1]["messages"][0]["content"].startswith("You weigh an answer")
    prompts = ours.recipe["judge"]["prompts"]
    assert prompts["criteria.en"] != usual.recipe["judge"]["prompts"]["criteria.en"]
    assert prompts["criteria.zh"] == usual.recipe["judge"]["prompts"]["criteria.zh"]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("criterion.en.txt", "x", "no prompt is called so; did you mean criteria.en"),
        ("criteria.en.txt", "{question} {source} {answer}", "lacks the placeholder {criteria}"),
        ("criteria.en.txt", "{question} {source} {answer} {criteria} {key}", "there is no placeholder {key}"),
        ("notes.md", "x", "holds no prompt"),
    ],
)
def test_prompts_that_cannot_be_are_refused(name: str, text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=message):
        sy.judge(QUESTIONS, OUTPUTS, "llm", model="m", base_url="http://127.0.0.1:9/v1", prompts=str(tmp_path))
