"""What `steelyard run` and `steelyard sweep` say in Chinese."""

import json
from pathlib import Path

import pytest

from steelyard.cli.run import _first_failure, _said
from steelyard.cli.run import run as run_command
from steelyard.cli.sweep import _json, sheet_of
from steelyard.data.run_folder import read_run_folder
from steelyard.rag.config import Config
from steelyard.rag.sweeping import Swept, sweep
from steelyard.report.words import read_words
from tests.rag import small
from tests.report.test_sheet import listening
from tests.report.untranslated import untranslated

ZH = read_words("zh")
STAGES = {"chunk": "tests.rag.small:Stops", "index": "tests.rag.small:Common"}
TIRED = "tests.rag.test_sweeping:tired"
NAMES = {"--holdout", "--overwrite", "ndcg", "recall", "any", "rerank=none", f"rerank={TIRED}", "rerank", "none", TIRED}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Questions of which the last six have gold that is nowhere."""
    path = small.write(tmp_path_factory.mktemp("chinese"))
    lost = [{"qid": f"n{i}", "query": "茶？", "evidence": [{"text": f"无处可寻{i}"}]} for i in range(6)]
    with (path / "questions.jsonl").open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(line) + "\n" for line in lost)
    (path / "documents" / "empty.txt").write_text("")
    return path


def swept(folder: Path, *, holdout: bool, lang: str = "zh") -> tuple[Swept, set[str], str]:
    """A sweep, the keys of its notes, and the text of its table."""
    told, heard = listening(read_words(lang))
    table = {"documents": "documents", "questions": "questions.jsonl", "k": 2, "name": "mine", **STAGES}
    config = Config.of({**table, "sweep": {"rerank": ["none", TIRED]}}, base=folder)
    found = sweep(config, measures=["ndcg", "recall"], holdout=holdout, lang=told)
    made = sheet_of(found, seed=0, lang=told)
    return found, heard.keys_heard, "\n".join([*made.header, *(cell for row in made.rows for cell in row), *made.notes])


def test_no_english_is_left_in_a_sweep_and_every_text_is_seen(folder: Path) -> None:
    keys: set[str] = set()
    for holdout in (False, True):
        found, heard, text = swept(folder, holdout=holdout)
        keys |= heard
        own = {note for path in found.folders for note in read_run_folder(path).manifest["notes"]}
        assert "1 document is empty: empty" in own
        assert untranslated(text, NAMES | own) == []
    assert {key for key in ZH.texts if key.startswith("scores.sweep.")} - keys == set()


def test_the_json_of_a_sweep_is_for_programs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = set()
    for told in ("zh_CN.UTF-8", "C"):
        monkeypatch.setenv("LC_ALL", told)
        made.add(_json(swept(folder, holdout=False, lang="en")[0], 0))
    assert len(made) == 1
    assert "Means over 9 questions." in made.pop()


def test_no_english_is_left_in_what_a_run_says_and_every_text_is_seen(folder: Path) -> None:
    found = swept(folder, holdout=False)[0]
    tired = read_run_folder(found.folders[1])
    told, heard = listening(ZH)
    allowed = NAMES | {str(tired.path), *tired.manifest["notes"], _first_failure(tired)[1]}
    for n_before in (0, 4, 9):
        assert untranslated("\n".join(_said(tired, n_before, told)), allowed) == []
    assert {key for key in ZH.texts if key.startswith("scores.run.")} - heard.keys_heard == set()


def test_a_run_speaks_the_language_that_is_asked_for(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "plain.toml").write_text(
        'documents = "documents"\nquestions = "questions.jsonl"\nk = 2\n'
        + "".join(f'{stage} = "{name}"\n' for stage, name in STAGES.items())
    )
    options = {"documents": None, "questions": None, "target": None, "k": None, "output": None, "cache": False}
    for lang, words in (("zh", ["9 个问题，", "均值", "此前"]), ("en", ["9 questions, ", "mean", "before"])):
        run_command(folder / "plain.toml", measures=["recall@2"], overwrite=False, lang=lang, **options)
        text = capsys.readouterr().out
        assert [word in text for word in words] == [True, True, lang == "en"]
