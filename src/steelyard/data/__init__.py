"""Data that users bring and that runs leave: truths, runs, questions, outputs, corpora, run folders."""
