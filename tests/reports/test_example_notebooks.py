"""The example notebooks run in a real kernel, and what their cells show is looked at in Chromium."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest
from tools import make_notebooks

from tests.reports.browser import NO_CHROMIUM, OVERLAPS, Opened
from tests.reports.test_pieces import OUTSIDE, THEMES, page_of

nbclient = pytest.importorskip("nbclient", reason="running notebooks needs nbclient")
nbformat = pytest.importorskip("nbformat", reason="running notebooks needs nbformat")
pytest.importorskip("ipykernel", reason="running notebooks needs ipykernel")
pytest.importorskip("bm25s", reason="BM25, of the extra rag")


RESULTS = ["evaluate", "compare", "plan", "diagnose", "gate", "report"]
_CELLS = {"Scores": 3, "Comparison": 1, "Design": 1, "Diagnosis": 1, "Gate": 1, "Report": 1}
"""What the last lines of cells are, and how often."""


def executed(text: str, folder: Path) -> Any:
    """A notebook whose cells have run in a folder, each without an error."""
    notebook = nbformat.reads(text, as_version=4)
    nbformat.validate(notebook)
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(folder)}}).execute()
    return notebook


@pytest.fixture(scope="module", params=["en", pytest.param("zh", marks=pytest.mark.slow)])
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Any, Path]:
    """Language, executed notebook, and the folder in which it ran."""
    folder = tmp_path_factory.mktemp("notebook")
    return request.param, executed(make_notebooks.written(request.param), folder), folder


def outputs(notebook: Any) -> list[Any]:
    return [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]


@pytest.mark.parametrize("lang", make_notebooks.NAMES)
def test_the_files_are_what_their_script_writes(lang: str) -> None:
    text = (make_notebooks.TARGET / make_notebooks.NAMES[lang]).read_text("utf-8")
    assert text == make_notebooks.written(lang), "run `python tools/make_notebooks.py`"
    assert not any(cell.get("outputs") for cell in json.loads(text)["cells"])


def test_both_languages_run_the_same_verbs() -> None:
    for lang in make_notebooks.NAMES:
        sources = [
            "".join(cell["source"]) for cell in make_notebooks.notebook(lang)["cells"] if cell["cell_type"] == "code"
        ]
        calls = [node.func.attr for source in sources for node in ast.walk(ast.parse(source))
                 if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)]  # fmt: skip
        assert [name for name in RESULTS if name not in calls] == []
        assert 10 <= len(sources) <= 14


def test_every_cell_shows_what_its_text_says(run: tuple[str, Any, Path]) -> None:
    lang, notebook, folder = run
    shown = outputs(notebook)
    assert all(output.output_type == "execute_result" for output in shown), shown
    kinds = [output.data["text/plain"].partition("(")[0] for output in shown]
    assert {name: kinds.count(name) for name in _CELLS} == _CELLS
    html = "".join(output.data.get("text/html", "") for output in shown)
    assert html.count('class="steelyard"') == sum(_CELLS.values())
    assert html.count("<figure>") == sum(_CELLS.values()) - _CELLS["Design"]
    assert ("hybrid beats keyword." in html) == (lang == "en")
    assert ("hybrid 优于 keyword" in html) == (lang == "zh")
    assert (folder / "steelyard-demo" / "report.html").stat().st_size > 100_000


@NO_CHROMIUM
@pytest.mark.parametrize("theme", THEMES)
def test_the_cells_are_legible(theme: str, run: tuple[str, Any, Path], browser: Any) -> None:
    lang, notebook, folder = run
    cells = [html for output in outputs(notebook) if "steelyard" in (html := output.data.get("text/html", ""))]
    file = folder / f"{theme}.html"
    file.write_text(page_of(cells, theme), "utf-8")
    opened = Opened(browser, file, ready=".steelyard", viewport={"width": 700, "height": 900}, color_scheme=theme)
    assert opened.page.evaluate(OVERLAPS) == []
    assert opened.page.evaluate(OUTSIDE) == []
    opened.look(f"example-notebook-{lang}-{theme}", within=".jp-RenderedHTMLCommon")
    opened.close()


_SLOW = """
import steelyard as sy
from steelyard.reports.html import notebook

notebook._SOON_S = notebook._REDRAWN_S = 0.0
truth = {f"q{n}": {"d": 1} for n in range(3)}
sy.evaluate(truth, {name: {q: ["d"] for q in truth} for name in "abcd"}, "mrr").show()
"""


def test_a_kernel_draws_a_bar_and_takes_it_away(tmp_path: Path) -> None:
    drawn: list[str] = []

    class Client(nbclient.NotebookClient):  # type: ignore[misc, name-defined]
        def process_message(self, msg: Any, cell: Any, cell_index: int) -> Any:
            """Keep all that is displayed, as a later update replaces it."""
            if msg["msg_type"] in ("display_data", "update_display_data"):
                drawn.append(msg["content"]["data"].get("text/html", ""))
            return super().process_message(msg, cell, cell_index)

    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(_SLOW)])
    Client(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    bars = [html for html in drawn if html.startswith("<progress")]
    assert [f'<progress value="{n}" max="4">' in bar for n, bar in enumerate(bars)] == [True] * 4
    first, second = notebook.cells[0].outputs
    assert first.data["text/html"] == ""
    assert 'class="steelyard"' in second.data["text/html"]
