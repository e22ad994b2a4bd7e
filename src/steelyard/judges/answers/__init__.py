"""Answers before a judge sees them: units, citations, contexts, and the cases that are asked."""
