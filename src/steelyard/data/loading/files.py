"""Which files there are, how each kind is read, and what its documents are called."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, overload

from steelyard.base.errors import DuplicateError, InputError, quoted
from steelyard.data.corpus import Document
from steelyard.data.loading.decoding import DETECT, Encodings, encoding_of, matches, read_text, refuse_half_characters
from steelyard.data.loading.html import visible_text
from steelyard.data.loading.pdf import read_pdf
from steelyard.io.json_files import json_lines, object_of
from steelyard.io.objects import text_id
from steelyard.io.source import Source, strip_compression

_ID_KEYS = ("_id", "doc_id", "id", "doc")
_BEIR = ("corpus.jsonl", "corpus.jsonl.gz", "corpus.jsonl.zst")
_NO_TEXT = (".pdf",)
_N_SHOWN = 5


@dataclass(frozen=True)
class Loaded(Sequence[Document]):
    """The documents of a file or folder, in order; itself a sequence of them.

    documents   sorted by path (as bytes), those of one file in its order
    skipped     paths within the folder that are no documents: other kinds of files, links that lead nowhere or to a
                folder, pipes.  Hidden files, and files that the pattern leaves out, are not named.
    encodings   of files whose encoding was detected, and is not UTF-8: path within the folder to encoding
    """

    documents: tuple[Document, ...]
    skipped: tuple[str, ...] = ()
    encodings: Mapping[str, str] = field(default_factory=dict)

    @property
    def empty(self) -> tuple[str, ...]:
        """Ids of the documents without text; they count, and have no chunks."""
        return tuple(document.doc_id for document in self.documents if not document.text)

    def __len__(self) -> int:
        return len(self.documents)

    @overload
    def __getitem__(self, at: int) -> Document: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Document, ...]: ...
    def __getitem__(self, at: int | slice) -> Document | tuple[Document, ...]:
        """One document, or some of them."""
        return self.documents[at]


def load(path: str | Path, *, encoding: str | Mapping[str, str] = DETECT, pattern: str | None = None) -> Loaded:
    """Documents of a file, of a folder with all folders in it, or of a BEIR folder (one that holds corpus.jsonl).

    encoding   of all text files, to which they are held strictly; or a table by pattern, {"legacy/**": "gbk"}, of which
               the first that matches a file counts.  By default each file is read by itself: by its byte order mark,
               as UTF-8, by what an HTML page declares, or in the encoding in which it reads as a language
               (`detecting.detect`); where several would do, it is refused.  `encodings` names those that are not UTF-8
    pattern    which files of a folder to read, as `*.md` (a name at any depth) or `guides/*` (a path; `*` crosses `/`);
               with one, a BEIR folder is read like any other

    kind             doc_id         text, in which all offsets count
    .txt .md         its path       as it is, line ends included, without a byte order mark
    .markdown
    .html .htm       its path       what a reader sees (`html.visible_text`)
    .pdf             its path       the pages' text with `pdf.PAGE_END` between two; `pages` says where each begins
    .jsonl           _id, doc_id,   one document a line: `text`, and before it `title` and an empty line
                     id or doc      where the line has a title that is not blank

    A path counts from the folder, with "/", and drops its suffix where the rest is no other file's path, with or
    without suffix: `manual.pdf` is `manual`, unless there is a `manual.txt`.  Text kinds may end in .gz or .zst.  A
    document of nothing but white space is kept with the text "".
    Raises   InputError naming file and byte, line or page; DuplicateError; MissingExtraError for a PDF.
    """
    path, encodings = Path(path), Encodings.of(encoding)
    if not os.path.isdir(path):
        if pattern is not None:
            raise InputError(f"{path}: is no folder; a pattern ({pattern!r}) chooses files of a folder")
        return _loaded([(path, path.name)], encodings, [])
    beir = beir_corpus(path)
    if beir and pattern is None:
        return _loaded([(beir, beir.name)], encodings, [])
    files, skipped = _walk(path, pattern)
    if not files:
        raise InputError(f"{path}: {_nothing_there(skipped, pattern)}; documents are files of {', '.join(KINDS)}")
    return _loaded(files, encodings, skipped)


def beir_corpus(folder: Path) -> Path | None:
    """The file of documents of a BEIR folder; None for a folder without one."""
    return next((folder / name for name in _BEIR if (folder / name).is_file()), None)


def read_texts(file: Path, doc_ids: Collection[str]) -> dict[str, str]:
    """Texts of some documents of a JSONL file, as `load` reads them; what the file lacks is left out.

    Raises   InputError naming the line.
    """
    source, texts, wanted = Source(file), dict[str, str](), set(doc_ids)
    for number, line in json_lines(source) if wanted else ():
        where = f"{source.name}, line {number}"
        doc_id = _id_of(line, where)
        if doc_id in wanted:
            texts[doc_id] = _text_of(line, where)
            wanted.discard(doc_id)
            if not wanted:
                break
    return texts


def _stem(name: str) -> str | None:
    """A path without the suffix of a kind that can be read, or None for other kinds."""
    bare, compression = strip_compression(name)
    suffix = PurePosixPath(bare).suffix
    if suffix.lower() not in KINDS or (compression and suffix.lower() == ".pdf"):
        return None
    return bare.removesuffix(suffix)


def _walk(folder: Path, pattern: str | None) -> tuple[list[tuple[Path, str]], list[str]]:
    """Files to read, each with its path in the folder, and paths to skip; sorted by path."""

    def fail(error: OSError) -> None:
        raise InputError(f"{error.filename}: cannot be read ({error.strerror or error})") from error

    paths, skipped = [], []
    for parent, folders, files in os.walk(folder, onerror=fail):
        folders[:] = [name for name in folders if not name.startswith(".")]
        # A link to a folder is not followed: it may lead back to where it is.
        for name in files + [name for name in folders if os.path.islink(os.path.join(parent, name))]:
            file = Path(parent, name)
            relative = file.relative_to(folder).as_posix()
            if name.startswith(".") or not (pattern is None or matches(relative, pattern)):
                continue
            if _stem(name) is not None and os.path.isfile(file):
                paths.append((file, text_id(relative, str(folder), "the name of a file")))
            else:
                skipped.append(relative)
    paths.sort(key=lambda pair: os.fsencode(pair[1]))
    return paths, sorted(skipped, key=os.fsencode)


def _nothing_there(skipped: Sequence[str], pattern: str | None) -> str:
    if pattern is not None:
        return f"has no document that matches {pattern!r}"
    if not skipped:
        return "is an empty folder"
    more = f" and {len(skipped) - _N_SHOWN} more" if len(skipped) > _N_SHOWN else ""
    return f"has no documents, only {', '.join(skipped[:_N_SHOWN])}{more}"


def _loaded(files: Sequence[tuple[Path, str]], encodings: Encodings, skipped: Sequence[str]) -> Loaded:
    paths = [relative for _, relative in files]
    stems = [_stem(relative) or relative for relative in paths]
    taken = Counter(stems) + Counter(path for path, stem in zip(paths, stems, strict=True) if path != stem)
    documents, detected = dict[str, Document](), dict[str, str]()
    for (file, relative), stem in zip(files, stems, strict=True):
        source = _source(file)
        encoding = encodings.of_file(relative)
        if encoding == DETECT:
            encoding = "utf-8" if source.suffix in _NO_TEXT else encoding_of(source, whole=source.suffix != ".jsonl")
            if encoding != "utf-8":
                detected[relative] = encoding
        for document in KINDS[source.suffix](source, stem if taken[stem] == 1 else relative, encoding):
            before = documents.setdefault(document.doc_id, document)
            if before is not document:
                raise DuplicateError(
                    f"document {document.doc_id!r} is in {before.source} and in {document.source}; rename one, or "
                    "choose files with pattern=..."
                )
    if not documents:
        raise InputError(f"{files[0][0]}: has no documents; expected one JSON object a line, with an id and a text")
    return Loaded(tuple(documents.values()), tuple(skipped), detected)


def _source(file: Path) -> Source:
    if not os.path.lexists(file):
        raise InputError(f"{file}: there is no such file or folder; check the path")
    if _stem(file.name) is None:
        raise InputError(f"{file}: is of no kind that can be read ({', '.join(KINDS)}); plain text is named .txt")
    return Source(file)


def _document(source: Source, doc_id: str, text: str, pages: tuple[int, ...] | None = None) -> Iterator[Document]:
    yield Document(doc_id, "" if text.isspace() else text, pages, source.name)


def _from_text(source: Source, doc_id: str, encoding: str) -> Iterator[Document]:
    return _document(source, doc_id, read_text(source, encoding=encoding))


def _from_html(source: Source, doc_id: str, encoding: str) -> Iterator[Document]:
    return _document(source, doc_id, visible_text(read_text(source, encoding=encoding)))


def _from_pdf(source: Source, doc_id: str, encoding: str) -> Iterator[Document]:
    return _document(source, doc_id, *read_pdf(source))


def _from_jsonl(source: Source, doc_id: str, encoding: str) -> Iterator[Document]:
    lines = json_lines(source) if encoding == "utf-8" else _other_lines(source, encoding)
    for number, line in lines:
        where = f"{source.name}, line {number}"
        text = _text_of(line, where)
        yield Document(_id_of(line, where), "" if text.isspace() else text, None, where)


def _other_lines(source: Source, encoding: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a JSONL file that is not in UTF-8, with the numbers of their lines."""
    for number, raw in enumerate(read_text(source, encoding=encoding).split("\n"), 1):
        if raw.strip():
            yield number, object_of(raw, f"{source.name}, line {number}")


def _id_of(line: Mapping[str, Any], where: str) -> str:
    key = next((key for key in _ID_KEYS if key in line), None)
    if key is None:
        raise InputError(
            f"{where}: has no id (keys: {', '.join(line) or 'none'}); expected one of {', '.join(_ID_KEYS)}"
        )
    doc_id = text_id(line[key], where, f"`{key}`")
    if not doc_id.strip():
        raise InputError(f"{where}: `{key}` is empty; every document needs an id")
    return doc_id


def _text_of(line: Mapping[str, Any], where: str) -> str:
    if "text" not in line:
        raise InputError(
            f"{where}: has no `text` (keys: {', '.join(line) or 'none'}); is this a file of documents? "
            "Else choose the others with pattern=..."
        )
    title, text = line.get("title") or "", line["text"]
    for key, value in (("title", title), ("text", text)):
        if not isinstance(value, str):
            raise InputError(f"{where}: `{key}` is {quoted(value)}, expected text")
        refuse_half_characters(value, f"{where}, `{key}`")
    return f"{title}\n\n{text}" if title.strip() else text


KINDS: Mapping[str, Callable[[Source, str, str], Iterator[Document]]] = {
    ".txt": _from_text,
    ".md": _from_text,
    ".markdown": _from_text,
    ".html": _from_html,
    ".htm": _from_html,
    ".jsonl": _from_jsonl,
    ".pdf": _from_pdf,
}
"""How each kind of file is read: (source, doc_id, encoding) to its documents."""
