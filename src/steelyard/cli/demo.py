"""`steelyard demo`."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from steelyard.cli.run import progress_bars
from steelyard.cli.terminal import terminal_width
from steelyard.errors import OutputError
from steelyard.evaluation import evaluate
from steelyard.rag.pipeline import Pipeline
from steelyard.report.formats import table

DATA = Path(__file__).parents[1] / "demo_data"
CONFIGS = ("bm25", "lsa", "hybrid", "hybrid-rerank")
MEASURES = ("evidence_recall@5", "span_recall@5", "mrr@10")


def run(folder: Path) -> None:
    """Chunk, index and search the bundled documents with four pipelines, and weigh them."""
    _copy(folder)
    print("24 documents and 40 questions in English and Chinese, about an invented library of things.")
    print("Four pipelines cut the documents into chunks, index them and search; their gold evidence is quotes.\n")
    runs = []
    with progress_bars() as bars:
        for name in CONFIGS:
            pipeline = Pipeline.read(folder / f"{name}.toml")
            runs.append(pipeline.run(folder / "questions.jsonl", folder / "runs" / name, overwrite=True, progress=bars))
    scores = evaluate(folder / "questions.jsonl", [made.path for made in runs], MEASURES)
    print(table(scores, per_query=False, width=terminal_width(), colour=sys.stdout.isatty()))
    medians = ", ".join(f"{made.name} {made.manifest['latency_ms']['total']['p50']:.1f} ms" for made in runs)
    print(f"Median time of a question: {medians}.\n")
    print(f"Everything lies in {folder}. The same by hand, and then with your own documents and questions:\n")
    print(f"  cd {folder}")
    if not shutil.which("steelyard"):
        print(f'  export PATH="{Path(sys.executable).parent}:$PATH"')
    flags = " ".join(f"-m {measure}" for measure in MEASURES)
    print(f"  steelyard run hybrid.toml {flags}")
    print(f"  steelyard evaluate questions.jsonl {' '.join(f'runs/{name}' for name in CONFIGS)} {flags}")
    print("  steelyard chat hybrid-rerank.toml")


def _copy(folder: Path) -> None:
    """The bundled documents, questions and configurations, for the user to change.

    Raises   OutputError where they cannot be written, or the folder holds other things.
    """
    if folder.exists() and any(folder.iterdir()) and not (folder / "questions.jsonl").exists():
        raise OutputError(f"{folder}: holds other things; name a folder of its own: steelyard demo FOLDER")
    try:
        shutil.copytree(DATA / "documents", folder / "documents", dirs_exist_ok=True)
        for file in ("questions.jsonl", *(f"{name}.toml" for name in CONFIGS)):
            shutil.copy(DATA / file, folder / file)
    except OSError as error:
        raise OutputError(f"{folder}: cannot be written ({error.strerror or error}); name another folder") from error
