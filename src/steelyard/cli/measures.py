"""`steelyard measures`."""

from __future__ import annotations

from steelyard.cli.terminal import terminal_width
from steelyard.measures import definition, definitions, parse
from steelyard.measures.registry import COMMON_PARAMETERS, Definition


def run(name: str | None) -> None:
    """List all measures, or tell all about one."""
    from rich.console import Console
    from rich.padding import Padding
    from rich.text import Text

    console = Console(width=terminal_width() or 100, highlight=False)
    if name:
        console.print(Text(_about(definition(parse_name(name)))))
        return
    for each in definitions():
        console.print(Text(usage(each), style="bold"))
        facts = [f"{each.summary}", f"range {_range(each)}; source: {each.source or 'not given'}"]
        if each.aliases:
            facts.append(f"also: {', '.join(each.aliases)}")
        console.print(Padding(Text("\n".join(facts)), (0, 0, 0, 4), expand=False))
        console.print()
    console.print("min_gain=1 is the smallest gain that counts as relevant, for measures of binary relevance.")
    console.print("ties=average is the expected value under random order of equal scores; ties=canonical: by id.")
    console.print("pool=judged removes unlabelled documents; scope=retrieved takes denominators from the list itself.")
    console.print("`steelyard measures NAME` tells all parameters of one measure.")


def parse_name(name: str) -> str:
    """The registered name behind a spelling, with or without a cut-off."""
    from steelyard.measures.registry import resolve

    known = resolve(name)
    return known[0] if known else parse(name).name


def usage(each: Definition) -> str:
    """How the measure is written: name, own parameters with defaults, cut-off."""
    own = [f"{key}={_value(value)}" for key, value in each.parameters.items() if key not in COMMON_PARAMETERS]
    shown = [parameter for parameter in own if not parameter.startswith(("min_gain", "ties"))]
    behind = {"k": "@k" if each.cutoff_required else "[@k]", "recall": "@level", None: ""}[each.cutoff]
    return each.name + (f"({', '.join(shown)})" if shown else "") + behind


def _about(each: Definition) -> str:
    aliases = [
        alias + (f" = {each.name}({', '.join(f'{k}={_value(v)}' for k, v in implied.items())})" if implied else "")
        for alias, implied in each.aliases.items()
    ]
    parameters = ", ".join(f"{key}={_value(value)}" for key, value in each.parameters.items())
    facts = {
        "range": _range(each),
        "parameters": parameters,
        "aliases": ", ".join(aliases) or "none",
        "over queries": {"mean": "mean", "geometric": "geometric mean", "total": "mean (total in trec-eval)"}[
            each.aggregate
        ],
        "source": each.source or "not given",
    }
    return f"{usage(each)}\n\n{each.doc}\n\n" + "\n".join(f"{key + ':':<14}{value}" for key, value in facts.items())


def _range(each: Definition) -> str:
    low, high = (("−∞" if end < 0 else "∞") if abs(end) == float("inf") else f"{end:g}" for end in each.range)
    return f"{low} … {high}"


def _value(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
