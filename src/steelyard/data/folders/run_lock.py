"""Who writes a run folder: one process at a time, which a file in it names to all others.

The operating system holds the lock and lets go of it however its process ends; the file says who that is.  Only where a
file system has no locks, or where the lock of another machine may not reach this one, does the file decide.
"""

from __future__ import annotations

import errno
import json
import os
import shlex
import shutil
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from io import FileIO
from pathlib import Path
from typing import Any

from steelyard.base.errors import OutputError, reason_of
from steelyard.base.file_locks import is_at, try_lock
from steelyard.base.machine import timestamp
from steelyard.base.own_paths import own_file
from steelyard.data.folders.manifests import CHUNKS, CONFIG, DOCUMENTS, MANIFEST, OUTPUTS, PARTIAL, read_manifest
from steelyard.services.addresses import words_without_secrets

LOCK = ".lock"
_LONGEST = 1 << 20
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


@dataclass(frozen=True)
class Holder:
    """The process that writes a run folder.

    boot     names the machine and its uptime; "" where the system does not say
    since    when it began, by `timestamp`
    """

    pid: int
    host: str
    boot: str
    since: str
    command: str

    @classmethod
    def current(cls) -> Holder:
        """This process."""
        try:
            boot = _BOOT_ID.read_text().strip()
        except OSError:
            boot = ""
        program = Path(sys.argv[0])
        command = [program.parent.name if program.name == "__main__.py" else program.name, *sys.argv[1:]]
        return cls(os.getpid(), socket.gethostname(), boot, timestamp(), shlex.join(words_without_secrets(command)))

    @classmethod
    def of_json(cls, data: bytes) -> Holder | None:
        """The holder that a file names; None where it names none."""
        try:
            values: Any = json.loads(data)
            return cls(**{name: kind(values[name]) for name, kind in _FIELDS.items()})
        except (ValueError, KeyError, TypeError):
            return None

    def as_json(self) -> bytes:
        """The file that names it."""
        return f"{json.dumps(asdict(self))}\n".encode()

    def is_of_machine(self, other: Holder) -> bool:
        """True if both are, or were, processes of one machine; containers have names of their own, but one boot."""
        return self.host == other.host or (self.boot != "" and self.boot == other.boot)

    def has_ended(self, here: Holder) -> bool:
        """True if it certainly runs no more, as far as `here` can know without a lock."""
        if self.host != here.host:
            return False
        return self.boot != here.boot or not _is_running(self.pid)

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host} (since {self.since}: {self.command})"


_FIELDS: dict[str, type] = {"pid": int, "host": str, "boot": str, "since": str, "command": str}


@contextmanager
def run_lock(folder: Path) -> Iterator[Holder | None]:
    """While this is open, nobody else writes the run of a folder, which is made where it is absent.

    Yields   who held the lock before and ended without giving it back; None in general
    Raises   OutputError, which names the holder, where the folder is being written, or where it cannot be made;
             InputError where the file is a link that leads out of the folder.

    A folder in which no file can be made is not locked: nobody writes it.
    """
    existed, lock = folder.exists(), own_file(folder, LOCK)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        acquired = _acquire(lock)
    except OutputError:
        raise
    except OSError as error:
        if error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS):
            reason = reason_of(error, folder.parent)
            raise OutputError(f"{folder}: cannot be written ({reason}); make room, or choose another folder") from error
        acquired = None
    if acquired is None:
        yield None
        return
    file, earlier = acquired
    try:
        yield earlier
    finally:
        _release(file, lock)
        if not existed:
            with suppress(OSError):
                folder.rmdir()


def _acquire(path: Path) -> tuple[FileIO, Holder | None]:
    """The lock file, locked and with our name in it, and who held it before without giving it back.

    Raises   OutputError where it is held; OSError where no file can be made.
    """
    here, earlier = Holder.current(), None
    while True:
        file = _open(path)
        try:
            is_ours = try_lock(file)
            if is_ours and not is_at(file, path):
                file.close()
                continue
            earlier = _read(file) or earlier
            if is_ours is False or (
                earlier is not None and not (earlier.is_of_machine(here) if bool(is_ours) else earlier.has_ended(here))
            ):
                raise OutputError(_refusal(path, earlier, here))
            if not file.writable():
                path.unlink()
                file.close()
                continue
            # A full disk may refuse the name, but not the lock.
            with suppress(OSError):
                file.truncate(0)
                file.write(here.as_json())
        except BaseException:
            file.close()
            raise
        return file, earlier


def _open(path: Path) -> FileIO:
    """The lock file; that of another user, which cannot be written, can be locked all the same."""
    try:
        return FileIO(path, "a+")
    except PermissionError:
        if not path.exists():
            raise
        return FileIO(path, "r")


def _read(file: FileIO) -> Holder | None:
    file.seek(0)
    return Holder.of_json(file.read(_LONGEST))


def _refusal(path: Path, holder: Holder | None, here: Holder) -> str:
    advice = "wait until it has ended, or choose another folder"
    if holder is None:
        return f"{path.parent}: another process is writing this run; {advice}"
    if holder.has_ended(here):
        advice = f"it has ended, but what it started still holds the folder: end that, or delete {path}"
    elif not holder.is_of_machine(here):
        advice = f"wait until it has ended, or delete {path} if it has; or choose another folder"
    return f"{path.parent}: is being written by {holder}; {advice}"


def _release(file: FileIO, path: Path) -> None:
    """Remove the file and let go of the lock, in this order: whoever waits for it looks whether it is still there."""
    with suppress(OSError):
        if is_at(file, path):
            path.unlink()
    file.close()
    if sys.platform == "win32":
        # What is open there cannot be removed.
        with suppress(OSError):
            path.unlink()


def _is_running(pid: int) -> bool:
    if sys.platform == "win32":
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


NEW = ".new"
_COUNTED = {CHUNKS: "chunks", DOCUMENTS: "documents"}
_PATIENCE_S = 2.0


def _finished_manifest(folder: Path) -> dict[str, Any] | None:
    """That of a run that is to be moved into a folder: it is written when all else is, and the last to go."""
    manifest = read_manifest(own_file(folder, NEW)) if os.path.isdir(folder / NEW) else None
    return manifest if manifest is not None and manifest.get("finished") else None


def is_being_replaced(folder: Path) -> bool:
    """True if a run is about to be moved into the place of the one that a folder holds."""
    return _finished_manifest(folder) is not None


def replace_run(folder: Path) -> None:
    """Move a finished run of the folder `.new` into the place of the one before; the folder's lock is ours.

    The new manifest is moved last, and `.new` holds it until then: whatever interrupts this, a later call completes it.
    Raises   OutputError where files cannot be moved.
    """
    new = folder / NEW
    manifest = _finished_manifest(folder)
    if manifest is None:
        return
    try:
        (folder / PARTIAL).unlink(missing_ok=True)
        for name in (CHUNKS, DOCUMENTS, CONFIG, OUTPUTS):
            if (new / name).exists():
                os.replace(new / name, folder / name)
            elif name in _COUNTED and _COUNTED[name] not in manifest["counts"]:
                (folder / name).unlink(missing_ok=True)
        os.replace(new / MANIFEST, folder / MANIFEST)
    except OSError as error:
        raise OutputError(
            f"{folder}: the new run cannot take the place of the old one ({error.strerror or error}); it is whole in "
            f"{new}, and moved when the same run is started again"
        ) from error
    shutil.rmtree(new, ignore_errors=True)


def complete_replacement(folder: Path) -> None:
    """The same for whoever reads a folder: what a crash interrupted is completed, what another process does awaited.

    Raises   OutputError where it cannot be.
    """
    deadline = time.monotonic() + _PATIENCE_S
    while is_being_replaced(folder):
        try:
            with run_lock(folder):
                replace_run(folder)
        except OutputError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)
