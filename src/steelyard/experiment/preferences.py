"""Systems compared answer by answer by a language model: who is preferred, how often, and how far order decides."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from steelyard._version import __version__
from steelyard.base import defaults
from steelyard.base.arrays import Floats, Ints
from steelyard.base.errors import InputError
from steelyard.base.machine import timestamp
from steelyard.base.progress import Progress, no_progress, usual_progress
from steelyard.base.result import Result
from steelyard.base.settings import make_with
from steelyard.base.shapes import Each, Object
from steelyard.data.clusters import conversation_clusters, question_clusters
from steelyard.data.questions import Questions
from steelyard.experiment.door.opening import System, open_all_answers
from steelyard.experiment.judging import kept, model_files, writing
from steelyard.io.own_json import OwnJson
from steelyard.judges.asking import whole_characters
from steelyard.judges.llm.pairwise import AnswerPair, Choice, PairwiseModel
from steelyard.judges.people.calibration import UNDEFINED, Estimate
from steelyard.judges.tables.verdicts import FOLDER
from steelyard.services.addresses import without_secrets
from steelyard.stats.intervals.means import mean_intervals
from steelyard.stats.intervals.resampling import cluster_bootstrap
from steelyard.stats.preferences import bradley_terry, win_shares

_NAME = "pairwise.json"
_LEVEL = 0.95
_SCHEMA = {
    "query_id": pl.String, "first": pl.String, "second": pl.String, "shown_first": pl.Int64, "shown_second": pl.Int64,
    "score": pl.Float64, "reason": pl.String, "cluster": pl.Int64,
}  # fmt: skip
_ROW = Object({"query_id": str, "first": str, "second": str, "reason": str, "cluster": int})
_FILE = OwnJson(
    "steelyard-pairwise", 1, Object({"systems": Each(list, str), "recipe": dict, "choices": Each(list, _ROW)}),
    "what `steelyard judge --pairwise` writes", again="compare again (`steelyard judge --pairwise`)",
)  # fmt: skip


@dataclass(frozen=True, repr=False)
class Preferences(Result):
    """Result of `compare_answers`.

    systems   in the order in which they were named
    choices   a row a question and pair of systems: query_id, first, second, how the first one did where it was
              `shown_first` and where it was `shown_second` (1 preferred, 0 tied, -1 not preferred), `score`, the mean
              of both, from -1 to 1, null where one of them was not judged; reason, and the cluster of the question
    recipe    the model, prompts, systems and digests, date and calls
    """

    VIEW = "views.preferences"

    systems: tuple[str, ...]
    choices: pl.DataFrame
    recipe: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def frame(self) -> pl.DataFrame:
        """A row a pair: n, won, tied and lost as shares, difference (won less lost, by the scores), with intervals."""
        pairs = combinations(self.systems, 2)
        return pl.DataFrame([self._pair(first, second) for first, second in pairs])

    def _pair(self, first: str, second: str) -> dict[str, Any]:
        rows = self.judged.filter(first=first, second=second)
        score, cluster = rows["score"].to_numpy(), rows["cluster"].to_numpy()
        shares = {"won": score > 0, "tied": score == 0, "lost": score < 0}
        means = {name: mean_of(of.astype(float), cluster, 0.0) for name, of in shares.items()}
        means["difference"] = mean_of(score, cluster, -1.0)
        flat = {f"{name}{end}": getattr(mean, own) for name, mean in means.items()
                for end, own in (("", "value"), ("_low", "low"), ("_high", "high"))}  # fmt: skip
        return {"first": first, "second": second, "n": len(rows), **flat}

    @cached_property
    def strengths(self) -> pl.DataFrame:
        """A row a system, the strongest first: its Bradley-Terry strength (log odds, mean 0), the chance that it is
        preferred to another one, and intervals by resampled questions."""
        wins = self._wins()
        if not len(wins):
            wins = np.zeros((1, len(self.systems), len(self.systems)))
        s = len(self.systems)

        def statistics(sums: Floats) -> Floats:
            strengths = bradley_terry(sums)
            return np.concatenate([strengths, win_shares(strengths)], axis=1)

        drawn = cluster_bootstrap(wins, statistics, level=_LEVEL, n_resamples=2000)
        columns = {"strength": slice(0, s), "share": slice(s, 2 * s)}
        ends = {f"{name}{end}": getattr(drawn, own)[part] for name, part in columns.items()
                for end, own in (("", "values"), ("_low", "low"), ("_high", "high"))}  # fmt: skip
        return pl.DataFrame({"system": self.systems, **ends}).sort("strength", descending=True, maintain_order=True)

    @cached_property
    def bias(self) -> Estimate:
        """Share of answers that are preferred for being shown first, less that for being shown second.

        The mean over questions and pairs of (preferred where first) - (preferred where second); 0 without bias.
        """
        rows = self.judged.filter(pl.col("reason") != _NOT_ASKED)
        return mean_of((rows["shown_first"] - rows["shown_second"]).to_numpy() / 2, rows["cluster"].to_numpy(), -1.0)

    @property
    def n_turned(self) -> int:
        """Comparisons in which another answer was preferred when the order was turned."""
        return len(self.judged.filter(pl.col("shown_first") * pl.col("shown_second") < 0))

    @property
    def judged(self) -> pl.DataFrame:
        """The choices that were made in both orders."""
        return self.choices.drop_nulls("score")

    @property
    def not_judged(self) -> Mapping[str, int]:
        """Causes of comparisons that were not judged, with their numbers."""
        causes = self.choices.filter(pl.col("score").is_null())["reason"]
        return dict(causes.value_counts(sort=True).iter_rows())

    def _wins(self) -> Floats:
        """(g, s, s) wins of row over column in each cluster of questions; a tie is half of one."""
        place = {system: n for n, system in enumerate(self.systems)}
        rows = self.judged
        codes = np.unique(rows["cluster"].to_numpy(), return_inverse=True)[1]
        wins = np.zeros((int(codes.max(initial=-1)) + 1, len(place), len(place)))
        first, second = (rows[name].replace_strict(place, return_dtype=pl.Int64).to_numpy()
                         for name in ("first", "second"))  # fmt: skip
        share = (1 + rows["score"].to_numpy()) / 2
        np.add.at(wins, (codes, first, second), share)
        np.add.at(wins, (codes, second, first), 1 - share)
        return wins

    def write(self, path: str | Path, *, format: str | None = None, lang: str | None = None, **options: Any) -> None:
        """Write it as JSON that `read` reads, or in the format that is named; whole or not at all.

        Raises   OutputError where nothing can be written.
        """
        if format is not None:
            super().write(path, format=format, lang=lang, **options)
        else:
            content = {"systems": self.systems, "recipe": self.recipe, "choices": self.choices.to_dicts()}
            _FILE.write(path, content)

    @classmethod
    def read(cls, path: str | Path) -> Preferences:
        """The result in a file.

        Raises   InputError for a file that is none, or was damaged.
        """
        return _FILE.read(path, cls._of_file)

    @classmethod
    def _of_file(cls, content: Mapping[str, Any]) -> Preferences:
        try:
            choices = pl.DataFrame(content["choices"], _SCHEMA, orient="row")
        except (TypeError, pl.exceptions.PolarsError) as error:
            raise ValueError(f"its choices cannot be read ({type(error).__name__})") from None
        if not set(choices["first"]) | set(choices["second"]) <= set(content["systems"]):
            raise ValueError("its choices are of systems that it does not name")
        return cls(tuple(content["systems"]), choices, content["recipe"])


_NOT_ASKED = "not asked"


def mean_of(values: Floats, clusters: Ints, least: float) -> Estimate:
    """Mean of values from `least` to 1 with its interval; questions of one cluster are no independent evidence."""
    if not len(values):
        return UNDEFINED
    interval = mean_intervals(values[:, None], level=_LEVEL, bounds=(least, 1.0), clusters=clusters)
    return Estimate(float(values.mean()), float(interval.low[0]), float(interval.high[0]))


@dataclass(frozen=True, kw_only=True)
class PairwiseOptions:
    """Options of comparisons in pairs.

    save       True keeps the result in the folder of the first run, where it is one; a path; False nowhere
    must_keep  refuse runs without a folder, where `save` names no file
    cluster    questions with the same value of this field count as one; by default those of one conversation do
    settings   of the model: model, base_url, budget, ...
    """

    save: bool | str | Path = True
    must_keep: bool = False
    cluster: str | None = None
    progress: Progress = usual_progress
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class _Asked:
    """Two systems on one question, and their answers; empty where there is none."""

    query_id: str
    names: tuple[str, str]
    query: str
    answers: tuple[str, str]

    @property
    def is_asked(self) -> bool:
        """True where both answered, and not in the same words."""
        return all(self.answers) and self.answers[0] != self.answers[1]

    @property
    def pairs(self) -> tuple[AnswerPair, AnswerPair]:
        """The two orders."""
        first, second = self.answers
        return AnswerPair(self.query, first, second), AnswerPair(self.query, second, first)

    def choices(self) -> tuple[Choice, Choice]:
        """What is known without asking: an answer is better than none, and the same as itself."""
        better = bool(self.answers[0]) - bool(self.answers[1])
        return Choice(better, _NOT_ASKED), Choice(-better, _NOT_ASKED)


def compare_answers(
    questions: object,
    systems: object,
    *,
    save: bool | str | Path = True,
    cluster: str | None = None,
    progress: Progress = usual_progress,
    **settings: Any,
) -> Preferences:
    """Let a language model say for each question whose answer is better, for all pairs of systems, in both orders.

    questions   Questions, a path to them, or dicts with `qid` and `query`
    systems     run folders, files of outputs, or name -> these: two systems or more
    save        True keeps the result in the folder of the first run, where it is one; a path; False nowhere
    cluster     questions with the same value of this field count as one; by default those of one conversation do
    settings    of the model: model, base_url, budget, ...
    What the order decides is taken out: a score is the mean of both orders, so that a model that always prefers what
    it is shown first says of all that they tie.  Answers that are equal tie; where one system did not answer, the other
    is better; neither is asked about.
    Raises      InputError for fewer than two systems; StageError where the model cannot be asked; OutputError.
    """
    options = PairwiseOptions(save=save, cluster=cluster, progress=progress, settings=settings)
    return compared_in_pairs(questions, systems, options)


def compared_in_pairs(questions: object, systems: object, options: PairwiseOptions) -> Preferences:
    """Answers compared as by `compare_answers`."""
    asked, opened = _opened(questions, systems)
    file = _file(opened[0], options)
    files = {} if file is None else model_files(file)
    with _model(options, files, options.progress) as model:
        alone = options.save is True
        if file is None:
            return _compared(asked, opened, model, options)
        with writing(file, alone=alone):
            result = _compared(asked, opened, model, options)
            result.write(file)
    return replace(result, recipe={**result.recipe, "file": str(file)})


@dataclass(frozen=True, repr=False)
class PairwisePlan(Result):
    """Estimate of the calls that comparing would take.

    n_comparisons   questions × pairs;   n_asked   of them that are asked about, in both orders;   the rest as of
                    `steelyard.judges.llm.judge.CallEstimate`
    """

    VIEW = "views.preferences"

    n_comparisons: int
    n_asked: int
    n_calls: int
    n_cached: int
    tokens_in: int
    tokens_out: int
    cost_usd: float | None

    @property
    def frame(self) -> pl.DataFrame:
        """One row with what comparing would take."""
        return pl.DataFrame([asdict(self)])


def plan_pairwise(questions: object, systems: object, options: PairwiseOptions = PairwiseOptions()) -> PairwisePlan:
    """Estimate what `compare_answers` would take; nobody is asked, and nothing is written."""
    asked, opened = _opened(questions, systems)
    file = _file(opened[0], options)
    comparisons = list(_comparisons(asked, opened))
    pairs = [pair for own in comparisons if own.is_asked for pair in own.pairs]
    with _model(options, {} if file is None else kept(model_files(file)), no_progress) as model:
        return PairwisePlan(len(comparisons), len(pairs) // 2, **asdict(model.plan(pairs)))


def _opened(questions: object, systems: object) -> tuple[Questions, Sequence[System]]:
    asked, opened = open_all_answers(questions, systems)
    if len(opened) < 2:
        raise InputError(f"there is {len(opened)} system; name two or more: --pairwise RUN RUN")
    for own in opened:
        if not own.answered().answers:
            raise InputError(f"{own.name}: has no answers to compare; give outputs with `answer`")
    return asked, opened


def _file(system: System, options: PairwiseOptions) -> Path | None:
    if not isinstance(options.save, bool):
        return Path(options.save)
    if options.save and system.folder is not None:
        return system.folder.path / FOLDER / _NAME
    if options.must_keep and options.save:
        raise InputError(
            f"{system.name}: is no run folder, in which the result could be kept; name a file for it: --into FILE"
        )
    return None


def _model(
    options: PairwiseOptions, files: Mapping[str, Path], progress: Progress
) -> AbstractContextManager[PairwiseModel]:
    """The model of some options, to be closed afterwards."""
    named = {name: str(file) for name, file in files.items()}
    settings = {"progress": progress, **named, **options.settings}
    return closing(make_with(PairwiseModel, settings, "judge llm", are_options=True))


def _comparisons(asked: Questions, systems: Sequence[System]) -> Iterator[_Asked]:
    outputs = {own.name: own.answered() for own in systems}
    for question in asked:
        for names in combinations(outputs, 2):
            texts = [
                "" if question.query_id in outputs[name].failures else outputs[name].answers.get(question.query_id, "")
                for name in names
            ]
            first, second = (whole_characters(text.strip()) for text in texts)
            yield _Asked(question.query_id, names, whole_characters(question.query or ""), (first, second))


def _compared(
    asked: Questions, systems: Sequence[System], model: PairwiseModel, options: PairwiseOptions
) -> Preferences:
    comparisons = list(_comparisons(asked, systems))
    replies = iter(model.choose([pair for own in comparisons if own.is_asked for pair in own.pairs]))
    clusters = _clusters(asked, options.cluster)
    rows = []
    for own in comparisons:
        shown_first, turned = (next(replies), next(replies)) if own.is_asked else own.choices()
        rows.append(_row(own, shown_first, turned) | {"cluster": clusters[own.query_id]})
    recipe = {
        "judge": without_secrets(dict(model.recipe())),
        "systems": {own.name: own.answered().digest() for own in systems},
        "cluster": options.cluster, "seed": defaults.SEED, "steelyard": __version__, "date": timestamp(),
        "calls": model.counts(),
    }  # fmt: skip
    return Preferences(tuple(own.name for own in systems), pl.DataFrame(rows, _SCHEMA), recipe)


def _row(own: _Asked, shown_first: Choice, turned: Choice) -> dict[str, Any]:
    """Row of a comparison: both choices as the first system sees them, and their mean."""
    shown_second = None if turned.better is None else -turned.better
    both = None if shown_first.better is None or shown_second is None else (shown_first.better + shown_second) / 2
    lacking = shown_first if shown_first.better is None else turned
    reason = (shown_first.reason or turned.reason) if both is not None else lacking.reason
    return {
        "query_id": own.query_id, "first": own.names[0], "second": own.names[1], "shown_first": shown_first.better,
        "shown_second": shown_second, "score": both, "reason": reason,
    }  # fmt: skip


def _clusters(asked: Questions, cluster: str | None) -> Mapping[str, int]:
    named = {question.query_id: question for question in asked}
    if cluster is None:
        own = conversation_clusters(named, list(named))
    else:
        own = question_clusters(cluster, gold=asked, questions=named, query_ids=list(named))
    codes = range(len(named)) if own is None else own.codes.tolist()
    return dict(zip(named, codes, strict=True))
