"""Arguments and options that commands share, each declared once: its type, its flags and its help."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from steelyard.base.choices import FileKind, Language, OnDuplicate
from steelyard.experiment.defaults import Policy

ResultFormat = Literal["table", "json", "csv", "markdown", "latex", "trec"]

TruthArgument = Annotated[
    str,
    typer.Argument(help="Judged documents (TREC qrels, BEIR folder, JSON(L), CSV, Parquet, -) or questions (JSONL)."),
]
RunsArgument = Annotated[
    list[str],
    typer.Argument(help="One or several runs: TREC, JSON(L), CSV, TSV, Parquet, Arrow, - or a run folder."),
]
MeasuresOption = Annotated[
    list[str] | None,
    typer.Option(
        "--measure", "-m", help="e.g. ndcg@10, map, 'recall(min_gain=2)@100'; may be repeated, the first is primary."
    ),
]
MinGainOption = Annotated[float | None, typer.Option(help="Smallest gain that counts as relevant (1).")]
MissingOption = Annotated[Policy, typer.Option(help="A judged query that is absent from a run: 0, or left out.")]
NoRelevantOption = Annotated[Policy, typer.Option(help="A query without relevant documents: 0, or left out.")]
OnDuplicateOption = Annotated[
    OnDuplicate, typer.Option(help="A document twice in one query: refuse, keep the first, or the highest.")
]
RuleOption = Annotated[
    str, typer.Option(help="When a chunk holds a gold span: any, contains, or share>=0.5 of the span.")
]
FoldOption = Annotated[
    str | None,
    typer.Option(
        help="How texts are folded before they are compared: lower,white_space,nfkc,quotes,dashes,line_wraps."
    ),
]
CorpusOption = Annotated[
    str | None, typer.Option(help="Where the chunks come from: a run folder, JSONL of chunks, or the documents.")
]
QueriesOption = Annotated[
    str | None, typer.Option(help="Texts and tags of queries where the truth lacks them: JSONL, or id, tab, text.")
]
SeedOption = Annotated[int, typer.Option(help="Seed of randomisation, bootstrap, and the half that is held out.")]
BaselineOption = Annotated[str | None, typer.Option(help="What the others are compared with; the first run.")]
TestOption = Annotated[
    str | None, typer.Option(help="t, randomization, wilcoxon or sign with the baseline; tukey for all pairs.")
]
CorrectionOption = Annotated[str | None, typer.Option(help="holm (default), bonferroni, bh or none.")]
MarginOption = Annotated[float | None, typer.Option(help="Largest loss that does not matter, e.g. 0.01.")]
AlphaOption = Annotated[float, typer.Option(help="Level of the tests; intervals cover the rest.")]
CutoffOption = Annotated[
    int | None, typer.Option("--k", "-k", help="Results that count as found; k of the first measure, else 5.")
]
DepthOption = Annotated[int | None, typer.Option("--k", "-k", help="Chunks that a question gets (10).")]
FormatOption = Annotated[
    ResultFormat | None,
    typer.Option("--format", "-f", help="How to write the result; by default what --output ends in."),
]
OutputOption = Annotated[Path | None, typer.Option("--output", "-o", help="Write to this file instead.")]
LangOption = Annotated[Language | None, typer.Option(help="Language of the output; that of the locale by default.")]
KindOption = Annotated[FileKind | None, typer.Option(help="What the source holds, where its columns do not show it.")]
_PROFILE = typer.Option(
    "--profile",
    "-p",
    help="Levels to rate by, and what to weigh: ratings, production, faq, document-qa, academic, enterprise, "
    "reranker, monitoring, or a TOML file.",
)
ProfileOption = Annotated[str | None, _PROFILE]
ReportProfileOption = Annotated[str, _PROFILE]
OverwriteOption = Annotated[bool, typer.Option("--overwrite", help="Replace a finished run.")]
ConfigArgument = Annotated[Path, typer.Argument(help="Configuration in TOML: documents, questions, stages.")]


def folding_steps(fold: str | None) -> list[str] | None:
    """The steps that --fold lists, None where it is not given.

    >>> folding_steps("lower,quotes")
    ['lower', 'quotes']
    """
    return None if fold is None else fold.split(",")
