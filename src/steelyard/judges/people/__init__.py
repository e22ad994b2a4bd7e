"""Decisions of people about verdicts: labels, random samples, reviews and calibrations."""
