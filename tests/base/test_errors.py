"""Foreign exceptions in one line."""

import pytest

from steelyard.base.errors import InputError, OutputError, describe_exception, quoted


def raised(error: Exception) -> Exception:
    try:
        raise error
    except Exception as caught:
        return caught


def test_type_message_and_place() -> None:
    error = raised(KeyError("title"))
    line = raised.__code__.co_firstlineno + 2
    assert describe_exception(error) == f"KeyError: 'title' ({__file__}:{line})"
    assert describe_exception(error, outside=__file__) == "KeyError: 'title'"


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError(), "ValueError"),
        (ValueError("two\n  lines"), "ValueError: two lines"),
        (ValueError("x" * 301), f"ValueError: {'x' * 300}…"),
        (ValueError("x" * 300), f"ValueError: {'x' * 300}"),
    ],
)
def test_messages_are_folded_and_cut(error: Exception, text: str) -> None:
    assert describe_exception(error) == text


def test_a_syntax_error_names_the_line_that_cannot_be_parsed() -> None:
    with pytest.raises(SyntaxError) as caught:
        compile("x = 1\ndef f(:\n", "broken.py", "exec")
    assert describe_exception(caught.value) == "SyntaxError: invalid syntax (broken.py:2)"


def test_a_message_is_one_line_and_no_file() -> None:
    error = InputError(f"a.csv, line 2: score {'x' * 10_000_000} is no number;\ntry 12.5")
    assert len(str(error)) < 2_100
    assert str(error).startswith("a.csv, line 2: score xxx")
    assert str(error).endswith("xxx is no number;\\ntry 12.5")
    assert str(OutputError("a: cannot be written")) == "a: cannot be written"


@pytest.mark.parametrize("value", ["x" * 10_000_000, b"x" * 10_000_000, list(range(1_000)), {"a": "x" * 1_000}])
def test_a_quoted_value_is_cut(value: object) -> None:
    assert len(quoted(value)) == 81
    assert quoted(value).endswith("…")


def test_long_values_in_quotes_are_cut_wherever_they_are() -> None:
    error = InputError(
        f"a.run, line 1: document {'d' * 10_000_000!r} is twice in query {'it' + chr(39) * 500!r}; remove one"
    )
    assert str(error) == f"a.run, line 1: document '{'d' * 80}… is twice in query \"it{chr(39) * 78}…; remove one"
    refusals = "; ".join(
        f"question 'q{i}': the quote 'short' is not in 'd'; it's missing, copy it again" for i in range(20)
    )
    assert str(InputError(refusals)) == refusals
    path = f"/{'folder/' * 20}a.run"
    assert str(InputError(f"{path}: is empty")) == f"{path}: is empty"
