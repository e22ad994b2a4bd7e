"""20 answers to questions on a course in Chinese, judged by words, beside what people say of each sentence.

python examples/zh_course/run.py
"""

import json
from pathlib import Path

import polars as pl

import steelyard as sy

HERE = Path(__file__).resolve().parent
SIGNS = {True: "✓", False: "✗"}


def labels() -> list[dict[str, object]]:
    """What people say: query_id, words of the sentence, and whether the chunks support it."""
    return [json.loads(line) for line in (HERE / "labels.jsonl").read_text(encoding="utf-8").splitlines()]


def sentence(units: pl.DataFrame, label: dict[str, object]) -> dict[str, object]:
    """The sentence, or item of a list, that a label is about."""
    of_question = units.filter(pl.col("query_id") == label["query_id"], pl.col("no_claim") == "")
    return of_question.filter(pl.col("text").str.contains(str(label["sentence"]), literal=True)).row(0, named=True)


def main() -> None:
    """Judge the answers, and print what people and the judge say of each sentence."""
    outputs = HERE / "outputs.jsonl"
    verdicts = sy.judge(outputs, outputs, judge="lexical", save=False)
    print("people judge")
    n_right = 0
    for label in labels():
        unit = sentence(verdicts.units, label)
        supported = unit["verdict"] == "supported"
        n_right += supported == label["supported"]
        mark = "" if supported == label["supported"] else "  ←"
        lead = f"（{unit['lead']}）" if unit["lead"] else ""
        print(f"  {SIGNS[bool(label['supported'])]}     {SIGNS[supported]}    {lead}{unit['text']}{mark}")
    print(f"{n_right} of {len(labels())} sentences as people say")
    abstained = verdicts.answers.filter(pl.col("state") == "abstained")["query_id"].to_list()
    print(f"no answer: {', '.join(abstained)}")


if __name__ == "__main__":
    main()
