"""The first search of a bench, where its candidates are named by the configuration of a pipeline."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from steelyard.base.errors import InputError
from steelyard.base.progress import Progress
from steelyard.bench.config import BenchConfig
from steelyard.data.questions import Questions
from steelyard.data.run_folder import find_run_folder
from steelyard.rag.config import Config
from steelyard.rag.running import run
from steelyard.rag.weighed_run import read_system


def first_search(config: BenchConfig) -> Config | None:
    """The configuration that the candidates are from; None where they are a run that is there.

    It asks its own questions, else those of the bench.
    Raises   InputError for a configuration that cannot be read.
    """
    if config.candidates is None or config.candidates.suffix != ".toml":
        return None
    search = Config.read(config.candidates)
    return replace(search, questions=search.questions or config.queries or config.truth)


def search_candidates(config: BenchConfig, *, overwrite: bool = False, progress: Progress | None = None) -> None:
    """Run the first search of a bench into the run folder that its configuration names, as `steelyard run` does.

    overwrite   replace a run of another configuration.  One that is finished is not run again in any case, and one that
                was interrupted goes on
    progress    called as progress(stage, done, total)
    Raises      InputError, StageError and OutputError as `steelyard.rag.running.run` does.
    """
    search = first_search(config)
    if search is None:
        return
    if search.questions is None:
        raise InputError(f'{search.where}: names no questions to ask; name them: questions = "questions.jsonl"')
    questions = Questions.read(search.questions)
    system = read_system(search.with_unit_of(questions))
    run(system, questions, search.folder, overwrite=overwrite, anew=False, progress=progress)


def candidates_path(config: BenchConfig) -> Path:
    """The run that candidates are read from.

    Raises   InputError where none is named, and where it is to be run first.
    """
    if config.candidates is None:
        raise InputError(
            f"{config.line()}names no candidates; name a run, a run folder, or the configuration of a pipeline: "
            'candidates = "bm25.run"'
        )
    search = first_search(config)
    if search is None:
        return config.candidates
    if find_run_folder(search.folder) is None:
        raise InputError(
            f"{search.folder}: holds no run of {config.candidates.name} yet; run it first: "
            f"steelyard run {config.candidates}"
        )
    return search.folder
