"""The seam: any run and a truth in, one Alignment out; no measure ever sees how the run was written."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from steelyard.align.aligned import Aligned
from steelyard.align.dicts import align_rankings
from steelyard.align.rows import align_rows
from steelyard.base.choices import OnDuplicate
from steelyard.base.schema import FrameReader
from steelyard.data.run import Run, StreamedRun
from steelyard.data.truth import Truth
from steelyard.io.objects import RunDict

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


def _align_content(truth: Truth, content: FrameReader | RunDict, on_duplicate: OnDuplicate) -> Aligned:
    if isinstance(content, RunDict):
        return align_rankings(truth, content.rankings, content.name, on_duplicate=on_duplicate)
    return align_rows(truth, content, on_duplicate=on_duplicate)
