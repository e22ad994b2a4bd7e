"""Places of reviews of the answers of systems: in each run folder, or in files that are named."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from steelyard.base.errors import InputError
from steelyard.base.nearest import nearest
from steelyard.data.folders.run_folder import RunFolder, find_run_folder
from steelyard.io.named import named_paths

if TYPE_CHECKING:
    from steelyard.judges.people.review import Review


def named_labels(texts: Sequence[str], *, without: bool = False) -> str | dict[str, str] | Literal[False] | None:
    """Labels as they are named on the command line: FILE, of all systems, or NAME=FILE for each; False: none count.

    A run folder has a name of its own, and stands for the file in it.
    Raises   InputError for files without a name where there are several, for a name that comes twice, and for labels
             where none shall count.

    >>> named_labels([]), named_labels(["l.json"]), named_labels(["a=l.json"]), named_labels([], without=True)
    (None, 'l.json', {'a': 'l.json'}, False)
    """
    if without and texts:
        raise InputError(f"--labels {texts[0]}: --no-labels says that none shall count; leave one out")
    if without:
        return False
    if len(texts) == 1 and named_paths(texts[0])[0] is None:
        return texts[0]
    labels = dict[str, str]()
    for text in texts:
        name, paths = named_paths(text)
        if name is None and (folder := find_run_folder(text)) is not None:
            name = folder.name
        if name is None or name in labels or len(paths) > 1:
            raise InputError(f"--labels {text}: name the system that they are of, each once, with one file: NAME=FILE")
        labels[name] = paths[0]
    return labels or None


def check_labels(labels: object, systems: Sequence[str]) -> None:
    """Raise   InputError for labels of a system that there is not."""
    for name in labels if isinstance(labels, Mapping) else ():
        if name not in systems:
            raise InputError(f"labels: no system is called {name!r}; {nearest(str(name), systems)}")


def review_file(labels: object, system: str, folder: RunFolder | None) -> Path | None:
    """The file that the review of a system is kept in, whether it is there or not; None where there is no place.

    labels   a path of that file or of a run folder, or system -> path; None: in the folder of the run
    """
    from steelyard.judges.people.review import FILE
    from steelyard.judges.tables.verdicts import FOLDER

    named = labels.get(system) if isinstance(labels, Mapping) else labels
    if isinstance(named, str | os.PathLike):
        path = Path(named)
        folder = find_run_folder(path)
        return path if folder is None else folder.path / FOLDER / FILE
    return None if folder is None or named is not None else folder.path / FOLDER / FILE


def review_of(labels: object, system: str, folder: RunFolder | None) -> Review | None:
    """The review of a system: what was handed in, or is kept; None where nobody decided anything yet.

    labels   a Review or a path, of all systems, or system -> these; None: those in the folder of the run; False: none
    Raises   InputError for a file that is named and is not there, or is no review.
    """
    from steelyard.judges.people.review import Review

    if labels is False:
        return None
    named = labels.get(system) if isinstance(labels, Mapping) else labels
    if isinstance(named, Review):
        return named
    if named is not None and not isinstance(named, str | os.PathLike):
        raise InputError(
            f"labels: those of {system} cannot be read from {type(named).__name__}; pass a sy.Review, or the path of "
            "the file that `steelyard review` keeps"
        )
    file = review_file(labels, system, folder)
    if file is None or (named is None and not file.exists()):
        return None
    return Review.read(file)


def are_handed_in(labels: object, system: str) -> bool:
    """True where labels were named for a system, or for all, so that others than its own are an error."""
    return (labels.get(system) if isinstance(labels, Mapping) else labels) not in (None, False)
