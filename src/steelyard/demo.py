"""The bundled example: four pipelines run over documents in two languages, weighed, compared and diagnosed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from steelyard.base.errors import MissingExtraError, OutputError
from steelyard.base.progress import Progress
from steelyard.data.run_folder import RunFolder
from steelyard.experiment.evaluation import weigh
from steelyard.rag.pipeline import Pipeline
from steelyard.report.formats.scores import table
from steelyard.report.formats.sections import sections_terminal
from steelyard.report.report import Report
from steelyard.report.sheets.section import Section
from steelyard.report.sheets.sections import report_sections
from steelyard.report.words import LANGUAGES, Words

DATA = Path(__file__).parent / "demo_data"
CONFIGS = ("bm25", "bm25-spaces", "hybrid", "hybrid-rerank")
N_PILOT = 40  # the first questions, which `keyword.jsonl` and `hybrid.jsonl` answer
MEASURES = ("evidence_recall@5", "span_recall@5", "mrr@10")


@dataclass(frozen=True, eq=False)
class Demo:
    """The example in a folder of the user's, one run a configuration, and the report on all of them."""

    folder: Path
    runs: tuple[RunFolder, ...]
    report: Report


def copy_data(folder: str | Path) -> Path:
    """Copy the bundled documents, questions and configurations, for the user to change.

    Returns  the folder
    Raises   OutputError where they cannot be written, or the folder holds other things.
    """
    folder = Path(folder)
    if os.path.exists(folder) and os.listdir(folder) and not (folder / "questions.jsonl").exists():
        raise OutputError(f"{folder}: holds other things; name a folder of its own: steelyard demo FOLDER")
    try:
        shutil.copytree(DATA / "documents", folder / "documents", dirs_exist_ok=True)
        for file in ("questions.jsonl", "keyword.jsonl", "hybrid.jsonl", *(f"{name}.toml" for name in CONFIGS)):
            shutil.copy(DATA / file, folder / file)
        questions = (DATA / "questions.jsonl").read_bytes().splitlines(keepends=True)
        (folder / "pilot.jsonl").write_bytes(b"".join(questions[:N_PILOT]))
    except OSError as error:
        raise OutputError(f"{folder}: cannot be written ({error.strerror or error}); name another folder") from error
    return folder


def run_demo(folder: str | Path, *, progress: Progress | None = None) -> Demo:
    """Chunk, index and search the bundled documents with four pipelines; weigh, compare and diagnose them.

    folder   of `copy_data`; the runs go there
    Raises   OutputError where they cannot be written; MissingExtraError.
    """
    folder = Path(folder)
    questions = folder / "questions.jsonl"
    runs = tuple(
        Pipeline.read(folder / f"{name}.toml").run(questions, folder / "runs" / name, overwrite=True, progress=progress)
        for name in CONFIGS
    )
    return Demo(folder, runs, Report.of(weigh(questions, [run.path for run in runs]), MEASURES))


def demo_text(demo: Demo, words: Words, *, width: int | None = None, colour: bool = False) -> str:
    """Scores, times, and the report in short, for a terminal of so many columns."""
    medians = [f"{run.name} {run.manifest['latency_ms']['total']['p50']:.1f} ms" for run in demo.runs]
    parts = [
        table(demo.report.scores, per_query=False, words=words, width=width, colour=colour),
        words("demo.times", medians=words("list.comma").join(medians)) + "\n",
        sections_terminal(_in_short(demo.report, words), width=width, colour=colour),
    ]
    return "\n".join(parts)


def write_pages(demo: Demo, words: Words) -> str:
    """Write the report as a page in each language, into the folder.

    Returns   the path of the one in the reader's language, or what to install for it, as a sentence
    """
    try:
        for code in LANGUAGES:
            demo.report.write(demo.folder / f"report.{code}.html", lang=code)
    except MissingExtraError as error:
        return words("demo.no_report", why=error)
    return words("demo.report", path=demo.folder / f"report.{words.code}.html")


def _in_short(report: Report, words: Words) -> Iterator[Section]:
    """Verdict and rating, the comparison by the first measure, the funnel, and the first piece of advice."""
    sections = {section.name: section for section in report_sections(report, words)}
    yield sections["short"]
    yield replace(sections["comparison"], sheets=sections["comparison"].sheets[:1])
    yield sections["funnel"]
    yield replace(sections["advice"], paragraphs=sections["advice"].paragraphs[:1])
