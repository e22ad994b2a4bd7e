"""Scores as one JSON file that holds everything: written for people and programs, read back for gates and reports.

    format                                     number of this layout; files from before it was written have none
    signature                                  one quotable line, which follows from the rest
    columns                                    measures that are columns of numbers; only where there are any
    systems.NAME.metrics, intervals, counts    by measure, as `Scores.mean` has them
    systems.NAME.reachable                     by measure, the mean of a perfect ranking; null where it is not known
    systems.NAME.gold                          how the gold was found; only where it is evidence, or whole documents of
                                               which chunks were retrieved
    systems.NAME.notes                         what else is to be known: codes with values; only where there is any
    systems.NAME.per_query                     query -> measure -> value, null where the query is skipped
    systems.NAME.queries                       ids of missing, failed and unwinnable queries; no_relevant by measure,
                                               and causes by measure and cause, only where there are any
    systems.NAME.judged                        share of labelled documents: a list of measures and their values, which
                                               are in the order of the queries, null where there is none
    systems.NAME.corrections                   by measure, its mean by judge, by people alone and by both, with a
                                               pseudo-value for each query; only of means that labels of people correct.
                                               residuals (what labels add to these) and counts (labels of each query)
                                               correct means of some of the queries
    systems.NAME.components                    of a system with several runs, by measure, as `Scores.components` has it
    systems.NAME.runs                          of a system with several runs, the values of each: a list of runs, in it
                                               one of measures, in it one of queries; per_query holds their means
    perfect                                    values of a perfect ranking: a list of measures, systems, and their
                                               values in the order of the queries; only of what is known
    ceilings                                   likewise, of the best order of the candidates that a system reorders; of
                                               systems that do, and only where there are any
    clusters                                   by which questions count as one, and the cluster of each, a number,
                                               in the order of the queries; only where some do
    recipe                                     how the numbers came about; its measures belong to the result

The ends of the intervals and what is reachable are not read back: they follow from values and `perfect`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from steelyard.align.gold import LossCode
from steelyard.align.resolver import GoldMapping
from steelyard.base.arrays import Bools, Floats
from steelyard.base.choices import Unit
from steelyard.base.errors import InputError, MeasureError, quoted
from steelyard.base.notes import Note
from steelyard.base.shapes import Each, Object, check_shape
from steelyard.data.clusters import Clustering
from steelyard.experiment.corrections import Correction
from steelyard.experiment.table.arrays import CAUSES, computed, refuse_impossible
from steelyard.experiment.table.scores import Scores
from steelyard.io.json_files import parse_json
from steelyard.io.source import Source
from steelyard.measures import parse
from steelyard.measures.judged_answers import Codes
from steelyard.measures.spec import measure_or_column

if TYPE_CHECKING:
    from steelyard.stats.labels.prediction_powered import LabelCounts, LabelledMean

_WRITE = "write it with `steelyard evaluate TRUTH RUN --format json --output SCORES`"
_BY_MEASURE = "no_relevant"
_CAUSES = "causes"
_CORRECTIONS = "corrections"
_OF_QUERIES = ("missing", "failed", "unwinnable")
_DERIVED = ("measures", "interval")
_FILE = Object(optional={"name": str, "digest": str})
_RECIPE = Object(
    {"measures": Each(list, str)},
    {
        **dict.fromkeys(
            ("steelyard", "missing", "no_relevant", "on_duplicate", "normalise_ids", "rule", "cluster"), str
        ),
        "truth": _FILE,
        "corpus": _FILE,
        "runs": Each(dict, str),
        "steps": Each(list, str),
        "hold_out": float,
        "verdicts": Each(dict, Each(list, Object({"judge": Object({"name": str})}))),
    },
)
"""What commands take from a recipe."""
_LEVELS = 4
"""Down to here every key has a line of its own; what is deeper, such as the values of one query, takes one line."""

FORMAT = 1
"""Number of the layout; a larger one is of a later Steelyard."""


def as_json(scores: Scores) -> str:
    """Everything, the values of all queries too; numbers in full precision, null where there is none."""
    means = scores.mean().to_dicts()
    m = len(scores.measures)
    # Each system is put together when it is written: many thousands of them never lie in memory as dicts.
    systems = {name: partial(_system, scores, i, means[i * m : (i + 1) * m]) for i, name in enumerate(scores.systems)}
    columns = [str(measure) for measure in scores.measures if "numbers" in measure.definition.inputs]
    head = {"format": FORMAT, "signature": str(scores.signature)} | ({"columns": columns} if columns else {})
    highest = {"perfect": _highest(scores, computed(scores.perfect))}
    highest |= {"ceilings": _highest(scores, scores.ceilings)} if scores.ceilings else {}
    content = {**head, "systems": systems, **highest, **_clusters(scores.clustering), "recipe": scores.recipe}
    return _text(content, _LEVELS) + "\n"


_line = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


class _Line(str):
    """A value that is JSON already."""


def _text(value: object, levels: int, indent: str = "") -> str:
    if callable(value):
        value = value()
    if isinstance(value, _Line):
        return value
    if not (isinstance(value, dict) and value and levels):
        return _line(value)
    inner = indent + "  "
    lines = [f"{inner}{_line(key)}: {_text(item, levels - 1, inner)}" for key, item in value.items()]
    return "{\n" + ",\n".join(lines) + f"\n{indent}}}"


def _system(scores: Scores, i: int, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """One system;   rows   those of `Scores.mean`."""
    names = [str(measure) for measure in scores.measures]
    system: dict[str, Any] = {
        "metrics": {row["measure"]: _finite(row["mean"]) for row in rows},
        "intervals": {row["measure"]: [_finite(row["low"]), _finite(row["high"])] for row in rows},
        "reachable": dict(zip(names, map(_known, scores.reachable[i].tolist()), strict=True)),
        "counts": {
            "queries": len(scores.query_ids),
            "missing": int(scores.missing[i].sum()),
            "failed": int(scores.failed[i].sum()),
            "unwinnable": int(scores.unwinnable[i].sum()),
            "unjudged_queries": int(scores.unjudged_queries[i]),
            "no_relevant": {row["measure"]: row["no_relevant"] for row in rows},
            "n": {row["measure"]: row["n"] for row in rows},
            "judged": {row["measure"]: row["judged"] for row in rows},
            **({} if scores.causes is None else {"not_judged": {row["measure"]: row["not_judged"] for row in rows}}),
        },
    }
    if (mapping := scores.gold[i]) is not None:
        system["gold"] = {
            "unit": mapping.unit,
            "rule": mapping.rule,
            "steps": list(mapping.steps),
            "pieces": mapping.kinds,
            "corpus_known": mapping.complete,
            "placed": mapping.placed,
            "lost": _lost(mapping),
            "unwinnable": list(mapping.unwinnable),
        }
    if notes := scores.notes.get(scores.systems[i]):
        system["notes"] = [note.as_json() for note in notes]
    line = "{" + ", ".join(f"{_line(name)}: ".replace("%", "%%") + "%s" for name in names) + "}"
    texts = _numbers_text(scores.values[i].T)
    system["per_query"] = {
        query_id: _Line(line % tuple(texts[q * len(names) : (q + 1) * len(names)]))
        for q, query_id in enumerate(scores.query_ids)
    }
    if (runs := scores.repeats.get(scores.systems[i])) is not None:
        components = scores.components.filter(system=scores.systems[i]).drop("system").iter_rows(named=True)
        system["components"] = {row.pop("measure"): row for row in components}
        system["runs"] = [[list(map(_known, row)) for row in run] for run in runs.tolist()]
    if corrections := scores.corrections.get(scores.systems[i]):
        system[_CORRECTIONS] = {name: correction_json(correction) for name, correction in corrections.items()}
    rows_of = {"missing": scores.missing, "failed": scores.failed, "unwinnable": scores.unwinnable}
    system["queries"] = {name: _ids(scores, rows_of[name][i]) for name in _OF_QUERIES}
    system["queries"][_BY_MEASURE] = {name: _ids(scores, scores.no_relevant[i, j]) for j, name in enumerate(names)}
    if scores.causes is not None and (causes := _causes(scores, scores.causes[i], names)):
        system["queries"][_CAUSES] = causes
    system["judged"] = _judged(scores.judged[i], names)
    return system


_LABELLED = ("mean", "low", "high", "error", "df")


def correction_json(correction: Correction) -> dict[str, Any]:
    """A correction as data; null for NaN."""

    def labelled(own: LabelledMean) -> dict[str, Any]:
        numbers = {name: _known(getattr(own, name)) for name in _LABELLED}
        residuals = {} if own.residuals is None else {"residuals": own.residuals.tolist()}
        return {**numbers, "values": [_known(value) for value in own.values.tolist()], **residuals}

    mean = correction.mean
    counts = {} if mean.counts is None else {"counts": {name: own.tolist() for name, own in vars(mean.counts).items()}}
    ends = {} if mean.ends is None else {"lowest": labelled(mean.ends.lowest), "highest": labelled(mean.ends.highest)}
    return {
        "unit": correction.unit, "n_drawn": correction.n_drawn, "digest": correction.digest,
        "n_labels": mean.n_labels, "n_units": mean.n_units, "judge": _known(mean.judge),
        "people": labelled(mean.people), "corrected": labelled(mean.corrected), "weight": mean.weight,
        "worth": _known(mean.worth), "n_strata": mean.n_strata, "method": mean.method,
        "n_undecided": correction.n_undecided, **ends, **counts,
    }  # fmt: skip


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value


def _finite(value: float | None) -> float | None:
    """null for an end of a percentile that n is too small for, which JSON has no number for."""
    return None if value is None or math.isinf(value) else value


def _causes(scores: Scores, causes: Codes, names: Sequence[str]) -> dict[str, dict[str, list[str]]]:
    """measure -> cause -> ids of queries, of those that there are;   causes   (m, q)"""
    ids = {
        name: {cause: _ids(scores, row == place) for place, cause in enumerate(CAUSES, 1) if (row == place).any()}
        for name, row in zip(names, causes, strict=True)
    }
    return {name: of_measure for name, of_measure in ids.items() if of_measure}


def _numbers_text(values: Floats) -> list[str]:
    """Numbers in full precision, row after row, null for NaN."""
    numbers = values.ravel().tolist()
    if np.isfinite(values).all():
        return list(map(float.__repr__, numbers))
    return ["null" if math.isnan(number) else _line(number) for number in numbers]


def _ids(scores: Scores, mask: Bools) -> list[str]:
    if not mask.any():
        return []
    return [scores.query_ids[q] for q in np.flatnonzero(mask).tolist()]


def _judged(judged: Floats, names: Sequence[str]) -> _Line:
    """(m, q) shares, written once for measures that look equally deep."""
    alike: dict[bytes, list[int]] = {}
    for j, row in enumerate(judged):
        alike.setdefault(row.tobytes(), []).append(j)
    shares = [
        f'{{"measures": {_line([names[j] for j in rows])}, "values": [{", ".join(_numbers_text(judged[rows[0]]))}]}}'
        for rows in alike.values()
    ]
    return _Line(f"[{', '.join(shares)}]")


def _highest(scores: Scores, of: Mapping[str, Floats]) -> _Line:
    """(s, q) values by measure, written once for systems and measures that have the same."""
    alike: dict[bytes, tuple[Floats, dict[str, list[str]]]] = {}
    for name, values in of.items():
        for system, row in zip(scores.systems, values, strict=True):
            if not np.isnan(row).all():
                alike.setdefault(row.tobytes(), (row, {}))[1].setdefault(name, []).append(system)
    lines = list[str]()
    for row, systems_of in alike.values():
        together: dict[tuple[str, ...], list[str]] = {}
        for name, systems in systems_of.items():
            together.setdefault(tuple(systems), []).append(name)
        text = ", ".join(_numbers_text(row))
        lines += [
            f'{{"measures": {_line(names)}, "systems": {_line(list(listed))}, "values": [{text}]}}'
            for listed, names in together.items()
        ]
    return _Line(f"[{', '.join(lines)}]")


def _clusters(clustering: Clustering | None) -> dict[str, Any]:
    return {} if clustering is None else {"clusters": {"by": clustering.by, "of": clustering.codes.tolist()}}


def read_scores(path: str | Path, *, advice: str = _WRITE) -> Scores:
    """The Scores of a JSON file that `as_json` wrote: the same values, counts, means, intervals and recipe.

    path     plain or compressed; "-" is standard input
    advice   how such a file is written, for messages
    Raises   InputError for what is no JSON, is no such file, comes from before these files held every query, or names
             a measure that this Steelyard does not have or cannot have that value.
    """
    source = Source(path)
    content = _loaded(source, advice)
    if problem := _outdated(content):
        raise InputError(f"{source.name}: {problem}")
    try:
        scores = _scores(content)
    except MeasureError as error:
        raise InputError(f"{source.name}: {error}; is a plug-in missing that was there when it was written?") from None
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        fact = f"there is no {error}" if isinstance(error, KeyError) else str(error)
        raise InputError(f"{source.name}: holds no scores ({fact}); {advice}") from None
    try:
        refuse_impossible(scores)
    except InputError as error:
        raise InputError(f"{source.name}: {error}") from None
    return scores


def _outdated(content: Mapping[str, Any]) -> str:
    """Why another version of Steelyard is needed to read or write the file; nothing where this one will do."""
    number = content.get("format", FORMAT)
    if isinstance(number, int) and number > FORMAT:
        return f"has format {number}, and this Steelyard reads up to {FORMAT}; update Steelyard"
    systems = content["systems"].values()
    if all(isinstance(system, dict) and {"per_query", "queries"} <= system.keys() for system in systems):
        return ""
    return f"was written by an earlier Steelyard and lacks the values of the questions; {_WRITE} again"


def _loaded(source: Source, advice: str) -> dict[str, Any]:
    try:
        content = parse_json(source.read(), source.name)
    except InputError as error:
        raise InputError(f"{error}; {advice}") from None
    if not (isinstance(content, dict) and isinstance(content.get("systems"), dict) and "recipe" in content):
        raise InputError(f"{source.name}: holds no scores, expected an object with systems and recipe; {advice}")
    return content


def _scores(content: Mapping[str, Any]) -> Scores:
    systems, recipe = content["systems"], dict(content["recipe"])
    check_shape(recipe, _RECIPE, "recipe")
    if not systems:
        raise ValueError("no system")
    columns = set(content.get("columns", ()))
    measures = [measure_or_column(spec) if spec in columns else parse(spec) for spec in recipe["measures"]]
    query_ids = list(next(iter(systems.values()))["per_query"])
    place = {query_id: q for q, query_id in enumerate(query_ids)}
    names = [str(measure) for measure in measures]
    parts = list(systems.values())
    return Scores(
        systems=list(systems),
        query_ids=query_ids,
        measures=measures,
        values=np.stack([_values(system["per_query"], query_ids, names) for system in parts]),
        missing=_marks(parts, "missing", place),
        no_relevant=np.stack([
            np.stack([_mark(system["queries"][_BY_MEASURE][name], place) for name in names]) for system in parts
        ]),
        causes=_causes_of([system["queries"].get(_CAUSES, {}) for system in parts], names, place),
        failed=_marks(parts, "failed", place),
        unwinnable=_marks(parts, "unwinnable", place),
        judged=np.stack([_shares(system["judged"], names, len(query_ids)) for system in parts]),
        unjudged_queries=np.array([int(system["counts"]["unjudged_queries"]) for system in parts], np.int64),
        gold=[_gold(system["gold"]) if "gold" in system else None for system in parts],
        recipe_parts={key: value for key, value in recipe.items() if key not in _DERIVED},
        perfect=_highest_of(content.get("perfect", ()), list(systems), len(query_ids)),
        ceilings=_highest_of(content.get("ceilings", ()), list(systems), len(query_ids)),
        repeats={name: _runs(system["runs"], len(names), len(query_ids))
                 for name, system in systems.items() if "runs" in system},
        notes={name: [Note.of_json(note) for note in system["notes"]]
               for name, system in systems.items() if "notes" in system},
        clustering=_clustering(content.get("clusters"), len(query_ids)),
        corrections={name: _corrections(system[_CORRECTIONS], len(query_ids))
                     for name, system in systems.items() if _CORRECTIONS in system},
    )  # fmt: skip


def _causes_of(
    systems: Sequence[Mapping[str, Mapping[str, Sequence[str]]]], names: Sequence[str], place: Mapping[str, int]
) -> Codes | None:
    """(s, m, q) causes of values; None where no system has any."""
    if not any(systems):
        return None
    causes = np.zeros((len(systems), len(names), len(place)), np.int8)
    for i, system in enumerate(systems):
        for name, of_measure in system.items():
            for cause, ids in of_measure.items():
                causes[i, names.index(name), _mark(ids, place)] = CAUSES.index(cause) + 1
    return causes


def _runs(listed: Sequence[Sequence[Sequence[object]]], m: int, n: int) -> Floats:
    """(r, m, q) values of the runs of one system."""
    if any(len(run) != m or any(len(row) != n for row in run) for run in listed):
        raise ValueError(f"runs have other than {m} measures of {n} values")
    return np.stack([_numbers(run).reshape(m, n) for run in listed])


def _corrections(listed: Mapping[str, Any], n: int) -> dict[str, Correction]:
    """By measure, the corrections of the means of one system."""
    return {measure: _correction_of(values, n) for measure, values in listed.items()}


def _correction_of(values: Mapping[str, Any], n: int) -> Correction:
    from steelyard.judges.people.review import Drawn
    from steelyard.stats.labels.prediction_powered import CorrectedMean, Ends, LabelledMean

    def labelled(name: str) -> LabelledMean:
        own = values[name]
        for listed in (own["values"], own.get("residuals", own["values"])):
            if len(listed) != n:
                raise ValueError(f"a correction has {len(listed)} values for {n} questions")
        mean, low, high, error, df = _numbers([[own[key] for key in _LABELLED]])[0].tolist()
        residuals = _numbers([own["residuals"]])[0] if "residuals" in own else None
        return LabelledMean(
            _numbers([own["values"]])[0], mean, low=low, high=high, error=error, df=df, residuals=residuals
        )

    (judge, weight, worth) = _numbers([[values[key] for key in ("judge", "weight", "worth")]])[0].tolist()
    has_ends, n_undecided = "lowest" in values, int(values.get("n_undecided", 0))
    mean = CorrectedMean(
        judge=judge, people=labelled("people"), corrected=labelled("corrected"), weight=weight, worth=worth,
        n_labels=int(values["n_labels"]), n_units=int(values["n_units"]), n_strata=int(values.get("n_strata", 1)),
        ends=Ends(labelled("lowest"), labelled("highest"), int(values["n_undecided"])) if has_ends else None,
        counts=_label_counts(values["counts"], n) if "counts" in values else None,
    )  # fmt: skip
    unit = _word(values["unit"], Drawn, "labels are of")
    return Correction(mean, unit, int(values["n_drawn"]), str(values["digest"]), n_undecided)


def _label_counts(listed: Mapping[str, Any], n: int) -> LabelCounts:
    """Labels question by question.

    Raises   ValueError for other lengths.
    """
    from steelyard.stats.labels.prediction_powered import LabelCounts

    rows = _numbers([listed[name] for name in ("labels", "units", "mass", "drawn")])
    if rows.shape != (4, n) or np.isnan(rows).any():
        raise ValueError(f"a correction has counts of other than {n} questions")
    return LabelCounts(rows[0].astype(np.int64), rows[1].astype(np.int64), rows[2], rows[3])


def _clustering(clusters: Mapping[str, Any] | None, n: int) -> Clustering | None:
    """Which queries count as one; None in a file without clusters."""
    if clusters is None:
        return None
    codes = clusters["of"]
    if len(codes) != n or not all(type(code) is int for code in codes):
        raise ValueError(f"clusters are not the numbers of {n} questions")
    return Clustering(str(clusters["by"]), np.array(codes, np.int64))


def _highest_of(listed: Sequence[Mapping[str, Any]], systems: Sequence[str], n: int) -> dict[str, Floats]:
    """measure -> (s, q) values of a perfect ranking, or of ceilings; none in a file from before they were written."""
    place, highest = {system: i for i, system in enumerate(systems)}, dict[str, Floats]()
    for entry in listed:
        (values,) = _numbers([entry["values"]])
        if len(values) != n:
            raise ValueError(f"perfect or ceilings have other than {n} values")
        for name in entry["measures"]:
            rows = highest.setdefault(name, np.full((len(systems), n), np.nan))
            rows[[place[system] for system in entry["systems"]]] = values
    return highest


def _values(rows: Mapping[str, Mapping[str, Any]], query_ids: Sequence[str], names: Sequence[str]) -> Floats:
    """(m, q) values of one system."""
    if rows.keys() != set(query_ids):
        raise ValueError("its systems do not have the same questions")
    return _numbers([[rows[query_id][name] for query_id in query_ids] for name in names]).reshape(len(names), -1)


def _numbers(values: Sequence[Sequence[object]]) -> Floats:
    """Floats, null being NaN."""
    odd = [value for row in values for value in row if not _is_number_or_null(value)]
    if odd:
        raise ValueError(f"a value is {quoted(odd[0])}, expected a number or null")
    return np.array([[np.nan if v is None else v for v in row] for row in values], dtype=np.float64)


def _is_number_or_null(value: object) -> bool:
    if value is None:
        return True
    return isinstance(value, float | int) and not isinstance(value, bool) and math.isfinite(value)


def _mark(ids: Sequence[str], place: Mapping[str, int]) -> Bools:
    """(q,) which queries are listed."""
    marked = np.zeros(len(place), bool)
    for query_id in ids:
        marked[place[query_id]] = True
    return marked


def _marks(systems: Sequence[Mapping[str, Any]], name: str, place: Mapping[str, int]) -> Bools:
    return np.stack([_mark(system["queries"][name], place) for system in systems])


def _shares(listed: Sequence[Mapping[str, Any]], names: Sequence[str], n: int) -> Floats:
    """(m, q) shares of labelled documents of one system."""
    by_name = {name: shares["values"] for shares in listed for name in shares["measures"]}
    if any(len(values) != n for values in by_name.values()):
        raise ValueError(f"judged has other than {n} values")
    return _numbers([by_name[name] for name in names]).reshape(len(names), n)


def _lost(mapping: GoldMapping) -> list[dict[str, str]]:
    rows = [dict(zip(("query_id", "piece", "why"), lost, strict=True)) for lost in mapping.lost]
    if not mapping.codes:
        return rows
    return [{**row, "code": code} for row, code in zip(rows, mapping.codes, strict=True)]


def _gold(gold: Mapping[str, Any]) -> GoldMapping:
    return GoldMapping(
        rule=gold["rule"],
        steps=tuple(gold["steps"]),
        kinds=dict(gold["pieces"]),
        complete=gold["corpus_known"],
        placed=gold["placed"],
        lost=tuple((piece["query_id"], piece["piece"], piece["why"]) for piece in gold["lost"]),
        unwinnable=tuple(gold["unwinnable"]),
        codes=_codes(gold["lost"]),
        unit=_word(gold.get("unit", "chunk"), Unit, "unit is"),  # Not written in files of before.
    )


def _word(value: object, literal: Any, what: str) -> Any:
    """One of the words of a literal;   what   says it, in the message"""
    if value not in get_args(literal):
        raise ValueError(f"{what} {value!r}, expected {' or '.join(map(repr, get_args(literal)))}")
    return value


def _codes(lost: Sequence[Mapping[str, Any]]) -> tuple[LossCode, ...]:
    """Why each piece is lost; empty for a file from before codes were written."""
    codes = tuple(piece["code"] for piece in lost if "code" in piece)
    if codes and (len(codes) != len(lost) or not set(codes) <= set(get_args(LossCode))):
        raise ValueError(f"lost pieces have the codes {codes}, expected one each of {get_args(LossCode)}")
    return codes
