"""Logs: what is read, settled, left out and counted."""

import json
from datetime import UTC, datetime, timedelta

import polars as pl
import pytest

from steelyard.base.errors import InputError
from steelyard.traffic.logs import Logs
from steelyard.traffic.reading import read_logs

NOON = datetime(2026, 11, 1, 12, tzinfo=UTC)
NOW = datetime(2026, 11, 2, tzinfo=UTC)
ASKED = {
    "type": "impression", "time": "2026-11-01T12:00:00Z", "request": "r1", "user": "ann", "query": "how?",
    "doc_ids": ["d1", "d2", "d3"],
}  # fmt: skip
CLICK = {"type": "event", "time": "2026-11-01T12:00:05Z", "request": "r1", "kind": "click", "position": 1}


def at(seconds: float) -> str:
    """A time after noon."""
    return (NOON + timedelta(seconds=seconds)).isoformat()


def read(path, *records, name="log.jsonl", **options) -> Logs:
    lines = (record if isinstance(record, str) else json.dumps(record) for record in records)
    (path / name).write_text("\n".join(lines) + "\n")
    return read_logs(path / name, **({"now": NOW} | options))


def troubles(logs: Logs) -> dict[str, int]:
    return {trouble.kind: trouble.n for trouble in logs.troubles}


SETTLED = {
    "an event of no impression": ([ASKED, CLICK | {"request": "r9"}], {"orphan": 1}, 1, 0),
    "the same event twice": ([ASKED, CLICK, CLICK], {"duplicate": 1}, 1, 1),
    "two clicks of one moment on two results": ([ASKED, CLICK, CLICK | {"position": 2}], {}, 1, 2),
    "the same request twice, the later one with other results": (
        [ASKED, ASKED | {"time": at(1), "doc_ids": []}, CLICK], {"duplicate": 1}, 1, 1
    ),
    "an event before its impression in the file": ([CLICK, ASKED], {}, 1, 1),
    "events out of order": ([ASKED, CLICK | {"time": at(9)}, CLICK], {"out_of_order": 1}, 1, 2),
    "a time of tomorrow": ([ASKED, CLICK | {"time": "2026-11-03T00:00:00Z"}], {"future": 1}, 1, 0),
    "a time that is none": ([ASKED, CLICK | {"time": "soon"}], {"bad_time": 1}, 1, 0),
    "a time of the year 1970": ([ASKED, CLICK | {"time": 5}], {"bad_time": 1}, 1, 0),
    "a clock that is slow": ([ASKED, CLICK | {"time": at(-3)}], {"clock_skew": 1}, 1, 1),
    "an event an hour before": ([ASKED, CLICK | {"time": at(-3600)}], {"before_request": 1}, 1, 0),
    "an event a day later": ([ASKED, CLICK | {"time": at(40_000)}], {"late": 1}, 1, 0),
    "an event without a request": ([ASKED, CLICK | {"request": None}], {"no_request": 1}, 1, 0),
    "an event without a kind": ([ASKED, CLICK | {"kind": ""}], {"no_kind": 1}, 1, 0),
    "a kind that is not known": ([ASKED, CLICK | {"kind": "hover"}], {"unknown_kind": 1}, 1, 1),
    "a score of an evaluator": ([ASKED, CLICK | {"kind": "score:My-Own", "value": 0.5}], {}, 1, 1),
    "a thumb by another name": ([ASKED, CLICK | {"kind": "Thumbs-Down"}], {}, 1, 1),
    "a rank of 0": ([ASKED, CLICK | {"position": 0}], {"bad_position": 1}, 1, 0),
    "a rank of 1.5": ([ASKED, CLICK | {"position": 1.5}], {"bad_position": 1}, 1, 0),
    "a rank beyond the list": ([ASKED, CLICK | {"position": 4}], {"beyond_list": 1}, 1, 0),
    "a citation beyond the list": ([ASKED, CLICK | {"kind": "citation_click", "position": 4}], {}, 1, 1),
    "a negative dwell": ([ASKED, CLICK | {"kind": "dwell", "value": -1}], {"negative_dwell": 1}, 1, 0),
    "a dwell of two days": ([ASKED, CLICK | {"kind": "dwell", "value": 2e5}], {"absurd_dwell": 1}, 1, 0),
    "a thumb of 5": ([ASKED, CLICK | {"kind": "thumb", "value": 5}], {"bad_value": 1}, 1, 0),
    "a record of another type": ([ASKED, CLICK | {"type": "heartbeat"}], {"unknown_record": 1}, 1, 0),
    "a broken line": ([ASKED, '{"type": "event', CLICK], {"broken_line": 1}, 1, 1),
    "a line that is a list": ([ASKED, "[1, 2]", CLICK], {"broken_line": 1}, 1, 1),
    "blank lines": ([ASKED, "", "  ", CLICK], {}, 1, 1),
    "numbers in quotes": ([ASKED, CLICK | {"position": "2"}], {}, 1, 1),
    "NaN": ([ASKED, CLICK | {"value": float("nan")}], {"bad_value": 1}, 1, 0),
    "scores of another length": ([ASKED | {"scores": [1.0]}, CLICK], {"bad_scores": 1}, 1, 1),
    "a propensity of 0": ([ASKED | {"propensities": [0, 0.5, 1]}, CLICK], {"bad_propensities": 1}, 1, 1),
    "teams of another length": ([ASKED | {"teams": ["a"]}, CLICK], {"bad_teams": 1}, 1, 1),
    "a team without a name": ([ASKED | {"teams": [None, "", "b"]}, CLICK], {"bad_teams": 1}, 1, 1),
    "a share of 1.5": ([ASKED | {"team_shares": [None, 1.5, 1]}, CLICK], {"bad_team_shares": 1}, 1, 1),
    "places of no team": ([ASKED | {"teams": [None, "a", "b"], "team_shares": [None, 1, 0.5]}, CLICK], {}, 1, 1),
    "a negative latency": ([ASKED | {"latency_ms": -4}, CLICK], {"bad_amount": 1}, 1, 1),
}  # fmt: skip


@pytest.mark.parametrize("label", SETTLED)
def test_what_is_wrong_is_settled_and_counted(label, tmp_path):
    records, wrong, n_impressions, n_events = SETTLED[label]
    logs = read(tmp_path, *records)
    assert (troubles(logs), logs.n["impression"], logs.n["event"]) == (wrong, n_impressions, n_events)
    assert logs.impressions.collect().height == n_impressions
    assert logs.events.collect().height == n_events


def test_a_trouble_names_the_place_of_its_first_example(tmp_path):
    logs = read(tmp_path, ASKED, CLICK, "", "{", CLICK | {"kind": "dwell", "value": -1})
    places = {trouble.kind: trouble.example for trouble in logs.troubles}
    assert places == {
        "broken_line": f"{tmp_path}/log.jsonl, line 4", "negative_dwell": f"{tmp_path}/log.jsonl, line 5"
    }  # fmt: skip


def test_the_last_line_may_be_torn(tmp_path):
    (tmp_path / "log.jsonl").write_text(f"{json.dumps(ASKED)}\n{json.dumps(CLICK)[:-9]}")
    logs = read_logs(tmp_path, now=NOW)
    assert (troubles(logs), logs.n["event"]) == ({"torn_line": 1}, 0)
    assert not logs.troubles[0].is_fatal
    (tmp_path / "log.jsonl").write_text(f"{json.dumps(ASKED)}\n{json.dumps(CLICK)}")
    logs = read_logs(tmp_path, now=NOW)
    assert (troubles(logs), logs.n["event"]) == ({}, 1)


def test_times_of_all_zones_and_units_are_one(tmp_path):
    texts = ["2026-11-01T12:00:00Z", "2026-11-01T20:00:00+08:00", "2026-11-01 20:00:00", "2026-11-01T20:00"]
    numbers = [1793534400, 1793534400.0, 1793534400000, 1793534400000000, "1793534400000000000"]
    times = [*texts, *numbers, "2026-11-01 12:00:00 UTC"]
    records = [ASKED | {"request": f"r{i}", "time": time} for i, time in enumerate(times)]
    logs = read(tmp_path, *records, timezone="Asia/Shanghai")
    assert set(logs.impressions.collect()["time"]) == {NOON}
    assert logs.n["impression"] == len(times)


def test_sessions_are_not_cut_at_midnight_and_those_of_the_log_are_kept(tmp_path):
    midnight = 12 * 3600
    times = [*(midnight + 600 * i for i in range(-1, 3)), midnight - 9e4]
    records = [ASKED | {"request": f"r{i}", "time": at(time)} for i, time in enumerate(times)]
    records[3]["session"] = "s"
    sessions = dict(
        read(tmp_path, *records, now=NOW + timedelta(days=1)).impressions.select("request", "session").collect().rows()
    )
    assert sessions["r0"] == sessions["r1"] == sessions["r2"] == f"ann~{1793577000000000}"
    assert (sessions["r3"], sessions["r4"] == sessions["r0"]) == ("s", False)


def test_a_user_of_many_requests_or_of_equal_intervals_is_a_bot(tmp_path):
    def of(user, seconds):
        return [ASKED | {"request": f"{user}{i}", "user": user, "time": at(time)} for i, time in enumerate(seconds)]

    records = [*of("fast", range(300)), *of("timer", range(0, 3600, 60)), *of("ann", [i * i * 2 for i in range(40)])]
    records += [ASKED | {"user": "bob", "user_agent": "Mozilla/5.0 (compatible; Examplebot/2.1)"}]
    logs = read(tmp_path, *records)
    bots = logs.impressions.group_by("user").agg(pl.col("is_bot").mean()).collect()
    assert dict(bots.rows()) == {"fast": 1, "timer": 1, "ann": 0, "bob": 1}
    assert troubles(logs) == {"bot": 361, "out_of_order": 3}


def test_a_user_who_is_all_users_is_said_and_is_no_bot(tmp_path):
    logs = read(tmp_path, *[ASKED | {"request": f"r{i}", "time": at(i), "user": "anonymous"} for i in range(400)])
    assert [(t.kind, t.n, t.example) for t in logs.troubles] == [("one_user", 400, "anonymous")]
    assert logs.impressions.select(pl.col("session").null_count()).collect().item() == 400


def test_language_is_that_of_the_tag_else_of_the_script(tmp_path):
    queries = [
        ("如何退货？", None),
        ("how?", None),
        ("как?", "ru-RU"),
        (None, None),
        ("iPhone 怎么充电", ""),
        ("42", None),
    ]
    records = [ASKED | {"request": f"r{i}", "query": q, "language": tag} for i, (q, tag) in enumerate(queries)]
    languages = dict(read(tmp_path, *records).impressions.select("request", "language").collect().rows())
    assert [languages[f"r{i}"] for i in range(6)] == ["zh", "en", "ru", None, "zh", "en"]


def test_names_of_other_logs_and_rankings_of_objects_are_read(tmp_path):
    record = {
        "timestamp": "2026-11-01T12:00:00Z", "request_id": "r1", "user_id": 7, "question": "how?", "lang": "EN",
        "results": [
            {"id": "d1", "score": 0.5, "propensity": 1},
            {"id": "d2", "score": 0.25, "propensity": 0.5, "team": "a"},
        ],
        "response": "So.", "duration_ms": 12, "plan": "pro",
    }  # fmt: skip
    (tmp_path / "impressions").mkdir()
    logs = read(tmp_path, record, name="impressions/a.jsonl", segments=["plan"])
    row = logs.impressions.collect().row(0, named=True)
    settled = {
        "user": "7", "query": "how?", "language": "en", "doc_ids": ["d1", "d2"], "scores": [0.5, 0.25],
        "propensities": [1.0, 0.5], "teams": [None, "a"], "plan": "pro",
    }  # fmt: skip
    assert {key: row[key] for key in settled} == settled
    assert logs.answers.collect()["answer"].to_list() == ["So."]


def test_formats_give_the_same_logs(tmp_path):
    asked = [ASKED | {"request": f"r{i}", "time": at(i), "tokens_in": i} for i in range(3)]
    events = [CLICK | {"request": f"r{i}", "time": at(i + 5)} for i in range(3)]
    for format in ("jsonl", "parquet", "csv", "json"):
        for name, rows in (("impressions", asked), ("events", events)):
            folder = tmp_path / format / name / "date=2026-11-01"
            folder.mkdir(parents=True)
            frame = pl.DataFrame(rows).drop("type")
            if format == "csv":
                frame = frame.with_columns(pl.col(pl.List(pl.String)).list.join("|"))
            write = getattr(frame, {"jsonl": "write_ndjson", "json": "write_json"}.get(format, f"write_{format}"))
            write(folder / f"part-0.{format}")
    one, *others = (read_logs(tmp_path / format, now=NOW) for format in ("jsonl", "parquet", "csv", "json"))
    assert (one.n, troubles(one)) == ({"impression": 3, "event": 3, "answer": 0}, {})
    for other in others:
        assert other.impressions.collect().equals(one.impressions.collect())
        assert other.events.collect().equals(one.events.collect())


def test_a_path_that_is_no_log_is_said(tmp_path):
    with pytest.raises(InputError, match="there is no such file"):
        read_logs(tmp_path / "none.jsonl")
    with pytest.raises(InputError, match="timezone 'Mars' is not known"):
        read_logs(read(tmp_path, ASKED).sources[0], timezone="Mars")
    (tmp_path / "log.jsonl").unlink()
    with pytest.raises(InputError, match=r"holds no logs; expected files \*.jsonl"):
        read_logs(tmp_path)


def test_an_empty_file_is_counted(tmp_path):
    (tmp_path / "log.jsonl").write_text("")
    logs = read_logs(tmp_path)
    assert (troubles(logs), logs.first) == ({"empty_file": 1}, None)


def test_records_of_another_tool_are_read_beside_ours(tmp_path):
    query = {"query_id": "q1", "user_query": "how?", "timestamp": at(0), "query_response_hit_ids": ["d1"]}
    event = {"query_id": "q1", "action_name": "click", "timestamp": at(5), "client_id": "ann"}
    (tmp_path / "ubi_events.jsonl").write_text(json.dumps(event | {"event_attributes": {"position": {"ordinal": 1}}}))
    (tmp_path / "ubi_queries.json").write_text(json.dumps([query, query | {"query_id": None}]))
    logs = read(tmp_path, ASKED, CLICK)
    assert logs.n == {"impression": 1, "event": 1, "answer": 0}
    logs = read_logs(tmp_path, now=NOW)
    assert (logs.n, troubles(logs)) == ({"impression": 2, "event": 2, "answer": 0}, {"no_request": 1})
    assert logs.events.collect()["position"].to_list() == [1, 1]


def test_columns_that_measures_name_are_read_as_numbers(tmp_path):
    rows = [{"加购": 1, "paid": True, "tier": "gold"}, {"加购": "2", "paid": "False", "tier": "3"}, {"paid": None}]
    records = [ASKED | {"request": f"r{i}"} | row for i, row in enumerate(rows)]
    measures = ["ctr", "加购", "paid:p95", "tier", "tier=gold", "dwell_s", "buy.n", "absent", "score:x", "judged:y"]
    impressions = read(tmp_path, *records, measures=measures).impressions.sort("request").collect()
    assert impressions["加购"].to_list() == [1.0, 2.0, None]
    assert impressions["paid"].to_list() == [1.0, 0.0, None]
    assert impressions["tier"].to_list() == ["gold", "3", None]
    assert not {"absent", "dwell_s", "buy.n", "score:x", "judged"} & set(impressions.columns)
