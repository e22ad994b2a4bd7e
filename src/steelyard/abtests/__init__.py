"""Which one users prefer: A/B tests, interleaving, and what the log of one system says of another."""
