"""The text that a reader sees on an HTML page."""

from __future__ import annotations

import re
from html.parser import HTMLParser

_DROPPED = frozenset({"script", "style", "template", "noscript", "iframe"})
_SPACED = frozenset({"p", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "pre", "table", "title"})
_OTHER_BLOCKS = (
    "address article aside body caption center dd details dialog dir div dl dt fieldset figcaption figure footer form "
    "head header hgroup hr html legend li main menu nav ol optgroup option search section select summary tbody tfoot "
    "thead tr ul"
)
_BLOCKS = _SPACED.union(_OTHER_BLOCKS.split())
_SPACES = re.compile(r"[ \t\n\f\r]+")


def visible_text(html: str) -> str:
    """The title and the text of a page, laid out as plain text.

    An empty line separates paragraphs, headings, tables and quotations, a line end other blocks and <br>, a tab the
    cells of a row.  White space is folded as a browser does it, except in <pre>; a no-break space is no white space
    there.  Scripts, styles, comments and what is shown only without scripts are left out; style sheets are not applied.
    Broken markup is read as far as it goes.

    >>> visible_text("<title>Prices</title><p>Tea &amp; <b>cake</b>:<br>4 &euro;</p><script>x()</script>")
    'Prices\\n\\nTea & cake:\\n4 €'
    """
    page = _Page()
    page.feed(html.replace("\r\n", "\n").replace("\r", "\n"))
    page.close()
    return "".join(page.parts)


class _Page(HTMLParser):
    """Collects text; what separates two pieces is decided when the second one comes, so none trails."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self._dropped: list[str] = []
        self._pre = 0
        self._after_pre = False
        self._breaks = 0
        self._line_ends = 0
        self._space = False
        self._cell = False
        self._tab = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._after_pre = False
        if self._dropped:
            if tag == self._dropped[-1]:
                self._dropped.append(tag)
        elif tag in _DROPPED:
            self._dropped.append(tag)
        elif tag == "br":
            self._line_ends += 1
        elif tag in ("td", "th"):
            self._tab, self._cell = self._cell, True
        else:
            self._block(tag)
            if tag == "pre":
                self._pre += 1
                self._after_pre = True

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        # The slash of <div/> means nothing in HTML, but no page leaves a script open that way on purpose.
        if tag not in _DROPPED:
            self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        if self._dropped:
            if tag == self._dropped[-1]:
                self._dropped.pop()
            return
        self._block(tag)
        if tag == "pre" and self._pre:
            self._pre -= 1

    def _block(self, tag: str) -> None:
        if tag in _BLOCKS:
            self._breaks = max(self._breaks, 2 if tag in _SPACED else 1)
            self._cell = self._tab = False

    def handle_data(self, data: str) -> None:
        if self._dropped:
            return
        if self._pre:
            # Browsers drop a line end that directly follows <pre>.
            data = data.removeprefix("\n") if self._after_pre else data
            self._after_pre = False
            if data:
                self._put(data)
            return
        folded = _SPACES.sub(" ", data)
        self._space |= folded.startswith(" ")
        words = folded.strip(" ")
        if words:
            self._put(words)
            self._space = folded.endswith(" ")

    def _put(self, text: str) -> None:
        n_breaks = max(self._breaks, self._line_ends)
        if not self.parts:
            separator = ""
        elif n_breaks:
            separator = "\n" * n_breaks
        elif self._tab:
            separator = "\t"
        else:
            separator = " " * self._space
        self.parts += (separator, text)
        self._breaks = self._line_ends = 0
        self._space = self._tab = False

    def parse_marked_section(self, i: int, report: bool = True) -> int:
        """Take `<![...>` for a comment, as the HTML standard does; the parent fails on unknown ones."""
        return self.parse_bogus_comment(i)
