"""Write the reference, docs/reference, from what it is about: python tools/make_reference.py.

measures.md and traffic-measures.md from the registries of measures, commands.md from the arguments that commands
declare. python.md, from the
docstrings of the public names, is made for the site alone: in a checkout the docstrings are at hand.
"""

from __future__ import annotations

import argparse
import inspect
import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

import steelyard as sy
from steelyard.base.options import shown_default
from steelyard.cli.commands import COMMANDS, SECTIONS
from steelyard.cli.parser import Argument, Command
from steelyard.measures import Definition, definitions
from steelyard.measures.reference import facts, usage, view_facts
from steelyard.traffic.measures import TrafficDefinition, traffic_definitions

TARGET = Path(__file__).parents[1] / "docs" / "reference"
WIDTH = 110

FAMILIES = {
    "sets": ("Sets", "Measures of the first `k` documents as a set. Their order does not count."),
    "ranking": ("Binary relevance", "Measures that look at where in the list the relevant documents are."),
    "graded": ("Graded relevance", "Measures that use the gain itself: how relevant, not just whether."),
    "evidence": (
        "Evidence",
        "Measures of the gold itself, however the documents are cut into chunks: see [evidence](../howto/evidence.md). "
        "Where the truth is made of ids, `evidence_recall` is `recall`, and the others are refused.",
    ),
    "answers": (
        "Answers",
        "Measures of the answers themselves, computed from what a judge says of their units: sentences, or claims. "
        "Units that assert nothing, such as greetings, are in no denominator. Where verdicts are missing that could "
        "change the value of a question, it is not judged, and left out of the mean as a whole; nothing is divided by "
        "the verdicts that came back.",
    ),
    "citations": (
        "Citations",
        "Measures of what the answer cites: numbers such as `[1]`, or ids such as `[doc#chunk]`, behind a statement. "
        "In ALCE's program a citation that is out of range leaves its whole sentence unsupported, and its citations "
        "out of precision. Here a sentence is judged by what it cites of the context; what names no chunk of it is in "
        "the denominator of `citation_precision`, and `citation_validity` counts it.",
    ),
    "other_tools": (
        "Measures of other tools",
        "Measures of ragas and deepeval by their formulas, where ours differ, computed from the verdicts of any judge "
        "here. Names of theirs whose definition is ours are spellings of our measures.",
    ),
    "text_overlap": (
        "Words of the gold answer",
        "Measures that hold the answer's text against that of the gold answer, without a judge: quick, the same every "
        "time, and blind to what the words say. Citations are left out.",
    ),
    "abstention": (
        "Abstention",
        "Measures of saying that one cannot answer. An abstention asserts nothing: it is not unfaithful.",
    ),
}

MEASURES = """\
<!-- made by tools/make_reference.py; do not edit -->

# All measures

{n} measures, each with its definition, parameters and source. `steelyard measures` prints the same list, and
`steelyard measures NAME` explains one.

How to read an entry:

- `precision[@k]` takes a cut-off: `precision@10` looks at the first 10 documents, `precision` at the whole list.
  `iprec@level` needs a recall level behind the `@`.
- Parameters go in brackets: `recall(min_gain=2)@100`. A measure has each with its default, the values that it
  takes, and what it means; those of several measures are explained here.
- Any of them takes a percentile in place of its mean: `ndcg@10:p10` is the value that a tenth of the questions do not
  reach, and `latency_ms:p95` is one of a [column of numbers](formats.md#one-table-for-every-number).
- *range* is the smallest and the largest value, and *better* says which values are better.
- *over questions* says how the values of the questions become one.
- *reads* says what the measure is computed from. A system that does not have it is refused.
- *aliases* are other spellings; upper and lower case do not matter.

What an entry does not say is as in most:

| | measures of what was retrieved | measures of answers |
|---|---|---|
{usual}

Parameters of several measures; every measure of what was retrieved takes `pool` and `scope`:

| parameter | |
|---|---|
{shared}

Why a rule is as it is: [semantics](semantics.md). Names that mean different things elsewhere:
[glossary](glossary.md).
"""


COMMANDS_HEAD = """\
<!-- made by tools/make_reference.py; do not edit -->

# All commands

What `steelyard COMMAND --help-all` shows of each command. Exit statuses, and what a line of help cannot say, are on
[the page of the command line](command-line.md). In Python, options have the same names, with `_` in place of `-`.
"""

TRAFFIC = """\
<!-- made by tools/make_reference.py; do not edit -->

# Measures of logs

What `measures` of a [monitor](../howto/monitoring.md) and `steelyard.traffic.tabulating.tabulate` take: one
value a window and segment. Without `measures`, those marked with • are watched, as far as the logs have what
they need.

- Shares and means are sums of requests over sums of requests, with users as units (sessions or requests where
  users are unknown): the error of a window is that of the delta method. Percentiles have Woodruff's error. In
  simulated windows of 100 users and more, 95% intervals hold the truth in 93.3% to 94.4% of cases; with
  requests as units they do in 87% (`python -m benchmarks.decisions --table series`).
- Shares are of the requests that were served, unless the text says of which. Requests of bots are left out. A
  window with fewer than 10 users has no value.
- *floor* is the smallest change that may alarm: in the unit of the measure, or a share of its level (%).
- *needs* is what the logs must have: columns of impressions and answers, kinds of events.

{tables}

## Any column

Columns of numbers are measures, too, of impressions (`tokens_in`, and others of yours) and of requests
(`dwell_s`, `n_clicks`): `dwell_s` is the mean, `dwell_s:p90` a percentile. `KIND.n` and `KIND.value` are how
often an event of a kind happens per request, and the sum of its values: `purchase.value`. `COLUMN=VALUE` is a
share of requests: `language=zh`. `score:NAME` is the mean of the scores that an evaluator of the service
gave.

## Drift

`steelyard.traffic.drift` compares windows with a reference of earlier ones. Each user counts once a window,
and where the windows of the reference differ among themselves more than chance has it, samples count for
less. Take days as windows where what is asked changes with the hour. Of quiet days, {quiet} have p < .01
(`python -m benchmarks.decisions --table quiet-days`).

| series | value | alarms from |
|---|---|---|
| `psi:COLUMN` | PSI by tenths of the reference; watched: `query_length`, `top_score`, `latency_ms` | .1 |
| `ks:COLUMN` | largest distance of the cumulative distributions | .1 |
| `chi_square:COLUMN` | share of requests with another text than expected; watched: `language`, `arm` | .1 |
| `mmd:query` | distance of queries by hashed runs of three characters, or an embedding of yours | .05 |
| `unseen_words` | share of words that the reference does not have; it has no p, and is watched like a measure | .01 |
"""
_STREAMS = {"feedback": "What users do", "label_free": "What is shown and answered", "operations": "What it takes"}

PYTHON_HEAD = """\
<!-- made by tools/make_reference.py; do not edit -->

# All of Python

The public names of `import steelyard as sy`, by their docstrings. What evaluates runs takes the same keywords as the
[commands](commands.md) take options: `min_gain=` is `--min-gain`.
"""


def pages() -> dict[str, str]:
    """Each page by its name."""
    return {"measures.md": measures(), "traffic-measures.md": traffic_measures(), "commands.md": commands()}


def traffic_measures() -> str:
    """The page of measures of logs."""
    parts = list[str]()
    for stream, title in _STREAMS.items():
        rows = [_traffic_row(item) for item in traffic_definitions() if item.stream == stream]
        head = ["| measure | meaning | better | floor | needs |", "|---|---|---|---|---|"]
        parts.append("\n".join([f"## {title}\n", *head, *rows]))
    return TRAFFIC.format(tables="\n\n".join(parts), quiet="0 to 2%")


def _traffic_row(item: TrafficDefinition) -> str:
    names = ", ".join(f"`{item.name}{ending}` •" for ending in item.usual) or f"`{item.usage}`"
    floor = f"{100 * item.floor:g}%" if item.scale == "positive" else f"{item.floor:g}".lstrip("0") or "any"
    needs = ", ".join(" or ".join(part.partition(":")[2] for part in need.split("|")) for need in item.needs)
    return f"| {names} | {' '.join(item.summary.split())} | {item.better} | {floor} | {needs or '–'} |"


MANY = "many commands"


def commands() -> str:
    """The page of all commands, in the order of `--help`; options that several share are shown once, at the end."""
    parts, shared = [COMMANDS_HEAD], dict[str, dict[str, Argument]]()
    common = _common(COMMANDS.values())
    for section, names in SECTIONS.items():
        parts.append(f"## {section.capitalize()}\n")
        for name, command in COMMANDS.items():
            if name.partition(" ")[0] in names:
                parts += ["\n".join(_command(name, command, common))]
                for item in command.arguments:
                    section = MANY if _row(item) in common else item.section
                    shared.setdefault(section, {}).setdefault(_row(item), item)
    for section, items in shared.items():
        if section:
            parts += [f"## {section.capitalize()}\n", "\n".join(map(_row, items.values())), ""]
    return "\n".join(parts)


def _common(all_commands: Iterable[Command]) -> set[str]:
    """Rows of arguments that three commands or more take as they are; of those with one name, the commonest."""
    arguments = [item for command in all_commands for item in command.arguments if not item.section]
    often = Counter((item.usage or item.names[0], _row(item)) for item in arguments)
    commonest = {name: row for (name, row), n in reversed(often.most_common()) if n >= 3}
    return set(commonest.values())


def _command(name: str, command: Command, common: set[str]) -> Iterator[str]:
    yield f"### steelyard {name}\n"
    yield f"{command.help}\n"
    usage = " ".join(item.usage for item in command.arguments if item.usage)
    yield f"```text\nsteelyard {name} [OPTIONS] {usage}".rstrip() + "\n```\n"
    yield from (_row(item) for item in command.arguments if not item.section and _row(item) not in common)
    elsewhere = [f"`{item.usage or item.names[0]}`" for item in command.arguments if _row(item) in common]
    if elsewhere:
        yield f"\nAlso {', '.join(elsewhere)} ([{MANY}](#{MANY.replace(' ', '-')}))."
    sections = {item.section for item in command.arguments if item.section}
    links = [f"[{section}](#{section.replace(' ', '-')})" for section in sorted(sections)]
    if links:
        yield f"\nOptions for {' and '.join(links)}."
    yield ""


def _row(item: Argument) -> str:
    return f"- {_spelled(item)}: {_meaning(item)}"


def _spelled(item: Argument) -> str:
    return ", ".join(f"`{name}`" for name in item.names) if not item.usage else f"`{item.usage}`"


def _meaning(item: Argument) -> str:
    """Its help, the values that it takes, and its default."""
    choices = item.settings.get("choices")
    unsaid = any(str(value) not in item.help for value in choices or ())
    values = " " + ", ".join(f"`{value}`" for value in choices or ()) + "." if unsaid else ""
    default = item.settings.get("default")
    shown = shown_default(item.shown if default is argparse.SUPPRESS else default)
    return f"{item.help}{values}{shown}"


def python() -> str:
    """The page of all public names: functions, those of public modules, classes, errors."""
    parts: dict[str, list[str]] = {"Functions": [], "Functions of modules": [], "Classes": [], "Errors": []}
    for name in sorted(sy.__all__, key=str.lower):
        item = getattr(sy, name)
        if inspect.isfunction(item):
            parts["Functions"] += _named(name, item)
        elif inspect.isclass(item):
            parts["Errors" if issubclass(item, Exception) else "Classes"] += _named(name, item)
        elif inspect.ismodule(item):
            for own, function in inspect.getmembers(item, inspect.isfunction):
                if own in getattr(item, "__all__", ()) or (function.__module__ == item.__name__ and own[0] != "_"):
                    parts["Functions of modules"] += _named(f"{name}.{own}", function)
    return "\n".join([PYTHON_HEAD, *(line for title, lines in parts.items() for line in (f"## {title}\n", *lines))])


def _named(name: str, item: Callable[..., object]) -> Iterator[str]:
    yield f"### sy.{name}\n"
    text = (inspect.getdoc(item) or "").partition("\n\nOptions\n")[0]
    first, _, rest = text.partition("\n\n")
    yield f"{' '.join(first.split())}\n"
    if rest.strip():
        yield f"```text\n{rest.strip()}\n```\n"


def measures() -> str:
    """The page of all measures; measures of other packages are left out."""
    ours = [
        definition for definition in definitions() if definition.kernel.__module__.startswith("steelyard.measures.")
    ]
    usual, shared = {kind: _usual(ours, kind) for kind in (False, True)}, _shared(ours)
    parts = [MEASURES.format(n=len(ours), usual="\n".join(_usual_rows(usual)), shared="\n".join(_rows(shared)))]
    families: dict[str, list[Definition]] = {}
    for definition in ours:
        families.setdefault(definition.kernel.__module__.rpartition(".")[2], []).append(definition)
    for module, family in families.items():
        title, about = FAMILIES[module]
        parts.append(f"## {title}\n\n{_wrapped(about)}\n")
        parts += ["\n".join(_entry(definition, usual[definition.of_answers], shared)) for definition in family]
    return "\n".join(parts)


def _usual(ours: list[Definition], of_answers: bool) -> dict[str, str]:
    """What most measures of a kind say alike."""
    same_kind = [facts(definition) for definition in ours if definition.of_answers is of_answers]
    rows = Counter(row for said in same_kind for row in said.items() if not row[0].startswith("`"))
    return {name: text for (name, text), n in rows.items() if 2 * n > len(same_kind) and text != "none"}


def _usual_rows(usual: Mapping[bool, Mapping[str, str]]) -> Iterator[str]:
    for name in dict.fromkeys([*usual[False], *usual[True]]):
        yield f"| {name} | {usual[False].get(name, '')} | {usual[True].get(name, '')} |"


def _shared(ours: list[Definition]) -> dict[str, str]:
    """Parameters that five measures or more take alike."""
    rows = Counter(row for definition in ours for row in facts(definition).items() if row[0].startswith("`"))
    return {**{name: text for (name, text), n in rows.items() if n >= 5}, **view_facts()}


def _entry(definition: Definition, usual: Mapping[str, str], shared: Mapping[str, str]) -> Iterator[str]:
    """A measure: its definition, and what the tables at the top of the page do not say."""
    known = {**usual, **shared}
    own = {name: text for name, text in facts(definition).items() if text not in (known.get(name), "none")}
    also = [name for name, text in facts(definition).items() if shared.get(name) == text]
    yield f"### {definition.name}\n"
    yield f"`{usage(definition)}`\n"
    yield _wrapped(definition.doc) + "\n"
    parameters = {"parameters": ", ".join(also)} if also else {}
    yield from (f"- {name}: {text}" for name, text in {**parameters, **own}.items())
    yield ""


def _rows(pairs: Mapping[str, str]) -> Iterator[str]:
    for name, text in pairs.items():
        yield f"| {name} | {text} |"


def _wrapped(text: str) -> str:
    paragraphs = [textwrap.fill(part, WIDTH, break_on_hyphens=False) for part in text.split("\n\n")]
    return "\n\n".join(paragraphs)


if __name__ == "__main__":
    for name, text in pages().items():
        (TARGET / name).write_text(text, "utf-8")
