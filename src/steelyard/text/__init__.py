"""Text, Chinese and English alike: folding, locating, matching, tokens, sentences, chunks.  Pure functions."""
