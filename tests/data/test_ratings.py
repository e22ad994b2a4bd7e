"""Tables of raters in every shape say the same; whatever is wrong is said in one line."""

import gzip
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import steelyard as sy
from steelyard.base.errors import InputError, SteelyardError
from steelyard.data.rating_tables import RatingColumns
from steelyard.data.ratings import parse_categories, read_ratings
from tests.hypothesis_profiles import examples

LABELS = {"ann": {"a": 2, "b": 0, "c": 1}, "bob": {"a": 1, "b": 0}}
LONG = [{"item": item, "rater": rater, "label": label} for rater, row in LABELS.items() for item, label in row.items()]
WIDE = [{"item": item, "ann": LABELS["ann"][item], "bob": LABELS["bob"].get(item)} for item in "abc"]
CODES = [[2, 0, 1], [1, 0, -1]]


def written(folder: Path, suffix: str, rows: list[dict[str, Any]]) -> Path:
    path, frame = folder / f"labels{suffix}", pl.DataFrame(rows)
    if suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif suffix == ".json":
        path.write_text(json.dumps(rows))
    elif suffix == ".parquet":
        frame.write_parquet(path)
    else:
        text = frame.write_csv(separator="\t" if ".tsv" in suffix else ",").encode()
        path.write_bytes(gzip.compress(text) if suffix.endswith(".gz") else text)
    return path


@pytest.mark.parametrize("rows", [LONG, WIDE], ids=["long", "wide"])
@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".csv.gz", ".jsonl", ".json", ".parquet"])
def test_every_format_and_shape_says_the_same(suffix: str, rows: list[dict[str, Any]], tmp_path: Path) -> None:
    ratings = read_ratings(written(tmp_path, suffix, rows))
    assert (list(ratings.items), list(ratings.raters), ratings.codes.tolist()) == (
        ["a", "b", "c"],
        ["ann", "bob"],
        CODES,
    )
    assert ratings.categories == (0, 1, 2)
    assert ratings.n_questions is None


@pytest.mark.parametrize("data", [LONG, WIDE, pl.DataFrame(LONG), pl.DataFrame(WIDE).lazy(), LABELS], ids=type)
def test_objects_say_the_same(data: object) -> None:
    ratings = read_ratings(data)
    assert (list(ratings.items), list(ratings.raters), ratings.codes.tolist()) == (
        ["a", "b", "c"],
        ["ann", "bob"],
        CODES,
    )


def test_pandas_columns_of_words_are_raters() -> None:
    pandas = pytest.importorskip("pandas", reason="this reads a frame of pandas")
    frame = pandas.DataFrame({"item": ["a", "b"], "ann": ["yes", None], "bob": ["no", "yes"]})
    assert read_ratings(frame).codes.tolist() == [[1, -1], [0, 1]]


def test_files_of_one_rater_each(tmp_path: Path) -> None:
    (tmp_path / "human.qrels").write_text("q1 0 d1 1\nq1 0 d2 0\nq2 0 d1 2\n")
    (tmp_path / "judge.txt.gz").write_bytes(gzip.compress(b"q1 0 d1 1\nq2 0 d1 0\n"))
    (tmp_path / "third.csv").write_text("query_id,doc_id,grade\nq1,d2,2\n")
    ratings = read_ratings([tmp_path / "human.qrels", tmp_path / "judge.txt.gz", f"other={tmp_path / 'third.csv'}"])
    assert list(ratings.raters) == ["human", "judge", "other"]
    assert ratings.codes.tolist() == [[1, 0, 2], [1, -1, 0], [-1, 2, -1]]
    assert (ratings.n_questions, list(ratings.doc_ids)) == (2, ["d1", "d2", "d1"])
    by_name = read_ratings({"human": tmp_path / "human.qrels", "judge": sy.Truth.read(tmp_path / "judge.txt.gz")})
    assert by_name.codes.tolist() == ratings.codes[:2].tolist()


def test_columns_are_named_where_their_names_do_not_say_what_they_are() -> None:
    rows = [
        {"text": "x", "model": "m1", "who": 1, "her": "yes", "his": "no"},
        {"text": "x", "model": "m2", "who": 1, "her": "no", "his": "no"},
        {"text": "y", "model": "m1", "who": 2, "her": "no", "his": ""},
    ]
    ratings = read_ratings(rows, columns=RatingColumns(["text", "model"], "who", ["her", "his"]))
    assert (ratings.codes.tolist(), ratings.n_questions) == ([[1, 0, 0], [0, 0, -1]], 2)
    # Rows without a name are items by their place.
    assert len(read_ratings([{"ann": 1, "bob": 2}, {"ann": 1, "bob": 1}]).items) == 2


def test_categories_give_the_order_and_leave_out_what_is_off_the_scale() -> None:
    ratings = read_ratings({"ann": {"a": 3, "b": 5, "c": 5}, "bob": {"a": 0, "b": 1, "c": 2}}, categories="0-3")
    assert (ratings.categories, ratings.off_scale) == ((0, 1, 2, 3), {"ann": {5: 2}})
    assert ratings.codes.tolist() == [[3, -1, -1], [0, 1, 2]]
    words = {"ann": {"a": "poor", "b": "good"}, "bob": {"a": "fair", "b": "good"}}
    assert read_ratings(words, categories="poor,fair,good").codes.tolist() == [[0, 2], [1, 2]]
    assert parse_categories(["no", "yes"]) == ["no", "yes"]
    assert parse_categories("2,0,1") == [0, 1, 2]
    with pytest.raises(InputError, match="words and numbers"):
        parse_categories([1, "two"])
    with pytest.raises(InputError, match="a label is 'none'; the categories are 0, 1"):
        read_ratings([{"ann": "0", "bob": "1"}, {"ann": "none", "bob": "0"}], categories="0-1")
    for wide in ("0-3000000000", "-9999..9999", f"0-{'9' * 5_000}"):
        with pytest.raises(InputError, match="more than 1,000; numbers need no categories"):
            parse_categories(wide)


def test_a_label_given_twice_alike_counts_once() -> None:
    assert read_ratings([*LONG, LONG[0]]).n_repeated == 1


def test_the_order_of_rows_changes_nothing_but_that_of_raters() -> None:
    ratings = read_ratings(LONG[::-1])
    assert (list(ratings.raters), ratings.codes.tolist()) == (["bob", "ann"], CODES[::-1])
    assert ratings.digest == read_ratings(LONG).digest


TWICE = "item,rater,label\na,ann,1\na,ann,2\na,bob,1\n"
TEXTS = "item,ann,text\n" + "".join(f"{n},yes,word {n}\n" for n in range(60))
NO_ITEM = RatingColumns(["nm"])
WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("item,ann\na,1\n", {}, "one rater alone (ann); agreement takes two raters or more"),
    (TWICE, {}, "ann says of item 'a' both 1 (labels.csv, row 1) and 2 (labels.csv, row 2)"),
    ("item,ann,bob\na,1,n/a\n", {}, "labels.csv, row 1: bob says 'n/a' among numbers such as 1"),
    ("item,ann,bob\n", {}, "labels.csv: has no rows"),
    ("rater,label\nann,1\nbob,1\n", {}, "labels.csv: has no column that names the item (columns: rater, label)"),
    ("item,ann,bob\n,1,1\n", {}, "labels.csv, row 1: 'item' is empty"),
    ("item,rater,label\na,,1\na,bob,1\n", {}, "labels.csv, row 1: a label without a rater"),
    ("item,ann,bob\na,1,1\n", {"columns": NO_ITEM}, "labels.csv: has no column 'nm'"),
    ("item,ann,bob\na,x,y\n", {"categories": "0-3"}, "labels.csv: a label is 'x'; the categories are 0, 1, 2, 3"),
    ("item,ann,bob\na,1,1\n", {"categories": "7"}, "categories '7': expected two or more"),
    ("item\na\n", {}, "labels.csv: has no column of labels (columns: item)"),
    (TEXTS, {}, "'text' has 60 different labels; are they texts?"),
]


@pytest.mark.parametrize(("text", "options", "message"), WRONG, ids=[message for *_, message in WRONG])
def test_one_line_says_what_is_wrong(
    text: str, options: dict[str, Any], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("labels.csv").write_text(text)
    with pytest.raises(InputError) as refusal:
        read_ratings("labels.csv", **options)
    assert message in str(refusal.value)


def test_two_files_of_one_name_are_refused(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "judge.qrels").write_text("q 0 d 1\n")
    with pytest.raises(InputError, match="are both of 'judge'; name one"):
        read_ratings([tmp_path / "one" / "judge.qrels", tmp_path / "two" / "judge.qrels"])


@pytest.mark.parametrize("data", [7, [], {}, [1, 2], {"ann": 3}, {"ann": {"a": 1}, "bob": {"a": float("inf")}}])
def test_objects_that_are_no_labels_are_refused(data: object) -> None:
    with pytest.raises(InputError):
        read_ratings(data)


@examples(60)
@given(st.text(st.sampled_from('item,rater,label\tann\n"1.2{}[]:é \r0'), max_size=80))
def test_any_text_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = tmp_path_factory.getbasetemp() / "any.csv"
    path.write_text(text)
    with suppress(SteelyardError):
        assert len(read_ratings(path).raters) > 1


@pytest.mark.parametrize("row", [{"item": "a", "ann": "\ud800", "bob": "x"}, {"item": "a", "ann\ud800": 1, "bob": 2}])
def test_half_a_character_is_refused(tmp_path: Path, row: dict[str, Any]) -> None:
    path = tmp_path / "labels.jsonl"
    path.write_text(json.dumps(row))
    with pytest.raises(InputError, match=r"labels.jsonl: holds half a character, .*ud800"):
        read_ratings(path)
