"""Whether the diagnosis names what is wrong with answers: faults are planted one by one into sound answers.

    python -m benchmarks.answer_faults [--samples N] [--seed N] [--markdown FILE]

Questions and their lists are those of BM25 over the bundled example; the first five results are the context.  A sound
system says the gold answer and cites a chunk with gold, where there is one, and abstains where there is none; of its
answers one in twenty is wrong, and one in twenty an abstention.  The lexical judge judges.  Printed are, for each
fault, the place of the advice that names it among that on answers, and the others; then, in how many sound samples
(four fifths of the questions, drawn at random) each appears although nothing was planted.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.faults import Collection, bundled

from steelyard import Outputs, Questions, diagnose, weigh
from steelyard.judges.judging import judge_answers
from steelyard.judges.lexical import LexicalJudge

K = 5
SLIPS = 0.05
"""Share of the answers of a sound system that are wrong, and again of those that are abstentions."""
ABSTENTIONS = {"en": "I'm sorry, the documents do not say.", "zh": "抱歉，文档中没有提到。"}
CODES = frozenset(
    ("unused", "answers_wrong", "low_utilization", "noise_followed", "should_abstain", "over_cautious", "dangling")
)
"""The advice that comes from answers."""


@dataclass(frozen=True)
class Answers:
    """Questions, the context of each, which of its chunks hold gold, and its answer."""

    questions: Sequence[Mapping[str, Any]]
    contexts: Sequence[Sequence[Mapping[str, Any]]]
    gold: Sequence[Sequence[int]]
    texts: Sequence[str]

    def take(self, rows: Sequence[int]) -> Answers:
        """Those of some questions, in their order."""
        return Answers(*([part[q] for q in rows] for part in vars(self).values()))

    def advice(self) -> list[str]:
        """Codes of what is said of the answers, in order."""
        outputs = Outputs(
            [
                {"qid": question["qid"], "retrieved": context, "answer": text}
                for question, context, text in zip(self.questions, self.contexts, self.texts, strict=True)
            ],
            name="sound",
        )
        questions = Questions(self.questions)
        verdicts = judge_answers(questions, outputs, LexicalJudge())
        diagnosis = diagnose(weigh(questions, outputs, verdicts=verdicts), k=K)
        return [advice.code for advice in diagnosis.advice if advice.code in CODES]


Change = Callable[[Answers, int, np.random.Generator], str]
"""From all answers and the place of a question to another answer for it."""


def sound(collection: Collection, rng: np.random.Generator) -> Answers:
    """The answers of a system that is mostly right."""
    contexts = [list(results or [])[:K] for results in collection.lists]
    outputs = Outputs(
        [{"qid": q["qid"], "retrieved": c} for q, c in zip(collection.questions, contexts, strict=True)], name="bm25"
    )
    labels = weigh(Questions(collection.questions), outputs).labels[0].drop_nulls("doc_id")
    pairs = set(labels.select("query_id", "doc_id").iter_rows())
    gold = [
        [place for place, chunk in enumerate(context) if (question["qid"], chunk["id"]) in pairs]
        for question, context in zip(collection.questions, contexts, strict=True)
    ]
    answers = Answers(collection.questions, contexts, gold, [""] * len(contexts))
    said = [right(answers, q, rng) for q in range(len(contexts))]
    slips = rng.random(len(said))
    for q in np.flatnonzero(slips < SLIPS).tolist():
        said[q] = of_another(answers, q, rng)
    for q in np.flatnonzero((slips >= SLIPS) & (slips < 2 * SLIPS)).tolist():
        said[q] = abstention(answers, q, rng)
    return replace(answers, texts=said)


def right(answers: Answers, q: int, rng: np.random.Generator) -> str:
    """The gold answer, and a chunk with gold; an abstention where there is none."""
    if not answers.gold[q]:
        return abstention(answers, q, rng)
    return f"{answers.questions[q]['gold_answer']} [{answers.gold[q][0] + 1}]"


def abstention(answers: Answers, q: int, _: np.random.Generator) -> str:
    """In the language of the question."""
    return ABSTENTIONS["zh" if is_chinese(answers, q) else "en"]


def of_another(answers: Answers, q: int, rng: np.random.Generator) -> str:
    """The gold answer of another question in the same language: made up, as far as this one is concerned."""
    others = [i for i in range(len(answers.questions)) if i != q and is_chinese(answers, i) == is_chinese(answers, q)]
    return f"{answers.questions[rng.choice(others)]['gold_answer']} [1]"


def of_noise(answers: Answers, q: int, _: np.random.Generator) -> str:
    """What a chunk without gold says."""
    place = next((i for i in range(len(answers.contexts[q])) if i not in answers.gold[q]), 0)
    return f"{answers.contexts[q][place]['text']} [{place + 1}]"


def in_part(answers: Answers, q: int, rng: np.random.Generator) -> str:
    """Something of the subject, and nothing of the gold answer."""
    return str(answers.questions[q]["query"]).rstrip("?？") + "." if answers.gold[q] else right(answers, q, rng)


def beyond(answers: Answers, q: int, _: np.random.Generator) -> str:
    """The same, with a number that no chunk has."""
    return answers.texts[q].rsplit("[", 1)[0] + "[9]"


def is_chinese(answers: Answers, q: int) -> bool:
    """By the query."""
    return any(character >= "一" for character in answers.questions[q]["query"])


def plant(answers: Answers, change: Change, rows: Sequence[int], rng: np.random.Generator) -> Answers:
    """Other answers to some questions."""
    texts = list(answers.texts)
    for q in rows:
        texts[q] = change(answers, q, rng)
    return replace(answers, texts=texts)


def faults(answers: Answers, rng: np.random.Generator) -> Iterator[tuple[str, set[str], Answers]]:
    """The fault in words, the codes that name it, and the answers with it."""
    with_gold = [q for q, places in enumerate(answers.gold) if places]
    without = [q for q, places in enumerate(answers.gold) if not places]
    half, third = (sorted(rng.permutation(with_gold)[: len(with_gold) // n].tolist()) for n in (2, 3))
    good = answers.take(with_gold)
    yield (
        "retrieval good, half of the answers wrong",
        {"answers_wrong"},
        plant(good, of_another, range(0, len(with_gold), 2), rng),
    )
    yield "answers that leave out what is needed", {"low_utilization"}, plant(answers, in_part, with_gold, rng)
    yield "a third follows a chunk without gold", {"noise_followed", "unused"}, plant(answers, of_noise, third, rng)
    yield "never abstains", {"should_abstain"}, plant(answers, of_another, without, rng)
    yield "abstains on half of what it could answer", {"over_cautious"}, plant(answers, abstention, half, rng)
    yield "numbers beyond the context in a third", {"dangling"}, plant(answers, beyond, third, rng)


def accusations(answers: Answers, samples: int, rng: np.random.Generator) -> Counter[str]:
    """How many sound samples each piece of advice is seen in."""
    n = len(answers.questions)
    seen: Counter[str] = Counter()
    for _ in range(samples):
        seen.update(answers.take(sorted(rng.permutation(n)[: 4 * n // 5].tolist())).advice())
    return seen


def tables(samples: int, seed: int) -> Iterator[str]:
    """Planted faults by advice, and false accusations, in Markdown."""
    rng = np.random.default_rng(seed)
    answers = sound(bundled(), rng)
    n_with = sum(map(bool, answers.gold))
    yield f"Bundled example: {len(answers.questions)} questions, {n_with} with gold in the context\n"
    yield "| planted | named at place | all advice on answers |\n|---|---:|---|"
    for fault, codes, planted in faults(answers, rng):
        advice = planted.advice()
        place = next((place for place, code in enumerate(advice, 1) if code in codes), "not named")
        yield f"| {fault} | {place} | {', '.join(f'`{code}`' for code in advice) or '–'} |"
    seen = accusations(answers, samples, rng)
    listed = ", ".join(f"`{code}` in {seen[code]}" for code in sorted(seen)) or "none"
    yield f"\nAccused falsely in {samples} sound samples: {listed}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--markdown", type=Path)
    options = parser.parse_args()
    lines = "\n".join(tables(options.samples, options.seed)) + "\n"
    sys.stdout.write(lines)
    if options.markdown:
        options.markdown.write_text(lines, encoding="utf-8")


if __name__ == "__main__":
    main()
