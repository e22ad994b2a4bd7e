"""What the tests of pages share."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.reports.browser import CHROMIUM, FLAGS


# Of the package, not of the session: the driver leaves a running loop behind, beside which none can be started.
@pytest.fixture(scope="package")
def browser() -> Iterator[Any]:
    """The one headless Chromium of all tests of pages."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="driving a browser needs playwright")
    with sync_api.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield chromium
        chromium.close()
