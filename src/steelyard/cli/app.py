"""What `steelyard --help` shows."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    name="steelyard",
    help="Steelyard (秤) weighs retrieval and RAG systems.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


class Format(StrEnum):
    """How results are written."""

    table = "table"
    json = "json"
    csv = "csv"
    markdown = "markdown"
    latex = "latex"
    trec = "trec"


class Policy(StrEnum):
    """What a query that cannot be measured counts as."""

    zero = "zero"
    skip = "skip"


class OnDuplicate(StrEnum):
    """What to do with a document that stands twice in one query."""

    error = "error"
    first = "first"
    max = "max"


class Lang(StrEnum):
    """What reports are written in."""

    en = "en"
    zh = "zh"


class Kind(StrEnum):
    """What a file holds."""

    run = "run"
    truth = "truth"


def _version(wanted: bool) -> None:
    if wanted:
        from steelyard._version import __version__

        print(f"steelyard {__version__}")
        raise typer.Exit


@app.callback()
def steelyard(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Steelyard (秤) weighs retrieval and RAG systems."""


@app.command()
def evaluate(
    truth: Annotated[
        str,
        typer.Argument(
            help="Judged documents (TREC qrels, BEIR folder, JSON(L), CSV, Parquet, -) or questions (JSONL)."
        ),
    ],
    runs: Annotated[
        list[str],
        typer.Argument(help="One or several runs: TREC, JSON(L), CSV, TSV, Parquet, Arrow, - or a run folder."),
    ],
    measure: Annotated[
        list[str] | None,
        typer.Option("--measure", "-m", help="e.g. ndcg@10, map, 'recall(min_gain=2)@100'; may be repeated."),
    ] = None,
    min_gain: Annotated[float | None, typer.Option(help="Smallest gain that counts as relevant (1).")] = None,
    missing: Annotated[Policy, typer.Option(help="A judged query that is absent from a run.")] = Policy.zero,
    no_relevant: Annotated[Policy, typer.Option(help="A query without relevant documents.")] = Policy.zero,
    on_duplicate: Annotated[
        OnDuplicate, typer.Option(help="A document twice in one query: refuse, keep the first, or the highest.")
    ] = OnDuplicate.error,
    per_query: Annotated[bool, typer.Option("--per-query", "-q", help="Show the value of every query too.")] = False,
    format: Annotated[
        Format | None, typer.Option("--format", "-f", help="How to write the result; by default what --output ends in.")
    ] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write to this file instead.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the bootstrap behind the intervals.")] = 0,
    rule: Annotated[
        str, typer.Option(help="When a chunk holds a gold span: any, contains, or share>=0.5 of the span.")
    ] = "any",
    fold: Annotated[
        str | None,
        typer.Option(
            help="How texts are folded before they are compared: lower,white_space,nfkc,quotes,dashes,line_wraps."
        ),
    ] = None,
    corpus: Annotated[
        str | None, typer.Option(help="Where the chunks come from: a run folder, JSONL of chunks, or the documents.")
    ] = None,
    profile: Annotated[
        str | None,
        typer.Option("--profile", "-p", help="Rate by these levels, and weigh what they recommend: ratings, faq, …"),
    ] = None,
    lang: Annotated[Lang | None, typer.Option(help="Language of tables; that of the locale by default.")] = None,
) -> None:
    """Weigh runs against a truth: judged documents, or questions with gold evidence."""
    from steelyard.cli.evaluate import run

    run(
        truth, runs, measure or [], min_gain=min_gain, missing=missing.value, no_relevant=no_relevant.value,
        on_duplicate=on_duplicate.value, per_query=per_query, format=format.value if format else None, output=output,
        seed=seed, rule=rule, fold=fold, corpus=corpus, profile=profile, lang=lang.value if lang else None,
    )  # fmt: skip


@app.command()
def compare(
    truth: Annotated[str, typer.Argument(help="Judged documents or questions, as for evaluate.")],
    runs: Annotated[list[str], typer.Argument(help="Two or several runs or run folders.")],
    measure: Annotated[
        list[str] | None, typer.Option("--measure", "-m", help="The first is the primary one (ndcg@10).")
    ] = None,
    baseline: Annotated[str | None, typer.Option(help="What the others are compared with; the first run.")] = None,
    test: Annotated[
        str | None, typer.Option(help="t, randomization, wilcoxon or sign with the baseline; tukey for all pairs.")
    ] = None,
    correction: Annotated[str | None, typer.Option(help="holm (default), bonferroni, bh or none.")] = None,
    margin: Annotated[float | None, typer.Option(help="Largest loss that does not matter, e.g. 0.01.")] = None,
    alpha: Annotated[float, typer.Option(help="Level of the tests; intervals cover the rest.")] = 0.05,
    missing: Annotated[Policy, typer.Option(help="A judged query that is absent from a run.")] = Policy.zero,
    strict: Annotated[bool, typer.Option("--strict", help="Refuse systems that lack questions.")] = False,
    format: Annotated[Format | None, typer.Option("--format", "-f", help="How to write the result.")] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write to this file instead.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of randomisation and bootstrap.")] = 0,
    min_gain: Annotated[float | None, typer.Option(help="Smallest gain that counts as relevant (1).")] = None,
    rule: Annotated[str, typer.Option(help="When a chunk holds a gold span.")] = "any",
    fold: Annotated[str | None, typer.Option(help="How texts are folded before they are compared.")] = None,
    corpus: Annotated[str | None, typer.Option(help="Where the chunks come from.")] = None,
    segment: Annotated[
        str | None, typer.Option(help="Compare by tag, language or length of the questions too.")
    ] = None,
    movers: Annotated[
        int | None,
        typer.Option(help="How many that gained and lost most to show, with both rankings; 1 for two runs."),
    ] = None,
    queries: Annotated[
        str | None, typer.Option(help="Texts and tags of queries where the truth lacks them: JSONL, or id, tab, text.")
    ] = None,
    lang: Annotated[Lang | None, typer.Option(help="Language of the output; that of the locale by default.")] = None,
) -> None:
    """Compare systems: is the difference real, and how large is it?"""
    from steelyard.cli.compare import run

    run(
        truth, runs, measure or [], baseline=baseline, test=test, correction=correction, margin=margin, alpha=alpha,
        strict=strict, format=format.value if format else None, output=output, seed=seed, min_gain=min_gain, rule=rule,
        fold=fold, corpus=corpus, segment=segment, movers=movers, queries=queries, lang=lang.value if lang else None,
        missing=missing.value,
    )  # fmt: skip


@app.command()
def diagnose(
    truth: Annotated[str, typer.Argument(help="Judged documents or questions, as for evaluate.")],
    runs: Annotated[list[str], typer.Argument(help="One or several runs or run folders.")],
    k: Annotated[int | None, typer.Option("--k", "-k", help="Results that count as found (5).")] = None,
    baseline: Annotated[str | None, typer.Option(help="What the others are held against; the first run.")] = None,
    stage: Annotated[
        list[str] | None,
        typer.Option("--list", help="List the questions of a stage, e.g. not_retrieved; may be repeated."),
    ] = None,
    queries: Annotated[str | None, typer.Option(help="Texts and tags of queries where the truth lacks them.")] = None,
    format: Annotated[Format | None, typer.Option("--format", "-f", help="table, markdown or json.")] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write to this file instead.")] = None,
    min_gain: Annotated[float | None, typer.Option(help="Smallest gain that counts as relevant (1).")] = None,
    rule: Annotated[str, typer.Option(help="When a chunk holds a gold span.")] = "any",
    fold: Annotated[str | None, typer.Option(help="How texts are folded before they are compared.")] = None,
    corpus: Annotated[str | None, typer.Option(help="Where the chunks come from.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the intervals.")] = 0,
    lang: Annotated[Lang | None, typer.Option(help="Language of the output; that of the locale by default.")] = None,
) -> None:
    """Where is the gold lost, what could be reached, and what to try?"""
    from steelyard.cli.diagnose import run

    run(
        truth, runs, k=k, baseline=baseline, stages=stage or [], queries=queries, corpus=corpus, rule=rule, fold=fold,
        min_gain=min_gain, format=format.value if format else None, output=output,
        lang=lang.value if lang else None, seed=seed,
    )  # fmt: skip


@app.command()
def report(
    truth: Annotated[str, typer.Argument(help="Judged documents or questions, as for evaluate.")],
    runs: Annotated[list[str], typer.Argument(help="One or several runs or run folders.")],
    output: Annotated[
        list[Path] | None,
        typer.Option("--output", "-o", help="A file: .html, .md, .tex, .csv, .json or .txt; may be repeated."),
    ] = None,
    charts: Annotated[Path | None, typer.Option(help="Write every chart as SVG and PNG into this folder.")] = None,
    measure: Annotated[
        list[str] | None, typer.Option("--measure", "-m", help="The first is the primary one; may be repeated.")
    ] = None,
    profile: Annotated[
        str, typer.Option("--profile", "-p", help="Levels to rate by, and what they recommend: faq, … or a TOML.")
    ] = "ratings",
    baseline: Annotated[str | None, typer.Option(help="What the others are compared with; the first run.")] = None,
    test: Annotated[
        str | None, typer.Option(help="t, randomization, wilcoxon or sign with the baseline; tukey for all pairs.")
    ] = None,
    correction: Annotated[str | None, typer.Option(help="holm (default), bonferroni, bh or none.")] = None,
    margin: Annotated[float | None, typer.Option(help="Largest loss that does not matter, e.g. 0.01.")] = None,
    alpha: Annotated[float, typer.Option(help="Level of the tests.")] = 0.05,
    k: Annotated[
        int | None, typer.Option("--k", "-k", help="Results that count as found; k of the first measure.")
    ] = None,
    queries: Annotated[str | None, typer.Option(help="Texts and tags of queries where the truth lacks them.")] = None,
    min_gain: Annotated[float | None, typer.Option(help="Smallest gain that counts as relevant (1).")] = None,
    rule: Annotated[str, typer.Option(help="When a chunk holds a gold span.")] = "any",
    fold: Annotated[str | None, typer.Option(help="How texts are folded before they are compared.")] = None,
    corpus: Annotated[str | None, typer.Option(help="Where the chunks come from.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of randomisation and bootstrap.")] = 0,
    lang: Annotated[Lang | None, typer.Option(help="Language of the report; that of the locale by default.")] = None,
) -> None:
    """All of it in one report: leaderboard, comparison, ratings, diagnosis, every question."""
    from steelyard.cli.report import run

    run(
        truth, runs, measure or [], output=output or [], charts=charts, baseline=baseline, test=test,
        correction=correction, margin=margin, alpha=alpha, profile=profile, k=k, min_gain=min_gain, queries=queries,
        rule=rule, fold=fold, corpus=corpus, seed=seed, lang=lang.value if lang else None,
    )  # fmt: skip


@app.command()
def gate(
    scores: Annotated[str, typer.Argument(help="JSON of `evaluate --format json --output SCORES`, or a run folder.")],
    profile: Annotated[
        str | None,
        typer.Option(
            "--profile",
            "-p",
            help="ratings, production, faq, document-qa, academic, enterprise, reranker, monitoring, or a TOML file.",
        ),
    ] = None,
    level: Annotated[str | None, typer.Option(help="Which level of the profile; the first by default.")] = None,
    baseline: Annotated[
        str | None, typer.Option(help="What must not be lost against: a system of SCORES, a JSON or a run folder.")
    ] = None,
    margin: Annotated[float | None, typer.Option(help="Largest loss that does not matter, e.g. 0.01.")] = None,
    system: Annotated[str | None, typer.Option(help="The system to judge; all but the baseline by default.")] = None,
    min_questions: Annotated[int, typer.Option(help="Fewer are too few to judge by.")] = 10,
    max_failed: Annotated[float | None, typer.Option(help="Largest share of questions that failed, 0 to 1.")] = None,
    max_missing: Annotated[float | None, typer.Option(help="Of questions missing from the run.")] = None,
    max_unjudged: Annotated[float | None, typer.Option(help="Of retrieved documents without a label.")] = None,
    max_unmapped: Annotated[float | None, typer.Option(help="Of gold pieces that are in no chunk.")] = None,
    value: Annotated[
        list[str] | None, typer.Option(help="A number that scores do not hold: latency_ms_p95=320; may be repeated.")
    ] = None,
    junit: Annotated[Path | None, typer.Option(help="Write JUnit XML here.")] = None,
    summary: Annotated[
        Path | None, typer.Option(help="Write a Markdown summary here, for the page of a CI job.")
    ] = None,
    truth: Annotated[str | None, typer.Option(help="Questions of a run folder that does not find its own.")] = None,
    alpha: Annotated[float, typer.Option(help="Level of the tests against the baseline.")] = 0.05,
    lang: Annotated[Lang | None, typer.Option(help="Language of the output; that of the locale by default.")] = None,
) -> None:
    """May it ship?  Exit status 0: pass, 1: fail, 3: too few data to say."""
    from steelyard.cli.gate import run

    run(
        scores, profile=profile, level=level, baseline=baseline, margin=margin, system=system,
        min_questions=min_questions, max_failed=max_failed, max_unjudged=max_unjudged, max_missing=max_missing,
        max_unmapped=max_unmapped, values=value or [], junit=junit, summary=summary, truth=truth,
        lang=lang.value if lang else None, alpha=alpha,
    )  # fmt: skip


@app.command()
def measures(
    name: Annotated[str | None, typer.Argument(help="Show all about one measure, e.g. ndcg.")] = None,
) -> None:
    """List every measure: definition, range, source, aliases."""
    from steelyard.cli.measures import run

    run(name)


@app.command(
    "trec-eval",
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": ["--help"]},
)
def trec_eval(
    arguments: Annotated[
        list[str] | None, typer.Argument(help="As of trec_eval: -q -c -n -J -l -M -N -m QRELS RUN")
    ] = None,
) -> None:
    """Print what the trec_eval program prints, from the same arguments."""
    from steelyard.cli.trec_eval import run

    run(arguments or [])


@app.command()
def convert(
    source: Annotated[str, typer.Argument(help="A run or a truth in any format that can be read.")],
    target: Annotated[Path, typer.Argument(help="The file to write; its suffix tells the format (.gz, .zst too).")],
    kind: Annotated[Kind | None, typer.Option(help="What the source holds, where its columns do not tell.")] = None,
    on_duplicate: Annotated[OnDuplicate, typer.Option(help="A document twice in one query.")] = OnDuplicate.error,
) -> None:
    """Convert a run or a truth to another format."""
    from steelyard.cli.convert import run

    run(source, target, kind.value if kind else None, on_duplicate.value)


@app.command()
def run(
    config: Annotated[Path | None, typer.Argument(help="Configuration in TOML: documents, questions, stages.")] = None,
    documents: Annotated[Path | None, typer.Option("--documents", "-d", help="Folder or file to search.")] = None,
    questions: Annotated[
        Path | None, typer.Option("--questions", "-q", help="Questions with gold evidence: JSONL, a folder, BEIR.")
    ] = None,
    target: Annotated[
        str | None, typer.Option(help="A system of your own instead: module:function, or the URL of an endpoint.")
    ] = None,
    k: Annotated[int | None, typer.Option("--k", "-k", help="Chunks that a question gets (10).")] = None,
    measure: Annotated[
        list[str] | None, typer.Option("--measure", "-m", help="e.g. recall@10; may be repeated.")
    ] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Run folder (runs/NAME).")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a finished run in that folder.")] = False,
    cache: Annotated[bool, typer.Option("--cache/--no-cache", help="Keep chunks and vectors for the next run.")] = True,
    lang: Annotated[Lang | None, typer.Option(help="Language of the output; that of the locale by default.")] = None,
) -> None:
    """Run a retrieval pipeline, or a system of your own, over questions; and weigh it."""
    from steelyard.cli.run import run

    run(
        config, documents=documents, questions=questions, target=target, k=k, measures=measure or [], output=output,
        overwrite=overwrite, cache=cache, lang=lang.value if lang else None,
    )  # fmt: skip


@app.command()
def sweep(
    config: Annotated[Path, typer.Argument(help="Configuration in TOML, with what varies in a table [sweep].")],
    measure: Annotated[
        list[str] | None, typer.Option("--measure", "-m", help="e.g. recall, weighed at each k; may be repeated.")
    ] = None,
    holdout: Annotated[
        bool, typer.Option("--holdout", help="Keep half of the questions from the choice, and weigh the best on them.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Seed of the half that is held out.")] = 0,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace finished runs.")] = False,
    format: Annotated[Format | None, typer.Option("--format", "-f", help="How to write the table.")] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write to this file instead.")] = None,
    lang: Annotated[Lang | None, typer.Option(help="Language of the output; that of the locale by default.")] = None,
) -> None:
    """Run a grid of pipelines and print one table."""
    from steelyard.cli.sweep import run

    run(
        config, measures=measure or [], holdout=holdout, seed=seed, overwrite=overwrite,
        format=format.value if format else None, output=output, lang=lang.value if lang else None,
    )  # fmt: skip


@app.command()
def chat(
    config: Annotated[Path, typer.Argument(help="Configuration in TOML: documents, questions, stages.")],
    k: Annotated[int | None, typer.Option("--k", "-k", help="Chunks that a question gets.")] = None,
    lang: Annotated[Lang | None, typer.Option(help="Language of the output; that of the locale by default.")] = None,
) -> None:
    """Ask a pipeline questions, one by one."""
    from steelyard.cli.chat import run

    run(config, k=k, lang=lang.value if lang else None)


@app.command()
def demo(
    folder: Annotated[Path, typer.Argument(help="Where the example goes, with all it makes.")] = Path("steelyard-demo"),
    lang: Annotated[Lang | None, typer.Option(help="Language of the output; that of the locale by default.")] = None,
) -> None:
    """Chunk, index, search and weigh the bundled documents, end to end."""
    from steelyard.cli.demo import run

    run(folder, lang=lang.value if lang else None)
