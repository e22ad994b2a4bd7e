"""Reviews: samples and labels, in files that are written whole, by one process at a time."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import steelyard as sy
from steelyard.data.folders.run_lock import run_lock
from steelyard.judges.people.review import Decision, Review, StratifiedSample, Stratum

STRATA = (Stratum("low", ("a", "b", "c"), ("b",)), Stratum("mid", ("d",), ()), Stratum("高", ("e", "f"), ("e", "f")))
SAMPLE = StratifiedSample("grounded", "hybrid", "0", 7, STRATA, "lexical")
ANSWERS = StratifiedSample("joint", "hybrid", "0", 7, (Stratum("all", ("q1", "q2"), ("q2",)),), "lexical", "answer")
DECISIONS = [Decision("b", "ann", "supported", "sicher, 当然"), Decision("e", "bob", "cannot_say", "", "2026-11-22")]
REVIEW = Review([SAMPLE, ANSWERS], DECISIONS)


def test_files_hold_all_of_a_review(tmp_path: Path) -> None:
    file = tmp_path / "verdicts" / "review.json"
    REVIEW.write(file)
    assert Review.read(file) == REVIEW
    assert list(file.parent.iterdir()) == [file]


def test_samples_and_decisions_are_added() -> None:
    more = replace(SAMPLE, strata=(*STRATA[:2], Stratum("高", ("e", "f"), ("e",))))
    review = REVIEW.with_sample(more).with_decisions([Decision("b", "ann", "not_found")])
    assert review.sample("grounded", "hybrid") == more
    assert review.sample("joint", "hybrid") == ANSWERS
    assert review.labels.consensus["b"] == "not_found"
    assert REVIEW.labels.consensus["b"] == "supported"


def test_strata_without_decisions_are_put_to_a_neighbour() -> None:
    assert [(s.name, s.drawn) for s in SAMPLE.merged({"b", "e"})] == [("low + mid", ("b",)), ("高", ("e",))]
    assert [(s.name, s.drawn) for s in SAMPLE.merged({"e", "f"})] == [("low + mid + 高", ("e", "f"))]
    assert [s.name for s in SAMPLE.merged({"b", "e", "f"}, least=2)] == ["low + mid + 高"]
    assert sum(len(s.members) for s in SAMPLE.merged({"b"})) == SAMPLE.n_members == 6


def test_probabilities_are_shares_of_strata() -> None:
    assert [stratum.probability for stratum in STRATA] == [pytest.approx(1 / 3), 0.0, 1.0]
    assert Stratum("none", (), ()).probability == 0.0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: replace(SAMPLE, strata=(*STRATA, Stratum("x", ("a",), ()))), "'a' is twice among its members"),
        (lambda: replace(SAMPLE, strata=(Stratum("x", ("a",), ("a", "a")),)), "'a' is twice among its drawn"),
        (lambda: replace(SAMPLE, strata=(Stratum("x", ("a",), ("b",)),)), "'b' was drawn and is no member"),
        (lambda: Review([SAMPLE, SAMPLE]), "has two samples of grounded of hybrid"),
    ],
)
def test_what_does_not_hold_together_is_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(sy.InputError, match=message):
        make()


def edited(change: Callable[[dict[str, Any]], object]) -> Callable[[str], str]:
    def edit(text: str) -> str:
        content = json.loads(text)
        change(content)
        return json.dumps(content)

    return edit


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda text: text[:-20], "is not JSON"),
        (lambda text: "[]", "is no file of format 'steelyard-labels'; expected the labels"),
        (edited(lambda c: c.update(format="steelyard-review")), "with `steelyard review import`"),
        (edited(lambda c: c.update(version=2)), "is of version 2, newer than this Steelyard; upgrade it"),
        (edited(lambda c: c.update(version="1")), "is of version '1', not 1"),
        (edited(lambda c: c.pop("samples")), "`samples` is missing"),
        (edited(lambda c: c["samples"][0].update(seed="7")), "`samples.0.seed` is '7', expected a whole number"),
        (edited(lambda c: c["samples"][0].update(table="reach")), "the sample's table 'reach' is none of grounded, "),
        (edited(lambda c: c["samples"][0].update(unit="word")), "the sample's unit 'word' is none of item, answer"),
        (edited(lambda c: c["samples"][0]["strata"][0]["drawn"].append("z")), "'z' was drawn and is no member"),
        (edited(lambda c: c["samples"][0]["strata"][0]["members"].append("d")), "'d' is twice among its members"),
        (edited(lambda c: c["samples"].append(c["samples"][0])), "has two samples of grounded of hybrid"),
        (edited(lambda c: c["decisions"][0].update(label=5)), "`decisions.0.label` is 5, expected a text"),
        (edited(lambda c: c["decisions"][0].update(label="5")), "item 'b': the label '5' is none of supported, "),
        (edited(lambda c: c["decisions"][0].update(rater=" ")), "item 'b': says not who decided"),
        (edited(lambda c: c["decisions"][0].update(note="\ud800")), "item 'b': holds half a character"),
    ],
)
def test_files_that_were_edited_are_refused_in_a_line(edit: Callable[[str], str], message: str, tmp_path: Path) -> None:
    file = tmp_path / "review.json"
    REVIEW.write(file)
    file.write_text(edit(file.read_text(encoding="utf-8")), encoding="utf-8", errors="surrogatepass")
    with pytest.raises(sy.InputError, match=message) as caught:
        Review.read(file)
    assert str(caught.value).startswith(str(file))


def test_a_change_is_made_whole_or_not_at_all(tmp_path: Path) -> None:
    file = tmp_path / "review.json"
    assert Review.update(file, lambda empty: empty.with_sample(SAMPLE)) == Review([SAMPLE])
    before = file.read_bytes()

    def fail(review: Review) -> Review:
        raise sy.InputError("nothing of this")

    with pytest.raises(sy.InputError, match="nothing of this"):
        Review.update(file, fail)
    assert file.read_bytes() == before


def test_nobody_writes_while_another_does(tmp_path: Path) -> None:
    file = tmp_path / "review.json"
    with run_lock(tmp_path), pytest.raises(sy.OutputError, match="is being written by"):
        Review.update(file, lambda review: review)
    assert not file.exists()
