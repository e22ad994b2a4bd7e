"""Sinks: where a monitor sends its messages, and where it writes how things are."""
