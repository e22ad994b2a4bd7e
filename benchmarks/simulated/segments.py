"""How often a tag or language that fails is the first advice, and how often tags at random are accused."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from benchmarks.simulated.tables import Table, percent

from steelyard.base.arrays import Bools, Ints
from steelyard.diagnosis.advice import Advice
from steelyard.diagnosis.diagnosing import diagnose
from steelyard.experiment.door.evaluation import weigh

K, DEPTH = 5, 25
QUESTIONS = (30, 60, 120)
ENGLISH, CHINESE = "what is it", "这是什么东西"
LOST = {"ranked 20th": 20, "in no list": 0}
"""Ranks of the gold of questions that are lost; 0 where it is nowhere."""


def advice_on(lost: Bools, rank: int, tags: Sequence[Sequence[str]], chinese: Bools) -> Sequence[Advice]:
    """The advice on a system that ranks the gold first, but of lost questions at the rank."""
    asked, run = [], {}
    for i, (is_lost, tags_of, is_chinese) in enumerate(zip(lost, tags, chinese, strict=True)):
        query_id, gold, others = f"q{i:03}", f"g{i}", [f"f{i}-{j}" for j in range(DEPTH)]
        text = CHINESE if is_chinese else ENGLISH
        asked.append({"qid": query_id, "query": text, "tags": [*tags_of], "evidence": [{"doc": gold}]})
        place = rank - 1 if is_lost else 0
        run[query_id] = others if place < 0 else [*others[:place], gold, *others[place:]]
    return diagnose(weigh(asked, run), k=K).advice


def named_first(n: int, rank: int, base: float, *, fails: float, language: bool, draws: int, seed: int) -> float:
    """The share of draws in which one of three tags, or one of two languages beside them, is named first.

    base, fails   the share of questions that is lost elsewhere, and of those that fail
    """
    rng, count = np.random.default_rng([seed, n, rank]), 0
    for _ in range(draws):
        tag, chinese = rng.permutation(np.arange(n) % 3), rng.permutation(np.arange(n) % 2) == 1
        planted = chinese if language else tag == 0
        lost = rng.random(n) < np.where(planted, fails, base)
        advice = advice_on(lost, rank, [[f"t{t}"] for t in tag], chinese & language)
        wanted = ("cluster_language", "zh") if language else ("cluster_tag", "t0")
        count += bool(advice) and (advice[0].code, advice[0].numbers.get("name")) == wanted
    return count / draws


def accused(n: int, n_tags: int, n_own: int, base: float, *, draws: int, seed: int) -> float:
    """The share of draws in which any of so many tags is accused, of which each question has n_own at random."""
    rng, count = np.random.default_rng([seed, n, n_tags]), 0
    for _ in range(draws):
        tags: list[Ints] = [rng.permutation(n_tags)[:n_own] for _ in range(n)]
        advice = advice_on(rng.random(n) < base, 20, [[f"t{t}" for t in own] for own in tags], np.zeros(n, bool))
        count += any(item.code.startswith("cluster") for item in advice)
    return count / draws


def segment_table(draws: int, seed: int) -> Table:
    """Planted tags and languages named first, of three numbers of questions."""
    rows = []
    for language, fails in ((False, 1.0), (False, 0.9), (True, 0.9)):
        planted = f"{'one of two languages' if language else 'one of three tags'}, {fails:.0%} lost"
        for base in (0.1, 0.5):
            for where, rank in LOST.items():
                shares = [
                    named_first(n, rank, base, fails=fails, language=language, draws=draws, seed=seed)
                    for n in QUESTIONS
                ]
                rows.append([f"{planted}, {base:.0%} elsewhere, {where}", *map(percent, shares)])
    return Table(
        "How often questions that fail are named first", ["planted", *(f"{n} questions" for n in QUESTIONS)], rows
    )


def accused_table(draws: int, seed: int) -> Table:
    """Tags at random, of which any is accused."""
    rows = [
        [
            f"{n_tags} tags, {n_own} of each question, {base:.0%} lost",
            *(percent(accused(n, n_tags, n_own, base, draws=draws, seed=seed)) for n in QUESTIONS),
        ]
        for n_tags, n_own, base in ((3, 1, 0.5), (10, 1, 0.3), (10, 3, 0.5), (30, 5, 0.3))
    ]
    return Table(
        "How often any of several tags at random is accused", ["tags", *(f"{n} questions" for n in QUESTIONS)], rows
    )
