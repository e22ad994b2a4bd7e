"""What commands print by default is short, fits the terminal, and is what `tests/golden/screens` shows."""

from pathlib import Path

import pytest

from steelyard.reports.views.view import cell_size
from steelyard.reports.words import read_words
from tests.finished_demo import copy_finished_demo
from tests.golden.screens import FILES, LANGUAGES, SCREENS, STATES, printed
from tests.test_docs import without_numbers

pytest.importorskip("scipy", reason="comparisons and gates need the extra stats")
pytest.importorskip("bm25s", reason="the demo needs the extra rag")
pytest.importorskip("sklearn", reason="the demo needs the extra rag")


@pytest.fixture(scope="module", autouse=True)
def shared_demo(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The demo that all tests of a run share, in place of one more."""

    def ran(folder: Path) -> None:
        copy_finished_demo(folder.parent, tmp_path_factory)

    STATES["ran"] = ran


def lines_but_commands(text: str, lang: str) -> list[str]:
    """The lines that are wrapped: a command is copied whole."""
    following = read_words(lang)("brief.next", command="")
    return [line for line in text.splitlines() if not line.startswith(following)]


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("name", SCREENS)
def test_a_screen_is_short_and_stays_as_it_is(name: str, lang: str) -> None:
    screen = SCREENS[name]
    status, text = printed(screen, lang)
    shown = (FILES / f"{name}.{lang}.txt").read_text(encoding="utf-8")
    seen = without_numbers if screen.varies else str
    assert seen(text) == seen(shown), f"if this is as wanted: python -m tests.golden.screens {name}"
    assert status == screen.status
    assert len(text.splitlines()) <= screen.most
    assert max(map(cell_size, lines_but_commands(text, lang))) <= 80


@pytest.mark.parametrize("lang", [pytest.param("en", marks=pytest.mark.slow), "zh"])
@pytest.mark.parametrize("name", SCREENS)
def test_a_screen_fits_a_narrow_terminal(name: str, lang: str) -> None:
    _, text = printed(SCREENS[name], lang, columns=60)
    assert max(map(cell_size, lines_but_commands(text, lang))) <= 60


def test_every_file_is_of_a_screen() -> None:
    assert {path.name for path in FILES.iterdir()} == {f"{name}.{lang}.txt" for name in SCREENS for lang in LANGUAGES}
