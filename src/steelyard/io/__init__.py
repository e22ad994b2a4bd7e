"""Readers and writers, one per format; they depend on the schema alone."""
