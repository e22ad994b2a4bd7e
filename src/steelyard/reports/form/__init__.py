"""The form in which people decide: one HTML file, without network."""
