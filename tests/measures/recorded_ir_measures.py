"""What ir_measures computes on a small collection, under each of its spellings: tests/cases/ir_measures.json.

    pip install ir_measures==0.4.3 pytrec-eval-terrier==0.5.11
    python -m tests.measures.recorded_ir_measures      writes the file anew

Spellings of one name are computed one by one: together, its providers mix up several SetF.
"""

from __future__ import annotations

import json
import random
from pathlib import Path

FILE = Path(__file__).parents[1] / "cases" / "ir_measures.json"
SPELLINGS = (
    "P@5", "P(rel=2)@5", "P(judged_only=True)@5", "Precision@3", "R@5", "R(rel=2)@5", "Recall@3", "AP", "AP@3",
    "AP(rel=2)", "AP(judged_only=True)", "MAP", "RR", "RR@3", "RR(rel=2)", "MRR", "Rprec", "Rprec(rel=2)", "RPrec",
    "Bpref", "BPref", "Bpref(rel=2)", "infAP", "infAP(rel=2)", "nDCG", "nDCG@3", "NDCG@3",
    "nDCG(judged_only=True)@5", "nDCG(dcg='log2')@5", "SetP", "SetP(rel=2)", "SetP(relative=True)",
    "SetP(relative=False)", "SetRelP", "SetR", "SetR(rel=2)", "SetF", "SetF(beta=2.0)", "SetF(beta=0.5)",
    "SetF(beta=4.0,rel=2)", "SetAP", "SetAP(rel=2)", "Success@1", "Success(rel=2)@3", "Judged@5", "NumQ", "NumRel",
    "NumRet", "NumRet(rel=1)", "NumRet(rel=2)", "NumRelRet", "IPrec@0.5",
)  # fmt: skip


def collection() -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    """Labels 0 to 3, unjudged documents, a query that the run lacks and one without relevant documents."""
    draw = random.Random(5)
    docs = [f"d{i}" for i in range(12)]
    truth = {f"q{i}": {doc: draw.choice((0, 0, 1, 2, 3)) for doc in draw.sample(docs, 8)} for i in range(6)}
    truth["q5"] = dict.fromkeys(truth["q5"], 0)
    run = {f"q{i}": {doc: -place / 3 for place, doc in enumerate(draw.sample(docs, 9))} for i in (0, 1, 2, 3, 5)}
    return truth, run


def record() -> dict[str, object]:
    """Names of all measures, and values by spelling and query."""
    import ir_measures

    truth, run = collection()
    values = {
        text: {row.query_id: row.value for row in ir_measures.iter_calc([ir_measures.parse_measure(text)], truth, run)}
        for text in SPELLINGS
    }
    return {"names": sorted(name for name in ir_measures.measures.registry if name.isascii()), "values": values}


if __name__ == "__main__":
    FILE.write_text(json.dumps(record(), indent=1) + "\n")
