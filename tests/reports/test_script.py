"""The scripts of the pages: their unit tests in node, their linter, and how modules become one script."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ESLINT = ROOT / "node_modules" / ".bin" / "eslint"
REPORT = ROOT / "src" / "steelyard" / "reports"


def _node() -> str | None:
    """The node on the PATH, if it is as new as its test runner and the linter need it."""
    node = shutil.which("node")
    if node is None:
        return None
    version = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout
    return node if tuple(map(int, re.findall(r"\d+", version)[:2])) >= (18, 18) else None


NODE = _node()


def _check(*command: str | Path) -> None:
    run = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", check=False)
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.skipif(NODE is None, reason="there is no node 18.18 or newer on the PATH")
def test_what_the_pages_compute() -> None:
    assert NODE is not None
    _check(NODE, "--test", *sorted((ROOT / "tests" / "reports").glob("*.test.js")))


@pytest.mark.skipif(NODE is None or not ESLINT.exists(), reason="eslint is not installed; `npm ci` installs it")
def test_the_linter_is_content() -> None:
    _check(ESLINT, "--max-warnings", "0", "src", "tests")


@pytest.mark.parametrize("page", ["report", "form", "look", "sections"])
def test_modules_become_one_script(page: str) -> None:
    pytest.importorskip("jinja2", reason="pages need the extra report")
    from steelyard.reports.form import page as form
    from steelyard.reports.html.shell import SHELL_MODULES, joined_script
    from steelyard.reports.look.page import MODULES
    from steelyard.reports.page import page as report

    of_view = {"report": report._MODULES, "form": form._MODULES, "look": MODULES, "sections": ()}[page]
    modules = [*SHELL_MODULES, *of_view]
    script = joined_script(tuple(modules[len(SHELL_MODULES) :]))
    assert script.startswith('(() => {\n"use strict";\n')
    assert script.endswith("})();\n")
    assert not re.search(r"^\s*(import|export)\b", script, re.M)
    # Each module is a function; what two of them export under one name would be one thing.
    exported = re.findall(r"^const \{ (.*) \} = \(\(\) => \{$", script, re.M)
    names = [name for listed in exported for name in listed.split(", ") if name.strip()]
    texts = [(REPORT / f"{module}.js").read_text("utf-8") for module in modules]
    assert len(names) == len(set(names)) == sum(len(re.findall("^export ", text, re.M)) for text in texts) > 20
    assert len(exported) == len(modules)


def test_every_module_is_in_a_page() -> None:
    pytest.importorskip("jinja2", reason="pages need the extra report")
    from steelyard.reports.form import page as form
    from steelyard.reports.html.shell import SHELL_MODULES
    from steelyard.reports.look.page import MODULES
    from steelyard.reports.page import page as report

    modules = {path.relative_to(REPORT).with_suffix("").as_posix() for path in REPORT.glob("*/*.js")}
    assert modules == {*SHELL_MODULES, *report._MODULES, *form._MODULES, *MODULES}
