"""The verdicts on all answers of one system, with what they depend on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, get_args

import numpy as np
import polars as pl

from steelyard.base.arrays import Ints
from steelyard.base.errors import DuplicateError, InputError
from steelyard.base.result import Shown
from steelyard.data.pieces import is_whole_text
from steelyard.io.write import write_bytes
from steelyard.judges.tables.arrays import LABELS, column_arrays, context_codes, texts_of
from steelyard.judges.tables.columns import GRIDS, ROWS, VerdictColumns, criterion_shares
from steelyard.judges.tables.files import decode_verdicts, encode_verdicts
from steelyard.judges.tables.ragchecker import decode_ragchecker
from steelyard.judges.verdict import JudgedAnswer, Label, Problem, State, Verdict, check_record
from steelyard.measures.judged_answers import NONE, JudgedAnswers

FOLDER = "verdicts"
"""Of a run folder, where verdicts are kept: one file a judge."""

_OCCASION = ("system", "outputs", "questions", "date", "steelyard", "libraries", "calls")
"""Keys of a recipe that say what was judged, and when; all others say how."""


def method_of(recipe: Mapping[str, Any]) -> Mapping[str, Any]:
    """Method by which verdicts were made: their recipe without what was judged, and when.

    >>> method_of({"judge": {"name": "people"}, "date": "2026-11-22"})
    {'judge': {'name': 'people'}}
    """
    return {key: value for key, value in recipe.items() if key not in _OCCASION}


def overall(row: Iterable[Verdict]) -> Label | None:
    """The verdict on a unit over several premises of which one is enough; None where there are none.

    >>> overall([Verdict("contradicted"), Verdict("supported")]), overall([Verdict("not_judged"), Verdict("not_found")])
    ('supported', 'not_judged')
    """
    labels: set[Label] = {verdict.label for verdict in row}
    order: Sequence[Label] = ("supported", "not_judged", "contradicted", "not_found")
    return next((label for label in order if label in labels), None)


def unit_verdict(record: JudgedAnswer, unit: int) -> Label | None:
    """The verdict on a unit over the whole context.

    By its chunks, by those that it cites together, or by a judge that read all at once.
    Each is enough to support it; what the chunks were not judged for, a judge that read all at once was.
    """
    whole = record.grounded[unit] if record.grounded else None
    together = [verdict for verdict in record.joint[unit : unit + 1] if verdict is not None]
    by_chunks = overall([*record.support[unit], *together])
    labels = {label for label in (by_chunks, None if whole is None else whole.label) if label is not None}
    order: Sequence[Label] = ("supported", "contradicted", "not_found", "not_judged")
    return next((label for label in order if label in labels), None)


_PLACE = ("start", "end", "lead", "text", "no_claim")
_VERDICT = ("verdict", "score", "reason")


class Verdicts(Shown):
    """Verdicts of a judge on the answers of one system: the tables that measures of answers are computed from.

    `sy.judge` makes them; those of people, or of another program, are made of records.

    records   by query id
    recipe    what they depend on: `judge` (its name, version, model, prompt digest, parameters, threshold),
              `calibration` (None without any), `units`, `tables` that were asked, `system`, `outputs` and `questions`
              (digests), `steelyard`, `date`, `libraries` of a model here, and `calls`: what the calls of a judge took
    errors    what the judge did wrong, by kind, such as "unknown_id": how often
    Raises    DuplicateError for a question that comes twice, InputError for tables that do not fit together.

    >>> verdicts = Verdicts([JudgedAnswer("q1", "abstained"), JudgedAnswer("q2", "missing")])
    >>> verdicts
    Verdicts(2 questions, judged by people: 0 units)
    >>> verdicts.answers["state"].to_list()
    ['abstained', 'missing']
    """

    VIEW = "views.judging"

    def __init__(
        self,
        records: Iterable[JudgedAnswer],
        recipe: Mapping[str, Any] | None = None,
        *,
        errors: Mapping[str, int] | None = None,
    ) -> None:
        by_id: dict[str, JudgedAnswer] = {}
        for record in records:
            if record.query_id in by_id:
                raise DuplicateError(f"verdicts: question {record.query_id!r} comes twice; remove one")
            if not is_whole_text("".join(_texts(record))):
                raise InputError(
                    f"verdicts: question {record.query_id!r} holds half a character, which no file can hold"
                )
            try:
                check_record(record)
            except ValueError as error:
                raise InputError(f"verdicts: question {record.query_id!r}: {error}") from None
            by_id[record.query_id] = record
        self.records: Mapping[str, JudgedAnswer] = MappingProxyType(by_id)
        self.recipe: Mapping[str, Any] = MappingProxyType(dict(recipe or {"judge": {"name": "people"}}))
        self.errors: Mapping[str, int] = MappingProxyType(dict(errors or {}))

    @classmethod
    def of_columns(cls, columns: VerdictColumns, recipe: Mapping[str, Any], errors: Mapping[str, int]) -> Verdicts:
        """Verdicts in columns that fit together; a record is made when it is asked for.

        Raises   DuplicateError for a question that comes twice.
        """
        ids = columns.own["query_id"]
        if len(twice := ids.filter(ids.is_duplicated())):
            raise DuplicateError(f"verdicts: question {twice[0]!r} comes twice; remove one")
        verdicts = cls([], recipe, errors=errors)
        verdicts.records, verdicts.columns = MappingProxyType(columns.records()), columns
        return verdicts

    def __getstate__(self) -> dict[str, Any]:
        return {"columns": self.columns, "recipe": dict(self.recipe), "errors": dict(self.errors)}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        vars(self).update(vars(self.of_columns(**state)))

    @cached_property
    def columns(self) -> VerdictColumns:
        """The same as columns, which frames, arrays and files are made of."""
        return VerdictColumns.of_records(list(self.records.values()))

    @classmethod
    def read(cls, path: str | Path) -> Verdicts:
        """Read what `write` wrote, or the JSON that RAGChecker writes, with its claims and what it says of them.

        Raises   InputError where the file is none, of a later version, damaged, or has holes.
        """
        try:
            if Path(path).suffix != ".json":
                return cls.of_columns(*decode_verdicts(path))
            records, recipe, errors = decode_ragchecker(path)
            return cls(records, recipe, errors=errors)
        except DuplicateError as error:
            raise InputError(f"{path}: {error}; judge again (`steelyard judge`)") from None

    def write(self, path: str | Path) -> None:
        """Write them to a Parquet file, one row a question, whole or not at all.

        Raises   OutputError.
        """
        write_bytes(path, encode_verdicts(self.columns, self.recipe, self.errors))

    def merge(self, *others: Verdicts) -> Verdicts:
        """These, with those on further questions.

        Raises   InputError where others were judged in another way; DuplicateError for a question that comes twice.
        """
        for other in others:
            if other.method != self.method:
                raise InputError(f"verdicts of {_method(self.method)} and of {_method(other.method)} cannot be merged")
        errors: Counter[str] = Counter()
        for verdicts in (self, *others):
            errors.update(verdicts.errors)
        return self.of_columns(self.columns.and_those_of([own.columns for own in others]), self.recipe, errors)

    @property
    def judge(self) -> str:
        """The name of the judge."""
        return str(self.recipe["judge"]["name"])

    @property
    def method(self) -> Mapping[str, Any]:
        """Method of judging: the recipe without what was judged and when; equal for scores that may be compared."""
        return method_of(self.recipe)

    def arrays(self, query_ids: Sequence[str] | None = None) -> JudgedAnswers:
        """Arrays that kernels of answers take.

        query_ids   in their order; all by default
        Raises      InputError for questions without verdicts.
        """
        return column_arrays(self.columns if query_ids is None else self._columns_of(query_ids))

    def restricted(self, query_ids: Sequence[str]) -> Verdicts:
        """Verdicts on some questions, in their order.

        Raises   InputError for questions without verdicts.
        """
        return self.of_columns(self._columns_of(query_ids), self.recipe, self.errors)

    def _columns_of(self, query_ids: Sequence[str]) -> VerdictColumns:
        self._check_has(query_ids)
        if list(query_ids) == list(self.records):
            return self.columns
        places = {query_id: place for place, query_id in enumerate(self.records)}
        return self.columns.of_questions(np.array([places[query_id] for query_id in query_ids], int))

    def _check_has(self, query_ids: Sequence[str]) -> None:
        absent = [id for id in query_ids if id not in self.records]
        if absent:
            system = self.recipe.get("system")
            of_system = f" on {system}" if system else ""
            raise InputError(
                f"verdicts by {self.judge}{of_system}: have no question {absent[0]!r} ({len(absent)} of "
                f"{len(query_ids)} are not there); judge the outputs again with all of these questions "
                "(`steelyard judge QUESTIONS RUN`)"
            )

    def check_outputs(self, digest: str, name: str) -> None:
        """Raise   InputError where these are verdicts on other outputs than those of this digest, called `name`."""
        if self.are_of_others(digest):
            raise InputError(f"verdicts by {self.judge} are of another run than {name}; judge it (`steelyard judge`)")

    def are_of_others(self, digest: str) -> bool:
        """True if these are verdicts on other outputs than those of this digest."""
        return self.recipe.get("outputs") not in (None, digest)

    @cached_property
    def gold_answers(self) -> Mapping[str, Sequence[str]]:
        """The gold answers to each question, by query id."""
        return dict(zip(self.records, texts_of(self.columns.items["gold_answers"]), strict=True))

    @cached_property
    def answers(self) -> pl.DataFrame:
        """A row a question: state, answer, counts of context, gold answers and units, answerable, and its grade."""
        own, items = self.columns.own, self.columns.items
        units, grades = items["unit"], items["grade"]
        score = pl.when(pl.col("verdict") != "not_judged").then("score").alias("grade")
        graded = grades.frame.select(score, "reason", question=grades.query)
        counts: dict[str, Any] = {
            "n_context": pl.Series(items["context"].n).set(pl.Series(~self.columns.has_context), None),
            "n_gold": items["gold_answers"].n,
            "n_units": units.n,
            "n_no_claim": np.bincount(units.query[~units.checkable], minlength=len(own)),
        }
        frame = own.select(
            "query_id", "state", "answer", **counts, answerable="answerable", question=np.arange(len(own))
        )
        return frame.join(graded, on="question", how="left", maintain_order="left").drop("question")

    @cached_property
    def units(self) -> pl.DataFrame:
        """A row a unit: query_id, unit, start, end, lead, text, no_claim, and its verdict over the whole context.

        That is null where it asserts nothing, or there is no context.
        """
        checkable = self.columns.items["unit"].checkable
        codes = np.full(len(checkable), NONE)
        codes[checkable] = context_codes(column_arrays(self.columns))
        verdict = pl.Series("verdict", codes).replace_strict(LABELS, return_dtype=pl.String)
        return self._frame("unit", "unit", *_PLACE).with_columns(verdict)

    @cached_property
    def gold_units(self) -> pl.DataFrame:
        """A row a gold unit: query_id, gold_unit, gold_answer, start, end, lead, text, no_claim."""
        return self._frame("gold_unit", "gold_unit", "alternative", *_PLACE).rename({"alternative": "gold_answer"})

    @cached_property
    def support(self) -> pl.DataFrame:
        """Unit × chunk: query_id, unit, chunk (from 0), chunk_id, verdict, score, reason."""
        return self._cells("support", "unit", "chunk")

    @cached_property
    def grounded(self) -> pl.DataFrame:
        """Unit × whole context, by a judge that reads it at once: query_id, unit, verdict, score, reason."""
        return self._frame("grounded", "unit", *_VERDICT).drop_nulls("verdict")

    @cached_property
    def joint(self) -> pl.DataFrame:
        """Unit × all chunks that it cites: query_id, unit, verdict, score, reason."""
        return self._frame("joint", "unit", *_VERDICT).drop_nulls("verdict")

    @cached_property
    def citations(self) -> pl.DataFrame:
        """A row a citation: its unit, place, mark, chunk, problem, and the verdict on the unit `without` it."""
        frame = self._frame("citation", "citation", "unit", "start", "end", "mark", "chunk", "problem")
        chunk_ids = self._chunk_ids(self.columns.items["citation"].query, frame["chunk"])
        without = self.columns.items["without"].frame["verdict"].alias("without")
        return frame.select(pl.all().exclude("citation", "problem"), chunk_ids, "problem", without)

    @cached_property
    def correctness(self) -> pl.DataFrame:
        """Unit × gold answer: query_id, unit, gold_answer (from 0), verdict, score, reason."""
        return self._cells("correctness", "unit", "gold_answer")

    @cached_property
    def said(self) -> pl.DataFrame:
        """Gold unit × the answer: query_id, gold_unit, verdict, score, reason."""
        return self._frame("said", "gold_unit", *_VERDICT).drop_nulls("verdict")

    @cached_property
    def reach(self) -> pl.DataFrame:
        """Gold unit × chunk: query_id, gold_unit, chunk (from 0), chunk_id, verdict, score, reason."""
        return self._cells("reach", "gold_unit", "chunk")

    @cached_property
    def context_relevance(self) -> pl.DataFrame:
        """Chunk × question: query_id, chunk (from 0), chunk_id, verdict, score, reason."""
        frame = self._frame("context_relevance", "chunk", *_VERDICT)
        query = self.columns.items["context_relevance"].query
        return frame.select("query_id", "chunk", self._chunk_ids(query, frame["chunk"]), *_VERDICT)

    @cached_property
    def nuggets(self) -> pl.DataFrame:
        """A row a nugget."""
        return self._frame("nugget", "nugget", "text", "vital", "credit", "reason")

    @cached_property
    def criteria(self) -> pl.DataFrame:
        """A row a criterion of an answer: its name, text and scale, the grade on the scale, and as a share of it."""
        frame = self._frame("criterion", "place", "name", "text", "scale", "value", "reason")
        shares = criterion_shares(self.columns.items["criterion"].frame)
        return frame.select("query_id", criterion="name", text="text", scale="scale", value="value", share=shares,
                            reason="reason")  # fmt: skip

    def _frame(self, kind: str, number: str, *fields: str) -> pl.DataFrame:
        """A row an item of a question: query_id, its number there, and fields of it."""
        items = self.columns.items[kind]
        return items.frame.select(self._ids(items.query), pl.Series(number, items.number), *fields)

    def _cells(self, table: str, owner: str, text: str) -> pl.DataFrame:
        """A row a pair of a unit and a text;   owner, text   columns of their numbers; a chunk has its id too"""
        units, texts = self.columns.items[owner], GRIDS[table][1]
        row, column = units.grid(self.columns.items[texts].n)
        cell = np.flatnonzero(units.checkable)[row]
        places = [self._ids(units.query[cell]), pl.Series(owner, units.number[cell]), pl.Series(text, column)]
        if texts == "context":
            places.append(self._chunk_ids(units.query[cell], places[-1]))
        return self.columns.items[table].frame.select(*places, *_VERDICT)

    def _ids(self, query: Ints) -> pl.Series:
        return self.columns.own["query_id"].gather(query)

    def _chunk_ids(self, query: Ints, chunk: pl.Series) -> pl.Series:
        """Ids of chunks by their questions and numbers; null where the number is."""
        context = self.columns.items["context"]
        return context.frame["text"].gather(context.starts[query] + chunk).alias("chunk_id")

    @cached_property
    def counts(self) -> Mapping[str, int]:
        """Counts of questions by state, of units by their verdict over the whole context, of citations by problem."""
        answers, units = self.answers, self.units
        states, verdicts, problems = (
            dict(column.drop_nulls().value_counts().iter_rows())
            for column in (answers["state"], units["verdict"], self.citations["problem"])
        )
        return {
            "questions": len(answers),
            **{state: states.get(state, 0) for state in get_args(State)},
            "without_context": int((answers["n_context"].is_null() & (answers["state"] == "answered")).sum()),
            "units": len(units),
            "no_claim": int((units["no_claim"] != "").sum()),
            **{label: verdicts.get(label, 0) for label in get_args(Label)},
            "citations": len(self.citations),
            **{problem: problems.get(problem, 0) for problem in get_args(Problem)},
        }

    @cached_property
    def not_judged(self) -> Mapping[str, int]:
        """Causes of missing verdicts, with their numbers, over all tables; the most frequent cause first."""
        frames = (self.columns.items[table].frame for table in (*GRIDS, *ROWS, "grade"))
        reasons = pl.concat(frames).filter(pl.col("verdict") == "not_judged")["reason"]
        grades = self.columns.items["criterion"].frame.filter(pl.col("value").is_null())["reason"]
        return dict(Counter([*reasons.to_list(), *grades.to_list()]).most_common())

    def __len__(self) -> int:
        return len(self.records)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Verdicts):
            return NotImplemented
        facts = (self.recipe, self.errors) == (other.recipe, other.errors)
        return facts and self.columns.equals(other.columns)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        counts = self.counts
        parts = [f"{counts['units']} units"]
        parts += [
            f"{counts[name]} {name}"
            for name in ("supported", "contradicted", "not_found", "not_judged")
            if counts[name]
        ]
        return f"Verdicts({len(self)} questions, judged by {self.judge}: {', '.join(parts)})"


def _texts(record: JudgedAnswer) -> Iterator[str]:
    """All texts of a record that may come from outside."""
    yield from (record.query_id, record.query, record.answer, *record.gold_answers, *(record.context or ()))
    for unit in (*record.units, *record.gold_units):
        yield from (unit.text, unit.lead)
    yield from (citation.mark for citation in record.citations)
    for nugget in record.nuggets:
        yield from (nugget.text, nugget.reason)
    for row in (*record.support, *record.correctness, *record.reach):
        yield from (verdict.reason for verdict in row)
    for column in (*(getattr(record, table) for table in ROWS), (record.grade,)):
        yield from (verdict.reason for verdict in column if verdict is not None)


def _method(method: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} {value}" for key, value in method.items())
