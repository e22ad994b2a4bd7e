"""Ranking measures: pure functions from the ranks and gains of the judged documents to one value per query."""

from steelyard.measures import evidence, graded, ranking, sets  # noqa: F401  registers the families
from steelyard.measures.alignment import Alignment
from steelyard.measures.parameters import Gain, Number, Word
from steelyard.measures.registry import Definition, definition, definitions, measure
from steelyard.measures.spec import Measure, make, parse, parse_all

__all__ = [
    "Alignment",
    "Definition",
    "Gain",
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
