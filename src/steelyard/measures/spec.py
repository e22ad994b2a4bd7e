"""Measures as values: text to spec and back, in our spelling and in those of other tools."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from steelyard.base.arrays import Bools, Floats, Ints
from steelyard.base.errors import MeasureError
from steelyard.base.percentiles import percentile_name, percentile_share
from steelyard.measures import registry
from steelyard.measures.aggregates import Aggregation, percentile
from steelyard.measures.alignment import Alignment
from steelyard.measures.graded import gains_of
from steelyard.measures.judged_answers import JudgedAnswers
from steelyard.measures.parameters import SHARED, VIEWS, Parameter, ParameterValue, Word, number, show
from steelyard.measures.registry import Definition, Items
from steelyard.measures.undefined import reason_codes

_CANONICAL = re.compile(r"((?:[A-Za-z]+\.(?=[A-Za-z]))?[A-Za-z0-9_-]+)\s*(?:\((.*)\))?\s*(?:@\s*([0-9.eE+-]+))?")
_TREC_EVAL = re.compile(r"([A-Za-z][A-Za-z0-9_]*?)[._](\d*\.?\d+)")
_RANX_LEVEL = re.compile(r"(.+)-l(\d+)")
_RANX_PERSISTENCE = re.compile(r"rbp\.(\d+)")
_PERCENTILE = re.compile(r"(.+?)\s*:\s*p([0-9.]+)")

# What other tools call our parameters.
_PARAMETER_NAMES = {"rel": "min_gain", "dcg": "gain", "gains": "gain", "judged_only": "pool", "cutoff": "k"}


@dataclass(frozen=True)
class Measure:
    """A measure with its parameters; prints as `name(parameter=value)@k:pNN` and parses back to itself.

    name     a registered name
    k        the cut-off behind the @: a rank, a recall level for iprec, None for the whole list
    params   (name, value) of every parameter that differs from its default, in the registry's order
    share    of the values that lie below what the questions come to: 0.95 for a spec that ends in :p95; None where they
             become one as the measure declares, most often by their mean
    """

    name: str
    k: float | None = None
    params: tuple[tuple[str, ParameterValue], ...] = ()
    share: float | None = None

    def __post_init__(self) -> None:
        """Refuse a whole spec as a name, which would be that of a column of numbers.

        Raises   MeasureError
        """
        name = re.match(r"\w+(?=[@(:])", self.name)
        if name is not None and registry.resolve(name[0]) is not None:
            raise MeasureError(f"{self.name!r} is a spec, and no name; call sy.parse({self.name!r})")

    def __str__(self) -> str:
        params = ",".join(f"{key}={show(value)}" for key, value in self.params)
        cutoff = "" if self.k is None else f"@{show(self.k)}"
        return self.name + (f"({params})" if params else "") + cutoff + self._percentile

    @property
    def _percentile(self) -> str:
        return "" if self.share is None else f":{percentile_name(self.share)}"

    @property
    def definition(self) -> Definition:
        """Declaration of this measure; of a name that nothing registered bears, that of a column of numbers."""
        return registry.definition_or_column(self.name)

    @property
    def aggregation(self) -> Aggregation:
        """Aggregation of the values of the questions: as the measure declares, or a percentile."""
        return self.definition.aggregation if self.share is None else percentile(self.share)

    @property
    def column(self) -> Measure:
        """The measure whose values a percentile is of; any other measure itself."""
        return self if self.share is None else replace(self, share=None)

    @property
    def items(self) -> Items | None:
        """What people are asked of units to correct it: as declared, which is for the default parameters alone."""
        return None if self.params else self.definition.items

    @property
    def depth(self) -> int | None:
        """Depth to which the measure looks: k where its cut-off is a rank, else None."""
        return int(self.k) if self.k is not None and self.definition.cutoff == "k" else None

    def with_depth(self, k: int) -> Measure:
        """The same measure at k, where it takes a rank as its cut-off and has none."""
        return replace(self, k=k) if self.k is None and self.definition.cutoff == "k" else self

    def param(self, key: str) -> ParameterValue:
        """The value of a parameter, given or default."""
        return self.options[key]

    @property
    def options(self) -> dict[str, ParameterValue]:
        """The value of every parameter, given or default."""
        return {**self.definition.defaults, **dict(self.params)}

    def with_default(self, **defaults: ParameterValue) -> Measure:
        """The same measure with other defaults for the parameters it takes and does not name itself."""
        own = dict(self.params)
        measure = make(self.name, self.k, {**_taken(self.definition, defaults, own), **own})
        return replace(measure, share=self.share)

    def __call__(self, data: Alignment | JudgedAnswers) -> Floats:
        """(q,) value of each query of an alignment, or, of a measure of answers, of each question that was judged.

        Of answers it is NaN where it is undefined (`undefined_reasons` says why) and where too little was judged.
        """
        if lack := self.lack(data):
            raise MeasureError(f"{self} {lack}")
        definition = self.definition
        options: dict[str, ParameterValue | None] = {**definition.defaults, **dict(self.params)}
        if definition.cutoff:
            options[definition.cutoff] = self.k
        if isinstance(data, JudgedAnswers):
            return self._of_answers(data, options)
        if options.pop("pool") == "judged":
            data = data.condensed()
        if options.pop("scope") == "retrieved":
            data = data.retrieved_only()
        return self._shaped(definition.kernel(data, **options), data.n_queries)

    def _of_answers(self, answers: JudgedAnswers, options: Mapping[str, ParameterValue | None]) -> Floats:
        values = self._shaped(self.definition.kernel(answers, **options), answers.n_queries)
        if self.definition.absent == "zero":
            # Whether there was anything to use may be open: then it is open too whether an absent answer counts.
            is_open = "gold_in_context" in self.definition.needs and np.isnan(answers.unknown)
            values = np.where(answers.absent & ~(is_open & np.isnan(values)), 0.0, values)
        return np.where(self.undefined_reasons(answers) > 0, np.nan, values)

    def _shaped(self, values: Floats, n: int) -> Floats:
        if np.shape(values) != (n,):
            raise MeasureError(f"{self}: gave an array of shape {np.shape(values)}, expected ({n},)")
        return values

    def bounds(self, answers: JudgedAnswers) -> tuple[Floats, Floats]:
        """(q,) least and greatest value of each question, whatever the verdicts that are not there would say.

        Both are the value itself where that is known, and NaN where it is undefined.
        """
        low, high = (self(answers.assuming(end)) for end in (0.0, 1.0))
        undefined = self.undefined_reasons(answers) > 0
        # A kernel that does not ask what it is to assume leaves the range.
        least, most = (
            np.where(np.isnan(end) & ~undefined, limit, end)
            for end, limit in zip((low, high), self.definition.range, strict=True)
        )
        return least, most

    def undefined_reasons(self, answers: JudgedAnswers) -> Ints:
        """(q,) why a measure of answers is undefined, as places in `steelyard.measures.undefined.REASONS`.

        0 where it is defined; a value that is NaN there is not judged.
        """
        definition = self.definition
        return reason_codes(definition.needs, definition.absent, self.options, answers)

    def lack(self, data: Alignment | JudgedAnswers) -> str:
        """Why the measure cannot be computed from an alignment or verdicts, read after its name; empty where it can."""
        inputs = self.definition.inputs
        if "numbers" in inputs:
            return "is a column of numbers that were handed in; it cannot be computed from a ranking"
        if isinstance(data, JudgedAnswers):
            return (
                ""
                if "answers" in inputs
                else "is of what was retrieved; it cannot be computed from verdicts on answers"
            )
        if "answers" in inputs:
            return "is of answers; it is computed from the verdicts on them, not from a ranking: `sy.judge` gives some"
        if "characters" in inputs and data.evidence is None:
            return (
                "needs gold evidence, and a run that has more than ids; evaluate outputs with `doc`, `start` and "
                "`end` against questions with `evidence`, or name the corpus (--documents)"
            )
        if "labels" in inputs and data.evidence is not None:
            return "needs documents that were judged not to be relevant, one by one; evidence has none"
        return ""

    def undefined(self, alignment: Alignment) -> Bools:
        """(q,) questions without a document, or a piece of evidence, that is relevant for the measure."""
        definition = self.definition
        if not definition.relevant:
            return np.zeros(alignment.n_queries, bool)
        if "pieces" in definition.inputs or "characters" in definition.inputs:
            alignment = alignment.pieces
        gain, options = alignment.ideal_gain, self.options
        least = options.get("min_gain")
        if isinstance(least, float) and not _is_replaced(definition, "min_gain", options):
            relevant = gain >= least
        else:
            relevant = gains_of(gain, options.get("gain", "linear")) > 0
        n_relevant = np.concatenate(([0], np.cumsum(relevant)))
        return np.asarray(n_relevant[alignment.ideal_starts[1:]] == n_relevant[alignment.ideal_starts[:-1]])


def make(
    name: str, k: float | None = None, params: Mapping[str, ParameterValue | Mapping[float, float]] | None = None
) -> Measure:
    """A checked spec from its parts; a gain map may be a dict.

    Raises   MeasureError for a parameter the measure does not take, a value it cannot have, or an impossible cut-off.
    """
    definition = registry.definition(name)
    values = {key: _as_pairs(value) for key, value in (params or {}).items()}
    for key in values:
        if key not in definition.parameters:
            raise MeasureError(f"{name} takes no parameter {key!r}; it takes {', '.join(definition.parameters)}")
    ordered = {
        key: _checked(name, key, parameter, values[key])
        for key, parameter in definition.parameters.items()
        if key in values
    }
    own = {key: value for key, value in ordered.items() if value != definition.parameters[key].default}
    for key in own:
        if _is_replaced(definition, key, own):
            other = definition.parameters[key].unless
            raise MeasureError(f"{name}: {key} has no meaning beside {other}={show(own[other])}; leave one out")
    return Measure(name, _checked_cutoff(definition, k), tuple(own.items()))


def _is_replaced(definition: Definition, key: str, values: Mapping[str, ParameterValue]) -> bool:
    """True if another parameter is set to something else than its default, and takes the place of this one."""
    other = definition.parameters[key].unless
    return other in values and values[other] != definition.parameters[other].default


def _taken(
    definition: Definition, defaults: Mapping[str, ParameterValue], own: Mapping[str, ParameterValue]
) -> dict[str, ParameterValue]:
    """Other defaults that a measure takes, beside the values that it has itself."""
    return {
        key: value
        for key, value in defaults.items()
        if key in definition.parameters and not _is_replaced(definition, key, own)
    }


def parse(text: str | Measure, **defaults: ParameterValue) -> Measure:
    """Read a measure in our spelling or in that of trec_eval, ir_measures or ranx.

    defaults   values of parameters that the text does not name, for measures that take them
    Raises     UnknownMeasureError with the nearest names; MeasureError for an impossible parameter.

    >>> str(parse("P_5")), str(parse("nDCG(dcg='exp-log2')@10")), str(parse("recall@10-l2")), str(parse("P_5:p10"))
    ('precision@5', 'ndcg(gain=exp)@10', 'recall(min_gain=2)@10', 'precision@5:p10')
    """
    if isinstance(text, Measure):
        return text.with_default(**defaults) if defaults else text
    measure = _parsed(text.strip(), defaults)
    if measure is None:
        raise registry.unknown(_base(_split_percentile(text.strip())[0]))
    return measure


def _parsed(text: str, defaults: Mapping[str, ParameterValue]) -> Measure | None:
    """The measure, or None where no registered one has the name."""
    spec, share = _split_percentile(text)
    try:
        parts = _parts(spec)
    except ValueError as error:
        raise MeasureError(f"{text!r}: {error}") from None
    if parts is None:
        return None
    name, k, params = parts
    measure = make(name, k, {**_taken(registry.definition(name), defaults, params), **params})
    return measure if share is None else replace(measure, share=share)


def _split_percentile(text: str) -> tuple[str, float | None]:
    """A spec without the percentile at its end, and the share below that; None where it has none.

    Raises   MeasureError for a percentile that there is none of
    """
    if (match := _PERCENTILE.fullmatch(text)) is None:
        return text, None
    try:
        return match[1], percentile_share(f"p{match[2]}")
    except ValueError as error:
        raise MeasureError(f"{text!r}: {error}") from None


def needs_cutoff(text: str) -> bool:
    """True if the measure of a text must have a number behind the @; False where no measure has the name.

    >>> needs_cutoff("iprec"), needs_cutoff("ndcg")
    (True, False)
    """
    resolved = registry.resolve(_base(_split_percentile(text.strip())[0]))
    return resolved is not None and registry.definition(resolved[0]).cutoff_required


def _base(text: str) -> str:
    return parts[1] if (parts := _CANONICAL.fullmatch(text)) else text


def _parts(text: str) -> tuple[str, float | None, dict[str, ParameterValue]] | None:
    """Name, cut-off and parameters, as they are written; None where no measure has the name."""
    if level := _RANX_LEVEL.fullmatch(text):
        parts = _parts(level[1])
        return None if parts is None else (*parts[:2], {**parts[2], "min_gain": float(level[2])})
    if persistence := _RANX_PERSISTENCE.fullmatch(text):
        return "rbp", None, {"p": float(f"0.{persistence[1]}")}
    if (match := _CANONICAL.fullmatch(text)) and (resolved := registry.resolve(match[1].replace("-", "_"))):
        name, implied = resolved
        name, arguments = _as_ir_measures(match[1].lower(), name, _arguments(name, match[2] or ""))
        inner = arguments.pop("k", None)
        if inner is not None and (match[3] is not None or not isinstance(inner, float)):
            raise ValueError("write the cut-off once, as a number behind the @")
        cutoff = None if match[3] is None else number(match[3])
        return name, inner if isinstance(inner, float) else cutoff, {**implied, **arguments}
    if (match := _TREC_EVAL.fullmatch(text)) and (resolved := registry.resolve(match[1])):
        return _trec_eval_parts(match[1].lower(), number(match[2]), *resolved)
    return None


def _trec_eval_parts(
    spelling: str, value: float, name: str, implied: Mapping[str, ParameterValue]
) -> tuple[str, float | None, dict[str, ParameterValue]]:
    """Meaning of the number behind a name of trec_eval: a parameter of some measures, the cut-off of others."""
    if spelling == "set_f":
        return name, None, {**implied, **weight_of_recall(value)}
    if "multiple" in registry.definition(name).parameters:
        return name, None, {**implied, "multiple": value}
    return name, value, dict(implied)


def weight_of_recall(x: float) -> dict[str, ParameterValue]:
    """The parameter of f for trec_eval's coefficient, the square of van Rijsbergen's beta; beta where it is exact.

    >>> weight_of_recall(4.0), weight_of_recall(0.5)
    ({'beta': 2.0}, {'beta_squared': 0.5})
    """
    beta = math.sqrt(x) if x > 0 else math.nan
    return {"beta": beta} if beta * beta == x else {"beta_squared": x}


def _as_ir_measures(
    spelling: str, name: str, arguments: dict[str, ParameterValue]
) -> tuple[str, dict[str, ParameterValue]]:
    """Name and parameters by ir_measures, where a parameter makes another measure, or is another one than ours."""
    if spelling == "numret" and "min_gain" in arguments:
        return "n_relevant_retrieved", arguments
    if spelling == "setp" and "relative" in arguments:
        relative = str(arguments.pop("relative")).lower()
        if relative not in ("true", "false"):
            raise ValueError(f"relative must be true or false, not {relative}")
        return "recall_cap" if relative == "true" else name, arguments
    if spelling == "setf" and isinstance(x := arguments.get("beta"), float):
        del arguments["beta"]
        return name, {**arguments, **weight_of_recall(x)}
    return name, arguments


def measure_or_column(text: str | Measure) -> Measure:
    """The measure that a text spells, or else the column of numbers of that name.

    Raises   MeasureError for an impossible parameter, and for a text that is neither: with blanks, brackets or an @.

    >>> str(measure_or_column("P_5")), measure_or_column("latency_ms:p95").definition.direction
    ('precision@5', 'lower')
    """
    if isinstance(text, Measure):
        return text
    measure = _parsed(text.strip(), {})
    name, share = _split_percentile(text)
    if measure is None and not registry.is_column_name(name):
        raise registry.unknown(_base(name))
    return measure or Measure(name, share=share)


def parse_all(texts: Iterable[str | Measure] | str | Measure, **defaults: ParameterValue) -> list[Measure]:
    """Read several measures, each once, in the order given; commas between measures are understood."""
    if isinstance(texts, str | Measure):
        texts = [texts]
    pieces = [piece for text in texts for piece in ([text] if isinstance(text, Measure) else split(text))]
    parsed = list(dict.fromkeys(parse(piece, **defaults) for piece in pieces))
    if not parsed:
        raise MeasureError("no measure is given; try ndcg@10 or `steelyard measures`")
    return parsed


def split(text: str) -> list[str]:
    """Split at the commas outside of brackets."""
    pieces, depth, start = [], 0, 0
    for i, char in enumerate(text):
        depth += (char in "({") - (char in ")}")
        if char == "," and depth == 0:
            pieces.append(text[start:i])
            start = i + 1
    return [piece.strip() for piece in [*pieces, text[start:]] if piece.strip()]


def _arguments(name: str, text: str) -> dict[str, ParameterValue]:
    """The parameters of a measure between its brackets."""
    declarations = {**SHARED, **registry.definition(name).parameters}
    arguments: dict[str, ParameterValue] = {}
    for argument in split(text):
        key, equals, value = (part.strip() for part in argument.partition("="))
        if not equals and (parameter := _parameter_of(name, key)):
            key, value = parameter, key
        if not value:
            raise ValueError(f"{argument!r} is not parameter=value")
        key = _PARAMETER_NAMES.get(key, key)
        if key in arguments:
            raise ValueError(f"{key} is given twice")
        arguments[key] = declarations[key].read(value) if key in declarations else value
    return arguments


def _parameter_of(name: str, word: str) -> str | None:
    """The parameter of a measure's own that takes a word, as in noise_sensitivity(relevant); None where none does."""
    own = {key: p for key, p in registry.definition(name).parameters.items() if key not in VIEWS}
    return next((key for key, p in own.items() if isinstance(p, Word) and p.read(word) in p.words), None)


def _as_pairs(value: ParameterValue | Mapping[float, float]) -> ParameterValue:
    return tuple(sorted(value.items())) if isinstance(value, Mapping) else value


def _checked(name: str, key: str, parameter: Parameter, value: ParameterValue) -> ParameterValue:
    if problem := parameter.problem(value):
        raise MeasureError(f"{name}: {key} {problem}")
    return parameter.normal(value)


def _checked_cutoff(definition: Definition, k: float | None) -> float | None:
    name, cutoff = definition.name, definition.cutoff
    if k is None:
        if definition.cutoff_required:
            raise MeasureError(f"{name} needs a level behind the @, e.g. {name}@0.1")
        return None
    if cutoff is None:
        raise MeasureError(f"{name} takes no cut-off (got @{show(k)})")
    _checked(name, cutoff, SHARED[cutoff], k)
    return int(k) if cutoff == "k" else float(k)
