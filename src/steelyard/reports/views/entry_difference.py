"""The difference between two entries of a store: the verdict, what was changed, the scores, and what moved."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

import polars as pl

from steelyard.history.difference import CorpusDifference, EntryDifference
from steelyard.reports.views.cautions import careful
from steelyard.reports.views.changes import settings_json, settings_sheet
from steelyard.reports.views.comparison import VIEWS as COMPARISON_VIEWS
from steelyard.reports.views.comparison import brief_sheet, comparison_cautions, comparison_picture, measure_sheets
from steelyard.reports.views.numbers import number, signed
from steelyard.reports.views.verdicts import headline
from steelyard.reports.views.view import Block, Look, Paragraph, Section, Sheet, Text, View
from steelyard.reports.visible import single_line
from steelyard.reports.words import Words
from steelyard.store.entries import Entry

_SHOWN_SETTINGS, _SHOWN_MOVERS, _SHOWN_DOCUMENTS = 6, 3, 10
_COMMIT = 7


def _sections(difference: EntryDifference, words: Words) -> list[Section]:
    """Everything, in the order of the questions that it answers."""
    comparison = difference.comparison
    verdict = [Paragraph(text) for text in (_changed_text(difference, words), _counts_text(difference, words))]
    sheets = [_entries_sheet(difference, words)]
    if (settings := settings_sheet(difference.settings, words)) is not None:
        sheets.append(settings)
    if difference.corpus is not None:
        sheets += _corpus_sheets(difference.corpus, words)
    movers = list(_mover_sheets(difference, words))
    sections = [
        Section("verdict", headline(comparison, words), [*verdict, *map(Paragraph, _cautions(difference, words))]),
        Section("changes", words("entry_difference.title.changes"), sheets=sheets),
        Section("scores", words("entry_difference.title.scores"), sheets=[*measure_sheets(comparison, words)]),
    ]
    return sections + ([Section("movers", words("entry_difference.title.movers"), sheets=movers)] if movers else [])


def _brief(difference: EntryDifference, look: Look) -> Iterator[Block]:
    """The verdict, which parts and settings differ, the means, and the questions that moved most."""
    words, comparison = look.words, difference.comparison
    yield Text(headline(comparison, words), "bold")
    yield Text(_changed_text(difference, words))
    settings = settings_sheet(difference.settings, words)
    if settings is not None:
        more = len(settings.rows) - _SHOWN_SETTINGS
        settings.rows = settings.rows[:_SHOWN_SETTINGS]
        settings.notes += [words("entry_difference.more", n=more)] if more > 0 else []
        yield settings
    sheet = brief_sheet(comparison, words)
    sheet.notes += [text for text in (_movers_text(difference, words),) if text]
    sheet.notes += careful(_cautions(difference, words), look)
    yield sheet


def _cautions(difference: EntryDifference, words: Words) -> Iterator[str]:
    """That the gold differs, or that the corpus changed under it; then those of the comparison."""
    if "truth" in difference.changed and difference.n_common:
        yield words("entry_difference.gold_differs")
    corpus = difference.corpus
    if corpus is not None and corpus.touched:
        yield words("entry_difference.touched", n=len(corpus.questions), listed=words.listed(corpus.questions, 5))
    if not difference.comparison.common and (difference.n_first_only or difference.n_second_only):
        yield _counts_text(difference, words)
    yield from comparison_cautions(difference.comparison, words)


def _changed_text(difference: EntryDifference, words: Words) -> str:
    """The parts whose fingerprints differ, and those that are the same."""

    def named(same: bool) -> list[str]:
        return [words(f"entry_difference.part.{part}") for part, own in difference.fingerprints.items() if own is same]

    changed, same = named(False), named(True)
    if difference.corpus is not None and "corpus" in difference.changed:
        place = difference.changed.index("corpus")
        changed[place] = words("entry_difference.corpus", part=changed[place], **_counts(difference.corpus))
    key = "both" if changed and same else "changed" if changed else "same" if same else "unknown"
    return words(f"entry_difference.{key}", changed=words.listed(changed), same=words.listed(same))


def _counts(corpus: CorpusDifference) -> dict[str, int]:
    return {name: len(getattr(corpus, name)) for name in ("added", "removed", "changed")}


def _counts_text(difference: EntryDifference, words: Words) -> str:
    counts = {name: getattr(difference, name) for name in ("n_common", "n_first_only", "n_second_only")}
    first, second = (entry.id for entry in difference.entries)
    return words("entry_difference.counts", first=first, second=second, **counts)


def _entries_sheet(difference: EntryDifference, words: Words) -> Sheet:
    first, second = difference.entries
    rows = [
        [words(f"entry_difference.row.{name}"), *cells]
        for name, cells in {
            "time": [f"{entry.time:%Y-%m-%d %H:%M}" for entry in (first, second)],
            "commit": [_commit_text(entry, words) for entry in (first, second)],
            "tags": [", ".join(entry.tags) or "–" for entry in (first, second)],
            "note": [single_line(entry.note) or "–" for entry in (first, second)],
            "runs": [str(n) for n in difference.runs],
        }.items()
        if {*cells} != {"–"}
    ]
    return Sheet([words("entry_difference.row.entry"), *map(single_line, difference.systems)], rows)


def _commit_text(entry: Entry, words: Words) -> str:
    if entry.commit is None:
        return "–"
    return words("entry_difference.dirty", commit=entry.commit[:_COMMIT]) if entry.dirty else entry.commit[:_COMMIT]


def _corpus_sheets(corpus: CorpusDifference, words: Words) -> Iterator[Sheet]:
    """The documents that differ, those first that are gold of some question."""
    kinds = {doc: kind for kind in ("added", "removed", "changed") for doc in getattr(corpus, kind)}
    if not kinds:
        return
    ordered = sorted(kinds, key=lambda doc: (doc not in corpus.touched, doc))
    rows = [
        [
            single_line(doc),
            words(f"entry_difference.what.{kinds[doc]}"),
            words.listed(list(corpus.touched.get(doc, ())), 5) or "–",
        ]
        for doc in ordered[:_SHOWN_DOCUMENTS]
    ]
    more = len(ordered) - len(rows)
    heads = [words(f"entry_difference.head.{name}") for name in ("document", "what", "gold_of")]
    yield Sheet(heads, rows, notes=[words("entry_difference.more", n=more)] if more > 0 else [])


def _mover_sheets(difference: EntryDifference, words: Words) -> Iterator[Sheet]:
    """The questions that gained and lost most."""
    for kind, rows in _movers(difference, _SHOWN_DOCUMENTS):
        if rows:
            heads = [words(f"entry_difference.head.{name}") for name in (kind, "before", "after", "difference")]
            cells = [[id, number(before), number(after), signed(d, 4)] for id, before, after, d in rows]
            yield Sheet(heads, cells)


def _movers_text(difference: EntryDifference, words: Words) -> str:
    """The questions that gained and lost most, in a line."""
    texts = [
        words(
            f"entry_difference.{kind}",
            listed=words.listed([f"{single_line(id)} {signed(d, 3)}" for id, _, _, d in rows]),
            n=len(difference.movers.filter(_side(kind))),
        )
        for kind, rows in _movers(difference, _SHOWN_MOVERS)
        if rows
    ]
    return words("scores.between").join(texts)


def _side(kind: str) -> pl.Expr:
    return pl.col("difference") > 0 if kind == "gained" else pl.col("difference") < 0


def _movers(difference: EntryDifference, n: int) -> Iterator[tuple[str, Sequence[tuple[str, float, float, float]]]]:
    """Those that gained, most first, and those that lost, most first."""
    yield "gained", difference.movers.filter(_side("gained")).head(n).rows()
    yield "lost", difference.movers.filter(_side("lost")).reverse().head(n).rows()


def _data(difference: EntryDifference, words: Words) -> dict[str, Any]:
    """Everything; the comparison as that of `compare`."""
    corpus = difference.corpus
    return {
        "entries": [
            {
                "id": entry.id, "system": system, "time": entry.time.isoformat(), "commit": entry.commit,
                "dirty": entry.dirty, "tags": list(entry.tags), "note": entry.note, "truth": entry.truth, "runs": n,
            }
            for entry, system, n in zip(difference.entries, difference.systems, difference.runs, strict=True)
        ],
        "fingerprints": dict(difference.fingerprints),
        **{name: own for name, own in settings_json(difference.settings).items() if name in ("settings", "versions")},
        "corpus": None if corpus is None else {**asdict(corpus), "questions": corpus.questions},
        "questions": {name: getattr(difference, f"n_{name}") for name in ("common", "first_only", "second_only")},
        "movers": difference.movers.to_dicts(),
        "comparison": COMPARISON_VIEWS[type(difference.comparison)].data(difference.comparison, words),
    }  # fmt: skip


VIEWS = {
    EntryDifference: View[EntryDifference](
        "a difference of entries",
        blocks=lambda difference, look: _sections(difference, look.words),
        brief=_brief,
        data=_data,
        rows=lambda difference: difference.movers,
        has_page=True,
        picture=lambda difference, words: comparison_picture(difference.comparison, words),
    )
}
