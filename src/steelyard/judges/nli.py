"""The judge by natural language inference: a cross-encoder reads a unit with each window of a premise."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Annotated, Any, ClassVar

import numpy as np

from steelyard.base.arrays import Floats
from steelyard.base.errors import StageError
from steelyard.base.limits import Words, at_least, between
from steelyard.base.settings import check_fields
from steelyard.judges.asking import Batches, case_blocks, empty_verdict, quotation, whole_characters
from steelyard.judges.registry import TextPair, judge_named
from steelyard.judges.verdict import Case, Verdict
from steelyard.services.models.local import (
    EntailmentModel,
    ModelName,
    check_model,
    identity_of,
    library_versions,
    name_of,
)
from steelyard.text.sentences import sentence_spans
from steelyard.text.spans import Span


@dataclass(frozen=True)
class Pieces:
    """A text cut into sentences, and those that are too long into parts.

    text       the whole
    spans      one behind the other, all of the text in them, each with the white space behind it
    n_tokens   of each
    """

    text: str
    spans: Sequence[Span]
    n_tokens: Sequence[int]

    def windows(self, room: int) -> list[str]:
        """The text in windows of at most so many tokens."""
        return [
            self.text[self.spans[first][0] : self.spans[last - 1][1]].strip()
            for first, last in window_ranges(self.n_tokens, room)
        ]


def window_ranges(n_tokens: Sequence[int], room: int) -> list[tuple[int, int]]:
    """Ranges of pieces, as few as go, that hold at most `room` tokens.

    The next range begins with the last piece of the one before, where that leaves room for another; so two
    neighbours that fit together are together in one.  A piece longer than the room has a range of its own.

    >>> window_ranges([3, 3, 3, 3], 7), window_ranges([3, 9, 3], 9), window_ranges([], 9)
    ([(0, 2), (1, 3), (2, 4)], [(0, 1), (1, 2), (2, 3)], [])
    """
    ranges, first, n = list[tuple[int, int]](), 0, len(n_tokens)
    while first < n:
        last, total = first + 1, n_tokens[first]
        while last < n and total + n_tokens[last] <= room:
            total += n_tokens[last]
            last += 1
        ranges.append((first, last))
        shares = last < n and last - 1 > first and n_tokens[last - 1] + n_tokens[last] <= room
        first = last - 1 if shares else last
    return ranges


def cut_texts(
    texts: Iterable[str], *, longest: int, n_tokens: Callable[[list[str]], Sequence[int]]
) -> Mapping[str, Pieces]:
    """Each text in its pieces; a sentence longer than `longest` tokens is halved, at a blank, until its parts are not.

    n_tokens   counts tokens of many texts at once

    >>> pieces = cut_texts(["One. Two three four."], longest=2, n_tokens=lambda texts: [len(t.split()) for t in texts])
    >>> pieces["One. Two three four."].windows(2), pieces["One. Two three four."].windows(3)
    (['One.', 'Two three', 'four.'], ['One. Two three', 'Two three four.'])
    """
    spans = {(text, span): 0 for text in dict.fromkeys(texts) for span in _sentences(text)}
    uncounted = list(spans)
    while uncounted:
        counts = n_tokens([text[start:end] for text, (start, end) in uncounted])
        spans |= dict(zip(uncounted, counts, strict=True))
        too_long = [key for key in uncounted if spans[key] > longest and key[1][1] - key[1][0] > 1]
        uncounted = [(text, half) for text, span in too_long for half in _halves(text, span)]
        for key in too_long:
            del spans[key]
    by_text = dict[str, list[tuple[Span, int]]]()
    for (text, span), count in spans.items():
        by_text.setdefault(text, []).append((span, count))
    return {text: _pieces(text, rows) for text, rows in by_text.items()}


def _pieces(text: str, rows: list[tuple[Span, int]]) -> Pieces:
    rows.sort()
    return Pieces(text, [span for span, _ in rows], [count for _, count in rows])


def _sentences(text: str) -> list[Span]:
    """Sentences with what lies behind each: tokens of the parts then add up to at least those of the whole."""
    starts = [start for start, _ in sentence_spans(text)]
    return list(pairwise([*starts, len(text)])) if starts else []


def _halves(text: str, span: Span) -> tuple[Span, Span]:
    start, end = span
    middle = (start + end) // 2
    blanks = [at for at in (text.rfind(" ", start + 1, middle + 1), text.find(" ", middle, end - 1)) if at > 0]
    # A blank far from the middle would leave a part as long as the whole.
    near = [at + 1 for at in blanks if abs(at - middle) <= (end - start) // 4]
    cut = min(near, key=lambda at: abs(at - middle), default=middle)
    return (start, cut), (cut, end)


_VERSION = 2


@judge_named("nli")
@dataclass(eq=False)
class NLIJudge:
    """The largest probability that some window of the premise entails the unit, by a model of the user's.

    A premise that is longer than the model reads is cut into windows of whole sentences, each with the last sentence of
    the one before.  A unit is supported where some window entails it with at least the threshold; else contradicted
    where contradiction is the likeliest label of some window, and likelier there than entailment is in any; else
    not_found.  A unit is asked behind its lead; with more than half the tokens that the model reads it is not judged.

    model        a folder or a name on the hub (`steelyard.services.models.local.ModelName`) of a cross-encoder of
                 sentence-transformers with labels of entailment, neutral and contradiction, or of entailment and not
    threshold    the probability of entailment from which on a unit is supported; 0.5 is not calibrated
    max_length   tokens of a pair; None is the model's own
    batch_size   pairs at a time
    device       "cpu", "cuda", "mps"; None lets torch choose
    entailment, contradiction   names of the model's labels, where they do not say it, such as "LABEL_1"
    Raises       InputError for settings out of range or a folder that is not there.

    The last bits of a score may depend on the pairs of its batch.
    """

    name: ClassVar[str] = "nli"

    model: Annotated[ModelName, Words(example="cross-encoder/nli-deberta-v3-base")]
    threshold: Annotated[float, between(0, 1)] = 0.5
    max_length: Annotated[int, at_least(16)] | None = None
    batch_size: Annotated[int, at_least(1)] = 32
    device: str | None = None
    entailment: str | None = None
    contradiction: str | None = None
    _network: EntailmentModel = field(init=False, repr=False)
    _batches: Batches[TextPair, Floats] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        check_fields(self)
        check_model("judge nli", self.model)
        self._network = EntailmentModel(
            self.model,
            device=self.device,
            max_length=self.max_length,
            entailment=self.entailment,
            contradiction=self.contradiction,
        )
        self._batches = Batches("judge nli", self._rows, batch_size=self.batch_size)

    def judge(self, cases: Sequence[Case]) -> Iterator[list[Verdict]]:
        """For each case one verdict a hypothesis.

        Where the model fails on a window, units that no other window entails are not judged.
        Raises   InputError where the model cannot be loaded, its labels are others, or it fails on all of 20 batches.
        """
        for block in case_blocks(cases):
            yield from self._judged(block)

    def recipe(self) -> Mapping[str, Any]:
        """Model, labels, windows, threshold and versions."""
        return {
            "judge": self.name, "version": _VERSION, "model": name_of(self.model), "model_id": identity_of(self.model),
            "max_length": self.max_length, "windows": "sentences, the last one again",
            "entailment": self.entailment, "contradiction": self.contradiction,
            "threshold": self.threshold, "calibration": "uncalibrated", "libraries": library_versions(),
        }  # fmt: skip

    def _judged(self, cases: Sequence[Case]) -> Iterator[list[Verdict]]:
        try:
            plans = self._plans(cases)
        except StageError as error:
            plans = [[Verdict("not_judged", None, str(error))] * len(case.hypotheses) for case in cases]
        answers = self._answers(
            pair for plan in plans for pairs in plan if not isinstance(pairs, Verdict) for pair in pairs
        )
        for plan in plans:
            yield [pairs if isinstance(pairs, Verdict) else self._verdict(pairs, answers) for pairs in plan]

    def _plans(self, cases: Sequence[Case]) -> list[list[Verdict | list[TextPair]]]:
        """For each unit the pairs to ask, or the verdict where there is nothing to ask."""
        texts = [(whole_characters(case.premise), list(map(whole_characters, case.led_hypotheses))) for case in cases]
        n_tokens, room = self._network.n_tokens, self._network.room()
        units = list(dict.fromkeys(unit for _, units in texts for unit in units))
        lengths = dict(zip(units, n_tokens(units), strict=True))
        premises = cut_texts((premise for premise, _ in texts), longest=room // 2, n_tokens=n_tokens)

        def plan(premise: str, unit: str) -> Verdict | list[TextPair]:
            if nothing := empty_verdict(premise, unit):
                return nothing
            if lengths[unit] > room // 2:
                reason = f"the unit has {lengths[unit]} tokens; the model can be asked of {room // 2}"
                return Verdict("not_judged", None, reason)
            return [(window, unit) for window in premises[premise].windows(room - lengths[unit])]

        return [[plan(premise, unit) for unit in units] for premise, units in texts]

    def _answers(self, pairs: Iterable[TextPair]) -> Mapping[TextPair, Floats | StageError]:
        """The three probabilities of each pair, asked once, or why there are none."""
        distinct = list(dict.fromkeys(pairs))
        answers = self._batches.results(distinct, length=lambda pair: len(pair[0]) + len(pair[1]))
        return dict(zip(distinct, answers, strict=True))

    def _rows(self, pairs: list[TextPair]) -> list[Floats]:
        return list(self._network.probabilities(pairs))

    def _verdict(self, pairs: Sequence[TextPair], answers: Mapping[TextPair, Floats | StageError]) -> Verdict:
        return nli_verdict([answers[pair] for pair in pairs], [window for window, _ in pairs], self.threshold)


def nli_verdict(answers: Sequence[Floats | StageError], windows: Sequence[str], threshold: float) -> Verdict:
    """The verdict on one unit by what a model says of each window, by the rule of `NLIJudge`.

    answers   of each window the probabilities of entailment, contradiction and neither, or why there are none

    >>> nli_verdict([np.array([0.2, 0.1, 0.7]), np.array([0.1, 0.8, 0.1])], ["One.", "Two."], 0.5)
    Verdict(label='contradicted', score=0.2, reason='contradiction 0.80 in window 2 of 2: “Two.”')
    """
    failure = next((answer for answer in answers if isinstance(answer, StageError)), None)
    nothing = np.array([-1.0, -1.0, -1.0])
    rows = np.array([nothing if isinstance(answer, StageError) else answer for answer in answers])
    entails, contradicts = rows[:, 0], np.where(rows[:, 1] == rows.max(axis=1), rows[:, 1], -1.0)
    score = float(entails.max())
    if failure is not None and score < threshold:
        return Verdict("not_judged", None, str(failure))

    def reason(what: str, probabilities: Floats) -> str:
        best = int(probabilities.argmax())
        window = f" in window {best + 1} of {len(windows)}: {quotation(windows[best])}" if len(windows) > 1 else ""
        return f"{what} {probabilities[best]:.2f}{window}"

    if score >= threshold:
        return Verdict("supported", score, reason("entailment", entails))
    if contradicts.max() > score:
        return Verdict("contradicted", score, reason("contradiction", contradicts))
    return Verdict("not_found", score, reason("entailment", entails))
