"""Write docs/measures.md, the reference of all measures, from the registry: python docs/make_measures.py."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from pathlib import Path

from steelyard.cli.measures import usage
from steelyard.measures import Definition, definitions
from steelyard.measures.registry import COMMON_PARAMETERS

TARGET = Path(__file__).with_name("measures.md")
WIDTH = 110

FAMILIES = {
    "sets": ("Sets", "Measures of the first `k` documents as a set. Their order does not count."),
    "ranking": ("Binary relevance", "Measures that look at where in the list the relevant documents stand."),
    "graded": ("Graded relevance", "Measures that use the gain itself: how relevant, not just whether."),
    "evidence": (
        "Evidence",
        "Measures of the gold itself, however the documents are cut into chunks: see [evidence](evidence.md). "
        "Where the truth is made of ids, `evidence_recall` is `recall`, and the others are refused.",
    ),
}

HEAD = """\
<!-- made by docs/make_measures.py from the registry; do not edit -->

# All measures

{n} measures, each with its definition, parameters and source. `steelyard measures` prints the same list, and
`steelyard measures NAME` tells all about one.

How to read an entry:

- `precision[@k]` takes a cut-off: `precision@10` looks at the first 10 documents, `precision` at the whole list.
  `iprec@level` needs a recall level behind the `@`.
- *parameters* stand in brackets: `recall(min_gain=2)@100`. What is shown is the default.
- `min_gain` is the smallest gain that counts as relevant.
- `ties=average` gives the expected value where documents of equal score stand in random order; `canonical` takes the
  written order: id descending.
- *range* is the smallest and the largest value.
- *over queries* tells how the values of the queries become one.
- *aliases* are other spellings; upper and lower case do not matter.

Every measure takes two parameters more:

| parameter | default | else |
|---|---|---|
| `pool` | `all` | `judged`: documents without a label, or with one below 0, are taken out of the list first |
| `scope` | `truth` | `retrieved`: as if only the retrieved documents had been judged |

Why a rule is as it is: [semantics](semantics.md). Names that mean different things elsewhere:
[glossary](glossary.md).
"""


def page() -> str:
    """The whole page; measures of other packages are left out."""
    ours = [each for each in definitions() if each.kernel.__module__.startswith("steelyard.measures.")]
    parts = [HEAD.format(n=len(ours))]
    families: dict[str, list[Definition]] = {}
    for each in ours:
        families.setdefault(each.kernel.__module__.rpartition(".")[2], []).append(each)
    for module, family in families.items():
        title, about = FAMILIES[module]
        links = " · ".join(f"[{each.name}](#{each.name})" for each in family)
        parts.append(f"## {title}\n\n{_wrapped(about)}\n\n{_wrapped(links)}\n")
        parts += ["\n".join(_entry(each)) for each in family]
    return "\n".join(parts)


def _entry(each: Definition) -> Iterator[str]:
    yield f"### {each.name}\n"
    yield f"`{usage(each)}`\n"
    yield _wrapped(each.doc) + "\n"
    yield "| | |\n|---|---|"
    for fact, text in _facts(each).items():
        yield f"| {fact} | {text} |"
    yield ""


def _facts(each: Definition) -> dict[str, str]:
    own = {key: value for key, value in each.parameters.items() if key not in COMMON_PARAMETERS}
    return {
        "parameters": ", ".join(f"`{key}={_value(value)}`" for key, value in own.items()) or "–",
        "range": " … ".join(_end(end) for end in each.range),
        "over queries": {
            "mean": "mean",
            "geometric": "geometric mean, with a floor of 0.00001",
            "total": "mean; the total in `steelyard trec-eval`",
        }[each.aggregate],
        "query without relevant documents": "0 and counted" if each.relevant else "measured like any other",
        "aliases": ", ".join(_alias(each, name) for name in each.aliases) or "–",
        "counts": {"documents": "documents (chunks)", "pieces": "gold pieces", "characters": "characters"}[each.counts],
        "source": each.source or "–",
    }


def _alias(each: Definition, name: str) -> str:
    implied = ", ".join(f"{key}={_value(value)}" for key, value in each.aliases[name].items())
    return f"`{name}`" + (f" = `{each.name}({implied})`" if implied else "")


def _end(end: float) -> str:
    return ("−∞" if end < 0 else "∞") if abs(end) == float("inf") else f"{end:g}"


def _value(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _wrapped(text: str) -> str:
    paragraphs = [textwrap.fill(part, WIDTH, break_on_hyphens=False) for part in text.split("\n\n")]
    return "\n\n".join(paragraphs)


if __name__ == "__main__":
    TARGET.write_text(page(), "utf-8")
