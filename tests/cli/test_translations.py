"""Help, errors and notices in Chinese: every English text has a translation, and commands print it."""

import re
from collections.abc import Iterator

import pytest
from rich.cells import cell_len

from steelyard.cli.commands import COMMANDS, GROUPS, SECTIONS
from steelyard.cli.parser import _SECTIONS
from steelyard.cli.translations import PLACE, texts_of, translator
from tests.cli.command import printed

CHINESE = {"LC_ALL": "zh_CN.UTF-8"}
CATALOGUES = ("help", "messages")
_HALF_WIDTH = re.compile(r"[一-鿿][,;:!?]|[,;:!?][一-鿿]|[一-鿿] ?\(|\) ?[一-鿿]")
_HEADINGS = ("Show this message and exit.", "Show the version and exit.", "commands", "options", "positional arguments")


def help_texts() -> Iterator[str]:
    """All that help says in English."""
    yield from _HEADINGS
    yield from (*SECTIONS, *GROUPS.values(), *_SECTIONS.values())
    yield "Steelyard (秤) weighs retrieval and RAG systems."
    yield "7 more options: steelyard run --help-all"
    for command in COMMANDS.values():
        yield command.help
        yield from (item.help for item in command.arguments)


def test_every_help_has_a_translation() -> None:
    say = translator("zh", "help")
    assert [text for text in help_texts() if say(text) == text] == []


def test_no_translation_of_help_is_left_over() -> None:
    values = {"what --output ends in", "table"}  # Of the template of --format.
    texts = {*help_texts(), *values}
    for english, _ in texts_of("zh/help")["commands.txt"]:
        pattern = re.compile("(.+)".join(map(re.escape, PLACE.split(english)[::2])))
        assert any(map(pattern.fullmatch, texts)), english


@pytest.mark.parametrize("catalogue", CATALOGUES)
def test_translations_have_the_places_of_the_english_and_chinese_punctuation(catalogue: str) -> None:
    pairs = [pair for texts in texts_of(f"zh/{catalogue}").values() for pair in texts]
    assert [english for english, text in pairs if set(PLACE.findall(english)) != set(PLACE.findall(text))] == []
    assert [text for _, text in pairs if _HALF_WIDTH.search(text)] == []
    englishes = [english for english, _ in pairs]
    assert len(set(englishes)) == len(englishes)


@pytest.mark.parametrize("name", COMMANDS)
def test_help_in_chinese_says_what_the_english_says(name: str) -> None:
    say = translator("zh", "help")
    text = printed(*name.split(), "--help-all", columns=400, environment=CHINESE)
    assert text.startswith(f"用法：steelyard {name} [OPTIONS]")
    assert say(COMMANDS[name].help) in text
    assert all(say(item.help) in text for item in COMMANDS[name].arguments)


@pytest.mark.parametrize(
    "words",
    ["--lang zh --help", "--help --lang=zh", "--lang zh review --help", "--lang zh run --help", "run -h --lang zh"],
)
def test_the_language_may_be_anywhere(words: str) -> None:
    text = printed(*words.split())
    assert text.startswith("用法：")
    assert "显示本帮助并退出。" in text
    assert printed(*words.split(), environment=CHINESE) == text


def test_a_language_option_wins_over_the_locale() -> None:
    assert printed("run", "--help", "--lang", "en", environment=CHINESE) == printed("run", "--help")


@pytest.mark.parametrize("name", ["evaluate", "bench load"])
def test_help_in_chinese_fits_the_terminal(name: str) -> None:
    lines = printed(*name.split(), "--help-all", columns=80, environment=CHINESE).splitlines()
    assert max(map(cell_len, lines)) <= 80
    # Wide characters fill lines: halves of them are left empty only where a word does not fit.
    assert sum(cell_len(line) > 70 for line in lines) > len(lines) / 5
    assert [line for line in lines if line.strip()[:1] in tuple("，。；：、）")] == []
    headings = [line for line in lines if line and not line.startswith(" ") and len(line) < 10]
    assert headings[0] == "参数："
