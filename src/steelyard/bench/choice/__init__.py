"""Which reranker to take: what it brings in, what speaks for it, and figures in circulation."""
