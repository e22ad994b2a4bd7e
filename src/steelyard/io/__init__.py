"""Readers and writers, one per format; they know the schema and nothing else of Steelyard."""
