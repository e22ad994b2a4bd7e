"""What is said where a library of an extra is absent: a line that installs it into this copy."""

import json
from pathlib import Path
from typing import Any

import pytest

from steelyard.base.errors import MissingExtraError
from steelyard.base.extras import install_line, require

ROOT = Path(__file__).parents[2]
FOLDER = {"url": "file:///srv/steelyard", "dir_info": {}}
WHEEL = {"url": "file:///srv/steelyard-0.1.0-py3-none-any.whl", "archive_info": {}}
REPOSITORY = {"url": "https://example.org/steelyard.git", "vcs_info": {"vcs": "git", "commit_id": "1f"}}


def installed(folder: Path, origin: Any = None) -> Path:
    """A copy among installed packages."""
    notes = folder / "steelyard-0.1.0.dist-info"
    notes.mkdir(parents=True)
    (notes / "METADATA").write_text("Metadata-Version: 2.1\nName: steelyard\nVersion: 0.1.0\n")
    if origin is not None:
        (notes / "direct_url.json").write_text(json.dumps(origin))
    return folder / "steelyard"


@pytest.mark.parametrize(
    ("origin", "line"),
    [
        (None, "pip install 'steelyard[rag]'"),
        (FOLDER, "pip install '/srv/steelyard[rag]'"),
        (WHEEL, "pip install 'steelyard[rag] @ file:///srv/steelyard-0.1.0-py3-none-any.whl'"),
        (REPOSITORY, "pip install 'steelyard[rag] @ git+https://example.org/steelyard.git'"),
        ("damaged", "pip install 'steelyard[rag]'"),
    ],
)
def test_an_installed_copy(origin: Any, line: str, tmp_path: Path) -> None:
    assert install_line("rag", package=installed(tmp_path / "site-packages", origin)) == line


def test_a_checkout(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(ROOT)
    assert install_line("rag") == "pip install -e '.[rag]'"
    monkeypatch.chdir(tmp_path)
    assert install_line("rag") == f"pip install -e '{ROOT}[rag]'"


def test_an_absent_library_is_named_with_its_line() -> None:
    with pytest.raises(MissingExtraError) as raised:
        require("no_such_library.part", extra="models", what="cross-encoder")
    said = f"cross-encoder needs no_such_library, which is not installed; try: {install_line('models')}"
    assert str(raised.value) == said
