"""A system of the user's own asked over questions, in Python: a function, or a retriever of another library."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import uuid4

from steelyard.base.errors import InputError
from steelyard.base.progress import Progress
from steelyard.data.outputs import Outputs
from steelyard.rag import running
from steelyard.rag.config import Config
from steelyard.rag.fingerprint import digest
from steelyard.rag.running import Asked
from steelyard.rag.system import TargetSystem
from steelyard.rag.targets import callable_target


def run(
    target: object,
    questions: str | Path | Iterable[Asked] | Iterable[Mapping[str, Any]],
    folder: str | Path | None = None,
    *,
    k: int = 10,
    name: str | None = None,
    texts: bool = False,
    concurrency: int | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> Outputs:
    """Ask a system of your own all questions, for `evaluate` and everything else that takes outputs.

    target      a function from a question to results, or a retriever of LangChain, LlamaIndex or Haystack; see
                `steelyard.rag.targets.callable_target`.  Or "module:object", or a URL
    questions   a dataset's path, `Questions`, or dicts with `qid` and `query`
    folder      a run folder to write; by default nothing is kept.  What hides behind an object cannot be known: each
                call is another system and takes over nothing that the folder holds, unless the object has a method
                `identity() -> str`, or is named as "module:object"
    k           results that each question asks for, where the target takes k; a retriever has a number of its own
    name        what the system is called; by default as its function or class
    texts       whether bare strings that it gives are texts rather than ids
    concurrency questions that it is asked at once; by default 8 of a URL, and one of all else
    overwrite   replace a finished run
    progress    called as progress(stage, done, total)
    Raises      InputError; StageError where the first questions all fail with one error; OutputError

    >>> outputs = run(lambda query: ["d3", "d1"], [{"qid": "q1", "query": "Where?"}], name="mine")
    >>> outputs.name, outputs.run.frame["doc_id"].to_list()
    ('mine', ['d3', 'd1'])
    """
    system = _system(target, k=k, name=name, texts=texts, concurrency=concurrency)
    with TemporaryDirectory(prefix="steelyard-") as nowhere:
        place = Path(nowhere) / "run" if folder is None else folder
        finished = running.run(system, questions, place, overwrite=overwrite, progress=progress)
        return Outputs.read(finished, name=name)


def _system(
    target: object, *, k: int, name: str | None, texts: bool, concurrency: int | None
) -> TargetSystem:  # fmt: skip
    if isinstance(target, str):
        address = {"url" if "://" in target else "callable": target, **({"texts": True} if texts else {})}
        named = {key: value for key, value in (("name", name), ("concurrency", concurrency)) if value is not None}
        return TargetSystem.read(Config.of({"target": address, "k": k, **named}))
    for key, number in (("k", k), ("concurrency", 1 if concurrency is None else concurrency)):
        if not isinstance(number, int) or number < 1:
            raise InputError(f"{key} must be a whole number from 1, not {number!r}")
    shown = getattr(target, "__qualname__", type(target).__name__)
    described = {"name": name or shown, "k": k, "target": {"callable": shown, "texts": texts}}
    identity = getattr(target, "identity", None)
    source = digest(identity()) if callable(identity) else uuid4().hex
    return TargetSystem(
        callable_target(target, texts=texts),  # type: ignore[arg-type]
        k=k, name=str(name or shown), described=described, source=source,
        concurrency=1 if concurrency is None else concurrency,
    )  # fmt: skip
