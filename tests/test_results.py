"""Every result wears the same face: data, texts, files, a line for a debugger and a table for a notebook."""

import json
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import pytest

import steelyard
import steelyard as sy
from steelyard.base.errors import InputError
from steelyard.base.result import Result
from steelyard.rag.config import Config
from steelyard.rag.weighed_run import WeighedRun, run_and_weigh
from steelyard.report.benching import BenchReport
from steelyard.report.writing import chosen_format, view_of
from tests.bench.benches import rerank_bench

LABELS = {"ann": {"a": 2, "b": 0, "c": 1, "d": 2}, "bob": {"a": 2, "b": 0, "c": 0, "d": 1}}
TRUTH = {f"q{n}": {"d1": 1, "d2": 2} for n in range(6)}
RUNS = {"bm25": {f"q{n}": ["d1", "d3"] for n in range(6)}, "dense": {f"q{n}": ["d2", "d1"] for n in range(6)}}


def scores() -> sy.Scores:
    return sy.evaluate(TRUTH, RUNS, ["ndcg@10", "mrr"])


def weighed_run(path: Path) -> WeighedRun:
    """A pipeline without any model over one document."""
    (path / "d.md").write_text("Whales sing. Snails do not.")
    (path / "questions.jsonl").write_text('{"query_id": "q", "query": "Who sings?", "evidence": ["Whales sing."]}')
    values = {"documents": "d.md", "questions": "questions.jsonl", "index": {"kind": "bm25"}}
    return run_and_weigh(Config.of(values, base=path), measures=["mrr"])


MADE: dict[str, Callable[[Path], Result]] = {
    "Agreement": lambda path: sy.agreement(LABELS, n_resamples=50),
    "Bench": rerank_bench,
    "BenchReport": lambda path: BenchReport(rerank_bench(path)),
    "Comparison": lambda path: sy.compare(scores(), baseline="bm25"),
    "Design": lambda path: sy.plan(difference=0.05, sd=0.25),
    "Diagnosis": lambda path: sy.diagnose(sy.weigh(TRUTH, RUNS)),
    "Gate": lambda path: sy.gate(scores(), baseline="bm25", margin=0.02),
    "Report": lambda path: sy.Report.of(sy.weigh(TRUTH, RUNS), date="2026-11-22"),
    "Scores": lambda path: scores(),
    "WeighedRun": weighed_run,
}
"""How a result of each kind is made, by the name of its class."""


def subclasses(kind: type[Result]) -> set[type[Result]]:
    direct = set(kind.__subclasses__())
    return direct.union(*map(subclasses, direct))


def test_every_kind_of_result_is_tried_here() -> None:
    for module in walk_packages(steelyard.__path__, "steelyard."):
        if not module.name.endswith("__main__"):
            import_module(module.name)
    assert {kind.__name__ for kind in subclasses(Result)} == set(MADE)


@pytest.mark.parametrize("name", MADE)
def test_a_result_has_every_door(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = MADE[name](tmp_path)
    assert not result.frame.is_empty()
    assert str(result) == result.text() == result.text("table")
    line = repr(result)
    assert line.startswith(f"{name}(")
    assert "\n" not in line
    assert len(line) < 120
    assert result._repr_html_().count("<table") >= 1
    result.show(lang="en")
    assert capsys.readouterr().out.strip()
    for format in view_of(type(result)).formats:
        text = result.text(format, lang="en")
        assert text == result.text(format, lang="en"), format
        file = tmp_path / "result"
        result.write(file, format=format, lang="en")
        assert file.read_text() == text, format
    data = result.data()
    assert data["format"] >= 1
    assert json.loads(result.text("json"), parse_constant=pytest.fail) == data


@pytest.mark.parametrize("name", MADE)
def test_what_a_file_holds_is_read_again(name: str, tmp_path: Path) -> None:
    result, file = MADE[name](tmp_path), tmp_path / "result.json"
    result.write(file)
    if "read" in vars(type(result)):
        pytest.skip("it is read from the folder or file that the command writes")
    if view_of(type(result)).stored is None:
        with pytest.raises(InputError, match="does not hold all of"):
            type(result).read(file)
    else:
        assert type(result).read(file).data() == result.data()


def test_what_a_kind_does_not_have_is_named() -> None:
    with pytest.raises(InputError, match=r"a comparison cannot be written as xml; choose table, .*, csv or json"):
        sy.compare(scores()).text("xml")
    with pytest.raises(InputError, match="agreement has no option 'per_query'"):
        sy.agreement(LABELS, n_resamples=50).text(per_query=True)
    assert chosen_format(sy.Comparison, "comparison.csv.gz", None) == "csv"
