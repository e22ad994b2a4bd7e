"""The report as one HTML file that needs no network: words, charts, and every question."""

from steelyard.report.page.page import render

__all__ = ["render"]
