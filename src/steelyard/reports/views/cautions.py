"""Cautions: what endangers the conclusion of a result, a sentence each, the gravest first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from steelyard.base.arrays import Bools
from steelyard.base.notes import Note
from steelyard.experiment.table.arrays import SHARED_GOLD
from steelyard.experiment.table.scores import Scores
from steelyard.reports.views.notes import cluster_notes, is_wider, notes_of_systems
from steelyard.reports.views.numbers import number, percent
from steelyard.reports.views.view import USUAL_WIDTH, Look
from steelyard.reports.visible import visible
from steelyard.reports.words import Words

NAMED = 4
"""So many systems, or gold documents, are named at most."""

MOST_JUDGED = 0.995
"""Share of labelled documents from which on the others are not named."""

_ENDS = tuple(".。!！?？…")
"""Marks at the end of a sentence."""

_ORIGINS = {
    "load_bundled", "candidates_before_reranking",
    "gold_rule", "gold_documents", "judged_by_file", "judged_by_handed_in", "judge_calibrated", "judge_checked",
    "judge_labels", "judge_beside_people", "trace_empty", "trace_no_ids", "trace_no_scores", "trace_other_order",
    "trace_shared_ids", "questions_by_text",
}  # fmt: skip
"""Codes of notes that say where a number comes from, and endanger none."""


def careful(cautions: Iterable[str], look: Look, *, lines: int = 3) -> list[str]:
    """One note with the gravest caution, with those that fit below it, and how many more there are; none without any.

    lines   that several cautions take at most

    >>> from steelyard.reports.words import read_words
    >>> careful(["3 questions failed.", "x" * 300], Look("table", read_words("en")))
    ['Careful: 3 questions failed. (1 more: -v)']
    """
    words, listed, room = look.words, [*dict.fromkeys(cautions)], lines * (look.width or USUAL_WIDTH)
    if not listed:
        return []
    n_shown = 1
    while n_shown < len(listed) and len(_joined(listed, n_shown + 1, look)) <= room / (2 if words.code == "zh" else 1):
        n_shown += 1
    return [_joined(listed, n_shown, look)]


def _joined(cautions: Sequence[str], n_shown: int, look: Look) -> str:
    """The first cautions in a row, and the number of the others, with where they are."""
    words = look.words
    shown = [text if text[-1:] in _ENDS else text + words("brief.stop") for text in cautions[:n_shown]]
    text = words("brief.careful", listed=words("scores.between").join(shown))
    n = len(cautions) - n_shown
    return text + (words("brief.more" if look.format == "table" else "brief.below", n=n) if n else "")


def lost_questions(scores: Scores, words: Words) -> Iterator[str]:
    """One sentence for each kind of lost question: the systems concerned, those with most of them first."""
    masks: dict[str, Bools] = {"failed": scores.failed, "missing": scores.missing, "unwinnable": scores.unwinnable}
    for name, mask in masks.items():
        counts = mask.sum(axis=1)
        places = [i for i in np.argsort(-counts, kind="stable").tolist() if counts[i]]
        if places:
            systems = [f"{visible(scores.systems[i])} ({int(counts[i])})" for i in places]
            yield words(f"page.care.{name}", listed=words.listed(systems, NAMED), n=int(counts.max()))


def lost_gold(scores: Scores, words: Words, absent: Sequence[str] = ()) -> Iterator[str]:
    """Gold that no chunk holds, that is not in the corpus (absent), or that questions lack."""
    for mapping, system in zip(scores.gold, scores.systems, strict=True):
        if mapping is not None and mapping.lost and not mapping.unwinnable:
            yield words("page.care.lost", n=len(mapping.lost), total=mapping.n_pieces, system=visible(system))
    if absent:
        yield words("page.care.absent", n=len(absent), listed=words.listed([*map(visible, absent)], NAMED))
    without = int((scores.no_relevant[:, 0] & ~scores.unwinnable).all(axis=0).sum())
    if without and scores.primary not in scores.without_gold:
        yield words("page.care.no_relevant", n=without)


def unknown_corpus(scores: Scores, words: Words) -> Iterator[str]:
    """That not all chunks are known, where the gold is evidence that any chunk may hold."""
    if not scores.of_answers.all() and any(
        mapping is not None and not mapping.complete and mapping.unit == "chunk" and mapping.n_pieces
        for mapping in scores.gold
    ):
        yield words("page.care.corpus")


def unlabelled_share(scores: Scores, words: Words) -> Iterator[str]:
    """Which share of the documents that the first measure looks at has a label, of the system with the smallest."""
    rows = scores.mean().filter(measure=str(scores.primary)).iter_rows(named=True)
    of_systems = [(1.0 if row["judged"] is None else row["judged"], visible(row["system"])) for row in rows]
    shares = [
        own for own, by_id in zip(of_systems, scores.by_id.tolist(), strict=True) if by_id and own[0] < MOST_JUDGED
    ]
    if shares:
        share, system = min(shares)
        yield words("page.care.unjudged", share=percent(share), system=system, n=len(shares))


def shared_documents(
    recipe: Mapping[str, Any], words: Words, *, n: int, n_clusters: int | None, ask: str = "--cluster doc"
) -> Iterator[str]:
    """That questions share gold documents and count as independent, in short; or that there are few clusters.

    recipe, n, n_clusters, ask   as of `cluster_notes`
    """
    shared = recipe.get(SHARED_GOLD)
    if n_clusters is None and shared is not None and n:
        widening = shared.get("widening")
        width = words("brief.wider", times=number(widening, 2)) if is_wider(widening) else ""
        yield words("brief.shared", n=shared["n_questions"], total=n, ask=ask, width=width)
    elif n_clusters is not None:
        _, *few = cluster_notes(recipe, words, n=n, n_clusters=n_clusters)
        yield from few


def dangers(
    notes: Mapping[str, Sequence[Note]], words: Words, *, n_systems: int = 0, most: int | None = NAMED
) -> Iterator[str]:
    """Each note that endangers a number once, with its systems; n_systems, most as of `notes_of_systems`."""
    grave = {system: [note for note in own if is_grave(note)] for system, own in notes.items()}
    return notes_of_systems(grave, words, n_systems=n_systems, most=most)


def origins(
    notes: Mapping[str, Sequence[Note]], words: Words, *, n_systems: int = 0, most: int | None = NAMED
) -> Iterator[str]:
    """Each note that says where a number comes from once, with its systems; n_systems, most as of `dangers`."""
    harmless = {system: [note for note in own if not is_grave(note)] for system, own in notes.items()}
    return notes_of_systems(harmless, words, n_systems=n_systems, most=most)


def is_grave(note: Note) -> bool:
    """True if a note says more than where a number comes from."""
    return note.code not in _ORIGINS
