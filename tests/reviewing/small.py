"""Two systems that answer in two languages, what people decide about them, and files that they save."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from steelyard.judges.people.review import StratifiedSample
from steelyard.judges.tables.verdicts import Verdicts
from steelyard.reviewing.forms import ItemsFile, ListedItem, review_id_of
from steelyard.reviewing.rounds import Round
from steelyard.reviewing.sampling import draw, members, strata_of, undrawn

N_QUESTIONS = 12
QUESTIONS = [
    {
        "qid": f"q{n}",
        "query": f"When does hall {n} open?" if n % 2 else f"{n}号厅几点开门？",
        "answer": f"It opens at {n}.",
    }
    for n in range(N_QUESTIONS)
]
CHUNKS = [
    [{"id": f"h{n}", "text": f"Hall {n} opens at {n} and closes at 20." if n % 2 else f"{n}号厅{n}点开门，20点关门。"},
     {"id": "t", "text": "Tickets cost 5 euros."}]
    for n in range(N_QUESTIONS)
]  # fmt: skip


def outputs(wrong: Sequence[int] = ()) -> list[dict[str, Any]]:
    """Answers of two sentences, the second of which is wrong for some questions."""
    lines = []
    for n, chunks in enumerate(CHUNKS):
        closes = 19 if n in wrong else 20
        answer = (
            f"Hall {n} opens at {n} [1]. It closes at {closes} [1]."
            if n % 2
            else f"{n}号厅{n}点开门[1]。{closes}点关门[1]。"
        )
        lines.append({"qid": f"q{n}", "retrieved": chunks, "answer": answer})
    return lines


def written_items(round: Round, folder: Path, file: Path) -> ItemsFile:
    """The items.json of a round."""
    listed = [
        ListedItem(own.item.item_id, own.item.query_id, own.record.query, own.unit.text, own.systems)
        for own in round.asked
    ]
    review_id = review_id_of("verdicts", round.table, [item.item_id for item in listed])
    files = {own.name: file for own in round.systems}
    form = ItemsFile("verdicts", round.table, review_id, round.adjudicating, round.seed, files, listed)
    folder.mkdir(exist_ok=True)
    form.write(folder)
    return form


def saved(
    folder: Path,
    form: ItemsFile,
    rater: str,
    labels: Mapping[str, str] | Sequence[str],
    date: str = "2026-11-22",
    name: str = "",
) -> Path:
    """A file that a person saved: labels of items, or of the first ones in their order."""
    if not isinstance(labels, Mapping):
        labels = {item.item_id: label for item, label in zip(form.items, labels, strict=False)}
    decisions = [{"item_id": id, "label": label, "note": "", "date": date} for id, label in labels.items()]
    content = {"format": "steelyard-review", "version": 1, "review_id": form.review_id, "kind": form.kind,
               "rater": rater, "decisions": decisions}  # fmt: skip
    path = folder / f"{name or f'{rater}-{date}'}.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def sampled(
    verdicts: Verdicts, table: Any, n: int, *, seed: int, system: str, unit: Any = "item",
    others: Sequence[Verdicts] = (), earlier: StratifiedSample | None = None,
) -> StratifiedSample:  # fmt: skip
    """A first sample of some verdicts, or n more than were drawn earlier."""
    strata = strata_of(members(verdicts, table, unit, others), n, unit)
    return draw(earlier or undrawn(verdicts, table, strata, system=system, seed=seed, unit=unit), n)
