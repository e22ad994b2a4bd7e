"""The report in a few sentences: who is ahead, by how much and how surely, and what to be careful with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from steelyard.base.arrays import Bools
from steelyard.comparison.sensitivity import moved_by_ties, overlapping
from steelyard.diagnosis.advice import MISTAKES
from steelyard.report.contents import Contents
from steelyard.report.sheets.advice import advice_text
from steelyard.report.sheets.diagnosis import stage_name, worst_stage
from steelyard.report.sheets.headline import headline, headline_numbers
from steelyard.report.sheets.notes import notes_of_systems
from steelyard.report.sheets.rating import rating_text
from steelyard.report.sheets.sheet import number, percent
from steelyard.report.visible import visible
from steelyard.report.words import Words

_NAMED = 4
_MOST_JUDGED = 0.995


@dataclass(frozen=True)
class Fact:
    """A short answer of the summary, and the section of the page with the details."""

    title: str
    text: str
    target: str
    link: str


def verdict(contents: Contents, words: Words) -> list[str]:
    """The headline, then its numbers, by the primary measure and by those that oppose it; of one system its mean."""
    if (comparison := contents.comparison) is not None:
        return [headline(comparison, words), *_one_sided(contents, words), *headline_numbers(comparison, words)]
    if (scores := contents.scores).primary in scores.without_gold:
        return [words("page.verdict.no_gold", measure=str(scores.primary), n=len(scores.query_ids))]
    return [_mean_text(contents, 0, words)]


def _mean_text(contents: Contents, i: int, words: Words) -> str:
    """What a system reaches by the primary measure; where labels correct it, the judge's own mean after it."""
    scores, reported, system = contents.scores, contents.scores.reported, contents.scores.systems[i]
    low, high = reported.low[i, 0], reported.high[i, 0]
    of_labels = {}
    if reported.corrected[i, 0]:
        labelled = scores.corrections[system][str(scores.primary)].mean
        of_labels = {"judge": number(scores.means[i, 0]), "n": labelled.n_labels}
    key = "one_corrected" if of_labels else "one_bare" if np.isnan(low) else "one"
    return words(
        f"page.verdict.{key}", system=visible(system), measure=str(scores.primary), mean=number(reported.mean[i, 0]),
        low=number(low), high=number(high), questions=words("count.questions", n=int(scores.n_counted[i, 0])),
        **of_labels,
    )  # fmt: skip


def _one_sided(contents: Contents, words: Words) -> Iterator[str]:
    """What labels of people say of some systems where others have none, so that the judge alone compares them."""
    corrected = contents.scores.reported.corrected[:, 0]
    if corrected.any() and not corrected.all():
        yield from (_mean_text(contents, i, words) for i in np.flatnonzero(corrected).tolist())
        systems = [visible(contents.scores.systems[i]) for i in np.flatnonzero(~corrected).tolist()]
        yield words("page.verdict.by_judge", systems=words.together(systems, _NAMED), n=len(systems))


def facts(contents: Contents, words: Words) -> Iterator[Fact]:
    """Short answers: how good is the best system, where does it lose questions, what should be tried first."""
    best = contents.scores.systems[contents.by_mean()[0]]
    for name, text, target in (
        ("rating", _best_rating(contents, best, words), "ratings"),
        ("lost", _most_lost(contents, best, words), "funnel"),
        ("advice", _first_advice(contents, best, words), "advice"),
    ):
        if text:
            yield Fact(words(f"page.summary.{name}"), visible(text), target, words(f"page.summary.{name}_link"))


def _best_rating(contents: Contents, best: str, words: Words) -> str:
    """The rating of the primary measure; that it has no levels; nothing where the profile rates nothing."""
    own = [rating for rating in contents.ratings if rating.system == best and rating.level is not None]
    primary = str(contents.scores.primary)
    rating = next((r for r in contents.ratings if (r.system, r.measure) == (best, primary)), None)
    if contents.scores.primary in contents.scores.without_gold:
        return ""  # The headline says so.
    if rating is not None:
        return words("page.summary.rating_of", system=best, measure=primary, rating=rating_text(rating, words))
    return words("page.summary.unrated", measure=primary, profile=contents.profile.name) if own else ""


def _most_lost(contents: Contents, best: str, words: Words) -> str:
    """How many questions have any gold in the first k, and where most others lost it."""
    funnel = next(funnel for funnel in contents.diagnosis.funnels if funnel.system == best)
    worst, k = worst_stage(funnel), contents.diagnosis.k
    if worst is not None:
        (stage, n), counts, questions = worst, funnel.counts(), words("count.questions", n=funnel.n_queries)
        return words("page.summary.lost_of", system=best, stage=stage_name(stage, words), n=n, k=k,
                     found=counts["found"] + counts["unused"], questions=questions)  # fmt: skip
    total, n_found = int(funnel.n_gold.sum()), funnel.n_at_stage["found"]
    if not total:
        return ""
    if total == n_found:
        return words("page.summary.nothing_lost", system=best, k=k)
    kind = "pieces" if funnel.by_evidence else "documents"
    return words(f"page.summary.nothing_lost_{kind}", system=best, k=k, found=n_found, total=total)


def _first_advice(contents: Contents, best: str, words: Words) -> str:
    """The first advice on the best system, unless a mistake of another one comes before it."""
    advice = contents.diagnosis.advice
    first = next((item for item in advice if item.code in MISTAKES or best in item.systems), None)
    if first is None:
        return words("page.summary.no_advice_on" if advice else "page.summary.no_advice", system=best)
    text = advice_text(first, words)
    return words(
        "page.summary.first", systems=words.listed(list(first.systems)), title=text.title, gain=text.gain
    ).rstrip()


def care(contents: Contents, words: Words) -> list[str]:
    """What could mislead: questions without a value, lost gold, unjudged documents, ties; and notes of the runs."""
    return [
        *_lost_questions(contents, words), *_lost_gold(contents, words), *_unsure(contents, words),
        *_run_notes(contents, words),
    ]  # fmt: skip


def _lost_questions(contents: Contents, words: Words) -> Iterator[str]:
    """One sentence for each kind of lost question: the systems concerned, those with most of them first."""
    scores = contents.scores
    masks: dict[str, Bools] = {"failed": scores.failed, "missing": scores.missing, "unwinnable": scores.unwinnable}
    for name, mask in masks.items():
        counts = mask.sum(axis=1)
        places = [i for i in np.argsort(-counts, kind="stable").tolist() if counts[i]]
        if places:
            systems = [f"{visible(scores.systems[i])} ({int(counts[i])})" for i in places]
            yield words(f"page.care.{name}", listed=words.listed(systems, _NAMED), n=int(counts.max()))


def _lost_gold(contents: Contents, words: Words) -> Iterator[str]:
    scores = contents.scores
    for mapping, system in zip(scores.gold, scores.systems, strict=True):
        if mapping is not None and mapping.lost and not mapping.unwinnable:
            yield words("page.care.lost", n=len(mapping.lost), total=mapping.n_pieces, system=visible(system))
    if absent := list(contents.details.absent):
        yield words("page.care.absent", n=len(absent), listed=words.listed([*map(visible, absent)], _NAMED))
    without = int((scores.no_relevant[:, 0] & ~scores.unwinnable).all(axis=0).sum())
    if without and scores.primary not in scores.without_gold:
        yield words("page.care.no_relevant", n=without)
    if not scores.of_answers.all() and any(
        mapping is not None and not mapping.complete and mapping.unit == "chunk" and mapping.n_pieces
        for mapping in scores.gold
    ):
        yield words("page.care.corpus")


def _run_notes(contents: Contents, words: Words) -> Iterator[str]:
    """Notes of how the systems were weighed, then of their run folders."""
    n = len(contents.scores.systems)
    notes = contents.scores.notes if contents.comparison is None else contents.comparison.notes
    yield from notes_of_systems(notes, words, n_systems=n, most=_NAMED)
    yield from notes_of_systems(contents.notes, words, most=_NAMED)


def _unsure(contents: Contents, words: Words) -> Iterator[str]:
    """How far missing labels, and the order of ties, could change the first measure."""
    bounds, measure = contents.sensitivity, str(contents.scores.primary)
    by_ids = np.flatnonzero(contents.scores.by_id).tolist()
    judged = [
        (bounds.judged[i, 0], visible(bounds.systems[i])) for i in by_ids if bounds.judged[i, 0] < _MOST_JUDGED
    ]  # fmt: skip
    if judged:
        share, system = min(judged)
        yield words("page.care.unjudged", share=percent(share), system=system, n=len(judged))
        concerned = {bounds.systems[i] for i in by_ids}
        pairs = [
            words("page.care.pair", first=visible(first), second=visible(second))
            for first, second in overlapping(bounds, 0)
            if {first, second} & concerned
        ]
        if pairs:
            yield words("page.care.overlap", listed=words.listed(pairs, _NAMED), measure=measure, n=len(pairs))
    tied = [visible(system) for system in moved_by_ties(bounds, 0)]
    if tied:
        yield words("page.care.ties", listed=words.listed(tied, _NAMED), measure=measure, n=len(tied))
