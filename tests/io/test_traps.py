"""The tiny traps of ../shared/data/ir-traps: what Steelyard decides for each of its files, worked out by hand.

Other tools' behaviour (the `*.out.txt` files) is information, not a model; the comments say where
Steelyard differs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import log2
from pathlib import Path
from typing import Any, Literal

import pytest

import steelyard as sy

FOLDER = Path(__file__).parents[2].parent / "shared" / "data" / "ir-traps"
pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason=f"needs {FOLDER}")

Kind = Literal["run", "qrels", "notes"]
Values = dict[str, dict[str, float | None]]  # query -> measure -> value
LOG3 = log2(3)
BEST = 2 + 1 / LOG3  # ideal dcg of base.qrels: gains 2, 1
EPSILON = 1e-5  # of infAP


@dataclass(frozen=True)
class Reads:
    """The file is read; weighed with its partner it gives these values and statuses."""

    file: str
    kind: Kind
    partner: str
    values: Values
    status: dict[str, str] = field(default_factory=dict)  # where it is not "ok"
    options: dict[str, Any] = field(default_factory=dict)
    unjudged_queries: int = 0


@dataclass(frozen=True)
class Refuses:
    """The file is refused with an error that says this."""

    file: str
    kind: Kind
    error: type[Exception]
    says: tuple[str, ...]
    partner: str = ""
    measure: str = "map"


# a (gain 1) above c (gain 2), both of base.qrels: what ok.run gives, and all files that hold no more than its rows.
A_ABOVE_C = {
    "q1": {"map": 1.0, "ndcg": (1 + 2 / LOG3) / BEST, "ndcg@1": 0.5, "mrr": 1.0, "precision@5": 0.4, "bpref": 1.0}
}
ONLY_A = {"q1": {"map": 0.5, "ndcg": 1 / BEST, "mrr": 1.0, "n_retrieved": 1.0}}
NOTHING = {"map": 0.0, "ndcg": 0.0, "bpref": 0.0, "infap": 0.0, "mrr": 0.0, "r_precision": 0.0}
LEFT_OUT: dict[str, float | None] = dict.fromkeys(NOTHING)
PERFECT = {"map": 1.0, "ndcg": 1.0, "bpref": 1.0, "mrr": 1.0, "r_precision": 1.0}

TRAPS: list[Reads | Refuses] = [
    # --- order
    # All scores tied: doc_id descending, so c b a, as trec_eval; ranx and sklearn keep the input's order.
    Reads("ties.run", "run", "base.qrels",
          {"q1": {"map": (1 + 2 / 3) / 2, "ndcg": (2 + 1 / 2) / BEST, "ndcg@1": 1.0, "ndcg@2": 2 / BEST, "mrr": 1.0}}),
    # Scores that differ only in float64: a b c, as trec_eval 10; 9.0.8 and pytrec_eval see float32 ties.
    Reads("f32.run", "run", "base.qrels",
          {"q1": {"map": (1 + 2 / 3) / 2, "ndcg": (1 + 2 / 2) / BEST, "ndcg@1": 0.5, "ndcg@2": 1 / BEST}}),
    # --- duplicates
    Refuses("dup.run", "run", sy.DuplicateError,
            ("dup.run, lines 1 and 2: ", "document 'a'", "question 'q1'", "--on-duplicate"), partner="base.qrels"),
    # Kept once, whichever way: the first is the one with the higher score here.
    Reads("dup.run", "run", "base.qrels", A_ABOVE_C, options={"on_duplicate": "first"}),
    Reads("dup.run", "run", "base.qrels", A_ABOVE_C, options={"on_duplicate": "max"}),
    Refuses("dupq.qrels", "qrels", sy.DuplicateError,
            ("dupq.qrels, lines 1 and 2: ", "document 'a' is judged twice", "question 'q1'", "--on-duplicate")),
    # Counted once: trectools counts the label twice and gets a map of 1.5.
    Reads("dupq.qrels", "qrels", "ok.run", {"q1": {**PERFECT, "precision@2": 0.5, "n_relevant": 1.0}},
          options={"on_duplicate": "first"}),
    Reads("dupq.qrels", "qrels", "ok.run", {"q1": {**PERFECT, "n_relevant": 1.0}}, options={"on_duplicate": "max"}),
    # --- numbers that are none: refused where trec_eval ranks them anyhow
    Refuses("nan.run", "run", sy.InputError, ("nan.run, line 1: ", "score 'nan' is not a finite number")),
    Refuses("inf.run", "run", sy.InputError, ("inf.run, line 1: ", "score 'inf' is not a finite number")),
    Refuses("badscore.run", "run", sy.InputError, ("badscore.run, line 1: ", "score 'abc' is not a finite number")),
    # --- shape of the file
    Refuses("fivecol.run", "run", sy.InputError, ("fivecol.run, line 1: ", "5 columns", "expected the 6 of a run")),
    Refuses("empty.run", "run", sy.InputError, ("empty.run: is empty",)),
    Refuses("latin1.run", "run", sy.InputError, ("latin1.run, line 1: ", "byte 0xe9", "is not UTF-8", "iconv")),
    Refuses("latin1.qrels", "qrels", sy.InputError, ("latin1.qrels, line 1: ", "byte 0xe9", "is not UTF-8", "iconv")),
    Reads("crlf.run", "run", "base.qrels", A_ABOVE_C),
    Reads("crlf.qrels", "qrels", "ok.run", A_ABOVE_C),
    # The mark is no part of the first query id; trec_eval loses that line.
    Reads("bom.run", "run", "base.qrels", ONLY_A),
    Reads("bom.qrels", "qrels", "ok.run", A_ABOVE_C),
    Reads("tab.run", "run", "base.qrels", ONLY_A),  # white space before the first column is none of it
    Reads("blank.run", "run", "base.qrels", ONLY_A),
    Reads("blank.qrels", "qrels", "ok.run", A_ABOVE_C),  # trec_eval: malformed line
    Reads("com1.qrels", "qrels", "ok.run", A_ABOVE_C),
    Reads("com2.qrels", "qrels", "ok.run", A_ABOVE_C),  # trec_eval takes one comment, but not two
    Reads("comend.qrels", "qrels", "ok.run", A_ABOVE_C),  # trec_eval 10 crashes
    Reads("comrun.run", "run", "base.qrels", A_ABOVE_C),
    # --- labels below 0, which are judged (or pooled) and not relevant
    # b -1, c -2, then a: nothing is judged 0, so bpref has nothing to lose; infAP infers 1/3 + 2/3 * 2/2 * 1/2.
    Reads("neg.qrels", "qrels", "neg.run",
          {"q1": {"map": 1 / 3, "ndcg": (2 / 2) / 2, "bpref": 1.0, "infap": 2 / 3, "mrr": 1 / 3, "judged@3": 1.0,
                  "recall@2": 0.0, "n_nonrelevant_retrieved": 0.0}}),
    Reads("neg.run", "run", "base.qrels",  # b 0, c 2, a 1
          {"q1": {"map": (1 / 2 + 2 / 3) / 2, "ndcg": (2 / LOG3 + 1 / 2) / BEST, "bpref": 0.0,
                  "infap": ((1 / 2 + 1 / 2 * EPSILON / (1 + 2 * EPSILON))
                            + (1 / 3 + 2 / 3 * (1 + EPSILON) / (2 + 2 * EPSILON))) / 2}}),
    # Only labels below 0: no relevant document, so 0 and counted, or left out; trec_eval and pytrec_eval give nothing.
    Reads("allneg1.qrels", "qrels", "neg.run", {"q1": LEFT_OUT}, {"q1": "no_relevant"}),
    Reads("allneg1.qrels", "qrels", "neg.run", {"q1": LEFT_OUT}, {"q1": "no_relevant"}, {"no_relevant": "skip"}),
    Reads("allneg2.qrels", "qrels", "neg.run", {"q1": LEFT_OUT}, {"q1": "no_relevant"}),
    Reads("allneg2.qrels", "qrels", "neg.run", {"q1": {"judged@3": 2 / 3}}),  # judged@k is defined nevertheless
    Reads("mixneg.qrels", "qrels", "mixneg.run", {"q0": {**PERFECT, "infap": 1.0}, "q1": NOTHING, "q2": NOTHING},
          {"q1": "no_relevant", "q2": "no_relevant"}),
    Reads("mixneg.run", "run", "mixneg.qrels", {"q0": PERFECT, "q1": LEFT_OUT, "q2": LEFT_OUT},
          {"q1": "no_relevant", "q2": "no_relevant"}, {"no_relevant": "skip"}),
    Reads("m2.qrels", "qrels", "m2.run", {"q0": PERFECT, "q1": NOTHING}, {"q1": "no_relevant"}),
    # Ranks in the file (1, 3) are ignored: b scores 3 and a scores 1, so they stand at 1 and 2.
    Reads("m2.run", "run", "base.qrels",
          {"q1": {"map": (1 / 2) / 2, "ndcg": (1 / LOG3) / BEST, "mrr": 1 / 2, "n_retrieved": 2.0}},
          unjudged_queries=1),
    # --- other labels
    Reads("norel.qrels", "qrels", "ok.run", {"q1": LEFT_OUT}, {"q1": "no_relevant"}),
    Reads("norel.qrels", "qrels", "ok.run", {"q1": LEFT_OUT}, {"q1": "no_relevant"}, {"no_relevant": "skip"}),
    # Fractions stay fractions; relevant from 1 on, so only c.  trec_eval and ranx truncate to 0 and 1.
    Reads("floatrel.qrels", "qrels", "ok.run",
          {"q1": {"map": 1 / 2, "ndcg": (0.5 + 1.9 / LOG3) / (1.9 + 0.5 / LOG3), "bpref": 0.0, "mrr": 1 / 2,
                  "infap": 1 / 2 + 1 / 2 * EPSILON / (1 + 2 * EPSILON), "dcg": 0.5 + 1.9 / LOG3}}),
    Reads("floatrel.qrels", "qrels", "ok.run", {"q1": {"map": 1.0, "mrr": 1.0, "bpref": 1.0}},
          options={"min_gain": 0.5}),
    Reads("big.qrels", "qrels", "big.run", {"q1": {**PERFECT, "dcg": 2e9 + 1 / LOG3}}),  # int32 would still hold it
    # 2^2000000000 is no float: the exponential measures say so instead of giving NaN.
    Refuses("big.qrels", "qrels", sy.MeasureError, ("gain",), partner="big.run", measure="ndcg(gain=exp)"),
    Refuses("big.qrels", "qrels", sy.MeasureError, ("label of 2e+09", "max_gain"), partner="big.run", measure="err"),
    Reads("big.run", "run", "base.qrels",
          {"q1": {"map": 0.5, "ndcg": 1 / BEST, "n_nonrelevant_retrieved": 1.0}}),
    # One non-relevant document above c: min(1, R) / min(R, N) = 1 is lost there; infAP at c is 1/3 + 2/3 * 2/2 * 1/2.
    Reads("bp.qrels", "qrels", "bp.run", {"q": {"bpref": 1 / 2, "map": (1 + 2 / 3) / 2, "infap": (1 + 2 / 3) / 2}}),
    Reads("bp.run", "run", "bp.qrels", {"q": {"precision@2": 1 / 2, "r_precision": 1 / 2, "recall@3": 1.0}}),
    Reads("g.qrels", "qrels", "g.run", {"q1": {**PERFECT, "dcg": 3 + 2 / LOG3 + 1 / 2, "ndcg(gain=exp)": 1.0}}),
    Reads("g.run", "run", "base.qrels", {"q1": {"map": (1 + 2 / 3) / 2, "ndcg": (2 + 1 / 2) / BEST}}),
    # --- queries and documents without a partner
    # z has no label, but takes rank 1: a stands at 2.  bpref looks past z; infAP knows nothing pooled above a.
    Reads("unj.run", "run", "base.qrels",
          {"q1": {"map": 1 / 4, "ndcg": (1 / LOG3) / BEST, "bpref": 1 / 2, "infap": 1 / 4, "mrr": 1 / 2,
                  "judged@1": 0.0, "judged@2": 1 / 2, "map(pool=judged)": 1 / 2}}),
    # q2 and q3 are absent from the run, q9 from the truth: 0 and counted, ignored and counted.  q3 has no relevant
    # document either; missing is the status that is shown.
    Reads("miss.qrels", "qrels", "miss.run", {"q1": {"map": 1.0, "ndcg": 1.0}, "q2": NOTHING, "q3": NOTHING},
          {"q2": "missing", "q3": "missing"}, unjudged_queries=1),
    Reads("miss.run", "run", "miss.qrels", {"q1": {"map": 1.0, "ndcg": 1.0}, "q2": LEFT_OUT, "q3": LEFT_OUT},
          {"q2": "missing", "q3": "missing"}, {"missing": "skip"}, unjudged_queries=1),
    # A query that is there but found nothing is not missing.
    Reads("full.run", "run", "miss.qrels", {"q1": PERFECT, "q2": NOTHING, "q3": NOTHING}, {"q3": "no_relevant"}),
    Reads("full.run", "run", "miss.qrels", {"q1": PERFECT, "q2": NOTHING, "q3": LEFT_OUT}, {"q3": "no_relevant"},
          {"no_relevant": "skip"}),
    # --- the plain ones, which the others are told apart from
    Reads("ok.run", "run", "base.qrels", A_ABOVE_C),
    Reads("base.qrels", "qrels", "ok.run", {**A_ABOVE_C}),
    # --- no input at all: what other tools printed, refused as a run and as a truth
    Refuses("beir.out.txt", "notes", sy.InputError, ("beir.out.txt, line 1: ", "columns")),
    Refuses("pytrec_eval_ir_measures.out.txt", "notes", sy.InputError, (".out.txt, line 2: ", "columns")),
    Refuses("ranx.out.txt", "notes", sy.InputError, ("ranx.out.txt, line 1: ", "3 columns")),
    Refuses("torchmetrics_sklearn.out.txt", "notes", sy.InputError, (".out.txt, line ", "columns")),
    Refuses("trec_eval_10.0_and_9.0.8.out.txt", "notes", sy.InputError, (".out.txt, line 2: ", "columns")),
    Refuses("trectools.out.txt", "notes", sy.InputError, ("trectools.out.txt, line 1: ", "columns")),
]  # fmt: skip


def weigh(trap: Reads, measures: list[str]) -> list[sy.Scores]:
    """From files as a stream, and from files that are read before."""
    run, qrels = (trap.file, trap.partner) if trap.kind == "run" else (trap.partner, trap.file)
    held = trap.options.get("on_duplicate", "error")
    return [
        sy.evaluate(FOLDER / qrels, FOLDER / run, measures, **trap.options),
        sy.evaluate(
            sy.Truth.read(FOLDER / qrels, on_duplicate=held), sy.Run.read(FOLDER / run), measures, **trap.options
        ),
    ]


def label(trap: Reads | Refuses) -> str:
    if isinstance(trap, Refuses):
        return f"{trap.file} refused"
    return f"{trap.file}+{trap.partner}" + "".join(f" {key}={value}" for key, value in trap.options.items())


@pytest.mark.parametrize("trap", [pytest.param(t, id=label(t)) for t in TRAPS if isinstance(t, Reads)])
def test_what_is_read_gives_the_values_worked_by_hand(trap: Reads) -> None:
    measures = list(dict.fromkeys(measure for values in trap.values.values() for measure in values))
    for scores in weigh(trap, measures):
        assert list(scores.query_ids) == sorted(trap.values)
        assert scores.unjudged_queries.tolist() == [trap.unjudged_queries]
        names = dict(zip(measures, map(str, scores.measures), strict=True))
        got = {(query, measure): (value, status) for _, query, measure, value, status in scores.per_query.iter_rows()}
        for query, values in trap.values.items():
            for measure, want in values.items():
                value, status = got[query, names[measure]]
                assert value == (None if want is None else pytest.approx(want, abs=1e-12)), (query, measure)
                assert status == trap.status.get(query, "ok"), (query, measure)


@pytest.mark.parametrize("trap", [pytest.param(t, id=f"{t.file} {t.measure}") for t in TRAPS if isinstance(t, Refuses)])
def test_what_is_refused_says_why(trap: Refuses) -> None:
    path = FOLDER / trap.file
    tries = (
        []
        if trap.partner
        else {"run": [sy.Run.read], "qrels": [sy.Truth.read], "notes": [sy.Run.read, sy.Truth.read]}[trap.kind]
    )
    if trap.kind in ("run", "notes"):
        tries.append(lambda run: sy.evaluate(FOLDER / (trap.partner or "base.qrels"), run, trap.measure))
    if trap.kind in ("qrels", "notes"):
        tries.append(lambda truth: sy.evaluate(truth, FOLDER / (trap.partner or "ok.run"), trap.measure))
    for attempt in tries:
        with pytest.raises(trap.error) as caught:
            attempt(path)
        for fragment in trap.says:
            assert fragment in str(caught.value)


MEANS: list[tuple[str, str, dict[str, str], float | None, int, int, int]] = [
    # truth, run, options, mean of map, n, missing, no_relevant
    ("miss.qrels", "miss.run", {}, 1 / 3, 3, 2, 1),
    ("miss.qrels", "miss.run", {"missing": "skip"}, 1.0, 1, 2, 1),
    ("miss.qrels", "full.run", {}, 1 / 3, 3, 0, 1),
    ("miss.qrels", "full.run", {"no_relevant": "skip"}, 1 / 2, 2, 0, 1),
    ("mixneg.qrels", "mixneg.run", {}, 1 / 3, 3, 0, 2),
    ("mixneg.qrels", "mixneg.run", {"no_relevant": "skip"}, 1.0, 1, 0, 2),
    ("m2.qrels", "m2.run", {}, 1 / 2, 2, 0, 1),
    ("norel.qrels", "ok.run", {}, None, 0, 0, 1),
    ("norel.qrels", "ok.run", {"no_relevant": "skip"}, None, 0, 0, 1),
]


@pytest.mark.parametrize(("qrels", "run", "options", "mean", "n", "missing", "no_relevant"), MEANS)
def test_what_is_skipped_is_counted(
    qrels: str, run: str, options: dict[str, Any], mean: float | None, n: int, missing: int, no_relevant: int
) -> None:
    row = sy.evaluate(FOLDER / qrels, FOLDER / run, "map", **options).mean().row(0, named=True)
    assert row["mean"] == (None if mean is None else pytest.approx(mean, abs=1e-12))
    assert (row["n"], row["missing"], row["no_relevant"]) == (n, missing, no_relevant)


def test_every_file_of_the_folder_is_decided() -> None:
    assert {trap.file for trap in TRAPS} == {path.name for path in FOLDER.iterdir()}
    kinds = {".run": "run", ".qrels": "qrels", ".txt": "notes"}
    assert [trap.file for trap in TRAPS if kinds[Path(trap.file).suffix] != trap.kind] == []
