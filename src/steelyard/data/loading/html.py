"""The text that a reader sees on an HTML page."""

from __future__ import annotations

import re
from html import unescape

_DROPPED = frozenset({"script", "style", "template", "noscript", "iframe"})
_SPACED = frozenset({"p", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "pre", "table", "title"})
_OTHER_BLOCKS = (
    "address article aside body caption center dd details dialog dir div dl dt fieldset figcaption figure footer form "
    "head header hgroup hr html legend li main menu nav ol optgroup option search section select summary tbody tfoot "
    "thead tr ul"
)
_BLOCKS = _SPACED.union(_OTHER_BLOCKS.split())
_SPACES = re.compile(r"[ \t\n\f\r]+")
_MARKUP = re.compile(r"<(?:(?P<tag>/?[a-zA-Z])|(?P<comment>!--)|/?>|[!?/])")
# Names, values and what is between them, taken without a way back, so that a tag that never ends is read but once.
_TAG = re.compile(
    r"""</?(?P<name>[a-zA-Z][^ \t\n\f/>]*+)
    (?P<attributes>(?:[ \t\n\f/]++ | =[ \t\n\f]*+(?:"[^"]*+"?+ | '[^']*+'?+ | [^ \t\n\f>]*+) | [^ \t\n\f/>=]++)*+)
    (?P<end>>|\Z)""",
    re.VERBOSE,
)
_COMMENT_END = re.compile(r"--!?>")
_RAW_END = {tag: re.compile(rf"</{tag}(?=[ \t\n\f/>])", re.IGNORECASE) for tag in ("script", "style")}
_LONG_REFERENCE = re.compile(r"&#([0-9]{9,}|[xX][0-9a-fA-F]{9,});?")


def visible_text(html: str) -> str:
    """The title and the text of a page, laid out as plain text.

    An empty line separates paragraphs, headings, tables and quotations, a line end other blocks and <br>, a tab the
    cells of a row.  White space is folded as a browser does it, except in <pre>; a no-break space is no white space
    there.  Scripts, styles, comments and what is shown only without scripts are left out; style sheets are not applied.
    Broken markup is read as a browser reads it: what is never closed, be it a tag, a comment or a script, goes to the
    end of the page.  Time grows with the length of the page alone.

    >>> visible_text("<title>Prices</title><p>Tea &amp; <b>cake</b>:<br>4 &euro;</p><script>x()</script>")
    'Prices\\n\\nTea & cake:\\n4 €'
    """
    page = _Page()
    _read(html.replace("\r\n", "\n").replace("\r", "\n"), page)
    return "".join(page.parts)


def _read(html: str, page: _Page) -> None:
    """Hand the tags and texts of a page over, in order."""
    at = 0
    while markup := _MARKUP.search(html, at):
        if markup.start() > at:
            page.text(_characters(html[at : markup.start()]))
        if markup["tag"]:
            at = _read_tag(html, markup.start(), page)
        else:
            # `<!-->` is a whole comment; other declarations, `<?...` and `</...` without a name end at the next `>`.
            end = _COMMENT_END.search(html, markup.start() + 2) if markup["comment"] else None
            close = html.find(">", markup.start() + 1) + 1
            at = (end.end() if end else 0) if markup["comment"] else close
        if not at:
            return
    page.text(_characters(html[at:]))


def _read_tag(html: str, start: int, page: _Page) -> int:
    """Place where the text behind a tag begins, and behind a script; 0 where there is none."""
    tag = _TAG.match(html, start)
    if tag is None or not tag["end"]:
        return 0
    name = tag["name"].lower()
    if html[start + 1] == "/":
        page.end_tag(name)
        return tag.end()
    closes_itself = tag["attributes"].endswith("/") and _ends_with_slash(tag["attributes"])
    page.start_tag(name, closes_itself=closes_itself)
    if name not in _RAW_END or closes_itself:
        return tag.end()
    end = _RAW_END[name].search(html, tag.end())
    return end.start() if end else 0


def _ends_with_slash(attributes: str) -> bool:
    """True if the last slash is one of its own, rather than that of a value without quotes.

    >>> _ends_with_slash(' src="x"/'), _ends_with_slash(" src=x/")
    (True, False)
    """
    last = attributes.rsplit(maxsplit=1)[-1]
    return "=" not in last or last.endswith(('"/', "'/"))


def _characters(text: str) -> str:
    """A text with its character references resolved; one with too many digits is the replacement character."""
    if "&" not in text:
        return text
    return unescape(_LONG_REFERENCE.sub("\ufffd", text))


class _Page:
    """Collects text; what separates two pieces is decided when the second one comes, so none trails."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self._dropped: list[str] = []
        self._pre = 0
        self._after_pre = False
        self._breaks = 0
        self._line_ends = 0
        self._space = False
        self._cell = False
        self._tab = False

    def start_tag(self, tag: str, *, closes_itself: bool) -> None:
        """A tag that opens, or stands alone."""
        if closes_itself and tag in _DROPPED:
            # The slash of <div/> means nothing in HTML, but no page leaves a script open that way on purpose.
            return
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

    def end_tag(self, tag: str) -> None:
        """A tag that closes."""
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

    def text(self, data: str) -> None:
        """Text between two tags."""
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
