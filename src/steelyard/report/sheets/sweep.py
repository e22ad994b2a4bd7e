"""A sweep as a sheet: a row for each pipeline and k, and how much of the best one's lead may be luck."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from steelyard.rag.grid import setting_text
from steelyard.rag.sweeping import Swept
from steelyard.report.sheets.clusters import cluster_notes
from steelyard.report.sheets.notes import note_text
from steelyard.report.sheets.sheet import Sheet, number
from steelyard.report.words import Words, read_words


def sweep_sheet(swept: Swept, *, seed: int = 0, words: Words | None = None) -> Sheet:
    """A row for each pipeline and k, best first by the first measure.

    words   that of the locale by default
    """
    varied, means, order = list(swept.settings[0]), swept.means(), best_first(swept)
    rows = [[*(setting_text(swept.settings[i][key]) for key in varied), *map(number, means[i].tolist())] for i in order]
    best = {
        (r, len(varied) + j)
        for j in range(means.shape[1])
        for r, i in enumerate(order)
        if means[i, j] == np.nanmax(means[:, j], initial=-np.inf)
    }
    return Sheet([*varied, *swept.measures], rows, best, list(sweep_notes(swept, seed, words or read_words())))


def best_first(swept: Swept) -> list[int]:
    """Rows, best first by the first measure, equals as they are in the grid."""
    first = swept.means()[:, 0]
    return sorted(range(len(first)), key=lambda i: (-np.nan_to_num(first[i], nan=-np.inf), i))


def sweep_notes(swept: Swept, seed: int, words: Words) -> Iterator[str]:
    """Of how many questions the means are, how much of the lead may be luck, and the notes of the runs."""
    n, rows, first = int((~swept.held_out).sum()), len(swept.settings), swept.measures[0]
    yield words("sweep.means_of_documents" if swept.recipe.get("unit") == "document" else "sweep.means", n=n)
    if rows > 1:
        luck = f"{swept.luck(seed=seed):.3f}"
        yield words("sweep.luck", n=n, rows=rows, luck=luck, measure=first)
    if swept.held_out.any():
        on_choice, held_out = (swept.means(mask)[swept.best, 0] for mask in (~swept.held_out, swept.held_out))
        yield words(
            "sweep.held_out", n=n, measure=first, held=number(held_out), held_n=swept.held_out.sum(), seed=seed,
            kept=number(on_choice),
        )  # fmt: skip
    elif rows > 1:
        yield words("sweep.holdout")
    clustering = swept.clustering
    n_clusters = None if clustering is None else clustering.n
    yield from cluster_notes(swept.recipe, words, n=len(swept.query_ids), n_clusters=n_clusters)
    for note in swept.notes:
        text = note_text(note.note, words)
        if note.pipelines:
            text = words("scores.gold.of", systems=words("list.comma").join(note.pipelines), note=text)
        yield text
