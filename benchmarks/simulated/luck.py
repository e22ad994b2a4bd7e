"""How far the best of many equal configurations leads, and what a held-out part that is asked 1,000 times says."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from benchmarks.simulated.leads import DRAWS, Draw
from benchmarks.simulated.tables import Table, percent

from steelyard.base.arrays import Floats
from steelyard.stats.holdout import holdout_answer, holdout_rules
from steelyard.stats.luck import luck, scatter

TRIED = ((8, 8), (8, 40), (8, 200), (3, 40))
"""How many are here, of how many that were tried."""
QUESTIONS, HELD_OUT, QUERIES = (120, 400, 1200), 0.3, 1000
SD = 0.1

Ask = Callable[[Floats], float | None]
Search = Callable[[np.random.Generator, int, Ask], None]


def chosen(values: Floats, n_here: int, rng: np.random.Generator) -> Floats:
    """(n_here, n) the best of (s, n) values, and others at random."""
    best = int(values.mean(axis=1).argmax())
    others = rng.choice(np.delete(np.arange(len(values)), best), n_here - 1, replace=False)
    return values[[best, *others]]


def lucky(draw: Draw, n_here: int, n_tried: int, n: int, *, draws: int, seed: int) -> list[float]:
    """Mean leads over average and next as they are and as luck says, and how often they pass their 95% points."""
    rng, sums = np.random.default_rng([seed, n_here, n_tried, n]), np.zeros(6)
    for i in range(draws):
        values = chosen(draw(rng, n_tried, n), n_here, rng)
        error = scatter(values)
        assert error is not None
        explained = luck(values.mean(axis=1), error, n_tried, seed=i)
        for place, lead in enumerate((explained.over_average, explained.over_next)):
            sums[3 * place : 3 * place + 3] += lead.lead, lead.mean, lead.p <= 0.05
    return (sums / draws).tolist()


def luck_table(draws: int, seed: int) -> Table:
    """Leads of the best of equally good configurations, of which some are here, beside what luck says."""
    rows = []
    for name, draw in DRAWS.items():
        for n_here, n_tried in TRIED:
            over, by_luck, often, next_, by_luck_next, often_next = lucky(
                draw, n_here, n_tried, 120, draws=draws, seed=seed
            )
            means = [f"{mean:.4f}" for mean in (over, by_luck, next_, by_luck_next)]
            rows.append([name, f"{n_here} of {n_tried}", *means, percent(often), percent(often_next)])
    heads = ["over the average", "luck says", "over the next", "luck says", "beyond the 95% point", "the same, next"]
    return Table("Leads of the best of equally good configurations, 120 questions", ["values", "here", *heads], rows)


def climbing(rng: np.random.Generator, n: int, ask: Ask) -> None:
    """Change half of the questions by chance, and keep what the answers say is better."""
    best, value = np.zeros(n), 0.0
    for _ in range(QUERIES):
        tried = best + np.where(rng.random(n) < 0.5, rng.normal(0, SD, n), 0)
        if (answer := ask(tried)) is None:
            return
        best, value = (tried, answer) if answer > value else (best, value)


def combining(rng: np.random.Generator, n: int, ask: Ask) -> None:
    """Ask of many independent changes, and then of all together, each in the direction that its answer names."""
    answers, total = 0, np.zeros(n)
    for _ in range(QUERIES - 1):
        tried = rng.normal(0, SD, n)
        if (answer := ask(tried)) is None:
            break
        answers, total = answers + 1, total + np.sign(answer) * tried
    ask(total / np.sqrt(max(answers, 1)))


def independent(rng: np.random.Generator, n: int, ask: Ask) -> None:
    """Ask of changes that nobody chose."""
    for _ in range(QUERIES):
        if ask(rng.normal(0, SD, n)) is None:
            return


SEARCHES: dict[str, Search] = {
    "keeps what is better": climbing,
    "combines what is better": combining,
    "independent changes": independent,
}


def searched(search: Search, n: int, rng: np.random.Generator, *, naive: bool) -> tuple[int, int, list[float]]:
    """One search: answers, charged ones, and how far each answer is off the truth, 0, in stated errors.

    naive   the held-out mean as it is, each time
    """
    n_held, n_spent, off = int(HELD_OUT * n), 0, list[float]()

    def ask(values: Floats) -> float | None:
        nonlocal n_spent
        held, open_ = values[:n_held], values[n_held:]
        rules = holdout_rules(float(open_.std(ddof=1)) / np.sqrt(len(open_)), len(open_), n_held)
        answer = holdout_answer(float(open_.mean()), float(held.mean()), rules, n_spent=n_spent, rng=rng)
        n_spent += answer.charged
        mean = float(held.mean()) if naive else answer.mean
        if mean is not None:
            off.append(abs(mean) / rules.error)
        return mean

    search(rng, n, ask)
    return len(off), n_spent, off


def holdout_table(draws: int, seed: int) -> Table:
    """Answers of a held-out part to searches of 1,000 questions, by rules and as it is."""
    rows: list[Sequence[str]] = []
    for name, search in SEARCHES.items():
        for n in QUESTIONS:
            results = [
                [searched(search, n, np.random.default_rng([seed, n, i]), naive=naive) for i in range(draws)]
                for naive in (False, True)
            ]
            by_rules = results[0]
            cells = [
                f"{sum(answers for answers, _, _ in by_rules) / draws:.0f}",
                f"{sum(spent for _, spent, _ in by_rules) / draws:.1f}",
            ]
            for of in results:
                worst = np.array([max(off) for _, _, off in of])
                cells += [percent(float((worst > 1).mean())), f"{np.quantile(worst, 0.95):.2f}"]
            rows.append([name, str(n), *cells])
    heads = ["answers", "charged", "some off by more", "worst, 95% point", "as it is: some off", "worst, 95% point"]
    return Table(
        f"A held-out part ({HELD_OUT:.0%}) that is asked {QUERIES:,} times: answers off the truth by more than stated",
        ["search", "questions", *heads],
        rows,
    )
