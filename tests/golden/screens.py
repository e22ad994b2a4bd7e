"""Short screens: what commands print by default on the bundled example, at 80 columns, in both languages.

    python -m tests.golden.screens            writes screens/NAME.LANG.txt again, all of them;
    python -m tests.golden.screens gate-fail  or some.  Look at what changed before you commit it.

`tests/cli/test_screens.py` holds the commands against these files.
"""

from __future__ import annotations

import atexit
import json
import shlex
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import steelyard as sy
from steelyard.abtests.registration import register_experiment
from steelyard.cli.calls import Call
from steelyard.demo import copy_data
from steelyard.experiment.self_testing import SelfTestOptions
from tests.abtests.simulated import write_experiment
from tests.cli.command import steelyard
from tests.monitoring.simulated import write_days

FILES = Path(__file__).parent / "screens"
LANGUAGES = ("en", "zh")


@dataclass(frozen=True)
class Screen:
    """A command in the folder of the bundled example.

    command  without `steelyard`;   most   how many lines it prints at most
    status   with which it exits
    state    of the folder: the name of the function below that makes it
    varies   whether its numbers are another time others, such as times, so that words alone are compared
    """

    command: str
    most: int = 15
    status: int = 0
    state: str = "example"
    varies: bool = False


RUNS = "questions.jsonl runs/bm25 runs/bm25-spaces runs/hybrid runs/hybrid-rerank"
PILOT = "pilot.jsonl keyword.jsonl hybrid.jsonl"
GRID = 'documents = "documents"\nquestions = "questions.jsonl"\n[sweep]\nchunk.size = [200, 400]\nk = [3, 5]\n'

SCREENS: dict[str, Screen] = {
    "compare": Screen("compare pilot.jsonl keyword.jsonl hybrid.jsonl", most=12),
    "compare-margin": Screen("compare pilot.jsonl keyword.jsonl hybrid.jsonl -m mrr@10 --margin 0.02", most=12),
    "compare-several": Screen(
        "compare questions.jsonl runs/bm25 runs/hybrid runs/hybrid-rerank -m ndcg@10 -m mrr@10", most=12, state="ran"
    ),
    "evaluate": Screen("evaluate questions.jsonl runs/hybrid", most=9, state="ran"),
    "evaluate-answers": Screen("evaluate pilot.jsonl runs/assistant", most=9, state="ran"),
    "evaluate-several": Screen(
        "evaluate questions.jsonl runs/bm25 runs/hybrid runs/bm25-spaces runs/hybrid-rerank", most=12, state="ran"
    ),
    "run": Screen("run bm25.toml -m evidence_recall@5 -m ndcg@10 -m mrr@10", most=10, varies=True),
    "gate-pass": Screen("gate pilot.jsonl keyword.jsonl hybrid.jsonl -m ndcg@10 --margin 0.02"),
    "gate-fail": Screen("gate pilot.jsonl hybrid.jsonl keyword.jsonl -m ndcg@10 --margin 0.02", status=1),
    "gate-profile": Screen("gate pilot.jsonl hybrid.jsonl --profile faq", status=3),
    "gate-several": Screen("gate pilot.jsonl keyword.jsonl hybrid.jsonl --profile production", status=3, most=20),
    "report": Screen(f"report {RUNS}", most=12, state="ran"),
    "report-two": Screen(f"report {PILOT}", most=12),
    "report-profile": Screen("report questions.jsonl runs/hybrid --profile ratings", most=13, state="ran"),
    "diagnose": Screen(f"diagnose {RUNS}", most=23, state="ran"),
    "diagnose-answers": Screen("diagnose pilot.jsonl runs/assistant", most=20, state="ran"),
    "plan": Screen(f"plan {PILOT} --difference 0.05"),
    "plan-enough": Screen("plan questions.jsonl runs/bm25 runs/hybrid --difference 0.2", state="ran"),
    "bench-rerank": Screen("report benches/bench", state="benched", varies=True),
    "sweep": Screen("sweep grid.toml -m evidence_recall,span_iou,recall", state="swept"),
    "sweep-holdout": Screen("sweep grid.toml -m evidence_recall --holdout", state="swept"),
    "judge": Screen("judge pilot.jsonl runs/assistant", state="answered"),
    "selftest": Screen("selftest --judge lexical", most=20),
    "selftest-calibrated": Screen(
        "selftest pilot.jsonl runs/assistant --judge lexical --calibration calibration.json -n 200", most=20,
        state="reviewed",
    ),
    "history": Screen("history", most=10, state="recorded", varies=True),
    "history-show": Screen("history show tag=v1.2", most=18, state="recorded", varies=True),
    "history-empty": Screen("history", most=5),
    "label": Screen("label questions.jsonl keyword.jsonl --documents documents --depth 3 --scale 0-3 -o grades.jsonl"),
    "gate-judge": Screen("gate --calibration calibration.json", status=3, state="reviewed", varies=True),
    "agreement": Screen("agreement labels.csv", state="labelled"),
    "agreement-against": Screen("agreement labels.csv --reference ann --min-gain 1", state="labelled"),
    "review-sample": Screen("review sample pilot.jsonl runs/assistant -n 40 -o forms", state="judged"),
    "review-pool": Screen(
        "review pool questions.jsonl documents --task quotes --unit document -o form --into gold.jsonl"
    ),
    "review-import": Screen("review import forms/ann.json forms/bob.json --into runs/assistant", state="reviewed"),
    "review-adjudicate": Screen("review sample pilot.jsonl runs/assistant --adjudicate -o conflicts", state="settling"),
    "review-calibrate-two": Screen("review calibrate pilot.jsonl runs/assistant", state="settling"),
    "review-report-two": Screen("review report pilot.jsonl runs/assistant", state="settling", most=20),
    "review-report": Screen("review report pilot.jsonl runs/assistant -m faithfulness", state="reviewed"),
    "ab-plan": Screen(
        "ab plan --metric ctr --from ab.jsonl --difference 20% --guardrail latency_ms:p95=10% --start 2026-11-30",
        most=20, state="tested",
    ),
    "ab-analyse": Screen("ab analyse layout.toml ab.jsonl", most=13, state="tested", varies=True),
    "monitor": Screen("monitor shop.toml --as-of 2026-10-16T12:00Z", most=12, state="watched", varies=True),
    "monitor-alert": Screen("monitor shop.toml", most=12, status=1, state="watched", varies=True),
    "monitor-few": Screen("monitor shop.toml --as-of 2026-09-17T12:00Z", most=12, status=3, state="watched"),
    "review-calibrate": Screen(
        "review calibrate pilot.jsonl runs/assistant -o threshold.json", state="reviewed", varies=True
    ),
}  # fmt: skip
"""Name of the files -> the command."""


def example(folder: Path) -> None:
    """The bundled example, before anything is run."""
    copy_data(folder)


def ran(folder: Path) -> None:
    """After `steelyard demo`, which runs the pipelines."""
    assert steelyard("demo", cwd=folder.parent).returncode == 0


def swept(folder: Path) -> None:
    """After a sweep over a grid of four."""
    copy_data(folder)
    (folder / "grid.toml").write_text(GRID)
    _run("sweep grid.toml", folder)


def benched(folder: Path) -> None:
    """After the bench of rerankers."""
    copy_data(folder)
    _run("bench rerank bench.toml", folder)


def answered(folder: Path) -> None:
    """The assistant has answered the questions of the pilot."""
    example(folder)
    _run("run assistant.toml -m mrr@10", folder)


def judged(folder: Path) -> None:
    """A judge has read its answers."""
    _copy("answered", folder)
    _run("judge pilot.jsonl runs/assistant", folder)


def reviewed(folder: Path) -> None:
    """A person has decided about a sample, which calibrates the judge; another one has left a form to import."""
    _copy("judged", folder)
    _run("review sample pilot.jsonl runs/assistant -n 40 -o forms", folder)
    _decide(folder / "forms", "ann", mistakes=MISTAKES)
    _run("review import forms/ann.json --into runs/assistant", folder)
    _run("review calibrate pilot.jsonl runs/assistant -o calibration.json", folder)
    _decide(folder / "forms", "bob", mistakes=MISTAKES[:-4])


def settling(folder: Path) -> None:
    """Two people have decided, and disagree on one sentence."""
    _copy("reviewed", folder)
    _run("review import forms/ann.json forms/bob.json --into runs/assistant", folder)


def labelled(folder: Path) -> None:
    """Two people and a judge have graded 24 items of 12 questions."""
    example(folder)
    grades = [(n // 2, n * 5 % 3, (n * 5 + (n % 7 == 0)) % 3, (n * 5 + (n % 3 == 0)) % 3) for n in range(24)]
    rows = [f"q{q}-{n % 2},q{q},{ann},{'' if n == 9 else bob},{judge}" for n, (q, ann, bob, judge) in enumerate(grades)]
    (folder / "labels.csv").write_text("\n".join(["item,question,ann,bob,judge", *rows]))


def recorded(folder: Path) -> None:
    """A store has an evaluation that was accepted, a gate and a comparison."""
    example(folder)
    scores = sy.evaluate(folder / "pilot.jsonl", [folder / "keyword.jsonl", folder / "hybrid.jsonl"], ["ndcg@10"])
    gate, first = sy.gate(scores, baseline="hybrid", margin=0.02), datetime(2026, 5, 1, 12, tzinfo=UTC)
    ids = [digit * 10 for digit in "abc"]
    with mock.patch("secrets.token_hex", side_effect=ids), sy.Store(folder / "history.db") as store:
        about = {"command": f"evaluate {PILOT} --tag v1.2", "commit": "3f9a2c81d0", "dirty": True, "note": "release"}
        store.add(scores, tags=["v1.2"], time=first, **about)
        store.accept("latest", who="Ada", why="the release", time=first)
        for days, result in ((1, gate), (2, sy.compare(scores))):
            store.add(result, time=first + timedelta(days=days), commit="81d03f9a2c", dirty=False)


def watched(folder: Path) -> None:
    """The logs of a service: 40 quiet days, and three on which users click less."""
    folder.mkdir()
    (folder / "shop.toml").write_text('logs = "logs"\nwindow = "1d"\nmeasures = ["ctr", "latency_ms:p50"]\n')
    write_days(folder / "logs", range(40))
    write_days(folder / "logs", range(40, 43), ctr=0.2, config="v2")


def tested(folder: Path) -> None:
    """The logs of an A/B test that was registered, and whose new arm users click more."""
    folder.mkdir()
    declaration, _ = write_experiment(folder, lift=0.6)
    register_experiment(declaration, now=datetime(2026, 10, 1, tzinfo=UTC))


MISTAKES = (
    "charging cable", "Try another", "no free membership", "donate blood", "insured", "70 yuan", "at any time",
    "not switched off", "refrigerator", "guitars", "seven days like", "help is free", "day and night", "420元", "灯泡",
    "100公里", "8元", "30天内", "三倍", "72小时",
)  # fmt: skip
"""Words of the sentences that the assistant gets wrong on purpose."""


def _decide(form: Path, rater: str, *, mistakes: tuple[str, ...]) -> None:
    """Save what a rater decides in a form: sentences with one of these words have no support."""
    content = json.loads((form / "items.json").read_text("utf-8"))
    saved = {key: content[key] for key in ("version", "review_id", "kind")}
    decisions = [
        {
            "item_id": item["item_id"],
            "label": "not_found" if any(own in item["text"] for own in mistakes) else "supported",
        }
        for item in content["items"]
    ]
    saved |= {"format": "steelyard-review", "rater": rater, "decisions": decisions}
    (form / f"{rater}.json").write_text(json.dumps(saved), "utf-8")


def _run(command: str, folder: Path) -> None:
    done = steelyard(*shlex.split(command), cwd=folder)
    assert done.returncode == 0, done.stderr.decode()


STATES: dict[str, Callable[[Path], None]] = {
    "example": example, "ran": ran, "swept": swept, "answered": answered, "judged": judged, "reviewed": reviewed,
    "settling": settling,
    "labelled": labelled,
    "benched": benched,
    "recorded": recorded,
    "tested": tested,
    "watched": watched,
}  # fmt: skip


@cache
def _folder(state: str) -> Path:
    """A folder in a state, made once; commands get copies of it."""
    parent = tempfile.mkdtemp(prefix="steelyard-screens-")
    atexit.register(shutil.rmtree, parent, ignore_errors=True)
    folder = Path(parent) / "steelyard-demo"
    STATES[state](folder)
    return folder


def _copy(state: str, folder: Path) -> None:
    shutil.copytree(_folder(state), folder)


def printed(screen: Screen, lang: str, *, columns: int = 80) -> tuple[int, str]:
    """Exit status and output of a screen's command in a copy of its folder."""
    with tempfile.TemporaryDirectory() as parent:
        folder = Path(parent).resolve() / "steelyard-demo"
        _copy(screen.state, folder)
        words = [*shlex.split(screen.command), "--lang", lang]
        with _once(screen, Call, "compute"), _once(screen, SelfTestOptions, "run"):
            done = steelyard(*words, cwd=folder, columns=columns, environment={"NO_COLOR": "1"})
    text = (done.stdout + done.stderr).decode()
    return done.returncode, text.replace(f"{folder}/", "")


_RESULTS: dict[tuple[Screen, str], Any] = {}


@contextmanager
def _once(screen: Screen, owner: type, method: str) -> Iterator[None]:
    """A screen's command computes its result once; other languages and widths show the same one."""
    compute = getattr(owner, method)

    def result(*arguments: Any, **options: Any) -> Any:
        if (screen, method) not in _RESULTS:
            _RESULTS[screen, method] = compute(*arguments, **options)
        return _RESULTS[screen, method]

    with mock.patch.object(owner, method, result):
        yield


def main(names: list[str]) -> None:
    """Write the files of some screens, or of all."""
    for name in names or SCREENS:
        for lang in LANGUAGES:
            (FILES / f"{name}.{lang}.txt").write_text(printed(SCREENS[name], lang)[1], encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
