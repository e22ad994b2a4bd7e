"""Ratings in words: sheets with each value, its interval, what it is called, and what to try."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import polars as pl

from steelyard.gates.profiles import Profile
from steelyard.gates.ratings import Rating, Ratings
from steelyard.reports.views.numbers import amount, number
from steelyard.reports.views.picture import Intervals, Kind, Mark, described
from steelyard.reports.views.view import Sheet, View
from steelyard.reports.words import Words

_DIGITS = 4
"""Significant digits of milliseconds, money and the like."""


def rating_sheets(ratings: Sequence[Rating], profile: Profile, words: Words) -> list[Sheet]:
    """One sheet a system: measure, rating, value, interval, and what a perfect ranking has where that is below 1.

    Below the last one comes what holds for all, and the advice.
    """
    names = ["rating", "value", "interval", *(["reachable"] if any(rating.reachable < 1 for rating in ratings) else [])]
    header = [words(f"ratings.head.{name}") for name in names]
    sheets = []
    for system in dict.fromkeys(rating.system for rating in ratings):
        own = [rating for rating in ratings if rating.system == system]
        rows = [[r.measure, rating_text(r, words), value_text(r.value, profile.is_handed_in(r.key)),
                 interval_text(r.low, r.high, r.n, profile.is_handed_in(r.key)),
                 number(r.reachable)][: len(names) + 1] for r in own]  # fmt: skip
        sheets.append(Sheet([system, *header], rows))
    if sheets:
        sheets[-1].notes = list(_notes(ratings, profile, words))
    return sheets


def ratings_overview(ratings: Sequence[Rating], profile: Profile, words: Words) -> list[Sheet]:
    """All systems in one sheet: a row a system, a column a measure, each value with its rating."""
    names = list(dict.fromkeys(rating.measure for rating in ratings))
    cells = {(rating.system, rating.measure): _rated_value(rating, profile, words) for rating in ratings}
    systems = dict.fromkeys(rating.system for rating in ratings)
    rows = [[system, *(cells.get((system, name), "–") for name in names)] for system in systems]
    return [Sheet([words("scores.head.system"), *names], rows, set(), list(_notes(ratings, profile, words)))]


def _rated_value(rating: Rating, profile: Profile, words: Words) -> str:
    text = rating_text(rating, words)
    return text if math.isnan(rating.value) else f"{value_text(rating.value, profile.is_handed_in(rating.key))} {text}"


def _notes(ratings: Sequence[Rating], profile: Profile, words: Words) -> Iterator[str]:
    yield words("ratings.interval")
    yield words("ratings.profile", name=profile.name, note=text_in(profile.note, words)).rstrip()
    if any(rating.out_of_reach for rating in ratings):
        yield words("ratings.reach")
    for rating in ratings:
        if rating.n_failed:
            yield words(
                "ratings.failed", system=rating.system, measure=rating.measure, n=rating.n_failed, total=rating.n
            )
        if rating.n_labels:
            key = "ratings.corrected_open" if rating.n_undecided else "ratings.corrected"
            yield words(
                key, system=rating.system, measure=rating.measure, n=rating.n_labels, undecided=rating.n_undecided
            )
    endless = (r.measure for r in ratings if not r.n_failed and (math.isinf(r.low) or math.isinf(r.high)))
    if (measure := next(endless, None)) is not None:
        yield words("ratings.too_few", measure=measure)
    yield from advice_lines(ratings, profile, words)


def advice_lines(ratings: Sequence[Rating], profile: Profile, words: Words) -> Iterator[str]:
    """Advice of the profile, once for each measure, with the systems that are below its top."""
    systems = list(dict.fromkeys(rating.system for rating in ratings))
    below: dict[str, list[Rating]] = {}
    for rating in ratings:
        if rating.level is not None and not rating.is_top:
            below.setdefault(rating.key, []).append(rating)
    for key, rated in below.items():
        advice = text_in(profile.standards[key].advice, words)
        measures = words.listed(list(dict.fromkeys(rating.measure for rating in rated)))
        of = list(dict.fromkeys(rating.system for rating in rated))
        if advice and len(of) == len(systems):
            yield words("ratings.advice", measure=measures, advice=advice)
        elif advice:
            yield words("ratings.advice_of", measure=measures, systems=words.listed(of), advice=advice)


def rating_text(rating: Rating, words: Words) -> str:
    """The rating in words: "good (could be fair)", with the levels that are out of reach."""
    most = number(rating.reachable)
    if math.isnan(rating.value):
        return words("ratings.not_measured")
    if rating.level is None:
        return words("ratings.none_in_reach", most=most)
    text = _in_reach_text(rating, rating.level, words)
    if not rating.out_of_reach:
        return text
    beyond = words("list.comma").join(level_text(level, words) for level in rating.out_of_reach)
    return words("ratings.out_of_reach", rating=text, levels=beyond, most=most)


def _in_reach_text(rating: Rating, name: str, words: Words) -> str:
    level = level_text(name, words)
    if rating.could_be:
        others = words("ratings.or").join(level_text(other, words) for other in rating.could_be)
        return words("ratings.could_be", level=level, others=others)
    if rating.n and math.isnan(rating.low):
        return words("ratings.no_interval", level=level)
    return level


def level_text(level: str, words: Words) -> str:
    """A level of the shipped profiles in the reader's language; a user's own name as it is."""
    key = f"ratings.level.{level}"
    return words(key) if key in words else level


def text_in(texts: Mapping[str, str], words: Words) -> str:
    """A profile's text in the reader's language, in the other where that is all there is, or nothing."""
    return texts.get(words.code) or next(iter(texts.values()), "")


def value_text(value: float, handed_in: bool) -> str:
    """Four decimals for a measure; four digits for milliseconds, money and the like, which are handed in.

    >>> value_text(0.5, False), value_text(0.000347902, True), value_text(1520.4, True)
    ('0.5000', '0.0003479', '1,520')
    """
    return amount(value, _DIGITS) if handed_in else number(value)


def interval_text(low: float, high: float, n: int, handed_in: bool) -> str:
    """Both ends, or a dash where there is no interval: of one question, or of a number that was handed in.

    >>> interval_text(0.25, 0.5, 40, False), interval_text(0.000301, 0.000412, 40, True)
    ('0.250–0.500', '0.000301–0.000412')
    """
    if math.isnan(low) or math.isnan(high) or n == 0:
        return "–"
    return "–".join(amount(end, _DIGITS) if handed_in else _end(end) for end in (low, high))


def _end(value: float) -> str:
    return number(value, 3) if abs(value) < 10 or math.isinf(value) else f"{value:.4g}".replace("-", "−")


def ratings_picture(ratings: Ratings, words: Words) -> Intervals | None:
    """The values of measures from 0 to 1 with what they are rated; None for fewer than two."""
    below, several = ratings.profile.below, len({rating.system for rating in ratings}) > 1
    marks = []
    for rating in ratings:
        if rating.level is None or ratings.profile.is_handed_in(rating.key) or not 0 <= rating.value <= 1:
            continue
        kind: Kind = "better" if rating.is_top else "worse" if rating.level == below else "unclear"
        name = rating.measure
        name = words("charts.gate.of", system=rating.system, name=name) if several else name
        text = f"{number(rating.value)} {level_text(rating.level, words)}"
        marks.append(Mark(name, rating.value, rating.low, rating.high, text, kind))
    title = words("charts.ratings.title", profile=ratings.profile.name)
    return Intervals(title, described(title, marks, words), marks) if len(marks) > 1 else None


def _papers(ratings: Ratings, words: Words) -> list[Sheet]:
    return rating_sheets(ratings, ratings.profile, words)


VIEWS = {
    Ratings: View[Ratings](
        "ratings",
        blocks=lambda ratings, look: _papers(ratings, look.words),
        data=lambda ratings, words: {"profile": ratings.profile.name, "ratings": ratings.frame.to_dicts()},
        rows=lambda ratings: ratings.frame.with_columns(pl.col("could_be", "out_of_reach").list.join(",")),
        papers=_papers,
        has_parts=True,
        picture=ratings_picture,
    )
}
