"""Results for people and programs to read."""
