"""One process at a time writes a run folder, and says who it is."""

import errno
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from io import FileIO
from pathlib import Path

import pytest

from steelyard.base.errors import OutputError
from steelyard.data.folders import run_lock as locking
from steelyard.data.folders.run_lock import LOCK, Holder, run_lock

HOLDING = """
import sys, time
from pathlib import Path
from steelyard.data.folders.run_lock import run_lock
with run_lock(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


@contextmanager
def another_process(folder: Path) -> Iterator[subprocess.Popen]:
    """A process that holds the lock of a folder until it is killed."""
    with subprocess.Popen([sys.executable, "-c", HOLDING, folder], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        try:
            yield process
        finally:
            process.kill()


def refusal(folder: Path) -> str:
    with pytest.raises(OutputError) as caught, run_lock(folder):
        pass
    return str(caught.value)


def leave(folder: Path, holder: Holder) -> None:
    """The file of a holder that has no lock any more."""
    folder.mkdir(exist_ok=True)
    (folder / LOCK).write_bytes(holder.as_json())


def test_a_folder_is_made_and_nothing_is_left(tmp_path: Path) -> None:
    with run_lock(tmp_path / "runs" / "mine") as earlier:
        assert earlier is None
        assert os.listdir(tmp_path / "runs" / "mine") == [LOCK]
    assert not (tmp_path / "runs" / "mine").exists()
    (tmp_path / "old").mkdir()
    with run_lock(tmp_path / "old"):
        (tmp_path / "old" / "manifest.json").write_text("{}")
    assert os.listdir(tmp_path / "old") == ["manifest.json"]


def test_the_second_is_told_who_holds_it_and_a_dead_one_is_followed(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    with another_process(folder) as process:
        message = refusal(folder)
        facts = json.loads((folder / LOCK).read_bytes())
        assert facts["pid"] == process.pid
        assert message.startswith(f"{folder}: is being written by process {process.pid} on {facts['host']} (since 20")
        assert f" {folder})" in message  # its command
        assert message.endswith("wait until it has ended, or choose another folder")
        process.send_signal(signal.SIGKILL)
        process.wait()
        with run_lock(folder) as earlier:
            assert earlier == Holder(**facts)
            assert json.loads((folder / LOCK).read_bytes())["pid"] == os.getpid()
    assert not (folder / LOCK).exists()


def test_a_thread_does_not_enter_where_another_one_is(tmp_path: Path) -> None:
    with run_lock(tmp_path):
        assert f"process {os.getpid()} on" in refusal(tmp_path)


def test_of_many_one_at_a_time_is_inside(tmp_path: Path) -> None:
    inside, most, entered = 0, 0, 0
    counting = threading.Lock()

    def enter() -> None:
        nonlocal inside, most, entered
        for _ in range(60):
            try:
                with run_lock(tmp_path):
                    with counting:
                        inside += 1
                        most, entered = max(most, inside), entered + 1
                    with counting:
                        inside -= 1
            except OutputError:
                continue

    threads = [threading.Thread(target=enter) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1
    assert entered > 20
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("program", ["/bin/steelyard", "/lib/steelyard/__main__.py"])
def test_passwords_of_the_command_are_not_written(
    program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", [program, "run", "--target", "http://me:secret@host/search"])
    with run_lock(tmp_path):
        written = (tmp_path / LOCK).read_text()
    assert "secret" not in written
    assert "steelyard run --target 'http://***@host/search'" in written


def test_a_machine_whose_lock_may_not_reach_us_is_believed(tmp_path: Path) -> None:
    elsewhere = replace(Holder.current(), host="elsewhere", boot="b")
    leave(tmp_path, elsewhere)
    message = refusal(tmp_path)
    assert "on elsewhere (since" in message
    assert f"or delete {tmp_path / LOCK} if it has" in message
    (tmp_path / LOCK).unlink()
    with run_lock(tmp_path) as earlier:
        assert earlier is None


@pytest.mark.skipif(not Holder.current().boot, reason="this system does not name its boot")
@pytest.mark.parametrize("change", [{"host": "a-container"}, {"boot": "before-the-reboot"}])
def test_containers_and_reboots_of_this_machine_are_followed(change: dict, tmp_path: Path) -> None:
    holder = replace(Holder.current(), **change)
    leave(tmp_path, holder)
    with run_lock(tmp_path) as earlier:
        assert earlier == holder


@pytest.mark.parametrize("text", [b"", b"\0\0", b"[]", b'{"pid": "x"}', b"null"])
def test_a_file_that_names_nobody_is_taken(text: bytes, tmp_path: Path) -> None:
    (tmp_path / LOCK).write_bytes(text)
    with run_lock(tmp_path) as earlier:
        assert earlier is None


def ended() -> int:
    """The number of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_without_locks_the_file_decides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locking, "try_lock", lambda _: None)
    here = Holder.current()
    leave(tmp_path, here)
    assert f"process {os.getpid()} on" in refusal(tmp_path)
    leave(tmp_path, replace(here, host="a-container"))
    assert "on a-container" in refusal(tmp_path)
    for stale in (replace(here, pid=ended()), replace(here, boot="before-the-reboot")):
        leave(tmp_path, stale)
        with run_lock(tmp_path) as earlier:
            assert earlier == stale


def test_what_a_dead_process_started_is_blamed(tmp_path: Path) -> None:
    with another_process(tmp_path):
        leave(tmp_path, replace(Holder.current(), pid=ended()))
        assert "it has ended, but what it started still holds the folder" in refusal(tmp_path)


def test_the_lock_of_another_user_counts_although_it_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def of_another_user(path: Path, mode: str) -> FileIO:
        if mode == "a+" and path.exists():
            raise PermissionError(errno.EACCES, "Permission denied")
        return FileIO(path, mode)

    monkeypatch.setattr(locking, "FileIO", of_another_user)
    with another_process(tmp_path) as process:
        assert f"is being written by process {process.pid} on" in refusal(tmp_path)
        process.kill()
        process.wait()
        with run_lock(tmp_path) as earlier:
            assert earlier is not None
            assert earlier.pid == process.pid
            assert json.loads((tmp_path / LOCK).read_bytes())["pid"] == os.getpid()
    assert os.listdir(tmp_path) == []


def test_a_folder_in_which_nothing_can_be_made_is_not_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def read_only(_: Path) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(locking, "_acquire", read_only)
    with run_lock(tmp_path) as earlier:
        assert earlier is None


def test_a_full_disk_may_refuse_the_name_but_not_the_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: Holder) -> bytes:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Holder, "as_json", full)
    with run_lock(tmp_path):
        assert refusal(tmp_path) == (
            f"{tmp_path}: another process is writing this run; wait until it has ended, or choose another folder"
        )


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert "cannot be written (Not a directory); make room, or choose" in refusal(tmp_path / "file" / "mine")
