"""Results for people and programs to read, in levels: words, contents, sheets, formats, charts, page, report."""
