"""The commands of A/B tests: what they leave behind, and their exit status."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.abtests.simulated import DECLARATION, write_experiment
from tests.cli.command import steelyard


def test_a_declaration_is_registered_and_its_changes_are_said(tmp_path: Path) -> None:
    declaration, logs = write_experiment(tmp_path)
    done = steelyard("ab", "register", str(declaration))
    assert done.returncode == 0
    assert b"layout.registered.json" in done.stdout
    declaration.write_text(DECLARATION.replace("10%", "8%"), "utf-8")
    assert "difference" in steelyard("ab", "analyse", str(declaration), str(logs)).stdout.decode()
    declaration.write_text(DECLARATION.replace("primary", 'analysis = "always-valid"\nprimary'), "utf-8")
    done = steelyard("ab", "analyse", str(declaration), str(logs))
    assert done.returncode == 3
    assert "No verdict" in done.stdout.decode()


@pytest.mark.parametrize(("lift", "status"), [(1.0, 0), (-0.9, 1), (0.2, 3)])
def test_the_status_is_that_of_the_decision(lift: float, status: int, tmp_path: Path) -> None:
    declaration, logs = write_experiment(tmp_path, lift=lift)
    assert steelyard("ab", "analyse", str(declaration), str(logs)).returncode == status
