"""The output of the trec_eval program: its measure groups, names, order and number formats."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from steelyard.align.rankings import align
from steelyard.base.arrays import Bools, Floats, Ints
from steelyard.base.errors import MeasureError
from steelyard.data.run import StreamedRun
from steelyard.data.truth import Truth
from steelyard.io.trec import TrecFile
from steelyard.measures import Alignment, Measure, make, parse
from steelyard.measures.aggregates import GEOMETRIC_FLOOR
from steelyard.measures.parameters import ParameterValue
from steelyard.measures.spec import weight_of_recall

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
    mean      whether one value is printed, the mean over all cut-offs
    """

    spec: Callable[..., Measure]
    cutoffs: tuple[float, ...] = ()
    label: str = "{:d}"
    read: Callable[[str], Params] | None = None
    mean: bool = False


@dataclass(frozen=True)
class Column:
    """One printed line of a query.

    specs    the measures whose mean it is, one as a rule; none for what is no measure
    length   of a relstring
    """

    label: str
    specs: tuple[Measure, ...]
    length: int = 0

    @property
    def aggregate(self) -> str | None:
        """The aggregate that makes one value of those of the queries; None for what is no measure."""
        return self.specs[0].definition.aggregate if self.specs else None

    def values(self, alignment: Alignment) -> Floats | None:
        """(q,) value of each query; a mean is added from the last measure to the first, as trec_eval adds."""
        if not self.specs:
            return None
        values = [spec(alignment) for spec in self.specs]
        return values[0] if len(values) == 1 else np.asarray(sum(reversed(values)) / len(values))


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
    """`p=0.8`, gains of labels as in `1=3,2=9`, or both."""
    pairs = [piece.partition("=")[::2] for piece in text.split(",")]
    gains = {_number(level): _number(gain) for level, gain in pairs if level != "p"}
    parameters: dict[str, ParameterValue] = {key: _number(value) for key, value in pairs if key == "p"}
    return {**parameters, "gain": tuple(sorted(gains.items()))} if gains else parameters


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
        lambda multiple: make("r_precision", None, {"multiple": multiple}), tuple(i / 5 for i in range(1, 11)), "{:.2f}"
    ),
    "utility": TrecMeasure(lambda **params: make("utility", None, params), read=_utility),
    "11pt_avg": TrecMeasure(lambda level: make("iprec", level), _LEVELS, mean=True),
    "binG": _single("bin_g"),
    "G": _graded("g"),
    "dcg": _graded("dcg"),
    "ideal_dcg": _graded("ideal_dcg"),
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
    "set_F": TrecMeasure(
        lambda x=1.0: make("f", None, weight_of_recall(x)), read=lambda text: {"x": _number(text.partition(",")[0])}
    ),
    "num_nonrel_judged_ret": _single("n_nonrelevant_retrieved"),
    "yaap": _single("yaap"),
    "rbp": TrecMeasure(lambda p=0.9, gain="linear": make("rbp", None, {"p": p, "gain": gain}), read=_persistence),
    "rbp_resid": TrecMeasure(
        lambda p=0.9, gain="linear": make("rbp_residual", None, {"p": p, "tail": "unjudged"}), read=_persistence
    ),
    "unj": _ranked("unjudged", (5, 10, 20)),
}
_OFFICIAL = ("runid", "num_q", "num_ret", "num_rel", "num_rel_ret", "map", "gm_map", "Rprec", "bpref", "recip_rank",
             "iprec_at_recall", "P")  # fmt: skip
_SET = ("runid", "num_q", "num_ret", "num_rel", "num_rel_ret", "utility", "set_P", "set_recall", "set_relative_P",
        "set_map", "set_F")  # fmt: skip
_ON_REQUEST = {"dcg", "ideal_dcg", "yaap"}
NICKNAMES = {"official": _OFFICIAL, "set": _SET, "all_trec": tuple(n for n in TREC_MEASURES if n not in _ON_REQUEST)}
_OF_PREFERENCES = "preferences between documents (-R prefs, -R qrels_prefs)"
_OF_GROUPS = "judgments of several groups (-R qrels_jg)"
NOT_TAKEN = {
    **dict.fromkeys(
        ("prefs", "all_prefs", "prefs_num_prefs_poss", "prefs_num_prefs_ful", "prefs_num_prefs_ful_ret", "prefs_simp",
         "prefs_pair", "prefs_avgjg", "prefs_avgjg_Rnonrel", "prefs_simp_ret", "prefs_pair_ret", "prefs_avgjg_ret",
         "prefs_avgjg_Rnonrel_ret", "prefs_simp_imp", "prefs_pair_imp", "prefs_avgjg_imp"), _OF_PREFERENCES),
    **dict.fromkeys(("qrels_jg", "map_avgjg", "P_avgjg", "Rprec_mult_avgjg"), _OF_GROUPS),
}  # fmt: skip
"""Measures and nicknames of trec_eval that are not taken here, with what they measure."""


def columns(wanted: Sequence[str], *, min_gain: float, n_docs: float) -> list[Column]:
    """Measures that `-m` arguments ask for, in trec_eval's order; of one asked for twice, the first parameters hold.

    Raises   MeasureError naming the argument.
    """
    parameters: dict[str, str | None] = {}
    for argument in wanted or ["official"]:
        name, dot, text = argument.partition(".")
        if dot and not text:
            raise MeasureError(f"-m {argument}: parameters are missing behind the dot")
        if name in NOT_TAKEN:
            raise MeasureError(f"-m {name}: is not taken here; it is about {NOT_TAKEN[name]}, and the truth is qrels")
        for member in NICKNAMES.get(name, (name,)):
            if member not in TREC_MEASURES:
                raise MeasureError(f"-m {argument}: trec_eval has no measure {member!r}; e.g. map, P.5,10, all_trec")
            parameters[member] = parameters.get(member) or text or None
    defaults = {"min_gain": min_gain, "n_docs": n_docs}
    return [
        replace(c, specs=tuple(spec.with_default(**defaults) for spec in c.specs))
        for name in TREC_MEASURES
        if name in parameters
        for c in _columns_of(name, parameters[name])
    ]


def _columns_of(name: str, text: str | None) -> Iterator[Column]:
    measure = TREC_MEASURES[name]
    label = name if text is None else f"{name}_{text}"
    if measure is None:
        length = int(_number(text)) if text and name == "relstring" else _RELSTRING
        yield Column(label if name == "relstring" else name, (), length)
    elif measure.mean:
        yield Column(label, tuple(measure.spec(level) for level in _cutoffs(measure, name, text)))
    elif measure.cutoffs:
        for cutoff in _cutoffs(measure, name, text):
            yield Column(f"{name}_{measure.label.format(cutoff)}", (measure.spec(cutoff),))
    elif text is None:
        yield Column(name, (measure.spec(),))
    elif measure.read is None:
        raise MeasureError(f"-m {name}.{text}: {name} takes no parameters")
    else:
        yield Column(label, (measure.spec(**measure.read(text)),))


def _cutoffs(measure: TrecMeasure, name: str, text: str | None) -> tuple[float, ...]:
    """The cut-offs that a text names, ascending; ranks lose their fraction."""
    if text is None:
        return measure.cutoffs
    numbers = [_number(piece) for piece in text.split(",")]
    cutoffs = sorted(map(int, numbers) if isinstance(measure.cutoffs[0], int) else numbers)
    if len(set(cutoffs)) < len(cutoffs):
        raise MeasureError(f"-m {name}.{text}: a cut-off is named twice")
    return tuple(cutoffs)


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
    remark: Callable[[str], object] = str,
) -> Iterator[str]:
    """Output of trec_eval for two files, in pieces: the lines of one query after those of another, then the summary.

    measures   -m, those of trec_eval by default;   min_gain   -l;   n_docs   -N;   depth   -M;   judged_only   -J
    per_query, summary, complete   as of `texts`
    remark     called with what trec_eval passes over in silence: a line of the run whose second record does not count
    Raises     InputError, MeasureError.
    """
    selected = columns(list(measures), min_gain=min_gain, n_docs=n_docs)
    streamed = StreamedRun(run)
    if isinstance(streamed.content, TrecFile):
        streamed.content.keeps_first = True
    alignment = align(Truth.read(truth), streamed).alignment
    if isinstance(streamed.content, TrecFile) and streamed.content.joined:
        remark(f"{min(streamed.content.joined)[1]}; trec_eval reads the first record alone, and so does this")
    if depth is not None:
        alignment = alignment.top(min(max(depth, 0), _MOST))
    if judged_only:
        alignment = alignment.condensed()
    yield from texts(alignment, selected, runid=streamed.tag, per_query=per_query, summary=summary, complete=complete)


def texts(
    alignment: Alignment, wanted: Sequence[Column], *, runid: str, per_query: bool, summary: bool, complete: bool
) -> Iterator[str]:
    """The output of trec_eval, in pieces.

    per_query   -q;   summary   not -n;   complete   -c: queries that are missing from the run count
    """
    counted: Bools = np.ones(alignment.n_queries, bool) if complete else ~alignment.missing
    values = [column.values(alignment) for column in wanted]
    if per_query:
        yield from _query_texts(alignment, np.flatnonzero(counted), wanted, values)
    if summary:
        yield from _summary_lines(runid, counted, wanted, values)


def _query_texts(
    alignment: Alignment, queries: Ints, wanted: Sequence[Column], values: Sequence[Floats | None]
) -> Iterator[str]:
    """All lines of each query: one template, filled in with its values and its id."""
    template, fields = "", []
    for column, value in zip(wanted, values, strict=True):
        if column.label.startswith("relstring"):
            fields.append(np.array(_relstrings(alignment, column.length), object))
        elif value is not None and column.aggregate != "geometric":
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
) -> Iterator[str]:
    for column, value in zip(wanted, values, strict=True):
        if column.label == "runid":
            yield _line(column.label, "all", runid)
        elif column.label == "num_q":
            yield _line(column.label, "all", str(int(counted.sum())))
        elif value is not None:
            yield _line(column.label, "all", _form(column) % _summary(column.aggregate, value[counted]))


def _summary(aggregate: str | None, values: Floats) -> float:
    """Total or mean, added one by one from the first query to the last, as trec_eval adds."""
    if aggregate == "geometric":
        values = np.array([math.log(max(value, GEOMETRIC_FLOOR)) for value in values.tolist()])
    total = float(np.add.accumulate(np.append(0.0, values))[-1])
    if aggregate == "total":
        return total
    mean = total / len(values)
    return math.exp(mean) if aggregate == "geometric" else mean


def _form(column: Column) -> str:
    """The form in which a value of a column is written."""
    if column.aggregate is None:
        return "'%s'"
    return "%.0f" if column.aggregate == "total" else "%6.4f"


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
