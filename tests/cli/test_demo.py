"""`steelyard demo`: from documents to a comparison."""

import json
import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

import steelyard as sy
from steelyard.cli.calls import Call
from steelyard.cli.pipelines import demo
from steelyard.demo import ANSWERING, ASSISTANT, DATA, MEASURES, MONITORING, Demo, copy_data, demo_text, run_demo
from steelyard.reports.views.view import cell_size
from steelyard.reports.words import read_words
from tests.cli.command import complaint, printed, steelyard
from tests.finished_demo import copy_finished_demo

pytest.importorskip("bm25s", reason="the demo needs the extra `rag`")
pytest.importorskip("sklearn", reason="the demo needs the extra `rag`")
CASES = Path(__file__).parents[1] / "cases" / "demo_answers.jsonl"
FOLDER = "steelyard-demo"
SYSTEMS = ("bm25", "bm25-spaces", "hybrid", "hybrid-rerank")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder of a demo, and what it printed."""
    folder = tmp_path_factory.mktemp("demo")
    done = copy_finished_demo(folder, tmp_path_factory)
    assert (done.returncode, done.stderr) == (0, b"")
    return folder / FOLDER, done.stdout.decode()


@pytest.fixture(scope="module")
def again(made: tuple[Path, str], tmp_path_factory: pytest.TempPathFactory) -> Demo:
    """A second demo by the library, over a folder where a judge of the user's has left verdicts since."""
    folder = shutil.copytree(made[0], tmp_path_factory.mktemp("again") / "demo")
    sy.judge(folder / "pilot.jsonl", folder / "runs" / ANSWERING[0], nothing_supported, save=True)
    return run_demo(copy_data(folder))


@pytest.mark.slow
def test_it_is_read_in_a_screen(made: tuple[Path, str], again: Demo) -> None:
    """Eleven lines are around the text of `demo_text`, and one more where steelyard is not on the path."""
    assert len(made[1].splitlines()) <= 36
    for lang in ("en", "zh"):
        assert len(demo_text(again, read_words(lang), width=80).splitlines()) <= 36 - 12
        narrow = demo_text(again, read_words(lang), width=60).splitlines()
        assert max(map(cell_size, narrow)) <= 60


def test_four_systems_are_compared(made: tuple[Path, str], again: Demo) -> None:
    folder, text = made
    scores = sy.evaluate(
        folder / "questions.jsonl", [folder / "runs" / name for name in SYSTEMS], ["evidence_recall@5"]
    )
    for name, mean in zip(SYSTEMS, scores.means[:, 0].tolist(), strict=True):
        assert any(line.split()[:2] == [name, f"{mean:.4f}"] for line in text.splitlines())
        assert (0.1 < mean < 0.3) if name == "bm25-spaces" else (0.4 < mean < 0.8)
    whole = demo_text(again, read_words("en"), width=80, explain=True)
    assert "Gold: 164 quotes, held by the rule share>=0.5." in whole
    assert "4 of 120 questions are without a relevant document and count 0." in whole


def test_the_pilot_is_the_questions_that_the_invented_lists_answer(tmp_path: Path) -> None:
    folder = copy_data(tmp_path / "demo")
    asked, pilot, *lists = (
        [json.loads(line)["qid"] for line in (folder / name).read_text("utf-8").splitlines()]
        for name in ("questions.jsonl", "pilot.jsonl", "keyword.jsonl", "hybrid.jsonl")
    )
    assert pilot == asked[:40] == lists[1]
    assert set(pilot) - set(lists[0]) == {"zh-20"}


def test_the_reranked_system_answers_with_citations(made: tuple[Path, str]) -> None:
    lines = (made[0] / "runs" / "hybrid-rerank" / "outputs.jsonl").read_text("utf-8").split("\n")
    answers = [json.loads(line)["answer"] for line in lines if line]
    assert len(answers) == 120
    assert sum("#" in answer for answer in answers) > 90


def test_one_difference_is_shown_and_the_others_are_not(made: tuple[Path, str]) -> None:
    folder, _ = made
    runs = [folder / "runs" / name for name in SYSTEMS]
    comparison = sy.compare(
        sy.weigh(folder / "questions.jsonl", runs), measures=MEASURES, baseline="bm25", segments="language"
    )
    assert (comparison.test, comparison.correction, comparison.baseline) == ("t", "holm", "bm25")
    not_shown = "no difference shown"
    by_language = [(None, not_shown, "worse"), ("en", not_shown, not_shown), ("zh", not_shown, "worse")]
    for segment, others, spaces in by_language:
        rows = comparison.frame.filter(measure=MEASURES[0]).rows(named=True)
        verdicts = {row["system"]: row["verdict"] for row in rows if row["segment"] == segment}
        assert verdicts == {"bm25": "baseline", "bm25-spaces": spaces, "hybrid": others, "hybrid-rerank": others}


def test_what_it_says_to_do_next_works(made: tuple[Path, str]) -> None:
    folder, text = made
    shown = [line.partition(" steelyard ")[2] for line in text.splitlines() if " steelyard " in line]
    assert [command.split()[0] for command in shown] == ["compare", "init", "bench", "history"]
    compare, init, bench, history = map(shlex.split, shown)
    assert "not told apart" in printed(*compare, cwd=folder)
    assert "mine/mine.toml" in printed(*init, "--yes", cwd=folder)
    # The page on rerankers runs the bench itself.
    assert "simulated-large" in printed(*bench, "--dry-run", cwd=folder)
    assert "hybrid-rerank +3" in printed(*history, cwd=folder)
    (example,) = [line.partition(" python ")[2] for line in text.splitlines() if " python " in line]
    assert Path(example).parts[-3:] == MONITORING.parts[-3:]  # The demo may have been made at another depth.
    assert set(Path(example).parts[: Path(example).parts.index("examples")]) - {".."} <= set(MONITORING.parts)


def test_what_to_type_is_found_where_steelyard_is_not_on_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    call = Call(lambda folder, progress: None, read_words("en"), "table", None, safe_csv=False, explain=False)
    monkeypatch.setattr("steelyard.demo.demo_text", lambda *demo, **view: "")
    monkeypatch.setattr("steelyard.demo.write_pages", lambda *demo: "")
    for found, there in ((None, True), ("/bin/steelyard", False)):
        monkeypatch.setattr("shutil.which", lambda name, found=found: found)
        demo(call, tmp_path / "demo")
        assert ("export PATH=" in capsys.readouterr().out) == there


def test_it_shows_verdict_loss_and_pages_and_with_v_rating_funnel_and_advice(
    made: tuple[Path, str], again: Demo
) -> None:
    folder, text = made
    for said in (
        "hybrid-rerank, bm25 and hybrid lead and are not told apart (120 questions can show ≥ 0.082); bm25-spaces is",
        "and loses most here: retrieved below k",
        "Careful: A mistake may decide the comparison: Questions without any result (bm25-spaces).",
    ):
        assert said in " ".join(text.split())
    whole = demo_text(again, read_words("en"), explain=True)
    for said in ("In short", "Is the difference real?", "retrieved below k", "Median time of a question: bm25 "):
        assert said in whole
    assert f"charts and every question: {Path(FOLDER) / 'report.html'}; of the answers: " in " ".join(text.split())
    assert (folder / "report.html").stat().st_size > 500_000
    assert not list(folder.glob("*.??.html"))


def test_answers_are_weighed_and_a_sentence_without_support_is_shown(made: tuple[Path, str]) -> None:
    folder, text = made
    lines = [line.split() for line in text.split("40 questions")[1].partition("assistant stands")[0].splitlines()]
    measures = ("faithfulness", "answer_recall")
    scores = sy.evaluate(folder / "pilot.jsonl", [folder / "runs" / name for name in ANSWERING], measures)
    for system, means in zip(scores.systems, scores.means.tolist(), strict=True):
        cells = [cell for line in lines if line[:1] == [system] for cell in line[1::2]]
        assert cells == [f"{mean:.4f}" for mean in means]
    shown = " ".join(text.split())
    assert "The least supported: “in the metal cabinet” (contradicted" in shown
    assert "“Where may batteries be charged, and where not?” Before it: “They must not be charged:”" in shown
    assert f"of the answers: {Path(FOLDER) / 'answers.html'}" in " ".join(text.split())
    page = (folder / "answers.html").read_text("utf-8")
    assert '"titles":{"en":"hybrid-rerank beats assistant.","zh":"hybrid-rerank 优于 assistant。"}' in page


def test_the_judge_finds_the_faults_that_were_put_in(made: tuple[Path, str]) -> None:
    verdicts = sy.judge(made[0] / "pilot.jsonl", made[0] / "runs" / ASSISTANT, save=False)
    cases = [json.loads(line) for line in CASES.read_text("utf-8").splitlines()]
    truth = {(case["qid"], case["sentence"]): case["truth"] for case in cases}
    units = verdicts.units.filter(verdicts.units["no_claim"] == "").rows(named=True)
    labels = {(unit["query_id"], unit["text"]): unit["verdict"] for unit in units}
    assert labels.keys() <= truth.keys()
    supported = [key for key in labels if truth[key] == "supported"]
    faults = [key for key in labels if truth[key] in ("unsupported", "contradicted")]
    assert (len(supported), len(faults)) == (46, 20)
    assert all(labels[key] != "supported" for key in faults)
    assert sum(labels[key] == "supported" for key in supported) >= 40


def nothing_supported(pairs: Sequence[tuple[str, str]]) -> list[float]:
    return [0.0] * len(pairs)


def test_a_second_demo_by_the_library_shows_what_the_command_printed(made: tuple[Path, str], again: Demo) -> None:
    """Whatever verdicts the folder holds: those of the first demo, and others of the user's that were written later."""
    assert demo_text(again, read_words("en"), width=80) in made[1]
    assert [run.name for run in again.runs] == list(SYSTEMS)
    assert again.report.diagnosis.captured
    by_hand = sy.diagnose(sy.weigh(again.folder / "questions.jsonl", [run.path for run in again.runs]))
    assert by_hand.frame.equals(again.report.diagnosis.frame)


@pytest.mark.slow
def test_it_runs_again_in_ascii(made: tuple[Path, str]) -> None:
    folder, text = made
    done = steelyard("demo", cwd=folder.parent, environment={"PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0, done.stderr.decode()
    in_ascii = done.stdout.decode("ascii").splitlines()
    assert len(in_ascii) == len(text.splitlines())
    assert set(in_ascii[4]) == {"-"}
    assert in_ascii[:3] == text.splitlines()[:3]


def test_its_data_are_written_again_and_other_things_are_spared(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    assert "holds other things" in complaint("demo", tmp_path)
    folder = copy_data(tmp_path / "demo")
    (folder / "mine.txt").write_text("mine")
    (folder / "bm25.toml").write_text("k = 3")
    assert (copy_data(folder) / "bm25.toml").read_text("utf-8") == (DATA / "bm25.toml").read_text("utf-8")
    assert (folder / "mine.txt").read_text() == "mine"
