"""What tests read of a page."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from typing import Any

VOID = {"meta", "link", "img", "input", "br", "hr"}


class Page(HTMLParser):
    """The elements of a page, with their attributes and the text within scripts.

    every   those of the other language too, which `elements` and `texts` leave out
    """

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.every: list[tuple[str, dict[str, str | None]]] = []
        self.inside: list[str] = []
        self.texts: list[str] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.every.append((tag, dict(attrs)))
        if "template" not in self.inside:
            self.elements.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append((dict(attrs), ""))
        if tag not in VOID:
            self.inside.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.inside.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.inside and self.inside[-1] == "script":
            attributes, text = self.scripts[-1]
            self.scripts[-1] = (attributes, text + data)
        elif "template" not in self.inside and (not self.inside or self.inside[-1] not in ("style", "pre")):
            self.texts.append(data)

    def data(self, id: str) -> Any:
        return json.loads(next(text for attributes, text in self.scripts if attributes.get("id") == id))


def check_nothing_loads(text: str) -> Page:
    """A page, or a piece of one, that asks the network for nothing, and has no attribute that acts."""
    page = Page(text)
    tags = {tag for tag, _ in page.every}
    assert not tags & {"img", "iframe", "object", "embed", "link", "form", "base", "audio", "video"}
    names = {name for _, attributes in page.every for name in attributes}
    assert not [name for name in names if name.startswith("on") or name in ("src", "srcset", "action", "formaction")]
    links = [attributes["href"] or "" for _, attributes in page.every if "href" in attributes]
    assert all(link.startswith("#") for link in links)
    assert not re.search(r"[\x00-\x08\x0b-\x1f\u2028]", text)
    assert not re.search(r"[\x7f\u202e]", re.sub(r'<script type="application/json".*?</script>', "", text, flags=re.S))
    return page


def check_nothing_acts(text: str) -> Page:
    """A page whose only scripts are ours, by their digests, and which asks the network for nothing."""
    page = check_nothing_loads(text)
    codes = [code for attributes, code in page.scripts if attributes.get("type") != "application/json"]
    assert codes
    assert not any("alert(" in code for code in codes)
    policy = next(a["content"] or "" for tag, a in page.elements if tag == "meta" and a.get("http-equiv"))
    digests = (base64.b64encode(hashlib.sha256(code.encode()).digest()).decode() for code in codes)
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    assert policy == (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
    )
    return page
