"""What a calibrated threshold is worth on answers that it was not calibrated on, beside the best and a fixed one.

    python -m benchmarks.thresholds [FOLDER] [--splits N] [--markdown FILE]

FOLDER is the folder `answers` of the shared data beside the repository.  Each set is halved by question, N times; the
lexical judge is calibrated on one half, by Youden, and weighed on the other, and the other way round.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from benchmarks.answers import ANSWERS
from benchmarks.judged.lexical import pairs, verdicts
from benchmarks.judged.published import balanced_accuracy
from benchmarks.judged.sets import PAIRS
from benchmarks.simulated.tables import Table

from steelyard.base.arrays import Bools, Floats, Ints
from steelyard.judges.lexical import LexicalJudge
from steelyard.stats.labels.thresholds import choose_threshold

FIXED = 0.5
SETS = ("MTRAG", "RAGTruth QA", "HAGRID", "Stanford", "WiCE, supported", "VGaokao (zh)")
"""The six with 50 labels of the rarer kind in a half, which must come within the loss; others are shown below them."""
MOST_LOST = 0.02


@dataclass(frozen=True)
class Row:
    """Means over all halves that were held out, of balanced accuracy.

    thresholds   (2 * splits,) of the halves
    rarer        labels of the rarer kind in a half
    best         at the best threshold of the whole set, which knows the half that is held out
    """

    name: str
    n: int
    rarer: int
    thresholds: Floats
    calibrated: float
    best: float
    fixed: float
    own: float

    @property
    def loss(self) -> float:
        """Of balanced accuracy, by the threshold being chosen on the other half."""
        return self.best - self.calibrated


def row(name: str, folder: Path, n_splits: int) -> Row:
    scores, positives, questions = _items(name, folder)
    rng = np.random.default_rng(0)
    n_questions = int(questions.max()) + 1
    rows, thresholds = [], []
    everywhere = choose_threshold(scores, positives, n_resamples=0).value
    for _ in range(n_splits):
        first = (rng.permutation(n_questions) % 2 == 0)[questions]
        for chosen, held_out in ((first, ~first), (~first, first)):
            threshold = choose_threshold(scores[chosen], positives[chosen], clusters=questions[chosen]).value
            thresholds.append(threshold)
            at = (threshold, everywhere, FIXED, LexicalJudge().threshold)
            rows.append([balanced_accuracy(scores[held_out] >= t, positives[held_out]) for t in at])
    calibrated, best, fixed, own = np.mean(rows, axis=0).tolist()
    rarer = int(min(positives.sum(), (~positives).sum())) // 2
    return Row(name, len(scores), rarer, np.array(thresholds), calibrated=calibrated, best=best, fixed=fixed, own=own)


def _items(name: str, folder: Path) -> tuple[Floats, Bools, Ints]:
    """Scores, -inf for what no threshold makes supported; what people say; and the question of each, from 0."""
    judge = LexicalJudge()
    said = verdicts(judge, name, folder)
    scores = np.array([v.score if judge.may_support(v) and v.score is not None else -np.inf for v in said])
    questions = np.unique([pair.question for pair in pairs(name, folder)], return_inverse=True)[1]
    return scores, np.array([pair.supported for pair in pairs(name, folder)]), questions.astype(np.int64)


def table(rows: Sequence[Row]) -> Table:
    columns = (
        "set", "pairs", "rarer kind in a half", "thresholds (middle 95%)", "best", "calibrated", "loss",
        f"fixed {FIXED:g}", f"default {LexicalJudge().threshold:g}",
    )  # fmt: skip
    return Table(
        "Balanced accuracy of the lexical judge on held-out halves", columns, [list(_cells(row)) for row in rows]
    )


def _cells(row: Row) -> Iterator[str]:
    low, high = np.quantile(row.thresholds, [0.025, 0.975])
    yield from (row.name, str(row.n), str(row.rarer), f"{low:.2f} to {high:.2f}")
    yield from (f"{value:.3f}" for value in (row.best, row.calibrated, row.loss, row.fixed, row.own))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=ANSWERS)
    parser.add_argument("--splits", type=int, default=50)
    parser.add_argument("--markdown", type=Path)
    options = parser.parse_args()
    names = [*SETS, *(name for name in PAIRS if name not in SETS)]
    rows = [row(name, options.folder, options.splits) for name in names]
    text = "\n".join(table(rows).lines()) + "\n"
    sys.stdout.write(text)
    if options.markdown:
        options.markdown.write_text(text, encoding="utf-8")
    return int(any(row.loss > MOST_LOST for row in rows if row.name in SETS))


if __name__ == "__main__":
    sys.exit(main())
