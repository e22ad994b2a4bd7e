"""What names mean that other tools give to measures, where no spelling of ours is near."""

from __future__ import annotations

import re

_HIT_RATE = "hit_rate@k is 1 where any relevant document is among the first k"
_TEXTS = (
    "it holds the text against another one, and answers are weighed here by what they say: answer_f1, faithfulness; "
    "compare the values that another tool gave it as a column of numbers (sy.Scores.of)"
)
_FAITHFUL = "faithfulness is the share of the answer's units that the context supports"
_CORRECT = "answer_f1 holds the answer against the gold answer, unit by unit"
_RELEVANT = "answer_relevance is the judge's grade whether the answer addresses the question"
_CITED = "citation_support is the share of the answer's units that what they cite supports: ALCE's recall"
_RANKED = "map(scope=retrieved)@k is what ragas computes of relevant and other contexts"
_SUBTOPICS = "it needs labels for each subtopic of a question, and none of the measures here is of diversity"
_READERS = "it is a model of readers that is not here; rbp, err and ndcg are those that are"
_GROUPS = "it needs preferences, or judgments of several groups, and a truth here has one label for a document"
_MEANINGS = (
    (r"(alpha|α)_n?dcg|(ap|map|p|n?err)_ia|n?nrbp|st?_?recall", _SUBTOPICS),
    (r"bpm|ins[tq]|nerr\d+|sdcg", _READERS),
    (r"compat|rbo", "it compares with another list by rank-biased overlap, which is not here"),
    (r"(all_)?prefs(_.*)?|.+_avgjg(_\d+)?|qrels_jg", _GROUPS),
    (r"(top_?\d*_?k?_?)?acc(uracy)?|hit_?ratio|(answer|success|found)_?rate|top_?(k|\d+)", _HIT_RATE),
    (r"(passage|chunk|fact)_?recall", "evidence_recall@k is the share of gold pieces that are retrieved"),
    (r"(llm_|contextual_).*precision.*", _RANKED),
    (
        r"claim_?recall|(llm_|contextual_).*recall",
        "context_recall is the share of the gold answer that the context holds",
    ),
    (r"id_based_context_precision", "precision@k is the share of the first k that are relevant"),
    (r"id_based_context_recall", "recall@k is the share of the relevant documents among the first k"),
    (r"mean_average_precision", "map is the mean of average precision"),
    (r"hole(s|_rate)?", "unjudged@k is the share of k places without a label"),
    (r"faithful|(response_|answer_)?grounded(ness)?", _FAITHFUL),
    (r"(answer|factual|semantic)_?(correctness|accuracy|similarity)|correctness|g_?eval", _CORRECT),
    (r"((answer|response)_?)?relevancy|response_?relevance", _RELEVANT),
    (r"citation_?(recall|rec)|attribution", _CITED),
    (r"(sacre)?bleu(_?\d)?|rouge(_?(\d|l|lsum))?|meteor|chrf|bert_?score|toxicity|bias|summarization", _TEXTS),
)
_COMPILED = tuple((re.compile(names), meaning) for names, meaning in _MEANINGS)


def meaning(name: str) -> str | None:
    """What to take for a name that no measure has here, or why there is nothing; None for a name that says nothing.

    >>> meaning("accuracy")
    'hit_rate@k is 1 where any relevant document is among the first k'
    """
    plain = re.sub(r"[\s.-]+", "_", name.strip().lower())
    return next((words for names, words in _COMPILED if names.fullmatch(plain)), None)
