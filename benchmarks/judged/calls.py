"""What the judge `llm` asks in one call: calls, tokens, whether it says the same, and what its prompts hold."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.judged.halls import Halls, halls
from benchmarks.judged.oracle import OracleJudge
from benchmarks.judged.values import Value

from steelyard.base.choices import AskBy
from steelyard.experiment.judging import judge
from steelyard.judges.answers.cases import TABLES
from steelyard.judges.answers.units import answer_units
from steelyard.judges.llm.evidence import Statement, checked, read_evidence
from steelyard.judges.llm.inquiries import Asked, inquiries
from steelyard.judges.llm.judge import LLMJudge
from steelyard.judges.tables.verdicts import Verdicts
from steelyard.judges.verdict import Case

_CASES = Path(__file__).resolve().parents[2] / "tests" / "cases"

N_CALLS_BEFORE, N_TOKENS_BEFORE = 2300, 1_163_634
"""Of `halls(100)`: ten chunks of 66 tokens, five sentences, one gold answer of three; measured at commit 2db421b5."""


@dataclass(frozen=True)
class Way:
    """Verdicts by one way to ask, and what it took."""

    verdicts: Verdicts
    calls: int
    tokens: int


def asked(data: Halls, make: Callable[..., LLMJudge], ask_by: AskBy, **settings: Any) -> Way:
    """Judge all answers, also by the whole context."""
    own = make(ask_by=ask_by, **settings)
    verdicts = judge(data.questions, data.outputs, own, tables=TABLES, save=False)
    counts = own.counts()
    own.close()
    return Way(verdicts, counts["calls"], counts["tokens_in"] + counts["tokens_out"])


def labels(verdicts: Verdicts) -> Iterator[tuple[str, tuple[Any, ...], object]]:
    """Table, place and verdict of all that was judged; of the whole context, whether any chunk or all support it."""
    for query_id, record in verdicts.records.items():
        for table in ("support", "correctness", "reach"):
            for place, row in enumerate(getattr(record, table)):
                for column, verdict in enumerate(row):
                    yield table, (query_id, place, column), verdict.label
        for table in ("joint", "without", "said"):
            for place, verdict in enumerate(getattr(record, table)):
                if verdict is not None:
                    yield table, (query_id, place), verdict.label
        for place, nugget in enumerate(record.nuggets):
            yield "nuggets", (query_id, place), nugget.credit
        if record.grade is not None:
            yield "relevance", (query_id,), record.grade.score


def agreement(one: Verdicts, other: Verdicts) -> Mapping[str, tuple[int, int]]:
    """By table: verdicts that are the same in both, and all."""
    first, second = ({(table, place): value for table, place, value in labels(own)} for own in (one, other))
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for (table, place), value in first.items():
        counts[table][0] += second.get((table, place)) == value
        counts[table][1] += 1
    return {table: (same, n) for table, (same, n) in counts.items()}


def oracle(**settings: Any) -> LLMJudge:
    """The judge whose model is the oracle."""
    return OracleJudge(model="oracle", base_url="http://127.0.0.1:9/v1", **settings)


def call_values() -> Iterator[Value]:
    """Calls and tokens beside those of before, verdicts beside those of one chunk a call, and tables of cases."""
    plain, way = "100 questions × 10 chunks × 5 sentences", asked(halls(100), oracle, "question")
    yield Value("calls before, for each of now", plain, N_CALLS_BEFORE / way.calls, 2300 / 300, earlier=1.0)
    yield Value("tokens before, for each of now", plain, N_TOKENS_BEFORE / way.tokens, 4.0, earlier=1.0)
    data = halls(20, cited=True, nuggets=True)
    by_chunk = asked(data, oracle, "chunk").verdicts
    for what, settings in (("in one call", {}), ("in windows of three chunks", {"chunk_tokens": 200})):
        counts = agreement(by_chunk, asked(data, oracle, "question", **settings).verdicts)
        n_same, n = (sum(numbers) for numbers in zip(*counts.values(), strict=True))
        yield Value(
            f"verdicts of an oracle {what} that are those of one chunk a call", f"{n} verdicts", n_same / n, 1.0
        )
    rows = _rows("chunk_evidence.jsonl")
    right = [_labels(row) == row["want"] for row in rows]
    yield Value(
        "replies about several chunks that are read right", f"{len(rows)} replies", sum(right) / len(right), 1.0
    )
    held = [flag for row in _rows("leads.jsonl") for flag in _held_leads(row["input"])]
    on = f"{len(held)} sentences with a lead"
    yield Value("prompts that hold the lead of a sentence", on, sum(held) / len(held), 1.0, earlier=0.0)


def _labels(row: Mapping[str, Any]) -> Mapping[str, str]:
    """Verdicts by sets of chunks, as the judge reads a reply."""
    own, cause, _ = checked(read_evidence(row["entry"]), row["chunks"])
    statement = Statement([own]) if own else Statement(failed=[(frozenset(row["chunks"]), cause)])
    return {names: statement.verdict(frozenset(names.split())).label for names in row["want"]}


def _held_leads(answer: str) -> Iterator[bool]:
    """Whether the prompt about an answer has the lead of a sentence above it, for each that has one."""
    units = [unit for unit in answer_units(answer) if unit.checkable]
    texts, leads = tuple(unit.text for unit in units), tuple(unit.lead for unit in units)
    if not any(leads):
        return
    [inquiry] = inquiries([Case("x", texts, leads=leads, answer_id="q")], Asked("question", 6000, lambda *_: "en"), 0)
    [request] = inquiry.requests()
    lead, shown = "", set[tuple[str, str]]()
    for line in request.messages()[-1]["content"].splitlines():
        mark, _, text = line.partition("] ")
        lead = text if mark.endswith(" lead") else lead
        shown.add((lead, text))
    yield from (
        (" ".join(lead.split()), " ".join(text.split())) in shown
        for text, lead in zip(texts, leads, strict=True)
        if lead
    )


def _rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (_CASES / name).read_text(encoding="utf-8").splitlines()]
