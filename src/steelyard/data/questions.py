"""Questions with their gold evidence, as they are labelled: nothing is looked up yet."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, Literal, cast

from steelyard.base.errors import DuplicateError, InputError
from steelyard.data.truth import Truth
from steelyard.io import formats
from steelyard.io.json_files import id_labels, json_lines, query_id_of
from steelyard.io.objects import finite, text_id
from steelyard.io.source import Source, source_of

PieceKind = Literal["chunk", "span", "quote", "text", "pages", "document"]
_KEYS = {"doc", "start", "end", "quote", "text", "page", "pages", "id", "gain", "group", "occurrence"}
_OTHER_NAMES = {"doc_id": "doc", "chunk_id": "id", "chunk": "id"}
_PAGE_RANGE = re.compile(r"\s*(\d+)\s*[-–]\s*(\d+)\s*")


@dataclass(frozen=True, slots=True)
class Piece:
    """One piece of gold evidence.

    kind        how it is named, which tells the fields that are set:
                chunk     chunk_id
                span      doc, start, end: characters of the document
                quote     doc, text, and occurrence (from 1) where one of several is meant
                text      text alone
                pages     doc, pages (from 1)
                document  doc
    gain        graded relevance
    group       pieces of one group are alternatives; None for a piece that stands alone
    """

    kind: PieceKind
    gain: float = 1.0
    group: str | None = None
    chunk_id: str = ""
    doc: str = ""
    start: int = 0
    end: int = 0
    text: str = ""
    pages: tuple[int, ...] = ()
    occurrence: int | None = None

    def __str__(self) -> str:
        shown = self.text if len(self.text) <= 60 else f"{self.text[:57]}..."
        return {
            "chunk": f"chunk {self.chunk_id!r}",
            "span": f"characters {self.start} to {self.end} of {self.doc!r}",
            "quote": f"quote {shown!r} of {self.doc!r}",
            "text": f"text {shown!r}",
            "pages": f"page{'s' * (len(self.pages) > 1)} {', '.join(map(str, self.pages))} of {self.doc!r}",
            "document": f"document {self.doc!r}",
        }[self.kind]


@dataclass(frozen=True, slots=True)
class Question:
    """One question of a dataset.

    query      what is asked; None in a file of labels alone
    evidence   gold pieces that can be found in any chunking
    labels     gains of chunks that are named by id; None where the line has no such key
    answer     the answer that is expected
    where      file and line, for messages
    """

    query_id: str
    query: str | None
    evidence: tuple[Piece, ...]
    labels: Mapping[str, float] | None
    answer: str | None
    tags: tuple[str, ...]
    where: str

    @property
    def id_pieces(self) -> tuple[Piece, ...]:
        """The labels by id, as pieces."""
        return tuple(Piece("chunk", gain, chunk_id=id) for id, gain in (self.labels or {}).items())


class Questions(Sequence[Question]):
    """A dataset: questions with gold evidence.

    Make one with `Questions.read(path)`, where path is a JSONL file, a folder that holds `questions.jsonl`, or a BEIR
    folder, whose judged documents become document gold; or with `Questions(dicts)`, one dict a question.

    Raises   InputError, DuplicateError naming file and line.
    """

    def __init__(self, lines: Iterable[Mapping[str, Any]], *, name: str = "questions") -> None:
        numbered = ((f"{name}, question {number}", dict(line)) for number, line in enumerate(lines, 1))
        self._fill(name, [_question(line, where) for where, line in numbered], None)

    @classmethod
    def read(cls, path: str | Path | Source) -> Questions:
        """Read a JSONL file, a folder with questions.jsonl, or a BEIR folder."""
        questions = cls.__new__(cls)
        file = path if isinstance(path, Source) else dataset_file(path)
        if file is None:
            folder = Path(cast("str | Path", path))
            questions._fill(folder.name, list(_beir(folder)), None)
        else:
            source = source_of(file)
            lines = (_question(line, f"{source.name}, line {number}") for number, line in json_lines(source))
            questions._fill(source.stem, list(lines), source)
        return questions

    @classmethod
    def of(cls, questions: Iterable[Question], *, name: str = "questions") -> Questions:
        """Questions that are there already, for instance some of a larger set."""
        made = cls.__new__(cls)
        made._fill(name, list(questions), None)
        return made

    def _fill(self, name: str, questions: list[Question], source: Source | None) -> None:
        if not questions:
            raise InputError(f"{name}: holds no question; expected one JSON object a line with `qid` and `query`")
        first: dict[str, Question] = {}
        for question in questions:
            if question.query_id in first:
                raise DuplicateError(
                    f"{question.where}: question {question.query_id!r} is listed already, in "
                    f"{first[question.query_id].where}; rename or remove one"
                )
            first[question.query_id] = question
        self.name = name
        self._questions = questions
        self._source = source

    def __len__(self) -> int:
        return len(self._questions)

    def __getitem__(self, index: Any) -> Any:
        return self._questions[index]

    def __repr__(self) -> str:
        return f"Questions({self.name!r}: {len(self)} questions, {self.n_pieces} pieces of evidence)"

    @cached_property
    def n_pieces(self) -> int:
        """Pieces of evidence, those named by chunk id left aside."""
        return sum(len(question.evidence) for question in self._questions)

    def digest(self) -> str:
        """A fingerprint of the file, or of the questions."""
        if self._source is not None:
            return self._source.digest()
        import hashlib

        return "sha256:" + hashlib.sha256(repr(self._questions).encode()).hexdigest()

    def truth(self) -> Truth:
        """The labels by id alone, for runs that tell nothing but ids.

        Raises   InputError naming a question that has only evidence.
        """
        for question in self._questions:
            if not question.labels and question.evidence:
                raise InputError(
                    f"{question.where}: question {question.query_id!r} has evidence but no chunk ids, and the run "
                    "has ids alone; give texts or offsets in the run, or a corpus"
                )
        return Truth({q.query_id: q.labels or {} for q in self._questions}, name=self.name)


def dataset_file(path: str | Path) -> Path | None:
    """The JSONL file of a dataset, or None for a BEIR folder.

    Raises   InputError for a folder that is neither.
    """
    path = Path(path)
    if str(path) == "-" or not path.is_dir():
        return path
    for name in ("questions.jsonl", "questions.jsonl.gz", "questions.jsonl.zst"):
        if (path / name).is_file():
            return path / name
    if (path / "qrels").is_dir():
        return None
    raise InputError(f"{path}: is no dataset; it has neither questions.jsonl nor qrels/*.tsv")


def _question(line: dict[str, Any], where: str) -> Question:
    query_id = query_id_of(line, where)
    query = line.get("query", line.get("question"))
    if query is not None and not isinstance(query, str):
        raise InputError(f"{where}: `query` must be text, not {query!r:.60}")
    listed = line.get("evidence") or []
    if isinstance(listed, Mapping | str) or not isinstance(listed, Iterable):
        raise InputError(f"{where}: `evidence` must be a list of pieces, not {listed!r:.60}")
    pieces = tuple(_piece(piece, f"{where}, piece {i} of `evidence`") for i, piece in enumerate(listed, 1))
    gains: dict[str, float] = {}
    for piece in pieces:
        if piece.group is not None and gains.setdefault(piece.group, piece.gain) != piece.gain:
            raise InputError(
                f"{where}: group {piece.group!r} has pieces of gain {gains[piece.group]:g} and {piece.gain:g}; "
                "any one of a group does, so give all of them one gain"
            )
    answer, tags = line.get("gold_answer", line.get("answer")), line.get("tags") or []
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        raise InputError(f"{where}: `tags` must be a list of texts, not {tags!r:.60}")
    return Question(
        query_id, query, pieces, id_labels(line, where), None if answer is None else str(answer), tuple(tags), where
    )


def _piece(given: object, where: str) -> Piece:
    if isinstance(given, str):
        given = {"text": given}
    if not isinstance(given, Mapping):
        raise InputError(f"{where}: must be an object such as {{doc, quote}}, not {given!r:.60}")
    piece: dict[str, Any] = {
        _OTHER_NAMES.get(str(key), str(key)): value for key, value in given.items() if value is not None
    }
    if odd := piece.keys() - _KEYS:
        raise InputError(f"{where}: has unknown keys {', '.join(sorted(odd))}; there are {', '.join(sorted(_KEYS))}")
    if "doc" in piece and "text" in piece and "quote" not in piece:
        piece["quote"] = piece.pop("text")
    forms = [form for form in _FORMS if form != "doc" and form in piece]
    if len(forms) > 1 or (not forms and "doc" not in piece) or ("end" in piece and "start" not in piece):
        raise InputError(
            f"{where}: must be one of {{doc, start, end}}, {{doc, quote}}, {{doc, pages}}, {{doc}}, {{text}}, {{id}}; "
            f"it has {', '.join(piece) or 'nothing'}"
        )
    form = forms[0] if forms else "doc"
    if form not in ("text", "id") and "doc" not in piece:
        raise InputError(f"{where}: has no `doc`, the document that it speaks of")
    if "occurrence" in piece and form != "quote":
        raise InputError(f"{where}: `occurrence` goes with a quote")
    common = {
        "gain": finite(piece.get("gain", 1.0), f"{where}: gain"),
        "group": text_id(piece["group"], where, "`group`") if "group" in piece else None,
        "doc": text_id(piece["doc"], where, "`doc`") if "doc" in piece else "",
    }
    return Piece(**common, **_FORMS[form](piece, where))  # type: ignore[arg-type]


def _quote(piece: Mapping[str, Any], where: str) -> dict[str, object]:
    occurrence = piece.get("occurrence")
    if occurrence is not None:
        _whole(occurrence, 1, f"{where}: `occurrence`")
    return {"kind": "quote", "text": _words(piece["quote"], f"{where}: `quote`"), "occurrence": occurrence}


def _span(piece: Mapping[str, Any], where: str) -> dict[str, object]:
    start = _whole(piece["start"], 0, f"{where}: `start`")
    end = _whole(piece.get("end"), 0, f"{where}: `end`")
    if end <= start:
        raise InputError(f"{where}: a span ends behind its start; got start {start}, end {end}")
    return {"kind": "span", "start": start, "end": end}


def _whole(value: object, least: int, where: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise InputError(f"{where} must be a whole number from {least}, not {value!r}")
    return value


def _words(value: object, where: str) -> str:
    if not isinstance(value, str) or not any(character.isalnum() for character in value):
        raise InputError(f"{where} must be a text with at least one letter or digit, not {value!r:.60}")
    return value


def _pages(value: object, where: str) -> tuple[int, ...]:
    """Pages as a number, a list of numbers, or ranges such as "3-5"."""
    listed = value if isinstance(value, list) else [value]
    if not listed:
        raise InputError(f"{where}: `pages` is an empty list; name a page, or leave it away for the whole document")
    return tuple(dict.fromkeys(chain.from_iterable(_page_range(item, where) for item in listed)))


def _page_range(item: object, where: str) -> Iterable[int]:
    if isinstance(item, str) and (found := _PAGE_RANGE.fullmatch(item)) and 1 <= int(found[1]) <= int(found[2]):
        return range(int(found[1]), int(found[2]) + 1)
    if isinstance(item, str) and item.strip().isdecimal():
        item = int(item)
    return (_whole(item, 1, f"{where}: a page"),)


_FORMS: dict[str, Callable[[Mapping[str, Any], str], dict[str, object]]] = {
    "start": _span,
    "quote": _quote,
    "text": lambda piece, where: {"kind": "text", "text": _words(piece["text"], f"{where}: `text`")},
    "page": lambda piece, where: {"kind": "pages", "pages": _pages(piece["page"], where)},
    "pages": lambda piece, where: {"kind": "pages", "pages": _pages(piece["pages"], where)},
    "id": lambda piece, where: {"kind": "chunk", "chunk_id": text_id(piece["id"], where, "`id`")},
    "doc": lambda piece, where: {"kind": "document"},
}
"""What tells the kind of a piece, and how its own fields are read; a document is what remains."""


def _beir(folder: Path) -> Iterator[Question]:
    """Questions of a BEIR folder: every judged document is gold, or judged not to be, as a whole and by its id."""
    truth = Truth.read(folder, format="beir")
    pieces: dict[str, list[Piece]] = {query_id: [] for query_id in truth.query_ids}
    labels = dict(zip(truth.query_ids, truth.labels, strict=True))
    for query_id, doc_id, gain in truth.frame.drop_nulls().iter_rows():
        pieces[query_id].append(Piece("document", gain, doc=doc_id))
    file = next((folder / f"queries.jsonl{end}" for end in ("", ".gz", ".zst")
                 if (folder / f"queries.jsonl{end}").is_file()), None)  # fmt: skip
    if file is None:
        raise InputError(f"{folder}: has no queries.jsonl beside its qrels")
    asked = set[str]()
    for where, query_id, text in _beir_queries(Source(file)):
        if query_id in pieces:
            asked.add(query_id)
            yield Question(query_id, text, tuple(pieces[query_id]), labels[query_id], None, (), where)
    for query_id in sorted(pieces.keys() - asked):
        yield Question(query_id, None, tuple(pieces[query_id]), labels[query_id], None, (), str(folder))


def _beir_queries(source: Source) -> Iterator[tuple[str, str, str]]:
    """Where each query of a BEIR file stands, its id and its text."""
    for number, line in json_lines(source):
        where = f"{source.name}, line {number}"
        if "_id" not in line or not isinstance(line.get("text"), str):
            raise InputError(f"{where}: must have `_id` and `text` (keys: {', '.join(line) or 'none'})")
        yield where, text_id(line["_id"], where, "`_id`"), line["text"]


def read_queries(path: str | Path) -> Questions:
    """Texts and tags of queries: questions in JSONL, BEIR's queries.jsonl, or lines of id, tab and text.

    Raises   InputError, DuplicateError naming file and line.
    """
    if Path(path).is_dir():
        return Questions.read(path)
    source = Source(path)
    if formats.sniff(source) != "jsonl":
        return Questions.of(_tabbed(source), name=source.stem)
    _, first = next(json_lines(source))
    if not {"_id", "text"} <= first.keys():
        return Questions.read(path)
    return Questions.of(
        (Question(id, text, (), None, None, (), where) for where, id, text in _beir_queries(source)), name=source.stem
    )


def _tabbed(source: Source) -> Iterator[Question]:
    for number, line in enumerate(source.read().decode("utf-8-sig", "replace").splitlines(), 1):
        where = f"{source.name}, line {number}"
        query_id, tab, text = line.partition("\t")
        if not line.strip():
            continue
        if not tab:
            raise InputError(f"{where}: must be an id, a tab and a text, not {line!r:.60}")
        yield Question(text_id(query_id.strip(), where, "the id"), text.strip(), (), None, None, (), where)
