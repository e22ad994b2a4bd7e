from pathlib import Path

import pytest
from rich.cells import cell_len

from steelyard.data.corpus import Passage
from steelyard.data.responses import Response
from steelyard.reports.formats.chat import response_text
from steelyard.reports.words import read_words
from tests.cli.command import complaint, printed
from tests.rag import small
from tests.reports.untranslated import untranslated

pytest.importorskip("bm25s", reason="the default index needs the extra rag")
pytest.importorskip("sklearn", reason="the default embedder needs the extra rag")
CONFIG = """
documents = "documents"
questions = "questions.jsonl"
chunk = {kind = "sentences", size = 40}
rerank = "mine:tired"
k = 2
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    small.write(tmp_path)
    (tmp_path / "tea.toml").write_text(CONFIG)
    (tmp_path / "mine.py").write_text(
        "class Tired:\n"
        "    def scores(self, query, texts):\n"
        "        from steelyard.base.errors import StageError\n"
        "        if 'tired' in query:\n"
        "            raise StageError('the reranker is tired')\n"
        "        return [-float(i) for i in range(len(texts))]\n"
        "\n"
        "def tired() -> Tired:\n"
        "    return Tired()\n"
    )
    return tmp_path


def test_a_conversation(folder: Path) -> None:
    asked = "Who fears the whale?\n\n   \n龙井茶来自哪里？\nAre you tired of the whale?\nWho is it?\nExit\nnever\n"
    text = printed("chat", "tea.toml", cwd=folder, stdin=asked.encode())
    greeting, _, rest = text.partition("\n")
    assert greeting.startswith("tea: ")
    assert greeting.endswith(" chunks of 3 documents. `exit` leaves.")
    turns = rest.split("\nYou: ")[1:]
    assert [turn.splitlines()[0] if turn.strip() else "" for turn in turns] == [
        "Who fears the whale?", "", "", "龙井茶来自哪里？", "Are you tired of the whale?", "Who is it?", "Exit"
    ]  # fmt: skip
    whale, tea, tired, unknown, left = turns[0], turns[3], turns[4], turns[5], turns[6]
    assert "\n  1  0." in whale
    assert "[sea#" in whale
    assert "Answer: " in whale
    assert "q2 of the dataset: Hit@2 1.00, Precision@2 0.50, Recall@2 1.00, F1@2 0.67" in whale
    assert "龙井茶来自杭州。" in tea
    assert "q3 of the dataset: Hit@2 1.00" in tea
    assert tired.splitlines()[1] == "steelyard: the reranker is tired"
    assert "of the dataset" not in unknown
    assert left == "Exit\n"
    assert "never" not in text


def test_the_end_of_the_input_leaves_and_the_width_is_kept(folder: Path) -> None:
    text = printed("chat", "tea.toml", "--k", "3", cwd=folder, stdin="龙井茶来自哪里？".encode(), columns=40)
    assert any(line.startswith("  1  ") for line in text.splitlines())
    assert all(cell_len(line) <= 40 for line in text[text.index("Answer: ") :].splitlines())
    assert "Hit@3 1.00" in " ".join(text.split())
    assert text.endswith("\nYou: \n")


def test_bytes_that_are_no_text_do_no_harm(folder: Path) -> None:
    text = printed("chat", "tea.toml", cwd=folder, stdin=b"\xff\xfe whale\nexit\n")
    assert "Answer: " in text


def test_what_cannot_be_talked_to_is_told_in_a_line(folder: Path) -> None:
    assert "there is no such file" in complaint("chat", "none.toml", cwd=folder, stdin=b"")
    (folder / "mine.toml").write_text('questions = "questions.jsonl"\n[target]\ncallable = "os:getcwd"\n')
    assert "[target]" in complaint("chat", "mine.toml", cwd=folder, stdin=b"")


@pytest.mark.parametrize("width", [40, 80])
@pytest.mark.parametrize("text", ["word " * 40, "老茶馆在城南，" * 20, "short", "a\n\tb"])
def test_a_passage_is_cut_to_the_width(text: str, width: int) -> None:
    response = Response("why?", (Passage("d#1", "d", 0, len(text), text, 1.0),), "Yes. [d#1]")
    lines = response_text(response, [0.5], read_words("en"), k=5, width=width).splitlines()
    assert lines[:2] == ["Answer: Yes. [d#1]", ""]
    head, own = "  1  0.500  [d#1]", " ".join(text.split())
    assert lines[2].startswith(head)
    assert cell_len(lines[2]) <= width
    assert lines[2] == f"{head}  {own}" if cell_len(f"{head}  {own}") <= width else lines[2].endswith("…")
    assert " ".join(lines[3:]) == "One chunk, with its cosine similarity; `more` shows its whole text."
    whole = response_text(response, [0.5], read_words("en"), k=5, width=width, whole=True).splitlines()
    assert whole[2] == "  1  cosine  0.500  [d#1]"
    assert all(cell_len(line) <= width for line in whole[3:])
    assert "".join("".join(line.split()) for line in whole[3:]) == "".join(text.split())


@pytest.mark.parametrize("line", ["A quoted sentence.", "摘录的句子。"])
def test_each_line_of_an_answer_is_wrapped_by_itself(line: str) -> None:
    answer = "\n".join([f"{line} [d#1]"] * 5)
    lines = response_text(Response("why?", answer=answer), [], read_words("en"), k=5, width=40).splitlines()
    assert lines[:6] == [f"Answer: {line} [d#1]", *[f"{line} [d#1]"] * 4, ""]


def test_five_chunks_are_shown_until_more_is_typed(folder: Path) -> None:
    passages = tuple(Passage(f"d#{i}", "d", 0, 4, "text", 1.0) for i in range(7))
    response, words = Response("why?", passages, "Yes."), read_words("en")
    shown, whole = (response_text(response, [0.5] * 7, words, k=7, width=80, whole=whole) for whole in (False, True))
    assert (shown.count("  ["), whole.count("cosine")) == (5, 7)
    assert shown.endswith("\n7 chunks, with their cosine similarity; `more` shows all of them whole.")
    text = printed("chat", "tea.toml", cwd=folder, stdin=b"more\nWho fears the whale?\nmore\nexit\n")
    first, asked, more, _ = text.split("\nYou: ")[1:]
    assert "Answer: " in first, "Before any answer, it is a question as any other."
    assert asked.count("[sea#") <= more.count("[sea#")
    assert "shows" in asked
    assert "shows" not in more


def test_nothing_found_is_said() -> None:
    response = Response("why?", answer="I don't know.")
    assert response_text(response, [], read_words("en"), k=5, width=80).endswith("\nNothing was found.")


def test_a_conversation_in_chinese(folder: Path) -> None:
    (folder / "documents" / "empty.txt").write_text("")
    query = "龙井茶来自哪里？"
    text = printed("chat", "tea.toml", "--lang", "zh", cwd=folder, stdin=f"{query}\n退出\n".encode())
    greeting, question, *rest = text.splitlines()[:2] + text.splitlines()[3:]
    assert greeting == "注意：1 篇文档为空：empty"
    assert question.startswith("tea：4 篇文档，")
    assert rest[0] == f"你：{query}"
    assert rest[1].startswith("回答：")
    assert any(line.startswith("  1  1.000  [茶#1]  ") for line in rest)
    assert any(line.startswith("数据集中的 q3：Hit@2 1.00、") for line in rest)
    names = {"tea", "empty", "exit", "more", "sea", "scales", *("Hit", "Precision", "Recall")}
    assert untranslated("\n".join(line for line in text.splitlines() if not line.startswith("     ")), names) == []
    in_words = read_words("zh")
    assert printed("chat", "tea.toml", cwd=folder, stdin=b"", environment={"LC_ALL": "zh_CN.UTF-8"}).endswith(
        f"\n{in_words('chat.you')}\n"
    )
