"""Ids that look alike and are not: the cause is said, with code points, where it would be 0 or no question at all."""

import unicodedata
from pathlib import Path

import pytest

import steelyard as sy
from tests.cli.command import complaint

NFC, NFD = (unicodedata.normalize(form, "q\u00e9") for form in ("NFC", "NFD"))
# (label, id in the truth, id in the run, what the message says)
LOOK_ALIKES = [
    ("NFD", NFC, NFD, "U+00E9 is in that of the truth alone and U+0065 U+0301 is in that of the run alone; bring"),
    ("NFC", NFD, NFC, "U+0065 U+0301 is in that of the truth alone and U+00E9 is in that of the run alone; bring"),
    ("zero-width blank", "d1", "d1\u200b", "U+200B is in that of the run alone; remove white space and"),
    ("byte order mark", "d1", "d1\ufeff", "U+FEFF is in that of the run alone"),
    ("word joiner", "d\u20601", "d1", "U+2060 is in that of the truth alone"),
    ("no-break blank", "d1", "d1\u00a0", "U+00A0 is in that of the run alone"),
    ("soft hyphen", "d1", "d\u00ad1", "U+00AD is in that of the run alone"),
]


@pytest.mark.parametrize(("ours", "theirs", "says"), [row[1:] for row in LOOK_ALIKES], ids=[r[0] for r in LOOK_ALIKES])
def test_ids_that_look_alike_are_told_apart(ours: str, theirs: str, says: str, tmp_path: Path) -> None:
    by_query, by_doc = tmp_path / "query.run", tmp_path / "doc.run"
    by_query.write_text(f"{theirs} Q0 d 1 2 t\n")
    by_doc.write_text(f"q Q0 x 1 3 t\nq Q0 {theirs} 2 2 t\n")
    truths = {"query": {ours: {"d": 1}}, "doc": {"q": {ours: 1}}}
    runs: dict[str, list[object]] = {
        "query": [by_query, {theirs: {"d": 1.0}}, {theirs: ["d"]}],
        "doc": [by_doc, {"q": {"x": 3.0, theirs: 2.0}}, {"q": ["x", theirs]}],
    }
    for kind in ("query",) if NFC in (ours, theirs) else truths:
        truth = truths[kind]
        for run in runs[kind]:
            with pytest.raises(sy.InputError) as caught:
                sy.evaluate(truth, run, "map")
            assert "look alike, but" in str(caught.value)
            assert says in str(caught.value)


def test_many_small_runs_are_looked_at_too(tmp_path: Path) -> None:
    for name, doc in (("a", "d1"), ("b", "d1\u200b")):
        (tmp_path / f"{name}.run").write_text(f"q Q0 {doc} 1 2 t\n")
    with pytest.raises(sy.InputError, match=r"b\.run: no document of the run is in the truth: .*U\+200B"):
        sy.evaluate({"q": ["d1"]}, [tmp_path / "a.run", tmp_path / "b.run"], "map")


@pytest.mark.parametrize("doc", ["d2", "D1", " d1", "d\u00e9", "\u200b"])
def test_other_documents_are_just_not_relevant(doc: str) -> None:
    assert sy.evaluate({"q": ["d1"]}, {"q": [doc]}, "map").means[0, 0] == 0
    assert sy.evaluate({"q": ["d1"]}, {"q": ["d1\u200b", "d1"]}, "map").means[0, 0] == 0.5


def test_the_command_line_says_it_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "a.qrels").write_text(f"{NFC} 0 d 1\n")
    (tmp_path / "a.run").write_text(f"{NFD} Q0 d 1 2 t\n")
    assert "into one Unicode form, such as NFC" in complaint("evaluate", tmp_path / "a.qrels", tmp_path / "a.run")
