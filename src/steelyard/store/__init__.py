"""Entries over time in SQL: what was measured, when and from what, with everything that results hold."""
