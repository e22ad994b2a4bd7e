"""The seam: any run and a truth in, one Alignment out; no measure ever sees how the run was written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from weakref import WeakKeyDictionary

from steelyard.align.aligned import Aligned
from steelyard.align.dicts import align_rankings
from steelyard.align.rows import align_frames, align_rows
from steelyard.base.choices import OnDuplicate
from steelyard.base.schema import FrameReader
from steelyard.data.run import Run, StreamedRun
from steelyard.data.truth import Truth
from steelyard.io.objects import RunDict
from steelyard.io.source import BLOCK_BYTES, ahead
from steelyard.io.trec import TrecFile, read_together

_SMALL_BYTES = BLOCK_BYTES >> 3
"""Files up to here have few batches, whose fixed cost is shared."""

_alignments: WeakKeyDictionary[Run, WeakKeyDictionary[Truth, dict[OnDuplicate, Aligned]]] = WeakKeyDictionary()


def align(truth: Truth, run: Run | StreamedRun, *, on_duplicate: OnDuplicate = "error") -> Aligned:
    """The ranks of the judged documents of a run; computed once for a run in memory and a truth.

    Raises   InputError, DuplicateError, NoCommonQueryError naming the place.
    """
    if isinstance(run, StreamedRun):
        return _align_content(truth, run.content, on_duplicate)
    by_policy = _alignments.setdefault(run, WeakKeyDictionary()).setdefault(truth, {})
    if on_duplicate not in by_policy:
        by_policy[on_duplicate] = _align_content(truth, run.content, on_duplicate)
    return by_policy[on_duplicate]


def align_all(
    truth: Truth, runs: Sequence[Run | StreamedRun], *, on_duplicate: OnDuplicate = "error"
) -> Iterator[Aligned]:
    """What `align` gives for each run, in order; small files are read and aligned many at a time.

    Raises   as `align`
    """
    if len(runs) == 1:
        yield align(truth, runs[0], on_duplicate=on_duplicate)
        return
    for group, aligned in ahead(partial(_align_group, truth), _groups(runs), workers=2):
        yield from aligned or (align(truth, run, on_duplicate=on_duplicate) for run in group)


def _groups(runs: Sequence[Run | StreamedRun]) -> Iterator[list[Run | StreamedRun]]:
    """Runs that follow one another: small files up to the size of a block, anything else by itself."""
    group: list[Run | StreamedRun] = []
    n_bytes = 0
    for run in runs:
        size = _small_size(run)
        if group and (size is None or n_bytes + size > BLOCK_BYTES):
            yield group
            group, n_bytes = [], 0
        if size is None:
            yield [run]
        else:
            group.append(run)
            n_bytes += size
    if group:
        yield group


def _small_size(run: Run | StreamedRun) -> int | None:
    """Bytes of a small TREC file, None for any other run."""
    if not (isinstance(run, StreamedRun) and isinstance(run.content, TrecFile)):
        return None
    size = run.content.source.size
    return size if size is not None and size <= _SMALL_BYTES else None


def _align_group(
    truth: Truth, group: list[Run | StreamedRun]
) -> tuple[list[Run | StreamedRun], list[Aligned] | None]:  # fmt: skip
    """The runs, and how they align where they can be aligned together."""
    files = [run.content for run in group if isinstance(run.content, TrecFile)]
    frames = read_together(files) if len(group) > 1 else None
    return group, None if frames is None else align_frames(truth, *frames)


def _align_content(truth: Truth, content: FrameReader | RunDict, on_duplicate: OnDuplicate) -> Aligned:
    if isinstance(content, RunDict):
        return align_rankings(truth, content.rankings, content.name, on_duplicate=on_duplicate)
    return align_rows(truth, content, on_duplicate=on_duplicate)
