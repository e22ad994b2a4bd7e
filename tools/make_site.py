"""Lay the pages of the site out in build/pages, as they lie in the repository: python -m tools.make_site.

Zensical builds a site from one folder, while the pages link to the README, to benchmarks and to examples beside `docs`.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from tools.make_reference import python

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "build" / "pages"
_LINK = re.compile(r"\]\(([^)#\s:]+)(?:#[^)]*)?\)")


def pages() -> list[Path]:
    """All pages, relative to the repository."""
    patterns = ("*.md", "docs/**/*.md", "benchmarks/*.md", "examples/**/*.md", "src/steelyard/demo_data/README.md")
    return sorted(path.relative_to(ROOT) for pattern in patterns for path in ROOT.glob(pattern))


def linked(page: Path) -> set[Path]:
    """Files of the repository that a page links to."""
    targets = {(ROOT / page.parent / link).resolve() for link in _LINK.findall((ROOT / page).read_text("utf-8"))}
    return {target.relative_to(ROOT) for target in targets if target.is_file()}


def main() -> None:
    """Copy the pages and what they link to, and add the page of all of Python."""
    shutil.rmtree(TARGET, ignore_errors=True)
    for path in {*pages(), *(target for page in pages() for target in linked(page))}:
        (TARGET / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / path, TARGET / path)
    (TARGET / "docs" / "reference" / "python.md").write_text(python(), "utf-8")


if __name__ == "__main__":
    main()
