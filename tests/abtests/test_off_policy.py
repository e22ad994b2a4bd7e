"""What another ranking would have got: estimators against plain loops, refusals, and a real log of two policies."""

from collections import defaultdict
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from benchmarks.simulated.off_policy import WORLDS, off_policy_table

import steelyard as sy
from steelyard.abtests.offpolicy.reward_model import N_FOLDS
from steelyard.base.errors import InputError
from tests.abtests.bandit import bandit_logs, propensity_logs, propensity_rows
from tests.cli.command import steelyard
from tests.traffic.made_logs import logs_of

pytest.importorskip("scipy", reason="intervals need the extra stats")


RANKED = {f"q{number}": {"d3": 2.0, "d2": 1.0} for number in range(3)}
FAR = pl.DataFrame(
    {
        "query": ["q0"] * 4 + ["q1"] * 2, "doc_id": ["d0", "d1", "d1", "d2", "d3", "d0"],
        "position": [1, 1, 2, 2, 1, 2], "probability": [0.5, 0.5, 0.75, 0.25, 1.0, 1.0],
    }
)  # fmt: skip


def _oracle(policy: dict[tuple[str, int], dict[str, float]]) -> dict[str, float]:
    """IPS, SNIPS and the doubly robust value, by loops over requests."""
    impressions, events = propensity_rows(1)
    clicks = {(event["request"], event["position"]) for event in events}
    asked = [row for row in impressions if any((row["query"], place) in policy for place in (1, 2))]
    users = {name: number for number, name in enumerate(sorted({str(row["user"]) for row in asked}))}
    shown = [
        (str(row["query"]), place, doc, float((row["request"], place) in clicks), propensity, users[str(row["user"])])
        for row in asked
        for place, (doc, propensity) in enumerate(zip(row["doc_ids"], row["propensities"], strict=True), 1)
    ]

    def expected(query: str, place: int, doc: str, user: int) -> float:
        others = [row for row in shown if row[5] % N_FOLDS != user % N_FOLDS]
        rates = {
            own: sum(row[3] for row in others if row[1] == own) / sum(row[1] == own for row in others) for own in (1, 2)
        }
        of_doc = [row for row in others if row[2] == doc]
        factor = (sum(row[3] for row in of_doc) + 5) / (sum(rates[row[1]] for row in of_doc) + 5)
        pair = [row for row in of_doc if (row[0], row[1]) == (query, place)]
        own = (sum(row[3] for row in pair) + 5) / (len(pair) * rates[place] * factor + 5)
        return min(rates[place] * factor * own, 1.0)

    total = weights = slots = direct = 0.0
    for query, place, doc, click, propensity, user in shown:
        weight = policy.get((query, place), {}).get(doc, 0.0) / propensity
        total, weights = total + weight * click, weights + weight
        direct -= weight * expected(query, place, doc, user) if weight else 0.0
    for row in asked:
        for place in (1, 2):
            for doc, chance in policy.get((str(row["query"]), place), {}).items():
                slots += chance
                direct += chance * expected(str(row["query"]), place, doc, users[str(row["user"])])
    n = len(asked)
    return {"ips": total / n, "snips": total / weights * slots / n, "dr": (total + direct) / n}


@pytest.mark.parametrize("name", ["ranking", "probabilities", "uniform"])
def test_estimators_are_those_of_plain_loops(name: str) -> None:
    policy: dict[tuple[str, int], dict[str, float]] = defaultdict(dict)
    if name == "probabilities":
        for row in FAR.iter_rows(named=True):
            policy[row["query"], row["position"]][row["doc_id"]] = row["probability"]
        result = sy.off_policy(propensity_logs(), FAR)
    elif name == "ranking":
        policy |= {(f"q{i}", place): {doc: 1.0} for i in range(3) for place, doc in ((1, "d3"), (2, "d2"))}
        result = sy.off_policy(propensity_logs(), RANKED)
    else:
        policy |= {(f"q{i}", place): {f"d{j}": 0.25 for j in range(4)} for i in range(3) for place in (1, 2)}
        everywhere = [(*key, doc, 0.25) for key in policy for doc in policy[key]]
        frame = pl.DataFrame(everywhere, schema=["query", "position", "doc_id", "probability"], orient="row")
        result = sy.off_policy(propensity_logs(), frame)
        simple = sy.off_policy(propensity_logs(), "uniform").estimates
        assert [row.value for row in result.estimates[:3]] == pytest.approx([row.value for row in simple[:3]])
    for row in result.estimates[1:]:
        assert row.value == pytest.approx(_oracle(policy)[row.method], rel=1e-9), row.method


def test_the_policy_of_the_log_gets_what_the_log_has() -> None:
    rows = [{"request": f"r{i}", "query": "q", "doc_ids": ["a", "b"], "propensities": [1.0, 1.0]} for i in range(40)]
    events = [{"request": f"r{i}", "kind": "click", "doc_id": "b"} for i in range(0, 40, 4)]
    result = sy.off_policy(logs_of(rows, events), {"q": ["a", "b"]})
    logged, *others = result.estimates
    assert result.verdict == "unclear"
    assert [row.value for row in others] == pytest.approx([logged.value] * 3) == [0.25] * 3
    assert [row.difference for row in others] == pytest.approx([0.0] * 3, abs=1e-12)
    assert (result.overlap[0].weight, result.overlap[0].effective) == (1.0, 80.0)


def test_what_the_log_never_shows_is_refused() -> None:
    rows = [
        {"request": f"r{i}", "query": f"q{i % 2}", "doc_ids": ["a"], "propensities": [1.0], "user": f"u{i}"}
        for i in range(60)
    ]
    logs = logs_of(rows, [{"request": "r1", "kind": "click", "position": 1}])
    result = sy.off_policy(logs, {"q0": ["b"], "q1": ["a"]})
    assert result.verdict == "refused"
    assert [row.method for row in result.estimates] == ["logged"]
    assert result.never.rows() == [("q0", 1, "b", 30.0)]
    assert "the log lacks 50% of what policy would show" in result.text(lang="en").replace("\n", " ")
    nothing = sy.off_policy(logs, {"q0": ["b"], "q1": ["c"]})
    assert (nothing.verdict, [row.method for row in nothing.estimates]) == ("refused", ["logged"])


def test_propensities_that_are_too_large_are_said() -> None:
    rows = [
        {"request": f"r{i}", "query": "q", "doc_ids": ["ab"[i % 2]], "propensities": [1.0], "user": f"u{i}"}
        for i in range(60)
    ]
    result = sy.off_policy(logs_of(rows, [{"request": "r1", "kind": "click", "position": 1}]), {"q": ["b"]})
    assert (result.verdict, result.unseen) == ("refused", 0.0)
    assert "with propensities that are too large" in result.text(lang="en").replace("\n", " ")


def test_clicks_on_lower_places_name_results_that_were_shown() -> None:
    rows = [{"request": f"r{i}", "query": "q", "doc_ids": ["a", "b"], "propensities": [1.0, 1.0]} for i in range(40)]
    events = [{"request": f"r{i}", "kind": "click", "doc_id": "ab"[i % 2]} for i in range(20)]
    result = sy.off_policy(logs_of(rows, events), {"q": ["a"]}, k=1)
    assert (result.n_rewards, result.excluded) == (10, {})


def test_users_who_return_make_intervals_wider() -> None:
    impressions, events = propensity_rows(3)
    again = [{**row, "request": f"{row['request']}{copy}"} for row in impressions for copy in "abcd"]
    more = [{**event, "request": f"{event['request']}{copy}"} for event in events for copy in "abcd"]
    own = [{**row, "user": row["request"]} for row in impressions]
    once = sy.off_policy(logs_of(own, events), "uniform").estimates[1]
    same = [{**row, "user": str(row["request"])[:4]} for row in again]
    four = sy.off_policy(logs_of(same, more), "uniform").estimates[1]
    assert four.value == pytest.approx(once.value)
    assert four.high - four.low == pytest.approx(once.high - once.low, rel=0.05)


def test_the_metric_the_depth_and_clipping_count() -> None:
    impressions, events = propensity_rows(1)
    dwells = [{**event, "kind": "dwell", "value": 30.0} for event in events]
    logs = logs_of(impressions, [*events, *dwells])
    clicks, seconds = (sy.off_policy(logs, RANKED, metric=metric).estimates for metric in ("click", "dwell"))
    assert [row.value for row in seconds] == pytest.approx([30 * row.value for row in clicks])
    assert [row.high for row in seconds] == pytest.approx([30 * row.high for row in clicks])
    first = sy.off_policy(logs, RANKED, k=1)
    assert (first.k, len(first.overlap)) == (1, 1)
    clipped = sy.off_policy(logs, RANKED, clip=2.0)
    assert clipped.n_clipped > 0
    assert clipped.estimates[1].value < clicks[1].value
    assert "clipped at 2" in clipped.text("markdown", lang="en")


def test_policies_are_read_from_files(tmp_path: Path) -> None:
    logs = propensity_logs()
    run = sy.off_policy(logs, RANKED)
    lines = [f"{number} Q0 d{4 - rank} {rank} {-rank} b\n" for number in (1, 2, 3) for rank in (1, 2)]
    (tmp_path / "new.run").write_text("".join(lines))
    (tmp_path / "questions.tsv").write_text("1\tq0\n2\tq1\n3\tq2\n")
    by_id = sy.off_policy(logs, tmp_path / "new.run", questions=tmp_path / "questions.tsv")
    assert by_id.estimates == run.estimates
    FAR.write_parquet(tmp_path / "new.parquet")
    FAR.write_csv(tmp_path / "new.csv")
    FAR.write_ndjson(tmp_path / "new.jsonl")
    for name in ("new.parquet", "new.csv", "new.jsonl"):
        assert sy.off_policy(logs, tmp_path / name).estimates == sy.off_policy(logs, FAR).estimates
    requests = pl.DataFrame({"request": ["r000", "r007"]})
    by_request = FAR.filter(pl.col("query") == "q1").drop("query").join(requests, how="cross")
    assert sy.off_policy(logs, by_request).n_requests == 2


_OTHER = {"request": "r", "query": "q", "doc_ids": ["a"], "propensities": [0.5]}
_CLICK = [{"request": "r", "kind": "click", "position": 1}]
REFUSED = {
    "no propensities": (logs_of([{**_OTHER, "propensities": None}], _CLICK), "uniform", {}, "have no propensities"),
    "no such event": (logs_of([_OTHER], _CLICK), "uniform", {"metric": "copy"}, "no event 'copy'; the logs have click"),
    "other queries": (propensity_logs(), {"other": ["d1"]}, {}, "its first key, 'other', is not in the logs"),
    "too likely": (
        propensity_logs(),
        FAR.with_columns(probability=0.9),
        {},
        "at position 1 add up to 1.8; expected 1 at most",
    ),
    "not a probability": (propensity_logs(), FAR.with_columns(probability=2.0), {}, "has the probability 2; expected"),
    "no document": (propensity_logs(), FAR.drop("doc_id"), {}, "not query and doc_id beside it"),
    "no number": (propensity_logs(), FAR.with_columns(probability=pl.lit("much")), {}, "is no query, position"),
    "clip": (propensity_logs(), RANKED, {"clip": 0.0}, "clip is 0; expected the largest weight"),
    "no probability": (propensity_logs(), FAR.with_columns(probability=0.0), {}, "first key, -, is not in"),
    "depth": (propensity_logs(), RANKED, {"k": 0}, "k is 0"),
}


def test_pages_of_interleaving_count_by_their_first_place() -> None:
    impressions, events = propensity_rows(1)
    logs = logs_of([{**row, "team_shares": [0.5, 0.5]} for row in impressions], events)
    with pytest.raises(InputError, match="expected k=1"):
        sy.off_policy(logs, RANKED)
    assert sy.off_policy(logs, RANKED, k=1).estimates == sy.off_policy(propensity_logs(), RANKED, k=1).estimates


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_fit_is_refused(name: str) -> None:
    logs, policy, options, message = REFUSED[name]
    with pytest.raises(InputError) as refused:
        sy.off_policy(logs, policy, **options)  # type: ignore[arg-type]
    assert message in str(refused.value)


def test_what_is_left_out_is_counted() -> None:
    rows = [{**_OTHER, "request": f"r{i}", "user": f"u{i}"} for i in range(30)]
    rows += [{**_OTHER, "request": "x", "error": "timeout"}, {**_OTHER, "request": "y", "propensities": None}]
    rows += [{**_OTHER, "request": "z", "query": "another"}]
    events = [{"request": "r1", "kind": "click", "position": 1}, {"request": "r2", "kind": "click"}]
    result = sy.off_policy(logs_of(rows, events), {"q": ["a"]})
    assert result.excluded == {"failed": 1, "no_propensity": 1, "not_ranked": 1, "unplaced": 1}
    assert result.n_requests == 30


def test_one_user_has_values_without_intervals() -> None:
    result = sy.off_policy(logs_of([_OTHER], _CLICK), {"q": ["a"]})
    assert result.estimates[1].value == 2.0
    assert np.isnan(result.estimates[1].low)
    assert result.verdict == "few"
    assert "–" in result.text(lang="en")
    assert all(result.text("html", lang=lang).startswith("<!doctype html>") for lang in ("en", "zh"))


BANDITS = [("men", "unclear", 0.000165, 655.7), ("women", "few", 0.000001, 2.078)]


@pytest.mark.parametrize(("shop", "verdict", "smallest", "effective"), BANDITS)
def test_the_uniform_policy_of_a_real_log_is_covered(
    shop: str, verdict: str, smallest: float, effective: float
) -> None:
    result = sy.off_policy(bandit_logs(f"bts_{shop}.csv.gz"), "uniform")
    own = sy.off_policy(bandit_logs(f"random_{shop}.csv.gz"), "uniform").estimates[0].value
    assert own == 0.0046
    assert all(row.low <= own <= row.high for row in result.estimates[1:])
    assert (result.verdict, result.overlap[0].smallest) == (verdict, smallest)
    assert result.overlap[0].effective == pytest.approx(effective, rel=1e-3)
    text = result.text(lang="en")
    assert f"{smallest:f}".rstrip("0") in text


def test_the_command_ends_with_the_verdict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lines = "".join(
        f'{{"type": "impression", "time": "2026-11-02T00:{i:02}:00Z", "request": "r{i}", "user": "u{i}", "query": "q", '
        f'"doc_ids": ["{"ab"[i % 2]}"], "propensities": [0.5]}}\n'
        f'{{"type": "event", "time": "2026-11-02T00:{i:02}:05Z", "request": "r{i}", "kind": "click", "position": 1}}\n'
        for i in range(60)
    )
    (tmp_path / "logs.jsonl").write_text(lines)
    done = steelyard("offpolicy", "logs.jsonl", "--policy", "uniform", "--lang", "en")
    assert done.returncode == 0, done.stderr
    assert "uniform would get 1 clicks a request" in done.stdout.decode()
    (tmp_path / "new.jsonl").write_text('{"qid": "q", "retrieved": ["c"]}\n')
    assert steelyard("offpolicy", "logs.jsonl", "--policy", "new.jsonl").returncode == 3
    assert steelyard("offpolicy", "logs.jsonl", "--policy", "new.jsonl", "-m", "copy").returncode == 2


@pytest.mark.slow
def test_intervals_cover_and_verdicts_are_right() -> None:
    rows = [row[2:] for row in off_policy_table(80, 3).rows]
    shares = np.array([[float(cell.rstrip("%")) if cell != "–" else 100.0 for cell in row] for row in rows])
    assert shares[:, 1:4].max() <= 17.5, "of 40 draws at 5%, more than 7 miss once in 10,000"
    assert shares[:, 4].max() <= 10.0
    best = list(WORLDS).index("the best ranking of 5 of 10 documents")
    assert shares[best, 5] >= 60.0
