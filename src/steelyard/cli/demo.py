"""`steelyard demo`."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from steelyard.base.errors import MissingExtraError, OutputError
from steelyard.cli.progress import progress_bars
from steelyard.cli.terminal import terminal_width
from steelyard.experiment.evaluation import weigh
from steelyard.rag.pipeline import Pipeline
from steelyard.report.formats.scores import table
from steelyard.report.formats.sections import sections_terminal
from steelyard.report.report import Report
from steelyard.report.sheets.section import Section
from steelyard.report.sheets.sections import report_sections
from steelyard.report.words import LANGUAGES, Words, read_words

DATA = Path(__file__).parents[1] / "demo_data"
CONFIGS = ("bm25", "lsa", "hybrid", "hybrid-rerank")
MEASURES = ("evidence_recall@5", "span_recall@5", "mrr@10")


def run(folder: Path, lang: str | None) -> None:
    """Chunk, index and search the bundled documents with four pipelines; weigh, compare and diagnose them."""
    words = read_words(lang)
    _copy(folder)
    print(words("demo.intro") + "\n")
    runs = []
    with progress_bars() as bars:
        for name in CONFIGS:
            pipeline = Pipeline.read(folder / f"{name}.toml")
            runs.append(pipeline.run(folder / "questions.jsonl", folder / "runs" / name, overwrite=True, progress=bars))
    paths = [made.path for made in runs]
    made = Report.of(weigh(folder / "questions.jsonl", paths), MEASURES)
    width, colour = terminal_width(), sys.stdout.isatty()
    print(table(made.scores, per_query=False, words=words, width=width, colour=colour))
    medians = words("list.comma").join(
        f"{each.name} {each.manifest['latency_ms']['total']['p50']:.1f} ms" for each in runs
    )
    print(words("demo.times", medians=medians) + "\n")
    print(sections_terminal(_in_short(made, words), width=width, colour=colour))
    _write_reports(made, folder, words)
    print(words("demo.by_hand", folder=folder) + "\n")
    print(f"  cd {folder}")
    if not shutil.which("steelyard"):
        print(f'  export PATH="{Path(sys.executable).parent}:$PATH"')
    flags = " ".join(f"-m {measure}" for measure in MEASURES)
    listed = " ".join(f"runs/{name}" for name in CONFIGS)
    print(f"  steelyard run hybrid.toml {flags}")
    print(f"  steelyard evaluate questions.jsonl {listed} {flags}")
    print(f"  steelyard compare questions.jsonl runs/bm25 runs/hybrid-rerank {flags}")
    print(f"  steelyard report questions.jsonl {listed} {flags} -o report.html")
    print("  steelyard chat hybrid-rerank.toml")


def _in_short(made: Report, words: Words) -> Iterator[Section]:
    """Verdict and rating, the funnel, and the first piece of advice."""
    chosen = {
        section.name: section
        for section in report_sections(made, words)
        if section.name in ("short", "funnel", "advice")
    }
    yield from (chosen["short"], chosen["funnel"])
    yield replace(chosen["advice"], paragraphs=chosen["advice"].paragraphs[:1])


def _write_reports(made: Report, folder: Path, words: Words) -> None:
    """The report as a page in both languages, and its path; or what to install for it."""
    try:
        for code in LANGUAGES:
            made.write(folder / f"report.{code}.html", lang=code)
    except MissingExtraError as error:
        print(words("demo.no_report", why=error) + "\n")
        return
    print(words("demo.report", path=folder / f"report.{words.code}.html") + "\n")


def _copy(folder: Path) -> None:
    """The bundled documents, questions and configurations, for the user to change.

    Raises   OutputError where they cannot be written, or the folder holds other things.
    """
    if folder.exists() and any(folder.iterdir()) and not (folder / "questions.jsonl").exists():
        raise OutputError(f"{folder}: holds other things; name a folder of its own: steelyard demo FOLDER")
    try:
        shutil.copytree(DATA / "documents", folder / "documents", dirs_exist_ok=True)
        for file in ("questions.jsonl", "keyword.jsonl", "hybrid.jsonl", *(f"{name}.toml" for name in CONFIGS)):
            shutil.copy(DATA / file, folder / file)
    except OSError as error:
        raise OutputError(f"{folder}: cannot be written ({error.strerror or error}); name another folder") from error
