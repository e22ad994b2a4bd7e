"""Write docs/reference/measures.md, the reference of all measures, from the registry: python tools/make_measures.py."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path

from steelyard.measures import Definition, definitions
from steelyard.measures.reference import facts, usage, view_facts

TARGET = Path(__file__).parents[1] / "docs" / "reference" / "measures.md"
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

HEAD = """\
<!-- made by tools/make_measures.py from the registry; do not edit -->

# All measures

{n} measures, each with its definition, parameters and source. `steelyard measures` prints the same list, and
`steelyard measures NAME` explains one.

How to read an entry:

- `precision[@k]` takes a cut-off: `precision@10` looks at the first 10 documents, `precision` at the whole list.
  `iprec@level` needs a recall level behind the `@`.
- Parameters go in brackets: `recall(min_gain=2)@100`. The table of a measure has each with its default, the values
  that it takes, and what it means.
- Any of them takes a percentile in place of its mean: `ndcg@10:p10` is the value that a tenth of the questions do not
  reach, and `latency_ms:p95` is one of a [column of numbers](formats.md#one-table-for-every-number).
- *range* is the smallest and the largest value, and *better* says which values are better.
- *over questions* says how the values of the questions become one.
- *reads* says what the measure is computed from. A system that does not have it is refused.
- *aliases* are other spellings; upper and lower case do not matter.

Every measure of what was retrieved takes two parameters more:

| parameter | |
|---|---|
{views}

Why a rule is as it is: [semantics](semantics.md). Names that mean different things elsewhere:
[glossary](glossary.md).
"""


def page() -> str:
    """The whole page; measures of other packages are left out."""
    ours = [
        definition for definition in definitions() if definition.kernel.__module__.startswith("steelyard.measures.")
    ]
    parts = [HEAD.format(n=len(ours), views="\n".join(_rows(view_facts())))]
    families: dict[str, list[Definition]] = {}
    for definition in ours:
        families.setdefault(definition.kernel.__module__.rpartition(".")[2], []).append(definition)
    for module, family in families.items():
        title, about = FAMILIES[module]
        links = " · ".join(f"[{definition.name}](#{definition.name})" for definition in family)
        parts.append(f"## {title}\n\n{_wrapped(about)}\n\n{_wrapped(links)}\n")
        parts += ["\n".join(_entry(definition)) for definition in family]
    return "\n".join(parts)


def _entry(definition: Definition) -> Iterator[str]:
    yield f"### {definition.name}\n"
    yield f"`{usage(definition)}`\n"
    yield _wrapped(definition.doc) + "\n"
    yield "| | |\n|---|---|"
    yield from _rows(facts(definition))
    yield ""


def _rows(pairs: Mapping[str, str]) -> Iterator[str]:
    for name, text in pairs.items():
        yield f"| {name} | {text} |"


def _wrapped(text: str) -> str:
    paragraphs = [textwrap.fill(part, WIDTH, break_on_hyphens=False) for part in text.split("\n\n")]
    return "\n\n".join(paragraphs)


if __name__ == "__main__":
    TARGET.write_text(page(), "utf-8")
