"""The signature of a result as a note below its tables."""

from __future__ import annotations

from steelyard.experiment.signature import Signature
from steelyard.report.words import Words


def signature_note(signature: Signature | None, words: Words) -> list[str]:
    """The line by which a result is quoted; nothing for a result that has none."""
    return [] if signature is None else [words("scores.signature", line=signature)]
