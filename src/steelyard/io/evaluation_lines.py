"""Rows of other evaluation tools as lines of questions and of outputs of ours, and the values that they gave."""

from __future__ import annotations

import ast
import io
import json
import math
import re
import tokenize
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import polars as pl

from steelyard.base.errors import InputError
from steelyard.io.evaluation_rows import ROLES, Row, snake_case
from steelyard.io.retrieved_items import content_id
from steelyard.io.traces.values import mapping

_DEEPEVAL_SEPARATOR = "|"
"""What deepeval writes between the texts of one cell of CSV or JSONL."""

_READ_OTHERWISE = frozenset({"tags", "grades", "relevant", "rel_map", "gold_answer"}.union(*ROLES.values()))
"""Columns with a role, and what a line of questions has a meaning of its own for."""

Placed = tuple[str, Row]
"""Where a row is, for messages, and the row."""


def question_lines(rows: Iterable[Placed]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Lines of questions, each with where it is: gold texts and ids, and the answer that is expected.

    Of a text and an id at one place either will do.  A question without an id is called after its text, so that files
    about the same questions agree.
    Raises   InputError naming the row.
    """
    for where, row in rows:
        fields = _fields(row, where)
        line = {"query_id": fields["id"], "query": fields["query"], "answer": fields["reference"]}
        line |= {"history": row["history"]} if row.get("history") else {}
        texts, ids = fields["gold"] or [], fields["gold_ids"] or []
        if texts and ids:
            _check_lengths(texts, ids, "reference_contexts", where)
            line["evidence"] = [
                {key: value, "group": str(n)}
                for n, pair in enumerate(zip(texts, ids, strict=True), 1)
                for key, value in zip(("text", "id"), pair, strict=True)
            ]
        elif ids:
            line["gold_evidence"] = ids
        else:
            line["evidence"] = [{"text": text} for n, text in enumerate(texts) if text not in texts[:n]]
        yield where, _others(row) | line


def output_lines(rows: Iterable[Placed], name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Lines of outputs, each with where it is: what was retrieved, and the answer that was given.

    Raises   InputError naming the row; or the file, where no row has anything retrieved, nor an answer.
    """
    placed = [(where, _fields(row, where)) for where, row in rows]
    if all(fields["retrieved"] is None and fields["retrieved_ids"] is None for _, fields in placed):
        yield from _answer_lines(placed, name)
        return
    documents = _texts_of_documents(fields["retrieved"] or [] for _, fields in placed)
    for where, fields in placed:
        texts, ids = fields["retrieved"], fields["retrieved_ids"]
        if texts and ids:
            _check_lengths(texts, ids, "retrieved_contexts", where)
            items: list[Any] | None = [{"id": id, "text": text} for id, text in zip(ids, texts, strict=True)]
        elif texts is None and ids is None:
            if fields["response"] is None:
                continue  # Nothing is known of this question, which is missing.
            items = None  # Nobody knows what it rests on; an empty list says that it rests on nothing.
        else:
            items = ids or [_item(item, documents) for item in texts or []]
        yield where, {"query_id": fields["id"], "retrieved": items, "answer": fields["response"]}


def _answer_lines(placed: Sequence[Placed], name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Lines of answers alone, of which nobody knows what was retrieved.

    Raises   InputError where no row has an answer either.
    """
    if all(fields["response"] is None for _, fields in placed):
        names = ", ".join((*ROLES["retrieved"], *ROLES["retrieved_ids"]))
        raise InputError(f"{name}: has nothing that was retrieved, and no answers; expected one of {names}")
    for where, fields in placed:
        if fields["response"] is not None:
            yield where, {"query_id": fields["id"], "answer": fields["response"]}


def _fields(row: Row, where: str) -> dict[str, Any]:
    """The values of a row by their roles; None where it has none.

    Raises   InputError.
    """
    cells = {snake_case(str(name)): value for name, value in row.items()}
    # Where deepeval has no field, as for ids, our exports use that for whatever else there is.
    cells = {snake_case(str(name)): value for name, value in mapping(cells.get("additional_metadata")).items()} | cells
    fields = {
        role: next((_cell(cells[n]) for n in names if _cell(cells.get(n)) is not None), None)
        for role, names in ROLES.items()
    }
    query, reference, response = fields["query"], fields["reference"], fields["response"]
    if not isinstance(query, str) or not query.strip():
        what = "is a list without a message of a user" if isinstance(query, list) else f"is {query!r:.60}, not a text"
        name = next((name for name in ROLES["query"] if name in cells), ROLES["query"][0])
        raise InputError(f"{where}: `{name}` {what}")
    separator = _DEEPEVAL_SEPARATOR if "input" in cells else None
    for role in ("retrieved", "retrieved_ids", "gold", "gold_ids"):
        fields[role] = _list(fields[role], f"{where}: {role.replace('_', ' ')}", separator)
    if reference is not None and (not isinstance(reference, str) or "ground_truths" in cells):
        # Of older files, and of test cases of one's own: several answers, any of which will do.
        reference = (
            _list(reference, f"{where}: reference", None) if not isinstance(reference, int | float) else reference
        )
    return fields | {
        "id": content_id(query) if fields["id"] is None else fields["id"],
        "reference": list(map(str, reference)) if isinstance(reference, list) else _text(reference),
        "response": _text(response),
    }


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _cell(value: Any) -> Any:
    """A value; None for all that says that there is none."""
    nothing = (isinstance(value, str) and not value) or (isinstance(value, float) and math.isnan(value))
    return None if nothing else value


def _list(value: Any, what: str, separator: str | None) -> list[Any] | None:
    """A list of texts, ids or objects, from a list or from the text that a cell of CSV has in its place."""
    if value is None:
        return None
    if isinstance(value, str):
        listed = _parsed(value, what) if value.lstrip().startswith("[") else None
        if listed is not None:
            return listed
        return value.split(separator) if separator else [value]
    if hasattr(value, "tolist"):
        value = value.tolist()
    if not isinstance(value, Sequence):
        raise InputError(f"{what} must be a list of texts, not {value!r:.60}")
    return list(value)


def _parsed(text: str, what: str) -> list[Any] | None:
    """A list written as JSON or as Python writes it; None of a text that is neither.

    Raises   InputError for the text of a NumPy array, which has no commas: Python would join its parts.
    """
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        try:
            value = ast.literal_eval(text)
            tokens = [token.type for token in tokenize.generate_tokens(io.StringIO(text).readline)]
        except (ValueError, SyntaxError, RecursionError, MemoryError, tokenize.TokenError):
            return None
        if any(pair == (tokenize.STRING, tokenize.STRING) for pair in pairwise(tokens)):
            raise InputError(
                f"{what} is the text of an array without commas, {text!r:.60}; write lists as JSON"
            ) from None
    return value if isinstance(value, list) else None


def _check_lengths(texts: Sequence[Any], ids: Sequence[Any], name: str, where: str) -> None:
    if len(texts) != len(ids):
        raise InputError(f"{where}: has {len(texts)} `{name}`, but {len(ids)} ids of them; one each")


def _texts_of_documents(lists: Iterable[Sequence[Any]]) -> dict[Any, set[str]]:
    """The texts that each `doc_id` of RAGChecker names."""
    texts: dict[Any, set[str]] = {}
    for item in (item for items in lists for item in items if _is_named_text(item)):
        texts.setdefault(item["doc_id"], set()).add(item["text"])
    return texts


def _is_named_text(item: Any) -> bool:
    return isinstance(item, Mapping) and isinstance(item.get("doc_id"), str | int) and isinstance(item.get("text"), str)


def _item(item: Any, documents: Mapping[Any, set[str]]) -> Any:
    """An item of ours: of RAGChecker, by its `doc_id` where that names one text, else by its text."""
    if isinstance(item, str):
        return {"text": item}
    if _is_named_text(item):
        alone = len(documents[item["doc_id"]]) == 1
        return {
            "id": item["doc_id"] if alone else content_id(item["text"]),
            "doc": item["doc_id"],
            "text": item["text"],
        }
    if isinstance(getattr(item, "context", None), str):  # deepeval's RetrievedContextData
        return {"text": item.context, "doc": getattr(item, "source", None)}
    return item


def _others(row: Row) -> dict[str, Any]:
    """Columns that have no role, such as the conversation that a question belongs to."""
    return {
        name: value
        for name, value in row.items()
        if isinstance(value, str | int | float)
        and snake_case(str(name)) not in _READ_OTHERWISE
        and _cell(value) is not None
    }


_SCHEMA = pl.Schema({"query_id": pl.String, "measure": pl.String, "value": pl.Float64})
_ROLES = frozenset(name for names in ROLES.values() for name in names)
_TOOLS = {"annotations": "mtrag", "gt_answer": "ragchecker", "metrics_data": "deepeval", "actual_output": "deepeval"}
"""A column -> whose rows have it; any others are those of ragas."""


def score_rows(rows: Iterable[tuple[str, Row]], name: str) -> pl.DataFrame:
    """query_id, measure and value of each number that the rows hold besides what was asked and given.

    A measure is called after the tool too, `ragas_faithfulness`, as it is not what bears the name here.
    Raises   InputError where there is none.
    """
    placed = list(rows)
    ids = [line["query_id"] for _, line in question_lines(placed)]
    values = [
        (query_id, f"{tool}_{re.sub(r'[^0-9a-z]+', '_', measure.lower()).strip('_')}", value)
        for query_id, (_, row) in zip(ids, placed, strict=True)
        for tool, measure, value in _values({snake_case(str(key)): value for key, value in row.items()})
    ]
    if not values:
        raise InputError(f"{name}: holds no values of measures; expected columns of numbers, such as faithfulness")
    return pl.DataFrame(values, _SCHEMA, orient="row")


def _values(row: Mapping[str, Any]) -> Iterator[tuple[str, str, float | None]]:
    """The tool, the measures of a row and their values."""
    tool = next((tool for column, tool in _TOOLS.items() if column in row), "ragas")
    if tool == "ragas":
        pairs: Iterable[tuple[Any, Any]] = ((key, value) for key, value in row.items() if key not in _ROLES)
    elif tool == "deepeval":
        listed = row.get("metrics_data") or ()
        pairs = [(item.get("name"), item.get("score")) for item in listed if isinstance(item, Mapping)]
    elif tool == "ragchecker":
        pairs = (row.get("metrics") or {}).items()
    else:
        pairs = [(key, _mean(raters)) for key, raters in row["annotations"].items()]
    for measure, value in pairs:
        number = _number(value)
        if number is not None or (value is None and tool != "ragas"):
            yield tool, str(measure), number


def _mean(raters: Any) -> float | None:
    """The mean of the numbers that raters gave."""
    listed = raters.values() if isinstance(raters, Mapping) else ()
    values = [_number(rater.get("value")) for rater in listed if isinstance(rater, Mapping)]
    numbers = [value for value in values if value is not None]
    return math.fsum(numbers) / len(numbers) if numbers else None


def _number(value: Any) -> float | None:
    """A number, or a cell of CSV that is one."""
    if not isinstance(value, str | int | float):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None
