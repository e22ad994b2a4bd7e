"""Arguments and options that commands share, each declared once: its names, its type and its help."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import get_args

from steelyard.base import defaults
from steelyard.base.choices import AskBy, FileKind, ItemTable, Language
from steelyard.base.options import PROFILE_HELP, WeighOptions
from steelyard.cli.parser import Argument, argument, declared, flag, repeated

_RECORDED = "how results are recorded"


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
    "truth",
    reads=True,
    help="Judged documents (TREC qrels, BEIR folder, JSON(L), CSV, Parquet, -) or questions (JSON(L), text).",
)
RUNS = argument(
    "runs",
    nargs="+",
    reads=True,
    help="One or several runs: TREC, JSON(L), CSV, TSV, Parquet, Arrow, - or a run folder; NAME=FILE names one, and "
    "NAME=FILE,FILE or NAME='run-*.trec' are several runs of one system.",
)
RUNS_OR_NONE = replace(
    RUNS,
    help=f"{RUNS.help.removesuffix('.')}; none where the truth holds what a system gave beside its questions.",
    settings={**RUNS.settings, "nargs": "*"},
)
COMPARED_RUNS = replace(RUNS, settings={**RUNS.settings, "nargs": "*"})
"""Runs that may be missing, as an entry in the place of a truth holds the scores of several systems."""
PILOT_TRUTH = argument("truth", nargs="?", reads=True, help="Truth of a pilot, as of `compare`; none with --sd.")
PILOT_RUNS = argument("runs", nargs="*", reads=True, help="One run of the pilot, or better two or several.")
MEASURES = repeated(
    "--measure",
    "-m",
    dest="measures",
    help="e.g. ndcg@10, map, 'recall(min_gain=2)@100'; may be repeated, the first is primary.",
)
ON_DUPLICATE, UNIT, CLUSTER, VERDICTS, JUDGE, HOLD_OUT = declared(
    WeighOptions, only=("on_duplicate", "unit", "cluster", "verdicts", "judge", "hold_out")
)
QUESTIONS = argument(
    "questions",
    reads=True,
    help="Questions, with gold answers or without: JSONL, JSON, text, a folder, rows and traces of other tools.",
)
REVIEWED_RUNS = argument(
    "runs",
    nargs="+",
    reads=True,
    help="One or several: a run folder, or outputs with answers (JSONL, rows and traces of other tools); NAME=FILE.",
)
LABELS = repeated(
    "--labels",
    dest="labels",
    reads=True,
    help="Where decisions of people are kept: FILE, or NAME=FILE for each system; by default in the run folders.",
)
TITLE = argument("--title", default="", help="Title of the form, in place of its own.")
INSTRUCTIONS = argument("--instructions", type=Path, help="A text file with what raters are to know besides.")
EXAMPLES = argument(
    "--examples", type=Path, reads=True, help="Texts that the judge saw in its prompt, a line each: not counted."
)
POOLED = argument(
    "sources",
    nargs="+",
    reads=True,
    help="What is pooled: runs (as of `evaluate`), and documents or chunks to search by words.",
)
DOCUMENTS = argument("--documents", help="Where the texts are that runs name by id: documents, chunks, a run folder.")
ITEM_TABLE = argument(
    "--table",
    choices=get_args(ItemTable),
    default="grounded",
    help="What people decide: grounded (is a sentence supported by all that was retrieved), joint (by what it cites), "
    "correctness (by the gold answers), said (is a gold sentence in the answer).",
)
SEED = argument(
    "--seed", type=int, default=defaults.SEED, help="Seed of randomisation, and of the half that is held out."
)
K = argument("--k", "-k", type=int, help="Chunks (or documents) that a question gets (10).")
CONCURRENCY = argument(
    "--concurrency",
    type=int,
    help="Questions under way at once, as far as the stages take several; by default what the configuration says, "
    "else 8 where a stage calls out.",
)


def _format(*choices: str, default: str = "what --output ends in") -> Argument:
    """In which of some formats a result is written."""
    return argument(
        "--format",
        "-f",
        choices=choices,
        metavar="FORMAT",
        help=f"How to write the result: {', '.join(choices)}; by default {default}.",
    )


FORMAT = _format("table", "json", "csv", "markdown", "latex", "trec")
SHEET_FORMAT = _format("table", "json", "csv", "markdown", "latex")
SECTIONS_FORMAT = _format("table", "json", "markdown")
SHOWN_FORMAT = _format("table", "json", "markdown", default="table")
TREND_FORMAT = _format("table", "json", "csv", "markdown", "latex", "html")
PLAN_FORMAT = _format("table", "json", "csv", "markdown", "latex", "html", "toml")
REVIEW_FORMAT = _format("table", "markdown", "json", "html")
SAFE_CSV = flag(
    "--safe-csv", help="In CSV, put ' before texts that a spreadsheet would compute: those that begin with = + - or @."
)
OUTPUT = argument("--output", "-o", type=Path, writes=True, help="Write to this file instead.")
LANG = argument("--lang", choices=get_args(Language), help="Language of the output; that of the locale by default.")
EXPLAIN = flag("--explain", "-v", help="Show everything: how it was computed, all notes, the signature to quote.")
STORE = replace(
    argument(
        "--store",
        metavar="URL",
        help="Record the result in this store: a file, or postgresql://USER@HOST/NAME; by default STEELYARD_STORE, or "
        "[store] of the TOML.",
    ),
    section=_RECORDED,
)
TAGS = replace(
    repeated("--tag", dest="tags", help="Tag of the entry in the store, such as v1.2; may be repeated."),
    section=_RECORDED,
)
NOTE = replace(argument("--note", help="A note on the entry in the store."), section=_RECORDED)
HISTORY_STORE = argument(
    "--store",
    metavar="URL",
    help="The store: a file, or postgresql://USER@HOST/NAME; by default STEELYARD_STORE, else history.db here.",
)
ENTRY = argument("entry", help="An id, or a beginning of one; latest, accepted or tag=NAME.")
RECORDED = (STORE, TAGS, NOTE)
"""Options of commands whose results a store holds; `cli/recording.py` takes them."""
ENTRY_MEASURE = argument("--measure", "-m", help="e.g. ndcg@10; by default the primary one of the entry.")
SHOWN = (EXPLAIN, LANG)
"""Options that choose how a terminal shows a result."""
KIND = argument("--kind", choices=get_args(FileKind), help="What the source holds, where its columns do not show it.")
SOURCE_FORMAT = argument(
    "--format",
    dest="source_format",
    metavar="FORMAT",
    help="Format of the source, where its content does not show it: trec, json, jsonl, csv, tsv, parquet, arrow; of "
    "traces otel, langfuse, langsmith, trulens, dify, ragflow, messages.",
)
PROFILE = argument("--profile", "-p", help=PROFILE_HELP)
OVERWRITE = flag("--overwrite", help="Ask again; the run that is there is replaced when the new one is whole.")
MEASURE_ANEW = flag("--overwrite", help="Measure again what the folder holds.")
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
    argument("--prompts", help="Of llm: a folder with prompts in the place of ours, such as verdicts.zh.txt."),
    argument("--prompt-language", dest="language", choices=("auto", *get_args(Language)), help="Of llm."),
)
"""What a judge asks, and what that may cost."""
JUDGING = (
    argument(
        "--judge", default=defaults.JUDGE, help="lexical, embedding, nli, llm, or one of your own: module:object."
    ),
    *MODEL,
    argument("--threshold", type=float, help="The score from which on a sentence is supported."),
    argument("--epochs", type=int, help="Of llm: how often the same is asked."),
    argument(
        "--ask-by",
        choices=get_args(AskBy),
        help="Of llm, what is in one call: a question's sentences and all chunks, those of the answer and those of "
        "gold answers apart, or one chunk (default: question).",
    ),
    argument("--chunk-tokens", type=int, help="Of llm: tokens of chunks that one call has at most."),
)
"""Who judges, and its settings."""
DRY_RUN = flag("--dry-run", help="Count what would be asked, and what it would cost; ask nothing.")
KEEP_ANSWERS = flag(
    "--cache", action=argparse.BooleanOptionalAction, default=True, help="Keep what a model answers for the next time."
)
