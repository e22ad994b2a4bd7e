"""Intervals of means and of percentiles."""
