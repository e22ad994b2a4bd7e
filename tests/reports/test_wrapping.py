import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from steelyard.reports.visible import wrapped
from tests.hypothesis_profiles import examples

TEXTS = st.text(st.sampled_from("ab 退款，。（）“”0.5-；x"), max_size=60)


@examples(300)
@given(TEXTS, st.integers(4, 30))
def test_lines_fit_and_nothing_is_lost(text: str, width: int) -> None:
    lines = wrapped(text, width)
    assert all(cell_len(line) <= width for line in lines)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("short", 10, ["short"]),
        ("no width at all", None, ["no width at all"]),
        ("words are kept whole", 9, ["words are", "kept", "whole"]),
        ("abcdefgh", 4, ["abcd", "efgh"]),
        ("显著性水平 0.05；随机种子", 12, ["显著性水平", "0.05；随机种", "子"]),
        ("汉字，汉字", 5, ["汉", "字，", "汉字"]),
        ("共（三）个", 4, ["共", "（三", "）个"]),
        ("don’t break", 6, ["don’t", "break"]),
    ],
)
def test_breaks(text: str, width: int | None, lines: list[str]) -> None:
    assert wrapped(text, width) == lines
