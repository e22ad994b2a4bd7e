"""Commands, as examples that are walked through on a terminal run them."""

from __future__ import annotations

import shlex

from steelyard.cli.app import app


def say(text: str) -> None:
    """A line between the commands."""
    print(f"\n# {text}\n")


def steelyard(command: str) -> None:
    """Run a command as a terminal would, and show its exit status where it is not 0."""
    print(f"$ steelyard {command}", flush=True)
    try:
        status = app(shlex.split(command))
    except SystemExit as leaving:
        status = int(leaving.code or 0)
    print(f"[exit status {status}]\n" if status else "")
