"""Forms in which people decide about what a judge said, and what came of a review, in every format."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from steelyard.base import defaults
from steelyard.base.choices import ItemTable
from steelyard.base.errors import InputError
from steelyard.base.options import ReviewOptions
from steelyard.judges.people.review import Drawn, locked
from steelyard.reports.form.form import Form, FormItem, Opinion
from steelyard.reports.form.page import check_free, write_form
from steelyard.reports.html.shell import in_each_language
from steelyard.reports.words import Words, read_words
from steelyard.reviewing.forms import NAME, ItemsFile, ListedItem, review_id_of
from steelyard.reviewing.rounds import AskedItem, Round, SampledReview, conflicts_round, next_round
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
    against: Sequence[str] = (),
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
    against   further judges, whose verdicts are in the run folders: items that they differ on are drawn more
    title, instructions   of the form, in place of its own
    lang      the language in which it opens
    Raises    InputError for outputs that have no place for labels, for a sample drawn by other verdicts, and where
              there is nothing to ask; OutputError where a form is there already, or another process writes
    """
    check_free(Path(output))
    options = ReviewOptions(judge=judge, verdicts=verdicts, labels=labels, against=against)
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
        form, items = _write(drawn, Path(output), read_words(lang), title, instructions)
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


def _write(drawn: Round, folder: Path, words: Words, title: str, instructions: str) -> tuple[Path, Path]:
    """Write the form of a round, and the list of what it asks.

    Raises   OutputError.
    """
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
    return write_form(folder, form, items, words)


def _form_item(own: AskedItem) -> FormItem:
    verdict = own.verdict
    return FormItem(
        own.item.item_id, own.record.query, own.premises, hypothesis=own.unit.text, table=own.item.table,
        answer=own.answer, span=(own.unit.start, own.unit.end), candidate=own.candidate,
        judged=None if verdict is None else Opinion(verdict.label, verdict.score, verdict.reason),
        opinions=[Opinion(decision.label, None, decision.note) for decision in own.decisions],
    )  # fmt: skip
