"""Notes below results: of runs, signatures, clusters of questions, and repeated runs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from steelyard.base.notes import PLAIN, Note
from steelyard.data.clusters import DOC, OWN
from steelyard.experiment.table.arrays import SHARED_GOLD
from steelyard.experiment.table.recipes import Signature
from steelyard.experiment.table.scores import Scores
from steelyard.reports.views.numbers import ends, number
from steelyard.reports.visible import single_line, visible
from steelyard.reports.words import Words


def note_text(note: Note, words: Words) -> str:
    """A note as a sentence; one of an earlier version as it was written, one that lacks what the text names as data.

    >>> from steelyard.reports.words import read_words
    >>> note_text(Note("documents_empty", {"n": 4, "names": ["a", "b", "c"]}), read_words("en"))
    '4 documents are empty: a, b, c, ...'
    >>> note_text(Note("documents_empty", {"names": ["a"]}), read_words("en"))
    'documents_empty {"names": ["a"]}'
    """
    key = f"notes.{note.code}"
    if note.code == PLAIN:
        return str(note.values["text"])
    try:
        return words(key, **{name: _listed(value, note, words) for name, value in note.values.items()})
    except KeyError:  # Of another version, or damaged.
        return f"{note.code} {json.dumps(dict(note.values), ensure_ascii=False)}"


def notes_of_systems(
    notes: Mapping[str, Sequence[Note]], words: Words, *, n_systems: int = 0, most: int | None = None
) -> Iterator[str]:
    """Each note once, with the systems that it is of; n_systems, most as of `texts_of_systems`."""
    texts = {system: [note_text(note, words) for note in own] for system, own in notes.items()}
    return texts_of_systems(texts, words, n_systems=n_systems, most=most)


def texts_of_systems(
    texts: Mapping[str, Sequence[str]], words: Words, *, n_systems: int = 0, most: int | None = None
) -> Iterator[str]:
    """Each text once, with the systems that it is of, unless these are all.

    n_systems   how many there are, 0 to name systems in any case;   most   how many of them are named at most
    """
    systems: dict[str, list[str]] = {}
    for system, of_system in texts.items():
        for text in of_system:
            systems.setdefault(text, []).append(single_line(system))
    for text, names in systems.items():
        named = words.listed(names, most or len(names))
        text = visible(text)
        yield text if len(names) == n_systems else words("scores.gold.of", systems=named, note=text)


def notes_json(notes: Mapping[str, Sequence[Note]]) -> dict[str, list[dict[str, Any]]]:
    """System -> its notes as data."""
    return {system: [note.as_json() for note in of_system] for system, of_system in notes.items()}


def _listed(value: Any, note: Note, words: Words) -> Any:
    """A list of names in a row, with an ellipsis where it is shorter than the number n of all."""
    if not isinstance(value, list | tuple):
        return value
    shown = words("list.comma").join(map(str, value))
    return words("list.and_more", shown=shown) if len(value) < note.values.get("n", 0) else shown


def signature_note(signature: Signature | None, words: Words) -> list[str]:
    """The line by which a result is quoted; nothing for a result that has none."""
    return [] if signature is None else [words("scores.signature", line=signature)]


_WIDER = 1.005
"""Intervals of which one is this many times as wide by cluster are said to be wider."""

_FEW = 10
"""Fewer clusters leave t so few degrees of freedom that intervals become half as wide again."""


def cluster_notes(
    recipe: Mapping[str, Any], words: Words, *, n: int, n_clusters: int | None, ask: str = "--cluster doc"
) -> Iterator[str]:
    """Notes on the clusters of the questions, and that few show little; or that questions share gold documents.

    recipe   of the scores;   n, n_clusters   questions that are weighed, and their clusters; None without any
    ask      how to have them counted by document: what the command takes whose output it is
    """
    shared = recipe.get(SHARED_GOLD)
    if n_clusters is not None:
        field = recipe.get("cluster", OWN)
        kind = field if field in (DOC, OWN) else "field"
        chained = _chained(shared, words) if field == DOC and shared else ""
        clusters = words("count.clusters", n=n_clusters)
        yield words(f"scores.clusters.{kind}", n=n, clusters=clusters, field=field, chained=chained)
        if n_clusters < _FEW:
            yield words("scores.clusters.few", n=n_clusters)
    elif shared is not None:
        widening = shared.get("widening")
        key = "unknown" if widening is None else "wider" if is_wider(widening) else "no_wider"
        yield words(
            "scores.clusters.shared",
            n=shared["n_questions"],
            clusters=words("count.clusters", n=shared["n_clusters"]),
            chained=_chained(shared, words),
            ask=ask,
            width=words(f"scores.clusters.{key}", times="" if widening is None else number(widening, 2)),
        )


def is_wider(widening: float | None) -> bool:
    """True if intervals by cluster are said to be wider, which is so many times."""
    return widening is not None and widening >= _WIDER


def _chained(shared: Mapping[str, Any], words: Words) -> str:
    """The number of clusters there would be by any shared document, in brackets, where the recipe has it."""
    return words("scores.clusters.chained", n=shared["n_chained"]) if "n_chained" in shared else ""


def scores_cluster_notes(scores: Scores, words: Words) -> Iterator[str]:
    """The same for scores."""
    n_clusters = None if scores.clustering is None else scores.clustering.n
    yield from cluster_notes(scores.recipe, words, n=len(scores.query_ids), n_clusters=n_clusters)


def interval_key(scores: Scores) -> str:
    """By which method the intervals of the means are, or why there are none."""
    method = scores.intervals.method
    if scores.clustering is None:
        return method
    return "clusters" if method != "none" else "one_cluster" if len(scores.query_ids) > 1 else method


_NO_SPREAD = 1e-12
"""Standard deviation of values that differ by rounding alone."""
_SHOWN = 2
"""Of so many measures, the first ones; the others are in JSON."""


def component_notes(components: pl.DataFrame, words: Words) -> Iterator[str]:
    """One note a system whose runs differ, one for all those whose runs are alike, and what all have in common.

    components   as of `Scores.components`
    """
    differ = (pl.col("sd_runs").fill_null(0.0) > _NO_SPREAD).any().over("system")
    alike = components.filter(~differ).unique("system", maintain_order=True)
    for (n,), rows in alike.group_by("n_runs", maintain_order=True):
        systems = words.listed(rows["system"].to_list())
        measures = words.listed(components["measure"].unique(maintain_order=True).to_list())
        yield words("scores.repeats.alike", systems=systems, n=n, measures=measures)
    components = components.filter(differ)
    for (system,), rows in components.group_by("system", maintain_order=True):
        listed = [
            words(
                "scores.repeats.components",
                measure=row["measure"],
                questions=_shown(row["sd_questions"]),
                runs=_shown(row["sd_runs"]),
                means=ends(row["least"], row["greatest"]),
            )
            for row in rows.head(_SHOWN).iter_rows(named=True)
        ]
        yield words(
            "scores.repeats.of", system=system, n=rows["n_runs"][0], listed=words("list.semicolon").join(listed)
        )
    if len(components):
        yield words("scores.repeats.about")


def _shown(sd: float | None) -> str:
    return "–" if sd is None else number(sd)
