"""A report as charts: Vega-Lite by altair, for the page, and as SVG and PNG files."""
