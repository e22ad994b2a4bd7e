"""What users give by mistake, through the command line: one line that says what to do, and never a traceback."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from steelyard.base.extras import install_line
from steelyard.rag.config import Config
from steelyard.rag.pipeline.pipeline import Pipeline
from tests.cli.command import complaint, printed
from tests.rag import small

pytest.importorskip("bm25s", reason="the default index needs the extra rag")
RUN = ("run", "--documents", "documents", "--questions", "questions.jsonl", "--output", "out")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return small.write(tmp_path)


def question(folder: Path, **more: object) -> None:
    """One more question."""
    with (folder / "questions.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps({"qid": "q9", "query": "A whale?", "evidence": [{"text": "whale"}], **more}) + "\n")


def test_an_empty_folder(folder: Path) -> None:
    (folder / "nothing").mkdir()
    told = complaint("run", "--documents", "nothing", "--questions", "questions.jsonl", cwd=folder)
    assert f"{folder / 'nothing'}: is an empty folder; documents are files of .txt" in told


def test_a_binary_file_named_txt(folder: Path) -> None:
    (folder / "documents" / "tool.txt").write_bytes(b"\x7fELF\x02\x01\x01\x00" + bytes(range(64)))
    told = complaint(*RUN, cwd=folder)
    assert f"{folder / 'documents' / 'tool.txt'}: is a binary file, not text (byte 0x" in told
    assert not (folder / "out").exists()


def test_another_encoding(folder: Path) -> None:
    (folder / "documents" / "旧.txt").write_bytes("龙井茶".encode("gb18030"))
    told = complaint(*RUN, cwd=folder)
    assert "旧.txt: byte 0xc1 at 0 is not UTF-8" in told
    assert "encoding=" in told


def test_documents_of_no_length(folder: Path) -> None:
    (folder / "documents" / "empty.txt").write_bytes(b"")
    text = printed(*RUN, "-m", "recall@5", cwd=folder)
    assert text.count("1 document is empty: empty. ") == 1
    assert "3 chunks of 4 documents" in text
    for name in small.TEXTS:
        (folder / "documents" / name).unlink()
    told = complaint(*RUN[:-1], "other", cwd=folder)
    assert told == "steelyard: no chunk could be made of 1 document: empty; expected some text\n"


def test_k_beyond_the_corpus_is_said_once(folder: Path) -> None:
    text = printed(*RUN, "--k", "90", "-m", "recall@90", cwd=folder)
    assert text.count("k is 90, but there are only 3 chunks: questions get fewer results") == 1
    found = [json.loads(line) for line in (folder / "out" / "outputs.jsonl").read_text().splitlines()]
    assert all(1 <= len(line["retrieved"]) <= 3 for line in found)


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"query": " \t "}, "questions.jsonl, line 4: question 'q9' has an empty `query`"),
        ({"query": None}, "line 4"),
        ({"qid": "q2"}, "line 4: question 'q2' is listed already, in"),
        ({"evidence": [{"doc": "sea.txt", "start": 9, "end": 4}]}, "line 4"),
    ],
)
def test_questions_that_cannot_be_asked(more: dict[str, object], told: str, folder: Path) -> None:
    question(folder, **more)
    assert told in complaint(*RUN, cwd=folder)
    assert not (folder / "out").exists()


def test_gold_that_is_nowhere_is_listed_and_counted(folder: Path) -> None:
    question(folder, evidence=[{"text": "a kraken"}])
    text = " ".join(printed(*RUN, "-m", "recall@5", "-v", cwd=folder).split())
    assert "1 of 4 gold pieces is in no chunk: text 'a kraken' of q9 (it is not in the corpus)" in text
    assert "1 question cannot be won, as no chunk holds any of the gold: q9; counted as 0." in text
    found = json.loads(printed("evaluate", "questions.jsonl", "out", "-m", "recall@5", "-f", "json", cwd=folder))
    (system,) = found["systems"].values()
    assert system["gold"]["unwinnable"] == ["q9"]
    assert system["counts"]["unwinnable"] == 1


def test_one_id_for_two_chunks_in_outputs(folder: Path) -> None:
    items = [{"id": "c1", "score": 2, "text": "a whale"}, {"id": "c1", "score": 1, "text": "the sea"}]
    (folder / "outputs.jsonl").write_text(json.dumps({"qid": "q2", "retrieved": items}) + "\n")
    told = complaint("evaluate", "questions.jsonl", "outputs.jsonl", cwd=folder)
    assert "outputs.jsonl, line 1, item 2: chunk 'c1'" in told


def test_one_chunk_two_times_in_outputs(folder: Path) -> None:
    items = [{"id": "c1", "score": 2, "text": "a whale"}, {"id": "c1", "score": 1, "text": "a whale"}]
    (folder / "outputs.jsonl").write_text(json.dumps({"qid": "q9", "retrieved": items}) + "\n")
    (folder / "questions.jsonl").unlink()
    question(folder)
    told = complaint("evaluate", "questions.jsonl", "outputs.jsonl", cwd=folder)
    assert "c1" in told
    assert "--on-duplicate" in told


BLOCKED = """
import sys


class Without:
    "A finder of modules that does not know some of them."

    def __init__(self, finder):
        self.finder = finder

    def __getattr__(self, name):
        return getattr(self.finder, name)

    def find_spec(self, name, path=None, target=None):
        return None if name.partition(".")[0] in {names!r} else self.finder.find_spec(name, path, target)


sys.meta_path[:] = [Without(finder) for finder in sys.meta_path]
from steelyard.cli import main

sys.argv = ["steelyard", "run", "mine.toml"]
main()
"""


@pytest.mark.parametrize(
    ("names", "stages", "told", "extra"),
    [
        ({"bm25s"}, "", "needs bm25s, which is not installed", "rag"),
        pytest.param(
            {"sklearn"}, 'index = "dense"', "needs sklearn, which is not installed", "rag", marks=pytest.mark.slow
        ),
        pytest.param(
            {"sentence_transformers", "torch"},
            'index = "dense"\nembed = {kind = "sentence-transformers", model = "documents"}',
            "needs sentence_transformers, which is not installed",
            "models",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            {"httpx2"},
            'rerank = {kind = "http", url = "http://127.0.0.1:9/"}',
            "needs httpx2, which is not installed",
            "endpoints",
            marks=pytest.mark.slow,
        ),
        (
            {"httpx2"},
            'generate = {kind = "openai", model = "m", base_url = "http://127.0.0.1:9/"}',
            "needs httpx2, which is not installed",
            "endpoints",
        ),
        pytest.param(
            {"semantic_text_splitter"},
            'chunk = "semantic"',
            "which is not installed",
            "splitter",
            marks=pytest.mark.slow,
        ),
    ],
    ids=lambda value: "-".join(sorted(value)) if isinstance(value, set) else "",
)
def test_a_missing_extra_is_told_with_the_line_that_installs_it(
    names: set[str], stages: str, told: str, extra: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    (folder / "mine.toml").write_text(f'documents = "documents"\nquestions = "questions.jsonl"\n{stages}\n')
    (folder / "blocked.py").write_text(BLOCKED.format(names=names))
    done = subprocess.run([sys.executable, "blocked.py"], cwd=folder, capture_output=True, check=False)
    error = done.stderr.decode()
    assert (done.returncode, done.stdout) == (2, b""), error
    assert error.startswith("steelyard: ")
    assert error.count("\n") == 1
    assert f"{told}; try: {install_line(extra)}" in error


def test_a_model_folder_that_is_not_there(folder: Path) -> None:
    (folder / "mine.toml").write_text(
        'documents = "documents"\nquestions = "questions.jsonl"\nindex = "dense"\n'
        '[embed]\nkind = "sentence-transformers"\nmodel = "./nowhere"\n'
    )
    told = complaint("run", "mine.toml", cwd=folder)
    assert "mine.toml, line 6: " in told
    assert f"the model folder is not there (looked at {folder / 'nowhere'})" in told


def test_places_that_cannot_be_written(folder: Path) -> None:
    (folder / "file").write_text("mine")
    assert f"{folder / 'file'}: cannot be a run folder" in complaint(*RUN[:-1], "file", cwd=folder)
    assert "cannot be a run folder" in complaint(*RUN[:-1], "file/inside", cwd=folder)
    (folder / "mine.toml").write_text('documents = "documents"\nquestions = "questions.jsonl"\ncache = "file/cache"\n')
    assert "the cache cannot be made" in complaint("run", "mine.toml", cwd=folder)
    (folder / "mine.toml").write_text('documents = "documents"\nquestions = "questions.jsonl"\ncache = "file"\n')
    assert "no cache" in complaint("run", "mine.toml", cwd=folder)
    assert (folder / "file").read_text() == "mine"


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="needs a user whom permissions bind")
def test_a_folder_without_permission(folder: Path) -> None:
    (folder / "locked").mkdir(mode=0o500)
    assert "cannot be written (Permission denied)" in complaint(*RUN[:-1], "locked/out", cwd=folder)


TARGET = """
import os
import time


def search(query, k=10):
    if query.startswith("5") and not os.path.exists("quick"):
        open("waiting", "w").close()
        time.sleep(60)
    with open("asked", "a") as file:
        file.write(query + "\\n")
    return [{"id": f"{query[0]}-{i}", "score": 1 / (1 + i), "text": f"{query} {i}"} for i in range(k)]
"""


@pytest.mark.skipif(os.name != "posix", reason="sends a signal as a terminal does")
def test_ctrl_c_loses_nothing_and_the_same_command_completes_the_run(folder: Path) -> None:
    (folder / "slow.py").write_text(TARGET)
    asked = [{"qid": f"q{i}", "query": f"{i} 茶", "evidence": [{"text": f"{i} 茶 2"}]} for i in range(9)]
    (folder / "questions.jsonl").write_text("".join(json.dumps(one) + "\n" for one in asked))
    options = ("run", "--target", "slow:search", "--questions", "questions.jsonl", "-m", "mrr@10")
    process = subprocess.Popen(
        [sys.executable, "-m", "steelyard", *options], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and not (folder / "waiting").exists():
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    out, error = process.communicate(timeout=30)
    assert (process.returncode, out) == (130, b"")
    assert error.decode() == (
        "steelyard: interrupted; 5 questions are done and kept. The same command goes on from there\n"
    )
    unfinished = complaint("evaluate", "questions.jsonl", "runs/search", cwd=folder)
    assert "was interrupted; start it again" in unfinished
    (folder / "quick").touch()
    resumed = printed(*options, cwd=folder)
    assert "5 of 9 questions were answered before and are kept." in resumed
    assert (folder / "asked").read_text().split("\n")[:-1] == [one["query"] for one in asked]  # each once
    whole = printed(*options, "--output", "whole", cwd=folder)
    assert _found(folder / "runs" / "search") == _found(folder / "whole")
    assert resumed.partition("mean")[2].replace("runs/search", "whole") == whole.partition("mean")[2]


def _found(path: Path) -> list[dict[str, object]]:
    lines = [json.loads(line) for line in (path / "outputs.jsonl").read_text(encoding="utf-8").splitlines()]
    return [{key: value for key, value in line.items() if key != "latency_ms"} for line in lines]


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("raise RuntimeError('no index loaded')", "RuntimeError: no index loaded"),
        ("return 5", "target bad:search"),
        ("return [{'score': 1.0}]", "target bad:search"),
        ("return [('a', float('nan'))]", "target bad:search"),
    ],
)
def test_a_function_that_fails_on_everything(code: str, told: str, folder: Path) -> None:
    for i in range(5):
        question(folder, qid=f"more{i}")
    (folder / "bad.py").write_text(f"def search(query):\n    {code}\n")
    error = complaint("run", "--target", "bad:search", "--questions", "questions.jsonl", cwd=folder)
    assert error.startswith("steelyard: the first 5 questions all failed: ")
    assert told in error


STAGES = """
import numpy as np

from steelyard.base.errors import StageError


class Index:
    needs_vectors = False

    def build(self, texts, vectors):
        pass

    def search(self, query, vector, k):
        return np.array([0, 1]), np.array([1.0, 0.5])


class Unbuilt(Index):
    def build(self, texts, vectors):
        raise RuntimeError("no room\\nleft")


class Beyond(Index):
    def search(self, query, vector, k):
        return np.array([99]), np.array([1.0])


class Picky(Index):
    def scores(self, query, texts):
        if "whale" in query:
            raise ZeroDivisionError("no whales")
        return [1.0] * len(texts)


class Wordless(Index):
    def answer(self, query, passages):
        return 5


class Greedy:
    def fit(self, texts):
        pass

    def documents(self, texts):
        raise MemoryError

    def query(self, text):
        return np.ones(3)


class Nothing:
    pass
"""


@pytest.mark.parametrize(
    ("stages", "told"),
    [
        ('index = "own:Unbuilt"', "index raised RuntimeError: no room left ("),
        ('index = "dense"\nembed = "own:Greedy"', "embed raised MemoryError ("),
        (
            'index = "own:Nothing"',
            "mine.toml, line 3: index own:Nothing: Nothing is no index stage, it has no build and no search",
        ),
        ('rerank = "own:Nothing"', "line 3: rerank own:Nothing: Nothing is no rerank stage, it has no scores"),
        ('chunk = "own:Nothing"', "Nothing is no chunk stage, it has no spans and no split_text"),
    ],
)
def test_a_stage_of_ones_own_that_cannot_work(stages: str, told: str, folder: Path) -> None:
    (folder / "own.py").write_text(STAGES)
    (folder / "mine.toml").write_text(f'documents = "documents"\nquestions = "questions.jsonl"\n{stages}\n')
    assert told in complaint("run", "mine.toml", cwd=folder)


@pytest.mark.parametrize(
    ("stages", "failed", "told"),
    [
        ({"rerank": "own_stages:Picky"}, [False, True, False], "rerank raised ZeroDivisionError: no whales (/"),
        ({"index": "own_stages:Beyond"}, [True] * 3, "a stage raised IndexError"),
        ({"generate": "own_stages:Wordless"}, [True] * 3, "generate: gave int, not a text"),
    ],
)
def test_a_stage_of_ones_own_that_fails_on_a_question(
    stages: dict[str, str], failed: list[bool], told: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "own_stages.py").write_text(STAGES)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.delitem(sys.modules, "own_stages", raising=False)
    config = Config.of({"documents": "documents", "questions": "questions.jsonl", "k": 2, **stages}, base=folder)
    made = Pipeline.read(config).run(folder / "questions.jsonl", folder / "out")
    lines = [json.loads(line) for line in made.outputs.read_text(encoding="utf-8").splitlines()]
    assert ["error" in line for line in lines] == failed
    assert told in lines[1]["error"]
    assert made.manifest["counts"]["failed"] == sum(failed)


def test_a_module_that_cannot_be_imported(folder: Path) -> None:
    (folder / "broken.py").write_text("def search(query:\n")
    told = complaint("run", "--target", "broken:search", "--questions", "questions.jsonl", cwd=folder)
    assert "importing broken raised SyntaxError" in told
    assert "broken.py:1" in told
    (folder / "raising.py").write_text("raise KeyError('no such setting')\n")
    told = complaint("run", "--target", "raising:search", "--questions", "questions.jsonl", cwd=folder)
    assert "importing raising raised KeyError" in told


def test_a_quote_that_is_nowhere_is_told_before_anything_is_asked(folder: Path) -> None:
    quote = {"doc": "scales", "quote": "a quote that nobody wrote"}
    (folder / "wrong.jsonl").write_text(json.dumps({"qid": "q1", "query": "weigh?", "evidence": [quote]}))
    told = complaint("run", "--documents", "documents", "--questions", "wrong.jsonl", "-o", "out", cwd=folder)
    assert "question 'q1': document 'scales'" in told
    assert not (folder / "out").exists()
