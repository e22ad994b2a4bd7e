"""Charts as files: SVG and PNG."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steelyard.base.errors import InputError
from steelyard.base.extras import require
from steelyard.base.own_paths import own_file
from steelyard.reports.charts.drawing import draw_charts
from steelyard.reports.charts.plot import page_theme, spec_of, theme
from steelyard.reports.contents import Contents
from steelyard.reports.words import Words

if TYPE_CHECKING:
    from altair import TopLevelMixin

FORMATS = ("svg", "png")


def save_charts(
    contents: Contents, folder: str | Path, *, words: Words, formats: Sequence[str] = FORMATS
) -> list[Path]:
    """Write every chart of a report as FOLDER/NAME.FORMAT, on white paper; PNG at twice the size.

    Raises   InputError for an unknown format or a folder that cannot be written; MissingExtraError.
    """
    return save_drawings(lambda: draw_charts(contents, words=words), folder, formats=formats)


def save_drawings(
    draw: Callable[[], Mapping[str, TopLevelMixin]], folder: str | Path, *, formats: Sequence[str] = FORMATS
) -> list[Path]:
    """The same of charts by name, which are drawn where all that it takes is there."""
    odd = [name for name in formats if name not in FORMATS]
    if odd:
        raise InputError(f"charts are not written as {', '.join(odd)}; there are {' and '.join(FORMATS)}")
    converter = require("vl_convert", extra="report", what="saving charts")
    paths = []
    for name, chart in draw().items():
        spec = spec_of(chart) | {"config": theme(dark=False) | {"background": "white"}}
        for format in formats:
            path = own_file(Path(folder), f"{name}.{format}")
            _write(path, _convert(converter, spec, format))
            paths.append(path)
    return paths


def svg_of(chart: TopLevelMixin, name: str) -> str:
    """A chart as SVG for the inside of a page, in the colours of its style sheet.

    name    what its ids begin with, as a page may hold several
    Raises  MissingExtraError without vl-convert.
    """
    converter = require("vl_convert", extra="report", what="drawing charts")
    spec = {key: value for key, value in spec_of(chart).items() if key != "title"} | {"config": page_theme()}
    svg = str(converter.vegalite_to_svg(spec))
    return svg.replace('id="', f'id="{name}-').replace("url(#", f"url(#{name}-")


def _convert(converter: Any, spec: dict[str, Any], format: str) -> bytes:
    if format == "svg":
        return str(converter.vegalite_to_svg(spec)).encode()
    return bytes(converter.vegalite_to_png(spec, scale=2))


def _write(path: Path, content: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror}); name another folder") from None
