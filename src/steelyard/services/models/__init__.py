"""Models that pipelines and judges share: on this machine, or behind an address."""
