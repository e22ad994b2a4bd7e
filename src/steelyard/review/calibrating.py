"""A judge calibrated by the labels that people gave to answers it judged."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.base.errors import InputError
from steelyard.judges.calibrating import calibrate
from steelyard.judges.calibration import Calibration
from steelyard.judges.items import ItemTable
from steelyard.judges.labels import Labels
from steelyard.judges.review import Review
from steelyard.review.systems import ReviewedSystem, open_reviewed


def calibrate_review(
    questions: object,
    runs: object,
    *,
    table: ItemTable = "grounded",
    target_precision: float | None = None,
    judge: str | None = None,
    verdicts: object = None,
    labels: object = None,
    examples: Sequence[str] = (),
    seed: int = 0,
) -> Calibration:
    """Hold the judge of some answers against what people decided about them, and choose its threshold.

    questions, runs   as `sy.judge` takes them; of several systems, all were judged by the same judge
    table             what people were asked: "grounded", "joint", "correctness" or "said"
    target_precision  the threshold is the lowest at which so large a share of what is called supported is; by default
                      that of the greatest sensitivity + specificity
    judge, verdicts   whose verdicts count, as `sy.evaluate` takes them
    labels            where reviews are kept: a path or a Review, or system -> these; by default the run folders
    examples          texts that the judge was shown in its prompt; items with these do not count
    Raises            InputError where nobody decided anything
    """
    _, systems = open_reviewed(questions, runs, judge=judge, verdicts=verdicts, labels=labels)
    return calibrate(
        [own.verdicts for own in systems], together(systems), table,
        rule="youden" if target_precision is None else "precision", target=target_precision, examples=examples,
        seed=seed,
    )  # fmt: skip


def together(systems: Sequence[ReviewedSystem]) -> Review:
    """What was drawn and decided of all of some systems.

    Raises   InputError where nobody decided anything.
    """
    samples = {(sample.table, sample.system): sample for own in systems for sample in own.review.samples}
    labels = Labels(decision for own in systems for decision in own.review.labels.decisions)
    if not labels:
        names = ", ".join(own.name for own in systems)
        raise InputError(
            f"{names}: nobody decided anything about these answers yet; draw a sample (`steelyard review sample`), "
            "decide in its form, and take the saved file in (`steelyard review import`)"
        )
    return Review(samples.values(), labels)
