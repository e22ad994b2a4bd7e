"""Forms in which people grade pooled documents, or quote the gold from them."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

from steelyard.base import defaults
from steelyard.base.choices import PoolKind, Unit
from steelyard.base.errors import InputError
from steelyard.data.run import is_path
from steelyard.judges.grading.grades import JUDGE, Scale, holds_rows, scale_of
from steelyard.rag.labelling import open_pooled
from steelyard.reports.form.form import Form, FormItem, Opinion
from steelyard.reports.form.page import check_free, write_form
from steelyard.reports.html.shell import in_each_language
from steelyard.reports.words import read_words
from steelyard.reviewing.forms import INTO, ItemsFile, ListedItem, review_id_of
from steelyard.reviewing.pools import (
    PooledItem,
    PooledReview,
    copy_questions,
    drawn,
    pairs_to_grade,
    questions_to_quote,
    raters_of,
)
from steelyard.reviewing.rounds import DEFAULT_N


def pool_review(
    questions: object,
    sources: object,
    output: str | Path,
    into: str | Path,
    *,
    kind: PoolKind = "grades",
    n: int | None = None,
    scale: str | Path | Scale = defaults.SCALE,
    depth: int = defaults.POOL_DEPTH,
    unit: Unit = "chunk",
    corpus: object = None,
    adjudicate: bool = False,
    seed: int = defaults.SEED,
    title: str = "",
    instructions: str = "",
    lang: str | None = None,
) -> PooledReview:
    """Draw pooled documents, and write a form in which people grade them, or quote the gold from them.

    questions, sources, depth, unit, corpus   what is pooled for which questions, as `sy.label` takes it
    output    a folder: the form, form.html, and the list of what it asks, items.json
    into      where the decisions will go: grades into a truth in JSONL, beside those of a judge; quotes into a copy of
              the questions in JSONL, which is made here
    kind      "grades": pairs of a question and a document, of those that nobody graded yet;  "quotes": questions that
              have no evidence yet, each with all that is pooled for it
    n         how many pairs, or questions; 100 by default
    scale     of grades: "0-10", "0-3", or a file of your own in TOML
    adjudicate   draw nothing, and ask for the grades that people differ on
    title, instructions, lang   of the form
    Raises    InputError where there is nothing to ask, and for files that cannot hold what people decide; OutputError
              where a form is there already
    """
    folder, target = Path(output), Path(into)
    check_free(folder)
    _check_into(target, questions, kind, adjudicate=adjudicate)
    words, own_scale = read_words(lang), scale_of(scale)
    size = DEFAULT_N if n is None else n
    pooled_for, pool, _ = open_pooled(questions, sources, depth=depth, corpus=corpus, unit=unit)
    if kind == "grades":
        asked, n_pool, n_before = pairs_to_grade(pooled_for, pool, target, own_scale, adjudicate=adjudicate)
    else:
        asked, n_pool, n_before = questions_to_quote(pooled_for, pool, target)
    asked = drawn(asked, len(asked) if adjudicate else size, seed)
    gains = own_scale.gains if kind == "grades" else ()
    listed = [_listed(own, kind) for own in asked]
    review_id = review_id_of(kind, own_scale.name, [own.item_id for own in asked], adjudicating=adjudicate)
    in_each = in_each_language(words)
    grades = {code: dict(own_scale.words(code)) for code in in_each}  # type: ignore[arg-type]
    worded = {gain: {code: own[gain] for code, own in grades.items()} for gain in grades[words.code]}
    titles = {code: own(f"review.{kind}_title") for code, own in in_each.items()}
    form = Form(
        kind, title or titles, review_id, [_pooled_item(own, adjudicate) for own in asked],
        scale=[(gain, worded.get(gain, "")) for gain in gains], adjudicating=adjudicate, instructions=instructions,
    )  # fmt: skip
    items = ItemsFile(
        kind, table="", review_id=review_id, adjudicating=adjudicate, seed=seed, files={INTO: target}, items=listed,
        scale=gains, scale_name=own_scale.name, unit=unit,
    )  # fmt: skip
    written = write_form(folder, form, items, words)
    if kind == "quotes":
        copy_questions(Path(str(questions)), target)
    return PooledReview(kind, asked, n_pool, n_before, *written, target)


def _listed(own: PooledItem, kind: PoolKind) -> ListedItem:
    names = [name for name, _ in own.texts]
    return ListedItem(own.item_id, own.query_id, own.query, names[0] if kind == "grades" else "", names=names)


def _pooled_item(own: PooledItem, adjudicate: bool) -> FormItem:
    pair = own.pair
    by_judge = pair is not None and pair.by == JUDGE and pair.gain is not None
    return FormItem(
        own.item_id,
        own.query,
        own.texts,
        judged=Opinion(pair.gain, None, pair.reason) if by_judge else None,  # type: ignore[union-attr, arg-type]
        opinions=[Opinion(gain) for gain in raters_of(pair).values()] if adjudicate and pair is not None else (),
    )


def _check_into(into: Path, questions: object, kind: PoolKind, *, adjudicate: bool) -> None:
    """Raise   InputError for a file that cannot hold what people decide, and for questions that are no file."""
    if kind not in get_args(PoolKind):
        raise InputError(f"no form is for {kind!r}; there are {' and '.join(get_args(PoolKind))}")
    if not holds_rows(into):
        raise InputError(f"{into}: cannot say who decided; name a file in JSONL")
    if kind == "quotes" and adjudicate:
        raise InputError("quotes of several people are all gold, so there is nothing to adjudicate; leave that out")
    if kind == "quotes" and not (is_path(questions) and Path(str(questions)).is_file()):
        raise InputError("questions that quotes are added to are a file; name that")
