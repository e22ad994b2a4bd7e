"""The published numbers again, by their own definitions, and by ours beside them where a definition of ours differs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.judged import published
from benchmarks.judged.gold_answers import (
    ASPECTS,
    accepted,
    measured,
    preferences,
    published_content_f1,
    published_token_f1,
)
from benchmarks.judged.lexical import best_share, judge_auc, pairs, scores
from benchmarks.judged.sets import EVIDENCE, unmarked
from benchmarks.simulated.tables import Table

from steelyard.judges.lexical import LexicalJudge, evidence_scores

DIGITS = 3


@dataclass(frozen=True)
class Reproduction:
    """A number of reference.json, the same by our code for its definition, and by our own definition."""

    key: str
    value: float
    ours: float | None = None

    def row(self, reference: float) -> dict[str, Any]:
        """As a line of JSON."""
        return {
            "key": self.key,
            "reference": reference,
            "value": round(self.value, 4),
            "ours": self.ours if self.ours is None else round(self.ours, 4),
            "met": self.equals(reference),
        }

    def equals(self, reference: float) -> bool:
        """Whether it is the published number, to three decimals."""
        return abs(self.value - reference) < 0.5 * 10**-DIGITS


def reproductions(folder: Path) -> list[tuple[Reproduction, float]]:
    """All of them, each with the published number."""
    reference = json.loads((folder / "reference.json").read_text(encoding="utf-8"))
    parts = (_of_pairs, _of_evidence, _of_preferences, _of_accepted)
    return [(number, reference[number.key]) for part in parts for number in part(folder)]


def reproduction_table(rows: Sequence[tuple[Reproduction, float]]) -> Table:
    """One row a number."""
    cells = [
        (
            f"`{number.key}`",
            f"{reference:.4f}",
            f"{number.value:.4f}",
            "yes" if number.equals(reference) else "**no**",
            "–" if number.ours is None else f"{number.ours:.4f}",
        )
        for number, reference in rows
    ]
    title = "Published numbers by their own definitions, and by ours (other tokens, folding and stop words)"
    return Table(title, ("number", "published", "again", "equal", "ours"), cells)


_PAIR_KEYS = {
    "MTRAG": ("mtrag.{}_precision.auc", 0.0),
    "RAGTruth QA": ("ragtruth.{}_precision.auc", 1.0),
    "HAGRID": ("attribution.hagrid.{}_precision.auc", 0.0),
    "Stanford": ("attribution.stanford_gensearch.{}_precision.auc", 0.0),
    "AttributedQA": ("attribution.attributedqa.{}_precision.auc", 0.0),
    "WiCE, supported": ("wice.{}_precision.auc_supported", 0.0),
    "WiCE, partially": ("wice.{}_precision.auc_at_least_partial", 0.0),
}
"""Of each set: its keys, and the score of an answer without words."""


def _of_pairs(folder: Path) -> Iterator[Reproduction]:
    for name, (key, empty) in _PAIR_KEYS.items():
        rows = pairs(name, folder)
        supported = [pair.supported for pair in rows]
        precision = [published.content_precision(pair.hypothesis, pair.premise, empty=empty) for pair in rows]
        bigrams = [published.bigram_precision(pair.hypothesis, pair.premise, empty=empty) for pair in rows]
        ours = judge_auc(LexicalJudge(), name, folder)
        yield Reproduction(key.format("content"), published.auc(precision, supported), ours)
        yield Reproduction(key.format("bigram"), published.auc(bigrams, supported))
        if name == "MTRAG":
            grades = [pair.grade for pair in rows]
            judged = scores(LexicalJudge(), name, folder)
            for statistic in (published.spearman, published.pearson):
                label = f"mtrag.content_precision.{statistic.__name__}"
                yield Reproduction(label, statistic(precision, grades), statistic(judged, grades))
    rows = pairs("VGaokao (zh)", folder)
    supported = [pair.supported for pair in rows]
    ours = judge_auc(LexicalJudge(), "VGaokao (zh)", folder)
    characters = [
        published.content_precision(pair.hypothesis, pair.premise, tokens=published.chinese, stopwords=frozenset())
        for pair in rows
    ]
    yield Reproduction("zh_vgaokao.character_precision.auc", published.auc(characters, supported), ours)
    bigrams = [published.bigram_precision(pair.hypothesis, pair.premise, tokens=published.chinese) for pair in rows]
    yield Reproduction("zh_vgaokao.bigram_precision.auc", published.auc(bigrams, supported))


def _of_evidence(folder: Path) -> Iterator[Reproduction]:
    def content_f1(text: str, sentence: str) -> float:
        return published.token_f1(sentence, text, stopwords=published.STOPWORDS)

    def bigrams(text: str, sentence: str) -> float:
        return published.bigram_precision(text, sentence, tokens=published.chinese)

    clapnq, expmrc = (
        "clapnq.sentence_content_f1_with_answer",
        "zh_expmrc.sentence_bigram_recall_of_question_plus_answer",
    )
    ways: tuple[tuple[str, Callable[[str, str], float], str, str], ...] = (
        ("ClapNQ", content_f1, f"{clapnq}.pooled_auc", f"{clapnq}.best_sentence_selected"),
        ("ExpMRC (zh)", bigrams, f"{expmrc}.pooled_auc", f"{expmrc}.best_sentence_is_evidence"),
        ("WiCE", content_f1, "", "wice.sentence_content_f1.best_sentence_supporting"),
    )
    for name, score, auc_key, best_key in ways:
        cases = EVIDENCE[name](folder)
        labels = [label for case in cases for label in case.is_evidence]
        theirs = [[score(case.hypothesis, sentence) for sentence in case.sentences] for case in cases]
        ours = [evidence_scores(case.hypothesis, case.sentences) for case in cases]
        if auc_key:
            pooled, of_ours = (
                published.auc([value for row in rows for value in row], labels) for rows in (theirs, ours)
            )
            yield Reproduction(auc_key, pooled, of_ours)
        yield Reproduction(best_key, best_share(cases, theirs), best_share(cases, ours))


def _of_preferences(folder: Path) -> Iterator[Reproduction]:
    answers = preferences(folder)
    texts, golds = zip(*((unmarked(answer), [unmarked(gold)]) for answer, gold in answers.answers), strict=True)
    ours = measured(texts, golds, "content_f1", "token_f1")
    theirs = (published_content_f1(answers), published_token_f1(answers))
    for name, published_scores, own_scores in zip(("content_f1", "token_f1"), theirs, ours, strict=True):
        for aspect in ASPECTS:
            for statistic in (published.pearson, published.spearman):
                key = f"ragchecker_meta.{aspect}.{name}_{statistic.__name__}_560"
                value, own = (answers.correlation(s, aspect, statistic) for s in (published_scores, own_scores))
                yield Reproduction(key, value, own)


def _of_accepted(folder: Path) -> Iterator[Reproduction]:
    answers = accepted(folder)
    golds, yes = answers.golds, answers.is_accepted
    ours = dict(
        zip(
            ("em", "contains", "f1"),
            measured(answers.answers, golds, "exact_match", "contains", "token_f1"),
            strict=True,
        )
    )
    ways = {"em": published.exact_match, "contains": published.contains}
    for name, way in ways.items():
        theirs = [way(answer, gold) for answer, gold in zip(answers.answers, golds, strict=True)]
        own = [value == 1 for value in ours[name]]
        yield Reproduction(f"openqa.lexical.{name}_kappa", published.kappa(yes, theirs), published.kappa(yes, own))
        share = (float(np.mean(np.equal(yes, rated))) for rated in (theirs, own))
        yield Reproduction(f"openqa.lexical.{name}_accuracy", *share)
        yield Reproduction(f"openqa.lexical.{name}_share", float(np.mean(theirs)), float(np.mean(own)))
    f1 = [published.squad_f1(answer, gold) for answer, gold in zip(answers.answers, golds, strict=True)]
    yield Reproduction("openqa.lexical.f1_auc", published.auc(f1, yes), published.auc(ours["f1"], yes))
