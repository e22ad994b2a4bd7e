"""Forms of rounds of review: what is written where, and what is refused before anything is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import steelyard as sy
from steelyard.data.folders.run_lock import run_lock
from steelyard.judges.people.review import Review
from steelyard.reviewing.forms import ItemsFile
from tests.rag.small import QUESTIONS as ASKED
from tests.rag.small import TEXTS, Common, Stops
from tests.reviewing.small import QUESTIONS, outputs, saved

RUNS = {"zebra": outputs(), "okapi": outputs(wrong=range(0, 12, 3))}


def sample(folder: Path, name: str = "review", **options: Any) -> Any:
    options = {"labels": folder / "labels.json", "n": 8} | options
    return sy.review.sample(QUESTIONS, RUNS, folder / name, **options)


def form_data(form: Path) -> dict[str, Any]:
    """What the script of a form is given."""
    text = form.read_text(encoding="utf-8")
    parts = [part.split("</script>")[0].split(">", 1)[1] for part in text.split('<script type="application/json"')[1:]]
    return next(data for data in map(json.loads, parts) if "review_id" in data)


def test_a_form_asks_what_was_drawn_and_hides_the_systems(tmp_path: Path) -> None:
    sampled = sample(tmp_path, lang="zh", instructions="Read all of it.")
    data, items = form_data(sampled.form), ItemsFile.read(sampled.items)
    assert data["review_id"] == items.review_id
    assert [item["item_id"] for item in data["items"]] == [item.item_id for item in items.items]
    assert len(items.items) == len(sampled.round.asked) > 8
    assert data["instructions"] == "Read all of it."
    text = sampled.form.read_text(encoding="utf-8")
    assert "zebra" not in text
    assert "okapi" not in text
    review = Review.read(tmp_path / "labels.json")
    assert [(own.system, len(own.drawn), own.unit) for own in review.samples] == [
        ("zebra", 8, "item"),
        ("okapi", 8, "item"),
    ]
    assert {name: path.resolve() for name, path in items.files.items()} == {
        "zebra": tmp_path / "labels.json",
        "okapi": tmp_path / "labels.json",
    }


def test_the_whole_way_from_sample_to_settled_conflicts(tmp_path: Path) -> None:
    sampled = sample(tmp_path)
    items = ItemsFile.read(sampled.items)
    ids = [item.item_id for item in items.items]
    folder = tmp_path / "review"
    files = [saved(folder, items, "ann", ["supported"] * len(ids)), saved(folder, items, "bob", ["not_found"])]
    imported = sy.review.import_labels(files, into=tmp_path / "labels.json")
    assert (imported.n_decided, len(imported.conflicts)) == (len(ids), 1)
    settling = sample(tmp_path, "settling", adjudicate=True, n=None)
    data = form_data(settling.form)
    assert data["rater"] == "adjudication"
    assert [(item["item_id"], [o["value"] for o in item["opinions"]]) for item in data["items"]] == [
        (ids[0], ["supported", "not_found"])
    ]
    assert "ann" not in {opinion.get("rater") for opinion in data["items"][0]["opinions"]}
    file = saved(tmp_path / "settling", ItemsFile.read(settling.items), "adjudication", ["supported"])
    assert sy.review.import_labels(file, into=tmp_path / "labels.json").conflicts == []
    more = sample(tmp_path, "more", n=4)
    assert more.round.n_new == {"zebra": 4, "okapi": 4}
    assert not {own.item.item_id for own in more.round.asked} & {*ids}
    assert sy.review.calibrate(QUESTIONS, RUNS, labels=tmp_path / "labels.json").n == len(ids)


def test_runs_keep_their_own_review(tmp_path: Path) -> None:
    from steelyard.rag.stages.generation import Extractive

    runs = [
        sy.Pipeline(TEXTS, chunk=Stops(), index=Common(), generate=Extractive(), k=k, name=f"k{k}")
        .run(ASKED, tmp_path / "runs" / f"k{k}")
        .path
        for k in (1, 2)
    ]
    sampled = sy.review.sample(ASKED, list(map(str, runs)), tmp_path / "review", n=99)
    assert sampled.files == [path / "verdicts" / "review.json" for path in runs]
    for path, system in zip(runs, ("k1", "k2"), strict=True):
        assert [own.system for own in Review.read(path / "verdicts" / "review.json").samples] == [system]
    items = ItemsFile.read(sampled.items)
    first = items.items[0]
    places = {path.name: path for path in runs}
    sy.review.import_labels(saved(tmp_path / "review", items, "ann", {first.item_id: "supported"}), into=places)
    n_labels = {path.name: len(Review.read(path / "verdicts" / "review.json").labels) for path in runs}
    assert n_labels == {name: int(name in first.systems) for name in ("k1", "k2")}


def test_nothing_is_written_over(tmp_path: Path) -> None:
    sample(tmp_path)
    with pytest.raises(sy.OutputError, match=r"form.html: is there already; choose another folder \(-o\)"):
        sample(tmp_path)
    with pytest.raises(sy.OutputError, match=r"labels.json: is no folder; name one for the form"):
        sample(tmp_path, "labels.json")


def test_what_cannot_be_kept_is_refused_before_a_form_is_written(tmp_path: Path) -> None:
    with pytest.raises(sy.InputError, match="zebra: is no run folder, in which labels could be kept; name a file"):
        sample(tmp_path, labels=None)
    with run_lock(tmp_path), pytest.raises(sy.OutputError, match="is being written by"):
        sample(tmp_path)
    with pytest.raises(sy.InputError, match="n is -3"):
        sample(tmp_path, n=-3)
    assert [path.name for path in tmp_path.iterdir()] == []


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_rounds_are_said_in_words_and_numbers(lang: str, tmp_path: Path) -> None:
    sampled = sample(tmp_path, whole_answers=True)
    text = sampled.text(lang=lang, width=80, explain=True)
    assert ("answers in all" if lang == "en" else "回答总数") in text
    assert f"{tmp_path / 'review' / 'form.html'}" in "".join(text.split())
    content = json.loads(sampled.text("json", lang=lang))
    assert [(own["system"], own["n"], own["n_drawn"], own["unit"]) for own in content["samples"]] == [
        ("zebra", 12, 8, "answer"),
        ("okapi", 12, 8, "answer"),
    ]
    assert content["n_asked"] == len(sampled.round.asked)
    with pytest.raises(sy.InputError, match="a review cannot be written as csv; choose table, markdown, json or html"):
        sampled.text("csv")
