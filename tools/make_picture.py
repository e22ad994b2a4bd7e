"""Take the picture of a report that the READMEs show, of the bundled example: python tools/make_picture.py.

It needs Chromium, and writes docs/images/report.png.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

TARGET = Path(__file__).resolve().parents[1] / "docs" / "images" / "report.png"
WIDTH, HEIGHT = 1200, 720


def main() -> None:
    """Run the example, open its report, and keep what the first screen shows."""
    chromium = shutil.which("chromium")
    if chromium is None:
        sys.exit("chromium is needed to take the picture")
    TARGET.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as player:
        command = [sys.executable, "-m", "steelyard", "demo", "--lang", "en"]
        subprocess.run(command, cwd=folder, check=True, capture_output=True, env={**os.environ, "NO_COLOR": "1"})
        browser = player.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
        page.goto((Path(folder) / "steelyard-demo" / "report.html").as_uri())
        page.wait_for_timeout(1000)
        page.screenshot(path=TARGET)
        browser.close()
    print(f"{TARGET}: {TARGET.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
