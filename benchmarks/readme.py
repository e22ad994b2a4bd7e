"""Puts the table of RESULTS.md into both READMEs, between their marks: python benchmarks/readme.py"""

from __future__ import annotations

import re
from pathlib import Path

HERE = Path(__file__).parent
MARKS = ("<!-- speed -->", "<!-- /speed -->")

ENGLISH = """\
6,980 questions × 1,000 documents (7 M lines), five measures, whole process with imports, unless the row says otherwise;
ratios of medians measured in one run, after checking that all sides compute the same values.

| work | against | measured | target |
|---|---|---:|---:|
{rows}

{medians} {missed} of {n} rows miss their target; starting Python and importing NumPy and Polars takes
about 0.2 s of every process.
"""

CHINESE = """\
除非另有说明：6,980 个问题 × 1,000 篇文档（700 万行），五个指标，计整个进程（含导入）；\
先核对各方数值相同，再在同一次运行中取中位数之比。

| 工作 | 对比对象 | 实测 | 目标 |
|---|---|---:|---:|
{rows}

{medians} {n} 行中有 {missed} 行未达到目标；每个进程单是启动 Python、导入 NumPy 和 Polars 就要约 0.2 秒。
"""

WORDS = {
    "TREC text with ties, library": "有同分的 TREC 文本，从 Python 调用",
    "TREC text with ties, `steelyard evaluate`": "有同分的 TREC 文本，`steelyard evaluate`",
    "TREC text with ties, and other rows": "有同分的 TREC 文本等",
    "TREC text, half of all scores tied": "TREC 文本，一半分数同分",
    "TREC text, lines shuffled within questions": "TREC 文本，每个问题内的行打乱",
    "TREC text, lines shuffled wholly": "TREC 文本，所有行打乱",
    "TREC text, lines shuffled wholly: peak memory": "TREC 文本，所有行打乱：内存峰值",
    "TREC text without ties": "没有同分的 TREC 文本",
    "dict of dicts in memory": "内存里的字典",
    "prepared Run and Truth, first time": "备好的 Run 和 Truth，第一次算",
    "the same, evaluated again": "同上，再算一次",
    "100,000 questions × 10, TREC text": "100,000 个问题 × 10，TREC 文本",
    "one question of 100 documents, plain functions": "普通函数，一个问题 100 篇文档",
    "peak memory, 70 M lines": "7,000 万行时的内存峰值",
    "peak memory, 7 M lines": "700 万行时的内存峰值",
    "Polars streaming the three columns, nothing else": "只用 Polars 流式读这三列",
    "pytrec_eval on the text": "pytrec_eval 读文本",
    "pytrec_eval's evaluate": "pytrec_eval 的 evaluate",
    "ranx, warm cache": "ranx（缓存已热）",
    "the slowest of": "最慢的，共比较",
    "Medians of": "各轮中位数，轮数：",
    " rounds on ": "；",
}
PATTERNS = {
    r"the same as \.(\w+)": r"同上，存为 .\1",
    r"(\w+(?: \w+)?) alone, and then the text": r"只用 \1 读，再加上文本那一行",
    r"([\d.]+)× faster": r"\1 倍",
}


def rows_of(results: str) -> list[list[str]]:
    """Work, against, measured, target and verdict of each line that was measured."""
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in results.splitlines() if line[:2] == "| "]
    return [[work, against, value, target, verdict] for work, against, target, _, _, value, verdict in cells[1:]]


def table(rows: list[list[str]], missed: str) -> str:
    """The rows as Markdown; those that miss their target say so."""
    return "\n".join(
        f"| {work} | {against or '–'} | {value}{f' ({missed})' if 'missed' in verdict else ''} | {target} |"
        for work, against, value, target, verdict in rows
        if verdict != "skipped"
    )


def in_chinese(text: str) -> str:
    """The same table with Chinese words."""
    for old, new in sorted(WORDS.items(), key=lambda pair: -len(pair[0])):
        text = text.replace(old, new)
    for pattern, new in PATTERNS.items():
        text = re.sub(pattern, new, text)
    return text


def replace_table(path: Path, text: str) -> None:
    """Put a text between the marks of a file."""
    before, _, rest = path.read_text("utf-8").partition(MARKS[0])
    _, _, after = rest.partition(MARKS[1])
    path.write_text(f"{before}{MARKS[0]}\n{text}{MARKS[1]}{after}", "utf-8")


def main() -> None:
    results = (HERE / "RESULTS.md").read_text("utf-8")
    rows, medians = rows_of(results), results.strip().splitlines()[-1]
    counted = [row for row in rows if row[-1] != "skipped"]
    missed = sum("missed" in row[-1] for row in counted)
    english = ENGLISH.format(rows=table(rows, "missed"), medians=medians, missed=missed, n=len(counted))
    chinese = CHINESE.format(
        rows=in_chinese(table(rows, "未达到")), medians=in_chinese(medians), missed=missed, n=len(counted)
    )
    replace_table(HERE.parent / "README.md", english)
    replace_table(HERE.parent / "README.zh-CN.md", chinese)


if __name__ == "__main__":
    main()
