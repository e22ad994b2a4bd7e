"""Rerankers and whole systems on the balance: quality, latency, throughput, cost and return.

More than 3,000 lines, as it measures, weighs and decides: `load` sends and times requests, `quality` weighs what
rerankers did to lists, `money` prices it, `choice` says which to take, and `run` does all of that into a folder that
`Bench.read` reads.
"""
