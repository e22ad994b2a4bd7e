"""Gold that is retrieved under a name that is not its own: every command that weighs says so, in both languages."""

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import steelyard

N = 8


def write(path: Path, lines: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8")
    return path


@pytest.fixture
def paths(tmp_path: Path) -> tuple[Path, Path, Path]:
    """Questions of N travel rules, and two systems that return each rule from an export with a name of its own."""
    rules = [f"Rule {i}: 出差第 {i} 条 must be kept." for i in range(N)]
    questions = write(
        tmp_path / "questions.jsonl",
        [{"qid": f"q{i}", "query": "?", "evidence": [{"doc": "差旅", "quote": rule}]} for i, rule in enumerate(rules)],
    )
    systems = [
        write(
            tmp_path / f"{name}.jsonl",
            [
                {"qid": f"q{i}", "retrieved": [{"id": f"c{j}", "doc": "export-7", "text": rules[j]} for j in order(i)]}
                for i in range(N)
            ],
        )
        for name, order in {"new": lambda i: (i, (i + 1) % N), "old": lambda i: ((i + 1) % N, i)}.items()
    ]
    return questions, *systems


def said(*arguments: object, **options: Any) -> str:
    finished = steelyard(*arguments, columns=4000, **options)
    assert not finished.stderr, finished.stderr.decode()
    return finished.stdout.decode()


@pytest.mark.parametrize(
    ("lang", "note"),
    [
        ("en", "8 gold quotes count as not retrieved, although their questions retrieved them word for word: q0 has "
         "gold in 差旅, and export-7 holds it."),
        ("zh", "8 条标准引文按未检索到计，尽管其问题检索到的文字原样包含它们：例如问题 q0 的证据在 差旅 中，"
         "而包含它的是 export-7。"),
    ],
)  # fmt: skip
def test_every_command_says_that_names_differ(paths: tuple[Path, Path, Path], lang: str, note: str) -> None:
    questions, new, old = paths
    scores = new.with_suffix(".json")
    commands = [
        ("evaluate", questions, new),
        ("compare", questions, new, old),
        ("report", questions, new, old),
        ("report", questions, new),
    ]
    for command in commands:
        assert note in said(*command, "--lang", lang), command
    said("evaluate", questions, new, "-o", scores)
    assert note in said("gate", scores, "--max-missing", 0, "--lang", lang)


def test_json_has_the_notes_and_fits_its_schema(paths: tuple[Path, Path, Path]) -> None:
    jsonschema = pytest.importorskip("jsonschema", reason="holding JSON against a schema needs jsonschema")
    questions, new, old = paths
    comparison = json.loads(said("compare", questions, new, old, "-f", "json"))
    assert {system: [note["code"] for note in notes] for system, notes in comparison["notes"].items()} == {
        "new": ["quote_elsewhere"],
        "old": ["quote_elsewhere"],
    }
    scores = json.loads(said("evaluate", questions, new, "-f", "json"))
    schema = json.loads((files("steelyard.reports.formats") / "schema.json").read_text("utf-8"))
    for name, content in (("comparison", comparison), ("scores", scores)):
        jsonschema.validate(content, schema | {"$ref": f"#/$defs/{name}"})


def test_a_run_and_its_gate_say_it_too(paths: tuple[Path, Path, Path], tmp_path: Path) -> None:
    questions, *_ = paths
    (tmp_path / "searching.py").write_text(
        "import json\n"
        "from pathlib import Path\n"
        "lists = [json.loads(line)['retrieved'] for line in Path('new.jsonl').read_text('utf-8').splitlines()]\n"
        "def search(query):\n    return lists[int(query)]\n"
    )
    write(
        questions,
        [json.loads(line) | {"query": str(i)} for i, line in enumerate(questions.read_text("utf-8").splitlines())],
    )
    command = ("run", "--target", "searching:search", "--questions", questions, "-o", "out", "--lang", "en")
    note = "8 gold quotes count as not retrieved"
    assert note in said(*command, cwd=tmp_path)
    assert note in said("gate", "out", "--truth", questions, "--max-missing", 0, "--lang", "en", cwd=tmp_path)


def test_the_documents_bring_the_names_together(paths: tuple[Path, Path, Path], tmp_path: Path) -> None:
    """With `--documents` the gold is placed by its document; the name of the chunks is still nobody's."""
    questions, new, _ = paths
    (tmp_path / "documents").mkdir()
    text = "\n".join(json.loads(line)["evidence"][0]["quote"] for line in questions.read_text("utf-8").splitlines())
    (tmp_path / "documents" / "差旅.md").write_text(text, encoding="utf-8")
    lines = said("evaluate", questions, new, "--documents", tmp_path / "documents", "--lang", "en")
    assert "8 gold quotes count as not retrieved" in lines
    assert "call it as the corpus does." in lines
    write(new, [json.loads(line.replace("export-7", "kb/差旅.md")) for line in new.read_text("utf-8").splitlines()])
    assert "word for word" not in said(
        "evaluate", questions, new, "--documents", tmp_path / "documents", "--lang", "en"
    )
    assert "word for word" not in said("evaluate", questions, new, "--lang", "en")
