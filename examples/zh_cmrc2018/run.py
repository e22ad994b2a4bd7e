"""Chinese questions to Chinese contexts: BM25 with words, with bigrams and with both of them, LSA, and a hybrid; and
answers of 40, 80 and 120 words at most.

python examples/zh_cmrc2018/run.py [--data FOLDER]
"""

from __future__ import annotations

import argparse
import sys
import textwrap
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import steelyard as sy
from steelyard.text.tokens import Tokenizer

HERE = Path(__file__).resolve().parent
DATA = HERE.parents[2] / "shared" / "data" / "zh_cmrc2018" / "beir"
MEASURES = ("ndcg@10", "mrr@10", "recall@10")
WORDS, BIGRAMS, BOTH = "bm25-words", "bm25-bigrams", "bm25-both"
LENGTHS = (40, 80, 120)
ANSWER_MEASURES = ("answer_recall", "contains", "token_f1", "faithfulness", "citation_support")
WIDTH = 79


def main() -> None:
    """Run every pipeline of the file, weigh all, and print it."""
    asked = arguments()
    if not (asked.data / "qrels").is_dir():
        sys.exit(f"{asked.data}: is no BEIR folder; README.md says what belongs there. Name it with --data")
    questions = sy.Questions.read(asked.data)
    runs = [pipeline.run(questions, asked.output / pipeline.name, progress=say) for pipeline in pipelines(asked)]
    weighing = sy.weigh(questions, [folder.path for folder in runs], cluster="doc")
    scores = weighing.scores(MEASURES)
    counts = runs[0].manifest["counts"]
    print(f"{counts['questions']:,} questions, {counts['documents']:,} contexts, each one chunk\n")
    print_table(scores)
    print("In brackets: 95% intervals; questions on one context count as one cluster.\n")
    print_comparison(sy.compare(weighing, measures=MEASURES[0], baseline=weighing.systems[0]))
    print_words_against_bigrams(scores, questions)
    print_answers(asked, questions)
    print(f"\nThe runs lie in {asked.output};\na second start does not search again.")
    write_reports(weighing, asked.output)


def write_reports(weighing: sy.Weighing, folder: Path) -> None:
    """The whole report as a page; or what to install for it."""
    report = sy.report(weighing, measures=MEASURES)
    try:
        report.write(folder / "report.html", lang="en")
    except sy.MissingExtraError as error:
        print(f"\nNo report is written: {error}")
    else:
        print(f"\nReport, in English and in Chinese: {folder / 'report.html'}")


def arguments() -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser(description="Chinese retrieval with words and with bigrams.")
    parser.add_argument("--data", type=Path, default=DATA, help="BEIR folder of the contexts and questions")
    parser.add_argument("--output", type=Path, default=HERE / "runs", help="folder for the runs")
    return parser.parse_args()


def pipelines(asked: argparse.Namespace) -> Iterator[sy.Pipeline]:
    """One pipeline for each table of pipelines.toml."""
    for name, settings in tables().items():
        yield pipeline(asked, name, settings)


def tables() -> dict[str, dict[str, Any]]:
    """The settings of each pipeline, with those that all have in common."""
    settings: dict[str, dict[str, Any]] = tomllib.loads((HERE / "pipelines.toml").read_text(encoding="utf-8"))
    common = settings.pop("common")
    return {name: common | own for name, own in settings.items()}


def pipeline(asked: argparse.Namespace, name: str, settings: dict[str, Any]) -> sy.Pipeline:
    """A pipeline over the contexts; what it computes is cached."""
    asked.output.mkdir(parents=True, exist_ok=True)
    return sy.Pipeline(asked.data, name=name, cache=asked.output / "cache.sqlite", **settings)


def say(stage: str, done: int, total: int) -> None:
    """Progress, where somebody is watching."""
    if sys.stderr.isatty() and stage == "questions":
        end = "\r\x1b[K" if done == total else ""
        print(f"\r{done} of {total} questions", end=end, file=sys.stderr, flush=True)


def print_table(scores: sy.Scores) -> None:
    """A row for each pipeline: means, and their 95% intervals."""
    means, low, high = scores.means, scores.intervals.low, scores.intervals.high
    print(f"{'':<13}" + "".join(f"{measure:^22}" for measure in MEASURES).rstrip())
    for i, system in enumerate(scores.systems):
        cells = [f"{means[i, j]:.4f} ({low[i, j]:.3f}–{high[i, j]:.3f})" for j in range(len(MEASURES))]
        print(f"{system:<13}" + "".join(f"{cell:^22}" for cell in cells).rstrip())


def print_comparison(comparison: sy.Comparison) -> None:
    """Each pipeline against the baseline: difference, interval and verdict."""
    print(f"{comparison.measures[0]} against {comparison.baseline}, by paired t tests with Holm's correction:")
    for row in comparison.frame.rows(named=True):
        if row["system"] != comparison.baseline:
            interval = f"{signed(row['low'], 3)} to {signed(row['high'], 3)}"
            print(f"{row['system']:<13}{signed(row['difference'], 4)} ({interval})  {row['verdict']}")
    print()


def signed(value: float, digits: int) -> str:
    """A difference, with its sign."""
    return f"{value:+.{digits}f}".replace("-", "−")


def print_words_against_bigrams(scores: sy.Scores, questions: sy.Questions) -> None:
    """Question by question: who is ahead how often, and what the tokens are where it matters most."""
    values = scores.values[:, 0]
    lead = values[scores.systems.index(BIGRAMS)] - values[scores.systems.index(WORDS)]
    ahead, behind = int((lead > 0).sum()), int((lead < 0).sum())
    summary = (
        f"Bigrams put the gold context higher than words for {ahead} questions, lower for {behind}, and alike for the "
        f"other {len(lead) - ahead - behind:,}: on average they differ by {signed(lead.mean(), 4)} in {MEASURES[0]}."
    )
    print(textwrap.fill(summary, WIDTH))
    by_id = {question.query_id: question.query or "" for question in questions}
    for winner, i in (("bigrams", int(lead.argmax())), ("words", int(lead.argmin()))):
        query = by_id[scores.query_ids[i]]
        print(f"\nWhere {winner} are most ahead ({signed(lead[i], 2)}): {query}")
        for way in ("words", "bigrams"):
            print(f"  as {way:<9}{' | '.join(Tokenizer(chinese=way).tokens(query))}")


def print_answers(asked: argparse.Namespace, questions: sy.Questions) -> None:
    """The sentences of the first contexts that fit the question best, weighed as answers; and one without support."""
    runs = list[Path]()
    for n in LENGTHS:
        settings = tables()[BOTH] | {"generate": {"kind": "extractive", "words": n}}
        runs.append(pipeline(asked, f"{n}-words", settings).run(questions, asked.output / f"{n}-words").path)
    verdicts = {folder.name: sy.judge(questions, folder) for folder in runs}
    scores = sy.evaluate(questions, runs, ANSWER_MEASURES, verdicts=verdicts, cluster="doc")
    print("\nAnswers of the sentences that fit best, judged by words (uncalibrated):")
    print(f"{'':<12}" + "".join(f"{measure:>18}" for measure in ANSWER_MEASURES[:3]).rstrip())
    print_answer_rows(scores, 0, 3)
    print(f"{'':<12}" + "".join(f"{measure:>18}" for measure in ANSWER_MEASURES[3:]).rstrip())
    print_answer_rows(scores, 3, 5)
    print_unsupported(verdicts[runs[-1].name])


def print_answer_rows(scores: sy.Scores, first: int, last: int) -> None:
    """A row for each system: means of some measures."""
    for i, system in enumerate(scores.systems):
        print(f"{system:<12}" + "".join(f"{mean:>18.4f}" for mean in scores.means[i, first:last]))


def print_unsupported(verdicts: sy.Verdicts) -> None:
    """The first sentence that no chunk supports, by the judge."""
    units = verdicts.units.filter(verdicts.units["verdict"] == "not_found")
    if len(units):
        print(f"\n{len(units)} of {len(verdicts.units):,} sentences have no support, the first of them:")
        print(textwrap.fill(units["text"][0], WIDTH // 2, initial_indent="  ", subsequent_indent="  "))


if __name__ == "__main__":
    try:
        main()
    except sy.SteelyardError as error:
        sys.exit(str(error))
