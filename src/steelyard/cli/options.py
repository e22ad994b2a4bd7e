"""Arguments and options that commands share, each declared once: its names, its type and its help."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import get_args

from steelyard.base import defaults
from steelyard.base.choices import FileKind, ItemTable, Language, OnDuplicate, Policy, Unit
from steelyard.cli.parser import Argument, argument, flag, repeated


def names(text: str) -> list[str]:
    """The names that an option such as --fold lists.

    >>> names("lower,quotes")
    ['lower', 'quotes']
    """
    return text.split(",")


def rates(text: str) -> list[float] | str:
    """The numbers that an option such as --rate lists; a ramp as it is.

    >>> rates("5,12.5"), rates("1..50")
    ([5.0, 12.5], '1..50')
    """
    if ".." in text:
        return text
    return [float(part) for part in text.split(",")]


def counts(text: str) -> list[int]:
    """The whole numbers that an option such as --users lists.

    >>> counts("1,2,4")
    [1, 2, 4]
    """
    return [int(part) for part in text.split(",")]


def pair(text: str) -> tuple[str, str]:
    """The two parts of an option such as --header-env.

    >>> pair("Authorization=MY_AUTH")
    ('Authorization', 'MY_AUTH')
    """
    name, _, value = text.partition("=")
    if not name or not value:
        raise ValueError
    return name, value


def label(text: str) -> str | float:
    """A label as it is in data: a number, or a word.

    >>> label("2"), label("good")
    (2, 'good')
    """
    try:
        number = float(text)
    except ValueError:
        return text
    return int(number) if number.is_integer() else number


TRUTH = argument(
    "truth", help="Judged documents (TREC qrels, BEIR folder, JSON(L), CSV, Parquet, -) or questions (JSON(L), text)."
)
RUNS = argument(
    "runs",
    nargs="+",
    help="One or several runs: TREC, JSON(L), CSV, TSV, Parquet, Arrow, - or a run folder; NAME=FILE names one, and "
    "NAME=FILE,FILE or NAME='run-*.trec' are several runs of one system.",
)
PILOT_TRUTH = argument("truth", nargs="?", help="Truth of a pilot, as of `compare`; none with --sd.")
PILOT_RUNS = argument("runs", nargs="*", help="One run of the pilot, or better two or several.")
MEASURES = repeated(
    "--measure", "-m", dest="measures",
    help="e.g. ndcg@10, map, 'recall(min_gain=2)@100'; may be repeated, the first is primary.",
)  # fmt: skip
MIN_GAIN = argument("--min-gain", type=float, help="Smallest gain that counts as relevant (1).")
MISSING = argument(
    "--missing", choices=get_args(Policy), default=defaults.MISSING,
    help="A judged question that is absent from a run: 0, or left out.",
)  # fmt: skip
NO_RELEVANT = argument(
    "--no-relevant", choices=get_args(Policy), default=defaults.NO_RELEVANT,
    help="A question without relevant documents: 0, or left out.",
)  # fmt: skip
ON_DUPLICATE = argument(
    "--on-duplicate", choices=get_args(OnDuplicate), default=defaults.ON_DUPLICATE,
    help="A document twice in one question: refuse, keep the first, or the highest.",
)  # fmt: skip
RULE = argument(
    "--rule",
    default=defaults.RULE,
    help="When chunks hold a gold passage, by themselves or together: any, contains, or share>=0.5 of it.",
)
UNIT = argument(
    "--unit", choices=get_args(Unit),
    help="What is weighed: chunks, or their documents, each at its best chunk; by default documents where the gold "
    "names whole ones.",
)  # fmt: skip
STEPS = argument(
    "--fold", dest="steps", type=names,
    help="How texts are folded before they are compared: lower,white_space,nfkc,quotes,dashes,accents,simplified,"
    "line_wraps.",
)  # fmt: skip
CORPUS = argument(
    "--corpus", help="Where the chunks come from: a run folder, JSONL of chunks, or the documents."
)  # fmt: skip
QUERIES = argument("--queries", help="Texts and tags of questions where the truth lacks them: JSONL, JSON, or text.")
CLUSTER = argument(
    "--cluster",
    help="Questions that count as one: doc (those with the same main gold document), or a field of the questions, "
    "e.g. conversation.",
)
VERDICTS = repeated(
    "--verdicts", dest="verdicts",
    help="Verdicts on answers: FILE, or NAME=FILE for each system; by default those in the run folders, else those of "
    "the lexical judge.",
)  # fmt: skip
JUDGE = argument(
    "--judge", help="Whose verdicts in the run folders count, e.g. lexical; by default those that were kept last."
)
QUESTIONS = argument(
    "questions", help="Questions, with gold answers or without: JSONL, JSON, text, a folder, rows of other tools."
)
REVIEWED_RUNS = argument(
    "runs",
    nargs="+",
    help="One or several: a run folder, or outputs with answers (JSONL, rows of other tools); NAME=FILE.",
)
LABELS = repeated(
    "--labels", dest="labels",
    help="Where decisions of people are kept: FILE, or NAME=FILE for each system; by default in the run folders.",
)  # fmt: skip
NO_LABELS = flag("--no-labels", help="Correct no mean by decisions of people, although there are some.")
ITEM_TABLE = argument(
    "--table", choices=get_args(ItemTable), default="grounded",
    help="What people decide: grounded (is a sentence supported by all that was retrieved), joint (by what it cites), "
    "correctness (by the gold answers), said (is a gold sentence in the answer).",
)  # fmt: skip
GATED_JUDGE = argument(
    "--judge",
    help="The calibration of a judge (.json): may it be trusted? Or whose verdicts in the run folder count, by name.",
)
MIXED_JUDGES = flag("--mixed-judges", help="Allow measures of answers of systems that were judged in different ways.")
ANCHORS = argument(
    "--anchors", nargs=2, metavar=("OLD", "NEW"),
    help="Verdicts of both judges on the same answers, where systems were judged by two: what is the judges' is taken "
    "off the differences. By default what both judged of the runs themselves.",
)  # fmt: skip
SEED = argument(
    "--seed", type=int, default=defaults.SEED, help="Seed of randomisation, and of the half that is held out."
)
BASELINE = argument("--baseline", help="What the others are compared with; of two runs the first, else all pairs.")
TEST = argument(
    "--test",
    help="t (default), randomization, wilcoxon or sign with the baseline; tukey of all pairs, where one broken run "
    "hides differences of others, and near copies show some that are none.",
)
CORRECTION = argument("--correction", help="holm (default), bonferroni, bh or none.")
MARGIN = argument("--margin", type=float, help="Largest loss that does not matter, e.g. 0.01.")
ALPHA = argument(
    "--alpha", type=float, default=defaults.ALPHA, help="Level of the tests; intervals cover the rest."
)  # fmt: skip
CUTOFF = argument("--k", "-k", type=int, help="Results that count as found; k of the first measure, else 5.")
DEPTH = argument("--k", "-k", type=int, help="Chunks (or documents) that a question gets (10).")
CONCURRENCY = argument(
    "--concurrency", type=int,
    help="Questions under way at once, as far as the stages take several; by default what the configuration says, "
    "else 8 where a stage calls out.",
)  # fmt: skip


def _format(*choices: str, default: str = "what --output ends in") -> Argument:
    """In which of some formats a result is written."""
    return argument(
        "--format", "-f", choices=choices, metavar="FORMAT",
        help=f"How to write the result: {', '.join(choices)}; by default {default}.",
    )  # fmt: skip


FORMAT = _format("table", "json", "csv", "markdown", "latex", "trec")
SHEET_FORMAT = _format("table", "json", "csv", "markdown", "latex")
SECTIONS_FORMAT = _format("table", "json", "markdown")
SHOWN_FORMAT = _format("table", "json", "markdown", default="table")
REVIEW_FORMAT = _format("table", "markdown", "json", "html")
SAFE_CSV = flag(
    "--safe-csv", help="In CSV, put ' before texts that a spreadsheet would compute: those that begin with = + - or @."
)
OUTPUT = argument("--output", "-o", type=Path, help="Write to this file instead.")
LANG = argument("--lang", choices=get_args(Language), help="Language of the output; that of the locale by default.")
KIND = argument("--kind", choices=get_args(FileKind), help="What the source holds, where its columns do not show it.")
_PROFILE = (
    "Levels to rate by, and what to weigh: ratings, production, faq, document-qa, academic, enterprise, reranker, "
    "monitoring, or a TOML file."
)
PROFILE = argument("--profile", "-p", help=_PROFILE)
REPORT_PROFILE = argument(
    "--profile", "-p", help=f"{_PROFILE} The report shows its gate too. Without one, ratings and no gate."
)  # fmt: skip
OVERWRITE = flag("--overwrite", help="Ask anew; the run that is there is replaced when the new one is whole.")
STRICT = flag("--strict", help="Exit with status 1 where any question failed.")
CONFIG = argument("config", type=Path, help="Configuration in TOML: documents, questions, stages.")
MODEL = (
    argument("--model", help="Of llm: the name of a model, e.g. gpt-4.1-mini; of embedding and nli also a folder."),
    argument("--base-url", help="Of embedding and llm: an OpenAI-compatible server."),
    argument("--api-key-env", help="The environment variable that holds its key."),
    argument("--concurrency", type=int, help="Calls under way at once."),
    argument("--budget", help="Of llm: what may be spent at most, 2.00usd or 500000tokens."),
    argument("--price", help="Of llm: US dollars for a million tokens in and out, 0.15,0.60."),
    argument("--temperature", type=float, help="Of llm: above 0 where several samples are to differ."),
    argument("--language", choices=("auto", *get_args(Language)), help="Of llm: of the prompts."),
)
"""What a judge asks, and what that may cost."""
JUDGING = (
    argument(
        "--judge", default=defaults.JUDGE,
        help="lexical, embedding, nli, llm, or one of your own: module:object.",
    ),
    *MODEL,
    argument("--threshold", type=float, help="The score from which on a sentence is supported."),
    argument("--epochs", type=int, help="Of llm: how often the same is asked."),
)  # fmt: skip
"""Who judges, and its settings."""
DRY_RUN = flag("--dry-run", help="Count what would be asked, and what it would cost; ask nothing.")
KEEP_ANSWERS = flag(
    "--cache",
    action=argparse.BooleanOptionalAction,
    default=True,
    help="Keep what a model answers for the next time.",
)
