"""Options are declared once: Python, the command line and the help have the same, and the same result."""

import json
from argparse import SUPPRESS
from pathlib import Path
from typing import Annotated, Any, Required, get_args, get_origin, get_type_hints

import pytest

import steelyard as sy
from steelyard.base import options
from steelyard.base.options import VERBS, hints_of, options_of
from steelyard.cli.commands import COMMANDS
from steelyard.demo import copy_data
from tests.cli.command import printed

KEYWORDS = {
    "evaluate": options.WeighKeywords, "compare": options.CompareKeywords, "plan": options.PlanKeywords,
    "diagnose": options.DiagnoseKeywords, "report": options.ReportKeywords, "gate": options.GateKeywords,
}  # fmt: skip
TRUTH = {f"q{i}": {"d": 1} for i in range(8)}
RUNS = {"a": {q: ["x", "d"] for q in [*TRUTH][:6]}, "b": {q: ["d", "x"] if q < "q4" else ["x"] for q in TRUTH}}
LENIENT = ["--missing", "skip", "--no-relevant", "skip"]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_data(tmp_path_factory.mktemp("demo") / "data")


def plain(hint: Any) -> Any:
    """A type without limits, which keywords leave to the declaration."""
    if get_origin(hint) in (Annotated, Required):
        return plain(get_args(hint)[0])
    members = get_args(hint)
    return {plain(member) for member in members} if type(None) in members else hint


@pytest.mark.parametrize("verb", VERBS)
def test_keywords_are_those_that_are_declared(verb: str) -> None:
    declared = {name: hint for kind in VERBS[verb] for name, hint in hints_of(kind).items() if name != "SCORING"}
    if verb == "gate":
        del declared["profile"]  # A parameter of its own.
    keywords = get_type_hints(KEYWORDS[verb], include_extras=True)
    assert {name: plain(hint) for name, hint in keywords.items()} == {name: plain(declared[name]) for name in declared}


@pytest.mark.parametrize("verb", VERBS)
def test_python_and_the_command_line_have_the_same_options(verb: str) -> None:
    declared = {name for name, *_ in options_of(*VERBS[verb])}
    given = {item.settings["dest"] for item in COMMANDS[verb].arguments if item.settings.get("default") is SUPPRESS}
    assert given - {"no_labels"} == declared
    function = getattr(sy, verb)
    assert all(f"\n    {name}: " in (function.__doc__ or "") for name in declared)


def test_a_comparison_and_a_report_leave_out_the_same_questions(demo: Path) -> None:
    runs = ("pilot.jsonl", "keyword.jsonl", "hybrid.jsonl", "-m", "mrr", *LENIENT)
    comparison = json.loads(printed("compare", *runs, "-f", "json", cwd=demo))
    printed("report", *runs, "-o", "report.json", cwd=demo)
    report = json.loads((demo / "report.json").read_text())
    assert report["comparison"]["measures"]["mrr"] == comparison["measures"]["mrr"]
    assert "missing:skip; no_relevant:skip" in printed("compare", *runs, "-v", cwd=demo).replace("\n", " ")


def test_a_weighing_keeps_the_options_of_counting() -> None:
    weighing = sy.weigh(TRUTH, RUNS, missing="skip", min_gain=1)
    assert weighing.scores("mrr").recipe == sy.evaluate(TRUTH, RUNS, "mrr", missing="skip", min_gain=1).recipe
    assert sy.compare(weighing, measures="mrr").frame.equals(
        sy.compare(TRUTH, RUNS, "mrr", missing="skip", min_gain=1).frame
    )
    assert sy.compare(weighing, measures="mrr", missing="zero", min_gain=1).frame.equals(
        sy.compare(TRUTH, RUNS, "mrr").frame
    )


SCORES, WEIGHING = sy.evaluate(TRUTH, RUNS, "mrr"), sy.weigh(TRUTH, RUNS)
BARE = SCORES.filter(systems=SCORES.systems)


def damaged_parts() -> dict[str, Any]:
    """A report with a field that no class of ours has."""
    parts = sy.report(TRUTH, RUNS, "mrr", date="2026-01-01").parts()
    parts["scores"]["extra"] = 1
    return parts


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sy.compare("q.qrels"), r"q.qrels: .*; .* name one run or several behind it: sy.compare\("),
        (lambda: sy.compare(sy.compare(SCORES)), "was given a Comparison; call sy.compare(truth,"),
        (lambda: sy.compare(SCORES, "mrr"), "was given Scores, which holds its runs, and 'mrr'; name other arguments"),
        (
            lambda: sy.compare(WEIGHING, rule="any"),
            r"rule says how runs are evaluated, and these are already; call sy.weigh\(",
        ),
        (lambda: sy.compare(SCORES, missing="skip"), "missing needs rankings, and these are scores"),
        (
            lambda: sy.diagnose(BARE),
            "diagnose needs rankings, and was given Scores without them.*sy.diagnose.truth, runs.",
        ),
        (lambda: sy.report(BARE), "report needs rankings, and was given Scores without them.*sy.report.truth, runs."),
        (lambda: sy.rate("q.txt", "faq"), r"rate takes Scores, and was given 'q.txt'; call sy.rate\(sy.evaluate\("),
        (lambda: sy.gate(TRUTH), r"a dict holds judged documents and no results; .*: sy.gate(truth, runs"),
        (lambda: sy.gate(sy.diagnose(WEIGHING)), "and was given a Diagnosis"),
        (lambda: sy.weigh(SCORES, RUNS), "weigh takes a truth and runs, and was given Scores"),
        (lambda: sy.evaluate(TRUTH, RUNS, rul="any"), "weigh has no option 'rul'; did you mean rule?"),  # type: ignore[call-arg]
        (lambda: sy.evaluate(TRUTH, RUNS, missing="no"), "missing must be 'zero' or 'skip', not 'no'"),  # type: ignore[arg-type]
        (lambda: sy.evaluate(TRUTH, RUNS, steps="lower"), "steps must be a list of texts, not 'lower'"),
        (lambda: sy.compare(TRUTH, RUNS, movers=-1), "movers must be a whole number from 0, not -1"),
        (lambda: sy.gate(SCORES, profile="faq", max_failed=2), "max_failed must be a share from 0 to 1"),
        (lambda: sy.Report(TRUTH, [RUNS]), "a Report holds what was computed; call sy."),
        (lambda: sy.Report.from_parts(damaged_parts()), "a Scores was written by another Steelyard .*'extra'"),
        (lambda: sy.evaluate({"q": ["a"]}, {"q": ["a", "a"]}, "mrr"), r"--on-duplicate first \(on_duplicate="),
        (lambda: sy.diagnose({"q": {"a": 0}}, {"q": ["a"]}, no_relevant="skip"), "no question is left"),
        (lambda: sy.gate(SCORES, profile=3), "a profile is the name of one"),  # type: ignore[arg-type]
    ],
)
def test_the_wrong_kind_of_thing_is_named_with_the_call_that_works(call: Any, message: str) -> None:
    with pytest.raises(sy.InputError, match=message.replace("(truth,", r"\(truth,")):
        call()


def test_every_verb_takes_a_truth_and_runs() -> None:
    assert sy.gate(TRUTH, RUNS, profile="ratings", min_questions=1).systems == ["a", "b"]
    assert sy.gate(WEIGHING, profile="ratings").frame.equals(sy.gate(TRUTH, RUNS, profile="ratings").frame)
    assert sy.diagnose(TRUTH, RUNS).frame.equals(sy.diagnose(WEIGHING).frame)
    assert sy.plan(TRUTH, RUNS, "mrr", difference=0.1).sd == sy.plan(SCORES, difference=0.1).sd


def test_a_whole_spec_is_no_name() -> None:
    with pytest.raises(sy.MeasureError, match=r"'ndcg@10' is a spec, and no name; call sy.parse\('ndcg@10'\)"):
        sy.Measure("ndcg@10")
    assert str(sy.Measure("ndcg", 10)) == "ndcg@10"
    assert str(sy.Measure("cost@home")) == "cost@home"


def test_a_diagnosis_counts_the_questions_that_scores_count() -> None:
    plain = sy.diagnose(TRUTH, RUNS, measure="ndcg@5")
    skipping = sy.diagnose(TRUTH, RUNS, measure="ndcg@5", missing="skip")
    assert (plain.funnels[0].n_queries, skipping.funnels[0].n_queries) == (8, 6)
    kept = {q: labels for q, labels in TRUTH.items() if q in RUNS["a"]}
    assert skipping.frame.equals(sy.diagnose(kept, RUNS, measure="ndcg@5").frame)
    compared = sy.compare(TRUTH, RUNS, "ndcg@5", missing="skip").frame.sort("system")["mean"].to_list()
    assert skipping.ceilings.reached[:, 0].tolist() == pytest.approx(compared)
    assert sy.report(TRUTH, RUNS, "ndcg@5", missing="skip").diagnosis.frame.equals(skipping.frame)
