"""A look of a monitor in every format."""

from __future__ import annotations

from steelyard.monitoring.looking import Look as MonitorLook
from steelyard.reports.look.page import look_html
from steelyard.reports.views.look import brief_look, look_data, look_sections, series_sheet
from steelyard.reports.views.view import View

VIEWS = {
    MonitorLook: View[MonitorLook](
        "a look",
        blocks=look_sections,
        brief=brief_look,
        data=look_data,
        rows=lambda look: look.frame,
        papers=lambda look, words: [series_sheet(look, words)],
        label="look",
        texts={"html": look_html},
    )
}
