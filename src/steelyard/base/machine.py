"""The machine and the versions behind a measured time."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from steelyard.base.errors import InputError

_CPU_INFO = Path("/proc/cpuinfo")
_CPU_KEYS = ("model name", "Hardware", "cpu model")
_OF_THREADS = (
    "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS", "POLARS_MAX_THREADS",
    "TOKENIZERS_PARALLELISM", "CUDA_VISIBLE_DEVICES",
)  # fmt: skip


@cache
def machine() -> Mapping[str, str | int]:
    """Processor, cores and system, on which a time depends besides the program.

    cpu     model of the processor; its architecture where the system does not name the model
    cores   that this process may use
    os      name, release and architecture of the operating system
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "cpu": cpu_model() or platform.machine(),
        "cores": cores or 1,
        "os": f"{platform.system()} {platform.release()} ({platform.machine()})",
    }


def cpu_model() -> str:
    """The model of the processor, or "" where the system does not name it."""
    if sys.platform == "darwin":
        command = ["/usr/sbin/sysctl", "-n", "machdep.cpu.brand_string"]
        try:
            return subprocess.run(command, capture_output=True, text=True, check=True, timeout=5).stdout.strip()
        except (OSError, subprocess.SubprocessError):
            return ""
    try:
        lines = _CPU_INFO.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor()
    pairs = (line.partition(":") for line in lines)
    values = {key.strip(): value.strip() for key, _, value in pairs}
    return next((values[key] for key in _CPU_KEYS if values.get(key)), platform.processor())


def computing() -> dict[str, str | int]:
    """Settings of threads and GPU by which this process computes: variables that are set, and torch.

    "torch threads" and "gpu" are there where torch was imported.
    """
    settings: dict[str, str | int] = {name: os.environ[name] for name in _OF_THREADS if name in os.environ}
    torch: Any = sys.modules.get("torch")
    if torch is not None:
        settings["torch threads"] = int(torch.get_num_threads())
        if torch.cuda.is_available():
            settings["gpu"] = str(torch.cuda.get_device_name())
    return settings


def timestamp() -> str:
    """The time in UTC, to the second, by ISO 8601: that which SOURCE_DATE_EPOCH names, or else now."""
    return (named_time() or datetime.now(UTC)).isoformat(timespec="seconds")


def named_time() -> datetime | None:
    """The time that SOURCE_DATE_EPOCH names, so that results can be repeated to the byte; None without it.

    Raises   InputError for what is no time.
    """
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    if epoch is None:
        return None
    try:
        return datetime.fromtimestamp(int(epoch), UTC)
    except (ValueError, OverflowError, OSError):
        raise InputError(f"SOURCE_DATE_EPOCH is {epoch!r}, expected seconds since 1970, such as 1700000000") from None


_version = cache(version)


def loaded_versions(distributions: Mapping[str, str]) -> dict[str, str]:
    """Versions of those libraries that this process has imported.

    distributions   name of a module to the name of its distribution
    Returns         distribution to version, in the order given; a module without metadata is left out
    """
    versions = {}
    for module, distribution in distributions.items():
        if module in sys.modules:
            try:
                versions[distribution] = _version(distribution)
            except PackageNotFoundError:
                continue
    return versions
