"""Arms by hash: test vectors for every language, balance, independence, and odd ids."""

import json
import shutil
import subprocess
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import steelyard as sy
from steelyard.abtests.assigning import parse_split
from steelyard.base.errors import InputError
from tests.cli.command import complaint
from tests.hypothesis_profiles import examples

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "ab-assign.md"
VECTORS = json.loads(PAGE.with_suffix(".json").read_text(encoding="utf-8"))["vectors"]
HALF = {"control": 50, "treatment": 50}
UNITS = [f"user-{i}" for i in range(20_000)]


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: f"{vector['salt']} {vector['unit']}")
def test_vectors(vector: dict[str, Any]) -> None:
    weights = {arm: Fraction(weight) for arm, weight in vector["arms"]}
    assert sy.assign(vector["salt"], vector["unit"], weights) == vector["arm"]
    lower = {"below": int(vector["hash"]), "rest": 2**64 - int(vector["hash"])}
    assert sy.assign(vector["salt"], vector["unit"], lower) == "rest"
    upper = {"below": int(vector["hash"]) + 1, "rest": 2**64 - int(vector["hash"]) - 1}
    assert sy.assign(vector["salt"], vector["unit"], upper) == "below"


@pytest.mark.skipif(shutil.which("node") is None, reason="the page's other language needs node")
def test_the_javascript_of_the_page_agrees() -> None:
    code = PAGE.read_text(encoding="utf-8").split("```js\n")[1].split("```")[0].replace("export ", "")
    script = f"{code}\nconst vectors = {json.dumps(VECTORS)};\n" + (
        "console.log(JSON.stringify(vectors.map((v) => assign(v.salt, v.unit, v.arms))));"
    )
    done = subprocess.run(["node", "--input-type=module", "-e", script], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [vector["arm"] for vector in VECTORS]


@pytest.mark.parametrize(
    "arms", [HALF, {"control": 0.9, "treatment": 0.1}, ["a", "b", "c"], {"a": 1, "b": 0, "c": Decimal("0.5")}]
)
def test_arms_have_their_shares(arms: Any) -> None:
    weights = np.array([float(arms[arm]) for arm in arms] if isinstance(arms, dict) else np.ones(3))
    shares, places = weights / weights.sum(), sy.assign("salt", UNITS, arms)
    counts = np.array([places.count(arm) for arm in arms])
    errors = np.sqrt(len(UNITS) * shares * (1 - shares))
    assert (np.abs(counts - len(UNITS) * shares) <= 4 * errors).all()


def test_salts_are_independent_and_neighbours_too() -> None:
    """Of four kinds of pairs by chance a quarter each, of different salts and of units that follow one another."""
    one, other = (np.array(sy.assign(salt, UNITS, HALF)) == "control" for salt in ("one", "one-2"))
    for first, second in ((one, other), (one[1:], one[:-1])):
        counts = np.bincount(2 * first + second, minlength=4)
        assert (np.abs(counts - len(first) / 4) <= 4 * np.sqrt(len(first) * 3 / 16)).all()


@examples(50)
@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), st.integers(0, 100), st.integers(0, 100))
def test_a_larger_share_moves_units_into_it_alone(unit: str, before: int, after: int) -> None:
    small, large = sorted((before, after))
    arms = [sy.assign("salt", unit, {"control": 100 - share, "treatment": share}) for share in (small, large)]
    assert arms != ["treatment", "control"]


def test_one_unit_several_and_a_column_are_the_same() -> None:
    arms = sy.assign("salt", ["7", 7, np.int64(7)], HALF)
    assert arms == [sy.assign("salt", "7", HALF)] * 3
    assert sy.assign("salt", 7, HALF) == arms[0]
    frame = pl.DataFrame({"user": [7, 8, 9]})
    column = sy.assign("salt", frame["user"], HALF)
    assert (column.name, column.to_list()) == ("arm", sy.assign("salt", ["7", "8", "9"], HALF))
    assert sy.assign("salt", pl.Series([], dtype=pl.String), HALF).dtype == pl.String
    # A float is the decimal that it prints as: 0.1 of a sum that is 1 exactly.
    shares: dict[str, Any] = {f"arm-{i}": 0.1 for i in range(10)}
    assert sy.assign("s", UNITS[:500], shares) == sy.assign("s", UNITS[:500], [*shares])


@pytest.mark.parametrize(
    ("salt", "unit", "arms", "said"),
    [
        ("", "u", HALF, "the salt is ''; expected a text that is not empty"),
        ("s", "", HALF, "the id of a unit is ''; expected a text"),
        ("s", [None], HALF, "the id of a unit is None"),
        ("s", [1.0], HALF, "the id of a unit is 1.0"),
        ("s", [True], HALF, "the id of a unit is True"),
        ("s", "\ud800", HALF, "which is no text of Unicode"),
        ("s", "u", {"control": 1}, "expected two at least with a name each"),
        ("s", "u", ["a", "a"], "expected two at least with a name each"),
        ("s", "u", "ab", "expected two at least with a name each"),
        ("s", "u", {"a": 1, "b": -1}, "expected weights of at least 0, not all 0"),
        ("s", "u", {"a": 0, "b": 0}, "expected weights of at least 0, not all 0"),
        ("s", "u", {"a": 1, "b": float("nan")}, "the weight of an arm is nan; expected a number"),
        ("s", "u", {"a": 1, "b": None}, "the weight of an arm is None; expected a number"),
    ],
)
def test_what_is_refused(salt: str, unit: Any, arms: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        sy.assign(salt, unit, arms)


@pytest.mark.parametrize("split", ["50", "50/", "a=50/50", "=50/b=50", "a=1/a=1", "1/0/0/x", "-1/2", "0/0", ""])
def test_splits_that_are_refused(split: str) -> None:
    with pytest.raises(InputError):
        parse_split(split)
    assert complaint("ab", "assign", "salt", "u", f"--split={split}")
