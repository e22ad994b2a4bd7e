"""The one comment of a pull request, with a code host on loopback."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from steelyard.base.errors import InputError, StageError
from steelyard.services.pull_requests import comment
from tests.cli.command import steelyard
from tests.services.code_host import OWN, CodeHost, code_host

pytest.importorskip("httpx2")
MARKER = "<!-- steelyard: gate -->\n"


@pytest.fixture
def host() -> Iterator[CodeHost]:
    with code_host() as running:
        yield running


@pytest.fixture(params=["github", "gitlab"])
def job(request: pytest.FixtureRequest, host: CodeHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A job of the request 5, by its service."""
    event = tmp_path / "event.json"
    event.write_text(json.dumps({"pull_request": {"number": 5, "title": "$(touch hacked) `touch hacked`"}}))
    jobs = {
        "github": {"GITHUB_ACTIONS": "true", "GITHUB_API_URL": host.url, "GITHUB_REPOSITORY": "o/r",
                   "GITHUB_EVENT_PATH": str(event), "GITHUB_TOKEN": "secret-of-github"},
        "gitlab": {"GITLAB_CI": "true", "CI_API_V4_URL": host.url, "CI_PROJECT_ID": "3", "CI_MERGE_REQUEST_IID": "5",
                   "GITLAB_TOKEN": "secret-of-gitlab"},
    }  # fmt: skip
    for name in {name for variables in jobs.values() for name in variables}:
        monkeypatch.delenv(name, raising=False)
    for name, value in jobs[request.param].items():
        monkeypatch.setenv(name, value)
    return str(request.param)


def test_it_is_written_once_and_then_changed(job: str, host: CodeHost) -> None:
    for n in range(101):  # More than a page of others.
        host.add(f"Looks good {n}")
    first = comment("## FAIL")
    assert comment("## pass") == first
    assert comment("## slow", name="latency.p95") != first
    assert [other["body"] for other in host.comments[101:]] == [
        f"{MARKER}## pass", "<!-- steelyard: latency.p95 -->\n## slow"
    ]  # fmt: skip
    assert host.keys == {"Bearer secret-of-github" if job == "github" else "secret-of-gitlab"}


def test_a_comment_of_a_stranger_is_not_taken_for_it(job: str, host: CodeHost) -> None:
    forged = host.add(f"{MARKER}## pass")
    quoted = host.add(f"> {MARKER}## pass", author=OWN, bot=True)
    comment("## FAIL")
    assert [forged["body"], quoted["body"]] == [f"{MARKER}## pass", f"> {MARKER}## pass"]
    assert host.comments[-1]["body"] == f"{MARKER}## FAIL"


def test_people_are_not_notified_and_long_ones_are_cut(job: str, host: CodeHost) -> None:
    comment("@team ndcg@10 (@me) " + "x" * 70_000)
    (written,) = host.comments
    assert written["body"].startswith(f"{MARKER}@\u200bteam ndcg@10 (@\u200bme) xxx")
    assert len(written["body"]) < 65_536
    assert written["body"].endswith("\n\n…\n")


def test_a_refusal_says_what_to_do_and_no_key(job: str, host: CodeHost) -> None:
    host.refuses = 403
    with pytest.raises(StageError, match=r"pull-requests: write" if job == "github" else "scope api") as refused:
        comment("## FAIL")
    assert "secret" not in str(refused.value)
    assert sum(not call.startswith("GET") for call in host.calls) == 1


def test_a_job_of_no_request_comments_on_nothing(
    job: str, host: CodeHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "event.json").write_text("{}")
    monkeypatch.delenv("CI_MERGE_REQUEST_IID", raising=False)
    (tmp_path / "gate.md").write_text("## pass")
    done = steelyard("comment", "gate.md", "--lang", "en", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, b"This job is of no pull request: nothing to comment on.\n")
    assert host.calls == []


@pytest.mark.parametrize(
    ("unset", "message"),
    [
        (["GITHUB_ACTIONS", "GITLAB_CI"], "works in a job of GitHub Actions or GitLab CI"),
        (["GITHUB_TOKEN", "GITLAB_TOKEN"], "_TOKEN, which is not set"),
        (["GITHUB_REPOSITORY", "CI_PROJECT_ID"], r"(GITHUB_REPOSITORY|CI_PROJECT_ID) is not set"),
    ],
)
def test_what_is_missing_is_named(job: str, unset: list[str], message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in unset:
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(InputError, match=message):
        comment("## pass")


def test_a_name_cannot_end_the_hidden_line(job: str) -> None:
    with pytest.raises(InputError, match="is no name of a comment"):
        comment("## pass", name="x --> <b>")
