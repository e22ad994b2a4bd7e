"""The lock of the packages that developers install."""

import re
import tomllib
from pathlib import Path

from tests.locking import locked

ROOT = Path(__file__).parents[1]


def test_a_package_is_a_line_with_its_hash_and_the_project_is_none() -> None:
    environment = {"python_version": "3.11", "sys_platform": "linux", "platform_machine": "x86_64"}
    report = {
        "environment": environment,
        "install": [
            {"metadata": {"name": "Py_Stemmer", "version": "3.0"},
             "download_info": {"url": "https://host/x.whl", "archive_info": {"hashes": {"sha256": "ab"}}}},
            {"metadata": {"name": "steelyard", "version": "1"}, "download_info": {"url": "file:///x", "dir_info": {}}},
            {"metadata": {"name": "altair", "version": "5.5"},
             "download_info": {"archive_info": {"hashes": {"sha256": "cd"}}}},
        ],
    }  # fmt: skip
    assert list(locked(report)) == [
        "# Python 3.11, linux x86_64",
        "altair==5.5 --hash=sha256:cd",
        "py-stemmer==3.0 --hash=sha256:ab",
    ]


def test_the_lock_has_all_that_is_declared_and_no_address() -> None:
    text = (ROOT / "requirements-dev.lock").read_text()
    head, *lines = text.splitlines()
    assert head.startswith("# Python 3.11")
    assert all(re.fullmatch(r"[a-z0-9-]+==[\w.+!]+ --hash=sha256:[0-9a-f]{64}", line) for line in lines)
    assert "://" not in text
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    own = re.search(r"steelyard\[(.*)\]", extras["dev"][0])
    assert own is not None
    of_extras = [name for extra in own[1].split(",") for name in extras[extra]]
    wanted = [*project["dependencies"], *extras["dev"][1:], *of_extras]
    names = {re.sub(r"[-_.]+", "-", re.split(r"[<>=;! ]", one)[0]).lower() for one in wanted}
    assert names <= {line.split("==")[0] for line in lines}
