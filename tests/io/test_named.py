"""Runs as they are named on the command line."""

from pathlib import Path

import pytest

from steelyard.base.errors import InputError
from steelyard.io.named import named_paths, run_paths


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("seed-2.trec", "seed-10.trec", "k=5.trec", "one,two.trec", "odd[1].trec"):
        (tmp_path / name).touch()


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("a.trec", (None, ["a.trec"])),
        ("-", (None, ["-"])),
        ("bm25=a.trec", ("bm25", ["a.trec"])),
        ("bm25=a.trec,b.trec", ("bm25", ["a.trec", "b.trec"])),
        ("bm25=seed-*.trec,a.trec", ("bm25", ["seed-10.trec", "seed-2.trec", "a.trec"])),
        # What is a file is that file.
        ("k=5.trec", (None, ["k=5.trec"])),
        ("bm25=k=5.trec", ("bm25", ["k=5.trec"])),
        ("bm25=one,two.trec", ("bm25", ["one,two.trec"])),
        ("bm25=odd[1].trec", ("bm25", ["odd[1].trec"])),
        ("runs/k=5.trec", (None, ["runs/k=5.trec"])),
        ("=a.trec", (None, ["=a.trec"])),
    ],
)
def test_names_and_paths(text: str, want: tuple[str | None, list[str]]) -> None:
    assert named_paths(text) == want


@pytest.mark.parametrize(
    ("text", "why"),
    [("bm25=", "names no file"), ("bm25=a.trec,,b.trec", "names no file"), ("b=x*", "no file matches x")],
)
def test_what_names_no_file_is_refused(text: str, why: str) -> None:
    with pytest.raises(InputError, match=why):
        named_paths(text)


def test_all_paths() -> None:
    assert run_paths(["a", "b=seed-2*,c"]) == ["a", "seed-2.trec", "c"]
