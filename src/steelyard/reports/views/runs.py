"""Runs of pipelines line by line, and a sweep as a sheet: how far each pipeline leads, and the best by chance."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from steelyard.base.json_text import plain
from steelyard.base.result import Result
from steelyard.data.folders.run_folder import RunFolder
from steelyard.measures import parse
from steelyard.rag.sweeping import SweepNote, Swept, setting_text
from steelyard.rag.weighed_run import WeighedRun
from steelyard.reports.views.cautions import careful, is_grave, shared_documents
from steelyard.reports.views.notes import cluster_notes, note_text
from steelyard.reports.views.numbers import number, p_text, signed
from steelyard.reports.views.picture import Intervals, Mark, described
from steelyard.reports.views.scores import brief_sheets, scores_picture, scores_sheets
from steelyard.reports.views.view import USUAL_WIDTH, Block, Look, Sheet, Text, View, sheet_width
from steelyard.reports.views.wear import luck_text
from steelyard.reports.visible import short_path
from steelyard.reports.words import Words, read_words
from steelyard.stats.rankings import Lead


def sweep_sheet(swept: Swept, *, seed: int = 0, words: Words | None = None) -> Sheet:
    """A row for each pipeline and k, best first by the first measure.

    words   that of the locale by default
    """
    words, order = words or read_words(), swept.order
    goodness, columns = swept.goodness, [[number(mean) for mean in column] for column in swept.means().T.tolist()]
    best = [
        {r for r, i in enumerate(order) if column[i] == np.nanmax(column, initial=-np.inf)} for column in goodness.T
    ]
    # The lead goes beside the first measure, of which it is.
    heads = [swept.measures[0], words("sweep.lead"), *swept.measures[1:]]
    columns.insert(1, [signed(lead, 4) for lead in swept.ahead.tolist()])
    best.insert(1, set())
    varied = list(swept.settings[0])
    rows = [
        [*(setting_text(swept.settings[i][key]) for key in varied), *(column[i] for column in columns)] for i in order
    ]
    cells = {(r, len(varied) + j) for j, places in enumerate(best) for r in places}
    return Sheet([*varied, *heads], rows, cells, list(sweep_notes(swept, seed, words)))


def sweep_notes(swept: Swept, seed: int, words: Words) -> Iterator[str]:
    """Notes on the questions of the means, on how far the best leads and would by chance, and the notes of the runs."""
    n, rows = int((~swept.held_out).sum()), len(swept.settings)
    yield words("sweep.means_of_documents" if swept.recipe.get("unit") == "document" else "sweep.means", n=n)
    yield from _lead_notes(swept, seed, words)
    yield from _held_out_notes(swept, seed, words)
    if rows > 1 and not swept.held_out.any():
        yield words("sweep.holdout")
    yield from cluster_notes(swept.recipe, words, n=len(swept.query_ids), n_clusters=_n_clusters(swept))
    yield from (_swept_note(note, words) for note in swept.notes)


def _swept_note(note: SweepNote, words: Words) -> str:
    """A note, with the pipelines that it is of, unless these are all."""
    text = note_text(note.note, words)
    systems = words("list.comma").join(note.pipelines)
    return words("scores.gold.of", systems=systems, note=text) if note.pipelines else text


def _held_out_notes(swept: Swept, seed: int, words: Words) -> Iterator[str]:
    """The mean of the best one over the questions that did not choose it, where some were held out."""
    n = int((~swept.held_out).sum())
    on_choice, held_out = (swept.means(mask)[swept.best, 0] for mask in (~swept.held_out, swept.held_out))
    if swept.held_out.any() and not np.isnan(on_choice):
        yield words(
            "sweep.held_out", n=n, measure=swept.measures[0], held=number(held_out), held_n=swept.held_out.sum(),
            seed=seed, kept=number(on_choice),
        )  # fmt: skip


def _n_clusters(swept: Swept) -> int | None:
    return None if swept.clustering is None else swept.clustering.n


def _lead_notes(swept: Swept, seed: int, words: Words) -> Iterator[str]:
    """Notes on how far the best leads the next one and the average, and how far equally good ones would."""
    n, rows, first = int((~swept.held_out).sum()), len(swept.settings), swept.measures[0]
    leads = swept.leads(seed=seed)
    for code, lead in zip(("lead_over_next", "lead_over_average"), leads, strict=True) if leads is not None else ():
        text = words(
            f"sweep.{'lead_untested' if np.isnan(lead.p) else code}", n=n, rows=rows, measure=first,
            lead=number(lead.lead), limit=number(lead.limit), p=p_text(lead.p, sign=True),
        )  # fmt: skip
        yield text
        if rows == 2 or np.isnan(lead.p):  # Of two rows, the average says the same.
            break
    yield from _luck_notes(swept, seed, words)


def _luck_notes(swept: Swept, seed: int, words: Words) -> Iterator[str]:
    """How far the best leads, and would by luck after so many configurations, where their number is known."""
    if (explained := swept.luck(seed=seed)) is not None:
        yield luck_text(explained, swept.measures[0], words)


def _blocks(swept: Swept, look: Look, *, seed: int = 0) -> list[Sheet]:
    sheet = sweep_sheet(swept, seed=seed, words=look.words)
    return [_settings_joined(sheet, len(swept.settings[0])) if look.format == "table" else sheet]


_ROWS, _MEASURES = 10, 3
"""Rows of a sweep on a short screen, and measures that it shows whether the width has room for more or not."""


def _brief_sweep(swept: Swept, look: Look, *, seed: int = 0) -> Iterator[Block]:
    """Which pipeline leads and by how much, the first rows, and what to be careful with."""
    words, leads = look.words, swept.leads(seed=seed)
    yield Text(_leader_text(swept, None if leads is None else leads[0], words), "bold")
    whole = _settings_joined(sweep_sheet(swept, seed=seed, words=words), len(swept.settings[0]))
    sheet = _first_cells(whole, look.width or USUAL_WIDTH)
    left_out = {"rows": len(whole.rows) - len(sheet.rows), "measures": len(whole.header) - len(sheet.header)}
    more = [words(f"brief.sweep.{name}", n=n) for name, n in left_out.items() if n]
    more_tried = swept.n_tried is not None and swept.n_tried > len(swept.settings)
    luck = [*_luck_notes(swept, seed, words)] if more_tried else []
    cautions = [*luck, *_cautions(swept, None if leads is None else leads[1], words)]
    yield replace(sheet, notes=[*more, *_held_out_notes(swept, seed, words), *careful(cautions, look)])


def _first_cells(sheet: Sheet, width: int) -> Sheet:
    """The first rows, and as many measures as fit the width; some in any case."""
    n = len(sheet.header)
    while n > 2 + _MEASURES and sheet_width(Sheet(sheet.header[:n], [row[:n] for row in sheet.rows])) > width:
        n -= 1
    best = {(r, c) for r, c in sheet.best if r < _ROWS and c < n}
    return Sheet(sheet.header[:n], [row[:n] for row in sheet.rows[:_ROWS]], best)


def _settings_text(swept: Swept, i: int, words: Words) -> str:
    """What varies of a pipeline: "k 5, index bm25"."""
    return words("list.comma").join(f"{key} {setting_text(value)}" for key, value in swept.settings[i].items())


def _leader_text(swept: Swept, lead: Lead | None, words: Words) -> str:
    """The settings of the best pipeline, its mean, and how far it leads the next one."""
    kind = "alone" if lead is None or np.isnan(lead.p) else "open" if lead.p > _ALPHA else "leads"
    values = {} if lead is None else {"lead": number(lead.lead), "p": p_text(lead.p, sign=True)}
    return words(
        f"brief.sweep.{kind}", settings=_settings_text(swept, swept.best, words),
        measure=swept.measures[0], mean=number(swept.means()[swept.best, 0]), n=int((~swept.held_out).sum()), **values,
    )  # fmt: skip


_ALPHA = 0.05
"""The level from which on a lead may be chance."""
_ACROSS = {"pieces", "characters", "answers"}
"""What measures are computed from that compare across chunkings."""


def _cautions(swept: Swept, over_average: Lead | None, words: Words) -> Iterator[str]:
    """Cautions about the choice, the gravest first."""
    yield from (_swept_note(note, words) for note in swept.notes if is_grave(note.note))
    if over_average is not None and over_average.p > _ALPHA:
        yield words("brief.sweep.alike", n=len(swept.settings), p=p_text(over_average.p, sign=True))
    apart = [name for name in swept.measures if not _ACROSS & {*parse(name).definition.inputs}]
    if apart and swept.recipe.get("unit") != "document" and any(key.startswith("chunk") for key in swept.settings[0]):
        yield words("brief.sweep.chunkings", measures=words.listed(apart))
    if len(swept.settings) > 1 and not swept.held_out.any():
        yield words("brief.sweep.chosen")
    n_clusters = _n_clusters(swept)
    yield from shared_documents(swept.recipe, words, n=len(swept.query_ids), n_clusters=n_clusters)


def _settings_joined(sheet: Sheet, n: int) -> Sheet:
    """The first n columns as one: a table that is cut into several repeats the first, which then names its rows."""
    from rich.cells import cell_len, set_cell_size

    lines = [sheet.header, *sheet.rows]
    widths = [max(cell_len(line[c]) for line in lines) for c in range(n)]
    joined = [["  ".join(set_cell_size(line[c], widths[c]) for c in range(n)).rstrip(), *line[n:]] for line in lines]
    return Sheet(joined[0], joined[1:], {(r, c - n + 1) for r, c in sheet.best}, sheet.notes)


def _rows(swept: Swept) -> list[dict[str, Any]]:
    """The rows for a program: settings as they are, means in full precision, None where there is none."""
    means = swept.means()
    rows = []
    for i in swept.order:
        row: dict[str, Any] = {
            key: value if isinstance(value, int | float | str) else setting_text(value)
            for key, value in swept.settings[i].items()
        }
        row |= dict(zip(swept.measures, means[i].tolist(), strict=True))
        rows.append({**row, "lead": float(swept.ahead[i]), "folder": str(swept.folders[i])})
    return rows


def _data(swept: Swept, *, seed: int = 0) -> dict[str, Any]:
    leads = swept.leads(seed=seed)
    over = {} if leads is None else dict(zip(("next", "average"), leads, strict=True))
    return {
        "rows": _rows(swept),
        "leads": {name: vars(lead) for name, lead in over.items()},
        **({} if (explained := swept.luck(seed=seed)) is None else {"luck": asdict(explained)}),
        "notes": list(sweep_notes(swept, seed, read_words("en"))),
    }


def run_lines(folder: RunFolder, n_before: int, words: Words) -> Iterator[str]:
    """A run, line by line: notes, what was answered before, failures, counts and times.

    n_before   questions that had been answered by an earlier start
    """
    counts = folder.manifest.get("counts", {})
    n_questions, n_failed = counts.get("questions", n_before), folder.n_failed
    for note in folder.notes:
        yield words("runs.note", note=note_text(note, words))
    if n_before == n_questions:
        yield words("runs.finished")
    elif n_before:
        yield words("runs.kept", n=n_before, total=n_questions)
    if n_failed:
        query_id, error = first_failure(folder)
        # How many questions failed at which stage, most first.
        counts_at = sorted(folder.manifest.get("failed_at", {}).items(), key=lambda item: -item[1])
        stages = words.listed([words("runs.failed_at", stage=stage, n=n) for stage, n in counts_at])
        yield words(
            "runs.failed", n=n_failed, total=n_questions, stages=stages, query_id=query_id,
            error=error,
        )  # fmt: skip
    parts = [words("count.questions", n=n_questions)]
    if "chunks" in counts and "documents" in counts:
        chunks, documents = words("count.chunks", n=counts["chunks"]), words("count.documents", n=counts["documents"])
        parts.append(words("runs.chunks", chunks=chunks, documents=documents))
    if total := folder.manifest.get("latency_ms", {}).get("total"):
        parts.append(words("runs.latency", median=f"{total['p50']:.1f}", p95=f"{total['p95']:.1f}"))
    yield words("runs.summary", folder=short_path(folder.path), parts=words("runs.comma").join(parts))


def first_failure(folder: RunFolder) -> tuple[str, str]:
    """The first question that failed, and why."""
    failures = ((query_id, response.error) for query_id, response in folder.responses())
    return next((query_id, error) for query_id, error in failures if error is not None)


def _run_blocks(run: WeighedRun, look: Look) -> Iterator[Block]:
    yield Text("\n".join(run_lines(run.folder, run.n_before, look.words)), "laid out")
    yield from scores_sheets(run.scores, look.words)


def _brief_run(run: WeighedRun, look: Look) -> Iterator[Block]:
    """How the run went, and its means; notes of its documents are cautions."""
    lines = [*run_lines(run.folder, run.n_before, look.words)][len(run.folder.notes) :]
    yield Text("\n".join(lines))
    yield from brief_sheets(run.scores, look, more=[note_text(note, look.words) for note in run.folder.notes])


def sweep_picture(swept: Swept, words: Words) -> Intervals | None:
    """The means of all pipelines by the first measure, best first; None for one pipeline."""
    means, title = swept.means()[:, 0], words("charts.sweep.title", measure=swept.measures[0])
    marks = []
    for i in swept.order:
        if not np.isnan(means[i]):
            name = _settings_text(swept, i, words)
            marks.append(Mark(name, float(means[i]), math.nan, math.nan, number(means[i])))
    return Intervals(title, described(title, marks, words), marks) if len(marks) > 1 else None


# The seed is that of the test of the lead over the average.
VIEWS: dict[type[Result], View[Any]] = {
    Swept: View[Swept](
        "a sweep",
        blocks=_blocks,
        brief=_brief_sweep,
        data=lambda swept, words, seed=0: _data(swept, seed=seed),
        rows=lambda swept, seed=0: plain(_rows(swept)),
        papers=lambda swept, words, seed=0: [sweep_sheet(swept, seed=seed, words=words)],
        options=("seed",),
        picture=sweep_picture,
    ),
    WeighedRun: View[WeighedRun](
        "a run",
        blocks=_run_blocks,
        brief=_brief_run,
        data=lambda run, words: {"folder": run.folder.path, "n_before": run.n_before, "scores": run.scores.data()},
        picture=lambda run, words: scores_picture(run.scores, words),
    ),
}
