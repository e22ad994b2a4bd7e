"""Agreement of raters as sections: alpha of all, a row a pair with statistics and intervals, confusion, advice."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from steelyard.comparison.agreement import RELIABLE, TENTATIVE, Agreement
from steelyard.comparison.rater_pairs import FEWEST, Estimate, RaterPair
from steelyard.comparison.rater_statistics import STATISTICS
from steelyard.report.sheets.agreement_notes import agreement_notes
from steelyard.report.sheets.section import Paragraph, Section
from steelyard.report.sheets.sheet import Sheet, best_places, ends, number, percent
from steelyard.report.words import Words

_FEW_PAIRS = 3
_MOST_IN_CONFUSION = 12
_SKEWED = 0.7
_UNRANKED = ("mean_difference",)
_DECIMALS = {"exact": 3, "mean_difference": 3}


def agreement_sections(agreement: Agreement, words: Words) -> list[Section]:
    """What all raters come to, the pairs, systems where runs were weighed, and tables of confusion."""
    title = "agreement.pairs" if agreement.against is None else "agreement.against"
    sections = [
        Section("together", words("agreement.together"), [Paragraph(text) for text in _together(agreement, words)]),
        Section("pairs", words(title, reference=agreement.against), sheets=[
            pairs_sheet(agreement, words), *_interval_sheets(agreement, words),
        ] if agreement.pairs else [], paragraphs=[] if agreement.pairs else [
            Paragraph(note) for note in agreement_notes(agreement, words)
        ]),
    ]  # fmt: skip
    if agreement.systems:
        measure, n = agreement.recipe["measure"], len(agreement.systems[0].means)
        sections.append(
            Section("systems", words("agreement.systems", n=n, measure=measure), sheets=[_systems(agreement, words)])
        )
    sections += [Section("confusion", title, sheets=[sheet]) for title, sheet in _confusions(agreement, words)]
    return sections


def pairs_sheet(agreement: Agreement, words: Words) -> Sheet:
    """A row a pair, best first; what was counted, left out and is undefined in the notes."""
    names = _statistics(agreement)
    rows = [
        [*_labels(agreement, pair), f"{pair.n:,}", *(_cell(pair, name) for name in names)] for pair in agreement.pairs
    ]
    header = [*_label_heads(agreement, words), words("agreement.head.n"), *_heads(agreement, names, words)]
    first = len(header) - len(names)
    best = set[tuple[int, int]]()
    if len(rows) > 1:
        for column, name in enumerate(names, first):
            values = [pair.estimates[name].value if name in pair.estimates else math.nan for pair in agreement.pairs]
            places = [] if name in _UNRANKED else best_places(np.array(values))
            best |= {(row, column) for row in places}
    return Sheet(
        header, rows, best, list(agreement_notes(agreement, words)), n_labels=len(_label_heads(agreement, words))
    )


def advice(agreement: Agreement, words: Words) -> Iterator[str]:
    """What alpha allows: whether these labels can calibrate a judge; against a reference, which raters are near it."""
    if agreement.against is not None:
        yield from _advice_against(agreement, words)
        return
    alpha = agreement.together.get(agreement.scale)
    if alpha is None:
        return
    if math.isnan(alpha.value):
        yield words("agreement.advice.undefined")
        return
    if agreement.n_together < FEWEST:
        items = words("agreement.items", n=agreement.n_together)
        yield words("agreement.advice.few", items=items)
        return
    limits = {"value": number(alpha.value, 3), "tentative": number(TENTATIVE, 3), "reliable": number(RELIABLE, 1)}
    grade = "unreliable" if alpha.value < TENTATIVE else "tentative" if alpha.value < RELIABLE else "reliable"
    yield words(f"agreement.advice.{grade}", **limits)
    if alpha.low <= TENTATIVE <= alpha.high:
        yield words("agreement.advice.unsure", ends=ends(alpha.low, alpha.high), **limits)
    if grade == "unreliable":
        yield from _skewed(agreement, words)


def _skewed(agreement: Agreement, words: Words) -> Iterator[str]:
    """That most labels are alike, where they are, so that alpha is low although raters say the same of most items."""
    codes = agreement.ratings.codes
    counts = np.bincount(codes[codes >= 0])
    alike = float(counts.max() / counts.sum())
    if alike >= _SKEWED:
        shares = [pair.estimates["exact"].value for pair in agreement.pairs if "exact" in pair.estimates and pair.n]
        label = agreement.ratings.categories[int(counts.argmax())]
        if not shares:
            return
        yield words("agreement.advice.skewed", share=percent(float(np.mean(shares))), alike=percent(alike), label=label)


def _advice_against(agreement: Agreement, words: Words) -> Iterator[str]:
    values = {pair.rater: pair.estimates[agreement.headline].value
              for pair in agreement.pairs if agreement.headline in pair.estimates}  # fmt: skip
    values = {rater: value for rater, value in values.items() if not math.isnan(value)}
    if not values:
        return
    near = [rater for rater, value in values.items() if value >= TENTATIVE]
    facts = {"n": len(values), "tentative": number(TENTATIVE, 3), "reference": agreement.against}
    if near:
        yield words("agreement.advice.some_reach", listed=words.listed(near), **facts)
    else:
        yield words("agreement.advice.none_reaches", **facts)


def _together(agreement: Agreement, words: Words) -> Iterator[str]:
    ratings = agreement.ratings
    facts = {
        "raters": len(ratings.raters), "items": words("agreement.items", n=len(ratings.items)),
        "labels": int((ratings.codes >= 0).sum()),
        "categories": words.listed([str(label) for label in ratings.categories], 10),
    }  # fmt: skip
    if ratings.n_questions is None:
        yield words("agreement.counts", **facts)
    else:
        questions = words("count.questions", n=ratings.n_questions)
        yield words("agreement.counts_of_questions", questions=questions, **facts)
    alphas = [_alpha(scale, estimate, words) for scale, estimate in agreement.together.items()]
    items = words("agreement.items", n=agreement.n_together)
    if alphas:
        yield words("agreement.alphas", items=items, listed=words.listed(alphas))
    yield from advice(agreement, words)


def _alpha(scale: str, estimate: Estimate, words: Words) -> str:
    key = "agreement.alpha_alone" if math.isnan(estimate.low) else "agreement.alpha"
    return words(key, scale=words(f"agreement.scale.{scale}"), value=number(estimate.value),
                 ends=ends(estimate.low, estimate.high))  # fmt: skip


def _statistics(agreement: Agreement) -> list[str]:
    """Names of all statistics that some pair has, in their order."""
    return [name for name in STATISTICS if any(name in pair.estimates for pair in agreement.pairs)]


def _heads(agreement: Agreement, names: Sequence[str], words: Words) -> list[str]:
    return [words(f"agreement.head.{name}", label=agreement.min_gain) for name in names]


def _label_heads(agreement: Agreement, words: Words) -> list[str]:
    heads = [words("agreement.head.rater")]
    return heads if agreement.against is not None else [*heads, words("agreement.head.against")]


def _labels(agreement: Agreement, pair: RaterPair) -> list[str]:
    return [pair.rater] if agreement.against is not None else [pair.rater, pair.against]


def _cell(pair: RaterPair, name: str) -> str:
    estimate = pair.estimates.get(name)
    return number(None if estimate is None else estimate.value, _DECIMALS.get(name, 4))


def _interval_sheets(agreement: Agreement, words: Words) -> list[Sheet]:
    """The ends of all intervals; none where no pair has any."""
    names = _statistics(agreement)
    rows = [
        [*_labels(agreement, pair), *(ends(pair.estimates[name].low, pair.estimates[name].high)
                                      if name in pair.estimates else "–" for name in names)]
        for pair in agreement.pairs
    ]  # fmt: skip
    if all(cell == "–" for row in rows for cell in row[-len(names) :]):
        return []
    recipe = agreement.recipe
    of = "items" if agreement.ratings.n_questions is None else "questions"
    note = words(
        f"agreement.resampled_{of}", level=f"{100 * float(str(recipe['level'])):g}", resamples=recipe["n_resamples"],
        seed=recipe["seed"],
    )  # fmt: skip
    heads = _label_heads(agreement, words)
    return [Sheet([*heads, *_heads(agreement, names, words)], rows, notes=[note], n_labels=len(heads))]


def _systems(agreement: Agreement, words: Words) -> Sheet:
    header = [words(f"agreement.head.{name}") for name in ("rater", "questions", "tau", "tau_ap")]
    rows = [
        [row.rater, f"{row.n_questions:,}", number(row.kendall), number(row.tau_ap)]
        for row in agreement.systems
    ]  # fmt: skip
    return Sheet(header, rows, notes=[words("agreement.system_note", reference=agreement.against)])


def _confusions(agreement: Agreement, words: Words) -> Iterator[tuple[str, Sheet]]:
    """Of few pairs all, else of the best one."""
    pairs = [pair for pair in agreement.pairs if pair.n and len(pair.labels) <= _MOST_IN_CONFUSION]
    few = len(agreement.pairs) <= _FEW_PAIRS
    for pair in pairs if few else pairs[:1]:
        title = words(
            "agreement.confusion" if few else "agreement.confusion_best", rater=pair.rater, reference=pair.against,
            n=len(agreement.pairs),
        )  # fmt: skip
        header = [pair.against, *map(str, pair.labels)]
        rows = [[str(label), *(f"{count:,}" for count in counts)]
                for label, counts in zip(pair.row_labels, pair.confusion.tolist(), strict=True)]  # fmt: skip
        yield title, Sheet(header, rows)
