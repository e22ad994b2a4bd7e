"""What `steelyard run` and `steelyard sweep` say in Chinese."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from steelyard.base.notes import PLAIN, Note
from steelyard.data.folders.manifests import write_manifest
from steelyard.data.folders.run_folder import read_run_folder
from steelyard.rag.config import Config
from steelyard.rag.sweeping import Swept, sweep
from steelyard.reports.views.notes import note_text
from steelyard.reports.views.runs import first_failure, run_lines, sweep_sheet
from steelyard.reports.words import read_words
from tests.cli.command import called
from tests.rag import small
from tests.reports.test_sheet import listening
from tests.reports.untranslated import untranslated

ZH = read_words("zh")
STAGES = {"chunk": "tests.rag.small:Stops", "index": "tests.rag.small:Common"}
TIRED = "tests.rag.test_sweeping:tired"
NAMES = {
    "--holdout",
    "--overwrite",
    "ndcg",
    "recall",
    "share",
    "rerank=none",
    f"rerank={TIRED}",
    "rerank",
    "none",
    TIRED,
    "empty",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Questions of which the last six have gold that is nowhere."""
    path = small.write(tmp_path_factory.mktemp("chinese"))
    lost = [{"qid": f"n{i}", "query": "茶？", "evidence": [{"text": f"无处可寻{i}"}]} for i in range(6)]
    with (path / "questions.jsonl").open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(line) + "\n" for line in lost)
    (path / "documents" / "empty.txt").write_text("")
    return path


def swept(folder: Path, *, holdout: bool, **options: str) -> Swept:
    table = {"documents": "documents", "questions": "questions.jsonl", "k": 2, "name": "mine", **STAGES, **options}
    config = Config.of({**table, "sweep": {"rerank": ["none", TIRED], "k": [1, 2]}}, base=folder)
    return sweep(config, measures=["ndcg", "recall"], holdout=holdout)


def swept_documents(folder: Path) -> Swept:
    """A sweep over questions whose gold is whole documents."""
    line = {"qid": "d", "query": "茶？", "evidence": [{"doc": "茶.txt"}]}
    (folder / "whole.jsonl").write_text(json.dumps(line) + "\n", encoding="utf-8")
    return swept(folder, holdout=False, questions="whole.jsonl", name="documents")


def test_no_english_is_left_in_a_sweep_and_every_text_is_seen(folder: Path) -> None:
    lang, heard = listening(ZH)
    documents = swept_documents(folder)
    all_ahead = documents.values + np.arange(len(documents.values))[:, None, None]
    one_question = replace(documents, values=all_ahead, held_out=np.arange(len(documents.query_ids)) > 0)
    for few in (documents, one_question):
        assert untranslated("\n".join(sweep_sheet(few, words=lang).notes), NAMES) == []
    for holdout in (False, True):
        sheet = sweep_sheet(swept(folder, holdout=holdout), words=lang)
        text = "\n".join([*sheet.header, *(cell for row in sheet.rows for cell in row), *sheet.notes])
        assert "1 篇文档为空：empty" in text
        assert f"rerank={TIRED}：运行失败的问题：9 个中的 1 个（q2），按 0 计。" in text
        assert "（n0、n1、n2、n3、n4……），按 0 计。" in text
        assert untranslated(text, NAMES) == []
    assert {key for key in ZH.texts if key.startswith("sweep.")} - heard.keys_heard == set()


def test_the_json_of_a_sweep_is_for_programs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = set()
    for locale in ("zh_CN.UTF-8", "C"):
        monkeypatch.setenv("LC_ALL", locale)
        texts.add(swept(folder, holdout=False).text("json"))
    assert len(texts) == 1
    assert "Means over 9 questions." in texts.pop()


NOTES = [
    Note("files_skipped", {"n": 5, "names": ["a.bin", "b.bin", "c.bin"]}),
    Note("files_decoded", {"n": 1, "names": ["a.txt (gb18030)"], "encodings": {"a.txt": "gb18030"}}),
    Note("documents_empty", {"n": 1, "names": ["d"]}),
    Note("documents_without_chunks", {"n": 2, "names": ["d", "e"]}),
    Note("few_chunks", {"k": 10, "n": 1}),
    Note("cache_damaged", {"n": 2}),
    Note("lock_taken_over", {"pid": 7, "host": "h", "boot": "b", "since": "2026-01-01", "command": "steelyard run"}),
    Note("few_documents", {"k": 10, "n": 1}),
    Note("few_documents_among_candidates", {"k": 100, "chunks": 100.0, "documents": 62.5}),
    Note("few_documents_listed", {"k": 10, "chunks": 10.0, "documents": 6.2}),
    Note("lists_end", {"k": 10, "measures": ["recall@100"]}),
    Note("gold_rule", {"rule": "any"}),
    Note("gold_documents"),
    Note("gold_lost", {"n": 1, "total": 4}),
    Note("questions_failed", {"n": 1, "total": 4, "names": ["q2"]}),
    Note("questions_unwinnable", {"n": 7, "total": 9, "names": ["q1"]}),
]


def test_every_note_has_a_text_in_both_languages() -> None:
    heard = set()
    for lang in ("en", "zh"):
        words, listener = listening(read_words(lang))
        texts = [note_text(note, words) for note in NOTES]
        assert len(set(texts)) == len(NOTES)
        heard |= {key.removesuffix(".one").removesuffix(".other") for key in listener.keys_heard}
    assert heard - {"list.comma", "list.and_more"} == {f"notes.{note.code}" for note in NOTES}
    assert note_text(NOTES[0], read_words("en")) == "5 files were skipped: a.bin, b.bin, c.bin, ..."
    assert note_text(NOTES[0], ZH) == "跳过了 5 个文件：a.bin、b.bin、c.bin……"
    assert note_text(NOTES[4], read_words("en")) == "k is 10, but there is only 1 chunk: questions get fewer results"


def test_notes_of_other_versions_are_shown_as_they_are(folder: Path, tmp_path: Path) -> None:
    write_manifest(tmp_path, {"name": "old", "finished": "2025-01-01", "notes": ["2 documents are empty: a, b"]})
    (tmp_path / "outputs.jsonl").write_text("")
    (note,) = read_run_folder(tmp_path).notes
    assert note == Note(PLAIN, {"text": "2 documents are empty: a, b"})
    assert note_text(note, ZH) == "2 documents are empty: a, b"
    assert note_text(Note("from_the_future", {"n": 1}), ZH) == 'from_the_future {"n": 1}'


def test_no_english_is_left_in_what_a_run_says_and_every_text_is_seen(folder: Path) -> None:
    tired = read_run_folder(swept(folder, holdout=False).folders[-1])
    lang, heard = listening(ZH)
    allowed = NAMES | {str(tired.path), first_failure(tired)[1]}
    for n_before in (0, 4, 9):
        assert untranslated("\n".join(run_lines(tired, n_before, lang)), allowed) == []
    assert "注意：1 篇文档为空：empty" in list(run_lines(tired, 0, lang))
    assert {key for key in ZH.texts if key.startswith("runs.")} - heard.keys_heard == set()


def test_a_run_speaks_the_language_that_is_asked_for(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "plain.toml").write_text(
        'documents = "documents"\nquestions = "questions.jsonl"\nk = 2\n'
        + "".join(f'{stage} = "{name}"\n' for stage, name in STAGES.items())
    )
    options = {"documents": None, "questions": None, "target": None, "k": None, "folder": None, "cache": False,
               "cluster": None, "unit": None, "concurrency": None, "strict": False}  # fmt: skip
    for lang, words in (("zh", ["9 个问题，", "均值", "此前"]), ("en", ["9 questions, ", "mean", "before"])):
        called("run", config=folder / "plain.toml", measures=["recall@2"], overwrite=False, lang=lang, **options)
        text = capsys.readouterr().out
        assert [word in text for word in words] == [True, True, lang == "en"]
