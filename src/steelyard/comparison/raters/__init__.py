"""Raters, people or judges: how far their labels agree."""
