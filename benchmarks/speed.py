"""Steelyard's speed and memory beside those of other tools, as ratios measured in one run.

    python benchmarks/speed.py [--rounds 3] [--trec-eval FOLDER] [--no-ranx] [--no-large] [--markdown FILE]

Every group of rows first checks that all sides compute the same values; then the sides take turns, so that noise of the
machine hits all, and ratios of medians are printed.  "Whole process" is the time from starting a process to its end,
imports included.  trec_eval is built with -O3 from the sources that --trec-eval names, e.g. a clone of
usnistgov/trec_eval.  Needs benchmarks/requirements.txt; inputs are made on the first run (5 GB with the large one).
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
import timeit
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from itertools import chain
from pathlib import Path

from inputs import DATA, DEEP, HALF, HUGE, MIXED, SCATTERED, SHAPES, TIES, WIDE, Shape, make, write_as
from work import MEASURES, PYTREC, Values

HERE = Path(__file__).parent
NAMES = ("pytrec_eval-terrier", "ranx", "polars", "numpy", "numba", "orjson")
STEELYARD = (sys.executable, "-m", "steelyard")
HEAD = ["| work | against | target | ours | theirs | measured | |", "|---|---|---|---:|---:|---:|---|"]


@dataclass
class Row:
    """One line of the table: what was compared, the target, and what was measured."""

    work: str
    against: str
    target: str
    ours: str
    theirs: str
    ratio: str
    holds: bool | None

    def __str__(self) -> str:
        verdict = {True: "holds", False: "**missed**", None: "skipped"}[self.holds]
        return (
            f"| {self.work} | {self.against} | {self.target} | {self.ours} | {self.theirs} | {self.ratio} | {verdict} |"
        )


@dataclass(frozen=True)
class Side:
    """A piece of work in a process of its own.

    command   what is timed;   values   computes those of every query, in another process;   digits   that values have
    inside    whether the seconds that the process prints count instead of all
    """

    command: tuple[str, ...]
    values: Callable[[], Values] | None = None
    digits: int = 9
    inside: bool = False


@dataclass(frozen=True)
class Taken:
    """What a side took: median seconds, and the highest peak of memory."""

    seconds: float
    peak_mib: float


def work(name: str, *files: Path, inside: bool = False) -> Side:
    """A function of work.py."""
    command = (sys.executable, str(HERE / "work.py"), name, *(file.name for file in files))

    def values() -> Values:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "values.json"
            subprocess.run([*command, "--dump", str(file)], stdout=subprocess.DEVNULL, check=True)
            return dict(json.loads(file.read_text()))

    return Side(command, values if len(files) == 2 else None, inside=inside)


def commanded(shape: Shape) -> Side:
    """`steelyard evaluate`, which prints means and intervals."""
    measures = [word for measure in MEASURES for word in ("-m", measure)]
    command = (*STEELYARD, "evaluate", str(shape.qrels), str(shape.run), *measures)

    def values() -> Values:
        printed = subprocess.run([*command, "-q", "-f", "json"], capture_output=True, check=True).stdout
        (system,) = json.loads(printed)["systems"].values()
        return {m: {q: own[m] for q, own in system["per_query"].items()} for m in MEASURES}

    return Side(command, values)


def trec_eval(program: Path, shape: Shape) -> Side:
    """The same five measures by trec_eval, whose values have four digits."""
    measures = [
        word for name in PYTREC for word in ("-m", name.replace("cut_", "cut.").replace("l_", "l.").replace("P_", "P."))
    ]
    files = [str(shape.qrels), str(shape.run)]

    def values() -> Values:
        printed = subprocess.run([program, "-q", *measures, *files], capture_output=True, text=True, check=True).stdout
        values: Values = {measure: {} for measure in MEASURES}
        for name, query, value in map(str.split, printed.splitlines()):
            if query != "all":
                values[PYTREC[name]][query] = float(value)
        return values

    return Side((str(program), *measures, *files), values, digits=4)


def check(sides: Mapping[str, Side]) -> None:
    """All sides must compute the same value for every query, in the digits that they have."""
    (name, reference), *others = ((name, side) for name, side in sides.items() if side.values)
    expected = reference.values()
    for other, side in others:
        for measure, values in side.values().items():
            for query, value in values.items():
                if not math.isclose(expected[measure][query], value, rel_tol=0, abs_tol=0.50001 * 10**-side.digits):
                    raise SystemExit(
                        f"{name} and {other} differ: {measure}, query {query}: {expected[measure][query]} and {value}"
                    )


def once(side: Side) -> Taken:
    """One process from start to end."""
    with tempfile.TemporaryFile() as printed:
        start = time.perf_counter()
        process = subprocess.Popen(side.command, stdout=printed)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        if status:
            raise SystemExit(f"{' '.join(side.command)} ended with status {os.waitstatus_to_exitcode(status)}")
        if side.inside:
            printed.seek(0)
            seconds = json.loads(printed.read())["seconds"]
    return Taken(seconds, usage.ru_maxrss / 1024)


def take_turns(sides: Mapping[str, Side], rounds: int, *, warm: Collection[str] = ()) -> dict[str, Taken]:
    """Medians of all sides over rounds in which each has one turn, after one to warm caches for those not warm yet."""
    for name in sides.keys() - set(warm):
        once(sides[name])
    taken: dict[str, list[Taken]] = {name: [] for name in sides}
    for _ in range(rounds):
        for name, side in sides.items():
            taken[name].append(once(side))
    return {
        name: Taken(statistics.median(t.seconds for t in turns), max(t.peak_mib for t in turns))
        for name, turns in taken.items()
    }


def measured(sides: Mapping[str, Side], rounds: int) -> dict[str, Taken]:
    """The sides take turns, once their values are known to agree; what computed them is warm."""
    check(sides)
    return take_turns(sides, rounds, warm=[name for name, side in sides.items() if side.values])


def faster(work: str, against: str, least: float, ours: Taken, theirs: Taken) -> Row:
    """A row whose ratio must reach a limit."""
    ratio = theirs.seconds / ours.seconds
    mine, other = f"{ours.seconds:.3f} s", f"{theirs.seconds:.3f} s"
    return Row(work, against, f"≥ {least:g}× faster", mine, other, f"{ratio:.1f}× faster", ratio >= least)


def within(work: str, against: str, most: float, ours: float, theirs: float, unit: str = "s") -> Row:
    """A row whose ratio must not exceed a limit."""
    ratio = ours / theirs
    mine, other = (f"{x:.3f} s" if unit == "s" else f"{x:.0f} {unit}" for x in (ours, theirs))
    return Row(work, against, f"≤ {most:g}×", mine, other, f"{ratio:.2f}×", ratio <= most)


def below(work: str, most: float, value: float, unit: str, detail: str = "") -> Row:
    """A row that is held against a number alone."""
    shown = (f"{value:.3f} s" if unit == "s" else f"{value:.0f} {unit}") + detail
    return Row(work, "", f"≤ {most:g} {unit}", shown, "", shown, value <= most)


def skipped(work: str, against: str, why: str) -> Row:
    """A row that was not measured."""
    return Row(work, against, "", "", "", why, None)


def ties(rounds: int, program: Path | None) -> Iterator[Row]:
    """The run that people have: 7 M lines of TREC text, one or two tied pairs a query; also packed and as JSON."""
    files = {suffix: write_as(TIES, suffix) for suffix in ("gz", "zst", "json", "jsonl")}
    library = work("steelyard", TIES.qrels, TIES.run)
    sides = {"library": library, "command": commanded(TIES), "columns": work("polars_stream", TIES.run)}
    sides |= {suffix: work("steelyard", TIES.qrels, file) for suffix, file in files.items()}
    bare = {"gz": "gunzip", "zst": "unzstd", "json": "orjson_file", "jsonl": "orjson_lines"}
    sides |= {name: work(name, files[suffix]) for suffix, name in bare.items()}
    if program:
        sides["trec_eval"] = trec_eval(program, TIES)
    taken = measured(sides, rounds)
    text, against = "TREC text with ties", "trec_eval -O3"
    if program:
        yield faster(f"{text}, library", against, 4.5, taken["library"], taken["trec_eval"])
        yield faster(f"{text}, `steelyard evaluate`", against, 4, taken["command"], taken["trec_eval"])
    streaming = "Polars streaming the three columns, nothing else"
    yield within(f"{text}, library", streaming, 2, taken["library"].seconds, taken["columns"].seconds)
    for suffix, name in bare.items():
        limit = taken[name].seconds + taken["library"].seconds
        against = f"{name.replace('_', ' ')} alone, and then the text"
        yield within(f"the same as .{suffix}", against, 1.3, taken[suffix].seconds, limit)


def orders(rounds: int, program: Path | None) -> Iterator[Row]:
    """Half of all scores tied, and lines out of order."""
    against = "trec_eval -O3"
    for shape, work_name, least in (
        (HALF, "half of all scores tied", 4),
        (MIXED, "lines shuffled within questions", 3),
        (SCATTERED, "lines shuffled wholly", 1),
    ):
        sides = {"ours": work("steelyard", shape.qrels, shape.run)}
        if program:
            sides["trec_eval"] = trec_eval(program, shape)
            taken = measured(sides, rounds)
            yield faster(f"TREC text, {work_name}", against, least, taken["ours"], taken["trec_eval"])
        else:
            taken = take_turns(sides, rounds)
        if shape is SCATTERED:
            yield below(f"TREC text, {work_name}: peak memory", 600, taken["ours"].peak_mib, "MiB")


def all_measures(rounds: int, program: Path) -> Row:
    """Every measure of every query, printed as trec_eval prints them."""
    words = ("-q", "-m", "all_trec", str(TIES.qrels), str(TIES.run))
    sides = {"ours": Side((*STEELYARD, "trec-eval", *words)), "theirs": Side((str(program), *words))}
    printed = [
        subprocess.run(side.command, capture_output=True, text=True, check=True).stdout for side in sides.values()
    ]
    # Optimised by gcc, trec_eval's rbp is wrong; and a last digit may be rounded otherwise.
    lines = [[line for line in text.splitlines() if not line.startswith("rbp")] for text in printed]
    n_different = sum(a != b for a, b in zip(*lines, strict=True))
    if n_different > len(lines[0]) / 10_000:
        raise SystemExit(
            f"trec-eval -q -m all_trec prints {n_different} of {len(lines[0])} lines otherwise than trec_eval"
        )
    taken = take_turns(sides, rounds)
    return faster("`steelyard trec-eval -q -m all_trec`", "trec_eval -O3", 3, taken["ours"], taken["theirs"])


def in_memory(rounds: int) -> Iterator[Row]:
    """Beside pytrec_eval, from text and from what is in memory already, without ties."""
    files, pytrec = (DEEP.qrels, DEEP.run), "pytrec_eval"
    parquet = (DEEP.qrels, write_as(DEEP, "parquet"))
    whole = measured(
        {
            "text": work("steelyard", *files),
            "parquet": work("steelyard", *parquet),
            pytrec: work("pytrec_text", *files),
        },
        rounds,
    )
    yield faster("TREC text without ties", pytrec, 6, whole["text"], whole[pytrec])
    yield faster("Parquet", "pytrec_eval on the text", 8, whole["parquet"], whole[pytrec])
    least = {"steelyard_dicts": 4.0, "steelyard_prepared_first": 8.0, "steelyard_prepared": 10.0}
    words = ("dict of dicts in memory", "prepared Run and Truth, first time", "the same, evaluated again")
    sides = {name: work(name, *files, inside=True) for name in (*least, "pytrec_text")}
    taken = measured(sides, rounds)
    for word, (name, ratio) in zip(words, least.items(), strict=True):
        yield faster(word, "pytrec_eval's evaluate", ratio, taken[name], taken["pytrec_text"])


def wide(rounds: int) -> Row:
    """Many short lists."""
    files = WIDE.qrels, WIDE.run
    taken = measured({"ours": work("steelyard", *files), "theirs": work("pytrec_text", *files)}, max(rounds, 9))
    return faster("100,000 questions × 10, TREC text", "pytrec_eval", 3, taken["ours"], taken["theirs"])


def ranx() -> Row:
    """ranx with its compiled code in the cache; once, as it takes longest."""
    files = DEEP.qrels, DEEP.run
    taken = measured({"ours": work("steelyard", *files), "theirs": work("ranx_text", *files)}, 1)
    return faster("TREC text without ties", "ranx, warm cache", 25, taken["ours"], taken["theirs"])


def plain_functions() -> Row:
    """Microseconds of one call of each plain function on one question of 100 documents."""
    import steelyard as sy

    retrieved = [f"d{i}" for i in range(100)]
    relevant = {f"d{i}": i % 4 for i in range(0, 120, 4)}
    calls = [
        sy.plain.precision,
        sy.plain.recall,
        sy.plain.mrr,
        sy.plain.map,
        sy.plain.ndcg,
        sy.plain.hit_rate,
        sy.plain.f1,
    ]
    micros = {}
    for call in calls:
        timer = timeit.Timer(lambda call=call: call(retrieved, relevant, k=10))
        micros[call.__name__] = statistics.median(timer.repeat(7, 2_000)) / 2_000 * 1e6
    slowest = max(micros, key=micros.__getitem__)
    detail = f" ({slowest}, the slowest of {len(micros)})"
    return below("one question of 100 documents, plain functions", 50, micros[slowest], "µs", detail)


def start_up(rounds: int) -> Iterator[Row]:
    """What it costs to begin."""
    sides = {"help": Side((*STEELYARD, "--help")), "version": Side((*STEELYARD, "--version"))}
    sides |= {name: Side((sys.executable, "-c", f"import {name}")) for name in ("steelyard", "polars")}
    taken = take_turns(sides, max(rounds, 9))
    for name in ("help", "version"):
        yield below(f"`steelyard --{name}`", 0.15, taken[name].seconds, "s")
    ours, theirs = (taken[name].seconds for name in ("steelyard", "polars"))
    yield within("`import steelyard`", "`import polars`", 1.3, ours, theirs)


def memory() -> Row:
    """Peak memory of a run ten times as long."""
    make(HUGE)
    small, large = (once(work("steelyard", shape.qrels, shape.run)).peak_mib for shape in (DEEP, HUGE))
    return within("peak memory, 70 M lines", "peak memory, 7 M lines", 1.3, large, small, "MiB")


def build(sources: Path) -> Path:
    """trec_eval compiled with -O3."""
    program = DATA / "trec_eval"
    files = [file.name for file in sorted(sources.glob("*.c"))]
    command = ["gcc", "-O3", "-w", '-DVERSIONID="benchmark"', "-I.", "-o", str(program.resolve()), *files, "-lm"]
    subprocess.run(command, cwd=sources, check=True)
    return program


def rows(options: argparse.Namespace) -> Iterator[Row]:
    """Every row of the table, in its order."""
    for shape in SHAPES["small"]:
        make(shape)
    rounds = options.rounds
    program = build(options.trec_eval) if options.trec_eval else None
    if not program:
        yield skipped("TREC text with ties, and other rows", "trec_eval -O3", "name its sources with --trec-eval")
    yield from ties(rounds, program)
    yield from orders(rounds, program)
    if program:
        yield all_measures(rounds, program)
    yield from in_memory(rounds)
    yield wide(rounds)
    yield plain_functions()
    yield from start_up(rounds)
    yield memory() if options.large else skipped("peak memory, 70 M lines", "", "--no-large")
    yield ranx() if options.ranx else skipped("TREC text without ties", "ranx", "--no-ranx")


def machine() -> str:
    """What it was measured on."""
    versions = []
    for name in NAMES:
        try:
            versions.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    cpu = next(
        (line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.processor()
    )
    where = f"{os.cpu_count()} cores of {cpu}, {platform.system()}, Python {platform.python_version()}"
    return ", ".join([where, *versions])


def print_table(head: Iterable[str], rows: Iterable[object], foot: str, markdown: Path | None) -> None:
    """Print a table line by line, as its rows are measured, and write it to a file too where one is named."""
    lines = []
    for line in chain(head, map(str, rows), [f"\n{foot}"]):
        lines.append(line)
        print(line, flush=True)
    if markdown:
        markdown.write_text("\n".join(lines) + "\n", "utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--trec-eval", type=Path, metavar="FOLDER", help="sources of trec_eval, to be built with -O3")
    parser.add_argument("--no-ranx", dest="ranx", action="store_false", help="leave out the row of ranx")
    parser.add_argument("--no-large", dest="large", action="store_false", help="leave out the 70 M line run")
    parser.add_argument("--markdown", type=Path, help="write the table to this file too")
    options = parser.parse_args()
    foot = f"Medians of {options.rounds} rounds on {machine()}."
    print_table(HEAD, rows(options), foot, options.markdown)


if __name__ == "__main__":
    main()
