"""The bundled bench: what `steelyard demo` writes can be read, and its rerankers made."""

from pathlib import Path

from steelyard.bench.config import BenchConfig
from steelyard.bench.costs import system_prices
from steelyard.bench.run.preparing import make_rerankers
from steelyard.demo import copy_data
from steelyard.demo_data.simulated import SimulatedReranker


def test_the_bundled_bench(tmp_path: Path) -> None:
    folder = copy_data(tmp_path / "demo")
    config = BenchConfig.read(folder / "bench.toml")
    rerankers = make_rerankers(config)
    assert list(rerankers) == ["words", "simulated-small", "simulated-large"]
    for name, reranker in rerankers.items():
        assert isinstance(reranker, SimulatedReranker) == name.startswith("simulated")
    prices = system_prices(config)
    assert {price and price.source for price in prices.values()} == {"made up for this example"}
    query = "What does a Plus membership cost per year, and how many items can I have at one time?"
    simulated = rerankers["simulated-small"]
    assert len(simulated.scores(query, ["| Plus | 260 yuan | 6 |", "Bees dance."])) == 2
