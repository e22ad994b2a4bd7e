"""Every way to an Alignment.

rankings   judged documents by id: `align` of a run in rows or dicts
resolver   gold evidence among the chunks of a corpus: pieces (gold) in documents (places) and chunks (resolution)
evidence   the ranks of resolved gold in the outputs of a system: `align_evidence`
document_lists   lists of chunks as lists of documents, which `align` takes, and gold as their labels
"""
