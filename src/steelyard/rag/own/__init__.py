"""Systems of the user's own."""
