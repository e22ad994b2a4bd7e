"""The chunk stages: chunkers by name, and any object that splits texts taken for one."""

from __future__ import annotations

from steelyard.base.errors import InputError
from steelyard.rag.protocols import Chunker
from steelyard.rag.registry import stage
from steelyard.text.chunks import Recursive, Semantic, Sentences, Splitter, Whole, Windows

stage("chunk", "recursive")(Recursive)
stage("chunk", "sentences")(Sentences)
stage("chunk", "semantic")(Semantic)
stage("chunk", "semantic-text-splitter")(Semantic)
stage("chunk", "whole")(Whole)
stage("chunk", "windows")(Windows)


def as_chunker(obj: object) -> Chunker:
    """A chunker as it is, or a text splitter made into one.

    obj      has `spans(text)`, which gives offsets, or `split_text(text)`, which gives texts
    Raises   InputError for a class in place of an object, and for an object that has neither method.
    """
    if isinstance(obj, type):
        raise InputError(f"chunk: {obj.__name__} is a class; expected an object, so make one: {obj.__name__}(...)")
    if callable(getattr(obj, "spans", None)):
        chunker: Chunker = obj  # type: ignore[assignment]
        return chunker
    if callable(getattr(obj, "split_text", None)):
        return Splitter(obj)
    raise InputError(
        f"chunk: {type(obj).__name__} has neither spans(text), which gives pairs of offsets, nor split_text(text), "
        "which gives texts; add one of them"
    )
