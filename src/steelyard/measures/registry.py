"""Which measures there are: one decorator fills one dict, and one lookup reads it, in the names of other tools too."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from operator import itemgetter
from typing import Any, Literal, get_args

from steelyard.base.arrays import Floats
from steelyard.base.errors import MeasureError, UnknownMeasureError
from steelyard.base.nearest import nearest
from steelyard.base.registry import Registry, qualified_name
from steelyard.base.short_repr import short_repr
from steelyard.measures.aggregates import AGGREGATIONS, Aggregate, Aggregation
from steelyard.measures.parameters import VIEWS, Parameter, ParameterValue, declared

_HIT_RATE = "hit_rate@k is 1 where any relevant document is among the first k"
_TEXTS = (
    "it holds the text against another one, and answers are evaluated here by what they say: answer_f1, faithfulness; "
    "compare the values that another tool gave it as a column of numbers (sy.Scores.of)"
)
_FAITHFUL = "faithfulness is the share of the answer's units that the context supports"
_CORRECT = "answer_f1 holds the answer against the gold answer, unit by unit"
_RELEVANT = "answer_relevance is the judge's grade whether the answer addresses the question"
_BEARING = "context_relevance is the share of the chunks of the context that are of use for the answer"
_GRADED = "answer_grade grades the answer as a whole, and criterion(name=NAME) by a sentence of yours"
_CITED = "citation_support is the share of the answer's units that what they cite supports: ALCE's recall"
_RANKED = "ragas.context_precision is what ragas computes by verdicts on chunks, map(scope=retrieved)@k by labels"
_SUBTOPICS = "it needs labels for each subtopic of a question, and none of the measures here is of diversity"
_READERS = "it is a model of readers that is not here; rbp, err and ndcg are those that are"
_GROUPS = "it needs preferences, or judgments of several groups, and a truth here has one label for a document"
_MEANINGS = (
    (r"(alpha|α)_n?dcg|(ap|map|p|n?err)_ia|n?nrbp|st?_?recall", _SUBTOPICS),
    (r"bpm|ins[tq]|nerr\d+|sdcg", _READERS),
    (r"compat|rbo", "it compares with another list by rank-biased overlap, which is not here"),
    (r"(all_)?prefs(_.*)?|.+_avgjg(_\d+)?|qrels_jg", _GROUPS),
    (r"(top_?\d*_?k?_?)?acc(uracy)?|hit_?ratio|(answer|success|found)_?rate|top_?(k|\d+)", _HIT_RATE),
    (r"(passage|chunk|fact)_?recall", "evidence_recall@k is the share of gold pieces that are retrieved"),
    (r"(llm_|contextual_).*precision.*", _RANKED),
    (
        r"claim_?recall|(llm_|contextual_).*recall",
        "context_recall is the share of the gold answer that the context holds",
    ),
    (r"id_based_context_precision", "precision@k is the share of the first k that are relevant"),
    (r"id_based_context_recall", "recall@k is the share of the relevant documents among the first k"),
    (r"mean_average_precision", "map is the mean of average precision"),
    (r"hole(s|_rate)?", "unjudged@k is the share of k places without a label"),
    (r"faithful|(response_|answer_)?grounded(ness)?", _FAITHFUL),
    (r"(answer|factual|semantic)_?(correctness|accuracy|similarity)|correctness", _CORRECT),
    (r"g_?eval|rubric(s?_?score)?|aspect_?critic|simple_?criteria(_?score)?", _GRADED),
    (r"((answer|response)_?)?relevancy|response_?relevance", _RELEVANT),
    (r"contextual_?relevan(ce|cy)|context_?relevancy", _BEARING),
    (r"citation_?(recall|rec)|attribution", _CITED),
    (r"(sacre)?bleu(_?\d)?|rouge(_?(\d|l|lsum))?|meteor|chrf|bert_?score|toxicity|bias|summarization", _TEXTS),
)
_COMPILED = tuple((re.compile(names), meaning) for names, meaning in _MEANINGS)


def meaning(name: str) -> str | None:
    """Measure to take for a name that no measure has here, or why there is nothing; None for a name that says nothing.

    >>> meaning("accuracy")
    'hit_rate@k is 1 where any relevant document is among the first k'
    """
    plain = re.sub(r"^(ragas|deepeval|trulens)_", "", re.sub(r"[\s.-]+", "_", name.strip().lower()))
    return next((words for names, words in _COMPILED if names.fullmatch(plain)), None)


Kernel = Callable[..., Floats]
Direction = Literal["higher", "lower"]
Input = Literal["rankings", "labels", "pieces", "characters", "numbers", "answers"]
Need = Literal[
    "units", "context", "gold_answer", "gold_units", "citations", "cited_units", "nuggets", "chunk_verdicts",
    "single_chunks", "gold_in_context", "answerability", "criterion", "abstention", "unanswerable",
    "abstention_or_unanswerable",
]  # fmt: skip
"""What a measure of answers cannot be defined without: see `steelyard.measures.undefined`."""
Absent = Literal["zero", "undefined", "unread"]
Items = Literal["grounded", "joint", "correctness", "said"]
"""What is asked of a unit of which a measure is the mean: see `steelyard.judges.tables.items`."""

_NEAR = 0.7
"""Names less alike are of other measures: coverage is a spelling of hit_rate, and citation_coverage is none."""
_TIME_SUFFIX = "_ms"
_LOWER_SUFFIXES = (_TIME_SUFFIX, "_error", "_loss", "_usd")


@dataclass(frozen=True, repr=False)
class Definition:
    """Declaration of a measure; its checks, errors, help and reference are made from it.

    inputs       what it reads: rankings, labels of documents judged one by one (gold evidence has none that are not
                 relevant), pieces of evidence, characters of evidence, or the verdicts on answers
    parameters   by name, in the order in which a spec prints them
    cutoff       what is written behind the @: "k" (a rank), "recall" (a recall level) or None
    aggregate    how the values of the queries become one: see `steelyard.measures.aggregates`
    relevant     whether a query without relevant documents is undefined (and counted) for this measure
    direction    which values are better, "higher" or "lower"
    needs        of a measure of answers: what it is undefined without, question by question
    absent       of a measure of answers: what an answer that failed, is missing or has no text is worth: "zero",
                 "undefined", or "unread" where the measure does not look at it
    items        of a measure of answers that is a mean over units, each by one verdict of this table: people's labels
                 of some then correct it; None elsewhere
    """

    name: str
    kernel: Kernel
    summary: str
    range: tuple[float, float]
    source: str
    aliases: Mapping[str, Mapping[str, ParameterValue]]
    inputs: tuple[Input, ...]
    parameters: Mapping[str, Parameter]
    cutoff: Literal["k", "recall"] | None
    cutoff_required: bool
    aggregate: Aggregate = "mean"
    relevant: bool = True
    direction: Direction = "higher"
    doc: str = field(default="", repr=False)
    needs: tuple[Need, ...] = ()
    absent: Absent = "undefined"
    items: Items | None = None

    def __repr__(self) -> str:
        return short_repr(self)

    @property
    def of_answers(self) -> bool:
        """True if it is computed from the verdicts on answers, and from nothing else."""
        return "answers" in self.inputs

    @property
    def aggregation(self) -> Aggregation:
        """Aggregation of the values of the queries."""
        return AGGREGATIONS[self.aggregate]

    @property
    def higher_is_better(self) -> bool:
        """True if a higher value is better."""
        return self.direction == "higher"

    @property
    def is_time(self) -> bool:
        """True if it is a column of times, in which what failed counts as longer than any limit."""
        return "numbers" in self.inputs and self.name.endswith(_TIME_SUFFIX)

    @property
    def width(self) -> float:
        """The largest difference that two values can have; infinite where there is no range."""
        low, high = self.range
        return high - low

    @cached_property
    def defaults(self) -> dict[str, ParameterValue]:
        """Parameters that have a default, by name."""
        return {key: p.default for key, p in self.parameters.items() if p.default is not None}


def direction_of(name: str) -> Direction:
    """Which values of a measure are better, as its name says: lower for times, errors, losses and costs.

    >>> direction_of("latency_ms"), direction_of("cost_eur"), direction_of("recall")
    ('lower', 'lower', 'higher')
    """
    return "lower" if name.endswith(_LOWER_SUFFIXES) or name.startswith("cost_") else "higher"


_NAME = re.compile(r"(?:[A-Za-z]+\.)?[A-Za-z0-9_]+")
_COLUMN_NAME = re.compile(r"[^\s(){}@,=]+")
Spelling = tuple[str, Mapping[str, ParameterValue]]
"""The name of a measure, and parameters that a spelling of it implies."""


def _origin(definition: Definition) -> object:
    return qualified_name(definition.kernel)


_GROUP = "steelyard.measures"
_definitions = Registry[Definition]("measure", group=_GROUP, origin=_origin, error=MeasureError)
_spellings = Registry[Spelling]("measure", group=_GROUP, origin=itemgetter(0), error=MeasureError)


def measure(
    name: str | None = None,
    *,
    range: tuple[float, float] = (0.0, 1.0),
    source: str = "",
    aliases: tuple[str, ...] = (),
    variants: Mapping[str, Mapping[str, ParameterValue]] | None = None,
    aggregate: Aggregate = "mean",
    relevant: bool = True,
    inputs: tuple[Input, ...] = ("rankings",),
    parameters: Mapping[str, Parameter] | None = None,
    direction: Direction | None = None,
    needs: tuple[Need, ...] = (),
    absent: Absent = "undefined",
    items: Items | None = None,
) -> Callable[[Kernel], Kernel]:
    """Register a kernel under a name; it is then a measure like any other.

    The kernel takes an `Alignment` and keyword-only parameters with defaults, and returns one float per query.  A
    parameter `k` makes it accept `@k`, a parameter `recall` makes it accept `@level`.  The first line of its docstring
    becomes its definition in `steelyard measures`.  With inputs=("answers",) it takes `JudgedAnswers` instead, and
    returns NaN where the verdicts do not say.

    name       the name in specs; the function's own by default
    range      smallest and largest possible value; infinities are allowed
    aliases    other spellings of the same measure, in any case
    variants   other spellings that stand for certain parameters, e.g. {"ndcg_burges": {"gain": "exp"}}
    inputs     what it reads besides rankings: "labels", "pieces", "characters"; other systems are refused for it; or
               "answers" alone
    parameters name -> `Number`, `Word` or `Gain`: which values a parameter takes; by default any number where its
               default is a number, and any text where that is text
    direction  which values are better: "higher", or "lower"; by default as the name says (see `direction_of`)
    needs      of a measure of answers: what a question is undefined without, and counted, such as "context"
    absent     of a measure of answers: what one that failed, is missing or empty is worth: "zero", "undefined", or
               "unread"
    Raises     MeasureError when the name or an alias is taken, or a declaration does not fit the function; the same
               function may come again, and replaces itself.
    """
    if callable(name):
        raise MeasureError("write @measure(), with brackets")

    def register(kernel: Kernel) -> Kernel:
        bears = name or kernel.__name__
        signature = inspect.signature(kernel).parameters
        own = {key: p.default for key, p in signature.items() if p.kind is inspect.Parameter.KEYWORD_ONLY}
        cutoff: Literal["k", "recall"] | None = "k" if "k" in own else "recall" if "recall" in own else None
        doc = inspect.getdoc(kernel) or ""
        of_answers = "answers" in inputs
        _check_inputs(bears, inputs, needs, items)
        definition = Definition(
            name=bears,
            kernel=kernel,
            summary=doc.split("\n\n")[0].replace("\n", " "),
            range=range,
            source=source,
            aliases={**{alias: {} for alias in aliases}, **(variants or {})},
            inputs=inputs,
            parameters=_parameters(bears, {k: v for k, v in own.items() if k != cutoff}, parameters or {})
            | ({} if of_answers else VIEWS),
            cutoff=cutoff,
            cutoff_required=cutoff is not None and own[cutoff] is inspect.Parameter.empty,
            aggregate=aggregate,
            relevant=relevant and not of_answers,
            direction=direction or direction_of(bears),
            doc=doc,
            needs=needs,
            absent=absent,
            items=items,
        )
        _add(definition)
        return kernel

    return register


def _parameters(
    measure: str, defaults: Mapping[str, Any], declarations: Mapping[str, Parameter]
) -> dict[str, Parameter]:
    """Every parameter with its declaration, in the order of the signature."""
    odd = next((key for key in declarations if key not in defaults), None)
    if odd is not None:
        raise MeasureError(f"{measure} declares {odd!r}, but its function has no such keyword-only parameter")
    bare = next((key for key, default in defaults.items() if default is inspect.Parameter.empty), None)
    if bare is not None:
        raise MeasureError(f"{measure}: parameter {bare!r} has no default; give it one")
    own = {key: declared(key, default, declarations.get(key)) for key, default in defaults.items()}
    alone = next((key for key, parameter in own.items() if parameter.unless and parameter.unless not in own), None)
    if alone is not None:
        raise MeasureError(
            f"{measure}: {alone!r} holds unless {own[alone].unless!r} is set, which is no parameter of it"
        )
    return own


def _check_inputs(measure: str, inputs: tuple[Input, ...], needs: tuple[Need, ...], items: Items | None) -> None:
    if "answers" in inputs and len(inputs) > 1:
        raise MeasureError(f"{measure} reads {', '.join(inputs)}; a measure of answers reads nothing else")
    for name, value in (("needs", needs), ("items", items)):
        if value and "answers" not in inputs:
            raise MeasureError(f"{measure} declares {name}, which are of measures of answers: inputs=('answers',)")
    if items not in (None, *get_args(Items)):
        raise MeasureError(f"{measure} is of items by {items!r}; expected one of {', '.join(get_args(Items))}")
    if (odd := next((need for need in needs if need not in get_args(Need)), None)) is not None:
        raise MeasureError(f"{measure} needs {odd!r}; it can need {', '.join(get_args(Need))}")


def _add(definition: Definition) -> None:
    """Register a measure under all its spellings, in place of an earlier version of the same function."""
    implied = {definition.name: {}, **definition.aliases}
    odd = next((spelling for spelling in implied if not _NAME.fullmatch(spelling)), None)
    if odd is not None:
        raise MeasureError(
            f"measure name {odd!r} cannot be written in a spec; use letters, digits and _, "
            "with a tool's name and a dot before them where it is another tool's"
        )
    earlier = _earlier_spellings(definition)
    folded = [spelling.lower() for spelling in implied]
    taken = (name for name in folded if (name in _spellings and name not in earlier) or folded.count(name) > 1)
    if (name := next(taken, None)) is not None:
        raise MeasureError(f"measure name {name!r} is taken; choose another for {definition.name!r}")
    for spelling in earlier:
        _spellings.remove(spelling)
    _definitions.add(definition.name, definition)
    for spelling, parameters in implied.items():
        _spellings.add(spelling.lower(), (definition.name, parameters))


def _earlier_spellings(definition: Definition) -> list[str]:
    """The spellings of the same function, where it is registered already, as when a notebook cell runs again."""
    if definition.name not in _definitions or _origin(_definitions.get(definition.name)) != _origin(definition):
        return []
    earlier = _definitions.get(definition.name)
    return [spelling.lower() for spelling in (earlier.name, *earlier.aliases)]


def definitions() -> list[Definition]:
    """All registered measures, in the order in which they were registered."""
    return list(_definitions)


def definition(name: str) -> Definition:
    """The measure registered under this exact name.

    Raises   UnknownMeasureError with the nearest names.
    """
    definition = _definitions.find(name)
    if definition is None:
        raise unknown(name)
    return definition


@cache
def column(name: str) -> Definition:
    """The definition of a column of numbers that were not computed from rankings: no range, no parameters."""
    return Definition(
        name=name, kernel=_no_kernel, summary="Numbers that were handed in.", range=(-math.inf, math.inf), source="",
        aliases={}, inputs=("numbers",), parameters={}, cutoff=None, cutoff_required=False, relevant=False,
        direction=direction_of(name),
    )  # fmt: skip


def is_column_name(name: str) -> bool:
    """True if a column of numbers may be called so: it has none of the characters that a spec gives a meaning."""
    return _COLUMN_NAME.fullmatch(name) is not None


def _no_kernel(*_: object, **__: object) -> Floats:
    raise AssertionError("a column of numbers is refused before it could be computed")


def definition_or_column(name: str) -> Definition:
    """The measure registered under this exact name, or else the column of numbers of that name."""
    return _definitions.find(name) or column(name)


def resolve(spelling: str) -> Spelling | None:
    """Name and implied parameters of a spelling, in any case; None for one that no measure has."""
    return _spellings.find(spelling.lower())


def unknown(name: str) -> UnknownMeasureError:
    """The error for a name that no measure has: with what its meaning comes to here, else with the nearest ones."""
    names = {spelling: _spellings.get(spelling)[0] for spelling in _spellings.names()}
    hint = meaning(name) or nearest(
        name, names, n=3, near=_NEAR, otherwise="`steelyard measures` lists them all", of=names.__getitem__
    )
    return UnknownMeasureError(f"no measure is called {name!r}; {hint}")
