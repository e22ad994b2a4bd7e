"""Files of MTRAG, which InspectorRAGet shows: documents, tasks, and the answers of several models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from steelyard.base.errors import InputError, quoted
from steelyard.base.shapes import Each, Table, check_shape

_SHAPE = Table(
    {
        "tasks": Each(list, Table(
            {"task_id": str, "input": Each(list, Table({"text": str}))},
            {"contexts": Each(list, Table({"document_id": str})), "targets": Each(list, Table({"text": str}))},
        )),
    },
    {
        "documents": Each(list, Table({"document_id": str, "text": str})),
        "evaluations": Each(list, Table({"task_id": str, "model_id": str}, {"model_response": str})),
    },
)  # fmt: skip
_TURN = "<::>"
"""What parts a conversation from the turn in the id of a task."""


def mtrag_rows(content: Mapping[str, Any], name: str, model: str | None) -> list[dict[str, Any]]:
    """A row for each task: the last question of its conversation, its contexts and targets, and a model's answer.

    model    whose answers are wanted, of several that are there; None for no answers
    Raises   InputError for a file without tasks, and where several models answered, none of which is called so.
    """
    try:
        check_shape(content, _SHAPE)
    except ValueError as error:
        raise InputError(f"{name}: {error}; expected the JSON of MTRAG") from None
    texts = {item["document_id"]: item["text"] for item in content.get("documents", ())}
    evaluations = {} if model is None else _evaluations(content.get("evaluations", ()), name, model)
    return [_row(task, texts, evaluations.get(task["task_id"], {})) for task in content["tasks"]]


def _evaluations(evaluations: Sequence[Mapping[str, Any]], name: str, model: str) -> dict[str, Mapping[str, Any]]:
    """The answers of a model, or of the only one, by task, and what they were given."""
    models = list(dict.fromkeys(evaluation["model_id"] for evaluation in evaluations))
    if len(models) > 1 and model not in models:
        raise InputError(
            f"{name}: holds the answers of {len(models)} models ({', '.join(map(quoted, models))}); say whose: "
            f"MODEL={name}"
        )
    wanted = model if model in models else models[0] if models else ""
    return {
        evaluation["task_id"]: evaluation
        for evaluation in evaluations
        if evaluation["model_id"] == wanted and "model_response" in evaluation
    }


def _row(task: Mapping[str, Any], texts: Mapping[str, str], evaluation: Mapping[str, Any]) -> dict[str, Any]:
    task_id = task["task_id"]
    asked = [turn["text"] for turn in task["input"] if turn.get("speaker", "user") == "user"]
    contexts, targets = task.get("contexts", ()), [target["text"] for target in task.get("targets", ())]
    kinds = task.get("Answerability")
    row = {
        "query_id": task_id, "user_input": asked[-1] if asked else "", "response": evaluation.get("model_response"),
        "retrieved_context": [
            {"doc_id": context["document_id"], "text": context.get("text", texts.get(context["document_id"]))}
            for context in contexts
        ],
    }  # fmt: skip
    if isinstance(evaluation.get("annotations"), Mapping):
        row["annotations"] = evaluation["annotations"]
    if targets:
        row["reference"] = targets
    if _TURN in task_id:
        row["conversation"] = task_id.partition(_TURN)[0]
    if kinds in (["UNANSWERABLE"], ["ANSWERABLE"]):
        row["answerable"] = kinds == ["ANSWERABLE"]
    return row
