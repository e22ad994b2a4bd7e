import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.base.toml_lines import key_lines, line_of
from tests.hypothesis_profiles import examples


@pytest.mark.parametrize(
    ("text", "keys", "line"),
    [
        ("[chunk]\nkind = 'x'\nsize = 3", ("chunk", "size"), 3),
        ("k = 1\nchunk = {kind = 'x', size = 3}", ("chunk", "size"), 2),
        ("k = 1\nchunk.kind = 'x'\nchunk.size = 3", ("chunk", "size"), 3),
        ("# size = 2\n[weigh]\n[ 'chunk' ] # here\n\"size\" = 3", ("chunk", "size"), 4),
        ("size = 1\n[other]\nsize = 2", ("chunk", "size"), None),
        ("[[index]]\nb = 1\n[[index]]\nb = 2\n[index.more]\nc = 3", ("index", 1, "b"), 4),
        ("[[index]]\nb = 1\n[[index]]\nb = 2\n[index.more]\nc = 3", ("index", 1, "more", "c"), 6),
        ("index = [\n  {kind = 'a'},\n  {kind = 'b', k1 = 1}\n]", ("index", 1, "k1"), 3),
        ("a = '''\nb = 1'''''\nb = 2", ("b",), 3),
        ('a = """\\"""\nb = 1"""\nb = 2', ("b",), 3),
        ("a = 1979-05-27 07:32:00 # b = 1\n\nb = 2", ("b",), 3),
        ("a = [\n  # ] none\n  ']',\n  2\n]\nb = 1", ("a", 1), 4),
        ('"a.b" = 1\na.b = 2', ("a", "b"), 2),
        ("k = 1\r\nb = 2\r\n", ("b",), 2),
        ('[m."recall@5"]\nlevels = { ok = 1 }', ("m", "recall@5", "levels", "ok"), 2),
        ("[measures.a]\nx = 1", ("measures",), 1),
        ("k = 1", (), None),
        ('[m."mrr@k"]\nlevels.ok = 1', ("m", "mrr@k", "nothing"), 1),
    ],
)
def test_lines_of_keys(text: str, keys: tuple[str | int, ...], line: int | None) -> None:
    tomllib.loads(text)
    assert line_of(text, keys) == line


KEYS = st.sampled_from(["a", "b-c", '"d.e"', "'f g'", '"\\u0041"'])
SCALARS = st.sampled_from(["1", "-2.5e3", "true", "'x # ]'", '"\\"}"', '"""two\nlines"""', "1979-05-27T07:32:00Z"])
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda items: "[" + ",\n # ,\n ".join(items) + "]")
        | st.dictionaries(KEYS, inner, max_size=3).map(
            lambda pairs: "{" + ", ".join(f"{key} = {value}" for key, value in pairs.items()) + "}"
        )
    ),
    max_leaves=6,
)
TABLES = st.dictionaries(KEYS, VALUES, max_size=4).map(
    lambda pairs: "".join(f"{key} = {value} # note\n" for key, value in pairs.items())
)


def paths(value: Any, path: tuple[str | int, ...] = ()) -> set[tuple[str | int, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return ({path} if path else set()).union(*(paths(item, (*path, key)) for key, item in inner))


@examples(150)
@given(st.lists(TABLES, min_size=1, max_size=3))
def test_every_key_of_a_text_has_a_line(tables: list[str]) -> None:
    """Whatever tomllib reads, the lines are of the same paths."""
    text = tables[0] + "".join(f"\n[[t.u]]\n{table}[t.u.v]\n{table}" for table in tables[1:])
    assert set(key_lines(text)) == paths(tomllib.loads(text))
