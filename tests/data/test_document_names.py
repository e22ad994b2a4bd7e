"""Names of documents: one rule, by a table of cases; fast where names are ids, and for many documents."""

import json
from pathlib import Path
from time import perf_counter
from typing import Any

import pytest

from steelyard.data.corpus import Document, DocumentNames

CASES = [json.loads(line) for line in Path("tests/cases/document_names.jsonl").read_text("utf-8").split("\n") if line]


@pytest.mark.parametrize("case", CASES, ids=[case["label"] for case in CASES])
def test_what_a_name_means(case: dict[str, Any]) -> None:
    documents = [Document(doc_id, "", source=source) for doc_id, source in case["documents"].items()]
    names = DocumentNames.of(documents)
    assert [documents[i].doc_id for i in names.candidates(case["name"])] == case["want"]


def test_a_document_of_a_line_does_not_have_the_name_of_the_file() -> None:
    names = DocumentNames.of([Document("g/m", "", source="d/g/m.md"), Document("7", "", source="d/x.jsonl, line 1")])
    assert [names.candidates(name) for name in ("x", "x.jsonl", "d/x.jsonl, line 1", "m")] == [[], [], [], [0]]


@pytest.mark.slow
def test_a_hundred_thousand_documents_take_a_moment() -> None:
    documents = [Document(f"docs/{i % 97}/{i}", "", source=f"/srv/docs/{i % 97}/{i}.md") for i in range(100_000)]
    start = perf_counter()
    names = DocumentNames.of(documents)
    assert [names.candidates(f"{i}.md") for i in range(1000)] == [[i] for i in range(1000)]
    assert perf_counter() - start < 10
