"""Random judged answers, for Hypothesis, and what they may come to where not all was judged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from hypothesis import strategies as st

from steelyard.judges.criteria import Grade
from steelyard.judges.tables.arrays import judged_arrays
from steelyard.judges.verdict import CitedChunk, JudgedAnswer, Nugget, State, Unit, Verdict, check_record
from steelyard.measures import JudgedAnswers

LABELS = ("supported", "not_found", "contradicted")
NOT_JUDGED = Verdict("not_judged", None, "budget")
STATES: tuple[State, ...] = ("answered", "answered", "answered", "answered", "abstained", "empty", "failed", "missing")
TABLES = ("support", "joint", "without", "correctness", "said", "reach", "context_relevance")
_NUMBERS = {"nuggets": "credit", "criteria": "value"}
"""What is not judged by a verdict, and the field of its number."""
_verdicts = st.sampled_from([Verdict(label) for label in LABELS])  # type: ignore[arg-type]


def arrays_of(records: Sequence[JudgedAnswer]) -> JudgedAnswers:
    """The arrays of several answers, whose questions are called as they are, in this order."""
    return judged_arrays({record.query_id: record for record in records}, [record.query_id for record in records])


@st.composite
def records(draw: st.DrawFn, *, grounded: bool = True) -> JudgedAnswer:
    """An answer of which all was judged."""
    state = draw(st.sampled_from(STATES))
    context = draw(st.none() | st.integers(0, 3).map(lambda n: tuple(f"d#{i}" for i in range(n))))
    n_chunks = len(context or ())
    answered = state == "answered"
    units = tuple(
        _unit(i, draw(st.booleans() if answered else st.just(False)))
        for i in range(draw(st.integers(0, 3 if state in ("answered", "abstained") else 0)))
    )
    n_gold = draw(st.integers(0, 2))
    golds = tuple(
        _unit(i, draw(st.sampled_from([True, True, False])), alternative)
        for alternative in range(n_gold)
        for i in range(draw(st.integers(0, 2)))
    )
    citations = tuple(citation for i in range(len(units)) for citation in draw(_citations(i, n_chunks)))
    cited = {i: [c for c in citations if c.unit == i and c.chunk is not None] for i in range(len(units))}
    checkable = [unit.checkable for unit in units]
    record = JudgedAnswer(
        query_id="q", state=state, context=context, units=units, citations=citations, gold_units=golds,
        answer=" ".join(unit.text for unit in units), gold_answers=tuple(f"gold {i}" for i in range(n_gold)),
        support=tuple(draw(_row(n_chunks if ok else 0)) for ok in checkable),
        grounded=tuple(draw(_verdicts) if ok else None for ok in checkable)
        if grounded and draw(st.booleans()) else (),
        joint=tuple(draw(_verdicts) if ok and cited[i] else None for i, ok in enumerate(checkable)),
        without=tuple(draw(_verdicts) if checkable[c.unit] and c in cited[c.unit] and len(cited[c.unit]) > 1 else None
                      for c in citations),
        correctness=tuple(draw(_row(n_gold if ok else 0)) for ok in checkable),
        said=tuple(draw(_verdicts) if gold.checkable and answered else None for gold in golds),
        reach=tuple(draw(_row(n_chunks if gold.checkable else 0)) for gold in golds),
        context_relevance=draw(_row(n_chunks)),
        nuggets=tuple(draw(st.lists(st.builds(Nugget, st.just("n"), st.booleans(), st.sampled_from([0.0, 0.5, 1.0])),
                                    max_size=3))),
        grade=Verdict("supported", draw(st.sampled_from([0.0, 0.25, 1.0]))),
        criteria=(Grade("answer_grade", "It settles it.", "1-5", draw(st.sampled_from([1.0, 4.0, 5.0]))),),
        answerable=draw(st.none() | st.booleans()),
    )  # fmt: skip
    check_record(record)
    return record


def _unit(place: int, checkable: bool, alternative: int = 0) -> Unit:
    return Unit(3 * place, 3 * place + 2, f"u{place}", "" if checkable else "greeting", alternative)


def _row(n: int) -> st.SearchStrategy[tuple[Verdict, ...]]:
    return st.tuples(*[_verdicts] * n)


@st.composite
def _citations(draw: st.DrawFn, unit: int, n_chunks: int) -> list[CitedChunk]:
    chunks = draw(st.lists(st.sampled_from(range(n_chunks)), unique=True)) if n_chunks else []
    odd = [CitedChunk(unit, 0, 3, "[9]", None, "out_of_range")] * draw(st.integers(0, 1))
    return [*(CitedChunk(unit, 0, 3, f"[{chunk + 1}]", chunk) for chunk in chunks), *odd]


def verdict_places(record: JudgedAnswer) -> list[tuple[str, tuple[int, ...]]]:
    """Table and place of everything that was judged of an answer."""
    places = list[tuple[str, tuple[int, ...]]]()
    for table in TABLES:
        for i, row in enumerate(getattr(record, table)):
            if isinstance(row, tuple):
                places += [(table, (i, j)) for j in range(len(row))]
            elif row is not None:
                places.append((table, (i,)))
    places += [(table, (i,)) for table in _NUMBERS for i in range(len(getattr(record, table)))]
    return [*places, ("grade", ())]


def judged_so(record: JudgedAnswer, place: tuple[str, tuple[int, ...]], verdict: Any) -> JudgedAnswer:
    """The answer with another verdict at one place; of a nugget or a criterion, another number."""
    table, path = place
    if table in _NUMBERS:
        verdict = replace(getattr(record, table)[path[0]], **{_NUMBERS[table]: verdict})
    return replace(record, **{table: _put(getattr(record, table), path, verdict)})


def _put(rows: Any, path: tuple[int, ...], verdict: Any) -> Any:
    if not path:
        return verdict
    return (*rows[: path[0]], _put(rows[path[0]], path[1:], verdict), *rows[path[0] + 1 :])


@st.composite
def records_with_holes(draw: st.DrawFn, most: int = 4) -> tuple[JudgedAnswer, list[tuple[str, tuple[int, ...]]]]:
    """An answer of which some was not judged, and where."""
    record = draw(records(grounded=False))
    holes = draw(st.lists(st.sampled_from(verdict_places(record)), unique=True, max_size=most))
    for place in holes:
        record = judged_so(record, place, None if place[0] in _NUMBERS else NOT_JUDGED)
    return record, holes


def completions(record: JudgedAnswer, holes: Sequence[tuple[str, tuple[int, ...]]]) -> Iterator[JudgedAnswer]:
    """The answer with everything that those verdicts could have been."""
    verdicts = [Verdict(label) for label in LABELS]  # type: ignore[arg-type]
    numbers = {"nuggets": [0.0, 0.5, 1.0], "criteria": [1.0, 5.0]}
    choices = numbers | {"grade": [Verdict("supported", 0.0), Verdict("supported", 1.0)]}
    for chosen in product(*(choices.get(table, verdicts) for table, _ in holes)):
        complete = record
        for place, verdict in zip(holes, chosen, strict=True):
            complete = judged_so(complete, place, verdict)
        yield complete
