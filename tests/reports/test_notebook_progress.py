"""In a notebook, long calls draw how far they are; in a script nothing does."""

import sys
from types import SimpleNamespace

import pytest

import steelyard as sy
from steelyard.base.progress import usual_progress
from steelyard.reports.html import notebook
from tests.reports.kernel import Kernel, kernel

__all__ = ["kernel"]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A clock that a test sets."""
    of = SimpleNamespace(now=100.0)
    monkeypatch.setattr(notebook.time, "monotonic", lambda: of.now)
    monkeypatch.setattr(notebook, "_BARS", {})
    return of


def steps(clock: SimpleNamespace, *, stage: str, seconds: float) -> None:
    """A stage of four steps, each of which takes so long."""
    for done in range(5):
        usual_progress(stage, done, 4)
        clock.now += seconds


@pytest.mark.parametrize(("locale", "text"), [("C", "questions 2/4, about 4 s left"), ("zh_CN", "问题 2/4，约剩 4 秒")])
def test_a_long_call_draws_one_bar_in_place_and_takes_it_away(
    locale: str, text: str, kernel: Kernel, clock: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LC_ALL", locale)
    steps(clock, stage="questions", seconds=2.0)
    ((first, second, third, last),) = kernel.shown
    assert first["text/html"].startswith('<progress value="1" max="4">')
    assert second["text/plain"] == text
    assert second["text/html"] == f'<progress value="2" max="4"></progress> {text}'
    assert third["text/html"].startswith('<progress value="3" max="4">')
    assert last["text/html"] == ""


def test_a_quick_call_draws_nothing(kernel: Kernel, clock: SimpleNamespace) -> None:
    steps(clock, stage="questions", seconds=0.1)
    assert kernel.shown == []


def test_a_bar_is_drawn_four_times_a_second_at_most(kernel: Kernel, clock: SimpleNamespace) -> None:
    for done in range(1000):
        usual_progress("pairs", done, 1001)
        clock.now += 0.01
    assert 25 <= len(kernel.shown[0]) <= 33


def test_a_stage_that_was_interrupted_begins_once_more(kernel: Kernel, clock: SimpleNamespace) -> None:
    usual_progress("questions", 0, 4)
    clock.now += 60
    usual_progress("questions", 3, 4)
    usual_progress("questions", 0, 4)  # The cell runs again.
    clock.now += 1
    usual_progress("questions", 1, 4)
    assert len(kernel.shown) == 1


def test_a_stage_of_somebody_else_cannot_act(kernel: Kernel, clock: SimpleNamespace) -> None:
    steps(clock, stage="<script>", seconds=3.0)
    assert "&lt;script&gt; 1/4" in kernel.shown[0][0]["text/html"]
    assert "<script" not in "".join(content["text/html"] for content in kernel.shown[0])


def test_a_script_sees_nothing(
    clock: SimpleNamespace, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    steps(clock, stage="questions", seconds=10.0)
    assert capfd.readouterr() == ("", "")


def test_ipython_in_a_terminal_is_no_notebook(
    kernel: Kernel, clock: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules["IPython"], "get_ipython", SimpleNamespace)
    steps(clock, stage="questions", seconds=10.0)
    assert kernel.shown == []


def test_calls_draw_without_being_asked(kernel: Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    """What draws is the default of every call that may take long."""
    monkeypatch.setattr(notebook, "_SOON_S", 0.0)
    truth = {f"q{n}": {"d": 1} for n in range(3)}
    sy.evaluate(truth, {name: {q: ["d"] for q in truth} for name in "abc"}, ["mrr"])
    assert kernel.shown[0][0]["text/plain"].startswith("runs 0/3")
    sy.evaluate(truth, {"q0": ["d"]}, ["mrr"], progress=lambda stage, done, total: None)
    assert len(kernel.shown) == 1
