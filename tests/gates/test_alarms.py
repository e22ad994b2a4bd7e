"""Gates on every commit: alarms, a budget since an accepted entry, and the luck of a baseline."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import steelyard as sy
from steelyard.base.errors import InputError
from steelyard.experiment.table.scores import Scores
from steelyard.gates.alarms import alarm_share
from steelyard.gates.gating import Gate, gate
from steelyard.stats.tests.alarms import highest_gain
from tests.gates.stated import scores_of
from tests.hypothesis_profiles import examples

pytest.importorskip("scipy.stats", reason="gates against a baseline need the extra stats")

RNG = np.random.default_rng(5)
BASE = RNG.uniform(0.3, 0.7, 400)
AWAY = RNG.normal(0, 0.1, 400)
AWAY -= AWAY.mean()


def of(values: np.ndarray, *, digest: str | None = None, runs: np.ndarray | None = None) -> Scores:  # type: ignore[type-arg]
    """Scores of one system, rag."""
    scores = scores_of([values], systems=["rag"])
    parts = {**scores.recipe_parts, **({"runs": {"rag": digest}} if digest else {})}
    return replace(scores, recipe_parts=parts, repeats={} if runs is None else {"rag": runs[:, None]})


def judged(shift: float, **options: object) -> Gate:
    return gate(of(BASE + AWAY + shift), baseline=of(BASE), margin=0.02, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("shift", "without", "with_alarms"),
    [(0.0, "not_worse", "not_worse"), (-0.012, "undecided", "undecided"), (-0.018, "undecided", "lost"),
     (-0.05, "worse", "lost")],
)  # fmt: skip
def test_with_alarms_any_loss_that_is_shown_fails_unless_the_margin_is_ruled_out(
    shift: float, without: str, with_alarms: str
) -> None:
    (plain,), (check,) = judged(shift).checks, judged(shift, alarms="1 in 200").checks
    assert (plain.reason, check.reason) == (without, with_alarms)
    assert (check.low, check.alarm) == (plain.low, 0.005)
    assert check.high == pytest.approx(highest_gain(AWAY + shift, level=0.005), abs=1e-12)


def test_a_loss_that_is_shown_to_be_small_passes() -> None:
    (check,) = gate(of(BASE + AWAY / 20 - 0.004), baseline=of(BASE), margin=0.03, alarms=0.005).checks
    assert check.reason == "not_worse"
    assert check.high < 0


def test_alarms_are_shared_among_measures_and_systems() -> None:
    rows = np.stack([[BASE, BASE], [BASE + AWAY, BASE - AWAY], [BASE - AWAY, BASE + AWAY]])
    verdict = gate(scores_of(rows), baseline="a", margin=0.02, alarms="1 in 100")
    assert {check.alarm for check in verdict.checks} == {0.01 / 4}
    assert verdict.frame["alarm"].to_list() == [0.01 / 4] * 4
    assert "alarm" not in judged(0.0).frame.columns


@examples(60)
@given(st.lists(st.floats(0, 1), min_size=10, max_size=30), st.floats(-0.3, 0.3), st.floats(0.0005, 0.2))
def test_a_rarer_alarm_never_fails_more(values: list[float], shift: float, alarms: float) -> None:
    base = np.linspace(0, 1, len(values))
    new = np.clip(np.array(values) + shift, 0, 1)
    rare, usual = (gate(of(new), baseline=of(base), margin=0.05, alarms=a) for a in (alarms / 3, alarms))
    assert rare.outcome == usual.outcome or (usual.outcome, rare.outcome) == ("fail", "insufficient")
    assert gate(of(base), baseline=of(base), margin=0.05, alarms=0.5).outcome != "fail"


@pytest.mark.parametrize("alarms", ["1 in 0", "0", "never", "0.6", 0.0, float("nan")])
def test_what_is_no_alarm_rate(alarms: object) -> None:
    with pytest.raises(InputError, match=r"'1 in 200', or a share above 0"):
        alarm_share(alarms)  # type: ignore[arg-type]


def test_alarms_need_a_margin() -> None:
    with pytest.raises(InputError, match="alarms are of losses against a baseline"):
        gate(of(BASE), profile="ratings", alarms="1 in 200")


def test_too_few_data_are_no_pass_and_what_would_decide_is_said() -> None:
    verdict = judged(-0.012, alarms="1 in 200")
    (check,) = verdict.checks
    for lang, text in (("en", "Not passed (exit status 3)"), ("zh", "未获通过（退出状态 3）")):
        page = verdict.text("markdown", lang=lang)
        assert text in page
        assert str(check.deciding) in page.split("\n\n")[2]
    assert "Not passed" not in judged(0.0).text("markdown", lang="en")
    assert check.deciding is not None
    times = math.ceil(check.deciding / 400)
    more = gate(
        scores_of([np.tile(BASE + AWAY - 0.012, times)], systems=["rag"]),
        baseline=scores_of([np.tile(BASE, times)], systems=["rag"]), margin=0.02, alarms="1 in 200",
    )  # fmt: skip
    assert more.outcome != "insufficient"


def test_runs_that_vary_say_how_many_would_decide() -> None:
    noise = RNG.normal(0, 0.2, (4, 400))
    noise -= noise.mean(axis=1, keepdims=True)
    runs, again = BASE + noise[:2] - 0.008, BASE + noise[2:]
    verdict = gate(of(runs.mean(0), runs=runs), baseline=of(again.mean(0), runs=again), margin=0.015)
    (check,) = verdict.checks
    assert check.reason == "undecided"
    assert check.needed_runs is not None
    assert check.needed_runs > 2
    assert f"so could {check.needed_runs} runs of each" in verdict.text(lang="en", explain=True)


class TestStores:
    """Baselines that are entries of a store."""

    @pytest.fixture(autouse=True)
    def _store(self, tmp_path: Path) -> None:
        pytest.importorskip("sqlalchemy", reason="stores need the extra store")
        self.url = str(tmp_path / "history.db")
        self.n = 0

    def add(self, scores: Scores, *, commit: str = "", tag: str = "", accept: bool = False) -> str:
        self.n += 1
        with sy.Store(self.url) as store:
            entry = store.add(scores, tags=[tag] * bool(tag), commit=commit or f"{self.n:040x}", dirty=False)
            if accept:
                store.accept(entry.id, who="ann")
            return entry.id

    def judged(self, values: np.ndarray, ref: str = "store:accepted", **options: object) -> Gate:  # type: ignore[type-arg]
        options = {"margin": 0.02, "alarms": "1 in 200", **options}
        return gate(of(values), baseline=ref, store=self.url, **options)  # type: ignore[arg-type]

    def test_the_margin_is_a_budget_since_the_accepted_entry(self) -> None:
        accepted = self.add(of(BASE), tag="v1.2", accept=True)
        self.add(of(BASE - 0.2))
        verdict = self.judged(BASE + AWAY / 4 - 0.014)
        assert verdict.entry is not None
        assert (verdict.entry.id, verdict.entry.is_accepted) == (accepted, True)
        assert verdict.baselines == {"rag": "v1.2"}
        assert "Since v1.2: recall@5 spent 0.014 of 0.02 (0.011 to " in verdict.text(lang="en")
        assert "自 v1.2 以来：recall@5 已用去 0.014" in verdict.text(lang="zh")
        assert "spent" not in self.judged(BASE + AWAY / 4, "store:latest").text(lang="en")
        assert self.judged(BASE + AWAY / 4, "store:latest").checks[0].value > 0.19
        assert self.judged(BASE + AWAY / 4, f"store:{accepted[:6]}").checks[0].value == pytest.approx(0, abs=1e-12)

    def test_repeated_acceptances_may_lose_two_margins_since_the_best(self) -> None:
        self.add(of(BASE + 0.03), tag="v1.0", accept=True)
        self.add(of(BASE + 0.01), accept=True)
        self.add(of(BASE), tag="v1.2", accept=True)
        verdict = self.judged(BASE + AWAY / 4 - 0.012)
        assert [(check.kind, check.outcome) for check in verdict.checks] == [("baseline", "pass"), ("best", "fail")]
        assert verdict.checks[1].limit == 0.04
        assert verdict.checks[1].value == pytest.approx(-0.042)
        assert [check.alarm for check in verdict.checks] == [0.005 / 2, 0.005 / 2 / 3]
        with sy.Store(self.url) as store:
            store.accept("tag=v1.0", who="ann")  # The best one is the baseline itself.
        assert [check.kind for check in self.judged(BASE + AWAY / 4 + 0.03).checks] == ["baseline"]

    def test_measured_again_the_accepted_run_does_not_count(self) -> None:
        commit = "c" * 40
        self.add(of(BASE + 0.03, digest="0"), commit=commit, accept=True)
        assert self.judged(BASE + AWAY / 4).outcome == "fail"
        self.add(of(BASE + AWAY / 40, digest="1"), commit=commit)
        self.add(of(BASE - AWAY / 40, digest="2"), commit=commit)
        self.add(of(BASE + 0.03, digest="0"), commit=commit)
        verdict = self.judged(BASE + AWAY / 4)
        assert verdict.entry is not None
        assert (verdict.entry.n_again, verdict.entry.runs_vary, verdict.outcome) == (2, True, "pass")
        assert verdict.checks[0].value == pytest.approx(0, abs=1e-12)
        assert "measured again (2 runs of its commit)" in verdict.text(lang="en", explain=True)

    @pytest.mark.parametrize("recorded_before", [True, False])
    def test_what_is_judged_at_the_accepted_commit_is_no_baseline(self, *, recorded_before: bool) -> None:
        commit = "c" * 40
        self.add(of(BASE, digest="0"), commit=commit, accept=True)
        for _ in range(3):
            scores = of(BASE - 0.2 + AWAY / 4, digest="worse")
            if recorded_before:
                self.add(scores, commit=commit)
            verdict = gate(scores, baseline="store:accepted", store=self.url, margin=0.02)
            with sy.Store(self.url) as store:
                store.add(verdict, commit=commit, dirty=False)
            assert verdict.outcome == "fail"

    def test_where_runs_vary_the_accepted_mean_regresses_to_those_of_all_entries(self) -> None:
        base = 0.45 + (BASE - 0.3) / 4  # Values of all runs are from 0 to 1.
        noise = RNG.normal(0, 0.1, (12, 400))
        noise -= noise.mean(axis=1, keepdims=True)
        means = RNG.normal(0, 0.1 / math.sqrt(400), 8)
        for own, mean in zip(noise, means, strict=False):
            self.add(of(base + own + mean))
        self.add(of(base + noise[8] + 0.012), tag="lucky", accept=True)
        runs = np.stack([base + noise[9] + 0.001, base + noise[10] - 0.001])
        verdict = gate(
            of(runs.mean(0), runs=runs), baseline="store:accepted", store=self.url, margin=0.02, alarms="1 in 200"
        )
        (check,) = verdict.checks
        assert 0.006 < check.luck < 0.012 - means.mean()
        assert check.value == pytest.approx(-0.012 + check.luck)
        assert "is expected to be luck" in verdict.text(lang="en", explain=True)

    def test_nothing_is_known_of_runs(self) -> None:
        self.add(of(BASE), accept=True)
        assert "how far runs differ is not known" in self.judged(BASE + AWAY).text(lang="en", explain=True)

    def test_scores_without_gold_are_judged_too(self) -> None:
        clicks = pl.DataFrame({"query_id": [f"q{i}" for i in range(40)], "measure": "clicks", "value": range(40)})
        self.add(sy.Scores.of(clicks), accept=True)
        self.add(sy.Scores.of(clicks), accept=True)
        verdict = gate(sy.Scores.of(clicks), baseline="store:accepted", store=self.url, margin=0.02)
        assert [check.kind for check in verdict.checks] == ["baseline"]

    def test_a_gate_is_kept_with_its_baseline(self) -> None:
        accepted = self.add(of(BASE), accept=True)
        verdict = self.judged(BASE + AWAY)
        with sy.Store(self.url) as store:
            entry = store.add(verdict)
            assert store.result(entry.id).data() == verdict.data()
            assert store.outcomes()["baseline"].to_list() == [accepted]

    def test_no_store_is_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("STEELYARD_STORE", raising=False)
        with pytest.raises(InputError, match="there is no store; begin one"):
            gate(of(BASE), baseline="store:accepted", margin=0.02)
        monkeypatch.setenv("STEELYARD_STORE", self.url)
        self.add(of(BASE), accept=True)
        assert gate(of(BASE + AWAY), baseline="store:accepted", margin=0.02).outcome == "pass"
