"""Logs that grow are read from where the last look ended, and give what all of the log at once gives."""

import gzip
import json
import random
from datetime import UTC, datetime, timedelta

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.traffic.reading import read_logs
from tests.hypothesis_profiles import examples

START = datetime(2026, 11, 1, 6, 30, tzinfo=UTC)
NOW = datetime(2026, 11, 9, tzinfo=UTC)


def at(minutes: float) -> str:
    """A time after the start."""
    return (START + timedelta(minutes=minutes)).isoformat()


def log(seed: int, n: int, hours: float = 12) -> list[dict]:
    """Records of a service in the order of time: requests of a few users, clicks soon after, and answers."""
    draw = random.Random(seed)
    records = list[dict]()
    for i in range(n):
        minute, user = draw.uniform(0, 60 * hours), f"u{draw.randrange(6)}"
        asked = {"request": f"r{i}", "user": user, "query": draw.choice(["how?", "如何？"]), "doc_ids": ["a", "b", "c"]}
        records.append({"type": "impression", "time": at(minute), **asked})
        for _ in range(draw.randrange(3)):
            event = {"kind": draw.choice(["click", "copy"]), "position": draw.randint(1, 3), "request": f"r{i}"}
            records.append({"type": "event", "time": at(minute + draw.expovariate(0.05)), **event})
        if draw.random() < 0.5:
            records.append({"type": "answer", "time": at(minute + 0.1), "request": f"r{i}", "answer": "So."})
    return sorted(records, key=lambda record: record["time"])


def lines(records) -> str:
    return "".join(f"{json.dumps(record, ensure_ascii=False)}\n" for record in records)


def tables(logs, closed=None) -> list[pl.DataFrame]:
    """All records from a time on."""
    frames = [frame.drop("row").collect() for frame in (logs.impressions, logs.events, logs.answers)]
    return [frame.filter(pl.col("time") >= closed) if closed else frame for frame in frames]


def assert_same(first, second) -> None:
    for a, b in zip(first, second, strict=True):
        assert a.equals(b)


@given(seed=st.integers(0, 10**6), cuts=st.lists(st.floats(0, 1), min_size=1, max_size=4), torn=st.booleans())
@examples(100)
def test_pieces_of_a_growing_log_give_what_all_of_it_gives(tmp_path_factory, seed, cuts, torn):
    path = tmp_path_factory.mktemp("log") / "log.jsonl"
    records = log(seed, 60)
    content = lines(records).encode()
    positions, closed = None, None
    for cut in sorted(cuts):
        size = int(cut * len(content))
        path.write_bytes(content[: size if torn else content.rfind(b"\n", 0, size) + 1])
        look, whole = (read_logs(path, positions=p, now=NOW) for p in (positions, None))
        assert_same(tables(look, closed), tables(whole, closed))
        assert not {"delayed", "rewritten_file"} & {trouble.kind for trouble in look.troubles}
        newest = max((frame["time"].max() for frame in tables(look) if frame.height), default=None)
        if newest is not None:
            closed = max(closed or START, newest.replace(minute=30 * (newest.minute // 30), second=0, microsecond=0))
            positions = json.loads(json.dumps(look.positions(closed)))


@given(seed=st.integers(0, 10**6), data=st.data())
@examples(100)
def test_order_duplicates_and_torn_tails_change_nothing_but_counts(tmp_path_factory, seed, data):
    path = tmp_path_factory.mktemp("log")
    records = log(seed, 20, hours=2)
    (path / "plain.jsonl").write_text(lines(records))
    again = data.draw(st.lists(st.sampled_from(records), max_size=5))
    shuffled = data.draw(st.permutations(records + again))
    cut = data.draw(st.integers(0, len(shuffled)))
    for name, part in (("a", shuffled[:cut]), ("b", shuffled[cut:])):
        (path / "mixed" / name).mkdir(parents=True)
        (path / "mixed" / name / "log.jsonl").write_text(lines(part) + '{"type": "impr')
    plain, mixed = read_logs(path / "plain.jsonl", now=NOW), read_logs(path / "mixed", now=NOW)
    assert_same(tables(plain), tables(mixed))
    kinds = {trouble.kind: trouble.n for trouble in mixed.troubles}
    assert (kinds["torn_line"], kinds.get("duplicate", 0)) == (2, len(again))
    assert set(kinds) <= {"torn_line", "duplicate", "out_of_order", "late"}


@pytest.fixture
def grown(tmp_path):
    """A log of a morning, where it is read on from noon, and the records behind it."""
    records = log(1, 200)
    noon = START + timedelta(hours=6)
    morning = [record for record in records if record["time"] < (noon + timedelta(minutes=10)).isoformat()]
    (tmp_path / "log.jsonl").write_text(lines(morning))
    look = read_logs(tmp_path, now=NOW)
    return tmp_path / "log.jsonl", look.positions(noon), records[len(morning) :], noon


def kinds(logs) -> dict[str, str]:
    return {trouble.kind: trouble.example for trouble in logs.troubles}


def test_a_look_reads_from_the_first_record_that_still_matters(grown):
    path, positions, rest, noon = grown
    place = positions["files"][str(path)]
    since = datetime.fromisoformat(positions["since"])
    assert noon - timedelta(hours=3) <= since <= noon - timedelta(hours=2)
    content = path.read_bytes()
    ahead, first = content[: place["offset"]], json.loads(content[place["offset"] :].split(b"\n")[0])
    assert ahead.count(b"\n") + 1 == place["line"] > 50
    assert max(json.loads(line)["time"] for line in ahead.splitlines()) < since.isoformat() <= first["time"]
    with path.open("a") as file:
        file.write(lines(rest))
    look = read_logs(path, positions=positions, now=NOW)
    assert_same(tables(look, noon), tables(read_logs(path, now=NOW), noon))
    assert look.first >= since


def test_an_event_whose_request_an_earlier_look_has_read_is_no_orphan(tmp_path):
    closed = START + timedelta(hours=6.5)
    minutes = {"r1": closed - timedelta(minutes=121), "r2": closed - timedelta(minutes=1)}
    shown = [{"time": str(time), "request": name, "query": "a", "doc_ids": ["d"]} for name, time in minutes.items()]
    event = {"time": str(closed - timedelta(minutes=119)), "kind": "click", "position": 1}
    orphan = {**event, "request": "r3", "time": str(closed + timedelta(minutes=5))}
    (tmp_path / "log.jsonl").write_text(lines([shown[0], {**event, "request": "r1"}, shown[1]]))
    positions = read_logs(tmp_path, now=NOW).positions(closed)
    assert datetime.fromisoformat(positions["since"]) > minutes["r1"]
    with (tmp_path / "log.jsonl").open("a") as file:
        file.write(lines([orphan]))
    look = read_logs(tmp_path, positions=positions, now=NOW)
    assert {trouble.kind: trouble.n for trouble in look.troubles} == {"orphan": 1}


def test_a_log_that_was_rewritten_is_read_from_its_beginning_and_said(grown):
    path, positions, rest, _noon = grown
    path.write_text(lines(rest))
    look = read_logs(path, positions=positions, now=NOW)
    assert kinds(look)["rewritten_file"] == str(path)
    assert_same(tables(look), tables(read_logs(path, now=NOW)))


def test_a_log_that_was_rotated_is_read_on_under_its_new_name(grown):
    path, positions, rest, noon = grown
    path.rename(path.parent / "log.1.jsonl")
    path.write_text(lines(rest))
    look = read_logs(path.parent, positions=positions, now=NOW)
    assert_same(tables(look, noon), tables(read_logs(path.parent, now=NOW), noon))
    assert "missing_file" not in kinds(look)
    assert "delayed" not in kinds(look)


def test_a_log_that_is_gone_is_said(grown):
    path, positions, rest, _noon = grown
    path.rename(path.parent / "other.txt")
    (path.parent / "new.jsonl").write_text(lines(rest))
    assert kinds(read_logs(path.parent, positions=positions, now=NOW))["missing_file"] == str(path)


def test_records_that_come_in_for_windows_that_are_closed_are_counted(grown):
    path, positions, rest, _noon = grown
    n = len(path.read_text().splitlines())
    with path.open("a") as file:
        file.write(lines([{"type": "impression", "time": at(60), "request": "late"}, *rest]))
    look = read_logs(path, positions=positions, now=NOW)
    assert kinds(look)["delayed"] == f"{path}, line {n + 1}"


def test_whole_files_are_read_again_only_where_something_in_them_matters(tmp_path):
    records = [record for record in log(3, 100) if record["type"] == "impression"]
    for hour in range(12):
        part = [record for record in records if at(60 * hour) <= record["time"] < at(60 * hour + 60)]
        folder = tmp_path / "impressions" / f"hour={hour}"
        folder.mkdir(parents=True)
        pl.DataFrame(part).write_parquet(folder / "part.parquet")
        folder = tmp_path / "zipped" / "impressions"
        folder.mkdir(parents=True, exist_ok=True)
        with gzip.open(folder / f"{hour:02}.jsonl.gz", "wt") as file:
            file.write(lines(part))
    closed = START + timedelta(hours=9)
    for folder in (tmp_path / "impressions", tmp_path / "zipped"):
        whole = read_logs(folder, now=NOW)
        look = read_logs(folder, positions=whole.positions(closed), now=NOW)
        assert_same(tables(look, closed), tables(whole, closed))
        assert 0 < look.n["impression"] < whole.n["impression"] * 0.75
        assert not look.troubles


@pytest.mark.parametrize("value", [{}, {"closed": 1}, {"closed": "x", "since": "y", "files": []}, {"files": {"a": 3}}])
def test_positions_that_cannot_be_read_read_all(tmp_path, value):
    (tmp_path / "log.jsonl").write_text(lines(log(1, 5)))
    assert read_logs(tmp_path, positions=value, now=NOW).n["impression"] == 5
