"""Statistics on per-query values: pure functions, the seed passed in."""
