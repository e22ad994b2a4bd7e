"""Chunkers by name, by module:object, and out of any splitter."""

import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from steelyard.base.errors import InputError
from steelyard.rag import registry
from steelyard.rag.fingerprint import settings_of
from steelyard.rag.protocols import Chunker
from steelyard.rag.stages.chunking import as_chunker
from steelyard.text.chunks import Recursive, Semantic, Sentences, Splitter, Whole, Windows

TEXT = " We weigh goods. 我们称重。\n\nThe heavy ones stand left. 重的在左。 "
MADE: list[tuple[str, dict[str, Any], Chunker]] = [
    ("recursive", {}, Recursive(size=1000, overlap=100)),
    ("recursive", {"size": 30, "overlap": 5}, Recursive(30, 5)),
    ("recursive", {"size": 30, "overlap": 5, "overlap_mode": "langchain"}, Recursive(30, 5, overlap_mode="langchain")),
    ("sentences", {"size": 40, "overlap": 1}, Sentences(40, 1)),
    ("windows", {"size": 4, "overlap": 2}, Windows(4, 2)),
    ("windows", {"size": 9, "unit": "characters"}, Windows(9, unit="characters")),
    ("semantic", {"size": 30, "markdown": True}, Semantic(30, markdown=True)),
    ("semantic-text-splitter", {"size": 30}, Semantic(30)),
    ("whole", {}, Whole()),
]


def test_every_registered_chunker_is_tried_here() -> None:
    assert registry.names("chunk") == sorted({name for name, _, _ in MADE})


@pytest.mark.parametrize(("name", "given", "want"), MADE, ids=[f"{name} {given}" for name, given, _ in MADE])
def test_a_name_and_its_settings_make_a_chunker(name: str, given: dict[str, Any], want: Chunker) -> None:
    made = registry.make("chunk", name, given)
    assert made == want
    assert isinstance(made, Chunker)
    assert as_chunker(made) is made
    assert given.items() <= settings_of(made).items()
    if name.startswith("semantic"):
        pytest.importorskip("semantic_text_splitter", reason="needs the extra splitter")
    spans = made.spans(TEXT)
    assert spans
    assert list(spans) == sorted(spans)
    assert all(TEXT[start:end].strip() for start, end in spans)
    covered = {i for start, end in spans for i in range(start, end)}
    assert all(i in covered or character.isspace() for i, character in enumerate(TEXT))
    assert list(made.spans(TEXT)) == list(spans)
    assert not made.spans("")


@pytest.mark.parametrize(
    ("name", "given", "says"),
    [
        ("recursiv", {}, "no chunk stage is called 'recursiv'; did you mean recursive"),
        ("tokens", {}, "no chunk stage is called 'tokens'"),
        ("recursive", {"chunk_size": 9}, "takes no setting 'chunk_size'; did you mean"),
        ("recursive", {"overlp": 9}, "takes no setting 'overlp'; did you mean overlap?"),
        ("recursive", {"size": "1000"}, "size must be a whole number from 1, not '1000'"),
        ("recursive", {"size": 10.0}, "size must be a whole number from 1, not 10.0"),
        ("recursive", {"size": True}, "size must be a whole number from 1, not True"),
        ("recursive", {"size": 0}, "size must be a whole number from 1, not 0"),
        ("recursive", {"size": 100}, "overlap 100 must be less than size 100"),
        ("recursive", {"overlap_mode": "both"}, "'exact' or 'langchain', not 'both'"),
        ("sentences", {"overlap": -1}, "overlap must be a whole number from 0, not -1"),
        ("windows", {"unit": "lines"}, "'words' or 'characters', not 'lines'"),
        ("semantic", {"markdown": 1}, "markdown must be true or false, not 1"),
        ("whole", {"size": 5}, "takes no setting 'size'"),
    ],
)
def test_bad_names_and_settings(name: str, given: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=re.escape(says)):
        registry.make("chunk", name, given)


@pytest.fixture
def own_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "own_chunkers_of_a_test.py").write_text(
        "class Lines:\n"
        "    def __init__(self, least: int = 1):\n"
        "        self.least = least\n"
        "    def split_text(self, text):\n"
        "        return [line for line in text.split('\\n') if len(line) >= self.least]\n"
        "class Halves:\n"
        "    def spans(self, text):\n"
        "        return [(0, len(text) // 2), (len(text) // 2, len(text))] if len(text) > 1 else []\n"
        "halves = Halves()\n"
        "number = 5\n",
        encoding="utf-8",
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.delitem(sys.modules, "own_chunkers_of_a_test", raising=False)
    return "own_chunkers_of_a_test"


def test_a_splitter_of_the_users_own(own_module: str) -> None:
    made = registry.make("chunk", f"{own_module}:Lines", {"least": 2})
    chunker = as_chunker(made)
    assert isinstance(chunker, Splitter)
    assert chunker.spans("ab\nc\n称重\nab") == [(0, 2), (5, 7), (8, 10)]
    assert "least" in chunker.identity()


def test_a_chunker_of_the_users_own_by_class_and_as_object(own_module: str) -> None:
    for kind in ("Halves", "halves"):
        chunker = as_chunker(registry.make("chunk", f"{own_module}:{kind}", {}))
        assert chunker.spans("abcd") == [(0, 2), (2, 4)]


@pytest.mark.parametrize(
    ("kind", "given", "says"),
    [
        ("Lines", {"most": 2}, "takes no setting 'most'"),
        ("Lines", {"least": "two"}, "least must be a whole number, not 'two'"),
        ("halves", {"size": 2}, "is an object, not a class; it takes no settings (size)"),
        ("Line", {}, "has no 'Line'; did you mean Lines"),
    ],
)
def test_a_chunker_of_the_users_own_with_bad_settings(
    own_module: str, kind: str, given: dict[str, Any], says: str
) -> None:
    with pytest.raises(InputError, match=re.escape(says)):
        registry.make("chunk", f"{own_module}:{kind}", given)


@pytest.mark.parametrize("made", [5, "recursive", None, object(), SimpleNamespace(spans=[(0, 1)]), SimpleNamespace()])
def test_what_is_no_chunker_is_refused(made: object) -> None:
    with pytest.raises(InputError, match=r"spans\(text\).*split_text\(text\)"):
        as_chunker(made)


def test_spans_go_before_split_text() -> None:
    both = SimpleNamespace(spans=lambda text: [(0, 1)], split_text=lambda text: [text])
    assert as_chunker(both).spans("ab") == [(0, 1)]
