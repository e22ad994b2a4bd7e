"""From when on a pattern is worth a word, each with its reason."""

from __future__ import annotations

MIN_QUESTIONS = 3
"""Fewer questions may do anything by chance, and can be read one by one."""
MIN_SHARE = 0.10
"""A stage that loses fewer questions than this is not where effort pays first."""
MIN_GAIN = 0.05
"""A ceiling less than this above what is reached: a real method gets a part of it, which no user would notice."""
MUCH_OF_LOSS = 1 / 3
"""Order is the problem where a perfect one would make good at least so much of what is missing."""
RERANKED = 50
"""Candidates that a reranker usually gets."""
MIN_ORACLE = 0.03
"""Two systems never fail alike, so that the better of them is always above the best; less is not worth fusing for."""
SAME = 0.01
"""Means that differ by less are called unchanged."""
ALPHA = 0.05
"""Level of the tests for clusters, shared among all groups of a system, and of intervals of differences."""
MIN_GROUP = 5
"""A group of fewer questions is not tested: even if all of it fails, that proves little."""
MIN_CLUSTER = 0.01
"""A cluster of a few questions among thousands is real and not worth a word."""
MIN_EXPLAINED = 0.15
"""A group explains the loss where so many of the lost questions would be found, were they lost as rarely as others: a
third of all questions that fail are about a quarter, or more, where up to half of the others fail too."""
MIN_CUT = 0.10
"""Cut gold is shown less of than whole gold by at least this share of its characters, or borders do not matter."""
CROSSED = 1 / 4
"""Answers are out of step where so many lists hold the neighbour's gold, and at most so many of those their own; and
labels are exchanged where so many of the lost questions come in pairs.  On one subject, a few do by chance."""
MIN_SWAPPED = 4
"""One pair of questions that find each other's gold may be two questions on one subject; two pairs are a pattern."""
FIRST = 2
"""Exchanged labels fit the first result so many times as often as by chance, which puts them anywhere among k."""
MATCHING = 0.05
"""Fewer questions with anything judged in their lists: ids that are the same by chance."""
MIN_MATCHED = 20
"""Of fewer questions, only none at all says that nothing matches."""
EQUAL = 1e-9
"""Values of a question that differ by less are equal."""
MORE = 4
"""What so many times k results would give is named beside a reranker: it is the cheaper way."""
DEEP = 2
"""Lists are deep from this many times k on; in shorter ones, what is not listed may be ranked just below."""
GOOD_RETRIEVAL = 0.80
"""Retrieval is good where so many contexts hold gold: what is lost there is a fifth at most."""
MANY_WRONG = 1 / 3
"""With gold in the context, a good generator is wrong on a few, and an uncalibrated judge on as many as a fifth; a
third is beyond both."""
LOW_UTILIZATION = 0.50
"""On average less than half of what was needed and retrieved is said."""
