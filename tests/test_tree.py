"""The tree that the docs draw is the tree that there is."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "steelyard"
_PATH = re.compile(r"`((?:[a-z_]+/)*[a-z_]+(?:\.py|\.toml|/))`")


@pytest.mark.parametrize("page", ["docs/background/how-it-works.md", "CONTRIBUTING.md"])
def test_paths_of_the_page_exist(page: str) -> None:
    text = (ROOT / page).read_text("utf-8")
    paths = set(_PATH.findall(text))
    assert len(paths) >= 10
    homes = (SOURCE, ROOT, SOURCE / "reports")
    assert {path for path in paths if not any((home / path).exists() for home in homes)} == set()


def test_how_it_works_names_every_folder() -> None:
    text = (ROOT / "docs" / "background" / "how-it-works.md").read_text("utf-8")
    folders = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    assert {name for name in folders if f"`{name}/`" not in text} == set()


def test_a_way_through_the_house_has_ten_hops_at_most() -> None:
    text = (ROOT / "docs" / "background" / "how-it-works.md").read_text("utf-8")
    ways = re.findall(r"\| where \| what happens \|\n\|---\|---\|\n((?:\|.*\n)+)", text)
    assert len(ways) == 5
    assert all(len(way.splitlines()) <= 10 for way in ways)


def test_no_package_hides_a_public_function() -> None:
    import steelyard as sy

    folders = {path.parent.name for path in SOURCE.glob("*/__init__.py")} | {path.stem for path in SOURCE.glob("*.py")}
    assert folders & set(sy.__all__) == {"plain", "review"}  # Public as modules.
