"""The door: paths and objects become systems on the scale, aligned with one gold."""
