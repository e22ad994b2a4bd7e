"""Which of a model's labels is which; cases in tests/cases/entailment_labels.jsonl."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from steelyard.base.errors import InputError
from steelyard.services.models.local import label_places

CASES = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "cases" / "entailment_labels.jsonl").read_text("utf-8").splitlines()
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["label"])
def test_labels(case: dict[str, Any]) -> None:
    settings = dict(case["input"])
    labels = settings.pop("labels")
    if isinstance(case["want"], str):
        with pytest.raises(InputError, match=re.escape(case["want"])):
            label_places(labels, **settings)
    else:
        assert list(label_places(labels, **settings)) == case["want"]
