"""Where a result comes from: commit, settings of the systems, and fingerprints of what they are made of."""

from __future__ import annotations

import hashlib
import json
import platform
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from steelyard._version import __version__
from steelyard.base.differences import settings_table
from steelyard.data.folders.run_folder import RunFolder, find_run_folder
from steelyard.experiment.table.scores import Scores
from steelyard.services.addresses import without_secrets

_GIT_SECONDS = 10
_DIGITS = 16
_PARTS = {
    "corpus": "corpus", "chunk": "chunker", "embed": "embedder", "index": "index", "fuse": "fusion",
    "rerank": "reranker", "generate": "prompt", "target": "target", "documents": "corpus",
}  # fmt: skip
"""Stage, as manifests of runs have it -> part, as entries have it."""


@dataclass(frozen=True)
class Origin:
    """What one system is.

    settings      dotted setting -> its value as text; empty where the system is a file of rankings
    fingerprints  part -> digest
    """

    settings: Mapping[str, str]
    fingerprints: Mapping[str, str]

    @property
    def config(self) -> str:
        """A digest by which configurations are told apart: of all settings, else of the results."""
        return self.fingerprints.get("config") or self.fingerprints.get("run") or ""


def git_state(folder: Path | None = None) -> tuple[str | None, bool | None]:
    """The commit that is checked out in a folder, and whether files differ from it; None outside of a repository.

    Files that git does not know do not count.
    """
    commit = _git(folder, "rev-parse", "HEAD")
    if not commit:
        return None, None
    return commit, bool(_git(folder, "status", "--porcelain", "--untracked-files=no"))


def _git(folder: Path | None, *words: str) -> str:
    try:
        done = subprocess.run(
            ["git", *words], cwd=folder, capture_output=True, timeout=_GIT_SECONDS, check=True, text=True
        )
    except (OSError, subprocess.SubprocessError, UnicodeError):
        return ""
    return done.stdout.strip()


def account_name() -> str:
    """The name of who works here: that which git has, else that of the account."""
    from getpass import getuser

    try:
        return _git(None, "config", "user.name") or getuser()
    except (OSError, KeyError, ImportError):
        return "unknown"


def origins_of(result: Any, scores: Scores | None) -> dict[str, Origin]:
    """System -> where it comes from, of the systems of a result."""
    kind, folders = type(result).__name__, dict(folders_of(result, scores))
    if kind in ("JudgedRun", "Verdicts"):
        return _of_verdicts(result.verdicts if kind == "JudgedRun" else result)
    if scores is None:
        return {name: _origin(folder, {}) for name, folder in folders.items()}
    judges, benched = _judges(scores), _of_bench(result) if kind == "Bench" else {}
    return {
        system: benched.get(system)
        or _origin(
            folders.get(system), {"run": scores.run_digest(system) or "", "judge": judges.get(system, "")}
        )
        for system in scores.systems
    }  # fmt: skip


def folders_of(result: Any, scores: Scores | None) -> Iterator[tuple[str, RunFolder]]:
    """Name of a system -> its run folder."""
    source = None if scores is None else scores.source
    if source is not None:
        yield from source.folders.items()
    folder = getattr(result, "folder", None)
    if isinstance(folder, RunFolder):
        yield folder.name, folder
    for path in getattr(result, "folders", ()):  # Of a sweep.
        if (own := find_run_folder(path)) is not None:
            yield own.name, own


def _origin(folder: RunFolder | None, fingerprints: Mapping[str, str]) -> Origin:
    own = {part: digest for part, digest in fingerprints.items() if digest}
    if folder is None:
        return Origin({}, own)
    stages, settings = folder.manifest.get("fingerprint"), settings_table(without_secrets(folder.config))
    stages = stages if isinstance(stages, Mapping) else {}
    own |= {part: str(stages[stage]) for stage, part in _PARTS.items() if stages.get(stage, _ABSENT) != _ABSENT}
    return Origin(settings, own | {"config": str(stages.get("all") or _digest(settings))})


def _of_bench(bench: Any) -> dict[str, Origin]:
    """Label of a system of a bench -> its reranker or its whole system, and how many candidates it gets."""
    tables = {own.name: _benched(own) for own in bench.config.systems.values()}
    labels = {option.label: {**tables[option.system], "depth": option.depth} for option in bench.config.options}
    origins = {}
    for label, table in (tables | labels).items():
        settings = settings_table(without_secrets(table))
        rerank = {"reranker": _digest(table["rerank"])} if "rerank" in table else {}
        origins[label] = Origin(settings, {**rerank, "config": _digest(settings)})
    return origins


def _benched(system: Any) -> dict[str, Any]:
    """The settings of a system of a bench; none for the candidates as they are."""
    if system.rerank is not None:
        return {"rerank": system.rerank.table()}
    named = {"pipeline": None if system.pipeline is None else str(system.pipeline), "target": system.target}
    return {key: own for key, own in named.items() if own is not None}


def _of_verdicts(verdicts: Any) -> dict[str, Origin]:
    """The system whose answers were judged, with the settings of the judge."""
    recipe = verdicts.recipe
    own = {"judge": _digest(["", verdicts.method]), "run": str(recipe.get("outputs") or "")}
    system = str(recipe.get("system") or "")
    return {system: Origin(settings_table({"judge": recipe.get("judge")}), {key: it for key, it in own.items() if it})}


def _judges(scores: Scores) -> dict[str, str]:
    """System -> a digest of how its answers were judged."""
    from steelyard.experiment.table.recipes import methods

    digests: dict[str, str] = {}
    for system, method in methods(scores):
        digests[system] = _digest([digests.get(system, ""), method])
    return digests


def _digest(value: object) -> str:
    text = json.dumps(value, ensure_ascii=True, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


def versions_of(result: Any, scores: Scores | None) -> dict[str, str]:
    """Library -> version: those that the runs of a result used, this Steelyard and Python."""
    versions = {"steelyard": __version__, "python": platform.python_version()}
    for _, folder in folders_of(result, scores):
        libraries = folder.manifest.get("libraries")
        versions |= {str(name): str(own) for name, own in libraries.items()} if isinstance(libraries, Mapping) else {}
    return versions


_ABSENT = _digest([None])
"""The digest of a stage that a pipeline does not have, in manifests of runs."""
