import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol

import pytest
from pydantic import BaseModel, ConfigDict, model_validator

from steelyard.base.errors import InputError, OutputError
from steelyard.base.limits import Limits, Words, above, at_least, between, describe
from steelyard.base.settings import (
    Origin,
    SettingError,
    check_fields,
    check_settings,
    parse_toml,
    read_toml,
    shown,
    validate,
)
from steelyard.io.write import write_bytes

TAKEN = [
    (float, 1, 1.0), (int, 1, 1), (tuple[str, ...], ["a"], ("a",)), (Path, "a/b", Path("a/b")),
    (str | None, None, None),
    (Annotated[float, at_least(0)], 0, 0.0), (Sequence[float], [1, 2.5], [1.0, 2.5]), (Any, object, object),
    (Annotated[float, between(0, 1)], 1, 1.0), (dict[str, int], {"a": 1}, {"a": 1}),
]  # fmt: skip


@pytest.mark.parametrize(("hint", "value", "want"), TAKEN)
def test_values_that_fit(hint: object, value: object, want: object) -> None:
    parsed = validate(hint, value)
    assert (parsed, type(parsed)) == (want, type(want))


REFUSED = [
    (int, True, "k must be a whole number, not True"),
    (int, 1.0, "k must be a whole number, not 1.0"),
    (int, "1", "k must be a whole number, not '1'"),
    (float, False, "k must be a number, not False"),
    (str, 3, "k must be a text, not 3"),
    (bool, 1, "k must be true or false, not 1"),
    (Annotated[float, at_least(0)], 10**400, f"k must be a number from 0, not 1{'0' * 79}…"),
    (Annotated[int, at_least(1)], 0, "k must be a whole number from 1, not 0"),
    (Annotated[int, at_least(1)] | None, "x", "k must be a whole number from 1, not 'x'"),
    (Annotated[float, at_least(0)], float("inf"), "k must be a number from 0, not inf"),
    (Annotated[float, at_least(0)], float("nan"), "k must be a number from 0, not nan"),
    (Annotated[float, above(0)], 0, "k must be a number above 0, not 0"),
    (Annotated[float, between(0, 1)], 1.5, "k must be a number from 0 to 1, not 1.5"),
    (Annotated[float, Limits(above=0, below=1)], 1, "k must be a number above 0 and below 1, not 1"),
    (Literal["a", "b", "c"], "d", "k must be 'a', 'b' or 'c', not 'd'"),
    (list[str], ["a", 2], "k[1] must be a text, not 2"),
    (list[str] | str, 2, "k must be a list of texts or a text, not 2"),
    (dict[str, float], {"a": "x"}, "k.a must be a number, not 'x'"),
    (Annotated[str, Words("a colour")], 2, "k must be a colour, not 2"),
    (str, {"key": "secret"}, "k must be a text, not a table with key"),
    (str, ["x" * 99], "k must be a text, not ['xxx"),
]


@pytest.mark.parametrize(("hint", "value", "message"), REFUSED)
def test_values_that_do_not_fit(hint: object, value: object, message: str) -> None:
    with pytest.raises(SettingError) as caught:
        validate(hint, value, "k")
    assert str(caught.value).startswith(message)
    assert caught.value.keys[0] == "k"


class Inner(BaseModel):
    model_config = ConfigDict(extra="forbid")
    least: Annotated[int, at_least(1)] = 1
    most: int = 9

    @model_validator(mode="after")
    def ordered(self) -> "Inner":
        if self.most < self.least:
            raise SettingError(f"most is {self.most}, below least", "most")
        return self


class Outer(BaseModel):
    model_config = ConfigDict(extra="forbid")
    name: str
    inner: Inner = Inner()
    several: list[Inner] = []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name = 3", "f.toml, line 1: name must be a text, not 3"),
        ("\ninner.least = 1", "f.toml: name is missing; expected a text"),
        ('name = "a"\nnaem = "b"', "f.toml, line 2: there is no setting 'naem'; did you mean name?"),
        ('name = "a"\n[inner]\nleats = 2', "f.toml, line 3: [inner] has no setting 'leats'; did you mean least?"),
        ('name = "a"\n[inner]\nmost = 0', "f.toml, line 3: most is 0, below least"),
        ('name = "a"\n[[several]]\n[[several]]\nleast = 0', "line 4: several[1].least must be a whole number from 1"),
        ('name = "a"\nseveral = 3', "f.toml, line 2: several must be a list of values, not 3"),
    ],
)
def test_errors_of_a_model_have_file_and_line(text: str, message: str) -> None:
    values, origin = parse_toml(text, "f.toml")
    with pytest.raises(InputError) as caught, origin.locating():
        validate(Outer, values)
    assert message in str(caught.value)
    assert str(caught.value).startswith("f.toml")


def test_files_that_are_no_toml(tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text("a = 1\nb = \n")
    with pytest.raises(InputError, match=r"bad\.toml, line 2: is not TOML \(Invalid value, column 5\)"):
        read_toml(tmp_path / "bad.toml")
    with pytest.raises(InputError, match=r"f: is not TOML \(.*, at its end\)"):
        parse_toml('a = "', "f")
    for text in ("[arms]\n现有 = 0.5", "[arms.现有]\na = 1"):
        with pytest.raises(InputError, match=r"\); names of other letters than A to Z are in quotes: '现有'$"):
            parse_toml(text, "f")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('\nname = "x\\u0000y"', "f.toml, line 2: name: 'x\\x00y' holds the character NUL"),
        ('[a]\n[a.b]\nc = [1, "\\U00000000"]', "f.toml, line 3: a.b.c[1]: "),
        ('"k\\u0000" = 1', 'f.toml, line 1: "k\\u0000": '),
        ("a = 1\nb = 9223372036854775808", "f.toml, line 2: b: 9223372036854775808 needs more than 64 bits"),
        ("a = -9223372036854775809", "f.toml, line 1: a: "),
    ],
)
def test_what_no_setting_can_be(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_toml(text, "f.toml")
    assert message in str(caught.value)


def test_the_largest_numbers_are_taken() -> None:
    values, _ = parse_toml("a = 9223372036854775807\nb = -9223372036854775808\nc = 1e300\nd = true", "f.toml")
    assert values == {"a": 2**63 - 1, "b": -(2**63), "c": 1e300, "d": True}


def test_half_characters_are_quoted() -> None:
    with pytest.raises(InputError, match=r"not a table with name, \\ud800"):
        validate(Outer, {"name": "a", "\ud800": 1})


def test_paths_with_nul_are_refused() -> None:
    with pytest.raises(InputError, match="there is no such file"):
        read_toml("a\0b")
    with pytest.raises(OutputError, match="NUL"):
        write_bytes("a\0b", b"")


def function(*, size: Annotated[int, at_least(1)] = 3, weights: list[float] | None = None, path: Path = Path()) -> None:
    """Some maker."""


class Plain:
    def __init__(self, model: str, least=1, **others: object) -> None:  # type: ignore[no-untyped-def]
        """Takes all."""


class Shape(Protocol):
    def area(self) -> float:
        """No runtime check exists for it."""
        ...


def odd(shape: Shape, undefined: "Nowhere" = None, call: Callable[[int], int] = abs) -> None:  # type: ignore[name-defined]  # noqa: F821
    """Annotations that cannot all be checked."""


@dataclass
class Range:
    low: Annotated[float, at_least(0)] = 0
    high: float | None = None
    own: list[int] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        check_fields(self)
        if self.high is not None and self.high < self.low:
            raise SettingError(f"high is {self.high}, below low", "high")


@pytest.mark.parametrize(
    ("maker", "settings", "message", "keys"),
    [
        (function, {"size": 0}, "size must be a whole number from 1, not 0", ("size",)),
        (function, {"weights": [1, "x"]}, "weights[1] must be a number, not 'x'", ("weights", 1)),
        (function, {"weihgts": []}, "takes no setting 'weihgts'; did you mean weights?", ("weihgts",)),
        (function, {"q": []}, "takes no setting 'q'; it takes size, weights, path", ("q",)),
        (Plain, {"least": 2}, "model is missing; expected a text", ()),
        (Plain, {"model": 2}, "model must be a text, not 2", ("model",)),
        (Range, {"low": -1}, "low must be a number from 0, not -1", ("low",)),
        (Range, {"own": []}, "takes no setting 'own'; did you mean low?", ("own",)),
    ],
)
def test_settings_of_classes_and_functions(
    maker: Callable[..., object], settings: dict[str, Any], message: str, keys: tuple[object, ...]
) -> None:
    with pytest.raises(SettingError) as caught:
        check_settings(maker, settings)
    assert (str(caught.value), caught.value.keys) == (message, keys)


def test_what_cannot_be_checked_is_taken() -> None:
    check_settings(function, {"path": "a/b", "weights": None})
    check_settings(Plain, {"model": "m", "least": "two", "more": 3})
    check_settings(odd, {"shape": 3, "undefined": 4})
    assert Range(1, 2.5).own == []


def test_the_same_rules_hold_for_objects() -> None:
    with pytest.raises(SettingError, match="Range: low must be a number from 0, not -1"):
        Range(low=-1)
    with pytest.raises(SettingError, match="high is 1, below low") as caught:
        Range(low=2, high=1)
    assert caught.value.inside("index", 0, owner="index x").keys == ("index", 0, "high")


def test_places_without_a_file() -> None:
    assert Origin("", "k = 1").place("k") == ""
    assert (Origin().place("k"), Origin("f").place("k"), Origin("f", "k = 1").place("k")) == ("", "f: ", "f, line 1: ")


def test_types_in_words() -> None:
    assert describe(Annotated[int, at_least(1)] | str | None) == "a whole number from 1 or a text"
    assert describe(set[int]) == "a list of whole numbers"
    assert describe(Range) == "of type Range"
    assert shown({}) == "a table with nothing"


def test_pydantic_is_imported_on_use() -> None:
    code = "import steelyard, steelyard.base.settings, steelyard.cli.app, sys; assert 'pydantic' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
