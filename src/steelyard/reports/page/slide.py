"""A report as one slide: the finding, its numbers and plot, what to try first, and the gravest caution.

One drawing is the source of every format, so that HTML, PNG, PDF and SVG show the same.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from unicodedata import east_asian_width

from steelyard._version import __version__
from steelyard.base.errors import InputError
from steelyard.base.extras import require
from steelyard.io.write import write_bytes
from steelyard.reports.charts.drawing import draw_differences, draw_leaderboard
from steelyard.reports.charts.plot import FONT, spec_of, theme
from steelyard.reports.contents import Contents
from steelyard.reports.html.shell import Page, in_each_language, page_html
from steelyard.reports.views.colours import GOOD, POOR
from steelyard.reports.views.diagnosis import advice_text
from steelyard.reports.views.report import care, first_advice, subtitle_text, verdict
from steelyard.reports.visible import breakable, unbroken, visible
from steelyard.reports.words import Words

_WHAT = "the report on one page"
_WIDTH, _HEIGHT, _EDGE = 1280, 720, 64
_LEFT, _GAP = 470, 48
_INK, _MUTED, _RULE = "#20262c", "#57616b", "#dfe4e8"
_CHINESE = "'PingFang SC', 'Microsoft YaHei', 'Noto Sans CJK SC', 'Source Han Sans SC', "
"""First of the fonts in Chinese: the converter takes one family of the list, and for what it lacks any other."""
_LATIN = 0.58
"""Width of a letter in its size, on average and rather too much: no font is at hand to measure it."""
_MOST = 10
"""Systems that the plot of a slide shows: more are too small to read."""
_LINE = 1.36
_STYLE = """
.slide { padding: 1.5rem 0; }
.slide svg { display: block; width: 100%; height: auto; border: 1px solid var(--rule); border-radius: 8px; }
main { max-width: 90rem; }
@media print { @page { size: A4 landscape; margin: 8mm; } .slide { padding: 1.5rem 0; }
.slide svg { border: 0; } }
"""


def write_slide(contents: Contents, path: str | Path, words: Words) -> None:
    """Write the slide as HTML, PNG, PDF or SVG, by the suffix of the file.

    Raises   InputError for another suffix; MissingExtraError without altair and vl-convert; OutputError.
    """
    write_bytes(path, slide(contents, slide_format(path), words))


def slide_format(path: str | Path) -> str:
    """The format of the file of a slide.

    Raises   InputError for one in which there are no slides.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in (".html", ".htm", ".pdf", ".png", ".svg"):
        raise InputError(f"{path}: one page is written as .html, .pdf, .png or .svg")
    return {".htm": "html"}.get(suffix, suffix[1:])


def slide(contents: Contents, format: str, words: Words) -> bytes:
    """The slide in a format; as HTML in both languages, and it loads nothing.

    Raises   MissingExtraError
    """
    converter = require("vl_convert", extra="report", what=_WHAT)
    if format == "html":
        pages = {}
        for code, own in in_each_language(words).items():
            drawing, title = _drawing(contents, own, converter), visible(verdict(contents, own)[0])
            pages[code] = Page(
                title, f'<h1 class="alternative">{html.escape(title)}</h1>\n<div class="slide">{drawing}</div>\n'
            )
        return page_html(pages, words.code, style=_STYLE).encode()
    drawing = _drawing(contents, words, converter)
    if format == "svg":
        return drawing.encode()
    data: bytes = converter.svg_to_png(drawing, scale=2) if format == "png" else converter.svg_to_pdf(drawing)
    return data


def _drawing(contents: Contents, words: Words, converter: Any) -> str:
    """The slide as SVG, on white."""
    said, inner = [visible(text) for text in verdict(contents, words)], _WIDTH - 2 * _EDGE
    parts, y = list[str](), float(_EDGE)
    if contents.title:
        lines, y = _text(visible(contents.title), _EDGE, y, inner, 16, most=1, colour=_MUTED)
        parts.append(lines)
    size = next((size for size in (36, 32, 28) if len(_lines(said[0], inner, size)) <= 2), 26)
    lines, y = _text(said[0], _EDGE, y, inner, size, most=3, weight=700)
    parts.append(lines)
    if said[1:]:
        lines, y = _text(said[1], _EDGE, y + 4, inner, 17, most=3, colour=_MUTED)
        parts.append(lines)
    top = y + 26
    parts.append(f'<path d="M{_EDGE} {top - 6:g}H{_WIDTH - _EDGE}" stroke="{_RULE}"/>')
    parts += _beside(contents, words, top + 14)
    x = _EDGE + _LEFT + _GAP
    parts.append(_plot(contents, words, converter, x, top + 14, _WIDTH - _EDGE - x, _HEIGHT - 70 - top))
    dated = words("shell.between").join([subtitle_text(contents, words), contents.date])
    about = f"{visible(dated)} · Steelyard {__version__}"
    parts.append(_text(about, _EDGE, _HEIGHT - 44, inner, 13, most=1, colour=_MUTED)[0])
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{_HEIGHT}" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        f'role="img" aria-label="{html.escape(" ".join(said))}" font-family="{html.escape(_font(words))}">\n'
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#ffffff"/>\n{"".join(parts)}</svg>\n'
    )


def _font(words: Words) -> str:
    return _CHINESE + FONT if words.code == "zh" else FONT


def _beside(contents: Contents, words: Words, y: float) -> Iterator[str]:
    """What to try first, then the gravest caution, down the left side."""
    blocks = []
    if (advice := first_advice(contents)) is not None:
        text = advice_text(advice, words)
        blocks.append((words("page.summary.advice"), text.title, [text.action, text.gain], GOOD))
    if cautions := care(contents, words):
        blocks.append((words("page.care.title"), "", cautions[:1], POOR))
    for head, title, texts, colour in blocks:
        start = y
        for part, size, weight, tone in (
            (head, 14, 400, _MUTED), (title, 19, 700, _INK), *((text, 16, 400, _INK) for text in texts),
        ):  # fmt: skip
            if part:
                lines, y = _text(
                    visible(part).replace("`", ""), _EDGE + 16, y, _LEFT - 16, size, most=5, weight=weight, colour=tone
                )
                yield lines
        yield f'<rect x="{_EDGE}" y="{start:g}" width="4" height="{y - start:g}" fill="{colour}"/>\n'
        y += 22


def _plot(contents: Contents, words: Words, converter: Any, x: float, y: float, width: float, height: float) -> str:
    """The differences to the baseline or leader, or else the means, as a drawing within the slide."""
    chart = draw_differences(contents, words) or draw_leaderboard(contents, words)
    spec = spec_of(chart)
    names = [row["system"] for rows in spec["datasets"].values() for row in rows if "system" in row]
    systems = list(dict.fromkeys(names))[:_MOST]
    spec["datasets"] = {
        name: [row for row in rows if row.get("system", systems[0]) in systems]
        for name, rows in spec["datasets"].items()
    }
    config = theme(dark=False)
    for part in ("axis", "legend"):
        config[part] |= {"labelFontSize": 16, "titleFontSize": 15, "labelLimit": 200}
    config |= {"font": _font(words)}
    config["axis"] |= {"labelColor": _INK, "titleLimit": 480}
    spec |= {"config": config, "width": 400, "height": max(38 * len(systems), 60)}
    spec.pop("title", None)
    svg = str(converter.vegalite_to_svg(spec))
    whole = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)
    assert whole is not None
    n_left_out = len(set(names)) - len(systems)
    below = 26 if n_left_out else 0
    scale = min(width / float(whole[1]), (height - below) / float(whole[2]), 1.25)
    w, h = (scale * float(side) for side in whole.groups())
    placed = f'<svg x="{x:g}" y="{y:g}" width="{w:.6g}" height="{h:.6g}" {whole[0]}>'
    drawing = re.sub(r"<svg[^>]*>", placed, svg, count=1)
    more = words("page.slide.more", n=n_left_out) if n_left_out else ""
    return drawing + _text(more, x, y + h, width, 14, most=1, colour=_MUTED)[0]


# Text, which SVG does not wrap ---------------------------------------------------------------------------------------


def _text(
    text: str, x: float, y: float, width: float, size: int, *, most: int, weight: int = 400, colour: str = _INK
) -> tuple[str, float]:
    """Lines of text below y, and where the next ones begin; of more than so many lines an ellipsis ends the last."""
    lines = _lines(text, width, size)
    if len(lines) > most:
        lines = [*lines[: most - 1], f"{lines[most - 1].rstrip('，。；：,;: ')} …"]
    spans = "".join(
        f'<tspan x="{x:g}" y="{y + size + place * size * _LINE:.6g}">{html.escape(line)}</tspan>'
        for place, line in enumerate(lines)
    )
    end = y + len(lines) * size * _LINE + 6
    return f'<text font-size="{size}" font-weight="{weight}" fill="{colour}">{spans}</text>\n', end


def _lines(text: str, width: float, size: int) -> Sequence[str]:
    """A text in lines that are no wider than this; between words, and between Chinese characters.

    >>> _lines("hybrid beats keyword by far", 160, 16)
    ['hybrid beats', 'keyword by far']
    >>> _lines("混合检索优于关键词检索。", 100, 16)
    ['混合检索优于', '关键词检索。']
    """
    most, lines = width / size, [""]
    for word in breakable(unbroken(text)):
        for part in [word] if _ems(word) <= most else re.findall(f".{{1,{max(int(most / 1.1), 1)}}}", word):
            if lines[-1] and _ems(lines[-1] + part.rstrip()) > most:
                lines.append("")
            lines[-1] += part
    return [line.rstrip() for line in lines]


def _ems(text: str) -> float:
    return sum(1.0 if east_asian_width(character) in "WF" else _LATIN for character in text)
