"""Why a measure of an answer is what it is: the sentences that count against it."""

from __future__ import annotations

from steelyard.judges.items import ItemTable, judged
from steelyard.judges.records import JudgedAnswer


def explanation(record: JudgedAnswer, table: ItemTable) -> str:
    """How many units of an answer, or of its gold answers, a table calls supported, and the others with their verdict.

    >>> from steelyard.judges.records import Unit
    >>> from steelyard.judges.verdict import Verdict
    >>> units = Unit(0, 10, "It is red."), Unit(11, 21, "It is big.")
    >>> support = (Verdict("supported"),), (Verdict("contradicted", reason="negation"),)
    >>> record = JudgedAnswer("q", "answered", units=units, support=support, context=("a",))
    >>> explanation(record, "grounded")
    '1 of 2 supported; contradicted: It is big. (negation)'
    """
    units = record.gold_units if table == "said" else record.units
    verdicts = [(unit, judged(record, table, place)) for place, unit in enumerate(units) if unit.checkable]
    pairs = [(unit, verdict) for unit, verdict in verdicts if verdict is not None]
    others = [(unit, verdict) for unit, verdict in pairs if verdict.label != "supported"]
    listed = [
        f"{verdict.label}: {unit.text}" + (f" ({verdict.reason})" if verdict.reason else "") for unit, verdict in others
    ]
    return "; ".join([f"{len(pairs) - len(others)} of {len(pairs)} supported", *listed]) if pairs else ""
