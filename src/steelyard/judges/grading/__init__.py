"""Grading: how relevant a document is to a question, on a scale, by a judge."""
