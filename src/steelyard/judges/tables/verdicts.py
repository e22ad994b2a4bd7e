"""The verdicts on all answers of one system, with what they depend on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, get_args

import polars as pl

from steelyard.base.errors import DuplicateError, InputError
from steelyard.base.result import Shown
from steelyard.data.pieces import is_whole_text
from steelyard.io.write import write_bytes
from steelyard.judges.tables.arrays import judged_arrays
from steelyard.judges.tables.files import decode_ragchecker, decode_verdicts, encode_verdicts
from steelyard.judges.verdict import JudgedAnswer, Label, Problem, State, Unit, Verdict, check_record
from steelyard.measures.judged_answers import JudgedAnswers

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


_Schema = Mapping[str, Any]
_VERDICT: _Schema = {"verdict": pl.String, "score": pl.Float64, "reason": pl.String}
_PLACE: _Schema = {"start": pl.Int64, "end": pl.Int64, "lead": pl.String, "text": pl.String, "no_claim": pl.String}


def _place(unit: Unit) -> tuple[int, int, str, str, str]:
    return unit.start, unit.end, unit.lead, unit.text, unit.no_claim


def _frame(schema: _Schema, rows: Iterable[tuple[Any, ...]]) -> pl.DataFrame:
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    return pl.DataFrame(
        [pl.Series(name, values, dtype) for (name, dtype), values in zip(schema.items(), columns, strict=True)]
    )


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
            texts = [record.query_id, record.query, record.answer, *record.gold_answers, *(record.context or ())]
            if not is_whole_text("".join([*texts, *(unit.text for unit in (*record.units, *record.gold_units))])):
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

    def __getstate__(self) -> dict[str, Any]:
        # A view of a dict does not pickle; the dict does.
        return {key: dict(part) if isinstance(part, MappingProxyType) else part for key, part in vars(self).items()}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        views = {key: MappingProxyType(state[key]) for key in ("records", "recipe", "errors")}
        vars(self).update({**state, **views})

    @classmethod
    def read(cls, path: str | Path) -> Verdicts:
        """Read what `write` wrote, or the JSON that RAGChecker writes, with its claims and what it says of them.

        Raises   InputError where the file is none, of a later version, damaged, or has holes.
        """
        if Path(path).suffix == ".json":
            records, recipe, errors = decode_ragchecker(path)
        else:
            records, recipe, errors = decode_verdicts(path)
        try:
            return cls(records, recipe, errors=errors)
        except InputError as error:
            raise InputError(f"{path}: {error}; judge again (`steelyard judge`)") from None

    def write(self, path: str | Path) -> None:
        """Write them to a Parquet file, one row a question, whole or not at all.

        Raises   OutputError.
        """
        write_bytes(path, encode_verdicts(self.records.values(), self.recipe, self.errors))

    def merge(self, *others: Verdicts) -> Verdicts:
        """These, with those on further questions.

        Raises   InputError where others were judged in another way; DuplicateError for a question that comes twice.
        """
        for other in others:
            if other.method != self.method:
                raise InputError(f"verdicts of {_method(self.method)} and of {_method(other.method)} cannot be merged")
        records = [record for verdicts in (self, *others) for record in verdicts.records.values()]
        errors: Counter[str] = Counter()
        for verdicts in (self, *others):
            errors.update(verdicts.errors)
        return Verdicts(records, self.recipe, errors=errors)

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
        ids = list(self.records) if query_ids is None else list(query_ids)
        self._check_has(ids)
        return judged_arrays(self.records, ids)

    def restricted(self, query_ids: Sequence[str]) -> Verdicts:
        """Verdicts on some questions, in their order.

        Raises   InputError for questions without verdicts.
        """
        self._check_has(query_ids)
        return Verdicts([self.records[id] for id in query_ids], self.recipe, errors=self.errors)

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
    def answers(self) -> pl.DataFrame:
        """A row a question: state, answer, counts of context, gold answers and units, answerable, and its grade."""
        rows = (
            (
                r.query_id, r.state, r.answer, None if r.context is None else len(r.context), len(r.gold_answers),
                len(r.units), sum(not unit.checkable for unit in r.units), r.answerable,
                None if r.grade is None or r.grade.label == "not_judged" else r.grade.score,
                None if r.grade is None else r.grade.reason,
            )
            for r in self._listed
        )  # fmt: skip
        texts, counts = ("query_id", "state", "answer"), ("n_context", "n_gold", "n_units", "n_no_claim")
        more = {"answerable": pl.Boolean, "grade": pl.Float64, "reason": pl.String}
        return _frame(dict.fromkeys(texts, pl.String) | dict.fromkeys(counts, pl.Int64) | more, rows)

    @cached_property
    def units(self) -> pl.DataFrame:
        """A row a unit: query_id, unit, start, end, lead, text, no_claim, and its verdict over the whole context.

        That is null where it asserts nothing, or there is no context.
        """
        listed = ((r, n, unit) for r in self._listed for n, unit in enumerate(r.units))
        rows = ((r.query_id, n, *_place(unit), unit_verdict(r, n)) for r, n, unit in listed)
        return _frame({"query_id": pl.String, "unit": pl.Int64, **_PLACE, "verdict": pl.String}, rows)

    @cached_property
    def gold_units(self) -> pl.DataFrame:
        """A row a gold unit: query_id, gold_unit, gold_answer, start, end, lead, text, no_claim."""
        listed = ((r, n, unit) for r in self._listed for n, unit in enumerate(r.gold_units))
        rows = ((r.query_id, n, unit.alternative, *_place(unit)) for r, n, unit in listed)
        return _frame({"query_id": pl.String, "gold_unit": pl.Int64, "gold_answer": pl.Int64, **_PLACE}, rows)

    @cached_property
    def support(self) -> pl.DataFrame:
        """Unit × chunk: query_id, unit, chunk (from 0), chunk_id, verdict, score, reason."""
        return self._by_chunk("support", "unit")

    @cached_property
    def grounded(self) -> pl.DataFrame:
        """Unit × whole context, by a judge that reads it at once: query_id, unit, verdict, score, reason."""
        return self._by_unit("grounded", "unit")

    @cached_property
    def joint(self) -> pl.DataFrame:
        """Unit × all chunks that it cites: query_id, unit, verdict, score, reason."""
        return self._by_unit("joint", "unit")

    @cached_property
    def citations(self) -> pl.DataFrame:
        """A row a citation: its unit, place, mark, chunk, problem, and the verdict on the unit `without` it."""
        rows = (
            (
                r.query_id, c.unit, c.start, c.end, c.mark, c.chunk,
                None if c.chunk is None or r.context is None else r.context[c.chunk], c.problem,
                None if without is None else without.label,
            )
            for r in self._listed
            for c, without in zip(r.citations, r.without, strict=True)
        )  # fmt: skip
        schema = {"query_id": pl.String, "unit": pl.Int64, "start": pl.Int64, "end": pl.Int64, "mark": pl.String}
        texts = dict.fromkeys(("chunk_id", "problem", "without"), pl.String)
        return _frame({**schema, "chunk": pl.Int64, **texts}, rows)

    @cached_property
    def correctness(self) -> pl.DataFrame:
        """Unit × gold answer: query_id, unit, gold_answer (from 0), verdict, score, reason."""
        rows = (
            (r.query_id, n, gold, verdict.label, verdict.score, verdict.reason)
            for r in self._listed
            for n, row in enumerate(r.correctness)
            for gold, verdict in enumerate(row)
        )
        return _frame({"query_id": pl.String, "unit": pl.Int64, "gold_answer": pl.Int64, **_VERDICT}, rows)

    @cached_property
    def said(self) -> pl.DataFrame:
        """Gold unit × the answer: query_id, gold_unit, verdict, score, reason."""
        return self._by_unit("said", "gold_unit")

    @cached_property
    def reach(self) -> pl.DataFrame:
        """Gold unit × chunk: query_id, gold_unit, chunk (from 0), chunk_id, verdict, score, reason."""
        return self._by_chunk("reach", "gold_unit")

    @cached_property
    def nuggets(self) -> pl.DataFrame:
        """A row a nugget."""
        listed = ((r.query_id, n, nugget) for r in self._listed for n, nugget in enumerate(r.nuggets))
        rows = ((id, n, nugget.text, nugget.vital, nugget.credit, nugget.reason) for id, n, nugget in listed)
        schema = {"query_id": pl.String, "nugget": pl.Int64, "text": pl.String, "vital": pl.Boolean}
        return _frame({**schema, "credit": pl.Float64, "reason": pl.String}, rows)

    def _by_chunk(self, table: str, owner: str) -> pl.DataFrame:
        """A row a pair of a unit and a chunk of the context;   owner   the column of the unit"""
        rows = (
            (record.query_id, n, chunk, chunk_id, verdict.label, verdict.score, verdict.reason)
            for record in self._listed
            for n, row in enumerate(getattr(record, table))
            for chunk, (chunk_id, verdict) in enumerate(zip(record.context or (), row, strict=False))
        )
        schema = {"query_id": pl.String, owner: pl.Int64, "chunk": pl.Int64, "chunk_id": pl.String}
        return _frame({**schema, **_VERDICT}, rows)

    def _by_unit(self, table: str, owner: str) -> pl.DataFrame:
        """A row a unit that was to be judged, by a premise of its own;   owner   the column of the unit"""
        rows = (
            (record.query_id, n, verdict.label, verdict.score, verdict.reason)
            for record in self._listed
            for n, verdict in enumerate(getattr(record, table))
            if verdict is not None
        )
        return _frame({"query_id": pl.String, owner: pl.Int64, **_VERDICT}, rows)

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
        causes = Counter(v.reason for record in self._listed for v in _verdicts(record) if v.label == "not_judged")
        return dict(causes.most_common())

    @cached_property
    def _listed(self) -> Sequence[JudgedAnswer]:
        return tuple(self.records.values())

    def __len__(self) -> int:
        return len(self.records)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Verdicts):
            return NotImplemented
        return (self._listed, self.recipe, self.errors) == (other._listed, other.recipe, other.errors)

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


def _verdicts(record: JudgedAnswer) -> Iterator[Verdict]:
    """All verdicts of a record, of whichever table."""
    for table in (record.support, record.correctness, record.reach):
        for row in table:
            yield from row
    for column in (record.grounded, record.joint, record.without, record.said, (record.grade,)):
        yield from (verdict for verdict in column if verdict is not None)


def _method(method: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} {value}" for key, value in method.items())
