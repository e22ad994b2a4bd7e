"""Forms in which people decide about what a judge said, and what came of a review, in every format."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import get_args

from steelyard.base import defaults
from steelyard.base.choices import ItemTable, PoolTask, Unit
from steelyard.base.errors import InputError
from steelyard.base.options import ReviewOptions
from steelyard.data.run import is_path
from steelyard.judges.grading.grades import JUDGE, Scale, holds_rows, scale_of
from steelyard.judges.people.review import Drawn, locked
from steelyard.rag.labelling import open_pooled
from steelyard.reports.form.form import Form, FormItem, Opinion
from steelyard.reports.form.page import check_free, write_form
from steelyard.reports.html.shell import in_each_language
from steelyard.reports.words import read_words
from steelyard.reviewing.forms import INTO, NAME, ItemsFile, ListedItem, review_id_of
from steelyard.reviewing.pools import (
    PooledItem,
    PooledReview,
    copy_questions,
    drawn,
    pairs_to_grade,
    questions_to_quote,
    raters_of,
)
from steelyard.reviewing.rounds import DEFAULT_N, AskedItem, Round, SampledReview, conflicts_round, next_round
from steelyard.reviewing.systems import ReviewedSystem, open_reviewed, reread


def sample_review(
    questions: object,
    runs: object,
    output: str | Path,
    *,
    n: int | None = None,
    width: float | None = None,
    table: ItemTable = "grounded",
    whole_answers: bool = False,
    adjudicate: bool = False,
    judge: str | None = None,
    verdicts: object = None,
    labels: object = None,
    other_judges: Sequence[str] = (),
    seed: int = defaults.SEED,
    title: str = "",
    instructions: str = "",
    lang: str | None = None,
) -> SampledReview:
    """Draw items of judged answers at random, and write a form in which people decide about them.

    questions, runs   as `sy.judge` takes them, of one system or several: what they share is asked once
    output    a folder: the form, form.html, and the list of what it asks, items.json
    n         how many items of each system, or answers: 100, unless a width is wished.  After an earlier sample, how
              many more; the form asks all that were drawn and nobody decided about
    width     the wished width of the 95% interval of the corrected mean, which says how many are needed in all
    table     what people are asked: "grounded" (is a sentence supported by all that was retrieved), "joint" (by what it
              cites), "correctness" (by the gold answers), "said" (is a gold sentence in the answer)
    whole_answers   draw answers with all of their items, so that any measure can be corrected
    adjudicate      draw nothing, and ask what raters are at odds about
    judge, verdicts whose verdicts make the strata, as `sy.evaluate` takes them
    labels    where samples and decisions are kept: a path, or system -> path; by default in the run folders
    other_judges   whose verdicts are in the run folders too: items that they differ on are drawn more
    title, instructions   of the form, in place of its own
    lang      the language in which it opens; by default that of the browser that it is opened in
    Raises    InputError for outputs that have no place for labels, for a sample drawn by other verdicts, and where
              there is nothing to ask; OutputError where a form is there already, or another process writes
    """
    check_free(Path(output))
    options = ReviewOptions(judge=judge, verdicts=verdicts, labels=labels, other_judges=other_judges)
    _, systems = open_reviewed(questions, runs, options, begin=True)
    files = _files(systems)
    with ExitStack() as stack:
        for folder in dict.fromkeys(file.resolve().parent for file in files):
            stack.enter_context(locked(folder / NAME))
        systems = reread(systems, labels)
        if adjudicate:
            drawn = conflicts_round(systems, table, seed=seed)
        else:
            unit: Drawn = "answer" if whole_answers else "item"
            drawn = next_round(systems, table, n=n, width=width, unit=unit, seed=seed)
        form, items = _write(drawn, Path(output), lang, title, instructions)
        for file, review in drawn.reviews.items():
            review.keep(file)
    return SampledReview(drawn, form, items, files)


def _files(systems: Sequence[ReviewedSystem]) -> list[Path]:
    """The files in which reviews are kept, each once.

    Raises   InputError for a system without a place.
    """
    for own in systems:
        if own.file is None:
            raise InputError(
                f"{own.name}: is no run folder, in which labels could be kept; name a file for them: --labels FILE"
            )
    return list(dict.fromkeys(own.file for own in systems if own.file is not None))


def _write(drawn: Round, folder: Path, lang: str | None, title: str, instructions: str) -> tuple[Path, Path]:
    """Write the form of a round, and the list of what it asks.

    Raises   OutputError.
    """
    words = read_words(lang)
    listed = [
        ListedItem(own.item.item_id, own.item.query_id, own.record.query, text=own.unit.text, systems=own.systems)
        for own in drawn.asked
    ]
    ids = [item.item_id for item in listed]
    review_id = review_id_of("verdicts", drawn.table, ids, adjudicating=drawn.adjudicating)
    judges = {own.judge for own in drawn.asked}
    titles = {
        code: own("review.form_title", table=own(f"review.table.{drawn.table}"))
        for code, own in in_each_language(words).items()
    }
    form = Form(
        "verdicts", title or titles, review_id,
        [_form_item(own) for own in drawn.asked], judge=judges.pop() if len(judges) == 1 else "",
        adjudicating=drawn.adjudicating, instructions=instructions,
    )  # fmt: skip
    files = {own.name: own.file for own in drawn.systems if own.file is not None}
    items = ItemsFile(
        "verdicts", table=drawn.table, review_id=review_id, adjudicating=drawn.adjudicating, seed=drawn.seed,
        files=files, items=listed,
    )  # fmt: skip
    return write_form(folder, form, items, words, by_browser=lang is None)


def _form_item(own: AskedItem) -> FormItem:
    verdict = own.verdict
    return FormItem(
        own.item.item_id, own.record.query, own.premises, hypothesis=own.unit.text, lead=own.unit.lead,
        table=own.item.table,
        answer=own.answer, span=(own.unit.start, own.unit.end), places=own.places,
        candidate=own.candidate,
        judged=None if verdict is None else Opinion(verdict.label, verdict.score, verdict.reason),
        opinions=[Opinion(decision.label, None, decision.note) for decision in own.decisions],
    )  # fmt: skip


def pool_review(
    questions: object,
    sources: object,
    output: str | Path,
    into: str | Path,
    *,
    task: PoolTask = "grades",
    n: int | None = None,
    scale: str | Path | Scale = defaults.SCALE,
    depth: int = defaults.POOL_DEPTH,
    unit: Unit = "chunk",
    documents: object = None,
    adjudicate: bool = False,
    seed: int = defaults.SEED,
    title: str = "",
    instructions: str = "",
    lang: str | None = None,
) -> PooledReview:
    """Draw pooled documents, and write a form in which people grade them, or quote the gold from them.

    questions, sources, depth, unit, documents   what is pooled for which questions, as `sy.label` takes it
    output    a folder: the form, form.html, and the list of what it asks, items.json
    into      where the decisions will go: grades into a truth in JSONL, beside those of a judge; quotes into a copy of
              the questions in JSONL, which is made here
    task      "grades": pairs of a question and a document, of those that nobody graded yet;  "quotes": questions that
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
    _check_into(target, questions, task, adjudicate=adjudicate)
    words, own_scale = read_words(lang), scale_of(scale)
    size = DEFAULT_N if n is None else n
    pooled_for, pool, _ = open_pooled(questions, sources, depth=depth, documents=documents, unit=unit)
    if task == "grades":
        asked, n_pool, n_before = pairs_to_grade(pooled_for, pool, target, own_scale, adjudicate=adjudicate)
    else:
        asked, n_pool, n_before = questions_to_quote(pooled_for, pool, target)
    asked = drawn(asked, len(asked) if adjudicate else size, seed)
    gains = own_scale.gains if task == "grades" else ()
    listed = [_listed(own, task) for own in asked]
    review_id = review_id_of(task, own_scale.name, [own.item_id for own in asked], adjudicating=adjudicate)
    in_each = in_each_language(words)
    grades = {code: dict(own_scale.words(code)) for code in in_each}  # type: ignore[arg-type]
    worded = {gain: {code: own[gain] for code, own in grades.items()} for gain in grades[words.code]}
    titles = {code: own(f"review.{task}_title") for code, own in in_each.items()}
    form = Form(
        task, title or titles, review_id, [_pooled_item(own, adjudicate) for own in asked],
        scale=[(gain, worded.get(gain, "")) for gain in gains], adjudicating=adjudicate, instructions=instructions,
    )  # fmt: skip
    items = ItemsFile(
        task, table="", review_id=review_id, adjudicating=adjudicate, seed=seed, files={INTO: target}, items=listed,
        scale=gains, scale_name=own_scale.name, unit=unit,
    )  # fmt: skip
    written = write_form(folder, form, items, words, by_browser=lang is None)
    if task == "quotes":
        copy_questions(Path(str(questions)), target)
    return PooledReview(task, asked, n_pool, n_before, *written, target)


def _listed(own: PooledItem, task: PoolTask) -> ListedItem:
    names = [name for name, _ in own.texts]
    return ListedItem(own.item_id, own.query_id, own.query, names[0] if task == "grades" else "", names=names)


def _pooled_item(own: PooledItem, adjudicate: bool) -> FormItem:
    pair = own.pair
    by_judge = pair is not None and pair.by == JUDGE and pair.gain is not None
    return FormItem(
        own.item_id,
        own.query,
        own.texts,
        places=own.places,
        likely=own.likely,
        judged=Opinion(pair.gain, None, pair.reason) if by_judge else None,  # type: ignore[union-attr, arg-type]
        opinions=[Opinion(gain) for gain in raters_of(pair).values()] if adjudicate and pair is not None else (),
    )


def _check_into(into: Path, questions: object, task: PoolTask, *, adjudicate: bool) -> None:
    """Raise   InputError for a file that cannot hold what people decide, and for questions that are no file."""
    if task not in get_args(PoolTask):
        raise InputError(f"no form is for {task!r}; there are {' and '.join(get_args(PoolTask))}")
    if not holds_rows(into):
        raise InputError(f"{into}: cannot say who decided; name a file in JSONL")
    if task == "quotes" and adjudicate:
        raise InputError("quotes of several people are all gold, so there is nothing to adjudicate; leave that out")
    if task == "quotes" and not (is_path(questions) and Path(str(questions)).is_file()):
        raise InputError("questions that quotes are added to are a file; name that")
