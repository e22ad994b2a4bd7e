"""Scores, sheets and sections as text: terminal, Markdown, LaTeX, CSV, JSON, JUnit and trec_eval's lines."""
