"""Which language a text is in."""

import pytest

from steelyard.text.scripts import language_of


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("", "en"),
        ("123 !?", "en"),
        ("How do I say 谢谢?", "en"),
        ("iPhone 怎么充电？", "zh"),
        ("请问 BM25 和 TF-IDF 有什么区别？", "zh"),
        ("ひらがなとカタカナ", "en"),
        ("𠀋𠀋", "zh"),
        ("abcdefg中文字", "zh"),
        ("abcdefgh中文字", "en"),
    ],
)
def test_the_language_of_a_question(text: str, want: str) -> None:
    assert language_of(text) == want
