"""Which encoding bytes are taken for, in a table of cases; and that what is not sure is not guessed."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.data.loading.detecting import detect
from tests.hypothesis_profiles import examples

CASES = Path(__file__).resolve().parents[1] / "cases" / "encodings.jsonl"
ROWS = [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()]
CHINESE = next(row["input"]["text"] for row in ROWS if row["label"].startswith("zh in"))


@pytest.mark.parametrize("row", ROWS, ids=[row["label"] for row in ROWS])
def test_cases(row: dict) -> None:  # type: ignore[type-arg]
    text, encoding = row["input"]["text"], row["input"]["encoding"]
    assert detect(text.encode(encoding)) == row["want"], row["comment"]
    if row["want"] is not None:
        assert text.encode(encoding).decode(row["want"]) == text


@examples(40)
@given(st.integers(1, len(CHINESE) - 21), st.integers(20, len(CHINESE)))
def test_a_piece_of_a_chinese_text_is_never_taken_for_another_language(start: int, size: int) -> None:
    assert detect(CHINESE[start : start + size].encode("gb18030")) in ("gb18030", None)


def test_noise_is_text_in_no_encoding() -> None:
    rng = np.random.default_rng(7)
    noise = [bytes(rng.integers(128, 256, size, np.uint8)) for size in range(1, 400)]
    assert {detect(data) for data in noise} == {None}


DAMAGED = (CHINESE, "Größe und Maße, später natürlich auch Übergrößen", "Залог возвращается в течение трёх дней")


@pytest.mark.parametrize("text", DAMAGED)
def test_damaged_utf8_is_not_read_as_something_else(text: str) -> None:
    data = text.encode()
    assert detect(data[:40] + b"\xff" + data[40:]) is None
    assert detect(data[1:] if data[0] > 0x7F else data[:-5] + b"\xfc" + data[-5:]) is None


def test_a_long_text_is_known_by_its_beginning_and_held_to_all_of_it() -> None:
    data = (CHINESE + "\n").encode("gb18030") * 3000
    assert detect(data) == "gb18030"
    assert detect(data + b"\xff\xff") is None
