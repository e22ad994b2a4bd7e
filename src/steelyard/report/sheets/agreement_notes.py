"""What is said below the agreement of raters: gaps, labels off the scale, what is undefined and why."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from steelyard.comparison.agreement import MOST_PAIRS, Agreement
from steelyard.comparison.rater_pairs import FEWEST, MOST_RESAMPLED, RaterPair
from steelyard.data.ratings import Label, Ratings
from steelyard.report.words import Words

_MANY_RATERS = 20
"""Raters from which on more of them than items are rather a table whose rows and columns are exchanged."""


def agreement_notes(agreement: Agreement, words: Words) -> Iterator[str]:
    """How pairs are ranked, then whatever is not as it should be."""
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
    yield from _labels(agreement, words)


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


def _labels(agreement: Agreement, words: Words) -> Iterator[str]:
    """Gaps, labels given twice, off the scale, or alike."""
    ratings = agreement.ratings
    gaps = [(rater, int((codes < 0).sum())) for rater, codes in zip(ratings.raters, ratings.codes, strict=True)]
    listed = [words("agreement.note.gap", rater=rater, n=n, items=len(ratings.items)) for rater, n in gaps if n]
    if listed:
        yield words("agreement.note.gaps", listed=words.listed(listed))
    if ratings.n_repeated:
        yield words("agreement.note.repeated", n=ratings.n_repeated)
    for key, counts in (("off_scale", ratings.off_scale), ("beyond", beyond(ratings, agreement.against))):
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
