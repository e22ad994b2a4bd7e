"""Power: how many questions show a difference, and what given questions can show."""
