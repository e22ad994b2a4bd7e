"""The judge that needs nothing but the texts: what words, numbers and names they have in common."""

from steelyard.judges.lexical.judge import LexicalJudge as LexicalJudge
