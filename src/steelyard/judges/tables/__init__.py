"""Verdicts on all answers of a system: their tables, frames, arrays and files."""
