"""Conversations: rows of ragas and deepeval with several turns, `history`, and turns as clusters."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import steelyard as sy
from steelyard.base.errors import InputError
from steelyard.data.histories import Message, asked_text
from steelyard.data.outputs import Outputs
from steelyard.data.questions import Questions
from steelyard.experiment.converting import convert
from steelyard.judges.answers.cases import asked_cases, drafts

CASES = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "cases" / "conversations.jsonl").read_text(encoding="utf-8").splitlines()
]
TRACES = Path(__file__).parents[1] / "cases" / "traces"


def seen(questions: Questions, outputs: Outputs) -> list[list[Any]]:
    """Question, answer, texts, length of the history and gold answer of each turn."""
    texts = outputs.table.texts
    listed: dict[str, list[str | None]] = {}
    for query_id, doc_id in outputs.run.frame.select("query_id", "doc_id").iter_rows():
        listed.setdefault(query_id, []).extend([] if doc_id is None else [texts[outputs.table.row_of[doc_id]]])
    return [
        [
            question.query, outputs.answers.get(question.query_id), listed.get(question.query_id) or None,
            len(question.history), question.answer,
        ]
        for question in questions
    ]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_turns_are_read_from_files_and_memory(case: dict[str, Any], tmp_path: Path) -> None:
    path, listed = tmp_path / "rows.jsonl", tmp_path / "rows.json"
    path.write_text(json.dumps(case["row"], ensure_ascii=False) + "\n", encoding="utf-8")
    listed.write_text(json.dumps([case["row"]], ensure_ascii=False), encoding="utf-8")
    for source in (path, listed):
        questions = Questions.read(source)
        assert seen(questions, Outputs.read(source)) == case["turns"]
        assert [question.query_id.rpartition("#")[2] for question in questions] == ["1", "2"][: len(questions)]
    assert seen(Questions([case["row"]]), Outputs([case["row"]])) == case["turns"]
    said = case["row"].get("user_input", case["row"].get("turns"))
    objects = {"user_input" if "user_input" in case["row"] else "turns": [SimpleNamespace(**one) for one in said]}
    row = SimpleNamespace(**{**case["row"], **objects})
    if "expectedOutcome" not in case["row"] and "reference_topics" not in case["row"]:
        assert seen(Questions([row]), Outputs([row])) == case["turns"]


def test_convert_writes_turns_whole(tmp_path: Path) -> None:
    source, target = tmp_path / "talks.jsonl", tmp_path / "outputs.jsonl"
    source.write_text("".join(json.dumps(case["row"]) + "\n" for case in CASES[:3]), encoding="utf-8")
    conversion = convert(source, target)
    assert (conversion.n_queries, conversion.n_answers) == (4, 4)  # A turn without an answer is none of outputs.
    questions, outputs = Questions.read(target), Outputs.read(target)
    assert [(q.query, len(q.history), outputs.answers[q.query_id]) for q in questions] == [
        (turn[0], turn[3], turn[1]) for case in CASES[:3] for turn in case["turns"] if turn[1]
    ]


def test_the_same_conversation_has_the_same_ids_in_two_files() -> None:
    row = CASES[0]["row"]
    other = json.loads(json.dumps(row).replace("It is closed.", "Closed."))
    assert [q.query_id for q in Questions([row])] == [q.query_id for q in Questions([other])]


def test_the_judge_is_shown_what_was_said_before() -> None:
    file = TRACES / "dify_history.json"
    first, second = drafts(Questions.read(file), Outputs.read(file))
    assert first.query == "When is the library open?"
    assert second.query == ("user: When is the library open?\nassistant: It is open from 9 to 17 [1].\nuser: 周末呢？")
    assert second.record.query == "周末呢？"
    cases = [asked.case for asked in asked_cases(second, ("support", "relevance", "context_relevance"))]
    assert {case.query for case in cases} == {second.query}
    assert {case.hypotheses for case in cases if "relevance" in case.table} == {("周末呢？",)}


def test_history_of_outputs_counts_where_questions_have_none() -> None:
    outputs = Outputs.read(TRACES / "dify_history.json")
    questions = [{"qid": "cv#1", "query": "When?"}, {"qid": "cv#2", "query": "周末呢？"}]
    assert [draft.query.count("\n") for draft in drafts(Questions(questions), outputs)] == [0, 2]
    own = [{"qid": "cv#2", "query": "周末呢？", "history": [{"role": "user", "content": "时间？"}]}]
    (draft,) = drafts(Questions(own), outputs)
    assert draft.query == "user: 时间？\nuser: 周末呢？"


def test_long_histories_are_cut_to_the_last_messages() -> None:
    history = [Message("user" if n % 2 == 0 else "assistant", f"{n} " + "x" * 5000) for n in range(40)]
    shown = asked_text("Why?", history).split("\n")
    assert [line.split()[1] for line in shown[:-1]] == [str(n) for n in range(32, 40)]
    assert shown[-1] == "user: Why?"
    assert max(map(len, shown)) < 2100


@pytest.mark.parametrize(
    "history", ["Why?", [{"role": "user"}], [{"role": 1, "content": "a"}], ["Why?"], {"role": "user"}]
)
def test_a_history_that_is_none_is_refused(history: Any) -> None:
    for made in (Questions, Outputs):
        with pytest.raises(InputError, match="`history` must be a list") as error:
            made([{"qid": "q1", "query": "Why?", "retrieved": ["a"], "history": history}])
        assert "\n" not in str(error.value)


def weighed(cluster: str | None, *, named: bool = True) -> Any:
    talk = {"conversation": "a"} if named else {}
    gold = [
        {"qid": f"q{n}", "query": "Who?", "evidence": [{"text": f"text {n}"}], **(talk if n < 3 else {})}
        for n in range(6)
    ]
    outputs = [{"qid": f"q{n}", "retrieved": [{"id": f"c{n}", "text": f"text {n % 4}"}]} for n in range(6)]
    return sy.evaluate(gold, outputs, ["mrr"], cluster=cluster)


def test_turns_of_a_conversation_are_one_cluster_unless_others_are_named() -> None:
    for scores in (weighed(None), weighed("conversation")):
        assert scores.clustering is not None
        assert scores.clustering.n == 4
        assert scores.recipe["cluster"] == "conversation"
    assert weighed("none").clustering is None
    assert weighed(None, named=False).clustering is None


def test_sessions_of_outputs_are_no_clusters_of_other_questions() -> None:
    gold = [
        {"qid": f"g{n}", "query": query} for n, query in enumerate(("When is the library open?", "图书馆周末开门吗？"))
    ]
    scores = sy.evaluate(gold, TRACES / "langfuse.csv", ["faithfulness"])
    assert scores.clustering is None
    assert sy.evaluate(TRACES / "langfuse.csv", TRACES / "langfuse.csv", ["faithfulness"]).clustering.n == 1


def test_deepeval_export_keeps_ids_of_chunks_and_conversations(tmp_path: Path) -> None:
    outputs = TRACES / "langfuse.json"
    file = tmp_path / "cases.json"
    sy.export(Questions.read(outputs), outputs, "deepeval", save=file)
    first = json.loads(file.read_text(encoding="utf-8"))[0]
    assert first["additional_metadata"] == {"retrieval_context_ids": ["h#1", "c#1"], "conversation": "s-1"}
    before, after = Outputs.read(outputs), Outputs.read(file)
    assert before.run.frame["doc_id"].to_list() == after.run.frame["doc_id"].to_list()
    assert [after.table.texts[after.table.row_of[id]] for id in ("h#1", "w#1")] == [
        before.table.texts[before.table.row_of[id]] for id in ("h#1", "w#1")
    ]


def test_mtrag_export_and_its_reader_keep_the_history(tmp_path: Path) -> None:
    outputs, file = TRACES / "dify_history.json", tmp_path / "mtrag.json"
    sy.export(Questions.read(outputs), outputs, "mtrag", save=file)
    assert [question.history for question in Questions.read(file)] == [
        question.history for question in Questions.read(outputs)
    ]
