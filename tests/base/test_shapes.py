"""What JSON files of our own hold is held against its shape, key by key."""

from typing import Any

import pytest

from steelyard.base.shapes import Each, Object, Shape, check_shape

SHAPE = Object(
    {"name": str}, {"finished": (str, type(None)), "counts": Each(dict, int), "notes": Each(list, (str, dict))}
)


@pytest.mark.parametrize(
    "value", [{"name": "a"}, {"name": "a", "finished": None, "counts": {"x": 3}, "notes": ["a", {}], "other": object()}]
)
def test_what_fits_is_taken(value: object) -> None:
    check_shape(value, SHAPE)


@pytest.mark.parametrize(
    ("value", "shape", "says"),
    [
        ([], SHAPE, r"^it is \[\], expected an object$"),
        ({}, SHAPE, "^`name` is missing$"),
        ({"name": 3}, SHAPE, "^`name` is 3, expected a text$"),
        ({"name": "a", "finished": 3}, SHAPE, "^`finished` is 3, expected a text or null$"),
        ({"name": "a", "counts": {"x": "y" * 200}}, SHAPE, "^`counts.x` is 'y{79}…, expected a whole number$"),
        ({"name": "a", "notes": ["a", 3]}, SHAPE, "^`notes.1` is 3, expected a text or an object$"),
        ("2", (int, float), "^it is '2', expected a number$"),
        (True, int, "^it is True, expected a whole number$"),
    ],
)
def test_what_does_not_fit_is_named(value: Any, shape: Shape, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        check_shape(value, shape)
