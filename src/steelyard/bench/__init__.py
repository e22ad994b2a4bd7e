"""Rerankers and whole systems on the balance: quality, latency, throughput, cost and return."""
