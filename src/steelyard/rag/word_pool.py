"""Documents pooled by words: the chunks or documents of a corpus that are nearest to each question."""

from __future__ import annotations

from collections.abc import Mapping

from steelyard.base.choices import Unit
from steelyard.data.chunk_table import Corpus
from steelyard.data.corpus import Chunks
from steelyard.experiment.pools import Pool
from steelyard.rag.searching import BM25
from steelyard.text.recursive import Recursive


def word_pool(
    queries: Mapping[str, str], corpus: Corpus, depth: int, unit: Unit, of_runs: Mapping[str, str | None] | None = None
) -> Pool:
    """The chunks or documents that are nearest to each question by words; all where they are no more than that.

    of_runs   texts of what runs retrieved, by id, as far as they have them: documents that runs name are not cut
    """
    table = _texts_of(corpus, unit, of_runs or {})
    doc_ids, texts = list(table), list(table.values())
    if len(texts) <= depth:
        return Pool(dict.fromkeys(queries, doc_ids), table)
    index = BM25()
    index.build(texts, None)
    hits = {query_id: index.search(query, None, depth)[0] for query_id, query in queries.items()}
    return Pool({query_id: [doc_ids[place] for place in places.tolist()] for query_id, places in hits.items()}, table)


def _texts_of(corpus: Corpus, unit: Unit, of_runs: Mapping[str, str | None]) -> dict[str, str]:
    """The texts to search, by id: of documents, or of chunks, those of the corpus where it has any."""
    documents = corpus.documents or ()
    whole = {document.doc_id: document.text for document in documents if document.text.strip()}
    shared = {
        doc_id: text or whole[doc_id]
        for doc_id, text in of_runs.items()
        if doc_id in whole and (text or "") in whole[doc_id]
    }
    if whole and (unit == "document" or shared):
        return whole | shared  # A document may have its title before the text that a run has.
    if corpus.chunks is not None:
        pairs = zip(corpus.chunks.ids, corpus.chunks.texts, strict=True)
        return {id: text for id, text in pairs if text is not None}
    chunks = Chunks.of(documents, Recursive().spans)
    return dict(zip(chunks.ids, chunks.texts, strict=True))
