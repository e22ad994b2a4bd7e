"""Runs as they are named on the command line: FILE, NAME=FILE, and NAME=FILE,FILE for several runs of one system."""

from __future__ import annotations

import os
from collections.abc import Iterable
from glob import glob, has_magic

from steelyard.base.errors import InputError


def named_paths(text: str) -> tuple[str | None, list[str]]:
    """The name that is given to a run, if any, and the paths of its files.

    A text that is the path of a file is just that, whatever characters it holds; so is one with a folder before the =.
    Behind the = are paths between commas, or patterns such as seed-*.trec, whose files come in order.
    Raises   InputError for a pattern that no file matches, and for a name without files

    >>> named_paths("bm25=run1.trec,run2.trec"), named_paths("runs/k=5.trec")
    (('bm25', ['run1.trec', 'run2.trec']), (None, ['runs/k=5.trec']))
    """
    name, equals, rest = text.partition("=")
    if not (equals and name) or os.sep in name or os.path.exists(text):
        return None, [text]
    paths = [path for piece in ([rest] if os.path.exists(rest) else rest.split(",")) for path in _matching(piece, text)]
    return name, paths


def run_paths(runs: Iterable[str]) -> list[str]:
    """The paths of all files of some runs."""
    return [path for run in runs for path in named_paths(run)[1]]


def _matching(piece: str, text: str) -> list[str]:
    if not piece:
        raise InputError(f"{text}: names no file after the = or between two commas; expected NAME=FILE,FILE")
    if os.path.exists(piece) or not has_magic(piece):
        return [piece]
    matches = sorted(glob(piece))
    if not matches:
        raise InputError(f"{text}: no file matches {piece}; check the path")
    return matches
