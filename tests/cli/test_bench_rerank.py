"""`steelyard bench rerank`, as a user runs it."""

import json
import re
from pathlib import Path

import pytest

from steelyard.bench.bench import Bench
from steelyard.bench.run.loads import BenchInterrupted
from steelyard.cli import benches
from tests.bench.run.test_rerankers import FAILING, bench_config
from tests.cli.command import complaint, printed, steelyard


def configured(folder: Path, systems: str = 'systems.words.rerank = "lexical"') -> Path:
    """A configuration file over a dozen documents."""
    values = bench_config(folder).values
    keys = ("name", "truth", "candidates", "documents", "depths", "repetitions", "warm_up")
    text = "".join(f"{key} = {json.dumps(values[key])}\n" for key in keys)
    (folder / "bench.toml").write_text(text + systems + "\n", encoding="utf-8")
    return folder / "bench.toml"


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_one_command_measures_and_says_what_comes_of_it(tmp_path: Path, lang: str) -> None:
    text = printed("bench", "rerank", configured(tmp_path), "--lang", lang)
    assert "words@" in text
    assert "ndcg@10" in text
    assert ("to base" in text) == (lang == "en")
    assert Bench.read(tmp_path / "benches" / "small").config.depths == [3, 6]


@pytest.mark.parametrize(
    ("lang", "sentence"),
    [
        ("en", r"^steelyard: small takes about 26 requests, 117 pairs, 1,[0-9]{3} tokens, [0-9.]+ s, \$0\.26, by "),
        ("zh", r"^steelyard: small 约需 26 次请求、117 个文本对、1,[0-9]{3} 个词元、[0-9.]+ 秒、\$0\.26，按每个系统"),
    ],
)
def test_what_it_takes_is_said_before(
    tmp_path: Path, lang: str, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(benches, "_LONG_S", 0)
    config = configured(tmp_path, 'systems.words = { rerank = "lexical", price = { per_query = 0.01 } }')
    done = steelyard("bench", "rerank", config, "--lang", lang)
    assert re.match(sentence, done.stderr.decode())
    assert not steelyard("bench", "rerank", config).stderr  # It is all measured.


def test_a_dry_run_asks_nobody(tmp_path: Path) -> None:
    systems = f'systems.a.rerank = {{ kind = "{FAILING}", on = "what" }}\nsystems.a.price = {{ per_query = 0.01 }}'
    text = printed("bench", "rerank", configured(tmp_path, systems), "--dry-run")
    rows = [line.split() for line in text.splitlines() if line.startswith(("a@", "all"))]
    assert [row[-5:-3] for row in rows] == [["13", "39"], ["13", "78"], ["26", "117"]]
    assert [row[-2] for row in rows] == ["$0.13", "$0.13", "$0.26"]
    assert "Nothing was asked" in text
    assert not (tmp_path / "benches").exists()


def test_a_dry_run_in_chinese_and_over_a_folder(tmp_path: Path) -> None:
    printed("bench", "rerank", configured(tmp_path), "-o", tmp_path / "here")
    text = printed("bench", "rerank", configured(tmp_path), "-o", tmp_path / "here", "--dry-run", "--lang", "zh")
    assert "4 个分块中有 4 个已在" in text
    assert "words" in text


def test_an_interruption_says_what_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*arguments: object, **options: object) -> None:
        raise BenchInterrupted(3, 8)

    monkeypatch.setattr("steelyard.bench.run.rerankers.bench_rerankers", interrupted)
    done = steelyard("bench", "rerank", configured(tmp_path))
    assert done.returncode == 130
    assert b"interrupted; 3 of 8 blocks are measured and kept" in done.stderr


def test_another_preference_is_computed_from_what_is_measured(tmp_path: Path) -> None:
    value = "[value]\nvalue_per_success = 1\nqueries_per_day = 10\n"
    folder = ("-o", tmp_path / "here")
    assert "net benefit needs" in complaint("bench", "rerank", configured(tmp_path), *folder, "--prefer", "net")
    config = configured(tmp_path)
    printed("bench", "rerank", config, *folder)
    blocks = {path: path.stat().st_mtime_ns for path in (tmp_path / "here" / "blocks").rglob("*.parquet")}
    config.write_text(config.read_text() + value)
    printed("bench", "rerank", config, *folder, "--prefer", "net")
    assert blocks == {path: path.stat().st_mtime_ns for path in blocks}
    assert Bench.read(tmp_path / "here").config.prefer == "net"
    printed("bench", "rerank", config, *folder)
    assert Bench.read(tmp_path / "here").config.prefer == "auto"


def test_mistakes_are_one_line(tmp_path: Path) -> None:
    config = configured(tmp_path, 'systems.words.rerank = "lexica"')
    assert "bench.toml, line 8: " in complaint("bench", "rerank", config)
    config = configured(tmp_path, f'systems.a.rerank = {{ kind = "{FAILING}", on = "what" }}')
    assert "a: none of the first 3 requests was answered" in complaint("bench", "rerank", config)
    assert "there is no such file" in complaint("bench", "rerank", tmp_path / "no.toml")
