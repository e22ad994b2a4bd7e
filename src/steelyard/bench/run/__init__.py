"""Benches while they are measured: prepared, planned, run, weighed and written."""
