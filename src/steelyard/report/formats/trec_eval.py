"""The output of the trec_eval program: its measure groups, names, order and number formats."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from steelyard.align.rankings import align
from steelyard.base.arrays import Bools, Floats, Ints
from steelyard.base.errors import MeasureError
from steelyard.data.run import StreamedRun
from steelyard.data.truth import Truth
from steelyard.measures import Alignment, Measure, make, parse
from steelyard.measures.parameters import ParameterValue
from steelyard.measures.registry import GEOMETRIC_FLOOR

_CUTOFFS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
_LEVELS = tuple(i / 10 for i in range(11))
_RELSTRING = 10
_MOST = 10**15
_LABEL_WIDTH = 22
_QUERY = "\0"
_QUERIES_AT_ONCE = 1000

Params = Mapping[str, ParameterValue]


@dataclass(frozen=True)
class TrecMeasure:
    """One name behind -m: what it prints without parameters, and what its parameters mean.

    spec      makes the measure of a cut-off or of parsed parameters
    cutoffs   default cut-offs; empty for a single value
    label     how a cut-off is printed behind the name
    read      reads the text behind the dot into parameters, where these are no cut-offs
    """

    spec: Callable[..., Measure]
    cutoffs: tuple[float, ...] = ()
    label: str = "{:d}"
    read: Callable[[str], Params] | None = None


@dataclass(frozen=True)
class Column:
    """One printed measure."""

    label: str
    spec: Measure | None
    length: int = 0


def _single(name: str) -> TrecMeasure:
    return TrecMeasure(lambda: parse(name))


def _ranked(name: str, cutoffs: tuple[float, ...] = _CUTOFFS) -> TrecMeasure:
    return TrecMeasure(lambda k: make(name, k), cutoffs)


def _graded(name: str) -> TrecMeasure:
    return TrecMeasure(lambda **params: make(name, None, params), read=_gain_map)


def _gain_map(text: str) -> Params:
    pairs = [piece.partition("=") for piece in text.split(",")]
    return {"gain": tuple(sorted((_number(level), _number(gain)) for level, _, gain in pairs))}


def _persistence(text: str) -> Params:
    key, _, value = text.partition("=")
    if key != "p":
        raise MeasureError(f"rbp takes p=0.9, not {text!r}")
    return {"p": _number(value)}


def _utility(text: str) -> Params:
    values = [_number(piece) for piece in text.split(",")]
    if len(values) != 4:
        raise MeasureError(f"utility takes four coefficients, e.g. utility.1,-1,0,0, not {text!r}")
    return dict(zip(("tp", "fp", "fn", "tn"), values, strict=True))


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise MeasureError(f"{text!r} is not a number") from None


# In the order in which trec_eval computes and prints.
TREC_MEASURES: dict[str, TrecMeasure | None] = {
    "runid": None,
    "num_q": None,
    "num_ret": _single("n_retrieved"),
    "num_rel": _single("n_relevant"),
    "num_rel_ret": _single("n_relevant_retrieved"),
    "map": _single("map"),
    "gm_map": _single("gm_map"),
    "Rprec": _single("r_precision"),
    "bpref": _single("bpref"),
    "recip_rank": _single("mrr"),
    "iprec_at_recall": TrecMeasure(lambda level: make("iprec", level), _LEVELS, "{:.2f}"),
    "P": _ranked("precision"),
    "relstring": None,
    "recall": _ranked("recall"),
    "infAP": _single("infap"),
    "gm_bpref": _single("gm_bpref"),
    "Rprec_mult": TrecMeasure(
        lambda multiple: make("r_precision", None, {"multiple": multiple}),
        tuple(i / 5 for i in range(1, 11)),
        "{:.2f}",
    ),
    "utility": TrecMeasure(lambda **params: make("utility", None, params), read=_utility),
    "11pt_avg": _single("11pt_avg"),
    "binG": _single("bin_g"),
    "G": _graded("g"),
    "dcg": _graded("dcg"),
    "ndcg": _graded("ndcg"),
    "ndcg_rel": _graded("ndcg_rel"),
    "Rndcg": _graded("rndcg"),
    "ndcg_cut": _ranked("ndcg"),
    "map_cut": _ranked("map"),
    "relative_P": _ranked("recall_cap"),
    "success": _ranked("hit_rate", (1, 5, 10)),
    "set_P": _single("precision"),
    "set_relative_P": _single("recall_cap"),
    "set_recall": _single("recall"),
    "set_map": _single("set_map"),
    # trec_eval's coefficient is the square of van Rijsbergen's beta.
    "set_F": TrecMeasure(lambda x=1.0: make("f", None, {"beta": math.sqrt(x)}), read=lambda text: {"x": _number(text)}),
    "num_nonrel_judged_ret": _single("n_nonrelevant_retrieved"),
    "rbp": TrecMeasure(lambda p=0.9: make("rbp", None, {"p": p}), read=_persistence),
    "rbp_resid": TrecMeasure(lambda: make("rbp_residual", None, {"p": 0.9})),
    "unj": _ranked("unjudged", (5, 10, 20)),
}
_OFFICIAL = ("runid", "num_q", "num_ret", "num_rel", "num_rel_ret", "map", "gm_map", "Rprec", "bpref", "recip_rank",
             "iprec_at_recall", "P")  # fmt: skip
_SET = ("runid", "num_q", "num_ret", "num_rel", "num_rel_ret", "utility", "set_P", "set_recall", "set_relative_P",
        "set_map", "set_F")  # fmt: skip
NICKNAMES = {"official": _OFFICIAL, "set": _SET, "all_trec": tuple(name for name in TREC_MEASURES if name != "dcg")}
_REFUSED = ("all_prefs", "prefs", "qrels_jg")


def columns(wanted: Sequence[str], *, min_gain: float, n_docs: float) -> list[Column]:
    """What `-m` arguments ask for, in trec_eval's order; of one name asked for twice, the first parameters hold.

    Raises   MeasureError naming the argument.
    """
    parameters: dict[str, str | None] = {}
    for argument in wanted or ["official"]:
        name, dot, text = argument.partition(".")
        if dot and not text:
            raise MeasureError(f"-m {argument}: parameters are missing behind the dot")
        if name in _REFUSED:
            raise MeasureError(f"-m {name}: preference and multi-judge measures are not supported")
        for member in NICKNAMES.get(name, (name,)):
            if member not in TREC_MEASURES:
                raise MeasureError(f"-m {argument}: trec_eval has no measure {member!r}; e.g. map, P.5,10, all_trec")
            parameters[member] = parameters.get(member) or text or None
    defaults = {"min_gain": min_gain, "n_docs": n_docs}
    return [
        Column(c.label, c.spec.with_default(**defaults) if c.spec else None, c.length)
        for name in TREC_MEASURES
        if name in parameters
        for c in _columns_of(name, parameters[name])
    ]


def _columns_of(name: str, text: str | None) -> Iterator[Column]:
    measure = TREC_MEASURES[name]
    label = name if text is None else f"{name}_{text}"
    if measure is None:
        length = int(_number(text)) if text and name == "relstring" else _RELSTRING
        yield Column(label if name == "relstring" else name, None, length)
    elif measure.cutoffs:
        cutoffs = measure.cutoffs if text is None else tuple(sorted(_number(piece) for piece in text.split(",")))
        if len(set(cutoffs)) < len(cutoffs):
            raise MeasureError(f"-m {name}.{text}: a cut-off is named twice")
        for cutoff in cutoffs:
            whole = int(cutoff) if measure.label == "{:d}" else cutoff
            yield Column(f"{name}_{measure.label.format(whole)}", measure.spec(cutoff))
    elif text is None:
        yield Column(name, measure.spec())
    elif measure.read is None:
        raise MeasureError(f"-m {name}.{text}: {name} takes no parameters")
    else:
        yield Column(label, measure.spec(**measure.read(text)))


def trec_eval_texts(
    truth: str | Path,
    run: str | Path,
    measures: Sequence[str] = (),
    *,
    min_gain: int = 1,
    n_docs: int = 0,
    depth: int | None = None,
    judged_only: bool = False,
    per_query: bool = False,
    summary: bool = True,
    complete: bool = False,
) -> Iterator[str]:
    """What trec_eval prints for two files, in pieces: the lines of one query after those of another, then the summary.

    measures   -m, those of trec_eval by default;   min_gain   -l;   n_docs   -N;   depth   -M;   judged_only   -J
    per_query, summary, complete   as of `texts`
    Raises     InputError, MeasureError.
    """
    selected = columns(list(measures), min_gain=min_gain, n_docs=n_docs)
    streamed = StreamedRun(run)
    alignment = align(Truth.read(truth), streamed).alignment
    if depth is not None:
        alignment = alignment.top(min(max(depth, 0), _MOST))
    if judged_only:
        alignment = alignment.condensed()
    yield from texts(alignment, selected, runid=streamed.tag, per_query=per_query, summary=summary, complete=complete)


def texts(
    alignment: Alignment, wanted: Sequence[Column], *, runid: str, per_query: bool, summary: bool, complete: bool
) -> Iterator[str]:
    """What trec_eval prints, in pieces.

    per_query   -q;   summary   not -n;   complete   -c: queries that are missing from the run count
    """
    counted: Bools = np.ones(alignment.n_queries, bool) if complete else ~alignment.missing
    values = [None if column.spec is None else column.spec(alignment) for column in wanted]
    if per_query:
        yield from _query_texts(alignment, np.flatnonzero(counted), wanted, values)
    if summary:
        yield from _summary_lines(runid, counted, wanted, values)


def _query_texts(
    alignment: Alignment, queries: Ints, wanted: Sequence[Column], values: Sequence[Floats | None]
) -> Iterator[str]:  # fmt: skip
    """All lines of each query: one template, filled in with its values and its id."""
    template, fields = "", []
    for column, value in zip(wanted, values, strict=True):
        if column.label.startswith("relstring"):
            fields.append(np.array(_relstrings(alignment, column.length), object))
        elif value is not None and column.spec is not None and column.spec.definition.aggregate != "geometric":
            fields.append(value)
        else:
            continue
        template += _line(column.label, _QUERY, _form(column))
    for start in range(0, len(queries) if fields else 0, _QUERIES_AT_ONCE):
        part = queries[start : start + _QUERIES_AT_ONCE]
        rows = zip(*(field[part].tolist() for field in fields), strict=True)
        for i, row in zip(part.tolist(), rows, strict=True):
            yield (template % row).replace(_QUERY, alignment.query_id[i])


def _summary_lines(
    runid: str, counted: Bools, wanted: Sequence[Column], values: Sequence[Floats | None]
) -> Iterator[str]:  # fmt: skip
    for column, value in zip(wanted, values, strict=True):
        if column.label == "runid":
            yield _line(column.label, "all", runid)
        elif column.label == "num_q":
            yield _line(column.label, "all", str(int(counted.sum())))
        elif value is not None and column.spec is not None:
            yield _line(column.label, "all", _form(column) % _summary(column.spec, value[counted]))


def _summary(spec: Measure, values: Floats) -> float:
    """Total or mean, added one by one from the first query to the last, as trec_eval adds."""
    aggregate = spec.definition.aggregate
    if aggregate == "geometric":
        values = np.array([math.log(max(value, GEOMETRIC_FLOOR)) for value in values.tolist()])
    total = float(np.add.accumulate(np.append(0.0, values))[-1])
    if aggregate == "total":
        return total
    mean = total / len(values)
    return math.exp(mean) if aggregate == "geometric" else mean


def _form(column: Column) -> str:
    """How a value of a column is written."""
    if column.spec is None:
        return "'%s'"
    return "%.0f" if column.spec.definition.aggregate == "total" else "%6.4f"


def _line(label: str, query: str, text: str) -> str:
    return f"{label:<{_LABEL_WIDTH}}\t{query}\t{text}\n"


def _relstrings(alignment: Alignment, length: int) -> list[str]:
    """For each query a character for each of the first documents: its label, > above 9, - without one, . below 0."""
    counts = np.minimum(alignment.n_retrieved, max(length, 0))
    ends = np.cumsum(counts)
    query, rank, gain = alignment.hit_query, alignment.hit_rank, alignment.hit_gain
    shown = rank <= counts[query]
    codes = np.where(gain < 0, ord("."), np.where(gain > 9, ord(">"), ord("0") + np.clip(gain, 0, 9).astype(np.uint8)))
    characters = np.full(int(counts.sum()), ord("-"), np.uint8)
    characters[(ends - counts)[query[shown]] + rank[shown] - 1] = codes[shown]
    text = characters.tobytes().decode()
    return [text[end - count : end] for end, count in zip(ends.tolist(), counts.tolist(), strict=True)]
