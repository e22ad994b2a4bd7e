"""The table of values: one for each system, query and measure."""
