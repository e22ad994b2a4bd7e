"""The machine and the versions behind a time."""

import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from steelyard.base import machine as module
from steelyard.base.machine import computing, cpu_model, loaded_versions, machine


def test_a_machine_is_named() -> None:
    named = machine()
    assert list(named) == ["cpu", "cores", "os"]
    assert isinstance(named["cores"], int)
    assert named["cores"] >= 1
    assert all(named.values())


@pytest.mark.parametrize(
    ("text", "model"),
    [
        ("processor\t: 0\nmodel name\t: Kern X-100 @ 2.70GHz\n\nprocessor\t: 1\n", "Kern X-100 @ 2.70GHz"),
        ("processor : 0\nHardware : Board 4\n", "Board 4"),
    ],
)
def test_the_processor_is_read_from_the_system(
    text: str, model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    (tmp_path / "cpuinfo").write_text(text)
    monkeypatch.setattr(module, "_CPU_INFO", tmp_path / "cpuinfo")
    assert cpu_model() == model


def test_versions_are_those_of_loaded_libraries() -> None:
    assert loaded_versions({"numpy": "numpy", "no_such_module": "numpy", "sys": "no-such-distribution"}) == {
        "numpy": np.__version__
    }


def test_threads_and_gpu_are_those_of_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    assert computing()["OMP_NUM_THREADS"] == "3"
    assert not {"torch threads", "gpu"} & computing().keys()
    cuda = SimpleNamespace(is_available=lambda: True, get_device_name=lambda: "a GPU")
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(get_num_threads=lambda: 4, cuda=cuda))
    assert computing()["torch threads"] == 4
    assert computing()["gpu"] == "a GPU"
