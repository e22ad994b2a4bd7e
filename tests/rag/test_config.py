from pathlib import Path

import pytest

from steelyard.base.errors import InputError
from steelyard.base.options import WeighOptions
from steelyard.rag.config import Config, TargetSettings
from steelyard.rag.protocols import Stage
from steelyard.services.cache import CACHE_NAME
from tests.rag import small


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return small.write(tmp_path)


def read(folder: Path, text: str) -> Config:
    (folder / "mine.toml").write_text(text, encoding="utf-8")
    return Config.read(folder / "mine.toml")


def test_what_is_left_out_has_a_default(folder: Path) -> None:
    config = read(folder, 'documents = "documents"')
    assert (config.name, config.k, config.depth, config.encoding) == ("mine", 10, 100, "detect")
    assert config.documents == folder / "documents"
    assert config.questions is None
    assert (config.chunk, config.embed, config.index) == (Stage("recursive"), Stage("lsa"), [Stage("bm25")])
    assert (config.fuse, config.rerank, config.generate, config.target) == (None, None, None, None)
    assert (config.top_n, config.passages) == (50, 5)
    assert config.folder == folder / "runs" / "mine"
    assert config.cache == folder / "runs" / CACHE_NAME


WHOLE = """
name = "all"
documents = "documents"
questions = "questions.jsonl"
k = 5
depth = 50
encoding = "gb18030"
chunk = {kind = "recursive", size = 500, overlap = 50}
embed = "mine:Embedder"
folder = "out"
cache = "cache.sqlite"
[[index]]
kind = "bm25"
k1 = 0.9
[[index]]
kind = "dense"
[rerank]
kind = "lexical"
top_n = 20
pairs = 0.5
[generate]
kind = "extractive"
passages = 3
[weigh]
measures = ["recall@5"]
rule = "share>=0.5"
min_gain = 2
"""


def test_everything_can_be_said(folder: Path) -> None:
    config = read(folder, WHOLE)
    assert config.name == "all"
    assert (config.k, config.depth, config.encoding, config.top_n, config.passages) == (5, 50, "gb18030", 20, 3)
    assert config.chunk == Stage("recursive", {"size": 500, "overlap": 50})
    assert config.index == [Stage("bm25", {"k1": 0.9}), Stage("dense")]
    assert config.fuse == Stage("rrf")
    assert config.stage("rerank") == Stage("lexical", {"pairs": 0.5})
    assert config.stage("generate") == Stage("extractive")
    assert (config.weigh.measures, config.weigh.rule, config.weigh.min_gain) == (["recall@5"], "share>=0.5", 2.0)
    assert (config.folder, config.cache) == (folder / "out", folder / "cache.sqlite")
    assert read(folder, 'documents = "documents"\ncache = false').cache is False


REFUSED = {
    "unknown key": ('documents = "documents"\n\nindxe = "bm25"', "line 3: there is no setting 'indxe'; did you mean"),
    "unknown inside": ('documents = "documents"\n[weigh]\nmesures = []', "line 3: [weigh] has no setting 'mesures'"),
    "syntax": ('documents = "documents"\nk = \n', "line 2: is not TOML"),
    "syntax at the end": ('documents = "documents', "is not TOML"),
    "no documents": ("k = 3", "has no `documents`"),
    "no such documents": ('documents = "docs"', "line 1: documents: there is no"),
    "no such questions": ('documents = "documents"\nquestions = "q.jsonl"', "line 2: questions: there is no"),
    "k is text": ('documents = "documents"\nk = "ten"', "line 2: k must be a whole number from 1, not 'ten'"),
    "k is true": ('documents = "documents"\nk = true', "k must be a whole number"),
    "k is zero": ('documents = "documents"\nk = 0', "k must be a whole number from 1, not 0"),
    "k beyond depth": ('documents = "documents"\nk = 200', "line 2: k is 200, but each index gives depth = 100"),
    "stage is a number": ('documents = "documents"\nchunk = 500', "line 2: chunk must be a name or a table"),
    "stage without kind": ('documents = "documents"\n[chunk]\nsize = 5', "line 2: chunk is a table without `kind`"),
    "no such unit": ('documents = "documents"\nunit = "page"', 'line 2: unit must be "chunk" or "document", not'),
    "no index": ('documents = "documents"\nindex = []', "index must be a name or a table with `kind`, or a list of"),
    "index none": ('documents = "documents"\nindex = ["bm25", "none"]', "of them, not ['bm25', 'none']"),
    "no fusion": ('documents = "documents"\nindex = ["bm25", "dense"]\nfuse = "none"', "line 3: 2 indexes need a fuse"),
    "top_n": ('documents = "documents"\n[rerank]\nkind = "lexical"\ntop_n = 0', "line 4: rerank.top_n must be"),
    "name": ('documents = "documents"\nname = "a/b"', "line 2: name must be a name that a folder can have, not 'a/b'"),
    "empty encoding": ('documents = "documents"\nencoding = ""', "encoding must be the name of an encoding, or a"),
    "no encoding": ('documents = "documents"\nencoding = { "*.txt" = "klingon" }', "there is no encoding 'klingon'"),
    "folder": ('documents = "documents"\nfolder = 3', "folder must be a path"),
    "target and documents": ('documents = "documents"\n[target]\nurl = "http://x"', "documents belongs to a pipeline"),
    "target twice": ('[target]\nurl = "http://x"\ncallable = "a:b"', "either callable"),
    "measures": ('documents = "documents"\n[weigh]\nmeasures = [1]', "line 3: weigh.measures[0] must be a text, not 1"),
    "no measures": ('documents = "documents"\n[weigh]\nmeasures = []', "measures must be a list of names, not []"),
    "misspelt measure": (
        'documents = "documents"\n[weigh]\nmeasures = [\n  "mrr",\n  "recal@5",\n]',
        "line 5: no measure is called 'recal'; did you mean recall",
    ),
    "second index": (
        'documents = "documents"\n[[index]]\nkind = "bm25"\n[[index]]\nk1 = 2',
        "line 4: index is a table without",
    ),
    "min_gain": ('documents = "documents"\n[weigh]\nmin_gain = "2"', "weigh.min_gain must be a number"),
    "sweep": ('documents = "documents"\n[sweep]\nchnk.size = [3]', "line 3: sweep: there is no setting 'chnk'"),
    "sweep is a list": ('documents = "documents"\nsweep = [3]', "line 2: sweep must be a table of lists"),
    "rule": ('documents = "documents"\n[weigh]\nrule = 0.5', "weigh.rule must be a text"),
}


@pytest.mark.parametrize(("text", "reason"), REFUSED.values(), ids=REFUSED)
def test_what_is_wrong_is_told_with_its_line(text: str, reason: str, folder: Path) -> None:
    with pytest.raises(InputError) as caught:
        read(folder, text)
    assert str(caught.value).startswith(str(folder / "mine.toml"))
    assert reason in str(caught.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such file"):
        Config.read(tmp_path / "none.toml")
    with pytest.raises(InputError, match="cannot be read"):
        Config.read(tmp_path)
    (tmp_path / "latin.toml").write_bytes(b'name = "\xe9"')
    with pytest.raises(InputError, match="byte 0xe9 at 8 is not UTF-8"):
        Config.read(tmp_path / "latin.toml")


def test_names_come_from_what_is_run(folder: Path) -> None:
    named = Config.of(
        {"documents": "documents", "index": ["bm25", "my.module:Index"], "rerank": "lexical"}, base=folder
    )
    assert named.name == "bm25-Index-lexical"
    assert Config.of({"target": {"callable": "my.module:search"}}, base=folder).name == "search"
    assert Config.of({"target": {"url": "http://127.0.0.1:80/v1/find?x=1"}}, base=folder).name == "find-x-1"


def test_changes_for_a_grid(folder: Path) -> None:
    config = read(
        folder, 'documents = "documents"\nquestions = "questions.jsonl"\n[rerank]\nkind = "lexical"\npairs = 0.5'
    )
    changed = config.with_changes({"chunk.size": 500, "chunk.overlap": 0, "index": "dense", "k": 3, "rerank.top_n": 7})
    assert changed.chunk == Stage("recursive", {"size": 500, "overlap": 0})
    assert changed.index == [Stage("dense")]
    assert (changed.k, changed.top_n, changed.rerank) == (3, 7, Stage("lexical", {"pairs": 0.5, "top_n": 7}))
    assert (changed.name, changed.questions) == ("mine", folder / "questions.jsonl")
    assert config.chunk == Stage("recursive")
    assert changed.with_changes({"index.backend": "numpy"}).index == [Stage("dense", {"backend": "numpy"})]
    assert changed.with_changes({"name": "other"}).folder == folder / "runs" / "other"
    assert changed.with_changes({"weigh.min_gain": 2}).weigh.min_gain == 2.0


@pytest.mark.parametrize("size", ["chunk.size = [300, 1000]", '"chunk.size" = [300, 1000]'])
def test_what_a_sweep_varies(size: str, folder: Path) -> None:
    config = read(folder, f'documents = "documents"\n[sweep]\n{size}\nindex = ["bm25", ["bm25", "dense"]]')
    assert config.sweep == {"chunk.size": [300, 1000], "index": ["bm25", ["bm25", "dense"]]}
    assert config.origin.place() == f"{folder / 'mine.toml'}: "
    assert config.origin.place("sweep", "index") == f"{folder / 'mine.toml'}, line 4: "


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"index.k1": 1.0}, "there are 2 indexes"),
        ({"generate.passages": 1}, "there is no generate stage"),
        ({"chnk.size": 1}, "did you mean chunk"),
        ({"chunk.size.more": 1}, "leads too deep"),
        ({"kk": 1}, "there is no setting 'kk'"),
    ],
)
def test_changes_that_cannot_be_made(change: dict[str, object], reason: str, folder: Path) -> None:
    config = Config.of({"documents": "documents", "index": ["bm25", "dense"]}, base=folder)
    with pytest.raises(InputError, match=reason):
        config.with_changes(change)


def test_what_is_written_down_holds_no_secret(folder: Path) -> None:
    options = {
        "url": "https://me:hunter2@host/find",
        "api_key": "hunter2",
        "headers_env": {"Authorization": "MY_KEY"},
        "body": {"password": "hunter2", "top": 3},
    }
    config = Config.of({"target": options}, base=folder)
    assert config.target == TargetSettings(**options)
    shown = config.resolved()
    assert "hunter2" not in str(shown)
    assert shown["target"]["headers_env"] == {"Authorization": "MY_KEY"}
    assert shown["target"]["body"]["top"] == 3


def test_files_beside_the_configuration_are_found_from_anywhere(folder: Path) -> None:
    (folder / "prompt.txt").write_text("x")
    config = read(folder, 'documents = "documents"\n[generate]\nkind = "openai"\nprompt = "prompt.txt"\nmodel = "gpt"')
    assert config.generate == Stage("openai", {"prompt": str(folder / "prompt.txt"), "model": "gpt"})


def test_how_gold_is_looked_up_is_checked_at_once() -> None:
    weigh = Config.of({"documents": ".", "weigh": {"rule": " share >= .50", "steps": ["quotes", "lower"]}}).weigh
    assert weigh.options() == WeighOptions(rule="share>=0.5", steps=("lower", "quotes"))
    for wrong, told in (({"rule": "half"}, "no rule is called 'half'"), ({"steps": ["quots"]}, "did you mean quotes")):
        with pytest.raises(InputError, match=told):
            Config.of({"documents": ".", "weigh": wrong})


@pytest.mark.parametrize("key", ["documents", "questions", "folder", "cache"])
def test_paths_that_no_system_has(key: str, tmp_path: Path) -> None:
    (tmp_path / "documents").mkdir()
    for value, says in (
        ("a\\u0000b", "holds the character NUL"),
        ("x" * 5_000, "there is no"),
        ("~nosuchuser", "there is no"),
    ):
        paths = {"documents": "documents", key: value}
        (tmp_path / "c.toml").write_text("".join(f'{name} = "{path}"\n' for name, path in paths.items()))
        if "NUL" in says or key in ("documents", "questions"):
            with pytest.raises(InputError, match=says):
                Config.read(tmp_path / "c.toml")
