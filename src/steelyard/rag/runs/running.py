"""A system run over questions, into a run folder, so that nothing that was computed is ever lost."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Protocol

from steelyard.base.errors import InputError, StageError
from steelyard.base.progress import Progress, usual_progress
from steelyard.data.folders.run_folder import RunFolder, read_run_folder
from steelyard.data.folders.run_lock import run_lock
from steelyard.data.questions import Questions
from steelyard.data.responses import Response
from steelyard.io.evaluation_rows import columns_of, rows_of
from steelyard.rag.concurrency import results_of
from steelyard.rag.protocols import RunnableSystem
from steelyard.rag.runs.earlier import without_results
from steelyard.rag.runs.writer import RunWriter, refuse_foreign_folder

GIVE_UP_AFTER = 5
"""Where the first so many questions all fail with the same error, the run stops: the system is at fault, not they."""


class Asked(Protocol):
    """What a run needs to know of a question."""

    @property
    def query_id(self) -> str:
        """Its id."""
        ...

    @property
    def query(self) -> str | None:
        """The text of the question."""
        ...


def run(
    system: RunnableSystem,
    questions: str | Path | Iterable[Asked] | Iterable[Mapping[str, Any]],
    folder: str | Path,
    *,
    overwrite: bool = False,
    anew: bool = True,
    progress: Progress | None = None,
    check: Callable[[], None] | None = None,
) -> RunFolder:
    """Ask a system all questions and write a run folder.

    questions   a dataset's path, `Questions`, or dicts with `qid` and `query`
    folder      made where it is absent
    overwrite   replace a run of another configuration, or a finished one, once the new one is whole; one that was
                interrupted still goes on
    anew        whether `overwrite` replaces a finished run of this very configuration too
    progress    called as progress(stage, done, total)
    check       called once the system is prepared, before the first question; what it raises ends the run

    As many questions are under way at once as the system's `concurrency`; every answer is on disk as soon as it is
    there, and all are in the order of the questions in the end.  A run that was interrupted goes on where it was, if
    configuration and corpus are the same; questions that failed are asked again; a finished run is not run again.
    A question on which a stage fails (StageError) is recorded with its error, and with what was retrieved where only
    the answer failed, which alone is asked for again; the run goes on.  But where the first five all fail with the same
    error, it is raised.  One process at a time writes a folder.

    Raises   InputError for a question without text, and for a folder that holds something else, or answers of
             another configuration or of questions that are no longer asked; OutputError where it cannot be written,
             or another process writes it.
    """
    queries, path = _queries_by_id(_read_questions(questions)), Path(folder)
    refuse_foreign_folder(path)
    with run_lock(path) as earlier:
        progress = progress or usual_progress
        system.prepare(progress)
        if check is not None:
            check()
        writer = RunWriter(path, system, queries, taken_over=earlier)
        return _run(writer, writer.resume(overwrite=overwrite, anew=anew), system, queries, progress)


def _run(
    writer: RunWriter,
    responses: dict[str, Response],
    system: RunnableSystem,
    queries: Mapping[str, str],
    progress: Progress,
) -> RunFolder:
    """Ask what was not answered before, with a folder that is ours."""
    todo = {query_id: query for query_id, query in queries.items() if query_id not in responses}
    progress("questions", len(responses), len(queries))
    if not todo and writer.is_finished():
        return read_run_folder(writer.path)
    writer.begin()
    first = dict.fromkeys(list(todo)[:GIVE_UP_AFTER])  # Their errors; None of one that did not fail.
    asked = [(query_id, query, writer.retrieved.get(query_id)) for query_id, query in todo.items()]
    with (
        writer.appending(),
        system.session(list(todo.values())) as ask,
        closing(results_of(lambda item: ask(*item[1:]), asked, concurrency=system.concurrency)) as results,
    ):
        for (query_id, *_), response in results:
            writer.append(query_id, response)
            responses[query_id] = without_results(response)
            progress("questions", len(responses), len(queries))
            if query_id in first:
                first[query_id] = response.error
                errors = list(first.values())
                if len(errors) == GIVE_UP_AFTER and errors[0] is not None and len(set(errors)) == 1:
                    raise StageError(f"the first {GIVE_UP_AFTER} questions all failed: {errors[0]}")
    writer.finish(responses)
    return read_run_folder(writer.path)


def _read_questions(questions: Any) -> Sequence[Asked]:
    if isinstance(questions, str | Path):
        return Questions.read(questions)
    is_listed = isinstance(questions, Iterable) and not isinstance(questions, Mapping) and not columns_of(questions)
    if not is_listed or rows_of(questions) is not None:
        return Questions(questions)
    listed = list(questions)
    return listed if listed and hasattr(listed[0], "query_id") else Questions(listed)


def _queries_by_id(questions: Iterable[Asked]) -> dict[str, str]:
    """The texts of questions by query_id.

    Raises   InputError for a question without text, for an id that is there twice, and for no question at all.
    """
    queries: dict[str, str] = {}
    for question in questions:
        where = getattr(question, "where", "")
        if question.query is None or not question.query.strip():
            state = "no `query`" if question.query is None else "an empty `query`"
            raise InputError(
                f"{where + ': ' if where else ''}question {question.query_id!r} has {state}; write what is asked"
            )
        if question.query_id in queries:
            raise InputError(f"question {question.query_id!r} occurs twice; rename or remove one")
        queries[question.query_id] = question.query
    if not queries:
        raise InputError("there is no question to ask")
    return queries
