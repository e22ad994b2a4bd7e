"""`steelyard evaluate`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from steelyard.base.choices import OnDuplicate, Policy, Unit
from steelyard.cli.progress import SOON, progress_bars
from steelyard.cli.terminal import screen_view, write_result
from steelyard.experiment.door.evaluation import evaluate
from steelyard.experiment.door.verdict_choice import named_verdicts
from steelyard.experiment.review_choice import named_labels
from steelyard.io.named import run_paths
from steelyard.io.write import refuse_overwriting
from steelyard.report.formats.scores import check_format, scores_text
from steelyard.report.formats.suffix import format_of
from steelyard.report.words import read_words


def run(
    truth: str, runs: list[str], measures: list[str], *, min_gain: float | None, missing: Policy, no_relevant: Policy,
    on_duplicate: OnDuplicate, per_query: bool, format: str | None, output: Path | None,
    rule: str, steps: Sequence[str] | None, unit: Unit | None, corpus: str | None, queries: str | None,
    cluster: str | None, verdicts: list[str], judge: str | None, labels: list[str], no_labels: bool,
    profile: str | None, safe_csv: bool, lang: str | None,
) -> None:  # fmt: skip
    """Weigh the runs, rate them where there is a profile, and write the result."""
    refuse_overwriting(output or "-", [truth, *run_paths(runs), *([queries] if queries else [])])
    words, format = read_words(lang), format_of(output, format)
    check_format(format)
    rated = None
    if profile is not None:
        from steelyard.gates.profiles import Profile

        rated = Profile.read(profile)
    specs = measures or (rated.measures if rated else ()) or None
    with progress_bars(words, after=SOON) as bars:
        scores = evaluate(
            truth, runs, specs, min_gain=min_gain, missing=missing, no_relevant=no_relevant,
            on_duplicate=on_duplicate, rule=rule, steps=steps, unit=unit, corpus=corpus, queries=queries,
            cluster=cluster, verdicts=named_verdicts(verdicts), judge=judge,
            labels=named_labels(labels, without=no_labels), progress=bars,
        )  # fmt: skip
    text = scores_text(scores, format, words, per_query=per_query, profile=rated, **screen_view(output))
    write_result(text, format, output, safe_csv=safe_csv)
