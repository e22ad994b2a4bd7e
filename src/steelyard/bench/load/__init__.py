"""Load on systems: requests at times that were laid down before, or from users who wait for their answers."""
