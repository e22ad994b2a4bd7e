"""Rows of ragas, deepeval, RAGChecker and MTRAG, each a question with its gold and with what a system gave for it."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from steelyard.base.errors import InputError, quoted
from steelyard.base.shapes import Each, Object, check_shape
from steelyard.io.json_files import QUERY_KEYS, QUERY_TEXT_KEYS, json_lines, parse_json
from steelyard.io.objects import is_frame
from steelyard.io.retrieved_items import content_id
from steelyard.io.source import Source
from steelyard.io.tables import column_names, columnar, delimited
from steelyard.io.traces import values
from steelyard.io.traces.chats import turns_of_messages

_SHAPE = Object(
    {
        "tasks": Each(
            list,
            Object(
                {"task_id": str, "input": Each(list, Object({"text": str}))},
                {"contexts": Each(list, Object({"document_id": str})), "targets": Each(list, Object({"text": str}))},
            ),
        )
    },
    {
        "documents": Each(list, Object({"document_id": str, "text": str})),
        "evaluations": Each(list, Object({"task_id": str, "model_id": str}, {"model_response": str})),
    },
)
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
    said = [
        {"role": "user" if turn.get("speaker", "user") == "user" else "assistant", "content": turn["text"]}
        for turn in task["input"]
    ]
    last = max((n for n, message in enumerate(said) if message["role"] == "user"), default=None)
    contexts, targets = task.get("contexts", ()), [target["text"] for target in task.get("targets", ())]
    kinds = task.get("Answerability")
    row = {
        "query_id": task_id,
        "user_input": "" if last is None else said[last]["content"],
        "history": [message for message in said[:last] if message["content"]],
        "response": evaluation.get("model_response"),
        "retrieved_context": [
            {"doc_id": context["document_id"], "text": context.get("text", texts.get(context["document_id"]))}
            for context in contexts
        ],
    }
    if isinstance(evaluation.get("annotations"), Mapping):
        row["annotations"] = evaluation["annotations"]
    if targets:
        row["reference"] = targets
    if _TURN in task_id:
        row["conversation"] = task_id.partition(_TURN)[0]
    if kinds in (["UNANSWERABLE"], ["ANSWERABLE"]):
        row["answerable"] = kinds == ["ANSWERABLE"]
    return row


Row = Mapping[str, Any]

ROLES = {
    "id": QUERY_KEYS,
    "query": QUERY_TEXT_KEYS,
    "retrieved": ("retrieved_contexts", "contexts", "retrieval_context", "retrieved_context"),
    "retrieved_ids": ("retrieved_context_ids", "retrieval_context_ids"),
    "gold": ("reference_contexts", "context"),
    "gold_ids": ("reference_context_ids",),
    "response": ("response", "actual_output", "answer"),
    "reference": ("reference", "expected_output", "gt_answer", "ground_truth", "ground_truths"),
}
"""What each column is called, by what it is; the first that is there."""

_RAGAS = {"retrieved_contexts", "reference_contexts", "retrieved_context_ids", "reference_context_ids", "response",
          "reference"}  # fmt: skip
_OLDER_RAGAS = {"contexts", "ground_truth", "ground_truths"}
_DEEPEVAL = {"actual_output", "expected_output", "retrieval_context"}
_OURS = {"evidence", "gold_evidence", "retrieved", "rel_map"}
_OF_TURNS = {"scenario", "expected_outcome", "chatbot_role", "role", "user_description"}
"""Columns of a conversation of deepeval beside its `turns`, or of a turn."""
_OF_MESSAGES = {"content", "reference_topics", "reference_tool_calls", "rubrics"}
"""Keys of a conversation of ragas, in any depth."""
_NAMES = frozenset(name for names in ROLES.values() for name in names) | _OF_TURNS | {"turns", "name"}
_LISTS = (
    "samples", "test_cases", "testCases", "conversational_test_cases", "conversationalTestCases", "goldens", "results",
)  # fmt: skip
"""Keys and attributes that hold the rows of a whole dataset, first choice first."""
_LIST_KEY = re.compile(rb'"(%s)"\s*:\s*\[\s*\{' % "|".join(_LISTS).encode())
_MTRAG_KEY = re.compile(rb'"models"\s*:\s*\[\s*\{\s*"model_id"')
_KEY = re.compile(rb'"(\w+)"\s*:')
_BEGINNING = 2048
"""Bytes of a JSON object in which the list of its rows begins."""
_MARKS = (b'input"', b'contexts"', b"ground_truth", b'gt_answer"', b'turns"')
"""What is in every row of JSON: one of them at least."""
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")


def is_row(keys: Collection[Any]) -> bool:
    """True if these are the columns of such a row.

    >>> is_row({"user_input", "response"}), is_row({"input", "actualOutput"}), is_row({"qid", "question", "contexts"})
    (True, True, False)
    """
    names = {snake_case(key) for key in keys if isinstance(key, str)}
    if not names.isdisjoint(_OURS):
        return False
    if "turns" in names and not names.isdisjoint(_OF_TURNS):
        return True
    if "user_input" in names:
        return not names.isdisjoint(_RAGAS | _OF_MESSAGES)
    if "question" in names and names.isdisjoint({"qid", "query_id"}):
        return not names.isdisjoint(_OLDER_RAGAS)
    return "gt_answer" in names or ("input" in names and not names.isdisjoint(_DEEPEVAL))


def _is_talk(row: Row) -> bool:
    return isinstance(row.get("user_input"), list) and bool(turn_rows(row)[0] is not row)


def turn_rows(row: Row) -> list[Row]:
    """The row itself; of a conversation a row for each question of its user, with what was said before.

    Conversations are rows of ragas whose `user_input` is a list of messages, and test cases of deepeval with `turns`.
    What is expected of the whole is expected of its last turn.
    """
    cells = {snake_case(str(name)): value for name, value in row.items()}
    said = cells.get("user_input", cells.get("turns"))
    listed = values.listed(said) if not isinstance(said, str) or said.lstrip().startswith("[") else None
    own = values.messages([_fields_of(message) for message in listed or ()])
    turns = [turn for turn in turns_of_messages(own) if turn.question]
    if not turns:
        return [row]
    name = next((values.text(cells[key]) for key in (*QUERY_KEYS, "conversation", "name") if cells.get(key)), None)
    name = name or content_id("\n".join(str(turn.question) for turn in turns))
    history: list[Mapping[str, str]] = []
    rows: list[Row] = []
    for n, turn in enumerate(turns, 1):
        rows.append({
            "query_id": f"{name}#{n}", "user_input": turn.question, "response": turn.answer, "conversation": name,
            "history": list(history), "retrieved_contexts": turn.items,
            "reference": cells.get("reference", cells.get("expected_outcome")) if n == len(turns) else None,
        })  # fmt: skip
        history += turn.messages
    return rows


def _fields_of(message: Any) -> Any:
    """A message, of which objects of these libraries have the parts as attributes."""
    names = ("role", "type", "content", "retrieval_context", "retrievalContext")
    if isinstance(message, Mapping):
        return message
    return {name: value for name in names if (value := getattr(message, name, None)) is not None}


def snake_case(name: str) -> str:
    """A name as Python has it, from that of a JSON export: retrieval_context of retrievalContext."""
    return _CAMEL.sub("_", name).lower()


def rows_of(data: object) -> list[Row] | None:
    """The rows of a dataset or frame of these libraries, or of a list of their test cases; None of anything else."""
    if names := columns_of(data):
        return rows_of_columns(data, "the columns") if is_row(names) else None
    if is_row(getattr(data, "column_names", ())):  # A Dataset of Hugging Face, which iterates over rows.
        return [turn for row in data for turn in turn_rows(row)]  # type: ignore[attr-defined]
    whole = (getattr(data, name, None) for name in _LISTS)
    listed = next((rows for rows in whole if isinstance(rows, list) and rows), data)
    if not isinstance(listed, list | tuple) or not listed or isinstance(listed[0], str):
        return None
    first = listed[0] if isinstance(listed[0], Mapping) else _attributes(listed[0])
    rows = (
        [row if isinstance(row, Mapping) else _attributes(row) for row in listed]
        if _is_talk(first) or is_row(first)
        else None
    )
    return None if rows is None else [turn for row in rows for turn in turn_rows(row)]


def columns_of(data: Any) -> list[str]:
    """Names of the columns of a frame, or of a dict of lists with the texts of questions; none of anything else."""
    if isinstance(data, pl.LazyFrame):
        return data.collect_schema().names()
    if is_frame(data):
        return [str(name) for name in getattr(data, "column_names", data.columns)]
    is_dict = isinstance(data, Mapping) and any(isinstance(data.get(key), list | tuple) for key in QUERY_TEXT_KEYS)
    return list(data) if is_dict else []


def rows_of_columns(data: Any, where: str) -> list[Row]:
    """The rows of a frame, or of a dict of lists.

    Raises   InputError for what is no list, and for lists of different lengths.
    """
    names, frame = columns_of(data), data.collect() if isinstance(data, pl.LazyFrame) else data
    if isinstance(data, Mapping):
        if bare := next((name for name in names if not isinstance(data[name], list | tuple)), None):
            raise InputError(f"{where}: `{bare}` is {quoted(data[bare])}, beside columns; give it a value a question")
        other = next((name for name in names if len(data[name]) != len(data[names[0]])), None)
        if other is not None:
            raise InputError(
                f"{where}: `{names[0]}` has {len(data[names[0]])} values, and `{other}` has {len(data[other])}; "
                "columns have a value a question, null where there is none"
            )
        return [dict(zip(names, row, strict=True)) for row in zip(*data.values(), strict=True)]
    if hasattr(frame, "itertuples"):  # pandas
        rows = frame.itertuples(index=False, name=None)
        return [dict(zip(names, map(_plain, row), strict=True)) for row in rows]
    return list((frame if isinstance(frame, pl.DataFrame) else pl.DataFrame(frame)).iter_rows(named=True))


def _plain(value: Any) -> Any:
    """A value of pandas: a list of an array, and None of NaN."""
    plain = value.tolist() if hasattr(value, "tolist") else value
    return None if isinstance(plain, float) and math.isnan(plain) else plain


def _attributes(row: Any) -> Row:
    # A frame of pandas has its columns as attributes.
    return {} if is_frame(row) else {name: getattr(row, name) for name in _NAMES if hasattr(row, name)}


def holds_rows(source: Source, format: str) -> bool:
    """True if a file of a format is of these libraries, by its first bytes alone."""
    if format in ("json", "jsonl"):
        head = source.head.lstrip()
        if format == "jsonl":
            head = head.partition(b"\n")[0]
        elif _MTRAG_KEY.search(head, 0, _BEGINNING):
            return True
        elif not head.startswith(b"[") and not _LIST_KEY.search(head, 0, _BEGINNING):
            return False
        # Thousands of runs may be opened: most have none of these words, which are sooner seen than all keys.
        return any(mark in head for mark in _MARKS) and is_row({key.decode() for key in _KEY.findall(head)})
    if format in ("csv", "tsv"):
        header = source.head.partition(b"\n")[0].decode(errors="replace")
        return is_row([name.strip('" \r') for name in header.split("," if format == "csv" else "\t")])
    return format in ("parquet", "arrow") and is_row(column_names(source, format))


def read_rows(source: Source, format: str, model: str | None = None) -> Iterator[tuple[str, Row]]:
    """Places of the rows of a file, for messages, each with its row.

    model    whose answers are wanted of a file of MTRAG, which may hold those of several; None for no answers
    Raises   InputError naming the file.
    """
    if format == "jsonl":
        for number, line in json_lines(source):
            yield from ((f"{source.name}, line {number}", turn) for turn in turn_rows(line))
        return
    if format == "json":
        rows = _json_rows(source, model)
    else:
        delimiter = {"csv": ",", "tsv": "\t"}.get(format)
        table = columnar(source, format, "run") if delimiter is None else delimited(source, delimiter, "run")
        rows = (row for piece in table.pieces() for row in piece.iter_rows(named=True))
    for number, row in enumerate(rows, 1):
        if not isinstance(row, Mapping):
            raise InputError(f"{source.name}, row {number}: is {type(row).__name__}, expected an object")
        yield from ((f"{source.name}, row {number}", turn) for turn in turn_rows(row))


def _json_rows(source: Source, model: str | None) -> Iterator[Any]:
    value = parse_json(source.read(), source.name)
    if isinstance(value, Mapping) and "tasks" in value and "models" in value:
        return iter(mtrag_rows(value, source.name, model))
    if isinstance(value, Mapping):
        value = next((value[name] for name in _LISTS if isinstance(value.get(name), list) and value[name]), [])
    return iter(value if isinstance(value, list) else [])
