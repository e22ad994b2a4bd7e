"""What users bring and what runs leave: truths, runs, questions, outputs, corpora, run folders."""
