"""An assistant over a pipeline: the passages of a question with their likeness, the answer, and how good they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from steelyard.data.corpus import Passage
from steelyard.data.outputs import Outputs
from steelyard.data.questions import Question, Questions
from steelyard.experiment.evaluation import evaluate
from steelyard.measures import make
from steelyard.rag.config import Config, Stage
from steelyard.rag.pipeline import Pipeline
from steelyard.rag.registry import make as make_stage
from steelyard.rag.stages import Embedder
from steelyard.rag.system import Progress
from steelyard.text.folding import fold

MEASURES = {"Hit": "hit_rate", "Precision": "precision", "Recall": "recall", "F1": "f1"}


@dataclass(frozen=True)
class Turn:
    """What the assistant found for a question.

    passages  best first;   cosines  cosine similarity of each to the question
    answer    from the passages
    known     the question of the dataset that this is, if it is one
    scores    its Hit, Precision, Recall and F1 at k; empty for a question that is not in the dataset
    """

    passages: Sequence[Passage]
    cosines: Sequence[float]
    answer: str
    known: Question | None
    scores: Mapping[str, float]


class Assistant:
    """A pipeline that one can talk to.

    Answers are extractive where the configuration has no generator; similarity is that of the configuration's embedder.
    Raises   what `Pipeline.read` and `Pipeline.prepare` raise.
    """

    def __init__(self, config: Config, *, progress: Progress | None = None) -> None:
        self.pipeline = Pipeline.read(config if config.generate else replace(config, generate=Stage("extractive")))
        self.pipeline.prepare(progress)
        self._weigh = config.weigh
        self._embedder = self.pipeline.embedder or self._fitted(config, progress)
        questions = Questions.read(config.questions) if config.questions is not None else ()
        self._known = {fold(question.query): question for question in questions if question.query}

    def _fitted(self, config: Config, progress: Progress | None) -> Embedder:
        """An embedder for similarity alone."""
        embedder: Embedder = make_stage("embed", config.embed.kind, config.embed.settings)
        if progress:
            progress("fit", 0, 1)
        embedder.fit(self.pipeline.chunks.texts)
        if progress:
            progress("fit", 1, 1)
        return embedder

    def ask(self, query: str) -> Turn:
        """Find passages, and answer from them.

        Raises   InputError for an empty question; StageError.
        """
        reply = self.pipeline.ask(query)
        known = self._known.get(fold(query))
        return Turn(
            reply.passages, self._cosines(query, reply.passages), reply.answer or "", known,
            self._scores(known, reply.passages) if known else {},
        )  # fmt: skip

    def _cosines(self, query: str, passages: Sequence[Passage]) -> list[float]:
        if not passages:
            return []
        vectors = self._embedder.documents([passage.text for passage in passages])
        cosines: list[float] = (np.asarray(vectors, float) @ np.asarray(self._embedder.query(query), float)).tolist()
        return cosines

    def _scores(self, question: Question, passages: Sequence[Passage]) -> dict[str, float]:
        retrieved: list[dict[str, Any]] = [
            {"id": p.chunk_id, "score": p.score, "text": p.text, "doc": p.doc_id, "start": p.start, "end": p.end}
            for p in passages
        ]
        scores = evaluate(
            Questions.of([question]), Outputs([{"qid": question.query_id, "retrieved": retrieved}]),
            [make(name, self.pipeline.k) for name in MEASURES.values()],
            corpus=self.pipeline.chunks, **self._weigh.options(),
        )  # fmt: skip
        return dict(zip(MEASURES, scores.values[0, :, 0].tolist(), strict=True))
