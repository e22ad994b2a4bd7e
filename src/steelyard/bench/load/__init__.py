"""Load on systems: requests sent, timed and counted, and what a system bears."""
