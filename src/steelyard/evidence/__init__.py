"""Gold evidence, however it was labelled, as truths and alignments."""
