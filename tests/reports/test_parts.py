"""A report taken apart and made again from its parts: the same bytes in every format, without the runs."""

from __future__ import annotations

import json
from dataclasses import fields

import pytest

from steelyard.base.errors import InputError
from steelyard.reports.contents import Contents
from steelyard.reports.report import Report
from tests.reports.reports import hostile_report, ids_report, texts_report

pytest.importorskip("scipy", reason="comparisons need the extra stats")
REPORTS = {
    "texts": lambda: texts_report(baseline="first", margin=0.1),
    "one": lambda: ids_report(1),
    "many": lambda: ids_report(8),
    "hostile": hostile_report,
}


@pytest.mark.parametrize("name", REPORTS)
def test_a_report_made_of_stored_parts_has_the_same_bytes(name: str) -> None:
    report = REPORTS[name]()
    stored = {part: json.dumps(value, allow_nan=False) for part, value in report.parts().items()}
    again = Report.from_parts({part: json.loads(text) for part, text in stored.items()})
    for lang in ("en", "zh"):
        for format in ("table", "markdown", "latex", "csv", "json"):
            assert again.text(format, lang=lang) == report.text(format, lang=lang)
    assert again.parts() == report.parts()


def test_the_page_of_stored_parts_has_the_same_bytes() -> None:
    pytest.importorskip("altair", reason="pages need the extra report")
    pytest.importorskip("vl_convert", reason="pages need the extra report")
    report = texts_report()
    again = Report.from_parts(json.loads(json.dumps(report.parts())))
    assert again.text("html", lang="en") == report.text("html", lang="en")


def test_no_part_holds_the_systems_that_were_weighed() -> None:
    assert [part.name for part in fields(Contents)] == [
        "scores", "comparison", "sensitivity", "profile", "ratings", "diagnosis", "details", "notes",
        "latency_ms", "gate", "judging", "title", "date",
    ]  # fmt: skip


def test_parts_that_make_no_report_are_refused() -> None:
    parts = ids_report(1).parts()
    with pytest.raises(InputError, match="have format 5, not 1; make the report again"):
        Report.from_parts(parts | {"format": 1})
    with pytest.raises(InputError, match="lacks its parts ratings, details; it has scores, comparison"):
        Report.from_parts({name: part for name, part in parts.items() if name not in ("ratings", "details")})
    with pytest.raises(InputError, match="no part of a report is a 'Pipeline'"):
        Report.from_parts(parts | {"comparison": {"$": "Pipeline"}})
