"""Ratings in words: sheets with each value, its interval, what it is called, and what to try."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from steelyard.gates.profiles import Profile
from steelyard.gates.ratings import Rating
from steelyard.report.sheet import Sheet, number
from steelyard.report.words import Words


def rating_sheets(ratings: Sequence[Rating], profile: Profile, lang: Words) -> list[Sheet]:
    """One sheet a system: measure, rating, value, interval; below the last one what holds for all, and the advice."""
    header = [lang(f"ratings.head.{name}") for name in ("rating", "value", "interval")]
    made = []
    for system in dict.fromkeys(rating.system for rating in ratings):
        own = [rating for rating in ratings if rating.system == system]
        rows = [[r.measure, rating_text(r, lang), value_text(r.value, profile.is_handed_in(r.key)),
                 interval_text(r.low, r.high, r.n)] for r in own]  # fmt: skip
        made.append(Sheet([system, *header], rows))
    if made:
        made[-1].notes = list(_notes(ratings, profile, lang))
    return made


def _notes(ratings: Sequence[Rating], profile: Profile, lang: Words) -> Iterator[str]:
    yield lang("ratings.interval")
    yield lang("ratings.profile", name=profile.name, note=text_in(profile.note, lang)).rstrip()
    for rating in ratings:
        if math.isinf(rating.low) or math.isinf(rating.high):
            yield lang("ratings.too_few", measure=rating.measure)
            break
    yield from advice_lines(ratings, profile, lang)


def advice_lines(ratings: Sequence[Rating], profile: Profile, lang: Words) -> Iterator[str]:
    """What the profile says to try, once for each measure, with the systems that are below its top."""
    systems = list(dict.fromkeys(rating.system for rating in ratings))
    below: dict[str, list[Rating]] = {}
    for rating in ratings:
        if rating.level is not None and not rating.is_top:
            below.setdefault(rating.key, []).append(rating)
    for key, rated in below.items():
        advice = text_in(profile.standards[key].advice, lang)
        measures = lang.listed(list(dict.fromkeys(rating.measure for rating in rated)))
        of = list(dict.fromkeys(rating.system for rating in rated))
        if advice and len(of) == len(systems):
            yield lang("ratings.advice", measure=measures, advice=advice)
        elif advice:
            yield lang("ratings.advice_of", measure=measures, systems=lang.listed(of), advice=advice)


def rating_text(rating: Rating, lang: Words) -> str:
    """The rating in words: "good (could be fair)"."""
    if rating.level is None:
        return lang("ratings.not_measured")
    level = level_text(rating.level, lang)
    if rating.could_be:
        others = lang("ratings.or").join(level_text(other, lang) for other in rating.could_be)
        return lang("ratings.could_be", level=level, others=others)
    if rating.n and math.isnan(rating.low):
        return lang("ratings.no_interval", level=level)
    return level


def level_text(level: str, lang: Words) -> str:
    """A level of the shipped profiles in the reader's language; a user's own name as it is."""
    key = f"ratings.level.{level}"
    return lang(key) if key in lang else level


def text_in(texts: Mapping[str, str], lang: Words) -> str:
    """A profile's text in the reader's language, in the other where that is all there is, or nothing."""
    return texts.get(lang.code) or next(iter(texts.values()), "")


def value_text(value: float, given: bool) -> str:
    """Four decimals for a measure; six digits for milliseconds, money and the like, which are handed in."""
    return number(value) if not given or math.isnan(value) else f"{value:.6g}"


def interval_text(low: float, high: float, n: int) -> str:
    """Both ends, or a dash where there is no interval: of one question, or of a number that was handed in."""
    if math.isnan(low) or math.isnan(high) or n == 0:
        return "–"
    return "–".join(_end(end) for end in (low, high))


def _end(value: float) -> str:
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    return f"{value:.3f}" if abs(value) < 10 else f"{value:.4g}"
