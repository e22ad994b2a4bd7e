"""Files of verdicts, and what labels of people correct: figures beside those of before."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.answers_speed import file_seconds, make
from benchmarks.judged.values import Value
from benchmarks.simulated.drift import CALIBRATED, held
from benchmarks.simulated.label_plans import SETTINGS, outcome
from benchmarks.simulated.labels import PARTS, part_coverage

import steelyard as sy

_QUESTIONS, _DRAWS = 2_000, 300
_WRITTEN, _READ = 2_130, 2_380
"""Questions a second of a processor, of 10,000, on commit 2db421b5."""
_NEAR = 0.15
_COVERS, _CHANCE = 0.93, 0.02
"""Of 95% intervals; how much less some setting may have by chance, of so many draws."""


def label_values() -> Iterator[Value]:
    """Speed of files; coverage of intervals, the least of all settings; and how well plans of labels hold."""
    questions, outputs = make(_QUESTIONS)
    written, read = file_seconds(sy.judge(questions, outputs, judge="lexical"))
    on = f"{_QUESTIONS} questions, 10 chunks, 5 sentences"
    yield Value("questions a second, verdicts written", on, _QUESTIONS / written, least=10_000, earlier=_WRITTEN)
    yield Value("questions a second, verdicts read", on, _QUESTIONS / read, least=10_000, earlier=_READ)
    parts = [part_coverage(setting, _DRAWS) for setting in PARTS]
    yield Value(
        "least coverage, mean of a part of the questions", f"{len(PARTS)} settings, 20 labels in the part at least",
        min(own.corrected for own in parts), least=_COVERS - _CHANCE, earlier=min(own.judge for own in parts),
    )  # fmt: skip
    differences = [held(setting, _DRAWS) for setting in CALIBRATED]
    yield Value(
        "least coverage, difference by two versions of a judge", f"{len(CALIBRATED)} settings, labels and anchors",
        min(own[2] for own in differences), least=_COVERS - _CHANCE, earlier=min(own[1] for own in differences),
    )  # fmt: skip
    plans = [outcome(setting, _DRAWS // 3).width / setting.width for setting in SETTINGS]
    near = sum(abs(ratio - 1) <= _NEAR for ratio in plans) / len(plans)
    yield Value("plans of labels that are within 15% of the width", f"{len(plans)} settings", near, least=1.0)
