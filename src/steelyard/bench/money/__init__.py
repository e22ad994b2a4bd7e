"""Prices, and what questions cost."""
