"""Colours of all pictures: legible on light and on dark paper, with every kind of colour blindness, and in print."""

# Orange to blue: distinct with every kind of colour blindness, and by lightness in print.
STEPS = ("#b5481c", "#de8c5c", "#efc7a6", "#b9d2e6", "#6ea2cb", "#1d5a88")
ON_STEPS = ("#ffffff", "#23282d", "#23282d", "#23282d", "#23282d", "#ffffff")
GOOD, POOR, NEUTRAL = "#2f86c8", "#d9601a", "#808a94"
"""Better, worse, and neither; 3 : 1 at least against light and dark paper.  NEUTRAL is no system's colour."""
STAGE_COLOURS = {
    "found": ("#1d5a88", "#ffffff"), "unused": ("#6ea2cb", "#23282d"), "reranked_out": ("#f3dcb5", "#23282d"),
    "below_k": ("#efb98e", "#23282d"), "not_retrieved": ("#de8c5c", "#23282d"), "cut": ("#b5481c", "#ffffff"),
    "not_in_corpus": ("#7d2f12", "#ffffff"), "missing": ("#6d757d", "#ffffff"), "failed": ("#43494f", "#ffffff"),
    "no_gold": ("#c3c9ce", "#23282d"),
}  # fmt: skip
"""Fill and ink of each stage, from what is won over what was lost late to what was lost early."""
OUTCOME_COLOURS = {
    "works": ("#1d5a88", "#ffffff"), "beyond_context": ("#4a86b5", "#ffffff"), "other_support": ("#8fb9d9", "#23282d"),
    "rightly_abstained": ("#c9dded", "#23282d"), "unanswerable_abstained": ("#dfeaf3", "#23282d"),
    "over_cautious": ("#f6e3c5", "#23282d"), "self_knowledge": ("#f0cda6", "#23282d"),
    "context_unused": ("#e6a878", "#23282d"), "wrong_chunk": ("#d98452", "#23282d"),
    "noise_followed": ("#bf5a2b", "#ffffff"), "unanswerable_answered": ("#9c3f19", "#ffffff"),
    "hallucination": ("#74290f", "#ffffff"), "no_answer": ("#43494f", "#ffffff"),
    "not_judged": ("#8a929a", "#23282d"), "unknown": ("#c3c9ce", "#23282d"),
}  # fmt: skip
"""Fill and ink of each outcome, from what is right over what is lost to what harms; grey is unread."""
