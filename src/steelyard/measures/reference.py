"""Declarations of measures as text: for the reference page and for `steelyard measures`."""

from __future__ import annotations

from steelyard.measures.parameters import SHARED, TIES, VIEWS, Parameter, ParameterValue, show
from steelyard.measures.registry import Absent, Definition, Need

_INPUTS = {
    "rankings": "rankings",
    "labels": "documents judged one by one",
    "pieces": "pieces of evidence",
    "characters": "characters of evidence",
    "answers": "verdicts on answers",
}
_NEEDS: dict[Need, str] = {
    "units": "an answer that asserts something",
    "context": "the context that the answer was made from",
    "gold_answer": "a gold answer",
    "gold_units": "a gold answer that asserts something",
    "citations": "a citation",
    "cited_units": "an assertion with a citation",
    "nuggets": "nuggets of the kind",
    "criterion": "verdicts by the criterion",
    "chunk_verdicts": "verdicts chunk by chunk",
    "single_chunks": "with by=chunk, verdicts chunk by chunk",
    "gold_in_context": "something of the gold answer in the context",
    "answerability": "knowledge whether it can be answered",
    "abstention": "an abstention",
    "unanswerable": "that it cannot be answered",
    "abstention_or_unanswerable": "an abstention, or that it cannot be answered",
}
_ABSENT: dict[Absent, str] = {
    "zero": "0, and counted",
    "undefined": "undefined, and counted",
    "unread": "measured like any other, as far as its context is known",
}
_EXPLAINED_ONCE = (*SHARED, *TIES, *VIEWS)


def usage(definition: Definition) -> str:
    """Spelling of a measure: name, its own parameters with defaults, cut-off.

    >>> from steelyard.measures import definition
    >>> usage(definition("ndcg")), usage(definition("iprec"))
    ('ndcg(gain=linear, ideal=judged)[@k]', 'iprec@level')
    """
    own = [_setting(key, p.default) for key, p in definition.parameters.items() if key not in _EXPLAINED_ONCE]
    cutoff = {"k": "@k" if definition.cutoff_required else "[@k]", "recall": "@level", None: ""}[definition.cutoff]
    return definition.name + (f"({', '.join(own)})" if own else "") + cutoff


def facts(definition: Definition) -> dict[str, str]:
    """All that a measure declares, by name; Markdown for parameters, aliases and commands."""
    return {
        "range": range_of(definition),
        "better": definition.direction,
        **{
            f"`{_setting(key, p.default)}`": _explained(p)
            for key, p in definition.parameters.items()
            if key not in VIEWS
        },
        "over questions": definition.aggregation.about,
        **(_of_answers(definition) if definition.of_answers else _of_rankings(definition)),
        "reads": ", ".join(_INPUTS[name] for name in definition.inputs),
        "aliases": ", ".join(_alias(definition, alias) for alias in definition.aliases) or "none",
        "source": definition.source or "not given",
    }


def _of_rankings(definition: Definition) -> dict[str, str]:
    measured = "0, and counted" if definition.relevant else "measured like any other"
    return {"no relevant": f"a question without relevant documents is {measured}"}


def _of_answers(definition: Definition) -> dict[str, str]:
    needs = ", ".join(_NEEDS[need] for need in definition.needs)
    return {
        "no answer": f"a question whose answer failed, is missing or is empty is {_ABSENT[definition.absent]}",
        **({"undefined": f"without {needs}"} if needs else {}),
    }


def about(definition: Definition) -> str:
    """All about one measure, for a terminal."""
    views = {} if definition.of_answers else view_facts()
    lines = {name.strip("`"): text.replace("`", "") for name, text in {**facts(definition), **views}.items()}
    width = max(map(len, lines)) + 2
    table = "\n".join(f"{name + ':':<{width}}{text}" for name, text in lines.items())
    return f"{usage(definition)}\n\n{definition.doc}\n\n{table}"


def view_facts() -> dict[str, str]:
    """The parameters that every measure of what was retrieved takes."""
    return {f"`{_setting(key, p.default)}`": _explained(p) for key, p in VIEWS.items()}


def range_of(definition: Definition) -> str:
    """Smallest and largest value."""
    low, high = (("−∞" if end < 0 else "∞") if abs(end) == float("inf") else f"{end:g}" for end in definition.range)
    return f"{low} … {high}"


def _alias(definition: Definition, alias: str) -> str:
    settings = ", ".join(_setting(key, value) for key, value in definition.aliases[alias].items())
    return f"`{alias}`" + (f" = `{definition.name}({settings})`" if settings else "")


def _setting(key: str, value: ParameterValue | None) -> str:
    return key if value is None else f"{key}={show(value)}"


def _explained(parameter: Parameter) -> str:
    unless = f"`{parameter.unless}` takes its place where that is set" if parameter.unless else ""
    return "; ".join(part for part in (parameter.wanted, parameter.about, unless) if part)
