"""Runs of a pipeline without any model over a few documents, as entries of a store."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import steelyard as sy
from steelyard.data.folders.run_folder import RunFolder, write_run_folder
from steelyard.rag.config import Config
from steelyard.rag.weighed_run import run_and_weigh

SENTENCES = {
    "whales": "Whales sing loudly.", "snails": "Snails crawl slowly.", "owls": "Owls hunt quietly.",
    "bees": "Bees dance wildly.", "foxes": "Foxes sleep deeply.", "cats": "Cats jump high.",
}  # fmt: skip
MEASURES = ["mrr", "recall@1"]


def run_folder(
    path: Path, texts: Mapping[str, str] = SENTENCES, *, asked: Mapping[str, str] = SENTENCES, **settings: Any
) -> RunFolder:
    """A run over documents of these texts, with a question to each that is asked."""
    (path / "docs").mkdir(parents=True)
    for name, text in texts.items():
        (path / "docs" / f"{name}.md").write_text(text)
    questions = [
        {"query_id": name, "query": f"Who {text.split()[1]}s?", "evidence": [text]} for name, text in asked.items()
    ]
    (path / "questions.jsonl").write_text("\n".join(map(json.dumps, questions)))
    values = {"name": "hybrid", "folder": str(path / "run"), "documents": "docs", "questions": "questions.jsonl",
              "index": {"kind": "bm25"}, **settings}  # fmt: skip
    return run_and_weigh(Config.of(values, base=path), measures=MEASURES).folder


def evaluated(folder: RunFolder) -> sy.Scores:
    """The scores of a run by the questions beside it."""
    return sy.evaluate(folder.path.parent / "questions.jsonl", {"hybrid": folder.path}, MEASURES)


def flaky(folder: RunFolder, path: Path, failing: str) -> RunFolder:
    """Another run of the same configuration, in which the first chunk of one question did not come."""
    responses = [
        (query_id, replace(response, passages=response.passages[1:]) if query_id == failing else response)
        for query_id, response in folder.responses()
    ]
    write_run_folder(
        path / "run", config=folder.config, manifest=folder.manifest, responses=responses, chunks=folder.chunks
    )
    (path / "questions.jsonl").write_bytes((folder.path.parent / "questions.jsonl").read_bytes())
    return RunFolder(folder.name, path / "run", folder.manifest)
