"""Calls and tokens of the judge `llm` by what it asks in one call, and whether it says the same.

    python -m benchmarks.fewer_calls [--questions 100] [--fillers 2] [--endpoint]

An oracle that knows the truth plays the model.  With --endpoint a real one does, on ten questions unless others are
named: STEELYARD_JUDGE_MODEL names the model, and STEELYARD_JUDGE_URL the address before /chat/completions where it is
not that of OpenAI; STEELYARD_JUDGE_KEY names the environment variable of its key.  Without a model it is skipped.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from typing import get_args

from benchmarks.judged.calls import agreement, asked, oracle
from benchmarks.judged.halls import Halls, halls
from benchmarks.simulated.tables import Table

from steelyard.base.choices import AskBy
from steelyard.judges.llm.judge import LLMJudge


def ways_table(data: Halls, make: Callable[..., LLMJudge], title: str, **settings: int) -> Table:
    """A row a way to ask: calls, tokens, and the share of each table's verdicts that are those by one chunk a call."""
    ways = {way: asked(data, make, way, **settings) for way in get_args(AskBy)}
    by_chunk = ways["chunk"]
    tables = [*agreement(by_chunk.verdicts, by_chunk.verdicts)]
    rows = []
    for name, way in ways.items():
        same = agreement(by_chunk.verdicts, way.verdicts)
        shares = [f"{same[table][0]}/{same[table][1]}" for table in tables]
        rows.append((name, f"{way.calls:,}", f"{way.tokens:,}", f"{way.tokens / by_chunk.tokens:.0%}", *shares))
    return Table(title, ("asked by", "calls", "tokens", "of those by chunk", *tables), rows)


def endpoint() -> Callable[..., LLMJudge] | None:
    """The judge of the model that the environment names; None where it names none."""
    model = os.environ.get("STEELYARD_JUDGE_MODEL")
    if not model:
        return None
    address = {"base_url": url} if (url := os.environ.get("STEELYARD_JUDGE_URL")) else {}
    key = {"api_key_env": name} if (name := os.environ.get("STEELYARD_JUDGE_KEY")) else {}
    return lambda **settings: LLMJudge(model=model, **address, **key, **settings)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int)
    parser.add_argument("--fillers", type=int, default=2, help="sentences about something else in each chunk")
    parser.add_argument("--endpoint", action="store_true")
    options = parser.parse_args()
    if options.endpoint:
        make = endpoint()
        if make is None:
            sys.stdout.write("skipped: no model is configured; set STEELYARD_JUDGE_MODEL\n")
            return 0
        data = halls(options.questions or 10, n_fillers=options.fillers, cited=True, nuggets=True)
        tables = [ways_table(data, make, f"Asked of {os.environ['STEELYARD_JUDGE_MODEL']}")]
    else:
        n = options.questions or 100
        plain = halls(n, n_fillers=options.fillers)
        cited = halls(n, n_fillers=options.fillers, cited=True, nuggets=True)
        tables = [
            ways_table(plain, oracle, "Calls and tokens; verdicts that are those by one chunk a call"),
            ways_table(cited, oracle, "With citations of several chunks, and nuggets"),
            ways_table(cited, oracle, "The same in windows of about three chunks", chunk_tokens=200),
        ]
    for table in tables:
        sys.stdout.write("\n".join(table.lines()) + "\n\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
