"""How far may a number by the lexical judge be believed? People decide about some sentences, and correct it.

python examples/review/run.py [--output FOLDER]
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from pathlib import Path

from steelyard.demo import copy_data

sys.path.append(str(Path(__file__).resolve().parents[1]))
from terminal import say, steelyard

HERE = Path(__file__).resolve().parent
DATE = "2026-11-22T10:00:00Z"
LEVELS = HERE / "levels.toml"
GATE = "gate runs/assistant --truth pilot.jsonl --profile levels.toml"
REVIEWED = "pilot.jsonl runs/assistant"


def main() -> None:
    """Answers judged, reviewed, corrected, and let through a gate; each step is a command that can be typed."""
    folder = copy_data(arguments().output)
    shutil.copy(LEVELS, folder)
    os.chdir(folder)
    say("A system answers 40 questions, and the lexical judge looks at every sentence.")
    steelyard("run assistant.toml -m mrr@10 -o runs/assistant --overwrite")
    steelyard(f"judge {REVIEWED}")
    say("Is it good enough for a draft? By the judge alone there is too little to say.")
    steelyard(GATE)
    say("40 sentences are drawn, and two people decide about each in a form, each for themselves.")
    steelyard(f"review sample {REVIEWED} -n 40 -o forms")
    decide("forms", "ann")
    decide("forms", "bob")
    steelyard("review import forms/ann.json forms/bob.json --into runs/assistant")
    say("What they disagree on is settled together.")
    steelyard(f"review sample {REVIEWED} --adjudicate -o conflicts")
    decide("conflicts", "adjudication")
    steelyard("review import conflicts/adjudication.json --into runs/assistant")
    say("What that says of the judge, and of the system.")
    steelyard(f"review report {REVIEWED} -v")
    steelyard(f"evaluate {REVIEWED} -m faithfulness")
    say("By the corrected mean, good enough for a draft; to be published, not.")
    steelyard(GATE)
    steelyard(f"{GATE} --level published")
    say("The judge: its threshold by these labels, and what it gets wrong without any.")
    steelyard(f"review calibrate {REVIEWED} -o calibration.json")
    steelyard("selftest --calibration calibration.json")
    say("May it be trusted? These labels are too few to say.")
    steelyard("gate --calibration calibration.json")


def arguments() -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser(description="A judge, reviewed by people.")
    parser.add_argument("--output", type=Path, default=HERE / "review-demo", help="folder for all of it")
    return parser.parse_args()


def decide(folder: str, rater: str) -> None:
    """Save what a person decided in the form of a folder: decisions.jsonl holds what they said of every sentence."""
    prepared = map(json.loads, (HERE / "decisions.jsonl").read_text("utf-8").splitlines())
    rows = {(row["qid"], row["sentence"]): row for row in prepared}
    form = json.loads(Path(folder, "items.json").read_text("utf-8"))
    column = "settled" if rater == "adjudication" else rater
    decisions = []
    for item in form["items"]:
        row = rows[item["query_id"], item["text"]]
        note = row.get("note", "") if rater == "adjudication" else ""
        decisions.append({"item_id": item["item_id"], "label": row[column], "note": note, "date": DATE})
    saved = {
        "format": "steelyard-review", "version": 1, "review_id": form["review_id"], "rater": rater,
        "kind": form["kind"], "decisions": decisions,
    }  # fmt: skip
    Path(folder, f"{rater}.json").write_text(json.dumps(saved, ensure_ascii=False, indent=1), encoding="utf-8")
    print(f"# {rater} decides about {len(decisions)} sentences, and saves {folder}/{rater}.json\n")


if __name__ == "__main__":
    main()
