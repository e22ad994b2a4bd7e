"""The pipelines of a grid: every combination of what `[sweep]` varies."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from steelyard.base import defaults
from steelyard.base.arrays import Bools, Floats, Ints
from steelyard.base.defaults import DefaultMeasures
from steelyard.base.errors import InputError, StageError
from steelyard.base.notes import Note
from steelyard.base.own_paths import own_file
from steelyard.base.progress import Progress, usual_progress
from steelyard.base.result import Result
from steelyard.base.settings import Origin
from steelyard.data.clusters import Clustering
from steelyard.data.folders.manifests import write_json
from steelyard.data.folders.run_folder import RunFolder, manifest_stamp
from steelyard.data.questions import Questions
from steelyard.experiment.door.weighing import Weighing
from steelyard.experiment.table.arrays import SHARED_GOLD
from steelyard.experiment.table.behind import OfScores
from steelyard.experiment.table.scores import Scores
from steelyard.measures import Measure, parse, parse_all
from steelyard.rag.config import Config
from steelyard.rag.fingerprint import digest
from steelyard.rag.pipeline.pipeline import Pipeline
from steelyard.rag.runs.running import run
from steelyard.rag.weighed_run import check_cluster, check_measures, refuse_silent_endpoints, resolvers_of, weigh_folder
from steelyard.services.addresses import without_secrets
from steelyard.stats.luck import Luck, luck, scatter
from steelyard.stats.rankings import Lead, lead_over_average, lead_over_next
from steelyard.stats.samples import checked_seed

if TYPE_CHECKING:
    from steelyard.store.store import Store

_LONGEST_FOLDER = 80


@dataclass(frozen=True)
class GridPoint:
    """One pipeline of a grid.

    settings  key -> value of what varies, k left aside;   config  the whole configuration;   ks  the k to weigh it at
    """

    settings: Mapping[str, Any]
    config: Config
    ks: tuple[int, ...]


def grid(config: Config) -> list[GridPoint]:
    """Every combination of the values in `[sweep]`, each once; those that differ in k alone are one trial.

    Raises   InputError for a sweep without values, and for a value that the configuration cannot take.
    """
    varied = {key: values if isinstance(values, list) else [values] for key, values in config.sweep.items()}
    if not varied or not all(varied.values()):
        raise InputError(
            f"{config.origin.place('sweep')}there is nothing to vary; expected a table such as "
            '[sweep] with "chunk.size" = [300, 1000] and index = ["bm25", "dense"]'
        )
    ks = varied.pop("k", [config.k])
    if not all(isinstance(k, int) and not isinstance(k, bool) and k >= 1 for k in ks):
        raise InputError(f"{config.origin.place('sweep', 'k')}k must be whole numbers from 1, not {ks!r}")
    ordered = tuple(sorted(set(ks)))
    trials: dict[str, GridPoint] = {}
    for values in itertools.product(*varied.values()):
        settings = dict(zip(varied, values, strict=True))
        trial = _grid_point(config, settings, ordered)
        trials.setdefault(trial.config.name, trial)
    return list(trials.values())


def setting_text(value: Any) -> str:
    """A setting as a table shows it, without secrets.

    >>> setting_text(["bm25", {"kind": "dense", "backend": "numpy"}])
    'bm25+dense backend=numpy'
    """
    value = without_secrets(value)
    if isinstance(value, list):
        return "+".join(map(setting_text, value))
    if isinstance(value, Mapping):
        more = [f"{key}={setting_text(inner)}" for key, inner in value.items() if key != "kind"]
        return " ".join([str(value.get("kind", "")), *more]).strip()
    return str(value)


def _grid_point(config: Config, settings: Mapping[str, Any], ks: tuple[int, ...]) -> GridPoint:
    name = "-".join(f"{key.rpartition('.')[2]}={setting_text(value)}" for key, value in settings.items())
    name = name or config.name
    depth = settings.get("depth", max(config.depth, ks[-1]))
    try:
        # Its messages name the line of [sweep], not that of a key which the sweep replaces.
        varied = config.with_changes({**settings, "k": ks[-1], "depth": depth}, origin=Origin())
        folder = config.folder.with_name(f"{config.folder.name}-sweep") / _folder_name(name)
        varied = varied.model_copy(update={"name": name, "folder": folder})
        Pipeline.read(varied)  # Raises now, and not after hours of what comes before it in the grid.
    except InputError as error:
        shown = ", ".join(f"{key} = {setting_text(value)}" for key, value in settings.items())
        reason = str(error).removeprefix("the configuration: ")
        raise InputError(f"{config.origin.place('sweep')}{shown + ': ' if shown else ''}{reason}") from error
    return GridPoint(settings, varied, ks)


def _folder_name(name: str) -> str:
    """A name as that of a folder; where letters are replaced or left away, with a digest that keeps it apart."""
    plain = "".join(c if c.isalnum() or c in "=.+-_" else "_" for c in name)[:_LONGEST_FOLDER]
    return plain if plain == name else f"{plain}-{digest(name)[:8]}"


OVERWRITING = ".overwriting.json"


@contextmanager
def overwriting(folders: Sequence[Path]) -> Iterator[Callable[[Path], bool]]:
    """True if a run is one that was there when the overwriting began, and not its successor.

    folders   of the runs, all in one folder, where a file remembers the runs that were there until this is through
    """
    path = own_file(folders[0].parent, OVERWRITING)
    stamps = {folder.name: _stamp(folder) for folder in folders} | _read(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json(path, stamps)
    yield lambda folder: _stamp(folder) == stamps[folder.name]
    path.unlink(missing_ok=True)


def _stamp(folder: Path) -> list[int] | None:
    stamp = manifest_stamp(folder)
    return None if stamp is None else list(stamp)


def _read(path: Path) -> dict[str, Any]:
    """The notes of an overwriting that was interrupted; nothing where there was none."""
    try:
        stamps = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return stamps if isinstance(stamps, dict) else {}


MEASURES = DefaultMeasures(
    by_id=("ndcg", "recall", "precision", "mrr"),
    by_evidence=("evidence_recall", "span_recall", "span_precision", "span_iou", "recall", "precision", "mrr", "ndcg"),
)
"""The measures of a sweep by default: of chunks the evidence first, as it alone compares across chunkings."""
_OF_ALL = ("cluster", SHARED_GOLD, "unit", "hold_out")
_NAMES_SHOWN = 5


@dataclass(frozen=True)
class SweepNote:
    """A note, and the pipelines of the grid that it is of; none where it is of all."""

    note: Note
    pipelines: tuple[str, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Swept(OfScores, Result):
    """A sweep, a row for each pipeline and k.

    settings   one mapping a row, k among them;   folders  the folder of each run
    measures   m measures, without their cut-offs where k varies
    values     (rows, m, q) one value a question; NaN where it is undefined
    query_ids  the q questions;   held_out  (q,) those that do not take part in choosing
    notes      of the runs and of the weighing, each once
    n_failed   questions that failed, of all runs together
    clustering which questions count as one, or None;   recipe   what of that of the scores is about this
    n_tried    configurations that were tried on these questions, these among them; None where that is not known
    """

    VIEW = "views.runs"

    settings: Sequence[Mapping[str, Any]]
    folders: Sequence[Path]
    measures: Sequence[str]
    values: Floats
    query_ids: Sequence[str]
    held_out: Bools
    notes: Sequence[SweepNote]
    n_failed: int = 0
    clustering: Clustering | None = None
    recipe: Mapping[str, Any] = field(repr=False, default_factory=dict)
    n_tried: int | None = None

    @property
    def frame(self) -> pl.DataFrame:
        """One row a pipeline and k: its settings as texts, its folder, and the mean of each measure."""
        means, rows = self.means(), zip(self.settings, self.folders, strict=True)
        columns = [
            {**{key: str(value) for key, value in settings.items()}, "folder": str(folder)} for settings, folder in rows
        ]
        return pl.DataFrame(columns).with_columns(pl.Series(name, means[:, j]) for j, name in enumerate(self.measures))

    def means(self, questions: Bools | None = None) -> Floats:
        """(rows, m) means over the questions of a mask, over those that are not held out by default; of measures that
        are no arithmetic mean, such as gm_map, what they are.
        """
        mask = ~self.held_out if questions is None else questions
        means = _means(self.values[:, :, mask])
        for j, measure in enumerate(self.measures):
            if not (aggregation := parse(measure).aggregation).arithmetic:
                means[:, j] = [aggregation.of(row[mask & ~np.isnan(row)]) for row in self.values[:, j]]
        return means

    @property
    def _signs(self) -> Ints:
        return np.array([1 if parse(measure).definition.higher_is_better else -1 for measure in self.measures])

    @property
    def goodness(self) -> Floats:
        """(rows, m) means, negative where lower ones are better."""
        return np.asarray(self._signs * self.means())

    @property
    def best(self) -> int:
        """The row with the best mean of the first measure; the first one among equals."""
        return self.order[0]

    @property
    def order(self) -> list[int]:
        """All rows, best first by the first measure, equals as they are in the grid, those without a mean last."""
        return [int(row) for row in np.argsort(-self.goodness[:, 0], kind="stable")]

    @property
    def ahead(self) -> Floats:
        """(rows,) how far the first measure of each row is ahead of the best other row; below 0 for all but the best.

        NaN without a mean, or without another row that has one.
        """
        first = self.goodness[:, 0]
        others = np.where(np.eye(len(first), dtype=bool), np.nan, first)
        return np.asarray(first - np.fmax.reduce(others, axis=1))

    def leads(self, *, seed: int = defaults.SEED) -> tuple[Lead, Lead] | None:
        """The lead of the best row over the next one, and over the average of all, with what chance alone gives.

        None for fewer than two rows with a mean, and for first measures that are no arithmetic mean.  Questions that
        have no value for a row count as its mean; those of a cluster change sign together.
        """
        complete, clusters = self._complete()
        if complete is None:
            return None
        return lead_over_next(complete, clusters=clusters), lead_over_average(complete, seed=seed, clusters=clusters)

    def luck(self, *, seed: int = defaults.SEED) -> Luck | None:
        """The leads of the best row, and those that luck gives after so many configurations; None as of `leads`, and
        where it is not known how many were tried.
        """
        complete, clusters = self._complete()
        if complete is None or self.n_tried is None or (error := scatter(complete, clusters=clusters)) is None:
            return None
        return luck(complete.mean(axis=1), error, max(self.n_tried, len(complete)), seed=seed)

    def _complete(self) -> tuple[Floats | None, Ints | None]:
        """(rows, n) values by the first measure, negative where lower ones are better, and clusters of the questions.

        None for fewer than two rows with a mean, and for first measures that are no arithmetic mean.
        """
        mask, rows = ~self.held_out, ~np.isnan(self.goodness[:, 0])
        clusters = None if self.clustering is None else self.clustering.codes[mask]
        if rows.sum() < 2 or not parse(self.measures[0]).aggregation.arithmetic:
            return None, clusters
        values = self.values[rows][:, 0, mask]
        defined, means = ~np.isnan(values), _means(values)[:, None]
        more = values.shape[1] / defined.sum(axis=1, keepdims=True) - 1
        return self._signs[0] * np.where(defined, values + more * (values - means), means), clusters


def _means(values: Floats) -> Floats:
    """Means over the questions, the last axis, that have a value; NaN where there is none."""
    n = (~np.isnan(values)).sum(axis=-1)
    sums: Floats = np.nansum(values, axis=-1)
    means: Floats = np.divide(sums, n, out=np.full(sums.shape, np.nan), where=n > 0)
    return means


def sweep(
    config: Config,
    *,
    measures: Sequence[str] | None = None,
    cluster: str | None = None,
    holdout: bool = False,
    hold_out: float | None = None,
    n_tried: int | None = None,
    store: Store | str | Path | None = None,
    seed: int = defaults.SEED,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> Swept:
    """Run every pipeline of the grid and weigh all of them.

    measures   names such as "recall", weighed at each k; those that name a k keep it
    cluster    which questions count as one, as of `evaluate`; as the configuration has it by default
    holdout    keep half of the questions, or of their clusters, drawn by the seed, from the choice of the best
    hold_out   the share of the questions that is held out of all of this, as of `evaluate`
    n_tried    configurations that were tried on these questions, these among them: how much of the lead is luck?
    store      counts them, where n_tried is None
    Each run has a folder of its own beside that of the configuration; finished ones are not run again, and chunks and
    vectors that pipelines share are computed once.  Where it was interrupted with `overwrite`, it goes on likewise.
    Raises     InputError, StageError; what was run before stays.
    """
    if config.questions is None:
        raise InputError(f"{config.origin.place()}which questions? Set `questions`")
    progress, seed = progress or usual_progress, checked_seed(seed)
    questions = Questions.read(config.questions)
    config = config.with_unit_of(questions)
    trials, default = grid(config), MEASURES.by_id if config.unit == "document" else MEASURES.by_evidence
    specs = parse_all(measures or config.weigh.measures or default)
    for trial in trials:
        check_measures(specs, trial.config, questions)
    options, rows = config.weigh.options(cluster, hold_out), list[_Row]()
    check_cluster(options, questions)
    resolvers = resolvers_of(config, questions, options)
    refuse_silent_endpoints([trial.config for trial in trials], questions, overwrite=overwrite)
    with overwriting([trial.config.folder for trial in trials]) if overwrite else nullcontext() as is_old:
        for number, trial in enumerate(trials):
            progress("pipelines", number, len(trials))
            anew = is_old is not None and is_old(trial.config.folder)
            pipeline, place = Pipeline.read(trial.config), trial.config.folder
            try:
                folder = run(pipeline, questions, place, overwrite=overwrite, anew=anew, progress=progress)
            except StageError as error:
                raise StageError(f"{trial.config.name}: {error}") from error
            rows += _rows(trial, folder, weigh_folder(folder, resolvers, options), specs)
    progress("pipelines", len(trials), len(trials))
    query_ids, clustering = rows[0].scores.query_ids, rows[0].scores.clustering
    n_failed_of = {row.folder: row.n_failed for row in rows}  # Rows of several k have one run.
    held_out = np.zeros(len(query_ids), bool)
    if holdout:
        codes = np.arange(len(query_ids)) if clustering is None else clustering.codes
        n = int(codes.max()) + 1
        held_out = np.isin(codes, np.random.default_rng(seed).permutation(n)[: n // 2])
    scores = _scores_of(rows)
    if n_tried is None and store is not None:
        from steelyard.store.tried import n_tried as configurations

        n_tried = configurations(store, *(row.scores for row in rows))
    return Swept(
        [row.settings for row in rows], [row.folder for row in rows], _names(specs, trials[0].ks),
        values=np.stack([row.values for row in rows]), query_ids=query_ids, held_out=held_out,
        notes=_merge_notes(rows, len(trials)), n_failed=sum(n_failed_of.values()), clustering=clustering,
        recipe=_recipe(rows), n_tried=n_tried,
    ).of_scores(scores)  # fmt: skip


def _scores_of(rows: Sequence[_Row]) -> Scores:
    """The scores of all pipelines, with those of the questions that are held out, where some are."""
    parts = list({row.folder: row.scores for row in rows}.values())
    held_out = [own for part in parts if (own := part.held_out) is not None]
    scores = Scores.concat(parts)
    return scores.beside(Scores.concat(held_out)) if held_out else scores


def _recipe(rows: Sequence[_Row]) -> dict[str, Any]:
    """The settings that the values of all rows depend on alike."""
    first = rows[0].scores
    recipe = {key: part for key, part in first.recipe.items() if key in _OF_ALL}
    if first.shared_gold is not None:
        recipe[SHARED_GOLD] = first.shared_gold.facts(np.concatenate([row.values for row in rows]))
    return recipe


@dataclass(frozen=True, eq=False)
class _Row:
    """A pipeline weighed at one k: values (m, q) of its scores; notes of the pipeline, the same at each k."""

    pipeline: str
    settings: Mapping[str, Any]
    folder: Path
    values: Floats
    scores: Scores
    notes: Sequence[Note]
    n_failed: int


def _rows(trial: GridPoint, folder: RunFolder, weighing: Weighing, specs: Sequence[Measure]) -> Iterator[_Row]:
    """A row for each k."""
    config = trial.config
    measures_by_k = [[measure.with_depth(k) for measure in specs] for k in trial.ks]
    measures = [measure for of_k in measures_by_k for measure in of_k]
    scores = weighing.scores(measures).of_weighing(weighing)
    row_of = {str(measure): j for j, measure in enumerate(scores.measures)}
    notes = [*_weighing_notes(scores), *folder.notes]
    for k, of_k in zip(trial.ks, measures_by_k, strict=True):
        values = np.array([scores.values[0, row_of[str(measure)]] for measure in of_k])
        yield _Row(config.name, {**trial.settings, "k": k}, folder.path, values, scores, notes, folder.n_failed)


def _names(specs: Sequence[Measure], ks: Sequence[int]) -> list[str]:
    """Measures as the columns of a sweep, without the k that varies."""
    return [
        str(measure if (at_k := measure.with_depth(ks[0])).k == measure.k else replace(at_k, k=None))
        for measure in specs
    ]


def _weighing_notes(scores: Scores) -> Iterator[Note]:
    """By which rule the gold was mapped, and what the means of one pipeline hide."""
    yield from (note for notes in scores.notes.values() for note in notes)
    mapping = scores.gold[0]
    if mapping is not None:
        yield Note("gold_documents") if mapping.unit == "document" else Note("gold_rule", {"rule": mapping.rule})
        if mapping.lost:
            yield Note("gold_lost", {"n": len(mapping.lost), "total": mapping.n_pieces})
    for mask, code in ((scores.failed[0], "questions_failed"), (scores.unwinnable[0], "questions_unwinnable")):
        query_ids = [scores.query_ids[q] for q in np.flatnonzero(mask).tolist()]
        if query_ids:
            values = {"n": len(query_ids), "total": len(scores.query_ids), "names": query_ids[:_NAMES_SHOWN]}
            yield Note(code, values)


def _merge_notes(rows: Sequence[_Row], n_pipelines: int) -> list[SweepNote]:
    """Each note once, with the pipelines that it is of where it is not of all."""
    notes, pipelines = list[Note](), list[dict[str, None]]()
    for row in rows:
        for note in row.notes:
            if note not in notes:
                notes.append(note)
                pipelines.append({})
            pipelines[notes.index(note)][row.pipeline] = None
    return [
        SweepNote(note, () if len(names) == n_pipelines else tuple(names))
        for note, names in zip(notes, pipelines, strict=True)
    ]
