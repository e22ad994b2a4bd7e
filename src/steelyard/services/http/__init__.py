"""Requests over HTTP: sent, repeated, timed and read."""
