"""Scales of relevance: ours, and files of one's own."""

import itertools
from pathlib import Path

import pytest

from steelyard.base.errors import InputError
from steelyard.judges.grading.grades import NAMES, Grade, Scale, scale_of

OWN = """
[[grade]]
gain = 4
en = "exact"
zh = "确切"

[[grade]]
gain = 0.5

[[grade]]
gain = 0
en = "off"
"""


@pytest.mark.parametrize("name", NAMES)
def test_ours_have_words_in_both_languages_at_both_ends(name: str) -> None:
    scale = scale_of(name)
    lowest, highest = map(float, name.split("-"))
    assert scale.gains == tuple(float(gain) for gain in range(int(lowest), int(highest) + 1))
    english, chinese = scale.words("en"), scale.words("zh")
    assert [gain for gain, _ in english] == [gain for gain, _ in chinese]
    assert english[0][0] == lowest
    assert english[-1][0] == highest
    assert all(text.isascii() for _, text in english)
    assert not any(text.isascii() for _, text in chinese)


def test_a_file_of_ones_own_is_put_in_order(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(OWN, encoding="utf-8")
    scale = scale_of(file)
    assert (scale.name, scale.gains) == ("mine", (0.0, 0.5, 4.0))
    assert scale.words("zh") == [(0.0, "off"), (4.0, "确切")]
    assert [scale.gain_of(value) for value in (0.5, "0.5", 1, "4/4")] == [0.5, 0.5, None, 4.0]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "two grades at least"),
        ("[[grade]]\ngain = 1\nen = 'a'\n", "two grades at least"),
        ("[[grade]]\ngain = 1\nen = 'a'\n[[grade]]\ngain = 1.0\n", "listed twice"),
        ("[[grade]]\ngain = 0\n[[grade]]\ngain = 1\n", "no grade has words"),
        ("[[grade]]\ngain = 'one'\n", "scale.toml, line 2: grade 1: gain must be a number"),
        ("[[grade]]\ngain = nan\nen = 'a'\n[[grade]]\ngain = 1\n", "not a finite number"),
        ("[[grade]]\ngain = 1\nwords = 'a'\n", "no setting 'words'"),
        ("[[grade]]\nen = 'a'\n", "gain"),
        ("name = 'x'\n", "no setting 'name'"),
        ("grade = 3\n", "grade must be"),
        ("x =", "is not TOML"),
    ],
)
def test_what_is_no_scale_is_refused(tmp_path: Path, text: str, problem: str) -> None:
    file = tmp_path / "scale.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=r"scale\.toml") as error:
        scale_of(str(file))
    assert problem in str(error.value)


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(InputError, match="no scale is called '0-5'; there are 0-10 and 0-3"):
        scale_of("0-5")


def test_a_share_rises_through_all_grades() -> None:
    scale = Scale("own", (Grade(0, "no"), Grade(1), Grade(5, "yes")))
    at = [scale.at(n / 100) for n in range(101)]
    assert (at[0], at[24], at[25], at[74], at[75], at[100]) == (0, 0, 1, 1, 5, 5)
    assert all(first <= second for first, second in itertools.pairwise(at))
