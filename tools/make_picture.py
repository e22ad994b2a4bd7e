"""Take the pictures that the docs show, of the bundled example: python tools/make_picture.py.

It needs Chromium, and writes docs/images/report.png and notebook.png.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

import steelyard as sy

TARGET = Path(__file__).resolve().parents[1] / "docs" / "images"
WIDTH, HEIGHT = 1200, 720
CELL = """<!doctype html><meta charset="utf-8"><style>
body { margin: 0; padding: 14px 20px; width: 660px; font: 14px/1.43 system-ui, sans-serif; background: #fff; }
pre.cell { font: 13px/1.5 ui-monospace, monospace; background: #f5f5f5; border: 1px solid #e0e0e0; padding: 8px 10px; }
</style><pre class="cell">sy.compare(scores)</pre>"""


def comparison_cell(folder: Path) -> str:
    """A cell of a notebook that compares the bundled runs, with what it shows."""
    runs = [folder / "keyword.jsonl", folder / "hybrid.jsonl"]
    return CELL + sy.compare(sy.evaluate(folder / "pilot.jsonl", runs, ["ndcg@10", "mrr@10"]))._repr_html_()


def main() -> None:
    """Run the example, and keep what the first screen of its report, and a cell of a notebook, show."""
    chromium = shutil.which("chromium")
    if chromium is None:
        sys.exit("chromium is needed to take the picture")
    TARGET.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as player:
        command = [sys.executable, "-m", "steelyard", "demo", "--lang", "en"]
        subprocess.run(command, cwd=folder, check=True, capture_output=True, env={**os.environ, "NO_COLOR": "1"})
        browser = player.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
        page.goto((Path(folder) / "steelyard-demo" / "report.html").as_uri())
        page.wait_for_timeout(1000)
        page.screenshot(path=TARGET / "report.png")
        cell = browser.new_page(viewport={"width": 700, "height": 200}, device_scale_factor=1.5)
        cell.set_content(comparison_cell(Path(folder) / "steelyard-demo"))
        cell.screenshot(path=TARGET / "notebook.png", full_page=True)
        browser.close()
    for file in (TARGET / "report.png", TARGET / "notebook.png"):
        print(f"{file}: {file.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
