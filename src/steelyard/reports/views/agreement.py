"""Agreement of raters: alpha of all, a row a pair with statistics and intervals, confusion, advice; and as data."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any

import numpy as np

from steelyard.comparison.raters.agreement import MOST_PAIRS, RELIABLE, TENTATIVE, Agreement
from steelyard.comparison.raters.pairs import FEWEST, MOST_RESAMPLED, STATISTICS, Estimate, RaterPair
from steelyard.data.ratings import Label, Ratings
from steelyard.reports.views.cautions import careful
from steelyard.reports.views.numbers import best_places, ends, number, percent
from steelyard.reports.views.picture import Intervals, Mark, described
from steelyard.reports.views.view import Block, Column, Look, Paragraph, Section, Sheet, Text, View, sheet_of
from steelyard.reports.words import Words, read_words

_FEW_PAIRS = 3
_MOST_IN_CONFUSION = 12
_MOST_ROWS = 10
"""Pairs that a short screen has rows for."""
_OF_TWO = ("binary_kappa", "binary_balanced_accuracy", "auc")
"""Statistics of labels that are cut in two, which are computed where that is asked for."""
_SKEWED = 0.7
_UNRANKED = ("mean_difference",)
_DECIMALS = {"exact": 3, "mean_difference": 3}


def agreement_sections(agreement: Agreement, words: Words) -> list[Section]:
    """Sections on all raters, the pairs, systems where runs were weighed, and tables of confusion."""
    title = "agreement.pairs" if agreement.reference is None else "agreement.against"
    sections = [
        Section("together", words("agreement.together"), [Paragraph(text) for text in _together(agreement, words)]),
        Section(
            "pairs",
            words(title, reference=agreement.reference),
            sheets=[pairs_sheet(agreement, words), *_interval_sheets(agreement, words)] if agreement.pairs else [],
            paragraphs=[] if agreement.pairs else [Paragraph(note) for note in agreement_notes(agreement, words)],
        ),
    ]
    if agreement.systems:
        sections.append(Section("systems", _systems_title(agreement, words), sheets=[_systems(agreement, words)]))
    sections += [Section("confusion", title, sheets=[sheet]) for title, sheet in _confusions(agreement, words)]
    return sections


def _brief(agreement: Agreement, look: Look) -> Iterator[Block]:
    """What these labels can support, the best pairs of raters, and what to be careful with."""
    words = look.words
    yield Text(words("scores.between").join([_counts_text(agreement, words), *_verdict(agreement, words)]), "bold")
    notes = careful(_cautions(agreement, words), look)
    if not agreement.pairs:
        yield from map(Text, notes)
        return
    pairs = _brief_pairs(agreement, words)
    pairs.notes += notes
    yield pairs
    if agreement.systems:
        yield Text(_systems_title(agreement, words))
        yield replace(_systems(agreement, words), notes=[words("brief.agreement.systems")])


def _verdict(agreement: Agreement, words: Words) -> Iterator[str]:
    """What labels of raters can support, by alpha; against a reference, which raters are near it."""
    if agreement.reference is not None:
        if values := _against(agreement):
            near = _near(values)
            key = "near" if near else "none_near"
            yield words(f"brief.agreement.{key}", listed=words.listed(near), n=len(values), **_limits(agreement))
        return
    grade = _grade(agreement)
    if grade in ("unreliable", "tentative", "reliable"):
        alpha = agreement.together[agreement.scale]
        yield words(
            f"brief.agreement.{grade}", scale=words(f"agreement.scale.{agreement.scale}"), value=number(alpha.value, 3),
            ends=ends(alpha.low, alpha.high), **_limits(agreement),
        )  # fmt: skip


def _brief_pairs(agreement: Agreement, words: Words) -> Sheet:
    """The best pairs: same labels, kappa, alpha with its interval, and what was asked for; scores have all they can."""
    names, headline, heads = _statistics(agreement), agreement.headline, _label_heads(agreement, words)
    shown = [name for name in names if name in ("exact", "kappa", headline) or name in _OF_TWO] or names
    columns = [
        Column[RaterPair](head, partial(_cell, name=name))
        for name, head in zip(shown, _heads(agreement, shown, words), strict=True)
    ]
    if headline in shown:
        level = f"{100 * float(str(agreement.recipe['level'])):g}"
        interval = Column[RaterPair](
            words("brief.agreement.interval", level=level), partial(_interval_cell, name=headline)
        )
        columns.insert(shown.index(headline) + 1, interval)
    labels = [Column[RaterPair](heads[0], lambda pair: pair.rater)]
    labels += [Column(head, lambda pair: pair.against) for head in heads[1:]]
    labels.append(Column(words("agreement.head.n"), lambda pair: f"{pair.n:,}"))
    sheet = sheet_of(agreement.pairs[:_MOST_ROWS], [*labels, *columns], n_labels=len(heads))
    if more := len(agreement.pairs) - len(sheet.rows):
        sheet.notes.append(words("brief.agreement.pairs", n=more))
    if {*shown} & {*_OF_TWO}:
        sheet.spare = [len(labels) + shown.index(name) for name in ("kappa", "exact") if name in shown]
    return sheet


def _cautions(agreement: Agreement, words: Words) -> Iterator[str]:
    """Cautions about the numbers, the gravest first."""
    if agreement.reference is None and _grade(agreement) in ("undefined", "few"):
        yield from advice(agreement, words)
    yield from _unsure(agreement, words)
    yield from _many(agreement, words)
    yield from _undefined(agreement.pairs, words)
    yield from _without_interval(agreement.pairs, words)
    yield from _label_notes(agreement, words)
    if agreement.ratings.n_questions is None and any(pair.no_interval == "" for pair in agreement.pairs):
        yield words("brief.agreement.items")


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
    """Advice by alpha: whether these labels can calibrate a judge; against a reference, which raters are near it."""
    if agreement.reference is not None:
        yield from _advice_against(agreement, words)
    elif grade := _grade(agreement):
        items = words("agreement.items", n=agreement.n_together)
        value = number(agreement.together[agreement.scale].value, 3)
        yield words(f"agreement.advice.{grade}", items=items, value=value, **_limits(agreement))
        yield from _unsure(agreement, words)


def _grade(agreement: Agreement) -> str:
    """What alpha says of the labels: "undefined", "few", "unreliable", "tentative" or "reliable"; "" without alpha."""
    alpha = agreement.together.get(agreement.scale)
    if alpha is None:
        return ""
    if math.isnan(alpha.value):
        return "undefined"
    if agreement.n_together < FEWEST:
        return "few"
    return "unreliable" if alpha.value < TENTATIVE else "tentative" if alpha.value < RELIABLE else "reliable"


def _limits(agreement: Agreement) -> dict[str, object]:
    """The limits of Krippendorff's convention, and the reference, as texts name them."""
    return {
        "tentative": number(TENTATIVE, 3), "reliable": number(RELIABLE, 1), "reference": agreement.reference or ""
    }  # fmt: skip


def _unsure(agreement: Agreement, words: Words) -> Iterator[str]:
    """That the interval of alpha holds a limit, and that it is low although raters say the same of most items."""
    grade = _grade(agreement)
    if agreement.reference is not None or grade in ("", "undefined", "few"):
        return
    alpha = agreement.together[agreement.scale]
    if alpha.low <= TENTATIVE <= alpha.high:
        yield words("agreement.advice.unsure", ends=ends(alpha.low, alpha.high), tentative=number(TENTATIVE, 3))
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
    if values := _against(agreement):
        near = _near(values)
        key = "some_reach" if near else "none_reaches"
        yield words(f"agreement.advice.{key}", listed=words.listed(near), n=len(values), **_limits(agreement))


def _against(agreement: Agreement) -> dict[str, float]:
    """Rater -> its alpha with the reference, where that is defined."""
    values = {pair.rater: pair.estimates.get(agreement.headline) for pair in agreement.pairs}
    return {rater: of.value for rater, of in values.items() if of is not None and not math.isnan(of.value)}


def _near(values: Mapping[str, float]) -> list[str]:
    """The raters whose alpha allows tentative conclusions."""
    return [rater for rater, value in values.items() if value >= TENTATIVE]


def _counts_text(agreement: Agreement, words: Words) -> str:
    """The numbers of raters, items and labels, and the labels."""
    ratings = agreement.ratings
    facts = {
        "raters": len(ratings.raters),
        "items": words("agreement.items", n=len(ratings.items)),
        "labels": int((ratings.codes >= 0).sum()),
        "categories": words.listed([str(label) for label in ratings.categories], 10),
    }
    if ratings.n_questions is None:
        return words("agreement.counts", **facts)
    questions = words("count.questions", n=ratings.n_questions)
    return words("agreement.counts_of_questions", questions=questions, **facts)


def _together(agreement: Agreement, words: Words) -> Iterator[str]:
    yield _counts_text(agreement, words)
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
    return heads if agreement.reference is not None else [*heads, words("agreement.head.against")]


def _labels(agreement: Agreement, pair: RaterPair) -> list[str]:
    return [pair.rater] if agreement.reference is not None else [pair.rater, pair.against]


def _cell(pair: RaterPair, name: str) -> str:
    estimate = pair.estimates.get(name)
    return number(None if estimate is None else estimate.value, _DECIMALS.get(name, 4))


def _interval_cell(pair: RaterPair, name: str) -> str:
    estimate = pair.estimates.get(name)
    return "–" if estimate is None else ends(estimate.low, estimate.high)


def _interval_sheets(agreement: Agreement, words: Words) -> list[Sheet]:
    """The ends of all intervals; none where no pair has any."""
    names = _statistics(agreement)
    rows = [[*_labels(agreement, pair), *(_interval_cell(pair, name) for name in names)] for pair in agreement.pairs]
    if all(cell == "–" for row in rows for cell in row[-len(names) :]):
        return []
    recipe = agreement.recipe
    of = "items" if agreement.ratings.n_questions is None else "questions"
    note = words(
        f"agreement.resampled_{of}",
        level=f"{100 * float(str(recipe['level'])):g}",
        resamples=recipe["n_resamples"],
        seed=recipe["seed"],
    )
    heads = _label_heads(agreement, words)
    return [Sheet([*heads, *_heads(agreement, names, words)], rows, notes=[note], n_labels=len(heads))]


def _systems_title(agreement: Agreement, words: Words) -> str:
    return words("agreement.systems", n=len(agreement.systems[0].means), measure=agreement.recipe["measure"])


def _systems(agreement: Agreement, words: Words) -> Sheet:
    header = [words(f"agreement.head.{name}") for name in ("rater", "questions", "tau", "tau_ap")]
    rows = [[row.rater, f"{row.n_questions:,}", number(row.kendall), number(row.tau_ap)] for row in agreement.systems]
    return Sheet(header, rows, notes=[words("agreement.system_note", reference=agreement.reference)])


def _confusions(agreement: Agreement, words: Words) -> Iterator[tuple[str, Sheet]]:
    """Tables of confusion: of few pairs all, else of the best one."""
    pairs = [pair for pair in agreement.pairs if pair.n and len(pair.labels) <= _MOST_IN_CONFUSION]
    few = len(agreement.pairs) <= _FEW_PAIRS
    for pair in pairs if few else pairs[:1]:
        title = words(
            "agreement.confusion" if few else "agreement.confusion_best",
            rater=pair.rater,
            reference=pair.against,
            n=len(agreement.pairs),
        )
        header = [pair.against, *map(str, pair.labels)]
        rows = [
            [str(label), *(f"{count:,}" for count in counts)]
            for label, counts in zip(pair.row_labels, pair.confusion.tolist(), strict=True)
        ]
        yield title, Sheet(header, rows)


_MANY_RATERS = 20
"""Raters from which on more of them than items are rather a table whose rows and columns are exchanged."""


def agreement_notes(agreement: Agreement, words: Words) -> Iterator[str]:
    """Notes on how pairs are ranked, then on whatever is not as it should be."""
    if len(agreement.pairs) > 1:
        yield words("agreement.ranked", headline=words(f"agreement.head.{agreement.headline}"))
    if any("kappa" in pair.estimates for pair in agreement.pairs):
        labels = [str(label) for label in agreement.ratings.categories]
        yield words("agreement.over", n=len(labels), labels=words.listed(labels, 10))
    if agreement.min_gain is not None:
        yield words("agreement.positive", label=agreement.min_gain)
    yield from _undefined(agreement.pairs, words)
    yield from _without_interval(agreement.pairs, words)
    yield from _many(agreement, words)
    yield from _label_notes(agreement, words)


def _many(agreement: Agreement, words: Words) -> Iterator[str]:
    """Raters that are too many to be compared in pairs, or more than there are items."""
    raters, items = agreement.ratings.codes.shape
    if not agreement.pairs:
        n = math.comb(raters, 2)
        yield words("agreement.note.no_pairs", raters=f"{raters:,}", n=f"{n:,}", most=f"{MOST_PAIRS:,}")
    elif any(pair.no_interval == "many" for pair in agreement.pairs):
        yield words("agreement.note.many", n=f"{len(agreement.pairs):,}", most=MOST_RESAMPLED)
    if raters >= max(items, _MANY_RATERS):
        yield words("agreement.note.transposed", raters=f"{raters:,}", items=f"{items:,}")


def _undefined(pairs: Sequence[RaterPair], words: Words) -> Iterator[str]:
    for reason in ("no_items", "one_label", "one_rater_ties"):
        listed = [_name(pair) for pair in pairs if pair.undefined == reason]
        if listed:
            yield words(f"agreement.undefined.{reason}", listed=words.listed(listed))


def _without_interval(pairs: Sequence[RaterPair], words: Words) -> Iterator[str]:
    few = sum(pair.no_interval == "few" and pair.n > 0 for pair in pairs)
    if pairs and few == len(pairs):
        yield words("agreement.note.few", fewest=FEWEST)
    elif few:
        yield words("agreement.note.few_pairs", n=few, fewest=FEWEST)
    scores = [_name(pair) for pair in pairs if pair.n and "kappa" not in pair.estimates]
    large = [_name(pair) for pair in pairs if pair.no_interval == "large"]
    for name, listed in (("scores", scores), ("large", large)):
        if listed:
            yield words(f"agreement.note.{name}", listed=words.listed(listed))


def _label_notes(agreement: Agreement, words: Words) -> Iterator[str]:
    """Gaps, labels given twice, off the scale, or alike."""
    ratings = agreement.ratings
    gaps = [(rater, int((codes < 0).sum())) for rater, codes in zip(ratings.raters, ratings.codes, strict=True)]
    listed = [words("agreement.note.gap", rater=rater, n=n, items=len(ratings.items)) for rater, n in gaps if n]
    if listed:
        yield words("agreement.note.gaps", listed=words.listed(listed))
    if ratings.n_repeated:
        yield words("agreement.note.repeated", n=ratings.n_repeated)
    for key, counts in (("off_scale", ratings.off_scale), ("beyond", beyond(ratings, agreement.reference))):
        listed = [
            words("agreement.note.off_label", rater=rater, label=label, n=n)
            for rater, by_label in counts.items()
            for label, n in by_label.items()
        ]
        if listed:
            yield words(f"agreement.note.{key}", listed=words.listed(listed))
    folded = Counter(label.casefold() for label in ratings.categories if isinstance(label, str))
    alike = [label for label in ratings.categories if isinstance(label, str) and folded[label.casefold()] > 1]
    if alike:
        yield words("agreement.note.case", listed=words.listed(alike))


def beyond(ratings: Ratings, against: str | None) -> Mapping[str, Mapping[Label, int]]:
    """Numbers beyond those of the reference and of most raters, where no categories were named: by rater and label.

    Of two raters, neither is most.
    """
    n_raters = len(ratings.raters)
    if not ratings.are_numbers or ratings.are_named or (against is None and n_raters < 3):
        return {}
    k = len(ratings.categories)
    counts = np.stack([np.bincount(codes[codes >= 0], minlength=k) for codes in ratings.codes])
    common = 2 * (counts > 0).sum(axis=0) > n_raters
    if against is not None:
        common |= counts[ratings.raters.index(against)] > 0
    inside = np.flatnonzero(common)
    if not len(inside):
        return {}
    outside = [place for place in range(k) if not inside[0] <= place <= inside[-1]]
    by_rater = {
        rater: {ratings.categories[place]: int(row[place]) for place in outside if row[place]}
        for rater, row in zip(ratings.raters, counts, strict=True)
    }
    return {rater: labels for rater, labels in by_rater.items() if labels}


def _name(pair: RaterPair) -> str:
    return f"{pair.rater} – {pair.against}"


def _data(agreement: Agreement) -> dict[str, Any]:
    ratings = agreement.ratings
    return {
        "scale": agreement.scale,
        "reference": agreement.reference,
        "raters": ratings.raters,
        "categories": ratings.categories,
        "n_items": len(ratings.items),
        "n_questions": ratings.n_questions,
        "off_scale": {
            rater: [{"label": label, "n": n} for label, n in counts.items()]
            for rater, counts in ratings.off_scale.items()
        },
        "n_repeated": ratings.n_repeated,
        "n_together": agreement.n_together,
        "together": {scale: asdict(estimate) for scale, estimate in agreement.together.items()},
        "pairs": [
            {
                "rater": pair.rater, "against": pair.against, "n": pair.n, "n_questions": pair.n_questions,
                "undefined": pair.undefined or None, "no_interval": pair.no_interval or None,
                "estimates": {name: asdict(estimate) for name, estimate in pair.estimates.items()},
                "labels": pair.labels, "labels_against": pair.row_labels, "confusion": pair.confusion,
            }
            for pair in agreement.pairs
        ],
        "systems": [
            {
                "rater": row.rater, "kendall": row.kendall, "tau_ap": row.tau_ap, "n_questions": row.n_questions,
                "means": row.means,
            }
            for row in agreement.systems
        ],
        "advice": list(advice(agreement, read_words("en"))),
        "recipe": agreement.recipe,
    }  # fmt: skip


def agreement_picture(agreement: Agreement, words: Words) -> Intervals | None:
    """κ of every pair with its interval; None where no pair has one."""
    title = words("charts.kappa.title")
    kappas = [(_name(pair), pair.estimates["kappa"]) for pair in agreement.pairs if "kappa" in pair.estimates]
    marks = [Mark(name, of.value, of.low, of.high, number(of.value)) for name, of in kappas if math.isfinite(of.low)]
    return Intervals(title, described(title, marks, words), marks) if marks else None


VIEWS = {
    Agreement: View[Agreement](
        "agreement",
        blocks=lambda agreement, look: agreement_sections(agreement, look.words),
        brief=_brief,
        data=lambda agreement, words: _data(agreement),
        has_parts=True,
        rows=lambda agreement: agreement.frame,
        papers=lambda agreement, words: [pairs_sheet(agreement, words)],
        picture=agreement_picture,
    )
}
