"""Whether intervals of corrected means hold what people would say, and what labels and a judge are worth together.

    python -m benchmarks.prediction_powered [--draws 2000] [--output FILE]

Worlds in which it is known what people would say of all units; see `simulated/labels.py`.  Written are the tables of
PREDICTION_POWERED.md.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.simulated.label_plans import plan_table
from benchmarks.simulated.labels import part_table, tables

HEAD = """# Means of judged measures, corrected by people's labels

`python -m benchmarks.prediction_powered --draws {draws}` wrote this. In each of {draws} worlds a row, questions have
units (sentences of answers), of which people would support 70%; a judge says something of all, and people label some.
The biased judge takes nearly half of what is not supported for supported, the noisy one errs in 25% of all units, the
useless one in 50%, the good one in 5%, the perfect one in 1%. *Covers* is how often the 95% interval of the corrected
mean, and that of people alone, holds the 70%. *Width* is the average length of these intervals. *Worth* is the median
of how many labels, drawn at random and without a judge, would have the same error.
"""


def main() -> None:
    """Print the tables, or write them to a file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=2000)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    lines = [HEAD.format(draws=options.draws)]
    for table in (*tables(options.draws), part_table(options.draws), plan_table(options.draws)):
        lines += ["\n".join(table.lines()), ""]
    text = "\n".join(lines)
    if options.output is None:
        sys.stdout.write(text)
    else:
        options.output.write_text(text)


if __name__ == "__main__":
    main()
