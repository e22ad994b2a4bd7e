"""JSON files: one dict of dicts, or JSONL with one question or one result list a line."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import numpy as np
import orjson
import polars as pl

from steelyard.base.choices import FileKind
from steelyard.base.errors import InputError, quoted
from steelyard.base.schema import RUN, TRUTH
from steelyard.io.native import EXACT
from steelyard.io.objects import finite, plain_frame, text_id
from steelyard.io.retrieved_items import ID_KEYS, TEXT_KEYS, answer_of, content_id, plain_items, result_key
from steelyard.io.source import BARE_RETURN, NOT_UTF8, Source, ahead, has_bare_return
from steelyard.io.tables import Table, checked

_PORTION_BYTES = 4 << 20
QUERY_KEYS = ("query_id", "qid", "question_id", "id", "_id")
"""Keys of the id of a question, first choice first."""
QUERY_TEXT_KEYS = ("query", "question", "user_input", "input")
"""Keys of the text of a question, first choice first."""
_OF_QUESTIONS = ("query_id", "qid", "question_id")
_OF_DOCUMENTS = ("title", "doc", "doc_id", "chunk_id", "start")
LABEL_KEYS = ("rel_map", "relevant", "grades")
_NEXT_VALUE = re.compile(r"\s*(?=[{\[])")
_KEY_END = re.compile(rb'"\s*:')
_ID, _SCORE = itemgetter("id"), itemgetter("score")


def read_json(source: Source) -> dict[str, object]:
    """The one object of a JSON file.

    Raises   InputError with line and column.
    """
    data = source.read()
    value = quick if (quick := _quick_object(data)) is not None else parse_json(data, source.name)
    if not isinstance(value, dict):
        raise InputError(f"{source.name}: holds a {type(value).__name__}, expected {{query_id: {{doc_id: number}}}}")
    return value


_LINES = "; a file with a value a line is JSONL, and is named .jsonl"


def parse_json(data: bytes | str, where: str, *, is_line: bool = False) -> Any:
    """The value of a JSON text.

    is_line   whether `where` names the line already
    Raises    InputError for what is not UTF-8 or no JSON, is nested too deep, or has a key twice in one object.
    """
    try:
        return _DECODER.decode(data if isinstance(data, str) else data.decode())
    except UnicodeDecodeError as error:
        problem = f"byte {error.object[error.start]:#04x} at {error.start} is not UTF-8; {NOT_UTF8}"
    except json.JSONDecodeError as error:
        where, lines = (where, "") if is_line else (f"{where}, line {error.lineno}", _LINES)
        problem = f"is not JSON ({error.msg}, column {error.colno})"
        if error.msg == "Extra data":
            is_divided = has_bare_return(error.doc[: error.pos + 1].encode(errors="replace"))
            problem = BARE_RETURN if is_divided else problem + lines
    except _RepeatedKeyError as error:
        problem = f"the key {quoted(error.key)} is twice in one object; remove one"
    except RecursionError:
        problem = "is nested too deep to be read"
    except ValueError:  # The decoder takes no more digits than Python converts.
        problem = f"holds a whole number of more than {sys.get_int_max_str_digits()} digits; write it shorter"
    raise InputError(f"{where}: {problem}")


def parse_json_values(data: bytes, where: str) -> list[Any]:
    """The values of a JSON text, one after another, as programs print them; one value as a rule.

    Raises   InputError as `parse_json` does.
    """
    try:
        return [parse_json(data, where)]
    except InputError:
        text, values, end = data.decode("utf-8", "replace"), list[Any](), 0
        while start := _NEXT_VALUE.match(text, end):
            try:
                value, end = _DECODER.raw_decode(text, start.end())
            except (ValueError, RecursionError, _RepeatedKeyError):
                break
            values.append(value)
        if len(values) < 2 or text[end:].strip():
            raise
        return values


def _quick_object(data: bytes) -> dict[str, object] | None:
    """The object as orjson reads it; None where the slow way might read something else, or refuse it.

    orjson keeps the last of repeated keys and rounds large whole numbers.  A key is repeated unless each colon stands
    behind a key or in a text.
    """
    try:
        value = orjson.loads(data)
    except ValueError:
        return None
    if not isinstance(value, dict) or not all(map(_is_ranking, value.values())) or b"\\u003" in data:
        return None
    mappings = [value, *(ranking for ranking in value.values() if isinstance(ranking, dict))]
    lists = [ranking for ranking in value.values() if isinstance(ranking, list)]
    n_colons = data.count(b":") - sum(map(len, mappings))
    if n_colons:
        n_colons -= sum("".join(texts).count(":") for texts in (*mappings, *lists))
    return None if n_colons else value


def _is_ranking(value: object) -> bool:
    """True if this is {text: number} or a list of texts; orjson rounds whole numbers that are too large."""
    if isinstance(value, dict):
        numbers = value.values()
        plain = set(map(type, numbers)) <= {int, float}
        return plain and (not numbers or -EXACT < min(numbers) <= max(numbers) < EXACT)
    return isinstance(value, list) and set(map(type, value)) <= {str}


class _RepeatedKeyError(Exception):
    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = key


def _no_repeats(pairs: list[tuple[str, object]]) -> dict[str, object]:
    values = dict(pairs)
    if len(values) < len(pairs):
        seen: set[str] = set()
        raise _RepeatedKeyError(next(key for key, _ in pairs if key in seen or seen.add(key)))  # type: ignore[func-returns-value]
    return values


_DECODER = json.JSONDecoder(object_pairs_hook=_no_repeats)


def json_lines(source: Source) -> Iterator[tuple[int, dict[str, Any]]]:
    """Every object of a JSONL file with the number of its line; blank lines are skipped.

    Raises   InputError naming the line.
    """
    for number, raw in _numbered_lines(source):
        yield number, object_of(raw, f"{source.name}, line {number}")


def _numbered_lines(source: Source) -> Iterator[tuple[int, bytes]]:
    """Every line that is not blank, numbered from 1."""
    number = 0
    for block in source.blocks():
        for raw in block.removesuffix(b"\n").split(b"\n"):
            number += 1
            if raw.strip():
                yield number, raw


def object_of(raw: bytes | str, where: str) -> dict[str, Any]:
    """The object of one line of JSONL.

    Raises   InputError for a line that cannot be parsed, or is no object.
    """
    value = parse_json(raw, where, is_line=True)
    if not isinstance(value, dict):
        raise InputError(f"{where}: holds a {type(value).__name__}, expected an object")
    return value


def query_id_of(line: Mapping[str, Any], where: str) -> str:
    """The id of the question that a line is about; without one, a digest of its text, so that files agree.

    Raises   InputError naming the line and its keys.
    """
    key = query_id_key(line)
    if key is not None:
        return text_id(line[key], where, f"`{key}`")
    text = line.get(query_text_key(line) or "")
    if isinstance(text, str) and text.strip():
        return content_id(text)
    raise InputError(f"{where}: has no `query_id` or `qid`, and no `query` (keys: {', '.join(line) or 'none'})")


def query_id_key(line: Mapping[str, Any]) -> str | None:
    """The key of the id of the question of a line; None where it has none."""
    return next((key for key in QUERY_KEYS if key in line and (line[key] is not None or key in _OF_QUESTIONS)), None)


def query_text_key(line: Mapping[str, Any]) -> str | None:
    """The key of the text of the question of a line: `text` where it is a question's by its id, as in BEIR.

    >>> query_text_key({"_id": "q1", "text": "Who?"}), query_text_key({"_id": "d1", "title": "", "text": "A text."})
    ('text', None)
    """
    key = next((key for key in QUERY_TEXT_KEYS if line.get(key) is not None), None)
    of_question = not line.keys().isdisjoint((*_OF_QUESTIONS, "_id")) and line.keys().isdisjoint(_OF_DOCUMENTS)
    return "text" if key is None and of_question and isinstance(line.get("text"), str) else key


def names_question(line: Mapping[str, Any]) -> bool:
    """True if a line is of a question by its keys: those of its id, its text or its gold."""
    keys = (*_OF_QUESTIONS, "evidence", "gold_evidence", *LABEL_KEYS)
    return query_text_key(line) is not None or not line.keys().isdisjoint(keys)


def id_labels(line: dict[str, Any], where: str) -> dict[str, float] | None:
    """Gains of the documents or chunks that a question names by id; None where no key holds them.

    Raises   InputError naming the line.
    """
    key = next((key for key in LABEL_KEYS if key in line), None)
    if key is None and "gold_evidence" not in line:
        return None
    gold = line.get("gold_evidence") or []
    labels = (line.get(key) if key else None) or {}
    if isinstance(labels, list):
        gold, labels = [*gold, *labels] if isinstance(gold, list) else gold, {}
    if not isinstance(gold, list) or not isinstance(labels, dict):
        raise InputError(f"{where}: `gold_evidence` must be a list of ids, and `{key}` a map from id to gain")
    gains = {text_id(doc, where, "an id of `gold_evidence`"): 1.0 for doc in gold}
    return gains | {
        text_id(doc, where, f"an id of `{key}`"): finite(gain, f"{where}, document {doc!r}: gain")
        for doc, gain in labels.items()
    }


def is_graded_row(line: Mapping[str, Any]) -> bool:
    """True if a line of JSONL is one judged document: `query_id`, `doc_id` and `gain`, beside whatever else."""
    return "doc_id" in line and "gain" in line and not line.keys().isdisjoint(_OF_QUESTIONS)


def graded_row(line: dict[str, Any], where: str) -> tuple[str, str, float | None]:
    """Query, document and gain of a line with one judged document; a gain of null says that it was not judged.

    Raises   InputError naming the line.
    """
    if not is_graded_row(line):
        raise InputError(f"{where}: has not all of `query_id`, `doc_id` and `gain` (keys: {', '.join(line) or 'none'})")
    query_id, doc_id = query_id_of(line, where), text_id(line["doc_id"], where, "`doc_id`")
    gain = line["gain"]
    return query_id, doc_id, None if gain is None else finite(gain, f"{where}, document {doc_id!r}: gain")


def retrieved_items(line: dict[str, Any], where: str) -> list[tuple[str, float | None, dict[str, Any]]]:
    """Items that a line of results holds, best first: id, score (of all items or of none), and the item's other fields.

    An item without an id is named after what it holds: "docA[0:950]", or a digest of its text.
    Raises   InputError naming line and item.
    """
    key = result_key(line) or "retrieved"
    retrieved = line.get(key)
    if retrieved is None and (line.get("error") is not None or (key in line and answer_of(line) is not None)):
        return []
    if not isinstance(retrieved, list | tuple):
        raise InputError(f"{where}: `{key}` must be a list of ids or of {{id, score}}, not {quoted(retrieved)}")
    items = [
        {"id": item} if plain is None else plain
        for item, plain in zip(retrieved, plain_items(retrieved, texts=key in TEXT_KEYS), strict=True)
    ]
    scored = [item.get("score") is not None for item in items]
    if any(scored) and not all(scored):
        at = scored.index(False) + 1
        raise InputError(f"{where}: item {at} of `{key}` has no score, but others have; score all or none")
    return [
        (
            _item_id(item, where, place, key),
            finite(item["score"], f"{where}, item {place}: score") if any(scored) else None,
            item,
        )
        for place, item in enumerate(items, 1)
    ]


def result_table(lines: Iterable[tuple[str, dict[str, Any]]], name: str) -> Table:
    """The rankings of lines of results, each with where it is."""
    rows: list[tuple[str, str | None, float | None]] = []
    places: dict[str, list[str]] = {}
    for where, line in lines:
        query_id = query_id_of(line, where)
        places.setdefault(query_id, []).append(where)
        items = retrieved_items(line, where)
        rows += [(query_id, id, -float(i) if score is None else score) for i, (id, score, _) in enumerate(items)]
        rows += [] if items else [(query_id, None, None)]
    frame = pl.DataFrame(rows, schema=RUN, orient="row")
    return checked(frame, name, "run", _Places(places))


@dataclass(frozen=True)
class _Places:
    """Places of the lines of a question, for messages."""

    by_question: Mapping[str, Sequence[str]]

    def __call__(self, query_id: str, doc_id: str) -> str:
        return " and ".join(self.by_question[query_id][:2])


def _item_id(item: dict[str, Any], where: str, place: int, key: str) -> str:
    id = next((item[key] for key in ID_KEYS if item.get(key) is not None), None)
    if id is None and item.get("doc") is not None and "start" in item and "end" in item:
        return f"{item['doc']}[{item['start']}:{item['end']}]"
    if id is None and isinstance(item.get("text"), str):
        return content_id(item["text"])
    return text_id(id, where, f"the id of item {place} of `{key}`")


def _portions(lines: Iterable[tuple[int, bytes]]) -> Generator[list[tuple[int, bytes]]]:
    """Lines in lists of about so many bytes."""
    portion: list[tuple[int, bytes]] = []
    n_bytes = 0
    for number, raw in lines:
        portion.append((number, raw))
        n_bytes += len(raw)
        if n_bytes > _PORTION_BYTES:
            yield portion
            portion, n_bytes = [], 0
    if portion:
        yield portion


def _scored_lists(lines: list[bytes]) -> pl.DataFrame | None:
    """The rows of lines that are all `{"qid": text, "retrieved": [{"id": text, "score": number}]}`; None for others.

    What is odd in any way, such as a key that may be there twice, is left to `retrieved_items`, which reads item by
    item and says what is wrong.
    """
    queries: list[str] = []
    docs: list[str] = []
    scores: list[float] = []
    counts: list[int] = []
    n_keys = 0
    try:
        for raw in lines:
            line = orjson.loads(raw)
            items = line["retrieved"]
            n_keys += len(line) + 2 * len(items)
            docs.extend(map(_ID, items))
            scores.extend(map(_SCORE, items))
            queries.append(line["query_id"] if "query_id" in line else line["qid"])
            counts.append(len(items))
    except (ValueError, TypeError, LookupError):
        return None
    # Each key has a colon: where there are no others, none is there twice.
    n_colons = np.count_nonzero(np.frombuffer(b"".join(lines), np.uint8) == ord(":"))
    if n_colons != n_keys and not all(map(_has_distinct_keys, lines)):
        return None
    return plain_frame(queries, counts, docs, scores, RUN) if all(counts) else None


def _has_distinct_keys(raw: bytes) -> bool:
    """True if no object of a line has a key twice, of which orjson keeps the last; may say no where it is so.

    A key is a text before a colon, so there are at most as many keys as such places; all of them are different where
    the objects have as many.
    """
    line = orjson.loads(raw)
    values = [line, *line["retrieved"], *(value for value in line.values() if isinstance(value, dict))]
    return len(_KEY_END.findall(raw)) == sum(map(len, values))


@dataclass
class JsonLines:
    """JSONL: `{"qid", "retrieved": [ids | {"id", "score"}]}` for a run; for a truth gold_evidence and
    rel_map, or a line for each judged document, with doc_id and gain.

    judged_by   after reading: how many documents of a truth a judge graded, by its name and model
    """

    source: Source
    kind: FileKind

    def __post_init__(self) -> None:
        self.name = self.source.name
        self._n_unscored: dict[str, int] = {}
        self.judged_by = Counter[str]()
        self._unlabelled, self._n_labelled = "", 0

    def batches(self) -> Generator[pl.DataFrame]:
        """Frames of schema RUN or TRUTH.

        Raises   InputError naming the line.
        """
        self._n_unscored, self.judged_by = {}, Counter()
        self._unlabelled, self._n_labelled, read = "", 0, False
        with closing(ahead(self._frame, _portions(_numbered_lines(self.source)), workers=1)) as frames:
            for frame in frames:
                read = True
                yield frame
        if not read:
            raise InputError(f"{self.source.name}: is empty; expected one JSON object a line")
        if self._unlabelled and not self._n_labelled:
            raise InputError(self._unlabelled)

    def _frame(self, lines: list[tuple[int, bytes]]) -> pl.DataFrame:
        if self.kind == "run" and (frame := _scored_lists([raw for _, raw in lines])) is not None:
            return frame
        rows_of = self._run_rows if self.kind == "run" else self._truth_rows
        schema = RUN if self.kind == "run" else TRUTH
        rows = [
            row
            for number, raw in lines
            for row in rows_of(number, object_of(raw, f"{self.source.name}, line {number}"))
        ]
        return pl.DataFrame(rows, schema=schema, orient="row")

    def _run_rows(self, number: int, line: dict[str, object]) -> Iterator[tuple[str, str | None, float | None]]:
        where = f"{self.source.name}, line {number}"
        query_id = query_id_of(line, where)
        items = retrieved_items(line, where)
        if not items:
            yield query_id, None, None
        for doc_id, score, _ in items:
            yield query_id, doc_id, self._rank_score(query_id) if score is None else score

    def _rank_score(self, query_id: str) -> float:
        """One below all before: a list without scores keeps its order, over lines too."""
        before = self._n_unscored.get(query_id, 0)
        self._n_unscored[query_id] = before + 1
        return float(-before)

    def _truth_rows(self, number: int, line: dict[str, object]) -> Iterator[tuple[str, str | None, float | None]]:
        where = f"{self.source.name}, line {number}"
        if is_graded_row(line):
            query_id, doc_id, gain = graded_row(line, where)
            yield (query_id, None, None) if gain is None else (query_id, doc_id, gain)
            if gain is not None and line.get("by") == "judge":
                model = line.get("model")
                self.judged_by[f"{line.get('judge')} ({model})" if model else str(line.get("judge"))] += 1
            return
        query_id = query_id_of(line, where)
        gains = id_labels(line, where)
        if gains is None:
            message = (
                f"{where}: has none of `gold_evidence`, `rel_map`, `relevant`, `grades` (keys: {', '.join(line)}); "
                "is this a file of results? The truth comes first, then the runs"
            )
            if query_text_key(line) is None or result_key(line) is not None:
                raise InputError(message)
            self._unlabelled = self._unlabelled or message
        self._n_labelled += gains is not None
        if not gains:
            yield query_id, None, None
        for doc, gain in (gains or {}).items():
            yield query_id, doc, gain

    def locate(self, query_id: str, doc_id: str) -> str:
        """Lines of a query that hold a document."""
        lines = [number for number, line in json_lines(self.source) if query_id_of(line, self.name) == query_id]
        return f"{self.source.name}, line{'s' * (len(lines) > 1)} {' and '.join(map(str, lines[:2]))}"
