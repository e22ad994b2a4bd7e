"""Files are written whole, or not at all."""

import errno
import io
import os
from pathlib import Path

import pytest

from steelyard.base.errors import OutputError
from steelyard.io.write import write_bytes, write_text


@pytest.mark.parametrize("call", ["tempfile.mkstemp", "os.fdopen", "os.chmod", "os.replace"])
@pytest.mark.parametrize(
    ("error", "words"),
    [
        (
            OSError(errno.ENOSPC, "No space left on device"),
            "(No space left on device); make room, or choose another place",
        ),
        (OSError(errno.EROFS, "Read-only file system"), "(Read-only file system); choose another place"),
        (KeyboardInterrupt(), ""),
    ],
)
def test_what_is_there_stays_whatever_refuses(
    call: str, error: BaseException, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "scores.json").write_text("old")

    def refuse(*_: object, **__: object) -> None:
        raise error

    with monkeypatch.context() as patched:
        patched.setattr(call, refuse)
        with pytest.raises((OutputError, KeyboardInterrupt)) as caught:
            write_text(tmp_path / "scores.json", "new")
    assert str(caught.value).endswith(words)
    assert [path.name for path in tmp_path.iterdir()] == ["scores.json"]
    assert (tmp_path / "scores.json").read_text() == "old"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_a_device_that_is_full() -> None:
    with pytest.raises(OutputError, match=r"/dev/full: cannot be written \(No space left on device\); make room"):
        write_bytes("/dev/full", b"new")


def test_what_a_narrow_encoding_lacks_is_written_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii", newline="")
    monkeypatch.setattr("sys.stdout", stream)
    write_text("-", "━━ ─ κ ≥ 0.4–0.5 “a” → b 秤\n")
    stream.flush()
    assert stream.buffer.getvalue() == b'== - kappa >= 0.4-0.5 "a" -> b \\u79e4\n'  # type: ignore[attr-defined]
