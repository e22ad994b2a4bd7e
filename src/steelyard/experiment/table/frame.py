"""Scores as one long frame and back: a row for each system, query and measure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from steelyard._version import __version__
from steelyard.base.arrays import Bools, Floats, Ints
from steelyard.base.errors import InputError
from steelyard.base.nearest import nearest
from steelyard.base.schema import COLUMN_NAMES, SCORES
from steelyard.data.clusters import Clustering, named_clusters
from steelyard.data.run import is_path
from steelyard.experiment.table.arrays import CAUSES, ScoreArrays
from steelyard.io import formats
from steelyard.io.evaluation_lines import score_rows
from steelyard.io.evaluation_rows import holds_rows, read_rows, rows_of
from steelyard.io.objects import is_frame, to_polars
from steelyard.io.source import source_of
from steelyard.measures import Measure
from steelyard.measures.judged_answers import Codes
from steelyard.measures.spec import measure_or_column

_CLUSTER = "$cluster"
"""What the column of clusters is called inside; no column of a file is."""

FLAGS = ("failed", "missing", "unwinnable", "no_relevant")
"""Why a value is 0 or null, the gravest first."""

UNMEASURED = ("unplaced", "not_measured")
"""Why a value is null where no flag and no cause holds: its gold characters have no place, or there is no number."""

STATUSES = ("ok", *FLAGS, *UNMEASURED, *CAUSES)
_BETWEEN = ", "
_REASONS = [
    _BETWEEN.join([*(name for i, name in enumerate(FLAGS) if bits >> i & 1), *causes]) or None
    for causes in ((), *((cause,) for cause in (*UNMEASURED, *CAUSES)))
    for bits in range(1 << len(FLAGS))
]
"""Reasons by the bits of the flags that hold, and by what comes besides: nothing, or one of UNMEASURED and CAUSES."""


def flags(scores: ScoreArrays) -> list[Bools]:
    """Masks of where each of FLAGS holds, as arrays that broadcast to (s, m, q)."""
    of_rankings = ~np.array([measure.definition.of_answers for measure in scores.measures], bool)[None, :, None]
    unwinnable = scores.unwinnable[:, None] & of_rankings
    return [scores.failed[:, None], scores.missing[:, None], unwinnable, scores.no_relevant]


def statuses(scores: ScoreArrays) -> Ints:
    """(s, m, q) the place of each value's status in STATUSES; the first flag, or else the cause."""
    characters = np.array(["characters" in measure.definition.inputs for measure in scores.measures])[None, :, None]
    absent, shape = np.isnan(scores.values), scores.values.shape
    conditions: list[tuple[Bools, Ints | int]] = [(holds, 1 + i) for i, holds in enumerate(flags(scores))]
    if scores.causes is not None:
        places = scores.causes.astype(np.int64) + (len(STATUSES) - len(CAUSES) - 1)
        conditions.append((scores.causes > 0, places))
    conditions += [(absent & characters, STATUSES.index("unplaced")), (absent, STATUSES.index("not_measured"))]
    return np.select(
        [np.broadcast_to(holds, shape) for holds, _ in conditions],
        [np.broadcast_to(place, shape) for _, place in conditions],
        0,
    )


def frame_of(scores: ScoreArrays) -> pl.DataFrame:
    """All values with schema SCORES, ordered by system, query and measure."""
    s, m, q = scores.values.shape
    status = statuses(scores)
    # What holds of a value, as bits: there are few combinations, and each is put into words once.
    bits = np.where(status > len(FLAGS), status - len(FLAGS), 0)
    if scores.causes is not None:
        bits = np.where(scores.causes > 0, scores.causes + len(UNMEASURED), bits)
    bits <<= len(FLAGS)
    for i, holds in enumerate(flags(scores)):
        bits |= holds.astype(np.int64) << i
    names = [str(measure) for measure in scores.measures]

    def column(values: Any) -> Any:
        return values.transpose(0, 2, 1).ravel()

    return pl.DataFrame(
        {
            "system": pl.Series(scores.systems, dtype=pl.String).gather(np.repeat(np.arange(s), q * m)),
            "query_id": pl.Series(scores.query_ids, dtype=pl.String).gather(np.tile(np.repeat(np.arange(q), m), s)),
            "measure": pl.Series(names, dtype=pl.String).gather(np.tile(np.arange(m), s * q)),
            "value": pl.Series(column(scores.values), nan_to_null=True),
            "status": pl.Series(STATUSES).gather(column(status)),
            "reason": pl.Series(_REASONS).gather(column(bits)),
            "judged": pl.Series(column(scores.judged), nan_to_null=True),
        },
        schema=SCORES,
    )


def arrays_of(data: object, *, system: str, cluster: str | None = None) -> dict[str, Any]:
    """The fields of Scores from a frame; see `Scores.of`."""
    frame = _checked(_foreign(data, system), system, cluster)
    systems = frame["system"].unique(maintain_order=True)
    query_ids = frame["query_id"].unique().sort()
    names = frame["measure"].unique(maintain_order=True)
    specs = [measure_or_column(name) for name in names]
    measures = list(dict.fromkeys(specs))
    s, m, q = len(systems), len(measures), len(query_ids)
    of_system = _places(frame["system"], systems)
    of_query = _places(frame["query_id"], query_ids)
    of_measure = np.array([measures.index(spec) for spec in specs])[_places(frame["measure"], names)]
    cell = (of_system * m + of_measure) * q + of_query
    _refuse_repeats(frame, cell)

    def spread(column: str) -> Floats:
        values = np.full(s * m * q, np.nan)
        values[cell] = frame[column].fill_null(np.nan).to_numpy()
        return values.reshape(s, m, q)

    of_query_alone: dict[str, Bools] = {}
    for name in FLAGS[:3]:
        rows = _holds(frame, name)
        of_query_alone[name] = np.zeros((s, q), bool)
        of_query_alone[name][of_system[rows], of_query[rows]] = True
    no_relevant = np.zeros(s * m * q, bool)
    no_relevant[cell[_holds(frame, "no_relevant")]] = True
    return dict(
        systems=systems.to_list(), query_ids=query_ids.to_list(), measures=measures, values=spread("value"),
        **of_query_alone, no_relevant=no_relevant.reshape(s, m, q), judged=spread("judged"),
        unjudged_queries=np.zeros(s, np.int64), gold=[None] * s, causes=_causes(frame, cell, (s, m, q)),
        recipe_parts={
            "steelyard": __version__,
            **{name: _policy(frame, name) for name in ("missing", "no_relevant")},
            **({} if cluster is None else {"cluster": cluster}),
        },
        clustering=None if cluster is None else _clustering(frame, cluster, query_ids),
    )  # fmt: skip


def _foreign(data: object, system: str) -> object:
    """Values that other tools measured as a long frame; anything else as it is.

    Raises   InputError for a file that none of them wrote.
    """
    if is_path(data):
        source = source_of(data)
        format = formats.sniff(source)
        if not holds_rows(source, format):
            raise InputError(
                f"{source.name}: is no file of ragas, deepeval, RAGChecker or MTRAG; read a table of values with "
                "Polars or pandas, and pass the frame"
            )
        return score_rows(read_rows(source, format, system), source.name)
    rows = rows_of(data)
    return data if rows is None else score_rows(((f"row {n}", row) for n, row in enumerate(rows, 1)), "the rows")


def _causes(frame: pl.DataFrame, cell: Ints, shape: tuple[int, int, int]) -> Codes | None:
    """(s, m, q) causes by status or reason; None where no row has one."""
    causes = np.zeros(shape, np.int8).ravel()
    for place, name in enumerate(CAUSES, 1):
        causes[cell[_holds(frame, name)]] = place
    return causes.reshape(shape) if causes.any() else None


def _clustering(frame: pl.DataFrame, cluster: str, query_ids: pl.Series) -> Clustering:
    """The clusters of the queries by a column.

    Raises   InputError for a query in two clusters
    """
    names = frame.group_by("query_id").agg(pl.col(_CLUSTER).unique(maintain_order=True).alias("names")).sort("query_id")
    several = names.filter(pl.col("names").list.len() > 1)
    if len(several):
        query_id, of = several.row(0)
        raise InputError(f"question {query_id!r} is in two clusters, {of[0]!r} and {of[1]!r}; expected one {cluster}")
    return named_clusters(cluster, names["names"].list.first().to_list())


def _checked(data: object, system: str, cluster: str | None) -> pl.DataFrame:
    """A frame with the columns of SCORES, each of its type.

    Raises   InputError naming what is missing or wrong, and the row.
    """
    if not is_frame(data):
        raise InputError(
            f"scores cannot be read from {type(data).__name__}; pass a frame with query_id, measure, value"
        )
    frame = to_polars(data, also=SCORES.names())
    query = next((name for name in frame.columns if name.lower() in COLUMN_NAMES["query_id"]), "query_id")
    frame = frame.rename({query: "query_id"}) if query in frame.columns else frame
    if missing := [name for name in ("query_id", "measure", "value") if name not in frame.columns]:
        raise InputError(
            f"the frame has no column {missing[0]!r} (columns: {', '.join(frame.columns)}); scores need query_id, "
            "measure and value, one value a row; turn a frame with one column a measure with unpivot"
        )
    if frame.is_empty():
        raise InputError("the frame has no rows; expected one a value")
    defaults = {"system": pl.lit(system), "status": pl.lit("ok"), "reason": pl.lit(None), "judged": pl.lit(None)}
    frame = frame.with_columns(**{key: value for key, value in defaults.items() if key not in frame.columns})
    if frame["value"].dtype == pl.String:
        raise InputError(
            f"column 'value' holds text, such as {frame['value'].drop_nulls().first()!r}; expected numbers"
        )
    if cluster is not None and cluster not in frame.columns:
        raise InputError(f"cluster {cluster!r}: the frame has no such column; {nearest(cluster, frame.columns)}")
    more = [] if cluster is None else [pl.col(cluster).cast(pl.String).alias(_CLUSTER)]
    frame = frame.select(*(pl.col(name).cast(kind) for name, kind in SCORES.items()), *more)
    frame = frame.with_columns(pl.col("value", "judged").fill_nan(None))
    for name in ("system", "query_id", "measure"):
        if frame[name].null_count():
            raise InputError(f"row {frame[name].is_null().arg_max() + 1}: {name} is empty")  # type: ignore[operator]
    if (infinite := frame["value"].is_infinite().fill_null(False)).any():
        raise InputError(f"row {infinite.arg_max() + 1}: value is not a finite number")  # type: ignore[operator]
    for status in frame["status"].fill_null("").unique():
        if status not in STATUSES:
            raise InputError(f"a status is {status!r}; {nearest(status, STATUSES)}")
    for code in frame["reason"].drop_nulls().unique().str.split(_BETWEEN).explode().unique():
        if code not in STATUSES:
            raise InputError(f"a reason is {code!r}; {nearest(code, STATUSES)}")
    return frame


def _places(column: pl.Series, names: pl.Series) -> Ints:
    return column.replace_strict(names, pl.Series(range(len(names)), dtype=pl.Int64)).to_numpy()


def _refuse_repeats(frame: pl.DataFrame, cell: Ints) -> None:
    order = np.argsort(cell, kind="stable")
    again = np.flatnonzero(np.diff(cell[order]) == 0)
    if len(again):
        system, query_id, measure = frame.row(int(order[again[0] + 1]))[:3]
        raise InputError(f"system {system!r}, question {query_id!r}: {measure} has two values; keep one")


def _holds(frame: pl.DataFrame, name: str) -> Bools:
    """(n,) rows of which a flag holds, by their status or their reason."""
    reasons = pl.col("reason").fill_null("").str.split(_BETWEEN)
    return frame.select((pl.col("status") == name) | reasons.list.contains(name)).to_series().to_numpy()


def _policy(frame: pl.DataFrame, name: str) -> str:
    """True if values of a flag are left out; they count as 0 otherwise."""
    values = frame["value"].filter(pl.Series(_holds(frame, name)))
    return "skip" if len(values) and values.null_count() == len(values) else "zero"


def places_of(names: Sequence[str] | str | None, among: Sequence[str], what: str) -> Ints:
    """Places of some names, in the order of all; every place where none are named.

    Raises   InputError with the nearest name.
    """
    if names is None:
        return np.arange(len(among))
    wanted = {names} if isinstance(names, str) else set(names)
    for name in sorted(wanted - set(among)):
        raise InputError(f"no {what} is called {name!r}; {nearest(name, among)}")
    return np.array([place for place, name in enumerate(among) if name in wanted], np.int64)


def spec_names(measures: Sequence[str | Measure] | str | Measure | None) -> list[str] | None:
    """Measures in any spelling by the names under which they are printed."""
    if measures is None:
        return None
    listed = [measures] if isinstance(measures, str | Measure) else measures
    return [str(measure_or_column(measure)) for measure in listed]
