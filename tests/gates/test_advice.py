"""What a gate advises: each piece of advice is followed, by the command or file that it names, and helps."""

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

import steelyard as sy
from steelyard.base.errors import InputError
from steelyard.bench.bench import Bench
from steelyard.bench.run.rerankers import bench_rerankers
from steelyard.cli.commands import COMMANDS
from steelyard.gates.gating import Gate, gate
from steelyard.reports.words import read_words
from tests.bench.blocks_of_scores import config_of
from tests.cli.command import printed

pytest.importorskip("scipy.stats", reason="gates against a baseline need the extra stats")

EN, ZH = read_words("en"), read_words("zh")
TRUTH = {f"q{i:02}": {f"d{i // 2}": 1} for i in range(24)}
"""Two questions each share their document."""
RUN = {q: [*listed, "x", "y"] for q, listed in TRUTH.items()}


def scores_file(folder: Path, *options: str, measures: tuple[str, ...] = ("mrr",)) -> Path:
    """What `evaluate` writes of the run, by its own command."""
    qrels = "".join(f"{q} 0 {d} {gain}\n" for q, gains in TRUTH.items() for d, gain in gains.items())
    (folder / "qrels.txt").write_text(qrels)
    rows = "".join(f"{q} Q0 {d} {r + 1} {-r} mine\n" for q, listed in RUN.items() for r, d in enumerate(listed))
    (folder / "mine.run").write_text(rows)
    named = [part for measure in measures for part in ("-m", measure)]
    path = folder / "scores.json"
    printed("evaluate", folder / "qrels.txt", folder / "mine.run", *named, "-f", "json", "-o", path, *options)
    return path


def bench_folder(folder: Path, **settings: object) -> Path:
    """A bench over the same questions; measured where it is not, and computed again where its configuration differs."""
    given = {"depths": [2], "repetitions": 1, "warm_up": 0, "measures": ["mrr"], **settings}
    bench_rerankers(config_of(folder, TRUTH, RUN, **given), folder=folder / "out")
    return folder / "out"


def text_of(verdict: Gate, words: object = EN) -> str:
    return verdict.text(lang=words.code, explain=True)  # type: ignore[arg-type]


Followed = Callable[[Path, str], str]
"""From a folder and the advice, such as "evaluate --cluster doc", to what the gate says when it was followed."""


def cluster_of_scores(folder: Path, advice: str) -> str:
    return text_of(gate(scores_file(folder, *advice.split()[1:]), max_failed=0.5))


def cluster_of_bench(folder: Path, advice: str) -> str:
    return text_of(gate(bench_folder(folder, **tomllib.loads(advice)), max_failed=0.5))


def measure_of_scores(folder: Path, advice: str) -> str:
    (name,) = advice.split()[2:]
    return text_of(gate(scores_file(folder, measures=("mrr", name)), profile="faq"))


ADVICE: Mapping[str, tuple[Callable[[Path], Gate], str, Followed, str]] = {
    "clusters of scores": (
        lambda folder: gate(scores_file(folder), max_failed=0.5), r"`(evaluate --cluster doc)` counts",
        cluster_of_scores,
        "count as one cluster: 24 questions in 12 clusters",
    ),
    "clusters of a bench": (
        lambda folder: gate(bench_folder(folder), max_failed=0.5),
        r"`(cluster = \"doc\")` in the configuration of the bench counts", cluster_of_bench,
        "count as one cluster: 24 questions in 12 clusters",
    ),
    "a measure of scores": (
        lambda folder: gate(scores_file(folder), profile="faq"), r"measure it with `(evaluate -m hit_rate@3)`",
        measure_of_scores, "hit_rate@3",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", ADVICE)
def test_what_is_advised_works(tmp_path: Path, case: str) -> None:
    make, pattern, follow, want = ADVICE[case]
    found = re.search(pattern, text_of(make(tmp_path)))
    assert found is not None
    again = follow(tmp_path, next(part for part in found.groups() if part))
    assert want in again
    assert found[0] not in again


def test_a_run_folder_takes_its_advice_itself(tmp_path: Path) -> None:
    scores_file(tmp_path)
    scores = sy.evaluate(tmp_path / "qrels.txt", tmp_path / "mine.run", "mrr")
    verdict = replace(gate(scores, max_failed=0.5), origin="run")
    assert " --cluster doc counts" in text_of(verdict)
    assert "--cluster" in options_of("gate")


REFUSED = {
    "scores": (scores_file, "`evaluate --cluster doc`"),
    "bench": (bench_folder, 'put cluster = "doc" into the configuration of the bench, and run it again: nothing is'),
}


@pytest.mark.parametrize("origin", REFUSED)
def test_clusters_that_scores_do_not_have_are_refused_with_what_makes_them(tmp_path: Path, origin: str) -> None:
    make, advice = REFUSED[origin]
    with pytest.raises(InputError, match=re.escape(advice)):
        gate(make(tmp_path), max_failed=0.5, cluster="doc")
    again = scores_file(tmp_path, "--cluster", "doc") if origin == "scores" else bench_folder(tmp_path, cluster="doc")
    assert gate(again, max_failed=0.5, cluster="doc").outcome == "pass"


def test_a_bench_takes_another_measure_and_another_system_without_measuring(tmp_path: Path) -> None:
    folder = bench_folder(tmp_path)
    measured = {path: path.stat().st_mtime_ns for path in folder.rglob("*.parquet")}
    assert "add to `measures` in the configuration of the bench" in text_of(gate(folder, profile="faq"))
    bench_folder(tmp_path, measures=["mrr", "hit_rate@3", "precision@3"])
    assert "not measured" not in text_of(gate(folder, profile="faq"))
    assert measured == {path: path.stat().st_mtime_ns for path in measured}
    assert gate(folder, profile="faq", system="mine@2").systems == ["mine@2"]
    assert Bench.read(folder).scores.measures[0] == sy.parse("mrr")
    answers = gate(folder, max_not_judged=0.1)
    assert "rerankers change lists alone" in text_of(answers)
    assert "重排序只改变结果列表" in text_of(answers, ZH)


def options_of(command: str) -> set[str]:
    """Every option that a command takes."""
    return {name for argument in COMMANDS[command].arguments for name in argument.names if name.startswith("-")}


@pytest.mark.parametrize("words", [EN, ZH], ids=["en", "zh"])
def test_options_that_a_gate_names_are_its_own_or_those_of_the_command_beside_them(words: object) -> None:
    texts = {key: text for key, text in words.texts.items() if key.startswith("gate.")}  # type: ignore[attr-defined]
    named = [
        (key, command or "gate", option)
        for key, text in texts.items()
        for command, option in re.findall(
            r"(?:`(?:steelyard )?(\w+(?: \w+)?) )?(?<![\w-])(--?[a-z][a-z-]*)(?![\w])", text
        )
    ]
    assert named
    assert [row for row in named if row[2] not in options_of(row[1])] == []
