"""How long the HTML report of a large evaluation takes, how large it is, and how quickly it opens and filters.

    python benchmarks/report.py [--questions 7000] [--systems 10] [--depth 100] [--texts] [--browser] [--rounds N]
                                [--markdown FILE]

Truth and runs are synthetic: --depth documents a query of 20,000 in all, 1 to 3 of them relevant; of more than 50,000
questions they are frames, of four documents a question in all, and 1 of them is relevant.  With --texts every run
holds 500 characters of text for each of 10 chunks, and the gold is spans, so that marks are made as well.  First the
values in the page are held against the scores; the clock covers computing (`sy.report`) and writing (`render`).
--browser drives Chromium (CHROMIUM, or the one on the PATH) by playwright.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import re
import resource
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import steelyard as sy
from steelyard.experiment.door.evaluation import weigh
from steelyard.experiment.door.weighing import Weighing
from steelyard.reports.page.page import render
from steelyard.reports.report import Report
from steelyard.reports.words import read_words

MEASURES = ["ndcg@10", "map", "mrr@10", "recall@5", "recall@10", "recall@100", "precision@5", "precision@10",
            "hit_rate@5", "hit_rate@1"]  # fmt: skip
EVIDENCE_MEASURES = ["ndcg@10", "map", "mrr@10", "recall@5", "recall@10", "evidence_recall@5", "precision@5",
                     "precision@10", "hit_rate@5", "hit_rate@1"]  # fmt: skip
N_DOCS, N_CHARACTERS, _MOST_DICTS = 20_000, 500, 50_000
WORDS = "of gold evidence found by a system that ranks the passages of some library in English 检索 证据 排序".split()


def by_ids(n_questions: int, n_systems: int, rng: np.random.Generator, depth: int) -> Weighing:
    """Runs of ids alone, as TREC has them."""
    if n_questions > _MOST_DICTS:
        return by_frames(n_questions, n_systems, rng, depth)
    docs = [f"D{i:07d}" for i in range(N_DOCS)]
    truth, runs = {}, {f"system-{i}": {} for i in range(n_systems)}
    for q in range(n_questions):
        drawn = rng.choice(N_DOCS, depth + 3, replace=False)
        truth[f"q{q:05d}"] = {docs[d]: float(rng.integers(1, 4)) for d in drawn[: rng.integers(1, 4)]}
        for run in runs.values():
            run[f"q{q:05d}"] = [docs[d] for d in rng.permutation(drawn)[:depth]]
    return weigh(truth, runs)


def by_frames(n_questions: int, n_systems: int, rng: np.random.Generator, depth: int) -> Weighing:
    """As `by_ids`, made at once, for very many questions."""
    questions, gold = np.arange(n_questions), rng.integers(0, 4 * n_questions, n_questions)

    def named(letter: str, numbers: np.ndarray) -> pl.Series:
        return pl.Series([letter]) + pl.Series(numbers.ravel()).cast(pl.String).str.zfill(7)

    truth = pl.DataFrame({"query_id": named("q", questions), "doc_id": named("D", gold), "gain": 1.0})
    runs = {}
    for i in range(n_systems):
        docs, place = rng.integers(0, 4 * n_questions, (n_questions, depth)), rng.integers(0, depth, n_questions)
        hit = rng.random(n_questions) < 0.5 + 0.02 * i
        docs[questions[hit], place[hit]] = gold[hit]
        rows = {
            "query_id": named("q", np.repeat(questions, depth)),
            "doc_id": named("D", docs),
            "score": np.tile(np.arange(depth, 0, -1.0), n_questions),
        }
        runs[f"system-{i}"] = pl.DataFrame(rows).unique(["query_id", "doc_id"], keep="first", maintain_order=True)
    return weigh(truth, runs)


def by_texts(n_questions: int, n_systems: int, rng: np.random.Generator) -> Weighing:
    """Runs with texts and places of chunks, questions with spans as gold."""
    words = rng.integers(0, len(WORDS), (N_DOCS, N_CHARACTERS // 5))
    chunks = [" ".join(WORDS[i] for i in row)[:N_CHARACTERS] for row in words.tolist()]
    questions, outputs = [], {f"system-{i}": [] for i in range(n_systems)}
    for q in range(n_questions):
        drawn = rng.choice(N_DOCS, 15, replace=False).tolist()
        gold = drawn[: int(rng.integers(1, 4))]
        evidence = [{"doc": f"D{d}", "start": 20, "end": 80} for d in gold]
        questions.append({"qid": f"q{q:05d}", "query": f"what does document {drawn[0]} say?", "evidence": evidence,
                          "tags": [f"tag-{q % 7}"]})  # fmt: skip
        for lines in outputs.values():
            shown = rng.permutation(drawn)[:10].tolist()
            items = [{"id": f"c{d}", "doc": f"D{d}", "start": 0, "text": chunks[d]} for d in shown]
            lines.append({"qid": f"q{q:05d}", "retrieved": items})
    return weigh(questions, outputs)


def data_of(page: str) -> dict[str, Any]:
    """What the script of a page reads."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    if found is None:
        raise SystemExit("the page has no data; nothing is timed")
    return json.loads(found[1])


def check(report: Report, weighing: Weighing, page: str) -> None:
    """Stop where a value or a list in the page is not that of the scores."""
    data, scores = data_of(page), report.scores
    for j, packed in enumerate(data["values"]):
        steps = np.frombuffer(base64.b64decode(packed["data"]), "<u2").reshape(len(scores.systems), -1)
        values = packed["low"] + steps / 10.0 ** packed["decimals"]
        if np.abs(values - scores.values[:, j, report.details.places]).max() > 0.5001 * 10.0 ** -packed["decimals"]:
            raise SystemExit(f"{scores.measures[j]}: values of the page differ; nothing is timed")
    shown = [scores.query_ids[q] for q in report.details.places.tolist()]
    frame = weighing.lists(data["depth"])[0].filter(pl.col("query_id").is_in(shown))
    dtype = {8: "u1", 16: "<u2", 32: "<u4"}
    n, entry = (
        np.frombuffer(base64.b64decode(data[key]["data"]), dtype[data[key]["bits"]]) for key in ("list_n", "list_entry")
    )
    first = [data["chunk_ids"][i] for i in entry[: n[: len(shown)].sum()].tolist()]
    if first != frame["doc_id"].to_list():
        raise SystemExit("lists of the page differ; nothing is timed")


def in_browser(path: Path) -> dict[str, float]:
    """Seconds until the table is shown, to filter by a search, to sort, to turn a page, and to open a question."""
    from playwright.sync_api import sync_playwright

    program = os.environ.get("CHROMIUM") or shutil.which("chromium")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        start = time.perf_counter()
        page.goto(path.as_uri())
        page.locator("#question-table tbody tr").first.wait_for(state="attached")
        times = {"open, until the table is shown": time.perf_counter() - start}
        page.wait_for_timeout(1_500)
        # The page's own clock: from the event until the next frame has been drawn.
        timed = """async (act) => {
          const start = performance.now();
          (new Function(act))();
          await new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)));
          return (performance.now() - start) / 1000;
        }"""
        search = "const s = document.getElementById('filter-search'); s.value = 'q00012';"
        acts = {
            "filter": search + "document.getElementById('filter-stage').dispatchEvent(new Event('change'));",
            "sort": "document.getElementById('filter-search').value = '';"
            "document.querySelector('th[data-column=spread] button').click();",
            "next page": "document.getElementById('after').click();",
            "open a question": "document.querySelector('#question-table tbody button').click();",
        }
        session = page.context.new_cdp_session(page)
        session.send("Page.setBypassCSP", {"enabled": True})
        page.reload()
        page.locator("#question-table tbody tr").first.wait_for(state="attached")
        page.wait_for_timeout(1_500)
        for name, act in acts.items():
            times[name] = float(page.evaluate(timed, act))
        browser.close()
    return times


def peak_gb() -> float:
    """The most memory that this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024) / 1e9


def main() -> None:
    """Check, time, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=7_000)
    parser.add_argument("--systems", type=int, default=10)
    parser.add_argument("--depth", type=int, default=100)
    parser.add_argument("--texts", action="store_true")
    parser.add_argument("--browser", action="store_true")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--keep", type=Path, help="where to write the page")
    parser.add_argument("--markdown", type=Path)
    options = parser.parse_args()
    rng = np.random.default_rng(7)
    start = time.perf_counter()
    if options.texts:
        weighing = by_texts(options.questions, options.systems, rng)
    else:
        weighing = by_ids(options.questions, options.systems, rng, options.depth)
    weighed = time.perf_counter()
    report = sy.report(weighing, measures=EVIDENCE_MEASURES if options.texts else MEASURES)
    computed = time.perf_counter()
    times, page = [], ""
    for _ in range(options.rounds):
        begin = time.perf_counter()
        page = render(report, words=read_words("en"))
        times.append(time.perf_counter() - begin)
    check(report, weighing, page)
    print(
        f"{options.questions} questions, {options.systems} systems, {len(report.scores.measures)} measures, "
        f"{'with' if options.texts else 'without'} texts; values in the page are those of the scores\n"
        f"(before: {weighed - start:.1f} s to make up and align the runs)\n"
    )
    lines = ["| what | value | spread |", "|---|---:|---:|"]
    lines.append(f"| scores, pairs, sensitivity, diagnosis, single questions | {computed - weighed:.2f} s | |")
    lines.append(f"| render, first time | {times[0]:.2f} s | |")
    if times[1:]:
        lines.append(
            f"| render, again | {statistics.median(times[1:]):.2f} s | {min(times[1:]):.2f}–{max(times[1:]):.2f} |"
        )
    lines.append(f"| size | {len(page.encode()) / 1e6:.2f} MB | |")
    shown = len(report.details.places)
    lines.append(f"| questions that the page shows one by one | {shown:,} of {report.details.n_questions:,} | |")
    lines.append(f"| peak memory, with making up the runs | {peak_gb():.2f} GB | |")
    if options.browser:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "report.html"
            path.write_text(page, encoding="utf-8")
            lines += [f"| {name} | {seconds:.3f} s | |" for name, seconds in in_browser(path).items()]
    if options.keep:
        options.keep.write_text(page, encoding="utf-8")
    print("\n".join(lines))
    if options.markdown:
        options.markdown.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
