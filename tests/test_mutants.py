"""The mutants are programs, each other than the code, and the same ones for the same seed."""

import ast
from pathlib import Path

import pytest

from tests.mutants import EQUIVALENT, PACKAGE, ROOT, mutants, room_of, sample


def _changes(source: str) -> list[tuple[str, str]]:
    return [(mutant.code, mutant.replacement) for place in mutants("a.py", source) for mutant in place]


@pytest.mark.parametrize(
    ("source", "want"),
    [
        ("x < y", [("x < y", "(x <= y)"), ("x < y", "(x >= y)")]),
        ("x and y", [("x and y", "(x or y)")]),
        ("1.5", [("1.5", "(2.5)"), ("1.5", "(0.5)")]),
        ("a[:n]", [(":n", "0 + 1:n"), (":n", ":n + 1")]),
        ("a[i] = x", [("a[i] = x", "pass")]),
        ("np.zeros(n)", [("np.zeros(n)", "pass"), ("np.zeros", "(np.ones)")]),
        ("if np.isnan(x): pass", [("np.isnan(x)", "(not np.isnan(x))")]),
        ("if 秤(x): pass", [("秤(x)", "(not 秤(x))")]),
        ("@dataclass(frozen=True)\nclass A: pass", []),
        ('x: Literal[1] = y\n"""Words: 1."""', []),
    ],
)
def test_wrong_neighbours(source: str, want: list[tuple[str, str]]) -> None:
    assert _changes(source) == want


def test_sub_folders_are_among_the_sources() -> None:
    drawn = {mutant.file for mutant in sample(ROOT, seed=1, n=60)}
    assert any(Path(file).parent.name != room_of(file) for file in drawn)
    assert {room_of(file) for file in drawn} == {"measures", "stats", "align"}


@pytest.mark.slow
def test_a_sample_holds_programs_that_differ() -> None:
    drawn = sample(ROOT, seed=3, n=40)
    assert sample(ROOT, seed=3, n=40) == drawn != sample(ROOT, seed=4, n=40)
    assert {room_of(mutant.file) for mutant in drawn} == {"measures", "stats", "align"}
    for mutant in drawn:
        source = (ROOT / mutant.file).read_bytes()
        assert ast.dump(ast.parse(mutant.applied(source))) != ast.dump(ast.parse(source)), str(mutant)


@pytest.mark.parametrize("key", EQUIVALENT, ids=str)
def test_what_is_equivalent_is_a_mutant(key: tuple[str, str, str]) -> None:
    file = f"{PACKAGE}/{key[0]}"
    places = mutants(file, (ROOT / file).read_text("utf-8"))
    assert [mutant for place in places for mutant in place if (key[0], mutant.statement, mutant.replacement) == key]
