"""The bundled example: pipelines over documents in two languages, weighed, compared, diagnosed; and their answers."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from steelyard.base.defaults import JUDGE
from steelyard.base.errors import MissingExtraError, OutputError
from steelyard.base.progress import Progress, usual_progress
from steelyard.data.corpus import Passage
from steelyard.data.folders.run_folder import RunFolder
from steelyard.experiment.door.evaluation import weigh
from steelyard.experiment.judging import JudgedRun, judge_run
from steelyard.judges.judging import JudgeOptions
from steelyard.rag.pipeline.pipeline import Pipeline
from steelyard.rag.stages.generation import DONT_KNOW
from steelyard.reports.formats.blocks import blocks_terminal
from steelyard.reports.report import Report, report
from steelyard.reports.views.cautions import careful
from steelyard.reports.views.diagnosis import lost_text
from steelyard.reports.views.judging import least_lines, least_supported
from steelyard.reports.views.report import report_cautions, report_sections, verdict
from steelyard.reports.views.scores import brief_sheets, scores_sheets
from steelyard.reports.views.view import Block, Look, Section, Sheet, Text
from steelyard.reports.words import Words
from steelyard.store.opening import USUAL
from steelyard.store.store import Store
from steelyard.text.scripts import language_of

DATA = Path(__file__).parent / "demo_data"
MONITORING = Path(__file__).parents[2] / "examples" / "monitoring" / "run.py"
"""The example that goes on with the service in use; a copy of the repository has it, an installed package has not."""
CONFIGS = ("bm25", "bm25-spaces", "hybrid", "hybrid-rerank")
N_PILOT = 40  # the first questions, which `keyword.jsonl` and `hybrid.jsonl` answer
ASSISTANT = "assistant"
ANSWERING = ("hybrid-rerank", ASSISTANT)
MEASURES = ("evidence_recall@5", "span_recall@5", "mrr@10")
ANSWER_MEASURES = ("faithfulness", "citation_support", "answer_recall")


_FILES = ("questions.jsonl", "keyword.jsonl", "hybrid.jsonl", "bench.toml")


@dataclass(frozen=True, eq=False)
class Demo:
    """The example in a folder of the user's.

    runs       one a configuration
    report     on all of them
    judgings   of the runs that answer, by the lexical judge: of all answers of each, the assistant last
    answers    the report on their answers
    """

    folder: Path
    runs: tuple[RunFolder, ...]
    report: Report
    judgings: tuple[JudgedRun, ...]
    answers: Report


class Assistant:
    """A generator that stands in for a chat model, which the example cannot bring along.

    Its answers were written by hand, some of them wrong on purpose: another number, a rule turned around, a fact that
    no passage has, a citation of a chunk that says nothing of it, or of one that does not exist.
    """

    def __init__(self) -> None:
        lines = map(json.loads, (DATA / "assistant.jsonl").read_bytes().splitlines())
        self._answers: dict[str, str] = {line["query"]: line["answer"] for line in lines}

    def answer(self, query: str, passages: Sequence[Passage]) -> str:
        """The answer that was written for a question, whatever passages there are."""
        return self._answers.get(query, DONT_KNOW[language_of(query)])


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
        for file in (*_FILES, *(f"{name}.toml" for name in (*CONFIGS, ASSISTANT))):
            shutil.copy(DATA / file, folder / file)
        questions = (DATA / "questions.jsonl").read_bytes().splitlines(keepends=True)
        (folder / "pilot.jsonl").write_bytes(b"".join(questions[:N_PILOT]))
    except OSError as error:
        raise OutputError(f"{folder}: cannot be written ({error.strerror or error}); name another folder") from error
    return folder


def run_demo(folder: str | Path, *, progress: Progress | None = None) -> Demo:
    """Chunk, index and search the bundled documents with four pipelines; judge what they answer; weigh, compare
    and diagnose them.

    folder   of `copy_data`; the runs go there
    Raises   OutputError where they cannot be written; MissingExtraError.
    """
    folder = Path(folder)
    questions = folder / "questions.jsonl"
    runs = tuple(
        Pipeline.read(folder / f"{name}.toml").run(questions, folder / "runs" / name, overwrite=True, progress=progress)
        for name in CONFIGS
    )
    pilot = folder / "pilot.jsonl"
    assistant = folder / "runs" / ASSISTANT
    Pipeline.read(folder / f"{ASSISTANT}.toml").run(pilot, assistant, overwrite=True, progress=progress)
    answering = [folder / "runs" / name for name in ANSWERING]
    # The funnel reads verdicts too.  They are on every answer, and written before it is drawn, so that it is the same
    # whatever verdicts the folder held before, and by the commands that the demo shows.
    asked = zip((questions, pilot), answering, strict=True)
    options = JudgeOptions(progress=progress or usual_progress)
    judgings = tuple(judge_run(answered, run, JUDGE, options) for answered, run in asked)
    retrieval = report(weigh(questions, [run.path for run in runs], judge=JUDGE), measures=MEASURES)
    _record(retrieval, folder)
    return Demo(
        folder, runs, retrieval, judgings, report(weigh(pilot, answering, judge=JUDGE), measures=ANSWER_MEASURES)
    )


def _record(retrieval: Report, folder: Path) -> None:
    """Record the scores of the pipelines in a store beside them; without the extra `store` there is none."""
    try:
        with Store(folder / USUAL) as store:
            store.add(retrieval.scores, command="demo")
    except MissingExtraError:
        return


def demo_text(
    demo: Demo, words: Words, *, width: int | None = None, colour: bool = False, explain: bool = False
) -> str:
    """What the demo found, for a terminal of so many columns.

    explain   everything: scores, times, the report in short and the answers; without it the table of pipelines, the
              verdict, where most is lost, and the answers of two systems
    """
    look = Look("table", words, width, colour, explain)
    return blocks_terminal(_blocks(demo, look) if explain else _brief(demo, look), width=width, colour=colour)


def _brief(demo: Demo, look: Look) -> Iterator[Block]:
    """The pipelines, the verdict and the gravest loss, and how good the answers are."""
    words, report = look.words, demo.report
    best = report.scores.systems[report.by_mean()[0]]
    yield replace(next(iter(brief_sheets(report.scores, look))), notes=[])
    cautions = careful(report_cautions(report, words), look, lines=2)
    yield Text("\n".join([verdict(report, words)[0], lost_text(report.diagnosis, best, words), *cautions]))
    least = least_lines(list(least_supported(demo.judgings[-1], words)), words)
    notes = [words("scores.between").join([words("demo.assistant"), *least])]
    means = next(iter(brief_sheets(demo.answers.scores, look)))
    shown = [c for c, head in enumerate(means.header) if c == 0 or head in _ANSWER_COLUMNS]
    yield Sheet([means.header[c] for c in shown], [[row[c] for c in shown] for row in means.rows], notes=notes)


_ANSWER_COLUMNS = ("faithfulness", "answer_recall")


def _blocks(demo: Demo, look: Look) -> Iterator[Block]:
    """Scores, times, the report in short, and the answers."""
    words = look.words
    medians = [f"{run.name} {run.manifest['latency_ms']['total']['p50']:.1f} ms" for run in demo.runs]
    yield from scores_sheets(demo.report.scores, words)
    yield Text(words("demo.times", medians=words("list.comma").join(medians)))
    yield from _in_short(demo.report, words)
    yield Text(words("demo.answers"))
    yield from scores_sheets(demo.answers.scores, words)
    yield _unsupported(demo, words)


def next_commands(folder: Path, words: Words) -> dict[str, list[str]]:
    """What a reader may have -> the command for it, in the folder of the demo."""
    compared = (f"runs/{name}" for name in (CONFIGS[0], CONFIGS[-1]))
    commands = {
        "runs": ["compare", "questions.jsonl", *compared],
        "documents": ["init", "mine"],
        "rerankers": ["bench", "rerank", "bench.toml"],
    }
    if (folder / USUAL).exists():
        commands["history"] = ["history"]
    lines = {name: ["steelyard", *command] for name, command in commands.items()}
    if MONITORING.exists():
        is_near = MONITORING.anchor == folder.resolve().anchor
        lines["monitoring"] = ["python", os.path.relpath(MONITORING, folder.resolve()) if is_near else str(MONITORING)]
    return {words(f"demo.next.{name}"): line for name, line in lines.items()}


def write_pages(demo: Demo, words: Words) -> str:
    """Write both reports into the folder, as pages that open in the reader's language and hold the other one too.

    Returns   their paths, or what to install for them, as a sentence
    """
    report, answers = demo.folder / "report.html", demo.folder / "answers.html"
    try:
        demo.report.write(report, lang=words.code)
        demo.answers.write(answers, lang=words.code)
    except MissingExtraError as error:
        return words("demo.no_report", why=error)
    return words("demo.pages", report=report, answers=answers)


def _in_short(report: Report, words: Words) -> Iterator[Section]:
    """Verdict and rating, the comparison by the first measure, the funnel, and the first piece of advice."""
    sections = {section.name: section for section in report_sections(report, words)}
    yield sections["short"]
    yield replace(sections["comparison"], sheets=sections["comparison"].sheets[:1])
    yield sections["funnel"]
    yield replace(sections["advice"], paragraphs=sections["advice"].paragraphs[:1])


def _unsupported(demo: Demo, words: Words) -> Section:
    """A sentence of the assistant's that its chunks do not support."""
    return Section("unsupported", words("demo.unsupported"), [*least_supported(demo.judgings[-1], words)], [])
