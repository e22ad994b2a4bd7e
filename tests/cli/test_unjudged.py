"""Queries of a BEIR folder without a judged document: neither asked nor evaluated, and said to be so."""

import json
from pathlib import Path

import pytest

import steelyard as sy
from tests.cli.command import steelyard

N, JUDGED = 12, 5


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """As CISI: queries for some of which nobody judged a document."""
    (tmp_path / "cisi" / "qrels").mkdir(parents=True)
    queries = [{"_id": str(i), "text": f"subject {i}"} for i in range(N)]
    documents = [{"_id": f"d{i}", "text": f"All about subject {i}."} for i in range(N)]
    for name, lines in (("queries", queries), ("corpus", documents)):
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (tmp_path / "cisi" / f"{name}.jsonl").write_text(text, encoding="utf-8")
    rows = "".join(f"{i}\td{i}\t1\n" for i in range(JUDGED))
    (tmp_path / "cisi" / "qrels" / "test.tsv").write_text(f"query-id\tcorpus-id\tscore\n{rows}", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("lang", "note"),
    [
        (
            "en",
            "7 of 12 questions of the folder have no judged document, and are neither asked nor evaluated: 5, 6, 7, 8, "
            "9",
        ),
        ("zh", "文件夹的 12 个问题中，7 个没有标注任何文档，既不提问也不计分：5、6、7、8、9"),
    ],
)
def test_they_are_counted_and_named(folder: Path, lang: str, note: str) -> None:
    pytest.importorskip("bm25s", reason="the default index needs the extra rag")
    for command in (
        ("run", "--documents", "cisi", "--questions", "cisi", "-o", f"runs/{lang}"),
        ("evaluate", "cisi", f"runs/{lang}"),
        ("report", "cisi", f"runs/{lang}"),
        ("gate", f"runs/{lang}", "--truth", "cisi", "--max-missing", 0),
    ):
        done = steelyard(*command, "--lang", lang, columns=4000)
        assert note in done.stdout.decode(), (command, done.stderr.decode())
    lines = Path(f"runs/{lang}/outputs.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line)["qid"] for line in lines] == [str(i) for i in range(JUDGED)]


def test_none_is_no_note(folder: Path) -> None:
    rows = "".join(f"{i}\td{i}\t{int(i < 3)}\n" for i in range(N))
    (folder / "cisi" / "qrels" / "test.tsv").write_text(f"query-id\tcorpus-id\tscore\n{rows}", encoding="utf-8")
    lines = [{"qid": str(i), "retrieved": [{"id": "c", "doc": "d1", "text": "About."}]} for i in range(N)]
    scores = sy.evaluate(sy.Questions.read("cisi"), {"s": sy.Outputs(lines)}, "mrr")
    assert scores.notes == {}
