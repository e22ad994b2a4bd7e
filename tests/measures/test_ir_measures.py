"""Spellings of ir_measures are measures of the same values here, or the page on other tools says that they are not."""

import json
import re
from pathlib import Path

import pytest

import steelyard as sy
from tests.measures.recorded_ir_measures import FILE, SPELLINGS, collection

RECORDED = json.loads(FILE.read_text())
PAGE = Path(__file__).parents[2] / "docs" / "howto" / "coming-from.md"
# Names without recorded values: their providers need Perl or a compiler.
READ_ONLY = {"ERR": "err@20", "RBP": "rbp"}


def listed() -> set[str]:
    """The names in the table of what is not here."""
    table = PAGE.read_text().partition("Its measures that are not here:")[2].partition("\n## ")[0]
    rows = [line for line in table.splitlines() if line.startswith("| `")]
    return {name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1])}


def test_every_name_is_read_or_listed() -> None:
    names = set(RECORDED["names"])
    weighed = {re.match(r"\w+", text)[0] for text in SPELLINGS}  # type: ignore[index]
    assert len(names) > 40
    assert names == weighed | READ_ONLY.keys() | listed()
    assert not weighed & listed()
    for name in listed():
        with pytest.raises(sy.UnknownMeasureError):
            sy.parse(name)
    for name, own in READ_ONLY.items():
        assert str(sy.parse(own.replace(own.partition("@")[0], name))) == own


@pytest.mark.parametrize("text", SPELLINGS)
def test_the_same_spelling_is_the_same_number(text: str) -> None:
    truth, run = collection()
    scores = sy.evaluate(truth, run, text)
    recorded = RECORDED["values"][text]
    assert recorded.keys() <= set(scores.query_ids)
    values = dict(zip(scores.query_ids, scores.values[0, 0].tolist(), strict=True))
    # What is relevant in the truth does not depend on the run here; ir_measures says 0 where the run lacks the query.
    weighed = [query for query in recorded if text != "NumRel" or query in run]
    assert [values[query] for query in weighed] == pytest.approx([recorded[query] for query in weighed], rel=1e-9)
