# ruff: noqa: RUF009 - options are made by a function that returns a field
"""Options of evaluate, compare, diagnose, plan, report and gate, each declared once: type, default and words.

A field of a class below is an option of Python by its name and of the command line by its flags; types and defaults are
checked, explained in `--help`, in the docs and in messages as they are declared here.  The command line reads this for
its help, so nothing that takes time is imported.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from typing import (
    Annotated,
    Any,
    ClassVar,
    Literal,
    Self,
    TypedDict,
    TypeVar,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from steelyard.base import defaults
from steelyard.base.choices import IdForm, OnDuplicate, Policy, Unit
from steelyard.base.errors import InputError, quoted
from steelyard.base.limits import Limits, Words, above, at_least, between, describe, is_union
from steelyard.base.nearest import nearest
from steelyard.base.progress import Progress, usual_progress

Share = Annotated[float, between(0, 1), Words("a share from 0 to 1, such as 0.05")]
"""Most of something that is allowed."""

_MADE = TypeVar("_MADE", bound=Callable[..., Any])


def _option(default: Any, help: str, *, flags: str = "", reads: bool = False, **spelling: Any) -> Any:
    """A field that is an option.

    flags      on the command line, where these are not --NAME; "" and help "" for what Python alone takes
    reads      it names files that are read, which no result may replace
    spelling   what argparse takes besides, where that does not follow from the type
    """
    return field(default=default, metadata={"help": help, "flags": flags.split(), "reads": reads, "spelling": spelling})


def percentage(text: str) -> float:
    """A share as the command line has it.

    >>> percentage("30%"), percentage("0.3")
    (0.3, 0.3)
    """
    return float(text[:-1]) / 100 if text.endswith("%") else float(text)


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options that belong together, checked when they are made."""

    def __post_init__(self) -> None:
        hints = hints_of(type(self))
        for name in (own.name for own in fields(self)):
            value = getattr(self, name)
            if not _fits(hints[name], value):
                raise InputError(f"{name} must be {describe(hints[name])}, not {quoted(value)}")

    @classmethod
    def of(cls, keywords: Mapping[str, Any]) -> Self:
        """Options from those of some keywords that are among them; the others have their defaults."""
        return cls(**cls.among(keywords))

    @classmethod
    def among(cls, keywords: Mapping[str, Any]) -> dict[str, Any]:
        """The keywords that are such options."""
        return {own.name: keywords[own.name] for own in fields(cls) if own.name in keywords}


def _hints(kind: type[Options]) -> Mapping[str, Any]:
    return get_type_hints(kind, include_extras=True)


hints_of = cast("Callable[[type[Options]], Mapping[str, Any]]", cache(_hints))
"""Option -> its declared type."""


def options_of(*kinds: type[Options]) -> Iterator[tuple[str, Any, Mapping[str, Any]]]:
    """Name, default, and words and spelling of each option that has any words; of a name, as the first kind has it."""
    own_of = {own.name: own for kind in reversed(kinds) for own in fields(kind) if own.metadata["help"]}
    for name in dict.fromkeys(own.name for kind in kinds for own in fields(kind) if own.name in own_of):
        yield name, own_of[name].default, own_of[name].metadata


def check_names(verb: str, keywords: Mapping[str, object], *kinds: type[Options]) -> None:
    """Raise   InputError for a keyword that is no option of these, with the nearest that is."""
    names = [own.name for kind in kinds for own in fields(kind)]
    for name in keywords:
        if name not in names:
            raise InputError(f"{verb} has no option {quoted(name)}; {nearest(name, names)}")


def _fits(hint: Any, value: Any) -> bool:
    """True if a value is of a declared type, and within its limits."""
    if get_origin(hint) is Annotated:
        base, *limits = get_args(hint)
        return _fits(base, value) and all(limit.hold(value) for limit in limits if isinstance(limit, Limits))
    if is_union(hint):
        return any(_fits(member, value) for member in get_args(hint))
    if get_origin(hint) is Literal:
        return isinstance(value, str) and value in get_args(hint)
    if hint in (float, int):
        kind = numbers.Real if hint is float else numbers.Integral
        return isinstance(value, kind) and not isinstance(value, bool)
    if get_origin(hint) is Sequence:
        return isinstance(value, Sequence) and not isinstance(value, str)
    plain = get_origin(hint) or hint
    return not isinstance(plain, type) or isinstance(value, plain)


@dataclass(frozen=True, kw_only=True)
class WeighOptions(Options):
    """How runs are evaluated by a truth, wherever that is done."""

    min_gain: float | None = _option(None, "Smallest gain that counts as relevant (1), for measures that do not say.")
    missing: Policy = _option(defaults.MISSING, "A judged question that is absent from a run: 0, or left out.")
    no_relevant: Policy = _option(defaults.NO_RELEVANT, "A question without relevant documents: 0, or left out.")
    on_duplicate: OnDuplicate = _option(
        defaults.ON_DUPLICATE, "A document twice in one question: refuse, keep the first, or the highest."
    )
    rule: str = _option(
        defaults.RULE, "When chunks hold a gold passage, by themselves or together: any, contains, or share>=0.5 of it."
    )
    steps: Sequence[str] | None = _option(
        None,
        "How texts are folded before they are compared: lower,white_space,nfkc,quotes,dashes,accents,simplified,"
        "line_wraps; the first two by default.",
    )
    unit: Unit | None = _option(
        None,
        "What is evaluated: chunks, or their documents, each at its best chunk; by default documents where the gold "
        "names whole ones.",
    )
    documents: object = _option(
        None,
        "The documents that were searched, or all their chunks: files, JSONL of chunks, a run folder; by default "
        "what a run has.",
    )
    questions: object = _option(
        None, "Texts, tags and fields of questions where the truth lacks them: JSONL, JSON, or text.", reads=True
    )
    cluster: str | Mapping[str, object] | None = _option(
        None,
        "Questions that count as one: doc (those with the same main gold document), or a field of the questions, "
        "e.g. conversation, which counts where no other is named; none for each by itself; in Python also {query_id: "
        "cluster}.",
    )
    verdicts: object = _option(
        None,
        "Verdicts on answers: FILE, or NAME=FILE for each system ({name: verdicts}); by default those in the run "
        "folders, else those of the lexical judge.",
        many=True,
        reads=True,
    )
    judge: str | None = _option(
        None, "Whose verdicts in the run folders count, e.g. lexical; by default those that were kept last."
    )
    labels: object = _option(
        None,
        "Where decisions of people are kept, which correct means: FILE, or NAME=FILE for each system ({name: labels}); "
        "by default in the run folders. In Python, False: none.",
        many=True,
        without="--no-labels",
        reads=True,
    )
    normalise_ids: IdForm | None = _option(
        None, "Bring the ids of questions and documents into one Unicode form before they are compared."
    )
    hold_out: Annotated[float, Limits(above=0, below=1), Words("a share above 0 and below 1, such as 0.3")] | None = (
        _option(
            None,
            "Share of the questions that is held out, e.g. 30%: by their ids, and clusters as a whole. They enter no "
            "result; `history confirm` alone evaluates them.",
            type=percentage,
        )
    )
    progress: Progress = _option(usual_progress, "")

    SCORING: ClassVar = ("min_gain", "missing", "no_relevant")
    """Those that may change after runs are evaluated, as they say only what is counted."""


class WeighKeywords(TypedDict, total=False):
    """`WeighOptions` as keywords."""

    min_gain: float | None
    missing: Policy
    no_relevant: Policy
    on_duplicate: OnDuplicate
    rule: str
    steps: Sequence[str] | None
    unit: Unit | None
    documents: object
    questions: object
    cluster: str | Mapping[str, object] | None
    verdicts: object
    judge: str | None
    labels: object
    normalise_ids: IdForm | None
    hold_out: float | None
    progress: Progress


@dataclass(frozen=True, kw_only=True)
class TestOptions(Options):
    """How systems are compared, alone or within a report."""

    baseline: str | None = _option(
        None, "The system that the others are compared with; of two runs the first, else all pairs are compared."
    )
    test: str | None = _option(
        None,
        "t (default), randomization, wilcoxon or sign with the baseline; tukey of all pairs, where one broken run "
        "hides differences of others, and near copies show some that are none.",
    )
    correction: str | None = _option(None, "For many comparisons: holm (default), bonferroni, bh or none.")
    margin: float | None = _option(None, "Largest loss that does not matter, e.g. 0.01.")
    alpha: float = _option(defaults.ALPHA, "Level of the tests; intervals cover the rest.")
    require_all: bool = _option(False, "Refuse systems that lack questions.")
    seed: int = _option(defaults.SEED, "Seed of shuffles and sign flips.")
    anchors: tuple[object, object] | None = _option(
        None,
        "Verdicts of both judges on the same answers, where systems were judged by two: what is the judges' is taken "
        "off the differences. By default what both judged of the runs themselves.",
        nargs=2,
        metavar=("OLD", "NEW"),
        reads=True,
    )
    calibration: object = _option(
        None,
        "Of the baseline's judge (`steelyard review calibrate`), where systems were judged by two: the difference that "
        "people would find, beside that without the judges' shift.",
        reads=True,
    )
    mixed_judges: bool = _option(
        False, "Allow measures of answers of systems that were judged in different ways; these are not tested."
    )
    n_tried: Annotated[int, at_least(1)] | None = _option(
        None,
        "How many configurations were tried on these questions, those compared among them: how much of the best one's "
        "lead is luck? By default as the store counts them, where one is named.",
        flags="--tried",
    )
    store: object = _option(None, "")


class TestKeywords(WeighKeywords, total=False):
    """`TestOptions` as keywords, with those of evaluating."""

    baseline: str | None
    test: str | None
    correction: str | None
    margin: float | None
    alpha: float
    require_all: bool
    seed: int
    anchors: tuple[object, object] | None
    calibration: object
    mixed_judges: bool
    n_tried: int | None
    store: object


@dataclass(frozen=True, kw_only=True)
class CompareOptions(TestOptions):
    """What `compare` shows besides."""

    segments: str | Mapping[str, Any] | None = _option(
        None, "Compare by tag, language or length of the questions too; in Python also {name: which questions}."
    )
    segment_correction: str = _option("bh", "For the comparisons of all segments: holm, bonferroni, bh or none.")
    movers: Annotated[int, at_least(0)] | None = _option(
        None, "How many questions that gained and lost most to show, with both rankings; 1 for two runs."
    )
    unpaired: bool = _option(
        False,
        "Compare means of different questions, as of two periods: TRUTH and RUNS are scores or run folders, each with "
        "questions of its own; or a truth, of which runs have parts. Needs a far larger difference than pairs do.",
    )


class CompareKeywords(TestKeywords, total=False):
    """`CompareOptions` as keywords, with those of evaluating."""

    segments: str | Mapping[str, Any] | None
    segment_correction: str
    movers: int | None
    unpaired: bool


@dataclass(frozen=True, kw_only=True)
class PlanOptions(Options):
    """What a plan is made for."""

    difference: float | None = _option(None, "Smallest difference that matters, in the unit of the measure, e.g. 0.05.")
    labels: float | None = _option(
        None,
        "Instead of a difference: how many labels of people make the interval of a corrected mean so wide, e.g. 0.1.",
    )
    sensitivity: float | None = _option(
        None, "With --labels: share of what people support that the judge supports; of its calibration by default."
    )
    specificity: float | None = _option(
        None, "With --labels: share of what people do not support that the judge does not either."
    )
    supported: float | None = _option(
        None, "With --labels: share that people support; by default, as the judge has it."
    )
    sd: float | None = _option(None, "Instead of a pilot: standard deviation of the questions' differences, e.g. 0.25.")
    n_systems: int | None = _option(
        None, "How many will be compared, with the baseline; those of the pilot by default."
    )
    power: float = _option(defaults.POWER, "Share of cases in which the difference is to be shown.")
    alpha: float = _option(defaults.ALPHA, "Level of the tests, shared among the comparisons with the baseline.")


class PlanKeywords(WeighKeywords, total=False):
    """`PlanOptions` as keywords, with those of evaluating."""

    difference: float | None
    sensitivity: float | None
    specificity: float | None
    supported: float | None
    sd: float | None
    n_systems: int | None
    power: float
    alpha: float


@dataclass(frozen=True, kw_only=True)
class DiagnoseOptions(Options):
    """What a diagnosis counts."""

    k: Annotated[int, at_least(1)] | None = _option(
        None, "Results that count as found; k of the measure, else 5.", flags="--k -k"
    )
    measure: object = _option(
        None, "What gains are counted in; evidence_recall@5, and of documents named by id ndcg@5.", flags="--measure -m"
    )
    baseline: str | None = _option(None, "The system that the others are compared with; the first one by default.")
    reranked: Mapping[str, bool] | None = _option(None, "")
    criteria: object = _option(None, "")


class DiagnoseKeywords(WeighKeywords, total=False):
    """`DiagnoseOptions` as keywords, with those of evaluating."""

    k: int | None
    measure: object
    baseline: str | None
    reranked: Mapping[str, bool] | None
    criteria: object


PROFILE_HELP = (
    "Levels to rate by, and what to measure: ratings, production, faq, document-qa, academic, enterprise, reranker, "
    "monitoring, or a TOML file."
)


@dataclass(frozen=True, kw_only=True)
class ReportOptions(TestOptions):
    """What a report contains besides."""

    profile: object = _option(
        None, f"{PROFILE_HELP} The report shows its gate too. Without one, ratings and no gate.", flags="--profile -p"
    )
    k: Annotated[int, at_least(1)] | None = _option(
        None, "Results that count as found; k of the first measure, else 5.", flags="--k -k"
    )
    title: str = _option("", "Title of the report, in place of its own.")
    date: str | None = _option(None, "")
    reranked: Mapping[str, bool] | None = _option(None, "")


class ReportKeywords(TestKeywords, total=False):
    """`ReportOptions` as keywords, with those of evaluating."""

    profile: object
    k: int | None
    title: str
    date: str | None
    reranked: Mapping[str, bool] | None


@dataclass(frozen=True, kw_only=True)
class GateOptions(Options):
    """What a gate judges by."""

    profile: object = _option(None, PROFILE_HELP, flags="--profile -p")
    level: str | None = _option(None, "Which level of the profile; the first by default.")
    measures: Iterable[Any] | str = _option(
        (),
        "What to judge by: ndcg@10; may be repeated; by default what the profile names.",
        flags="--measure -m",
        many=True,
    )
    baseline: object = _option(
        None,
        "Baseline: a system of the scores, a JSON of scores, a run folder, or an entry of a store such as "
        "store:accepted; with a margin the first of two RUNS.",
        reads=True,
    )
    store: object = _option(None, "")
    margin: Annotated[float, above(0)] | None = _option(None, "Smallest loss that matters, e.g. 0.01.")
    system: str | None = _option(None, "The system to judge; all but the baseline by default.")
    min_questions: Annotated[int, at_least(1)] = _option(defaults.MIN_QUESTIONS, "Fewer are too few to judge by.")
    max_failed: Share | None = _option(None, "Largest share of questions that failed, 0 to 1.")
    max_missing: Share | None = _option(None, "Largest share of questions that are absent from the run.")
    max_unjudged: Share | None = _option(None, "Largest share of retrieved documents without a label.")
    max_unmapped: Share | None = _option(None, "Largest share of gold pieces that are in no chunk.")
    max_not_judged: Share | None = _option(None, "Largest share of questions whose answer was not judged in full.")
    numbers: Mapping[str, Any] | None = _option(
        None, "A number that scores do not hold: latency_ms:p95=320; may be repeated.", flags="--number", many=True
    )
    latency_ms: object = _option(None, "")
    truth: object = _option(None, "Questions of a run folder; needed unless they lie in the folder itself.", reads=True)
    alpha: Annotated[float, Limits(above=0, below=1)] = _option(
        defaults.ALPHA, "Level of the tests against the baseline."
    )
    alarms: str | float | None = _option(
        None,
        "How many gates may fail where nothing was lost, e.g. '1 in 200': fail where a loss is shown at that level.",
    )
    mixed_judges: bool = _option(
        False, "Allow measures of answers although system and baseline were judged in different ways."
    )
    calibration: object = _option(None, "The calibration of a judge (.json): may it be trusted?", reads=True)
    min_kappa: Annotated[float, between(-1, 1)] | None = _option(None, "Of the judge: least κ with people (0.4).")
    min_sensitivity: Share | None = _option(None, "Least share that it finds of what people support (0.7).")
    min_specificity: Share | None = _option(None, "Least share that it rejects of what people do not (0.7).")
    max_below_people: Annotated[float, above(0)] | None = _option(
        None, "Most by which its κ may be less than that of two people with each other, e.g. 0.1."
    )


class GateKeywords(WeighKeywords, total=False):
    """`GateOptions` as keywords, with those of evaluating; the profile is a parameter of its own."""

    level: str | None
    measures: Iterable[Any] | str
    baseline: object
    store: object
    margin: float | None
    system: str | None
    min_questions: int
    max_failed: float | None
    max_missing: float | None
    max_unjudged: float | None
    max_unmapped: float | None
    max_not_judged: float | None
    numbers: Mapping[str, Any] | None
    latency_ms: object
    truth: object
    alpha: float
    alarms: str | float | None
    mixed_judges: bool
    calibration: object
    min_kappa: float | None
    min_sensitivity: float | None
    min_specificity: float | None
    max_below_people: float | None


@dataclass(frozen=True, kw_only=True)
class ReviewOptions(Options):
    """Whose verdicts, and which labels, a review is of.

    examples   texts that the judge was shown in its prompt, which do not count
    other_judges   with verdicts of their own, to see where they differ
    """

    judge: str | None = None
    verdicts: object = None
    labels: object = None
    examples: Sequence[str] = ()
    other_judges: Sequence[str] = ()
    seed: int = defaults.SEED


class ReviewKeywords(TypedDict, total=False):
    """`ReviewOptions` as keywords."""

    judge: str | None
    verdicts: object
    labels: object
    examples: Sequence[str]
    seed: int


VERBS: Mapping[str, tuple[type[Options], ...]] = {
    "evaluate": (WeighOptions,),
    "compare": (CompareOptions, WeighOptions),
    "plan": (PlanOptions, WeighOptions),
    "diagnose": (DiagnoseOptions, WeighOptions),
    "report": (ReportOptions, WeighOptions),
    "gate": (GateOptions, WeighOptions),
}
"""What evaluates runs by a truth -> its options, of Python and of the command of the same name."""


def with_options(verb: str) -> Callable[[_MADE], _MADE]:
    """Let the docstring of a function end with its options, as they are declared."""

    def described(function: _MADE) -> _MADE:
        lines = [
            f"    {name}: {own['help']}{shown_default(default)}" for name, default, own in options_of(*VERBS[verb])
        ]
        function.__doc__ = "\n".join([f"{(function.__doc__ or '').rstrip()}\n\n    Options", *lines])
        return function

    return described


def shown_default(default: Any) -> str:
    """A default behind the words of its option; nothing where these say it.

    >>> shown_default("zero"), shown_default(None)
    (' [zero]', '')
    """
    return "" if default in (None, "", ()) or isinstance(default, bool | list) else f" [{default}]"
