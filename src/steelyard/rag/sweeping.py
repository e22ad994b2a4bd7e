"""A grid of pipelines over shared caches, weighed together; with how much of the best one's lead may be luck."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.base.arrays import Bools, Floats
from steelyard.base.errors import InputError, StageError
from steelyard.data.questions import Questions
from steelyard.experiment.evaluation import evaluate
from steelyard.experiment.scores import Scores
from steelyard.measures import Measure, parse_all
from steelyard.rag.config import Config
from steelyard.rag.fingerprint import digest
from steelyard.rag.pipeline import Pipeline
from steelyard.rag.running import run
from steelyard.rag.system import Progress
from steelyard.report.words import Words, read_words
from steelyard.services.secrecy import without_secrets

MEASURES = ("evidence_recall", "span_recall", "span_precision", "span_iou", "recall", "precision", "mrr", "ndcg")
"""What a sweep is weighed by where nobody says: the evidence first, as it alone compares across chunkings."""
_RESAMPLES = 2_000
_LONGEST_FOLDER = 80
_LISTED = 5


@dataclass(frozen=True)
class Trial:
    """One pipeline of a grid.

    settings  key -> value of what varies, k left aside;   config  the whole configuration;   ks  the k to weigh it at
    """

    settings: Mapping[str, Any]
    config: Config
    ks: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Swept:
    """What a sweep found, a row for each pipeline and k.

    settings   one mapping a row, k among them;   folders  where each run lies
    measures   m measures, without their cut-offs where k varies
    values     (rows, m, q) one value a question; NaN where it is undefined
    query_ids  the q questions;   held_out  (q,) those that do not take part in choosing
    notes      what the runs and the weighing had to say, each thing once, with the pipelines that it is of
    """

    settings: Sequence[Mapping[str, Any]]
    folders: Sequence[Path]
    measures: Sequence[str]
    values: Floats
    query_ids: Sequence[str]
    held_out: Bools
    notes: Sequence[str]

    def means(self, chosen: Bools | None = None) -> Floats:
        """(rows, m) means over some questions; over those that are not held out by default."""
        kept = ~self.held_out if chosen is None else chosen
        values = self.values[:, :, kept]
        n = (~np.isnan(values)).sum(axis=2)
        sums: Floats = np.nansum(values, axis=2)
        means: Floats = np.divide(sums, n, out=np.full(sums.shape, np.nan), where=n > 0)
        return means

    @property
    def best(self) -> int:
        """The row with the best mean of the first measure; the first one among equals."""
        means = self.means()[:, 0]
        return 0 if np.isnan(means).all() else int(np.nanargmax(means))

    def luck(self, *, seed: int = 0) -> float:
        """How far ahead the best of so many would seem to be if all rows were equally good.

        Each row's values are centred, so that nothing but chance is left; questions are then drawn anew, the same for
        all rows, which keeps the rows as alike as they are.  Returns the mean of how far the best row's mean is above
        that of all rows: at least 0, and 0 for rows that are alike.
        """
        values = self.values[:, 0][:, ~self.held_out]
        known = ~np.isnan(values)
        centred = np.where(known, values - self.means()[:, :1], 0.0)
        n = centred.shape[1]
        draws = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=_RESAMPLES)
        means = draws @ centred.T / np.maximum(draws @ known.T, 1)
        return float((means.max(axis=1) - means.mean(axis=1)).mean())


def grid(config: Config) -> list[Trial]:
    """Every combination of the values in `[sweep]`, each once; those that differ in k alone are one trial.

    Raises   InputError for a sweep without values, and for a value that the configuration cannot take.
    """
    varied = {key: values if isinstance(values, list) else [values] for key, values in config.sweep.items()}
    if not varied or not all(varied.values()):
        raise InputError(
            f"{config.line('sweep')}there is nothing to vary; expected a table such as "
            '[sweep] with "chunk.size" = [300, 1000] and index = ["bm25", "dense"]'
        )
    ks = varied.pop("k", [config.k])
    if not all(isinstance(k, int) and not isinstance(k, bool) and k >= 1 for k in ks):
        raise InputError(f"{config.line('sweep', 'k')}k must be whole numbers from 1, not {ks!r}")
    ordered = tuple(sorted(set(ks)))
    trials: dict[str, Trial] = {}
    base = config.folder.with_name(f"{config.folder.name}-sweep")
    for values in itertools.product(*varied.values()):
        settings = dict(zip(varied, values, strict=True))
        name = "-".join(f"{key.rpartition('.')[2]}={_text(value)}" for key, value in settings.items()) or config.name
        depth = settings.get("depth", max(config.depth, ordered[-1]))
        try:
            # Its messages name the line of [sweep], not that of a key which the sweep replaces.
            made = replace(config, where="").with_changes({**settings, "k": ordered[-1], "depth": depth})
            made = replace(made, name=name, folder=base / _folder_name(name))
            Pipeline.read(made)  # Told now, and not after hours of what comes before it in the grid.
        except InputError as error:
            shown = ", ".join(f"{key} = {_text(value)}" for key, value in settings.items())
            reason = str(error).removeprefix("the configuration: ")
            raise InputError(f"{config.line('sweep')}{shown + ': ' if shown else ''}{reason}") from error
        trials.setdefault(name, Trial(settings, made, ordered))
    return list(trials.values())


def _text(value: Any) -> str:
    value = without_secrets(value)
    if isinstance(value, list):
        return "+".join(map(_text, value))
    if isinstance(value, Mapping):
        more = [f"{key}={_text(inner)}" for key, inner in value.items() if key != "kind"]
        return " ".join([str(value.get("kind", "")), *more]).strip()
    return str(value)


def _folder_name(name: str) -> str:
    """A name as that of a folder; where letters are replaced or left away, with a digest that keeps it apart."""
    plain = "".join(c if c.isalnum() or c in "=.+-_" else "_" for c in name)[:_LONGEST_FOLDER]
    return plain if plain == name else f"{plain}-{digest(name)[:8]}"


def setting_text(value: Any) -> str:
    """A setting as a table shows it."""
    return _text(value)


def sweep(
    config: Config,
    *,
    measures: Sequence[str] | None = None,
    holdout: bool = False,
    seed: int = 0,
    overwrite: bool = False,
    progress: Progress | None = None,
    lang: Words | None = None,
) -> Swept:
    """Run every pipeline of the grid and weigh all of them.

    measures   names such as "recall", weighed at each k; those that say their own k keep it
    holdout    keep half of the questions, drawn by the seed, from the choice of the best
    lang       what the notes of the weighing are written in, the locale's by default; those of the runs are English
    Each run has a folder of its own beside that of the configuration; finished ones are not run again, and chunks and
    vectors that pipelines share are computed once.
    Raises     InputError, StageError; what was run before stays.
    """
    if config.questions is None:
        raise InputError(f"{config.line()}which questions? Set `questions`")
    trials = grid(config)
    questions = Questions.read(config.questions)
    lang, wanted = lang or read_words(), measures or config.weigh.measures or MEASURES
    given = parse_all(wanted)
    settings, folders, values, names = list[Mapping[str, Any]](), list[Path](), list[Floats](), list[str]()
    said: dict[str, list[str]] = {}
    for number, trial in enumerate(trials):
        if progress:
            progress("pipelines", number, len(trials))
        pipeline = Pipeline.read(trial.config)
        try:
            folder = run(pipeline, questions, trial.config.folder, overwrite=overwrite, progress=progress)
        except StageError as error:
            raise StageError(f"{trial.config.name}: {error}") from error
        specs = [_at(given, k) for k in trial.ks]
        names = [
            str(one if measure.k == one.k else replace(measure, k=None))
            for measure, one in zip(specs[0], given, strict=True)
        ]
        scores = evaluate(
            questions, [folder.path], [measure for of_k in specs for measure in of_k],
            **config.weigh.options(), seed=seed,
        )  # fmt: skip
        at = {str(measure): j for j, measure in enumerate(scores.measures)}
        for k, of_k in zip(trial.ks, specs, strict=True):
            settings.append({**trial.settings, "k": k})
            folders.append(folder.path)
            values.append(np.array([scores.values[0, at[str(measure)]] for measure in of_k]))
        for note in (*_weighing(scores, lang), *folder.manifest["notes"]):
            said.setdefault(note, []).append(trial.config.name)
        query_ids = scores.query_ids
    if progress:
        progress("pipelines", len(trials), len(trials))
    comma = lang("list.comma")
    notes = [
        note if len(of) == len(trials) else lang("scores.gold.of", systems=comma.join(of), note=note)
        for note, of in said.items()
    ]
    held_out = np.zeros(len(query_ids), bool)
    if holdout:
        held_out[np.random.default_rng(seed).permutation(len(query_ids))[: len(query_ids) // 2]] = True
    return Swept(settings, folders, names, np.stack(values), query_ids, held_out, notes)


def _at(given: Sequence[Measure], k: int) -> list[Measure]:
    """Measures at k, where they take a cut-off and do not have one."""
    return [measure.with_depth(k) for measure in given]


def _weighing(scores: Scores, lang: Words) -> Iterator[str]:
    """By which rule the gold was mapped, and what the means of one pipeline hide."""
    report = scores.gold[0]
    if report is not None:
        yield lang("scores.sweep.rule", rule=report.rule)
        if report.lost:
            yield lang("scores.sweep.lost", n=len(report.lost), total=report.n_pieces)
    for which, what in ((scores.failed[0], "failed"), (scores.unwinnable[0], "unwinnable")):
        if found := [scores.query_ids[q] for q in np.flatnonzero(which).tolist()]:
            listed = lang("list.comma").join(found[:_LISTED])
            if len(found) > _LISTED:
                listed = lang("scores.sweep.more", shown=listed)
            yield lang(f"scores.sweep.{what}", n=len(found), total=len(scores.query_ids), listed=listed)
