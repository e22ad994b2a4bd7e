"""The drop-in against NIST's own program, compiled from its sources where these are beside the repository."""

import random
import re
import shutil
import subprocess
from collections.abc import Callable
from itertools import chain
from pathlib import Path

import pytest

from steelyard.reports.formats.trec_eval import NICKNAMES, NOT_TAKEN, TREC_MEASURES
from tests.cli.command import complaint, printed, steelyard
from tests.shared_data import SHARED

SOURCES = SHARED.parent / "trec_eval"
Program = Callable[..., str]

EVERYTHING = ("-m", "all_trec", "-m", "dcg", "-m", "ideal_dcg")
PARAMETERS = (
    "-miprec_at_recall..10,.20,.25,.75,.50", "-m", "P.5,7,3", "-m", "recall.20,2000", "-m", "Rprec_mult.5.0,0.2,0.35",
    "-mutility.2,-1,0,0", "-m", "11pt_avg..25,.5,.75", "-mndcg.1=3,2=9,4=4", "-mndcg_cut.10,20,23.4",
    "-msuccess.2,5,20", "-m", "set_F.0.5", "-m", "rbp.p=0.5,2=6", "-m", "rbp_resid.p=0.95", "-m", "unj.1,2",
    "-m", "relstring.3",
)  # fmt: skip
# What yaap leaves in memory would be the first number of its rbp, so the two are not asked for together.
SMOOTHED = ("-m", "yaap", "-m", "set_F.3", "-m", "ideal_dcg.3=7")

# The commands of its `make quicktest` whose truth is qrels, on files of the shapes that it takes.
QUICKTEST = [
    ("", "qrels", "run"),
    ("", "commented qrels", "run"),
    ("", "commented qrels", "commented run"),
    ("-m all_trec", "qrels", "run"),
    ("-m all_trec -q", "qrels", "run"),
    ("-m all_trec -q -c", "qrels", "run without some queries"),
    ("-m all_trec -q -c -M100", "qrels", "run without some queries"),
    ("-m all_trec -mrelstring.20 -q -l2", "qrels", "run"),
    (
        "-q -miprec_at_recall..10,.20,.25,.75,.50 -m P.5,7,3 -m recall.20,2000 -m Rprec_mult.5.0,0.2,0.35 "
        "-mutility.2,-1,0,0 -m 11pt_avg..25,.5,.75 -mndcg.1=3,2=9,4=4.5 -mndcg_cut.10,20,23.4 -msuccess.2,5,20",
        "qrels",
        "run",
    ),
]
RECORDED = [
    ("", "qrels.test", "results.test", "out.test"),
    ("", "qrels.test.with-comments", "results.test", "out.test"),
    ("", "qrels.comment.test", "results.comment.test", "out.comment.test"),
    ("-m all_trec", "qrels.test", "results.test", "out.test.a"),
    ("-m all_trec -q", "qrels.test", "results.test", "out.test.aq"),
    ("-m all_trec -q -c", "qrels.test", "results.trunc", "out.test.aqc"),
    ("-m all_trec -q -c -M100", "qrels.test", "results.trunc", "out.test.aqcM"),
    ("-m all_trec -mrelstring.20 -q -l2", "qrels.rel_level", "results.test", "out.test.aql"),
    (QUICKTEST[-1][0], "qrels.test", "results.test", "out.test.meas_params"),
]


@pytest.fixture(scope="session")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> Program:
    """What trec_eval prints, built without optimisation: only then has its rbp one value, whatever is in memory."""
    if not (SOURCES / "Makefile").is_file():
        pytest.skip("needs the sources of trec_eval beside the repository")
    if shutil.which("gcc") is None:
        pytest.skip("needs gcc, to compile trec_eval")
    program = tmp_path_factory.mktemp("trec_eval") / "trec_eval"
    lines = (SOURCES / "Makefile").read_text().replace("\\\n", " ").splitlines()
    lists = [line.split("=")[1].split() for line in lines if re.match(r"(TOP|FORMAT|MEAS)_SRCS\s*=", line)]
    options = ["-O0", "-w", '-DVERSIONID="10.0"', "-I.", "-o", program]
    subprocess.run(["gcc", *options, *chain.from_iterable(lists), "-lm"], cwd=SOURCES, check=True, capture_output=True)
    return lambda *arguments: subprocess.run([program, *arguments], check=True, capture_output=True, text=True).stdout


def collection(seed: int, folder: Path, *, n_queries: int = 8, complete: bool = False) -> tuple[Path, Path]:
    """Qrels with grades, unjudged documents and queries without relevant ones; a run with ties and missing queries."""
    draw = random.Random(seed)
    labels = draw.choice([(0, 1), (0, 1, 2, 3), (-1, 0, 1, 2, 4), (0, 0, 0, 1), (0, 3, 12)])
    docs = [f"d{i}" for i in range(draw.choice([3, 12, 60]))]
    scores = draw.choice([(0.0, 1.0), (0.25, 0.5, 1.0, 2.0, 7.0), tuple(i / 7 for i in range(90))])
    behind = draw.choice(["tag", "tag", "my tag of seven words in all"])
    judged, retrieved = [], []
    for query in range(n_queries):
        pool = draw.sample(docs, draw.randint(1, len(docs)))
        judged += [f"q{query} 0 {doc} {draw.choice(labels) if i else 0}\n" for i, doc in enumerate(pool)]
        if complete or query == 0 or draw.random() < 0.9:
            listed = draw.sample(docs, draw.randint(1, len(docs)))
            retrieved += [f"q{query} Q0 {doc} {draw.randint(1, 9)} {draw.choice(scores)} {behind}\n" for doc in listed]
    qrels, run = folder / f"{seed}.qrels", folder / f"{seed}.run"
    qrels.write_text("".join(judged))
    run.write_text("".join(retrieved))
    return qrels, run


def undocumented(ours: str, theirs: str, options: list[str]) -> list[tuple[str, str]]:
    """Lines that differ though docs/reference/semantics.md does not say so; both outputs have as many lines."""
    pairs = zip(ours.splitlines(), theirs.splitlines(), strict=True)
    return [(a, b) for a, b in pairs if a != b and not _is_documented(a, b, options)]


def _is_documented(ours: str, theirs: str, options: list[str]) -> bool:
    name, query, _ = (part.strip() for part in theirs.split("\t"))
    if theirs.endswith("-nan"):
        return name.startswith(("iprec_at_recall", "11pt_avg", "Rndcg"))
    if "-c" not in options:
        return False
    invented = name.startswith(("utility_", "rbp_resid_p=", "relstring_"))
    return invented or (name == "num_rel" and query == "all" and not {"-l0", "-l2"}.isdisjoint(options))


@pytest.mark.parametrize(("arguments", "qrels", "run"), QUICKTEST)
def test_the_commands_of_its_quick_test(arguments: str, qrels: str, run: str, theirs: Program, tmp_path: Path) -> None:
    files = collection(7 if "without" in run else 2, tmp_path, n_queries=40, complete="without" not in run)
    for kind, file in zip((qrels, run), files, strict=True):
        if kind.startswith("commented"):
            file.write_text("# by hand\n" + file.read_text().replace("\nq3", "\n# the fourth\nq3", 1))
    options = arguments.split()
    text = printed("trec-eval", *options, *files)
    assert text.count("\n") > 20
    assert undocumented(text, theirs(*options, *files), options) == []


@pytest.mark.parametrize(("arguments", "qrels", "run", "output"), RECORDED)
def test_its_expected_files(arguments: str, qrels: str, run: str, output: str) -> None:
    folder = SOURCES / "test"
    if not folder.is_dir():
        pytest.skip("needs the files of trec_eval's own tests beside its sources")
    assert printed("trec-eval", *arguments.split(), folder / qrels, folder / run) == (folder / output).read_text()


def weigh_both_ways(seed: int, theirs: Program, folder: Path) -> None:
    draw = random.Random(seed)
    levels, depths = draw.choice(["-l2", "-l2", "-l0"]), draw.choice(["-M7", "-M0"])
    options = [option for option in ("-c", levels, "-J", depths, "-N100") if draw.random() < 0.35]
    files = collection(seed, folder, complete="-c" not in options)
    for measures in (EVERYTHING, PARAMETERS, SMOOTHED):
        text = printed("trec-eval", "-q", *options, *measures, *files)
        assert undocumented(text, theirs("-q", *options, *measures, *files), options) == [], f"seed {seed}: {options}"


@pytest.mark.parametrize("seed", range(12))
def test_random_runs(seed: int, theirs: Program, tmp_path: Path) -> None:
    weigh_both_ways(seed, theirs, tmp_path)


@pytest.mark.slow
def test_four_thousand_random_runs(theirs: Program, tmp_path: Path) -> None:
    for seed in range(4000):
        weigh_both_ways(seed, theirs, tmp_path)
        (tmp_path / f"{seed}.qrels").unlink()
        (tmp_path / f"{seed}.run").unlink()


# label: arguments, a second line of the run, and the value of q1 there and here (or why it is refused here).
SAID_TO_DIFFER = {
    "an invented document": ("-c -m utility.1,-1,0,0", "q9 Q0 d2 1 1 t", "-1.0000", "0.0000"),
    "unjudged documents in a map": ("-m dcg.-1=2", "q1 Q0 x 2 9 t", "2.6309", "0.6309"),
    "documents below 0 in a map": ("-m dcg.-2=2", "q1 Q0 below 2 9 t", "2.6309", "0.6309"),
    "nothing is left": ("-M0 -m 11pt_avg", "", "-nan", "0.0000"),
    "no label above 0": ("-l0 -m Rndcg", "", "-nan", "0.0000"),
    "gains below 0": ("-m rbp.0=-1", "", "0.1000", "a gain below 0 is no share of the highest"),
    "a blank in an id": ("-m P.1", "q1 Q0 my d1 9 0.5 t", "0.0000", "the rank being 'd1'"),
}


@pytest.mark.parametrize("case", SAID_TO_DIFFER)
def test_what_is_said_to_differ_does(case: str, theirs: Program, tmp_path: Path) -> None:
    arguments, line, value, ours = SAID_TO_DIFFER[case]
    qrels, run = tmp_path / "a.qrels", tmp_path / "a.run"
    label = 0 if "-l0" in arguments else 1
    qrels.write_text(f"q1 0 d1 {label}\nq1 0 below -3\n" + "q9 0 d2 1\n" * ("-c" in arguments))
    run.write_text(f"{line}\n" + "q1 Q0 d1 1 5 t\n" * ("-c" not in arguments))
    options = arguments.split()
    shown = {row.split("\t")[1]: row.split()[-1] for row in theirs("-q", *options, qrels, run).splitlines()}
    assert shown["q1"] == value
    if ours.endswith(("0000", "6309")):
        rows = printed("trec-eval", "-q", *options, qrels, run).splitlines()
        assert {row.split("\t")[1]: row.split()[-1] for row in rows}["q1"] == ours
    else:
        assert ours in complaint("trec-eval", "-q", *options, qrels, run)


@pytest.mark.parametrize("end", ["\r", " ", ""])
def test_the_first_of_joined_records_counts(end: str, theirs: Program, tmp_path: Path) -> None:
    """There in silence, here with a remark."""
    qrels, run = tmp_path / "a.qrels", tmp_path / "a.run"
    qrels.write_text("q1 0 d1 1\nq1 0 d2 1\n")
    run.write_text(f"q1 Q0 d3 1 3 t\nq1 Q0 d1 1 2 t{end}q1 Q0 d2 2 1 t\n", newline="")
    done = steelyard("trec-eval", "-q", *EVERYTHING, qrels, run)
    assert undocumented(done.stdout.decode(), theirs("-q", *EVERYTHING, qrels, run), []) == []
    assert done.stderr.decode().startswith(f"steelyard: {run}, line 2: ")
    assert done.stderr.decode().endswith("; trec_eval reads the first record alone, and so does this\n")


def test_every_name_is_taken_or_said_not_to_be(tmp_path: Path) -> None:
    """Its own list of measures and of nicknames."""
    if not (SOURCES / "measures.c").is_file():
        pytest.skip("needs the sources of trec_eval beside the repository")
    text = (SOURCES / "measures.c").read_text()
    names = re.findall(r"&te_meas_(\w+)", text)
    nicknames = re.findall(r'\{ "(\w+)", \w+ \}', text)
    assert len(names) > 50
    assert len(nicknames) == 6
    assert {*names, *nicknames} == TREC_MEASURES.keys() | NICKNAMES.keys() | NOT_TAKEN.keys()
    files = collection(1, tmp_path)
    for name in names:
        if name in NOT_TAKEN:
            assert f"-m {name}: is not taken here" in complaint("trec-eval", "-m", name, *files)
        elif name != "relstring":
            assert printed("trec-eval", "-m", name, *files).startswith(name)
