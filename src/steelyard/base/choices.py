"""Words that options take, in Python and on the command line, which reads them for its help: nothing is loaded."""

from __future__ import annotations

from typing import Literal

FileKind = Literal["run", "truth"]
"""What a file holds."""

OnDuplicate = Literal["error", "first", "max"]
"""What is done with a document that is twice in one query: refused, or the first or the highest is taken."""

Policy = Literal["zero", "skip"]
"""What a query that cannot be measured counts as: 0, or nothing, so that it is left out of the mean."""

IdForm = Literal["nfc"]
"""The Unicode form that ids are brought into before they are compared."""

Unit = Literal["chunk", "document"]
"""What lists hold, and what is weighed: chunks, or documents, each at the best of its chunks."""

Language = Literal["en", "zh"]
"""Of a text, of a report."""

AnswerUnits = Literal["sentences", "claims"]
"""What of an answer is judged: its sentences, or the claims that a language model splits them into."""

AskBy = Literal["question", "text", "chunk"]
"""What a language model judges in one call: the sentences of an answer and of its gold answers by all chunks, those of
each by themselves, or those by one chunk."""

ItemTable = Literal["grounded", "joint", "correctness", "said"]
"""What people are asked: of unit × whole context, unit × all chunks that it cites, unit × gold answers, of which one is
enough, and gold unit × answer."""

Arrivals = Literal["poisson", "constant"]
"""How requests of one rate come: as from many users who know nothing of each other, or at equal distances."""

Prefer = Literal["auto", "cheap", "quality", "net"]
"""Which of the rerankers that are good enough a bench recommends: that with the surest net benefit, or where none is
known the cheapest; the cheapest; that with the best quality; or that with the highest net benefit."""

Scale = Literal["nominal", "ordinal", "interval"]
"""What labels mean: words, words in order, numbers."""

PoolTask = Literal["grades", "quotes"]
"""What people decide about pooled documents: how relevant each is, or which of their words are the gold."""

EntryFormat = Literal["files", "mlflow"]
"""In which form entries of a store are exported."""

Analysis = Literal["fixed", "always-valid"]
"""When an A/B test gives a verdict: once, at its horizon; or at any look, by intervals that are always valid."""

UnitKind = Literal["user", "session", "request"]
"""What an A/B test assigns to an arm."""

InterleavingMethod = Literal["team-draft", "probabilistic"]
"""team-draft: systems take turns, a coin says whose is first;   probabilistic: every pick is drawn, of two systems."""

Credit = Literal["click", "dwell", "citation"]
"""What counts for a result: it was opened, it was read for 30 seconds or longer, the answer cites it."""
