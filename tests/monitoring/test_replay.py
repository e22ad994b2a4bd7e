"""Gold replay: a live system asked again beside the accepted baseline of a store, look after look."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import steelyard as sy
from steelyard.base.errors import InputError
from steelyard.base.settings import validate
from steelyard.monitoring.streams.asking import ReplayTable
from steelyard.monitoring.streams.replay import replay
from steelyard.monitoring.streams.result import StreamResult
from steelyard.store.store import Store
from tests.rag.small import write

N, SHARE, DAY = 40, 1 / 1200, timedelta(days=1)
FIRST = datetime(2026, 11, 2, 6, tzinfo=UTC)
LIVE = """
import random
LOST, DOWN, NOISE, SEED = set(), set(), 0.0, 0

def search(query, k):
    name = query.split()[-1]
    if name in DOWN or "*" in DOWN:
        raise ConnectionError("connection refused")
    gold = [f"{name}-1.txt", f"{name}-2.txt"]
    lost = name in LOST or random.Random(f"{SEED} {name}").random() < NOISE
    return ((["q0-1.txt"] if name != "q0" else []) + ([] if lost else gold))[:k]
"""


class Service:
    """A live system whose module tests change, with its questions and its store in one folder."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder, self.memory = folder, {}
        (folder / f"{name}.py").write_text(LIVE)
        (folder / "documents").mkdir()
        for i in range(N):
            for part in (1, 2):
                (folder / "documents" / f"q{i}-{part}.txt").write_text(f"text {i} {part}")
        rows = [
            {"qid": f"q{i}", "query": f"about q{i}", "evidence": [{"doc": f"q{i}-{part}.txt"} for part in (1, 2)]}
            for i in range(N)
        ]
        (folder / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        self.settings = {
            "questions": "questions.jsonl", "system": f"{name}:search", "documents": "documents",
            "measures": ["recall@10", "ndcg@10"],
        }  # fmt: skip
        self.store, self.name, self.days = Store(folder / "history.db"), name, 0

    @property
    def live(self) -> Any:
        return sys.modules[self.name]

    def look(self, *, share: float = SHARE, **settings: Any) -> StreamResult:
        """The next day's look."""
        table = validate(ReplayTable, {**self.settings, **settings})
        result = replay(
            table, self.store, monitor="shop", now=FIRST + self.days * DAY, share=share,
            memory=json.loads(json.dumps(self.memory)), base=self.folder,
        )  # fmt: skip
        self.memory, self.days = dict(result.memory), self.days + 1
        return result


@pytest.fixture
def service(tmp_path: Path, request: pytest.FixtureRequest) -> Service:
    name = f"live_{abs(hash(request.node.name))}"
    service = Service(tmp_path, name)
    first = service.look()
    assert (first.state, [note.code for note in first.notes]) == ("few", ["replay_no_baseline"])
    service.store.accept("latest", who="us", why="launch", time=FIRST)
    return service


def codes(result: StreamResult) -> list[str]:
    return [note.code for note in result.notes]


def test_an_identical_system_is_well_and_each_replay_is_an_entry(service: Service) -> None:
    looks = [service.look(share=0.5) for _ in range(3)]
    assert {look.state for look in looks} == {"well"}
    rows = looks[-1].points.filter(series="recall@10").row(0, named=True)
    assert (rows["value"], rows["p"], rows["n"], rows["end"] - rows["start"]) == (0.0, 1.0, N, DAY)
    assert service.store.entries()["tags"].to_list() == [["monitor=shop"]] * 4
    assert looks[-1].spent.requests == N


def test_a_loss_is_one_alarm_until_it_is_over(service: Service) -> None:
    service.look(), service.look()
    service.live.LOST = {f"q{i}" for i in range(0, N, 6)}
    looks = [service.look() for _ in range(3)]
    assert [look.state for look in looks] == ["alert"] * 3
    shifts = [look.shifts[0] for look in looks]
    assert {(shift.series, shift.since, shift.rule) for shift in shifts} == {("recall@10", FIRST + 2 * DAY, "paired")}
    assert shifts[0].before == 1.0
    assert shifts[0].after == pytest.approx(1 - 7 / N)
    assert [example.id for example in looks[0].examples[:2]] == ["q0", "q12"]
    assert looks[0].examples[0].note == "recall@10 1 → 0"
    service.live.LOST = set()
    assert [service.look().state for _ in range(3)] == ["alert", "well", "well"]


def test_the_paired_mean_is_the_difference_of_compare(service: Service) -> None:
    service.live.LOST = {"q3", "q4"}
    look = service.look()
    baseline, now = (service.store.scores(ref) for ref in ("accepted", "latest"))
    [system] = baseline.systems
    compared = sy.compare(sy.Scores.concat([baseline, now.renamed({system: "now"})]), baseline=system)
    expected = dict(compared.frame.filter(system="now").select("measure", "difference").iter_rows())
    values = dict(look.points.filter(series=["recall@10"][0]).select("series", "value").iter_rows())
    assert values["recall@10"] == pytest.approx(expected["recall@10"], abs=1e-12)


def test_noise_between_runs_is_learned_from_earlier_replays(service: Service) -> None:
    service.live.NOISE = 0.1
    service.store.remove(["latest"])
    errors = []
    for seed in range(5):
        service.live.SEED = seed
        service.memory = service.memory if seed else {}
        look = service.look()
        errors.append(look.points.filter(series="recall@10")["error"].to_list())
        if not seed:
            service.store.accept("latest", who="us", why="", time=FIRST)
    assert errors[0] == []
    assert all(0.02 < error < 0.13 for [error] in errors[1:])
    assert look.state == "well"


def test_another_corpus_asks_for_a_new_baseline_and_is_no_regression(service: Service) -> None:
    (service.folder / "documents" / "q7-1.txt").unlink()
    (service.folder / "documents" / "q7-2.txt").unlink()
    (service.folder / "documents" / "new.txt").write_text("new")
    service.live.LOST = {f"q{i}" for i in range(7, N)}
    looks = [service.look(), service.look()]
    assert [(look.state, {shift.rule for shift in look.shifts}) for look in looks] == [("warn", {"restart"})] * 2
    assert codes(looks[1]) == ["replay_gold_gone", "replay_corpus"]
    assert looks[0].notes[0].values == {"n": 1, "total": N}
    [change] = looks[1].changes
    assert (change.kind, change.time) == ("corpus", FIRST)
    assert change.text.endswith("(+1 −2 ~0)")
    assert looks[0].points.filter(series="recall@10")["value"].to_list() == [None]
    service.store.accept("latest", who="us", why="", time=FIRST + 9 * DAY)
    after = service.look()
    assert (after.state, after.points.filter(series="recall@10")["n"].item()) == ("well", N - 1)


def test_a_changed_setting_is_named_beside_the_loss(service: Service) -> None:
    looks = [service.look(k=1) for _ in range(2)]
    assert looks[1].state == "alert"
    assert [(change.kind, change.text, change.time) for change in looks[1].changes] == [("config", "k 10 → 1", FIRST)]


def test_a_service_that_is_down_is_no_quality(service: Service) -> None:
    service.live.DOWN = {"*"}
    looks = [service.look(), service.look()]
    assert [look.state for look in looks] == ["alert"] * 2
    [shift] = looks[1].shifts
    assert (shift.series, shift.stream, shift.after, shift.since) == ("failed_requests", "service", 1.0, FIRST)
    assert looks[0].points.select("series", "value").rows() == [("failed_requests", 1.0)]
    assert "connection refused" in str(looks[0].notes[0].values["error"])
    assert len(service.store.entries()) == 1
    service.live.DOWN = {"q1", "q2"}
    after = service.look()
    assert (after.state, codes(after), after.shifts) == ("well", ["replay_failed"], [])
    assert after.points.select("series", "value", "n").rows()[:2] == [
        ("failed_requests", 0.05, N), ("recall@10", 0.0, N - 2),
    ]  # fmt: skip


def test_a_baseline_that_was_removed_is_named(service: Service) -> None:
    service.look()
    baseline = service.store.entry("accepted").id
    service.store.remove(["accepted"])
    look = service.look()
    assert (look.state, codes(look)) == ("few", ["replay_baseline_removed"])
    assert look.notes[0].values["entry"] == baseline


def test_a_look_within_the_period_asks_nothing(service: Service) -> None:
    service.days -= 1
    service.look(every="2d")
    again = service.look(every="2d")
    assert (again.points.height, again.spent.requests, again.state) == (0, 0, "few")


def test_a_budget_draws_the_same_questions_at_each_look(service: Service) -> None:
    looks = [service.look(budget={"requests": 25, "usd": 0.1}, usd_per_request=0.005) for _ in range(2)]
    assert [look.spent for look in looks] == [looks[0].spent] * 2
    assert (looks[0].spent.requests, codes(looks[0])) == (20, ["replay_budget"])
    ids = [service.store.scores(entry).query_ids for entry in service.store.entries()["id"][:2]]
    assert ids[0] == ids[1]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"budget": {"usd": 1.0}}, "needs usd_per_request"),
        ({"budget": {"usd": 0.01}, "usd_per_request": 0.02}, "no room for two"),
        ({"baseline": "latest"}, "latest entry is the replay itself"),
        ({"measures": ["recall@10:p10"]}, "name means"),
        ({"every": "500 requests"}, "expected a time"),
        ({"questions": "none.jsonl"}, "there is no"),
    ],
)
def test_settings_that_do_not_fit_are_refused(tmp_path: Path, settings: dict[str, Any], message: str) -> None:
    service = Service(tmp_path, "live_refused")
    with pytest.raises(InputError, match=message):
        service.look(**settings)


def test_a_damaged_memory_is_as_good_as_none(service: Service) -> None:
    service.memory = {"time": "yesterday", "lost": 3}
    assert service.look().state == "well"


def test_a_pipeline_is_replayed_with_its_truth_apart(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "live.toml").write_text('documents = "documents"\nquestions = "questions.jsonl"\n')
    (tmp_path / "truth.qrels").write_text("q1 0 scales.txt 1\nq2 0 sea.txt 1\nq3 0 茶.txt 1\n")
    table = validate(ReplayTable, {"questions": "questions.jsonl", "system": "live.toml", "truth": "truth.qrels"})
    store, memory, states = Store(tmp_path / "history.db"), dict[str, Any](), []
    for day in range(2):
        look = replay(table, store, monitor="m", now=FIRST + day * DAY, share=SHARE, memory=memory, base=tmp_path)
        memory = dict(look.memory)
        states.append(look.state)
        store.accept("latest", who="us", why="", time=FIRST)
    assert states == ["few", "well"]
    assert not (tmp_path / "runs").exists()
