"""The catalogues of both languages: the same keys and fields, each in its own script, and no key for nothing."""

import ast
import re
import string
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import steelyard as sy
from tests.reports.untranslated import untranslated

SOURCE = Path(sy.__file__).parent
CATALOGUES = SOURCE / "reports" / "catalogues"
FILES = sorted(path.name for path in (CATALOGUES / "en").iterdir())

TOLD_LESS = {
    # The piece is kept in English words with the result; the question leads to it.
    "scores.gold.lost": {"piece"}
}
"""Fields that the Chinese text leaves out, and why."""

SAME_IN_CHINESE = {
    "charts.field.k", "compare.head.p", "compare.method.bh", "compare.method.bonferroni", "compare.method.holm",
    "off_policy.method.ips", "off_policy.method.snips",
}  # fmt: skip
"""Texts of letters alone that Chinese readers know as they are: names and symbols."""

_CHINESE = re.compile(r"[\u3000-\u303f\u4e00-\u9fff\uff00-\uffef]")
_PLURAL = re.compile(r"\.(one|other)$")
_FILE = re.compile(r"\.(css|csv|html|j2|js|json|jsonl|md|toml|txt|py)$")


@cache
def texts(code: str) -> dict[str, dict[str, str]]:
    """File -> dotted key -> text."""
    read = {path.name: tomllib.loads(path.read_text("utf-8")) for path in sorted((CATALOGUES / code).iterdir())}
    return {name: dict(flat(table, "")) for name, table in read.items()}


def flat(table: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, str]]:
    for key, value in table.items():
        yield from flat(value, f"{prefix}{key}.") if isinstance(value, dict) else [(prefix + key, value)]


def every(code: str) -> dict[str, str]:
    return {key: text for table in texts(code).values() for key, text in table.items()}


def bases(code: str) -> dict[str, str]:
    """Key -> key without plural."""
    keys = every(code).keys()
    plural = {key[:-4] for key in keys if key.endswith(".one") and f"{key[:-4]}.other" in keys}
    return {key: _PLURAL.sub("", key) if _PLURAL.sub("", key) in plural else key for key in keys}


def fields(code: str) -> dict[str, set[str]]:
    """Key without plural -> the fields of its texts."""
    found, base = dict[str, set[str]](), bases(code)
    for key, text in every(code).items():
        named = {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}
        found.setdefault(base[key], set()).update(named)
    return found


def without_fields(text: str) -> str:
    return "".join(literal for literal, *_ in string.Formatter().parse(text))


@pytest.mark.parametrize("file", FILES)
def test_both_languages_have_the_same_keys(file: str) -> None:
    assert texts("en")[file].keys() == texts("zh").get(file, {}).keys()


def test_both_languages_have_the_same_files_and_no_key_twice() -> None:
    assert texts("en").keys() == texts("zh").keys()
    assert sum(map(len, texts("en").values())) == len(every("en"))


def test_a_plural_has_both_forms() -> None:
    for code in ("en", "zh"):
        tables: dict[str, set[str]] = {}
        for key in every(code):
            tables.setdefault(key.rpartition(".")[0], set()).add(key.rpartition(".")[2])
        assert [table for table, names in tables.items() if names in ({"one"}, {"other"})] == []


def test_both_languages_have_the_same_fields() -> None:
    english, chinese = fields("en"), fields("zh")
    differ = {key: english[key] ^ chinese.get(key, set()) for key in english if english[key] != chinese.get(key)}
    assert differ == TOLD_LESS


def test_fields_are_plain_names() -> None:
    for code in ("en", "zh"):
        assert all(name.isidentifier() for names in fields(code).values() for name in names)


def test_english_has_no_chinese_in_it() -> None:
    assert {key: text for key, text in every("en").items() if _CHINESE.search(text)} == {}


def test_chinese_is_chinese() -> None:
    plain = {key: text for key, text in every("zh").items() if not _CHINESE.search(text)}
    assert {key for key, text in plain.items() if re.search("[A-Za-z]", without_fields(text))} == SAME_IN_CHINESE


def test_chinese_sentences_end_as_chinese_ones_do() -> None:
    half = {key: text for key, text in every("zh").items() if re.search(r"[\u4e00-\u9fff][,;:!?.]($|[^\d.])", text)}
    assert half == {}


# Keys that the code names ------------------------------------------------------------------------------------------


@cache
def named() -> tuple[dict[str, str], dict[str, str]]:
    """What the code names: keys, and beginnings of keys as patterns, each with the place that names it."""
    areas = "|".join(sorted({key.partition(".")[0] for key in every("en")}))
    key = re.compile(rf"({areas})(\.\w+)+")
    begun = re.compile(rf"({areas})\.[\w.]*")
    keys, patterns = dict[str, str](), dict[str, str]()
    for path in sorted(SOURCE.rglob("*.py")):
        nodes = list(ast.walk(ast.parse(path.read_text("utf-8"))))
        inner = {id(value) for node in nodes if isinstance(node, ast.JoinedStr) for value in node.values}
        for node in nodes:
            if not isinstance(node, ast.Constant | ast.JoinedStr):
                continue
            where = f"{path.relative_to(SOURCE)}:{node.lineno}"
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inner:
                if key.fullmatch(node.value) and not _FILE.search(node.value) and not names_code(node.value):
                    keys[node.value] = where
                elif begun.fullmatch(node.value) and node.value.endswith("."):
                    patterns[re.escape(node.value)] = where
            elif isinstance(node, ast.JoinedStr) and begun.fullmatch(str(getattr(node.values[0], "value", ""))):
                pattern = "".join(map(_pattern, node.values))
                if not _FILE.search(pattern):
                    patterns[pattern] = where
    for path in sorted(SOURCE.rglob("*.j2")):
        # A template joins parts with ~: "page." ~ id ~ ".short".
        for first, rest in re.findall(
            rf"""["']((?:{areas})\.[\w.]*)["']((?:\s*~\s*[\w."']+)*)""", path.read_text("utf-8")
        ):
            parts = [part.strip() for part in rest.split("~")[1:]]
            filled = [re.escape(part[1:-1]) if part[0] in "\"'" else r"\w[\w.]*" for part in parts]
            if parts:
                patterns[re.escape(first) + "".join(filled)] = path.name
            else:
                keys[first] = path.name
    return keys, patterns


def names_code(name: str) -> bool:
    """Whether this is a module, or a function of the public module `review`."""
    path = SOURCE.joinpath(*name.split("."))
    module, _, function = name.partition(".")
    return path.is_dir() or path.with_suffix(".py").exists() or (module == "review" and function in sy.review.__all__)


def _pattern(part: ast.expr) -> str:
    """A part of an f-string as a pattern: what is filled in may be any part of a key."""
    return re.escape(str(part.value)) if isinstance(part, ast.Constant) else r"\w[\w.]*"


def test_every_key_that_the_code_names_is_there() -> None:
    keys, patterns = named()
    known = every("en").keys() | fields("en").keys()
    tables = {".".join(parts[:n]) for key in known for parts in [key.split(".")] for n in range(2, len(parts))}
    assert {key: where for key, where in keys.items() if key not in known | tables} == {}
    lost = {begun: where for begun, where in patterns.items() if not any(map(re.compile(begun).match, known))}
    assert lost == {}


def test_every_key_is_used() -> None:
    keys, patterns = named()
    begun = [re.compile(pattern) for pattern in patterns]
    unused = [
        key
        for key in fields("en")
        if key not in keys and not any(key.startswith(f"{name}.") for name in keys)
        if not any(pattern.match(key) for pattern in begun)
    ]
    assert unused == []


# What is left in English -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "allowed", "left"),
    [
        ("均值为 0.5", [], []),
        ("ndcg@10 的均值", ["ndcg@10"], []),
        ("ndcg@100 的均值", ["ndcg@10"], []),
        ("the 均值", ["he"], ["the"]),
        ("many 个", ["any"], ["many"]),
        ("id 与 p 和 95%", [], []),
        ("ndcg(gain=exp)@10，gain", ["ndcg(gain=exp)@10"], ["gain"]),
        ("missing 与 missing", [], ["missing", "missing"]),
    ],
)
def test_what_is_left_in_english_is_found(text: str, allowed: list[str], left: list[str]) -> None:
    assert untranslated(text, allowed) == left


@pytest.mark.parametrize("code", ["en", "zh"])
def test_shares_dashes_and_minus_signs_are_written_one_way(code: str) -> None:
    """95%, not 95 %; p with one sign; a hyphen never stands for a minus, nor an ellipsis for "to"."""
    wrong = re.compile(r"[\d}] %|= ?<|p = \{|[ (（]-(?=[\d{])|\{\w+\} (…|\.\.\.|—) \{")
    assert [key for key, text in every(code).items() if wrong.search(text)] == []


@pytest.mark.parametrize(
    ("code", "wrong"), [("en", r"(?<!--)\bquer(?:y|ies)\b(?! expansion)"), ("zh", "查询(?!扩展|改写)")]
)
def test_what_is_asked_is_a_question(code: str, wrong: str) -> None:
    assert [key for key, text in every(code).items() if re.search(wrong, without_fields(text))] == []


def test_a_chinese_reader_meets_the_words_of_the_field() -> None:
    """Words that were taken for others: 度量 for 指标, 运行结果 for 结果, 没有问题的 for "in no question"."""
    text = "\n".join(every("zh").values())
    assert [word for word in ("度量", "运行结果", "没有问题的", "配方", "是否真实") if word in text] == []
    titles = {
        key: every("zh")[key] for key in ("page.comparison.title", "page.distribution.title", "page.recipe.short")
    }
    assert list(titles.values()) == ["差异是否可靠？", "得分如何分布？", "计算依据"]
    assert every("zh")["compare.interval"] == "{low} 至 {high}"
    assert every("zh")["gate.by_profile"].startswith("按评级标准 ")
