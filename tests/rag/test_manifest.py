"""What the manifest of a run names."""

import json
import re
import tomllib
from pathlib import Path

import pytest

from steelyard.rag.config import Config
from steelyard.rag.own.system import TargetSystem
from steelyard.rag.pipeline.pipeline import Pipeline
from steelyard.rag.runs.running import run
from steelyard.rag.runs.writer import LIBRARIES, latency_summary
from tests.rag.server import Server
from tests.rag.small import QUESTIONS, TEXTS, Common, Stops

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
STAGE_EXTRAS = ("rag", "faiss", "models", "endpoints", "pdf", "splitter")


def test_every_library_that_stages_use_is_named() -> None:
    extras = PROJECT["optional-dependencies"]
    needed = {re.split("[<>=;]", line)[0] for extra in STAGE_EXTRAS for line in extras[extra]}
    assert needed - set(LIBRARIES.values()) == set()


def test_a_run_over_http_names_its_client(server: Server, tmp_path: Path) -> None:
    httpx2 = pytest.importorskip("httpx2", reason="needs the extra endpoints")
    config = Config.of({"target": {"url": f"{server.url}/search"}}, base=tmp_path)
    libraries = run(TargetSystem.read(config), QUESTIONS, tmp_path / "run").manifest["libraries"]
    assert libraries["httpx2"] == httpx2.__version__


def test_times_stand_beside_the_machine(tmp_path: Path) -> None:
    folder = Pipeline(TEXTS, chunk=Stops(), index=Common()).run(QUESTIONS, tmp_path / "run")
    manifest = json.loads((folder.path / "manifest.json").read_text(encoding="utf-8"))
    assert set(manifest["machine"]) == {"cpu", "cores", "os"}
    assert manifest["latency_ms"]["total"]["p50"] > 0


def test_latencies_are_of_the_questions_that_have_the_stage() -> None:
    summary = latency_summary([{"search": 1.0, "total": 2.0}, {"search": 3.0, "rerank": 5.0, "total": 8.0}])
    assert summary == {
        "search": {"p50": 2.0, "p95": 2.9},
        "total": {"p50": 5.0, "p95": 7.7},
        "rerank": {"p50": 5.0, "p95": 5.0},
    }
    assert latency_summary([]) == {}
