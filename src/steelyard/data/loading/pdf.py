"""The text layer of a PDF, page by page."""

from __future__ import annotations

from typing import Any

from steelyard.base.errors import InputError
from steelyard.base.extras import require
from steelyard.io.source import Source

PAGE_END = "\n\f"
"""What separates two pages: a line end, and the form feed that means a new page."""

_WRONG_PASSWORD = 4  # FPDF_ERR_PASSWORD of PDFium


def read_pdf(source: Source) -> tuple[str, tuple[int, ...]]:
    """Text of all pages, joined by PAGE_END, and the offset at which each page begins.

    Line ends are "\\n"; a hyphen at a line's end stays, with the line end behind it.  A page without text is empty, and
    begins where its neighbour does but for PAGE_END.
    Raises   InputError for a file that is damaged, locked or has no text on any page; MissingExtraError.
    """
    pdfium = require("pypdfium2", extra="pdf", what=f"reading {source.name}")
    try:
        document = pdfium.PdfDocument(source.read())
    except pdfium.PdfiumError as error:
        if error.err_code == _WRONG_PASSWORD:
            raise InputError(f"{source.name}: is locked by a password; save a copy without one") from None
        raise InputError(f"{source.name}: is no PDF that can be read ({error}); is the file complete?") from None
    try:
        pages = [_page_text(pdfium, document, number, source.name) for number in range(len(document))]
    finally:
        document.close()
    if not any(page.strip() for page in pages):
        raise InputError(f"{source.name}: has no text layer ({len(pages)} pages without any text); OCR it first")
    starts, at = [], 0
    for page in pages:
        starts.append(at)
        at += len(page) + len(PAGE_END)
    return PAGE_END.join(pages), tuple(starts)


def _page_text(pdfium: Any, document: Any, number: int, name: str) -> str:
    try:
        page = document[number]
        words = page.get_textpage()
        text: str = words.get_text_range()
        words.close()
        page.close()
    except pdfium.PdfiumError as error:
        raise InputError(f"{name}: page {number + 1} is damaged ({error}); save the file again") from None
    # PDFium writes one of these marks for a hyphen and the line end behind it.
    return text.replace("\r\n", "\n").replace("\ufffe", "-\n").replace("\x02", "-\n")
