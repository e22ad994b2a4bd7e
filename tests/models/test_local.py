"""What identifies a model."""

import shutil
from pathlib import Path

import pytest

from steelyard.models.local import identity_of


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A folder as downloaders leave one."""
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text('{"model_type": "bert"}')
    (folder / "model.safetensors").write_bytes(b"0" * 1000)
    return folder


def test_the_identity_follows_the_files_not_the_place(model: Path, tmp_path: Path) -> None:
    copy = tmp_path / "elsewhere"
    shutil.copytree(model, copy)
    assert identity_of(str(copy)) == identity_of(str(model))
    (copy / ".cache").mkdir()
    (copy / ".cache" / "lock").write_text("x")
    assert identity_of(str(copy)) == identity_of(str(model))
    (copy / "config.json").write_text((copy / "config.json").read_text() + " ")
    assert identity_of(str(copy)) != identity_of(str(model))


def test_the_identity_of_great_files_goes_by_size_and_samples(tmp_path: Path) -> None:
    weights = tmp_path / "model.safetensors"
    weights.write_bytes(b"0" * 3_000_000)
    before = identity_of(str(tmp_path))
    weights.write_bytes(b"0" * 3_000_001)
    longer = identity_of(str(tmp_path))
    weights.write_bytes(b"0" * 1_500_000 + b"1" * 1_500_000)
    assert len({before, longer, identity_of(str(tmp_path))}) == 3


def test_the_identity_of_a_name_is_the_name() -> None:
    assert identity_of("owner/name") == "owner/name"
