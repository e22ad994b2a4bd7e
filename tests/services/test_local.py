"""What identifies a model, and how one that is not on this machine is refused."""

import logging
import shutil
import socket
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from steelyard.base.errors import InputError
from steelyard.base.settings import SettingError
from steelyard.services.models import local
from steelyard.services.models.local import check_model, identity_of, load_model


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A folder as downloaders leave one."""
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text('{"model_type": "bert"}')
    (folder / "model.safetensors").write_bytes(b"0" * 1000)
    return folder


def test_the_identity_follows_the_files_not_the_place(model: Path, tmp_path: Path) -> None:
    copy = tmp_path / "elsewhere"
    shutil.copytree(model, copy)
    assert identity_of(str(copy)) == identity_of(str(model))
    (copy / ".cache").mkdir()
    (copy / ".cache" / "lock").write_text("x")
    assert identity_of(str(copy)) == identity_of(str(model))
    (copy / "config.json").write_text((copy / "config.json").read_text() + " ")
    assert identity_of(str(copy)) != identity_of(str(model))


def test_the_identity_of_great_files_goes_by_size_and_samples(tmp_path: Path) -> None:
    weights = tmp_path / "model.safetensors"
    weights.write_bytes(b"0" * 3_000_000)
    before = identity_of(str(tmp_path))
    weights.write_bytes(b"0" * 3_000_001)
    longer = identity_of(str(tmp_path))
    weights.write_bytes(b"0" * 1_500_000 + b"1" * 1_500_000)
    assert len({before, longer, identity_of(str(tmp_path))}) == 3


def test_the_identity_of_a_name_is_the_name() -> None:
    assert identity_of("owner/name") == "owner/name"


# Loading, by a stand-in of the library.

Load = Callable[..., object]


class Library:
    """What of sentence-transformers and transformers is used; `calls` is how the model was asked for."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, cached: bool = False) -> None:
        self.calls: list[bool] = []
        self.cached, self.error = cached, OSError("We couldn't connect to the hub.\nCheck your connection.")
        models, bars = ModuleType("sentence_transformers"), ModuleType("transformers.utils.logging")
        models.__dict__["CrossEncoder"] = self.load
        self.bars = True
        bars.__dict__.update(
            is_progress_bar_enabled=lambda: self.bars,
            disable_progress_bar=lambda: setattr(self, "bars", False),
            enable_progress_bar=lambda: setattr(self, "bars", True),
        )
        for name in ("transformers", "transformers.utils"):
            monkeypatch.setitem(sys.modules, name, ModuleType(name))
        monkeypatch.setitem(sys.modules, "sentence_transformers", models)
        monkeypatch.setitem(sys.modules, "transformers.utils.logging", bars)
        monkeypatch.setattr(local, "find_spec", lambda name: models)
        for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_ENDPOINT", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
            monkeypatch.delenv(name, raising=False)
            monkeypatch.delenv(name.lower(), raising=False)

    def load(self, name: str, *, local_files_only: bool = False, **_: object) -> object:
        self.calls.append(local_files_only)
        for library in ("huggingface_hub.utils._http", "transformers.modeling_utils", "sentence_transformers.models"):
            logging.getLogger(library).warning("Retrying in 1s [Retry 1/5].")
        warnings.warn("a setting is deprecated", FutureWarning, stacklevel=1)
        if not self.cached:
            raise self.error
        return name

    def fail(self, name: str = "no/such") -> str:
        with pytest.raises(InputError) as raised:
            load_model("CrossEncoder", name, who="the cross-encoder")
        return str(raised.value)


@pytest.fixture
def nobody() -> str:
    """An address on which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return f"http://127.0.0.1:{listener.getsockname()[1]}"


def test_a_model_on_this_machine_needs_no_hub(monkeypatch: pytest.MonkeyPatch, nobody: str) -> None:
    library = Library(monkeypatch, cached=True)
    monkeypatch.setenv("HF_ENDPOINT", nobody)
    assert load_model("CrossEncoder", "owner/name", who="the cross-encoder") == "owner/name"
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert load_model("CrossEncoder", "owner/name", who="the cross-encoder") == "owner/name"
    assert library.calls == [True, True]


def test_the_library_is_not_let_look_for_a_hub_that_cannot_be_reached(
    monkeypatch: pytest.MonkeyPatch, nobody: str
) -> None:
    library = Library(monkeypatch)
    monkeypatch.setenv("HF_ENDPOINT", nobody + "/hub")
    assert library.fail() == (
        f"model no/such cannot be loaded: it is not, or not whole, on this machine, and {nobody}/hub gave no answer "
        "(Connection refused); check its name and the network, or give a folder"
    )
    monkeypatch.setenv("HF_ENDPOINT", "https://no-such-host.invalid")
    assert "and https://no-such-host.invalid gave no answer (host not found: " in library.fail()
    assert library.calls == [True, True]


def test_a_hub_that_can_be_reached_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    library = Library(monkeypatch)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{listener.getsockname()[1]}")
        assert "cannot be loaded: OSError: We couldn't connect to the hub; it is not on this machine" in library.fail()
    assert library.calls == [True, False]


def test_the_proxy_before_the_hub_is_what_must_be_reached(monkeypatch: pytest.MonkeyPatch, nobody: str) -> None:
    library = Library(monkeypatch)
    monkeypatch.setenv("HF_ENDPOINT", "https://no-such-host.invalid")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        for name in ("HTTPS_PROXY", "https_proxy"):
            monkeypatch.setenv(name, f"http://me:sesame@127.0.0.1:{listener.getsockname()[1]}")
        library.fail()
        assert library.calls == [True, False]
    message = library.fail()
    assert "(Connection refused, through the proxy http://127.0.0.1:" in message
    assert "sesame" not in message


def test_a_look_up_without_end_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    library = Library(monkeypatch)
    monkeypatch.setattr(local, "_REACH_S", 0.02)
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: time.sleep(0.2) or [])
    assert "https://huggingface.co gave no answer (Connection timed out)" in library.fail()


@pytest.mark.parametrize("variable", ["HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"])
def test_the_variables_of_the_library_keep_it_off_the_network(monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    library = Library(monkeypatch)
    monkeypatch.setenv(variable, "1")
    assert (
        f"on this machine, and {variable} is set; unset {variable} to download it, or give a folder" in library.fail()
    )
    assert library.calls == [True]


def test_a_model_that_is_here_and_broken_says_so_offline(monkeypatch: pytest.MonkeyPatch, nobody: str) -> None:
    library = Library(monkeypatch)
    library.error: Any = ValueError("unknown architecture")
    monkeypatch.setenv("HF_ENDPOINT", nobody)
    assert "cannot be loaded: ValueError: unknown architecture, and http" in library.fail()


def test_the_libraries_say_nothing(
    monkeypatch: pytest.MonkeyPatch, nobody: str, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    library = Library(monkeypatch)
    monkeypatch.setenv("HF_ENDPOINT", nobody)
    level = logging.getLogger("huggingface_hub").level
    library.fail()
    library.cached = True
    load_model("CrossEncoder", "owner/name", who="the cross-encoder")
    assert capfd.readouterr() == ("", "")
    assert not caplog.records
    assert library.bars
    assert logging.getLogger("huggingface_hub").level == level


@pytest.mark.parametrize(
    "name", ["no such", "a--b/c", "owner/a..b", "-x", "owner/name.git", "模型/秤", "x" * 97, "a,b"]
)
def test_what_can_be_no_name_is_refused_before_anything_is_loaded(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    Library(monkeypatch)
    with pytest.raises(
        SettingError, match="is no folder, and can be no name on the Hugging Face hub; expected owner/name"
    ):
        check_model("judge nli", name)


@pytest.mark.parametrize(
    "name", ["owner/name", "all-MiniLM-L6-v2", "BAAI/bge-reranker-v2-m3", "a", "o_1/n.1-x", "x" * 96]
)
def test_names_of_the_hub_are_taken(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    Library(monkeypatch)
    check_model("judge nli", name)
