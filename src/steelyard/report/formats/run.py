"""What `steelyard run` prints: notes, how many questions failed, the times, and the scores."""

from __future__ import annotations

from collections.abc import Iterator

from steelyard.data.folders.run_folder import RunFolder
from steelyard.rag.weighed_run import WeighedRun
from steelyard.report.formats.scores import table
from steelyard.report.views.notes import note_text
from steelyard.report.visible import visible
from steelyard.report.words import Words


def weighed_run_text(run: WeighedRun, words: Words, *, width: int | None = None, colour: bool = False) -> str:
    """A run and its scores for a terminal of so many columns, None for as many as it takes."""
    summary = visible("\n".join(run_lines(run.folder, run.n_before, words)))
    return f"{summary}\n\n{table(run.scores, per_query=False, words=words, width=width, colour=colour)}"


def run_lines(folder: RunFolder, n_before: int, words: Words) -> Iterator[str]:
    """A run, line by line: notes, what was answered before, failures, counts and times.

    n_before   questions that had been answered by an earlier start
    """
    counts = folder.manifest.get("counts", {})
    n_questions, n_failed = counts.get("questions", n_before), folder.n_failed
    for note in folder.notes:
        yield words("runs.note", note=note_text(note, words))
    if n_before == n_questions:
        yield words("runs.finished")
    elif n_before:
        yield words("runs.kept", n=n_before, total=n_questions)
    if n_failed:
        query_id, error = first_failure(folder)
        yield words(
            "runs.failed", n=n_failed, total=n_questions, stages=failed_stages(folder, words), query_id=query_id,
            error=error,
        )  # fmt: skip
    parts = [words("count.questions", n=n_questions)]
    if "chunks" in counts and "documents" in counts:
        chunks, documents = words("count.chunks", n=counts["chunks"]), words("count.documents", n=counts["documents"])
        parts.append(words("runs.chunks", chunks=chunks, documents=documents))
    if total := folder.manifest.get("latency_ms", {}).get("total"):
        parts.append(words("runs.latency", median=f"{total['p50']:.1f}", p95=f"{total['p95']:.1f}"))
    yield words("runs.summary", folder=folder.path, parts=words("runs.comma").join(parts))


def failed_stages(folder: RunFolder, words: Words) -> str:
    """How many questions failed at which stage, most first."""
    counts = sorted(folder.manifest.get("failed_at", {}).items(), key=lambda item: -item[1])
    return words.listed([words("runs.failed_at", stage=stage, n=n) for stage, n in counts])


def first_failure(folder: RunFolder) -> tuple[str, str]:
    """The first question that failed, and why."""
    failures = ((query_id, response.error) for query_id, response in folder.responses())
    return next((query_id, error) for query_id, error in failures if error is not None)
