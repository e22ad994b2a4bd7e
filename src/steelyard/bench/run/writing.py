"""The folder of a bench while it is written: what is measured already, what is not, and what has changed since."""

from __future__ import annotations

import platform
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from steelyard._version import __version__
from steelyard.base.errors import InputError
from steelyard.base.machine import computing, loaded_versions, machine, timestamp
from steelyard.base.notes import Note
from steelyard.bench.blocks import has_block
from steelyard.bench.config import BenchConfig
from steelyard.bench.costs import stored_prices
from steelyard.data.folders.manifests import (
    BLOCKS,
    CEILINGS,
    CONFIG,
    LEVELS,
    MANIFEST,
    SCORES,
    Kind,
    read_bench_manifest,
    visible_entries,
    write_bench_manifest,
    write_json,
)
from steelyard.data.folders.run_lock import Holder
from steelyard.experiment.table.json import as_json
from steelyard.experiment.table.scores import Scores
from steelyard.io.json_files import parse_json
from steelyard.io.write import write_text
from steelyard.rag.runs.writer import LIBRARIES

_REPLACE = "choose another folder, or measure again with --overwrite (overwrite=True)"
_NAMED = 3


class BenchWriter:
    """Writes a bench into a folder that nobody else writes.

    kind      what is measured;   config   whose configuration is written, into its folder, made where it is absent
    digests   name of each block -> what it measures, in the order in which they are run
    notes     what a reader should know;   taken_over   whose lock of the folder was taken over
    Raises    InputError for a folder of something else, and for blocks of something that has changed since, which
              `overwrite` removes with all others when it begins.

    Nothing is written before `begin`.
    """

    def __init__(
        self, kind: Kind, config: BenchConfig, digests: Mapping[str, str], *,
        notes: Sequence[Note] = (), taken_over: Holder | None = None, overwrite: bool = False,
    ) -> None:  # fmt: skip
        self.path = path = config.folder
        self._kind, self._config, self._digests = kind, config, dict(digests)
        self._notes = [*notes, *([Note("lock_taken_over", asdict(taken_over))] if taken_over else [])]
        refuse_other_folder(path)
        before = read_bench_manifest(path) or {}
        self._started = timestamp()
        if before.get("kind", kind) != kind:
            raise InputError(f"{path}: holds a bench of another kind ({before['kind']}); choose another folder")
        self._overwrite = overwrite
        recorded = {} if overwrite else {**(before.get("other_blocks") or {}), **(before.get("blocks") or {})}
        self._recorded = {name: digest for name, digest in recorded.items() if has_block(path, name)}
        if not overwrite:
            self._refuse_changes()
        self.done = [] if overwrite else [name for name in digests if has_block(path, name)]
        self._measured_on = list(before.get("machines") or []) if self.done else []
        self._finished = bool(before.get("finished")) and self._is_same(before)

    def _refuse_changes(self) -> None:
        on_disk = [name for name in self._digests if has_block(self.path, name)]
        changed = [name for name in on_disk if self._recorded.get(name) != self._digests[name]]
        if changed:
            named = ", ".join(changed[:_NAMED]) + (", ..." if len(changed) > _NAMED else "")
            raise InputError(
                f"{self.path}: {len(changed)} of its {len(on_disk)} blocks ({named}) were measured with another "
                f"reranker, other candidates or another timeout than are configured now; {_REPLACE}"
            )

    def _is_same(self, before: Mapping[str, Any]) -> bool:
        """True if the folder holds this very bench, with all that is computed from it."""
        if len(self.done) < len(self._digests) or before.get("steelyard") != __version__:
            return False
        try:
            stored = parse_json((self.path / CONFIG).read_bytes(), str(self.path / CONFIG))
        except (OSError, InputError):
            return False
        if not isinstance(stored, dict):
            return False
        here = {"folder": str(self.path)}  # A folder may have been moved.
        if stored | here != self._config_json() | here:
            return False
        # Blocks that followed from others are known to the folder alone.
        blocks = before.get("blocks") or {}
        return self._digests.items() <= blocks.items() and all(has_block(self.path, name) for name in blocks)

    @property
    def is_finished(self) -> bool:
        """True if nothing is left to do."""
        return self._finished

    def begin(self) -> None:
        """Write what is measured here; from now on it is the folder of a bench, not a finished one.

        Raises   OutputError where it cannot be written.
        """
        here = {**machine(), "python": platform.python_version()}
        if here not in self._measured_on:
            self._measured_on.append(here)
        if len(self._measured_on) > 1:
            self._notes.append(Note("bench_machines", {"n": len(self._measured_on)}))
        if self._overwrite:
            shutil.rmtree(self.path / BLOCKS, ignore_errors=True)
        # The manifest comes first: a folder with other files alone, as after a kill, is refused as somebody else's.
        write_bench_manifest(self.path, self._manifest())
        write_json(self.path / CONFIG, self._config_json())

    def has(self, name: str, digest: str) -> bool:
        """True if a block that measures this is on disk."""
        return has_block(self.path, name) and self._recorded.get(name) == digest

    def add(self, name: str, digest: str) -> bool:
        """Count a block more, which follows from what others measured.

        digest   what it measures
        Returns  whether it is on disk; if not, it is to be written
        Raises   OutputError where the folder cannot be written.
        """
        there = self.has(name, digest)
        self._digests[name] = digest
        write_bench_manifest(self.path, self._manifest())
        return there

    def finish(
        self, scores: Scores, ceilings: Scores | None = None, notes: Sequence[Note] = (),
        recommended: str | None = None, levels: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        """Write what is computed, and mark the bench as finished.

        notes    more of them;   recommended   what scores call the system that is to be taken
        levels   of load, as gates read them
        Raises   OutputError where it cannot be written.
        """
        self._notes += notes
        write_text(self.path / SCORES, as_json(scores))
        if ceilings is not None:
            write_text(self.path / CEILINGS, as_json(ceilings))
        if levels is not None:
            write_json(self.path / LEVELS, levels)
        # A clock that was put back in between must not make a bench end before it began.
        finished = {"recommended": recommended, "finished": max(timestamp(), self._started)}
        write_bench_manifest(self.path, self._manifest() | finished)

    def _config_json(self) -> dict[str, Any]:
        """Prices are written out, as those that are shipped change with time."""
        return {**self._config.resolved(), "prices": stored_prices(self._config)}

    def _manifest(self) -> dict[str, Any]:
        return {
            "name": self._config.name, "kind": self._kind, "steelyard": __version__,
            # Systems under load are held against none of them.
            **({"base": self._config.base_name} if self._kind == "rerank" else {}),
            "blocks": self._digests,
            "other_blocks": {name: digest for name, digest in self._recorded.items() if name not in self._digests},
            "notes": [note.as_json() for note in self._notes],
            "machine": dict(machine()), "machines": self._measured_on, "python": platform.python_version(),
            "libraries": loaded_versions(LIBRARIES), "computing": computing(),
            "started": self._started, "finished": None,
        }  # fmt: skip


def refuse_other_folder(path: Path) -> None:
    """Refuse a folder that holds other things than a bench.

    Raises   InputError; OutputError where the path is no folder.
    """
    names = visible_entries(path, wanted="hold a bench")
    if names and read_bench_manifest(path) is None:
        what = "something else under that name" if MANIFEST in names else f"other things ({names[0]})"
        raise InputError(f"{path}: holds {what}, but no bench; choose a folder of its own")
