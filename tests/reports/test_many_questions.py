"""Reports of very many questions: a stated sample is shown one by one, and every table is of all of them."""

from __future__ import annotations

import base64
import dataclasses
import json
import re
from typing import Any

import numpy as np
import pytest

import steelyard as sy
from steelyard.experiment.door.evaluation import weigh
from steelyard.experiment.door.weighing import Weighing
from steelyard.reports.details import details, limits
from steelyard.reports.details.limits import LINKED, singled_questions, widest_questions
from steelyard.reports.report import Report
from steelyard.reports.words import read_words
from tests.reports.test_charts import rows as rows_of

pytest.importorskip("altair", reason="pages need the extra report")
pytest.importorskip("vl_convert", reason="pages need the extra report")
N, MOST = 400, 60


def weighing(n: int = N) -> Weighing:
    rng = np.random.default_rng(3)
    truth = {f"q{q:04}": {f"d{q}": 1} for q in range(n)}
    runs: dict[str, Any] = {}
    for name, skill in (("good", 0.6), ("poor", 0.4)):
        places = np.where(rng.random(n) < skill, rng.integers(0, 5, n), -1)
        runs[name] = {
            query_id: [f"d{q}" if rank == places[q] else f"x{q}-{rank}" for rank in range(5)]
            for q, query_id in enumerate(truth)
        }
    return weigh(truth, runs)


@pytest.fixture(scope="module")
def reports() -> tuple[Report, Report]:
    """Of all questions, and of a sample."""
    few = dataclasses.replace(limits.Limits(), questions=MOST)
    with pytest.MonkeyPatch.context() as patched:
        whole = sy.report(weighing(), measures=["ndcg@10", "map"], date="2026-01-01")
        patched.setattr(details, "Limits", lambda: few)
        return whole, sy.report(weighing(), measures=["ndcg@10", "map"], date="2026-01-01")


def data_of(page: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    return dict(json.loads(found[1]))


def values_of(data: dict[str, Any], measure: int) -> np.ndarray[Any, Any]:
    packed = data["values"][measure]
    steps = np.frombuffer(base64.b64decode(packed["data"]), "<u2").reshape(len(data["systems"]), -1)
    return np.asarray(packed["low"] + steps / 10.0 ** packed["decimals"])


def test_few_are_all_shown_and_many_are_a_sample_with_those_that_are_named() -> None:
    assert singled_questions(MOST, MOST).tolist() == list(range(MOST))
    places = singled_questions(N, MOST, [3, N - 1])
    assert places.tolist() == sorted(set(places.tolist()))
    assert {3, N - 1} <= set(places.tolist())
    assert MOST <= len(places) <= MOST + 2
    assert singled_questions(N, MOST, [3, N - 1]).tolist() == places.tolist()


@pytest.mark.parametrize("format", ["table", "markdown", "latex", "csv", "json"])
def test_everything_but_the_page_is_the_same(format: str, reports: tuple[Report, Report]) -> None:
    whole, sampled = reports
    assert sampled.text(format, lang="en") == whole.text(format, lang="en")


@pytest.mark.parametrize(
    ("lang", "said"), [("en", "this page shows {n} of the 400 questions"), ("zh", "400 个问题中的 {n} 个")]
)
def test_the_page_says_what_it_shows(lang: str, said: str, reports: tuple[Report, Report]) -> None:
    whole, sampled = (report.text("html", lang=lang) for report in reports)
    n = len(reports[1].details.places)
    assert MOST <= n < N
    assert said.format(n=n) in sampled
    assert said.format(n=N) not in whole
    data = data_of(sampled)
    assert (len(data["ids"]), data["n_questions"], len(data_of(whole)["ids"])) == (n, N, N)
    tables = [
        re.sub(r' data-question="\d+"| href="[^"]*"', "", "".join(re.findall(r"(?s)<table.*?</table>", page)))
        for page in (sampled, whole)
    ]
    assert tables[0] == tables[1]


def test_what_is_shown_of_a_question_is_its_own(reports: tuple[Report, Report]) -> None:
    report = reports[1]
    data, scores, places = data_of(report.text("html", lang="en")), report.scores, report.details.places
    assert data["ids"] == [scores.query_ids[q] for q in places.tolist()]
    for j in range(2):
        assert np.abs(values_of(data, j) - scores.values[:, j][:, places]).max() < 1e-4
    pieces = [[piece[3] for piece in pieces] for pieces in data["gold"]]
    assert pieces == [[f"d{int(id[1:])}"] for id in data["ids"]]
    n = np.frombuffer(base64.b64decode(data["list_n"]["data"]), "u1").reshape(2, -1)
    entry = np.frombuffer(base64.b64decode(data["list_entry"]["data"]), f"<u{data['list_entry']['bits'] // 8}")
    first = [data["chunk_ids"][entry[start]] for start in np.cumsum([0, *n[0, :-1]])]
    whole = {line[0]: line[1] for line in weighing().lists(1)[0].select("query_id", "doc_id").iter_rows()}
    assert first == [whole[id] for id in data["ids"]]


def test_links_and_the_heat_map_lead_to_their_questions(reports: tuple[Report, Report]) -> None:
    from steelyard.reports.charts.drawing import draw_charts

    report = reports[1]
    places, ids = report.details.places.tolist(), report.scores.query_ids
    shown = {ids[q] for q in places}
    assert {query_id for advice in report.diagnosis.advice for query_id in advice.query_ids[:LINKED]} <= shown
    assert {ids[q] for q in widest_questions(report.scores.values[:, 0]).tolist()} <= shown
    charts = draw_charts(report, words=read_words("en"))
    rows = rows_of(charts["heatmap"].to_dict())
    assert all(ids[places[row["q"]]] == row["question"] for row in rows)
    assert f"a random sample of {len(places)} of the 400 questions" in charts["scatter"].to_dict()["description"]
