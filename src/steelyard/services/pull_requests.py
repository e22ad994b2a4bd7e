"""The one comment of a pull request (GitHub) or merge request (GitLab) that says how a gate decided.

The environment of a CI job says which request that is, where its service answers, and what its key is. Sources:
GitHub's REST API, "Issue comments"; GitLab's REST API, "Notes" of merge requests; the predefined variables of both.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from steelyard.base.errors import InputError
from steelyard.services.addresses import checked_url, secret_from
from steelyard.services.http.client import Patience, Service

_LONGEST = 60_000
"""Characters of a comment; GitHub takes 65,536."""
_A_PAGE, _PAGES = 100, 50
_INSIDERS = {"OWNER", "MEMBER", "COLLABORATOR"}
_KEY_HINT = {
    "github": "let the job write pull requests (permissions: pull-requests: write); jobs of forks cannot",
    "gitlab": "give GITLAB_TOKEN a project access token with the scope api",
}
_NAME = re.compile(r"[\w.-]{1,60}", re.ASCII)
_MENTION, _SILENT = re.compile(r"(?<!\w)@(?=\w)"), "@\u200b"


class _Host(NamedTuple):
    """A service that has a request to comment on.

    kind       github or gitlab
    address    where its comments are listed and added
    changes    where one comment is changed, in front of its number
    headers    with the key
    change     the method that changes one
    """

    kind: str
    address: str
    changes: str
    headers: dict[str, str]
    change: str

    def ask(self, method: str, address: str, **options: Any) -> Any:
        """The decoded answer; what writes is sent once, as an answer may be lost where it was done."""
        patience = Patience(timeout_s=30, attempts=3 if method == "GET" else 1)
        service = Service("comment", address, patience, headers=self.headers, key_hint=_KEY_HINT[self.kind])
        try:
            return service.request(method, **options)
        finally:
            service.close()


def comment(text: str, *, name: str = "gate") -> str | None:
    """Write the one comment of the pull request of this CI job, in the place of that of an earlier job.

    text       Markdown; behind 60,000 characters it is cut, and names of people in it are not notified
    name       of the comment where a request has several, of letters, digits, ".", "_" and "-"
    Returns    the address of the comment, or None where the job is of no pull request. It is known by a hidden first
               line, and by its author: on GitHub a bot or someone who may write to the repository, on GitLab the owner
               of the key.
    Raises     InputError for a name with other characters, outside a job of GitHub Actions or GitLab CI, and where
               GITHUB_TOKEN or GITLAB_TOKEN is not set; StageError where the service refuses or does not answer.
    """
    if not _NAME.fullmatch(name):
        raise InputError(f"{name!r} is no name of a comment; expected up to 60 letters, digits, '.', '_' and '-'")
    host = _host()
    if host is None:
        return None
    marker = f"<!-- steelyard: {name} -->"
    cut = "" if len(text) <= _LONGEST else "\n\n…\n"
    body = {"body": f"{marker}\n{_MENTION.sub(_SILENT, text[:_LONGEST])}{cut}"}
    earlier = next((other for other in _own(host) if str(other.get("body", "")).startswith(marker)), None)
    if earlier is None:
        written = host.ask("POST", host.address, body=body)
    else:
        written = host.ask(host.change, f"{host.changes}/{int(earlier['id'])}", body=body)
    return str(written.get("html_url") or f"{os.environ.get('CI_MERGE_REQUEST_PROJECT_URL', '')}#note_{written['id']}")


def _host() -> _Host | None:
    """The service of the request of this job; None where the job is of none."""
    if os.environ.get("GITHUB_ACTIONS") == "true":
        return _github()
    if os.environ.get("GITLAB_CI") == "true":
        return _gitlab()
    raise InputError("comment works in a job of GitHub Actions or GitLab CI, and this is none of both")


def _github() -> _Host | None:
    event = json.loads(Path(_variable("GITHUB_EVENT_PATH")).read_text("utf-8"))
    number = (event.get("pull_request") or {}).get("number")
    if number is None:
        return None
    api = checked_url(os.environ.get("GITHUB_API_URL", "https://api.github.com"), "GITHUB_API_URL")
    issues = f"{api}/repos/{_variable('GITHUB_REPOSITORY')}/issues"
    headers = {
        "Authorization": f"Bearer {secret_from('GITHUB_TOKEN', 'comment')}",
        "Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28",
    }  # fmt: skip
    return _Host("github", f"{issues}/{int(number)}/comments", f"{issues}/comments", headers, "PATCH")


def _gitlab() -> _Host | None:
    number = os.environ.get("CI_MERGE_REQUEST_IID")
    if number is None:
        return None
    api = checked_url(_variable("CI_API_V4_URL"), "CI_API_V4_URL")
    notes = f"{api}/projects/{int(_variable('CI_PROJECT_ID'))}/merge_requests/{int(number)}/notes"
    return _Host("gitlab", notes, notes, {"PRIVATE-TOKEN": secret_from("GITLAB_TOKEN", "comment")}, "PUT")


def _variable(name: str) -> str:
    if not (value := os.environ.get(name)):
        raise InputError(f"comment: the environment variable {name} is not set, as it is in a job of CI")
    return value


def _own(host: _Host) -> Iterator[dict[str, Any]]:
    """The comments of the request, oldest first, by those who may have written ours."""
    query = {"per_page": _A_PAGE} | ({"sort": "asc", "order_by": "created_at"} if host.kind == "gitlab" else {})
    own = host.ask("GET", f"{_variable('CI_API_V4_URL')}/user")["id"] if host.kind == "gitlab" else None
    for page in range(1, _PAGES + 1):
        comments = host.ask("GET", host.address, query=query | {"page": page})
        for other in comments:
            if own is not None:
                trusted = other["author"]["id"] == own
            else:
                trusted = other["user"]["type"] == "Bot" or other["author_association"] in _INSIDERS
            if trusted:
                yield other
        if len(comments) < _A_PAGE:
            return
