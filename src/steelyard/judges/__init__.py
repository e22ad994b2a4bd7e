"""Verdicts on answers: units, judges, and the tables that measures of answers are computed from."""
