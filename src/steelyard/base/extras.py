"""Libraries that only some parts need: imported on use, and asked for by name where they are absent."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from steelyard.base.errors import MissingExtraError


def require(module: str, *, extra: str, what: str) -> Any:
    """Import a library of an extra.

    module   what is imported, e.g. "bm25s"
    extra    the extra that installs it
    what     who needs it, for the message
    Raises   MissingExtraError with the line that installs it.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not module.startswith(error.name.partition(".")[0]):
            raise
        raise MissingExtraError(
            f"{what} needs {module.partition('.')[0]}, which is not installed; try: {install_line(extra)}"
        ) from None


def install_line(extra: str, *, package: Path = Path(__file__).parents[1]) -> str:
    """The command that adds an extra to this copy of Steelyard, wherever it came from.

    package   the folder of the copy: in a checkout, which may be installed as editable or not at all, or among
              installed packages, where pip notes the folder, address or repository that was not an index
    """
    checkout = package.parents[1]
    if package.parent.name == "src" and (checkout / "pyproject.toml").is_file():
        return f"pip install -e '{_shown(checkout)}[{extra}]'"
    origin = _origin(package.parent)
    folder = origin.get("url", "").removeprefix("file://")
    if "dir_info" in origin:
        return f"pip install '{_shown(Path(folder))}[{extra}]'"
    scheme = f"{origin['vcs_info']['vcs']}+" if "vcs_info" in origin else ""
    address = f" @ {scheme}{origin['url']}" if origin else ""
    return f"pip install 'steelyard[{extra}]{address}'"


def _shown(folder: Path) -> str:
    return "." if folder == Path.cwd() else str(folder)


def _origin(packages: Path) -> dict[str, Any]:
    """Notes of pip about where the copy came from (direct_url.json); empty for one from an index."""
    import json
    from importlib.metadata import distributions

    for distribution in distributions(name="steelyard", path=[str(packages)]):
        note = distribution.read_text("direct_url.json")
        origin = json.loads(note) if note else {}
        return origin if isinstance(origin, dict) and isinstance(origin.get("url"), str) else {}
    return {}
