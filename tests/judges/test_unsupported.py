"""Which sentences without support are shown first, and by which chunk."""

from dataclasses import replace

from steelyard.judges.tables.items import unsupported_units
from steelyard.judges.tables.verdicts import Verdicts
from steelyard.judges.verdict import JudgedAnswer, Unit, Verdict
from tests.judges.small import RECORD


def _record(query_id: str, *rows: tuple[Verdict, ...]) -> JudgedAnswer:
    units = tuple(Unit(n, n + 1, f"{query_id}{n}") for n in range(len(rows)))
    return JudgedAnswer(
        query_id, "answered", context=("a", "b"), units=units,
        support=rows, joint=(None,) * len(rows), correctness=((),) * len(rows),
    )  # fmt: skip


def test_contradictions_come_first_then_the_least_supported() -> None:
    half, low, none = Verdict("not_found", 0.5, "half"), Verdict("not_found", 0.1, "low"), Verdict("not_found", 0.0)
    yes, against = Verdict("supported", 1.0), Verdict("contradicted", 0.4, "against")
    verdicts = Verdicts([_record("p", (half, low), (low, none), (yes, low)), _record("q", (half, against))])
    units = unsupported_units(verdicts)
    assert [(unit.unit.text, unit.label, unit.nearest.reason, unit.chunk_id) for unit in units] == [
        ("q0", "contradicted", "against", "b"),
        ("p1", "not_found", "low", "a"),
        ("p0", "not_found", "half", "a"),
    ]


def test_a_verdict_on_the_whole_context_has_no_chunk() -> None:
    (unit,) = unsupported_units(Verdicts([RECORD]))
    assert (unit.query_id, unit.unit.text, unit.chunk_id) == ("q1", "It closes at 20.", None)


def test_what_was_not_judged_is_not_shown_as_unsupported() -> None:
    (unit,) = [*unsupported_units(Verdicts([RECORD]))]
    assert unit.label == "not_found"
    assert unsupported_units(Verdicts([replace(RECORD, grounded=())])) == []
