"""Prompts of the judge `llm`: those that come with Steelyard, and a folder of the user's own in their place."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType

from steelyard.base.choices import Language
from steelyard.base.errors import InputError
from steelyard.base.nearest import nearest
from steelyard.base.settings import read_text
from steelyard.services.models.chat import Items, fenced, fill_template

PLACEHOLDERS = (
    "question", "source", "chunks", "references", "first", "second", "answer", "statements", "criteria"
)  # fmt: skip
_PLACEHOLDER = re.compile(r"\{(\w+)\}")
_EXAMPLE = re.compile(r"^(?:Example|例如)[\s\S]*?(?=^[{A-Z只])", re.MULTILINE)


@cache
def _bundled() -> Mapping[str, str]:
    folder = files("steelyard.judges.llm") / "prompts"
    named = {entry.name.removesuffix(".txt"): entry for entry in folder.iterdir() if entry.name.endswith(".txt")}
    return {name: entry.read_text(encoding="utf-8") for name, entry in sorted(named.items())}


@dataclass(frozen=True, eq=False)
class Prompts:
    """Prompts by task and language.

    own   texts in the place of ours, by name and language, such as "verdicts.zh"

    >>> Prompts().text("verdicts", "en").startswith("You check")
    True
    """

    own: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    def text(self, name: str, language: Language) -> str:
        """The prompt of a task, such as "verdicts"."""
        key = f"{name}.{language}"
        return self.own.get(key) or _bundled()[key]

    def digest(self, name: str, language: Language) -> str:
        """SHA-256 of a prompt, for recipes and keys."""
        return "sha256:" + hashlib.sha256(self.text(name, language).encode()).hexdigest()

    def example(self, name: str, language: Language) -> str:
        """The worked example that a prompt shows, which labels of people must not be of; empty where it shows none."""
        match = _EXAMPLE.search(self.text(name, language))
        return match[0].strip() if match else ""

    def messages(
        self,
        name: str,
        language: Language,
        texts: Mapping[str, str | Items],
        own_words: Mapping[str, str] = MappingProxyType({}),
    ) -> list[dict[str, str]]:
        """Messages that ask for a task; each text stands between two lines that no text can hold.

        texts       by placeholder of the prompt; one that has none is left out, and several texts have ids
        own_words   what the prompt says itself, by placeholder; not fenced
        """
        blocks = dict.fromkeys(PLACEHOLDERS, "") | fenced(texts)
        return fill_template(self.text(name, language), {**own_words, **blocks})


BUNDLED = Prompts()


def prompts_in(folder: str | Path | None) -> Prompts:
    """Prompts with those of a folder in the place of ours: files that are called as ours are, such as verdicts.zh.txt.

    Raises   InputError for a folder that is none or holds no prompt, a file of another name, and a prompt that has
             other placeholders than ours, or lacks one of them.
    """
    if folder is None:
        return BUNDLED
    if not Path(folder).is_dir():
        raise InputError(f"{folder}: is no folder; name one with prompts, such as verdicts.zh.txt")
    own = dict(_own(Path(folder)))
    if not own:
        raise InputError(f"{folder}: holds no prompt; copy one of ours and change it, such as verdicts.en.txt")
    return Prompts(MappingProxyType(own))


def _own(folder: Path) -> Iterator[tuple[str, str]]:
    for file in sorted(folder.glob("*.txt")):
        if file.stem not in _bundled():
            raise InputError(f"{file}: no prompt is called so; {nearest(file.stem, _bundled())}")
        text = read_text(file)
        wanted, there = (set(_PLACEHOLDER.findall(prompt)) for prompt in (_bundled()[file.stem], text))
        if lacking := sorted(wanted - there):
            raise InputError(f"{file}: lacks the placeholder {{{lacking[0]}}}; put it where its text belongs")
        if unknown := sorted(there - wanted):
            listed = ", ".join(f"{{{name}}}" for name in sorted(wanted))
            raise InputError(f"{file}: there is no placeholder {{{unknown[0]}}}; this prompt has {listed}")
        yield file.stem, text
