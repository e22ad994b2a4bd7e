"""Questions, what a system gave for them, and what that is worth, for another tool."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from steelyard.base.errors import InputError
from steelyard.base.nearest import nearest
from steelyard.base.progress import Progress, no_progress
from steelyard.experiment.opening import open_answers
from steelyard.experiment.sample_formats import SAMPLE_FORMATS
from steelyard.experiment.samples import samples_of
from steelyard.experiment.verdict_choice import VerdictChoice
from steelyard.io.write import write_text
from steelyard.measures import Measure


@dataclass(frozen=True)
class Export:
    """What was written.

    text        the file;   n_samples   questions in it;   n_values   values of measures, those that are null included
    """

    text: str
    format: str
    n_samples: int
    n_values: int

    def __str__(self) -> str:
        return f"{self.format}: {self.n_samples} questions, {self.n_values} values"


def export(
    questions: object,
    outputs: object,
    to: str,
    *,
    measures: Iterable[str | Measure] | str | Measure = (),
    verdicts: object = None,
    judge: str | None = None,
    save: str | Path | None = None,
    progress: Progress = no_progress,
) -> Export:
    """Write what another tool reads: questions, what one system gave for them, and values of measures.

    questions   Questions, a path to them, or dicts with `qid` and `query`
    outputs     those of one system: a run folder, Outputs, a path, or dicts with `retrieved` and `answer`
    to          "ragas" (JSONL), "deepeval" (test cases), "ragchecker", "mtrag", or "otel" (events
                `gen_ai.evaluation.result`, one a value)
    measures    whose values are to be in it
    verdicts, judge   of measures of answers, as `evaluate` takes them
    save        the file to write; "-" is standard output
    Raises      InputError and its children; OutputError where it cannot be written

    >>> chunks = [{"id": "h#1", "text": "Opening hours: 9 to 17."}]
    >>> outputs = [{"qid": "q1", "retrieved": chunks, "answer": "It is open from 9 to 17."}]
    >>> print(export([{"qid": "q1", "query": "When?"}], outputs, "ragas", measures="faithfulness").text, end="")
    {"query_id": "q1", "user_input": "When?", ... "response": "It is open from 9 to 17.", "faithfulness": 1.0}
    """
    if to not in SAMPLE_FORMATS:
        raise InputError(f"nothing is written for {to!r}; {nearest(to, SAMPLE_FORMATS)}")
    specs = [measures] if isinstance(measures, str | Measure) else list(measures)
    if to == "otel" and not specs:
        raise InputError("events are about values of measures; name some: -m faithfulness (measures=[...])")
    asked, system = open_answers(questions, outputs)
    samples = samples_of(asked, system, specs, VerdictChoice(verdicts, judge, progress).checked([system.name]))
    text = SAMPLE_FORMATS[to](samples, system.name)
    if save is not None:
        write_text(os.fspath(save), text)
    return Export(text, to, len(samples), sum(len(sample.values) for sample in samples))
