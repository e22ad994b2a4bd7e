"""`steelyard measures`."""

from __future__ import annotations

from steelyard.cli.terminal import terminal_width
from steelyard.measures import definition, definitions, parse
from steelyard.measures.parameters import SHARED, TIES, VIEWS
from steelyard.measures.reference import about, range_of, usage
from steelyard.measures.registry import resolve


def run(name: str | None) -> None:
    """List all measures, or explain one."""
    from rich.console import Console
    from rich.padding import Padding
    from rich.text import Text

    console = Console(width=terminal_width() or 100, highlight=False)
    if name:
        spelling = resolve(name)
        console.print(Text(about(definition(spelling[0] if spelling else parse(name).name))))
        return
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
