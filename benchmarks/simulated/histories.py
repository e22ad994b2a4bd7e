"""What gates do over a hundred commits, where the truth is known: false alarms, creeping losses, lucky baselines."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from benchmarks.simulated.tables import Table, percent

from steelyard.base.arrays import Bools, Floats
from steelyard.stats.numerics import t_quantile
from steelyard.stats.tests.alarms import expected_luck, highest_gain
from steelyard.stats.tests.equivalence import loss_p

QUESTIONS, COMMITS, MARGIN, ALPHA, ALARMS = 120, 100, 0.02, 0.05, 1 / 200
EVERY = 20
"""Commits between two acceptances."""
_STRAIGHT = 1e-6


@dataclass(frozen=True)
class History:
    """What each commit changes: half of the questions by N(0, sd), all by the drift; and how runs differ.

    sd_runs   standard deviation of the value of one question from run to run
    """

    sd: float = 0.05
    drift: float = 0.0
    sd_runs: float = 0.0

    def commit(self, values: Floats, rng: np.random.Generator) -> Floats:
        """(h, n) values of the next commit of each history."""
        change = np.where(rng.random(values.shape) < 0.5, self.sd * rng.standard_normal(values.shape), 0.0)
        return values + change + self.drift if self.sd or self.drift else values

    def run(self, values: Floats, rng: np.random.Generator) -> Floats:
        """(h, n) values as they are measured once."""
        return values + self.sd_runs * rng.standard_normal(values.shape) if self.sd_runs else values


HISTORIES: Mapping[str, History] = {
    "no true change": History(),
    "no true change, sd .1": History(sd=0.1),
    "each commit loses .005": History(drift=-0.005),
    "each commit loses .01": History(drift=-0.01),
    "no change, runs differ by sd .1 a question": History(sd=0, sd_runs=0.1),
}


def limits(d: Floats, level: float) -> tuple[Floats, Floats, Floats]:
    """(h,) means, errors, and upper limits as `highest_gain` has them, of (h, n) gains."""
    n, means = d.shape[1], d.mean(axis=1)
    away, quantile = d - means[:, None], t_quantile(1 - level, d.shape[1] - 1)
    sd = np.sqrt((away**2).sum(axis=1) / (n - 1))
    error = sd / math.sqrt(n)
    cubes = (away**3).sum(axis=1) * n / ((n - 1) * (n - 2))
    bend = cubes / np.where(sd > 0, sd, 1.0) ** 3 / (6 * math.sqrt(n))
    straight = np.abs(bend) < _STRAIGHT
    safe = np.where(straight, 1.0, bend)
    unbent = np.where(straight, -quantile, (np.cbrt(1 + 6 * safe * (-quantile - safe)) - 1) / (2 * safe))
    return means, error, np.maximum(means + quantile * error, means - error * unbent)


def ruled_out(d: Floats, margin: float) -> Bools:
    """(h,) whether (h, n) gains rule a loss of the margin out, as `non_inferiority` of a measure without a range."""
    means, error, _ = limits(d, ALPHA)
    passed: Bools = np.where(error > 0, means - t_quantile(1 - ALPHA, d.shape[1] - 1) * error, means) > -margin
    for h in np.flatnonzero(passed & (error > 0)):
        passed[h] = loss_p(d[h], margin=margin, width=math.inf) < ALPHA
    return passed


def fails(d: Floats, *, margin: float, alarm: float | None) -> Bools:
    """(h,) whether a gate fails: by a loss of the margin that is shown, or with alarms by any."""
    means, error, high = limits(d, ALPHA if alarm is None else alarm)
    if alarm is None:
        return np.asarray(means + t_quantile(1 - ALPHA, d.shape[1] - 1) * error <= -margin)
    return np.asarray(high < 0)


Gate = Callable[[Floats, "State"], tuple[Bools, Bools]]
"""From (h, n) values of a run, and what was accepted, to whether each passes and whether each fails."""


@dataclass
class State:
    """Baselines of the histories, oldest first, each (h, n): the last one is that of the gate."""

    accepted: list[Floats] = field(default_factory=list)


def plain_gate(run: Floats, state: State) -> tuple[Bools, Bools]:
    """The gate without alarms: not worse by the margin, or shown to be."""
    d = run - state.accepted[-1]
    return ruled_out(d, MARGIN), fails(d, margin=MARGIN, alarm=None)


def alarm_gate(run: Floats, state: State) -> tuple[Bools, Bools]:
    """The gate with alarms, a budget since the accepted entry, and two margins since the best one."""
    accepted = state.accepted
    d, n = run - accepted[-1], len(accepted)
    passed = ruled_out(d, MARGIN)
    failed = fails(d, margin=MARGIN, alarm=ALARMS if n == 1 else ALARMS / 2) & ~passed
    if n > 1:
        best = np.array([baseline.mean(axis=1) for baseline in accepted]).argmax(axis=0)
        d = run - np.stack(accepted)[best, np.arange(len(run))]
        held = (best == n - 1) | ruled_out(d, 2 * MARGIN)
        failed |= fails(d, margin=2 * MARGIN, alarm=ALARMS / 2 / n) & ~held
        passed &= held & ~failed
    return passed, failed


@dataclass(frozen=True)
class Replay:
    """Shares over all commits and histories.

    passed, failed   of commits;   false   of histories with a FAIL of a commit that truly lost nothing since the start
    alarms           such commits in a hundred;   truth   mean after the last commit
    below            histories whose truth was below -2 margins before any FAIL
    """

    passed: float
    failed: float
    false: float
    alarms: float
    truth: float
    below: float


@dataclass(frozen=True)
class Policy:
    """What is compared, and what is merged.

    moving    whether the baseline is the last run that passed;   every   commits after which the state is accepted, and
              measured again for it; None: never
    through   whether commits of which the gate cannot say anything (exit status 3) are merged too
    """

    gate: Gate
    moving: bool = False
    every: int | None = None
    through: bool = False


def replay(history: History, policy: Policy, *, n_histories: int, seed: int) -> Replay:
    """Histories of commits that are merged where the gate lets them pass, and left out where it does not."""
    rng = np.random.default_rng(seed)
    values, truth = np.zeros((n_histories, QUESTIONS)), np.zeros(n_histories)
    state = State([history.run(values, rng)])
    ever, false, below = (np.zeros(n_histories, bool) for _ in range(3))
    counts = np.zeros(3)
    for commit in range(1, COMMITS + 1):
        proposed, lost = history.commit(values, rng), truth + history.drift
        run = history.run(proposed, rng)
        passed, failed = policy.gate(run, state)
        merged = ~failed if policy.through else passed
        alarmed = failed & (lost >= 0)
        counts += passed.sum(), failed.sum(), alarmed.sum()
        ever, false = ever | failed, false | alarmed
        values, truth = np.where(merged[:, None], proposed, values), np.where(merged, lost, truth)
        below |= (truth < -2 * MARGIN - 1e-9) & ~ever
        if policy.moving:
            state.accepted[-1] = np.where(passed[:, None], run, state.accepted[-1])
        elif policy.every and commit % policy.every == 0:
            state.accepted.append(history.run(values, rng))
    shares = counts / (COMMITS * n_histories)
    return Replay(shares[0], shares[1], false.mean(), 100 * shares[2], truth.mean(), below.mean())


ACCEPTED = f"accepted every {EVERY} commits, alarms 1 in 200"
POLICIES: Mapping[str, Policy] = {
    "fixed baseline": Policy(plain_gate),
    "last that passed": Policy(plain_gate, moving=True),
    ACCEPTED: Policy(alarm_gate, every=EVERY),
    "the same, and status 3 let through": Policy(alarm_gate, every=EVERY, through=True),
}


def history_table(draws: int, seed: int) -> Table:
    """What gates decide over a hundred commits, and what is true after these."""
    rows = []
    for name, history in HISTORIES.items():
        for title, policy in POLICIES.items():
            own = replay(history, policy, n_histories=max(draws // 2, 2), seed=seed)
            rows.append([
                f"{name}; {title}", f"{percent(own.passed)} / {percent(own.failed)}",
                percent(1 - own.passed - own.failed), f"{own.alarms:.2f}", percent(own.false), f"{own.truth:+.3f}",
                percent(own.below),
            ])  # fmt: skip
    columns = ["each commit; baseline", "pass / FAIL", "undecided", "false FAIL in 100 commits",
               "histories with one", "truth after 100", "truth below −2 margins before any FAIL"]  # fmt: skip
    return Table(f"{COMMITS} commits, {QUESTIONS} questions, margin {MARGIN}", columns, rows)


LOSSES, WITHIN = (0.02, 0.05, 0.10), (1, 5, 20)
RULES: Mapping[str, Callable[[Floats], Bools]] = {
    "a loss of the margin at 5%": lambda d: fails(d, margin=MARGIN, alarm=None),
    "a loss of the margin at 1 in 200": lambda d: _shown(d, MARGIN) & ~ruled_out(d, MARGIN),
    "any loss at 1 in 200": lambda d: fails(d, margin=MARGIN, alarm=ALARMS) & ~ruled_out(d, MARGIN),
}
SCATTERS = {"no noise of runs": History(), "runs differ by sd .1 a question": History(sd=0.05, sd_runs=0.1)}


def _shown(d: Floats, margin: float) -> Bools:
    return np.asarray(limits(d, ALARMS)[2] <= -margin)


def commits_to_find(history: History, rule: Callable[[Floats], Bools], loss: float, *, n: int, seed: int) -> Floats:
    """(h,) the commit at which a rule first fails, of histories whose first commit loses; infinite if none of 20 does.

    The other commits change what they change, and are merged whether they fail or not.
    """
    rng = np.random.default_rng(seed)
    values = np.zeros((n, QUESTIONS))
    baseline, first = history.run(values, rng), np.full(n, math.inf)
    values = values - loss
    for commit in range(1, WITHIN[-1] + 1):
        values = history.commit(values, rng)
        failed = rule(history.run(values, rng) - baseline)
        first = np.where(np.isinf(first) & failed, commit, first)
    return first


def alarm_table(draws: int, seed: int) -> Table:
    """False alarms of three rules, and after how many commits they find a loss that was made at once."""
    rows = []
    for scatter, history in SCATTERS.items():
        for name, rule in RULES.items():
            rng = np.random.default_rng(seed)
            runs = np.zeros((50 * draws, QUESTIONS))
            false = rule(history.run(history.commit(runs, rng), rng) - history.run(runs, rng)).mean()
            cells = []
            for loss in LOSSES:
                first = commits_to_find(history, rule, loss, n=max(draws // 2, 2), seed=seed)
                cells.append("; ".join(percent((first <= within).mean()) for within in WITHIN))
            rows.append([f"{scatter}; {name}", f"{100 * false:.2f}", *cells])
    columns = [
        "FAIL by",
        "false FAIL in 100 gates",
        *(f"loss of {loss:.2f} found at once; within {WITHIN[1]}; {WITHIN[2]} commits" for loss in LOSSES),
    ]
    return Table("Which rule finds a true loss soonest", columns, rows)


def regressed(run: Floats, baseline: Floats, means: Floats, sd_runs: float) -> Floats:
    """(h, n) gains over baselines from which the luck of their run is taken.

    means   (m, h) of all other runs
    """
    error = sd_runs / math.sqrt(baseline.shape[1])
    luck = [expected_luck(mean, own.tolist(), error=error) for mean, own in zip(baseline.mean(1), means.T, strict=True)]
    return run - baseline + np.array(luck)[:, None]


def lucky_gates(remedy: str, *, every: int, n: int, seed: int, sd_runs: float = 0.1) -> tuple[Floats, Floats]:
    """(COMMITS, h) whether gates pass and fail: runs alone differ, and the last commit truly loses .05.

    The last run that passed is accepted after so many commits.
    remedy   "none"; "regression", with the spread of runs known and the means of all entries; "again": measured again
    """
    rng, history = np.random.default_rng(seed), History(sd=0, sd_runs=sd_runs)
    truth = np.zeros((n, QUESTIONS))
    baseline = candidate = history.run(truth, rng)
    means, passes, failures = [], [], []
    for commit in range(1, COMMITS + 1):
        run = history.run(truth - LOSSES[1] * (commit == COMMITS), rng)
        d = regressed(run, baseline, np.array(means), sd_runs) if remedy == "regression" and means else run - baseline
        passed = ruled_out(d, MARGIN)
        passes.append(passed)
        failures.append(fails(d, margin=MARGIN, alarm=ALARMS) & ~passed)
        means.append(run.mean(axis=1))
        candidate = np.where(passed[:, None], run, candidate)
        if commit % every == 0:
            baseline = history.run(truth, rng) if remedy == "again" else candidate
    return np.array(passes), np.array(failures)


def lucky_baseline_table(draws: int, seed: int) -> Table:
    """An unchanged system whose runs differ, against a run that was accepted because it passed."""
    rows = []
    for remedy in ("none", "regression", "again"):
        cells = []
        for every in (1, EVERY):
            passed, failed = lucky_gates(remedy, every=every, n=max(draws // 2, 2), seed=seed)
            alike = failed[:-1]
            cells += [f"{percent(passed[:-1].mean())} / {100 * alike.mean():.2f}%", percent(alike.any(axis=0).mean()),
                      percent(failed[-1].mean())]  # fmt: skip
        rows.append([remedy, *cells])
    whats = ("pass / FAIL", "histories with a FAIL", "a loss of .05 at once")
    columns = ["luck of the baseline", *(f"{what} (accepted every {every})" for every in (1, EVERY) for what in whats)]
    return Table("An unchanged system whose runs differ by sd .1 a question, alarms 1 in 200", columns, rows)


def null_shapes() -> Mapping[str, Callable[[np.random.Generator, int], Floats]]:
    """Gains of n questions where nothing was lost."""
    return {
        "normal, sd .05": lambda rng, n: rng.normal(0, 0.05, n),
        "70% tie, the others normal": lambda rng, n: np.where(rng.random(n) < 0.7, 0.0, rng.normal(0, 0.1, n)),
        "hits: 3% flip each way": lambda rng, n: rng.choice([-1.0, 1.0, 0.0], n, p=[0.03, 0.03, 0.94]),
        "10% gain .5, the others lose": lambda rng, n: np.where(rng.random(n) < 0.1, 0.5, rng.normal(-1 / 18, 0.05, n)),
        "5% gain .5, 10% lose .25": lambda rng, n: rng.choice([0.5, -0.25, 0.0], n, p=[0.05, 0.1, 0.85]),
        "2% gain 1, the others lose": lambda rng, n: np.where(rng.random(n) < 0.02, 1.0, rng.normal(-1 / 49, 0.05, n)),
    }


def shape_table(draws: int, seed: int) -> Table:
    """How often a loss is shown at 1 in 200 where nothing was lost, by the limit of alarms and by t alone."""

    def cell(draw: Callable[[np.random.Generator, int], Floats], n: int) -> str:
        rng = np.random.default_rng(seed)
        shares = np.zeros(2)
        for _ in range(25 * draws):
            d = draw(rng, n)
            high = highest_gain(d, level=ALARMS)
            by_t = d.mean() + t_quantile(1 - ALARMS, n - 1) * d.std(ddof=1) / math.sqrt(n)
            shares += high < 0, by_t < 0
        ours, t = shares / (25 * draws)
        return f"{100 * ours:.2f}% ({100 * t:.2f}%)"

    counts = (20, 50, 120, 400)
    return Table(
        "A loss is shown at 1 in 200 where nothing was lost (in brackets by t alone)",
        ["gains", *(f"{n} questions" for n in counts)],
        [[name, *(cell(draw, n) for n in counts)] for name, draw in null_shapes().items()],
    )
