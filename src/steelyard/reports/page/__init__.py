"""The report as one HTML file that needs no network: words, charts, and every question."""
