"""Off-policy evaluation: what another ranking would have got, from the log of the one that served."""
