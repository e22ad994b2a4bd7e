"""Whatever a command prints, Python gets from the same call: no command knows anything that the library does not."""

import json
import shutil
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

import steelyard as sy
from steelyard.abtests.interleaving.runs import interleave_runs
from steelyard.bench.run.planning import plan_bench
from steelyard.cli.commands import COMMANDS
from steelyard.demo import copy_data
from steelyard.experiment.converting import convert
from steelyard.experiment.judging import judge_run, plan_judging
from steelyard.experiment.self_testing import SelfTestOptions
from steelyard.experiment.table.json import as_json
from steelyard.gates.profiles import Profile
from steelyard.history.confirm import confirm
from steelyard.history.difference import difference
from steelyard.history.listing import list_entries, show_entry
from steelyard.history.trend import trend
from steelyard.history.wear import wear
from steelyard.judges.judging import JudgeOptions
from steelyard.judges.people.review import Decision
from steelyard.rag.config import Config
from steelyard.rag.labelling import LabelOptions
from steelyard.rag.sweeping import sweep
from steelyard.rag.weighed_run import run_and_weigh
from steelyard.reports.formats.blocks import blocks_terminal
from steelyard.reports.formats.measures import measures_text
from steelyard.reports.formats.trec_eval import trec_eval_texts
from steelyard.reports.views.diagnosis import diagnosis_sections
from steelyard.reports.words import read_words
from steelyard.reviewing.calibrating import calibrate
from steelyard.reviewing.rounds import next_round
from steelyard.reviewing.systems import open_reviewed
from tests.abtests.interleaving.shared_pages import rows, write_log
from tests.abtests.simulated import write_experiment
from tests.cli.command import steelyard
from tests.judges.labelled import labelled, scored
from tests.reviewing import small as halls

pytest.importorskip("scipy", reason="comparisons and gates need the extra stats")

EN = read_words("en")
ASKED = "tests.bench.run.test_load_tests:answer"
TRUTH, RUNS = "pilot.jsonl", ["keyword.jsonl", "hybrid.jsonl"]
INTERACTIVE = {"chat", "comment", "demo", "init"}
"""Commands that talk with whoever runs them, and have no result."""

ON_A_STORE = {"ab register", "history accept", "history export", "history remove", "history tag"}
"""Commands that change a store or write files, and print one line; `test_history.py` and
`test_ab.py` try them."""

_LOOKED = datetime(2026, 11, 24).astimezone()
Call = Callable[[], str]


def _layout() -> sy.Experiment:
    return sy.analyse_experiment("layout.toml", "ab.jsonl")


def _of_store(function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    with sy.Store("history.db") as store:
        return function(store, *arguments, **options)


def _judged_text(format: str, *, save: str, **settings: float) -> str:
    names = "answers.jsonl", "run=answers.jsonl"
    run = judge_run(*names, "lexical", JudgeOptions(save=save, settings=settings))
    return run.text(format, lang="en", width=80)


def _pages() -> str:
    """Requests that show one of two documents by chance, and clicks on one of them."""
    shown = [
        {"type": "impression", "time": f"2026-11-02T00:{n}:00Z", "request": f"r{n}", "query": "q",
         "doc_ids": ["ab"[n % 2]], "propensities": [0.5]}
        for n in range(10, 50)
    ]  # fmt: skip
    clicks = [{**row, "type": "event", "kind": "click", "position": 1} for row in shown[::3]]
    return "".join(json.dumps(row) + "\n" for row in [*shown, *clicks])


def _pooled(sources: str = "halls=halls.jsonl", format: str = "table", **options: Any) -> str:
    """What pooling prints once the command has: the form may not be there any more."""
    form = Path("pooled", "form.html").read_bytes()
    shutil.rmtree("pooled")
    into = "quoted.jsonl" if options.get("task") == "quotes" else "grades.jsonl"
    pooled = sy.review.pool("halls.jsonl", [sources], "pooled", into, **options)
    assert pooled.form.read_bytes() == form
    shutil.rmtree("pooled")
    return pooled.text(format, lang="en", width=80)


def _sampled(folder: str, format: str = "table", **options: Any) -> str:
    """What sampling prints once the command has: nothing of it may be there any more."""
    form = (Path(folder) / "form.html").read_bytes()
    shutil.rmtree(folder)
    Path("here.json").unlink()
    sampled = sy.review.sample("halls.jsonl", "halls=halls.jsonl", folder, **options)
    assert sampled.form.read_bytes() == form
    shutil.rmtree(folder)
    Path("here.json").unlink()
    return sampled.text(format, lang="en", width=80)


CASES: dict[str, list[tuple[str, Call]]] = {
    "evaluate": [
        ("", lambda: sy.evaluate(TRUTH, RUNS).text(lang="en", width=80)),
        (
            "-m ndcg@10 -m P_5 --missing skip --no-relevant skip --min-gain 2 -q -f json",
            lambda: sy.evaluate(
                    TRUTH, RUNS, ["ndcg@10", "P_5"], missing="skip", no_relevant="skip", min_gain=2
                ).text("json", per_query=True),
        ),
        (
            "span.jsonl places.jsonl -m span_recall@1 --documents text.md --rule contains --steps lower -f csv",
            lambda: sy.evaluate(
                    "span.jsonl", "places.jsonl", "span_recall@1", documents="text.md", rule="contains", steps=["lower"]
                ).text("csv"),
        ),
        (
            "--cluster doc -f json",
            lambda: sy.evaluate(TRUTH, RUNS, cluster="doc").text("json"),
        ),
        (
            "pilot.jsonl keyword.jsonl both=keyword.jsonl,seed-*.jsonl -m mrr",
            lambda: sy.evaluate(
                    TRUTH, [Path("keyword.jsonl"), "both=keyword.jsonl,seed-1.jsonl,seed-2.jsonl"], "mrr"
                ).text(lang="en", width=80),
        ),
        (
            "a.qrels keyword.jsonl hybrid.jsonl --questions talks.jsonl --cluster talk",
            lambda: sy.evaluate("a.qrels", RUNS, questions="talks.jsonl", cluster="talk").text(lang="en", width=80),
        ),
        (
            "--profile faq",
            lambda: sy.evaluate(TRUTH, RUNS, Profile.read("faq").measures).text(lang="en", profile="faq", width=80),
        ),
    ],
    "agreement": [
        (
            "a.qrels b=c.qrels --reference b --min-gain 1 --runs keyword.jsonl --runs hybrid.jsonl --runs seed-1.jsonl "
            "--measure mrr -f json",
            lambda: sy.agreement(
                    ["a.qrels", "b=c.qrels"], reference="b", min_gain=1,
                    runs=["keyword.jsonl", "hybrid.jsonl", "seed-1.jsonl"], measure="mrr",
                ).text("json"),
        ),
        (
            "raters.csv --item a --item b --question q --raters ann,bob --categories no,yes --seed 3 "
            "--measurement-level nominal",
            lambda: sy.agreement(
                    "raters.csv", item=["a", "b"], question="q", raters=["ann", "bob"], categories=["no", "yes"],
                    measurement_level="nominal", seed=3,
                ).text(lang="en", width=80),
        ),
    ],
    "compare": [
        ("", lambda: sy.compare(sy.weigh(TRUTH, RUNS)).text(lang="en", width=80)),
        ("-f json", lambda: sy.compare(sy.weigh(TRUTH, RUNS)).text("json")),
        (
            "--missing skip --margin 0.02 --segments length --movers 2 --test randomization -f json",
            lambda: sy.compare(
                    sy.weigh(TRUTH, RUNS), missing="skip", margin=0.02, segments="length", movers=2,
                    test="randomization",
                ).text("json"),
        ),
        (
            "pilot.jsonl keyword.jsonl both=keyword.jsonl,seed-1.jsonl -m mrr -f json",
            lambda: sy.compare(
                    sy.weigh(
                        TRUTH,
                        {"keyword": "keyword.jsonl", "both": sy.Repeats(["keyword.jsonl", Path("seed-1.jsonl")])},
                    ),
                    measures="mrr",
                ).text("json"),
        ),
        (
            "--cluster doc --margin 0.05",
            lambda: sy.compare(sy.weigh(TRUTH, RUNS, cluster="doc"), margin=0.05).text(lang="en", width=80),
        ),
        (
            "a.qrels keyword.jsonl hybrid.jsonl --questions pilot.jsonl --segments language -f json",
            lambda: sy.compare(sy.weigh("a.qrels", RUNS, questions="pilot.jsonl"), segments="language").text("json"),
        ),
    ],
    "plan": [
        (
            "pilot.jsonl keyword.jsonl hybrid.jsonl --difference 0.05",
            lambda: sy.plan(sy.weigh(TRUTH, RUNS), difference=0.05).text(lang="en", width=80),
        ),
        (
            "pilot.jsonl hybrid.jsonl -m mrr --difference 0.1 --power .9 --n-systems 4 --missing skip -f json",
            lambda: sy.plan(
                    sy.weigh(TRUTH, RUNS[1:]), measures="mrr", difference=0.1, power=0.9, n_systems=4, missing="skip"
                ).text("json"),
        ),
        (
            "pilot.jsonl keyword.jsonl hybrid.jsonl --difference 0.05 --cluster doc",
            lambda: sy.plan(sy.weigh(TRUTH, RUNS, cluster="doc"), difference=0.05).text(lang="en", width=80),
        ),
        (
            "--labels 0.1 --sensitivity 0.9 --specificity 0.8 --supported 0.7 -f json",
            lambda: sy.plan(labels=0.1, sensitivity=0.9, specificity=0.8, supported=0.7).text("json"),
        ),
        ("--sd 0.25 --difference 0.05 -f csv", lambda: sy.plan(difference=0.05, sd=0.25).text("csv")),
    ],
    "diagnose": [
        ("-v", lambda: blocks_terminal(diagnosis_sections(sy.diagnose(sy.weigh(TRUTH, RUNS)), EN), width=80)),
        ("", lambda: sy.diagnose(TRUTH, RUNS).text(lang="en", width=80)),
        (
            "-m mrr@7 -k 3 --baseline hybrid --min-gain 2 -f json",
            lambda: sy.diagnose(sy.weigh(TRUTH, RUNS), k=3, measure="mrr@7", baseline="hybrid", min_gain=2).text(
                "json", lang="en"
            ),
        ),
    ],
    "judge": [
        (
            "answers.jsonl run=answers.jsonl --into v.parquet --threshold 0.5",
            lambda: _judged_text("table", save="v.parquet", threshold=0.5),
        ),
        (
            "answers.jsonl run=answers.jsonl --dry-run --tables support,joint -f json --into v.parquet",
            lambda: plan_judging(
                "answers.jsonl", "run=answers.jsonl", options=JudgeOptions(tables=["support", "joint"])
            ).text(
                "json", lang="en"
            ),
        ),
    ],
    "selftest": [
        ("-n 20 --seed 3", lambda: sy.self_test(n=20, seed=3).text(lang="en", width=80)),
        (
            "answers.jsonl run=answers.jsonl --threshold 0.5 --dry-run -f json",
            lambda: SelfTestOptions().plan("lexical", "answers.jsonl", "run=answers.jsonl").text("json", lang="en"),
        ),
    ],
    "review sample": [
        (
            "halls.jsonl halls=halls.jsonl -n 5 -o asked --labels here.json",
            lambda: _sampled("asked", n=5, labels="here.json"),
        ),
        (
            "halls.jsonl halls=halls.jsonl --width 0.5 -o asked --labels halls=here.json --table said --seed 3 "
            "--whole-answers --title Halls --instructions text.md --lang zh -f json",
            lambda: _sampled(
                "asked", "json", width=0.5, labels={"halls": "here.json"}, table="said", seed=3, whole_answers=True,
                title="Halls", instructions="A few words.", lang="zh",
            ),
        ),
    ],
    "review pool": [
        (
            "halls.jsonl halls=halls.jsonl -n 5 -o pooled --into grades.jsonl --scale 0-3 --depth 2 --seed 3",
            lambda: _pooled(n=5, scale="0-3", depth=2, seed=3),
        ),
        (
            "halls.jsonl text.md -o pooled --into quoted.jsonl --task quotes --unit document -f json --title Gold "
            "--instructions text.md --lang zh",
            lambda: _pooled(
                "text.md", "json", task="quotes", unit="document", title="Gold", instructions="A few words.", lang="zh"
            ),
        ),
    ],
    "logs check": [
        ("traffic.jsonl", lambda: sy.check_logs("traffic.jsonl").text(lang="en", width=80)),
        (
            "traffic.jsonl --timezone Asia/Shanghai -f json",
            lambda: sy.check_logs(["traffic.jsonl"], timezone="Asia/Shanghai").text("json", lang="en"),
        ),
    ],
    "logs convert": [
        (
            "traffic.jsonl -o logs.parquet",
            lambda: sy.convert_logs("traffic.jsonl", "logs.parquet").text(lang="en", width=80),
        ),
        (
            "traffic.jsonl -o logs.parquet --timezone Asia/Shanghai --pseudonymise -f json",
            lambda: sy.convert_logs(
                ["traffic.jsonl"], "logs.parquet", timezone="Asia/Shanghai", pseudonymise=True
            ).text("json", lang="en"),
        ),
    ],
    "questions from-logs": [
        (
            "traffic.jsonl -o drawn.jsonl -n 3",
            lambda: sy.questions_from_logs("traffic.jsonl", n=3, save="drawn.jsonl").text(lang="en", width=80),
        ),
        (
            "traffic.jsonl -o drawn.jsonl -n 2 --seed 3 --pseudonymise -f json",
            lambda: sy.questions_from_logs(
                    ["traffic.jsonl"], n=2, seed=3, pseudonymise=True, save="drawn.jsonl"
                ).text("json", lang="en"),
        ),
    ],
    "review import": [
        (
            "review/ann.json review/bob.json --into labels.json",
            lambda: sy.review.import_labels(["review/ann.json", "review/bob.json"], into="labels.json").text(
                lang="en", width=80
            ),
        ),
        (
            "review/items.json review/ann.json --into labels.json -f json",
            lambda: sy.review.import_labels("review/ann.json", into="labels.json").text("json", lang="en"),
        ),
    ],
    "history confirm": [
        ("latest --store history.db", lambda: _of_store(confirm, "latest").text(lang="en", width=80)),
        (
            "latest --against tag=old -m mrr --system hybrid --store history.db -f markdown",
            lambda: _of_store(confirm, "latest", against="tag=old", measure="mrr", system="hybrid").text(
                "markdown", lang="en"
            ),
        ),
    ],
    "history diff": [
        (
            "tag=old latest --store history.db",
            lambda: _of_store(difference, "tag=old", "latest").text(lang="en", width=80),
        ),
        (
            "latest tag=old -m mrr --margin 0.1 --store history.db -f html",
            lambda: _of_store(
                difference, "latest", "tag=old", measures=["mrr"], margin=0.1
            ).text("html", lang="en"),
        ),
    ],
    "history list": [
        ("--store history.db", lambda: _of_store(list_entries).text(lang="en", width=80)),
        (
            "--kind scores --tag old --since 2020-05-01 -m mrr -n 1 --store history.db -f json",
            lambda: _of_store(
                    list_entries, kind="scores", tag="old", since="2020-05-01", measure="mrr", n=1
                ).text("json"),
        ),
    ],
    "history show": [
        ("latest --store history.db", lambda: _of_store(show_entry, "latest").text(lang="en", width=80)),
        ("tag=old --store history.db -f json", lambda: _of_store(show_entry, "tag=old").text("json")),
    ],
    "monitor": [
        ("watch.toml --as-of 2026-11-24", lambda: sy.monitor("watch.toml", now=_LOOKED).text(lang="en", width=80)),
        (
            "watch.toml --as-of 2026-11-24 -f json",
            lambda: sy.monitor("watch.toml", now=_LOOKED).text("json", lang="en"),
        ),
    ],
    "ab plan": [
        (
            "--metric ctr --difference 5% --baseline 0.2 --users-per-day 900 --start 2026-12-07",
            lambda: sy.plan_experiment(
                metric="ctr", difference="5%", baseline=0.2, users_per_day=900, start="2026-12-07"
            ).text(lang="en", width=80),
        ),
        (
            "--metric value --difference 2 --baseline 40 --users-per-day 900 --sd 30 --split now=80/next=20"
            " --alpha 0.01 --power 0.9 --analysis always-valid --before 7d --unit session --name v2 --start 2026-12-07"
            " --timezone Asia/Shanghai -f json",
            lambda: sy.plan_experiment(
                metric="value", difference=2, baseline=40, users_per_day=900, sd=30, split={"now": 80, "next": 20},
                alpha=0.01, power=0.9, analysis="always-valid", before="7d", unit="session", name="v2",
                start="2026-12-07", timezone="Asia/Shanghai",
            ).text("json", lang="en"),
        ),
        (
            "--metric ctr --from ab.jsonl --difference 80% --guardrail latency_ms=50% --start 2026-12-07 -f toml",
            lambda: sy.plan_experiment(
                "ab.jsonl", metric="ctr", difference="80%", guardrails={"latency_ms": "50%"}, start="2026-12-07"
            ).text("toml", lang="en"),
        ),
    ],
    "offpolicy": [
        ("pages.jsonl --policy uniform", lambda: sy.off_policy("pages.jsonl", "uniform").text(lang="en", width=80)),
        (
            "pages.jsonl --policy other.csv -m click -k 1 --clip 3 -f json",
            lambda: sy.off_policy("pages.jsonl", "other.csv", metric="click", k=1, clip=3.0).text("json"),
        ),
    ],
    "history trend": [
        ("--store history.db", lambda: _of_store(trend).text(lang="en", width=80)),
        (
            "-m recall@5 -m mrr --system hybrid --since 2020-05-01 --false-alarms 0.1 --store history.db -f json",
            lambda: _of_store(
                    trend, ["recall@5", "mrr"], system="hybrid", since="2020-05-01", false_alarms=0.1
                ).text("json"),
        ),
        ("--store history.db -f html", lambda: _of_store(trend).text("html", lang="en")),
    ],
    "history wear": [
        ("--store history.db", lambda: _of_store(wear).text(lang="en", width=80)),
        ("-m mrr --store history.db -f csv", lambda: _of_store(wear, "mrr").text("csv")),
    ],
    "review report": [
        (
            "halls.jsonl halls=halls.jsonl --labels decided.json",
            lambda: sy.review.report("halls.jsonl", "halls=halls.jsonl", labels="decided.json").text(
                lang="en", width=80
            ),
        ),
        (
            "halls.jsonl halls=halls.jsonl --labels decided.json -m faithfulness -m hallucination --seed 3 -f html "
            "--examples text.md",
            lambda: sy.review.report(
                    "halls.jsonl", "halls=halls.jsonl", ["faithfulness", "hallucination"], labels="decided.json",
                    seed=3, examples=["A few words."],
                ).text("html", lang="en"),
        ),
    ],
    "review calibrate": [
        (
            "halls.jsonl halls=halls.jsonl --labels decided.json",
            lambda: sy.review.calibrate("halls.jsonl", "halls=halls.jsonl", labels="decided.json").text(
                lang="en", width=80
            ),
        ),
        (
            "halls.jsonl halls=halls.jsonl --labels decided.json --min-precision 0.9 --seed 3 -f markdown "
            "-o calibration.json --examples text.md",
            lambda: sy.review.calibrate(
                    "halls.jsonl", "halls=halls.jsonl", labels="decided.json", min_precision=0.9, seed=3,
                    examples=["A few words."],
                ).text("markdown", lang="en"),
        ),
    ],
    "label": [
        (
            "answers.jsonl run=answers.jsonl -o grades.jsonl --scale 0-3 --depth 5",
            lambda: sy.label("answers.jsonl", "run=answers.jsonl", scale="0-3", depth=5).text(
                lang="en", file="grades.jsonl", width=80
            ),
        ),
        (
            "answers.jsonl run=answers.jsonl -o other.jsonl --dry-run -f json",
            lambda: LabelOptions().plan("answers.jsonl", "run=answers.jsonl").text("json", lang="en"),
        ),
    ],
    "export": [
        (
            "answers.jsonl run=answers.jsonl --to ragas -m faithfulness",
            lambda: sy.export("answers.jsonl", "run=answers.jsonl", "ragas", measures="faithfulness").text,
        ),
    ],
    "report": [
        ("", lambda: sy.report(sy.weigh(TRUTH, RUNS)).text(lang="en", width=80)),
        (
            "--cluster doc",
            lambda: sy.report(sy.weigh(TRUTH, RUNS, cluster="doc")).text(lang="en", width=80),
        ),
        (
            "-m mrr@10 --profile faq --margin 0.1 -k 3 --alpha 0.1",
            lambda: sy.report(TRUTH, RUNS, "mrr@10", profile="faq", margin=0.1, k=3, alpha=0.1).text(
                lang="en", width=80
            ),
        ),
    ],
    "gate": [
        (
            "--calibration judge.json --min-kappa 0.9 --max-below-people 0.1 --lang en",
            lambda: sy.gate(calibration="judge.json", min_kappa=0.9, max_below_people=0.1).text(lang="en", width=80),
        ),
        ("scores.json -p production", lambda: sy.gate("scores.json", profile="production").text(lang="en", width=80)),
        (
            "clustered.json --cluster talk --baseline keyword --margin 0.2",
            lambda: sy.gate("clustered.json", cluster="talk", baseline="keyword", margin=0.2).text(lang="en", width=80),
        ),
        (
            "scores.json --baseline keyword --margin 0.01 --max-missing 0.1",
            lambda: sy.gate("scores.json", baseline="keyword", margin=0.01, max_missing=0.1).text(lang="en", width=80),
        ),
    ],
    "ab analyse": [
        ("layout.toml ab.jsonl", lambda: _layout().text(lang="en", width=80)),
        ("layout.toml ab.jsonl -f json", lambda: _layout().text("json", lang="en")),
        ("layout.toml ab.jsonl -f html", lambda: _layout().text("html", lang="en")),
    ],
    "ab assign": [
        (
            "a-salt u1 u2 u3 --split old=9/new=1",
            lambda: "".join(
                f"{unit}\t{sy.assign('a-salt', unit, {'old': 0.9, 'new': 0.1})}\n" for unit in ("u1", "u2", "u3")
            ),
        ),
    ],
    "interleave build": [
        (
            "keyword.jsonl new=hybrid.jsonl -o pages.jsonl -k 5 --salt a-salt",
            lambda: interleave_runs(["keyword.jsonl", "new=hybrid.jsonl"], "pages.jsonl", k=5, salt="a-salt").text(
                    lang="en", width=80
                ),
        ),
        (
            "keyword.jsonl hybrid.jsonl --method probabilistic -f json",
            lambda: interleave_runs(["keyword.jsonl", "hybrid.jsonl"], method="probabilistic").text("json"),
        ),
    ],
    "interleave analyse": [
        ("shared.jsonl", lambda: sy.analyse_interleaving("shared.jsonl").text(lang="en", width=80)),
        (
            "shared.jsonl --baseline old --credit dwell --analysis always-valid --planned-units 500 --alpha 0.1 "
            "-f json",
            lambda: sy.analyse_interleaving(
                    "shared.jsonl", baseline="old", credit="dwell", analysis="always-valid", planned_units=500,
                    alpha=0.1,
                ).text("json"),
        ),
    ],
    "measures": [("", lambda: measures_text(width=80)), ("P_5", lambda: measures_text("P_5", width=80))],
    "trec-eval": [
        ("-m map -q a.qrels a.run", lambda: "".join(trec_eval_texts("a.qrels", "a.run", ["map"], per_query=True))),
        (
            "-c -J -M 5 -l 2 a.qrels a.run",
            lambda: "".join(trec_eval_texts("a.qrels", "a.run", complete=True, judged_only=True, depth=5, min_gain=2)),
        ),
    ],
    "convert": [
        ("hybrid.jsonl hybrid.run", lambda: f"hybrid.run: {convert('hybrid.jsonl', 'hybrid.run')}\n"),
        ("pilot.jsonl b.qrels", lambda: f"b.qrels: {convert('pilot.jsonl', 'b.qrels')}\n"),
    ],
    "run": [
        ("bm25.toml", lambda: run_and_weigh(Config.read("bm25.toml")).text(lang="en", width=80)),
        (
            "bm25.toml -m recall@3 -m mrr@3 --cluster doc",
            lambda: run_and_weigh(Config.read("bm25.toml"), measures=["recall@3", "mrr@3"], cluster="doc").text(
                lang="en", width=80
            ),
        ),
    ],
    "sweep": [
        ("sweep.toml", lambda: sweep(Config.read("sweep.toml")).text(lang="en", width=80)),
        (
            "sweep.toml -m recall --holdout --seed 2 --cluster doc -f json",
            lambda: sweep(Config.read("sweep.toml"), measures=["recall"], cluster="doc", holdout=True, seed=2).text(
                "json", lang="en", seed=2
            ),
        ),
    ],
    "bench load": [
        (
            f"{ASKED} --questions pilot.jsonl --rate 50 --duration 0.2 --warm-up 0 --slo p95=1s -o loaded --lang en",
            lambda: sy.load_test(
                    ASKED, questions="pilot.jsonl", rate=50, duration=0.2, warm_up=0, slo={"p95": 1}, folder="loaded"
                ).text(lang="en", width=80),
        ),
    ],
    "bench rerank": [
        (
            "bench.toml -o benched --lang en",
            lambda: sy.bench_rerankers("bench.toml", folder="benched").text(lang="en", width=80),
        ),
        (
            "bench.toml --dry-run -o planned --overwrite",
            lambda: plan_bench("bench.toml", folder="planned", overwrite=True).text(lang="en", width=80),
        ),
    ],
}  # fmt: skip
_BENCH = """
truth = "pilot.jsonl"
candidates = "hybrid.jsonl"
documents = "documents"
depths = [3]
repetitions = 1
systems.words.rerank = "lexical"
"""
ON_RUNS = ("evaluate", "compare", "diagnose", "report")
ON_CONFIGURATIONS = ("run", "sweep")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    demo = copy_data(tmp_path_factory.mktemp("same") / "data")
    convert(demo / "pilot.jsonl", demo / "a.qrels")
    convert(demo / "hybrid.jsonl", demo / "a.run")
    grades = (demo / "a.qrels").read_text("utf-8").splitlines()
    (demo / "c.qrels").write_text("".join(f"{row[:-1]}{n % 3}\n" for n, row in enumerate(grades)))
    said = "".join(f"{n},{n // 2},{n // 3},{'no' if n % 4 else 'yes'},{'yes' if n % 5 else 'no'}\n" for n in range(40))
    (demo / "raters.csv").write_text(f"a,b,q,ann,bob\n{said}")
    scores = sy.evaluate(demo / TRUTH, [demo / run for run in RUNS], ["recall@5", "precision@5", "mrr"])
    (demo / "span.jsonl").write_text('{"qid": "q", "evidence": [{"doc": "text", "start": 2, "end": 6}]}\n')
    (demo / "places.jsonl").write_text(
        '{"qid": "q", "retrieved": [{"id": "c", "doc": "text", "start": 0, "end": 4}]}\n'
    )
    (demo / "text.md").write_text("A few words.")
    asked = "".join(
        json.dumps({"time": f"2026-11-01T0{n}:00:00Z", "request": f"r{n}", "query": query, "doc_ids": ["d"]}) + "\n"
        for n, query in enumerate(["hours", "Hours?", "call 415-555-2671", "café", "map", "lifts"])
    )
    (demo / "traffic.jsonl").write_text(asked)
    write_experiment(demo)
    write_log(demo / "shared.jsonl", **rows(1))
    (demo / "pages.jsonl").write_text(_pages())
    (demo / "other.csv").write_text("query,doc_id,probability\nq,a,0.9\nq,b,0.1\n")
    (demo / "watch.toml").write_text('logs = "traffic.jsonl"')
    lines = [json.loads(line) for line in (demo / TRUTH).read_text("utf-8").splitlines()]
    talks = "".join(json.dumps({**line, "talk": q // 3}) + "\n" for q, line in enumerate(lines))
    (demo / "talks.jsonl").write_text(talks, "utf-8")
    by_talk = sy.evaluate(demo / "talks.jsonl", [demo / run for run in RUNS], ["recall@5", "mrr"], cluster="talk")
    for seed in (1, 2):
        lines = [json.loads(line) for line in (demo / RUNS[0]).read_text("utf-8").splitlines()]
        for line in lines[::seed]:
            line["retrieved"] = line["retrieved"][::-1]
        (demo / f"seed-{seed}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    (demo / "clustered.json").write_text(as_json(by_talk), encoding="utf-8")
    (demo / "sweep.toml").write_text((demo / "bm25.toml").read_text("utf-8") + "\n[sweep]\nk = [2, 5]\n", "utf-8")
    answer = {"retrieved": [{"id": "h#1", "text": "It opens at 9."}], "answer": "It opens at 9 [h#1]. It has a café."}
    (demo / "answers.jsonl").write_text(json.dumps({"qid": "q", "query": "When?", **answer}) + "\n", "utf-8")
    (demo / "scores.json").write_text(as_json(scores), encoding="utf-8")
    with sy.Store(demo / "history.db") as store:
        for run, tag in zip(RUNS, ("old", "new"), strict=True):
            store.add(sy.evaluate(demo / TRUTH, demo / run, ["recall@5", "mrr"], hold_out=0.3), tags=[tag])
    (demo / "bench.toml").write_text(_BENCH)
    verdicts = scored([0.1, 0.4, 0.6, 0.9] * 8)
    calibrate(verdicts, labelled(verdicts, [False, True, True, True] * 8), date="d").write(demo / "judge.json")
    _write_review(demo)
    return demo


def _write_review(demo: Path) -> None:
    """Answers of halls, what two people saved from a form about them, and a review with labels of one."""
    outputs = halls.outputs(range(0, 12, 3))
    lines = [
        {**asked, "gold_answer": asked["answer"], **line} for asked, line in zip(halls.QUESTIONS, outputs, strict=True)
    ]
    (demo / "halls.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    _, systems = open_reviewed(str(demo / "halls.jsonl"), f"halls={demo / 'halls.jsonl'}")
    round = next_round(systems, "grounded", n=24)
    review = sy.Review(round.systems[0].review.samples)
    review.write(demo / "labels.json")
    form = halls.written_items(round, demo / "review", demo / "labels.json")
    halls.saved(demo / "review", form, "ann", ["supported"] * 5, name="ann")
    halls.saved(demo / "review", form, "bob", ["supported", "not_found"], name="bob")
    # What is taken in once more is the same for the command and for Python.
    sy.review.import_labels([demo / "review" / "ann.json", demo / "review" / "bob.json"], into=demo / "labels.json")
    decisions = [
        Decision(own.item.item_id, "ann", "not_found" if "19" in own.unit.text else "supported") for own in round.asked
    ]
    review.with_decisions(decisions).write(demo / "decided.json")


def _run_once(folder: Path) -> None:
    """Finish the runs, so that the times that are printed are those of one run."""
    pytest.importorskip("bm25s", reason="pipelines need the extra rag")
    run_and_weigh(Config.read(folder / "bm25.toml"))
    sweep(Config.read(folder / "sweep.toml"))


@pytest.mark.parametrize(
    ("command", "arguments", "call"),
    [
        pytest.param(name, arguments, call, id=f"{name} {arguments}")
        for name, cases in CASES.items()
        for arguments, call in cases
    ],
)
def test_a_command_prints_what_python_gets(
    command: str, arguments: str, call: Call, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("STEELYARD_PSEUDONYM_KEY", "a key of the tests, long enough")
    if command in ON_CONFIGURATIONS:
        _run_once(folder)
    inputs = [TRUTH, *RUNS] if command in ON_RUNS and arguments[:1] in ("", "-") else []
    done = steelyard(*command.split(), *inputs, *arguments.split(), environment={"LC_ALL": "C.UTF-8"})
    assert done.returncode in ((0, 1, 3) if command in ("ab analyse", "gate", "monitor") else (0,)), (
        done.stderr.decode()
    )
    printed, _, following = done.stdout.decode().partition("Next: ")
    assert printed == call()
    assert following.count("\n") == bool(following)


def test_every_command_is_compared() -> None:
    assert COMMANDS.keys() - INTERACTIVE - ON_A_STORE == set(CASES)
