"""The figures of the architecture, on a package small enough to count by hand."""

import runpy
from pathlib import Path

ROOT = Path(__file__).parents[1]
figures = runpy.run_path(str(ROOT / "benchmarks" / "architecture.py"))["figures"]

FILES = {
    "__init__.py": "",
    "low/__init__.py": "",
    "low/one.py": "def wide(a, b, c, d, e, f, *, g):\n    return [a, b, c, d, e, f, g]  # fmt: skip\n",
    "high/__init__.py": "",
    "high/two.py": "from ours.low import one\nfrom ours.high.three import three\n\nA = one.wide, three() + three()\n",
    "high/three.py": "def three():\n    from ours.high import two\n\n    return two\n",
}


def test_figures_of_a_small_package(tmp_path: Path) -> None:
    for name, text in FILES.items():
        path = tmp_path / "ours" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert figures(tmp_path / "ours") == {
        "lines": 10,
        "statements": 8,
        "lines of imports": 3,
        "files": 6,
        "files under 40 lines": 3,
        "functions with more than 6 parameters": 1,
        "functions used once": 1,
        "fmt: skip": 1,
        "rooms": 2,
        "arrows between rooms": 1,
        "modules in circles": 2,
    }
