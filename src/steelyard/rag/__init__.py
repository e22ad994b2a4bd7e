"""The reference pipeline: load, chunk, embed, index, fuse, rerank, generate; and runs of any system."""
