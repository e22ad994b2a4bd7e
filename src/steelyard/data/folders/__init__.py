"""Folders of runs and of benches: what they hold, who writes them, and what replaces them."""
