"""What a page may hold at most."""

from __future__ import annotations

from dataclasses import dataclass

from steelyard.report.visible import visible


@dataclass(frozen=True)
class Limits:
    """What the details of all questions together may hold at most; the page names what is left out.

    questions    that are shown one by one; of more a random sample of so many, and those that are named
    entries      places of all lists together, and depth of any of them
    id_bytes     of the ids of what the lists show
    chunk_bytes, answer_bytes, gold_bytes   of texts of chunks, of answers, of gold and expected answers
    judged_bytes  of answers with the verdicts on them
    gold_pieces  of all questions together
    document     characters of a document that a run names by its id; gold_document   of one that is gold
    query, reason   characters of a query and of the reason of a failure
    """

    questions: int = 100_000
    entries: int = 700_000
    depth: int = 20
    id_bytes: int = 4_000_000
    chunk_bytes: int = 4_500_000
    answer_bytes: int = 1_500_000
    gold_bytes: int = 1_000_000
    judged_bytes: int = 4_000_000
    gold_pieces: int = 100_000
    document: int = 4_000
    gold_document: int = 200
    query: int = 2_000
    reason: int = 500


@dataclass
class Budget:
    """Lets texts through, fit to be shown, as long as there is room for their bytes; counts the others."""

    room: int
    left_out: int = 0

    def __call__(self, text: str) -> str | None:
        """The text with control characters made visible; None where there is no room."""
        size = len(text.encode("utf-8", "replace"))
        if size > self.room:
            self.left_out += 1
            return None
        self.room -= size
        return visible(text)


def shortened(text: str, size: int) -> str:
    """The first characters of a text, the last of them … where it is longer than `size`."""
    return visible(cut(text, size))


def cut(text: str, size: int) -> str:
    """The first characters of a text as it is, the last of them … where it is longer than `size`."""
    return text if len(text) <= size else text[: size - 1] + "…"
