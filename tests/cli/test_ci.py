"""The GitHub action and the GitLab template, step by step in a shell, on a repository with three commits."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

from steelyard.cli.init import starter_files
from tests.cli.ci_job import ACTION, ROOT, Runner, commands_in_this_process, run_action, run_template
from tests.services.code_host import CodeHost, code_host

pytest.importorskip("httpx2", reason="the comment needs the extra endpoints")
pytest.importorskip("sqlalchemy", reason="the store needs the extra store")
pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

SCRIPT = ROOT / "src" / "steelyard" / "cli" / "starters" / "gate.sh"
QUESTIONS = range(60)
HOSTILE = "$(touch hacked)`touch hacked`;touch hacked"
"""What a branch, a title or a file may be called."""


def ranking(question: int, rank: int) -> list[dict[str, str]]:
    """Six documents, of which the gold one has this rank."""
    others = [{"id": f"d{question}-{n}"} for n in range(5)]
    return [*others[: rank - 1], {"id": f"d{question}"}, *others[rank - 1 :]]


RANKS = {
    "good": [2 if question % 6 == 0 else 1 for question in QUESTIONS],
    "noise": [2 if question % 6 == 1 else 1 for question in QUESTIONS],
    "broken": [5 for question in QUESTIONS],
}


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository whose branches are three retrievers, each with its results."""
    folder = tmp_path_factory.mktemp("repository")

    def git(*words: str) -> None:
        identity = {"GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@b.test", "GIT_COMMITTER_NAME": "A",
                    "GIT_COMMITTER_EMAIL": "a@b.test", "GIT_CONFIG_GLOBAL": os.devnull}  # fmt: skip
        subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, env=os.environ | identity)

    git("init", "--initial-branch", "main")
    questions = [{"qid": f"q{n}", "query": f"Question {n}?", "rel_map": {f"d{n}": 1}} for n in QUESTIONS]
    (folder / "questions.jsonl").write_text("".join(json.dumps(question) + "\n" for question in questions))
    for branch, ranks in RANKS.items():
        outputs = [{"qid": f"q{n}", "retrieved": ranking(n, ranks[n])} for n in QUESTIONS]
        (folder / f"{HOSTILE}.jsonl").write_text("".join(json.dumps(output) + "\n" for output in outputs))
        git("add", ".")
        git("commit", "-m", branch)
        git("branch", branch)
    return folder


@pytest.fixture
def runner(repository: Path, tmp_path: Path) -> Runner:
    subprocess.run(["git", "clone", "-q", repository, tmp_path / "checkout"], check=True)
    (tmp_path / "kept").mkdir()
    return Runner(tmp_path / "checkout", tmp_path / "kept")


@pytest.fixture
def quick(runner: Runner) -> Iterator[Runner]:
    with commands_in_this_process(runner):
        yield runner


@pytest.fixture
def host() -> Iterator[CodeHost]:
    with code_host() as running:
        yield running


def check_out(runner: Runner, branch: str) -> None:
    """The checkout of a job, which starts without files of others."""
    shutil.rmtree(runner.checkout / "steelyard-ci", ignore_errors=True)
    subprocess.run(["git", "checkout", "-q", f"origin/{branch}"], cwd=runner.checkout, check=True)


INPUTS = {
    "truth": "questions.jsonl", "runs": f"{HOSTILE}.jsonl", "measures": "ndcg@10 mrr", "margin": "0.1",
    "options": "--alarms '1 in 200'", "install": "none",
}  # fmt: skip
MAIN = {"event_name": "push", "ref_name": "main", "actor": "ann", "event": {"repository": {"default_branch": "main"}}}
REQUEST = {
    "event_name": "pull_request", "ref_name": HOSTILE, "actor": HOSTILE,
    "event": {"repository": {"default_branch": "main"}, "pull_request": {"number": 5, "title": HOSTILE}},
}  # fmt: skip


def test_the_action_stops_a_broken_retriever_and_no_noise(quick: Runner, host: CodeHost) -> None:
    quick.environment["GITHUB_API_URL"] = host.url
    check_out(quick, "good")
    first = run_action(quick, INPUTS | {"comment": "false"}, MAIN)
    assert first.passed, first.log
    assert first.outputs["outcome"] == "pass"
    assert first.summary.endswith("From now on, this run is the accepted baseline.\n")
    outcomes = {}
    for branch in ("broken", "noise"):
        check_out(quick, branch)
        done = run_action(quick, INPUTS, REQUEST)
        outcomes[branch] = done.passed, done.outputs["outcome"]
        [comment] = host.comments
        assert ("Steelyard gate: FAIL" in comment["body"]) == (branch == "broken")
        assert comment["body"].endswith(done.summary)
        suites = ElementTree.parse(quick.checkout / done.outputs["junit"]).getroot()
        assert (suites.get("tests"), suites.get("failures")) == ("2", "2" if branch == "broken" else "0")
        assert "secret-of-github" not in done.log
    assert outcomes == {"broken": (False, "fail"), "noise": (True, "pass")}
    assert len(list(quick.kept.glob("steelyard-gate-*"))) == 1  # Jobs of requests leave the store as it is.
    assert not list(quick.checkout.parent.rglob("hacked"))
    assert host.keys == {"Bearer secret-of-github"}


STUBS = {
    "steelyard": """#!/bin/bash
printf '<%s>' "$@" >>calls; echo >>calls
if [[ $1 == gate ]]; then
  echo "what went wrong" >&2
  for ((n = 1; n < $#; n++)); do if [[ ${!n} == --summary ]]; then m=$((n + 1)); cat written >"${!m}"; fi; done
  exit "$(<status)"
fi
""",
    "python": "#!/bin/bash\necho $(<none)\n",
}


@pytest.mark.parametrize(
    ("status", "variables", "want"),
    [
        ("0", {}, ("pass", 0)),
        ("1", {}, ("fail", 1)),
        ("3", {}, ("insufficient", 3)),
        ("3", {"STEELYARD_INSUFFICIENT": "pass"}, ("insufficient", 0)),
        ("1", {"STEELYARD_INSUFFICIENT": "pass"}, ("fail", 1)),
        ("2", {}, ("error", 2)),
        ("1", {"written": ""}, ("error", 2)),
        ("0", {"none": "true"}, ("error", 2)),
        ("0", {"STEELYARD_OPTIONS": "'no end"}, ("error", 2)),
        ("0", {"none": "true", "STEELYARD_ACCEPT": "first"}, ("pass", 0)),
    ],
)
def test_how_the_script_ends(status: str, variables: dict[str, str], want: tuple[str, int], tmp_path: Path) -> None:
    folder = tmp_path / "checkout"
    for name, text in STUBS.items():
        stub = tmp_path / "kept" / "bin" / name
        stub.parent.mkdir(parents=True, exist_ok=True)
        stub.write_text(text)
        stub.chmod(0o755)
    folder.mkdir()
    for name, text in {"status": status, "written": "## Summary\n", "none": "false", **variables}.items():
        (folder / name).write_text(text)
    given = {"STEELYARD_TRUTH": "q.jsonl", "STEELYARD_STORE": "own.db"} | variables
    done = Runner(folder, tmp_path / "kept").shell(f"bash {SCRIPT}", given)
    summary = (folder / "steelyard-ci" / "gate.md").read_text()
    assert ((folder / "steelyard-ci" / "outcome").read_text().strip(), done.returncode) == want, done.stderr
    assert summary.startswith(
        "## Steelyard gate: error\n\n    " if want == ("error", 2) and status != "2" else "## Summary"
    )
    assert (folder / "steelyard-ci" / ".gitignore").read_text() == "*\n"


def test_words_of_settings_stay_as_they_are(tmp_path: Path) -> None:
    test_how_the_script_ends("0", {
        "STEELYARD_RUNS": f"{HOSTILE}.jsonl\ntwo words.jsonl\n\n*\n", "STEELYARD_MEASURES": "ndcg@10  mrr\n",
        "STEELYARD_OPTIONS": "--level 'my level' --no-* $HOME \\\"", "STEELYARD_PROFILE": "my gate.toml",
        "STEELYARD_ACCEPT": "true", "STEELYARD_WHY": HOSTILE, "STEELYARD_WHO": "--help",
    }, ("pass", 0), tmp_path)  # fmt: skip
    measuring = "<--profile><my gate.toml><--measure><ndcg@10><--measure><mrr>"
    runs = f"<q.jsonl><{HOSTILE}.jsonl><two words.jsonl><*>"
    assert (tmp_path / "checkout" / "calls").read_text().splitlines() == [
        f"<evaluate>{runs}{measuring}",
        f"<history><accept><latest><--who><--help><--why><{HOSTILE}>",
        f'<gate>{runs}{measuring}<--level><my level><--no-*><$HOME><"><--baseline><store:accepted>'
        "<--junit><steelyard-ci/gate.xml><--summary><steelyard-ci/gate.md>",
    ]


@pytest.mark.parametrize(("install", "package"), [("", "/an action[rag,endpoints,postgres]"), ("a; b", "a; b")])
def test_the_action_installs_its_own_version(install: str, package: str, tmp_path: Path) -> None:
    stub = tmp_path / "bin" / "python"
    stub.parent.mkdir()
    stub.write_text("#!/bin/bash\nprintf '<%s>' \"$@\"\n")
    stub.chmod(0o755)
    [step] = [step for step in ACTION["runs"]["steps"] if step["name"] == "Install"]
    done = Runner(tmp_path, tmp_path).shell(step["run"], {"INSTALL": install, "GITHUB_ACTION_PATH": "/an action"})
    assert done.stdout.endswith(f"<--disable-pip-version-check><{package}>")


@pytest.mark.slow
def test_too_few_data_do_not_pass_unless_they_are_to(quick: Runner) -> None:
    check_out(quick, "good")
    quick.environment["GITHUB_API_URL"] = "http://127.0.0.1:9"  # Nothing answers; a comment is no reason to fail.
    store = {"store": "steelyard-ci/store/own.db"}
    assert run_action(quick, INPUTS | store, MAIN).passed
    shutil.move(quick.checkout / "steelyard-ci/store", quick.kept / "store")
    for insufficient in ("fail", "pass"):
        check_out(quick, "noise")
        shutil.copytree(quick.kept / "store", quick.checkout / "steelyard-ci/store")
        done = run_action(quick, INPUTS | store | {"margin": "0.02", "insufficient": insufficient}, REQUEST)
        assert (done.passed, done.outputs["outcome"]) == (insufficient == "pass", "insufficient")
        assert "could rule out 0.02 in 80 of 100 cases" in done.summary
        assert "::warning::The comment could not be written" in done.log


@pytest.mark.slow
def test_an_artifact_of_the_default_branch_holds_the_store(quick: Runner, host: CodeHost) -> None:
    """`gh` is a stand-in; the expression that it is given runs in jq, on what GitHub answers."""
    if shutil.which("jq") is None:
        pytest.skip("jq is not installed")
    quick.environment["GITHUB_API_URL"] = host.url
    answered, gh = quick.kept / "artifacts.json", quick.kept / "bin" / "gh"
    answered.write_text('{"artifacts": []}')
    asked = "repos/o/r/actions/artifacts?name=steelyard-gate&per_page=100"
    gh.write_text(f'#!/bin/sh\ntest "$2" = "{asked}" && jq -r "$4" {answered}\n')
    gh.chmod(0o755)
    check_out(quick, "good")
    assert run_action(quick, INPUTS | {"store": "artifact"}, MAIN).passed
    of_main = {"id": 42, "head_branch": "main", "repository_id": 1, "head_repository_id": 1}
    forged = [of_main | {"id": 1, "head_repository_id": 2}, of_main | {"id": 2, "head_branch": "patch"}]
    artifacts = [{"expired": False, "workflow_run": run} for run in [*forged, of_main, of_main | {"id": 3}]]
    answered.write_text(json.dumps({"artifacts": [{"expired": True, "workflow_run": of_main | {"id": 4}}, *artifacts]}))
    check_out(quick, "broken")
    assert run_action(quick, INPUTS | {"store": "artifact"}, REQUEST).outputs["outcome"] == "fail"


@pytest.mark.slow
def test_a_person_accepts_what_is_worse(quick: Runner, host: CodeHost) -> None:
    quick.environment["GITHUB_API_URL"] = host.url
    wide = INPUTS | {"margin": "0.4"}
    accepting = wide | {"accept": "true", "why": HOSTILE}
    for branch, inputs, github, passes in [
        ("good", wide, MAIN, True),
        ("broken", accepting, REQUEST, False),
        ("broken", wide, MAIN, False),
        ("broken", accepting, MAIN | {"event_name": "workflow_dispatch"}, True),
        ("broken", wide, MAIN, True),
    ]:  # fmt: skip
        check_out(quick, branch)
        done = run_action(quick, inputs, github)
        assert done.passed == passes, done.log
        assert ("Nothing is accepted" in done.log) == (inputs is accepting and github is REQUEST)
    assert not list(quick.checkout.parent.rglob("hacked"))


@pytest.mark.slow
def test_the_template_does_the_same_in_gitlab(runner: Runner, host: CodeHost) -> None:
    job = yaml.safe_load(starter_files("outputs", "en", "gitlab")[".gitlab-ci.yml"])["steelyard"]
    settings = {f"STEELYARD_{name.upper()}": value for name, value in INPUTS.items()}
    job["variables"] = {
        name: value for name, value in job["variables"].items() if name != "STEELYARD_PROFILE"
    } | settings
    common = {"GITLAB_CI": "true", "CI_API_V4_URL": host.url, "CI_PROJECT_ID": "3", "CI_DEFAULT_BRANCH": "main",
              "GITLAB_TOKEN": "secret-of-gitlab", "GITLAB_USER_LOGIN": "ann"}  # fmt: skip
    request = {"CI_PIPELINE_SOURCE": "merge_request_event", "CI_MERGE_REQUEST_IID": "5", "CI_COMMIT_REF_NAME": HOSTILE}
    for branch, predefined, passes in [
        ("good", {"CI_PIPELINE_SOURCE": "push", "CI_COMMIT_BRANCH": "main"}, True),
        ("broken", request, False), ("noise", request, True),
    ]:  # fmt: skip
        check_out(runner, branch)
        done = run_template(runner, job, common | predefined)
        assert done.passed == passes, done.log
        assert "secret-of-gitlab" not in done.log
        assert [comment["body"].endswith(done.summary) for comment in host.comments] == [True] * (predefined is request)
        assert ElementTree.parse(runner.checkout / job["artifacts"]["reports"]["junit"]).getroot().get("tests") == "2"
    assert not list(runner.checkout.parent.rglob("hacked"))


def test_no_input_or_event_is_part_of_a_command() -> None:
    steps = ACTION["runs"]["steps"]
    assert all("${{" not in step["run"] for step in steps if "run" in step)
    assert all(
        step["shell"] == "bash" and step["run"].startswith("set -euo pipefail\n") for step in steps if "run" in step
    )


def test_every_input_is_used_and_described() -> None:
    text = (ROOT / "action.yml").read_text("utf-8")
    assert {
        name for name in ACTION["inputs"] if f"inputs.{name} " not in text and f"inputs.{name} }}" not in text
    } == set()
    assert all(own["description"] for own in ACTION["inputs"].values())
