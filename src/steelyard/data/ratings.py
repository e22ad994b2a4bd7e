"""Labels that raters gave to items: read from files and objects once, checked, and held as numbers of categories."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from steelyard.base.arrays import Ints
from steelyard.base.errors import InputError, quoted
from steelyard.data.rating_tables import RatingColumns, concatenated, object_rows, read_table
from steelyard.data.run import is_path
from steelyard.data.truth import Truth
from steelyard.io.named import named_paths
from steelyard.io.objects import frame_digest
from steelyard.io.source import Source

Label = str | float
MOST_WORDS = 50
"""Different words that labels may take; texts take more."""
_RANGE = re.compile(r"(-?\d+)(?:-|–|\.\.)(-?\d+)")
_MOST_CATEGORIES, _MOST_DIGITS = 1_000, 15
_BETWEEN = "\t"


@dataclass(frozen=True, eq=False)
class Ratings:
    """Labels of r raters on n items.

    items        their names, sorted;   raters   in the order of the data
    codes        (r, n) places of the labels in categories, -1 for gaps
    categories   words or numbers, in order
    are_named    whether the user named the categories, and with them their order
    clusters     (n,) number of each item's question from 0; None where no question is known
    questions    (n,) its name;   doc_ids   (n,) the document, where an item is a query and a document
    off_scale    rater -> label -> how often it was left out, since no category is called that
    n_repeated   labels that a rater gave twice, and that are the same
    digest       of all labels
    """

    items: Sequence[str] = field(repr=False)
    raters: Sequence[str]
    codes: Ints = field(repr=False)
    categories: Sequence[Label]
    are_named: bool
    clusters: Ints | None = field(repr=False)
    questions: Sequence[str | None] = field(repr=False)
    doc_ids: Sequence[str | None] = field(repr=False)
    off_scale: Mapping[str, Mapping[Label, int]]
    n_repeated: int
    digest: str

    @property
    def are_numbers(self) -> bool:
        """True if labels are numbers, so that they can be subtracted."""
        return not any(isinstance(category, str) for category in self.categories)

    @property
    def have_order(self) -> bool:
        """True if it is known which label is above which."""
        return self.are_numbers or self.are_named

    @property
    def n_questions(self) -> int | None:
        """Number of questions of the items; None where no question is known."""
        return None if self.clusters is None else int(self.clusters.max(initial=-1)) + 1


def read_ratings(
    labels: object, *, columns: RatingColumns | None = None, categories: str | Sequence[Label] | None = None
) -> Ratings:
    """Labels of several raters.

    labels       a path or several, "NAME=PATH" to name the rater of one; a frame or a list of dicts, long or wide; a
                 dict {rater: labels}, where these are {item: label}, qrels, a Truth or a path
    categories   all labels in order, as a list, or as text: "poor,fair,good", "0-3"; others are left out and counted
    Raises       InputError naming the place, what was found and what to try.

    >>> ratings = read_ratings({"ann": {"a": 1, "b": 0}, "bob": {"a": 1, "b": 1}})
    >>> ratings.raters, ratings.codes.tolist(), ratings.categories
    (('ann', 'bob'), [[1, 0], [1, 1]], (0, 1))
    """
    columns = columns or RatingColumns()
    rows = concatenated(_parts(labels, columns))
    if columns.raters:
        rows = rows.filter(pl.col("rater").is_in(list(columns.raters)))
    raters = rows["rater"].unique(maintain_order=True).to_list()
    if len(raters) < 2:
        who = f"one rater alone ({raters[0]})" if raters else "no label"
        raise InputError(
            f"{_origin(rows)}: {who}; agreement takes two raters or more: a column each (item, ann, bob), rows of "
            "item, rater and label, or a file each"
        )
    listed = None if categories is None else parse_categories(categories)
    rows, off_scale = _on_scale(rows, listed)
    rows, n_repeated = _settled(rows)
    return _ratings(rows, raters, listed, off_scale, n_repeated)


def parse_categories(text: str | Sequence[Label]) -> list[Label]:
    """Categories in order, of numbers theirs: a list, words or numbers between commas, or a range of whole numbers.

    Raises   InputError for fewer than two, or one twice.

    >>> parse_categories("0-3"), parse_categories("-2..0"), parse_categories("poor, good")
    ([0, 1, 2, 3], [-2, -1, 0], ['poor', 'good'])
    """
    if isinstance(text, str):
        if ends := _RANGE.fullmatch(text.strip()):
            categories: list[Label] = [*_whole_numbers(ends[1], ends[2])]
        else:
            pieces = [piece.strip() for piece in text.split(",")]
            categories = [_plain(float(piece)) for piece in pieces] if all(map(_is_number, pieces)) else [*pieces]
    else:
        categories = list(text)
    if len(categories) < 2 or len(set(categories)) < len(categories):
        raise InputError(f"categories {text!r}: expected two or more, each once, such as 0-3 or poor,fair,good")
    words = [category for category in categories if isinstance(category, str)]
    if words and len(words) < len(categories):
        raise InputError(f"categories {text!r}: words and numbers; expected one or the other")
    return categories if words else sorted(categories)


def _whole_numbers(first: str, last: str) -> range:
    """From the first to the last.

    Raises   InputError for more than any scale has.
    """
    numbers = range(int(first[:_MOST_DIGITS]), int(last[:_MOST_DIGITS]) + 1)
    if max(len(first), len(last)) > _MOST_DIGITS or numbers[_MOST_CATEGORIES:]:
        raise InputError(
            f"categories {quoted(f'{first}-{last}')}: more than {_MOST_CATEGORIES:,}; numbers need no categories, "
            "as they are in order by themselves"
        )
    return numbers


def _parts(labels: object, columns: RatingColumns) -> list[pl.DataFrame]:
    if isinstance(labels, Mapping) and labels:
        return [_of_rater(str(rater), data, columns) for rater, data in labels.items()]
    if is_path(labels):
        labels = [labels]
    if isinstance(labels, list | tuple) and labels and all(is_path(entry) for entry in labels):
        return _distinct([part for entry in labels for part in _files(str(entry), columns)])
    return [object_rows(labels, "labels", columns)]


def _of_rater(rater: str, data: object, columns: RatingColumns) -> pl.DataFrame:
    """The labels of one rater under the key's name."""
    part = read_table(Source(data), rater, columns) if is_path(data) else object_rows(data, rater, columns)
    if part["rater"].n_unique() > 1:
        raise InputError(f"{rater}: holds labels of {part['rater'].n_unique()} raters; pass the table itself")
    return part.with_columns(rater=pl.lit(rater))


def _files(entry: str, columns: RatingColumns) -> list[pl.DataFrame]:
    name, paths = named_paths(entry)
    if name is not None and len(paths) > 1:
        raise InputError(f"{entry}: one rater of {len(paths)} files; name one file")
    sources = [Source(path) for path in paths]
    return [read_table(source, name or source.stem, columns) for source in sources]


def _distinct(parts: list[pl.DataFrame]) -> list[pl.DataFrame]:
    """The parts, unless two files of one rater each are called alike.

    Raises   InputError naming both.
    """
    files: dict[str, str] = {}
    for part in parts:
        if part["rater"].n_unique() == 1:
            rater, origin = part["rater"][0], part["origin"][0]
            if files.setdefault(rater, origin) != origin:
                raise InputError(f"{files[rater]} and {origin} are both of {quoted(rater)}; name one: NAME={origin}")
    return parts


def _on_scale(rows: pl.DataFrame, categories: list[Label] | None) -> tuple[pl.DataFrame, dict[str, dict[Label, int]]]:
    """Rows whose labels are categories, and how often each rater gave which others.

    Raises   InputError where words and numbers are mixed, categories are of the other kind, or texts are no labels.
    """
    words = rows.schema["label"] == pl.String
    if categories is None:
        _check_words(rows) if words else None
        return rows, {}
    listed = ", ".join(map(str, categories))
    if words != any(isinstance(category, str) for category in categories):
        odd = (word for word in rows["label"] if not (words and _is_number(word)))
        shown = quoted(label) if isinstance(label := next(odd, rows["label"][0]), str) else f"{label:g}"
        raise InputError(f"{_origin(rows)}: a label is {shown}; the categories are {listed}")
    on = rows["label"].is_in(categories if words else [float(category) for category in categories])
    if not on.any():
        label = quoted(rows["label"][0]) if words else _plain(rows["label"][0])
        raise InputError(f"{_origin(rows)}: no label is one of the categories {listed}; the first is {label}")
    off: dict[str, Counter[Label]] = {}
    for rater, label in rows.filter(~on).select("rater", "label").iter_rows():
        off.setdefault(rater, Counter())[_plain(label)] += 1
    return rows.filter(on), {rater: dict(sorted(counts.items())) for rater, counts in off.items()}


def _check_words(rows: pl.DataFrame) -> None:
    listed = rows["label"].unique().sort().to_list()
    numbers = [word for word in listed if _is_number(word)]
    if numbers:
        odd = rows.filter(~pl.col("label").is_in(numbers))
        raise InputError(
            f"{odd['origin'][0]}, row {odd['row'][0]}: {odd['rater'][0]} says {quoted(odd['label'][0])} among numbers "
            f"such as {numbers[0]}; leave what is no label empty, or name the columns of the raters (raters, --raters)"
        )
    if len(listed) > MOST_WORDS:
        counts = rows.group_by("rater", maintain_order=True).agg(pl.col("label").n_unique())
        widest = counts.sort("label", descending=True, maintain_order=True)
        raise InputError(
            f"{_origin(rows)}: {quoted(widest['rater'][0])} has {widest['label'][0]:,} different labels; are they "
            "texts? Name the columns of the raters (raters, --raters)"
        )


def _settled(rows: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """Rows with each item once by a rater, and how many repeated what was there.

    Raises   InputError where a rater contradicts himself.
    """
    unique = rows.unique(["item", "rater", "label"], keep="first", maintain_order=True)
    twice = unique.filter(unique.select("item", "rater").is_duplicated())
    if len(twice):
        first = twice.filter((pl.col("item") == twice["item"][0]) & (pl.col("rater") == twice["rater"][0]))
        shown = [
            f"{_plain(label)} ({origin}, row {row})"
            for label, origin, row in first.select("label", "origin", "row").iter_rows()
        ]
        raise InputError(
            f"{first['rater'][0]} says of item {quoted(first['item'][0].replace(_BETWEEN, ', '))} both "
            f"{' and '.join(shown[:2])}; keep one, or name the columns that make an item (item, --item)"
        )
    return unique, len(rows) - len(unique)


def _ratings(
    rows: pl.DataFrame,
    raters: Sequence[str],
    categories: Sequence[Label] | None,
    off_scale: Mapping[str, Mapping[Label, int]],
    n_repeated: int,
) -> Ratings:
    listed = categories or [_plain(label) for label in rows["label"].unique().sort()]
    by_item = rows.group_by("item").agg(pl.col("question").first(), pl.col("doc_id").first()).sort("item")
    items = by_item["item"].to_list()
    places = rows["label"].unique().sort()
    code_of = [listed.index(_plain(label)) for label in places]
    codes = np.full((len(raters), len(items)), -1, np.int64)
    at = {
        "rater": _places(rows["rater"], raters),
        "item": _places(rows["item"], items),
        "label": np.array(code_of, np.int64)[_places(rows["label"], places)],
    }
    codes[at["rater"], at["item"]] = at["label"]
    questions = by_item["question"].to_list()
    clusters = None
    if any(question is not None for question in questions):
        # An item without a question is one by itself.
        own = [
            ("item", item) if question is None else ("question", question)
            for item, question in zip(items, questions, strict=True)
        ]
        clusters = np.unique(np.array(["\0".join(pair) for pair in own]), return_inverse=True)[1].astype(np.int64)
    return Ratings(
        items=items, raters=tuple(raters), codes=codes, categories=tuple(listed), are_named=categories is not None,
        clusters=clusters, questions=questions, doc_ids=by_item["doc_id"].to_list(), off_scale=off_scale,
        n_repeated=n_repeated, digest=frame_digest(rows.select("item", "rater", "label")),
    )  # fmt: skip


def _places(values: pl.Series, known: Sequence[str] | pl.Series) -> Ints:
    """Place of each value among those that are known, each of which is there once."""
    return values.replace_strict(known, np.arange(len(known))).to_numpy()


def truth_of(ratings: Ratings, rater: str) -> Truth:
    """A rater's labels as judged documents.

    Raises   InputError unless items are queries and documents, and labels are numbers.
    """
    if not ratings.are_numbers or any(doc is None for doc in ratings.doc_ids):
        raise InputError(
            "runs are evaluated by grades of documents: labels have to be numbers, on items that are a query_id and a "
            "doc_id, such as qrels"
        )
    codes = ratings.codes[ratings.raters.index(rater)]
    rated = np.flatnonzero(codes >= 0).tolist()
    rows = {
        "query_id": [ratings.questions[n] for n in rated],
        "doc_id": [ratings.doc_ids[n] for n in rated],
        "gain": [float(ratings.categories[codes[n]]) for n in rated],
    }
    return Truth(pl.DataFrame(rows), name=rater)


def _plain(label: Label) -> Label:
    """A whole number without its fraction."""
    return int(label) if isinstance(label, float) and label.is_integer() else label


def _is_number(word: str) -> bool:
    try:
        return bool(np.isfinite(float(word)))
    except ValueError:
        return False


def _origin(rows: pl.DataFrame) -> str:
    return ", ".join(rows["origin"].unique(maintain_order=True).to_list()[:3]) or "labels"
