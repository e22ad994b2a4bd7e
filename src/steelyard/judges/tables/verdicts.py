"""The verdicts on all answers of one system, with what they depend on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

import polars as pl

from steelyard.base.errors import DuplicateError, InputError
from steelyard.data.pieces import is_whole_text
from steelyard.io.write import write_bytes
from steelyard.judges.tables import frames
from steelyard.judges.tables.arrays import judged_arrays
from steelyard.judges.tables.files import decode_ragchecker, decode_verdicts, encode_verdicts
from steelyard.judges.verdict import JudgedAnswer, Verdict, check_record
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


class Verdicts:
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
        own = self.recipe.get("outputs")
        if own is not None and own != digest:
            raise InputError(f"verdicts by {self.judge} are of another run than {name}; judge it (`steelyard judge`)")

    @cached_property
    def answers(self) -> pl.DataFrame:
        """A row a question: state, answer, counts of context, gold answers and units, answerable, and its grade."""
        return frames.answers_frame(self._listed)

    @cached_property
    def units(self) -> pl.DataFrame:
        """A row a unit: query_id, unit, start, end, text, no_claim, and its verdict over the whole context."""
        return frames.units_frame(self._listed)

    @cached_property
    def gold_units(self) -> pl.DataFrame:
        """A row a gold unit: query_id, gold_unit, alternative, start, end, text, no_claim."""
        return frames.gold_units_frame(self._listed)

    @cached_property
    def support(self) -> pl.DataFrame:
        """Unit × chunk: query_id, unit, chunk (from 0), chunk_id, verdict, score, reason."""
        return frames.chunks_frame(self._listed, "unit", [r.support for r in self._listed])

    @cached_property
    def grounded(self) -> pl.DataFrame:
        """Unit × whole context, by a judge that reads it at once: query_id, unit, verdict, score, reason."""
        return frames.column_frame(self._listed, "unit", [r.grounded for r in self._listed])

    @cached_property
    def joint(self) -> pl.DataFrame:
        """Unit × all chunks that it cites: query_id, unit, verdict, score, reason."""
        return frames.column_frame(self._listed, "unit", [r.joint for r in self._listed])

    @cached_property
    def citations(self) -> pl.DataFrame:
        """A row a citation: its unit, place, mark, chunk, problem, and the verdict on the unit `without` it."""
        return frames.citations_frame(self._listed)

    @cached_property
    def correctness(self) -> pl.DataFrame:
        """Unit × gold answer: query_id, unit, gold_answer (from 0), verdict, score, reason."""
        return frames.correctness_frame(self._listed)

    @cached_property
    def said(self) -> pl.DataFrame:
        """Gold unit × the answer: query_id, gold_unit, verdict, score, reason."""
        return frames.column_frame(self._listed, "gold_unit", [r.said for r in self._listed])

    @cached_property
    def reach(self) -> pl.DataFrame:
        """Gold unit × chunk: query_id, gold_unit, chunk (from 0), chunk_id, verdict, score, reason."""
        return frames.chunks_frame(self._listed, "gold_unit", [r.reach for r in self._listed])

    @cached_property
    def nuggets(self) -> pl.DataFrame:
        """A row a nugget: query_id, nugget, text, vital, credit, reason."""
        return frames.nuggets_frame(self._listed)

    @cached_property
    def counts(self) -> Mapping[str, int]:
        """Counts of questions by state, of units by their verdict over the whole context, of citations by problem."""
        return frames.counts(self.answers, self.units, self.citations)

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
