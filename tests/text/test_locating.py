"""Locating quotes: its table of cases, real passages, and what comes nearest."""

import gzip
import json
import random
import re
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from steelyard.base.errors import InputError
from steelyard.text.folding import DEFAULT_STEPS, STEPS, fold, fold_with_offsets
from steelyard.text.locating import LONGEST_COMPARED, Locator, locate, why_not
from tests.hypothesis_profiles import examples
from tests.shared_data import shared

CASES = Path(__file__).resolve().parents[1] / "cases" / "locating.jsonl"
ROWS = [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()]
quick = examples(200)
small = st.text(st.sampled_from("aAb 天\nﬁ“-"), max_size=20)


@pytest.mark.parametrize("row", ROWS, ids=[row["label"] for row in ROWS])
def test_cases(row: dict) -> None:  # type: ignore[type-arg]
    text = row["input"]["text"]
    spans = Locator(text, row["input"]["steps"]).find(row["input"]["quote"])
    assert [text[a:b] for a, b in spans] == row["want"], row["comment"]
    assert spans == sorted(set(spans))


@quick
@given(small, small, st.sampled_from([(), DEFAULT_STEPS, tuple(STEPS)]))
def test_all_occurrences(text: str, quote: str, steps: tuple[str, ...]) -> None:
    wanted, folded = fold(quote, steps).strip(), fold_with_offsets(text, steps)
    assume(wanted)
    n = len(wanted)
    naive = [i for i in range(len(folded.text) - n + 1) if folded.text[i : i + n] == wanted]
    spans = Locator(text, steps).find(quote)
    assert spans == sorted({folded.source(i, i + n) for i in naive})
    assert all(text[a:b] == text[a:b].strip() != "" for a, b in spans)


@quick
@given(st.text(st.sampled_from("ab c天"), min_size=1, max_size=8), small)
def test_the_nearest_in_a_short_text_is_the_best(quote: str, text: str) -> None:
    wanted, folded = fold(quote).strip(), fold(text)
    assume(wanted)
    best = min(edit_distance(wanted, folded[a:b]) for a in range(len(folded) + 1) for b in range(a, len(folded) + 1))
    nearest = Locator(text).nearest(quote)
    if nearest is None:
        assert best == len(wanted) or not folded.strip() or " " in wanted
        return
    assert nearest.similarity == pytest.approx(1 - best / len(wanted))
    assert nearest.text == text[nearest.start : nearest.end] == nearest.text.strip() != ""


def edit_distance(one: str, other: str) -> int:
    row = list(range(len(other) + 1))
    for i, c in enumerate(one, 1):
        last, row = row, [i]
        for j, d in enumerate(other, 1):
            row.append(min(last[j] + 1, row[-1] + 1, last[j - 1] + (c != d)))
    return row[-1]


@pytest.mark.parametrize(
    "alphabet", ["abcdefghijklmnopqrstuvwxyz    ", "天下大势分久必合周末七国争并入于秦及灭之后楚汉，。"]
)
def test_the_nearest_in_a_long_text(alphabet: str) -> None:
    draw = random.Random(7)
    text = "".join(draw.choices(alphabet, k=200_000))
    for rate in (0.02, 0.1, 0.25):
        start = draw.randrange(len(text) - 500)
        passage = text[start : start + 500].strip()
        changed = "".join(c if draw.random() > rate else draw.choice(["", "x", c + "y"]) for c in passage)
        nearest = Locator(text).nearest(changed)
        assert nearest is not None
        assert abs(nearest.start - start) <= 8
        assert abs(len(nearest.text) - len(passage)) <= 16
        assert 0.99 > nearest.similarity > 1 - rate * 1.5


def test_nothing_near() -> None:
    assert Locator("").nearest("a") is None
    assert Locator(" \n ").nearest("a b") is None
    assert Locator("天地玄黄").nearest("abc") is None
    assert Locator("天地玄黄" * 100_000).nearest("no such letters at all in the other one") is None
    assert Locator("abc").nearest("abc") is not None


def test_a_very_long_quote_is_judged_where_it_differs() -> None:
    draw = random.Random(3)
    text = "".join(draw.choices("abcdefghij ", k=6 * LONGEST_COMPARED))
    at = 2 * LONGEST_COMPARED + 100
    nearest = Locator(text, ()).nearest(text[:at].strip() + "ZZZ" + text[at : at + LONGEST_COMPARED])
    assert nearest is not None
    assert nearest.similarity > 0.99
    assert nearest.start <= at <= nearest.end <= nearest.start + LONGEST_COMPARED + 10


@pytest.mark.parametrize("quote", ["", "  \n", "\u3000"])
def test_a_blank_quote_is_refused(quote: str) -> None:
    locator = Locator("some text")
    for call in (locator.find, locator.nearest, locator.why_not):
        with pytest.raises(InputError, match="is blank"):
            call(quote)


def test_occurrences() -> None:
    text = "秤，权衡也。秤之为用"
    assert locate(text, "秤") == [(0, 1), (6, 7)]
    assert locate(text, "秤", occurrence=2) == [(6, 7)]
    for wrong in (0, 3, -1):
        with pytest.raises(InputError, match=f"'秤' occurs 2 times; occurrence {wrong} must lie from 1 to 2"):
            locate(text, "秤", occurrence=wrong)
    with pytest.raises(InputError, match="occurs once"):
        locate(text, "权", occurrence=2)


@pytest.mark.parametrize(
    ("text", "quote", "steps", "further"),
    [
        ("he said “no” at once", '"no" at once', DEFAULT_STEPS, "lower, white_space, quotes"),
        ("他是位高\n权重的人，第一个到", "位高权重的人", ("lower",), "lower, white_space"),
        ("of high sta-\ntion, came", "high station", DEFAULT_STEPS, "lower, white_space, line_wraps"),
        ("Anna—“yes”", 'anna-"yes"', DEFAULT_STEPS, "lower, white_space, quotes, dashes"),
        ("更換電池", "更换电池", DEFAULT_STEPS, "lower, white_space, simplified"),
        ("Anna Pávlovna", "anna Pavlovna", DEFAULT_STEPS, "lower, white_space, accents"),
        ("the ﬁnal word", "final", DEFAULT_STEPS, "lower, white_space, nfkc"),
        ("Anna\nPávlovna", "anna pávlovna", (), "lower, white_space"),
    ],
)
def test_further_steps_are_named(text: str, quote: str, steps: tuple[str, ...], further: str) -> None:
    for surrounding in ("", "Something else stands here. 别的。 " * 2000):
        whole = surrounding + text + surrounding
        reason = why_not(whole, quote, steps)
        assert f"it is found with steps {further} (--steps, or steps in [weigh]" in reason
        assert Locator(whole, further.split(", ")).find(quote)
        with pytest.raises(InputError, match=re.escape(reason)):
            locate(whole, quote, steps=steps)


def test_the_nearest_passage_is_shown() -> None:
    reason = why_not("The quick brown\r\nfox jumps over it.", "quick brown socks jumps")
    assert "the nearest passage is at characters 4 to 26 (82.6% alike): 'quick brown fox jumps'" in reason
    assert reason.endswith("copy the quote from the document again")
    assert "nothing there resembles it" in why_not("天地", "abc")
    long = why_not("word " * 500, "word " * 200 + "end")
    assert len(long) < 500


def test_war_and_peace() -> None:
    with gzip.open(shared("war_and_peace", "war_and_peace_pg2600.txt.gz"), "rt", encoding="utf-8", newline="") as file:
        text = file.read()
    truth = json.loads(shared("war_and_peace", "ground_truth_anna_pavlovna.json").read_text(encoding="utf-8"))
    locator, spans = Locator(text), []
    for quote in truth["ground_truth_texts"]:
        assert text.count(quote) == 0
        [(start, end)] = locator.find(quote)
        assert fold(text[start:end]) == fold(quote)
        assert Locator(text, ("white_space",)).find(quote) == [(start, end)]
        spans.append((start, end))
    assert spans[1][0] < spans[2][0] < spans[1][1] < spans[2][1]
    straight = truth["ground_truth_texts"][0].replace("“", '"').replace("”", '"').replace("elite", "élite")
    nearest = locator.nearest(straight)
    assert nearest is not None
    assert (nearest.start, nearest.end) == spans[0]
    assert 0.99 < nearest.similarity < 1
