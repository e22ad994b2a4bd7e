"""Runs the steps of action.yml and of the GitLab template as their services do, in a shell of this computer.

Steps that use actions of GitHub itself (cache, artifacts) copy folders.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from socketserver import StreamRequestHandler, TCPServer
from typing import Any

import yaml

from tests.cli.command import steelyard

ROOT = Path(__file__).parents[2]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
_EXPRESSION = re.compile(r"\$\{\{(.*?)\}\}", re.S)


@dataclass
class Runner:
    """A machine with a checkout of a repository, and what the service keeps between jobs.

    checkout   the repository;   kept   caches and artifacts;   environment   of all steps
    server     runs `steelyard` for scripts, where it is not a process of its own
    """

    checkout: Path
    kept: Path
    environment: dict[str, str] = field(default_factory=dict)
    server: TCPServer | None = None

    def shell(self, script: str, variables: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
        """Run a script with the variables and nothing else of this process."""
        path = os.pathsep.join([str(self.kept / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]])
        own = {
            "PATH": path,
            "HOME": str(self.kept),
            "LC_ALL": "C.UTF-8",
            "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
        }
        with ThreadPoolExecutor(1) as pool:
            shell = pool.submit(
                subprocess.run, ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script], cwd=self.checkout,
                check=False, env=own | self.environment | dict(variables), capture_output=True, text=True,
            )  # fmt: skip
            while self.server is not None and not shell.done():
                self.server.handle_request()
        return shell.result()


_CLIENT = """#!{python} -SE
import json, os, socket, sys
with socket.create_connection(("127.0.0.1", {port})) as server:
    server.sendall(json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)]).encode())
    server.shutdown(socket.SHUT_WR)
    status, output, errors = json.load(server.makefile())
sys.stdout.write(output)
sys.stderr.write(errors)
sys.exit(status)
"""
_SETTINGS = ("STEELYARD_", "GITHUB_", "GITLAB_", "CI_")


@contextmanager
def commands_in_this_process(runner: Runner) -> Iterator[None]:
    """Scripts of a runner that call `steelyard` have it run here, in the main thread, which spares them imports."""

    class Handler(StreamRequestHandler):
        def handle(self) -> None:
            words, folder, variables = json.loads(self.rfile.read())
            own = {name: value for name, value in variables.items() if name.startswith(_SETTINGS)}
            done = steelyard(*words, cwd=Path(folder), environment=own)
            self.wfile.write(json.dumps([done.returncode, done.stdout.decode(), done.stderr.decode()]).encode())

    with TCPServer(("127.0.0.1", 0), Handler) as server:
        client = runner.kept / "bin" / "steelyard"
        client.parent.mkdir()
        client.write_text(_CLIENT.format(python=sys.executable, port=server.server_address[1]))
        client.chmod(0o755)
        server.timeout, runner.server = 0.01, server
        yield


@dataclass
class Done:
    """What a job left behind: whether it passed, its output, its summary, and the outputs of the action."""

    passed: bool
    log: str
    summary: str
    outputs: Mapping[str, str]


def run_action(runner: Runner, inputs: Mapping[str, str], github: Mapping[str, Any]) -> Done:
    """Run the action with inputs in a workflow with this `github` context.

    github   event_name, ref_name, actor and event, which is the content of the file of the event
    """
    folder = runner.kept / "files"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "event.json").write_text(json.dumps(github["event"]))
    number = str(len(list(runner.kept.glob("*"))))
    context = {
        "inputs": {name: inputs.get(name, str(own.get("default", ""))) for name, own in ACTION["inputs"].items()},
        "github": {"run_id": number, "run_attempt": "1", "token": "secret-of-github", **github}, "steps": {},
    }  # fmt: skip
    context["inputs"]["token"] = "secret-of-github"
    variables = {
        "GITHUB_ACTIONS": "true", "GITHUB_ACTION_PATH": str(ROOT), "GITHUB_REPOSITORY": "o/r",
        "GITHUB_EVENT_PATH": str(folder / "event.json"), "GITHUB_OUTPUT": str(folder / "output"),
        "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
    }  # fmt: skip
    (folder / "summary.md").touch()
    passed, log = True, ""
    for step in ACTION["runs"]["steps"]:
        condition = str(step.get("if", "true")).strip()
        if not (passed or "cancelled()" in condition) or not _value(
            condition.removeprefix("${{").removesuffix("}}"), context
        ):
            continue
        if "uses" in step:
            _keep(runner, step["uses"], {name: _filled(str(value), context) for name, value in step["with"].items()})
            continue
        (folder / "output").write_text("")
        own = {name: _filled(value, context) for name, value in step.get("env", {}).items()}
        done = runner.shell(step["run"], variables | own)
        log += done.stdout + done.stderr
        passed &= done.returncode == 0
        lines = (folder / "output").read_text("utf-8").splitlines()
        context["steps"][step.get("id")] = {"outputs": dict(line.split("=", 1) for line in lines)}
    outputs = {name: _filled(own["value"], context) for name, own in ACTION["outputs"].items()}
    return Done(passed, log, (folder / "summary.md").read_text("utf-8"), outputs)


def run_template(runner: Runner, job: Mapping[str, Any], predefined: Mapping[str, str]) -> Done:
    """Run a job of GitLab CI whose variables are predefined ones too; what it installs is there already."""
    variables = dict(predefined)
    [rule] = [rule for rule in job["rules"] if _holds(rule["if"], variables)]
    variables = variables | job["variables"] | rule.get("variables", {}) | runner.environment
    cache = job["cache"]
    policy = variables[cache["policy"].removeprefix("$")]
    for path in cache["paths"]:
        if (runner.kept / cache["key"] / path).exists():
            shutil.copytree(runner.kept / cache["key"] / path, runner.checkout / path, dirs_exist_ok=True)
    done = runner.shell("\n".join(job["script"]), variables)
    after = runner.shell("\n".join(job["after_script"]), variables)
    for path in cache["paths"] if policy == "pull-push" else []:
        shutil.copytree(runner.checkout / path, runner.kept / cache["key"] / path, dirs_exist_ok=True)
    log = done.stdout + done.stderr + after.stdout + after.stderr
    summary = (runner.checkout / "steelyard-ci" / "gate.md").read_text("utf-8")
    return Done(done.returncode == 0, log, summary, {})


def _holds(rule: str, variables: Mapping[str, str]) -> bool:
    left, right = rule.split(" == ")
    value = variables.get(right[1:]) if right.startswith("$") else right.strip('"')
    return variables.get(left[1:]) == value


def _filled(text: str, context: Mapping[str, Any]) -> str:
    return _EXPRESSION.sub(lambda match: str(_value(match[1], context)), text)


def _value(expression: str, context: Mapping[str, Any]) -> Any:
    """The value of an expression of names, texts, ==, != and &&."""
    if "&&" in expression:
        return all(_value(part, context) for part in expression.split("&&"))
    for sign in ("==", "!="):
        if sign in expression:
            left, right = (_value(part, context) for part in expression.split(sign))
            return (left == right) is (sign == "==")
    name = expression.strip()
    if name in {"true", "!cancelled()"}:
        return True
    if name.startswith("'"):
        return name.strip("'")
    value: Any = context
    for part in name.split("."):
        value = value.get(part, {})
    return value or ""


def _keep(runner: Runner, action: str, settings: Mapping[str, str]) -> None:
    """What GitHub's own actions do with a folder of the checkout."""
    path, name = runner.checkout / settings["path"], settings.get("name") or settings["key"]
    if action.startswith("actions/cache/restore"):
        saved = sorted(runner.kept.glob(f"{settings['restore-keys']}*"), key=lambda one: one.stat().st_mtime_ns)
        if saved:
            shutil.copytree(saved[-1], path, dirs_exist_ok=True)
    elif action.startswith("actions/download-artifact"):
        shutil.copytree(runner.kept / f"{name}.{settings['run-id']}", path, dirs_exist_ok=True)
    elif action.startswith("actions/upload-artifact"):
        shutil.copytree(path, runner.kept / f"{name}.42", dirs_exist_ok=True)
    else:
        assert action.startswith("actions/cache/save"), action
        shutil.copytree(path, runner.kept / name)
