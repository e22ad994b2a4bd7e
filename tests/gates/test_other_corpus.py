"""A gate against an entry says where other documents are searched: a loss may be theirs."""

from pathlib import Path

import pytest

import steelyard as sy
from steelyard.rag.config import Config
from steelyard.rag.weighed_run import WeighedRun, run_and_weigh

pytest.importorskip("bm25s", reason="BM25, of the extra rag")
pytest.importorskip("sqlalchemy", reason="the extra 'store' is not installed")


def weighed_run(path: Path, name: str) -> WeighedRun:
    values = {"documents": "d.md", "questions": "q.jsonl", "index": {"kind": "bm25"}, "name": "own"}
    return run_and_weigh(Config.of(values | {"folder": name}, base=path), measures=["mrr"])


def test_the_documents_of_the_baseline_are_named_where_they_are_others(tmp_path: Path) -> None:
    (tmp_path / "d.md").write_text("Whales sing. Snails do not.")
    (tmp_path / "q.jsonl").write_text('{"query_id": "q", "query": "Who sings?", "evidence": ["Whales sing."]}')
    store = sy.Store(tmp_path / "history.db")
    store.accept(store.add(weighed_run(tmp_path, "first")).id, who="Ada")
    again = weighed_run(tmp_path, "again")
    (tmp_path / "d.md").write_text("Whales sing. Snails do not, nor do bees.")
    changed = weighed_run(tmp_path, "changed")
    for run, is_other in ((again, False), (changed, True)):
        # A part of the scores knows where they come from, too.
        scores = run.scores.filter(measures="mrr")
        gate = sy.gate(scores, baseline="store:accepted", store=store.name, margin=0.02)
        assert gate.entry is not None
        assert gate.entry.other_corpus is is_other
        assert ("The documents are not those of" in gate.text(lang="en")) is is_other
