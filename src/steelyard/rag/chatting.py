"""An assistant over a pipeline: passages with their similarity, the answer, and its scores where gold is known."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np

from steelyard.base.errors import StageError
from steelyard.base.progress import Progress
from steelyard.data.outputs import Outputs
from steelyard.data.question import Question
from steelyard.data.questions import Questions
from steelyard.data.responses import Response, encode_response
from steelyard.experiment.door.evaluation import evaluate
from steelyard.measures import make
from steelyard.rag.config import Config
from steelyard.rag.pipeline.pipeline import Pipeline
from steelyard.rag.protocols import Embedder, Stage
from steelyard.rag.registry import make_located
from steelyard.text.folding import fold

MEASURES = {"Hit": "hit_rate", "Precision": "precision", "Recall": "recall", "F1": "f1"}


class Assistant:
    """A pipeline that one can talk to.

    Answers are extractive where the configuration has no generator; similarity is that of the configuration's embedder.
    Raises   what `Pipeline.read` and `Pipeline.prepare` raise.
    """

    def __init__(self, config: Config, *, progress: Progress | None = None) -> None:
        questions = None if config.questions is None else Questions.read(config.questions)
        config = config if questions is None else config.with_unit_of(questions)
        self.pipeline = Pipeline.read(
            config if config.generate else config.model_copy(update={"generate": Stage("extractive")})
        )
        self.pipeline.prepare(progress)
        self._weigh, self._unit = config.weigh, config.unit
        self._embedder = self.pipeline.embedder or self._fitted(config, progress)
        self._questions = {fold(question.query): question for question in questions or () if question.query}

    def _fitted(self, config: Config, progress: Progress | None) -> Embedder:
        """An embedder for similarity alone."""
        embedder: Embedder = make_located(config, "embed", config.embed)
        if progress:
            progress("fit", 0, 1)
        embedder.fit(self.pipeline.chunks.texts)
        if progress:
            progress("fit", 1, 1)
        return embedder

    def ask(self, query: str) -> Response:
        """Find passages, and answer from them; where only the answer failed, the response says why.

        Raises   InputError for an empty question; StageError.
        """
        with self.pipeline.session([query]) as ask:
            response = ask(query)
        if not response.is_retrieved:
            raise StageError(response.error or "", stage=response.failed)
        return response

    def cosines(self, response: Response) -> list[float]:
        """Cosine similarity of each passage to the question.

        Raises   StageError where the embedder fails.
        """
        if not response.passages:
            return []
        vectors = self._embedder.documents([passage.text or "" for passage in response.passages])
        query = self._embedder.query(response.query)
        cosines: list[float] = (np.asarray(vectors, float) @ np.asarray(query, float)).tolist()
        return cosines

    def question(self, query: str) -> Question | None:
        """The question of the dataset that this is, case and white space aside; None where it is none."""
        return self._questions.get(fold(query))

    def scores(self, response: Response) -> dict[str, float]:
        """Hit, Precision, Recall and F1 at k of a question of the dataset; empty for any other."""
        question = self.question(response.query)
        if question is None:
            return {}
        line = json.loads(encode_response(question.query_id, response))
        scores = evaluate(
            Questions.of([question]), Outputs([line]), [make(name, self.pipeline.k) for name in MEASURES.values()],
            **vars(replace(self._weigh.options(), documents=self.pipeline.chunks, unit=self._unit, hold_out=None)),
        )  # fmt: skip
        return dict(zip(MEASURES, scores.values[0, :, 0].tolist(), strict=True))
