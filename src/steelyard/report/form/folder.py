"""The folder of a form: the page that people open, and the list of what it asks."""

from __future__ import annotations

from pathlib import Path

from steelyard.base.errors import OutputError
from steelyard.base.own_paths import own_file
from steelyard.io.write import write_text
from steelyard.report.form.form import Form
from steelyard.report.form.page import form_html
from steelyard.report.words import Words
from steelyard.review.forms import NAME, ItemsFile

FORM = "form.html"


def check_free(folder: Path) -> None:
    """Raise   OutputError for a folder that holds a form, which people may have open, and for a file; InputError for
    links that lead out of it."""
    if folder.exists() and not folder.is_dir():
        raise OutputError(f"{folder}: is no folder; name one for the form: -o FOLDER")
    for name in (FORM, NAME):
        if own_file(folder, name).exists():
            raise OutputError(
                f"{folder / name}: is there already; choose another folder (-o), and take in what people saved from it "
                "with the items.json beside it"
            )


def write_form(folder: Path, form: Form, items: ItemsFile, words: Words) -> tuple[Path, Path]:
    """Write a form, and the list of what it asks, into a folder, which is made where it is absent.

    Raises   OutputError.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{folder}: cannot be made ({error.strerror or error}); choose another place") from error
    write_text(folder / FORM, form_html(form, words))
    return folder / FORM, items.write(folder)
