"""The first question to each endpoint of some pipelines, before documents are read for the first of them."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.base.errors import StageError
from steelyard.data.corpus import Passage
from steelyard.data.questions import Questions
from steelyard.data.run_manifest import read_manifest
from steelyard.models.chat import ChatModel
from steelyard.rag.config import Config
from steelyard.rag.fingerprint import describe
from steelyard.rag.pipeline import Pipeline
from steelyard.rag.stages import Embedder, Generator, Reranker
from steelyard.services.client import ServiceError

_MAY_PASS = {408, 409, 413, 425, 429}


def refuse_silent_endpoints(configs: Sequence[Config], questions: Questions, *, overwrite: bool) -> None:
    """Ask each endpoint once that runs of some pipelines will ask, with texts that are at hand.

    overwrite   whether finished runs are run again, too
    Raises      StageError naming all that fail for good, as with a wrong address, key, model or shape; what a server
                may answer another time, or a model another text, is left to the run.
    """
    asked, errors = set[str](), list[str]()
    query = next((question.query for question in questions if question.query and question.query.strip()), "")
    due = [config for config in configs if overwrite or not (read_manifest(config.folder) or {}).get("finished")]
    for config in due if query else ():
        for stage in Pipeline.read(config).endpoints.values():
            if (key := describe(stage).digest) in asked:
                continue
            asked.add(key)
            try:
                if isinstance(stage, Embedder):
                    stage.query(query)
                elif isinstance(stage, Reranker):
                    stage.scores(query, [query, f"{query} {query}"])
                elif isinstance(stage, Generator):
                    stage.answer(query, [Passage("d#1", "d", text=query)])
            except ServiceError as error:
                if _is_final(error, is_chat=isinstance(stage, ChatModel)):
                    errors.append(f"{config.name}: {error}" if len(configs) > 1 else str(error))
            except StageError:
                continue
    if len(errors) > 1:
        listed = "; ".join(f"({number}) {error}" for number, error in enumerate(errors, 1))
        raise StageError(f"{len(errors)} of {len(asked)} endpoints do not answer, and nothing was run: {listed}")
    if errors:
        raise StageError(errors[0])


def _is_final(error: ServiceError, *, is_chat: bool) -> bool:
    if isinstance(error.reason, int):
        return 300 <= error.reason < 500 and error.reason not in _MAY_PASS
    return error.reason == "no answer" or (error.reason is None and not is_chat)
