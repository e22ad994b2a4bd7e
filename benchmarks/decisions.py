"""How often what is decided is wrong: simulations in which the truth is known.

    python -m benchmarks.decisions [--table NAME ...] [--draws N] [--seed N] [--markdown FILE]

Prints tables of error rates of tests, intervals and gates, as the docs hold them.  Some draw from scores of
TREC's systems by question, which lie beside the repository, in ../shared/data/trec_topic_scores.  With 400 draws a
share of 5% is known to about 1% either way (one standard error).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from benchmarks.simulated.answers import answer_table
from benchmarks.simulated.arms import arm_table, cuped_table, unit_table
from benchmarks.simulated.causes import cause_table
from benchmarks.simulated.changes import change_table, loss_table, step_table
from benchmarks.simulated.choices import choice_table
from benchmarks.simulated.clusters import cluster_table
from benchmarks.simulated.drawing import drawing_table
from benchmarks.simulated.drift import calibrated_table, drift_table, elsewhere_table, likeness_table
from benchmarks.simulated.experiment_levels import claim_table
from benchmarks.simulated.experiment_plans import planned_table
from benchmarks.simulated.families import family_table, primary_table, third_run_table
from benchmarks.simulated.gates import alike_table, gate_table, needed_table, rare_table
from benchmarks.simulated.histories import alarm_table, history_table, lucky_baseline_table, shape_table
from benchmarks.simulated.interleaving import gain_table, level_table
from benchmarks.simulated.intervals import interval_table
from benchmarks.simulated.judged_arms import judged_arm_table
from benchmarks.simulated.judged_differences import judged_table
from benchmarks.simulated.judged_samples import judged_sample_table
from benchmarks.simulated.launches import launch_table
from benchmarks.simulated.leads import lead_table
from benchmarks.simulated.looks import bounded_table, peeking_table, returning_table, waiting_table
from benchmarks.simulated.luck import holdout_table, luck_table
from benchmarks.simulated.means import mean_table, skewed_table
from benchmarks.simulated.monitoring import delay_table, psi_table, quiet_table, run_length_table, since_table
from benchmarks.simulated.off_policy import off_policy_table
from benchmarks.simulated.percentile_gates import percentile_gate_table
from benchmarks.simulated.power import plan_table, power_table
from benchmarks.simulated.repeats import commit_table, repeat_table
from benchmarks.simulated.replay import replay_table
from benchmarks.simulated.requests import request_table
from benchmarks.simulated.sample_ratios import sample_ratio_table
from benchmarks.simulated.segments import accused_table, segment_table
from benchmarks.simulated.tables import Table
from benchmarks.simulated.traffic import quiet_days_table, series_table
from benchmarks.simulated.undecided import undecided_table
from benchmarks.simulated.unpaired import unpaired_label_table, unpaired_table

TABLES: Mapping[str, Callable[[int, int], Table]] = {
    "gate": gate_table,
    "percentile-gate": percentile_gate_table,
    "requests": request_table,
    "rare": rare_table,
    "alike": alike_table,
    "needed": needed_table,
    "histories": history_table,
    "alarms": alarm_table,
    "alarm-shapes": shape_table,
    "baseline-luck": lucky_baseline_table,
    "families": family_table,
    "third-run": third_run_table,
    "primary": primary_table,
    "power": power_table,
    "experiment-levels": claim_table,
    "experiment-plans": planned_table,
    "plan": plan_table,
    "intervals": interval_table,
    "clusters": cluster_table,
    "means": mean_table,
    "skewed-means": skewed_table,
    "repeats": repeat_table,
    "replay": replay_table,
    "judged-sample": judged_sample_table,
    "answers": answer_table,
    "drift": drift_table,
    "drift-elsewhere": elsewhere_table,
    "drift-likeness": likeness_table,
    "drift-labels": calibrated_table,
    "judged": judged_table,
    "leads": lead_table,
    "undecided": undecided_table,
    "segments": segment_table,
    "random-tags": accused_table,
    "choice": choice_table,
    "luck": luck_table,
    "held-out": holdout_table,
    "changes": change_table,
    "losses": loss_table,
    "steps": step_table,
    "unpaired": unpaired_table,
    "commit-runs": commit_table,
    "unpaired-labels": unpaired_label_table,
    "quiet-months": quiet_table,
    "delays": delay_table,
    "run-lengths": run_length_table,
    "distributions": psi_table,
    "since-when": since_table,
    "drawing": drawing_table,
    "causes": cause_table,
    "judged-arms": judged_arm_table,
    "launches": launch_table,
    "series": series_table,
    "quiet-days": quiet_days_table,
    "off-policy": off_policy_table,
    "interleaving": gain_table,
    "interleaving-levels": level_table,
    "sample-ratio": sample_ratio_table,
    "arms": arm_table,
    "arm-units": unit_table,
    "cuped": cuped_table,
    "peeking": peeking_table,
    "waiting": waiting_table,
    "few-bounded": bounded_table,
    "returning-bets": returning_table,
}
"""By name: from the number of draws and the seed to a table."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", choices=TABLES, nargs="*", default=[*TABLES])
    parser.add_argument("--draws", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--markdown", type=Path)
    options = parser.parse_args()
    written = []
    for name in options.table:
        lines = "\n".join(TABLES[name](options.draws, options.seed).lines())
        sys.stdout.write(f"{lines}\n\n")
        sys.stdout.flush()
        written.append(lines)
    if options.markdown:
        options.markdown.write_text("\n\n".join(written) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
