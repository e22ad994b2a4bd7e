"""What is damaged."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Target:
    """A file of the folder, and the words of commands that read it."""

    file: str
    commands: tuple[tuple[str, ...], ...]
