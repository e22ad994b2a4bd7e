"""What `make lock` writes: from pip's report of an installation, a line for each package with its version and hash."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping
from typing import Any


def locked(report: Mapping[str, Any]) -> Iterator[str]:
    """Requirements in alphabetical order, and not the project itself, which is a folder without a hash."""
    version = report["environment"]["python_version"]
    yield f"# Python {version}, {report['environment']['sys_platform']} {report['environment']['platform_machine']}"
    packages = {re.sub(r"[-_.]+", "-", item["metadata"]["name"]).lower(): item for item in report["install"]}
    for name, item in sorted(packages.items()):
        hashes = item["download_info"].get("archive_info", {}).get("hashes", {})
        if "sha256" in hashes:
            yield f"{name}=={item['metadata']['version']} --hash=sha256:{hashes['sha256']}"


if __name__ == "__main__":
    print("\n".join(locked(json.load(sys.stdin))))
