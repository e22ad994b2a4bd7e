"""Files that people saved: what is taken in, what is refused, and what is said about it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import steelyard as sy
from steelyard.judges.people.review import Review
from steelyard.reports.formats.blocks import blocks_terminal
from steelyard.reports.views.review import conflicts_section
from steelyard.reports.words import read_words
from steelyard.reviewing.forms import Conflict, ImportedLabels, ItemsFile
from steelyard.reviewing.importing import read_forms
from steelyard.reviewing.rounds import next_round
from steelyard.reviewing.systems import open_reviewed
from tests.reviewing.small import QUESTIONS, outputs, saved, written_items


@pytest.fixture(scope="module")
def systems() -> list:
    return open_reviewed(QUESTIONS, {"good": outputs(), "bad": outputs(wrong=range(0, 12, 3))})[1]


@pytest.fixture
def form(systems: list, tmp_path: Path) -> ItemsFile:
    round, file = next_round(systems, "grounded", n=10), tmp_path / "labels.json"
    Review([sample for own in round.systems for sample in own.review.samples]).write(file)
    return written_items(round, tmp_path / "review", file)


def take(*paths: Path, into: object = None) -> ImportedLabels:
    """Import into labels.json beside the folder of the form, unless another place is named."""
    return sy.review.import_labels(paths, into=paths[0].parent.parent / "labels.json" if into is None else into)


def test_decisions_are_kept_beside_the_sample(form: ItemsFile, tmp_path: Path) -> None:
    folder = tmp_path / "review"
    result = take(folder / "items.json", saved(folder, form, "ann", ["supported", "not_found", "cannot_say"]))
    assert [(own.rater, own.n, own.n_new, own.n_cannot_say) for own in result.raters] == [("ann", 3, 3, 1)]
    assert (result.n_asked, result.n_decided, result.conflicts) == (len(form.items), 3, [])
    review = Review.read(tmp_path / "labels.json")
    assert [d.label for d in review.labels.decisions] == ["supported", "not_found", "cannot_say"]
    assert len(review.samples) == 2
    assert result.files == [tmp_path / "labels.json"]


def test_the_items_are_found_beside_a_saved_file(form: ItemsFile, tmp_path: Path) -> None:
    assert take(saved(tmp_path / "review", form, "ann", ["supported"])).n_decided == 1


def test_a_folder_moved_with_its_labels_is_found(form: ItemsFile, tmp_path: Path) -> None:
    file = saved(tmp_path / "review", form, "ann", ["supported"])
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / "review").rename(elsewhere / "review")
    (tmp_path / "labels.json").rename(elsewhere / "labels.json")
    assert take(elsewhere / "review" / file.name).n_decided == 1


def test_the_later_decision_of_a_person_counts(form: ItemsFile, tmp_path: Path) -> None:
    folder = tmp_path / "review"
    files = [
        saved(folder, form, "ann", [label], f"2026-11-2{day}") for day, label in ((3, "not_found"), (2, "supported"))
    ]
    take(*files)
    review = Review.read(tmp_path / "labels.json")
    assert [d.label for d in review.labels.decisions] == ["not_found"]
    again = take(files[1])
    assert (again.raters[0].n_older, again.raters[0].n_changed, again.raters[0].n_new) == (1, 0, 0)
    assert Review.read(tmp_path / "labels.json") == review
    last = take(saved(folder, form, "ann", ["supported"], "2026-11-24"))
    assert (last.raters[0].n_older, last.raters[0].n_changed, last.raters[0].n_new) == (0, 1, 0)


def test_conflicts_are_listed_until_they_are_settled(form: ItemsFile, systems: list, tmp_path: Path) -> None:
    folder = tmp_path / "review"
    result = take(
        saved(folder, form, "ann", ["supported", "supported"]), saved(folder, form, "bob", ["supported", "not_found"])
    )
    assert [own.rater for own in result.raters] == ["ann", "bob"]
    (conflict,) = result.conflicts
    assert conflict.item.item_id == form.items[1].item_id
    assert conflict.opinions == [("ann", "supported"), ("bob", "not_found")]
    settling = replace(form, items=[form.items[1]], adjudicating=True, review_id="settling")
    settling.write(tmp_path / "review")
    result = take(saved(folder, settling, "adjudication", ["not_found"]))
    assert result.conflicts == []
    assert Review.read(tmp_path / "labels.json").labels.consensus[form.items[1].item_id] == "not_found"


Edit = Callable[[dict[str, Any]], object]


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda c: c.update(format="csv"), "is no file of format 'steelyard-review'; expected what people saved"),
        (lambda c: c.update(version=0), "is of version 0, not 1"),
        (lambda c: c.update(version=2), "is of version 2, newer than this Steelyard"),
        (lambda c: c.update(review_id="other"), r"answers another form \(review 'other'\) than those whose items.json"),
        (lambda c: c.update(kind="grades"), "is of kind 'grades', and its form asked for verdicts"),
        (lambda c: c.update(rater=" "), "says not who decided"),
        (lambda c: c.update(rater="x" * 101), "name of 101 characters; write one of at most 100"),
        (lambda c: c.update(rater=3), "`rater` is 3, expected a text"),
        (lambda c: c.update(rater="adjudication"), "the form does not settle conflicts; take another name"),
        (lambda c: c.pop("decisions"), "`decisions` is missing"),
        (lambda c: c["decisions"][0].update(item_id="x"), "decision 1 is about item 'x', which the form did not ask"),
        (lambda c: c["decisions"].append(dict(c["decisions"][0])), "is decided twice; keep one decision"),
        (lambda c: c["decisions"].append({**c["decisions"][0], "label": "not_found"}), "is decided twice"),
        (lambda c: c["decisions"][0].update(label=5), "the label 5 is no text"),
        (lambda c: c["decisions"][0].update(label="maybe"), "the label 'maybe' is none of supported, contradicted"),
        (lambda c: c["decisions"][0].pop("label"), "decision 1, about .* has no `label`"),
    ],
)
def test_forms_edited_by_hand_are_refused_in_a_line(edit: Edit, message: str, form: ItemsFile, tmp_path: Path) -> None:
    before = (tmp_path / "labels.json").read_bytes()
    file = saved(tmp_path / "review", form, "ann", ["supported", "supported"])
    good = saved(tmp_path / "review", form, "bob", ["supported"])
    content = json.loads(file.read_text(encoding="utf-8"))
    edit(content)
    file.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(sy.InputError, match=message) as caught:
        take(good, file)
    assert str(caught.value).startswith(str(file))
    assert "\n" not in str(caught.value)
    assert (tmp_path / "labels.json").read_bytes() == before


def test_other_files_are_refused(form: ItemsFile, tmp_path: Path) -> None:
    folder = tmp_path / "review"
    with pytest.raises(sy.InputError, match="there is no file of decisions among these; open"):
        take(folder / "items.json")
    broken = folder / "broken.json"
    broken.write_text('{"format": "steelyard-rev', encoding="utf-8")
    with pytest.raises(sy.InputError, match=r"broken.json, line 1: is not JSON"):
        take(broken)
    with pytest.raises(sy.InputError, match="3 is no path and no list of paths"):
        read_forms(3)


def test_labels_of_other_verdicts_are_refused(form: ItemsFile, systems: list, tmp_path: Path) -> None:
    file = saved(tmp_path / "review", form, "ann", ["supported"])
    labels = tmp_path / "labels.json"
    review = Review.read(labels)
    other = next_round(systems, "grounded", n=3, seed=9)
    Review([sample for own in other.systems for sample in own.review.samples]).write(labels)
    with pytest.raises(sy.InputError, match="these are labels of other verdicts; name the review that the form was"):
        take(file)
    Review().write(labels)
    with pytest.raises(sy.InputError, match=r"the sample of grounded of good.* that is kept did not draw item"):
        take(file)
    labels.unlink()
    with pytest.raises(sy.InputError, match=r"labels.json: is not there any more"):
        take(file)
    kept = tmp_path / "kept.json"
    review.write(kept)
    assert take(file, into=kept).files == [kept]
    with pytest.raises(sy.InputError, match="no system is called 'goo'; did you mean good"):
        take(file, into={"goo": kept})


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda c: c.update(kind="words"), "its kind 'words' is none of verdicts, grades, quotes"),
        (lambda c: c.update(table="reach"), "its table 'reach' is none of grounded, joint, correctness, said"),
        (lambda c: c.pop("files"), "`files` is missing"),
        (lambda c: c.update(version=7), "is of version 7, newer"),
        (lambda c: c["items"][0].pop("systems"), "`items.0.systems` is missing"),
    ],
)
def test_items_files_are_checked(edit: Edit, message: str, form: ItemsFile, tmp_path: Path) -> None:
    file = saved(tmp_path / "review", form, "ann", ["supported"])
    items = tmp_path / "review" / "items.json"
    content = json.loads(items.read_text(encoding="utf-8"))
    edit(content)
    items.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(sy.InputError, match=message):
        take(file)


def test_conflicts_are_lines_that_fit_a_terminal(form: ItemsFile, tmp_path: Path) -> None:
    item = replace(form.items[0], query="How long may a thing be kept by a member? " * 3, text="Seven days. " * 9)
    conflict = Conflict(item, [("ann", "supported"), ("bob", "cannot_say")])
    section = conflicts_section([conflict], "verdicts", read_words("en"))
    lines = blocks_terminal([section], width=80).splitlines()
    assert any(line.startswith("ann: supported, bob: cannot say. “Seven days.") for line in lines)
    assert len(lines) < 12
    assert max(map(len, lines)) <= 80
