"""How well any judge tells what people called supported from what they did not, on sets with human labels.

    python -m benchmarks.judge_worth JUDGE [--set NAME ...] [--folder FOLDER] [KEY=VALUE ...]

for example `embedding model=sentence-transformers/all-MiniLM-L6-v2 --set HAGRID`.  FOLDER is the folder `answers` of
the shared data beside the repository.  Printed are the AUC of the score, the best threshold with the balanced accuracy
there, and that of the judge's own labels.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.answers import ANSWERS
from benchmarks.judged.published import auc, balanced_accuracy
from benchmarks.judged.sets import PAIRS, Pair
from benchmarks.simulated.tables import Table

from steelyard.judges.registry import make_judge
from steelyard.judges.verdict import Case, Judge


def worth(judge: Judge, pairs: Sequence[Pair]) -> tuple[int, float, float, float, float]:
    """Pairs that were judged with a score, AUC, best threshold, balanced accuracy there, and that of the labels."""
    rows = judge.judge([Case(pair.premise, (pair.hypothesis,)) for pair in pairs])
    judged = [
        (verdict.score, verdict.label == "supported", pair.supported)
        for [verdict], pair in zip(rows, pairs, strict=True)
        if verdict.label != "not_judged" and verdict.score is not None
    ]
    score, label, truth = (np.array(column) for column in zip(*judged, strict=True))
    best = max(np.unique(score.round(2)), key=lambda least: balanced_accuracy(score >= least, truth))
    there, own = balanced_accuracy(score >= best, truth), balanced_accuracy(label, truth)
    return len(judged), auc(score.tolist(), truth.tolist()), float(best), there, own


def rows(name: str, settings: Mapping[str, Any], sets: Sequence[str], folder: Path) -> Iterator[list[str]]:
    """A line of the table for each set."""
    for of_set in sets:
        pairs = PAIRS[of_set](folder)
        n, area, best, there, own = worth(make_judge(name, settings), pairs)
        yield [of_set, f"{n} of {len(pairs)}", f"{area:.3f}", f"{best:.2f}", f"{there:.3f}", f"{own:.3f}"]


def _setting(text: str) -> tuple[str, Any]:
    """A setting; its value is JSON, or else text."""
    key, _, value = text.partition("=")
    try:
        return key, json.loads(value)
    except json.JSONDecodeError:
        return key, value


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("judge")
    parser.add_argument("settings", nargs="*", type=_setting)
    parser.add_argument("--set", choices=PAIRS, nargs="+", default=[*PAIRS])
    parser.add_argument("--folder", type=Path, default=ANSWERS)
    options = parser.parse_args()
    columns = ("set", "judged", "AUC", "best threshold", "balanced accuracy there", "of its labels")
    lines = list(rows(options.judge, dict(options.settings), options.set, options.folder))
    sys.stdout.write("\n".join(Table(f"The judge {options.judge} beside people", columns, lines).lines()) + "\n")


if __name__ == "__main__":
    main()
