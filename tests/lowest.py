"""The lowest versions of packages that pyproject.toml allows, with their latest repairs, as constraints of pip."""

import re
import tomllib
from pathlib import Path

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8"))["project"]


def lowest() -> list[str]:
    """NAME==VERSION.* of each requirement that has a lower bound: those of users, and what hands tables over.

    Tools of developers are the newest ones.
    """
    extras = PROJECT["optional-dependencies"]
    of_users = PROJECT["dependencies"] + [
        line for extra in extras if extra not in ("dev", "docs") for line in extras[extra]
    ]
    tables = [line for line in extras["dev"] if line.startswith(("pandas", "pyarrow"))]
    bounds = (re.match(r"([\w.-]+)>=([\w.]+)", line) for line in of_users + tables)
    return sorted({f"{bound[1]}=={bound[2]}.*" for bound in bounds if bound})


if __name__ == "__main__":
    print("\n".join(lowest()))
