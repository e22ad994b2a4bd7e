"""Answers of a system judged from end to end, with judges that know by a rule what they say."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from steelyard.base.errors import InputError
from steelyard.data.outputs import Outputs
from steelyard.data.questions import Questions
from steelyard.judges.answers.cases import NOT_ASKED, TABLES
from steelyard.judges.judging import JudgeOptions, asked_of, judge_answers
from steelyard.judges.tables.verdicts import Verdicts
from steelyard.judges.verdict import Case, JudgedAnswer, Verdict, VerdictTable
from tests.judges.fakes import Scripted, Within

QUESTIONS = Questions(
    [
        {"qid": "q1", "query": "When does it open?", "answer": "It opens at 9. It is closed on Sunday."},
        {"qid": "q2", "query": "几点开门？", "answers": ["九点开门。", "早上九点。"]},
        {"qid": "q3", "query": "What does it cost?", "answerable": False},
        {"qid": "q4", "query": "Who runs it?"},
        {"qid": "q5", "query": "Is it far?", "answer": "No."},
        {"qid": "q6", "query": "Is it old?", "answer": "It is old."},
    ]
)
CHUNKS = [
    {"id": "h#1", "text": "Opening hours: it opens at 9. It closes at 20."},
    {"id": "h#2", "text": "周一休息，九点开门。"},
]
LINES: list[dict[str, Any]] = [
    {"qid": "q1", "retrieved": CHUNKS, "answer": "Hello! It opens at 9 [h#1]. It has a café [h#1][h#2]. [x#9]"},
    {"qid": "q2", "retrieved": CHUNKS, "answer": "九点开门【2】。"},
    {"qid": "q3", "retrieved": CHUNKS, "answer": "I'm sorry, the documents do not say what it costs."},
    {"qid": "q4", "retrieved": [{"id": "c9"}], "answer": "Anna runs it."},
    {"qid": "q5", "retrieved": CHUNKS, "answer": " "},
    {"qid": "q6", "error": "timeout", "retrieved": CHUNKS, "failed": "generate"},
]


def _judged(judge: Any = None, **options: Any) -> Verdicts:
    return judge_answers(QUESTIONS, Outputs(LINES, name="mine"), judge or Within(), JudgeOptions(**options))


def _labels(rows: Sequence[Sequence[Verdict]]) -> list[list[str]]:
    return [[verdict.label for verdict in row] for row in rows]


def test_answers_from_end_to_end() -> None:
    verdicts = _judged()
    records = verdicts.records
    assert list(records) == ["q1", "q2", "q3", "q4", "q5", "q6"]
    assert [record.state for record in records.values()] == [
        "answered", "answered", "abstained", "answered", "empty", "failed"
    ]  # fmt: skip
    first = records["q1"]
    assert [(unit.text, unit.checkable) for unit in first.units] == [
        ("Hello!", False),
        ("It opens at 9.", True),
        ("It has a café.", True),
    ]
    assert _labels(first.support) == [[], ["supported", "not_found"], ["not_found", "not_found"]]
    assert [citation.problem for citation in first.citations] == [None, None, None, "dangling"]
    assert [verdict and verdict.label for verdict in first.joint] == [None, "supported", "not_found"]
    assert [verdict and verdict.label for verdict in first.said] == ["supported", "not_found"]
    assert _labels(first.correctness) == [[], ["supported"], ["not_found"]]
    assert _labels(first.reach) == [["supported", "not_found"], ["not_found", "not_found"]]
    second = records["q2"]
    assert second.gold_answers == ("九点开门。", "早上九点。")
    assert [unit.alternative for unit in second.gold_units] == [0, 1]
    assert (second.citations[0].chunk, _labels(second.support)) == (1, [["not_found", "supported"]])
    assert (records["q3"].units, records["q3"].answerable) == ((), False)
    assert (records["q4"].context, records["q4"].support) == (None, ((),))
    assert [verdict and verdict.reason for verdict in records["q5"].said] == ["empty"]
    assert records["q6"].context == ("h#1", "h#2")


def test_the_recipe_names_judge_outputs_and_questions() -> None:
    verdicts = _judged()
    outputs = Outputs(LINES, name="mine")
    recipe = dict(verdicts.recipe)
    assert recipe.pop("date")
    assert recipe.pop("steelyard")
    assert recipe.pop("questions").startswith("sha256:")
    assert recipe == {
        "judge": {"name": "within", "version": 1}, "calibration": None, "units": "sentences",
        "tables": [table for table in TABLES if table != "relevance"], "system": "mine", "outputs": outputs.digest(),
    }  # fmt: skip
    verdicts.check_outputs(outputs.digest(), "mine")


def test_the_digest_of_the_questions_is_of_what_is_judged_by() -> None:
    def digest(**change: Any) -> str:
        questions = Questions([{"qid": "q1", "query": "When?", "answer": "At 9.", **change}])
        return str(judge_answers(questions, Outputs(LINES), None).recipe["questions"])

    assert digest(tags=["a"]) == digest()
    assert len({digest(), digest(answer="At 10."), digest(query="Where?"), digest(nuggets=["nine"])}) == 4


def test_without_a_judge_units_and_citations_are_there_and_nothing_is_judged() -> None:
    verdicts = judge_answers(QUESTIONS, Outputs(LINES), None, system="mine")
    assert (verdicts.judge, verdicts.recipe["tables"]) == ("none", [])
    assert verdicts.records["q1"].units == _judged().records["q1"].units
    assert {verdict for row in verdicts.records["q1"].support for verdict in row} == {NOT_ASKED}
    assert verdicts.counts["not_judged"] == 3
    assert set(verdicts.not_judged) == {"not asked"}


def test_only_the_tables_that_are_wanted_are_asked() -> None:
    judge, tables = Within(), list[VerdictTable](["grounded"])
    verdicts = _judged(judge, tables=tables)
    assert {case.table for case in judge.cases} == {"grounded"}
    assert verdicts.recipe["tables"] == ["grounded"]
    assert [verdict and verdict.label for verdict in verdicts.records["q1"].grounded] == [
        None,
        "supported",
        "not_found",
    ]
    assert asked_of(QUESTIONS, Outputs(LINES), judge, JudgeOptions(tables=tables))[0] == judge.cases


def test_nuggets_are_judged_by_the_answer_without_its_marks() -> None:
    """Whoever judges; one that grades says how much of a nugget is there, and how relevant the answer is."""

    class Grading(Within):
        grades = True

        def judge(self, cases: Sequence[Case]) -> list[tuple[Verdict, ...]]:
            self.cases += cases
            return [tuple(Verdict("supported", 0.5, "partly") for _ in case.hypotheses) for case in cases]

    facts = {"q1": [("opens at 9", True), ("garden", False)], "q2": [("opens", True)]}
    questions = Questions(
        [{"qid": qid, "query": "When?", "nuggets": [{"text": t, "vital": v} for t, v in f]} for qid, f in facts.items()]
    )
    answers = {"q1": "It opens at 9 [h#1].", "q2": ""}
    outputs = Outputs([{"qid": qid, "retrieved": CHUNKS, "answer": answer} for qid, answer in answers.items()])
    judge = Within()
    verdicts = judge_answers(questions, outputs, judge, JudgeOptions(tables=["nuggets", "relevance"]))
    assert [(case.premise, case.hypotheses, case.table) for case in judge.cases] == [
        ("It opens at 9.", ("opens at 9", "garden"), "nuggets")
    ]
    assert [(n.credit, n.vital) for n in verdicts.records["q1"].nuggets] == [(1.0, True), (0.0, False)]
    assert [(n.credit, n.reason) for n in verdicts.records["q2"].nuggets] == [(0.0, "empty")]
    assert verdicts.records["q1"].grade is None
    graded = judge_answers(questions, outputs, Grading(), JudgeOptions(tables=["nuggets", "relevance"])).records
    assert [n.credit for n in graded["q1"].nuggets] == [0.5, 0.5]
    assert (graded["q1"].grade, graded["q2"].grade) == (Verdict("supported", 0.5, "partly"), None)
    unasked = judge_answers(questions, outputs, Grading(), JudgeOptions(tables=["support"])).records["q1"]
    assert ([n.credit for n in unasked.nuggets], unasked.grade) == ([None, None], None)


def test_blocks_make_no_difference_and_progress_ends_with_all() -> None:
    n = 200
    questions = Questions([{"qid": f"q{i}", "query": "?", "answer": f"It opens at {i}."} for i in range(n)])
    lines = [{"qid": f"q{i}", "retrieved": CHUNKS, "answer": f"It opens at {i % 20}."} for i in range(n)]

    class AtOnce(Within):
        wants_all_at_once = True

    steps: list[tuple[str, int, int]] = []
    in_blocks = judge_answers(
        questions, Outputs(lines), Within(), JudgeOptions(progress=lambda *step: steps.append(step))
    )
    at_once = judge_answers(questions, Outputs(lines), AtOnce())
    assert in_blocks.records == at_once.records
    assert steps == [("answers", done, n) for done in (0, 64, 128, 192, n)]


def test_what_a_judge_counts_of_its_calls_is_in_the_recipe_and_not_in_the_method() -> None:
    class Counting(Within):
        def counts(self) -> dict[str, int]:
            return {"calls": len(self.cases)}

    verdicts = _judged(Counting())
    assert verdicts.recipe["calls"] == {"calls": len(asked_of(QUESTIONS, Outputs(LINES), Counting())[0])}
    assert "calls" not in verdicts.method


def test_libraries_that_a_model_ran_on_are_in_the_recipe_and_not_in_the_method() -> None:
    class Modelled(Within):
        def recipe(self) -> dict[str, Any]:
            return {**super().recipe(), "libraries": {"torch": "2.13.0"}}

    verdicts = _judged(Modelled())
    assert verdicts.recipe["libraries"] == {"torch": "2.13.0"}
    assert verdicts.method == _judged(Within()).method


def test_a_judge_that_fails_on_one_chunk_loses_its_verdicts_alone() -> None:
    def answer(cases: Sequence[Case]) -> Any:
        for case in cases:
            if case.premise == CHUNKS[1]["text"] and case.table == "support":
                raise MemoryError("too long")
            yield [Verdict("supported")] * len(case.hypotheses)

    verdicts = _judged(Scripted(answer))
    assert _labels(verdicts.records["q1"].support)[1:] == [["supported", "not_judged"]] * 2
    assert verdicts.not_judged == {"raised MemoryError: too long": 5}
    assert verdicts.errors == {"raised": 2}


def test_outputs_without_any_answer_are_judged_as_missing() -> None:
    verdicts = judge_answers(QUESTIONS, Outputs([{"qid": "q1", "retrieved": CHUNKS}]), Within())
    assert {record.state for record in verdicts.records.values()} == {"missing"}


_ODD = {
    "only citations": "[h#1][h#2]",
    "only code": "```python\nprint('[1]')\n```",
    "only a table": "| a | b |\n|---|---|\n| 1 | 2 |",
    "control characters": "It opens at 9.\x00\x07\x1b[31m It closes. \u202e",
    "half characters": "It opens at 9 \ud800. \udfff",
    "HTML": "<script>alert('[h#1]')</script><b>It opens at 9.</b>",
    "100 kB": "It opens at 9 [h#1]. " * 5000,
}


@pytest.mark.parametrize("name", _ODD)
def test_odd_answers_are_judged_and_kept(name: str, tmp_path: Any) -> None:
    odd = _ODD[name]
    questions = Questions([{"qid": "q", "query": odd[:50], "answer": odd[:2000]}])
    chunks = [{"id": "h#1", "text": odd[:2000]}, {"id": "h#2", "text": ""}]
    verdicts = judge_answers(questions, Outputs([{"qid": "q", "retrieved": chunks, "answer": odd}]), Within())
    record: JudgedAnswer = verdicts.records["q"]
    assert record.state in ("answered", "abstained")
    assert all(0 <= unit.start <= unit.end <= len(record.answer) for unit in record.units)
    verdicts.write(tmp_path / "v.parquet")
    assert Verdicts.read(tmp_path / "v.parquet") == verdicts
    assert verdicts.units.height == len(record.units)


def test_a_judge_that_fails_on_all_is_named() -> None:
    def fail(cases: Sequence[Case]) -> Any:
        raise RuntimeError("no device")

    with pytest.raises(
        InputError, match="judge scripted: raised RuntimeError: no device, on each of 18 cases; mend it"
    ):
        judge_answers(QUESTIONS, Outputs(LINES, name="mine"), Scripted(fail))


@pytest.mark.parametrize(
    ("question", "answerable"),
    [
        ({"answer": "The documents do not say; they mention no guitars."}, False),
        ({"answer": "文档中没有说明，各页都没有提到三维打印。"}, False),
        ({"answers": ["I don't know.", "It is closed."]}, True),
        ({"answer": "The documents do not say.", "evidence": [{"text": "nine"}]}, True),
        ({"answerable": False, "answer": "It is closed."}, False),
        ({}, None),
    ],
)
def test_a_gold_answer_that_says_there_is_none_means_that_there_is_none(
    question: dict[str, Any], answerable: bool | None
) -> None:
    questions = Questions([{"qid": "q", "query": "?"} | question])
    lines = [{"qid": "q", "retrieved": CHUNKS, "answer": "I don't know."}]
    record = judge_answers(questions, Outputs(lines), Within()).records["q"]
    assert record.answerable is answerable


@pytest.mark.parametrize(
    ("recipe", "kept"), [({"model": Path("a/b")}, {"model": "a/b"}), ({"sizes": (1, 2)}, {"sizes": [1, 2]})]
)
def test_a_recipe_of_any_values_can_be_kept(recipe: dict[str, Any], kept: dict[str, Any], tmp_path: Path) -> None:
    class Odd(Within):
        def recipe(self) -> dict[str, Any]:
            return recipe

    verdicts = _judged(Odd())
    verdicts.write(tmp_path / "v.parquet")
    assert Verdicts.read(tmp_path / "v.parquet").recipe["judge"] == {"name": "within", **kept}


@pytest.mark.parametrize("recipe", [{(1, 2): "a"}, None, 7])
def test_a_recipe_that_is_none_is_refused_before_anything_is_asked(recipe: Any) -> None:
    class Odd(Within):
        def recipe(self) -> Any:
            return recipe

    judge = Odd()
    with pytest.raises(InputError, match="judge within: its recipe cannot be kept"):
        _judged(judge)
    assert judge.cases == []
