"""Gold is resolved once for each corpus, and each system has the same numbers as if it were weighed alone."""

import json
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import steelyard as sy
from steelyard.align import resolver
from steelyard.align.resolver import Resolver
from steelyard.data.corpus import Chunks, Document
from steelyard.data.folders.manifests import OUTPUTS, write_manifest
from steelyard.data.folders.run_folder import write_chunks
from steelyard.data.outputs import Outputs
from steelyard.experiment.door.weighing import Weighing
from tests.align.random_evidence import Case, cases
from tests.hypothesis_profiles import examples

DOCUMENTS = [Document("tea", "Tea costs 4 euro. Cake costs 5 euro."), Document("hours", "We open at 9. 周一休息。")]
QUESTIONS = [
    {"qid": "q1", "query": "tea?", "evidence": [{"doc": "tea", "quote": "Tea costs 4 euro."}]},
    {"qid": "q2", "query": "monday?", "evidence": [{"text": "周一休息"}, {"doc": "hours", "start": 0, "end": 13}]},
]


def halves(text: str) -> list[tuple[int, int]]:
    return [(0, len(text) // 2), (len(text) // 2, len(text))]


def run_folder(path: Path, chunks: Chunks, rankings: list[list[str]], candidates: list[list[str]]) -> Path:
    path.mkdir()
    write_chunks(path, chunks)
    lines = [
        {"qid": question["qid"], "retrieved": ranking, "candidates": before}
        for question, ranking, before in zip(QUESTIONS, rankings, candidates, strict=True)
    ]
    (path / OUTPUTS).write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    write_manifest(path, {"name": path.name, "finished": "2026-01-01T00:00:00Z"})
    return path


@pytest.fixture
def n_resolved(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    calls: list[int] = []
    resolve = resolver.resolve

    def counting(*args: Any, **options: Any) -> Any:
        calls.append(1)
        return resolve(*args, **options)

    monkeypatch.setattr(resolver, "resolve", counting)
    return calls


def assert_same(one: Any, other: Any) -> None:
    """Equal to the bit, down through dataclasses."""
    if is_dataclass(one):
        assert type(one) is type(other)
        for field in fields(one):
            assert_same(getattr(one, field.name), getattr(other, field.name))
    elif isinstance(one, np.ndarray):
        assert one.dtype == other.dtype
        assert one.tobytes() == other.tobytes()
    else:
        assert one == other


def assert_weighed_the_same(together: Weighing, alone: list[Weighing]) -> None:
    for weighed, weighing in zip(together.weighed, alone, strict=True):
        (other,) = weighing.weighed
        assert_same(weighed.aligned, other.aligned)
        assert_same(weighed.candidates, other.candidates)
        assert weighed.mapping == other.mapping
        assert weighed.evidence is not None
        assert other.evidence is not None
        assert weighed.evidence.labels.frame.equals(other.evidence.labels.frame)


def test_four_run_folders_of_one_corpus_resolve_once(tmp_path: Path, n_resolved: list[int]) -> None:
    chunks = Chunks.of(DOCUMENTS, halves)
    ids = chunks.ids
    folders = [
        run_folder(tmp_path / f"run{i}", chunks, [ids[i:], ids[:i]], [ids[::-1], ids[i:] + ids[:i]]) for i in range(4)
    ]
    together = sy.weigh(QUESTIONS, folders)
    assert len(n_resolved) == 1
    assert len({id(weighed.evidence) for weighed in together.weighed}) == 1
    assert_weighed_the_same(together, [sy.weigh(QUESTIONS, [folder]) for folder in folders])


def test_corpora_that_differ_are_resolved_each(tmp_path: Path, n_resolved: list[int]) -> None:
    longer = [DOCUMENTS[0], Document("hours", DOCUMENTS[1].text + " Closed.")]
    corpora = [
        Chunks.of(DOCUMENTS, halves),
        Chunks.of(DOCUMENTS, lambda text: [(0, len(text))]),
        Chunks.of(longer, lambda text: [(0, 17)]),
        Chunks.of(DOCUMENTS, lambda text: [(0, 17)]),
    ]
    folders = [
        run_folder(tmp_path / f"run{i}", chunks, [chunks.ids, chunks.ids], [chunks.ids, chunks.ids])
        for i, chunks in enumerate(corpora)
    ]
    together = sy.weigh(QUESTIONS, folders)
    assert len(n_resolved) == len(folders)
    assert_weighed_the_same(together, [sy.weigh(QUESTIONS, [folder]) for folder in folders])


def test_documents_that_differ_where_no_chunk_is_cut_are_another_corpus(n_resolved: list[int]) -> None:
    """The chunk tables are equal, and the quote is in one of the documents only."""
    questions = sy.Questions([{"qid": "q", "query": "?", "evidence": [{"text": "Closed"}]}])
    gold = Resolver(questions)
    codes = []
    for tail in ("", " Closed."):
        documents = [Document("hours", DOCUMENTS[1].text + tail)]
        outputs = Outputs([{"qid": "q", "retrieved": ["hours#1"]}])
        outputs.chunks = Chunks.of(documents, lambda text: [(0, 13)])
        outputs.table = type(outputs.table).of(outputs.chunks)
        codes.append(gold.resolve(outputs).mapping.codes)
    assert len(n_resolved) == 2
    assert codes == [("not_in_corpus",), ("cut",)]


@examples(40)
@given(case=cases(corpus=True), whole=st.booleans(), data=st.data())
def test_systems_weighed_together_are_as_weighed_alone(case: Case, whole: bool, data: st.DataObject) -> None:
    lines = case.outputs(whole=whole)
    shuffled = [{**line, "retrieved": data.draw(st.permutations(line["retrieved"]))} for line in lines]
    for line in shuffled:
        line["candidates"] = line["retrieved"][::-1]
    systems = {"a": Outputs(lines), "b": Outputs(shuffled)}
    options: dict[str, Any] = {"rule": case.rule, "unit": "chunk"} | ({} if whole else {"documents": case.chunks})
    together = sy.weigh(case.questions, systems, **options)
    assert_weighed_the_same(together, [sy.weigh(case.questions, {n: s}, **options) for n, s in systems.items()])
