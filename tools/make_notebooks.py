"""Write the example notebooks, in English and Chinese, from the cells below: python tools/make_notebooks.py.

They are stored without outputs.  Outputs would be out of date after the next change, and sites that show notebooks
take style and pictures from them; a test executes the notebooks and looks at what they show.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

TARGET = Path(__file__).parents[1] / "examples" / "notebook"
NAMES = {"en": "first-evaluation.ipynb", "zh": "first-evaluation.zh-CN.ipynb"}

# Text in English and in Chinese, then the code below it: of both, or of each.
STEPS: list[tuple[str, str, str | dict[str, str]]] = [
    (
        "# A first evaluation\n\n"
        "Two search systems answered 40 questions. Which one is better, how sure is that, what is lost, and "
        "may the new "
        "one ship?\n\n"
        'You need `pip install "steelyard[rag,report]"`. Nothing here calls a network. First, copy the '
        "bundled example: "
        "questions with their relevant documents, and the results of two systems.",
        "# 第一次评测\n\n"
        "两个检索系统回答了 40 个问题。哪个更好？把握有多大？问题丢在哪一步？新系统能否上线？\n\n"
        '先安装：`pip install "steelyard[rag,report]"`。全程不联网。首先复制自带的示例：带相关文档标注的问题，'
        "以及两个系统的检索结果。",
        {
            "en": "import steelyard as sy\nfrom steelyard.demo import copy_data\n\n"
            'folder = copy_data("steelyard-demo")\nsorted(path.name for path in folder.iterdir())',
            "zh": 'import os\n\nos.environ["LC_ALL"] = "zh_CN.UTF-8"  # 结果用中文显示\n\n'
            "import steelyard as sy\nfrom steelyard.demo import copy_data\n\n"
            'folder = copy_data("steelyard-demo")\nsorted(path.name for path in folder.iterdir())',
        },
    ),
    (
        "## Evaluate\n\nThe truth comes first, then the runs, then the measures. Paths, dicts and data frames will do.",
        "## 评测\n\n先写标准答案，再写检索结果，最后写指标。路径、字典和数据框都可以。",
        'runs = [folder / "keyword.jsonl", folder / "hybrid.jsonl"]\n'
        'measures = ["ndcg@10", "mrr@10", "recall@5"]\n'
        'scores = sy.evaluate(folder / "pilot.jsonl", runs, measures)\nscores',
    ),
    (
        "## Compare\n\nThe first line is the verdict, taken from a test. The picture shows the difference to "
        "the baseline, "
        "which is the first run, and which true differences fit these questions. What could change the "
        "verdict is in the "
        "line that begins with *Careful*.",
        "## 比较\n\n第一行是检验得出的结论。图中是与基线（第一个检索结果）的差值，以及这些问题所支持的真实差值范围。"
        "可能改变结论的因素写在“注意”一行。",
        "comparison = sy.compare(scores)\ncomparison",
    ),
    (
        "Every result is a data frame too (`.frame`, `.to_pandas()`). These are the questions on which the "
        "new system "
        "gains most:",
        "每个结果也是数据框（`.frame`、`.to_pandas()`）。新系统提升最多的问题：",
        "import polars as pl\n\n"
        'rows = scores.frame.filter(measure="ndcg@10")\n'
        'values = rows.pivot("system", index="query_id", values="value")\n'
        'values.sort(pl.col("hybrid") - pl.col("keyword"), descending=True).head(5)',
    ),
    (
        "## How many questions would it take?\n\nThe scores are the pilot of a plan.",
        "## 需要多少个问题？\n\n现有结果可以作为预实验。",
        'sy.plan(scores, measures="ndcg@10", difference=0.05)',
    ),
    ("## Where is the gold lost?", "## 标准证据丢在哪一步？", "diagnosis = sy.diagnose(scores)\ndiagnosis"),
    (
        "The questions that the new system loses, and where:",
        "新系统丢失的问题，以及丢失的步骤：",
        'lost = diagnosis.frame.filter(pl.col("system") == "hybrid", pl.col("stage") != "found")\n'
        'lost.select("query_id", "stage")',
    ),
    (
        "## May it ship?\n\nA gate asks whether the new system is good enough, and no worse than the old "
        "one. In a script "
        "or in CI, `gate.outcome` decides.",
        "## 能否上线？\n\n门禁检查新系统是否达标，并且不比旧系统差。在脚本或 CI 中由 `gate.outcome` 决定。",
        'gate = sy.gate(scores, profile="production", baseline="keyword", margin=0.02)\ngate',
    ),
    (
        "## Run a pipeline of your own\n\nA call that takes more than two seconds draws a bar below its "
        "cell, and takes it "
        "away when it is done.",
        "## 运行自己的流水线\n\n超过两秒的调用会在单元格下方显示进度条，完成后自动消失。",
        'pipeline = sy.Pipeline.read(folder / "hybrid.toml")\n'
        'questions = folder / "questions.jsonl"\n'
        'run = pipeline.run(questions, folder / "runs" / "hybrid", overwrite=True)\n'
        "sy.evaluate(questions, run.path)",
    ),
    (
        "## Report\n\nOne page with all of it, in English and Chinese, which loads nothing and can be sent to anyone.",
        "## 报告\n\n所有内容合成一个网页，中英文可切换，不加载任何外部资源，可以直接发给别人。",
        'report = sy.report(scores)\nreport.write(folder / "report.html")\nreport',
    ),
    (
        "## With your own data\n\nA truth says which documents are relevant to a question; a run lists what "
        "a system found, "
        "best first.",
        "## 换成自己的数据\n\n标准答案写明每个问题的相关文档，检索结果按从好到差列出系统找到的文档。",
        'truth = {"q1": {"doc a": 1}, "q2": {"doc b": 1, "doc c": 2}}\n'
        'runs = {"mine": {"q1": ["doc x", "doc a"], "q2": ["doc c", "doc b"]}}\n'
        'sy.evaluate(truth, runs, ["mrr", "ndcg@10"])',
    ),
]


def notebook(lang: str) -> dict[str, Any]:
    """A notebook in a language, as the format 4.5 has it."""
    cells: list[dict[str, Any]] = []
    for place, (english, chinese, code) in enumerate(STEPS, 1):
        text = english if lang == "en" else chinese
        source = code if isinstance(code, str) else code[lang]
        cells.append({"cell_type": "markdown", "id": f"text-{place}", "metadata": {}, "source": _lines(text)})
        cell = {"cell_type": "code", "id": f"code-{place}", "metadata": {}, "source": _lines(source)}
        cells.append({**cell, "execution_count": None, "outputs": []})
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def written(lang: str) -> str:
    """The file of the notebook in a language."""
    return json.dumps(notebook(lang), ensure_ascii=False, indent=1) + "\n"


if __name__ == "__main__":
    for lang, name in NAMES.items():
        (TARGET / name).write_text(written(lang), "utf-8")
