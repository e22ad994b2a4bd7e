"""Gold evidence once more, character by character: sets and loops, no arrays, nothing from steelyard.align.

A chunk is a set of (document, position) pairs, a place of a gold piece is another, and all else follows from the
definitions.  Measures of ranked ids come from tests.measures.naive.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.measures import naive

Character = tuple[str, int]
Place = frozenset[Character]


@dataclass(frozen=True)
class Chunk:
    """What is known of one chunk; start is None where nobody tells its place."""

    id: str
    doc: str | None = None
    start: int | None = None
    end: int | None = None
    text: str | None = None
    pages: tuple[int, ...] = ()

    @property
    def characters(self) -> Place:
        if self.doc is None or self.start is None or self.end is None:
            return frozenset()
        return frozenset((self.doc, i) for i in range(self.start, self.end))


@dataclass(frozen=True)
class World:
    """Chunks of the corpus (or only the retrieved ones), documents where they are at hand: name -> (text, pages)."""

    chunks: Mapping[str, Chunk]
    documents: Mapping[str, tuple[str, tuple[int, ...] | None]] | None
    complete: bool
    rule: str


def fold(text: str) -> str:
    return "".join(letter for letter, _ in letters_of(text)).strip(" ")


def occurrences(text: str, quote: str) -> list[tuple[int, int]]:
    """All places of a quote in a text, lower case and white space folded, one character after the other."""
    folded = letters_of(text)
    letters = [letter for letter, _ in folded]
    wanted = list(fold(quote))
    starts = [i for i in range(len(letters) - len(wanted) + 1) if letters[i : i + len(wanted)] == wanted]
    return [(folded[i][1], folded[i + len(wanted) - 1][1] + 1) for i in starts]


def letters_of(text: str) -> list[tuple[str, int]]:
    """Lower-case letters with their places, one blank for each run of white space that is not beside Chinese."""
    folded: list[tuple[str, int]] = []
    for i, character in enumerate(text):
        if not character.isspace():
            if is_chinese(character) and folded and folded[-1][0] == " ":
                folded.pop()
            folded.append((character.lower(), i))
        elif folded and folded[-1][0] != " " and not is_chinese(folded[-1][0]):
            folded.append((" ", i))
    return folded


def is_chinese(character: str) -> bool:
    return unicodedata.name(character, "").startswith("CJK ")


def stretch(doc: str, start: int, end: int) -> Place:
    return frozenset((doc, i) for i in range(start, end))


def places(piece: Any, world: World) -> list[Place]:
    """Where a piece stands: several places are alternatives."""
    if piece.kind == "chunk":
        chunk = world.chunks.get(piece.chunk_id)
        return [chunk.characters] if chunk and chunk.characters else []
    if piece.kind == "span" and (world.documents is None or piece.doc in world.documents):
        return [stretch(piece.doc, piece.start, piece.end)]
    if world.documents is None:
        return []
    if piece.kind == "text":
        return [
            stretch(doc, a, b) for doc, (text, _) in world.documents.items() for a, b in occurrences(text, piece.text)
        ]
    return places_within(piece, *world.documents[piece.doc]) if piece.doc in world.documents else []


def places_within(piece: Any, text: str, pages: tuple[int, ...] | None) -> list[Place]:
    """The same for a quote, pages or a whole document, in the text of the document."""
    if piece.kind == "quote":
        found = [stretch(piece.doc, a, b) for a, b in occurrences(text, piece.text)]
        return found if piece.occurrence is None else [found[piece.occurrence - 1]]
    if piece.kind == "document":
        return [stretch(piece.doc, 0, len(text))]
    assert pages is not None
    ends = [*pages[1:], len(text)]
    whole = [stretch(piece.doc, pages[page - 1], ends[page - 1]) for page in piece.pages]
    return [frozenset().union(*whole)]


def holds(chunk: Chunk, piece: Any, world: World) -> bool:
    """Whether one chunk alone is enough for a piece."""
    return held_by([chunk], piece, world)


def held_by(chunks: Sequence[Chunk], piece: Any, world: World) -> bool:
    """Whether some chunks are enough for a piece: one of them alone, or what they have of one place together."""
    shown: dict[Any, set[Any]] = {}
    for chunk in chunks:
        for place, characters, size, adds in shares(chunk, piece, world):
            if enough(len(characters), size, world):
                return True
            if adds:
                shown.setdefault((place, size), set()).update(characters)
    return any(enough(len(characters), size, world) for (_, size), characters in shown.items())


def enough(n: int, size: int, world: World) -> bool:
    least = {"any": 0.0, "contains": 1.0}.get(world.rule)
    if least is None:
        least = float(world.rule.removeprefix("share>="))
    return n > 0 and n >= least * size


def shares(chunk: Chunk, piece: Any, world: World) -> list[tuple[Any, set[Any], int, bool]]:
    """What a chunk has of a piece: place, characters, how many the place has, and whether they add to others."""
    everything: list[tuple[Any, set[Any], int, bool]] = [("all", {0}, 1, True)]
    if piece.kind == "chunk":
        return everything * (chunk.id == piece.chunk_id)
    if piece.kind == "document":
        return everything * (chunk.doc == piece.doc)
    found = places(piece, world)
    if piece.kind == "pages":
        on_page = chunk.doc == piece.doc and set(chunk.pages) & set(piece.pages)
        return everything * bool(on_page or any(place & chunk.characters for place in found))
    if found:
        seen = [visible(place, world) for place in found]
        return [(i, set(place & chunk.characters), len(place), True) for i, place in enumerate(seen)]
    by_text = piece.kind == "text" or (piece.kind == "quote" and world.documents is None)
    if not by_text or chunk.text is None or not (piece.kind == "text" or chunk.doc in (None, piece.doc)):
        return []
    return [(("text", chunk.doc), *common(fold(piece.text), chunk, world))]


def visible(place: Place, world: World) -> Place:
    """Its characters but for white space, where the text is known and has any others."""
    if world.documents is None:
        return place
    return frozenset((doc, i) for doc, i in place if not world.documents[doc][0][i].isspace()) or place


def common(gold: str, chunk: Chunk, world: World) -> tuple[set[int], int, bool]:
    """The gold's characters that a chunk's text has, how many there are, and whether they tell where they are from."""
    text = fold(chunk.text or "")
    everything = [i for i, letter in enumerate(gold) if letter != " "]
    found = [at for at in range(len(gold)) if text and gold.startswith(text, at)]
    start = end = 0
    if not any(character.isalnum() for character in text):
        pass
    elif gold in text:
        start, end = 0, len(gold)
    elif found:
        twins = [c.id for c in world.chunks.values() if c.text is not None and fold(c.text) == text]
        start = found[twins.index(chunk.id) % len(found)]
        end = start + len(text)
    else:
        for n in range(6, min(len(gold), len(text))):
            if gold.endswith(text[:n]) and is_telling(text[:n]):
                start, end = len(gold) - n, len(gold)
            if gold.startswith(text[-n:]) and is_telling(text[-n:]) and n > end - start:
                start, end = 0, n
    return {i for i in everything if start <= i < end}, len(everything), is_telling(gold[start:end])


def is_telling(text: str) -> bool:
    return len(text.encode()) >= 16


@dataclass
class Weighed:
    """One question against one ranking."""

    question: Any
    ranked: Sequence[str]
    world: World

    def __post_init__(self) -> None:
        pieces = self.question.evidence or self.question.id_pieces
        self.groups: list[list[Any]] = []
        named: dict[str, list[Any]] = {}
        for piece in pieces:
            if piece.group is None or piece.group not in named:
                self.groups.append([piece])
                if piece.group is not None:
                    named[piece.group] = self.groups[-1]
            else:
                named[piece.group].append(piece)
        self.gains: dict[str, float] = {}
        self.item_rank: dict[str, int] = {}
        self.item_gain: dict[str, float] = {}
        # Of an unknown corpus a question knows the chunks that it retrieved itself.
        chunks = [chunk for chunk in self.world.chunks.values() if self.world.complete or chunk.id in self.ranked]
        for number, group in enumerate(self.groups):
            held = [chunk.id for chunk in chunks if any(holds(chunk, piece, self.world) for piece in group)]
            for piece in group:
                ids = [chunk.id for chunk in chunks if holds(chunk, piece, self.world)]
                for id in ids + [piece.chunk_id] * (piece.kind == "chunk"):
                    self.gains[id] = max(self.gains.get(id, -math.inf), piece.gain)
            gain = max(piece.gain for piece in group)
            if not held and not any(piece.kind == "chunk" for piece in group):
                everything = list(self.world.chunks.values())
                if not self.world.complete or any(held_by(everything, piece, self.world) for piece in group):
                    self.gains[f"stand-in {number}"] = gain
            item = f"item {number}"
            self.item_gain[item] = gain
            top = [self.world.chunks[id] for id in self.ranked if id in self.world.chunks]
            for rank in range(1, len(top) + 1):
                if any(held_by(top[:rank], piece, self.world) for piece in group):
                    self.item_rank[item] = rank
                    break
        self.complete()

    def complete(self) -> None:
        """A chunk with which what no chunk holds alone is held has the gain of it: it takes the stand-in's."""
        for number in range(len(self.groups)):
            stand_in, rank = f"stand-in {number}", self.item_rank.get(f"item {number}")
            if rank and self.gains.get(stand_in, 0) > 0:
                id, gain = self.ranked[rank - 1], self.gains.pop(stand_in)
                if id in self.gains:
                    self.gains[stand_in] = min(self.gains[id], gain)
                self.gains[id] = max(self.gains.get(id, gain), gain)

    @property
    def recall_counts_pieces(self) -> bool:
        return not self.world.complete or any(p.kind == "text" for group in self.groups for p in group)

    @property
    def unwinnable(self) -> bool:
        """Whether there is gold, and chunks of the corpus hold none of it."""
        pieces = [piece for group in self.groups for piece in group if piece.gain > 0]
        held = any(held_by(list(self.world.chunks.values()), piece, self.world) for piece in pieces)
        return self.world.complete and bool(pieces) and not held

    def found(self, k: int | None, min_gain: float) -> tuple[int, int]:
        """Items that recall counts: found among the first k, and all."""
        if self.recall_counts_pieces:
            return self.pieces_found(k, min_gain)
        n = naive.n_found(self.ranked, self.gains, k=k, min_gain=min_gain)
        return n, len(naive.relevant(self.gains, min_gain))

    def pieces_found(self, k: int | None, min_gain: float) -> tuple[int, int]:
        items = [item for item, gain in self.item_gain.items() if gain >= min_gain]
        return sum(self.item_rank.get(item, math.inf) <= (k or 10**9) for item in items), len(items)

    # Measures

    def value(self, name: str, k: Any, min_gain: float = 1.0) -> float:
        own = getattr(self, name, None)
        if own is not None:
            return float(own(k, min_gain))
        options: dict[str, Any] = {} if name == "ndcg" else {"min_gain": min_gain}
        return naive.evaluate(name, self.ranked, self.gains, k=k, **options)

    def recall(self, k: int | None, min_gain: float) -> float:
        found, n = self.found(k, min_gain)
        return found / n if n else 0.0

    def f1(self, k: int | None, min_gain: float) -> float:
        p, r = self.value("precision", k, min_gain), self.recall(k, min_gain)
        return 2 / (1 / p + 1 / r) if p and r else 0.0

    def recall_cap(self, k: int | None, min_gain: float) -> float:
        found, n = self.found(k, min_gain)
        most = min(len(self.ranked) if k is None else k, n)
        return min(found / most, 1.0) if most else 0.0

    def evidence_recall(self, k: int | None, min_gain: float) -> float:
        found, n = self.pieces_found(k, min_gain)
        return found / n if n else 0.0

    def shown(self, k: int | None) -> Place:
        chunks = [self.world.chunks[id] for id in self.ranked[:k]]
        return frozenset().union(*(chunk.characters for chunk in chunks))

    def gold(self) -> tuple[Place, int] | None:
        """Gold characters, and how many more there are somewhere; None where nobody knows."""
        if any(not self.world.chunks[id].characters for id in self.ranked):
            return None
        chosen: list[Place] = []
        elsewhere = 0
        for group in self.groups:
            positive = [piece for piece in group if piece.gain > 0]
            where = [place for piece in positive for place in self.places(piece)]
            sizes = [piece.end - piece.start if piece.kind == "span" else
                     len(piece.text) if piece.kind in ("quote", "text") else None
                     for piece in positive if not self.places(piece)]  # fmt: skip
            if None in sizes:
                return None
            if where:
                chosen.append(max(where, key=self.precedence))
            elif sizes:
                elsewhere += sizes[0] or 0
        return frozenset().union(*chosen), elsewhere

    def places(self, piece: Any) -> list[Place]:
        """Where a piece stands, as this question can know: of an unknown corpus it knows only what it retrieved."""
        if piece.kind == "chunk" and not self.world.complete and piece.chunk_id not in self.ranked:
            return []
        return places(piece, self.world)

    def precedence(self, place: Place) -> tuple[int, float]:
        """Of several places the one that is shown first counts, then the one of which that chunk shows most."""
        for rank, id in enumerate(self.ranked, 1):
            if n := len(place & self.world.chunks[id].characters):
                return -rank, n / len(place)
        return -(10**9), 0.0

    def span_recall(self, k: int | None, min_gain: float) -> float:
        gold = self.gold()
        if gold is None:
            return math.nan
        n = len(gold[0]) + gold[1]
        return len(gold[0] & self.shown(k)) / n if n else 0.0

    def span_precision(self, k: int | None, min_gain: float) -> float:
        gold, shown = self.gold(), self.shown(k)
        if gold is None:
            return math.nan
        return len(gold[0] & shown) / len(shown) if shown else 0.0

    def span_iou(self, k: int | None, min_gain: float) -> float:
        gold, shown = self.gold(), self.shown(k)
        if gold is None:
            return math.nan
        n = len(gold[0] | shown) + gold[1]
        return len(gold[0] & shown) / n if n else 0.0


def ranking(line: Mapping[str, Any]) -> list[str]:
    """Ids of a result line, best first."""
    items = line.get("retrieved") or []
    ids = [item if isinstance(item, str) else item["id"] for item in items]
    if items and isinstance(items[0], dict) and items[0].get("score") is not None:
        return naive.canonical({item["id"]: item["score"] for item in items})
    return ids
