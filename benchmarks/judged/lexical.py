"""What the lexical judge is worth: floors, checks, thresholds, evidence and spans."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from functools import cache
from pathlib import Path

import numpy as np
from benchmarks.judged.published import (
    STOPWORDS,
    auc,
    balanced_accuracy,
    bigram_precision,
    chinese,
    content_precision,
    english,
    spearman,
)
from benchmarks.judged.sets import EVIDENCE, PAIRS, EvidenceCase, MarkedAnswer, Pair, ragtruth_answers
from benchmarks.judged.values import Value

from steelyard.judges.lexical import LexicalJudge, evidence_scores, unsupported_spans
from steelyard.judges.lexical.words import words
from steelyard.judges.verdict import Case, Verdict
from steelyard.text.spans import Span

CHECKS = ("written", "nearby", "neighbours", "numbers", "names", "units", "dates", "negation", "scaled")
"""Settings of the judge that can be switched off."""
FLOORS = {"MTRAG": 0.86, "RAGTruth QA": 0.75, "HAGRID": 0.84, "Stanford": 0.765, "WiCE, supported": 0.69}
"""AUC that the judge must reach."""
EARLIER = {
    "MTRAG": 0.8691, "RAGTruth QA": 0.7837, "HAGRID": 0.85, "Stanford": 0.8048, "AttributedQA": 0.7354,
    "WiCE, supported": 0.7235, "WiCE, partially": 0.8408, "VGaokao (zh)": 0.5246,
}  # fmt: skip
"""AUC of the judge on commit 2db421b5."""
MARGIN = 0.005
EVIDENCE_FLOORS = {"ClapNQ": 0.96, "ExpMRC (zh)": 0.90}
"""AUC over all sentences, and share of the best sentences, that must be reached."""
SPAN_FLOOR = 0.20
LOSS = 0.01
"""AUC that a check may cost on any set."""


@cache
def pairs(name: str, folder: Path) -> tuple[Pair, ...]:
    return tuple(PAIRS[name](folder))


@cache
def verdicts(judge: LexicalJudge, name: str, folder: Path) -> tuple[Verdict, ...]:
    cases = [Case(pair.premise, (pair.hypothesis,)) for pair in pairs(name, folder)]
    return tuple(verdict for [verdict] in judge.judge(cases))


def scores(judge: LexicalJudge, name: str, folder: Path) -> list[float]:
    return [verdict.score or 0.0 for verdict in verdicts(judge, name, folder)]


def judge_auc(judge: LexicalJudge, name: str, folder: Path) -> float:
    return auc(scores(judge, name, folder), [pair.supported for pair in pairs(name, folder)])


def precisions(name: str, folder: Path) -> tuple[float, float]:
    """AUC of the share of content words, and of pairs of words, by the published definitions."""
    is_chinese = name.endswith("(zh)")
    tokens, stopwords = (chinese, frozenset[str]()) if is_chinese else (english, STOPWORDS)
    empty = float(name == "RAGTruth QA")
    rows = pairs(name, folder)
    supported = [pair.supported for pair in rows]
    content = [
        content_precision(pair.hypothesis, pair.premise, tokens=tokens, stopwords=stopwords, empty=empty)
        for pair in rows
    ]
    bigrams = [bigram_precision(pair.hypothesis, pair.premise, tokens=tokens, empty=empty) for pair in rows]
    return auc(content, supported), auc(bigrams, supported)


def floor_values(folder: Path) -> Iterator[Value]:
    """AUC of the judge on every set of pairs, which must lose to nothing beside it by more than `MARGIN`."""
    for name in PAIRS:
        content, bigrams = precisions(name, folder)
        least = max(FLOORS.get(name, 0.0), *(value - MARGIN for value in (content, bigrams, EARLIER[name])))
        ours = judge_auc(LexicalJudge(), name, folder)
        yield Value("lexical judge, AUC", name, ours, least=least, earlier=EARLIER[name])
        yield Value("content words alone, AUC", name, content)
        yield Value("pairs of words alone, AUC", name, bigrams)
        yield Value("lexical judge less the better of both", name, ours - max(content, bigrams))
    grades = [pair.grade for pair in pairs("MTRAG", folder)]
    correlation = spearman(scores(LexicalJudge(), "MTRAG", folder), grades)
    yield Value("lexical judge, Spearman with the mean grade", "MTRAG", correlation)


def check_values(folder: Path) -> Iterator[Value]:
    """AUC with all checks less that without one of them: what each gains, on each set."""
    for check in CHECKS:
        for name in PAIRS:
            without = judge_auc(LexicalJudge(**{check: False}), name, folder)
            gain = judge_auc(LexicalJudge(), name, folder) - without
            yield Value(f"gain of {check}", name, gain, least=-LOSS)


def evidence_values(folder: Path) -> Iterator[Value]:
    for name, read in EVIDENCE.items():
        cases = read(folder)
        ranked = [evidence_scores(case.hypothesis, case.sentences) for case in cases]
        pooled = auc(
            [score for row in ranked for score in row], [label for case in cases for label in case.is_evidence]
        )
        yield Value("evidence sentence, AUC", name, pooled, least=EVIDENCE_FLOORS.get(name))
        yield Value("best sentence is evidence", name, best_share(cases, ranked), least=EVIDENCE_FLOORS.get(name))


def best_share(cases: Sequence[EvidenceCase], ranked: Sequence[Sequence[float]]) -> float:
    """How often the sentence with the highest score is evidence."""
    best = [case.is_evidence[int(np.argmax(row))] for case, row in zip(cases, ranked, strict=True)]
    return sum(best) / len(best)


def threshold_rows(folder: Path) -> Iterator[tuple[str, float, float, float]]:
    """Of each set: the best threshold, balanced accuracy there, and that of the labels with the default one."""
    for name in PAIRS:
        positive = np.array([pair.supported for pair in pairs(name, folder)])
        score = np.array(scores(LexicalJudge(), name, folder))
        best = max(np.unique(score.round(2)), key=lambda least: balanced_accuracy(score >= least, positive))
        labels = np.array([verdict.label == "supported" for verdict in verdicts(LexicalJudge(), name, folder)])
        yield name, float(best), balanced_accuracy(score >= best, positive), balanced_accuracy(labels, positive)


def span_values(folder: Path) -> Iterator[Value]:
    """Characters of RAGTruth's hallucinated spans; the questions are halved, as the cutoff was chosen on one half."""
    answers = ragtruth_answers(folder)
    questions = sorted({answer.question for answer in answers})
    ways: Mapping[str, Callable[[MarkedAnswer], Sequence[Span]]] = {
        "unsupported spans": lambda answer: unsupported_spans(answer.answer, answer.context),
        "missing words alone": _missing_words,
    }
    for way, spans in ways.items():
        predicted = [spans(answer) for answer in answers]
        for half, members in (
            ("all", set(questions)),
            ("half of the choice", set(questions[::2])),
            ("other half", set(questions[1::2])),
        ):
            precision, recall, f1 = character_f1(answers, predicted, members)
            floor = SPAN_FLOOR if way == "unsupported spans" and half != "half of the choice" else None
            yield Value(f"{way}, character F1", f"RAGTruth QA, {half}", f1, least=floor)
            yield Value(f"{way}, precision", f"RAGTruth QA, {half}", precision)
            yield Value(f"{way}, recall", f"RAGTruth QA, {half}", recall)


def character_f1(
    answers: Sequence[MarkedAnswer], predicted: Sequence[Sequence[Span]], questions: Set[str]
) -> tuple[float, float, float]:
    """Precision, recall and F1 over the characters of all answers to these questions."""
    n_both = n_predicted = n_gold = 0
    for answer, spans in zip(answers, predicted, strict=True):
        if answer.question in questions:
            own = {i for start, end in spans for i in range(start, end)}
            gold = {i for start, end in answer.spans for i in range(start, end)}
            n_both, n_predicted, n_gold = n_both + len(own & gold), n_predicted + len(own), n_gold + len(gold)
    return n_both / n_predicted, n_both / n_gold, 2 * n_both / (n_predicted + n_gold)


def _missing_words(answer: MarkedAnswer) -> list[Span]:
    vocabulary = {word.form for word in words(answer.context)}
    return [(word.start, word.end) for word in words(answer.answer) if word.form not in vocabulary]
