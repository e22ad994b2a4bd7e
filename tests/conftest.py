"""Tests read English reports, wherever they run, and try properties as often as the profile says."""

import gc
import ipaddress
import os
import signal
import socket
import threading
import time
from collections.abc import Generator
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from steelyard.base.file_locks import try_lock
from steelyard.judges.lexical import readings
from tests.hypothesis_profiles import PROFILE

os.environ["LC_ALL"] = "C.UTF-8"
settings.load_profile(PROFILE)

if threading.current_thread() is threading.main_thread():
    # A shell that starts the tests in the background lets them, and every process that they start, ignore Ctrl-C.
    signal.signal(signal.SIGINT, signal.default_int_handler)

_connect = socket.socket.connect


def _connect_here(self: socket.socket, address: Any) -> None:
    """Connect to this computer alone: what a test needs of others, it brings along."""
    if self.family in (socket.AF_INET, socket.AF_INET6) and not ipaddress.ip_address(address[0]).is_loopback:
        pytest.fail(f"the test reaches out to {address[0]}")
    _connect(self, address)


socket.socket.connect = _connect_here  # type: ignore[method-assign]

# The lexical judge forgets with its judge what it has read; here hundreds of judges read the same texts of the example.
readings.Reading = lru_cache(maxsize=10_000)(readings.Reading)  # type: ignore[assignment, misc]

SUMMARY = "summary"
"""A property that a test records: what is printed after all tests, from whichever process it comes."""


# Millions of objects that pytest keeps until the end are alive: looking through them again and again takes a tenth of
# the whole time. Tests that build large trees and tables are looked through less often, too.
gc.disable()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """One process collects before the others do, as all of them would compile the same modules at the same time."""
    with Path(__file__).open("rb", buffering=0) as lock:
        first = try_lock(lock)
        while first is False and try_lock(lock) is False:
            time.sleep(0.05)
        if first is False:
            lock.close()
        return (yield)


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
    gc.enable()


def pytest_sessionfinish() -> None:
    """What is unreachable is reported now; pytest and the interpreter would look through all objects ten times more."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def frozen_objects() -> None:
    """What is there already is left out where a test collects its own garbage: to look through it takes a second."""
    gc.freeze()


def pytest_terminal_summary(terminalreporter: Any) -> None:
    for reports in terminalreporter.stats.values():
        for report in reports:
            for name, text in getattr(report, "user_properties", ()):
                if name == SUMMARY and report.when == "call":
                    terminalreporter.write_line(text)
