"""A run: notes, how many questions failed, the times, and the scores."""

from __future__ import annotations

from collections.abc import Iterator

from steelyard.data.folders.run_folder import RunFolder
from steelyard.rag.weighed_run import WeighedRun
from steelyard.reports.views.notes import note_text
from steelyard.reports.views.scores import scores_sheets
from steelyard.reports.views.view import Block, Look, Text, View
from steelyard.reports.words import Words


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
    """The number of questions that failed at each stage, most first."""
    counts = sorted(folder.manifest.get("failed_at", {}).items(), key=lambda item: -item[1])
    return words.listed([words("runs.failed_at", stage=stage, n=n) for stage, n in counts])


def first_failure(folder: RunFolder) -> tuple[str, str]:
    """The first question that failed, and why."""
    failures = ((query_id, response.error) for query_id, response in folder.responses())
    return next((query_id, error) for query_id, error in failures if error is not None)


def _blocks(run: WeighedRun, look: Look) -> Iterator[Block]:
    yield Text("\n".join(run_lines(run.folder, run.n_before, look.words)), "laid out")
    yield from scores_sheets(run.scores, look.words)


VIEWS = {
    WeighedRun: View[WeighedRun](
        "a run",
        blocks=_blocks,
        data=lambda run, words: {"folder": run.folder.path, "n_before": run.n_before, "scores": run.scores.data()},
    )
}
