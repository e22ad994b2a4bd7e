"""Scores as a sheet: a row a measure for one system, a leaderboard for several, a row a query."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from steelyard.align.resolver import GoldMapping
from steelyard.base import defaults
from steelyard.base.arrays import Bools, Floats
from steelyard.experiment.table.arrays import CAUSES
from steelyard.experiment.table.frame import STATUSES
from steelyard.experiment.table.json import as_json, read_scores
from steelyard.experiment.table.recipes import comparable
from steelyard.experiment.table.scores import Scores
from steelyard.measures.perfect import OF_IDEALS
from steelyard.reports.views.cautions import (
    careful,
    dangers,
    lost_gold,
    lost_questions,
    shared_documents,
    unknown_corpus,
    unlabelled_share,
)
from steelyard.reports.views.corrections import corrected_sheet, correction_notes
from steelyard.reports.views.notes import (
    component_notes,
    interval_key,
    notes_of_systems,
    scores_cluster_notes,
    signature_note,
)
from steelyard.reports.views.numbers import best_places, ends, number, percent
from steelyard.reports.views.picture import Intervals, Mark, described
from steelyard.reports.views.view import USUAL_WIDTH, Look, Sheet, View, sheet_width
from steelyard.reports.words import Words, read_words

if TYPE_CHECKING:
    from steelyard.gates.profiles import Profile


def scores_sheet(scores: Scores, words: Words | None = None) -> Sheet:
    """One system: a row a measure.  Several: a row a system, ordered by the first measure, the best value marked.

    words   that of the locale by default
    """
    words = words or read_words()
    sheet = _single_system(scores, words) if len(scores.systems) == 1 else _leaderboard(scores, words)
    sheet.notes = [*_notes(scores, words), *signature_note(scores.signature, words)]
    return sheet


def per_query_sheet(scores: Scores, words: Words | None = None) -> Sheet:
    """A row for each query of each system, a column for each measure.

    words   that of the locale by default
    """
    words = words or read_words()
    names = [str(measure) for measure in scores.measures]
    statuses = scores.statuses()
    rows = []
    for i, system in enumerate(scores.systems):
        for q, query in enumerate(scores.query_ids):
            values = [number(scores.values[i, j, q]) for j in range(len(names))]
            rows.append([system, query, *values, _status(statuses[i, :, q].tolist(), words)])
    header = [words("scores.head.system"), words("scores.head.question"), *names, words("scores.head.status")]
    return Sheet(header, rows, n_labels=2)


def _status(statuses: list[int], words: Words) -> str:
    """The gravest of a query's statuses, or nothing."""
    grave = [status for status in statuses if status]
    return words(f"scores.status.{STATUSES[min(grave)]}") if grave else ""


def scores_picture(scores: Scores, words: Words) -> Intervals | None:
    """The means of all systems by the first measure, best first; of one system those of all measures from 0 to 1.

    None for fewer than two means.
    """
    reported, several = scores.reported, len(scores.systems) > 1
    if several:
        names, title = list(scores.systems), words("charts.leaderboard.title", measure=scores.measures[0])
        places = [(i, 0) for i in scores.by_mean()]
    else:
        names, title = list(map(str, scores.measures)), words("charts.measures.title", system=scores.systems[0])
        places = [(0, j) for j, measure in enumerate(scores.measures) if measure.definition.range == (0.0, 1.0)]
    mean, low, high = reported.mean.tolist(), reported.low.tolist(), reported.high.tolist()
    marks = [
        Mark(names[i if several else j], mean[i][j], low[i][j], high[i][j], number(mean[i][j]))
        for i, j in places
        if not math.isnan(mean[i][j])
    ]
    return Intervals(title, described(title, marks, words), marks) if len(marks) > 1 else None


def _single_system(scores: Scores, words: Words) -> Sheet:
    rows, reported = scores.mean().to_dicts(), scores.reported
    of_answers = scores.of_answers.tolist()
    columns = {
        "mean": [number(mean) for mean in reported.mean[0]],
        "interval": [ends(low, high) for low, high in zip(reported.low[0], reported.high[0], strict=True)],
        **({"judge": [_by_judge(scores, 0, j) for j in range(len(rows))]} if reported.corrected.any() else {}),
        "questions": [f"{row['n']:,}" for row in rows],
        "missing": [f"{row['missing']:,}" for row in rows],
    }
    if not all(of_answers):
        counted = zip(rows, of_answers, strict=True)
        columns["no_relevant"] = ["–" if answers else f"{row['no_relevant']:,}" for row, answers in counted]
    if scores.n_not_judged.any():
        columns["not_judged"] = [f"{row['not_judged']:,}" for row in rows]
    if scores.by_id.any() and not all(of_answers):  # Evidence judges every chunk.
        columns["judged"] = [percent(row["judged"]) for row in rows]
    header = [scores.systems[0], *(words(f"scores.head.{name}") for name in columns)]
    cells = [[row["measure"], *(column[r] for column in columns.values())] for r, row in enumerate(rows)]
    return Sheet(header, cells)


def _leaderboard(scores: Scores, words: Words, *, n_intervals: int | None = None) -> Sheet:
    """A row a system;   n_intervals   of so many measures, the first ones, intervals are shown; of all by default."""
    reported = scores.reported
    names = [str(measure) for measure in scores.measures]
    goodness = reported.ranked * [1 if measure.definition.higher_is_better else -1 for measure in scores.measures]
    order = scores.by_mean()
    counts = _counts(scores, words)
    rows = []
    for i in order:
        bare = range(len(names) if n_intervals is None else n_intervals, len(names))
        cells = [_mean_text(scores, i, j, words, bare=j in bare) for j in range(len(names))]
        rows.append([scores.systems[i], *cells, *(column[i] for column in counts.values())])
    place = {i: r for r, i in enumerate(order)}
    best = {(place[i], j + 1) for j in np.flatnonzero(comparable(scores)).tolist() for i in best_places(goodness[:, j])}
    return Sheet([words("scores.head.system"), *names, *counts], rows, best)


def _mean_text(scores: Scores, i: int, j: int, words: Words, *, bare: bool = False) -> str:
    """A mean with its interval, or one dash; where labels of people correct it, what the judge says in brackets.

    bare   without the interval
    """
    reported = scores.reported
    if bare or math.isnan(reported.mean[i, j]):
        return number(reported.mean[i, j])
    text = f"{number(reported.mean[i, j])} {ends(reported.low[i, j], reported.high[i, j])}"
    if not reported.corrected[i, j]:
        return text
    return words("scores.with_judge", text=text, judge=words("scores.by_judge", mean=_by_judge(scores, i, j)))


def _by_judge(scores: Scores, i: int, j: int) -> str:
    """The mean by the judge where labels correct it; a dash where none do."""
    return number(scores.means[i, j] if scores.reported.corrected[i, j] else None)


def _counts(scores: Scores, words: Words) -> dict[str, list[str]]:
    """By head a cell for each system: how many queries are missing, or not judged, and how much is labelled.

    Not what is as expected of all systems: no query is missing, all answers are judged by all measures, and all
    documents have labels, as gold evidence gives.
    """
    missing = [f"{n:,}" for n in scores.missing.sum(axis=1).tolist()]
    not_judged = [f"{n:,}" for n in scores.n_not_judged.max(axis=1).tolist()]
    columns = {words("scores.head.missing"): (missing, "0"), words("scores.head.not_judged"): (not_judged, "0")}
    first = next((j for j, answers in enumerate(scores.of_answers.tolist()) if not answers), None)
    if first is not None:
        shares = scores.mean().filter(measure=str(scores.measures[first]))["judged"].to_list()
        judged = [percent(share if by_id else 1) for share, by_id in zip(shares, scores.by_id.tolist(), strict=True)]
        depth = scores.measures[first].depth
        judged_head = words("scores.head.judged_at", k=depth) if depth else words("scores.head.judged")
        columns[judged_head] = judged, percent(1)
    return {head: cells for head, (cells, expected) in columns.items() if set(cells) != {expected}}


def other_intervals(scores: Scores, words: Words) -> Iterator[str]:
    """Which measures have an interval of another kind, or lack the one that others have."""
    if unbounded := scores.unbounded:
        columns, share = words("list.comma").join(map(str, unbounded)), percent(min(3 / len(scores.query_ids), 1.0))
        yield words("scores.interval.unbounded", measures=columns, share=share)
    lacking = np.isnan(scores.intervals.low) & ~np.isnan(scores.means)
    if lacking.any() and scores.intervals.method != "none":
        names = [str(scores.measures[j]) for j in np.flatnonzero(lacking.any(axis=0)).tolist()]
        yield words("scores.interval.lacking", measures=words("list.comma").join(names))


def _notes(scores: Scores, words: Words) -> Iterator[str]:
    yield from no_gold_notes(scores, words)
    if not scores.lacks_gold.all():
        yield from _interval_notes(scores, words)
    yield from _absent_notes(scores, words)
    if not scores.of_answers.all():
        yield from _judged_notes(scores, words)
        yield from _gold_notes(scores, words)
    yield from answer_notes(scores, words)
    yield from notes_of_systems(scores.notes, words, n_systems=len(scores.systems))
    yield from _irrelevant_notes(scores, words)
    yield from _unjudged_notes(scores, words)


def _unjudged_notes(scores: Scores, words: Words) -> Iterator[str]:
    """Notes on the number of questions of each run that are not judged."""
    for system, ignored in zip(scores.systems, scores.unjudged_queries.tolist(), strict=True):
        if ignored:
            yield words("scores.unjudged", system=system, n=ignored)


def no_gold_notes(scores: Scores, words: Words) -> Iterator[str]:
    """Which measures measure nothing, as no question has gold for them; nothing where all have some."""
    systems_of: dict[bytes, list[str]] = {}
    for system, bare in zip(scores.systems, scores.lacks_gold, strict=True):
        systems_of.setdefault(bare.tobytes(), []).append(system)
    for key, systems in systems_of.items():
        names = [str(scores.measures[j]) for j in np.flatnonzero(np.frombuffer(key, bool)).tolist()]
        if names:
            listed = words("list.comma").join(names)
            yield _of(systems, words("scores.no_gold", measures=listed, n=len(scores.query_ids)), scores, words)


def _interval_notes(scores: Scores, words: Words) -> Iterator[str]:
    """By which method intervals are, of how many questions, clusters and runs."""
    sizes = sorted(set((~np.isnan(scores.values)).sum(axis=2)[~scores.lacks_gold].tolist()))
    shown = f"{sizes[0]:,}" if len(sizes) == 1 else words("scores.interval.range", low=sizes[0], high=sizes[-1])
    yield words(f"scores.interval.{interval_key(scores)}", shown=shown)
    if percentiles := [str(measure) for measure in scores.measures if measure.share is not None]:
        yield words("scores.interval.percentiles", measures=words("list.comma").join(percentiles))
    yield from other_intervals(scores, words)
    yield from correction_notes(scores, words)
    yield from scores_cluster_notes(scores, words)
    yield from component_notes(scores.components, words)


def _absent_notes(scores: Scores, words: Words) -> Iterator[str]:
    """Notes on how many questions are missing from the run of each system, or failed."""
    policy, n = scores.recipe_parts.get("missing", defaults.MISSING), len(scores.query_ids)
    for system, absent in zip(scores.systems, scores.missing.sum(axis=1).tolist(), strict=True):
        if absent and not scores.of_answers.all():  # Of answers, each measure has notes of its own.
            yield words(f"scores.missing.{policy}", system=system, n=absent, total=n)
    for system, failed in zip(scores.systems, scores.failed, strict=True):
        if failed.any():
            listed = words.listed([scores.query_ids[q] for q in np.flatnonzero(failed).tolist()])
            yield words("scores.failed", system=system, n=int(failed.sum()), total=n, listed=listed)


def _irrelevant_notes(scores: Scores, words: Words) -> Iterator[str]:
    """Notes on how many questions have nothing relevant, where others have something."""
    policy, n = scores.recipe_parts.get("no_relevant", defaults.NO_RELEVANT), len(scores.query_ids)
    for systems, rows in _alike(scores):
        for without in sorted(set(rows.sum(axis=1).tolist()) - {0}):
            names = [str(m) for m, row in zip(scores.measures, rows, strict=True) if row.sum() == without]
            key = f"scores.no_relevant.{policy}" + ("" if len(names) == len(scores.measures) else "_for")
            yield _of(systems, words(key, n=without, total=n, measures=words("list.comma").join(names)), scores, words)


def _judged_notes(scores: Scores, words: Words) -> Iterator[str]:
    """Which systems have no document with a label."""
    of_rankings = scores.judged[:, ~scores.of_answers]
    for system, judged, by_id in zip(scores.systems, of_rankings, scores.by_id.tolist(), strict=True):
        if by_id and not judged.any():
            yield words("scores.nothing.judged", system=system)


def _of(systems: list[str], note: str, scores: Scores, words: Words) -> str:
    """A note with the systems that it is about, unless it is about all."""
    if len(systems) == len(scores.systems):
        return note
    return words("scores.gold.of", systems=words("list.comma").join(systems), note=note)


def _alike(scores: Scores) -> Iterator[tuple[list[str], Bools]]:
    """Systems for which the same queries lack a relevant document, apart from those whose gold was lost.

    Measures that no query has gold for have a note of their own.
    """
    groups: dict[bytes, tuple[list[str], Bools]] = {}
    rows_of = scores.no_relevant & ~scores.unwinnable[:, None] & ~scores.lacks_gold[:, :, None]
    for system, rows in zip(scores.systems, rows_of, strict=True):
        groups.setdefault(rows.tobytes(), ([], rows))[0].append(system)
    yield from groups.values()


def _gold_notes(scores: Scores, words: Words) -> Iterator[str]:
    """Notes on how gold evidence was found, once for systems that are alike in it."""
    systems_of: dict[str, list[str]] = {}
    for mapping, values, unwinnable, system in zip(
        scores.gold, scores.values, scores.unwinnable, scores.systems, strict=True
    ):
        for note in _gold_of(scores, mapping, values, np.flatnonzero(unwinnable).tolist(), words) if mapping else ():
            systems_of.setdefault(note, []).append(system)
    for note, systems in systems_of.items():
        yield _of(systems, note, scores, words)


def _gold_of(
    scores: Scores, mapping: GoldMapping, values: Floats, unwinnable: list[int], words: Words
) -> Iterator[str]:
    if not mapping.kinds:
        return
    kinds = words("list.comma").join(words(f"scores.kind.{name}", n=n) for name, n in mapping.kinds.items())
    of_documents = mapping.unit == "document"
    key = "documents" if of_documents else "known" if mapping.complete else "unknown"
    yield words(f"scores.gold.{key}", kinds=kinds, rule=mapping.rule)
    if not mapping.complete and not of_documents and any(measure.name in OF_IDEALS for measure in scores.measures):
        yield words("scores.gold.ideals")
    if not mapping.placed and mapping.kinds.get("quote") and not of_documents:
        yield words("scores.gold.no_documents")
    if mapping.n_coarse and not of_documents:
        yield words("scores.gold.coarse", n=mapping.n_coarse)
    if mapping.lost:
        query_id, piece, why = mapping.lost[0]
        if mapping.codes:
            key = "document" if of_documents else mapping.codes[0]
            why = words(f"scores.loss.{key}", rule=mapping.rule)
        yield words(
            "scores.gold.lost", n=len(mapping.lost), total=mapping.n_pieces, piece=piece, query_id=query_id, why=why
        )
    if unwinnable:
        listed = words.listed([scores.query_ids[q] for q in unwinnable])
        policy = scores.recipe_parts.get("no_relevant", defaults.NO_RELEVANT)
        yield words(f"scores.gold.unwinnable_{policy}", n=len(unwinnable), listed=listed)
    for measure, row in zip(scores.measures, values, strict=True):
        without = int(np.isnan(row).sum())
        if without and "characters" in measure.definition.inputs:
            yield words("scores.gold.unplaced", measure=measure, n=without)


def answer_notes(scores: Scores, words: Words) -> Iterator[str]:
    """One note for all measures and systems that leave out, or count 0, the same numbers for the same causes."""
    alike: dict[tuple[str, tuple[int, ...]], dict[str, list[str]]] = {}
    for kind, i, j, counts in _cause_counts(scores):
        systems_of = alike.setdefault((kind, counts), {})
        systems_of.setdefault(str(scores.measures[j]), []).append(scores.systems[i])
    comma = words("list.comma")
    for (kind, counts), systems_of in alike.items():
        named = [
            words("scores.cause.of", cause=words(f"scores.status.{cause}"), n=n)
            for cause, n in zip(CAUSES, counts, strict=True)
            if n
        ]
        by_systems: dict[tuple[str, ...], list[str]] = {}
        for measure, systems in systems_of.items():
            by_systems.setdefault(tuple(systems), []).append(measure)
        for concerned, measures in by_systems.items():
            note = words(
                f"scores.cause.{kind}",
                measures=comma.join(measures),
                n=sum(counts),
                total=len(scores.query_ids),
                listed=comma.join(named),
            )
            everyone = len(concerned) == len(scores.systems)
            yield note if everyone else words("scores.gold.of", systems=comma.join(concerned), note=note)


def _cause_counts(scores: Scores) -> Iterator[tuple[str, int, int, tuple[int, ...]]]:
    """Numbers of questions of each system and measure that a cause leaves out, or counts as 0; none without any."""
    if scores.causes is None:
        return
    absent = np.isnan(scores.values)
    for i, j in np.argwhere(scores.causes.any(axis=2) & ~scores.lacks_gold).tolist():
        for kind, places in (("left_out", absent[i, j]), ("zero", ~absent[i, j])):
            counts = np.bincount(scores.causes[i, j, places], minlength=len(CAUSES) + 1)[1:]
            if counts.any():
                yield kind, i, j, tuple(counts.tolist())


_MEAN = ("mean", "interval", "judge")
"""Columns of one system on a short screen."""


def brief_sheets(
    scores: Scores, look: Look, *, per_query: bool = False, profile: Profile | str | None = None,
    more: Iterable[str] = (),
) -> Iterator[Sheet]:  # fmt: skip
    """Means and intervals in one table, and what to be careful with; values of questions, and ratings, if asked for.

    more   cautions of what is not in the scores
    """
    words = look.words
    if per_query:
        yield per_query_sheet(scores, words)
    ratings = [] if profile is None else _rated_sheets(scores, profile, words)
    sheets = [replace(rated, notes=[]) for rated in ratings]
    if {row[0] for rated in ratings for row in rated.rows} != {*map(str, scores.measures)}:
        sheets.insert(0, (_brief_system if len(scores.systems) == 1 else _brief_leaderboard)(scores, look))
    sheets[-1].notes = careful([*score_cautions(scores, words), *more], look)
    yield from sheets


def score_cautions(scores: Scores, words: Words) -> Iterator[str]:
    """Cautions about the means, the gravest first."""
    yield from no_gold_notes(scores, words)
    yield from _judged_notes(scores, words)
    yield from lost_questions(scores, words)
    yield from lost_gold(scores, words)
    if len(scores.systems) == 1:  # Of several, a column has it.
        yield from unlabelled_share(scores, words)
    yield from answer_notes(scores, words)
    yield from correction_notes(scores, words)
    n_clusters = None if scores.clustering is None else scores.clustering.n
    yield from shared_documents(scores.recipe, words, n=len(scores.query_ids), n_clusters=n_clusters)
    yield from dangers(scores.notes, words, n_systems=len(scores.systems))
    yield from unknown_corpus(scores, words)
    yield from other_intervals(scores, words)
    yield from _unjudged_notes(scores, words)
    yield from component_notes(scores.components, words)


def _brief_system(scores: Scores, look: Look) -> Sheet:
    """A row a measure, or where the width allows, two measures in a row."""
    whole, words = _single_system(scores, look.words), look.words
    heads = {words(f"scores.head.{name}"): c for c, name in enumerate(_MEAN)}
    shown = [c for c, head in enumerate(whole.header) if c == 0 or head in heads]
    head = words("brief.head", system=scores.systems[0], n=len(scores.query_ids))
    header = [head, *(whole.header[c] for c in shown[1:])]
    sheet = Sheet(header, [[row[c] for c in shown] for row in whole.rows])
    return _beside(sheet, look.width or USUAL_WIDTH) if look.format == "table" else sheet


def _beside(sheet: Sheet, width: int) -> Sheet:
    """The second half of the rows beside the first half, where there are four at least and the width allows it."""
    n = -(-len(sheet.rows) // 2)
    halves = sheet.rows[:n], [*sheet.rows[n:], [""] * len(sheet.header)][:n]
    joined = [[*left, *right] for left, right in zip(*halves, strict=True)]
    wide = replace(sheet, header=[*sheet.header, "", *sheet.header[1:]], rows=joined)
    return wide if n > 1 and sheet_width(wide) <= width else sheet


def _brief_leaderboard(scores: Scores, look: Look) -> Sheet:
    """A row a system: all intervals where they fit the width, else that of the first measure alone."""
    whole = _leaderboard(scores, look.words)
    if sheet_width(whole) > (look.width or USUAL_WIDTH):
        whole = _leaderboard(scores, look.words, n_intervals=1)
    questions = look.words("count.questions", n=len(scores.query_ids))
    return replace(whole, header=[questions, *whole.header[1:]])


def scores_sheets(
    scores: Scores, words: Words, *, per_query: bool = False, profile: Profile | str | None = None
) -> Iterator[Sheet]:
    """Means, below the values of every query where they are asked for, and what a profile rates them."""
    if per_query:
        yield per_query_sheet(scores, words)
    yield scores_sheet(scores, words)
    if (corrected := corrected_sheet(scores, words)) is not None:
        yield corrected
    if profile is not None:
        yield from _rated_sheets(scores, profile, words)


def _rated_sheets(scores: Scores, profile: Profile | str, words: Words) -> list[Sheet]:
    from steelyard.gates.profiles import Profile
    from steelyard.gates.ratings import rate
    from steelyard.reports.views.ratings import rating_sheets

    profile = profile if isinstance(profile, Profile) else Profile.read(profile)
    return rating_sheets(rate(scores, profile), profile, words)


def _trec(scores: Scores, look: Look, *, per_query: bool = False, profile: object = None) -> str:
    """Lines of `measure query value` as trec_eval prints them, system after system."""
    lines = []
    for i, system in enumerate(scores.systems):
        labels = [str(measure) for measure in scores.measures]
        if per_query:
            lines += [
                f"{label:<22}\t{query}\t{number(scores.values[i, j, q])}"
                for q, query in enumerate(scores.query_ids)
                for j, label in enumerate(labels)
                if not np.isnan(scores.values[i, j, q])
            ]
        lines.append(f"{'runid':<22}\tall\t{system}")
        lines += [f"{label:<22}\tall\t{number(scores.means[i, j])}" for j, label in enumerate(labels)]
    return "\n".join(lines) + "\n"


# What a profile rates is for people, as programs have levels of their own.
VIEWS = {
    Scores: View[Scores](
        "scores",
        blocks=lambda scores, look, **options: scores_sheets(scores, look.words, **options),
        brief=brief_sheets,
        data=lambda scores, words, **options: json.loads(as_json(scores)),
        rows=lambda scores, per_query=False, **options: scores.per_query if per_query else scores.mean(),
        papers=scores_sheets,
        texts={"json": lambda scores, look, **options: as_json(scores), "trec": _trec},
        options=("per_query", "profile"),
        stored=read_scores,
        picture=scores_picture,
    )
}
