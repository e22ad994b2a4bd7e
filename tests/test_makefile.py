"""`make demo` says what it loads: the packages of a megabyte and more, from what pip prints."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

MAKEFILE = Path(__file__).parents[1] / "Makefile"
PRINTED = """\
Collecting numpy>=1.26 (from steelyard==0.1.0)
  Downloading numpy-2.4.6-cp311-cp311-manylinux_2_27_x86_64.whl.metadata (6.6 kB)
  Using cached polars_runtime_32-2.1.0-cp310-abi3-manylinux_2_17_x86_64.whl (53.9 MB)
Downloading numpy-2.4.6-cp311-cp311-manylinux_2_27_x86_64.whl (16.9 MB)
Downloading backports.zstd-1.0.0-cp311-cp311-macosx_11_0_arm64.whl (412 kB)
Downloading vl_convert_python-1.9.0.post1-cp37-abi3-macosx_11_0_arm64.whl (33.5 MB)
"""


@pytest.mark.skipif(shutil.which("sed") is None, reason="needs sed")
def test_packages_of_a_megabyte_and_more_are_named_while_pip_loads_them() -> None:
    match = re.search(r"^SIZES := (.*)$", MAKEFILE.read_text("utf-8"), re.M)
    assert match is not None
    script = match[1].replace("$$", "$")
    done = subprocess.run(["sed", "-nE", script], input=PRINTED, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "  polars_runtime_32 2.1.0 (53.9 MB)", "  numpy 2.4.6 (16.9 MB)", "  vl_convert_python 1.9.0.post1 (33.5 MB)"
    ]  # fmt: skip
