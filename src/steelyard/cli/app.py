"""What `steelyard --help` shows: the commands and their options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from steelyard.cli import options
from steelyard.experiment import defaults

app = typer.Typer(
    name="steelyard",
    help="Steelyard (秤) weighs retrieval and RAG systems.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


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
    truth: options.TruthArgument,
    runs: options.RunsArgument,
    measure: options.MeasuresOption = None,
    min_gain: options.MinGainOption = None,
    missing: options.MissingOption = defaults.MISSING,
    no_relevant: options.NoRelevantOption = defaults.NO_RELEVANT,
    on_duplicate: options.OnDuplicateOption = defaults.ON_DUPLICATE,
    per_query: Annotated[bool, typer.Option("--per-query", "-q", help="Show the value of every query too.")] = False,
    format: options.FormatOption = None,
    output: options.OutputOption = None,
    seed: options.SeedOption = defaults.SEED,
    rule: options.RuleOption = defaults.RULE,
    fold: options.FoldOption = None,
    corpus: options.CorpusOption = None,
    profile: options.ProfileOption = None,
    lang: options.LangOption = None,
) -> None:
    """Weigh runs against a truth: judged documents, or questions with gold evidence."""
    from steelyard.cli.evaluate import run

    run(
        truth, runs, measure or [], min_gain=min_gain, missing=missing, no_relevant=no_relevant,
        on_duplicate=on_duplicate, per_query=per_query, format=format, output=output, seed=seed, rule=rule,
        steps=options.folding_steps(fold), corpus=corpus, profile=profile, lang=lang,
    )  # fmt: skip


@app.command()
def compare(
    truth: options.TruthArgument,
    runs: options.RunsArgument,
    measure: options.MeasuresOption = None,
    baseline: options.BaselineOption = None,
    test: options.TestOption = None,
    correction: options.CorrectionOption = None,
    margin: options.MarginOption = None,
    alpha: options.AlphaOption = defaults.ALPHA,
    missing: options.MissingOption = defaults.MISSING,
    strict: Annotated[bool, typer.Option("--strict", help="Refuse systems that lack questions.")] = False,
    format: options.FormatOption = None,
    output: options.OutputOption = None,
    seed: options.SeedOption = defaults.SEED,
    min_gain: options.MinGainOption = None,
    rule: options.RuleOption = defaults.RULE,
    fold: options.FoldOption = None,
    corpus: options.CorpusOption = None,
    segment: Annotated[
        str | None, typer.Option(help="Compare by tag, language or length of the questions too.")
    ] = None,
    movers: Annotated[
        int | None,
        typer.Option(help="How many that gained and lost most to show, with both rankings; 1 for two runs."),
    ] = None,
    queries: options.QueriesOption = None,
    lang: options.LangOption = None,
) -> None:
    """Compare systems: is the difference real, and how large is it?"""
    from steelyard.cli.compare import run

    run(
        truth, runs, measure or [], baseline=baseline, test=test, correction=correction, margin=margin, alpha=alpha,
        missing=missing, strict=strict, format=format, output=output, seed=seed, min_gain=min_gain, rule=rule,
        steps=options.folding_steps(fold), corpus=corpus, segment=segment, movers=movers, queries=queries, lang=lang,
    )  # fmt: skip


@app.command()
def diagnose(
    truth: options.TruthArgument,
    runs: options.RunsArgument,
    k: options.CutoffOption = None,
    baseline: options.BaselineOption = None,
    stage: Annotated[
        list[str] | None,
        typer.Option("--list", help="List the questions of a stage, e.g. not_retrieved; may be repeated."),
    ] = None,
    queries: options.QueriesOption = None,
    format: options.FormatOption = None,
    output: options.OutputOption = None,
    min_gain: options.MinGainOption = None,
    rule: options.RuleOption = defaults.RULE,
    fold: options.FoldOption = None,
    corpus: options.CorpusOption = None,
    seed: options.SeedOption = defaults.SEED,
    lang: options.LangOption = None,
) -> None:
    """Where is the gold lost, what could be reached, and what to try?"""
    from steelyard.cli.diagnose import run

    run(
        truth, runs, k=k, baseline=baseline, stages=stage or [], queries=queries, corpus=corpus, rule=rule,
        steps=options.folding_steps(fold), min_gain=min_gain, format=format, output=output, lang=lang, seed=seed,
    )  # fmt: skip


@app.command()
def report(
    truth: options.TruthArgument,
    runs: options.RunsArgument,
    output: Annotated[
        list[Path] | None,
        typer.Option("--output", "-o", help="A file: .html, .md, .tex, .csv, .json or .txt; may be repeated."),
    ] = None,
    charts: Annotated[Path | None, typer.Option(help="Write every chart as SVG and PNG into this folder.")] = None,
    measure: options.MeasuresOption = None,
    profile: options.ReportProfileOption = defaults.PROFILE,
    baseline: options.BaselineOption = None,
    test: options.TestOption = None,
    correction: options.CorrectionOption = None,
    margin: options.MarginOption = None,
    alpha: options.AlphaOption = defaults.ALPHA,
    k: options.CutoffOption = None,
    queries: options.QueriesOption = None,
    min_gain: options.MinGainOption = None,
    rule: options.RuleOption = defaults.RULE,
    fold: options.FoldOption = None,
    corpus: options.CorpusOption = None,
    seed: options.SeedOption = defaults.SEED,
    lang: options.LangOption = None,
) -> None:
    """All of it in one report: leaderboard, comparison, ratings, diagnosis, every question."""
    from steelyard.cli.report import run

    run(
        truth, runs, measure or [], output=output or [], charts=charts, baseline=baseline, test=test,
        correction=correction, margin=margin, alpha=alpha, profile=profile, k=k, min_gain=min_gain, queries=queries,
        rule=rule, steps=options.folding_steps(fold), corpus=corpus, seed=seed, lang=lang,
    )  # fmt: skip


@app.command()
def gate(
    scores: Annotated[str, typer.Argument(help="JSON of `evaluate --format json --output SCORES`, or a run folder.")],
    profile: options.ProfileOption = None,
    level: Annotated[str | None, typer.Option(help="Which level of the profile; the first by default.")] = None,
    baseline: Annotated[
        str | None, typer.Option(help="What must not be lost against: a system of SCORES, a JSON or a run folder.")
    ] = None,
    margin: options.MarginOption = None,
    system: Annotated[str | None, typer.Option(help="The system to judge; all but the baseline by default.")] = None,
    min_questions: Annotated[int, typer.Option(help="Fewer are too few to judge by.")] = defaults.MIN_QUESTIONS,
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
    alpha: options.AlphaOption = defaults.ALPHA,
    lang: options.LangOption = None,
) -> None:
    """May it ship?  Exit status 0: pass, 1: fail, 3: too few data to say."""
    from steelyard.cli.gate import run

    run(
        scores, profile=profile, level=level, baseline=baseline, margin=margin, system=system,
        min_questions=min_questions, max_failed=max_failed, max_unjudged=max_unjudged, max_missing=max_missing,
        max_unmapped=max_unmapped, values=value or [], junit=junit, summary=summary, truth=truth, lang=lang,
        alpha=alpha,
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
    target: Annotated[Path, typer.Argument(help="The file to write, in the format of its suffix (.gz, .zst too).")],
    kind: options.KindOption = None,
    on_duplicate: options.OnDuplicateOption = defaults.ON_DUPLICATE,
) -> None:
    """Convert a run or a truth to another format."""
    from steelyard.cli.convert import run

    run(source, target, kind, on_duplicate)


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
    k: options.DepthOption = None,
    measure: options.MeasuresOption = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Run folder (runs/NAME).")] = None,
    overwrite: options.OverwriteOption = False,
    cache: Annotated[bool, typer.Option("--cache/--no-cache", help="Keep chunks and vectors for the next run.")] = True,
    lang: options.LangOption = None,
) -> None:
    """Run a retrieval pipeline, or a system of your own, over questions; and weigh it."""
    from steelyard.cli.run import run

    run(
        config, documents=documents, questions=questions, target=target, k=k, measures=measure or [], output=output,
        overwrite=overwrite, cache=cache, lang=lang,
    )  # fmt: skip


@app.command()
def sweep(
    config: Annotated[Path, typer.Argument(help="Configuration in TOML, with what varies in a table [sweep].")],
    measure: options.MeasuresOption = None,
    holdout: Annotated[
        bool, typer.Option("--holdout", help="Keep half of the questions from the choice, and weigh the best on them.")
    ] = False,
    seed: options.SeedOption = defaults.SEED,
    overwrite: options.OverwriteOption = False,
    format: options.FormatOption = None,
    output: options.OutputOption = None,
    lang: options.LangOption = None,
) -> None:
    """Run a grid of pipelines and print one table."""
    from steelyard.cli.sweep import run

    run(
        config, measures=measure or [], holdout=holdout, seed=seed, overwrite=overwrite, format=format,
        output=output, lang=lang,
    )  # fmt: skip


@app.command()
def chat(
    config: options.ConfigArgument, k: options.DepthOption = None, lang: options.LangOption = None
) -> None:  # fmt: skip
    """Ask a pipeline questions, one by one."""
    from steelyard.cli.chat import run

    run(config, k=k, lang=lang)


@app.command()
def demo(
    folder: Annotated[Path, typer.Argument(help="Where the example goes, with all it makes.")] = Path("steelyard-demo"),
    lang: options.LangOption = None,
) -> None:
    """Chunk, index, search and weigh the bundled documents, end to end."""
    from steelyard.cli.demo import run

    run(folder, lang=lang)
