"""A report on one page: one drawing as HTML, PNG, PDF and SVG, in both languages."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from steelyard.base.errors import InputError, MissingExtraError
from steelyard.reports.words import read_words
from tests.cli.command import steelyard
from tests.reports.browser import NO_CHROMIUM, OVERLAPS, Opened
from tests.reports.pages import check_nothing_acts
from tests.reports.reports import hostile_report, ids_report, long_report, texts_report

for _module in ("altair", "vl_convert"):
    pytest.importorskip(_module, reason="slides need the extra report")
from steelyard.reports.page import slide  # noqa: E402
from steelyard.reports.views.report import care, verdict  # noqa: E402


def drawing(report: Any, code: str = "en") -> ElementTree.Element:
    return ElementTree.fromstring(slide.slide(report, "svg", read_words(code)))


def said(root: ElementTree.Element) -> str:
    return " ".join(" ".join(part.itertext()) for part in root.iter() if part.tag.endswith("}text"))


@pytest.mark.parametrize("code", ["en", "zh"])
def test_a_slide_has_the_finding_the_plot_and_the_gravest_caution(code: str) -> None:
    report, words = texts_report(), read_words(code)
    shown = re.sub(r"\s", "", said(drawing(report, code)))
    for text in (verdict(report, words)[0], care(report, words)[0], words("charts.differences.unclear")):
        assert re.sub(r"\s", "", text)[:60] in shown
    assert "first" in shown
    assert "second" in shown


@pytest.mark.parametrize("suffix", ["html", "png", "pdf", "svg"])
def test_the_suffix_names_the_format(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"slide.{suffix}"
    texts_report().write(path, lang="zh", one_page=True)
    begins = {"html": b"<!doctype html>", "png": b"\x89PNG", "pdf": b"%PDF", "svg": b"<svg"}[suffix]
    assert path.read_bytes().startswith(begins)


def test_of_many_systems_the_first_are_drawn_and_one_has_its_mean() -> None:
    root = drawing(ids_report(15))
    assert "and 4 more systems" in said(root)
    labels = [part.text for part in root.iter() if part.tag.endswith("}text") and part.text]
    assert len([text for text in labels if re.fullmatch(r"system-\d+", text)]) == 10
    assert "ndcg@3" in said(drawing(ids_report(1)))


def test_long_and_hostile_texts_stay_texts_within_the_slide() -> None:
    for report in (hostile_report(), long_report()):
        page = slide.slide(report, "html", read_words("en")).decode()
        check_nothing_acts(page)
        lines = [line for line in drawing(report).iter() if line.tag.endswith("}tspan") and line.get("y")]
        assert lines
        assert max(float(line.get("y", 0)) for line in lines) < 720


def test_lines_break_where_words_and_numbers_stay_whole() -> None:
    lines = slide._lines("a difference of 0.25 (p = 0.036; ≥ 0.082)", 110, 10)
    assert " ".join(lines).replace("\u00a0", " ") == "a difference of 0.25 (p = 0.036; ≥ 0.082)"
    assert not [line for line in lines if line.endswith(("=", "≥"))]
    for width in range(60, 200, 10):
        lines = slide._lines("有的问题没有任何结果（bm25），见下。", width, 10)
        assert not [line for line in lines if line.endswith("（") or line.startswith(("）", "，", "。"))]


def test_other_files_and_a_missing_extra_are_refused_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = texts_report()
    with pytest.raises(InputError, match=r"slide\.md: one page is written as \.html, \.pdf, \.png or \.svg"):
        report.write(tmp_path / "slide.md", one_page=True)
    monkeypatch.setitem(__import__("sys").modules, "vl_convert", None)
    with pytest.raises(MissingExtraError, match=r"the report on one page needs vl_convert.*pip install"):
        report.write(tmp_path / "slide.png", one_page=True)


def test_the_command_writes_one_page(tmp_path: Path) -> None:
    (tmp_path / "truth.qrels").write_text("q1 0 a 1\nq2 0 b 1\nq3 0 c 1\n")
    for name, ranks in (("one", "abc"), ("two", "bca")):
        lines = [f"q{i} Q0 {doc} 1 1.0 {name}" for i, doc in enumerate(ranks, 1)]
        (tmp_path / f"{name}.run").write_text("\n".join(lines) + "\n")
    runs = ("report", "truth.qrels", "one.run", "two.run", "-m", "mrr@10", "--one-page")
    done = steelyard(*runs, "-o", "slide.svg", "-o", "slide.pdf", cwd=tmp_path)
    assert done.stdout.split() == [b"slide.svg", b"slide.pdf"]
    assert b"one" in (tmp_path / "slide.svg").read_bytes()
    for words in (runs, (*runs, "-o", "slide.md"), (*runs[:-1], "-o", "slide.png")):
        done = steelyard(*words, cwd=tmp_path)
        assert done.returncode == 2
        assert len(done.stderr.splitlines()) == 1
        assert b"--one-page" in done.stderr or b"one page" in done.stderr


@pytest.mark.slow
@NO_CHROMIUM
def test_no_text_of_a_slide_is_cut_or_lies_on_another(browser: Any, tmp_path: Path) -> None:
    for name, report in (("texts", texts_report(title="Spring")), ("long", long_report()), ("many", ids_report(15))):
        file = tmp_path / f"{name}.html"
        report.write(file, lang="en", one_page=True)
        tab = Opened(browser, file, ready=".slide svg", viewport={"width": 1440, "height": 900})
        for code in ("en", "zh"):
            tab.speak(code)
            beyond = """() => { const edge = document.querySelector(".slide svg").getBoundingClientRect();
              return [...document.querySelectorAll(".slide svg text")].filter((text) => {
                const own = text.getBoundingClientRect();
                return own.width && (own.left < edge.left || own.right > edge.right || own.bottom > edge.bottom);
              }).map((text) => text.textContent); }"""
            assert tab.page.evaluate(beyond) == []
            assert tab.page.evaluate(OVERLAPS) == []
        tab.look(f"slide-{name}")
        tab.close()
