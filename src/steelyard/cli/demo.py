"""`steelyard demo`."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from steelyard.cli.progress import progress_bars
from steelyard.cli.terminal import screen_view, show
from steelyard.demo import ANSWER_MEASURES, ASSISTANT, CONFIGS, MEASURES, copy_data, demo_text, run_demo, write_pages
from steelyard.reports.words import read_words


def run(folder: Path, lang: str | None) -> None:
    """Run the bundled example, and show how to do the same by hand."""
    words = read_words(lang)
    copy_data(folder)
    print(words("demo.intro") + "\n")
    with progress_bars(words) as bars:
        demo = run_demo(folder, progress=bars)
    show(demo_text(demo, words, **screen_view()) + "\n")
    print(write_pages(demo, words) + "\n")
    print(words("demo.by_hand", folder=folder) + "\n")
    print(f"  cd {folder}")
    if not shutil.which("steelyard"):
        print(f'  export PATH="{Path(sys.executable).parent}:$PATH"')
    flags, of_answers = (" ".join(f"-m {measure}" for measure in listed) for listed in (MEASURES, ANSWER_MEASURES))
    runs = " ".join(f"runs/{name}" for name in CONFIGS)
    print(f"  steelyard run hybrid.toml {flags}")
    print(f"  steelyard evaluate questions.jsonl {runs} {flags}")
    print("  steelyard compare questions.jsonl runs/bm25 runs/bm25-spaces --segments language --cluster doc")
    print(f"  steelyard report questions.jsonl {runs} {flags} -o report.html")
    print(f"  steelyard judge pilot.jsonl runs/{ASSISTANT}")
    print(f"  steelyard evaluate pilot.jsonl runs/{ASSISTANT} {of_answers} -m ndcg@5")
    print("  steelyard bench rerank bench.toml")
    print("  steelyard chat hybrid-rerank.toml")
