"""Is the difference real, and what changed."""
