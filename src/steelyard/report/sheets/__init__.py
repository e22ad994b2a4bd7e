"""Results as sheets of text in the reader's language: a header, rows, notes; no format yet."""
