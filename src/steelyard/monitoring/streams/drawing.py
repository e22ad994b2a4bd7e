"""What a judged sample is set to, the answers that are drawn of each window, and files of anchors and labels."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Self

import numpy as np
import polars as pl
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from steelyard.base import defaults
from steelyard.base.errors import InputError, exception_line, quoted
from steelyard.base.limits import Limits, Words, at_least
from steelyard.base.settings import SettingError
from steelyard.io.json_files import json_lines
from steelyard.io.source import Source
from steelyard.measures import Measure, parse
from steelyard.monitoring.streams.asking import LookBudget
from steelyard.rag.config import Count, File, Measures, Text
from steelyard.stats.samples import fsum
from steelyard.traffic.logs import Logs
from steelyard.traffic.requests import requests
from steelyard.traffic.settings import listed
from steelyard.traffic.windows import Windows, microseconds, time_of

_FEWEST_ANCHORS = 2


class JudgedTable(BaseModel):
    """How answers of logs are drawn and judged; relative paths count from the folder of the configuration.

    n           answers that are drawn
    measures    of answers, which need no gold: faithfulness, citation_validity, …
    judge       lexical, nli, llm, … or module:object;   settings   of the judge, such as model
    budget      answers that are judged, and dollars of a judge that counts them
    labels      a file of people's labels: one row an answer, with request and a column by the name of a measure
    usd_per_request   what an answer costs, for a budget in dollars of a judge that does not count them
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    n: Count = 50
    measures: Annotated[Measures, BeforeValidator(listed)] = ["faithfulness"]
    judge: Text = defaults.JUDGE
    settings: Annotated[dict[str, Any], Words("a table of settings of the judge")] = Field(default_factory=dict)
    budget: LookBudget = LookBudget()
    labels: File | None = None
    usd_per_request: Annotated[float, Limits(above=0)] | None = None

    @model_validator(mode="after")
    def _fits(self) -> Self:
        for measure in self.specs:
            if not measure.definition.of_answers or not measure.aggregation.arithmetic:
                raise SettingError(
                    f"sample: {measure} is no mean of answers; take one such as faithfulness", "measures"
                )
        if self.budget.usd is not None and self.usd_per_request is None and self.judge != "llm":
            raise SettingError("sample: a budget in usd needs usd_per_request, what an answer costs", "budget")
        if "budget" in self.settings:
            raise SettingError("sample: name the budget of a look as budget, beside settings", "settings", "budget")
        return self

    @property
    def names(self) -> list[str]:
        """Names of its measures."""
        return [str(spec) for spec in self.specs]

    @property
    def specs(self) -> list[Measure]:
        """Its measures."""
        return [parse(name) for name in self.measures]


class SampleTable(JudgedTable):
    """The table [sample] of monitor.toml: `n` answers of a window, and a budget of one look, anchors among them.

    anchors     a file of answers, with query, answer and contexts; by default those drawn first, `n_anchors` of them
    anchor_every   so many windows after which anchors are judged again although the judge says that it is the same
    """

    anchors: File | None = None
    n_anchors: Annotated[int, at_least(2)] = 50
    anchor_every: Count = 7


class Answer(BaseModel):
    """An answer, with what it was asked and written from; `user` is its unit."""

    model_config = ConfigDict(frozen=True)
    request: str
    query: str
    answer: str
    contexts: list[str] = []
    ids: list[str] = []
    user: str = ""

    @property
    def retrieved(self) -> list[dict[str, str]]:
        """Its contexts, by the ids of the documents where there are as many and none comes twice."""
        fits = len(self.ids) == len(self.contexts) == len(set(self.ids))
        names = self.ids if fits else [f"context#{i}" for i in range(len(self.contexts))]
        return [{"id": name, "text": text} for name, text in zip(names, self.contexts, strict=True)]


@dataclass(frozen=True, eq=False)
class Window:
    """A window, and the answers that were drawn of it;   n   answers in it"""

    start: datetime
    end: datetime
    answers: Sequence[Answer]
    n: int


def draw(
    logs: Logs, windows: Windows, *, n: int, monitor: str, after: datetime | None = None, until: datetime | None = None
) -> list[Window]:
    """Answers of each window, drawn by chance and without replacement, of people's requests that were answered.

    The draw depends on the monitor, the window and the requests alone: two looks, or two machines, draw the same.

    after, until   as of `tabulate`
    """
    rows = answered(logs, ["time", "unit"])
    if after is not None:
        rows = rows.filter(pl.col("time") >= after)
    if until is not None:
        rows = rows.filter(pl.col("time") < until)
    frame = rows.sort("time", "request").collect()
    starts, ends = windows.bounds(frame["time"].to_physical().to_numpy(), after=after, until=until)
    place = np.searchsorted(starts, frame["time"].to_physical().to_numpy(), side="right") - 1
    usable = frame.with_columns(window=place).filter(pl.col("answer").is_not_null(), pl.col("query").is_not_null())
    by_window = usable.partition_by("window", as_dict=True)
    return [
        drawn(by_window.get((w,), usable.clear()), time_of(start), time_of(end), n=n, monitor=monitor)
        for w, (start, end) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True))
    ]


def answered(logs: Logs, columns: Sequence[str]) -> pl.LazyFrame:
    """Requests of people with their answers, null where there is none: some columns, and what a judge is shown."""
    own = logs.answers.filter(pl.col("answer").str.len_chars() > 0).unique("request", keep="first")
    return requests(logs, list(dict.fromkeys([*columns, "request", "query", "doc_ids"]))).join(
        own.select("request", "answer", "contexts"), on="request", how="left"
    )


def drawn(rows: pl.DataFrame, start: datetime, end: datetime, *, n: int, monitor: str) -> Window:
    """Answers of a window, or of what else, drawn by a hash of their requests;   rows   of `answered`, with `unit`"""

    def place(request: str) -> bytes:
        return hashlib.sha256(f"{monitor}\n{microseconds(start)}\n{request}".encode()).digest()

    chosen = sorted(rows["request"].to_list(), key=place)[:n]
    by_request = {row["request"]: row for row in rows.filter(pl.col("request").is_in(chosen)).iter_rows(named=True)}
    answers = [
        Answer(
            request=request, query=row["query"], answer=row["answer"], contexts=row["contexts"] or [],
            ids=row["doc_ids"] or [], user=str(row["unit"]),
        )
        for request in chosen
        for row in [by_request[request]]
    ]  # fmt: skip
    return Window(start, end, answers, len(rows))


def _rows_of(path: Path) -> list[tuple[str, dict[str, Any]]]:
    """Rows of JSON lines or of CSV, with their places.

    Raises   InputError for a file that cannot be read.
    """
    if path.suffix == ".csv":
        try:
            frame = pl.read_csv(path, infer_schema=False)
        except (pl.exceptions.PolarsError, OSError) as error:
            raise InputError(f"{path}: cannot be read as CSV ({exception_line(error)})") from None
        return [(f"{path}, row {i}", row) for i, row in enumerate(frame.iter_rows(named=True), 2)]
    return [(f"{path}, line {i}", row) for i, row in json_lines(Source(path))]


def read_anchors(path: Path | None) -> list[Answer]:
    """Answers that anchor the judge.

    Raises   InputError for a row without query or answer, and for fewer than two.
    """
    assert path is not None
    anchors = []
    for where, row in _rows_of(path):
        values = {key: row[key] for key in ("query", "answer", "contexts") if row.get(key) is not None}
        try:
            anchors.append(Answer(request=where, **values))
        except (ValidationError, TypeError):
            raise InputError(f"{where}: expected query and answer as texts, and contexts as a list of texts") from None
    if len(anchors) < _FEWEST_ANCHORS:
        raise InputError(f"{path}: holds {len(anchors)} anchors, expected at least {_FEWEST_ANCHORS}")
    return anchors


def read_labels(path: Path | None, names: Sequence[str]) -> dict[str, dict[str, float]]:
    """Measure -> request -> what people say; of several who labelled one answer, their mean.

    Raises   InputError for a row without a request, for a value that the measure cannot have, and for no such column.
    """
    assert path is not None
    labels: dict[str, dict[str, list[float]]] = {name: {} for name in names}
    rows = _rows_of(path)
    for where, row in rows:
        if not isinstance(row.get("request"), str):
            raise InputError(f"{where}: has no request; expected the id of a request, and a column {names[0]}")
        for name in names:
            if row.get(name) not in (None, ""):
                labels[name].setdefault(row["request"], []).append(_label(row[name], parse(name), where))
    if rows and not any(labels.values()):
        columns = ", ".join(dict.fromkeys(key for _, row in rows for key in row))
        raise InputError(f"{path}: has no column {' or '.join(names)} (columns: {columns})")
    return {
        name: {request: fsum(np.array(own)) / len(own) for request, own in by.items()} for name, by in labels.items()
    }


def _label(value: Any, measure: Measure, where: str) -> float:
    low, high = measure.definition.range
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not low <= number <= high:
        raise InputError(f"{where}: {measure} is {quoted(value)}, expected a number from {low:g} to {high:g}")
    return number
