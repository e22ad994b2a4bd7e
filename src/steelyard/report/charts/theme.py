"""Colours and type of all charts, for light and dark paper."""

from __future__ import annotations

from typing import Any

# Orange to blue: distinct with every kind of colour blindness, and by lightness in print.
STEPS = ("#b5481c", "#de8c5c", "#efc7a6", "#b9d2e6", "#6ea2cb", "#1d5a88")
ON_STEPS = ("#ffffff", "#23282d", "#23282d", "#23282d", "#23282d", "#ffffff")
GOOD, POOR, NEUTRAL = "#2f86c8", "#d9601a", "#808a94"
"""Better, worse, and neither; 3 : 1 at least against light and dark paper.  NEUTRAL is no system's colour."""
N_COLOURED = 6
"""Systems with a colour of their own in a line chart; of more, the best ones and the baseline are coloured."""

_FONT = (
    "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'Liberation Sans', 'PingFang SC', 'Hiragino Sans GB', "
    "'Microsoft YaHei', 'Noto Sans CJK SC', sans-serif"
)


_LIGHT = ("#0077bb", "#d9601a", "#00897b", "#cc3377", "#a87b00", "#6f4fb3")
_DARK = ("#4aa3df", "#ee7733", "#2bb5a0", "#ee6699", "#e0b93a", "#a58be0")


def theme(*, dark: bool) -> dict[str, Any]:
    """The Vega-Lite configuration of all charts, for light or dark paper."""
    ink, muted, rule = ("#e4e7ea", "#a3adb7", "#333b43") if dark else ("#20262c", "#57616b", "#e2e6ea")
    return _theme(ink, muted, rule, "#7db8e2" if dark else "#1d5a88", _DARK if dark else _LIGHT)


def page_theme() -> dict[str, Any]:
    """The same for a drawing inside a page, whose style sheet says what its colours are on light and on dark paper."""
    series = tuple(f"var(--series-{n})" for n in range(1, N_COLOURED + 1))
    return _theme("var(--ink)", "var(--muted)", "var(--rule)", "var(--accent)", series)


def page_colours() -> str:
    """What `page_theme` calls by name and the style sheet of pages does not have, as CSS."""
    pairs = enumerate(zip(_LIGHT, _DARK, strict=True), 1)
    return f":root {{ {' '.join(f'--series-{n}: light-dark({light}, {dark});' for n, (light, dark) in pairs)} }}\n"


def _theme(ink: str, muted: str, rule: str, accent: str, colours: tuple[str, ...]) -> dict[str, Any]:
    # A neutral middle keeps what lies between orange and blue from turning into a third colour.
    ramp = [*STEPS[:3], "#efeae3", *STEPS[3:]]
    axis = {
        "labelColor": muted, "titleColor": muted, "gridColor": rule, "domainColor": rule, "tickColor": rule,
        "labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal", "labelLimit": 190, "domain": False,
        "labelPadding": 6, "titlePadding": 10,
    }  # fmt: skip
    legend = {
        "labelColor": ink, "titleColor": muted, "labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal",
        "orient": "top", "labelLimit": 420, "symbolType": "square", "symbolStrokeWidth": 0,
        "symbolBaseFillColor": muted,
    }  # fmt: skip
    return {
        "background": None, "font": _FONT, "padding": 4, "axis": axis, "legend": legend,
        "title": {"color": ink, "subtitleColor": muted, "fontSize": 15, "anchor": "start", "fontWeight": 600,
                  "offset": 12},
        "view": {"stroke": None}, "mark": {"color": accent}, "text": {"color": ink, "fontSize": 12},
        "rule": {"color": muted}, "range": {"category": [*colours, NEUTRAL], "heatmap": ramp, "ramp": ramp},
    }  # fmt: skip
