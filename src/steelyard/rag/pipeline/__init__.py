"""A pipeline: made, prepared, and asked."""
