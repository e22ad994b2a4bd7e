"""Gold absent from the corpus, cut by chunking, or not retrieved, planted into the outputs of one's own system."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import steelyard as sy
from steelyard.data.corpus import Document
from steelyard.diagnosis.funnel import Funnel
from tests.cli.command import steelyard

PASSAGES = {
    "en": [
        "Return the drill to the locker before closing time and wipe it dry first.",
        "Hang the red key on the third hook beside the door of the workshop today.",
        "Late fees are five yuan for every day after the end of the seventh loan day.",
        "Tents must be dry before they are folded, and all of the pegs are counted.",
        "The projector needs ten minutes to cool down before it is carried anywhere.",
    ],
    "zh": [
        "电钻须在关门之前放回储物柜,并且先用干布擦拭干净,以免生锈损坏。",
        "红色钥匙应当挂在工作室门边的第三个挂钩上,请勿随身带走或转交他人。",
        "借期第七天结束之后,每逾期一天收取五元滞纳金,直到工具归还为止。",
        "帐篷必须完全晾干以后才可以折叠收纳,所有的地钉都要当面清点数目。",
        "投影仪关机之后需要冷却十分钟才可以搬动,否则灯泡的寿命会大大缩短。",
    ],
}
ABSENT, CUT, WHOLE, UNSEEN, FOUND = range(5)
STAGES = {
    "absent": "not_in_corpus",
    "cut": "cut",
    "whole": "not_retrieved",
    "unseen": "not_retrieved",
    "found": "found",
}


def planted(language: str, form: str, how: str) -> tuple[list[Document], list[dict[str, Any]], list[dict[str, Any]]]:
    """Documents, questions, and outputs: chunks of which each document but the first has one, the cut one three."""
    filler = {"en": "Ask at the desk. ", "zh": "请到前台询问。"}[language]
    documents = [Document(f"d{i}", filler + text + filler) for i, text in enumerate(PASSAGES[language]) if i != ABSENT]
    texts = {document.doc_id: document.text for document in documents}
    questions = []
    for i, name in enumerate(STAGES):
        text = PASSAGES[language][i]
        span = {"doc": f"d{i}", "start": len(filler), "end": len(filler) + len(text)}
        piece = {"span": span, "quote": {"doc": f"d{i}", "quote": text}, "text": {"text": text}}[form]
        questions.append({"qid": name, "query": "?", "evidence": [piece]})

    def chunk(doc: int, start: int, end: int) -> dict[str, Any]:
        text = texts[f"d{doc}"]
        end = min(end, len(text))
        place = {"start": start, "end": end} if how == "offsets" else {"text": text[start:end]}
        return {"id": f"d{doc}:{start}", "doc": f"d{doc}", **place}

    third = len(PASSAGES[language][CUT]) // 3
    cuts = [0, len(filler) + third, len(filler) + 2 * third, 999]
    parts = [chunk(CUT, a, b) for a, b in pairwise(cuts)]
    retrieved = {
        "absent": [parts[1]],
        "cut": [parts[0], chunk(FOUND, 0, 999)],
        "whole": [parts[2]],
        "unseen": [chunk(WHOLE, 0, 999)],
        "found": [chunk(FOUND, 0, 999)],
    }
    return documents, questions, [{"qid": name, "retrieved": items} for name, items in retrieved.items()]


def funnel_of(documents: list[Document] | None, questions: Any, outputs: Any, **options: Any) -> Funnel:
    weighing = sy.weigh(questions, {"own": sy.Outputs(outputs)}, documents=documents, unit="chunk", **options)
    return sy.diagnose(weighing, k=5).funnels[0]


CASES = [(form, how) for form in ("span", "quote", "text") for how in ("offsets", "texts")]


@pytest.mark.parametrize("language", PASSAGES)
@pytest.mark.parametrize(("form", "how"), CASES)
def test_each_fault_is_told_from_the_others(form: str, how: str, language: str) -> None:
    documents, questions, outputs = planted(language, form, how)
    if (form, how) == ("text", "offsets"):
        texts = {document.doc_id: document.text for document in documents}
        for item in (item for line in outputs for item in line["retrieved"]):
            item["text"] = texts[item["doc"]][item["start"] : item["end"]]
    funnel = funnel_of(documents, questions, outputs)
    assert {name: [stage for stage in funnel.lists() if name in funnel.at(stage)] for name in STAGES} == {
        name: [stage] for name, stage in STAGES.items()
    }
    assert funnel.corpus_known
    assert (funnel.n_untold, funnel.untold) == (1, "untold_cut")
    assert {"not_in_corpus", "cut"} <= set(funnel.stages)
    assert (funnel.pieces.sum(axis=1) == funnel.n_gold).all()


@pytest.mark.parametrize("language", PASSAGES)
def test_parts_in_one_list_are_found_and_a_third_that_is_unknown_is_not_cut(language: str) -> None:
    documents, questions, outputs = planted(language, "quote", "offsets")
    by_name = {line["qid"]: line["retrieved"] for line in outputs}
    by_name["cut"] += by_name["absent"]
    assert "cut" in funnel_of(documents, questions, outputs).at("found")
    documents, questions, outputs = planted(language, "quote", "offsets")
    alone = [line | {"retrieved": []} if line["qid"] in ("absent", "whole") else line for line in outputs]
    funnel = funnel_of(documents, questions, alone)
    assert ("cut" in funnel.at("not_retrieved"), funnel.n_untold) == (True, 2)


def test_without_documents_nothing_is_told_apart() -> None:
    _, questions, outputs = planted("en", "quote", "texts")
    funnel = funnel_of(None, questions, outputs)
    assert set(funnel.at("not_retrieved")) == {"absent", "cut", "whole", "unseen"}
    assert (funnel.n_untold, funnel.untold) == (4, "untold")


@pytest.mark.parametrize(
    ("language", "advice"), [("en", "name the corpus (--documents)"), ("zh", "请用 --documents 指定语料库")]
)
def test_the_command_uses_the_corpus_that_it_is_given(tmp_path: Path, language: str, advice: str) -> None:
    documents, questions, outputs = planted(language, "quote", "texts")
    for name, lines in (("asked", questions), ("own", outputs)):
        content = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        (tmp_path / f"{name}.jsonl").write_text(content, "utf-8")
    (tmp_path / "docs").mkdir()
    for document in documents:
        (tmp_path / "docs" / f"{document.doc_id}.md").write_text(document.text, "utf-8")
    for stage, name in (("not_in_corpus", "absent"), ("cut", "cut")):
        done = steelyard("diagnose", "asked.jsonl", "own.jsonl", "--documents", "docs", "--stage", stage, cwd=tmp_path)
        assert done.stdout.decode().strip().endswith(name)
    text = steelyard(
        "diagnose", "asked.jsonl", "own.jsonl", "--documents", "docs", "--lang", language, columns=999, cwd=tmp_path
    ).stdout.decode()
    assert advice not in text
    assert "--documents" in text
