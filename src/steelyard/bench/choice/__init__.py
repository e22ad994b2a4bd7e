"""Which reranker to take: what it brings in, and what speaks for it."""
