"""The judge that needs nothing but the texts: what words, numbers and names they have in common."""

from steelyard.judges.lexical.judge import LexicalJudge as LexicalJudge
from steelyard.judges.lexical.judge import unsupported_spans as unsupported_spans
from steelyard.judges.lexical.readings import best_sentence as best_sentence
from steelyard.judges.lexical.readings import evidence_scores as evidence_scores
