"""Footnotes, and the sources that an answer lists at its end."""

import pytest

from steelyard.text.citing import citation_marks
from steelyard.text.footnotes import footnotes


@pytest.mark.parametrize(
    ("answer", "want"),
    [
        ("", []),
        ("Nine [1].", []),
        ("Nine.[^a]\n\n[^a]: hours.pdf", [("a", "hours.pdf")]),
        ("[^a]: hours.pdf\nNine.[^a]", [("a", "hours.pdf")]),
        ("Nine [1].\n\n[1]: https://a.org", [("1", "https://a.org")]),
        ("Nine [1].\n\n[1] hours.pdf\n[2] fees.pdf", [("1", "hours.pdf"), ("2", "fees.pdf")]),
        ("九点¹。\n\n¹ 手册.pdf", [("1", "手册.pdf")]),
        ("Nine.\n\nSources:\n1. hours.pdf\n- fees.pdf", [("", ""), ("1", "hours.pdf"), ("", "fees.pdf")]),
        ("Nine.\n\n## References\n\n[1] hours.pdf", [("", ""), ("1", "hours.pdf")]),
        ("九点。\n\n**参考资料：**\n【1】手册.pdf", [("", ""), ("1", "手册.pdf")]),
        ("Nine [1].\n---\n[1] hours.pdf", [("1", "hours.pdf")]),
        # Negative: what is said, rather than where it is from.
        ("Nine [1].\n[1] It closes at six.", []),
        ("Nine.\n\n[1] It closes at six.", []),
        ("Nine [1].\n\n[1] hours.pdf\n[2] It closes at six.", []),
        ("Sources:\n- oranges\n- lemons", []),
        ("Nine.\nSources of light:\n- lamps", []),
        ("Nine:\n```\n[^a]: x\n```", []),
        ("九点[1]。\n[1] 六点关门。", []),
        ("来源：\n- 橙子", []),
    ],
)
def test_footnotes(answer: str, want: list[tuple[str, str]]) -> None:
    notes = footnotes(answer, citation_marks(answer))
    assert [(note.label, note.text) for note in notes] == want
    assert all(answer[note.start : note.end].strip() for note in notes)
