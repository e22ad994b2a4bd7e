"""Measures of what was shown and answered, without labels and without users."""

import polars as pl

from steelyard.traffic.measures.feedback import SERVED, share
from steelyard.traffic.measures.registry import Ratio, Values, traffic_measure


@traffic_measure(stream="label_free", better="lower", floor=0.005, needs=["impression:doc_ids"])
def empty_rate() -> Ratio:
    """Requests without any result, of those that were served."""
    return share(pl.col("n_results") == 0, SERVED & pl.col("n_results").is_not_null())


@traffic_measure(stream="label_free", better="either", scale="real", needs=["impression:scores"])
def top_score() -> Values:
    """Score of the first result, mean."""
    return Values(pl.col("top_score"))


@traffic_measure(stream="label_free", better="either", scale="real", needs=["impression:scores"])
def score_gap() -> Values:
    """Score of the first result less that of the second, mean."""
    return Values(pl.col("score_gap"))


@traffic_measure(stream="label_free", better="either", floor=0.01, needs=["impression:doc_ids"])
def diversity() -> Ratio:
    """Documents that differ, per result: chunks of one document, DOC#CHUNK, are the same one."""
    return Ratio(pl.col("n_documents"), pl.col("n_results"))


@traffic_measure(stream="label_free", better="either", scale="positive", floor=0.05, needs=["impression:query"])
def query_length() -> Values:
    """Characters of a query, mean."""
    return Values(pl.col("n_characters"))


@traffic_measure(stream="label_free", better="either", floor=0.02, needs=["impression:doc_ids"], usual=[])
def judged(k: int) -> Ratio:
    """Results with a label, of the first k of requests whose query has labels; it needs a truth."""
    return Ratio(pl.col(f"judged@{k}"), pl.col(f"shown@{k}"))


@traffic_measure(stream="label_free", better="either", floor=0.01, needs=["answer:abstained"])
def abstention() -> Ratio:
    """Answers that say that there is none."""
    return share(pl.col("has_abstained"), pl.col("has_abstained").is_not_null())


@traffic_measure(stream="label_free", better="either", scale="real", floor=0.1, needs=["answer:citations"])
def citations() -> Values:
    """Citations of an answer, mean."""
    return Values(pl.col("n_citations"))
