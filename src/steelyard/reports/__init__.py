"""Results for people and programs to read, in levels: words, contents, views, formats, charts, page, report."""
