"""Every refusal is one line, nothing ends in a traceback, nothing hangs."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import SUMMARY
from tests.fuzz.foreign import fuzz_paths, write_foreign
from tests.fuzz.fuzzing import Counts, fuzz, run_case
from tests.fuzz.seeds import write_seeds
from tests.fuzz.stores import COMMANDS, fuzz_stores, write_store
from tests.fuzz.target import Target


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz")


@pytest.fixture(scope="module")
def targets(folder: Path) -> list[Target]:
    return write_seeds(folder)


def check(counts: Counts, n_cases: int) -> None:
    assert counts.n_cases == n_cases
    assert not counts.problems, "\n\n".join([str(counts), *counts.problems])
    # A fuzzer whose files are all taken, or all refused, looks at nothing.
    assert n_cases / 4 < len(counts.refusals) < n_cases * 0.95


@pytest.mark.parametrize("nth", [4, pytest.param(1, marks=pytest.mark.slow)])
def test_good_files_are_accepted(
    nth: int, folder: Path, targets: list[Target], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    counts = Counts()
    commands = sorted({command for target in targets for command in target.commands})
    for words in commands[::nth]:
        run_case(list(words), " ".join(words), counts)
    assert counts.refusals + counts.problems == []


@pytest.mark.parametrize("n", [40, pytest.param(300, marks=pytest.mark.slow)])
def test_some_cases(n: int, folder: Path, targets: list[Target]) -> None:
    check(fuzz(folder, targets, n_cases=n, seed=12), n)


@pytest.mark.slow
def test_five_thousand_cases(
    folder: Path, targets: list[Target], record_property: Callable[[str, object], None]
) -> None:
    counts = fuzz(folder, targets, n_cases=5_000, seed=7)
    record_property(SUMMARY, f"fuzz: {counts}")
    check(counts, 5_000)


@pytest.mark.parametrize("n", [40, pytest.param(3_000, marks=pytest.mark.slow)])
def test_nothing_foreign_leads_out_of_its_folder(n: int, tmp_path: Path) -> None:
    commands = write_foreign(tmp_path / "place")
    good = Counts()
    with contextlib.chdir(tmp_path / "place"):
        for words in commands:
            run_case(list(words), " ".join(words), good)
    assert good.refusals + good.problems == []
    counts = fuzz_paths(tmp_path / "place", commands, n_cases=n, seed=5)
    assert counts.problems == [], "\n\n".join([str(counts), *counts.problems])
    assert len(counts.refusals) > n / 4


@pytest.mark.parametrize("n", [15, pytest.param(3_000, marks=pytest.mark.slow)])
def test_stores_of_others(n: int, tmp_path: Path) -> None:
    store, good = write_store(tmp_path), Counts()
    with contextlib.chdir(tmp_path):
        for words in COMMANDS[::3] if n < 100 else COMMANDS:
            run_case(list(words), " ".join(words), good)
    assert good.refusals + good.problems == []
    counts = fuzz_stores(tmp_path, store, n_cases=n, seed=3)
    assert counts.problems == [], "\n\n".join([str(counts), *counts.problems])
    assert len(counts.refusals) > n / 6
