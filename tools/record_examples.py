"""Write what commands print now into the console blocks of pages: `python -m tools.record_examples PAGE...`.

A block in which `...` stands for lines is recorded whole where it differs; cut it again by hand.  Read the change
before you keep it: the pages are tests of the commands, too.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from tests import test_docs as docs
from tests.cli.command import Finished, steelyard

from steelyard.demo import copy_data


def _demo(folder: Path) -> Finished:
    return steelyard("demo", cwd=folder, environment={"NO_COLOR": "1"})


def recorded(page: Path, folder: Path) -> str:
    """The text of a page with what its commands print in the folder."""
    text, names = page.read_text("utf-8"), dict[str, object]()
    for block in docs.blocks(page):
        if block.note.startswith("file: "):
            (folder / block.note.removeprefix("file: ")).write_text(block.text, "utf-8")
        elif block.language == "python" and ">>>" in block.text and block.note != "not run":
            docs.check_python(block, page, names)
        elif block.language == "console" and block.note != "not run":
            for command, shown in docs.steps(block):
                _, printed = docs.run(command, folder, _demo)
                seen = docs.without_numbers if block.note.endswith("numbers vary") else str
                if not docs.matches(seen(shown), seen(printed)):
                    end = "" if shown else "\n"
                    text = text.replace(f"$ {command}\n{shown}", f"$ {command}\n{printed.rstrip()}{end}", 1)
    return text


def main(pages: list[str]) -> None:
    """Record pages, each in a copy of the bundled example."""
    for page in [Path(name).resolve() for name in pages]:
        for name in ("LC_ALL", "LC_MESSAGES", "LANG"):  # A page may have chosen another one.
            os.environ.pop(name, None)
        with tempfile.TemporaryDirectory() as parent, docs.same_ids():
            folder = copy_data(Path(parent) / "demo")
            os.chdir(folder)
            page.write_text(recorded(page, folder), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
