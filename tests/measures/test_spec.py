"""Measures as text: spellings, round trips, errors, and measures of one's own."""

import math
import re
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import steelyard as sy
from steelyard.measures import Alignment, Definition, Measure, Number, Word, definition, make, parse_all, registry
from steelyard.measures.alignment import Floats
from steelyard.measures.parameters import GAIN
from steelyard.measures.reference import about
from steelyard.measures.registry import meaning
from steelyard.measures.spec import measure_or_column
from tests.hypothesis_profiles import examples
from tests.measures.random_collections import builtin, specs
from tests.measures.registered import forget_afterwards

TREC_EVAL = {
    "P_5": "precision@5",
    "P.5": "precision@5",
    "set_P": "precision",
    "recall_1000": "recall@1000",
    "set_recall": "recall",
    "set_F": "f",
    "set_map": "set_map",
    "relative_P_10": "recall_cap@10",
    "set_relative_P": "recall_cap",
    "success_1": "hit_rate@1",
    "unj_20": "unjudged@20",
    "map": "map",
    "map_cut_10": "map@10",
    "map_cut.10": "map@10",
    "gm_map": "gm_map",
    "gm_bpref": "gm_bpref",
    "ndcg": "ndcg",
    "ndcg_cut_10": "ndcg@10",
    "ndcg_cut.10": "ndcg@10",
    "ndcg_rel": "ndcg_rel",
    "Rndcg": "rndcg",
    "recip_rank": "mrr",
    "Rprec": "r_precision",
    "Rprec_mult_0.20": "r_precision(multiple=0.2)",
    "Rprec_mult.1.00": "r_precision",
    "bpref": "bpref",
    "infAP": "infap",
    "iprec_at_recall_0.10": "iprec@0.1",
    "iprec_at_recall.0.10": "iprec@0.1",
    "iprec_at_recall_1.00": "iprec@1",
    "11pt_avg": "11pt_avg",
    "binG": "bin_g",
    "G": "g",
    "rbp_resid": "rbp_residual",
    "ideal_dcg": "ideal_dcg",
    "yaap": "yaap",
    "num_q": "n_queries",
    "set_F_4": "f(beta=2)",
    "set_F.0.5": "f(beta_squared=0.5)",
    "utility": "utility",
    "num_ret": "n_retrieved",
    "num_rel": "n_relevant",
    "num_rel_ret": "n_relevant_retrieved",
    "num_nonrel_judged_ret": "n_nonrelevant_retrieved",
}
IR_MEASURES = {
    "P@5": "precision@5",
    "P(rel=2)@5": "precision(min_gain=2)@5",
    "R@1000": "recall@1000",
    "SetP": "precision",
    "SetR": "recall",
    "SetF": "f",
    # ir_measures hands its beta to trec_eval, which takes it for the square of beta.
    "SetF(beta=2)": "f(beta_squared=2)",
    "SetF(beta=4.0,rel=2)": "f(beta=2,min_gain=2)",
    "SetRelP": "recall_cap",
    "SetP(relative=True)": "recall_cap",
    "SetP(rel=2,relative=False)": "precision(min_gain=2)",
    "SetAP(rel=2)": "set_map(min_gain=2)",
    "Success@5": "hit_rate@5",
    "Judged@10": "judged@10",
    "AP": "map",
    "AP(rel=2)@100": "map(min_gain=2)@100",
    "AP(judged_only=True)": "map(pool=judged)",
    "RR": "mrr",
    "RR@10": "mrr@10",
    "MRR@10": "mrr@10",
    "MAP": "map",
    "Rprec": "r_precision",
    "Bpref": "bpref",
    "infAP(rel=2)": "infap(min_gain=2)",
    "IPrec@0.2": "iprec@0.2",
    "nDCG": "ndcg",
    "nDCG@10": "ndcg@10",
    "NDCG@10": "ndcg@10",
    "nDCG(dcg='log2')@10": "ndcg@10",
    "nDCG(dcg='exp-log2')@10": "ndcg(gain=exp)@10",
    "nDCG(gains={0:0,1:1,2:3})@10": "ndcg(gain={0:0,1:1,2:3})@10",
    "nDCG(judged_only=True)@10": "ndcg(pool=judged)@10",
    "ERR@20": "err@20",
    "RBP(rel=1)": "rbp",
    "RBP(p=0.9,rel=2)@50": "rbp(p=0.9,min_gain=2)@50",
    "NumRet": "n_retrieved",
    "NumRel": "n_relevant",
    "NumRelRet": "n_relevant_retrieved",
    "NumRet(rel=1)": "n_relevant_retrieved",
    "NumRet(rel=2)": "n_relevant_retrieved(min_gain=2)",
    "NumQ": "n_queries",
}
RANX = {
    "precision@5": "precision@5",
    "recall@100": "recall@100",
    "f1@10": "f1@10",
    "r_precision": "r_precision",
    "r-precision": "r_precision",
    "r-precision-l2": "r_precision(min_gain=2)",
    "hit_rate@5": "hit_rate@5",
    "mrr@10": "mrr@10",
    "map@100": "map@100",
    "dcg@10": "dcg@10",
    "dcg_burges@10": "dcg(gain=exp)@10",
    "ndcg@10": "ndcg@10",
    "ndcg_burges@10": "ndcg(gain=exp)@10",
    "rbp.95": "rbp(p=0.95)",
    "rbp.8": "rbp",
    "recall@10-l2": "recall(min_gain=2)@10",
    "map-l3": "map(min_gain=3)",
    "rbp.95-l2": "rbp(p=0.95,min_gain=2)",
    "bpref": "bpref",
}
OURS = {
    " ndcg ( gain = exp ) @ 10 ": "ndcg(gain=exp)@10",
    "ndcg(ideal=retrieved,gain=exp)": "ndcg(gain=exp,ideal=retrieved)",
    "ndcg(gain={2:3,1:1})": "ndcg(gain={1:1,2:3})",
    "recall(k=5)": "recall@5",
    "precision(min_gain=1)@5": "precision@5",
    "precision(min_gain=0.5)@5": "precision(min_gain=0.5)@5",
    "precision@5.0": "precision@5",
    "recall(pool=judged,scope=retrieved)": "recall(pool=judged,scope=retrieved)",
    "utility(tp=2,fp=-0.5)": "utility(tp=2,fp=-0.5)",
    "iprec@0": "iprec@0",
    "11pt": "11pt_avg",
    "RECALL_CAP@10": "recall_cap@10",
    "r_precision(multiple=0.5)": "r_precision(multiple=0.5)",
}
UNKNOWN = {
    "ndgc@10": "ndcg",
    "recal@5": "recall",
    "percision": "precision",
    "hitrate@3": "hit_rate",
    "ERRR@20": "err",
    "mrrr": "mrr",
    "P@": None,
    "": None,
    "@5": None,
    "完全不同": None,
}
# Names of other tools: what is said of them, whatever spelling of ours looks like them.
MEANINGS = {
    "alpha_nDCG@10": "it needs labels for each subtopic of a question",
    "ERR_IA@20": "it needs labels for each subtopic of a question",
    "NRBP": "it needs labels for each subtopic of a question",
    "StRecall@5": "it needs labels for each subtopic of a question",
    "Compat": "by rank-biased overlap, which is not here",
    "INST": "it is a model of readers that is not here",
    "NERR10": "it is a model of readers that is not here",
    "P_avgjg_5": "it needs preferences, or judgments of several groups",
    "prefs_simp_ret": "it needs preferences, or judgments of several groups",
    "citation_rec": "citation_support is",
    "groundedness": "faithfulness is",
    "answer relevancy": "answer_relevance is",
    "answer_correctness": "answer_f1 holds",
    "FactualCorrectness": "answer_f1 holds",
    "claim_recall": "context_recall is",
    "contextual recall": "context_recall is",
    "rougeL": "of numbers (sy.Scores.of)",
    "bleu_4": "of numbers (sy.Scores.of)",
    "accuracy@5": "hit_rate@k is 1",
    "top_k_accuracy": "hit_rate@k is 1",
    "hit_ratio@10": "hit_rate@k is 1",
    "fact_recall": "evidence_recall@k is",
    "ragas.answer_relevancy": "answer_relevance is",
    "deepeval.contextual_relevancy": "context_relevance is",
    "llm_context_precision_with_reference": "ragas.context_precision is",
    "Hole@10": "unjudged@k is",
}
# Impossible: the text, and what the message must say.
IMPOSSIBLE = {
    "mrr@0": "k must be a whole number from 1, not 0",
    "mrr@1.5": "k must be a whole number from 1, not 1.5",
    "P_0": "k must be a whole number from 1",
    "bpref@5": "takes no cut-off",
    "iprec": "needs a level",
    "iprec@1.5": "between 0 and 1, not 1.5",
    "mrr(beta=2)": "mrr takes no parameter 'beta'; it takes min_gain, ties, pool, scope",
    "mrr(k=5)@10": "write the cut-off once",
    "f(beta=0)": "beta must be",
    "f(beta=nan)": "beta must be",
    "f(beta=-inf)": "beta must be",
    "f(beta=two)": "beta must be",
    "rbp(p=0)": "p must be",
    "rbp(p=1)": "p must be",
    "rbp(p=-0.5)": "p must be",
    "map(min_gain=-1)": "min_gain must be",
    "map(min_gain=inf)": "min_gain must be",
    "ndcg(gain=cubic)": "gain must be linear or exp or a map such as {1:1,2:3}, not cubic",
    "ndcg(gain=2)": "gain must be linear or exp",
    "ndcg(ideal=perfect)": "ideal must be judged or retrieved, not perfect",
    "map(pool=some)": "pool must be all or judged, not some",
    "map(scope=world)": "scope must be truth or retrieved, not world",
    "ndcg(gain={1:nan})": "'nan' is not a number",
    "ndcg(gain={1})": "is not a number",
    "ndcg(gain={a:1})": "'a' is not a number",
    "map(min_gain)": "'min_gain' is not parameter=value",
    "map(min_gain=)": "is not parameter=value",
    "err(max_gain=0)": "max_gain must be",
    "r_precision(multiple=0)": "multiple must be",
    "utility(tp=inf)": "tp must be",
    "precision(relative=True)": "takes no parameter 'relative'",
    "SetP(relative=2)": "relative must be true or false, not 2",
    "SetF(beta=-1)": "beta_squared must be",
    "f(beta=2,beta_squared=2)": "beta has no meaning beside beta_squared=2; leave one out",
    "rbp(gain=linear,min_gain=2)": "min_gain has no meaning beside gain=linear; leave one out",
    # A wish that cannot be granted must not be dropped.
    "precision(k=five)": "k",
    "precision(k={5:5})": "k",
    "f(beta=1,beta=2)": "beta",
    "ndcg(gain={1:1,1:2})": "gain",
    # ranx drops labels below the level from ndcg; here ndcg has no such parameter.
    "ndcg@10-l2": "ndcg",
}


OF_TOOLS = {
    "ragas.faithfulness": "faithfulness",
    "Ragas.Context_Recall": "context_recall",
    "ragas.noise_sensitivity(irrelevant)": "noise_sensitivity(chunks=irrelevant)",
    "deepeval.contextual_precision": "ragas.context_precision",
    "deepeval.contextual-recall": "context_recall",
    "trulens.groundedness": "faithfulness",
    "ragas.factual_correctness(recall)": "ragas.factual_correctness(mode=recall)",
    "deepeval.hallucination:p95": "deepeval.hallucination:p95",
}


@pytest.mark.parametrize(
    ("text", "want"), [*TREC_EVAL.items(), *IR_MEASURES.items(), *RANX.items(), *OURS.items(), *OF_TOOLS.items()]
)
def test_spellings(text: str, want: str) -> None:
    assert str(sy.parse(text)) == want
    assert sy.parse(want) == sy.parse(text)


def test_hits_is_the_rate_not_the_count_of_ranx() -> None:
    """Most texts mean by hits@k whether anything was hit; ranx means how many, which is n_relevant_retrieved here."""
    assert sy.plain.score("hits@3", ["a", "b", "c"], {"a", "b"}) == 1
    assert sy.plain.score("n_relevant_retrieved@3", ["a", "b", "c"], {"a", "b"}) == 2


def test_the_coefficient_of_set_f_is_the_square_of_beta() -> None:
    assert sy.parse("set_F.4") == sy.parse("f(beta=2)")


def test_every_name_and_alias_is_found_in_any_case() -> None:
    for each in builtin():
        level = "@0.5" * each.cutoff_required
        for spelling, implied in {each.name: {}, **each.aliases}.items():
            for text in (spelling, spelling.upper(), spelling.lower()):
                found = sy.parse(text + level)
                assert (found.name, dict(found.params)) == (each.name, dict(implied))


@examples(400)
@given(st.sampled_from(builtin()).flatmap(specs))
def test_what_is_printed_parses_back(spec: Measure) -> None:
    assert sy.parse(str(spec)) == spec
    assert sy.parse(spec) is spec
    assert hash(sy.parse(str(spec))) == hash(spec)


NUMBERS = {
    "f": ("beta", st.floats(1e-6, 1e6)),
    "rbp": ("p", st.floats(1e-9, 1 - 1e-9)),
    "map": ("min_gain", st.floats(0, 1e300)),
    "utility": ("tp", st.floats(allow_nan=False, allow_infinity=False)),
    "err": ("max_gain", st.floats(1e-9, 1000)),
}


@pytest.mark.parametrize("name", NUMBERS)
@examples(60)
@given(data=st.data())
def test_any_number_parses_back(name: str, data: st.DataObject) -> None:
    key, numbers = NUMBERS[name]
    spec = make(name, None, {key: data.draw(numbers)})
    assert sy.parse(str(spec)) == spec


@examples(60)
@given(st.floats(0, 1))
def test_any_recall_level_parses_back(level: float) -> None:
    assert sy.parse(str(make("iprec", level))) == make("iprec", level)


@examples(60)
@given(st.dictionaries(st.floats(-10, 10), st.floats(-1e9, 1e9), min_size=1, max_size=4))
def test_any_map_of_gains_parses_back(gains: dict[float, float]) -> None:
    spec = make("ndcg", 10, {"gain": gains})  # type: ignore[dict-item]
    assert sy.parse(str(spec)) == spec


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_map_of_gains_holds_numbers(value: float) -> None:
    with pytest.raises(sy.MeasureError, match="gain"):
        make("ndcg", 10, {"gain": {1: value}})  # type: ignore[dict-item]
    with pytest.raises(sy.MeasureError, match="gain"):
        make("ndcg", 10, {"gain": {value: 1}})  # type: ignore[dict-item]


@pytest.mark.parametrize("k", [0, -1, 2.5, float("nan"), float("inf")])
def test_an_impossible_cutoff_in_code(k: float) -> None:
    with pytest.raises(sy.MeasureError, match="k must be a whole number from 1"):
        make("ndcg", k)


@pytest.mark.parametrize(("text", "nearest"), UNKNOWN.items())
def test_an_unknown_name(text: str, nearest: str | None) -> None:
    with pytest.raises(sy.UnknownMeasureError) as raised:
        sy.parse(text)
    assert isinstance(raised.value, LookupError)
    assert isinstance(raised.value, ValueError)
    assert "no measure is called" in str(raised.value)
    assert nearest is None or f"did you mean {nearest}" in str(raised.value)


@pytest.mark.parametrize(("text", "message"), MEANINGS.items())
def test_a_name_of_another_tool_is_answered_by_its_meaning(text: str, message: str) -> None:
    with pytest.raises(sy.UnknownMeasureError) as raised:
        sy.parse(text)
    assert message in str(raised.value)
    assert "did you mean" not in str(raised.value)


def test_measures_that_meanings_name_are_there() -> None:
    named = {name for _, words in MEANINGS.items() for name in re.findall(r"^(\S+)@k is", words)}
    assert named == {"hit_rate", "evidence_recall", "unjudged"}
    assert [str(sy.parse(f"{name}@5")) for name in sorted(named)] == [f"{name}@5" for name in sorted(named)]


def test_no_spelling_of_ours_is_explained_away() -> None:
    spellings = [spelling for measure in registry.definitions() for spelling in (measure.name, *measure.aliases)]
    assert [own for own in spellings if "." not in own and meaning(own) is not None] == []


@pytest.mark.parametrize(("text", "message"), IMPOSSIBLE.items())
def test_an_impossible_parameter(text: str, message: str) -> None:
    with pytest.raises(sy.MeasureError) as raised:
        sy.parse(text)
    assert not isinstance(raised.value, sy.UnknownMeasureError)
    assert message in str(raised.value)


def test_queries_without_a_relevant_document_are_undefined_wherever_they_are() -> None:
    (alignment,) = sy.weigh({"a": {"d": 0}, "b": {"d": 1}, "c": {"d": 0}, "e": {"d": 2}}, {"b": ["d"]}).alignments
    assert sy.parse("map").undefined(alignment).tolist() == [True, False, True, False]
    assert sy.parse("map(min_gain=2)").undefined(alignment).tolist() == [True, True, True, False]
    assert not sy.parse("n_retrieved").undefined(alignment).any()


def test_graded_rbp_is_undefined_where_nothing_gains() -> None:
    alignment = sy.weigh({"q1": {"a": 0.5}, "q2": {"b": 0}, "q3": {"c": 2}}, {"q1": ["a"]}).alignments[0]
    assert sy.parse("rbp(gain=linear)").undefined(alignment).tolist() == [False, True, False]
    assert sy.parse("rbp").undefined(alignment).tolist() == [True, True, False]
    assert sy.parse("rbp(gain={2:0})").undefined(alignment).tolist() == [False, True, True]


def test_a_default_does_not_meet_the_parameter_that_takes_its_place() -> None:
    assert str(sy.parse("rbp(gain=exp)", min_gain=2.0)) == "rbp(gain=exp)"
    assert str(sy.parse("rbp(gain=exp)").with_default(min_gain=2.0)) == "rbp(gain=exp)"
    assert str(sy.parse("rbp(gain=binary)", min_gain=2.0)) == "rbp(min_gain=2)"
    want = sy.evaluate({"q": {"a": 1}}, {"q": ["a"]}, "rbp(gain=linear)").values.tolist()
    assert sy.evaluate({"q": {"a": 1}}, {"q": ["a"]}, "rbp(gain=linear)", min_gain=2).values.tolist() == want


@pytest.mark.usefixtures("_own_registry")
def test_a_parameter_gives_way_to_one_of_its_measure() -> None:
    with pytest.raises(sy.MeasureError, match="lonely: 'min_gain' holds unless 'gian' is set, which is no parameter"):

        @sy.measure(parameters={"min_gain": Number(about="a level", unless="gian")})
        def lonely(a: Alignment, *, min_gain: float = 1.0) -> Floats:
            return np.zeros(a.n_queries)


def test_several_at_once() -> None:
    found = parse_all(["P_5, nDCG(gains={1:1,2:3})@10", sy.parse("map"), "AP, , ndcg_cut_10"])
    assert [*map(str, found)] == ["precision@5", "ndcg(gain={1:1,2:3})@10", "map", "ndcg@10"]
    assert [*map(str, parse_all("map,P@5,AP"))] == ["map", "precision@5"]
    with pytest.raises(sy.MeasureError, match="no measure is given"):
        parse_all(" , ")


def test_defaults_and_parameters() -> None:
    spec = sy.parse("recall(min_gain=2)@5")
    assert spec.param("min_gain") == 2
    assert sy.parse("recall").param("min_gain") == 1
    assert str(spec.with_default(min_gain=3)) == "recall(min_gain=2)@5"
    assert str(sy.parse("recall@5").with_default(min_gain=3)) == "recall(min_gain=3)@5"
    assert str(sy.parse("ndcg@5").with_default(min_gain=3)) == "ndcg@5"


@pytest.mark.parametrize(
    ("text", "depth", "at_7"),
    [
        ("ndcg@10", 10, "ndcg@10"),
        ("ndcg", None, "ndcg@7"),
        ("iprec@0.5", None, "iprec@0.5"),
        ("bpref", None, "bpref"),
        ("f(beta=2)@3", 3, "f(beta=2)@3"),
    ],
)
def test_how_deep_a_measure_looks(text: str, depth: int | None, at_7: str) -> None:
    spec = sy.parse(text)
    assert spec.depth == depth
    assert depth is None or isinstance(spec.depth, int)
    assert str(spec.with_depth(7)) == at_7


def test_low_values_are_better_where_a_measure_counts_what_is_bad() -> None:
    lower = {definition.name for definition in builtin() if not definition.higher_is_better}
    assert lower == {
        "unjudged", "rbp_residual", "n_nonrelevant_retrieved", "contradiction", "noise_sensitivity", "hallucination",
        "self_knowledge", "misattribution", "deepeval.hallucination",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "direction"),
    [("latency_ms", "lower"), ("squared_error", "lower"), ("log_loss", "lower"), ("cost_usd", "lower"),
     ("recall", "higher"), ("clicks", "higher"), ("items", "higher")],
)  # fmt: skip
def test_a_name_says_which_values_are_better(name: str, direction: str) -> None:
    assert registry.direction_of(name) == direction


# A measure of one's own ----------------------------------------------------------------------------------------------


@pytest.fixture
def _own_registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Whatever is registered here is gone afterwards."""
    forget_afterwards(monkeypatch)
    return


@pytest.mark.usefixtures("_own_registry")
def test_a_measure_is_one_decorated_function() -> None:
    @sy.measure(source="this test", aliases=("last",), range=(0, np.inf), variants={"worst2": {"min_gain": 2.0}})
    def last_rank(a: Alignment, *, k: int | None = None, min_gain: float = 1.0) -> Floats:
        """Rank of the last relevant document among the first k."""
        last = np.zeros(a.n_queries)
        kept = (a.hit_gain >= min_gain) & (a.hit_rank <= (np.inf if k is None else k))
        np.maximum.at(last, a.hit_query[kept], a.hit_rank[kept])
        return last

    known = definition("last_rank")
    assert known in sy.definitions()
    assert (known.summary, known.cutoff, known.aggregate) == (
        "Rank of the last relevant document among the first k.",
        "k",
        "mean",
    )
    assert str(sy.parse("LAST@3")) == "last_rank@3"
    assert str(sy.parse("last_3")) == "last_rank@3"
    assert str(sy.parse("worst2")) == "last_rank(min_gain=2)"
    assert str(sy.parse("last_rank(pool=judged,min_gain=2)@3")) == "last_rank(min_gain=2,pool=judged)@3"
    run = {"q": ["x", "b", "c", "a"], "p": ["x"]}
    found = sy.evaluate({"q": {"a": 1, "b": 2}, "p": {"z": 1}}, run, ["last", "last@3", "last(pool=judged)"])
    assert found.values[0].tolist() == [[0, 4], [0, 2], [0, 2]]
    assert found.no_relevant.tolist() == [[[False, False]] * 3]


@pytest.mark.usefixtures("_own_registry")
def test_the_range_of_a_parameter_belongs_to_its_measure_not_to_its_name() -> None:
    @sy.measure(range=(0, np.inf))
    def powered(a: Alignment, *, p: float = 2.0, multiple: float = -1.0, gain: str = "cubic") -> Floats:
        return np.full(a.n_queries, p * multiple)

    run = {"q": ["a"]}
    assert sy.evaluate({"q": {"a": 1}}, run, "powered(p=3)").values.tolist() == [[[-3.0]]]
    assert sy.evaluate({"q": {"a": 1}}, run, "powered(p=3,multiple=-2)").values.tolist() == [[[-6.0]]]
    assert str(sy.parse("powered(gain=other)")) == "powered(gain=other)"
    with pytest.raises(sy.MeasureError, match="rbp: p must be a number between 0 and 1, both excluded, not 3"):
        sy.parse("rbp(p=3)")


@pytest.mark.usefixtures("_own_registry")
def test_a_measure_declares_what_its_parameters_take() -> None:
    @sy.measure(parameters={"depth": Number(at_least=1, whole=True, about="how deep"), "gain": GAIN["gain"],
                            "mode": Word(words=("fast", "slow"), spellings={"quick": "fast"})})  # fmt: skip
    def declared(a: Alignment, *, depth: int = 5, gain: str = "linear", mode: str = "slow") -> Floats:
        return np.full(a.n_queries, float(depth))

    assert str(sy.parse("declared(depth=7,mode=Quick,gain={2:5})")) == "declared(depth=7,gain={2:5},mode=fast)"
    assert about(definition("declared")).count("depth=5:") == 1
    assert "a whole number from 1; how deep" in about(definition("declared"))
    for text, message in {
        "declared(depth=1.5)": "declared: depth must be a whole number from 1, not 1.5",
        "declared(depth=0)": "declared: depth must be a whole number from 1, not 0",
        "declared(mode=medium)": "declared: mode must be fast or slow, not medium",
        "declared(depth=deep)": "declared: depth must be a whole number from 1, not deep",
    }.items():
        with pytest.raises(sy.MeasureError, match=re.escape(message)):
            sy.parse(text)


@pytest.mark.usefixtures("_own_registry")
def test_a_declaration_must_fit_its_function() -> None:
    def kernel(a: Alignment, *, weight: float = 2.0) -> Floats:
        return np.zeros(a.n_queries)

    def bare(a: Alignment, *, weight: float) -> Floats:
        return np.zeros(a.n_queries)

    with pytest.raises(sy.MeasureError, match="kernel declares 'wieght', but its function has no such"):
        sy.measure(parameters={"wieght": Number()})(kernel)
    with pytest.raises(sy.MeasureError, match="the default of weight must be a number below 1, not 2"):
        sy.measure(parameters={"weight": Number(below=1)})(kernel)
    with pytest.raises(sy.MeasureError, match="bare: parameter 'weight' has no default; give it one"):
        sy.measure()(bare)
    assert registry.resolve("kernel") is None


@pytest.mark.parametrize(
    ("number", "wanted"),
    [
        (Number(), "a number"),
        (Number(at_least=0), "a number of at least 0"),
        (Number(above=0, at_most=1e6), "a number above 0, at most 1000000"),
        (Number(below=2.5), "a number below 2.5"),
        (Number(at_least=-1, at_most=1), "a number between -1 and 1"),
        (Number(at_least=1, at_most=9, whole=True), "a whole number between 1 and 9"),
    ],
)
def test_the_words_for_a_range(number: Number, wanted: str) -> None:
    assert number.wanted == wanted
    assert number.problem(1.0) == ""
    assert number.problem(math.inf) == f"must be {wanted}, not inf"


@pytest.mark.parametrize("definition", builtin(), ids=lambda definition: definition.name)
def test_every_parameter_says_what_it_is(definition: Definition) -> None:
    for parameter in definition.parameters.values():
        assert parameter.about
        assert parameter.default is not None
        assert parameter.problem(parameter.default) == ""


@pytest.mark.usefixtures("_own_registry")
def test_a_measure_of_ones_own_may_be_better_low() -> None:
    @sy.measure()
    def rank_error(a: Alignment) -> Floats:
        return np.zeros(a.n_queries)

    @sy.measure("first_rank", direction="lower")
    def first(a: Alignment) -> Floats:
        return np.zeros(a.n_queries)

    assert [definition(name).direction for name in ("rank_error", "first_rank", "recall")] == [
        "lower",
        "lower",
        "higher",
    ]


@pytest.mark.usefixtures("_own_registry")
@pytest.mark.parametrize(
    ("name", "aliases", "variants"),
    [("ndcg", (), {}), ("NDCG", (), {}), ("mine", ("AP",), {}), ("mine", ("Mine",), {}), ("mine", (), {"P": {}}),
     ("mine", ("ours", "OURS"), {})],
)  # fmt: skip
def test_a_name_is_given_once(name: str, aliases: tuple[str, ...], variants: dict[str, dict[str, float]]) -> None:
    before = list(registry._definitions), registry._spellings.names()
    with pytest.raises(sy.MeasureError, match="is taken; choose another"):
        sy.measure(name, aliases=aliases, variants=variants)(lambda a: np.zeros(a.n_queries))
    assert (list(registry._definitions), registry._spellings.names()) == before


@pytest.mark.usefixtures("_own_registry")
def test_a_name_can_be_written_in_a_spec() -> None:
    """A name that no spec can spell must be refused when it is given, not when it is asked for."""
    with pytest.raises(sy.MeasureError):
        sy.measure("my measure (new)")(lambda a: np.zeros(a.n_queries))


def test_every_definition_says_what_and_whence() -> None:
    for each in builtin():
        assert each.summary.endswith("."), each.name
        assert each.source, each.name
        assert each.range[0] <= 0 < each.range[1], each.name


PERCENTILES = {
    "ndcg@10:p10": "ndcg@10:p10",
    "nDCG(dcg='exp-log2')@10 : p99.90": "ndcg(gain=exp)@10:p99.9",
    "P_5:p05": "precision@5:p5",
    "map:p50": "map:p50",
    "ndcg(gain={0:0,1:1,2:3})@10:p25": "ndcg(gain={0:0,1:1,2:3})@10:p25",
}


@pytest.mark.parametrize(("text", "want"), PERCENTILES.items())
def test_percentiles_print_and_parse_back(text: str, want: str) -> None:
    measure = sy.parse(text)
    assert str(measure) == want
    assert sy.parse(want) == measure
    assert str(measure.column) == want.rpartition(":")[0]
    assert measure.with_default(min_gain=2).share == measure.share == measure.aggregation.share
    assert not measure.aggregation.arithmetic


def test_a_column_of_numbers_has_percentiles_too() -> None:
    measure = measure_or_column("latency_ms:p95")
    assert (measure.name, measure.share, measure.definition.direction) == ("latency_ms", 0.95, "lower")
    assert measure.definition.is_time
    assert not measure_or_column("tokens:p95").definition.is_time
    assert measure_or_column("otel:latency").name == "otel:latency"


@pytest.mark.parametrize("text", ["ndcg@10:p0", "ndcg@10:p100", "latency_ms:p1.2.3"])
def test_impossible_percentiles_are_refused(text: str) -> None:
    with pytest.raises(sy.MeasureError, match="is no percentile; expected one such as p95, above p0 and below p100"):
        measure_or_column(text)


def test_a_percentile_of_what_no_measure_is_names_the_nearest() -> None:
    with pytest.raises(sy.MeasureError, match="no measure is called 'ncdg'; did you mean ndcg"):
        sy.parse("ncdg@10:p10")
