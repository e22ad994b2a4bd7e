"""`steelyard demo`."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from steelyard.cli.terminal import terminal_width
from steelyard.evaluation import evaluate
from steelyard.report.formats import table

FOLDER = Path(__file__).parents[1] / "demo_data"
MEASURES = ("ndcg@10", "mrr@10", "recall@5")


def run() -> None:
    """Weigh the two bundled systems against the bundled questions."""
    truth, runs = FOLDER / "questions.jsonl", [FOLDER / "keyword.jsonl", FOLDER / "hybrid.jsonl"]
    print("40 questions in English and Chinese about an invented library of things, answered by two systems.\n")
    scores = evaluate(truth, runs, MEASURES)
    print(table(scores, per_query=False, width=terminal_width(), colour=sys.stdout.isatty()))
    flags = " ".join(f"-m {measure}" for measure in MEASURES)
    print("The same by hand, and then with your own files:\n")
    print(f"  cd {FOLDER}")
    if not shutil.which("steelyard"):
        print(f'  export PATH="{Path(sys.executable).parent}:$PATH"')
    print(f"  steelyard evaluate {truth.name} {' '.join(run.name for run in runs)} {flags}")
