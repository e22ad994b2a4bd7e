"""The commands as data: what `steelyard --help` shows of them, and which arguments they take."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import get_args

from steelyard.base import defaults
from steelyard.base.choices import (
    Analysis,
    AnswerUnits,
    Credit,
    EntryFormat,
    InterleavingMethod,
    Language,
    PoolTask,
    Prefer,
    Scale,
    Unit,
    UnitKind,
)
from steelyard.base.options import VERBS
from steelyard.cli import (
    ab,
    benches,
    history,
    init,
    interleave,
    judges,
    logs,
    monitor,
    offpolicy,
    options,
    pipelines,
    questions,
    runs,
    trec_eval,
)
from steelyard.cli.parser import Command, argument, declared, flag, names, repeated

_LOGS = argument(
    "logs", nargs="+", reads=True,
    help="Logs: files (JSONL, CSV, Parquet) and folders of them, as `steelyard logs check` reads them.",
)  # fmt: skip
_SPLIT = argument(
    "--split", default="50/50", help="Weights of the arms, 90/10 or 1/1/1; or with names, control=90/new=10."
)
_TIMEZONE = argument("--timezone", default="UTC", help="Of times without an offset, such as Asia/Shanghai.")

COMMANDS = {
    "evaluate": Command(
        "Evaluate runs by a truth: judged documents, or questions with gold evidence.",
        [
            options.TRUTH, options.RUNS_OR_NONE, options.MEASURES,
            flag("--per-query", "-q", help="Show the value of every question too."), options.PROFILE,
            options.FORMAT, options.OUTPUT, options.SAFE_CSV, *declared(*VERBS["evaluate"]),
            *options.RECORDED, *options.SHOWN,
        ],
        runs.evaluate, "steelyard.experiment.door.evaluation:evaluate", "steelyard.experiment.table.scores:Scores",
    ),
    "judge": Command(
        "Judge the answers of a system: which sentences do its sources support?",
        [
            options.QUESTIONS,
            argument(
                "outputs", nargs="?", reads=True,
                help="A run folder, or outputs with answers: JSONL, rows and traces of other tools; NAME=FILE.",
            ),
            argument(
                "--pairwise", nargs="+", reads=True, metavar="RUN",
                help="In place of outputs, two or more: llm says whose answer is better, in both orders.",
            ),
            *options.JUDGING,
            repeated(
                "--calibration", dest="calibrations", type=Path, reads=True,
                help="Of the judge, by labels of people: its threshold counts. Of a panel, one for each judge: votes "
                "are weighted by how often it is right.",
            ),
            argument(
                "--panel", type=names, reads=True,
                help="Let several judges vote: lexical,llm by their verdicts in the run folder, or files of verdicts.",
            ),
            argument(
                "--answer-units", choices=get_args(AnswerUnits), default=defaults.UNITS,
                help="What is judged: sentences, or claims into which llm splits them.",
            ),
            flag("--new-nuggets", help="Have llm write nuggets from the gold answers of questions that have none."),
            repeated(
                "--criterion", dest="criteria",
                help="Of llm: judge whole answers by a sentence too, by yes or no; NAME=SENTENCE names it. "
                "answer_grade is one of ours, from 1 to 5. May be repeated.",
            ),
            argument(
                "--criteria", dest="criteria_file", type=Path, reads=True,
                help="Of llm: criteria in TOML, [criteria.NAME] with text, scale (yes/no, 1-5, 0-10) and of (answer, "
                "pair, context).",
            ),
            argument(
                "--tables", type=names,
                help="Which verdicts: support,joint,correctness,said,reach,nuggets,relevance; grounded is by the whole "
                "context at once, context_relevance of each chunk by the question.",
            ),
            argument(
                "--into", type=Path, writes=True,
                help="Keep the verdicts in this file (RUN/verdicts/JUDGE.parquet).",
            ),
            options.HOLD_OUT, options.DRY_RUN, options.KEEP_ANSWERS, options.SECTIONS_FORMAT, options.OUTPUT,
            *options.RECORDED, *options.SHOWN,
        ],
        judges.judge, "steelyard.experiment.judging:judge_run", "steelyard.experiment.judging:JudgedRun",
    ),
    "selftest": Command(
        "Test a judge where the right verdict is known: other answers, changed numbers, instructions in documents.",
        [
            argument(
                "questions", nargs="?", reads=True,
                help="Questions to make tests of, with OUTPUTS; bundled texts without both."
            ),
            argument(
                "outputs", nargs="?", reads=True,
                help="A run folder, or outputs of a system, with the texts of chunks.",
            ),
            *options.JUDGING,
            argument("-n", type=int, default=defaults.TRIALS, metavar="N", help="Trials of each test, at most."),
            argument("--seed", type=int, default=defaults.SEED, help="Of the draw of questions."),
            argument(
                "--calibration", type=Path, reads=True,
                help="Of the judge (`steelyard review calibrate`): its threshold counts; the results are kept in it.",
            ),
            flag("--strict", help="Leave with exit status 1 where the judge fails a test."),
            options.DRY_RUN, options.KEEP_ANSWERS, options.SECTIONS_FORMAT, options.OUTPUT, *options.SHOWN,
        ],
        judges.selftest, "steelyard.experiment.self_testing:self_test", "steelyard.judges.self_tests:SelfTests",
    ),
    "review sample": Command(
        "Draw a sample of what a judge said, and write a form in which people decide about it.",
        [
            options.QUESTIONS, options.REVIEWED_RUNS,
            argument(
                "--output", "-o", type=Path, required=True,
                help="A folder for the form, form.html, and the list of what it asks.",
            ),
            argument(
                "-n", dest="n", type=int, help="How many items of each system, or more than were drawn before (100)."
            ),
            argument(
                "--width", type=float,
                help="As many as make the 95% interval of the corrected mean so wide, e.g. 0.1.",
            ),
            options.ITEM_TABLE,
            flag("--whole-answers", help="Draw answers with all their items, for measures that are no mean of items."),
            flag("--adjudicate", help="Draw nothing, and ask what raters disagree on."),
            options.VERDICTS, options.JUDGE,
            argument(
                "--other-judges", type=names, default=[],
                help="Draw more of what these judges see differently, of those in the run folders: embedding,llm.",
            ),
            options.LABELS,
            options.TITLE, options.INSTRUCTIONS, options.REVIEW_FORMAT, options.SEED, *options.SHOWN,
        ],
        judges.review_sample, "steelyard.reports.reviewing:sample_review", "steelyard.reviewing.rounds:SampledReview",
    ),
    "review pool": Command(
        "Draw pooled documents, and write a form in which people grade them, or quote the gold from them.",
        [
            argument(
                "questions", reads=True,
                help="Questions: JSON(L), text, a folder, rows and traces of other tools; of quotes a file.",
            ),
            options.POOLED,
            argument("--output", "-o", type=Path, required=True, help="A folder for the form and what it asks."),
            argument(
                "--into", type=Path, required=True, writes=True,
                help="Where decisions will go, in JSONL: a truth, which a judge may have begun, or questions.",
            ),
            argument("--task", choices=get_args(PoolTask), default="grades", help="What people decide."),
            argument("-n", dest="n", type=int, help="How many pairs, or questions (100)."),
            argument("--scale", default=defaults.SCALE, help="Of grades: 0-10, 0-3, or your own: a file in TOML."),
            argument("--depth", type=int, default=defaults.POOL_DEPTH, help="How many of each list are pooled."),
            argument(
                "--unit", choices=get_args(Unit), default="chunk",
                help="Whether documents are cut into chunks, or shown as a whole.",
            ),
            options.DOCUMENTS,
            flag("--adjudicate", help="Draw nothing, and ask for the grades that people differ on."),
            options.TITLE, options.INSTRUCTIONS, options.REVIEW_FORMAT, options.SEED, *options.SHOWN,
        ],
        judges.review_pool, "steelyard.reports.reviewing:pool_review", "steelyard.reviewing.pools:PooledReview",
    ),
    "review import": Command(
        "Import labels from review forms, and list what raters disagree on.",
        [
            argument(
                "files", nargs="+", reads=True,
                help="What people saved from forms; the items.json beside a form may be among them."
            ),
            repeated(
                "--into", dest="into",
                help="Where decisions go, unless that is in the folder of the form: the run folder, file of labels, "
                "truth or questions that it was made for; NAME=PLACE for each of several systems.",
            ),
            options.REVIEW_FORMAT, options.OUTPUT, *options.SHOWN,
        ],
        judges.review_import, "steelyard.reviewing.importing:import_review", "steelyard.reviewing.forms:ImportedLabels",
    ),
    "review report": Command(
        "How far people agree with each other and with the judge, and what means are by their labels.",
        [
            options.QUESTIONS, options.REVIEWED_RUNS, options.MEASURES,
            options.EXAMPLES, options.VERDICTS, options.JUDGE, options.LABELS, options.REVIEW_FORMAT, options.OUTPUT,
            options.SEED, *options.RECORDED, *options.SHOWN,
        ],
        judges.review_report, "steelyard.reviewing.reporting:report_review",
        "steelyard.reviewing.reporting:ReviewReport",
    ),
    "review calibrate": Command(
        "Choose the threshold of a judge by what people decided, and say how often it is right.",
        [
            options.QUESTIONS, options.REVIEWED_RUNS, options.ITEM_TABLE,
            argument(
                "--min-precision", type=float,
                help="Least share that people support of what the judge calls supported; without it, the threshold of "
                "the greatest sensitivity + specificity.",
            ),
            argument(
                "--output", "-o", type=Path, writes=True,
                help="Write the calibration here, for `--calibration` of `steelyard judge` and `steelyard gate`.",
            ),
            options.EXAMPLES, options.VERDICTS, options.JUDGE, options.LABELS, options.REVIEW_FORMAT, options.SEED,
            *options.SHOWN,
        ],
        judges.review_calibrate, "steelyard.reviewing.calibrating:calibrate_review",
        "steelyard.judges.people.calibration:Calibration",
    ),
    "label": Command(
        "Make a truth: how relevant are pooled documents to the questions? By a judge, people's grades kept.",
        [
            argument(
                "questions", reads=True,
                help="Questions: JSONL, JSON, text, a folder, rows and traces of other tools.",
            ),
            options.POOLED,
            argument(
                "--output", "-o", type=Path, required=True, writes=True,
                help="The truth: JSONL, which is extended, or qrels, CSV, Parquet with labels alone.",
            ),
            argument(
                "--judge", default=defaults.JUDGE,
                help="lexical (by words alone, to try how it goes), llm, or a function of your own: module:object.",
            ),
            argument("--scale", default=defaults.SCALE, help="0-10, 0-3, or your own: a file in TOML."),
            argument("--depth", type=int, default=defaults.POOL_DEPTH, help="How many of each list are graded."),
            argument("--keep", help="A truth by people, whose grades are kept."),
            options.DOCUMENTS,
            argument(
                "--unit", choices=get_args(Unit), default="chunk",
                help="Whether documents are cut into chunks, or graded as a whole.",
            ),
            *options.MODEL, options.DRY_RUN, options.KEEP_ANSWERS, options.SHOWN_FORMAT, *options.SHOWN,
        ],
        judges.label, "steelyard.rag.labelling:label", "steelyard.judges.grading.grades:Grades",
    ),
    "logs check": Command(
        "What the logs of a service hold, what they lack, and what is wrong with them.",
        [_LOGS, _TIMEZONE, options.SHEET_FORMAT, options.OUTPUT, options.SAFE_CSV, *options.SHOWN],
        logs.check, "steelyard.traffic.checking:check_logs", "steelyard.traffic.checking:LogCheck",
    ),
    "logs convert": Command(
        "Write logs in one schema: clean, in the order of time, each record once.",
        [
            _LOGS,
            argument(
                "--output", "-o", type=Path, required=True, writes=True,
                help="FILE.parquet, or a folder for impressions.parquet, events.parquet and answers.parquet.",
            ),
            _TIMEZONE,
            flag(
                "--pseudonymise",
                help="Keyed hashes for users, and masks for e-mail, phone and identity numbers in texts; the key is in "
                "STEELYARD_PSEUDONYM_KEY.",
            ),
            options.SHOWN_FORMAT, *options.SHOWN,
        ],
        logs.convert, "steelyard.traffic.checking:convert_logs", "steelyard.traffic.checking:LogCheck",
    ),
    "questions from-logs": Command(
        "Draw questions to label from the logs of a service, with the weight of each in the traffic.",
        [
            _LOGS,
            argument(
                "--output", "-o", type=Path, required=True, writes=True,
                help="The questions: JSONL, with weight, stratum and signs of failure as fields.",
            ),
            argument("-n", type=int, default=defaults.DRAWN, metavar="N", help="How many questions, at most."),
            argument("--seed", type=int, default=defaults.SEED, help="Of the draw."),
            flag(
                "--pseudonymise",
                help="Mask e-mail, phone and identity numbers in the questions; the key for pseudonyms is in "
                "STEELYARD_PSEUDONYM_KEY.",
            ),
            options.SHOWN_FORMAT, *options.SHOWN,
        ],
        questions.from_logs, "steelyard.traffic.drawing:questions_from_logs",
        "steelyard.traffic.drawing:DrawnQuestions",
    ),
    "agreement": Command(
        "How far do raters agree, people or judges? Kappa, alpha, confusion of any table of labels.",
        [
            argument(
                "labels", nargs="+", reads=True,
                help="Tables (CSV, TSV, JSONL, Parquet): rows of item, rater and label, or a column a rater; or a file "
                "a rater, such as qrels; NAME=FILE names the rater of one.",
            ),
            argument(
                "--measurement-level", choices=get_args(Scale),
                help="nominal for words, ordinal for labels in order (numbers, or with --categories), interval.",
            ),
            argument("--reference", help="The rater whom the others are compared with; by default all pairs are."),
            argument("--categories", help="All labels in order: poor,fair,good or 0-3; others are left out, counted."),
            argument(
                "--min-gain", type=options.label,
                help="The label from which on an item is positive, for binary kappa, balanced accuracy and AUC.",
            ),
            repeated("--item", dest="item", help="A column that names the item; may be repeated."),
            argument("--question", help="The column of what items belong to: intervals resample questions."),
            argument(
                "--raters", type=names, default=[],
                help="Columns that are raters, or the raters that count: ann,bob.",
            ),
            repeated(
                "--runs", dest="runs", reads=True,
                help="A run, as of `evaluate`; may be repeated: how far is the order of systems by each rater's grades "
                "that by those of --reference?",
            ),
            argument("--measure", "-m", help="By which runs are ordered (ndcg@10)."),
            options.SHEET_FORMAT, options.OUTPUT, options.SAFE_CSV,
            argument("--charts", type=Path, help="Write confusion and reliability as SVG and PNG into this folder."),
            options.SEED, *options.SHOWN,
        ],
        runs.agreement, "steelyard.comparison.raters.agreement:agreement",
        "steelyard.comparison.raters.agreement:Agreement",
    ),
    "compare": Command(
        "Compare systems: is the difference real, and how large is it?",
        [
            options.TRUTH, options.COMPARED_RUNS, options.MEASURES, options.SHEET_FORMAT, options.OUTPUT,
            options.SAFE_CSV, *declared(*VERBS["compare"]), *options.RECORDED, *options.SHOWN,
        ],
        runs.compare, "steelyard.comparison.comparison:compare", "steelyard.comparison.result:Comparison",
    ),
    "plan": Command(
        "How many questions show a difference, or how many labels make an interval narrow, before they are made?",
        [
            options.PILOT_TRUTH, options.PILOT_RUNS, options.MEASURES, options.SHEET_FORMAT, options.OUTPUT,
            options.SAFE_CSV, *declared(*VERBS["plan"]), *options.SHOWN,
        ],
        runs.plan, "steelyard.comparison.design:plan", "steelyard.comparison.design:Design",
    ),
    "diagnose": Command(
        "Where is the gold lost, what could be reached, and what to try?",
        [
            options.TRUTH, options.RUNS_OR_NONE,
            repeated(
                "--stage", dest="stages",
                help="List the questions of a stage or outcome, e.g. not_retrieved; may be repeated.",
            ),
            options.SECTIONS_FORMAT, options.OUTPUT, *declared(*VERBS["diagnose"]), *options.RECORDED, *options.SHOWN,
        ],
        runs.diagnose, "steelyard.diagnosis.diagnosing:diagnose", "steelyard.diagnosis.diagnosing:Diagnosis",
    ),
    "report": Command(
        "All of it in one report: leaderboard, comparison, ratings, diagnosis, every question; or a bench.",
        [
            argument(
                "truth", reads=True,
                help="Truth or questions, as of `evaluate`; or the folder of a bench, and no runs.",
            ),
            options.RUNS_OR_NONE,
            repeated(
                "--output", "-o", dest="output", type=Path, writes=True,
                help="A file: .html, .md, .tex, .csv, .json or .txt; may be repeated.",
            ),
            argument(
                "--one-page", action="store_true",
                help="Write one slide: finding, plot, what to try first; as .html, .pdf, .png or .svg.",
            ),
            argument("--charts", type=Path, help="Write every chart as SVG and PNG into this folder."),
            options.MEASURES, *declared(*VERBS["report"]), options.SAFE_CSV, *options.RECORDED, *options.SHOWN,
        ],
        runs.report, "steelyard.reports.report:report",
    ),
    "gate": Command(
        "May it ship? Exit status 0: pass, 1: fail, 3: too few data to say.",
        [
            argument(
                "scores", nargs="?", reads=True,
                help="JSON of `evaluate --format json --output SCORES`, or a run folder; or a truth and RUNS; none to "
                "gate a judge alone.",
            ),
            argument("runs", nargs="*", reads=True, help="One or several runs of a truth, as of `evaluate`."),
            *declared(*VERBS["gate"]),
            argument("--junit", type=Path, writes=True, help="Write JUnit XML here."),
            argument(
                "--summary", type=Path, writes=True, help="Write a Markdown summary here, for the page of a CI job."
            ),
            *options.RECORDED, *options.SHOWN,
        ],
        runs.gate, "steelyard.gates.gating:gate",
    ),
    "comment": Command(
        "Write a Markdown summary as the one comment of this CI job's pull request, in the place of the last.",
        [
            argument("summary", reads=True, help="Markdown, as of `steelyard gate --summary`."),
            argument("--name", default="gate", help="Name of the comment, where a pull request has several."),
            options.LANG,
        ],
        runs.comment, "steelyard.services.pull_requests:comment",
    ),
    "history list": Command(
        "List the newest entries of a store; `steelyard history` alone does it too.",
        [
            argument(
                "--kind", help="Of this kind: scores, run, sweep, bench, verdicts, comparison, gate, report, review."
            ),
            argument("--tag", help="With this tag."),
            argument("--since", help="Since a date or time: 2026-05-01."),
            argument("--measure", "-m", help="With a mean of this measure, which is shown."),
            argument("-n", type=int, metavar="N", help="So many at most (20)."),
            options.HISTORY_STORE, options.SHEET_FORMAT, options.OUTPUT, options.SAFE_CSV, *options.SHOWN,
        ],
        history.entries, "steelyard.history.listing:list_entries", "steelyard.history.listing:History",
    ),
    "history show": Command(
        "Show an entry: what was recorded, from which commit, with which settings.",
        [options.ENTRY, options.HISTORY_STORE, options.SHEET_FORMAT, options.OUTPUT, options.SAFE_CSV, *options.SHOWN],
        history.show, "steelyard.history.listing:show_entry", "steelyard.history.listing:StoredEntry",
    ),
    "history accept": Command(
        "Accept an entry as the baseline of later gates: `--baseline store:accepted`.",
        [
            options.ENTRY, argument("--why", help="Why, for those who read it later."),
            argument("--who", help="Who accepts it; the name that git has by default."),
            options.HISTORY_STORE, options.LANG,
        ],
        history.accept, "steelyard.store.store:Store.accept",
    ),
    "history export": Command(
        "Write entries as files: scores that `gate` reads back, frames, verdicts, reports; or for MLflow.",
        [
            argument(
                "entries", nargs="*", help="Ids, or beginnings of them; latest, accepted, tag=NAME. All by default."
            ),
            argument(
                "--to", choices=get_args(EntryFormat), default="files",
                help="files, or mlflow: a tracking folder, which `mlflow ui` opens.",
            ),
            argument(
                "--output", "-o", type=Path, required=True, help="The folder; empty or not there, but for MLflow."
            ),
            options.HISTORY_STORE, options.LANG,
        ],
        history.export, "steelyard.history.exporting:export",
    ),
    "history tag": Command(
        "Give an entry tags, by which it is found: tag=NAME.",
        [
            options.ENTRY, argument("tags", nargs="+", help="Names without white space, such as v1.2."),
            options.HISTORY_STORE, options.LANG,
        ],
        history.tag, "steelyard.store.store:Store.tag",
    ),
    "history remove": Command(
        "Remove entries, and what no other entry uses.",
        [
            argument("entries", nargs="+", help="Ids, or beginnings of them; tag=NAME."),
            flag("--yes", "-y", help="Ask nothing."),
            flag("--force", help="Remove those too that were accepted as a baseline."),
            options.HISTORY_STORE, options.LANG,
        ],
        history.remove, "steelyard.history.listing:remove",
    ),
    "measures": Command(
        "List every measure: definition, range, source, aliases.",
        [argument("name", nargs="?", help="Show all about one measure, e.g. ndcg."), options.LANG],
        runs.measures, "steelyard.reports.formats.measures:measures_text",
    ),
    "trec-eval": Command(
        "Print what the trec_eval program prints, from the same arguments.",
        [argument("arguments", nargs="+", help="As of trec_eval: -q -c -n -J -l -M -N -m QRELS RUN")],
        trec_eval.trec_eval, raw=True,
    ),
    "convert": Command(
        "Convert a run, a truth or traces of another tool to another format.",
        [
            argument("source", reads=True, help="A run, a truth or traces in any format that can be read."),
            argument(
                "target", type=Path, writes=True,
                help="The file to write, in the format of its suffix (.gz, .zst too)."
            ),
            options.KIND, options.SOURCE_FORMAT, options.ON_DUPLICATE, options.SAFE_CSV, options.LANG,
        ],
        runs.convert, "steelyard.experiment.converting:convert",
    ),
    "export": Command(
        "Write questions, what a system gave for them and what that is worth, for another tool.",
        [
            argument(
                "questions", reads=True,
                help="Questions: JSONL, JSON, text, a folder, rows and traces of other tools.",
            ),
            argument(
                "outputs", reads=True,
                help="A run folder, or outputs: JSONL, rows and traces of other tools; NAME=FILE.",
            ),
            argument(
                "--to", required=True,
                help="ragas, deepeval, ragchecker, mtrag, or otel: events gen_ai.evaluation.result, one a value.",
            ),
            options.MEASURES, options.VERDICTS, options.JUDGE, options.OUTPUT, options.LANG,
        ],
        runs.export, "steelyard.experiment.exporting:export",
    ),
    "run": Command(
        "Run a retrieval pipeline, or a system of your own, over questions; and evaluate it.",
        [
            argument("config", nargs="?", type=Path, help="Configuration in TOML: documents, questions, stages."),
            argument("--documents", type=Path, help="Folder or file that is searched, by a target too."),
            argument(
                "--questions", type=Path, help="Questions, with gold or without: JSON(L), text, a folder, BEIR."
            ),
            argument("--target", help="A system of your own instead: module:object, or the URL of an endpoint."),
            options.K, options.UNIT, options.MEASURES, options.CLUSTER, options.HOLD_OUT, options.CONCURRENCY,
            argument("--output", "-o", dest="folder", type=Path, help="Run folder (runs/NAME)."),
            options.OVERWRITE, options.STRICT,
            flag(
                "--cache", action=argparse.BooleanOptionalAction, default=True,
                help="Keep chunks and vectors for the next run.",
            ),
            *options.RECORDED, *options.SHOWN,
        ],
        pipelines.run, "steelyard.rag.weighed_run:run_and_weigh",
    ),
    "sweep": Command(
        "Run a grid of pipelines and print one table.",
        [
            argument("config", type=Path, help="Configuration in TOML, with what varies in a table [sweep]."),
            options.UNIT, options.MEASURES, options.CLUSTER, options.HOLD_OUT,
            flag("--holdout", help="Keep half of the questions from the choice, and evaluate the best on them."),
            *declared(*VERBS["compare"], only=("n_tried",)),
            options.SEED, options.CONCURRENCY, options.OVERWRITE, options.STRICT, options.SHEET_FORMAT,
            options.OUTPUT, options.SAFE_CSV, *options.RECORDED, *options.SHOWN,
        ],
        pipelines.sweep, "steelyard.rag.sweeping:sweep", "steelyard.rag.sweeping:Swept",
    ),
    "monitor": Command(
        "Watch a running system: one look at its logs, its gold questions and its judged answers, for cron and CI.",
        [
            argument("config", type=Path, reads=True, help="monitor.toml: what is watched, and the budget of alarms."),
            argument("--every", metavar="TIME", help="Stay up, and look again after each 15m, 1h or 1d."),
            argument("--as-of", metavar="TIME", help="Look as if it were that time, at logs of the past."),
            argument("--accept", metavar="ALERT", help="Take the level since this alert as the usual one."),
            argument("--why", help="Of --accept: the reason, which is kept."),
            flag("--check", help="Simulate quiet traffic like that of past windows, and count the false alarms."),
            flag("--test-sinks", help="Send a test message to every sink."),
            options.TREND_FORMAT, options.OUTPUT, options.SAFE_CSV, *options.SHOWN,
        ],
        monitor.monitor, "steelyard.monitoring.watching:monitor", "steelyard.monitoring.looking:Look",
    ),
    "ab plan": Command(
        "Say how many users and days an A/B test needs, what shorter and longer ones show, and write its declaration.",
        [
            argument("--metric", required=True, help="What decides: ctr, clicks@5, latency_ms:p95, a column."),
            argument(
                "--from", dest="logs", nargs="+", reads=True, metavar="LOGS",
                help="Logs of the present system, of a week or better a month; without them --baseline.",
            ),
            argument(
                "--difference", required=True, help="That is to be shown: 5% of the baseline, or a number in its unit."
            ),
            _SPLIT,
            argument(
                "--analysis", choices=get_args(Analysis), default="fixed",
                help="One look at the end, or a look a day by intervals that are always valid.",
            ),
            argument("--alpha", type=float, default=0.05, help="Level of the test, two-sided."),
            argument("--power", type=float, default=0.8, help="Chance that the difference is shown where it is there."),
            argument(
                "--before", default="14d", help="Time before the start whose requests reduce the variance; 0d for none."
            ),
            argument("--unit", choices=get_args(UnitKind), default="user", help="What is assigned to an arm."),
            repeated(
                "--guardrail", dest="guardrails", type=ab.margin, metavar="METRIC=MARGIN",
                help="What must not get worse by the margin, such as latency_ms:p95=5%; may be repeated.",
            ),
            argument("--baseline", type=float, help="Without logs: the metric's value."),
            argument("--users-per-day", type=float, help="Without logs: new users a day."),
            argument(
                "--sd", type=float,
                help="Without logs: standard deviation of a user's value; by default the metric is a share of users.",
            ),
            argument("--name", help="Of the declaration; by default that of its file."),
            argument("--start", metavar="DAY", help="Of the declaration; the next Monday by default."),
            _TIMEZONE, options.PLAN_FORMAT, options.OUTPUT, options.SAFE_CSV, *options.SHOWN,
        ],
        ab.plan, "steelyard.abtests.planning:plan_experiment", "steelyard.abtests.planning:ExperimentPlan",
    ),
    "ab register": Command(
        "Register the declaration of an A/B test before it starts: its fingerprint, beside the file.",
        [
            argument("experiment", type=Path, reads=True, help="experiment.toml: what is tested, and how."),
            options.LANG,
        ],
        ab.register, "steelyard.abtests.registration:register_experiment",
    ),
    "ab analyse": Command(
        "Analyse an A/B test by its declaration: checks of the data, effects, and a decision with its reasons.",
        [
            argument("experiment", type=Path, reads=True, help="experiment.toml, as it was registered."), _LOGS,
            options.TREND_FORMAT, options.OUTPUT, options.SAFE_CSV, *options.SHOWN,
        ],
        ab.analyse, "steelyard.abtests.analysing:analyse_experiment", "steelyard.abtests.experiment:Experiment",
    ),
    "offpolicy": Command(
        "What another ranking would have got, from the log of the one that served and its propensities.",
        [
            _LOGS,
            argument(
                "--policy", required=True,
                help="The other one: a run, a table of query_id, doc_id, probability (and position), or uniform.",
            ),
            argument("--metric", "-m", default="click", help="What is counted: click, citation_click, ..., or dwell."),
            argument("-k", type=int, help="Positions that count; all of the policy by default."),
            argument("--questions", reads=True, help="The texts of the query ids of the run."),
            argument("--clip", type=float, help="The largest weight that counts; any by default."),
            _TIMEZONE, options.TREND_FORMAT, options.OUTPUT, options.SAFE_CSV, *options.SHOWN,
        ],
        offpolicy.off_policy, "steelyard.abtests.offpolicy.evaluating:off_policy",
        "steelyard.abtests.offpolicy.evaluating:OffPolicy",
    ),
    "history trend": Command(
        "Show how a measure went over time, and where its level changed.",
        [
            options.HISTORY_STORE,
            repeated(
                "--measure", "-m", dest="measures",
                help="e.g. ndcg@10; by default the primary one of the newest entry. May be repeated.",
            ),
            argument("--system", help="Only this system; by default all."),
            argument("--since", help="Only entries from then on: 2026-05-01, or a time."),
            argument(
                "--false-alarms", type=float, default=defaults.FALSE_ALARMS, metavar="SHARE",
                help="Lines without a change that show one, at most: from 0.01 to 0.2 (0.05).",
            ),
            options.TREND_FORMAT, options.OUTPUT, options.SAFE_CSV, *options.SHOWN,
        ],
        history.trend, "steelyard.history.trend:trend", "steelyard.history.trend:Trend",
    ),
    "history confirm": Command(
        "Ask the questions that were held out whether they agree with the others; each answer from them is counted.",
        [
            options.ENTRY,
            argument("--against", metavar="ID", help="Confirm the difference from this entry, instead of the mean."),
            options.ENTRY_MEASURE,
            argument("--system", help="Of the entry; by default the one with the best mean of the open questions."),
            options.HISTORY_STORE, options.SHOWN_FORMAT, options.OUTPUT, *options.SHOWN,
        ],
        history.confirm, "steelyard.history.confirm:confirm", "steelyard.history.confirm:Confirmation",
    ),
    "history diff": Command(
        "What differs between two entries, and what it did: settings, documents, scores in pairs, movers.",
        [
            argument("first", help="An id, or a beginning of one; latest, accepted or tag=NAME."),
            argument("second", help="The entry that is compared with it."),
            argument(
                "--system", help="Of both entries; by default the best of the second that both have."
            ),
            options.MEASURES, argument("--margin", type=float, help="Largest loss that does not matter, e.g. 0.01."),
            options.HISTORY_STORE, options.REVIEW_FORMAT, options.OUTPUT, *options.SHOWN,
        ],
        history.diff, "steelyard.history.difference:difference", "steelyard.history.difference:EntryDifference",
    ),
    "history wear": Command(
        "Say how many configurations were tried on the same questions, and what luck explains of the best one's lead.",
        [
            options.ENTRY_MEASURE, options.HISTORY_STORE, options.SHEET_FORMAT, options.OUTPUT, options.SAFE_CSV,
            *options.SHOWN,
        ],
        history.wear, "steelyard.history.wear:wear", "steelyard.history.wear:Wear",
    ),
    "ab assign": Command(
        "Say which arm units are in: the same in every process and every language.",
        [
            argument("salt", help="Of the experiment: another salt deals the units out independently."),
            argument("units", nargs="+", help="Ids of users, sessions or requests."),
            _SPLIT,
            options.LANG,
        ],
        ab.assign, "steelyard.abtests.assigning:assign",
    ),
    "interleave build": Command(
        "Interleave runs of two systems or more, a page for each question, and say how often they differ.",
        [
            argument("runs", nargs="+", reads=True, help="One run of each system, at least two; NAME=FILE names one."),
            argument("--output", "-o", type=Path, writes=True, help="JSONL: qid, doc_ids, teams, seed."),
            argument("-k", type=int, default=10, help="Places of a page."),
            argument("--salt", default="", help="Of the test: another salt draws other coins."),
            argument(
                "--method", choices=get_args(InterleavingMethod), default="team-draft",
                help="team-draft: systems take turns; probabilistic, of two: every place is drawn.",
            ),
            argument("--documents", help="Where the texts are: documents with the same text are shown once."),
            options.SHOWN_FORMAT, *options.SHOWN,
        ],
        interleave.build, "steelyard.abtests.interleaving.runs:interleave_runs",
        "steelyard.abtests.interleaving.runs:InterleavedRuns",
    ),
    "interleave analyse": Command(
        "Say which system users prefer, by the clicks on interleaved pages.",
        [
            _LOGS,
            argument("--baseline", help="System that others are compared with; the first by name by default."),
            argument(
                "--credit", choices=get_args(Credit), default="click",
                help="What counts: opened, read for 30 seconds, cited by the answer.",
            ),
            argument(
                "--analysis", choices=get_args(Analysis), default="fixed",
                help="fixed: one look at the end; always-valid: any number of looks.",
            ),
            argument(
                "--planned-units", type=int, default=2_000,
                help="With always-valid: users for which intervals are narrowest.",
            ),
            argument("--alpha", type=float, default=0.05, help="Share of false preferences."),
            _TIMEZONE, options.TREND_FORMAT, options.OUTPUT, options.SAFE_CSV, *options.SHOWN,
        ],
        interleave.analyse, "steelyard.abtests.interleaving.analysing:analyse_interleaving",
        "steelyard.abtests.interleaving.analysing:Interleaving",
    ),
    "bench rerank": Command(
        "Measure rerankers over the results of a first search, and say which one is worth having.",
        [
            argument("config", type=Path, help="Configuration in TOML: truth, candidates, depths, systems, ..."),
            argument(
                "--output", "-o", type=Path,
                help="The folder of the bench, with which a later start goes on; benches/NAME beside CONFIG.",
            ),
            argument(
                "--prefer", choices=get_args(Prefer),
                help="Which of the rerankers that are good enough to recommend: that with the surest net benefit, or "
                "where none is known the cheapest (auto); the cheapest; that with the best quality; or that with the "
                "highest net benefit (auto).",
            ),
            argument(
                "--budget",
                help="What the bench may take at most, 2.00usd or 500000tokens: where it takes more by one question to "
                "each system, it is not begun.",
            ),
            options.MEASURE_ANEW, options.DRY_RUN, *options.RECORDED, *options.SHOWN,
        ],
        benches.bench_rerank, "steelyard.bench.run.rerankers:bench_rerankers",
    ),
    "bench load": Command(
        "Put load on a system, and say what its users wait and which rate it sustains.",
        [
            argument(
                "system",
                help="The URL of a system, module:object of a function, or a configuration in TOML with systems and "
                "[load].",
            ),
            argument(
                "--questions",
                help="What is asked: questions in JSONL, JSON, or one a line of text (those of the bundled example).",
            ),
            argument(
                "--body",
                help="What an address is sent, in JSON, with the question as the value \"{query}\" and, for a /rerank, "
                'texts as "{documents}": \'{"query": "{query}", "documents": "{documents}"}\'.',
            ),
            repeated(
                "--header-env", dest="headers_env", type=options.pair,
                help="A header of an address and the environment variable of its value: Authorization=MY_AUTH.",
            ),
            argument("--documents", type=Path, help="File or folder of \"{documents}\" (bundled ones)."),
            argument("--depth", type=int, help="So many of them in a request (20)."),
            argument(
                "--rate", type=options.rates,
                help="Requests a second, whatever the answers take: 20; several levels: 5,10,20; or a ramp: 1..50. "
                "Where no load is named, a sweep finds the rate that is sustained.",
            ),
            argument("--users", type=options.counts, help="Instead or besides: users who wait for answers: 1,2,4,8."),
            argument("--duration", help="Of each level: 60 (seconds), 90s or 5m (10s)."),
            argument("--slo", help="The objective: p95=500ms, or several: p95=500ms,p99=1s (p95=500ms)."),
            argument(
                "--arrivals",
                help="How a rate is spread over time, poisson or constant (poisson); or a log of requests (JSONL, CSV) "
                "that are sent as they came.",
            ),
            argument("--speed", type=options.rates, help="How many times as fast as the log: 2, or several: 1,2,4."),
            argument("--warm-up", help="How long the same load is put on before it counts: 0, 10s (2s)."),
            argument("--think-time", type=float, help="Seconds of a user between an answer and the next question (0)."),
            argument("--timeout", help="After how long an answer counts as none: 10s (60s)."),
            argument(
                "--concurrency", type=int, help="Questions that a function takes at once (1); the others wait."
            ),
            flag(
                "--sustained", action=argparse.BooleanOptionalAction,
                help="Search for the highest rate that holds the objective, from --rate on; by default in a sweep, and "
                "where the configuration names rates.",
            ),
            argument("--seed", type=int, help="Of the times of arrival."),
            argument("--name", help="Of the bench."),
            argument("--output", "-o", type=Path, help="The folder of the bench (benches/NAME)."),
            options.MEASURE_ANEW, *options.RECORDED, *options.SHOWN,
        ],
        benches.bench_load, "steelyard.bench.run.load_tests:load_test",
    ),
    "chat": Command(
        "Ask a pipeline questions, one by one.", [options.CONFIG, options.K, options.LANG],
        pipelines.chat, "steelyard.rag.chatting:Assistant",
    ),
    "init": Command(
        "Write the files of a first evaluation: a configuration, questions to fill in, a gate and a workflow for CI.",
        [
            argument("folder", nargs="?", type=Path, default=Path(), help="Where they go; here by default."),
            argument("--have", choices=[*init.STARTS], help="What you begin with."),
            argument("--language", choices=get_args(Language), help="Of questions and documents."),
            argument("--ci", choices=[*init.WORKFLOWS], help="Where tests run."),
            flag("--yes", "-y", help="Ask nothing: documents, the language of the locale, GitHub."), options.LANG,
        ],
        init.init, "steelyard.cli.init:starter_files",
    ),
    "demo": Command(
        "Chunk, index, search and evaluate the bundled documents, end to end.",
        [
            argument(
                "folder", nargs="?", type=Path, default=Path("steelyard-demo"),
                help="Where the example goes, with all it makes.",
            ),
            *options.SHOWN,
        ],
        pipelines.demo, "steelyard.demo:run_demo",
    ),
}  # fmt: skip
"""Name -> command, in the order of the help.

A name of two words is that of a command in a group.
"""

GROUPS = {
    "review": "May the judge be believed? People decide about a sample of what it judged.",
    "history": "What was measured before? Results over time, in a store.",
    "logs": "What does a service write down? Requests, clicks and answers, and what is wrong with them.",
    "questions": "Where do questions come from? From the traffic of a service.",
    "ab": "Which one do users prefer? A/B tests: planned, assigned, registered and analysed.",
    "interleave": "Which one do users prefer? Two systems on one page.",
    "bench": "Is a reranker worth having, and what does a system bear? Quality, times, cost and return.",
}
"""The first word of commands that belong together -> what `--help` shows of all of them."""

ALONE = {"history": "history list"}
"""The first word of commands that belong together -> the command that it is without another word."""

SECTIONS = {
    "start": ("demo", "init", "run", "evaluate", "compare", "report", "gate"),
    "gold": ("questions", "label", "agreement"),
    "judges": ("judge", "selftest", "review"),
    "results over time": ("history",),
    "rerankers and load": ("bench",),
    "a running system": ("logs", "monitor", "ab", "interleave", "offpolicy"),
    "tools": ("plan", "sweep", "diagnose", "convert", "export", "comment", "measures", "trec-eval", "chat"),
}
"""Section of `--help` -> its commands, or groups of commands, in its order."""
