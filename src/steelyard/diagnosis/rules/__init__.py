"""Rules of advice: one small function a pattern, by what it is about."""
