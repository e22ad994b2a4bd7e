"""Sets with human labels, from the folder `answers` of the shared data, whose README has sources and licences."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median
from typing import Any

from steelyard.text.spans import Span

MARKS = re.compile(r"\[\d+(?:\s*[,;-]\s*\d+)*\]")
"""Citation marks, as the published numbers have them removed."""
_CHINESE_SENTENCE = re.compile("[^。！？!?；;\n]*[。！？!?；;\n]+|[^。！？!?；;\n]+$")


@dataclass(frozen=True)
class Pair:
    """A text, what it is judged by, whether people call it supported, and their mean grade where they gave grades.

    question   what it answers, or the passage that it is of
    """

    hypothesis: str
    premise: str
    supported: bool
    grade: float = float("nan")
    question: str = ""


@dataclass(frozen=True)
class EvidenceCase:
    """A text, the sentences of a passage, and which of them people call its evidence."""

    hypothesis: str
    sentences: tuple[str, ...]
    is_evidence: tuple[bool, ...]


@dataclass(frozen=True)
class MarkedAnswer:
    """An answer, its context, and where people found it hallucinated."""

    question: str
    answer: str
    context: str
    spans: tuple[Span, ...]


def read_text(path: Path) -> str:
    return gzip.decompress(path.read_bytes()).decode("utf-8")


def read_lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in read_text(path).split("\n") if line.strip()]


def unmarked(text: str) -> str:
    return MARKS.sub(" ", text)


def mtrag(folder: Path) -> list[Pair]:
    """Answers by models to questions that can be answered; supported where the median grade is the best, 4."""
    data = json.loads(read_text(folder / "mtrag_human/reference_subset_with_human_evaluations.json.gz"))
    texts = {document["document_id"]: document["text"] for document in data["documents"]}
    tasks = {task["task_id"]: task for task in data["tasks"]}
    pairs = []
    for row in data["evaluations"]:
        task = tasks[row["task_id"]]
        if row["model_id"] == "reference" or task["Answerability"][0] not in ("ANSWERABLE", "PARTIAL"):
            continue
        context = " ".join(texts[chunk["document_id"]] for chunk in task["contexts"])
        grades = [float(vote["value"]) for vote in row["annotations"]["faithfulness"].values()]
        pairs.append(Pair(row["model_response"], context, median(grades) == 4, mean(grades), row["task_id"]))
    return pairs


def ragtruth_answers(folder: Path) -> list[MarkedAnswer]:
    rows = read_lines(folder / "ragtruth_qa_test/ragtruth_test.jsonl.gz")
    return [
        MarkedAnswer(
            row["source_id"],
            row["d2"],
            re.sub(r"(?m)^passage \d+:", " ", row["d1"]),
            tuple((label["start"], label["end"]) for label in row["labels"]),
        )
        for row in rows
    ]


def ragtruth(folder: Path) -> list[Pair]:
    return [Pair(row.answer, row.context, not row.spans, question=row.question) for row in ragtruth_answers(folder)]


def _attribution(name: str) -> Callable[[Path], list[Pair]]:
    def read(folder: Path) -> list[Pair]:
        return [
            Pair(
                unmarked(row["claim"]),
                unmarked(" ".join(row["references"])),
                row["attribution_label"] == "attributable",
                question=row["question"],
            )
            for row in read_lines(folder / f"attribution_citations/{name}.jsonl.gz")
            if row["references"]
        ]

    return read


def _wice(*labels: str) -> Callable[[Path], list[Pair]]:
    def read(folder: Path) -> list[Pair]:
        rows = read_lines(folder / "wice/test.jsonl.gz")
        return [
            Pair(row["claim"], " ".join(row["evidence"]), row["label"] in labels, question=row["meta"]["claim_title"])
            for row in rows
        ]

    return read


def vgaokao(folder: Path) -> list[Pair]:
    return [
        Pair(option, passage["context"], bool(correct), question=passage["context"])
        for passage in json.loads(read_text(folder / "zh_vgaokao/test.json.gz"))["data"]
        for question in passage["qas"]
        for option, correct in zip(question["options"], question["correctness"], strict=True)
    ]


def clapnq(folder: Path) -> list[EvidenceCase]:
    cases = []
    for row in read_lines(folder / "clapnq/clapnq_dev_answerable.jsonl.gz"):
        sentences, gold = row["passages"][0]["sentences"], row["output"][0]
        is_evidence = tuple(sentence in gold["selected_sentences"] for sentence in sentences)
        cases.append(EvidenceCase(gold["answer"], tuple(sentences), is_evidence))
    return cases


def expmrc(folder: Path) -> list[EvidenceCase]:
    data = json.loads(read_text(folder / "zh_expmrc/expmrc-cmrc2018-dev.json.gz"))["data"]
    cases = []
    for paragraph in (paragraph for article in data for paragraph in article["paragraphs"]):
        sentences = tuple(filter(_letters, _CHINESE_SENTENCE.findall(paragraph["context"])))
        for question in paragraph["qas"]:
            evidence = [_letters(text) for text in question["evidences"]]
            is_evidence = tuple(
                any(_letters(sentence) in text or text in _letters(sentence) for text in evidence)
                for sentence in sentences
            )
            cases.append(EvidenceCase(question["question"] + question["answers"][0]["text"], sentences, is_evidence))
    return cases


def wice_evidence(folder: Path) -> list[EvidenceCase]:
    cases = []
    for row in read_lines(folder / "wice/test.jsonl.gz"):
        evidence = {number for numbers in row["supporting_sentences"] for number in numbers}
        if evidence:
            is_evidence = tuple(i in evidence for i in range(len(row["evidence"])))
            cases.append(EvidenceCase(row["claim"], tuple(row["evidence"]), is_evidence))
    return cases


def _letters(text: str) -> str:
    return "".join(re.findall("[a-z0-9]+|[\u4e00-\u9fff]", text.lower()))


PAIRS: Mapping[str, Callable[[Path], list[Pair]]] = {
    "MTRAG": mtrag,
    "RAGTruth QA": ragtruth,
    "HAGRID": _attribution("hagrid"),
    "Stanford": _attribution("stanford_gensearch"),
    "AttributedQA": _attribution("attributedqa"),
    "WiCE, supported": _wice("supported"),
    "WiCE, partially": _wice("supported", "partially_supported"),
    "VGaokao (zh)": vgaokao,
}
"""By name: what reads a set of pairs."""

EVIDENCE: Mapping[str, Callable[[Path], list[EvidenceCase]]] = {
    "ClapNQ": clapnq,
    "ExpMRC (zh)": expmrc,
    "WiCE": wice_evidence,
}
"""By name: what reads a set of passages with evidence."""
