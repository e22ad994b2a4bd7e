"""All measures in a list, or all about one: what `steelyard measures` prints."""

from __future__ import annotations

from io import StringIO

from steelyard.measures import definition, definitions, parse
from steelyard.measures.parameters import SHARED, TIES, VIEWS
from steelyard.measures.reference import about, range_of, usage
from steelyard.measures.registry import resolve

_WIDTH = 100


def measures_text(name: str | None = None, *, width: int | None = None, colour: bool = False) -> str:
    """A list of all measures, or all about one.

    name     a spelling of a measure, with or without a cut-off
    width    of lines, 100 by default;   colour   names in bold, for a terminal
    Raises   UnknownMeasureError, MeasureError.
    """
    from rich.console import Console
    from rich.padding import Padding
    from rich.text import Text

    out = StringIO()
    console = Console(file=out, width=width or _WIDTH, highlight=False, force_terminal=colour)
    if name:
        spelling = resolve(name)
        console.print(Text(about(definition(spelling[0] if spelling else parse(name).name))))
        return out.getvalue()
    for measure in definitions():
        console.print(Text(usage(measure), style="bold"))
        facts = [measure.summary, f"range {range_of(measure)}; source: {measure.source or 'not given'}"]
        if measure.aliases:
            facts.append(f"also: {', '.join(measure.aliases)}")
        console.print(Padding(Text("\n".join(facts)), (0, 0, 0, 4), expand=False))
        console.print()
    for key, parameter in {"min_gain": SHARED["min_gain"], **TIES, **VIEWS}.items():
        console.print(Text(f"{key}: {parameter.wanted}; {parameter.about}"))
    console.print("`steelyard measures NAME` explains all parameters of one measure.")
    return out.getvalue()
