"""Where reviews are: in run folders, in files that are named, or in hand."""

from __future__ import annotations

from pathlib import Path

import pytest

import steelyard as sy
from steelyard.data.folders.run_folder import RunFolder
from steelyard.experiment.door.choices import check_labels, named_labels, review_file, review_of
from steelyard.judges.people.review import Decision, Review

REVIEW = Review(labels=[Decision("i", "ann", "supported")])


def test_reviews_are_found_in_run_folders(tmp_path: Path) -> None:
    folder, file = RunFolder("s", tmp_path, {}), tmp_path / "verdicts" / "review.json"
    assert review_file(None, "s", folder) == file
    assert review_of(None, "s", folder) is None
    REVIEW.write(file)
    assert review_of(None, "s", folder) == REVIEW


def test_reviews_are_named_for_one_system_or_all(tmp_path: Path) -> None:
    file = tmp_path / "labels.json"
    REVIEW.write(file)
    assert review_of(file, "s", None) == review_of(str(file), "s", None) == review_of({"s": file}, "s", None) == REVIEW
    assert review_of({"s": REVIEW}, "s", None) is review_of(REVIEW, "s", None) is REVIEW
    assert review_of({"other": file}, "s", None) is review_of(None, "s", None) is review_file(None, "s", None) is None
    assert review_file(REVIEW, "s", None) is None


def test_what_is_no_review_is_refused(tmp_path: Path) -> None:
    with pytest.raises(sy.InputError, match=r"labels.json"):
        review_of(tmp_path / "labels.json", "s", None)
    with pytest.raises(sy.InputError, match="those of s cannot be read from int; pass a"):
        review_of(3, "s", None)
    with pytest.raises(sy.InputError, match="no system is called 'hybird'; did you mean hybrid"):
        check_labels({"hybird": "f"}, ["hybrid"])
    for texts in (["a.json", "b=c.json"], ["b=c.json", "b=d.json"], ["b=c.json,d.json"]):
        with pytest.raises(sy.InputError, match="name the system that they are of, each once, with one file"):
            named_labels(texts)
