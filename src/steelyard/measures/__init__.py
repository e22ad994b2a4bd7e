"""Measures: pure functions to one value per query, from the ranks and gains of judged documents, or from verdicts."""

from steelyard.measures import evidence, graded, ranking, sets  # noqa: F401  registers the families

# isort: off
from steelyard.measures import answers, citations, abstention, text_overlap, other_tools  # noqa: F401  as they are listed

# isort: on
from steelyard.measures.alignment import Alignment
from steelyard.measures.judged_answers import JudgedAnswers
from steelyard.measures.parameters import Gain, Number, Word
from steelyard.measures.registry import Definition, definition, definitions, measure
from steelyard.measures.spec import Measure, make, parse, parse_all

__all__ = [
    "Alignment",
    "Definition",
    "Gain",
    "JudgedAnswers",
    "Measure",
    "Number",
    "Word",
    "definition",
    "definitions",
    "make",
    "measure",
    "parse",
    "parse_all",
]
