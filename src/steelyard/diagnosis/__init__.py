"""Meaning of scores: standards and ratings, gates, where gold was lost, ceilings and advice; codes and numbers only."""
