"""A whole report: title, summary in a few sentences, table for a paper, sections, and who judged the answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np

from steelyard.base.arrays import Floats
from steelyard.comparison.result import Comparison
from steelyard.diagnosis.advice import Advice
from steelyard.experiment.corrections import Correction, Corrections
from steelyard.experiment.table.recipes import comparable
from steelyard.judges.people.calibration import calibration_notes
from steelyard.judges.verdict import Label, Problem, State
from steelyard.reports.contents import Contents
from steelyard.reports.details.details import Judging
from steelyard.reports.details.limits import shortened
from steelyard.reports.views.cautions import NAMED, careful, dangers, lost_gold, lost_questions, origins, unknown_corpus
from steelyard.reports.views.comparison import MARKS, comparison_cautions, drift_sheet, measure_sheets
from steelyard.reports.views.comparison_notes import method_notes, unsure_orders
from steelyard.reports.views.corrections import corrected_sheet
from steelyard.reports.views.diagnosis import advice_text, diagnosis_sections, lost_text, mistakes
from steelyard.reports.views.gate import outcome_line
from steelyard.reports.views.notes import notes_of_systems
from steelyard.reports.views.numbers import best_places, number, p_text
from steelyard.reports.views.ratings import rating_sheets, rating_text, ratings_overview
from steelyard.reports.views.scores import score_cautions, scores_sheet
from steelyard.reports.views.verdicts import difference_text, headline, headline_numbers
from steelyard.reports.views.view import Block, Look, Paragraph, Section, Sheet, Text
from steelyard.reports.visible import visible
from steelyard.reports.words import Words

_NAMELESS = ("questions", "truth", "qrels")
"""Names of gold that say no more than what it is."""


def title_text(contents: Contents, words: Words) -> str:
    """The title that was asked for, or the one in the reader's language."""
    return contents.title or words("page.title")


def subtitle_text(contents: Contents, words: Words) -> str:
    """The numbers of systems and questions, and the measure that decides the order."""
    scores = contents.scores
    gold = contents.details.truth
    key = "page.subtitle" if len(scores.systems) > 1 else "page.subtitle_one"
    return words(
        key,
        gold="" if gold in _NAMELESS else words("page.subtitle_gold", gold=gold),
        measure=str(scores.primary),
        questions=words("count.questions", n=len(scores.query_ids)),
        systems=words("count.systems", n=len(scores.systems)),
    )


def leaderboard_title(contents: Contents, words: Words) -> str:
    """The question that the leaderboard answers: which of several is best, or what the one reaches."""
    return words("page.leaderboard.title" if len(contents.scores.systems) > 1 else "page.leaderboard.title_one")


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
    """The mean of a system by the primary measure; where labels correct it, the judge's own mean after it."""
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
    """Notes on systems that labels of people correct, where others have none, so that the judge alone compares them."""
    corrected = contents.scores.reported.corrected[:, 0]
    if corrected.any() and not corrected.all():
        yield from (_mean_text(contents, i, words) for i in np.flatnonzero(corrected).tolist())
        systems = [visible(contents.scores.systems[i]) for i in np.flatnonzero(~corrected).tolist()]
        yield words("page.verdict.by_judge", systems=words.together(systems, NAMED), n=len(systems))


def facts(contents: Contents, words: Words) -> Iterator[Fact]:
    """Short answers: how good is the best system, where does it lose questions, what should be tried first."""
    best = contents.scores.systems[contents.by_mean()[0]]
    for name, text, target in (
        ("rating", _best_rating(contents, best, words), "ratings"),
        ("lost", lost_text(contents.diagnosis, best, words), "funnel"),
        ("advice", _first_advice(contents, words), "advice"),
    ):
        if text:
            yield Fact(words(f"page.summary.{name}"), visible(text), target, words(f"page.summary.{name}_link"))


def _best_rating(contents: Contents, best: str, words: Words) -> str:
    """The rating of the primary measure; nothing where it has none."""
    primary = str(contents.scores.primary)
    rating = next((r for r in contents.ratings if (r.system, r.measure) == (best, primary)), None)
    if contents.scores.primary in contents.scores.without_gold:
        return ""  # The headline says so.
    if rating is None:
        return ""
    return words(
        "page.summary.rating_of",
        system=best,
        measure=primary,
        mean=number(rating.value),
        rating=rating_text(rating, words),
    )


def first_advice(contents: Contents) -> Advice | None:
    """The first advice on the best system; None where all is on others."""
    best = contents.scores.systems[contents.by_mean()[0]]
    return next((item for item in contents.diagnosis.advice if best in item.systems), None)


def _first_advice(contents: Contents, words: Words) -> str:
    """The first advice on the best system, in words; nothing where all is on others."""
    first = first_advice(contents)
    if first is None:
        return ""
    text = advice_text(first, words)
    return words(
        "page.summary.first", systems=words.listed(list(first.systems)), title=text.title, gain=text.gain
    ).rstrip()


def care(contents: Contents, words: Words) -> list[str]:
    """Notes on what could mislead: mistakes of others, lost questions and gold, unjudged documents, ties, notes."""
    return [
        *mistakes(contents.diagnosis, contents.scores.systems[contents.by_mean()[0]], words),
        *lost_questions(contents.scores, words),
        *lost_gold(contents.scores, words, [*contents.details.absent]),
        *unknown_corpus(contents.scores, words),
        *unsure_orders(contents.sensitivity, contents.scores.by_id, words),
        *_run_notes(contents, words, dangers),
    ]


def provenance(contents: Contents, words: Words) -> list[str]:
    """Notes on where numbers come from, which endanger none."""
    return list(_run_notes(contents, words, origins))


def _run_notes(contents: Contents, words: Words, some: Callable[..., Iterator[str]]) -> Iterator[str]:
    """Some notes of how the systems were weighed, then of their run folders."""
    n = len(contents.scores.systems)
    notes = contents.scores.notes if contents.comparison is None else contents.comparison.notes
    yield from some(notes, words, n_systems=n)
    yield from some(contents.notes, words)


def brief_report(contents: Contents, look: Look) -> Iterator[Block]:
    """The verdict, how good the best system is, where it loses questions, what to try first, and the gravest caution.

    The outcome of the gate is there where a profile was named that has one.
    """
    words, best = look.words, contents.scores.systems[contents.by_mean()[0]]
    sentences = verdict(contents, words)[:1]
    if contents.comparison is not None and len(contents.scores.systems) == 2:
        sentences.append(next(headline_numbers(contents.comparison, words)))
    yield Text(words("diagnose.between").join(sentences), "bold")
    answers = [(fact.title, fact.text) for fact in facts(contents, words)]
    if contents.gate is not None:
        answers.append((words("page.gate.title"), outcome_line(contents.gate, best, words)))
    lines = [words("brief.answered", question=question, answer=answer) for question, answer in answers]
    yield Text("\n".join([*lines, *careful(report_cautions(contents, words), look)]))


def report_cautions(contents: Contents, words: Words) -> Iterator[str]:
    """Cautions about the conclusion, the gravest first."""
    scores, comparison = contents.scores, contents.comparison
    yield from mistakes(contents.diagnosis, scores.systems[contents.by_mean()[0]], words)
    yield from _one_sided(contents, words)
    if comparison is None:
        yield from score_cautions(scores, words)
    else:
        yield from lost_gold(scores, words, [*contents.details.absent])
        yield from comparison_cautions(comparison, words)
        yield from unknown_corpus(scores, words)
    yield from dangers(contents.notes, words)


def paper_sheet(contents: Contents, words: Words) -> Sheet:
    """Systems down, measures across: means, † and ‡ where they differ from the baseline, the best ones marked.

    Of one system its means and intervals, a row a measure.  The notes say what a caption has to.
    """
    scores, comparison, order = contents.scores, contents.comparison, contents.by_mean()
    if comparison is None:
        return scores_sheet(scores, words)
    names = [str(measure) for measure in scores.measures]
    verdicts = {name: {row.system: row.verdict for row in comparison.rows.get(name, ())} for name in names}
    means = _means(contents)
    rows = []
    for i in order:
        system = scores.systems[i]
        role = next(row.verdict for row in comparison.rows[names[0]] if row.system == system)
        named = words(f"page.paper.{role}", system=system) if system == comparison.reference else system
        marks = [MARKS.get(verdicts[name].get(system, ""), "") for name in names]
        rows.append([named, *(f"{number(means[i, j])}{mark}" for j, mark in enumerate(marks))])
    signs = [1 if measure.definition.higher_is_better else -1 for measure in scores.measures]
    goodness = np.where(np.isnan(means), -np.inf, means * signs)
    alike = np.flatnonzero(comparable(scores)).tolist()
    best = {(r, j + 1) for j in alike for r in best_places(goodness[order, j])}
    low, high = int(scores.n_counted.min()), int(scores.n_counted.max())
    many = words("page.paper.between", low=low, high=high)
    questions = words("count.questions", n=high) if low == high else many
    notes = [
        words("page.paper.means", questions=questions, measure=names[0]),
        words("compare.marks", reference=comparison.reference),
        next(method_notes(comparison, words)),
    ]
    labels = comparison.labels
    judged = [name for name in names if labels is not None and labels.left_to_the_judge(name)]
    for key, listed in (("judge_alone", judged), ("corrected", _corrected(contents))):
        if listed:
            notes.insert(1, words(f"page.paper.{key}", listed=words.listed(listed)))
    return Sheet([words("scores.head.system"), *names], rows, best, notes)


def _corrected(contents: Contents) -> list[str]:
    """The measures that the comparison corrects by labels."""
    labels = None if contents.comparison is None else contents.comparison.labels
    return [] if labels is None else labels.measures


def _means(contents: Contents) -> Floats:
    """(s, m) means, with corrected ones where the comparison is of these."""
    scores, means = contents.scores, contents.scores.means.copy()
    for measure in _corrected(contents):
        j = [str(own) for own in scores.measures].index(measure)
        means[:, j] = [scores.corrections[system][measure].mean.corrected.mean for system in scores.systems]
    return means


def differences_sheet(comparison: Comparison, words: Words) -> Sheet:
    """Systems but the reference down, measures across: differences with † and ‡, and p."""
    cells: dict[str, list[str]] = {}
    for measure in map(str, comparison.measures):
        for row in comparison.rows[measure]:
            if not row.is_reference:
                text = f"{difference_text(row)}{MARKS.get(row.verdict, '')}"
                p = words("page.paper.p", p=p_text(row.adjusted, sign=True)) if not np.isnan(row.adjusted) else ""
                cells.setdefault(row.system, []).append(f"{text} {p}".rstrip())
    header = [words("page.paper.differences"), *map(str, comparison.measures)]
    return Sheet(
        header,
        [[system, *texts] for system, texts in cells.items()],
        set(),
        [words("compare.marks", reference=comparison.reference)],
    )


def report_sections(contents: Contents, words: Words) -> Iterator[Section]:
    """Summary, leaderboard, comparison, ratings, diagnosis, who judged answers; those that have anything to say."""
    answers = [Paragraph(fact.text, fact.title) for fact in facts(contents, words)]
    yield Section("short", words("page.summary.title"), [*map(Paragraph, verdict(contents, words)), *answers])
    if warnings := care(contents, words):
        yield Section("care", words("page.care.title"), list(map(Paragraph, warnings)))
    leaderboard = [scores_sheet(contents.scores, words), corrected_sheet(contents.scores, words)]
    sheets = [sheet for sheet in leaderboard if sheet is not None]
    yield Section("leaderboard", leaderboard_title(contents, words), sheets=sheets)
    if contents.comparison is not None:
        sheets = [next(measure_sheets(contents.comparison, words))]
        sheets += [differences_sheet(contents.comparison, words)] if len(contents.comparison.measures) > 1 else []
        sheets += [drift] if (drift := drift_sheet(contents.comparison, words)) is not None else []
        yield Section("comparison", words("page.comparison.title"), sheets=sheets)
    if contents.ratings:
        several = len(contents.scores.systems) > 1
        sheets = (ratings_overview if several else rating_sheets)(contents.ratings, contents.profile, words)
        yield Section("ratings", words("page.ratings.title"), sheets=sheets)
    yield from diagnosis_sections(contents.diagnosis, words)
    if contents.judging:
        yield Section(
            "judging",
            words("judge_card.title"),
            sheets=[judge_card(contents.judging, words, contents.scores.corrections)],
        )


_LONGEST = 200
_DIGEST = 12
"""Letters of a digest that are enough to tell prompts apart."""
_SHOWN_APART = ("name", "version", "model", "base_url", "prompts", "threshold", "examples")
"""Fields of the judge's recipe that name it, and long texts; all others are parameters."""
_CALIBRATION = {
    "judge_uncalibrated": "judge_card.uncalibrated",
    "judge_checked": "judge_card.uncalibrated",
    "judge_calibrated": "judge_card.calibrated",
    "judge_calibrated_without_interval": "judge_card.calibrated_without_interval",
}
"""What a note on a threshold is in the card."""
_CARD_NOTES = ("judge_agreement", "judge_checked", "judge_fails_self_tests")
_CALLS = ("calls", "attempts", "retries", "failed", "cached", "repeated", "tokens_in", "tokens_out", "cost_usd",
          "unmetered")  # fmt: skip


def judge_card(judging: Mapping[str, Judging], words: Words, corrections: Corrections | None = None) -> Sheet:
    """A row a fact, a column a system; facts that no system has are left out.

    corrections   of means by labels of people, by system and measure
    """
    facts = [_facts(own, (corrections or {}).get(system, {}), words) for system, own in judging.items()]
    rows = [
        [words(f"judge_card.fact.{name}"), *(of_system[name] or "–" for of_system in facts)]
        for name in (facts[0] if facts else ())
        if any(of_system[name] for of_system in facts)
    ]
    uncalibrated = any(
        own.recipe["judge"].get("threshold") is not None and own.recipe.get("calibration") is None
        for own in judging.values()
    )
    notes = [words("judge_card.note.uncalibrated")] if uncalibrated else []
    notes += notes_of_systems(
        {
            system: [note for note in calibration_notes(own.recipe) if note.code in _CARD_NOTES]
            for system, own in judging.items()
        },
        words,
        n_systems=len(judging),
    )
    return Sheet([words("judge_card.head.fact"), *judging], rows, notes=notes)


def _facts(judging: Judging, corrections: Mapping[str, Correction], words: Words) -> dict[str, str]:
    """Facts of the card, in their order; empty where there is nothing to say."""
    recipe, judge, listed = judging.recipe, judging.recipe["judge"], words("list.comma").join
    prompts, calls, units = judge.get("prompts"), recipe.get("calls"), str(recipe.get("units") or "")
    digests = prompts.items() if isinstance(prompts, Mapping) else ()

    def counted(counts: Mapping[str, Any], names: Iterable[str]) -> str:
        numbers = {name: n for name in names if isinstance(n := counts.get(name), int | float) and n}
        return listed(
            f"{words(f'judge_card.count.{name}')} {f'{n:,}' if isinstance(n, int) else f'{n:.4g}'}"
            for name, n in numbers.items()
        )

    def causes(counts: Mapping[str, int]) -> str:
        return listed(f"{name} {n:,}" for name, n in counts.items() if n)

    facts = {
        "judge": " ".join(str(judge[key]) for key in ("name", "version") if key in judge),
        "model": " · ".join(str(judge[key]) for key in ("model", "base_url") if judge.get(key)),
        "prompts": listed(f"{name} {str(digest).removeprefix('sha256:')[:_DIGEST]}" for name, digest in digests),
        "threshold": _threshold(recipe, words),
        "parameters": listed(f"{key} = {value}" for key, value in judge.items() if key not in _SHOWN_APART),
        "units": words(f"judge_card.units.{units}") if f"judge_card.units.{units}" in words else units,
        "date": str(recipe.get("date") or ""),
        "calls": counted(calls, _CALLS) if isinstance(calls, Mapping) else "",
        "answers": counted(judging.counts, (*get_args(State), "without_context")),
        "sentences": counted(judging.counts, (*get_args(Label), "no_claim")),
        "not_judged": causes(judging.not_judged),
        "citations": counted(judging.counts, ("citations", *get_args(Problem))),
        "errors": causes(judging.errors),
    }
    # By how many labels each mean is corrected.
    labels = listed(f"{measure} {own.mean.n_labels:,}" for measure, own in corrections.items())
    return {**{name: shortened(text, _LONGEST) for name, text in facts.items()}, "labels": labels}


def _threshold(recipe: Mapping[str, Any], words: Words) -> str:
    threshold = recipe["judge"].get("threshold")
    if threshold is None:
        return ""
    note = next(calibration_notes(recipe), None)
    text = str(recipe.get("calibration")) if note is None else words(_CALIBRATION[note.code], **note.values)
    return words("judge_card.threshold", threshold=f"{threshold:g}", calibration=text)
