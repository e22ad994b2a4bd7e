"""Systems that were asked different questions: compared without pairs, and named so."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import steelyard as sy
from tests.cli.command import complaint, printed
from tests.comparison.test_labels import labels_of, weighing

pytest.importorskip("scipy.stats", reason="comparing needs the extra stats")


def period(prefix: str, n: int, share: float, *, seed: int, name: str = "hybrid") -> sy.Scores:
    rng = np.random.default_rng(seed)
    truth = {f"{prefix}{i:03}": {"d": 1} for i in range(n)}
    run = {q: ["d"] if rng.random() < share else ["x", "d"] for q in truth}
    return sy.evaluate(truth, {name: run}, ["mrr", "recall@1"])


MAY, JUNE = period("m", 120, 0.8, seed=1), period("j", 90, 0.5, seed=2)


def test_periods_with_different_questions(tmp_path: Path) -> None:
    comparison = sy.compare({"may": MAY}, {"june": JUNE}, unpaired=True, margin=0.1)
    assert (comparison.baseline, comparison.test, comparison.common) == ("may", "welch", {"june": 0})
    assert [(row.system, row.n, row.n_left_out, row.n_wins) for row in comparison.rows["mrr"]] == [
        ("may", 120, 0, None), ("june", 90, 0, None),
    ]  # fmt: skip
    row = comparison.rows["mrr"][1]
    a, b = MAY.values[0, 0], JUNE.values[0, 0]
    error = np.sqrt(a.var(ddof=1) / 120 + b.var(ddof=1) / 90)
    assert row.difference == pytest.approx(b.mean() - a.mean())
    assert (row.high - row.low) / 2 == pytest.approx(1.98 * error, rel=0.1)
    assert (row.verdict, row.not_worse) == ("worse", False)
    assert row.effect == pytest.approx(row.difference / np.sqrt((a.var(ddof=1) + b.var(ddof=1)) / 2), rel=0.01)
    assert comparison.signature.n == (90, 120)
    text = comparison.text(lang="en")
    assert text.startswith("Unpaired: may beats june.")
    assert "Careful: Questions differ (june 90, may 120, 0 in common)" in " ".join(text.split())
    assert comparison.text(lang="zh").startswith("非配对：may 优于 june。")
    assert "Welch's t tests, unpaired" in comparison.text(lang="en", explain=True)
    comparison.write(path := tmp_path / "comparison.parts.json")
    again = sy.Comparison.read(path)
    assert again.text("json") == comparison.text("json")
    assert json.loads(again.text("json"))["common"] == {"june": 0}


def test_what_is_not_shown_says_what_the_questions_could_show() -> None:
    comparison = sy.compare({"may": MAY}, {"june": period("j", 90, 0.75, seed=3)}, "recall@1", unpaired=True)
    row = comparison.rows["recall@1"][1]
    assert row.verdict == "no difference shown"
    assert 0.15 < row.detectable < 0.2
    assert row.needed == pytest.approx(90 * (row.detectable / row.difference) ** 2, abs=1)
    assert "210 questions can show ≥ 0.1" in comparison.text(lang="en")


def test_questions_that_both_were_asked_are_counted_and_move_both_means() -> None:
    rng = np.random.default_rng(4)
    truth = {f"q{i:03}": {"d": 1} for i in range(150)}
    hard = {q: rng.random() for q in truth}
    first, second = (
        {q: ["d"] if hard[q] < 0.6 else ["x", "d"] for q in list(truth)[a:b]} for a, b in ((0, 100), (50, 150))
    )
    comparison = sy.compare(truth, {"may": first, "june": second}, "mrr", unpaired=True)
    assert comparison.common == {"june": 50}
    assert [row.n for row in comparison.rows["mrr"]] == [100, 100]
    assert "50 questions are common" in " ".join(comparison.text(lang="en", explain=True).split())
    alone = {q: run for q, run in second.items() if q not in first}
    apart = sy.compare(truth, {"may": first, "june": alone | {}}, "mrr", unpaired=True).rows["mrr"][1]
    row = next(row for row in comparison.rows["mrr"] if row.system == "june")
    assert row.high - row.low < (apart.high - apart.low) * 0.8


def test_means_that_labels_correct() -> None:
    scores = weighing(labels_of()).scores("faithfulness")
    ids = list(scores.query_ids)
    parts = [scores.filter(systems=name, query_ids=own) for name, own in (("a", ids[:60]), ("b", ids[60:]))]
    together = sy.Scores.concat(parts)
    comparison = sy.compare(together, unpaired=True)
    means = [part.corrections[name]["faithfulness"].mean.corrected for name, part in zip("ab", parts, strict=True)]
    row = next(row for row in comparison.rows["faithfulness"] if row.system == "b")
    assert row.difference == pytest.approx(means[1].mean - means[0].mean)
    assert (row.high - row.low) / 2 > 1.9 * np.hypot(means[0].error, means[1].error)
    assert comparison.labels is not None
    judged = comparison.labels.frame.rows_by_key("system", named=True, unique=True)
    assert judged["a"]["judge"] == pytest.approx(np.nanmean(parts[0].values))


def test_percentiles_of_different_requests() -> None:
    rng = np.random.default_rng(5)
    slow, fast = (
        sy.Scores.of(pl.DataFrame({"query_id": [f"{name}{i}" for i in range(400)], "measure": "latency_ms",
                      "value": rng.lognormal(4 + more, 0.5, 400)}), system=name).with_percentiles("latency_ms:p95")
        for name, more in (("may", 0.5), ("june", 0.0))
    )  # fmt: skip
    comparison = sy.compare(slow, fast, ["latency_ms:p95", "latency_ms"], unpaired=True)
    rows = {(row.measure, row.system): row for rows in comparison.rows.values() for row in rows}
    assert rows["latency_ms:p95", "june"].verdict == rows["latency_ms", "june"].verdict == "better"
    assert rows["latency_ms:p95", "june"].n_wins is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"test": "sign"}, "there is Welch's t alone"),
        ({"require_all": True}, "require_all is of pairs"),
        ({"movers": 2}, "movers is of the same questions"),
        ({"measures": "map"}, "map"),
    ],
)
def test_what_is_of_pairs_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(sy.InputError, match=message):
        sy.compare({"may": MAY}, {"june": JUNE}, unpaired=True, **options)


def test_systems_of_one_name_need_names() -> None:
    with pytest.raises(sy.InputError, match=r"scores 1 and 2 both have a system called 'hybrid'; name the periods"):
        sy.compare(MAY, JUNE, unpaired=True)
    with pytest.raises(sy.InputError, match=r"no question has a value for every system; .*\(--unpaired"):
        sy.compare(sy.Scores.concat([MAY, period("j", 9, 0.5, seed=1, name="june")]))
    with pytest.raises(sy.InputError, match="no measure is in all of these scores"):
        sy.compare(
            MAY.filter(measures="mrr"),
            period("j", 9, 0.5, seed=1, name="june").filter(measures="recall@1"),
            unpaired=True,
        )


def test_files_of_scores_on_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    MAY.write("may.json")
    JUNE.write("june.json")
    text = printed("compare", "may=may.json", "june=june.json", "--unpaired")
    assert text.startswith("Unpaired: may beats june.")
    assert "Next:" not in text
    assert "holds scores, and pairs are of a truth and runs" in complaint("compare", "may.json", "june.json")


def test_entries_of_a_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sqlalchemy", reason="the extra 'store' is not installed")
    monkeypatch.chdir(tmp_path)
    with sy.Store("history.db") as store:
        store.add(MAY, tags=["may"])
        store.add(JUNE, tags=["june"])
    text = printed("compare", "may=store:tag=may", "june=store:tag=june", "--unpaired")
    assert text.startswith("Unpaired: may beats june.")
