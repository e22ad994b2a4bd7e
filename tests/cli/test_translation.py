"""Help, errors and notices in Chinese: every English text has a translation, and commands print it."""

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from rich.cells import cell_len

from steelyard.cli.commands import COMMANDS, GROUPS, SECTIONS
from steelyard.cli.parser import _SECTIONS
from steelyard.cli.translation import PLACE, texts_of, translator
from tests.cli.command import complaint, printed, steelyard
from tests.cli.messages import SOURCE, is_prose, read_messages

CHINESE = {"LC_ALL": "zh_CN.UTF-8"}
CATALOGUES = ("help", "messages")
_HALF_WIDTH = re.compile(r"[一-鿿][,;:!?]|[,;:!?][一-鿿]|[一-鿿] ?\(|\) ?[一-鿿]")
_CODE = re.compile(r"`[^`]*`|\([A-Za-z_{}0-9, >()-]*[,)]?\)|[A-Za-z_.]+\([a-z_, .=]*\)")
_HEADINGS = ("Show this message and exit.", "Show the version and exit.", "commands", "options", "positional arguments")


def help_texts() -> Iterator[str]:
    """All that help says in English."""
    yield from _HEADINGS
    yield from (*SECTIONS, *GROUPS.values(), *_SECTIONS.values())
    yield "Steelyard (秤) weighs retrieval and RAG systems."
    yield "7 more options: steelyard run --help-all"
    for command in COMMANDS.values():
        yield command.help
        yield from (text for item in command.arguments for text in (item.help, item.section) if text)


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
    assert [text for _, text in pairs if _HALF_WIDTH.search(_CODE.sub("", text))] == []
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


COMPOSED = ("common.txt", "python.txt")
"""Files of texts that no one place in the source has: what messages are put together from, and what Python says."""
SAME = {
    "chunk = \"semantic\"", "embed sentence-transformers", "pip install '{1}[{2}]'", "pip install -e '{1}[{2}]'",
    "pip install 'steelyard[{1}]{2}'", "rerank cross-encoder", "rerank {1}", "steelyard {1}", "--truth FILE",
}  # fmt: skip
"""Commands and names, which stay as they are typed."""
NO_MESSAGES = ("reports/html", "reports/formats", "reports/charts", "reports/page", "cli/parser.py")
"""Files whose texts are no parts of messages, although functions of theirs have the names of some that give such."""
NO_PARTS = {
    "SampledReview({1} {2} of {3} by {4}, in {5})", "{1} {2} · Steelyard {3}", "Pipeline({1}, k={2})",
    "Profile({1}: {2}{3})", ", levels {1}", "judged document", "judged result",
}  # fmt: skip
"""What Python shows of an object."""


@cache
def messages() -> tuple[set[str], set[str]]:
    """Templates that need a translation, and all texts in the source."""
    errors, parts, texts = read_messages()
    needed = {template for template in errors if is_prose(tuple(PLACE.split(template)[::2]))}
    for template, files in parts.items():
        others = [file for file in files if not file.relative_to(SOURCE).as_posix().startswith(NO_MESSAGES)]
        # A part of one word is mostly a name.
        if others and " " in template.strip():
            needed.add(template)
    return needed - SAME - NO_PARTS, {*errors, *parts, *texts}


def test_every_message_has_a_translation() -> None:
    needed, _ = messages()
    known = {english for texts in texts_of("zh/messages").values() for english, _ in texts}
    assert len(needed) > 1_000
    assert sorted(needed - known) == []


def test_no_translation_of_a_message_is_left_over() -> None:
    _, texts = messages()
    own = {name: pairs for name, pairs in texts_of("zh/messages").items() if name not in COMPOSED}
    assert [english for pairs in own.values() for english, _ in pairs if english not in texts] == []


def test_places_that_follow_each_other_do_so_in_chinese() -> None:
    pairs = [pair for texts in texts_of("zh/messages").values() for pair in texts]
    for english, text in pairs:
        assert all(places in text for places in re.findall(r"(?:\{\d+\}){2,}", english)), english


def test_each_message_becomes_its_own_translation() -> None:
    """Whatever other templates match it: with values in it, as commands print it."""
    say = translator("zh")
    for english, text in (pair for pairs in texts_of("zh/messages").values() for pair in pairs):
        message, want = (PLACE.sub(lambda place: f"'v{place[1]}'", half) for half in (english, text))
        if len(re.findall("[A-Za-z]{2,}", PLACE.sub("", english))) > 1:
            assert say(message).replace(" ", "") == want.replace(" ", ""), english


QRELS = "q1 0 d1 1\nq2 0 d2 1\n"
RUN = "q1 Q0 d1 1 2.0 a\nq2 Q0 d2 1 1.0 a\n"
TOML = 'documents = "x"\n'
FILES = {
    "qrels.txt": QRELS, "a.run": RUN, "b.run": RUN, "five.run": "q1 Q0 d1 1 2.0\n", "twice.run": RUN + RUN,
    "other.run": "x Q0 y 1 2 a\n", "empty.run": "", "columns.csv": "query_id,doc,score\nq1,d1,1\n",
    "nan.csv": "query_id,doc_id,score\nq1,d1,x\n", "broken.json": '{"q1": ', "questions.jsonl": '{"qid": "q1"}\n',
    "bad.toml": "documents = \n", "wrong.toml": f"{TOML}kk = 3\n", "k.toml": f'{TOML}k = "five"\n',
    "gate.toml": '[measures."mrrr"]\nlevels = { good = 0.7 }\n',
}  # fmt: skip


def cases() -> list[dict[str, str]]:
    """Commands, and what each says in Chinese."""
    lines = (Path(__file__).parents[1] / "cases" / "complaints_in_chinese.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in lines.splitlines()]


@pytest.mark.parametrize("case", cases(), ids=lambda case: case["command"])
def test_a_mistake_is_explained_in_chinese(case: dict[str, str], tmp_path: Path) -> None:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    words = [word.replace("·", " ") for word in case["command"].split()]
    assert complaint(*words, cwd=tmp_path, environment=CHINESE) == f"steelyard: {case['want']}\n"


@pytest.mark.parametrize("words", ["--lang fr --help", "trec-eval --lang=fr a b", "review --lang fr"])
def test_a_language_that_there_is_no_translation_into_is_refused(words: str) -> None:
    assert complaint(*words.split()) == "steelyard: no report is written in 'fr'; there are en and zh\n"
    want = "steelyard: 没有 'fr' 语言的报告；可用 en 和 zh\n"
    assert complaint(*words.split(), environment=CHINESE) == want


def test_english_stays_where_no_one_asks_for_chinese(tmp_path: Path) -> None:
    wanted = "steelyard: absent.txt: there is no such file; check the path\n"
    assert complaint("evaluate", "absent.txt", "a.run", cwd=tmp_path) == wanted
    assert complaint("evaluate", "absent.txt", "a.run", "--lang", "en", cwd=tmp_path, environment=CHINESE) == wanted


def test_the_language_counts_even_where_no_other_word_can_be_read() -> None:
    assert complaint("xyz", "--lang", "zh") == "steelyard: 没有名为 'xyz' 的命令；请看 `steelyard --help`\n"
    assert complaint("--lang=zh", "run", "--nonsense") == complaint("run", "--nonsense", "--lang=zh")


@pytest.mark.parametrize(
    "text",
    [
        "ValueError: could not convert string to float",
        "Ein Satz: von anderswo; ohne Übersetzung",
        "",
        "f(x",
        "it is not so",
    ],
)
def test_what_has_no_translation_stays_as_it_is(text: str) -> None:
    assert translator("zh")(text) == text


def test_values_stay_as_they_are() -> None:
    say = translator("zh")
    text = say("a, b.txt: column 'it must be, not' holds 'a list; check the path', expected numbers; convert it")
    assert text == "a, b.txt：列 'it must be, not' 中是 'a list; check the path'，应为数；请转换"


def test_what_was_written_is_said_in_chinese(tmp_path: Path) -> None:
    (tmp_path / "qrels.txt").write_text(QRELS)
    (tmp_path / "truth.json").write_text('{"q1": {"d1": 1}, "q2": {}}')
    words = ["convert", "qrels.txt", "qrels.csv"]
    assert printed(*words, cwd=tmp_path, environment=CHINESE) == "qrels.csv：标注：2 个问题，2 篇已标注的文档\n"
    lost = printed("convert", "truth.json", "lost.csv", "--kind", "truth", "--lang", "zh", cwd=tmp_path)
    assert lost.endswith("1 篇已标注的文档（丢弃了 1 个没有任何文档的问题；只有 JSON 和 JSONL 能容纳这样的问题）\n")


def test_a_notice_of_trec_eval_is_in_chinese(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text(QRELS)
    (tmp_path / "run").write_text("q1 Q0 d1 1 2.0 a q2 Q0 d2 1 1.0 a\n")
    done = steelyard("trec-eval", "--lang", "zh", "qrels", "run", cwd=tmp_path)
    assert done.stderr.decode().endswith("像是两条记录；请各占一行；trec_eval 只读第一条记录，此处也如此\n")
