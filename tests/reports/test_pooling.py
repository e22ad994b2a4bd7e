"""Forms for grades and for gold: what is asked, and what becomes of what people saved."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import steelyard as sy
from steelyard.judges.grading.grades import JUDGE, PEOPLE, Grades
from steelyard.reviewing.forms import ImportedLabels, ItemsFile
from tests.reviewing.small import CHUNKS, QUESTIONS

RUN = [{"qid": f"q{n}", "retrieved": chunks} for n, chunks in enumerate(CHUNKS)]
DOCUMENTS = [sy.Document(chunk["id"], chunk["text"]) for chunks in CHUNKS[:3] for chunk in chunks[:1]]


def pool(
    folder: Path, name: str = "form", into: str = "qrels.jsonl", questions: Any = QUESTIONS, **options: Any
) -> Any:
    return sy.review.pool(questions, options.pop("sources", RUN), folder / name, folder / into, **options)


def take(files: Path | list[Path]) -> ImportedLabels:
    """Import into the file beside the folder of the form that its items.json names."""
    first = files[0] if isinstance(files, list) else files
    items = ItemsFile.read(first.parent / "items.json")
    return sy.review.import_labels(files, into=os.path.normpath(items.files["into"]) if "into" in items.files else None)


def saved(
    form: Path, rater: str, decide: Mapping[str, Any] | list[Any], *, date: str = "2026-11-22", key: str = "grade"
) -> Path:
    """A file with a grade or quotes for each of the first items; "?" cannot say."""
    items = ItemsFile.read(form.parent / "items.json")
    decisions = [
        {
            "item_id": item.item_id,
            "date": date,
            "note": "",
            **({"label": "cannot_say"} if value == "?" else {key: value}),
        }
        for item, value in zip(items.items, decide, strict=False)
    ]
    content = {"format": "steelyard-review", "version": 1, "review_id": items.review_id, "kind": items.kind,
               "rater": rater, "decisions": decisions}  # fmt: skip
    path = form.parent / f"{rater}.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def test_a_chunk_of_a_run_and_of_a_file_is_asked_about_once(tmp_path: Path) -> None:
    lines = {chunk["id"]: json.dumps({**chunk, "doc": "kb"}) + "\n" for chunks in CHUNKS for chunk in chunks}
    (tmp_path / "chunks.jsonl").write_text("".join(lines.values()), encoding="utf-8")
    pooled = pool(tmp_path, sources=[RUN, tmp_path / "chunks.jsonl"], n=1000, depth=24)
    assert pooled.n_pool == len(pooled.asked) == len(CHUNKS) * len(lines)


def test_grades_go_into_a_truth(tmp_path: Path) -> None:
    pooled = pool(tmp_path, n=10, scale="0-3")
    assert (pooled.n_pool, pooled.n_before, len(pooled.asked)) == (24, 0, 10)
    result = take([saved(pooled.form, "ann", [3, 0, "?", 1]), saved(pooled.form, "bob", [3, 2])])
    pairs = {pair.key: pair for pair in Grades.read(tmp_path / "qrels.jsonl").pairs}
    asked = [(own.query_id, own.texts[0][0]) for own in pooled.asked]
    assert [pairs[key].gain for key in (asked[0], asked[1], asked[3])] == [3, 0, 1]
    assert asked[2] not in pairs
    assert all(pair.by == PEOPLE for pair in pairs.values())
    assert pairs[asked[1]].others["raters"] == {"ann": 0.0, "bob": 2.0}
    (conflict,) = result.conflicts
    assert conflict.opinions == [("ann", "0"), ("bob", "2")]
    assert [own.n_cannot_say for own in result.raters] == [1, 0]
    assert "ann: 0, bob: 2" in result.text(lang="en")
    assert sy.Truth.read(tmp_path / "qrels.jsonl").frame.height == 3
    again = pool(tmp_path, "again", n=99, scale="0-3")
    assert again.n_before == 3
    assert not {(own.query_id, own.texts[0][0]) for own in again.asked} & pairs.keys()


def test_conflicts_of_grades_are_settled(tmp_path: Path) -> None:
    pooled = pool(tmp_path, n=5, scale="0-3")
    take([saved(pooled.form, "ann", [3, 0]), saved(pooled.form, "bob", [3, 2])])
    settling = pool(tmp_path, "settling", scale="0-3", adjudicate=True)
    assert len(settling.asked) == 1
    assert take(saved(settling.form, "adjudication", [2])).conflicts == []
    key = (settling.asked[0].query_id, settling.asked[0].texts[0][0])
    assert {pair.key: pair.gain for pair in Grades.read(tmp_path / "qrels.jsonl").pairs}[key] == 2
    with pytest.raises(sy.InputError, match="raters do not differ on any of 24 pooled pairs"):
        pool(tmp_path, "none", scale="0-3", adjudicate=True)


def test_people_replace_a_judge_and_are_kept_by_it(tmp_path: Path) -> None:
    truth = tmp_path / "qrels.jsonl"
    sy.label(QUESTIONS, RUN, scale="0-3", save=truth)
    pooled = pool(tmp_path, n=1, scale="0-3")
    assert "missing" in pooled.form.read_text(encoding="utf-8")
    take(saved(pooled.form, "ann", [2]))
    key = (pooled.asked[0].query_id, pooled.asked[0].texts[0][0])
    sy.label(QUESTIONS, RUN, scale="0-3", save=truth)
    pairs = {pair.key: pair for pair in Grades.read(truth).pairs}
    assert (pairs[key].by, pairs[key].gain, pairs[key].others) == (PEOPLE, 2.0, {"raters": {"ann": 2.0}})
    assert sum(pair.by == JUDGE for pair in pairs.values()) == 23


@pytest.mark.parametrize("grade", [5, 1.5, True, "3", None])
def test_grades_off_the_scale_are_refused(grade: object, tmp_path: Path) -> None:
    pooled = pool(tmp_path, n=2, scale="0-3")
    with pytest.raises(sy.InputError, match=r"ann.json: item .*: the grade .* is off the scale \(0, 1, 2, 3\)"):
        take(saved(pooled.form, "ann", [1, grade]))
    assert not (tmp_path / "qrels.jsonl").exists()


def test_quotes_become_evidence(tmp_path: Path) -> None:
    questions = tmp_path / "questions.jsonl"
    questions.write_text("".join(json.dumps(line) + "\n" for line in QUESTIONS), encoding="utf-8")
    pooled = pool(
        tmp_path, task="quotes", n=3, into="gold.jsonl", questions=questions, sources=[DOCUMENTS], unit="document"
    )
    quotes = [[{"doc": "h1", "start": 0, "end": 5, "quote": "Hall 1"}], [], "?"]
    take([saved(pooled.form, "ann", quotes, key="quotes"), saved(pooled.form, "bob", quotes[:1], key="quotes")])
    lines = [json.loads(line) for line in (tmp_path / "gold.jsonl").read_text(encoding="utf-8").splitlines()]
    first = pooled.asked[0].query_id
    assert {line["qid"]: line["evidence"] for line in lines if "evidence" in line} == {
        first: [{"doc": "h1", "quote": "Hall 1"}]
    }
    assert [{k: v for k, v in line.items() if k != "evidence"} for line in lines] == QUESTIONS
    more = pool(tmp_path, "more", task="quotes", n=99, into="gold.jsonl", questions=questions, sources=[DOCUMENTS])
    assert more.n_before == 1
    assert first not in {own.query_id for own in more.asked}
    take(saved(more.form, "ann", [[{"doc": more.asked[0].texts[0][0], "quote": "Hall 1"}]], key="quotes"))
    assert len(sy.Questions.read(tmp_path / "gold.jsonl")) == 12
    assert {"text": "Hall 1"} in [
        piece
        for line in (tmp_path / "gold.jsonl").read_text("utf-8").splitlines()
        for piece in json.loads(line).get("evidence", [])
    ]


@pytest.mark.parametrize("name", ["q.json", "columns.json", "q.txt"])
def test_quotes_are_added_to_questions_of_any_form(name: str, tmp_path: Path) -> None:
    columns = {key: [line[key] for line in QUESTIONS] for key in QUESTIONS[0]}
    texts = {"q.json": json.dumps(QUESTIONS), "columns.json": json.dumps(columns), "q.txt": "\n".join(columns["query"])}
    (tmp_path / name).write_text(texts[name], encoding="utf-8")
    pooled = pool(tmp_path, task="quotes", into="gold.jsonl", questions=tmp_path / name, sources=[DOCUMENTS])
    quote = {"doc": pooled.asked[0].texts[0][0], "quote": "Hall 1"}
    take(saved(pooled.form, "ann", [[quote]], key="quotes"))
    before, after = sy.Questions.read(tmp_path / name), sy.Questions.read(tmp_path / "gold.jsonl")
    assert [(q.query_id, q.query, q.answer) for q in after] == [(q.query_id, q.query, q.answer) for q in before]
    assert [piece.text for question in after for piece in question.evidence] == ["Hall 1"]


@pytest.mark.parametrize("quotes", ["Hall", [{"doc": "x", "quote": "Hall"}], [{"doc": "h1", "quote": " "}], [3]])
def test_quotes_that_are_none_are_refused(quotes: object, tmp_path: Path) -> None:
    questions = tmp_path / "questions.jsonl"
    questions.write_text("".join(json.dumps(line) + "\n" for line in QUESTIONS), encoding="utf-8")
    pooled = pool(tmp_path, task="quotes", into="gold.jsonl", questions=questions, sources=[DOCUMENTS])
    with pytest.raises(sy.InputError, match=r"ann.json: item .*: a quote is no text of"):
        take(saved(pooled.form, "ann", [quotes], key="quotes"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"task": "words"}, "no form is for 'words'; there are grades and quotes"),
        ({"into": "qrels.txt"}, "qrels.txt: cannot say who decided; name a file in JSONL"),
        ({"task": "quotes"}, "questions that quotes are added to are a file; name that"),
        ({"task": "quotes", "adjudicate": True}, "nothing to adjudicate"),
        ({"n": 0}, "n is 0, not 1 or more"),
        ({"scale": "0-5"}, "no scale is called '0-5'"),
    ],
)
def test_what_cannot_be_pooled_is_refused(options: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(sy.InputError, match=message):
        pool(tmp_path, **options)
    assert list(tmp_path.iterdir()) == []


def test_each_kind_is_taken_in_by_itself(tmp_path: Path) -> None:
    from tests.reviewing.small import outputs

    graded = pool(tmp_path, n=2, scale="0-3")
    sampled = sy.review.sample(QUESTIONS, {"a": outputs()}, tmp_path / "review", n=3, labels=tmp_path / "labels.json")
    files = [saved(graded.form, "ann", [1]), saved(sampled.form, "ann", ["supported"], key="label")]
    with pytest.raises(
        sy.InputError, match="these files answer forms for grades and verdicts; take in each kind by it"
    ):
        take(files)


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_pools_are_said_in_words_and_numbers(lang: str, tmp_path: Path) -> None:
    pooled = pool(tmp_path, n=4, lang=lang)
    text = pooled.text(lang=lang)
    assert text.startswith(
        "The form asks 4 of 24 pairs of a question and a document; people decided about 0 before.\n"
        if lang == "en"
        else "共 24 对问题与文档，表单询问 4 对；此前已由人判定 0 对。\n"
    )
    assert ("Documents to grade" if lang == "en" else "待评级的文档") in pooled.text(lang=lang, explain=True)
    assert json.loads(pooled.text("json", lang=lang))["n_asked"] == 4
