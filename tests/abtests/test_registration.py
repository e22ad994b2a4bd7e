"""What was registered of a declaration, and what was changed since."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from steelyard.abtests.config import ExperimentConfig
from steelyard.abtests.registration import fingerprint, register_experiment, registration
from steelyard.base.errors import InputError

START = datetime(2026, 10, 5, tzinfo=UTC)
TEXT = """start = 2026-10-05
primary = "ctr"
difference = "5%"
[arms]
a = 0.5
b = 0.5
"""


@pytest.fixture
def declared(tmp_path: Path) -> Path:
    path = tmp_path / "reranker.toml"
    path.write_text(TEXT, "utf-8")
    return path


def test_a_declaration_that_stays_as_it_was_has_no_change(declared: Path) -> None:
    registered = register_experiment(declared, now=START - timedelta(days=1))
    declared.write_text(f"# a remark\n{TEXT}", "utf-8")
    now = registration(ExperimentConfig.read(declared))
    assert (now.changed, now.is_late, now.fingerprint) == ({}, False, registered.fingerprint)
    assert registered.path == declared.with_name("reranker.registered.json")


def test_changes_are_named_with_both_values(declared: Path) -> None:
    register_experiment(declared, now=START - timedelta(days=1))
    declared.write_text(
        TEXT.replace("5%", "4%").replace("b = 0.5", 'b = 0.5\n[[guardrail]]\nmetric = "cost_usd"\nmargin = 0.1'),
        "utf-8",
    )
    changed = registration(ExperimentConfig.read(declared)).changed
    assert changed == {"difference": ("'5%'", "'4%'"), "guardrail": ("[]", "['cost_usd by 0.1 (alpha 0.05)']")}


def test_the_last_registration_before_the_start_counts(declared: Path) -> None:
    register_experiment(declared, now=START - timedelta(days=2))
    declared.write_text(TEXT.replace("5%", "4%"), "utf-8")
    register_experiment(declared, now=START - timedelta(days=1))
    assert registration(ExperimentConfig.read(declared)).changed == {}
    declared.write_text(TEXT.replace("5%", "3%"), "utf-8")
    register_experiment(declared, now=START + timedelta(days=1))
    now = registration(ExperimentConfig.read(declared))
    assert (now.is_late, now.changed) == (False, {"difference": ("'4%'", "'3%'")})


def test_the_order_of_the_arms_is_of_the_fingerprint(declared: Path) -> None:
    one = ExperimentConfig.read(declared)
    declared.write_text(TEXT.replace("a = 0.5\nb = 0.5", "b = 0.5\na = 0.5"), "utf-8")
    assert fingerprint(one) != fingerprint(ExperimentConfig.read(declared))


def test_a_late_registration_says_so(declared: Path) -> None:
    assert register_experiment(declared, now=START).is_late
    assert (
        registration(
            ExperimentConfig.of(
                {"start": "2026-10-05", "primary": "ctr", "difference": 1, "arms": {"a": 0.5, "b": 0.5}}
            )
        ).registered
        is None
    )


def test_damaged_registrations_are_an_error(declared: Path) -> None:
    declared.with_name("reranker.registered.json").write_text("{", "utf-8")
    with pytest.raises(InputError, match="cannot be read as registrations"):
        registration(ExperimentConfig.read(declared))


def test_a_setting_that_a_later_version_brings_is_no_change(declared: Path) -> None:
    path = register_experiment(declared, now=START - timedelta(days=1)).path
    assert path is not None
    whole = json.loads(path.read_text("utf-8"))
    for name in ("trigger", "planned_units"):
        del whole["registered"][0]["declaration"][name]
    path.write_text(json.dumps(whole), "utf-8")
    assert registration(ExperimentConfig.read(declared)).changed == {}
    declared.write_text("planned_units = 500\n" + TEXT, "utf-8")
    assert registration(ExperimentConfig.read(declared)).changed == {"planned_units": ("not there", "500")}
