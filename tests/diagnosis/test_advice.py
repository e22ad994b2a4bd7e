from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest
from benchmarks.simulated import segments
from hypothesis import given
from hypothesis import strategies as st

from steelyard.base.errors import InputError
from steelyard.data.outputs import Outputs
from steelyard.diagnosis.advice import MISTAKES, RULES, Advice, rule
from steelyard.diagnosis.diagnosing import Diagnosis, diagnose
from steelyard.diagnosis.facts import Facts
from steelyard.diagnosis.thresholds import MIN_EXPLAINED, corrected, tails
from steelyard.experiment.door.evaluation import weigh
from steelyard.experiment.door.weighing import Weighing
from steelyard.reports.views.diagnosis import advice_text
from steelyard.reports.words import read_words
from tests.diagnosis import library
from tests.diagnosis.judged_library import judged_diagnosis
from tests.diagnosis.library import Rank, outputs, questions, weighed
from tests.hypothesis_profiles import examples

N = 40


def one(ranks: list[Rank], **options: object) -> Weighing:
    """One system on as many questions; options as of `outputs`."""
    return weighed(questions(len(ranks)), outputs("a", ranks, **options))  # type: ignore[arg-type]


def tagged(ranks: list[Rank], chosen: range) -> Weighing:
    return weighed(questions(len(ranks), tags={i: ["odd"] for i in chosen}), outputs("a", ranks))


def of_documents(ranks: list[Rank], n: int) -> Weighing:
    """The first n questions have their gold in one document; the others each in its own."""
    asked = questions(len(ranks), docs=dict.fromkeys(range(n), "g0"))
    lines = [
        {"qid": q["qid"], "retrieved": ["f0#1", f"g{0 if i < n else i}#1" if ranks[i] else "f2#1", "f1#1"]}
        for i, q in enumerate(asked)
    ]
    return weighed(asked, Outputs(lines, name="a"))


def asked_in(ranks: list[Rank], texts: list[str]) -> Weighing:
    return weighed(questions(len(ranks), texts=texts), outputs("a", ranks))


def answered(n_other: int) -> Weighing:
    """Gold at rank 1 of every question; the first so many answers cite something else."""
    answers = {i: "See [f0#1]." if i < n_other else f"See [g{i}#1]." for i in range(N)}
    return one([1] * N, answers=answers)


def with_gold_elsewhere(n: int) -> Weighing:
    return weighed(questions(N, docs=dict.fromkeys(range(n), "unknown")), outputs("a", [1] * N))


def cut_gold(n_cut: int, *, found_halves: int, rule: str = "any") -> Weighing:
    """The first so many documents are cut in the middle of the gold; of a cut one so many halves are retrieved."""
    lines = [
        {"qid": f"q{i:03}", "retrieved": [f"g{i}#{h}" for h in range(1, (found_halves if i < n_cut else 1) + 1)]}
        for i in range(N)
    ]
    return weighed(questions(N), Outputs(lines, name="a"), cut=range(n_cut), rule=rule)


def late(reordered: int, *, exchanged: int) -> Weighing:
    """A reranker that turns lists of four around, and puts other candidates in for the first so many questions."""
    lines = []
    for i in range(N):
        candidates = library.ranking(i, 3, 50)
        returned = candidates[:4][::-1] if i < reordered else candidates[:4]
        lines.append({"qid": f"q{i:03}", "retrieved": ["f20#1", *returned[:3]] if i < exchanged else returned,
                      "candidates": candidates})  # fmt: skip
    return weighed(questions(N), Outputs(lines, name="a"))


def two(a: list[Rank], b: list[Rank]) -> Weighing:
    return weighed(questions(len(a)), outputs("a", a), outputs("b", b))


def scored(depth: int, *, score: Callable[[int], float]) -> Weighing:
    """The gold at place 2 of every list, with scores by place."""
    truth = {f"q{i}": {f"d{i}": 1} for i in range(N)}
    return weigh(
        truth,
        {q: {("d" + q[1:] if rank == 2 else f"f{rank}"): score(rank) for rank in range(1, depth + 1)} for q in truth},
    )


def neighbours(start: int, by: int, *, jump: int = 1) -> Weighing:
    """From one question on, every list holds the gold of one beside it."""
    gold = [i + by * jump if i >= start else i for i in range(N)]
    lists = {f"q{i}": ["x", f"d{j}", *(f"f{i}-{n}" for n in range(8))] for i, j in enumerate(gold)}
    return weigh({f"q{i}": {f"d{i}": 1} for i in range(N)}, lists)


def exchanged(pairs: int, *, rank: int = 1) -> Weighing:
    """The labels of so many pairs of questions are exchanged; every list has one of the two at one rank."""
    other = {i: i + 20 for i in range(pairs)} | {i + 20: i for i in range(pairs)}
    fillers = [[f"f{i}-{n}" for n in range(8)] for i in range(N)]
    lists = {f"q{i}": [*f[: rank - 1], f"d{other.get(i, i)}", *f[rank - 1 :]] for i, f in enumerate(fillers)}
    return weigh({f"q{i}": {f"d{i}": 1} for i in range(N)}, lists)


def listed_twice(n: int) -> Weighing:
    """So many questions have each text twice in their list, under two ids; the gold is the fourth text."""
    asked = [{"qid": f"q{i:03}", "query": "?", "evidence": [{"doc": f"{i}-3"}]} for i in range(N)]
    lines = []
    for i, question in enumerate(asked):
        ids = [(f"{i}-{t}{end}", f"text {t} of {i}") for t in range(6) for end in ("", "c")[: 1 + (i < n)]]
        results = [{"id": id, "doc": id, "text": text} for id, text in ids]
        lines.append({"qid": question["qid"], "retrieved": results})
    return weigh(asked, [Outputs(lines, name="a")], unit="chunk")


def matching(n: int) -> Weighing:
    """So many of 40 questions have a document with a label in their list."""
    return weigh({f"q{i}": {"d": 1} for i in range(N)}, {f"q{i}": ["d" if i < n else "x"] for i in range(N)})


def without_results(n: int) -> Weighing:
    """So many of 40 questions have an empty list."""
    lists = {f"q{i:02}": [] if i < n else ["d", "x", "y", "z", "u"] for i in range(N)}
    return weigh({query_id: {"d": 1} for query_id in lists}, lists)


ENGLISH, CHINESE, LONG = "what is it", "这是什么东西", " ".join(["word"] * 30)
FIRES: list[tuple[str, Callable[[], Weighing | Diagnosis], Callable[[], Weighing | Diagnosis]]] = [
    # code, where it fires, where it does not
    ("failed", lambda: one(["failed", *[1] * 9]), lambda: one([1] * 10)),
    ("missing", lambda: one([1] * 9 + ["missing"]), lambda: one([1] * 9 + [None])),
    ("nothing_matches", lambda: weigh({f"q{i}": {"d": 1} for i in range(9)}, {f"q{i}": ["x"] for i in range(9)}),
     lambda: weigh({f"q{i}": {"d": 1} for i in range(9)}, {f"q{i}": ["x"] if i else ["d"] for i in range(9)})),
    ("nothing_matches", lambda: matching(2), lambda: matching(3)),
    ("reversed_order", lambda: scored(60, score=lambda rank: rank),
     lambda: scored(60, score=lambda rank: -rank)),
    ("reversed_order", lambda: one([100] * N), lambda: one([None] * 30 + [100] * 2 + [1] * 8)),
    ("shifted", lambda: neighbours(0, 1), lambda: neighbours(0, 1, jump=2)),
    ("shifted", lambda: neighbours(25, -1), lambda: neighbours(37, -1)),
    ("swapped", lambda: exchanged(4), lambda: exchanged(1)),
    ("swapped", lambda: exchanged(4), lambda: exchanged(4, rank=2)),
    ("tied", lambda: scored(9, score=lambda rank: 1.0), lambda: scored(9, score=lambda rank: rank // 3)),
    ("empty_lists", lambda: without_results(4), lambda: without_results(3)),
    ("short_lists", lambda: one([None] * 8 + [1] * 32, depth=4), lambda: one([None] * 8 + [1] * 32, depth=5)),
    ("short_lists", lambda: one([None] * 8 + [1] * 32, depth=4), lambda: without_results(8)),
    ("doubled", lambda: listed_twice(20), lambda: listed_twice(2)),
    ("not_in_corpus", lambda: with_gold_elsewhere(1), lambda: with_gold_elsewhere(0)),
    ("cut", lambda: cut_gold(1, found_halves=1, rule="contains"), lambda: cut_gold(1, found_halves=2)),
    ("borders", lambda: cut_gold(9, found_halves=1), lambda: cut_gold(9, found_halves=2)),
    ("not_retrieved", lambda: one([1] * 30 + [None] * 10), lambda: one([1] * 38 + [None] * 2)),
    ("not_retrieved", lambda: one([1] * 30 + [None] * 10), lambda: one([1] * 30 + [None] * 10, depth=7)),
    ("shallow", lambda: one([1] * 30 + [None] * 10, depth=7), lambda: one([1] * 30 + [None] * 10)),
    ("not_ranked", lambda: one([1] * 20 + [9] * 20), lambda: one([1] * 20 + [None] * 20)),
    ("not_ranked", lambda: one([1] * 20 + [9] * 20), lambda: one([1] * 38 + [2] * 2)),
    ("not_ranked", lambda: one([1] * 20 + [9] * 20), lambda: one([1] * 20 + [9] * 20, depth=6)),
    ("reranker_headroom", lambda: one([1] * 10 + [8] * 30, before=[20] * 40, k=15),
     lambda: one([1] * 40, before=[20] * 40)),
    ("reranker_harms", lambda: one([3] * 20 + [1] * 20, before=[1] * 40), lambda: one([3, 1] * 20, before=[1, 3] * 20)),
    ("reranker_late", lambda: late(40, exchanged=0), lambda: late(40, exchanged=1)),
    ("order_only", lambda: two([4] * 30 + [None] * 10, [1] * 30 + [None] * 10),
     lambda: two([4] * 30 + [None] * 10, [1] * 40)),
    ("order_only", lambda: two([4] * 30 + [None] * 10, [1] * 30 + [None] * 10), lambda: two([4] * 40, [1] * 40)),
    ("hybrid", lambda: two([1] * 20 + [None] * 20, [None] * 20 + [1] * 20), lambda: two([1] * 40, [None] * 40)),
    ("hybrid", lambda: two([1] * 20 + [None] * 20, [None] * 20 + [1] * 20),
     lambda: two([1] * 39 + [None], [None] + [1] * 39)),
    ("cluster_tag", lambda: tagged([None] * 8 + [1] * 32, range(10)), lambda: tagged([None, 1, 1, 1] * 10, range(10))),
    ("cluster_document", lambda: of_documents([None] * 7 + [1] * 33, 8),
     lambda: of_documents([None, 1, 1, 1, 1] * 8, 8)),
    ("cluster_language", lambda: asked_in([None] * 12 + [1] * 28, [CHINESE] * 15),
     lambda: asked_in([None, 1, 1] * 13, [CHINESE] * 15)),
    ("cluster_long", lambda: asked_in([None] * 8 + [1] * 32, [LONG] * 9),
     lambda: asked_in([None, 1, 1, 1] * 10, [LONG] * 9)),
    ("unused", lambda: answered(12), lambda: answered(2)),
    ("unused", lambda: judged(wrong_chunk=4, works=36), lambda: judged(beyond_context=2, works=38)),
    ("answers_wrong", lambda: judged(works=20, context_unused=6, wrong_chunk=6, hallucination=8),
     lambda: judged(works=24, context_unused=8, hallucination=8)),
    ("answers_wrong", lambda: judged(works=8, context_unused=4),
     lambda: judged(works=8, context_unused=4, hallucination=4)),
    ("low_utilization", lambda: judged(works=4, context_unused=6), lambda: judged(works=5, context_unused=5)),
    ("low_utilization", lambda: judged(works=2, context_unused=3), lambda: judged(works=1, context_unused=3)),
    ("noise_followed", lambda: judged(works=36, wrong_chunk=2, noise_followed=2),
     lambda: judged(works=36, wrong_chunk=3, hallucination=1)),
    ("should_abstain", lambda: judged(works=36, hallucination=2, noise_followed=1, unanswerable_answered=1),
     lambda: judged(works=36, hallucination=3, rightly_abstained=1)),
    ("over_cautious", lambda: judged(works=36, over_cautious=4), lambda: judged(works=37, over_cautious=3)),
    ("over_cautious", lambda: judged(works=27, over_cautious=3), lambda: judged(works=27, rightly_abstained=13)),
    ("dangling", lambda: judged(works=4, invalid=1, cited=2), lambda: judged(works=2, invalid=1, cited=2)),
    ("dangling", lambda: judged(works=4, invalid=1), lambda: judged(works=4, cited=3)),
]  # fmt: skip


def judged(*, invalid: int = 0, cited: int = 0, **counts: int) -> Diagnosis:
    """Of so many questions each that come to an outcome; every answer with so many citations."""
    outcomes = [outcome for outcome, n in counts.items() for _ in range(n)]
    return judged_diagnosis(*outcomes, invalid=invalid, cited=cited)


def diagnosis_of(weighing: Weighing | Diagnosis) -> Diagnosis:
    return weighing if isinstance(weighing, Diagnosis) else diagnose(weighing, k=5)


def codes(weighing: Weighing | Diagnosis) -> set[str]:
    return {advice.code for advice in diagnosis_of(weighing).advice}


@pytest.mark.parametrize(("code", "fires", "silent"), FIRES, ids=[f"{code}-{i}" for i, (code, *_) in enumerate(FIRES)])
def test_a_rule_fires_on_its_pattern_alone(
    code: str, fires: Callable[[], Weighing | Diagnosis], silent: Callable[[], Weighing | Diagnosis]
) -> None:
    assert code in codes(fires())
    assert code not in codes(silent())


def test_a_reranker_that_changes_nothing() -> None:
    weighing = one([9] * N, before=[9] * N, k=5)
    found = diagnose(weighing, k=3, reranked={"a": True}).advice
    assert [advice.code for advice in found] == ["reranker_idle"]
    assert found[0].gain == 1.0
    assert "reranker_idle" not in {advice.code for advice in diagnose(weighing, k=3).advice}


def test_every_rule_has_a_case() -> None:
    told = {code for code, *_ in FIRES} | {"reranker_idle", "no_gold"}
    groups = {
        "clusters": {"cluster_tag"}, "failed": {"missing"}, "lost_before_retrieval": {"not_in_corpus", "cut"},
        "beyond_lists": {"not_retrieved", "shallow"}, "without_effect": {"reranker_idle"},
        "wrong_outcomes": {"noise_followed", "should_abstain", "over_cautious"},
    }  # fmt: skip
    assert set().union(*(groups.get(name, {name}) for name in RULES.names())) <= told


def test_what_is_well_gets_no_advice() -> None:
    assert codes(one([1] * N)) == set()
    assert codes(two([1] * N, [1] * N)) == set()


def test_no_question_has_gold() -> None:
    weighing = weigh({"q": {"a": 0}, "r": {"a": 0}}, {"q": ["a"], "r": ["a"]})
    assert [(found.code, found.systems) for found in diagnose(weighing).advice] == [("no_gold", ("run",))]
    diagnosis = diagnose(weighing)
    assert not diagnosis.has_gold
    assert np.isnan(diagnosis.ceilings.reached).all()
    assert np.isnan(diagnosis.curves.values).all()


@pytest.mark.parametrize(
    ("lang", "gain", "action"),
    [
        ("en", 1, "Labels have gains up to 1: lower the least gain that counts as relevant (--min-gain)."),
        ("en", 0, "Grade what was retrieved: `steelyard label QUESTIONS RUN..."),
        ("zh", 1, "标注的相关度最高为 1：请降低算作相关的最低值（--min-gain）。"),
        ("zh", 0, "请为检索到的内容评级：`steelyard label QUESTIONS RUN..."),
    ],
)
def test_without_gold_no_other_pattern_of_lists_is_seen(lang: str, gain: int, action: str) -> None:
    truth = {f"q{i}": {"d": gain} for i in range(12)}
    found = diagnose(weigh(truth, {q: ["x", "y", "d"] for q in truth}), min_gain=2).advice
    assert [advice.code for advice in found] == ["no_gold"]
    text = advice_text(found[0], read_words(lang))
    assert text.action.startswith(action)
    assert text.gain == ""


def advised(weighing: Weighing, code: str, measure: str | None = None) -> Advice:
    return next(advice for advice in diagnose(weighing, k=5, measure=measure).advice if advice.code == code)


def test_advice_tells_numbers_questions_and_gain() -> None:
    found = advised(one([1] * 30 + [None] * 10), "not_retrieved")
    assert found.systems == ("a",)
    assert found.query_ids == tuple(f"q{i:03}" for i in range(30, 40))
    assert (found.numbers["n"], found.numbers["total"], found.numbers["depth"]) == (10, 40, 100)
    # A quarter of the questions, which would do as well as the others: 1.0.
    assert (found.measure, found.gain) == ("evidence_recall@5", 0.25)


def test_gains_in_characters_for_what_borders_cut() -> None:
    found = advised(cut_gold(10, found_halves=1), "borders")
    assert (found.measure, found.numbers["shown"], found.numbers["wished"]) == ("span_recall@5", 0.5, 1.0)
    assert found.gain == 0.125


def test_a_better_order_is_gained_question_by_question() -> None:
    found = advised(one([1] * 20 + [4] * 10 + [9] * 10), "not_ranked", "ndcg@5")
    assert found.query_ids[:10] == tuple(f"q{i:03}" for i in range(30, 40))
    assert found.gain == pytest.approx((10 * (1 - 1 / np.log2(5)) + 10) / 40)
    assert found.numbers["below"] == 10
    assert found.numbers["recall_more"] == 1.0


def test_the_hybrid_names_who_finds_what() -> None:
    found = advised(two([1] * 25 + [None] * 15, [None] * 25 + [1] * 15), "hybrid")
    assert found.systems == ("a", "b")
    assert (found.numbers["only_first"], found.numbers["only_second"], found.numbers["best_system"]) == (25, 15, "a")
    assert found.gain == 0.375


def test_a_language_whose_questions_have_a_tag_is_named_once_as_the_language() -> None:
    asked = questions(N, tags={i: ["zh"] for i in range(15)}, texts=[CHINESE] * 15)
    found = diagnose(weighed(asked, outputs("a", [None] * 12 + [1] * 28)), k=5).advice
    assert [advice.code for advice in found if advice.code.startswith("cluster")] == ["cluster_language"]
    assert [advice.numbers["tested"] for advice in found if advice.code == "cluster_language"] == [2]


def test_a_tag_is_not_blamed_for_its_language() -> None:
    """Chinese fails, and most of what is tagged is Chinese: the tag alone does no harm."""
    texts = [CHINESE] * 20 + [ENGLISH] * 20
    tags = {i: ["odd"] for i in (*range(15), *range(20, 23))}
    found = diagnose(weighed(questions(N, tags=tags, texts=texts), outputs("a", [None] * 18 + [1] * 22)), k=5).advice
    assert [advice.code for advice in found if advice.code.startswith("cluster")] == ["cluster_language"]


def test_a_tag_that_fails_within_a_language_that_fails_is_blamed() -> None:
    texts = [CHINESE] * 40 + [ENGLISH] * 40
    tags = {i: ["odd"] for i in range(15)}
    ranks: list[Rank] = [None] * 15 + [None, 1] * 12 + [1] * 41
    found = diagnose(weighed(questions(80, tags=tags, texts=texts), outputs("a", ranks)), k=5).advice
    clusters = {advice.code: advice for advice in found if advice.code.startswith("cluster")}
    assert clusters.keys() == {"cluster_language", "cluster_tag"}
    assert clusters["cluster_tag"].numbers["others"] == 25


def test_no_stronger_reranker_where_leaving_it_out_is_better() -> None:
    found = codes(one([8] * 30 + [1] * 10, before=[2] * 40))
    assert "reranker_harms" in found
    assert "reranker_headroom" not in found


def test_no_gain_beyond_what_its_questions_can_give() -> None:
    """A third of a group is lost, and what the others of it lack is not theirs to give."""
    ranks: list[Rank] = [*[None] * 8, *[5] * 12, *[1] * 40]
    found = advised(weighed(questions(60, tags={i: ["odd"] for i in range(20)}), outputs("a", ranks)), "cluster_tag")
    assert len(found.query_ids) == 8
    assert found.gain == pytest.approx(8 / 60)


@pytest.mark.slow
def test_groups_of_failures_by_chance_are_not_told() -> None:
    """Twenty tags over questions that fail at random: at most one set in twenty may be told of."""
    rng = np.random.default_rng(1)
    told = 0
    for _ in range(40):
        tags = {i: [f"t{rng.integers(20)}"] for i in range(200)}
        ranks: list[Rank] = [None if lost else 1 for lost in rng.random(200) < 0.3]
        found = diagnose(weighed(questions(200, tags=tags), outputs("a", ranks, depth=20)), k=5).advice
        told += any(advice.code == "cluster_tag" for advice in found)
    assert told <= 5


def test_a_shift_names_where_it_begins_and_what_it_costs() -> None:
    found = advised(neighbours(25, -1), "shifted")
    assert (found.numbers["first"], found.numbers["by"], found.numbers["whole"]) == ("q25", -1, False)
    assert (found.numbers["n"], found.numbers["out_of_step"], found.numbers["own"]) == (15, 15, 0)
    assert found.gain == pytest.approx(15 / 40 / np.log2(3))


def test_doubles_are_counted_and_weighed() -> None:
    found = advised(listed_twice(20), "doubled")
    assert (found.numbers["n"], found.numbers["share"]) == (20, 0.2)
    # The gold would be fourth instead of seventh.
    assert (found.measure, found.gain) == ("evidence_recall@5", 0.5)


def test_mistakes_come_first() -> None:
    found = diagnose(neighbours(0, 1), k=5).advice
    assert found[0].code == "shifted"
    assert "nothing_matches" not in {advice.code for advice in found}


def test_what_follows_from_a_mistake_is_left_out_for_its_system_alone() -> None:
    reversed_lists, other = [100] * N, [1] * 20 + [9] * 20
    sound = {advice.code for advice in diagnose(one(other), k=5).advice}
    advice = diagnose(two(reversed_lists, other), k=5).advice
    assert "not_ranked" in sound
    assert {item.code for item in advice if "a" in item.systems} == {"reversed_order"}
    assert {item.code for item in advice if item.systems == ("b",)} >= sound
    failing = diagnose(one(["failed"] * 5 + [100] * 35), k=5).advice
    assert {item.code for item in failing} == {"reversed_order", "failed"}


def test_order_by_best_system_then_gain_then_code() -> None:
    a, b = ["failed", *[1] * 19, *[None] * 10, *[9] * 10], [1] * 10 + [None] * 20 + [9] * 10
    made = diagnose(two(a, b), k=5)
    best = max(made.ceilings.systems, key=lambda name: made.ceilings.reached[made.ceilings.systems.index(name), 0])
    keys = [
        (best not in advice.systems, advice.code not in MISTAKES, -advice.gain, advice.code, advice.systems)
        for advice in made.advice
    ]
    assert keys == sorted(keys)
    assert len({advice.code for advice in made.advice}) > 2


def test_a_rule_is_registered_once() -> None:
    assert "failed" in RULES.names()

    def failed(facts: Facts) -> Iterator[Advice]:
        yield from ()

    with pytest.raises(InputError, match="rule of advice called 'failed' exists"):
        rule(failed)
    assert rule(RULES.get("failed")) is RULES.get("failed")


@examples(60)
@given(data=st.data())
def test_tail_is_fishers(data: st.DataObject) -> None:
    """By the definition, with whole numbers."""
    from math import comb

    total = data.draw(st.integers(1, 30))
    inside, lost = data.draw(st.integers(0, total)), data.draw(st.integers(0, total))
    x = data.draw(st.integers(max(0, inside + lost - total), min(inside, lost)))
    ways = sum(comb(inside, y) * comb(total - inside, lost - y) for y in range(x, min(inside, lost) + 1))
    assert tails((inside, lost, total))[x] == pytest.approx(ways / comb(total, lost), abs=1e-11)


def test_tail_of_thousands() -> None:
    stats = pytest.importorskip("scipy.stats", reason="scipy is the oracle")
    assert tails((300, 500, 7000))[40] == pytest.approx(stats.hypergeom.sf(39, 7000, 300, 500), rel=1e-6)


@given(data=st.data())
def test_the_correction_is_no_more_than_bonferronis_and_holds_its_level(data: st.DataObject) -> None:
    total = data.draw(st.integers(5, 30))
    lost = data.draw(st.integers(1, total))
    groups = [tails((data.draw(st.integers(1, total)), lost, total)) for _ in range(data.draw(st.integers(1, 6)))]
    for p in groups[0]:
        assert p <= corrected(float(p), groups) <= min(1.0, len(groups) * p) + 1e-12
        # By the definition: what each group reaches by chance, together.
        assert corrected(float(p), groups) == pytest.approx(min(1.0, sum(max(of[of <= p], default=0) for of in groups)))


# Groups that explain the loss


def three_tags(ranks: list[Rank], failing: Rank, n: int = 60, **options: object) -> Weighing:
    """Every third question has the tag whose gold is at one rank; the others in turn have these ranks."""
    tags = {i: [f"t{i % 3}"] for i in range(n)}
    of_all = [failing if i % 3 == 0 else ranks[i % len(ranks)] for i in range(n)]
    return weighed(questions(n, tags=tags), outputs("a", of_all, **options))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("failing", "stage", "depth"), [(20, "not_ranked", 100), (None, "not_retrieved", 100), (None, "shallow", 7)]
)
@pytest.mark.parametrize("ranks", [[1], [1, 1, 1, 1, 20], [1, None, 20, 1]], ids=["none", "fifth", "half"])
def test_a_tag_that_fails_comes_before_the_stage_that_it_fails_at(
    failing: Rank, stage: str, depth: int, ranks: list[Rank]
) -> None:
    first, *others = diagnose(three_tags(ranks, failing, depth=depth), k=5).advice
    assert (first.code, first.numbers["name"]) == ("cluster_tag", "t0")
    assert stage in {advice.code for advice in others}
    assert max(advice.gain for advice in others) >= first.gain


def test_a_language_that_fails_comes_before_a_tag_within_it() -> None:
    texts = [CHINESE] * 40 + [ENGLISH] * 40
    ranks: list[Rank] = [20] * 15 + [20, 1] * 12 + [1] * 41
    weighing = weighed(questions(80, tags={i: ["odd"] for i in range(15)}, texts=texts), outputs("a", ranks))
    found = [advice.code for advice in diagnose(weighing, k=5).advice]
    assert found[:3] == ["cluster_language", "cluster_tag", "not_ranked"]


def test_a_group_that_explains_little_comes_by_its_gain() -> None:
    """Half of all questions are ranked too low, and six of seven of a small tag: that is not why."""
    ranks: list[Rank] = [20, 20, 20, 20, 20, 20, 1] + [20, 1] * 46
    weighing = weighed(questions(99, tags={i: ["odd"] for i in range(7)}), outputs("a", ranks))
    odd = Advice("cluster_tag", ("a",), "ndcg@5", 0.1, {"explained": MIN_EXPLAINED - 0.001}, ())
    assert not odd.explains
    assert replace(odd, numbers={"explained": MIN_EXPLAINED}).explains
    assert diagnose(weighing, k=5).advice[0].code == "not_ranked"


def test_mistakes_and_failures_come_before_groups() -> None:
    ranks: list[Rank] = ["failed"] * 30 + [20] * 10 + [1] * 40
    weighing = weighed(questions(80, tags={i: ["odd"] for i in range(30, 40)}), outputs("a", ranks))
    assert [advice.code for advice in diagnose(weighing, k=5).advice][:2] == ["failed", "cluster_tag"]


def test_groups_are_named_first_and_none_is_accused_by_chance() -> None:
    options = {"draws": 4, "seed": 1}
    assert segments.named_first(60, 20, 0.3, fails=0.9, language=False, **options) >= 0.75  # type: ignore[arg-type]
    assert segments.accused(60, 3, 1, 0.5, **options) <= 0.25  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.parametrize("rank", segments.LOST.values())
@pytest.mark.parametrize("base", [0.1, 0.5])
@pytest.mark.parametrize("language", [False, True])
def test_groups_are_named_first_in_four_of_five(rank: int, base: float, language: bool) -> None:
    fails = 1.0 if base > 0.3 else 0.9
    assert segments.named_first(60, rank, base, fails=fails, language=language, draws=60, seed=2) >= 0.8


@pytest.mark.slow
@pytest.mark.parametrize(("n_tags", "n_own"), [(3, 1), (10, 3)])
def test_tags_at_random_are_seldom_accused(n_tags: int, n_own: int) -> None:
    assert segments.accused(60, n_tags, n_own, 0.5, draws=300, seed=2) <= 0.07
