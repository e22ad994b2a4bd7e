"""What a notebook shows of a result: short, in the colours of the notebook, and nothing that acts or asks."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest

from steelyard.base.errors import InputError
from steelyard.reports.html.piece import in_short, piece_html
from steelyard.reports.views.view import Paragraph, Section, Sheet, Text
from steelyard.reports.words import read_words
from tests.reports.browser import NO_CHROMIUM, OVERLAPS, Opened
from tests.reports.kernel import Kernel, kernel
from tests.test_results import MADE, SHOWN, scores

__all__ = ["kernel"]

EN = read_words("en")
_DETAILS = re.compile(r"<details>.*</details>", re.S)
_CELL = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Cells</title>
<style>body {{ margin: 0; padding: 20px; font: 14px/1.43 system-ui, sans-serif; {theme} }}
.jp-RenderedHTMLCommon table {{ table-layout: fixed; margin-left: auto; margin-right: auto; font-size: 12px; }}
.jp-RenderedHTMLCommon :is(td, th) {{ vertical-align: middle; padding: 0.5em; white-space: normal; }}
:not(.markdown).jp-RenderedHTMLCommon :is(td, th) {{ text-align: right; }}
.jp-RenderedHTMLCommon tbody tr:nth-child(odd) {{ background: rgb(128 128 128 / 8%); }}</style>
<body data-jp-theme-light="{light}"><main><h1>Cells</h1>{cells}</main></body></html>"""
"""A page with the outputs of cells, in colours and with rules as JupyterLab has them."""
THEMES = {
    "light": {"light": "true", "theme": "background: #fff; color: rgb(0 0 0 / 87%);"},
    "dark": {"light": "false", "theme": "background: #111; color: #fff;"},
}


def page_of(cells: list[str], theme: str) -> str:
    """The outputs of cells as a notebook in a theme shows them."""
    return _CELL.format(
        cells="".join(f'<div class="jp-RenderedHTMLCommon">{cell}</div>' for cell in cells), **THEMES[theme]
    )


def test_a_cell_shows_the_first_table_and_folds_the_rest() -> None:
    first = Sheet(["system", "mrr"], [["a", "1"]], notes=["one", "two"])
    second = Sheet(["system", "recall"], [["a", "0"]])
    html = piece_html([Text("a is best.", "bold"), first, second], EN)
    shown = _DETAILS.sub("", html)
    assert '<p class="head">a is best.</p>' in shown
    assert ("one" in shown, "two" in shown, "recall" in shown) == (True, False, False)
    folded = _DETAILS.findall(html)[0]
    assert "<summary>More</summary>" in folded
    assert ("two" in folded, "recall" in folded, "a is best" in folded) == (True, True, False)


def test_a_section_keeps_its_title_over_what_is_folded() -> None:
    sheets = [Sheet(["x"], [["1"]]), Sheet(["y"], [["2"]])]
    section = Section("s", "Raters", [Paragraph("Two of them."), Paragraph("steelyard run", is_command=True)], sheets)
    shown, rest = in_short([section, Section("t", "Next")], EN)
    assert shown == [Section("s", "Raters", section.paragraphs, sheets[:1])]
    assert rest == [Section("s", "Raters", [], sheets[1:]), Section("t", "Next")]
    assert piece_html([section], EN).count("Raters</p>") == 2


def test_of_a_long_table_the_first_rows_are_shown_and_all_are_folded() -> None:
    sheet = Sheet(["question"], [[f"q{n}"] for n in range(400)], notes=["a note"])
    (shown,), (rest,) = in_short([sheet], EN)
    assert isinstance(shown, Sheet)
    assert (len(shown.rows), shown.notes) == (12, ["The first 12 of 400 rows; `frame` has all.", "a note"])
    assert rest is sheet
    html = piece_html([sheet], EN)  # A notebook keeps what its cells show: not all of a long table.
    assert html.count("<tr>") == 1 + 12 + 1 + 200
    assert "The first 200 of 400 rows; <code>frame</code> has all." in html


def test_nothing_is_folded_where_all_is_short() -> None:
    assert "<details>" not in piece_html([Sheet(["x"], [["1"]], notes=["one"])], EN)


def test_tables_of_several_cells_have_ids_of_their_own() -> None:
    pieces = [piece_html([Sheet(["x"], [[text]], notes=["note"])], EN) for text in ("1", "2")]
    ids = [set(re.findall(r' id="([^"]+)"', piece)) for piece in pieces]
    assert [len(own) for own in ids] == [2, 2]
    assert not ids[0] & ids[1]
    for piece, own in zip(pieces, ids, strict=True):
        assert set(re.findall(r'aria-(?:labelledby|describedby)="([^"]+)"', piece)) == own


@pytest.mark.parametrize("name", MADE)
def test_a_cell_is_short_and_says_the_same_each_time(name: str, tmp_path: Path) -> None:
    result = MADE[name](tmp_path)
    html = result._repr_html_()
    assert html == result._repr_html_()
    shown = re.sub(r"<(style|figure)>.*?</\1>", "", _DETAILS.sub("", html), flags=re.S)
    assert len(re.findall(r"<(?:tr|p|li|pre)[ >]", shown)) <= 25
    assert html.count("<figure>") <= 1
    assert "<h" not in html  # The outline of a notebook is its author's.


def test_show_displays_in_a_notebook_and_prints_elsewhere(kernel: Kernel, capsys: pytest.CaptureFixture[str]) -> None:
    result = scores()
    result.show(lang="zh", per_query=True)
    ((content,),) = kernel.shown
    assert content["text/plain"] == repr(result)
    assert 'lang="zh-Hans"' in content["text/html"]
    assert "q5" in content["text/html"]
    assert capsys.readouterr().out == ""
    with pytest.raises(InputError, match="scores has no option 'per'"):
        result.show(per=True)


def test_show_prints_in_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    scores().show(lang="en")
    assert capsys.readouterr().out == scores().text(lang="en", width=80)


def test_no_extra_is_needed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for module in ("altair", "vl_convert", "jinja2", "pandas"):
        monkeypatch.setitem(sys.modules, module, None)
    for name in ("Comparison", "Diagnosis", "Gate", "Scores"):
        assert MADE[name](tmp_path)._repr_html_().count('class="steelyard"') == 1


@NO_CHROMIUM
@pytest.mark.parametrize(
    ("lang", "theme"),
    [
        ("zh", "dark"),
        *(pytest.param(*own, marks=pytest.mark.slow) for own in (("en", "light"), ("en", "dark"), ("zh", "light"))),
    ],
)
def test_every_result_is_legible_in_a_notebook(
    lang: str, theme: str, browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LC_ALL", {"en": "C", "zh": "zh_CN"}[lang])
    cells = []
    for name, make in MADE.items():
        (tmp_path / name).mkdir()
        cells.append(make(tmp_path / name)._repr_html_())
    cells += [make()._repr_html_() for make in SHOWN.values()]
    file = tmp_path / "cells.html"
    file.write_text(page_of(cells, theme), "utf-8")
    opened = Opened(browser, file, ready=".steelyard", viewport={"width": 700, "height": 900}, color_scheme=theme)
    assert opened.page.evaluate(OVERLAPS) == []
    assert opened.page.evaluate(OUTSIDE) == []
    assert opened.page.evaluate(ALIGNED) == ["left", "right"]
    opened.look(f"notebook-{lang}-{theme}", within=".jp-RenderedHTMLCommon")
    opened.close()


ALIGNED = """() => [".text", "td:not(.text)"].flatMap((cell) =>
  [...new Set([...document.querySelectorAll(`.steelyard tbody ${cell}`)]
    .map((own) => getComputedStyle(own).textAlign))])"""
"""How words and numbers of tables are aligned, whatever the notebook says of tables."""
OUTSIDE = """() => [...document.querySelectorAll(".steelyard figure > svg")].flatMap((svg) => {
  const box = svg.getBoundingClientRect();
  return [...svg.querySelectorAll("text, circle, rect")].filter((part) => {
    const own = part.getBoundingClientRect();
    return own.left < box.left - 3 || own.right > box.right + 3 || own.bottom > box.bottom + 3;
  }).map((part) => part.textContent || part.outerHTML);
})"""
"""What a drawing has beyond its edge."""
