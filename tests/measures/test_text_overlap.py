"""Measures of shared words: cases in both languages, and published answers with the verdicts of people."""

import csv
import gzip
import io
import json
import re
import string
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.judges.verdict import JudgedAnswer
from steelyard.measures import parse
from tests.hypothesis_profiles import examples
from tests.judges.strategies import arrays_of
from tests.shared_data import shared

CASES = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "cases" / "text_overlap.jsonl").read_text("utf-8").splitlines()
]
ANSWERS = st.lists(
    st.sampled_from(
        ["a", "The", "an", "Eiffel", "eiffel", "tower", "9", "9:00", "1,000", "it's", "its", "-", "U.S.", "us"]
    ),
    max_size=6,
).map(" ".join)
NAMES = ("exact_match", "contains", "token_f1", "content_f1")


def values(answers: list[tuple[str, list[str]]], measure: str) -> np.ndarray:
    records = [
        JudgedAnswer(f"q{n}", "answered", answer=answer, gold_answers=tuple(golds))
        for n, (answer, golds) in enumerate(answers)
    ]
    return parse(measure)(arrays_of(records))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["label"])
def test_words_shared_with_the_gold_answer(case: dict) -> None:  # type: ignore[type-arg]
    want = [np.nan if case[name] is None else case[name] for name in NAMES if name in case]
    found = [values([(case["answer"], case["gold"])], name)[0] for name in NAMES if name in case]
    np.testing.assert_allclose(found, want, atol=5e-7)


@pytest.mark.parametrize("mark", ["[1-2]", "【1】", "[a#1]", " [1][2]"])
def test_citations_are_no_words(mark: str) -> None:
    record = JudgedAnswer(
        "q", "answered", answer=f"Paris{mark}.", gold_answers=(f"Paris {mark}",), context=("a#1", "b")
    )
    assert [parse(name)(arrays_of([record]))[0] for name in NAMES] == [1, 1, 1, 1]
    assert [gold.strip() for gold in arrays_of([record]).gold_answers[0]] == ["Paris"]


def squad(text: str) -> list[str]:
    """The folding of SQuAD's own script."""
    plain = "".join(letter for letter in text.lower() if letter not in string.punctuation)
    return re.sub(r"\b(a|an|the)\b", " ", plain).split()


@examples(300)
@given(ANSWERS, st.lists(ANSWERS.filter(squad), min_size=1, max_size=3))
def test_ascii_texts_are_folded_as_for_squad(answer: str, golds: list[str]) -> None:
    words, others = squad(answer), [squad(gold) for gold in golds]
    shared_words = [(Counter(words) & Counter(gold)).total() for gold in others]
    want = [
        float(any(words == gold for gold in others)),
        float(any(f" {' '.join(gold)} " in f" {' '.join(words)} " for gold in others)),
        max(2 * n / (len(words) + len(gold)) for n, gold in zip(shared_words, others, strict=True)),
    ]
    assert [values([(answer, golds)], name)[0] for name in NAMES[:3]] == pytest.approx(want)


def kappa(people: np.ndarray, machine: np.ndarray) -> float:
    """Cohen's, of two raters who say yes or no."""
    agreed = (people == machine).mean()
    by_chance = people.mean() * machine.mean() + (1 - people.mean()) * (1 - machine.mean())
    return float((agreed - by_chance) / (1 - by_chance))


def auc(score: np.ndarray, good: np.ndarray) -> float:
    """Of a good answer and another one, how often the good one scores higher; a tie counts a half."""
    above = score[good][:, None] - score[~good][None, :]
    return float((above > 0).mean() + (above == 0).mean() / 2)


def test_short_answers_that_people_judged() -> None:
    """1,490 answers of twelve systems to questions of Natural Questions; kappa and AUC as by SQuAD's own folding."""
    folder = shared("answers") / "openqa_nq301"
    table = gzip.decompress((folder / "NQ301_human.tsv.gz").read_bytes()).decode("utf-8")
    golds = {}
    lines = gzip.decompress((folder / "gold_answers_NQ301_text-davinci-003_zeroshot.jsonl.gz").read_bytes())
    for row in map(json.loads, lines.decode("utf-8").strip().split("\n")):
        golds[row["question"]] = row["answer"]
    rows = [
        row
        for row in csv.DictReader(io.StringIO(table), delimiter="\t", quoting=csv.QUOTE_NONE)
        if row["Question"] in golds and re.match("(?i)yes|no", row["Acceptable?"] or "")
    ]
    good = np.array([row["Acceptable?"].lower().startswith("yes") for row in rows])
    answers = [(row["Model answer"], golds[row["Question"]]) for row in rows]
    assert len(rows) == 1490
    assert kappa(good, values(answers, "exact_match") == 1) == pytest.approx(0.3427, abs=0.001)
    assert kappa(good, values(answers, "contains") == 1) == pytest.approx(0.5057, abs=0.001)
    assert auc(values(answers, "token_f1"), good) == pytest.approx(0.8182, abs=0.001)


def test_long_answers_that_people_compared() -> None:
    """280 pairs of answers, each judged twice: differences of content F1 with what people prefer, Pearson."""
    folder = shared("answers") / "ragchecker_meta"
    rows = json.loads(gzip.decompress((folder / "human_labeled_data.json.gz").read_bytes()))

    def unmarked(text: str) -> str:
        return re.sub(r"\[\d+(?:\s*[,;-]\s*\d+)*\]", " ", text)

    one, two = (
        values([(unmarked(row[model]["response"]), [unmarked(row["gt_answer"])]) for row in rows], "content_f1")
        for model in ("model1", "model2")
    )
    found = [
        np.corrcoef(two - one, [row[f"{name}_label"] for row in rows])[0, 1]
        for name in ("correctness", "completeness", "overall")
    ]
    assert found == pytest.approx([0.444, 0.568, 0.540], abs=0.01)
