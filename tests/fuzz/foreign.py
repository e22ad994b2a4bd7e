"""Forms, labels and stores of somebody else, with paths out of their folder wherever they hold a text."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from steelyard.data.folders.run_folder import write_run_folder
from steelyard.data.responses import Response
from steelyard.reports.reviewing import pool_review, sample_review
from steelyard.reviewing.calibrating import calibrate
from steelyard.reviewing.forms import ItemsFile
from tests.bench.test_bench import write_bench
from tests.fuzz.fuzzing import Counts, run_case
from tests.fuzz.mutations import places
from tests.judges.labelled import labelled, scored
from tests.reports.test_pooling import saved as graded
from tests.reviewing.small import CHUNKS, QUESTIONS, outputs, saved

SECRET = "canary-5b1f"
_HELD = ("notes.json", "notes.jsonl", "notes.toml", "notes.parquet", "notes.csv", "notes")
_opened: list[str] = []
_watched: list[str] = []


def _listen(event: str, arguments: tuple[Any, ...]) -> None:
    if _watched and event in ("open", "sqlite3.connect", "os.listdir", "os.scandir"):
        with contextlib.suppress(Exception):
            path = os.path.realpath(arguments[0])
            _opened.extend(path for root in _watched if f"{path}/".startswith(f"{root}/"))


sys.addaudithook(_listen)


@contextlib.contextmanager
def watched(folder: Path) -> Iterator[list[str]]:
    """What of a folder is opened by Python meanwhile, or listed."""
    _opened.clear()
    _watched.append(os.path.realpath(folder))
    try:
        yield _opened
    finally:
        _watched.clear()


def write_foreign(folder: Path) -> list[tuple[str, ...]]:
    """A folder of somebody else, `foreign`, and one of the user's own, `home`; commands that read the first."""
    foreign, home = folder / "foreign", folder / "home"
    home.mkdir(parents=True)
    for name in _HELD:
        (home / name).write_text(f'{{"qid": "{SECRET}", "{SECRET}": "{SECRET}"}}\n', encoding="utf-8")
    (folder / "questions.jsonl").write_text(_lines(QUESTIONS), encoding="utf-8")
    (folder / "outputs.jsonl").write_text(_lines(outputs()), encoding="utf-8")
    foreign.mkdir()
    sampled = sample_review(QUESTIONS, {"a": outputs()}, foreign / "form", n=3, labels=foreign / "form" / "labels.json")
    saved(foreign / "form", ItemsFile.read(sampled.items), "ann", ["supported", "not_found"], name="ann")
    retrieved = [{"qid": f"q{n}", "retrieved": chunks} for n, chunks in enumerate(CHUNKS)]
    into = foreign / "pooled" / "graded.jsonl"
    graded(pool_review(QUESTIONS, retrieved, foreign / "pooled", into, n=2, scale="0-3").form, "ann", [1, 2])
    quoted = pool_review(
        folder / "questions.jsonl", retrieved, foreign / "quoted", foreign / "quoted" / "gold.jsonl", task="quotes", n=2
    )
    graded(quoted.form, "ann", [[]], key="quotes")
    responses = [(line["qid"], Response(line["qid"], answer="It opens at 9.")) for line in QUESTIONS]
    manifest = {"name": "mine", "finished": "2026-11-22T00:00:00Z", "counts": {"questions": len(responses)}}
    config = {"questions": "questions.jsonl", "folder": "x", "weigh": {"measures": ["mrr"]}, "documents": "x"}
    write_run_folder(foreign / "run", config=config, manifest=manifest, responses=responses)
    truth = [{"qid": line["qid"], "query": line["query"], "relevant": {"a": 1}} for line in QUESTIONS]
    (foreign / "run" / "questions.jsonl").write_text(_lines(truth), encoding="utf-8")
    write_bench(foreign)
    edited = json.loads((foreign / "bench" / "manifest.json").read_text(encoding="utf-8"))
    edited |= {"blocks": {"r1-words-2": "x"}, "other_blocks": {"r2-words-2": "x"}}
    (foreign / "bench" / "manifest.json").write_text(json.dumps(edited), encoding="utf-8")
    verdicts = scored([0.1, 0.4, 0.6, 0.9] * 5)
    calibrate(verdicts, labelled(verdicts, [False, True, True, True] * 5)).write(foreign / "judge.json")
    run, bench, asked = "foreign/run", "foreign/bench", ("questions.jsonl", "a=outputs.jsonl")
    return [
        ("review", "import", "foreign/form/ann.json"),
        ("review", "import", "foreign/form/items.json", "foreign/form/ann.json"),
        ("review", "import", "foreign/pooled/ann.json"), ("review", "import", "foreign/quoted/ann.json"),
        ("review", "report", *asked, "--labels", "foreign/form/labels.json"),
        ("evaluate", *asked, "-m", "faithfulness", "--labels", "foreign/form/labels.json"),
        ("gate", run, "--max-failed", "0.5"), ("gate", run, "--truth", "questions.jsonl", "--max-failed", "0.5"),
        ("evaluate", "foreign/run/questions.jsonl", run), ("judge", "questions.jsonl", run),
        ("report", bench), ("report", bench, "--lang", "zh"), ("gate", bench, "--max-failed", "0.5"),
        ("gate", "foreign/bench/scores.json", "--max-failed", "0.5"), ("gate", "--calibration", "foreign/judge.json"),
        ("evaluate", "foreign/pooled/graded.jsonl", "outputs.jsonl"),
    ]  # fmt: skip


def fuzz_paths(folder: Path, commands: list[tuple[str, ...]], *, n_cases: int, seed: int) -> Counts:
    """Let one text or link a case of `foreign` lead out of it, run a command that reads it, and look around.

    Raises   AssertionError where a file outside of `foreign` is made, changed or opened, or what it holds is printed.
    """
    rng, counts = random.Random(seed), Counts()
    foreign, good, home = folder / "foreign", folder.parent / f"{folder.name}-good", folder / "home"
    shutil.copytree(foreign, good, dirs_exist_ok=True)
    before = _content(folder, but=foreign)
    with contextlib.chdir(folder):
        for number in range(n_cases):
            words = rng.choice(commands)
            named = [folder / word for word in words if word.startswith("foreign/")]
            place = _lead_out(_read_by(words, foreign), named, home, rng)
            label = f"case {number} of seed {seed}: steelyard {' '.join(words)} with {place}"
            with watched(home) as opened:
                printed = run_case(list(words), label, counts)
            assert not opened, f"{label}: opened {opened}"
            assert SECRET not in printed, f"{label}: printed {printed}"
            assert _content(folder, but=foreign) == before, f"{label}: changed what is outside"
            shutil.rmtree(foreign)
            shutil.copytree(good, foreign)
    return counts


def _read_by(words: tuple[str, ...], foreign: Path) -> Path:
    """What of the folder a command is given: a file, or a folder with all that is in it."""
    named = next(Path(word) for word in words if word.startswith("foreign/"))
    return foreign.parent / (named if named.is_dir() or named.parts[-2:] == ("foreign", named.name) else named.parent)


def _lead_out(given: Path, named: list[Path], home: Path, rng: random.Random) -> str:
    """Let something in a file or folder lead out of it; says what.

    named   on the command line, and so what the user chose: these are no links
    """
    folder = given if given.is_dir() else given.parent
    files = sorted(path for path in folder.rglob("*") if path.suffix in (".json", ".jsonl"))
    if rng.random() < 0.2 and given.is_dir():
        inside = [*files, folder / ".lock", folder / ".new", folder / "verdicts", folder / "verdicts" / "review.json"]
        place = rng.choice([path for path in inside if path not in named])
        place.parent.mkdir(exist_ok=True)
        if place.is_dir():
            shutil.rmtree(place)
        place.unlink(missing_ok=True)
        place.symlink_to(home / rng.choice(("", "new.json", *_HELD)))
        return f"a link {place}"
    file = given if given.is_file() else rng.choice(files)
    out = _way_out(file.parent, home, rng)
    lines = file.read_text(encoding="utf-8").split("\n") if file.suffix == ".jsonl" else [file.read_text("utf-8")]
    number = rng.choice([n for n, line in enumerate(lines) if line.strip()])
    value = json.loads(lines[number])
    holder, key = _chosen(value, rng)
    if isinstance(holder, dict) and rng.random() < 0.3:
        holder[out] = holder.pop(key)
    else:
        holder[key] = out
    lines[number] = json.dumps(value)
    file.write_text("\n".join(lines), encoding="utf-8")
    return f"{out!r} at {key!r} of {file}"


def _chosen(value: Any, rng: random.Random) -> tuple[Any, Any]:
    """A text of a JSON value: as often as not one that looks like a path, or whose key does."""
    texts = [(holder, key) for holder, key in places(value) if isinstance(holder[key], str)]
    named = [
        (holder, key)
        for holder, key in texts
        if {"/", "."} & set(holder[key]) or str(key) in ("into", "questions", "folder", "prices", "r1-words-2", "a")
    ]
    return rng.choice(named if named and rng.random() < 0.7 else texts)


def _way_out(folder: Path, home: Path, rng: random.Random) -> str:
    """A path that means a file of the user's own, as seen from a folder: one that is there, or one that is not."""
    name = rng.choice((*_HELD, "new.json", "new.jsonl"))
    (folder / "here").symlink_to(home)
    (folder / "linked.jsonl").symlink_to(home / name)
    up = "../" * len(folder.relative_to(home.parent).parts)
    return rng.choice((
        str(home / name), f"{up}home/{name}", f"x/../{up}home/{name}", f"here/{name}", "linked.jsonl", str(home),
        f"{up}home", f"here/../../../home/{name}", str(home / name).replace("/", "\\"), f"C:{home / name}",
        f"{home / name}\0.json", f"{up}home/{Path(name).stem}", f"file://{home / name}", str(home / "*"),
    ))  # fmt: skip


def _content(folder: Path, *, but: Path) -> dict[str, bytes | None]:
    paths = sorted(path for path in folder.rglob("*") if but not in (path, *path.parents))
    return {str(path): path.read_bytes() if path.is_file() else None for path in paths}


def _lines(values: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(value, ensure_ascii=False) + "\n" for value in values)
