"""Every example of the documentation is run, and nothing public is left out of it.

A page is walked from top to bottom in a copy of the bundled example's folder, so that its examples may build on each
other:

- a ```python block with `>>>` is a doctest;
- in a ```console block, lines that start with `$ steelyard` are run, and what they print is compared; a line `...`
  stands for any lines (`steelyard demo` runs once, and every page gets its folder). `$ export NAME=VALUE` and
  `$ grep … > FILE` are run too;
- `<!-- file: NAME -->` before a block writes the block into that file first;
- `<!-- exit status 1 -->` before a console block says how its commands end, where that is not 0; `, numbers vary` may
  follow;
- `<!-- not run -->` before a block leaves it out;
- `<!-- numbers vary -->` before a console block compares all but the numbers, as those of times do.
"""

from __future__ import annotations

import doctest
import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from statistics import median
from unittest import mock

import pytest
from tools import make_reference

import steelyard as sy
from steelyard.demo import DATA, copy_data
from steelyard.judges.answers.units import units_with_citations
from steelyard.rag import registry
from tests.cli.command import Finished, steelyard
from tests.finished_demo import copy_finished_demo
from tests.measures.registered import as_of, forget_afterwards, snapshot

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
HOWTO = DOCS / "howto"
PAGES = [ROOT / "README.md", ROOT / "README.zh-CN.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]
# The commands of both READMEs are the same, by a test below.
# Another page, or a test of the bundled example, runs the same.
SLOW = ("README.zh-CN.md", "docs/howto/rerankers.md", "docs/zh/tutorials/choose-a-reranker.md")
RUN = [pytest.param(page, marks=[pytest.mark.slow] * (page.relative_to(ROOT).as_posix() in SLOW)) for page in PAGES]


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


_FENCE = re.compile(r"(?:<!-- (?P<note>[^>]*?) -->\n+)?^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.M | re.S)
_COMMANDS = ("steelyard ", "export ", "grep ")
_MEASURES = snapshot()
_OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, the line where the text begins, and the comment before it."""

    language: str
    text: str
    line: int
    note: str


def blocks(page: Path) -> list[Block]:
    text = page.read_text("utf-8")
    return [
        Block(m["language"], m["text"], text.count("\n", 0, m.start("text")) + 1, m["note"] or "")
        for m in _FENCE.finditer(text)
    ]


def steps(block: Block) -> Iterator[tuple[str, str]]:
    """Commands of a console block and what the block says they print."""
    command, output = None, list[str]()
    for line in [*block.text.splitlines(), "$ "]:
        if not line.startswith("$ "):
            output.append(line)
            continue
        if command is not None and command.startswith(_COMMANDS):
            yield command, "\n".join(output)
        command, output = line.removeprefix("$ "), []


def run(command: str, folder: Path, demo: Callable[[Path], Finished]) -> tuple[int, str]:
    """Exit status and output of a command; `< FILE` is understood.

    `steelyard` runs in this process, yet knows no measure that Python code of the page registered; so does `export`,
    which holds for the rest of the page.
    """
    words = shlex.split(command)
    if words[0] == "export":
        os.environ.update([words[1].split("=")])
        return 0, ""
    if words[0] == "grep":
        return subprocess.run(command, shell=True, cwd=folder, check=False).returncode, ""
    source = None
    if "<" in words:
        at = words.index("<")
        source, words = folder / words[at + 1], words[:at] + words[at + 2 :]
    with as_of(_MEASURES):
        done = (
            demo(folder)
            if words[1:] == ["demo"]
            else steelyard(
                *words[1:], cwd=folder, stdin=source.read_bytes() if source else b"", environment={"NO_COLOR": "1"}
            )
        )
    text = (done.stdout + done.stderr).decode().replace(f"{folder}{os.sep}", "")
    return done.returncode, "\n".join(line.rstrip() for line in text.splitlines())


def matches(shown: str, printed: str) -> bool:
    """Whether the lines agree, where a line `...` in the page stands for any lines."""
    pieces = [re.escape(line.rstrip() + "\n") if line.strip() != "..." else r"(?:.*\n)*?" for line in shown.split("\n")]
    return re.fullmatch("".join(pieces), printed.rstrip("\n") + "\n") is not None


_NUMBER = re.compile(r"[<>≥+−]*\$?\d[\d.,]*[%†‡]*")


def without_numbers(text: str) -> str:
    """The words of a text, one a line, with the same sign for every number, and rules as long as each other.

    Where lines are wrapped, and how wide columns are, follows from the numbers.
    """
    words = "\n".join(_NUMBER.sub("0", re.sub(r"([─━])\1+", r"\1", text)).split())
    return re.sub(r"(?<=[\u3000-\u9fff\uff00-\uffef])\n|\n(?=[\u3000-\u9fff\uff00-\uffef])", "", words)


def same_ids() -> AbstractContextManager[object]:
    """Within it, entries of a store have the same ids each time: pages show them."""
    digests = (hashlib.sha256(str(n).encode()).hexdigest() for n in count())
    return mock.patch("secrets.token_hex", lambda n_bytes: next(digests)[: 2 * n_bytes])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of the bundled example, as the working folder; measures that a page registers are forgotten afterwards."""
    copy = copy_data(tmp_path / "demo")
    monkeypatch.chdir(copy)
    forget_afterwards(monkeypatch)
    for role, stages in registry._stages.items():
        names = registry.names(role)
        monkeypatch.setattr(stages, "_items", {name: stages.get(name) for name in names})
    with mock.patch.dict(os.environ), same_ids():
        for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
            os.environ.pop(name, None)
        yield copy


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], Finished]:
    """What `steelyard demo` leaves in a folder."""
    return lambda to: copy_finished_demo(to, tmp_path_factory)


@pytest.mark.parametrize("page", RUN, ids=name_of)
def test_examples(page: Path, folder: Path, demo: Callable[[Path], Finished]) -> None:
    names: dict[str, object] = {}
    complaints = []
    for block in blocks(page):
        if block.note.startswith("file: "):
            (folder / block.note.removeprefix("file: ")).write_text(block.text, "utf-8")
        elif block.note == "not run":
            continue
        elif block.language == "python" and ">>>" in block.text:
            complaints += check_python(block, page, names)
        elif block.language == "console":
            complaints += check_console(block, page, folder, demo)
    assert not complaints, "\n\n".join(complaints)


def check_python(block: Block, page: Path, names: dict[str, object]) -> list[str]:
    test = doctest.DocTestParser().get_doctest(block.text, names, page.name, str(page), block.line - 1)
    said: list[str] = []
    doctest.DocTestRunner(optionflags=_OPTIONS).run(test, out=said.append, clear_globs=False)
    names.update(test.globs)
    return said


def check_console(block: Block, page: Path, folder: Path, demo: Callable[[Path], Finished]) -> list[str]:
    complaints = []
    for command, shown in steps(block):
        status, printed = run(command, folder, demo)
        refused = any(line.startswith("steelyard: ") for line in shown.split("\n"))
        expected = int(block.note[len("exit status ")]) if block.note.startswith("exit status ") else 2 * refused
        same = (
            matches(*map(without_numbers, (shown, printed)))
            if block.note.endswith("numbers vary")
            else matches(shown, printed)
        )
        if status != expected or not same:
            complaints.append(
                f"{page.name}, block at line {block.line}: $ {command}\n"
                f"exit status {status}, expected {expected}; printed:\n{printed}\nbut the page shows:\n{shown}"
            )
    return complaints


def test_numbers_may_vary_and_words_may_not() -> None:
    shown = without_numbers("P95 2.16 ms (2.13–2.28), a longer line\nP95 ms   net\n────────────\n   0.5†  –")
    printed = "P95 12 ms (2–>3), a longer\nline\nP95 ms     net\n──────────────\n  11.25  –"
    assert matches(shown, without_numbers(printed))
    assert not matches(shown, without_numbers(printed.replace("longer", "short")))
    assert not matches(shown, without_numbers(printed.replace("–\n", "") + " 3"))


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        ("a\nb", "a\nb\n", True),
        ("a\n...\nd", "a\nb\nc\nd", True),
        ("a\n...", "a\nb", True),
        ("a\nb", "a\nb\nc", False),
        ("a\n...\nd", "a\nb", False),
        ("1.0", "1x0", False),
    ],
)
def test_three_dots_stand_for_any_lines(shown: str, printed: str, same: bool) -> None:
    assert matches(shown, printed) is same


def test_a_new_user_needs_five_lines() -> None:
    """From a retriever, and from the file of a test set, to numbers."""
    paths = [block for page in PAGES for block in blocks(page) if block.note == "new user"]
    assert len(paths) >= 2
    assert [n for block in paths if (n := len(re.findall(r"^(?:>>>|\.\.\.) ", block.text, re.M))) > 5] == []


@pytest.mark.parametrize("name", ["measures.md", "traffic-measures.md", "commands.md"])
def test_reference_is_fresh(name: str) -> None:
    written = (DOCS / "reference" / name).read_text("utf-8")
    assert written == make_reference.pages()[name], "run `python tools/make_reference.py`"


def test_the_page_of_python_has_every_public_name() -> None:
    page = make_reference.python()
    modules = {"plain", "review"}
    assert {name for name in sy.__all__ if f"### sy.{name}\n" not in page} == modules | {"__version__"}
    assert {name for name in modules if f"### sy.{name}." not in page} == set()


def test_figures_of_the_lexical_judge_are_those_of_the_benchmark() -> None:
    rows = r"^\| (\w+)[^|]*\| (0?\.\d+) \|"
    benchmark = (ROOT / "benchmarks" / "ANSWERS.md").read_text("utf-8")
    listed = re.findall(r"^\| lexical judge, AUC \| (\w+)[^|]*\| 0\.\d+ \| (0\.\d+)", benchmark, re.M)
    measured = {name: float(value) for name, value in reversed(listed)}  # Of two lines of a set the first.
    shown = re.findall(rows, (HOWTO / "judges.md").read_text("utf-8"), re.M)
    assert len(shown) == 7
    assert {name: float(value) for name, value in shown} == {name: round(measured[name], 3) for name, _ in shown}


@pytest.mark.parametrize(("kind", "n_least"), [("form", 20), ("no chunk of the context", 7), ("stays text", 10)])
def test_citations_of_the_page_are_read_as_it_says(kind: str, n_least: int) -> None:
    text = (HOWTO / "answers.md").read_text("utf-8")
    context = text.partition("With the context ")[2].partition(":\n")[0].split(", ")
    table = text.partition(f"| {kind} | English | Chinese |\n|---|---|---|\n")[2].partition("\n\n")[0]
    n_answers = 0
    for head, _, examples in (row.removeprefix("| ").partition(" | ") for row in table.splitlines()):
        expected = {"form": {None}, "stays text": set()}.get(kind, {head.strip("`").partition("`")[0]})
        for answer in re.findall("`([^`]+)`", examples):
            _, cited = units_with_citations(answer, context)
            assert {citation.problem for citation in cited} == expected, answer
            n_answers += 1
    assert n_answers >= n_least


def everything() -> str:
    return "\n".join(page.read_text("utf-8") for page in [ROOT / "README.md", *DOCS.rglob("*.md")])


@pytest.mark.parametrize("name", sy.__all__)
def test_public_name_is_documented(name: str) -> None:
    assert re.search(rf"sy\.{name}\b|`{name}`", everything()), f"{name} occurs in no page"


def test_every_command_is_documented() -> None:
    from steelyard.cli.commands import COMMANDS

    assert len(COMMANDS) >= 5
    text = everything()
    assert [name for name in COMMANDS if f"steelyard {name}" not in text] == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_page_stands_alone(page: Path) -> None:
    """No path of somebody's machine, and no link that leads nowhere."""
    text = page.read_text("utf-8")
    assert re.findall(r"(?<![\w.])(?:/(?:work|tmp|home|root|Users|opt|var|mnt)\b|\.\./shared|[A-Z]:\\)", text) == []
    links = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text)
    assert [link for link in links if "://" not in link and not (page.parent / link).exists()] == []


def test_index_lists_every_page() -> None:
    index = (DOCS / "index.md").read_text("utf-8")
    others = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")} - {"index.md"}
    assert {path for path in others if f"({path})" not in index} == set()


def test_the_site_shows_every_page() -> None:
    nav = (ROOT / "zensical.toml").read_text("utf-8")
    pages = [path.relative_to(ROOT).as_posix() for path in DOCS.rglob("*.md")]
    assert [page for page in pages if f'"{page}"' not in nav] == []


TUTORIALS = sorted((DOCS / "tutorials").glob("*.md"))


def test_every_tutorial_is_there_in_chinese() -> None:
    """Both go through the same commands, each with questions of its language."""

    def commands(page: Path) -> list[str]:
        shown = [command for block in blocks(page) if block.language == "console" for command, _ in steps(block)]
        return [command.split()[1] for command in shown if command.startswith("steelyard ")]

    chinese = DOCS / "zh" / "tutorials"
    assert len(TUTORIALS) == 6
    assert {page.name: commands(page) for page in TUTORIALS} == {
        page.name: commands(page) for page in chinese.glob("*")
    }


@pytest.mark.parametrize("page", TUTORIALS, ids=name_of)
def test_tutorials_are_short(page: Path) -> None:
    prose = _FENCE.sub("", page.read_text("utf-8"))
    prose = re.sub(r"^(#|\|).*$|<!--.*?-->|\]\([^)]*\)", " ", prose, flags=re.M)
    sentences = re.split(r"(?<=[.?!:])\**\s+|\n\n", prose)
    lengths = [len(words) for sentence in sentences if (words := re.findall(r"[\w`'.@/-]*\w[\w`'.@/-]*", sentence))]
    assert median(lengths) <= 20
    assert max(lengths) <= 40
    assert 200 <= sum(lengths) <= 700


READMES = [ROOT / "README.md", ROOT / "README.zh-CN.md"]


def doors(readme: Path) -> list[list[tuple[str, str]]]:
    """The commands of each section of a README that shows some, and what they print."""
    sections = readme.read_text("utf-8").split("\n## ")
    shown = [[step for text in _FENCE.finditer(section) if text["language"] == "console"
              for step in steps(Block("console", text["text"], 0, ""))] for section in sections]  # fmt: skip
    return [[step for step in section if step[0].startswith("steelyard ")] for section in shown if section]


@pytest.mark.parametrize("readme", READMES, ids=name_of)
def test_a_newcomer_has_a_number_after_few_commands_and_lines(readme: Path) -> None:
    """Two runs, a RAG application, a test set of another tool, a reranker, results over time: each has a door."""
    assert readme.read_text("utf-8").count("\n") <= 150
    assert len(doors(readme)) == 5
    for commands in doors(readme):
        assert len(commands) <= 5
        assert max(len(printed.splitlines()) for _, printed in commands) <= 15
        assert re.search(r"\d\.\d{2}", commands[0][1])


def test_both_readmes_have_the_same_doors() -> None:
    """The Chinese one has Chinese questions, files and outputs."""
    english, chinese = ([[command.split()[1] for command, _ in door] for door in doors(page)] for page in READMES)
    assert english == chinese


def test_what_readmes_show_of_a_bench_is_what_the_page_on_rerankers_shows() -> None:
    """That page is run; a bench for each README would take too long."""
    page = (HOWTO / "rerankers.md").read_text("utf-8")
    (shown,) = [block.text for block in blocks(ROOT / "README.md") if block.text.startswith("$ steelyard bench rerank")]
    assert [line for line in shown.splitlines() if line not in ("...", *page.splitlines())] == []


def test_the_bench_of_the_page_on_rerankers_is_the_bundled_one() -> None:
    configurations = [block.text for block in blocks(HOWTO / "rerankers.md") if block.language == "toml"]
    assert configurations[0] == (DATA / "bench.toml").read_text("utf-8")


def test_plugin_of_the_page(tmp_path: Path) -> None:
    """What the page about custom measures shows as a package of its own, installed by hand."""
    page = blocks(HOWTO / "custom-measures.md")
    module = next(block.text for block in page if block.note == "file: my_measures.py")
    project = next(block.text for block in page if block.language == "toml")
    entry = re.search(r'\[project\.entry-points\."(.+)"\]\n(.+) = "(.+)"', project)
    assert entry is not None
    info = tmp_path / "my_measures-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-measures\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{entry[1]}]\n{entry[2]} = {entry[3]}\n")
    (tmp_path / "my_measures.py").write_text(module, "utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "steelyard", "measures", "deepest_relevant"],
        env=os.environ | {"PYTHONPATH": str(tmp_path), "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout.decode().startswith("deepest_relevant[@k]")


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_shares_are_written_one_way(page: Path) -> None:
    assert re.findall(r"\d %", page.read_text("utf-8")) == []


AGREEMENT = {
    "two people, which of two answers": ["ragchecker_meta.correctness.kappa_nominal",
        "ragchecker_meta.correctness.kappa_quadratic", "ragchecker_meta.correctness.alpha_ordinal"],
    "two people, the same, completeness": ["ragchecker_meta.completeness.kappa_nominal",
        "ragchecker_meta.completeness.kappa_quadratic", "ragchecker_meta.completeness.alpha_ordinal"],
    "two people, the same, overall": ["ragchecker_meta.overall.kappa_nominal",
        "ragchecker_meta.overall.kappa_quadratic", "ragchecker_meta.overall.alpha_ordinal"],
    **{f"people, grades of {name}": [f"mtrag.alpha_ordinal_{name}"]
       for name in ("faithfulness", "naturalness", "completeness", "appropriateness")},
    "two people, is the answer right": ["openqa.annotators_1_2.kappa"],
    "GPT-4 and people, the same answers": ["openqa.judge_gpt4.kappa"],
    "text-davinci-003": ["openqa.judge_text-davinci-003.kappa"],
    "BEM": ["openqa.judge_bem.kappa"],
    "contains the gold answer": ["openqa.lexical.contains_kappa"],
    "is the gold answer": ["openqa.lexical.em_kappa"],
    "GPT-4 and people, claims": ["wice.judge.gpt-4-0613.kappa", "wice.judge.gpt-4-0613.kappa_quadratic"],
    "GPT-4 and people, which of two chat": ["gpt4_reviews.vs_human.kappa", "gpt4_reviews.vs_human.kappa_quadratic"],
}  # fmt: skip
"""Row of the table -> where its figures are from."""


def test_agreement_in_judge_trust_is_that_of_the_reference() -> None:
    from tests.shared_data import shared

    reference = json.loads((shared("answers") / "reference.json").read_text("utf-8"))
    page = (HOWTO / "judge-trust.md").read_text("utf-8")
    rows = {row[0]: row[1:] for row in (re.split(r" *\| *", line.strip("| ")) for line in page.splitlines())}
    for name, keys in AGREEMENT.items():
        (row,) = (cells for label, cells in rows.items() if label.startswith(name))
        shown = [cell for cell in row[1:] if cell]
        assert shown == [f"{reference[key]:.2f}".lstrip("0") for key in keys], name
    judges = {
        statistic: [
            reference[key] for key in reference if key.startswith("llmjudge.judge") and key.endswith(f".{statistic}")
        ]
        for statistic in ("kappa", "kappa_quadratic", "alpha_ordinal")
    }
    (row,) = (cells for label, cells in rows.items() if label.startswith("33 judges"))
    assert row[1:] == [f"{min(values):.2f} to {max(values):.2f}".replace("0.", ".") for values in judges.values()]
    assert {len(values) for values in judges.values()} == {33}


def test_thresholds_in_judge_trust_are_those_of_the_benchmark() -> None:
    def rows(path: str) -> list[list[str]]:
        lines = (ROOT / path).read_text("utf-8").splitlines()
        return [re.split(r" *\| *", line.strip("| ")) for line in lines if line.startswith("| ")]

    head, *measured = [row for row in rows("benchmarks/THRESHOLDS.md") if len(row) == 9]
    columns = [head.index(name) for name in ("set", "pairs", "best", "calibrated", "fixed 0.5", "default 0.6")]
    shown = [row for row in rows("docs/howto/judge-trust.md") if len(row) == 6 and row[1].isdecimal()]
    assert shown == [[row[place].replace("0.", ".") for place in columns] for row in measured]


def test_what_labels_are_worth_in_judge_trust_is_that_of_the_benchmark() -> None:
    measured = (ROOT / "benchmarks" / "PREDICTION_POWERED.md").read_text("utf-8")
    setting = measured.partition("100 questions, 4 units each on average, labels at random.")[2]
    page = (HOWTO / "judge-trust.md").read_text("utf-8").partition("| judge | its mean is off by |")[2]
    names = {
        "perfect": "errs in 1%",
        "good": "errs in 5%",
        "noisy": "errs in 25%",
        "biased": "calls",
        "useless": "errs in 50%",
    }
    for judge, name in names.items():
        row = re.search(rf"^\| {judge} \| 100 \| ([^|]*) \| ([^|]*) \|.*\| (\d+) \|$", setting, re.M)
        shown = re.search(rf"^\| {name}[^|]*\| ([^|]*) \| ([^|]*) \| ([^|]*) \|$", page, re.M)
        assert row is not None
        assert shown is not None
        assert shown.groups() == (row[1].replace("0.", ".").replace("-", "−"), row[3], row[2])


_WORDS_OF_BOOKS = re.compile(
    r"\b(whoever|anew|at odds|draws? up|drawn up|be it|bears|stands(?! (for|in for|out))|ere|thereof|hitherto|nobody"
    r"|shall|for want of|one's own|oftener|(held?|holds|holding) (\w+ )?against"
    r"|(?<!Steelyard )(?<!（秤） )(?<!\(秤\) )weigh(s|ed|ing)?)\b",  # It is the name's pun, and nothing else.
    re.I,
)
_CODE = re.compile(
    r"^```.*?^```$|`[^`\n]+`|^(?:from|import) .*?$|^\[.*?\]$|\[weigh\]|sy\.\w+|\bWeighing\b", re.M | re.S
)


def prose_of(text: str) -> str:
    """The text without code, line by line: what names and keys are called is another matter."""
    return _CODE.sub(lambda code: "\n" * code[0].count("\n"), text)


_WORDS_OF_MACHINES = re.compile("称量|称重|黄金证据|地面真相|基础真相|重排器|再排名|忠诚度|度量标准|可信赖度")


# Each line of help and of an error is in them, with its translation.
TRANSLATIONS = sorted((ROOT / "src/steelyard/cli/translations/zh").rglob("*.txt"))


def plain_pages() -> list[Path]:
    """What people read in English: pages, catalogues, errors, and the words of options and commands."""
    catalogues = sorted((ROOT / "src/steelyard/reports/catalogues/en").glob("*.toml"))
    code = [ROOT / "src/steelyard" / name for name in ("cli/commands.py", "cli/options.py", "base/options.py")]
    return [*PAGES, ROOT / "SECURITY.md", *catalogues, *code, *TRANSLATIONS]


@pytest.mark.parametrize("path", plain_pages(), ids=name_of)
def test_words_are_those_of_today(path: Path) -> None:
    lines = enumerate(prose_of(path.read_text("utf-8")).splitlines(), 1)
    assert [f"{n}: {line.strip()}" for n, line in lines if _WORDS_OF_BOOKS.search(line)] == []


@pytest.mark.parametrize("path", [*sorted((DOCS / "zh").rglob("*.md")), *TRANSLATIONS], ids=name_of)
def test_chinese_words_are_those_of_the_field(path: Path) -> None:
    lines = enumerate(path.read_text("utf-8").splitlines(), 1)
    assert [f"{n}: {line.strip()}" for n, line in lines if _WORDS_OF_MACHINES.search(line)] == []
